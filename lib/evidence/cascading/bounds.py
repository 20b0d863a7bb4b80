r"""Upper bounds on the regret: Theorems 2, 4, 6, 7 and 9 of [Wang2021], printed and corrected.

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
[Wang2021] Cascading Bandit under Differential Privacy, Theorems 2 to 11.
[Kveton2015] Cascading Bandits: Learning to Rank in the Cascade Model.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
from scipy import optimize, special

from dpregret import _checks
from evidence.cascading.lemmas import composition_factor, laplace_sum_tail, lemma_3_sigma
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

_FAILURES = special.zeta(2) - special.zeta(3)  # sum over t >= 2 of (t - 1) t^-3
_VERSIONS = ("printed", "corrected")


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
    return np.sum(gaps * np.diff(counts, axis=-1, prepend=0.0), axis=-1)


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
    return _horizon(horizon) * float(share / unit**length)


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
    return _laplace_bound(problem, problem.list_length / _checks.epsilon(epsilon), _log(horizon), version)


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
    return _laplace_bound(problem, factor / epsilon, _log(horizon), version)


def _laplace_bound(problem, b: float, log_t: float, version: str) -> float:
    gaps, n_items = gap_matrix(problem), len(problem.means)
    if _checks.choice("version", version, _VERSIONS) == "printed":
        constant = 4 * (math.sqrt(1.5) + b * math.sqrt(24)) ** 2
        return float(constant * np.sum(1 / gaps[:, -1]) * log_t + 2 * math.pi**2 / 3 * n_items)
    a = math.sqrt(1.5) + b * math.sqrt(12)
    slope = np.sum(prefix_sum(gaps, 4 * a**2 / gaps**2 + 12 * b / gaps))
    return float(slope * log_t + np.sum(gaps[:, 0]) + 2 * _FAILURES * n_items)


def theorem_6(problem, *, horizon: float, epsilon: float, delta: float, version: str = "printed") -> float:
    """Theorem 6 (Algorithm 3, Gaussian noise with Lemma 3's sigma at sensitivity sqrt(K)).

    printed: ``sum_e 2 (2 sqrt1.5 + (8/epsilon) sqrt(K log(1.25/delta)))^2 / Delta_eK log T``, without the additive term
    of its own proof.  corrected: ``sum_e 4 (sqrt(1.5 log T) + sigma sqrt(2 log 2T^3))^2 B_e + sum_e Delta_e1 + 1.5
    (zeta(2) - zeta(3)) L``: the bonus itself at T, the exact `bracket` ``B_e``, one side of each interval, for the
    algorithm without the raw observation.  proved: the same slope for the algorithm as printed, where counters start
    at 1 and nothing is paid for a first observation, plus ``2 sqrt(3L)`` for the failures, of which round t has at most
    ``min(1, 3L/t^2)``.  For T >= 2, K < L and epsilon <= 2 the printed bound is at least the smaller of this and T.
    """
    gaps, log_t = gap_matrix(problem), _log(horizon)
    sigma = lemma_3_sigma(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(problem.list_length))
    if _checks.choice("version", version, (*_VERSIONS, "proved")) == "printed":
        constant = 2 * (2 * math.sqrt(1.5) + 4 * math.sqrt(2) * sigma) ** 2
        return float(constant * np.sum(1 / gaps[:, -1]) * log_t)
    bonus = math.sqrt(1.5 * log_t) + sigma * math.sqrt(2 * (math.log(2) + 3 * log_t))
    if version == "proved":
        return float(4 * bonus**2 * np.sum(bracket(gaps)) + 2 * math.sqrt(3 * len(problem.means)))
    return float(4 * bonus**2 * np.sum(bracket(gaps)) + np.sum(gaps[:, 0]) + 1.5 * _FAILURES * len(problem.means))


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
    version = _checks.choice("version", version, (*_VERSIONS, "proof"))
    gaps, n_items, log_t = gap_matrix(problem), len(problem.means), _log(horizon)
    noise = _checks.real("c1", c1, above=0.0) * n_items / _checks.epsilon(epsilon) * log_t
    if version == "corrected":
        counts = np.maximum(24 * log_t / gaps**2, np.maximum(_count_for_width(12 * noise / gaps), 1.0))
        return float(np.sum(prefix_sum(gaps, counts)) + np.sum(gaps[:, 0]) + 2 * _FAILURES * n_items)
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
    scale, log_t = m * _checks.real("max_gap", max_gap, at_least=0.0), _log(horizon)
    sigma = lemma_3_sigma(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(length))
    if _checks.choice("version", version, _VERSIONS) == "printed":
        slope = 64 * (sigma * epsilon) ** 2 / (min(epsilon**2, 2.0) * inverse_gap**2)
        return scale * (slope * log_t + math.pi**2 / 3 + 1)
    width = math.sqrt(1.5 * log_t) + sigma * math.sqrt(2 * (math.log(2) + 3 * log_t))
    return float(scale * (4 * width**2 / inverse_gap**2 + 3 * _FAILURES + 1))


def early_failure_log_lower_bound(problem, *, log_horizon: float, epsilon: float, initial: str = "raw") -> float:
    r"""Natural log of a certified lower bound on the regret of Algorithm 2 as printed, at any horizon (``-inf``: none).

    ``E R(T) >= Delta_min/2 exp(-x) (c q T - 1)`` with ``b = K/epsilon``, ``beta = sqrt1.5 + b sqrt24``, ``q = (1 -
    max mean)^(K-1)``, ``c = (1 - u)^(L-1)`` and, with the raw ``w_0`` (T_0 = 1) or with none,

        raw: ``x = (2 + beta sqrt(2 log T)) / b``,     none: ``x = (1 + beta sqrt(log T)) / b``.

    Proof.  Take an optimal item i.  (1) If its first noise is below ``-b x`` (probability ``exp(-x)/2``), its index
    with that one noisy sample is negative up to round T: samples add at most 2 (raw) or 1, and the bonus rises with t.
    (2) Let Omega be: for each of the other L - 1 items and every m >= 1, its first m noises sum to at least ``-b
    sqrt(24 n log(m + 1))``, with ``n = m + 1`` (raw) or ``n = m`` (none) the counter.  That counter needs ``t >= m +
    1``, so on Omega their indices are never negative; `_index_failure` bounds by u the probability that one item fails,
    and the items' noises are independent.
    (3) So after its first observation item i is not shown again, and a round without it costs at least ``Delta_min q``.
    (4) Until then, a round showing i observes it with probability at least q, so the expected number of rounds that
    show it is at most 1/q.  This number and Omega do not depend on the first noise of i.
    """
    gaps, length = gap_matrix(problem), problem.list_length
    raw = _checks.choice("initial", initial, ("raw", "none")) == "raw"
    log_t, b = _checks.real("log_horizon", log_horizon, at_least=0.0), length / _checks.epsilon(epsilon)
    certain = (1 - _index_failure(raw)) ** (len(problem.means) - 1)
    shown = (1 - float(np.max(problem.means))) ** (length - 1)
    if not gaps.size or certain * shown <= 0 or log_t <= -math.log(certain * shown):
        return -math.inf
    samples, bonus = (2, math.sqrt(2 * log_t)) if raw else (1, math.sqrt(log_t))
    x = (samples + (math.sqrt(1.5) + b * math.sqrt(24)) * bonus) / b
    log_rounds = log_t + math.log(certain * shown) + math.log1p(-math.exp(-log_t) / (certain * shown))
    return math.log(gaps.min() / 2) - x + log_rounds


@cache
def _index_failure(raw: bool) -> float:
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
        return max(lower, -1e9) - math.log(_laplace_bound(problem, b, log_t, "printed"))

    upper = 10.0
    while excess(upper) < 0:
        upper *= 2
        if upper > 1e12:
            raise ValueError(f"problem must allow a crossing (L > K; max mean < 1 if K > 1), got {problem!r}")
    return float(optimize.brentq(excess, 1.0, upper)) / math.log(10)


def _horizon(horizon: float) -> float:
    return _checks.real("horizon", horizon, at_least=1.0)


def _log(horizon: float) -> float:
    return math.log(_horizon(horizon))
