"""The one compiled loop: a policy shows a list, a user responds, the policy learns.

A policy is compiled from its *rule*, a `NamedTuple` of its numbers with the two methods that matter::

    class Rule(NamedTuple):
        epsilon: float
        rows: int = 6  # of a state

        def recommend(self, t, log_t, state, lists): ...  # writes the list of round t into lists[SHOWN]
        def update(self, rng, state, items, click): ...  # learns from the click of one user

``state`` is a matrix of floats with a row a quantity and a column an item; at first it is zero, but for infinite means
and indices. The rows of ``lists`` hold K distinct items each. Both are all that a run remembers.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload_method

_CHUNK = 1 << 17  # rounds between two of which an interrupt is heard

COUNT, MEAN, UPPER, ROOT, SLOPE, SUM = range(6)  # rows of a state; a rule that has more counts on from 6
SHOWN, CANDIDATES, BEST = range(3)  # rows of ``lists``


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


@njit(cache=True, nogil=True)
def draw_noise(rng, noise):
    """Noise.draw."""
    if noise.kind == 1:
        magnitude = noise.scale * rng.standard_exponential()
        return magnitude if rng.random() < 0.5 else -magnitude
    if noise.kind == 2:
        return noise.scale * rng.standard_normal()
    return 0.0


@njit(cache=True, nogil=True)
def count_bits(n):
    """int.bit_length."""
    bits = 0
    while n >> bits:
        bits += 1
    return bits


class Cascade(NamedTuple):
    """The users of a cascade problem."""

    means: np.ndarray
    best_unclicked: float  # the probability that the best list gets no click
    list_length: int

    @classmethod
    def of(cls, means: np.ndarray, list_length: int) -> Cascade:
        """Users with these attraction probabilities."""
        best_unclicked = 1.0
        for mean in np.sort(means)[::-1][:list_length]:
            best_unclicked *= 1.0 - mean
        return cls(np.array(means), float(best_unclicked), list_length)

    def respond(self, rng, items):
        """The expected regret of a list, and the click that one uniform gives (CascadeProblem.draw_click)."""
        uniform = rng.random()
        unclicked, click = 1.0, 1
        for k in range(items.size):
            unclicked *= 1.0 - self.means[items[k]]
            click += uniform < unclicked
        return unclicked - self.best_unclicked, click


for _name in ("recommend", "respond", "update"):  # compiled code has their source in place of a call

    @overload_method(types.BaseNamedTuple, _name, strict=False, inline="always")  # type: ignore[call-arg]
    def _source(self, *arguments, _name=_name):  # noqa: ARG001
        return getattr(self.instance_class, _name)


def _play(rng, users, rule, start, logs, stops, state, lists, regret):
    """Play the rounds from ``start`` on whose logarithms are given, in each of the runs.

    The regret of the rounds before ``stops[i]``, from ``stops[i - 1]`` on, is added to ``regret[:, i]``.
    """
    end = start + logs.size
    for r in range(len(state)):
        t = start
        for i in range(stops.size):
            total = 0.0
            while t < min(stops[i], end):
                rule.recommend(t, logs[t - start], state[r], lists[r])
                loss, response = users.respond(rng, lists[r, SHOWN])
                rule.update(rng, state[r], lists[r, SHOWN], response)
                total += loss
                t += 1
            regret[r, i] += total


_kept = njit(_play, cache=True, nogil=True, error_model="numpy")
_fresh = njit(_play, nogil=True, error_model="numpy")  # numba would not notice that a reader's rule has changed


class Run:
    """Runs of one rule side by side, from round 1 on; ``users`` may be replaced between two rounds."""

    def __init__(self, rule, users, runs: int = 1) -> None:
        self.rule, self.users = rule, users
        self.state = np.zeros((runs, rule.rows, users.means.size))
        self.state[:, [MEAN, UPPER]] = np.inf  # an item never observed comes first
        self.lists = np.tile(np.arange(users.list_length), (runs, 3, 1))
        self._loop = _kept if type(rule).__module__.startswith("dpregret.") else _fresh

    def initialise(self, weights: np.ndarray) -> None:
        """Take the weights of user 0 (see `Learner`)."""
        for state in self.state:
            self.rule.initialise(state, weights)

    def play(self, rng: np.random.Generator, start: int, checkpoints) -> np.ndarray:
        """Play on from round ``start``; the regret up to each checkpoint since the one before, shape (runs, rounds)."""
        stops = np.asarray(checkpoints, dtype=np.int64) + 1
        regret = np.zeros((len(self.state), stops.size))
        for logs in log_rounds(start, int(stops[-1])):
            self._loop(rng, self.users, self.rule, start, logs, stops, self.state, self.lists, regret)
            start += logs.size
        return regret
