"""The gaps of a problem, the bracket of Theorem 4's proof with the linear program behind it, and its exact supremum."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from dpregret import _checks


def gap_matrix(problem) -> np.ndarray:
    """Gaps ``Delta[e, i]`` of the L - K suboptimal items to the K optimal ones, best first; shape (L - K, K)."""
    means, length = (
        _checks.array("problem.means", problem.means, ndim=1, at_least=0.0, at_most=1.0),
        problem.list_length,
    )
    length = _checks.integer("problem.list_length", length, at_least=1, at_most=len(means))
    ordered = np.sort(means)[::-1]
    gaps = ordered[None, :length] - ordered[length:, None]
    if gaps.size and gaps.min() <= 0:
        raise ValueError(f"problem.means must have a unique optimal list (Assumption 2), got means {means.tolist()}")
    return gaps


def prefix_sum(gaps, counts):
    """Largest ``sum_i gaps_i m_i`` with ``m_1 + ... + m_j <= counts_j`` for all j, gaps falling and counts rising.

    It is ``gaps_1 counts_1 + sum_i gaps_i (counts_i - counts_{i-1})``, along the last axis.  The paper (and
    [Kveton2015]) state the constraints ``m_j <= counts_j`` and ``sum m <= counts_K`` only; from K = 3 on these allow
    more than the solution given, but the counters do satisfy the constraints on every prefix.
    """
    return np.sum(gaps * np.diff(counts, axis=-1, prepend=0), axis=-1)


def bracket(gaps, power: float = 2.0):
    """The bracket of the proofs of Theorems 4 (power 2) and 2 (power 1 + xi): `prefix_sum` of ``gaps**-power``."""
    gaps = _checks.array("gaps", gaps)
    if gaps.size and (gaps.min() <= 0 or np.any(np.diff(gaps, axis=-1) > 0)):
        raise ValueError(f"gaps must be positive and non-increasing along the last axis, got {gaps!r}")
    return prefix_sum(gaps, gaps ** -_checks.real("power", power, above=1.0))


def bracket_supremum(list_length: int) -> float:
    """Largest ``Delta_K * bracket(Delta)`` over all gap profiles of K items: ``V_1 = 1``, ``V_K = 1 + V_{K-1}^2 / 4``.

    Proof: the bracket of K gaps is homogeneous of degree -1, so with ``r = Delta_K / Delta_{K-1}`` it is at most
    ``(V_{K-1} r + 1 - r^2) / Delta_K``, largest at ``r = V_{K-1} / 2``.  ``V_K`` rises to 2, which no K attains.
    """
    value = 1.0
    for _ in range(_checks.integer("list_length", list_length, at_least=1) - 1):
        value = 1 + value**2 / 4
    return value


def bracket_maximiser(list_length: int) -> np.ndarray:
    """The gaps that attain `bracket_supremum`, scaled to ``Delta_K = 1``: ``Delta_i = Delta_{i-1} V_{i-1}/2``."""
    ratios = [bracket_supremum(i) / 2 for i in range(1, _checks.integer("list_length", list_length, at_least=1))]
    profile = np.cumprod([1.0, *ratios])
    return profile / profile[-1]


def printed_program(gaps):
    """Optimum of the linear program as the proof of Theorem 4 prints it, in the arithmetic of ``gaps`` (K,), falling.

    That is the largest ``sum_k gaps_k m_k`` with ``m_k <= gaps_k^-2`` and ``m_1 + ... + m_K <= gaps_K^-2``: the counts
    are filled in the order of the gaps. The solution that the proof states is `prefix_sum` of ``gaps**-2``.
    """
    left, value = gaps[-1] ** -2, 0
    for gap in gaps:
        count = min(gap**-2, left)
        left, value = left - count, value + gap * count
    return value


def solved_program(gaps) -> float:
    """`printed_program` by a solver of linear programs."""
    gaps = _checks.array("gaps", gaps, ndim=1)
    counts = gaps**-2
    found = optimize.linprog(-gaps, A_ub=[np.ones_like(gaps)], b_ub=counts[-1:], bounds=[(0, c) for c in counts])
    return -found.fun


def numeric_supremum(list_length: int, rng: np.random.Generator) -> float:
    """`bracket_supremum` by a maximiser over the ratios of successive gaps, from a random start."""
    length = _checks.integer("list_length", list_length, at_least=1)
    if length == 1:
        return 1.0

    def loss(free):  # with its gradient; r_k = Delta_k / Delta_{k-1}, value V_k = r_k V_{k-1} + 1 - r_k^2
        r = special.expit(free)
        value, gradient = 1.0, np.zeros(r.size)
        for k, ratio in enumerate(r):
            gradient *= ratio
            gradient[k] = (value - 2 * ratio) * ratio * (1 - ratio)
            value = ratio * value + 1 - ratio**2
        return -value, -gradient

    start = rng.normal(size=length - 1)
    return -optimize.minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9}).fun
