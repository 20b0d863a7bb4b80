"""The exact epsilon of what leaves a user, read off the policy's own sampler (see `evidence.cascading.scripted`).

Each message is judged given all earlier draws, so that noise that is used again protects nothing.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from dpregret import _checks
from evidence.cascading.scripted import Sampler, Scripted, fresh_learner, worst_pair

__all__ = ["first_list_epsilon", "local_epsilon", "message_epsilon", "semibandit_epsilon"]


def message_epsilon(
    policy, *, list_length: int, n_items: int | None = None, delta: float = 0.0, rounds: int = 2, nodes: int = 64
) -> float:
    """Exact epsilon of what one user sends, over all pairs of users, the number of values included.

    All K + 1 clicks are tried, which is all that a message can depend on. The user of each of the first ``rounds``
    rounds is judged given everything drawn before; user 0 is left to `first_list_epsilon`.

    Parameters
    ----------
    policy
        A locally private policy, or anything with ``learner(n_items, list_length, horizon)``.
    n_items : int, optional
        K + 1 by default.
    delta : float
        The delta at which epsilon is asked for. A message with Laplace noise is judged at delta = 0 in any case.
    nodes : int
        Of the first search for the steps of a randomised response; refined where it finds short ones.
    """
    length = _checks.integer("list_length", list_length, at_least=1)
    n_items = length + 1 if n_items is None else _checks.integer("n_items", n_items, at_least=length)
    delta = _checks.real("delta", delta, at_least=0.0, below=1.0)
    rounds = _checks.integer("rounds", rounds, at_least=1)
    nodes = _checks.integer("nodes", nodes, at_least=2)

    def sampler(round: int, click: int) -> Sampler:
        def sample(rng):
            learner, silent = fresh_learner(policy, n_items, length, rounds), Scripted()
            for t in range(1, round):
                items = learner.recommend(t)
                learner.update(items, learner.privatize(items, length + 1, silent))
            return learner.privatize(learner.recommend(round), click, rng)

        return sample

    return max(
        worst_pair([sampler(round, click) for click in range(1, length + 2)], delta, nodes)
        for round in range(1, rounds + 1)
    )


def first_list_epsilon(policy, *, list_length: int, n_items: int | None = None) -> float:
    """What the first list reveals about user 0: inf if two users 0 lead to different lists, otherwise 0.

    All 2^L users are tried, for L = K + 1 items by default.
    """
    length = _checks.integer("list_length", list_length, at_least=1)
    n_items = length + 1 if n_items is None else _checks.integer("n_items", n_items, at_least=length)
    shown = set()
    for weights in itertools.product((0.0, 1.0), repeat=n_items):
        learner = policy.learner(n_items, length, 1)
        if getattr(policy, "initial_observation", False):
            learner.initialise(np.array(weights))
        shown.add(tuple(learner.recommend(1).tolist()))
    return math.inf if len(shown) > 1 else 0.0


def local_epsilon(policy, *, list_length: int, delta: float = 0.0) -> float:
    """Exact epsilon of everything that leaves any user: `message_epsilon`, and user 0 of `first_list_epsilon`."""
    first = first_list_epsilon(policy, list_length=list_length)
    return max(first, message_epsilon(policy, list_length=list_length, delta=delta))


def semibandit_epsilon(policy, *, list_length: int, delta: float = 0.0) -> float:
    """Exact epsilon of what a user of a semi-bandit policy sends, in the initial and in two later rounds.

    All pairs of outcome vectors in {0, 1}^K are tried: distances in the cube [0, 1]^K are largest between its corners.
    """
    length = _checks.integer("list_length", list_length, at_least=1)
    delta = _checks.real("delta", delta, at_least=0.0, below=1.0)
    arms = length + 1

    def sampler(round: int, outcomes: tuple) -> Sampler:
        def sample(rng):
            learner, silent = policy.learner(arms, length, arms + 2), Scripted()
            for t in range(1, round):
                chosen = learner.recommend(t, silent)
                learner.update(chosen, learner.privatize(chosen, np.zeros(length), silent))
            return learner.privatize(learner.recommend(round, silent), np.array(outcomes), rng)

        return sample

    corners = list(itertools.product((0.0, 1.0), repeat=length))
    return max(worst_pair([sampler(round, c) for c in corners], delta, 64) for round in (1, arms + 1, arms + 2))
