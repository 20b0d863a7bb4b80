"""Algorithm 1 of [Wang2021]: a curator with one hybrid counter an item, as learner and as compiled kernel.

As printed it observes the weights of user 0 without noise, and for K >= 2 the counters that move reveal the click: the
guarantee of Theorem 1 fails for every epsilon, as ``effective_epsilon`` says. ``value_epsilon`` is the privacy of the
noisy sums alone, for two users who examine the same positions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from dpregret import _checks
from dpregret.cascading.learner import Noise
from dpregret.cascading.play import COUNT, MEAN, ROOT, SHOWN, SLOPE, UPPER, draw_noise, top_k
from dpregret.privacy.continual import HybridMechanism

BITS = 53  # of a count
INITIAL, LEVELS, PENDING, RELEASED, EXACT = range(6, 11)  # further rows of a state; EXACT and TOTALS one a level
TOTALS = EXACT + BITS


@dataclass(frozen=True, kw_only=True)
class HybridDP:
    r"""Algorithm 1 of [Wang2021]: a `HybridMechanism` with budget epsilon / L for each item.

    With :math:`T = T_{t-1}(e)`, which counts the observation of user 0, the index is

    .. math:: \frac{w_0(e) + \text{private sum}}{T} + \sqrt{\frac{1.5 \log t}{T}}
        + \frac{3 c_1 L \ell\, \log t}{\varepsilon T},

    :math:`\ell = \log^{1.5} n` with the horizon n as printed. ``version="corrected"`` has the bonus of the proof of
    Theorem 2, :math:`\ell = \log^{1.5} \max(T, 2)` (there :math:`\log^{1.5} T`, which is 0 after one observation);
    theorem "Regret with the proof's bonus, corrected" of the book bounds its regret for the c1 of Lemma 1. Both observe
    user 0 raw, and neither is private for K >= 2: that does not depend on the bonus.

    Departures: the printed update never divides the sum by T; here it does. Item e's counter takes the examined
    positions of rounds t >= 1; user 0's weight is added raw, as printed.

    Parameters
    ----------
    epsilon : float
    c1 : float
        The constant of Lemma 1, which the text does not give; 4 / log(2)^1.5 makes the lemma true.
    version : {"printed", "corrected"}
    noise_multiplier, bonus_multiplier : float
        Scale the injected noise and the last term of the index.
    """

    epsilon: float
    c1: float = 1.0
    version: str = "printed"
    noise_multiplier: float = 1.0
    bonus_multiplier: float = 1.0

    label = "hybrid"
    initial_observation = True  # user 0 is observed raw ("Observe w_0")

    def __post_init__(self) -> None:
        _checks.epsilon(self.epsilon)
        _checks.real("c1", self.c1, at_least=0.0)
        _checks.choice("version", self.version, ("printed", "corrected"))
        _checks.real("noise_multiplier", self.noise_multiplier, above=0.0)
        _checks.real("bonus_multiplier", self.bonus_multiplier, at_least=0.0)

    def counter_epsilon(self, n_items: int) -> float:
        """The privacy parameter of each item's counter, epsilon / (L noise_multiplier)."""
        return self.epsilon / (n_items * self.noise_multiplier)

    def width(self, n_items: int, horizon: int) -> tuple[float, bool]:
        """The factor of ``log t / T`` in the index, and whether it is still to be multiplied by log(max(T, 2))^1.5."""
        width = self.bonus_multiplier * 3.0 * self.c1 * n_items / self.epsilon
        if self.version == "corrected":
            return width, True
        return width * math.log(horizon) ** 1.5, False

    def value_epsilon(self, list_length: int) -> float:
        """Of the noisy sums alone: all L counters together, as the text accounts for them (Theorem 1).

        That is epsilon / noise_multiplier, added up from the scales of the p-sums that an item enters.
        """
        counter = HybridMechanism(epsilon=self.counter_epsilon(1))  # L counters of 1/L times its epsilon
        parts = {part for n in range(1, 17) for part in counter.p_sums(n)}
        return max(sum(1.0 / p.scale for p in parts if p.start < item <= p.stop) for item in range(1, 9))

    def effective_epsilon(self, list_length: int) -> float:
        """The privacy of the lists, for databases that differ in any one user, user 0 among them: no finite epsilon.

        For K >= 2 the lists reveal which counters moved (theorem "Algorithm 1 is not private" of the book), and for
        every K the first list is a function of user 0's raw weights (L > K).
        """
        _checks.integer("list_length", list_length, at_least=1)
        return math.inf

    def learner(self, n_items: int, list_length: int, horizon: int) -> HybridLearner:
        """A learner for one run."""
        return HybridLearner(n_items, list_length, self.counter_epsilon(n_items), *self.width(n_items, horizon))

    def rule(self, n_items: int, list_length: int, horizon: int) -> HybridRule:
        """The compiled twin of the learner; see `dpregret.cascading.play`."""
        return HybridRule(self.counter_epsilon(n_items) / 2, *self.width(n_items, horizon))


class HybridLearner:
    """Show the K largest indices; learn from the counters' releases. A message holds those of the examined items."""

    def __init__(self, n_items: int, list_length: int, epsilon: float, width: float, own_log: bool) -> None:
        self.list_length = list_length
        self.width = width
        self.own_log = own_log
        self.counters = [HybridMechanism(epsilon=epsilon) for _ in range(n_items)]
        self.counts = np.zeros(n_items, dtype=np.int64)
        self.initial = np.zeros(n_items)
        self.sums = np.zeros(n_items)

    def initialise(self, weights: np.ndarray) -> None:
        """Take the weights of user 0."""
        self.counts += 1
        self.initial += weights
        self.sums += weights

    def recommend(self, t: int) -> np.ndarray:
        """See `Learner`."""
        width = self.width * np.log(np.maximum(self.counts, 2)) ** 1.5 if self.own_log else self.width
        bonus = np.sqrt(1.5 * np.log(t) / self.counts) + width * np.log(t) / self.counts
        return np.argsort(-(self.sums / self.counts + bonus), kind="stable")[: self.list_length]

    def privatize(self, items: np.ndarray, click: int, rng: np.random.Generator) -> np.ndarray:
        """Insert the examined positions' clicks into their items' counters; return the private sums."""
        releases = []
        for position, item in enumerate(items[:click], start=1):
            self.counters[item].add(float(click == position), rng)
            releases.append(self.counters[item].release())
        return np.array(releases)

    def update(self, items: np.ndarray, message: np.ndarray) -> None:
        """See `Learner`."""
        for item, private_sum in zip(items, message, strict=False):
            self.counts[item] += 1
            self.sums[item] = self.initial[item] + private_sum


@njit(cache=True, nogil=True)
def insert(rng, value, half, e, n, state):
    """HybridMechanism.add and release for the n-th item of counter e; ``half`` is epsilon / 2. Returns the private sum.

    ``TOTALS + level`` is the noisy sum over the binary mechanism's levels from ``level`` up, when that level was set.
    """
    state[PENDING, e] += value
    if n & (n - 1) == 0:
        state[RELEASED, e] += state[PENDING, e] + draw_noise(rng, Noise(1, 1.0 / half))
        state[PENDING, e] = 0.0
        state[LEVELS, e] += n > 1
        return state[RELEASED, e]
    level = 0
    while n >> level & 1 == 0:
        value += state[EXACT + level, e]
        level += 1
    state[EXACT + level, e] = value
    above = level + 1
    while n >> above & 1 == 0:
        above += 1
    total = value + draw_noise(rng, Noise(1, state[LEVELS, e] / half))
    if above < state[LEVELS, e]:  # the top bit of n itself is the block's
        total = state[TOTALS + above, e] + total
    state[TOTALS + level, e] = total
    return state[RELEASED, e] + total


class HybridRule(NamedTuple):
    """The compiled twin of `HybridLearner`."""

    half: float
    width: float
    own_log: bool
    rows: int = TOTALS + BITS  # of a state

    def initialise(self, state, weights):
        """Take the weights of user 0."""
        state[COUNT] = state[ROOT] = 1.0
        state[INITIAL] = state[MEAN] = weights
        state[SLOPE] = self.width * (math.log(2.0) ** 1.5 if self.own_log else 1.0)

    def recommend(self, t, log_t, state, lists):
        """Write the list of round t."""
        by_root = math.sqrt(1.5 * log_t)
        for e in range(state.shape[1]):
            state[UPPER, e] = state[MEAN, e] + by_root * state[ROOT, e] + log_t * state[SLOPE, e]
        top_k(state[UPPER], lists[SHOWN])

    def update(self, rng, state, items, click):
        """Learn from one user."""
        for k in range(min(click, items.size)):
            e = items[k]
            value = 1.0 if k + 1 == click else 0.0
            private_sum = insert(rng, value, self.half, e, int(state[COUNT, e]), state)  # user 0 is in no counter
            state[COUNT, e] += 1.0
            inverse = 1.0 / state[COUNT, e]
            state[ROOT, e] = math.sqrt(inverse)
            state[SLOPE, e] = self.width * inverse
            if self.own_log:
                state[SLOPE, e] *= math.log(max(state[COUNT, e], 2.0)) ** 1.5
            state[MEAN, e] = (state[INITIAL, e] + private_sum) * inverse
