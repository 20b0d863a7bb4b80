"""Many compiled runs on given users: which lists came out, for audits of what the lists alone reveal."""

from __future__ import annotations

import math

import numpy as np

from dpregret import _checks

__all__ = ["list_sequences"]


def list_sequences(policy, weights, *, list_length: int, runs: int, rng: np.random.Generator) -> np.ndarray:
    """The lists of ``runs`` independent runs on the same users.

    Parameters
    ----------
    policy
        A policy whose kernel has ``play_many``: those of `first_position` and `click_position`.
    weights : array of shape (T, L), entries 0 or 1
        The users of rounds 1..T; a database. Neighbours differ in one row.

    Returns
    -------
    integer array of shape (runs, T, K)
    """
    weights = _checks.array("weights", weights, ndim=2, at_least=0.0, at_most=1.0)
    if not np.isin(weights, (0.0, 1.0)).all():
        raise ValueError(f"weights must hold 0 and 1 only, got {weights.tolist()}")
    rounds, n_items = weights.shape
    list_length = _checks.integer("list_length", list_length, at_least=1, at_most=n_items)
    runs = _checks.integer("runs", runs, at_least=1)
    kernel = policy.kernel(np.zeros(n_items), list_length, rounds)
    if not hasattr(kernel, "play_many"):
        raise ValueError(f"policy must have a kernel for many runs, got {policy!r}")
    state = [np.repeat(part[np.newaxis], runs, axis=0) for part in kernel.state]
    shown = np.empty((runs, rounds, list_length), dtype=np.int64)
    for t, user in enumerate(weights, start=1):
        # with means of 0 and 1 the cascade is certain
        kernel.play_many(rng, np.array([math.log(t)]), user, 0.0, *kernel.settings, *state)
        shown[:, t - 1] = state[-1]
    return shown
