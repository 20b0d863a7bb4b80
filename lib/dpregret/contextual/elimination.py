"""Algorithm 1 of [Li2024]: action elimination with a locally private regression oracle.

References
----------
[Li2024] Section 3; epoch lengths of Theorem 4.7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpregret import _checks
from dpregret.contextual.batch import Batch
from dpregret.contextual.estimate import Estimate
from dpregret.contextual.model import ContextualProblem
from dpregret.contextual.per_user import PerUserBatch
from dpregret.simulation.seeds import generator

BACKENDS = {"exact": Batch, "per_user": PerUserBatch}
LONGEST_HORIZON = 1e26


class Oracle(Protocol):
    """Definition 3.1 of [Li2024]: an offline regression oracle with confidence bands."""

    def fit(self, batch: Batch, *, alpha: float, delta: float, rng: np.random.Generator) -> Estimate:
        """Estimates from one epoch.

        Parameters
        ----------
        batch : Batch
            The epoch's users; the oracle learns of them through its sums alone.
        alpha : float
            Privacy of one user's whole message, under replacement of the record. Stated by each oracle.
        delta : float
            Failure probability of the bands of one action.
        rng : Generator

        Returns
        -------
        Estimate
        """


EPOCH = np.dtype(
    [
        ("epoch", np.int64),
        ("users", np.float64),
        ("start", np.float64),
        ("instantaneous", np.float64),
        ("regret", np.float64),
        ("surviving", np.float64),
        ("width", np.float64),
        ("covered", np.bool_),
    ]
)


@dataclass(frozen=True, eq=False)
class Result:
    """One run of Algorithm 1.

    Attributes
    ----------
    regret : float
        Expected cumulative regret given the bands of the run: every epoch's users times the expected regret of one
        round of its play, summed over contexts and actions.
    covered : bool
        Whether every band of every epoch held at every context and action.
    epochs : structured array
        One row an epoch: ``epoch``, ``users``, ``start`` (users before it), ``instantaneous`` (expected regret of a
        round), ``regret`` (of the epoch), ``surviving`` (expected number of actions left), ``width`` (expected width of
        the band fitted on the epoch, over its own play), ``covered``. No band is fitted on the last epoch: its width
        is not a number and ``covered`` is true.
    surviving : bool array (X, A)
        The actions left at the end.
    failure_probability : float
        Union bound on a band failing anywhere, if the oracle keeps its promise.
    """

    regret: float
    covered: bool
    epochs: np.ndarray
    surviving: np.ndarray
    failure_probability: float

    def regret_after(self, rounds) -> np.ndarray:
        """Expected cumulative regret after each of ``rounds`` (play is constant within an epoch)."""
        ends = np.append(0.0, self.epochs["start"] + self.epochs["users"])
        rounds = _checks.array("rounds", rounds, at_least=0.0, at_most=float(ends[-1]))
        return np.interp(rounds, ends, np.append(0.0, np.cumsum(self.epochs["regret"])))


def first_epoch_scale(horizon: float, dimension: int, beta: float | None = None) -> int:
    """n_0 = ceil(d^2 ln(d T / beta)) of Theorem 4.7; beta = 1/ln T by default (Remark 4.8)."""
    beta = 1 / math.log(horizon) if beta is None else beta
    return math.ceil(dimension**2 * math.log(dimension * horizon / beta))


def epoch_lengths(horizon: int, n_0: int) -> list[int]:
    """n_tau = 2^tau n_0 for tau = 1, 2, ..., the last one cut at the horizon."""
    lengths, left, length = [], horizon, 2 * n_0
    while left > 0:
        lengths.append(min(length, left))
        left -= lengths[-1]
        length *= 2
    return lengths


def run(
    problem: ContextualProblem,
    *,
    horizon: float,
    oracle: Oracle,
    alpha: float,
    seed: int | np.random.SeedSequence,
    delta: float | None = None,
    n_0: int | None = None,
    backend: str = "exact",
) -> Result:
    """Algorithm 1 of [Li2024] with one oracle an action.

    Contexts: X, actions: A. In an epoch every context's surviving actions are played uniformly, and a user's record
    goes to the oracle of the action played, the empty record to the others.

    Parameters
    ----------
    problem : ContextualProblem
    horizon : float
        T, a whole number, at least the first epoch and at most 1e26. Cost does not grow with T but for the number of
        epochs, log2 T.
    oracle : Oracle
        ``LPLR()``, ``CorrectedLPLR()``, ``PerturbedStatistics()``, ``InputPerturbation()``, ``LeastSquares()``, ...
    alpha : float
        Privacy parameter in (0, 1].
    seed : int or SeedSequence
    delta : float, optional
        Failure probability of one oracle's bands (one action, one epoch); 1/T^2 by default, as in the text.
    n_0 : int, optional
        The epochs have 2 n_0, 4 n_0, ... users; by default ``first_epoch_scale``.
    backend : {"exact", "per_user"}
        Sums drawn in one step, or every user's record and every noise drawn (horizons up to about 1e6).

    Returns
    -------
    Result

    Raises
    ------
    ValueError
        For alpha outside (0, 1], a horizon below the first epoch, an unknown backend.
    """
    if not isinstance(problem, ContextualProblem):
        raise ValueError(f"problem must be a ContextualProblem, got {problem!r}")
    if not hasattr(oracle, "fit"):
        raise ValueError(f"oracle must be an oracle, an object with a method fit(...), got {oracle!r}")
    alpha = _checks.real("alpha", alpha, above=0.0, at_most=1.0)
    horizon = _checks.integer("horizon", horizon, at_least=2, at_most=int(LONGEST_HORIZON))
    delta = float(horizon) ** -2 if delta is None else _checks.delta(delta)
    if n_0 is None:
        n_0 = first_epoch_scale(horizon, problem.dimension)
    n_0 = _checks.integer("n_0", n_0, at_least=1)
    horizon = _checks.integer("horizon", horizon, at_least=2 * n_0)
    make = BACKENDS[_checks.choice("backend", backend, BACKENDS)]
    rng = generator(seed, "elimination")

    n_contexts, n_actions = problem.n_contexts, problem.n_actions
    features = problem.features.reshape(-1, problem.dimension)
    actions = np.tile(np.arange(n_actions), n_contexts)
    means, law = problem.mean_rewards.ravel(), problem.context_probabilities
    alive = np.ones((n_contexts, n_actions), dtype=bool)
    lengths = epoch_lengths(horizon, n_0)
    epochs = np.zeros(len(lengths), dtype=EPOCH)
    start = 0
    for tau, users in enumerate(lengths):
        policy = alive / alive.sum(axis=1, keepdims=True)
        instantaneous = problem.regret(policy)
        surviving, width, covered = float(law @ alive.sum(axis=1)), math.nan, True
        if tau + 1 < len(lengths):
            batch = make(features, actions, (law[:, None] * policy).ravel(), means, users, horizon=float(horizon))
            estimate = oracle.fit(batch, alpha=alpha, delta=delta, rng=rng)
            values, widths = (part.reshape(alive.shape) for part in (estimate.values, estimate.widths))
            width, covered = float(batch.probabilities @ estimate.widths), estimate.covered(batch)
            lower = np.where(alive, values - widths, -math.inf).max(axis=1, keepdims=True)
            alive &= values + widths >= lower
        epochs[tau] = (tau + 1, users, start, instantaneous, users * instantaneous, surviving, width, covered)
        start += users
    return Result(
        regret=math.fsum(epochs["regret"]),
        covered=bool(epochs["covered"].all()),
        epochs=epochs,
        surviving=alive,
        failure_probability=min(1.0, n_actions * (len(lengths) - 1) * delta),
    )
