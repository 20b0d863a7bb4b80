"""Lemmas 1 and 3 to 7 of [Wang2021]: as printed, the range in which each is true, and the exact quantity beside it.

Lemma 2 concerns post-processing; it belongs to the audit.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Section 5 and Appendix A.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

from dpregret import _checks
from dpregret.privacy.continual import HybridMechanism
from dpregret.privacy.mechanisms import Gaussian

LEMMA_1_CONSTANT = 4 / math.log(2) ** 1.5
"""The smallest ``c1`` for which Lemma 1 is true for every n >= 2 and gamma: see `lemma_1_constant`."""

LEMMA_4_LARGEST_EPSILON = 0.9


def lemma_1_bound(n: int, gamma: float, *, epsilon: float, c1: float) -> float:
    """Lemma 1 as printed: ``c1 log(n)^1.5 log(1/gamma) / epsilon`` bounds the hybrid noise at item n w.p. 1 - gamma.

    It is 0 at n = 1, where the noise is Lap(2/epsilon).
    """
    log_n = math.log(_checks.integer("n", n, at_least=1))
    log_gamma = math.log(_checks.real("gamma", gamma, above=0.0, at_most=1.0))
    return _checks.real("c1", c1, above=0.0) * log_n**1.5 * -log_gamma / _checks.epsilon(epsilon)


def lemma_1_constant(n: int, gamma: float | None = None) -> float:
    """The smallest ``c1`` for which Lemma 1 is true at item n >= 2: at this `gamma`, or for all of them (default).

    Laplace variables have log-concave densities, so that of the noise and the survival function S of its modulus are
    log-concave; ``-log S`` is convex from 0, and ``quantile / log(1/gamma)`` is largest as gamma -> 1, where it is
    ``1 / 2 f(0)`` with f the density of the noise.  At n = 2 this gives ``4 / log(2)^1.5``; for larger n see
    `lemma_1_constant_bound`.
    """
    n = _checks.integer("n", n, at_least=2)
    mechanism = HybridMechanism(epsilon=1.0)
    if gamma is None:
        return 1 / (2 * mechanism.noise(n).density(0.0) * math.log(n) ** 1.5)
    gamma = _checks.real("gamma", gamma, above=0.0, below=1.0)
    return mechanism.quantile(n, gamma) / (math.log(n) ** 1.5 * -math.log(gamma))


def lemma_1_constant_bound(n: int) -> float:
    """A closed-form upper bound on `lemma_1_constant`: ``sqrt(pi Var(n) / 2) / log(n)^1.5`` at epsilon = 1.

    The noise is Gaussian given a random variance V with mean Var(n), and by Jensen
    ``f(0) = E (2 pi V)^-1/2 >= (2 pi Var(n))^-1/2``.  It is below ``LEMMA_1_CONSTANT`` for every n >= 3: with
    ``k = floor(log2 n)`` it is at most ``sqrt(4 pi (k + 1 + k^3)) / (k log 2)^1.5``, enough for k >= 3, and n = 3 to 7
    are checked one by one.
    """
    n = _checks.integer("n", n, at_least=2)
    return math.sqrt(math.pi / 2 * HybridMechanism(epsilon=1.0).variance(n)) / math.log(n) ** 1.5


def lemma_3_sigma(*, epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Standard deviation of Lemma 3, ``(sensitivity / epsilon) sqrt(2 log(1.25 / delta))``, for any epsilon as printed.

    The lemma is true exactly for ``epsilon <= lemma_3_largest_epsilon(delta=delta)``.
    """
    return Gaussian.classical(epsilon=epsilon, delta=delta, sensitivity=sensitivity).sigma


def lemma_3_delta(*, epsilon: float, delta: float) -> float:
    """The delta that Lemma 3's noise really gives at `epsilon`, by the exact profile, for any sensitivity.

    With ``k = sqrt(2 log(1.25/delta))``, ``u = epsilon/2k - k`` it is ``Phi(u) - exp(epsilon) Phi(-epsilon/2k - k)``.
    It increases in epsilon: the derivative is ``phi(u) (1/k - R(epsilon/2k + k))``, and Mills' ratio is ``R(x) < 1/x``.
    """
    return Gaussian.classical(epsilon=epsilon, delta=delta, sensitivity=1.0).delta(epsilon)


def lemma_3_largest_epsilon(*, delta: float) -> float:
    """The largest epsilon at which Lemma 3 is true; beyond it every epsilon fails (the profile is increasing)."""
    delta = _checks.delta(delta)
    return float(optimize.brentq(lambda e: lemma_3_delta(epsilon=e, delta=delta) - delta, 1e-6, 1e3, xtol=1e-12))


def lemma_4_parameters(*, epsilon: float, delta: float, n_queries: int) -> tuple[float, float]:
    """Lemma 4: the ``(epsilon', delta')`` of each query for which `n_queries` of them are (epsilon, delta)-DP together.

    Raises
    ------
    ValueError
        Outside the lemma's range, ``0 < epsilon <= 0.9``.
    """
    epsilon = _checks.real("epsilon", epsilon, above=0.0, at_most=LEMMA_4_LARGEST_EPSILON)
    return epsilon / composition_factor(epsilon=epsilon, delta=delta, n_queries=n_queries), delta / (2 * n_queries)


def composition_factor(*, epsilon: float, delta: float, n_queries: int) -> float:
    """``sqrt(4 n log(e + epsilon/delta))``: Theorem 7 adds ``Lap(factor / epsilon)``, for any epsilon as printed."""
    epsilon, delta = _checks.epsilon(epsilon), _checks.delta(delta)
    return math.sqrt(4 * _checks.integer("n_queries", n_queries, at_least=1) * math.log(math.e + epsilon / delta))


def match_optimal_items(problem, items) -> np.ndarray:
    """An optimal item for each position of `items`: an optimal item is its own match, the others in decreasing mean.

    This is a permutation of Lemma 5 for every list of the K largest indices, whatever the indices are: each listed
    suboptimal item then has an index at least that of each optimal item left out.
    """
    means, items = np.asarray(problem.means, dtype=float), _list_of_items(problem, items)
    optimal = np.argsort(-means, kind="stable")[: problem.list_length]
    left_out = iter(np.setdiff1d(optimal, items)[np.argsort(-means[np.setdiff1d(optimal, items)], kind="stable")])
    return np.array([item if item in optimal else next(left_out) for item in items])


def lemma_5_sides(problem, items, permutation=None) -> tuple[float, float, float]:
    """Lemma 5: its lower side, the expected regret of the list, and its upper side, all exact.

    With ``x_k`` the mean at position k and ``y_k`` that of its matched optimal item,
    ``regret = sum_k prod_{i<k} (1-x_i) (y_k - x_k) prod_{j>k} (1-y_j)``; the sides bound the last product by
    ``(1 - max mean)^(K-1)`` and by 1.

    Parameters
    ----------
    problem : object with ``means`` (L,) and ``list_length`` K
    items : K distinct items, the list shown
    permutation : the K optimal items in the order of their positions; by default `match_optimal_items`.  An optimal
        item of the list must be matched with itself (the lemma only says that a permutation exists; the upper side can
        fail for one that moves them).
    """
    means, items = np.asarray(problem.means, dtype=float), _list_of_items(problem, items)
    length = problem.list_length
    match = match_optimal_items(problem, items) if permutation is None else _list_of_items(problem, permutation)
    optimal = np.argsort(-means, kind="stable")[:length]
    if set(match.tolist()) != set(optimal.tolist()) or np.any(np.isin(items, optimal) & (items != match)):
        raise ValueError(f"permutation must list the optimal items and fix those shown, got {permutation!r}")
    shown, best = means[items], means[match]
    examined = np.cumprod(np.concatenate(([1.0], 1 - shown[:-1])))
    upper = float(np.sum((best - shown) * examined))
    below = np.cumprod(np.concatenate(([1.0], 1 - best[:0:-1])))[::-1]  # the product over j > k
    regret = float(np.sum((best - shown) * examined * below))
    return (1 - means.max()) ** (length - 1) * upper, regret, upper


def _list_of_items(problem, items) -> np.ndarray:
    array = np.asarray(items)
    n_items, length = len(problem.means), problem.list_length
    distinct = array.ndim == 1 and array.dtype.kind in "iu" and len(set(array.tolist())) == len(array) == length
    if not distinct or array.min() < 0 or array.max() >= n_items:
        raise ValueError(f"items must be {length} distinct integers in [0, {n_items - 1}], got {items!r}")
    return array


def laplace_sum_log_tail(lam: float, *, n: int, scale: float = 1.0) -> float:
    """Exact ``log P(X_1 + ... + X_n > lam)`` for independent ``X_i ~ Lap(scale)``, far below the smallest double.

    For ``y = lam/scale >= 0`` the sum is a negative-binomial mixture of gamma variables, so
    ``P = exp(-y) sum_{i<n} y^i/i! W_i`` with ``W_i = sum_{j<n-i} C(n-1+j, j) 2^-(n+j)``: positive terms only. The
    error of P is below 1e-12 of it for n <= 200, and below 1e-10 for n <= 10,000.
    """
    n = _checks.integer("n", n, at_least=1)
    y = _checks.real("lam", lam) / _checks.real("scale", scale, above=0.0)
    if y < 0:
        return float(math.log1p(-math.exp(laplace_sum_log_tail(-y, n=n))))
    j = np.arange(n)
    weights = special.gammaln(n + j) - special.gammaln(n) - special.gammaln(j + 1) - (n + j) * math.log(2)
    log_w = np.logaddexp.accumulate(weights)[::-1]
    return float(special.logsumexp(special.xlogy(j, y) - special.gammaln(j + 1) + log_w) - y)


def laplace_sum_tail(lam: float, *, n: int, scale: float = 1.0) -> float:
    """Exact ``P(X_1 + ... + X_n > lam)``; see `laplace_sum_log_tail`."""
    return math.exp(laplace_sum_log_tail(lam, n=n, scale=scale))


def lemma_6_limit(*, n: int, scale: float, v: float | None = None) -> float:
    """Lemma 6 covers ``0 < lam < 2 sqrt(2) v^2 / scale``, with ``v >= scale sqrt(n)`` (the default is equality)."""
    scale = _checks.real("scale", scale, above=0.0)
    smallest = scale * math.sqrt(_checks.integer("n", n, at_least=1))
    v = smallest if v is None else _checks.real("v", v, at_least=smallest)
    return 2 * math.sqrt(2) * v**2 / scale


def lemma_6_bound(lam: float, *, n: int, scale: float, v: float | None = None, extrapolate: bool = False) -> float:
    """Lemma 6: ``exp(-lam^2 / 8 v^2)``, a bound on `laplace_sum_tail`.

    Proof within the range: ``-log(1-x) <= 2x`` on [0, 1/2] gives ``E exp(h Y) <= exp(2 v^2 h^2)`` for ``(scale h)^2 <=
    1/2``; take ``h = lam / 4v^2``.

    Raises
    ------
    ValueError
        If `lam` or `v` is outside the range; ``extrapolate=True`` evaluates the formula beyond the limit of `lam`, as
        the proof of Theorem 4 does for counts below ``3 log t``.
    """
    limit = lemma_6_limit(n=n, scale=scale, v=v)
    lam = _checks.real("lam", lam, above=0.0, **({} if extrapolate else {"below": limit}))
    return math.exp(-(lam**2) / (8 * (scale * math.sqrt(n) if v is None else v) ** 2))


def sub_gamma_radius(x: float, *, n: int, scale: float = 1.0) -> float:
    """The radius ``scale (2 sqrt(n x) + x)``: `laplace_sum_tail` there is at most ``exp(-x)``, for every n and x >= 0.

    Proof: ``-log(1-h^2) <= h^2/(1-h)`` on [0, 1), so the sum is sub-gamma with variance factor ``2 n scale^2`` and
    scale factor `scale`.
    """
    x, n = _checks.real("x", x, at_least=0.0), _checks.integer("n", n, at_least=1)
    return _checks.real("scale", scale, above=0.0) * (2 * math.sqrt(n * x) + x)


def corrected_noise_bonus(t: float, count: int, *, scale: float) -> float:
    """``scale (sqrt(12 log t / s) + 3 log t / s)``: the mean of s noises exceeds it with probability <= t^-3 a side."""
    t = _checks.real("t", t, at_least=1.0)
    return sub_gamma_radius(3 * math.log(t), n=count, scale=scale) / count


def lemma_7_sides(radius: float, *, n: int, sigma: float) -> tuple[float, float]:
    """Lemma 7: exact ``P(|mean - u| > radius)`` of n Gaussians, and the bound ``2 exp(-n radius^2/2 sigma^2)``.

    The exact value is at most half of the bound.
    """
    radius, sigma = _checks.real("radius", radius, at_least=0.0), _checks.real("sigma", sigma, above=0.0)
    z = math.sqrt(_checks.integer("n", n, at_least=1)) * radius / sigma
    return math.erfc(z / math.sqrt(2)), 2 * math.exp(-(z**2) / 2)
