"""Compiled loops over single users."""

from __future__ import annotations

import math

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)
def draw_records(rng, users, cumulative):
    """The cell of each user: the first whose cumulative probability exceeds a uniform."""
    out = np.empty(users, np.int64)
    last = len(cumulative) - 1
    for i in range(users):
        out[i] = min(np.searchsorted(cumulative, rng.random(), side="right"), last)
    return out


@numba.njit(nogil=True, cache=True)
def add_bits(rng, records, values, slots, n_slots, bias):
    """Sum of the users' bits by slot. A record is twice its row, plus 1 for the reward -1; -1 is the empty record."""
    total = np.zeros(n_slots)
    for record in records:
        own = slots[record // 2] if record >= 0 else -1
        for slot in range(n_slots):
            mean = bias * values[record // 2, record % 2] if slot == own else 0.0
            total[slot] += 1.0 if rng.random() < (1.0 + mean) / 2 else -1.0
    return total


@numba.njit(nogil=True, cache=True)
def add_laplace(rng, users, scale, total):
    """Add every user's Laplace noises, one for each entry."""
    for _ in range(users):
        for entry in range(len(scale)):
            total[entry] += rng.laplace(0.0, scale[entry])


@numba.njit(nogil=True, cache=True)
def add_wishart(rng, users, degrees, scale, total):
    """Add the users' Wishart noises, each a sum of ``degrees`` outer products, less their means."""
    n_slots, d, _ = total.shape
    deviation = math.sqrt(scale)
    x = np.empty(d)
    for _ in range(users):
        for slot in range(n_slots):
            for _ in range(degrees):
                for i in range(d):
                    x[i] = rng.normal(0.0, deviation)
                for i in range(d):
                    for j in range(d):
                        total[slot, i, j] += x[i] * x[j]
            for i in range(d):
                total[slot, i, i] -= degrees * scale


@numba.njit(nogil=True, cache=True)
def add_inputs(rng, counts, users, features, scale, second, cross):
    """Add ``x x' - 2 scale^2 I`` and ``z x`` of every user, for one action.

    x and z are the feature vector and the reward with Laplace noise; ``counts`` (m, 2) users have each record of the
    action, the others noise alone.
    """
    d = len(cross)
    x = np.empty(d)
    for cell in range(counts.size + 1):
        row = cell // 2
        repeats = counts[row, cell % 2] if cell < counts.size else users - counts.sum()
        for _ in range(repeats):
            z = rng.laplace(0.0, scale)
            for i in range(d):
                x[i] = rng.laplace(0.0, scale)
            if cell < counts.size:
                z += 1.0 - 2.0 * (cell % 2)
                for i in range(d):
                    x[i] += features[row, i]
            for i in range(d):
                cross[i] += z * x[i]
                for j in range(d):
                    second[i, j] += x[i] * x[j]
                second[i, i] -= 2 * scale * scale


@numba.njit(nogil=True, cache=True)
def lin_ucb_loop(rng, features, cumulative, parameter, gaps, rounds, ridge, log_delta):
    """Cumulative pseudo-regret of LinUCB after each of ``rounds``; the inverse is kept by rank-one updates."""
    _, n_actions, d = features.shape
    inverse = np.zeros((d, d))
    for i in range(d):
        inverse[i, i] = 1 / ridge
    b, theta, step = np.zeros(d), np.zeros(d), np.zeros(d)
    out = np.empty(len(rounds))
    regret, place, last = 0.0, 0, len(cumulative) - 1
    for t in range(1, rounds[-1] + 1):
        x = min(np.searchsorted(cumulative, rng.random(), side="right"), last)
        radius = math.sqrt(ridge) + math.sqrt(2 * log_delta + d * math.log(1 + (t - 1) / (ridge * d)))
        best, action = -math.inf, 0
        for a in range(n_actions):
            value, square = 0.0, 0.0
            for i in range(d):
                value += features[x, a, i] * theta[i]
                for j in range(d):
                    square += features[x, a, i] * inverse[i, j] * features[x, a, j]
            index = value + radius * math.sqrt(max(square, 0.0))
            if index > best:
                best, action = index, a
        regret += gaps[x, action]
        mean, square = 0.0, 0.0
        for i in range(d):
            mean += features[x, action, i] * parameter[i]
            step[i] = 0.0
            for j in range(d):
                step[i] += inverse[i, j] * features[x, action, j]
            square += features[x, action, i] * step[i]
        y = 1.0 if rng.random() < (1.0 + mean) / 2 else -1.0
        for i in range(d):
            b[i] += y * features[x, action, i]
            for j in range(d):
                inverse[i, j] -= step[i] * step[j] / (1.0 + square)
        for i in range(d):
            theta[i] = 0.0
            for j in range(d):
                theta[i] += inverse[i, j] * b[j]
        if t == rounds[place]:
            out[place] = regret
            place += 1
    return out
