"""Composition: what k private releases from the same data give together. All arguments are keywords.

``epsilon`` and ``delta`` are parameters of one release, ``target_epsilon`` and ``target_delta`` those of all k.
Functions that turn epsilon into delta have an exact inverse named ``..._epsilon``.

=======================================  =============================================================================
releases                                 what k of them give together
=======================================  =============================================================================
Gaussian noise                           ``Gaussian.composed(k)`` of :mod:`dpregret.privacy.mechanisms`, exact
(epsilon, delta)-private                 ``optimal``, exact for the worst such release
epsilon-bounded-range, adaptive          ``zcdp_epsilon`` with ``rho = k epsilon^2 / 8``
epsilon-bounded-range, fixed beforehand  ``bounded_range``, exact for the worst such release
of several kinds                         ``zcdp_epsilon`` of the sum of their rho (see ``zcdp``)
=======================================  =============================================================================

``basic``, ``advanced``, ``corollary_4_1`` and ``zcdp`` are the closed forms of the texts: valid, and larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, expit
from scipy.stats import binom

from dpregret import _checks

_ROOT = {"xtol": 1e-300, "rtol": 4 * np.finfo(float).eps, "maxiter": 1000}


def basic(*, epsilon: float, k: int, delta: float = 0.0) -> tuple[float, float]:
    """``(k epsilon, min(1, k delta))`` for k-fold adaptive composition ([Dwork2014], Theorem 3.16)."""
    epsilon, k, delta = _release(epsilon, k, delta)
    return k * epsilon, min(1.0, k * delta)


def advanced(*, epsilon: float, k: int, slack: float, delta: float = 0.0) -> tuple[float, float]:
    """``(epsilon sqrt(2 k ln(1/slack)) + k epsilon (e^epsilon - 1), min(1, k delta + slack))``, adaptive.

    Theorem 3.20 of [Dwork2014]; ``slack`` in (0, 1) is its delta'.
    """
    epsilon, k, delta = _release(epsilon, k, delta)
    slack = _checks.delta(slack, "slack")
    composed = epsilon * math.sqrt(2 * k * math.log(1 / slack)) + k * epsilon * (
        math.expm1(epsilon) if epsilon < 700 else math.inf
    )
    return composed, min(1.0, k * delta + slack)


def corollary_4_1(*, epsilon: float, delta: float, k: int, strict: bool = True) -> tuple[float, float]:
    """Per-release parameters that compose to (epsilon, delta) over k releases: Lemma 4 of [Wang2021].

    Here ``epsilon`` and ``delta`` are the totals. The lemma is Corollary 4.1 of [Kairouz2015] read backwards.

    Returns
    -------
    tuple of float
        ``(epsilon / sqrt(4 k ln(e + epsilon / delta)), delta / (2 k))``.

    Raises
    ------
    ValueError
        If epsilon is outside (0, 0.9], the lemma's range. ``strict=False`` takes any epsilon > 0, since [Wang2021]
        uses the lemma up to epsilon = 2; outside the range it promises nothing.
    """
    epsilon = _checks.real("epsilon", epsilon, above=0.0, **({"at_most": 0.9} if strict else {}))
    delta = _checks.real("delta", delta, above=0.0, at_most=1.0)
    k = _checks.integer("k", k, at_least=1)
    return epsilon / math.sqrt(4 * k * math.log(math.e + epsilon / delta)), delta / (2 * k)


def optimal(*, epsilon: float, k: int, target_epsilon: float, delta: float = 0.0) -> float:
    """The smallest delta that k-fold adaptive composition of (epsilon, delta)-private releases guarantees.

    ``1 - (1 - delta)^k (1 - d)`` with ``d = sum_i C(k, i) (e^{(k-i) epsilon} - e^{target + i epsilon})_+ /
    (1 + e^epsilon)^k``. It is attained by randomized response that reveals everything with probability delta. Stated
    for targets on a grid in Theorem 3.3 of [Kairouz2015]; the same sum is the profile at every target >= 0.
    """
    epsilon, k, delta = _release(epsilon, k, delta)
    target_epsilon = _checks.real("target_epsilon", target_epsilon, at_least=0.0)
    return _optimal(epsilon, k, delta, target_epsilon)


def optimal_epsilon(*, epsilon: float, k: int, target_delta: float, delta: float = 0.0) -> float:
    """The smallest target_epsilon with ``optimal(...) <= target_delta``.

    Raises
    ------
    ValueError
        If ``target_delta < 1 - (1 - delta)^k``, which no epsilon reaches.
    """
    epsilon, k, delta = _release(epsilon, k, delta)
    floor = -math.expm1(k * math.log1p(-delta))
    target_delta = _checks.real("target_delta", target_delta, at_least=floor, below=1.0)
    return _smallest(lambda x: _optimal(epsilon, k, delta, x), target_delta, k * epsilon)


def bounded_range(*, epsilon: float, k: int, target_epsilon: float) -> float:
    """The smallest delta that k-fold NON-adaptive composition of epsilon-bounded-range releases guarantees.

    A release is epsilon-bounded-range if on adjacent inputs its log-likelihood ratio varies over an interval of length
    at most epsilon; the exponential mechanism with parameter epsilon is. The extreme pair is binary with log-ratios t
    and t - epsilon, and only k + 1 values of t, clipped to [0, epsilon], can be the worst. Adaptive composition can
    be strictly worse; use ``optimal`` or ``zcdp_delta`` (rho = k epsilon^2 / 8) there.

    References
    ----------
    Dong, Durfee and Rogers (2020), Optimal Differential Privacy Composition for Exponential Mechanisms.
    """
    epsilon, k, _ = _release(epsilon, k, 0.0)
    target_epsilon = _checks.real("target_epsilon", target_epsilon, at_least=0.0)
    return _bounded_range(epsilon, k, target_epsilon)


def bounded_range_epsilon(*, epsilon: float, k: int, target_delta: float) -> float:
    """The smallest target_epsilon with ``bounded_range(...) <= target_delta`` in [0, 1)."""
    epsilon, k, _ = _release(epsilon, k, 0.0)
    target_delta = _checks.real("target_delta", target_delta, at_least=0.0, below=1.0)
    return _smallest(lambda x: _bounded_range(epsilon, k, x), target_delta, k * epsilon)


def zcdp(*, rho: float, delta: float) -> float:
    """The epsilon that rho-zCDP gives at delta, in closed form: ``rho + 2 sqrt(rho ln(1/delta))``.

    Bun and Steinke (2016), Proposition 1.3. rho adds up over adaptive releases; an epsilon-bounded-range release has
    rho = epsilon^2 / 8, an epsilon-private one epsilon^2 / 2, the Gaussian mechanism (D / sigma)^2 / 2.
    """
    rho, delta = _checks.real("rho", rho, above=0.0), _checks.delta(delta)
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def zcdp_delta(*, rho: float, epsilon: float) -> float:
    """The smallest delta that the Renyi divergences of rho-zCDP give at epsilon >= 0 by the bound below.

    ``inf_{a > 0} exp(a ((a + 1) rho - epsilon)) a^a / (a + 1)^{a + 1}``, a = alpha - 1. The logarithm is convex in a,
    with derivative ``(2 a + 1) rho - epsilon - ln(1 + 1/a)``, so its only root is the minimum for every epsilon.

    References
    ----------
    Canonne, Kamath and Steinke (2020), The Discrete Gaussian for Differential Privacy, Corollary 13.
    """
    return _zcdp_delta(_checks.real("rho", rho, above=0.0), _checks.real("epsilon", epsilon, at_least=0.0))


def zcdp_epsilon(*, rho: float, delta: float) -> float:
    """The smallest epsilon >= 0 with ``zcdp_delta(rho=rho, epsilon=epsilon) <= delta``; at most ``zcdp(...)``."""
    high = zcdp(rho=rho, delta=delta)
    return _smallest(lambda x: _zcdp_delta(float(rho), x), float(delta), high)


def _release(epsilon: float, k: int, delta: float) -> tuple[float, int, float]:
    return (
        _checks.epsilon(epsilon),
        _checks.integer("k", k, at_least=1),
        _checks.real("delta", delta, at_least=0.0, below=1.0),
    )


def _smallest(profile: Callable[[float], float], target: float, high: float) -> float:
    """The root of a non-increasing profile on [0, high], where it is <= target at ``high``; on the safe side of it."""
    if profile(0.0) <= target:
        return 0.0
    if profile(high) >= target:  # equal up to rounding
        return high
    root = float(brentq(lambda x: profile(x) - target, 0.0, high, **_ROOT))
    step = math.ulp(root)
    while profile(root) > target and root < high:
        root, step = min(root + step, high), 2 * step
    return root


def _optimal(epsilon: float, k: int, delta: float, target: float) -> float:
    lies = np.arange(k // 2 + 1)
    excess = (k - 2 * lies) * epsilon - target
    pure = _positive_part(excess, lies, k, float(expit(-epsilon)))
    spared = k * math.log1p(-delta)
    return min(1.0, -math.expm1(spared) + math.exp(spared) * pure)


def _bounded_range(epsilon: float, k: int, target: float) -> float:
    """The largest ``_pair(t)`` over the candidates t; `rest` is epsilon - t, so that neither is a difference."""
    j = np.arange(k + 1)
    t, rest = (target + (j + 1) * epsilon) / (k + 1), ((k - j) * epsilon - target) / (k + 1)
    kept = (k * t > target) & (rest > 0)
    t, rest = t[kept], rest[kept]
    if t.size == 0:
        return 0.0
    # probabilities of the log-ratios t and t - epsilon
    high = -np.expm1(-rest) / -math.expm1(-epsilon)
    low = np.exp(-rest) * np.expm1(-t) / math.expm1(-epsilon)
    i = np.arange(k + 1)

    @cache
    def pair(c: int) -> float:
        return _positive_part(k * t[c] - i * epsilon - target, i, k, low[c], high[c])

    if k <= 200 or target >= 600:
        return min(1.0, max(map(pair, range(t.size))))
    # a difference of two binomial tails ranks the t, up to its rounding; those it cannot tell apart are summed
    m = np.clip(np.ceil((k * t - target) / epsilon) - 1, 0, k - 1)
    rough = betainc(k - m, m + 1, high) - math.exp(target) * betainc(k - m, m + 1, high * np.exp(-t))
    best = np.flatnonzero(rough >= rough.max() - _TAIL_ROUNDING)
    if best.size <= 50:
        return min(1.0, max(map(pair, best)))
    return min(1.0, _peak(pair, t.size))


_TAIL_ROUNDING = 1e-12  # of a difference of two binomial tails, at most


def _peak(values: Callable[[int], float], size: int) -> float:
    """The largest of ``values(0..size-1)``, which rise and then fall, by ever finer grids."""
    low, high = 0, size - 1
    while True:
        grid = sorted({low + (high - low) * part // 16 for part in range(17)})
        best = max(range(len(grid)), key=lambda place: values(grid[place]))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        if high - low <= 16:
            return max(map(values, range(low, high + 1)))


def _positive_part(excess: np.ndarray, i: np.ndarray, k: int, low: float, high: float = 1.0) -> float:
    """``sum_i Binomial(i; k, low) (1 - e^{-excess_i})_+``; all terms are positive. ``high`` is 1 - low, if small."""
    i, excess = i[excess > 0], excess[excess > 0]
    weights = binom.pmf(i, k, low) if low <= high else binom.pmf(k - i, k, high)
    return float(-np.expm1(-excess) @ weights)


def _zcdp_delta(rho: float, epsilon: float) -> float:
    def slope(x: float) -> float:  # at a = e^x
        return (2 * math.exp(x) + 1) * rho - epsilon - float(np.logaddexp(0.0, -x))

    x = brentq(slope, -(3 * rho + 1), math.log1p((epsilon + 1) / (2 * rho)), **_ROOT)
    a = math.exp(x)
    return math.exp(a * ((a + 1) * rho - epsilon - float(np.logaddexp(0.0, -x))) - math.log1p(a))
