r"""Feedback from position 1 alone: the cascading policies LDP-F and DP-F, private for every K.

A cascade always examines its first position, so that an observation there hides nothing behind a mask. Both policies
take the set A of the K items of largest index, and show the one observed least often first. The reward does not depend
on the order, so that this costs nothing, and it lets the width of the first item's interval bound the regret of the
round. No user is observed raw: an item never observed has an infinite index.

``fill="index"`` shows A. ``fill="mean"`` (the variants LDP-FX and DP-FX) shows in the positions 2 to K the other items,
of all L, with the best empirical means. The statements and their proofs are in the chapter "Algorithms that keep the
promise" of the book.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from dpregret import _checks
from dpregret.cascading.kl_index import kl_slope, kl_upper
from dpregret.cascading.learner import Noise
from dpregret.cascading.model import CascadeProblem
from dpregret.cascading.play import (
    BEST,
    CANDIDATES,
    COUNT,
    MEAN,
    ROOT,
    SHOWN,
    SLOPE,
    SUM,
    UPPER,
    count_bits,
    draw_noise,
    top_k,
)
from dpregret.privacy.discrete import RandomizedResponse

__all__ = ["FirstPositionDP", "FirstPositionLDP"]

FILLS = ("index", "mean")
PENDING = SEEN = 6  # further rows of a state: clicks of the block that has not ended; log t of the last index
_SLACK = 1e-12  # rounding of an index beside its tangent


class FirstPositionLearner:
    """How both policies choose a list. Items of equal rank are taken in the order of their numbers."""

    def __init__(self, n_items: int, list_length: int, fill: str) -> None:
        self.list_length = list_length
        self.fill = fill
        self.counts = np.zeros(n_items, dtype=np.int64)  # public: a function of the lists
        self.means = np.full(n_items, np.inf)

    def upper(self, t: int) -> np.ndarray:
        """The indices of round t, infinite for items of which nothing is known."""
        raise NotImplementedError

    def recommend(self, t: int) -> np.ndarray:
        candidates = np.sort(np.argsort(-self.upper(t), kind="stable")[: self.list_length])
        first = candidates[np.argmin(self.counts[candidates])]
        if self.fill == "mean":
            candidates = np.argsort(-self.means, kind="stable")
        others = candidates[candidates != first][: self.list_length - 1]
        return np.concatenate(([first], np.sort(others)))


class FirstPositionLDPLearner(FirstPositionLearner):
    """LDP-F. Indices are compared on the scale of the bits, which orders items as that of the weights does."""

    def __init__(self, n_items: int, list_length: int, fill: str, index: str, response: RandomizedResponse) -> None:
        super().__init__(n_items, list_length, fill)
        self.index = index
        self.response = response
        self.ones = np.zeros(n_items, dtype=np.int64)

    def upper(self, t: int) -> np.ndarray:
        upper = np.full(self.counts.size, np.inf)
        for e in np.flatnonzero(self.counts):
            if self.index == "kl":
                upper[e] = kl_upper(self.means[e], math.log(t) / self.counts[e])
            else:
                upper[e] = self.means[e] + math.sqrt(1.5 * math.log(t) / self.counts[e])
        return upper

    def privatize(self, items: np.ndarray, click: int, rng: np.random.Generator) -> np.ndarray:
        """One bit, the randomised response to the weight of the item in position 1: all that leaves the user."""
        return self.response.privatize(np.array([click == 1]), rng)

    def update(self, items: np.ndarray, message: np.ndarray) -> None:
        first = items[0]
        self.counts[first] += 1
        self.ones[first] += message[0]
        self.means[first] = self.ones[first] / self.counts[first]


class FirstPositionDPLearner(FirstPositionLearner):
    """DP-F. What is private (sums of unfinished blocks) is touched in ``privatize`` alone."""

    def __init__(self, n_items: int, list_length: int, fill: str, epsilon: float, noise: Noise) -> None:
        super().__init__(n_items, list_length, fill)
        self.epsilon = epsilon  # of the width
        self.noise = noise
        self.pending = np.zeros(n_items)  # clicks of the block that has not ended
        self.released = np.zeros(n_items)  # noisy total of the ended blocks

    def upper(self, t: int) -> np.ndarray:
        upper = np.full(self.counts.size, np.inf)
        for e in np.flatnonzero(self.counts):
            blocks = int(self.counts[e]).bit_length()  # J = j + 1
            size = 2.0 ** (blocks - 1)  # m = 2^j
            level = 3.0 * math.log(t)
            samples = math.sqrt(1.5 * math.log(t) / size)
            upper[e] = self.means[e] + samples + (level + 2.0 * math.sqrt(level * blocks)) / (self.epsilon * size)
        return upper

    def privatize(self, items: np.ndarray, click: int, rng: np.random.Generator) -> np.ndarray:
        """What the curator releases after this user: the noisy sum of the block that ends, or nan if none does.

        Block j >= 1 of an item is its observations 2^(j-1) + 1 to 2^j, block 0 the first; each user enters one block.
        """
        first = items[0]
        self.pending[first] += float(click == 1)
        count = int(self.counts[first]) + 1
        if count & (count - 1):
            return np.array([np.nan])
        block, self.pending[first] = self.pending[first], 0.0
        return np.array([block + self.noise.draw(rng)])

    def update(self, items: np.ndarray, message: np.ndarray) -> None:
        first = items[0]
        self.counts[first] += 1
        if not np.isnan(message[0]):
            self.released[first] += message[0]
            self.means[first] = self.released[first] / self.counts[first]


@njit(cache=True, nogil=True)
def arrange(state, by_mean, lists):
    """From the candidates to the list that is shown, as `FirstPositionLearner.recommend` has it."""
    items, ranked, counts = lists[SHOWN], lists[CANDIDATES], state[COUNT]
    first = ranked[0]
    for k in range(1, ranked.size):
        e = ranked[k]
        if counts[e] < counts[first] or (counts[e] == counts[first] and e < first):
            first = e
    if by_mean:
        ranked = lists[BEST]
        top_k(state[MEAN], ranked)
    items[0] = first
    filled = 1
    for k in range(ranked.size):
        e = ranked[k]
        if e == first or filled == items.size:
            continue
        j = filled
        while j > 1 and items[j - 1] > e:
            items[j] = items[j - 1]
            j -= 1
        items[j] = e
        filled += 1


@njit(cache=True, nogil=True)
def refresh(e, log_t, state):
    """Compute the KL index of item e, and the slope of its tangent as a function of log t."""
    if state[COUNT, e] > 0:
        state[UPPER, e] = kl_upper(state[MEAN, e], log_t / state[COUNT, e])
        state[SLOPE, e] = min(kl_slope(state[MEAN, e], state[UPPER, e]), 1e300) / state[COUNT, e]
        state[SEEN, e] = log_t


@njit(cache=True, nogil=True)
def exchange(log_t, state, chosen):
    """Bring the K items of largest KL index into ``chosen``; compute only indices on which that depends.

    An old index is a lower bound, as they rise with log t, and its tangent an upper bound, as they are concave.
    """
    upper, slope, seen = state[UPPER], state[SLOPE], state[SEEN]
    least, able = np.inf, 0
    for e in chosen:
        least = min(least, upper[e])
    for e in range(upper.size):
        able += upper[e] + slope[e] * (log_t - seen[e]) + _SLACK >= least
    if able == chosen.size:
        return
    highest = -np.inf  # index of an item outside, so far
    for e in range(upper.size):
        if upper[e] + slope[e] * (log_t - seen[e]) + _SLACK >= least and not np.any(chosen == e):
            refresh(e, log_t, state)
            highest = max(highest, upper[e] + _SLACK)
    if highest >= least:
        for e in chosen:
            if upper[e] <= highest:
                refresh(e, log_t, state)
        top_k(upper, chosen)


class BitRule(NamedTuple):
    """The compiled twin of `FirstPositionLDPLearner`."""

    truth: float
    kl: bool
    by_mean: bool
    rows: int = 7  # of a state

    def recommend(self, t, log_t, state, lists):
        if self.kl:
            refresh(lists[SHOWN, 0], log_t, state)
            exchange(log_t, state, lists[CANDIDATES])
        else:
            width = math.sqrt(1.5 * log_t)
            for e in range(state.shape[1]):
                state[UPPER, e] = state[MEAN, e] + width * state[ROOT, e]
            top_k(state[UPPER], lists[CANDIDATES])
        arrange(state, self.by_mean, lists)

    def update(self, rng, state, items, click):
        e = items[0]
        state[COUNT, e] += 1.0
        state[SUM, e] += (click == 1) == (rng.random() < self.truth)
        state[MEAN, e] = state[SUM, e] / state[COUNT, e]
        state[ROOT, e] = math.sqrt(1.0 / state[COUNT, e])


class BlockRule(NamedTuple):
    """The compiled twin of `FirstPositionDPLearner`."""

    epsilon: float
    noise: Noise
    by_mean: bool
    rows: int = 7  # of a state

    def recommend(self, t, log_t, state, lists):
        root_log = math.sqrt(log_t)
        for e in range(state.shape[1]):
            state[UPPER, e] = state[MEAN, e] + root_log * state[ROOT, e] + log_t * state[SLOPE, e]
        top_k(state[UPPER], lists[CANDIDATES])
        arrange(state, self.by_mean, lists)

    def update(self, rng, state, items, click):
        e = items[0]
        state[PENDING, e] += click == 1
        state[COUNT, e] += 1.0
        size = int(state[COUNT, e])
        if size & (size - 1) == 0:
            blocks = count_bits(size)
            state[SUM, e] += state[PENDING, e] + draw_noise(rng, self.noise)
            state[PENDING, e] = 0.0
            state[MEAN, e] = state[SUM, e] / size
            state[ROOT, e] = math.sqrt(1.5 / size) + 2.0 * math.sqrt(3.0 * blocks) / (self.epsilon * size)
            state[SLOPE, e] = 3.0 / (self.epsilon * size)


@dataclass(frozen=True, kw_only=True)
class FirstPositionLDP:
    r"""LDP-F (and LDP-FX): every user sends one bit, the randomised response to the weight of the item in position 1.

    Theorem "LDP-F: privacy and regret" of the book: epsilon-LDP, with delta = 0, for every K: the law of the message
    changes by a factor of at most :math:`e^\varepsilon` between any two users, whatever their weights. With
    ``index="ucb"`` the regret is at most :math:`12 L K \coth^2(\varepsilon/2) \log T / \Delta_{\min} + L + \pi^2 L / 3`
    (48 in place of 12 with ``fill="mean"``).

    Parameters
    ----------
    epsilon : float
    index : {"ucb", "kl"}
        Of the bits' mean :math:`\hat q` after n of them: :math:`\hat q + \sqrt{1.5 \log t / n}`, or the largest q with
        :math:`n\, d(\hat q \| q) \le \log t`. The index of the weight is the same after the increasing map
        :math:`q \mapsto (q - 1/(1 + e^\varepsilon)) \coth(\varepsilon / 2)`. For "kl" no regret bound is claimed.
    fill : {"index", "mean"}
        How positions 2 to K are filled: "mean" is LDP-FX.
    """

    epsilon: float
    index: str = "ucb"
    fill: str = "index"

    initial_observation = False

    def __post_init__(self) -> None:
        _checks.epsilon(self.epsilon)
        _checks.choice("index", self.index, ("ucb", "kl"))
        _checks.choice("fill", self.fill, FILLS)

    @property
    def label(self) -> str:
        """The name in figures."""
        return f"first-position {self.index}"

    @property
    def _response(self) -> RandomizedResponse:
        return RandomizedResponse(epsilon=self.epsilon)

    def learner(self, n_items: int, list_length: int, horizon: int) -> FirstPositionLDPLearner:
        """A learner for one run."""
        return FirstPositionLDPLearner(n_items, list_length, self.fill, self.index, self._response)

    def rule(self, n_items: int, list_length: int, horizon: int) -> BitRule:
        """The compiled twin of the learner; see `dpregret.cascading.play`."""
        return BitRule(self._response.truth_probability, self.index == "kl", self.fill == "mean")

    def channel(self, list_length: int) -> np.ndarray:
        """The exact law of the bit, shape (K + 1, 2): row c - 1 is that of a user who clicks at c (K + 1: nowhere)."""
        rows = [1] + [0] * _checks.integer("list_length", list_length, at_least=1)
        return self._response.transition_matrix()[rows]

    def value_epsilon(self, list_length: int) -> float:
        """Of the bit sent: the same as `effective_epsilon`, since nothing else is."""
        return response_epsilon(self._response)

    def effective_epsilon(self, list_length: int) -> float:
        """The privacy of everything that leaves a user, for any two users: of one bit, always sent."""
        return self.value_epsilon(list_length)

    def regret_bound(self, problem: CascadeProblem, *, horizon: float) -> float:
        """The bound of the theorem, for ``index="ucb"``.

        Raises
        ------
        ValueError
            For ``index="kl"``, a horizon below 1, or a problem with K = L or tied means.
        """
        _checks.choice("index", self.index, ("ucb",))
        gap, log_t = _smallest_gap(problem), math.log(_checks.real("horizon", horizon, at_least=1.0))
        constant = 12.0 if self.fill == "index" else 48.0
        slope = constant * problem.n_items * problem.list_length / math.tanh(self.epsilon / 2) ** 2 / gap
        return slope * log_t + problem.n_items * (1 + math.pi**2 / 3)


@dataclass(frozen=True, kw_only=True)
class FirstPositionDP:
    r"""DP-F and DP-FX: a trusted curator sees the weight of the item in position 1 and releases noisy block sums.

    Theorem "DP-F: privacy and regret" of the book: the lists are epsilon-DP for every K, for databases that differ in
    one user. An item's observations are cut into blocks that end at powers of two; each block sum is released with a
    fresh Lap(1 / epsilon), and the released sums add up. The theorem bounds the regret for either ``fill``.

    Parameters
    ----------
    epsilon : float
    fill : {"mean", "index"}
        "mean" (DP-FX, the default) fills the positions 2 to K by the best noisy means, "index" (DP-F) by the index.
    """

    epsilon: float
    fill: str = "mean"

    initial_observation = False
    label = "first-position dp"

    def __post_init__(self) -> None:
        _checks.epsilon(self.epsilon)
        _checks.choice("fill", self.fill, FILLS)

    def learner(self, n_items: int, list_length: int, horizon: int) -> FirstPositionDPLearner:
        """A learner for one run."""
        return FirstPositionDPLearner(n_items, list_length, self.fill, self.epsilon, self.noise(list_length))

    def rule(self, n_items: int, list_length: int, horizon: int) -> BlockRule:
        """The compiled twin of the learner; see `dpregret.cascading.play`."""
        return BlockRule(float(self.epsilon), self.noise(list_length), self.fill == "mean")

    def noise(self, list_length: int) -> Noise:
        """On each block sum."""
        return Noise(1, 1.0 / self.epsilon)

    def value_epsilon(self, list_length: int) -> float:
        """Of the released block sums: the same as `effective_epsilon`, since the lists are a function of them."""
        return self.noise(list_length).epsilon(l1=1.0, l2=1.0)

    def effective_epsilon(self, list_length: int) -> float:
        """The privacy of all released sums, and so of the lists: a user's bit enters one block of one item."""
        return self.value_epsilon(list_length)

    def regret_bound(self, problem: CascadeProblem, *, horizon: float) -> float:
        """The bound of the theorem.

        Raises
        ------
        ValueError
            For a horizon below 2, or a problem with K = L or tied means.
        """
        smallest, largest = _smallest_gap(problem), float(problem.gaps.max())
        log_t = math.log(_checks.real("horizon", horizon, at_least=2.0))
        samples, noise = (96.0, 72.0) if self.fill == "index" else (384.0, 144.0)
        spread = min(108.0 / noise * largest / self.epsilon, largest / smallest)
        slope = samples / smallest + noise / self.epsilon * (1.0 + max(0.0, math.log(spread)))
        return problem.n_items * (problem.list_length * slope * log_t + 1 + 2 * math.pi**2 / 3)


def response_epsilon(response: RandomizedResponse) -> float:
    """The log-ratio of the two probabilities with which a randomised response is drawn."""
    truth, lie = response.truth_probability, response.lie_probability
    return abs(math.log(truth / lie)) if lie > 0 else math.inf


def _smallest_gap(problem: CascadeProblem) -> float:
    gap = problem.minimal_gap
    if not 0 < gap < math.inf:
        raise ValueError(f"problem must have K < L and a unique optimal list, got the smallest gap {gap!r}")
    return gap
