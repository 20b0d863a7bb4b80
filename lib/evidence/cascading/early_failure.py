r"""Algorithm 2 as printed has regret that no multiple of log T bounds: a certified lower bound, and where it passes.

One very low first noise keeps an optimal item out of the list for good. `evidence.cascading.enclosures` has the same
numbers in ball arithmetic.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy import optimize

from dpregret import _checks
from evidence.cascading.bracket import gap_matrix
from evidence.cascading.lemmas import laplace_sum_tail
from evidence.cascading.local_bounds import laplace_bound


def early_failure_log_lower_bound(problem, *, log_horizon: float, epsilon: float, initial: str = "raw") -> float:
    r"""Natural log of a certified lower bound on the regret of Algorithm 2 as printed, at any horizon (``-inf``: none).

    ``E R(T) >= Delta_min/2 exp(-x) (c q T - 1)`` with ``b = K/epsilon``, ``beta = sqrt1.5 + b sqrt24``, ``q = (1 -
    max mean)^(K-1)``, ``c = (1 - u)^(L-1)`` and, with the raw ``w_0`` (T_0 = 1) or with none,

        raw: ``x = (2 + beta sqrt(2 log T)) / b``,     none: ``x = (1 + beta sqrt(log T)) / b``.

    Proof.  Take an optimal item i.  (1) If its first noise is below ``-b x`` (probability ``exp(-x)/2``), its index
    with that one noisy sample is negative up to round T: samples add at most 2 (raw) or 1, and the bonus rises with t.
    (2) Let Omega be: for each of the other L - 1 items and every m >= 1, its first m noises sum to at least ``-b
    sqrt(24 n log(m + 1))``, with ``n = m + 1`` (raw) or ``n = m`` (none) the counter.  That counter needs ``t >= m +
    1``, so on Omega their indices are never negative; `index_failure` bounds by u the probability that one item fails,
    and the items' noises are independent.
    (3) So after its first observation item i is not shown again, and a round without it costs at least ``Delta_min q``.
    (4) Until then, a round showing i observes it with probability at least q, so the expected number of rounds that
    show it is at most 1/q.  This number and Omega do not depend on the first noise of i.
    """
    gaps, length = gap_matrix(problem), problem.list_length
    raw = _checks.choice("initial", initial, ("raw", "none")) == "raw"
    log_t, b = _checks.real("log_horizon", log_horizon, at_least=0.0), length / _checks.epsilon(epsilon)
    certain = (1 - index_failure(raw)) ** (len(problem.means) - 1)
    shown = (1 - float(np.max(problem.means))) ** (length - 1)
    if not gaps.size or certain * shown <= 0 or log_t <= -math.log(certain * shown):
        return -math.inf
    samples, bonus = (2, math.sqrt(2 * log_t)) if raw else (1, math.sqrt(log_t))
    x = (samples + (math.sqrt(1.5) + b * math.sqrt(24)) * bonus) / b
    log_rounds = log_t + math.log(certain * shown) + math.log1p(-math.exp(-log_t) / (certain * shown))
    return math.log(gaps.min() / 2) - x + log_rounds


@cache
def index_failure(raw: bool) -> float:
    """The u above: exact tails to m = 200, and ``sum_{m > 200} m^-3 < 1/(2 * 200^2)`` beyond.

    Beyond, ``sqrt(24 m log m)`` is past the sub-gamma radius of ``3 log m`` if ``sqrt24 >= sqrt12 + 3 sqrt(log m/m)``:
    for m >= 11.
    """
    m = np.arange(1, 201)
    levels = np.sqrt(24 * (m + raw) * np.log(m + 1))
    return sum(laplace_sum_tail(y, n=int(k)) for k, y in zip(m, levels, strict=True)) + 1 / (2 * 200**2)


def early_failure_crossing(problem, *, epsilon: float, initial: str = "raw") -> float:
    """Base-10 logarithm of the horizon from which the certified lower bound exceeds Theorem 4 as printed."""
    b = problem.list_length / _checks.epsilon(epsilon)

    def excess(log_t: float) -> float:
        lower = early_failure_log_lower_bound(problem, log_horizon=log_t, epsilon=epsilon, initial=initial)
        return max(lower, -1e9) - math.log(laplace_bound(problem, b, log_t, "printed"))

    upper = 10.0
    while excess(upper) < 0:
        upper *= 2
        if upper > 1e12:
            raise ValueError(f"problem must allow a crossing (L > K; max mean < 1 if K > 1), got {problem!r}")
    return float(optimize.brentq(excess, 1.0, upper)) / math.log(10)
