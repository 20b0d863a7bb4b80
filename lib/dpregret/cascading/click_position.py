r"""Feedback from all positions, mask included: the cascading policies LDP-C and DP-CO, private for every K.

Both estimate an item's mean weight as the ratio of its clicks to its observations. Which positions were examined is a
function of the click, so that both numbers are computed from one private report of the click (LDP-C), or released with
noise for their joint sensitivity (DP-CO). Counters count displays, which are public. No user is observed raw. The
statements and their proofs are in the chapter "Algorithms that keep the promise" of the book; no regret bound is
claimed.

Where an index is capped at 1, as for every item in the first rounds, an item never shown goes first, then the smaller
number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from dpregret import _checks
from dpregret.cascading.first_position import response_epsilon
from dpregret.cascading.learner import Noise
from dpregret.cascading.play import COUNT, ROOT, SHOWN, SUM, UPPER, count_bits, draw_noise, top_k
from dpregret.privacy.discrete import RandomizedResponse

__all__ = ["ClickObservationDP", "ClickPositionLDP"]

CLICKS, OBSERVATIONS, PENDING, PENDING_OBSERVATIONS = SUM, 6, 7, 8  # rows of a state


class RatioLearner:
    """Show the K items of largest ``min(1, (clicks + width) / observations)``, or 1 if observations <= width."""

    def __init__(self, n_items: int, list_length: int) -> None:
        self.list_length = list_length
        self.displays = np.zeros(n_items, dtype=np.int64)
        self.clicks = np.zeros(n_items)
        self.observations = np.zeros(n_items)

    def width(self, t: int, displays: int) -> float:
        raise NotImplementedError

    def recommend(self, t: int) -> np.ndarray:
        upper = np.full(self.displays.size, np.inf)
        for e in np.flatnonzero(self.displays):
            width = self.width(t, self.displays[e])
            ratio = (self.clicks[e] + width) / self.observations[e] if self.observations[e] > width else 1.0
            upper[e] = min(1.0, ratio)
        return np.argsort(-upper, kind="stable")[: self.list_length]


class ClickPositionLDPLearner(RatioLearner):
    """LDP-C."""

    def __init__(self, n_items: int, list_length: int, response: RandomizedResponse) -> None:
        super().__init__(n_items, list_length)
        self.response = response

    def width(self, t: int, displays: int) -> float:
        return math.sqrt(1.5 * displays * math.log(t)) / self.response.contrast

    def privatize(self, items: np.ndarray, click: int, rng: np.random.Generator) -> np.ndarray:
        """The randomised response to the click, a position 1 to K or K + 1 for none: all that leaves the user."""
        return 1 + self.response.privatize(np.array([click - 1]), rng)

    def update(self, items: np.ndarray, message: np.ndarray) -> None:
        clicked, observed = debiased_click(int(message[0]), self.response)
        self.displays[items] += 1
        self.clicks[items] += clicked
        self.observations[items] += observed


def debiased_click(report: int, response: RandomizedResponse) -> tuple[np.ndarray, np.ndarray]:
    """The unbiased values z and o of ``1{C = k}`` and ``1{C >= k}``, k = 1..K, from one reported position."""
    positions = np.arange(1, response.n_categories)
    clicked = ((positions == report) - response.lie_probability) / response.contrast
    return clicked, 1.0 - (np.cumsum(clicked) - clicked)


class ClickObservationDPLearner(RatioLearner):
    """DP-CO. What is private (sums of unfinished blocks) is touched in ``privatize`` alone."""

    def __init__(self, n_items: int, list_length: int, noise: Noise) -> None:
        super().__init__(n_items, list_length)
        self.noise = noise
        self.pending = np.zeros((n_items, 2))  # clicks and observations of the block that has not ended

    def width(self, t: int, displays: int) -> float:
        blocks = int(displays).bit_length()  # J
        size = 2.0 ** (blocks - 1)  # m
        level = 3.0 * math.log(t)
        return math.sqrt(1.5 * size * math.log(t)) + self.noise.scale * (level + 2.0 * math.sqrt(2.0 * level * blocks))

    def privatize(self, items: np.ndarray, click: int, rng: np.random.Generator) -> np.ndarray:
        """What the curator releases after this user, shape (K, 2): the noisy sums of ended blocks, nan for the rest."""
        message = np.full((self.list_length, 2), np.nan)
        for k, item in enumerate(items, start=1):
            self.pending[item] += (click == k, click >= k)
            displays = int(self.displays[item]) + 1
            if displays & (displays - 1) == 0:
                message[k - 1] = [value + self.noise.draw(rng) for value in self.pending[item]]
                self.pending[item] = 0.0
        return message

    def update(self, items: np.ndarray, message: np.ndarray) -> None:
        self.displays[items] += 1
        released = np.nan_to_num(message)
        self.clicks[items] += released[:, 0]
        self.observations[items] += released[:, 1]


@njit(cache=True, nogil=True)
def randomised(value, n_categories, truth, lie, uniform):
    """RandomizedResponse.privatize."""
    above = uniform - truth
    if above < 0.0:
        return value
    step = 1 + min(math.floor(above / lie), n_categories - 2)
    return int((value + step) % n_categories)


@njit(inline="always")
def ratio(e, width, state):
    """The index of item e."""
    if state[COUNT, e] == 0.0:
        return np.inf
    if state[OBSERVATIONS, e] > width:
        return min(1.0, (state[CLICKS, e] + width) / state[OBSERVATIONS, e])
    return 1.0


class ClickRule(NamedTuple):
    """The compiled twin of `ClickPositionLDPLearner`."""

    truth: float
    lie: float
    contrast: float
    rows: int = 7  # of a state

    def recommend(self, t, log_t, state, lists):
        for e in range(state.shape[1]):
            width = math.sqrt(1.5 * state[COUNT, e] * log_t) / self.contrast
            state[UPPER, e] = ratio(e, width, state)
        top_k(state[UPPER], lists[SHOWN])

    def update(self, rng, state, items, click):
        report = 1 + randomised(click - 1, items.size + 1, self.truth, self.lie, rng.random())
        before = 0.0
        for k in range(items.size):
            e = items[k]
            clicked = ((1.0 if report == k + 1 else 0.0) - self.lie) / self.contrast
            before += clicked
            state[COUNT, e] += 1.0
            state[CLICKS, e] += clicked
            state[OBSERVATIONS, e] += 1.0 - (before - clicked)


class ClickBlockRule(NamedTuple):
    """The compiled twin of `ClickObservationDPLearner`."""

    noise: Noise
    rows: int = 9  # of a state

    def recommend(self, t, log_t, state, lists):
        root_log, by_log = math.sqrt(log_t), 3.0 * self.noise.scale * log_t
        for e in range(state.shape[1]):
            state[UPPER, e] = ratio(e, state[ROOT, e] * root_log + by_log, state)
        top_k(state[UPPER], lists[SHOWN])

    def update(self, rng, state, items, click):
        for k in range(items.size):
            e = items[k]
            state[PENDING, e] += click == k + 1
            state[PENDING_OBSERVATIONS, e] += click >= k + 1
            state[COUNT, e] += 1.0
            size = int(state[COUNT, e])
            if size & (size - 1) == 0:
                state[CLICKS, e] += state[PENDING, e] + draw_noise(rng, self.noise)
                state[OBSERVATIONS, e] += state[PENDING_OBSERVATIONS, e] + draw_noise(rng, self.noise)
                state[PENDING, e] = state[PENDING_OBSERVATIONS, e] = 0.0
                state[ROOT, e] = math.sqrt(1.5 * size) + 2.0 * self.noise.scale * math.sqrt(6.0 * count_bits(size))


@dataclass(frozen=True, kw_only=True)
class ClickPositionLDP:
    r"""LDP-C: every user sends one value, the (K + 1)-ary randomised response to the position of the click.

    Theorem "LDP-C: privacy and validity of the index" of the book: epsilon-LDP, with delta = 0, for every K, between
    any two users. With :math:`p_1 = e^\varepsilon / (e^\varepsilon + K)` and :math:`p_2 = 1 / (e^\varepsilon + K)` the
    width is :math:`\sqrt{1.5\, n \log t} / (p_1 - p_2)` after n displays.

    Parameters
    ----------
    epsilon : float
    """

    epsilon: float

    initial_observation = False
    label = "click-position"

    def __post_init__(self) -> None:
        _checks.epsilon(self.epsilon)

    def _response(self, list_length: int) -> RandomizedResponse:
        return RandomizedResponse(epsilon=self.epsilon, n_categories=list_length + 1)

    def learner(self, n_items: int, list_length: int, horizon: int) -> ClickPositionLDPLearner:
        """A learner for one run."""
        return ClickPositionLDPLearner(n_items, list_length, self._response(list_length))

    def rule(self, n_items: int, list_length: int, horizon: int) -> ClickRule:
        """The compiled twin of the learner; see `dpregret.cascading.play`."""
        response = self._response(list_length)
        return ClickRule(response.truth_probability, response.lie_probability, response.contrast)

    def channel(self, list_length: int) -> np.ndarray:
        """The exact law of the report, shape (K + 1, K + 1): row c - 1 is that of a user who clicks at c."""
        return self._response(_checks.integer("list_length", list_length, at_least=1)).transition_matrix()

    def value_epsilon(self, list_length: int) -> float:
        """Of the reported position: the same as `effective_epsilon`, since nothing else is sent."""
        return response_epsilon(self._response(_checks.integer("list_length", list_length, at_least=1)))

    def effective_epsilon(self, list_length: int) -> float:
        """The privacy of everything that leaves a user, for any two users: of one report, always sent."""
        return self.value_epsilon(list_length)


@dataclass(frozen=True, kw_only=True)
class ClickObservationDP:
    r"""DP-CO: a trusted curator releases noisy block sums of every shown item's clicks and observations.

    Theorem "DP-CO: privacy and validity of the index" of the book: the lists are epsilon-DP for every K, for databases
    that differ in one user. Blocks end at powers of two of an item's displays, and every block sum gets a fresh
    Lap((K + 1) / epsilon): a user's clicks and observations together have :math:`L_1` sensitivity K + 1.

    Parameters
    ----------
    epsilon : float
    """

    epsilon: float

    initial_observation = False
    label = "click-observation dp"

    def __post_init__(self) -> None:
        _checks.epsilon(self.epsilon)

    def learner(self, n_items: int, list_length: int, horizon: int) -> ClickObservationDPLearner:
        """A learner for one run."""
        return ClickObservationDPLearner(n_items, list_length, self.noise(list_length))

    def rule(self, n_items: int, list_length: int, horizon: int) -> ClickBlockRule:
        """The compiled twin of the learner; see `dpregret.cascading.play`."""
        return ClickBlockRule(self.noise(list_length))

    def noise(self, list_length: int) -> Noise:
        """On each block sum, of clicks or of observations."""
        return Noise(1, (list_length + 1) / self.epsilon)

    def value_epsilon(self, list_length: int) -> float:
        """Of the released block sums: the same as `effective_epsilon`, since the lists are a function of them."""
        length = _checks.integer("list_length", list_length, at_least=1)
        distance = length + 1.0 if length > 1 else 1.0  # position 1 is always observed
        return self.noise(length).epsilon(l1=distance, l2=math.sqrt(distance))

    def effective_epsilon(self, list_length: int) -> float:
        """The privacy of all released sums, and so of the lists: epsilon for K >= 2, and epsilon / 2 for K = 1."""
        return self.value_epsilon(list_length)
