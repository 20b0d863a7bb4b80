"""Algorithm 1 of [Li2024]: action elimination with a locally private regression oracle.

References
----------
[Li2024] Section 3; epoch lengths of Theorem 4.7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    value_epsilon, effective_epsilon : float
        The oracle's own, of the noisy values and of all that a user sends; infinite if it states none.
    """

    regret: float
    covered: bool
    epochs: np.ndarray
    surviving: np.ndarray
    failure_probability: float
    value_epsilon: float = math.inf
    effective_epsilon: float = math.inf

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

    In an epoch every context's surviving actions are played uniformly, and a user's record goes to the oracle of the
    action played, the empty record to the others.

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
        The epochs have 2 n_0, 4 n_0, ... users; by default `first_epoch_scale`.
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
    arguments = dict(horizon=horizon, oracle=oracle, alpha=alpha, delta=delta, n_0=n_0, backend=backend)
    return run_many([problem], seed=seed, **arguments)[0]


def run_many(
    problems: Sequence[ContextualProblem],
    *,
    horizon: float,
    oracle: Oracle,
    alpha: float,
    seed: int | np.random.SeedSequence,
    delta: float | None = None,
    n_0: int | None = None,
    backend: str = "exact",
) -> list[Result]:
    """Independent runs, one a problem, drawn side by side: much faster than one by one. Arguments as in `run`.

    The problems have one dimension; their contexts and actions may differ in number, and a problem may be repeated.
    The numbers depend on the whole list, since all share one generator.
    """
    problems = list(problems)
    if not problems or not all(isinstance(problem, ContextualProblem) for problem in problems):
        raise ValueError(f"problems must be at least one ContextualProblem, got {problems!r}")
    if len({problem.dimension for problem in problems}) > 1:
        raise ValueError(f"problems must have one dimension, got {sorted({p.dimension for p in problems})}")
    if not hasattr(oracle, "fit"):
        raise ValueError(f"oracle must be an oracle, an object with a method fit(...), got {oracle!r}")
    alpha = _checks.real("alpha", alpha, above=0.0, at_most=1.0)
    horizon = _checks.integer("horizon", horizon, at_least=2, at_most=int(LONGEST_HORIZON))
    delta = float(horizon) ** -2 if delta is None else _checks.delta(delta)
    if n_0 is None:
        n_0 = first_epoch_scale(horizon, problems[0].dimension)
    n_0 = _checks.integer("n_0", n_0, at_least=1)
    horizon = _checks.integer("horizon", horizon, at_least=2 * n_0)
    lengths = epoch_lengths(horizon, n_0)
    make = BACKENDS[_checks.choice("backend", backend, BACKENDS)]
    rng = generator(seed, "elimination")
    if backend == "per_user":
        return [result for p in problems for result in _play([p], make, oracle, lengths, alpha, delta, rng)]
    return _play(problems, make, oracle, lengths, alpha, delta, rng)


def _play(problems, make, oracle, lengths, alpha, delta, rng) -> list[Result]:
    """All problems through all epochs. Rows (problem, context, action); labels (problem, action)."""
    features = np.concatenate([p.features.reshape(-1, p.dimension) for p in problems])
    means = np.concatenate([p.mean_rewards.ravel() for p in problems])
    gaps = np.concatenate([p.gaps.ravel() for p in problems])
    n_actions = np.array([p.n_actions for p in problems])
    rows = np.array([p.n_contexts * p.n_actions for p in problems])
    instance = np.repeat(np.arange(len(problems)), rows)
    first = np.cumsum(n_actions) - n_actions  # the first label of each problem
    label = np.concatenate(
        [f + np.tile(np.arange(p.n_actions), p.n_contexts) for f, p in zip(first, problems, strict=True)]
    )
    starts = np.concatenate([[0], np.cumsum(np.concatenate([np.full(p.n_contexts, p.n_actions) for p in problems]))])
    begin, sizes = starts[:-1], np.diff(starts)  # the rows of one context are contiguous
    law = np.repeat(np.concatenate([p.context_probabilities for p in problems]), sizes)
    total = float(sum(lengths))

    def by_problem(values):
        return np.bincount(instance, values, minlength=len(problems))

    alive = np.ones(len(means), dtype=bool)
    epochs = np.zeros((len(problems), len(lengths)), dtype=EPOCH)
    start = 0
    for tau, users in enumerate(lengths):
        surviving = np.repeat(np.add.reduceat(alive.astype(float), begin), sizes)
        policy = law * alive / surviving
        instantaneous = by_problem(policy * gaps)
        width, covered = np.full(len(problems), math.nan), np.ones(len(problems), dtype=bool)
        survivors = by_problem(policy * surviving)
        if tau + 1 < len(lengths):
            batch = make(features, label, policy, means, users, horizon=total, instances=instance)
            estimate = oracle.fit(batch, alpha=alpha, delta=delta, rng=rng)
            values, widths = estimate.values, estimate.widths
            width = by_problem(policy * widths)
            covered = by_problem(~estimate.holds(batch)) == 0
            lower = np.maximum.reduceat(np.where(alive, values - widths, -math.inf), begin)
            alive &= values + widths >= np.repeat(lower, sizes)
        for name, column in zip(
            EPOCH.names,
            (tau + 1, users, start, instantaneous, users * instantaneous, survivors, width, covered),
            strict=True,
        ):
            epochs[name][:, tau] = column
        start += users
    ends = np.cumsum(rows)
    stated = {
        name: float(getattr(oracle, name)(alpha)) if hasattr(oracle, name) else math.inf
        for name in ("value_epsilon", "effective_epsilon")
    }
    return [
        Result(
            regret=math.fsum(epochs["regret"][i]),
            covered=bool(epochs["covered"][i].all()),
            epochs=epochs[i],
            surviving=alive[ends[i] - rows[i] : ends[i]].reshape(p.n_contexts, p.n_actions),
            failure_probability=min(1.0, p.n_actions * (len(lengths) - 1) * delta),
            **stated,
        )
        for i, p in enumerate(problems)
    ]
