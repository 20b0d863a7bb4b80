"""The compiled round of `play`: draw, take the adversary's losses, add up.

Sums of losses are compensated (Kahan), so that they are right to the last digits after 1e7 rounds and more.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

TABLE, BERNOULLI, LEADER, LAST_ACTION = range(4)


@njit(cache=True, nogil=True)
def _find(cdf, target):
    last = cdf.size - 1
    if last < 16:
        for j in range(last):
            if target < cdf[j]:
                return j
        return last
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        if target < cdf[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def _losses(kind, table, t, cumulative, last_action, rng, losses):
    """Write the losses of round t >= 1 into ``losses``."""
    if kind == TABLE:
        row = table[(t - 1) % table.shape[0]]
        for j in range(losses.size):
            losses[j] = row[j]
        return
    if kind == BERNOULLI:
        for j in range(losses.size):
            losses[j] = 1.0 if rng.random() < table[0, j] else 0.0
        return
    losses[:] = 0.0
    if kind == LEADER:
        leader = 0
        for j in range(1, losses.size):
            if cumulative[j] < cumulative[leader]:
                leader = j
        losses[leader] = 1.0
    elif last_action >= 0:
        losses[last_action] = 1.0


@njit(cache=True, nogil=True)
def advance(rng, eta, batch, kind, table, start, stop, cumulative, carry, cdf, weights, totals, last, played, actions):
    """Play rounds ``start <= t < stop`` of one loss sequence and of the replicates that share it.

    State, changed in place: sums of losses ``cumulative`` with their compensation ``carry``; the last draw's
    ``weights`` and ``cdf``; ``totals``, the sum of the expected losses and its compensation; for each replicate the
    ``last`` action and the sum of the losses it ``played`` (row 1: compensation). ``actions`` has a column a round, or
    none.
    """
    n_experts, replicates = cumulative.size, last.size
    record = actions.shape[1] > 0
    losses = np.empty(n_experts)
    wait = (batch - (start - 1) % batch) % batch
    for t in range(start, stop):
        draw = wait == 0
        if draw:
            wait = batch
            least = cumulative[0]
            for j in range(1, n_experts):
                least = min(least, cumulative[j])
            total = 0.0
            for j in range(n_experts):
                excess = cumulative[j] - least
                weights[j] = math.exp(-eta * excess) if excess > 0.0 else 1.0
                total += weights[j]
                cdf[j] = total
        wait -= 1
        _losses(kind, table, t, cumulative, last[0], rng, losses)  # before the draw: they may depend on a_{t-1} only
        if draw:
            for r in range(replicates):
                last[r] = _find(cdf, rng.random() * cdf[n_experts - 1])
        mean = 0.0
        for j in range(n_experts):
            mean += weights[j] * losses[j]
            corrected = losses[j] - carry[j]
            updated = cumulative[j] + corrected
            carry[j] = (updated - cumulative[j]) - corrected
            cumulative[j] = updated
        corrected = mean / cdf[n_experts - 1] - totals[1]
        updated = totals[0] + corrected
        totals[1] = (updated - totals[0]) - corrected
        totals[0] = updated
        for r in range(replicates):
            corrected = losses[last[r]] - played[1, r]
            updated = played[0, r] + corrected
            played[1, r] = (updated - played[0, r]) - corrected
            played[0, r] = updated
            if record:
                actions[r, t - 1] = last[r]
