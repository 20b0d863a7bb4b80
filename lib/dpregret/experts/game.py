"""Simulate a learner against an adversary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import xarray as xr

from dpregret import _checks
from dpregret.experts import kernels
from dpregret.experts.adversaries import Callback, checked_losses
from dpregret.experts.weights import ExponentialWeights
from dpregret.simulation.seeds import generator


class Learner(Protocol):
    """A learner of your own: its weights after given sums of losses, and its draw."""

    n_experts: int

    def weights(self, cumulative_losses: np.ndarray) -> np.ndarray:
        """Weights of the next draw, shape (k,), not all zero; they need not sum to 1."""

    def act(self, cumulative_losses: np.ndarray, rng: np.random.Generator) -> int:
        """One draw."""


class Adversary(Protocol):
    """An adversary of your own."""

    def losses(self, t: int, actions: np.ndarray, cumulative: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The k losses in [0, 1] of round t >= 1, from the past actions and the sums of losses so far."""


def simulate(
    learner: Learner,
    adversary: Adversary | Callable[[int, np.ndarray], np.ndarray],
    *,
    horizon: int,
    replicates: int = 1,
    seed: int | np.random.SeedSequence | np.random.Generator,
    checkpoints: Sequence[int] | None = None,
    record_actions: bool = False,
    delta: float = 1e-6,
    backend: str = "compiled",
) -> xr.Dataset:
    """Simulate ``horizon`` rounds, ``replicates`` times.

    Parameters
    ----------
    learner : ExponentialWeights or `Learner`
        Another learner than `ExponentialWeights` is asked anew in every round (or in every ``batch`` rounds, if it has
        this attribute).
    adversary : one of `dpregret.experts.adversaries`, or a function ``f(t, actions)``, taken as `Callback`
        The losses of a round are chosen before its draw. An oblivious loss sequence is gone through once for all
        replicates.
    horizon : int
        T >= 1.
    seed : int, SeedSequence or Generator
        All replicates draw from one generator; one that is given is drawn on from where it stands.
    checkpoints : increasing rounds in 1..T, optional
        Where the sums are reported; by default at T only.
    record_actions : bool
        Keep all actions (replicates x T int32).
    delta : float
        At which the attributes ``value_epsilon`` and ``effective_epsilon`` of the result are stated.
    backend : "compiled" or "reference"
        Both make the same draws in the same order for one replicate. A `Callback`, an adversary or a learner of your
        own, and a subclass of `ExponentialWeights` always run the reference loop, which draws by the learner's ``act``.

    Returns
    -------
    xarray.Dataset
        With dims ``replicate`` and ``round``: ``played_loss`` (sum of ``l_t(a_t)``), ``expected_loss`` (sum of
        ``mu_t = sum_j p_j l_t(j)``, p the law of the last draw), ``best_loss`` (of the best expert so far), and
        ``regret`` = (played - best) / round, the mean regret ``R_t``; ``mean_loss_regret`` = (expected - best) / round,
        that of the pathwise inequality. With dims ``replicate``, ``expert``: ``expert_loss`` and ``probabilities``, the
        law of the next draw, at T. With dims ``replicate``, ``time``: ``actions``, if recorded. Attributes: ``delta``,
        ``batch``, and of the learner ``eta`` and, at this horizon, the two epsilons ``value_epsilon`` and
        ``effective_epsilon``; nan where it states none.

    Raises
    ------
    ValueError
        For losses outside [0, 1] or not finite, numbers of experts that differ, a matrix with too few rounds, an
        infinite learning rate and more than one draw.
    """
    if isinstance(learner, type) or not all(hasattr(learner, name) for name in ("n_experts", "weights", "act")):
        raise ValueError(f"learner must be an object with n_experts, weights and act, got {learner!r}")
    if not hasattr(adversary, "losses"):
        if not callable(adversary):
            raise ValueError(
                "adversary must be one of dpregret.experts.adversaries or a function f(t, actions) (a loss matrix is "
                f"ObliviousLosses(matrix)), got an object of type {type(adversary).__name__}"
            )
        adversary = Callback(adversary)
    horizon = _checks.integer("horizon", horizon, at_least=1)
    replicates = _checks.integer("replicates", replicates, at_least=1)
    backend = _checks.choice("backend", backend, ("compiled", "reference"))
    rng = seed if isinstance(seed, np.random.Generator) else generator(seed)
    batch, eta = getattr(learner, "batch", 1), getattr(learner, "eta", np.nan)
    n_experts, most = getattr(adversary, "n_experts", None), getattr(adversary, "max_horizon", None)
    if n_experts not in (None, learner.n_experts):
        raise ValueError(f"adversary must have n_experts = {learner.n_experts}, got {n_experts}")
    if most is not None and horizon > most:
        raise ValueError(f"horizon must be <= {most}, the rounds of the matrix, got {horizon}")
    if eta == np.inf and horizon > batch:
        raise ValueError(f"eta must be finite for more than one draw, got inf at horizon = {horizon}")
    rounds = _rounds(checkpoints, horizon)
    delta = _checks.real("delta", delta, at_least=0.0, below=1.0)

    plain = backend == "reference" or getattr(adversary, "kind", None) is None
    run = _reference if plain or type(learner) is not ExponentialWeights else _compiled
    together = replicates if run is _compiled and getattr(adversary, "shared", False) else 1
    games = [run(learner, adversary, rounds, rng, together, record_actions) for _ in range(replicates // together)]
    played, expected, best, cumulative, actions = (np.concatenate(parts) for parts in zip(*games, strict=True))
    data = {
        "played_loss": (("replicate", "round"), played),
        "expected_loss": (("replicate", "round"), expected),
        "best_loss": (("replicate", "round"), best),
        "regret": (("replicate", "round"), (played - best) / rounds),
        "mean_loss_regret": (("replicate", "round"), (expected - best) / rounds),
        "expert_loss": (("replicate", "expert"), cumulative),
        "probabilities": (("replicate", "expert"), np.array([_law(learner, sums) for sums in cumulative])),
    }
    if record_actions:
        data["actions"] = (("replicate", "time"), actions)
    attrs = {
        "eta": eta,
        "batch": batch,
        "delta": delta,
    }
    for name in ("value_epsilon", "effective_epsilon"):
        stated = getattr(learner, name, None)
        attrs[name] = stated(horizon, delta=delta) if stated is not None else np.nan
    return xr.Dataset(data, coords={"round": rounds}, attrs=attrs)


def _law(learner: Learner, cumulative: np.ndarray) -> np.ndarray:
    weights = np.asarray(learner.weights(cumulative))
    return weights / weights.sum()


def _rounds(checkpoints: Sequence[int] | None, horizon: int) -> np.ndarray:
    if checkpoints is None:
        return np.array([horizon])
    rounds = _checks.array("checkpoints", checkpoints, ndim=1, at_least=1, at_most=horizon)
    if rounds.size == 0 or (rounds != np.floor(rounds)).any() or (np.diff(rounds) <= 0).any() or rounds[-1] != horizon:
        raise ValueError(
            f"checkpoints must be increasing integers that end at horizon = {horizon}, got {checkpoints!r}"
        )
    return rounds.astype(np.int64)


def _compiled(learner, adversary, rounds, rng, replicates, record):
    k = learner.n_experts
    cumulative, carry, cdf, weights = np.zeros((4, k))
    totals, played = np.zeros(2), np.zeros((2, replicates))
    last = np.full(replicates, -1, dtype=np.int64)
    actions = np.zeros((replicates, rounds[-1] if record else 0), dtype=np.int32)
    table = np.ascontiguousarray(adversary.table)
    out = np.empty((3, replicates, len(rounds)))
    start = 1
    for i, stop in enumerate(rounds):
        kernels.advance(
            rng, learner.eta, learner.batch, adversary.kind, table, start, stop + 1,
            cumulative, carry, cdf, weights, totals, last, played, actions,
        )  # fmt: skip
        out[:, :, i] = played[0], np.full(replicates, totals[0]), np.full(replicates, cumulative.min())
        start = stop + 1
    return *out, np.tile(cumulative, (replicates, 1)), actions


def _reference(learner, adversary, rounds, rng, _, record):
    """The plain loop of one replicate."""
    horizon = int(rounds[-1])
    cumulative = np.zeros(learner.n_experts)
    actions = np.zeros(horizon, dtype=np.int32)
    out, reported = np.empty((3, 1, len(rounds))), 0
    seen = actions.view()
    seen.flags.writeable = False  # an adversary that writes into the past is refused by numpy
    played = expected = 0.0
    for t in range(1, horizon + 1):
        losses = adversary.losses(t, seen[: t - 1], cumulative.copy(), rng)
        if getattr(adversary, "kind", None) is None:
            losses = checked_losses(t, losses, cumulative.shape)
        if (t - 1) % getattr(learner, "batch", 1) == 0:
            weights = learner.weights(cumulative)
            action = learner.act(cumulative, rng)
        actions[t - 1] = action
        played += losses[action]
        expected += weights @ losses / weights.sum()
        cumulative = cumulative + losses
        if t == rounds[reported]:
            out[:, 0, reported] = played, expected, cumulative.min()
            reported += 1
    return *out, cumulative[None, :], actions[None, :] if record else actions[None, :0]
