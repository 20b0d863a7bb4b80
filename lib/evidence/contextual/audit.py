"""The privacy of the code that runs: what an oracle's users draw, against all pairs of a set of extreme records.

Nothing here believes what an oracle says about itself. `fit` runs on a batch that records, and once more on users of
another law with the same messages, whose values and noises are moved by opposite amounts: an estimate that differs has
used more than them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpregret import _checks
from dpregret.contextual.partition import Grid
from evidence.contextual.recording import Message, Recorder, Recording

__all__ = ["Message", "MessageAudit", "message_epsilon"]

USERS = 10**12


class MessageAudit(NamedTuple):
    """The largest epsilon of a message, why it is infinite (else ""), and all messages in their order."""

    epsilon: float
    reason: str
    messages: tuple[Message, ...]


def message_epsilon(oracle, *, dimension: int = 2) -> MessageAudit:
    """Exact epsilon of what a user sends to the oracles of two actions, over pairs of extreme records.

    The records are those at which a message of the first layer is farthest from another one, and nearly so on the
    second layer, for both actions and both rewards, and the empty record.

    Parameters
    ----------
    oracle
        Anything with ``fit(batch, *, delta, rng)`` that draws the users' noise by the batch's sums.
    dimension : int
        At most 5.

    Returns
    -------
    MessageAudit
        Its epsilon is infinite for raw values, Wishart noise, noise used again, or an estimate that uses more than the
        messages.

    Raises
    ------
    ValueError
        For an oracle that draws from the generator itself.
    """
    d = _checks.integer("dimension", dimension, at_least=1, at_most=5)
    grid = Grid.of(USERS, getattr(oracle, "beta", None))
    small = grid.gamma ** -(grid.M - 1.0)
    rows = [*np.eye(d), np.full(d, d**-0.5)]
    if d > 1:
        rows += [math.sqrt(1 - small**2) * np.eye(d)[0] + side * small * np.eye(d)[1] for side in (1, -1)]
    law = np.array([*0.5 ** np.arange(d), 0.0, *([0.25, 0.25] if d > 1 else [])])
    recorder = Recorder()

    def fit(law, parameter, replay=()):
        features = np.tile(rows, (2, 1))
        batch = Recording(
            features, np.repeat([0, 1], len(rows)), np.tile(law / law.sum() / 2, 2), features @ parameter, USERS,
            recorder=recorder, replay=replay,
        )  # fmt: skip
        estimate = oracle.fit(batch, delta=0.1, rng=recorder)
        batch.close()
        return batch, np.array([estimate.values, estimate.widths])

    batch, first = fit(law, 0.5 ** np.arange(1, d + 1))
    if not batch.messages:
        batch.judge("raw", math.inf, "no message is drawn by the batch's sums")
    if not batch.reasons:
        again, second = fit(law**2, -(0.4 ** np.arange(1, d + 1)), batch.sent)
        if again.reasons or not np.allclose(first, second, rtol=1e-9, atol=1e-12):
            batch.judge("raw", math.inf, "the estimate uses more than the messages")
    return MessageAudit(
        max(message.epsilon for message in batch.messages),
        "; ".join(dict.fromkeys(batch.reasons)),
        tuple(batch.messages),
    )
