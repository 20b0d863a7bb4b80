"""A certified lower bound on epsilon from the lists alone, with an event chosen on runs of its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpregret import _checks
from dpregret.privacy.audit import epsilon_lower_bound
from evidence.cascading.list_sequences import list_sequences

__all__ = ["ListsAudit", "lists_audit"]


class ListsAudit(NamedTuple):
    """A certified lower bound on epsilon, and where it comes from: hits of the event in ``runs`` runs of either law."""

    epsilon: float
    hits_p: int
    hits_q: int
    runs: int


def lists_audit(
    policy, first, second, *, list_length: int, runs: int, rng: np.random.Generator, last: int = 1,
    confidence: float = 0.95,
) -> ListsAudit:  # fmt: skip
    """A certified lower bound on epsilon from the lists of the compiled policy on two databases.

    The event is about the lists of the last ``last`` rounds. It is chosen on half of the runs, the most telling set of
    outcomes in either direction, and counted on the other half, which alone gives the bound.

    Parameters
    ----------
    policy
        A policy with a compiled rule that observes no user raw: those of ``first_position`` and ``click_position``.
    first, second : array of shape (T, L), entries 0 or 1
        The users of the two databases.
    runs : int
        For each database, each half.
    """
    last = _checks.integer("last", last, at_least=1)

    def codes() -> list[np.ndarray]:
        shown = [list_sequences(policy, w, list_length=list_length, runs=runs, rng=rng) for w in (first, second)]
        ends = np.concatenate(shown)[:, -last:].reshape(2 * runs, -1)
        n_items = np.shape(first)[1]
        code = np.zeros(2 * runs, dtype=np.int64)
        for column in ends.T:
            code = code * n_items + column
        return [code[:runs], code[runs:]]

    train = codes()
    met, inverse = np.unique(np.concatenate(train), return_inverse=True)
    counts = [np.bincount(part, minlength=met.size) for part in (inverse[:runs], inverse[runs:])]
    best, event, swap = -1.0, met[:0], False
    for p, q, swapped in ((*counts, False), (*counts[::-1], True)):
        order = np.argsort(-(p + 0.5) / (q + 0.5), kind="stable")
        bounds = epsilon_lower_bound(
            np.cumsum(p[order]), runs, np.cumsum(q[order]), runs, confidence=confidence, n_events=1
        )
        if bounds.max() > best:
            best, event, swap = float(bounds.max()), met[order[: int(np.argmax(bounds)) + 1]], swapped
    hits = [int(np.isin(code, event).sum()) for code in codes()]
    hits_p, hits_q = hits[::-1] if swap else hits
    return ListsAudit(epsilon_lower_bound(hits_p, runs, hits_q, runs, confidence=confidence), hits_p, hits_q, runs)
