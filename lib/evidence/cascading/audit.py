r"""What a policy reveals about one user: through the user's message, or through the lists that are shown.

`messages` and `lists` give samplers for `dpregret.privacy.audit.distinguish`, for any policy with a learner. The rest
tests Theorem 1 of [Wang2021] (and Theorems 3 and 5 seen through the lists): neighbours that differ in the user of one
round, an event about the lists that has probability 0 for one of them, and many compiled runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpregret import _checks
from dpregret.cascading.model import CascadeProblem
from dpregret.cascading.play import COUNT, SHOWN, Cascade, Run


def messages(policy, weights, *, list_length: int, items=None, horizon: int = 1) -> Callable:
    """Sampler of the message of one user: what leaves them under local privacy.

    Parameters
    ----------
    policy
        Anything with ``learner(n_items, list_length, horizon)``; the channel is that of a fresh learner.
    weights : array of shape (L,), entries 0 or 1
        Which items attract the user.
    items : sequence of int, optional
        The list shown, items 0..K-1 by default.
    """
    user = _user("weights", weights, list_length)
    items = np.arange(list_length) if items is None else np.asarray(items)
    learner = policy.learner(user.n_items, list_length, horizon)
    return lambda rng: learner.privatize(items, user.draw_click(items, rng), rng)


def lists(policy, weights, *, list_length: int, initial_weights=None) -> Callable:
    """Sampler of all lists of a run on given users; each output is an integer array of shape (T, K).

    Parameters
    ----------
    policy
        Anything with ``learner(n_items, list_length, horizon)``.
    weights : array of shape (T, L), entries 0 or 1
        The users of rounds 1..T.
    initial_weights : array of shape (L,), optional
        User 0, for a policy that observes them raw; by default nothing attracts them.
    """
    weights = _checks.array("weights", weights, ndim=2, at_least=0.0, at_most=1.0)
    users = [_user(f"weights[{t}]", row, list_length) for t, row in enumerate(weights)]
    first = _initial(policy, initial_weights, weights.shape[1], list_length)

    def sample(rng: np.random.Generator) -> np.ndarray:
        learner = policy.learner(weights.shape[1], list_length, len(users))
        if first is not None:
            learner.initialise(first)
        shown = np.empty((len(users), list_length), dtype=np.int64)
        for t, user in enumerate(users, start=1):
            items = learner.recommend(t)
            shown[t - 1] = items
            learner.update(items, learner.privatize(items, user.draw_click(items, rng), rng))
        return shown

    return sample


class Probe(NamedTuple):
    """The lists of rounds t0 and t0 + 1, shape (runs, K), and the counters before round t0, shape (runs, L)."""

    before: np.ndarray
    counts: np.ndarray
    after: np.ndarray


def probe(
    policy,
    *,
    n_items: int,
    list_length: int,
    round: int,
    attracted: bool,
    runs: int,
    rng: np.random.Generator,
    horizon: int | None = None,
) -> Probe:
    """Compiled runs of the database in which nobody is attracted by anything, but for the user of round ``round``.

    That user is attracted by every item (and so clicks position 1, whatever is shown) or by none. User 0, where a
    policy observes one, is attracted by nothing. Since nobody clicks before, every item shown is examined and the
    counters are a function of the lists.

    Parameters
    ----------
    policy
        A policy with a compiled rule.
    round : int
        t0 >= 1.
    attracted : bool
        Whether the user of round t0 is attracted by every item.
    horizon : int, optional
        The horizon that the policy is told, at least t0 + 1, which is the default.
    """
    n_items = _checks.integer("n_items", n_items, at_least=1)
    list_length = _checks.integer("list_length", list_length, at_least=1, at_most=n_items)
    t0 = _checks.integer("round", round, at_least=1)
    runs = _checks.integer("runs", runs, at_least=1)
    horizon = t0 + 1 if horizon is None else _checks.integer("horizon", horizon, at_least=t0 + 1)
    first = _initial(policy, None, n_items, list_length)
    before, after = (np.empty((runs, list_length), dtype=np.int64) for _ in range(2))
    counts = np.empty((runs, n_items), dtype=np.int64)
    quiet, keen = (Cascade.of(np.full(n_items, weight), list_length) for weight in (0.0, 1.0))
    for i in range(runs):
        run = Run(policy.rule(n_items, list_length, horizon), quiet)
        if first is not None:
            run.initialise(first)
        if t0 > 1:
            run.play(rng, 1, [t0 - 1])
        counts[i] = run.state[0, COUNT]
        run.users = keen if attracted else quiet
        run.play(rng, t0, [t0])
        before[i] = run.lists[0, SHOWN]
        run.users = quiet
        run.play(rng, t0 + 1, [t0 + 1])
        after[i] = run.lists[0, SHOWN]
    return Probe(before, counts, after)


def order_events(runs: Probe, *, equal_counts: bool = False) -> tuple[np.ndarray, np.ndarray]:
    r"""Two events about the lists that cannot occur if user t0 clicks position 1; boolean arrays of shape (runs,).

    Item a is shown in round t0 at a position >= 2, and ``2 <= T(a) <= T(b)`` for an item b ranked below it. First
    event: b is shown too, and in round t0 + 1 b is above a. Second event: b is not shown in round t0, and in round
    t0 + 1 b is shown and a is not; the order of the lists does not enter. After a click at position 1 neither item is
    updated, and between updates ``U(a) - U(b)`` does not fall, since every term of the bonus falls in the counter and
    rises in t. The proof is that of the violation of Theorem 1 in the book.

    ``equal_counts`` asks for T(a) = T(b), needed where the bonus of Algorithm 1 is that of the proof.
    """
    before, counts, after = runs
    n, length = before.shape
    rows = np.arange(n)
    rank = np.full((2, *counts.shape), length)  # position from 0; length: not shown
    for position in range(length):
        rank[0, rows, before[:, position]] = position
        rank[1, rows, after[:, position]] = position
    swapped, replaced = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    for position in range(1, length):
        a = before[:, position]
        count, later = counts[rows, a][:, None], rank[1, rows, a][:, None]
        order = (count == counts) if equal_counts else (count <= counts)
        overtaken = (count >= 2) & order & (rank[0] > position) & (rank[1] < later)
        swapped |= (overtaken & (rank[0] < length)).any(axis=1)
        replaced |= (overtaken & (rank[0] == length) & (later == length)).any(axis=1)
    return swapped, replaced


def _user(name: str, weights, list_length: int) -> CascadeProblem:
    weights = _checks.array(name, weights, ndim=1, at_least=0.0, at_most=1.0)
    if not np.isin(weights, (0.0, 1.0)).all():
        raise ValueError(f"{name} must hold 0 and 1 only, got {weights.tolist()}")
    return CascadeProblem(weights, list_length, allow_ties=True)


def _initial(policy, weights, n_items: int, list_length: int) -> np.ndarray | None:
    if not getattr(policy, "initial_observation", False):
        return None
    weights = np.zeros(n_items) if weights is None else _user("initial_weights", weights, list_length).means
    if weights.size != n_items:
        raise ValueError(f"initial_weights must have {n_items} entries, got {weights.size}")
    return weights.astype(float)
