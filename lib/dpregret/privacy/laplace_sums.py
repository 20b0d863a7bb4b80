"""Sums of independent Laplace variables of several scales: exact tails, densities and quantiles.

The moment generating function of ``X = sum_i (N_i variables Lap(b_i))`` is ``M(s) = prod_i (1 - b_i^2 s^2)^-N_i`` for
``|s| < 1/max b``. Its inversion integrals

    P(X > x) = 1/(2 pi i) int M(s) exp(-s x) / s ds,      density(x) = 1/(2 pi i) int M(s) exp(-s x) ds

run here along a hyperbola that crosses the real axis at the saddle point and opens to the right; no pole lies between
it and a vertical line, since all are real. The integrand does not cancel at the saddle point and the trapezoidal rule
converges geometrically, so tails keep about twelve digits of relative accuracy, however small they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from dpregret import _checks

_SIN, _COS = math.sin(math.pi / 8), math.cos(math.pi / 8)  # slant of the hyperbola: M(s) must decay along it
_STEP = 0.08


@dataclass(frozen=True)
class LaplaceSum:
    """The law of a sum of independent Laplace variables, ``counts[i]`` of them of scale ``scales[i]``.

    Parameters
    ----------
    scales : tuple of float
        Scales > 0.
    counts : tuple of int
        How many of each, >= 0, at least one in all.
    """

    scales: tuple[float, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.scales) != len(self.counts):
            raise ValueError(f"counts must have one entry a scale, got {self.counts!r} for {self.scales!r}")
        counts = [_checks.integer("counts", count, at_least=0) for count in self.counts]
        pairs = [(_checks.real("scales", b, above=0.0), n) for b, n in zip(self.scales, counts, strict=True) if n]
        if not pairs:
            raise ValueError(f"counts must name at least one variable, got {self.counts!r}")
        object.__setattr__(self, "scales", tuple(b for b, _ in pairs))
        object.__setattr__(self, "counts", tuple(n for _, n in pairs))

    @property
    def variance(self) -> float:
        """``2 sum_i N_i b_i^2``."""
        return 2 * sum(n * b**2 for b, n in zip(self.scales, self.counts, strict=True))

    def density(self, x: float) -> float:
        """The density at x."""
        y = abs(_checks.real("x", x)) / max(self.scales)
        return math.exp(self._log_integral(y, pole=0)) / max(self.scales)

    def log_tail(self, x: float) -> float:
        """``log P(X > x)``, also far below the smallest double."""
        y = _checks.real("x", x) / max(self.scales)
        return self._log_integral(y, pole=1) if y >= 0 else math.log1p(-math.exp(self._log_integral(-y, pole=1)))

    def two_sided_tail(self, x: float) -> float:
        """``P(|X| > x)`` for x >= 0."""
        return min(1.0, 2 * math.exp(self.log_tail(_checks.real("x", x, at_least=0.0))))

    def two_sided_quantile(self, gamma: float) -> float:
        """The x >= 0 with ``P(|X| > x) = gamma``, 0 < gamma <= 1 (as gamma nears 1, to 1e-13 standard deviations)."""
        gamma = _checks.real("gamma", gamma, above=0.0, at_most=1.0)
        if gamma == 1.0:
            return 0.0
        log_half = math.log(gamma / 2)
        # sub-gamma: P(X > sqrt(2 v l) + b l) <= exp(-l)
        high = math.sqrt(-2 * self.variance * log_half) - max(self.scales) * log_half
        return float(brentq(lambda x: self.log_tail(x) - log_half, 0.0, high, xtol=1e-300, rtol=1e-14))

    def _log_integral(self, y: float, pole: int) -> float:
        """Log of the inversion integral at ``y >= 0`` with the largest scale as unit; `pole` is the power of 1/s."""
        largest = max(self.scales)
        ratio, count = np.array(self.scales) / largest, np.array(self.counts, dtype=float)

        def slope(z: float) -> float:  # of log(M(s) exp(-s y) / s^pole) at s = expit(z), with 1 - s = expit(-z)
            s, rest = expit(z), expit(-z)
            return float(count @ (2 * ratio**2 * s / ((1 - ratio + ratio * rest) * (1 + ratio * s)))) - y - pole / s

        if pole or y:
            z = brentq(slope, -700.0, 700.0, xtol=1e-10)
            saddle, rest = expit(z), expit(-z)
        else:
            saddle, rest = 0.0, 1.0
        below, above = 1 - ratio + ratio * rest, 1 + ratio * saddle  # 1 -+ ratio s
        curvature = count @ (ratio**2 * (below**-2 + above**-2)) + (pole / saddle**2 if pole else 0.0)
        width = 1 / math.sqrt(float(curvature))

        decay = 2 * count[ratio == 1.0].sum() - 1 + pole  # along the contour, exp(-decay v) at least
        v = np.arange(0.0, 38.0 / decay + 4.0 - math.log(width), _STEP)
        shift = width * (_SIN * (np.cosh(v) - 1) + 1j * _COS * np.sinh(v))
        step = width * (_SIN * np.sinh(v) + 1j * _COS * np.cosh(v))
        log_ratio = -y * shift  # of the integrand to its value at the saddle
        for r, n, low, high in zip(ratio, count, below, above, strict=True):
            log_ratio = log_ratio - n * (np.log(1 - r * shift / low) + np.log(1 + r * shift / high))
        terms = (np.exp(log_ratio) * step * (1 / (1 + shift / saddle) if pole else 1.0)).imag
        terms[0] /= 2
        total = float(terms.sum()) * _STEP / math.pi
        at_saddle = -float(count @ (np.log(below) + np.log(above))) - y * saddle - (math.log(saddle) if pole else 0.0)
        return at_saddle + math.log(total)
