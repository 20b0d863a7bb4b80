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
def _ucb_advance(rng, logs, means, best_unclicked, by_mean, truth, counts, ones, mean, root, chosen, best, items):
    upper = np.empty(means.size)
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
    rng,
    logs,
    means,
    best_unclicked,
    by_mean,
    truth,
    counts,
    ones,
    mean,
    upper,
    slope,
    seen,
    member,
    chosen,
    best,
    items,
):
    """Indices are computed late: an old one is a lower bound, as they rise with t, and its tangent an upper bound."""
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
    rng,
    logs,
    means,
    best_unclicked,
    by_mean,
    epsilon,
    kind,
    scale,
    counts,
    pending,
    released,
    mean,
    root,
    inverse,
    chosen,
    best,
    items,
):
    upper = np.empty(means.size)
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
            released[e] += pending[e] + draw_noise(rng, kind, scale)
            pending[e] = 0.0
            mean[e] = released[e] / size
            root[e] = math.sqrt(1.5 / size) + 2.0 * math.sqrt(3.0 * blocks) / (epsilon * size)
            inverse[e] = 3.0 / (epsilon * size)
    return regret


@njit(cache=True, nogil=True)
def _ucb_many(rng, logs, means, best_unclicked, by_mean, truth, counts, ones, mean, root, chosen, best, items):
    for r in range(len(counts)):
        _ucb_advance(
            rng, logs, means, best_unclicked, by_mean, truth,
            counts[r], ones[r], mean[r], root[r], chosen[r], best[r], items[r],
        )  # fmt: skip


@njit(cache=True, nogil=True)
def _kl_many(
    rng,
    logs,
    means,
    best_unclicked,
    by_mean,
    truth,
    counts,
    ones,
    mean,
    upper,
    slope,
    seen,
    member,
    chosen,
    best,
    items,
):
    for r in range(len(counts)):
        _kl_advance(
            rng, logs, means, best_unclicked, by_mean, truth,
            counts[r], ones[r], mean[r], upper[r], slope[r], seen[r], member[r], chosen[r], best[r], items[r],
        )  # fmt: skip


@njit(cache=True, nogil=True)
def _dp_many(
    rng, logs, means, best_unclicked, by_mean, epsilon, kind, scale,
    counts, pending, released, mean, root, inverse, chosen, best, items,
):  # fmt: skip
    for r in range(len(counts)):
        _dp_advance(
            rng, logs, means, best_unclicked, by_mean, epsilon, kind, scale,
            counts[r], pending[r], released[r], mean[r], root[r], inverse[r], chosen[r], best[r], items[r],
        )  # fmt: skip


class _Kernel:
    """What the two kernels share; ``advance`` plays the rounds ``start <= t < stop``.

    ``play`` is a compiled function of a generator, the logarithms of the rounds, the means, the best list's probability
    of no click, ``settings`` and ``state``; ``play_many`` is the same for states with an axis of runs first.
    """

    def __init__(self, means: np.ndarray, list_length: int, fill: str) -> None:
        self.means = means
        self.by_mean = fill == "mean"
        self.counts = np.zeros(means.size, dtype=np.int64)
        self.mean = np.full(means.size, np.inf)  # an item never observed comes first
        self.root = np.zeros(means.size)
        self.chosen = np.arange(list_length)  # the candidates
        self.best = np.arange(list_length)
        self.items = np.arange(list_length)  # the list shown
        self.best_unclicked = list_regret(np.argsort(-means)[:list_length], means, 0.0)

    def advance(self, rng: np.random.Generator, start: int, stop: int) -> float:
        common = (self.means, self.best_unclicked, *self.settings, *self.state)
        return sum(self.play(rng, logs, *common) for logs in log_rounds(start, stop))


class FirstPositionLDPKernel(_Kernel):
    """LDP-F with either index."""

    def __init__(self, means, list_length, fill, index, response) -> None:
        super().__init__(means, list_length, fill)
        self.settings = (self.by_mean, response.truth_probability)
        self.ones = np.zeros(means.size, dtype=np.int64)
        common = (self.counts, self.ones, self.mean)
        lists = (self.chosen, self.best, self.items)
        if index == "kl":
            self.play, self.play_many = _kl_advance, _kl_many
            upper, slope, seen = np.full(means.size, np.inf), np.zeros(means.size), np.zeros(means.size)
            self.state = (*common, upper, slope, seen, np.arange(means.size) < list_length, *lists)
        else:
            self.play, self.play_many = _ucb_advance, _ucb_many
            self.state = (*common, self.root, *lists)


class FirstPositionDPKernel(_Kernel):
    """DP-F and DP-FX."""

    play, play_many = staticmethod(_dp_advance), staticmethod(_dp_many)

    def __init__(self, means, list_length, fill, epsilon, noise) -> None:
        super().__init__(means, list_length, fill)
        self.settings = (self.by_mean, float(epsilon), int(noise.kind), float(noise.scale))
        pending, released, inverse = np.zeros(means.size), np.zeros(means.size), np.zeros(means.size)
        self.state = (
            self.counts, pending, released, self.mean, self.root, inverse, self.chosen, self.best, self.items,
        )  # fmt: skip
