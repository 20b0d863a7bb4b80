"""Regression oracles without a partition, inside the same elimination framework."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dpregret import _checks
from dpregret.contextual import kernels
from dpregret.contextual.batch import Batch
from dpregret.contextual.corrected import DIMENSIONS, laplace_scales
from dpregret.contextual.estimate import Estimate, safe_band
from dpregret.contextual.model import ContextualProblem
from dpregret.contextual.moments import (
    bernstein_width,
    hoeffding_width,
    laplace_width,
    record_values,
    sensitivities,
    spent,
    unfold,
)
from dpregret.simulation.seeds import generator


def spectral_estimate(batch: Batch, l: np.ndarray, L: np.ndarray, error) -> Estimate:
    r"""An estimate from noisy moments: along each eigenvector u of L, u'l / s with error at most ``error(s, u) / s``.

    A direction of relative error above 1 is left out, at the price ``|u'phi|``, since theta* has norm at most 1.

    Parameters
    ----------
    l, L : arrays (A, d), (A, d, d)
        Estimates of E[y phi] and E[phi phi'].
    error : callable
        ``error(s (A, d), u (A, d, d))``, bounds on ``|u'l - s u'theta*|``, shape (A, d); eigenvectors are columns.
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

    def value_epsilon(self) -> float:
        """Infinite: there is no noise."""
        return math.inf

    def effective_epsilon(self) -> float:
        """Infinite: the records themselves are used."""
        return math.inf

    def fit(self, batch: Batch, *, delta: float, rng: np.random.Generator) -> Estimate:
        """See :class:`~dpregret.contextual.elimination.Oracle`."""
        batch.restart()
        n, d = batch.n, batch.dimension
        means = batch.record_sums(rng, n, record_values(batch.features), batch.actions, batch.n_actions) / n
        log = math.log(2 * d / delta)
        return spectral_estimate(
            batch, means[:, :d], unfold(means[:, d:], d), lambda s, _: np.sqrt(2 * log * np.maximum(s, 0.0) / n)
        )


def _entrywise(width_l: float, width_L: np.ndarray):
    """|u'l - s u'theta*| <= w_l' |u| + |W_L |u||, from entrywise bounds and |theta*| <= 1."""

    def error(_, u):
        size = np.abs(u)
        return width_l * size.sum(axis=1) + np.linalg.norm(np.einsum("ij,ajk->aik", width_L, size), axis=1)

    return error


@dataclass(frozen=True)
class PerturbedStatistics:
    """Sums of y phi and phi phi' with Laplace noise on every user's term, for every action: alpha-LDP.

    Half of alpha for each. Under replacement, the action included, the l1 sensitivities are ``2 sqrt(d)`` and, for the
    upper triangle, ``d + 1``. Bands by Hoeffding's inequality and that of sub-gamma variables, all coordinates counted.

    Parameters
    ----------
    alpha : float
        In (0, 1].

    Raises
    ------
    ValueError
        For alpha outside (0, 1].
    """

    alpha: float = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _checks.real("alpha", self.alpha, above=0.0, at_most=1.0))

    def scales(self, dimension: int) -> tuple[float, float]:
        """Scales of the noise on y phi and on the upper triangle of phi phi'."""
        scale_l, scale_L = laplace_scales(dimension, 1.0, self.alpha)
        return float(scale_l), scale_L

    def value_epsilon(self) -> float:
        """The exact privacy parameter of the noisy values: the largest in 1 to 8 dimensions, all alike."""
        return max(spent(sensitivities(d), self.scales(d)) for d in DIMENSIONS)

    def effective_epsilon(self) -> float:
        """The exact privacy parameter of a user's message: noisy values, sent for every action, are all of it."""
        return self.value_epsilon()

    def fit(self, batch: Batch, *, delta: float, rng: np.random.Generator) -> Estimate:
        """See :class:`~dpregret.contextual.elimination.Oracle`."""
        batch.restart()
        n, d = batch.n, batch.dimension
        size = d * (d + 1) // 2
        scale_l, scale_L = self.scales(d)
        scale = np.tile(np.repeat([scale_l, scale_L], [d, size]), (batch.n_actions, 1))
        means = batch.record_sums(rng, n, record_values(batch.features), batch.actions, batch.n_actions)
        means = (means + batch.laplace_sums(rng, n, scale)) / n
        log = math.log(4 * (d + size) / delta)  # two tests a coordinate
        width_l = hoeffding_width(log, n, 1.0) + laplace_width(log, n, scale_l)
        width_L = hoeffding_width(log, n, 0.5) + laplace_width(log, n, scale_L)
        error = _entrywise(width_l, np.full((d, d), width_L))
        return spectral_estimate(batch, means[:, :d], unfold(means[:, d:], d), error)


@dataclass(frozen=True)
class InputPerturbation:
    """Every user sends phi and y with Laplace noise, for every action; moments corrected for the noise: alpha-LDP.

    Scale ``b = 2 (sqrt(d) + 1) / alpha`` on each coordinate, for replacement with the action included. The setting of
    Theorem 2.2 of [Li2024] (there with scale 1/alpha, fault L5). Products of two noises have heavy tails: they are
    bounded by Bernstein's inequality after truncation at a size that no user's noise exceeds, but for a small
    probability that is counted.

    Parameters
    ----------
    alpha : float
        In (0, 1].

    Raises
    ------
    ValueError
        For alpha outside (0, 1].
    """

    alpha: float = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _checks.real("alpha", self.alpha, above=0.0, at_most=1.0))

    def scale(self, dimension: int) -> float:
        """Scale of the noise on y and on every coordinate of phi."""
        return 2 * (math.sqrt(dimension) + 1) / self.alpha

    def value_epsilon(self) -> float:
        """The exact privacy parameter of the noisy values: the largest in 1 to 8 dimensions, all alike.

        The farthest records have different actions, vectors ``(1, ..., 1) / sqrt(d)``, and a reward of size 1.
        """
        return max(spent((sensitivities(d)[0], 2.0), (self.scale(d),) * 2) for d in DIMENSIONS)

    def effective_epsilon(self) -> float:
        """The exact privacy parameter of a user's message: noisy values, sent for every action, are all of it."""
        return self.value_epsilon()

    def fit(self, batch: Batch, *, delta: float, rng: np.random.Generator) -> Estimate:
        """See :class:`~dpregret.contextual.elimination.Oracle`."""
        batch.restart()
        n, d = batch.n, batch.dimension
        b = self.scale(d)
        second, cross = batch.input_sums(rng, n, b)
        tests = 4 * (d + d * (d + 1) // 2) + 1  # sampling, two linear terms, one product; and the truncation
        log = math.log(2 * tests / delta)
        x = math.log(n * (d + 1) * tests / delta)  # all |noise| <= b x
        largest, bias = (b * x) ** 2, b**2 * math.exp(-x) * (x * x + 2 * x + 2)
        linear = 2 * laplace_width(log, n, b)
        width_l = hoeffding_width(log, n, 1.0) + linear + bernstein_width(log, n, 4 * b**4, largest)
        squares = bernstein_width(log, n, 20 * b**4, largest) + bias
        products = bernstein_width(log, n, 4 * b**4, largest)
        width_L = hoeffding_width(log, n, 0.5) + linear + np.where(np.eye(d) == 1, squares, products)
        return spectral_estimate(batch, cross / n, second / n, _entrywise(width_l, width_L))


def lin_ucb(
    problem: ContextualProblem,
    *,
    horizon: int,
    seed: int | np.random.SeedSequence,
    checkpoints=None,
    ridge: float = 1.0,
    delta: float | None = None,
) -> np.ndarray:
    """LinUCB, user by user and without privacy: a well-known point of reference.

    One parameter for all actions, confidence radius ``sqrt(ridge) + sqrt(2 ln(1/delta) + d ln(1 + t/(ridge d)))``.

    Parameters
    ----------
    problem : ContextualProblem
    horizon : int
        At most 1e9.
    seed : int or SeedSequence
    checkpoints : increasing sequence of int, optional
        Rounds at which the regret is kept; by default the horizon alone.
    ridge : float
    delta : float, optional
        By default 1/T.

    Returns
    -------
    array
        Cumulative pseudo-regret at the checkpoints.
    """
    horizon = _checks.integer("horizon", horizon, at_least=1, at_most=10**9)
    rounds = [horizon] if checkpoints is None else checkpoints
    rounds = np.array([_checks.integer("checkpoints", c, at_least=1, at_most=horizon) for c in rounds])
    if rounds.size == 0 or (np.diff(rounds) <= 0).any():
        raise ValueError(f"checkpoints must be a strictly increasing sequence of rounds, got {checkpoints!r}")
    log_delta = math.log(horizon) if delta is None else -math.log(_checks.delta(delta))
    ridge = _checks.real("ridge", ridge, above=0.0)
    cumulative = np.cumsum(problem.context_probabilities)
    rng = generator(seed, "LinUCB")
    return kernels.lin_ucb_loop(
        rng, problem.features, cumulative, problem.parameter, problem.gaps, rounds, ridge, log_delta
    )
