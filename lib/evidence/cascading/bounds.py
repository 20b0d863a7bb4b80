r"""The bounds of [Wang2021] on the regret in one place, and the yardstick for each: the regret of a random list.

A `problem` is anything with ``means`` (L,) and ``list_length`` K.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Theorems 2 to 11.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from scipy import optimize

from dpregret import _checks
from evidence.cascading.bracket import bracket, bracket_maximiser, bracket_supremum, gap_matrix, prefix_sum
from evidence.cascading.central_bound import theorem_2, theorem_2_threshold
from evidence.cascading.early_failure import early_failure_crossing, early_failure_log_lower_bound
from evidence.cascading.local_bounds import (
    theorem_4,
    theorem_4_constant,
    theorem_4_threshold,
    theorem_6,
    theorem_7,
    theorem_9,
)
from evidence.cascading.lower_bounds import (
    kveton_lower_bound,
    ldp_lower_bound,
    theorem_10,
    theorem_11,
)

__all__ = [
    "bracket",
    "bracket_maximiser",
    "bracket_supremum",
    "early_failure_crossing",
    "early_failure_log_lower_bound",
    "gap_matrix",
    "informative_from",
    "kveton_lower_bound",
    "ldp_lower_bound",
    "prefix_sum",
    "random_list_regret",
    "theorem_2",
    "theorem_2_threshold",
    "theorem_4",
    "theorem_4_constant",
    "theorem_4_threshold",
    "theorem_6",
    "theorem_7",
    "theorem_9",
    "theorem_10",
    "theorem_11",
]


def random_list_regret(problem, horizon: float) -> float:
    """Exact regret of a uniformly random list every round: no click has probability ``e_K(1 - means) / C(L, K)``.

    In integers: the means are taken as the binary numbers that they are.
    """
    means = _checks.array("problem.means", problem.means, ndim=1, at_least=0.0, at_most=1.0)
    length = _checks.integer("problem.list_length", problem.list_length, at_least=1, at_most=len(means))
    exact = [1 - Fraction(float(m)) for m in means]
    unit = max(stay.denominator for stay in exact)  # powers of two
    stays = sorted(int(stay * unit) for stay in exact)
    symmetric = [1] + [0] * length  # elementary symmetric polynomials of 1 - means
    for stay in stays:
        for k in range(length, 0, -1):
            symmetric[k] += stay * symmetric[k - 1]
    share = Fraction(symmetric[length], math.comb(len(means), length)) - math.prod(stays[:length])
    return _checks.real("horizon", horizon, at_least=1.0) * float(share / unit**length)


def informative_from(bound: Callable[[float], float], *, per_round: float) -> float:
    """Base-10 logarithm of the horizon from which a bound is below ``per_round`` times the horizon.

    With the regret of a random list as ``per_round`` that is where the bound begins to say something. ``bound`` maps a
    horizon (up to 1e60) to a bound that grows more slowly than the horizon.
    """
    per_round = _checks.real("per_round", per_round, above=0.0)
    return optimize.brentq(lambda x: bound(10.0**x) - per_round * 10.0**x, 1, 60)
