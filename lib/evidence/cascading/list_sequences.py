"""Many compiled runs on given users: which lists came out, for audits of what the lists alone reveal."""

from __future__ import annotations

import numpy as np

from dpregret import _checks
from dpregret.cascading.play import SHOWN, Cascade, Run

__all__ = ["list_sequences"]


def list_sequences(policy, weights, *, list_length: int, runs: int, rng: np.random.Generator) -> np.ndarray:
    """The lists of ``runs`` independent runs on the same users.

    Parameters
    ----------
    policy
        A policy with a compiled rule that observes no user raw: those of `first_position` and `click_position`.
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
    if getattr(policy, "initial_observation", False):
        raise ValueError(f"policy must observe no user raw, got {policy!r}")
    run = Run(policy.rule(n_items, list_length, rounds), Cascade.of(weights[0], list_length), runs)
    shown = np.empty((runs, rounds, list_length), dtype=np.int64)
    for t, user in enumerate(weights, start=1):
        run.users = Cascade.of(user, list_length)  # with means of 0 and 1 the cascade is certain
        run.play(rng, t, [t])
        shown[:, t - 1] = run.lists[:, SHOWN]
    return shown
