"""Exact privacy of a learner as it runs: its own ``act`` is driven by scripted uniforms, transcripts are enumerated.

What `transcript_check` finds is a lower bound on what the transcript loses (the worst of the enumerated pairs); that it
is below what is promised confirms the theorem there, and above refutes the promise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpregret import _checks
from dpregret.experts.weights import ExponentialWeights, inverse_cdf
from dpregret.privacy.audit import exact_delta, exact_epsilon
from dpregret.simulation import generator
from evidence.experts import transcripts

_GRID = 65


class Scripted:
    """A generator whose ``random()`` gives one number, as often as it is asked; it answers nothing else."""

    def __init__(self, uniform: float) -> None:
        self.uniform = uniform
        self.calls = 0

    def random(self) -> float:
        """The one number."""
        self.calls += 1
        return self.uniform


def drawn_law(learner: ExponentialWeights, cumulative_losses: np.ndarray) -> np.ndarray:
    """The law of ``learner.act(cumulative_losses, rng)`` as a function of its one uniform, shape (k,).

    Where the action agrees with `inverse_cdf` of the learner's probabilities on both sides of each of their boundaries
    and on a grid, these probabilities are the law. Else the boundaries are found by bisection between the points of the
    grid at which the action changes (events within a cell of the grid, of probability below 1/64, can be missed).
    """
    claimed = learner.probabilities(cumulative_losses)
    edges = np.cumsum(claimed)[:-1]
    width = 1e-12
    points = np.linspace(0.0, 1 - 1e-9, _GRID)
    near = np.concatenate([points, edges - width, edges + width])
    near = np.unique(near[(near >= 0) & (near < 1)])
    near = near[np.abs(near[:, None] - edges).min(axis=1, initial=1.0) > width / 2]
    actions = np.array([_act(learner, cumulative_losses, u) for u in near])
    if np.array_equal(actions, [inverse_cdf(claimed, u) for u in near]):
        return claimed
    law = np.zeros(learner.n_experts)
    start = 0.0
    for u, v, a, b in zip(near[:-1], near[1:], actions[:-1], actions[1:], strict=True):
        while a != b:  # the first change in the cell
            low, high = u, v
            while high - low > 1e-16 * max(high, 1e-3) and low < (low + high) / 2 < high:
                middle = (low + high) / 2
                low, high = (middle, high) if _act(learner, cumulative_losses, middle) == a else (low, middle)
            law[a] += high - start
            start, u, a = high, high, _act(learner, cumulative_losses, high)
    law[actions[-1]] += 1.0 - start
    return law


def _act(learner: ExponentialWeights, cumulative_losses: np.ndarray, uniform: float) -> int:
    return int(learner.act(np.array(cumulative_losses, dtype=float), Scripted(float(uniform))))


def drawn_transcript(
    learner: ExponentialWeights, losses: np.ndarray | Callable[[tuple[int, ...]], np.ndarray], horizon: int
) -> np.ndarray:
    """`transcripts.transcript_law` with the law of the learner's own draws (`drawn_law`) in every round."""
    return transcripts.transcript_law(_Drawn(learner), losses, horizon)


def both_worlds(learner: ExponentialWeights, game: Sequence, horizon: int) -> list[np.ndarray]:
    """The laws of the transcript (`drawn_transcript`) under the two neighbours of a pair, matrices or strategies."""
    return [drawn_transcript(learner, losses, horizon) for losses in game]


def random_strategy(n_experts: int, rng: np.random.Generator) -> Callable[[tuple[int, ...]], np.ndarray]:
    """Losses in [0, 1] that depend on the whole history of actions in no simple way; for enumeration."""
    memory: dict[tuple, np.ndarray] = {}
    return lambda actions: memory.setdefault(actions, rng.random(n_experts))


def random_fixed_pair(n_experts: int, horizon: int, rng: np.random.Generator) -> np.ndarray:
    """Fixed losses, binary in most draws, that differ in round 1 as much as they can; shape (2, horizon, k)."""
    losses = np.repeat(rng.random((horizon, n_experts))[None], 2, axis=0)
    if rng.random() < 0.7:
        losses = losses.round()
    losses[1, 0] = 1 - losses[0, 0].round()
    losses[0, 0] = losses[0, 0].round()
    return losses


def random_adjacent(n_experts: int, changed: int, rng: np.random.Generator, *, levels: int = 2) -> tuple:
    """Two random adaptive strategies that differ in round ``changed`` >= 1, the same on every history; for enumeration.

    Losses are multiples of ``1 / (levels - 1)``, drawn when a history is first met.
    """
    memory: dict[tuple, np.ndarray] = {}

    def strategy(world: int) -> Callable[[tuple[int, ...]], np.ndarray]:
        def losses(actions: tuple[int, ...]) -> np.ndarray:
            here = world if len(actions) + 1 == changed else 0
            return memory.setdefault((actions, here), rng.integers(0, levels, n_experts) / (levels - 1))

        return losses

    return strategy(0), strategy(1)


def first_round_pair(horizon: int) -> np.ndarray:
    """Two experts, losses (0, 1) against (1, 0) in round 1 and zero after; shape (2, horizon, 2)."""
    losses = np.zeros((2, horizon, 2))
    losses[0, 0], losses[1, 0] = (0, 1), (1, 0)
    return losses


def enumerated_pure_epsilon(learner: ExponentialWeights, horizon: int) -> float:
    """Exact epsilon at delta = 0 of two experts, enumerated: (0, 1) against (1, 0) in round 1, then binary losses."""
    found = 0.0
    for tail in itertools.product(((0.0, 0.0), (0.0, 1.0), (1.0, 0.0)), repeat=horizon - 2):
        game = [np.array([first, *tail, (0.0, 0.0)]) for first in ((0, 1), (1, 0))]
        found = max(found, exact_epsilon(*both_worlds(learner, game, horizon)))
    return found


class _Drawn:
    """A learner whose probabilities are those of the draws of another."""

    def __init__(self, learner: ExponentialWeights) -> None:
        self.learner, self.n_experts, self.batch = learner, learner.n_experts, learner.batch
        self.known: dict[bytes, np.ndarray] = {}

    def probabilities(self, cumulative_losses: np.ndarray) -> np.ndarray:
        key = np.asarray(cumulative_losses, dtype=float).tobytes()
        if key not in self.known:
            self.known[key] = drawn_law(self.learner, cumulative_losses)
        return self.known[key]


def games_follow_the_learner(learner: ExponentialWeights, *, horizon: int = 300, seed: int = 0) -> bool:
    """Whether `play` (compiled, for the class itself) makes the very draws of ``learner.act``, in one random game.

    And whether these draws come from the generator that ``act`` is given, by one uniform a draw.
    """
    from dpregret.experts.adversaries import ObliviousLosses
    from dpregret.experts.game import simulate

    asked = Scripted(0.5)
    learner.act(np.zeros(learner.n_experts), asked)
    if asked.calls != 1:
        return False
    rng = generator(seed, "games follow the learner")
    losses = rng.integers(0, 2, (horizon, learner.n_experts)).astype(float)
    played = simulate(
        learner, ObliviousLosses(losses), horizon=horizon, seed=generator(seed, "draws"), record_actions=True
    )
    draws, cumulative, action, expected = generator(seed, "draws"), np.zeros(learner.n_experts), 0, []
    for t in range(horizon):
        if t % learner.batch == 0:
            action = learner.act(cumulative, draws)
        expected.append(action)
        cumulative = cumulative + losses[t]
    return bool(np.array_equal(played["actions"].values[0], expected))


@dataclass(frozen=True)
class TranscriptCheck:
    """What the enumerated pairs of neighbours give, and whether that keeps (epsilon, delta).

    Attributes
    ----------
    delta : float
        The largest exact delta at ``epsilon``.
    pure : float
        The largest exact epsilon at delta = 0; ``inf`` if a transcript is possible under one of two neighbours only.
    pair : str
        The pair of the largest delta; the first of those within 1e-12 of it.
    follows : bool
        Whether `play` makes the draws of the learner's own ``act``.
    """

    epsilon: float
    promised: float
    delta: float
    pure: float
    pair: str
    follows: bool

    @property
    def word(self) -> str:
        """ "holds" if ``delta`` is at most what is promised and games follow the learner, else "fails"."""
        return "holds" if self.delta <= self.promised * (1 + 1e-9) and self.follows else "fails"


def transcript_check(
    learner: ExponentialWeights, *, horizon: int, epsilon: float, delta: float, adaptive: bool = True
) -> TranscriptCheck:
    """Exact delta and epsilon of the learner's transcript over pairs of neighbours that are the worst known.

    Pairs: round 1 changed from losses 1 of the first m experts to losses 1 of the others, for every m, zero losses
    after or (k = 2, ``adaptive``, no batches) the strongest adaptive adversary of `transcripts.strongest_adversary`;
    and losses that repeat the changed ones. At most 2^20 transcripts.
    """
    horizon = _checks.integer("horizon", horizon, at_least=2)
    epsilon = _checks.real("epsilon", epsilon, at_least=0.0)
    delta = _checks.real("delta", delta, at_least=0.0, below=1.0)
    names, deltas, pure = [], [], 0.0
    for name, *game in _pairs(learner, horizon, epsilon, adaptive):
        laws = both_worlds(learner, game, horizon)
        names.append(name)
        deltas.append(exact_delta(*laws, epsilon))
        pure = max(pure, exact_epsilon(*laws))
    worst = names[transcripts.first_of_the_largest(deltas)]
    return TranscriptCheck(epsilon, delta, max(deltas), pure, worst, games_follow_the_learner(learner))


def _pairs(learner, horizon, epsilon, adaptive):
    k = learner.n_experts
    tails = {"zero losses after": 0.0, "the last expert loses after": np.eye(k)[-1]}
    for (name, tail), m in itertools.product(tails.items(), range(1, k)):
        pair = np.zeros((2, horizon, k))
        pair[:, 1:] = tail
        pair[0, 0, :m] = pair[1, 0, m:] = 1.0
        yield f"first {m} of {k} against the others, {name}", pair[0], pair[1]
    if k == 2 and adaptive and learner.batch == 1 and horizon <= 8 and math.isfinite(learner.eta):
        attack = transcripts.strongest_adversary(eta=learner.eta, horizon=horizon, epsilon=epsilon)
        yield "the strongest adaptive adversary", attack.strategy(0), attack.strategy(1)
