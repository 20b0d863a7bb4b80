"""Algorithm 1 of [Li2024]: action elimination with a locally private regression oracle.

References
----------
[Li2024] Section 3; epoch lengths of Theorem 4.7.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import xarray as xr

from dpregret import _checks
from dpregret.contextual.batch import Batch
from dpregret.contextual.estimate import Estimate
from dpregret.contextual.model import ContextualProblem
from dpregret.contextual.per_user import PerUserBatch
from dpregret.simulation.seeds import generator

BACKENDS = {"exact": Batch, "per_user": PerUserBatch}
LONGEST_HORIZON = 1e26


class Oracle(Protocol):
    """Definition 3.1 of [Li2024]: an offline regression oracle with confidence bands.

    Its privacy parameter is its own. One that has ``alpha``, ``value_epsilon()`` or ``effective_epsilon()`` finds them
    in the attributes of a simulation.
    """

    def fit(self, batch: Batch, *, delta: float, rng: np.random.Generator) -> Estimate:
        """Estimates from one epoch.

        Parameters
        ----------
        batch : Batch
            The epoch's users; the oracle learns of them through its sums alone.
        delta : float
            Failure probability of the bands of one action.
        rng : Generator

        Returns
        -------
        Estimate
        """


EPOCH = {
    "users": float,
    "start": float,
    "instantaneous_regret": float,
    "epoch_regret": float,
    "surviving": float,
    "width": float,
    "epoch_covered": bool,
}


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


def simulate(
    oracle: Oracle,
    problem: ContextualProblem | Sequence[ContextualProblem],
    *,
    horizon: float,
    replicates: int = 1,
    seed: int | np.random.SeedSequence,
    checkpoints: Sequence[float] | None = None,
    delta: float | None = None,
    n_0: int | None = None,
    backend: str = "exact",
) -> xr.Dataset:
    """Algorithm 1 of [Li2024] with one oracle an action, ``replicates`` times.

    In an epoch every context's surviving actions are played uniformly, and a user's record goes to the oracle of the
    action played, the empty record to the others.

    Parameters
    ----------
    oracle : Oracle
        ``CorrectedLPLR(alpha=1.0)``, ``LPLR(alpha=1.0)``, ``LeastSquares()``, ... or one of your own.
    problem : ContextualProblem or sequence of them
        Several problems of one dimension are simulated side by side, much faster than one by one; their contexts and
        actions may differ in number.
    horizon : float
        T, a whole number, at least the first epoch and at most 1e26. Cost does not grow with T but for the number of
        epochs, log2 T.
    replicates : int
    seed : int or SeedSequence
        All problems and replicates share one generator: the numbers depend on the whole list.
    checkpoints : increasing sequence of numbers, optional
        Rounds in [0, T] at which the cumulative regret is reported.
    delta : float, optional
        Failure probability of one oracle's bands (one action, one epoch); 1/T^2 by default, as in the text.
    n_0 : int, optional
        The epochs have 2 n_0, 4 n_0, ... users; by default `first_epoch_scale`.
    backend : {"exact", "per_user"}
        Sums drawn in one step, or every user's record and every noise drawn (horizons up to about 1e6).

    Returns
    -------
    xarray.Dataset
        First dim ``replicate``, the second ``problem`` if a sequence was given.

        ``regret``: expected cumulative regret given the bands of the run, that is every epoch's users times the
        expected regret of one round of its play, summed over contexts and actions. ``covered``: whether every band of
        every epoch held at every context and action. With dims ``context``, ``action``, ``left``: whether the action is
        left at the end; false beyond a problem's own contexts and actions. With dim ``round``, if checkpoints were
        given, ``regret_after``: the cumulative regret by then.

        With dim ``epoch``: ``users``, ``start`` (users before it), ``instantaneous_regret`` (expected, of a round),
        ``epoch_regret``, ``surviving`` (expected number of actions left), ``width`` (expected width of the band fitted
        on the epoch, over its own play) and ``epoch_covered``. No band is fitted on the last epoch: its width is not a
        number and ``epoch_covered`` is true.

        Attributes: ``horizon``, ``delta``, ``failure_probability`` (union bound on a band failing anywhere in a run, if
        the oracle keeps its promise, for the largest number of actions), and of the oracle ``alpha``,
        ``value_epsilon`` and ``effective_epsilon``, of the noisy values and of all that a user sends; infinite where it
        states none.

    Raises
    ------
    ValueError
        For an oracle without ``fit``, problems of several dimensions, a horizon below the first epoch, an unknown
        backend, and what the oracle refuses.
    """
    if isinstance(oracle, type) or not callable(getattr(oracle, "fit", None)):
        raise ValueError(
            f"oracle must be an object with a method fit(...), such as CorrectedLPLR(alpha=1.0), got {oracle!r}"
        )
    several = not isinstance(problem, ContextualProblem)
    problems = list(problem) if isinstance(problem, Iterable) else [problem]
    if not problems or not all(isinstance(each, ContextualProblem) for each in problems):
        raise ValueError(f"problem must be a ContextualProblem or a sequence of them, got {problem!r}")
    if len({each.dimension for each in problems}) > 1:
        raise ValueError(f"problem must have one dimension throughout, got {sorted({p.dimension for p in problems})}")
    replicates = _checks.integer("replicates", replicates, at_least=1)
    horizon = _checks.integer("horizon", horizon, at_least=2, at_most=int(LONGEST_HORIZON))
    delta = float(horizon) ** -2 if delta is None else _checks.delta(delta)
    if n_0 is None:
        n_0 = first_epoch_scale(horizon, problems[0].dimension)
    n_0 = _checks.integer("n_0", n_0, at_least=1)
    horizon = _checks.integer("horizon", horizon, at_least=2 * n_0)
    asked = () if checkpoints is None else checkpoints
    rounds = _checks.array("checkpoints", asked, ndim=1, at_least=0.0, at_most=float(horizon))
    lengths = epoch_lengths(horizon, n_0)
    make = BACKENDS[_checks.choice("backend", backend, BACKENDS)]
    rng = generator(seed, "elimination")

    runs = problems * replicates
    parts = [runs] if backend == "exact" else [[each] for each in runs]
    played = [_play(part, make, oracle, lengths, delta, rng) for part in parts]
    epochs = np.concatenate([part for part, _ in played])
    left = np.zeros((len(runs), max(p.n_contexts for p in problems), max(p.n_actions for p in problems)), dtype=bool)
    for row, alive in zip(left, itertools.chain.from_iterable(sets for _, sets in played), strict=True):
        row[: alive.shape[0], : alive.shape[1]] = alive

    dims = ["replicate", "problem"] if several else ["replicate"]
    shape = [replicates, len(problems)] if several else [replicates]

    def labelled(values, *more):
        return (*dims, *more), np.reshape(values, (*shape, *np.shape(values)[1:]))

    found = {
        "regret": labelled([math.fsum(run) for run in epochs["epoch_regret"]]),
        "covered": labelled(epochs["epoch_covered"].all(axis=1)),
        "left": labelled(left, "context", "action"),
        **{name: labelled(epochs[name], "epoch") for name in EPOCH},
    }
    coords: dict[str, np.ndarray] = {"replicate": np.arange(replicates), "epoch": np.arange(1, len(lengths) + 1)}
    if checkpoints is not None:  # play is constant within an epoch
        ends = np.cumsum([0.0, *lengths])
        sums = np.cumsum(np.pad(epochs["epoch_regret"], ((0, 0), (1, 0))), axis=1)
        found["regret_after"] = labelled([np.interp(rounds, ends, run) for run in sums], "round")
        coords["round"] = rounds
    attrs = {
        "horizon": float(horizon),
        "delta": delta,
        "failure_probability": min(1.0, left.shape[2] * (len(lengths) - 1) * delta),
        "alpha": getattr(oracle, "alpha", math.inf),
    }
    for name in ("value_epsilon", "effective_epsilon"):
        attrs[name] = float(getattr(oracle, name)()) if hasattr(oracle, name) else math.inf
    return xr.Dataset(found, coords, attrs)


def _play(problems, make, oracle, lengths, delta, rng) -> tuple[np.ndarray, list[np.ndarray]]:
    """All problems through all epochs: `EPOCH` (problems, epochs), and the actions left (X, A) in each.

    Rows are (problem, context, action), labels (problem, action).
    """
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
    epochs = np.zeros((len(problems), len(lengths)), dtype=list(EPOCH.items()))
    start = 0
    for tau, users in enumerate(lengths):
        surviving = np.repeat(np.add.reduceat(alive.astype(float), begin), sizes)
        policy = law * alive / surviving
        instantaneous = by_problem(policy * gaps)
        width, covered = np.full(len(problems), math.nan), np.ones(len(problems), dtype=bool)
        survivors = by_problem(policy * surviving)
        if tau + 1 < len(lengths):
            batch = make(features, label, policy, means, users, horizon=total, instances=instance)
            estimate = oracle.fit(batch, delta=delta, rng=rng)
            values, widths = estimate.values, estimate.widths
            width = by_problem(policy * widths)
            covered = by_problem(~estimate.holds(batch)) == 0
            lower = np.maximum.reduceat(np.where(alive, values - widths, -math.inf), begin)
            alive &= values + widths >= np.repeat(lower, sizes)
        for name, column in zip(
            EPOCH,
            (users, start, instantaneous, users * instantaneous, survivors, width, covered),
            strict=True,
        ):
            epochs[name][:, tau] = column
        start += users
    ends = np.cumsum(rows)
    return epochs, [
        alive[end - p.n_contexts * p.n_actions : end].reshape(p.n_contexts, p.n_actions)
        for end, p in zip(ends, problems, strict=True)
    ]
