"""The compiled twin of :class:`~dpregret.cascading.learner.IndexLearner`: same draws, same decisions, faster.

Each item carries its mean and the reciprocals 1/sqrt(n) and 1/n, which change only when it is observed, so that an
index costs two multiplications.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numba import njit

from dpregret.cascading.learner import Index, Noise

_CHUNK = 1 << 17


@njit(cache=True, nogil=True)
def _logs(start, stop):
    logs = np.empty(stop - start)
    for t in range(start, stop):
        logs[t - start] = math.log(t)
    return logs


@cache
def _first_logs() -> np.ndarray:
    return _logs(1, _CHUNK)


def log_rounds(start: int, stop: int):
    """The logarithms of the rounds ``start <= t < stop``, in parts; those of the first rounds are computed once."""
    while start < stop:
        end = min(stop, (start // _CHUNK + 1) * _CHUNK)
        yield _first_logs()[start - 1 : end - 1] if end <= _CHUNK else _logs(start, end)
        start = end


@njit(cache=True, nogil=True)
def top_k(upper: np.ndarray, chosen: np.ndarray) -> None:
    """Write the positions of the largest entries into ``chosen``, largest first, ties to the smaller position.

    ``chosen`` holds K distinct positions on entry. Where they are still the K largest, as in most rounds, they are only
    sorted again; the test for that has no branches in its loop.
    """
    length = chosen.size
    least = upper[chosen[0]]
    for k in range(1, length):
        least = min(least, upper[chosen[k]])
    at_least = 0
    for e in range(upper.size):
        at_least += upper[e] >= least
    if at_least == length:
        for k in range(1, length):
            e = chosen[k]
            j = k
            while j > 0 and (
                upper[chosen[j - 1]] < upper[e] or (upper[chosen[j - 1]] == upper[e] and chosen[j - 1] > e)
            ):
                chosen[j] = chosen[j - 1]
                j -= 1
            chosen[j] = e
        return
    for e in range(upper.size):
        if e < length:
            j = e
        elif upper[e] > upper[chosen[length - 1]]:
            j = length - 1
        else:
            continue
        while j > 0 and upper[e] > upper[chosen[j - 1]]:
            chosen[j] = chosen[j - 1]
            j -= 1
        chosen[j] = e


@njit(nogil=True, inline="always")  # a call costs as much as its work
def cascade(items, means, uniform):
    """The click position that one uniform gives, K + 1 for none (CascadeProblem.draw_click)."""
    unclicked = 1.0
    for k in range(items.size):
        unclicked *= 1.0 - means[items[k]]
        if uniform >= unclicked:
            return k + 1
    return items.size + 1


@njit(nogil=True, inline="always")  # a call costs as much as its work
def list_regret(items, means, best_unclicked):
    """Expected regret of one list, given the probability that the best list gets no click."""
    unclicked = 1.0
    for k in range(items.size):
        unclicked *= 1.0 - means[items[k]]
    return unclicked - best_unclicked


@njit(cache=True, nogil=True)
def draw_noise(rng, kind, scale):
    """Noise.draw."""
    if kind == 1:
        magnitude = scale * rng.standard_exponential()
        return magnitude if rng.random() < 0.5 else -magnitude
    if kind == 2:
        return scale * rng.standard_normal()
    return 0.0


@njit(cache=True, nogil=True)
def _advance(rng, logs, means, best_unclicked, index, noise, counts, sums, mean, root, inverse, chosen):
    a, b, c, d = index
    kind, scale = noise
    n_items = means.size
    length = chosen.size
    upper = np.empty(n_items)
    regret = 0.0
    for log_t in logs:
        by_root = a * math.sqrt(log_t) + b * math.sqrt(log_t + c)
        by_inverse = d * log_t
        for e in range(n_items):
            upper[e] = mean[e] + by_root * root[e] + by_inverse * inverse[e]
        top_k(upper, chosen)
        regret += list_regret(chosen, means, best_unclicked)
        click = cascade(chosen, means, rng.random())
        for k in range(min(click, length)):
            e = chosen[k]
            counts[e] += 1
            sums[e] += (1.0 if k + 1 == click else 0.0) + draw_noise(rng, kind, scale)
            inverse[e] = 1.0 / counts[e]
            root[e] = math.sqrt(inverse[e])
            mean[e] = sums[e] * inverse[e]
    return regret


class IndexKernel:
    """State of one compiled run; ``advance`` plays the rounds from ``start`` up to but not including ``stop``."""

    def __init__(self, means: np.ndarray, list_length: int, index: Index, noise: Noise) -> None:
        n_items = means.size
        self.means = means
        self.index = tuple(map(float, index))
        self.noise = (int(noise.kind), float(noise.scale))
        self.counts = np.zeros(n_items, dtype=np.int64)
        self.sums = np.zeros(n_items)
        self.mean = np.full(n_items, np.inf)  # an item never observed comes first
        self.root = np.zeros(n_items)
        self.inverse = np.zeros(n_items)
        self.chosen = np.arange(list_length)
        self.best_unclicked = list_regret(np.argsort(-means)[:list_length], means, 0.0)

    def initialise(self, weights: np.ndarray) -> None:
        self.sums += weights
        self.counts += 1
        self.mean = self.sums / self.counts
        self.inverse = 1.0 / self.counts
        self.root = np.sqrt(self.inverse)

    def advance(self, rng: np.random.Generator, start: int, stop: int) -> float:
        """Play rounds ``start <= t < stop``; return their summed expected regret."""
        return sum(self._advance(rng, logs) for logs in log_rounds(start, stop))

    def _advance(self, rng: np.random.Generator, logs: np.ndarray) -> float:
        return _advance(
            rng, logs, self.means, self.best_unclicked, self.index, self.noise,
            self.counts, self.sums, self.mean, self.root, self.inverse, self.chosen,
        )  # fmt: skip
