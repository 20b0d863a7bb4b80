"""Mechanisms and their exact privacy profiles: Laplace and Gaussian noise here, discrete choices in ``discrete``, the
contextual paper's matrices in ``wishart``.

Noise is drawn in floating point. The profiles are those of the real-valued mechanisms; attacks on the low-order bits of
floating-point noise are out of scope.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr, ndtri

from dpregret import _checks
from dpregret.privacy.discrete import ExponentialMechanism, PermuteAndFlip, RandomizedResponse
from dpregret.privacy.wishart import Wishart

__all__ = ["ExponentialMechanism", "Gaussian", "Laplace", "PermuteAndFlip", "RandomizedResponse", "Wishart"]

_ROOT = {"xtol": 1e-300, "rtol": 4 * np.finfo(float).eps, "maxiter": 1000}
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
_ACCURACY = 1e-12  # relative, of the Gaussian profile


@dataclass(frozen=True)
class Laplace:
    """The Laplace mechanism: add Laplace noise of the given scale to every coordinate.

    Parameters
    ----------
    scale : float
        Scale b of the noise, in the units of the values. The standard deviation is ``sqrt(2) b``.
    sensitivity : float
        L1 sensitivity D: the largest L1 distance between the values of adjacent inputs.

    References
    ----------
    [Dwork2014], Theorem 3.6.
    """

    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _checks.real("scale", self.scale, above=0.0))
        object.__setattr__(self, "sensitivity", _checks.real("sensitivity", self.sensitivity, above=0.0))

    @classmethod
    def calibrated(cls, *, epsilon: float, sensitivity: float) -> Laplace:
        """The mechanism that is exactly (epsilon, 0)-private: ``scale = sensitivity / epsilon``."""
        epsilon = _checks.epsilon(epsilon)
        sensitivity = _checks.real("sensitivity", sensitivity, above=0.0)
        return cls(sensitivity / epsilon, sensitivity)

    @property
    def epsilon(self) -> float:
        """The pure privacy parameter ``sensitivity / scale``; no smaller one holds with delta = 0, in any dimension."""
        return self.sensitivity / self.scale

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> np.ndarray | float:
        """Noise of the given shape."""
        return rng.laplace(0.0, self.scale, size)

    def privatize(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """``values`` plus independent noise, same shape."""
        values = _checks.array("values", values)
        return values + self.sample(rng, values.shape)

    def delta(self, epsilon: float) -> float:
        """The exact profile in one dimension: the hockey-stick divergence of Lap(0, b) from Lap(D, b).

        For vectors it is an upper bound, and ``self.epsilon`` stays exact. With b = 1, move D1 along one axis and D2
        along another, D1 + D2 = D, put S = (D - epsilon) / 2 and g(s) = exp(-s) - exp(s - 2 S). The two-dimensional
        divergence is smaller than the one-dimensional by at least a quarter of ``g(0) - int_0^S s g(s) ds``, which is
        ``2 S exp(-S) >= 0``. More coordinates follow by induction, since domination survives products.
        """
        epsilon = _checks.real("epsilon", epsilon, at_least=0.0)
        return -math.expm1((epsilon - self.epsilon) / 2) if epsilon < self.epsilon else 0.0


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian mechanism: add N(0, sigma^2) to every coordinate.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in the units of the values.
    sensitivity : float
        L2 sensitivity D. Everything here depends on ``D / sigma`` alone, and is exact in every dimension.

    References
    ----------
    [Balle2018], Theorem 8 (profile) and Algorithm 1 (calibration); [Wang2021], Lemma 3 (``classical``); Dong, Roth and
    Su (2022), Gaussian Differential Privacy, Corollary 3.3 (``composed``).
    """

    sigma: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", _checks.real("sigma", self.sigma, above=0.0))
        object.__setattr__(self, "sensitivity", _checks.real("sensitivity", self.sensitivity, above=0.0))

    @classmethod
    def classical(cls, *, epsilon: float, delta: float, sensitivity: float) -> Gaussian:
        """``sigma = (D / epsilon) sqrt(2 ln(1.25 / delta))``, Lemma 3 of [Wang2021].

        The lemma is stated for every epsilon and is false for large ones: the mechanism is (epsilon, delta)-private for
        epsilon < 1 ([Dwork2014], Theorem A.1) and somewhat beyond, then no longer. Large epsilon is not refused, since
        the book shows where the lemma fails; ``delta(epsilon)`` of the result says what it gives. The lemma asks for
        a strictly larger sigma; at equality nothing changes.
        """
        epsilon, delta = _checks.epsilon(epsilon), _checks.delta(delta)
        sensitivity = _checks.real("sensitivity", sensitivity, above=0.0)
        return cls(sensitivity / epsilon * math.sqrt(2 * math.log(1.25 / delta)), sensitivity)

    @classmethod
    def analytic(cls, *, epsilon: float, delta: float, sensitivity: float) -> Gaussian:
        """The smallest sigma that is (epsilon, delta)-private, by root finding on the exact profile [Balle2018].

        For every epsilon and delta a double can hold, the true profile of the result is at most ``delta``, and at least
        ``delta (1 - 1e-10)`` as long as epsilon <= 1e8. Beyond, two neighbouring doubles sigma have profiles further
        apart than that, and the safe one is taken.
        """
        epsilon, delta = _checks.epsilon(epsilon), _checks.delta(delta)
        sensitivity = _checks.real("sensitivity", sensitivity, above=0.0)
        target, root, q = math.log(delta), math.sqrt(2 * epsilon), float(ndtri(delta))  # Phi(q) is too private

        def ends(a: float) -> tuple[float, float, float]:
            r = math.hypot(a, root)
            return a, r, a + r if a >= 0 else 2 * epsilon / (r - a)

        def at(mu: float) -> float:
            return _log_profile(mu / 2 - epsilon / mu, mu / 2 + epsilon / mu, mu)

        if at(1.0) > target:  # mu = D / sigma < 1: look for its logarithm
            low = max(ends(q)[2] * (1 - 1e-12), 5e-324)
            mu = math.exp(brentq(lambda x: at(math.exp(x)) - target, math.log(low), 0.0, **_ROOT))
        else:  # look for a = mu / 2 - epsilon / mu, so that nothing cancels
            high = max(1.0, 2 * abs(q))
            while _log_profile(*ends(high)) < target:
                high *= 2
            a = brentq(lambda a: _log_profile(*ends(a)) - target, q - 1e-9, high, xtol=1e-15, rtol=_ROOT["rtol"])
            mu = ends(a)[2]
        sigma = _first_double(sensitivity / mu, lambda x: cls(x, sensitivity).delta(epsilon) <= delta * (1 - _ACCURACY))
        return cls(sigma, sensitivity)

    def composed(self, k: int) -> Gaussian:
        """The mechanism with the privacy of k releases of this one: ``Gaussian(sigma / sqrt(k), sensitivity)``, exact.

        ``Gaussian(sigma).composed(100).epsilon(1e-6)`` is the epsilon of 100 releases at delta = 1e-6, and
        ``composed(100).delta(1.0)`` their delta at epsilon = 1. Each release may be of another function of the data,
        of this sensitivity, and may be chosen after those before it. Fixed functions of k values are one function with
        an L2 sensitivity of ``sqrt(k) D``, which attains it. ``composition.zcdp_epsilon`` with
        ``rho = k (D / sigma)^2 / 2`` gives an upper bound only. Where ``sigma / sqrt(k)`` is no double, the next
        smaller one is taken.
        """
        k = _checks.integer("k", k, at_least=1)
        sigma = self.sigma / math.sqrt(k)
        while Fraction(sigma) ** 2 * k > Fraction(self.sigma) ** 2:
            sigma = math.nextafter(sigma, 0.0)
        return Gaussian(sigma, self.sensitivity)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> np.ndarray | float:
        """Noise of the given shape."""
        return rng.normal(0.0, self.sigma, size)

    def privatize(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """``values`` plus independent noise, same shape."""
        values = _checks.array("values", values)
        return values + self.sample(rng, values.shape)

    def delta(self, epsilon: float) -> float:
        """The exact profile ``Phi(D/2s - epsilon s/D) - exp(epsilon) Phi(-D/2s - epsilon s/D)``, s = sigma.

        Relative accuracy 1e-12 for every argument, down to the smallest normal number, about 1e-308.
        """
        epsilon = _checks.real("epsilon", epsilon, at_least=0.0)
        return math.exp(_log_profile(*self._ends(epsilon)))

    def epsilon(self, delta: float) -> float:
        """The effective epsilon: the smallest epsilon >= 0 with ``self.delta(epsilon) <= delta``; never below it.

        ``math.inf`` if that exceeds the largest double.
        """
        delta = _checks.delta(delta)
        if self.delta(0.0) <= delta:
            return 0.0
        target, mu = math.log(delta), self.sensitivity / self.sigma
        high = mu * (mu / 2 - float(ndtri(delta))) * (1 + 1e-12)  # there Phi(a) = delta
        if not math.isfinite(high):
            return math.inf
        found = float(brentq(lambda x: _log_profile(*self._ends(x)) - target, 0.0, high, **_ROOT))
        return _first_double(found, lambda x: self.delta(x) <= delta * (1 - _ACCURACY))

    def _ends(self, epsilon: float) -> tuple[float, float, float]:
        """``D/2s - epsilon s/D``, ``D/2s + epsilon s/D`` and their sum, each the double next to the exact value."""
        d, s = Fraction(self.sensitivity), Fraction(self.sigma)
        half, shift = d / (2 * s), Fraction(epsilon) * s / d
        return _rounded(half - shift), _rounded(half + shift), _rounded(2 * half)


def _rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _first_double(x: float, holds: Callable[[float], bool]) -> float:
    """The smallest double near x from which on a promise holds."""
    step, low, high = math.ulp(x), x, x
    if holds(x):
        while holds(low):
            low, high, step = low - step, low, 2 * step
    else:
        while not holds(high):
            low, high, step = high, high + step, 2 * step
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _log_profile(a: float, r: float, mu: float) -> float:
    """Log of the Gaussian profile at ``a = mu/2 - epsilon/mu`` and ``r = mu/2 + epsilon/mu``, mu = D / sigma.

    With the Mills ratio M(x) = Phi(-x)/phi(x), delta = phi(a) (M(-a) - M(r)), because exp(epsilon) phi(r) = phi(a).
    So exp(epsilon) is never formed.
    """
    if a < -1e6 or mu == 0.0:
        return -math.inf
    if a > 1e6:
        return 0.0
    log_phi = -a * a / 2 - _LOG_SQRT_2PI
    if mu < 0.5:  # the difference would cancel: integrate -M' over [-a, r]
        slope = _minus_mills_derivative(mu * (1 + _NODES) / 2 - a)
        return log_phi + math.log(mu / 2 * float(_WEIGHTS @ slope))
    if a <= 0:
        return log_phi + math.log(_mills(-a) - _mills(r))
    return math.log(float(ndtr(a)) - math.exp(log_phi) * _mills(r))


def _mills(x: float | np.ndarray) -> float | np.ndarray:
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


def _minus_mills_derivative(x: np.ndarray) -> np.ndarray:
    """-M'(x) = 1 - x M(x), by its asymptotic series where the difference cancels."""
    y = np.maximum(x, 60.0) ** -2.0
    series = y * (1 - y * (3 - y * (15 - y * (105 - y * 945))))
    return np.where(x > 60.0, series, 1 - x * _mills(x))
