"""The exact epsilon of all that a trusted curator releases, read off the policy's own sampler over whole courses."""

from __future__ import annotations

import itertools
import math

import numpy as np

from dpregret import _checks
from evidence.cascading.scripted import Scripted, affine, fresh_learner, shift_epsilon

__all__ = ["course_epsilon"]


def course_epsilon(
    policy, *, n_items: int, list_length: int, rounds: int, rng: np.random.Generator, courses: int = 1
) -> float:
    """The exact L1 distance, in units of the noise, of all that a curator releases on neighbouring databases.

    For each of ``courses`` random courses (users with a uniformly random click, the policy's own noise) the user of
    every round is changed to one with every other click, and the course is replayed on the numbers that were released:
    the lists are then the same, and the two laws of the released numbers differ in their centres. The log-ratio of
    their densities is at most this distance (lemma "Noisy sums with public bookkeeping" of the book), and attains it
    for a user whose blocks are the last. User 0 is left to `evidence.cascading.exact_messages.first_list_epsilon`.

    Parameters
    ----------
    policy
        A centrally private policy with Laplace noise, or anything with ``learner(n_items, list_length, horizon)``.

    Returns
    -------
    float
        ``math.inf`` if which numbers are released, or the lists given these numbers, depend on the user.
    """
    n_items = _checks.integer("n_items", n_items, at_least=1)
    length = _checks.integer("list_length", list_length, at_least=1, at_most=n_items)
    rounds = _checks.integer("rounds", rounds, at_least=1)
    courses = _checks.integer("courses", courses, at_least=1)
    return max(_one_course(policy, n_items, length, rounds, rng) for _ in range(courses))


def _one_course(policy, n_items: int, length: int, rounds: int, rng: np.random.Generator) -> float:
    clicks = rng.integers(1, length + 2, size=rounds).tolist()
    learner, lists, messages = fresh_learner(policy, n_items, length, rounds), [], []
    for t, click in enumerate(clicks, start=1):
        lists.append(learner.recommend(t))
        messages.append(learner.privatize(lists[-1], click, rng))
        learner.update(lists[-1], messages[-1])

    def replay(clicks, draws):
        learner, released = fresh_learner(policy, n_items, length, rounds), []
        for t, (click, items, message) in enumerate(zip(clicks, lists, messages, strict=True), start=1):
            if not np.array_equal(learner.recommend(t), items):
                return None
            released.append(np.asarray(learner.privatize(items, click, draws), dtype=float).ravel())
            if released[-1].size != np.size(message):
                return None
            learner.update(items, message)
        return np.concatenate(released)

    if replay(clicks, Scripted()) is None:
        return math.inf
    law, worst = affine(lambda draws: replay(clicks, draws)), 0.0
    if law.kind == "gaussian":
        raise ValueError("policy must add Laplace noise, got Gaussian noise")
    for t, click in itertools.product(range(rounds), range(1, length + 2)):
        changed = [*clicks[:t], click, *clicks[t + 1 :]]
        if click != clicks[t]:
            centre = replay(changed, Scripted())
            worst = max(worst, math.inf if centre is None else shift_epsilon(law, centre, 0.0))
        if worst == math.inf:
            return worst
    last = affine(lambda draws: replay(changed, draws))  # the scales of the noise must not depend on the users
    return worst if np.allclose(last.matrix, law.matrix, rtol=1e-9, atol=0) else math.inf
