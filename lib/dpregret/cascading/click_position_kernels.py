"""The compiled twins of the learners of `dpregret.cascading.click_position`: same draws, same decisions, faster."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dpregret.cascading.kernels import cascade, draw_noise, list_regret, log_rounds, top_k
from dpregret.cascading.learner import Noise
from dpregret.privacy.discrete import RandomizedResponse


@njit(cache=True, nogil=True)
def _ratio(clicks, observations, width):
    return min(1.0, (clicks + width) / observations) if observations > width else 1.0


@njit(cache=True, nogil=True)
def randomised(value, n_categories, truth, lie, uniform):
    """RandomizedResponse.privatize."""
    above = uniform - truth
    if above < 0.0:
        return value
    step = 1 + min(math.floor(above / lie), n_categories - 2)
    return int((value + step) % n_categories)


@njit(cache=True, nogil=True)
def _ldp_advance(rng, logs, means, best_unclicked, channel, displays, clicks, observations, chosen):
    truth, lie, contrast = channel
    length = chosen.size
    upper = np.empty(means.size)
    regret = 0.0
    for log_t in logs:
        for e in range(means.size):
            width = math.sqrt(1.5 * displays[e] * log_t) / contrast
            upper[e] = _ratio(clicks[e], observations[e], width) if displays[e] else np.inf
        top_k(upper, chosen)
        regret += list_regret(chosen, means, best_unclicked)
        click = cascade(chosen, means, rng.random())
        report = 1 + randomised(click - 1, length + 1, truth, lie, rng.random())
        before = 0.0
        for k in range(length):
            e = chosen[k]
            clicked = ((1.0 if report == k + 1 else 0.0) - lie) / contrast
            before += clicked
            displays[e] += 1
            clicks[e] += clicked
            observations[e] += 1.0 - (before - clicked)
    return regret


@njit(cache=True, nogil=True)
def _dp_advance(
    rng, logs, means, best_unclicked, kind, scale, displays, pending, clicks, observations, by_root, chosen
):
    length = chosen.size
    upper = np.empty(means.size)
    regret = 0.0
    for log_t in logs:
        root_log = math.sqrt(log_t)
        by_log = 3.0 * scale * log_t
        for e in range(means.size):
            width = by_root[e] * root_log + by_log
            upper[e] = _ratio(clicks[e], observations[e], width) if displays[e] else np.inf
        top_k(upper, chosen)
        regret += list_regret(chosen, means, best_unclicked)
        click = cascade(chosen, means, rng.random())
        for k in range(length):
            e = chosen[k]
            pending[e, 0] += click == k + 1
            pending[e, 1] += click >= k + 1
            displays[e] += 1
            size = displays[e]
            if size & (size - 1) == 0:
                blocks = 0
                while size >> blocks:
                    blocks += 1
                clicks[e] += pending[e, 0] + draw_noise(rng, kind, scale)
                observations[e] += pending[e, 1] + draw_noise(rng, kind, scale)
                pending[e] = 0.0
                by_root[e] = math.sqrt(1.5 * size) + 2.0 * scale * math.sqrt(6.0 * blocks)
    return regret


@njit(cache=True, nogil=True)
def _ldp_many(rng, logs, means, best_unclicked, channel, displays, clicks, observations, chosen):
    for r in range(len(displays)):
        _ldp_advance(rng, logs, means, best_unclicked, channel, displays[r], clicks[r], observations[r], chosen[r])


@njit(cache=True, nogil=True)
def _dp_many(rng, logs, means, best_unclicked, kind, scale, displays, pending, clicks, observations, by_root, chosen):
    for r in range(len(displays)):
        _dp_advance(
            rng, logs, means, best_unclicked, kind, scale,
            displays[r], pending[r], clicks[r], observations[r], by_root[r], chosen[r],
        )  # fmt: skip


class _Kernel:
    """What the two kernels share (see `dpregret.cascading.first_position_kernels`); ``items`` is the list shown."""

    def __init__(self, means: np.ndarray, list_length: int) -> None:
        self.means = means
        self.displays = np.zeros(means.size, dtype=np.int64)
        self.clicks = np.zeros(means.size)
        self.observations = np.zeros(means.size)
        self.items = np.arange(list_length)
        self.best_unclicked = list_regret(np.argsort(-means)[:list_length], means, 0.0)

    def advance(self, rng: np.random.Generator, start: int, stop: int) -> float:
        common = (self.means, self.best_unclicked, *self.settings, *self.state)
        return sum(self.play(rng, logs, *common) for logs in log_rounds(start, stop))


class ClickPositionLDPKernel(_Kernel):
    """LDP-C."""

    play, play_many = staticmethod(_ldp_advance), staticmethod(_ldp_many)

    def __init__(self, means: np.ndarray, list_length: int, response: RandomizedResponse) -> None:
        super().__init__(means, list_length)
        self.settings = ((response.truth_probability, response.lie_probability, response.contrast),)
        self.state = (self.displays, self.clicks, self.observations, self.items)


class ClickObservationDPKernel(_Kernel):
    """DP-CO."""

    play, play_many = staticmethod(_dp_advance), staticmethod(_dp_many)

    def __init__(self, means: np.ndarray, list_length: int, noise: Noise) -> None:
        super().__init__(means, list_length)
        self.settings = (int(noise.kind), float(noise.scale))
        pending, by_root = np.zeros((means.size, 2)), np.zeros(means.size)
        self.state = (self.displays, pending, self.clicks, self.observations, by_root, self.items)
