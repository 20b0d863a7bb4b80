r"""Theorem 2 of [Wang2021], the regret of Algorithm 1 (central privacy): as printed, as its proof gives it, corrected.

The common proof is in `evidence.cascading.local_bounds`.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Section 4.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from dpregret import _checks
from evidence.cascading.bracket import gap_matrix, prefix_sum
from evidence.cascading.local_bounds import FAILURES, VERSIONS, log_horizon


def theorem_2(
    problem,
    *,
    horizon: float,
    epsilon: float,
    c1: float,
    xi: float | None = None,
    c2: float = 0.0,
    version: str = "printed",
) -> float:
    r"""Theorem 2 (Algorithm 1, hybrid mechanisms); `c1` is the constant of Lemma 1 (4 / log(2)^1.5 makes it true).

    printed: ``sum_e 192/Delta_eK (c1 L log T/epsilon)^(1+xi) + 2 pi^2/3 L + c2``.

    proof: what the proof's bonus (log^1.5 of the count) gives with its own steps, ``sum_e (1 + 1/xi) (12 c1 L log T /
    epsilon)^(1+xi) Delta_eK^-xi + 48 log T/Delta_eK + 2 pi^2/3 L + c2``; valid only once ``log(12 c1 L log T/(epsilon
    Delta))`` reaches `theorem_2_threshold` for every gap, and the regret before that is not bounded by a constant c2.

    corrected: no xi.  With ``B = 12 c1 L log T/(epsilon Delta)``, `prefix_sum` of the counts ``max(24 log T/Delta^2,
    n(B), 1)``, where ``n(B)`` is the largest n with ``n <= B log(n)^1.5``, plus ``sum_e Delta_e1 + 2 (zeta(2) -
    zeta(3)) L``: an item costs order ``log T/Delta + (L/epsilon) log T log(L log T/(epsilon Delta))^1.5``.  The bonus
    is the proof's with log^1.5 of max(count, 2), since Lemma 1 is false at 1.
    """
    version = _checks.choice("version", version, (*VERSIONS, "proof"))
    gaps, n_items, log_t = gap_matrix(problem), len(problem.means), log_horizon(horizon)
    noise = _checks.real("c1", c1, above=0.0) * n_items / _checks.epsilon(epsilon) * log_t
    if version == "corrected":
        counts = np.maximum(24 * log_t / gaps**2, np.maximum(_count_for_width(12 * noise / gaps), 1.0))
        return float(np.sum(prefix_sum(gaps, counts)) + np.sum(gaps[:, 0]) + 2 * FAILURES * n_items)
    xi, smallest = _checks.real("xi", xi, above=0.0), gaps[:, -1]
    if version == "printed":
        main = 192 * noise ** (1 + xi) * np.sum(1 / smallest)
    else:
        main = (1 + 1 / xi) * (12 * noise) ** (1 + xi) * np.sum(smallest**-xi) + 48 * log_t * np.sum(1 / smallest)
    return float(main + 2 * math.pi**2 / 3 * n_items + _checks.real("c2", c2))


def theorem_2_threshold(xi: float) -> float:
    """The smallest ``log B`` from which ``B^xi >= ((1 + xi) log B)^1.5`` for good; 0 if it holds for every B > 1."""
    argument = -(2 * _checks.real("xi", xi, above=0.0) / 3) / (1 + xi)
    return 0.0 if argument < -math.exp(-1) else float(-1.5 / xi * special.lambertw(argument, -1).real)


def _count_for_width(b: np.ndarray) -> np.ndarray:
    """Largest n >= 1 with ``n <= b log(n)^1.5``, by Lambert's W; 1 where there is none."""
    argument = -2 / 3 * np.maximum(b, 1e-300) ** (-2 / 3)
    exists = argument >= -math.exp(-1)
    root = special.lambertw(np.where(exists, argument, -math.exp(-1)), -1).real
    return np.where(exists, np.exp(-1.5 * root), 1.0)
