"""What a policy is to the simulator, and the plain learner of the UCB family.

A *policy* is a frozen description (privacy parameters, multipliers). ``policy.learner(...)`` gives a *learner*, the
state of one run, written to be read. Anything with these methods can be simulated, a reader's own algorithm too::

    import numpy as np
    from dpregret import cascading

    class EpsilonGreedy:
        # shows the best means so far, and random items in one round of ten; not private
        def learner(self, n_items, list_length, horizon):
            return EpsilonGreedyLearner(n_items, list_length)

    class EpsilonGreedyLearner:
        def __init__(self, n_items, list_length):
            self.length, self.clicks, self.examined = list_length, np.zeros(n_items), np.ones(n_items)

        def recommend(self, t, rng):
            means = self.clicks / self.examined
            return np.argsort(-(means if rng.random() > 0.1 else rng.random(means.size)))[: self.length]

        def privatize(self, items, click, rng):
            return np.array([click])  # what leaves the user

        def update(self, items, message):
            self.examined[items[: message[0]]] += 1
            self.clicks[items[message[0] - 1 : message[0]]] += 1

    problem = cascading.kveton_problem()
    regret = cascading.simulate(EpsilonGreedy(), problem, horizon=10_000, replicates=10, seed=1)

What a policy may have besides: ``value_epsilon(list_length)`` and ``effective_epsilon(list_length)``, which go into the
result's attributes; ``feedback = "outcomes"`` if it is for a semi-bandit; ``initial_observation = True`` if its learner
has ``initialise(weights)`` and is to be told the weights of user 0, as [Wang2021]'s algorithms are; and ``rule(...)``,
its compiled twin (`dpregret.cascading.play`), which the policies of this package have and which a test compares with
the learner draw for draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from dpregret.cascading.play import COUNT, MEAN, ROOT, SHOWN, SLOPE, SUM, UPPER, draw_noise, top_k
from dpregret.privacy.mechanisms import Gaussian


class Learner(Protocol):
    """One run of a policy. Items are numbered 0 to L - 1.

    How a user responds to a list is a click, a position 1 to K, or K + 1 for no click; on a semi-bandit it is the
    array of the K arms' outcomes.
    """

    @property
    def recommend(self) -> Callable[..., Any]:
        """``recommend(t)``: the list of round t >= 1, K distinct items.

        A learner that draws its lists has ``recommend(t, rng)``, with an argument of this name: the run's generator,
        seeded by its repetition.
        """

    def privatize(self, items: np.ndarray, response: Any, rng: np.random.Generator, /) -> np.ndarray:
        """What leaves the user (local privacy), or what enters the trusted database (central privacy)."""

    def update(self, items: np.ndarray, message: np.ndarray, /) -> None:
        """Learn from the message, and from nothing else."""


@runtime_checkable
class Policy(Protocol):
    """What `simulate` plays: a description from which each repetition gets a learner of its own."""

    def learner(self, n_items: int, list_length: int, horizon: int, /) -> Learner:
        """A learner for one run of ``horizon`` rounds with lists of K of L items."""


class Noise(NamedTuple):
    """Noise on each reported value: ``kind`` 0 none, 1 Laplace, 2 Gaussian; ``scale`` is b or sigma."""

    kind: int
    scale: float

    def draw(self, rng: np.random.Generator) -> float:
        """One draw."""
        if self.kind == 1:
            magnitude = self.scale * rng.standard_exponential()
            return magnitude if rng.random() < 0.5 else -magnitude
        if self.kind == 2:
            return self.scale * rng.standard_normal()
        return 0.0

    def epsilon(self, *, l1: float, l2: float, delta: float = 0.0) -> float:
        """Of values at distance ``l1`` (Laplace noise, pure) or ``l2`` (Gaussian noise, at delta); inf without noise.

        Exact: the smallest epsilon for two vectors of values at these distances.
        """
        if self.kind == 1:
            return l1 / self.scale
        if self.kind == 2 and delta > 0:
            return Gaussian(self.scale, sensitivity=l2).epsilon(delta)
        return math.inf


class Index(NamedTuple):
    r"""The bonus of an upper confidence bound, in round t for an item with n observations:

    .. math:: \frac{a \sqrt{\log t} + b \sqrt{\log t + c}}{\sqrt n} + \frac{d \log t}{n}.
    """

    a: float
    b: float = 0.0
    c: float = 0.0
    d: float = 0.0

    def bonus(self, t: int, counts: np.ndarray) -> np.ndarray:
        """The bonus in round t of items with these counts."""
        log_t = np.log(t)
        root = self.a * np.sqrt(log_t) + self.b * np.sqrt(log_t + self.c)
        return root / np.sqrt(counts) + self.d * log_t / counts


class IndexLearner:
    """Algorithms 2 and 3 of [Wang2021] and their relatives: show the K largest indices, average noisy observations."""

    def __init__(self, n_items: int, list_length: int, index: Index, noise: Noise) -> None:
        self.list_length = list_length
        self.index = index
        self.noise = noise
        self.counts = np.zeros(n_items, dtype=np.int64)
        self.sums = np.zeros(n_items)

    def initialise(self, weights: np.ndarray) -> None:
        """Take the weights of user 0."""
        self.sums += weights
        self.counts += 1

    def recommend(self, t: int) -> np.ndarray:
        """See `Learner`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            upper = np.where(self.counts > 0, self.sums / self.counts + self.index.bonus(t, self.counts), np.inf)
        return np.argsort(-upper, kind="stable")[: self.list_length]

    def privatize(self, items: np.ndarray, click: int, rng: np.random.Generator) -> np.ndarray:
        """The examined positions' clicks with noise; the length of the message is the number of examined positions."""
        examined = min(click, self.list_length)
        return np.array([float(click == k) + self.noise.draw(rng) for k in range(1, examined + 1)])

    def update(self, items: np.ndarray, message: np.ndarray) -> None:
        """See `Learner`."""
        for item, value in zip(items, message, strict=False):
            self.counts[item] += 1
            self.sums[item] += value


class IndexRule(NamedTuple):
    """The compiled twin of `IndexLearner`: an index costs two multiplications, since 1/sqrt(n) and 1/n are kept."""

    bonus: Index
    noise: Noise
    rows: int = 6  # of a state

    def initialise(self, state, weights):
        """Take the weights of user 0."""
        state[COUNT] = state[ROOT] = state[SLOPE] = 1.0
        state[SUM] = state[MEAN] = weights

    def recommend(self, t, log_t, state, lists):
        """Write the list of round t."""
        by_root = self.bonus.a * math.sqrt(log_t) + self.bonus.b * math.sqrt(log_t + self.bonus.c)
        by_slope = self.bonus.d * log_t
        for e in range(state.shape[1]):
            state[UPPER, e] = state[MEAN, e] + by_root * state[ROOT, e] + by_slope * state[SLOPE, e]
        top_k(state[UPPER], lists[SHOWN])

    def update(self, rng, state, items, click):
        """Learn from one user."""
        for k in range(min(click, items.size)):
            e = items[k]
            state[COUNT, e] += 1.0
            state[SUM, e] += (1.0 if k + 1 == click else 0.0) + draw_noise(rng, self.noise)
            state[SLOPE, e] = 1.0 / state[COUNT, e]
            state[ROOT, e] = math.sqrt(state[SLOPE, e])
            state[MEAN, e] = state[SUM, e] * state[SLOPE, e]
