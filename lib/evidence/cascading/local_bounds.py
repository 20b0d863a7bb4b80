r"""Upper bounds under local privacy: Theorems 4, 6, 7 and 9 of [Wang2021], printed and corrected.

A `problem` is anything with ``means`` (L,) and ``list_length`` K.  Bounds are on the expected regret after `horizon`
rounds (a float; 1e300 is fine).

Corrected upper bounds are for the algorithms without the raw observation ``w_0`` (an item never observed has an
infinite index).  The common proof: while every confidence interval in use holds, a suboptimal item e matched in Lemma 5
with the excluded optimal item i has been observed at most ``tau(Delta_ei)`` times; its observations matched with items
1..j number at most ``tau(Delta_ej)`` for every j, so e costs at most `prefix_sum`.  A round in which an interval fails
costs at most 1: a side that fails with probability ``p t^-3`` at each count 1..t-1 sums to ``p (zeta(2) - zeta(3))``
over t >= 2, and round 1 uses no interval.  The one round in which e is shown unobserved costs at most ``Delta_e1``.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Sections 5.1 to 5.3 and Appendix B.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from dpregret import _checks
from evidence.cascading.bracket import bracket, bracket_supremum, gap_matrix, prefix_sum
from evidence.cascading.lemmas import composition_factor, lemma_3_sigma

FAILURES = special.zeta(2) - special.zeta(3)
"""The sum over t >= 2 of (t - 1) t^-3."""

VERSIONS = ("printed", "corrected")


def theorem_4(problem, *, horizon: float, epsilon: float, version: str = "printed") -> float:
    r"""Theorem 4 (Algorithm 2, Laplace noise of scale ``b = K/epsilon``).

    printed: ``sum_e 4 (sqrt1.5 + b sqrt24)^2 / Delta_eK log T + 2 pi^2/3 L``.  Its proof derives 8 in place of 4 and
    uses Lemma 6 outside its range; see `early_failure_log_lower_bound` for what is false.

    corrected: bonus ``sqrt(1.5 log t/n) + b (sqrt(12 log t/n) + 3 log t/n)``, ``a = sqrt1.5 + b sqrt12``,

        ``sum_e [4 a^2 B_e + 12 b H_e] log T + sum_e Delta_e1 + 2 (zeta(2) - zeta(3)) L``,

    ``B_e`` = `bracket` ``<= 2/Delta_eK``, ``H_e = 1 + sum_i (1 - Delta_ei/Delta_e,i-1) <= 1 + log(Delta_e1/Delta_eK)``.
    Proof: on the good event ``Delta <= 2 a z + 6 b z^2`` with ``z = sqrt(log t/n)``, and solving the quadratic,
    ``n <= (a + sqrt(a^2 + 6 b Delta))^2 / Delta^2 log t <= (4 a^2/Delta^2 + 12 b/Delta) log t``.  One side of each of
    the two intervals (samples, noise) is used for an item, each with failure probability at most ``t^-3``.
    """
    return laplace_bound(problem, problem.list_length / _checks.epsilon(epsilon), log_horizon(horizon), version)


def theorem_4_constant(list_length: int, *, epsilon: float, version: str = "printed") -> float:
    """What one item costs at most, in units of ``log T / Delta_eK``; b = K/epsilon.

    printed: ``4 (sqrt1.5 + b sqrt24)^2``.  proof: twice that, its own last line.  corrected: ``4 V_K a^2`` with
    ``a = sqrt1.5 + b sqrt12`` and V_K = `bracket_supremum`; the term ``12 b (1 + log(Delta_e1/Delta_eK)) log T``,
    without 1/Delta, comes on top.  closed: ``8 a^2``, which is ``4 (sqrt3 + b sqrt24)^2`` and so above the printed
    constant for every b.

    The corrected constant is below the printed one for ``b > theorem_4_threshold(K)``.
    """
    length = _checks.integer("list_length", list_length, at_least=1)
    b = length / _checks.epsilon(epsilon)
    version = _checks.choice("version", version, ("printed", "proof", "corrected", "closed"))
    if version in ("printed", "proof"):
        return (4.0 if version == "printed" else 8.0) * (math.sqrt(1.5) + b * math.sqrt(24)) ** 2
    supremum = bracket_supremum(length) if version == "corrected" else 2.0
    return 4.0 * supremum * (math.sqrt(1.5) + b * math.sqrt(12)) ** 2


def theorem_4_threshold(list_length: int) -> float:
    """The b above which ``4 V_K a^2`` is below the printed constant: ``(sqrtV_K - 1) / (sqrt8 (sqrt2 - sqrtV_K))``.

    It is below K/2, so that epsilon <= 2 is enough for every K: with ``d = 2 - V_K`` it is at most ``(sqrt2 - 1) / d``,
    and ``1/d_K = 1/d_{K-1} + 1/(4 - d_{K-1}) <= 1 + (K - 1)/3``.
    """
    root = math.sqrt(bracket_supremum(list_length))
    return (root - 1) / (math.sqrt(8) * (math.sqrt(2) - root))


def theorem_7(problem, *, horizon: float, epsilon: float, delta: float, version: str = "printed") -> float:
    """Theorem 7 (Laplace noise by composition): Theorem 4 with ``b = sqrt(4 K log(e + epsilon/delta)) / epsilon``.

    The paper prints only an order (no sum over the items, no 1/Delta) and the bonus ``(4/epsilon) sqrt(6 K log(e +
    epsilon/delta) log t/n) + sqrt(3 log t/2n)``, which is that of Algorithm 2 at this b.  The privacy claim rests on
    Lemma 4, hence on ``epsilon <= 0.9``; the regret bound does not.
    """
    factor = composition_factor(epsilon=epsilon, delta=delta, n_queries=problem.list_length)
    return laplace_bound(problem, factor / epsilon, log_horizon(horizon), version)


def laplace_bound(problem, b: float, log_t: float, version: str) -> float:
    """The bound for noise Lap(b) on every observation, at ``log_t = log T``: printed, or with the sharp constants."""
    gaps, n_items = gap_matrix(problem), len(problem.means)
    if _checks.choice("version", version, VERSIONS) == "printed":
        constant = 4 * (math.sqrt(1.5) + b * math.sqrt(24)) ** 2
        return float(constant * np.sum(1 / gaps[:, -1]) * log_t + 2 * math.pi**2 / 3 * n_items)
    a = math.sqrt(1.5) + b * math.sqrt(12)
    slope = np.sum(prefix_sum(gaps, 4 * a**2 / gaps**2 + 12 * b / gaps))
    return float(slope * log_t + np.sum(gaps[:, 0]) + 2 * FAILURES * n_items)


def theorem_6(problem, *, horizon: float, epsilon: float, delta: float, version: str = "printed") -> float:
    """Theorem 6 (Algorithm 3, Gaussian noise with Lemma 3's sigma at sensitivity sqrt(K)).

    printed: ``sum_e 2 (2 sqrt1.5 + (8/epsilon) sqrt(K log(1.25/delta)))^2 / Delta_eK log T``, without the additive term
    of its own proof.  corrected: ``sum_e 4 (sqrt(1.5 log T) + sigma sqrt(2 log 2T^3))^2 B_e + sum_e Delta_e1 + 1.5
    (zeta(2) - zeta(3)) L``: the bonus itself at T, the exact `bracket` ``B_e``, one side of each interval, for the
    algorithm without the raw observation.  proved: the same slope for the algorithm as printed, where counters start
    at 1 and nothing is paid for a first observation, plus ``2 sqrt(3L)`` for the failures, of which round t has at most
    ``min(1, 3L/t^2)``.  For T >= 2, K < L and epsilon <= 2 the printed bound is at least the smaller of this and T.
    """
    gaps, log_t = gap_matrix(problem), log_horizon(horizon)
    sigma = lemma_3_sigma(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(problem.list_length))
    if _checks.choice("version", version, (*VERSIONS, "proved")) == "printed":
        constant = 2 * (2 * math.sqrt(1.5) + 4 * math.sqrt(2) * sigma) ** 2
        return float(constant * np.sum(1 / gaps[:, -1]) * log_t)
    bonus = math.sqrt(1.5 * log_t) + sigma * math.sqrt(2 * (math.log(2) + 3 * log_t))
    if version == "proved":
        return float(4 * bonus**2 * np.sum(bracket(gaps)) + 2 * math.sqrt(3 * len(problem.means)))
    return float(4 * bonus**2 * np.sum(bracket(gaps)) + np.sum(gaps[:, 0]) + 1.5 * FAILURES * len(problem.means))


def theorem_9(
    *,
    n_arms: int,
    list_length: int,
    inverse_gap: float,
    max_gap: float,
    horizon: float,
    epsilon: float,
    delta: float,
    version: str = "printed",
) -> float:
    """Theorem 9 (Algorithm 4, semi-bandit): `inverse_gap` is ``f^-1(Delta_min)``, `max_gap` is ``Delta_max``.

    printed: ``[128 K log(1.25/delta) log T / (min(epsilon^2, 2) inverse_gap^2) + pi^2/3 + 1] m max_gap``; the proof
    ends with ``2 pi^2/3`` and lacks a union over the counts for the noise.  corrected: bonus ``w_t / sqrt(n)`` with
    ``w_t = sqrt(1.5 log t) + (2/epsilon) sqrt(K log(1.25/delta) log 2t^3)``, hence
    ``[4 w_T^2 / inverse_gap^2 + 3 (zeta(2) - zeta(3)) + 1] m max_gap`` (both sides of both intervals).
    """
    m, length = _checks.integer("n_arms", n_arms, at_least=1), _checks.integer("list_length", list_length, at_least=1)
    inverse_gap = _checks.real("inverse_gap", inverse_gap, above=0.0)
    scale, log_t = m * _checks.real("max_gap", max_gap, at_least=0.0), log_horizon(horizon)
    sigma = lemma_3_sigma(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(length))
    if _checks.choice("version", version, VERSIONS) == "printed":
        slope = 64 * (sigma * epsilon) ** 2 / (min(epsilon**2, 2.0) * inverse_gap**2)
        return scale * (slope * log_t + math.pi**2 / 3 + 1)
    width = math.sqrt(1.5 * log_t) + sigma * math.sqrt(2 * (math.log(2) + 3 * log_t))
    return float(scale * (4 * width**2 / inverse_gap**2 + 3 * FAILURES + 1))


def log_horizon(horizon: float) -> float:
    """The natural logarithm of a horizon of at least 1."""
    return math.log(_checks.real("horizon", horizon, at_least=1.0))
