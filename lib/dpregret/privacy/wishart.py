r"""The Wishart mechanism of the contextual paper, as printed, and the privacy that it really has: no finite epsilon.

The printed noise is, up to a shift, a positive semi-definite matrix Y whose density is proportional to
:math:`e^{-\rho \operatorname{tr} Y}` on the whole cone, :math:`\rho = \alpha / (9 \gamma^{-2k})`: with d + 1 degrees of
freedom the power of the determinant is 0. So the output under input v lives on the cone translated by :math:`v v^\top`,
and where two such cones overlap the ratio of the densities is constant. An output outside the other input's cone
excludes that input. Every hockey-stick divergence follows from the probability of the overlap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaincc

from dpregret import _checks


@dataclass(frozen=True, kw_only=True)
class Wishart:
    r"""Line 5 of Algorithm 3 of [Li2024]: add :math:`3 g^2 (W - \frac{1.5 (d + 1)}{\alpha} I)` to :math:`v v^\top`.

    W has the Wishart law :math:`W_d(d + 1, \frac{1.5}{\alpha} I)` and g is ``scale``. Proposition 4.1 claims that this
    step is (alpha / 3, 0)-private. It is (epsilon, 0)-private for no epsilon.

    Parameters
    ----------
    alpha : float
        The parameter of the text, > 0.
    dimension : int
        d, at least 1.
    scale : float
        g, the bound on the norm of v: the text's :math:`\gamma^{-k}` in a bin of index k.
    """

    alpha: float
    dimension: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _checks.epsilon(self.alpha, "alpha"))
        object.__setattr__(self, "dimension", _checks.integer("dimension", self.dimension, at_least=1))
        object.__setattr__(self, "scale", _checks.real("scale", self.scale, above=0.0))

    @property
    def rate(self) -> float:
        r"""The rate :math:`\rho = \alpha / (9 g^2)` of the noise's density, per unit of trace."""
        return self.alpha / (9 * self.scale**2)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> np.ndarray:
        """Noise matrices, of mean zero, shape ``size + (d, d)``."""
        shape = () if size is None else tuple(np.atleast_1d(size))
        d = self.dimension
        variance = 1.5 / self.alpha
        normal = rng.normal(0.0, math.sqrt(variance), (*shape, d, d + 1))
        return 3 * self.scale**2 * (normal @ normal.swapaxes(-1, -2) - variance * (d + 1) * np.eye(d))

    def privatize(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        r"""Vectors of shape (..., d) to noisy matrices :math:`v v^\top` of shape (..., d, d); the zero vector is empty.

        Raises
        ------
        ValueError
            For vectors of another dimension or longer than ``scale``.
        """
        values = self._vectors("values", values)
        return values[..., :, None] * values[..., None, :] + self.sample(rng, values.shape[:-1])

    def delta(self, epsilon: float) -> float:
        r"""The exact profile over all pairs of records: :math:`1 - e^{-\alpha/9}` for every epsilon, in any dimension.

        Records are the vectors of norm at most ``scale`` and the empty record. The supremum is attained by the empty
        record against a vector of full length. It is the same if the other record lies in another bin.
        """
        _checks.real("epsilon", epsilon, at_least=0.0)
        return -math.expm1(-self.alpha / 9)

    def delta_between(self, first: np.ndarray, second: np.ndarray, epsilon: float) -> float:
        r"""The exact hockey-stick divergence of the output under ``first`` from the output under ``second``.

        Let a and -b be the extreme eigenvalues of :math:`\rho (w w^\top - v v^\top)`, v first and w second. The overlap
        has probability F(a, b) under v (`overlap`), and there the log-ratio of the densities is b - a. So the
        divergence is :math:`1 - \min\{1, e^{\varepsilon + a - b}\} F(a, b)`.

        Parameters
        ----------
        first, second : array (d,)
            Vectors of norm at most ``scale``; the zero vector for the empty record.
        epsilon : float
            At least 0.

        Raises
        ------
        ValueError
            For vectors of another dimension or longer than ``scale``, or a negative epsilon.
        """
        v, w = self._vectors("first", first), self._vectors("second", second)
        if v.ndim != 1 or w.ndim != 1:
            raise ValueError(f"first and second must be single vectors, got shapes {v.shape} and {w.shape}")
        epsilon = _checks.real("epsilon", epsilon, at_least=0.0)
        difference = self.rate * float((w - v) @ (w + v))
        cross = np.outer(v, w) - np.outer(w, v)
        area = self.rate**2 * float((cross**2).sum()) / 2  # |v|^2 |w|^2 sin^2, the product a b
        root = math.hypot(difference, 2 * math.sqrt(area))
        larger = (abs(difference) + root) / 2
        smaller = area / larger if larger > 0 else 0.0
        a, b = (larger, smaller) if difference >= 0 else (smaller, larger)
        return 1 - math.exp(min(0.0, epsilon + a - b)) * overlap(a, b)

    def _vectors(self, name: str, values: np.ndarray) -> np.ndarray:
        values = _checks.array(name, values)
        if values.ndim == 0 or values.shape[-1] != self.dimension:
            raise ValueError(f"{name} must have last axis {self.dimension}, got shape {values.shape}")
        longest = float(np.linalg.norm(values, axis=-1).max(initial=0.0))
        if longest > self.scale * (1 + 1e-12):
            raise ValueError(f"{name} must have norms at most scale = {self.scale:g}, got {longest!r}")
        return values


def overlap(a: float, b: float) -> float:
    r"""F(a, b) = P(Y - D is positive semi-definite), D of extreme eigenvalues a >= 0 and -b <= 0 and otherwise zero.

    Y has density proportional to :math:`e^{-\operatorname{tr} Y}` on the cone of any dimension d >= 2; the Schur
    complement of Y on the plane of D has the same law with d = 2, so that the dimension does not enter. In the plane
    :math:`F = \frac4\pi \int_a^\infty \int_0^\infty e^{-x-y} \min\{\sqrt{xy}, \sqrt{(x-a)(y+b)}\} \, dy \, dx`. Special
    cases: :math:`F(a, 0) = e^{-a}` and :math:`F(a, a) = 1 - \frac2\pi \int_0^a t K_1(t) \, dt` with the Bessel function
    :math:`K_1`.
    """
    a, b = _checks.real("a", a, at_least=0.0), _checks.real("b", b, at_least=0.0)
    if a == 0:
        return 1.0
    if b == 0:
        return math.exp(-a)

    def half(low: float, slope: float) -> float:
        # int sqrt(y) e^-y Gamma(3/2, low + slope y) dy with y = u^2
        value, _ = quad(
            lambda u: 2 * u * u * math.exp(-u * u) * gammaincc(1.5, low + slope * u * u), 0, 30,
            points=[min(1.0, 1 / math.sqrt(slope)), 3.0], epsabs=1e-14, epsrel=1e-12, limit=200,
        )  # fmt: skip
        return value * math.sqrt(math.pi) / 2

    return 4 / math.pi * (half(a, a / b) + math.exp(b - a) * half(b, b / a))
