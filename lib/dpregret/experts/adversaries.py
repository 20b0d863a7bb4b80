"""Adversaries: who chooses the losses of a round, in [0, 1]^k, from what happened before it.

Each has ``losses(t, actions, cumulative, rng)``, the losses of round t = 1, 2, ... given the past actions and the sums
of the past losses, and all but `Callback` have a compiled twin (``kind``, ``table``). ``shared`` says that the losses
do not depend on actions or chance, so that all replicates of a game share them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpregret import _checks
from dpregret.experts import kernels

_NO_TABLE = np.zeros((1, 1))


@dataclass(frozen=True, eq=False)
class ObliviousLosses:
    """A fixed loss matrix, shape (rounds, k), entries in [0, 1]; with ``cycle`` its rows come again and again.

    ``ObliviousLosses([[0, 1], [1, 0]], cycle=True)`` are two experts that lose in turn, so that the leader loses
    next.
    """

    matrix: np.ndarray
    cycle: bool = False
    kind = kernels.TABLE
    shared = True

    def __post_init__(self) -> None:
        matrix = _checks.array("matrix", self.matrix, ndim=2, at_least=0.0, at_most=1.0)
        if 0 in matrix.shape:
            raise ValueError(f"matrix must have at least one round and one expert, got shape {matrix.shape}")
        object.__setattr__(self, "matrix", matrix)

    @property
    def table(self) -> np.ndarray:
        """The losses or means that the compiled game reads, shape (rounds, k) or (1, k)."""
        return self.matrix

    @property
    def n_experts(self) -> int:
        """The number of experts k."""
        return self.matrix.shape[1]

    @property
    def max_horizon(self) -> int | None:
        """The longest game, None if there is no limit."""
        return None if self.cycle else len(self.matrix)

    def losses(self, t: int, actions: np.ndarray, cumulative: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The k losses of round t >= 1, from the past actions, the sums of losses so far, or the generator."""
        return self.matrix[(t - 1) % len(self.matrix)]


@dataclass(frozen=True, eq=False)
class BernoulliExperts:
    """Independent losses: expert j loses 1 with probability ``means[j]``, else 0. New losses in every replicate."""

    means: np.ndarray
    kind = kernels.BERNOULLI
    shared = False
    max_horizon = None

    def __post_init__(self) -> None:
        means = _checks.array("means", self.means, ndim=1, at_least=0.0, at_most=1.0)
        if means.size == 0:
            raise ValueError("means must have at least one expert, got none")
        object.__setattr__(self, "means", means)

    @property
    def table(self) -> np.ndarray:
        """The losses or means that the compiled game reads, shape (rounds, k) or (1, k)."""
        return self.means[None, :]

    @property
    def n_experts(self) -> int:
        """The number of experts k."""
        return len(self.means)

    def losses(self, t: int, actions: np.ndarray, cumulative: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The k losses of round t >= 1, from the past actions, the sums of losses so far, or the generator."""
        return np.array([float(rng.random() < mean) for mean in self.means])


@dataclass(frozen=True)
class LeaderPunishing:
    """Loss 1 for the expert with the smallest sum of losses so far (ties to the smaller index), 0 for the others."""

    kind = kernels.LEADER
    table = _NO_TABLE
    shared = True
    n_experts = None
    max_horizon = None

    def losses(self, t: int, actions: np.ndarray, cumulative: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The k losses of round t >= 1, from the past actions, the sums of losses so far, or the generator."""
        return np.eye(len(cumulative))[np.argmin(cumulative)]


@dataclass(frozen=True)
class LastActionPunishing:
    """Loss 1 for the action of the round before, 0 for the others and in round 1: adaptive, sees ``a_{t-1}``.

    It defeats a learner that keeps its action for B rounds: mean regret about ``(1 - 1/B) (1 - 1/k)``.
    """

    kind = kernels.LAST_ACTION
    table = _NO_TABLE
    shared = False
    n_experts = None
    max_horizon = None

    def losses(self, t: int, actions: np.ndarray, cumulative: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The k losses of round t >= 1, from the past actions, the sums of losses so far, or the generator."""
        losses = np.zeros(len(cumulative))
        if t > 1:
            losses[actions[-1]] = 1.0
        return losses


@dataclass(frozen=True)
class Callback:
    """Any Python function ``function(t, actions)`` of the round t >= 1 and the past actions (length t - 1).

    It cannot change the past actions (they are read-only). It returns k losses; those outside [0, 1] or not finite are
    refused in the round in which they come.
    """

    function: Callable[[int, np.ndarray], np.ndarray]
    kind = None
    shared = False
    n_experts = None
    max_horizon = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"function must be callable, got {self.function!r}")

    def losses(self, t: int, actions: np.ndarray, cumulative: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The k losses of round t >= 1, from the past actions, the sums of losses so far, or the generator."""
        return checked_losses(t, self.function(t, actions), cumulative.shape)


def checked_losses(t: int, losses: object, shape: tuple[int, ...]) -> np.ndarray:
    """The losses of a round as an array of this shape with entries in [0, 1]."""
    losses = np.asarray(losses)
    if losses.shape != shape:
        raise ValueError(f"the losses of round {t} must have shape {shape}, got {losses.shape}")
    if losses.dtype.kind not in "biuf" or not (losses.min() >= 0.0 and losses.max() <= 1.0):
        return _checks.array(f"the losses of round {t}", losses, at_least=0.0, at_most=1.0)
    return losses
