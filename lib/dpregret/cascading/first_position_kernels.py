"""The compiled twins of the learners of `dpregret.cascading.first_position`: same draws, same decisions, faster."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dpregret.cascading.kernels import cascade, draw_noise, list_regret, log_rounds, top_k
from dpregret.cascading.kl_index import kl_slope, kl_upper

_SLACK = 1e-12  # rounding of an index beside its tangent


@njit(cache=True, nogil=True)
def least_counted(chosen, counts):
    """The item of smallest counter, the smallest number among equals."""
    first = chosen[0]
    for k in range(1, chosen.size):
        e = chosen[k]
        if counts[e] < counts[first] or (counts[e] == counts[first] and e < first):
            first = e
    return first


@njit(cache=True, nogil=True)
def arrange(first, ranked, items):
    """``first``, then the best others of ``ranked``, those in the order of their numbers."""
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
def _ucb_advance(rng, logs, means, best_unclicked, by_mean, truth, counts, ones, mean, root, chosen, best):
    upper = np.empty(means.size)
    items = np.empty_like(chosen)
    regret = 0.0
    for log_t in logs:
        width = math.sqrt(1.5 * log_t)
        for e in range(means.size):
            upper[e] = mean[e] + width * root[e]
        top_k(upper, chosen)
        if by_mean:
            top_k(mean, best)
        arrange(least_counted(chosen, counts), best if by_mean else chosen, items)
        regret += list_regret(items, means, best_unclicked)
        bit = cascade(items, means, rng.random()) == 1
        if rng.random() >= truth:
            bit = not bit
        e = items[0]
        counts[e] += 1
        ones[e] += bit
        mean[e] = ones[e] / counts[e]
        root[e] = math.sqrt(1.0 / counts[e])
    return regret


@njit(cache=True, nogil=True)
def _refresh(e, log_t, counts, mean, upper, slope, seen):
    if counts[e] > 0:
        upper[e] = kl_upper(mean[e], log_t / counts[e])
        slope[e] = kl_slope(mean[e], upper[e]) / counts[e]
        seen[e] = log_t


@njit(cache=True, nogil=True)
def _may_enter(log_t, least, member, upper, slope, seen):
    """Whether an item outside the list may have an index of at least ``least``."""
    found = False
    for e in range(upper.size):
        found |= (not member[e]) & (upper[e] + slope[e] * (log_t - seen[e]) + _SLACK >= least)
    return found


@njit(cache=True, nogil=True)
def _kl_advance(
    rng, logs, means, best_unclicked, by_mean, truth, counts, ones, mean, upper, slope, seen, member, chosen, best
):
    """Indices are computed late: an old one is a lower bound, as they rise with t, and its tangent an upper bound."""
    items = np.empty_like(chosen)
    regret = 0.0
    for log_t in logs:
        least = np.inf
        for k in range(chosen.size):
            least = min(least, upper[chosen[k]])
        if _may_enter(log_t, least, member, upper, slope, seen):
            least = np.inf
            for k in range(chosen.size):
                _refresh(chosen[k], log_t, counts, mean, upper, slope, seen)
                least = min(least, upper[chosen[k]])
            for e in range(means.size):
                if not member[e] and upper[e] + slope[e] * (log_t - seen[e]) + _SLACK >= least:
                    _refresh(e, log_t, counts, mean, upper, slope, seen)
            if _may_enter(log_t, least, member, upper, slope, seen):
                for e in range(means.size):
                    _refresh(e, log_t, counts, mean, upper, slope, seen)
                member[chosen] = False
                top_k(upper, chosen)
                member[chosen] = True
        if by_mean:
            top_k(mean, best)
        arrange(least_counted(chosen, counts), best if by_mean else chosen, items)
        regret += list_regret(items, means, best_unclicked)
        bit = cascade(items, means, rng.random()) == 1
        if rng.random() >= truth:
            bit = not bit
        e = items[0]
        counts[e] += 1
        ones[e] += bit
        mean[e] = ones[e] / counts[e]
        _refresh(e, log_t, counts, mean, upper, slope, seen)
    return regret


@njit(cache=True, nogil=True)
def _dp_advance(
    rng, logs, means, best_unclicked, by_mean, epsilon, counts, pending, released, mean, root, inverse, chosen, best
):
    upper = np.empty(means.size)
    items = np.empty_like(chosen)
    regret = 0.0
    for log_t in logs:
        root_log = math.sqrt(log_t)
        for e in range(means.size):
            upper[e] = mean[e] + root_log * root[e] + log_t * inverse[e]
        top_k(upper, chosen)
        if by_mean:
            top_k(mean, best)
        arrange(least_counted(chosen, counts), best if by_mean else chosen, items)
        regret += list_regret(items, means, best_unclicked)
        e = items[0]
        pending[e] += cascade(items, means, rng.random()) == 1
        counts[e] += 1
        size = counts[e]
        if size & (size - 1) == 0:
            blocks = 0
            while size >> blocks:
                blocks += 1
            released[e] += pending[e] + draw_noise(rng, 1, 1.0 / epsilon)
            pending[e] = 0.0
            mean[e] = released[e] / size
            root[e] = math.sqrt(1.5 / size) + 2.0 * math.sqrt(3.0 * blocks) / (epsilon * size)
            inverse[e] = 3.0 / (epsilon * size)
    return regret


class _Kernel:
    """What the two kernels share; ``advance`` plays the rounds ``start <= t < stop``."""

    def __init__(self, means: np.ndarray, list_length: int, fill: str) -> None:
        self.means = means
        self.by_mean = fill == "mean"
        self.counts = np.zeros(means.size, dtype=np.int64)
        self.mean = np.full(means.size, np.inf)  # an item never observed comes first
        self.root = np.zeros(means.size)
        self.chosen = np.arange(list_length)
        self.best = np.arange(list_length)
        self.best_unclicked = list_regret(np.argsort(-means)[:list_length], means, 0.0)

    def advance(self, rng: np.random.Generator, start: int, stop: int) -> float:
        return sum(self._advance(rng, logs) for logs in log_rounds(start, stop))

    def _advance(self, rng: np.random.Generator, logs: np.ndarray) -> float:
        raise NotImplementedError


class FirstPositionLDPKernel(_Kernel):
    """LDP-F with either index."""

    def __init__(self, means, list_length, fill, index, response) -> None:
        super().__init__(means, list_length, fill)
        self.index = index
        self.truth = response.truth_probability
        self.ones = np.zeros(means.size, dtype=np.int64)
        self.upper = np.full(means.size, np.inf)
        self.slope = np.zeros(means.size)
        self.seen = np.zeros(means.size)
        self.member = np.arange(means.size) < list_length

    def _advance(self, rng: np.random.Generator, logs: np.ndarray) -> float:
        common = rng, logs, self.means, self.best_unclicked, self.by_mean, self.truth, self.counts, self.ones, self.mean
        if self.index == "kl":
            return _kl_advance(*common, self.upper, self.slope, self.seen, self.member, self.chosen, self.best)
        return _ucb_advance(*common, self.root, self.chosen, self.best)


class FirstPositionDPKernel(_Kernel):
    """DP-F and DP-FX."""

    def __init__(self, means, list_length, fill, epsilon) -> None:
        super().__init__(means, list_length, fill)
        self.epsilon = epsilon
        self.pending = np.zeros(means.size)
        self.released = np.zeros(means.size)
        self.inverse = np.zeros(means.size)

    def _advance(self, rng: np.random.Generator, logs: np.ndarray) -> float:
        return _dp_advance(
            rng, logs, self.means, self.best_unclicked, self.by_mean, self.epsilon,
            self.counts, self.pending, self.released, self.mean, self.root, self.inverse, self.chosen, self.best,
        )  # fmt: skip
