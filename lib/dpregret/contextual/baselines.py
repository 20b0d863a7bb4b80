"""Regression oracles without a partition, inside the same elimination framework."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpregret.contextual.batch import Batch
from dpregret.contextual.estimate import Estimate, safe_band


def spectral_estimate(batch: Batch, l: np.ndarray, L: np.ndarray, error) -> Estimate:
    r"""An estimate from noisy moments: along each eigenvector u of L, u'l / s with error at most ``error(s, u) / s``.

    A direction of relative error above 1 is left out, at the price |u'phi|, since |theta*| <= 1.

    Parameters
    ----------
    l, L : arrays (A, d), (A, d, d)
        Estimates of E[y phi] and E[phi phi'].
    error : callable
        ``error(s (A, d), u (A, d, d))``, bounds on |u'l - s u'theta*|, shape (A, d); eigenvectors are columns.
    """
    s, u = np.linalg.eigh(L)
    bound = error(s, u)
    known = (s > 0) & (bound < s)
    safe = np.where(known, s, 1.0)
    t = np.where(known, np.einsum("aij,ai->aj", u, l) / safe, 0.0)
    width = np.where(known, bound / safe, 1.0)

    def band(features, actions):
        along = np.einsum("mi,mij->mj", features, u[actions])
        value, size = np.einsum("mj,mj->m", along, t[actions]), np.einsum("mj,mj->m", np.abs(along), width[actions])
        return safe_band(value, np.minimum(size, np.linalg.norm(features, axis=1) + np.abs(value)), features)

    return Estimate(band, batch, {"directions": u, "eigenvalues": s, "coefficients": t, "widths": width})


@dataclass(frozen=True)
class LeastSquares:
    """Ordinary least squares in spectral form, without privacy: what the framework gives where nothing is hidden.

    Given the epoch's contexts, the rewards' errors are independent and within [-1 - f, 1 - f], so along an eigenvector
    of the empirical covariance with eigenvalue s the error is at most ``sqrt(2 ln(2 d / delta) s / n)``, by Hoeffding.
    """

    def effective_epsilon(self, alpha: float) -> float:
        """Infinite: the records themselves are used."""
        return math.inf

    def fit(self, batch: Batch, *, alpha: float, delta: float, rng: np.random.Generator) -> Estimate:
        """See :class:`~dpregret.contextual.elimination.Oracle`; ``alpha`` is not used."""
        n, d = batch.n, batch.dimension
        phi = batch.features
        values = np.empty((len(phi), 2, d + d * d))
        values[:, 0, :d], values[:, 1, :d] = phi, -phi
        values[:, :, d:] = (phi[:, :, None] * phi[:, None, :]).reshape(-1, 1, d * d)
        means = batch.record_sums(rng, n, values, batch.actions, batch.n_actions) / n
        log = math.log(2 * d / delta)
        return spectral_estimate(
            batch,
            means[:, :d],
            means[:, d:].reshape(-1, d, d),
            lambda s, u: np.sqrt(2 * log * np.maximum(s, 0.0) / n),
        )
