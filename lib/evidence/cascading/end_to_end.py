"""The epsilon that the lists alone reveal on a small instance: certified from runs, exact where messages are finite.

Two databases differ in the user of one round: attracted by everything or by nothing. Every sequence of lists, and every
beginning of one, is an event.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpregret.privacy.audit import epsilon_lower_bound, exact_epsilon
from dpregret.simulation import generator
from evidence import report
from evidence.cascading.list_sequences import list_sequences


class Instance(NamedTuple):
    """L items, lists of two, T rounds; ``pairs`` are (weights of the other users, round of the user who differs)."""

    items: int
    rounds: int
    pairs: Sequence[tuple[int, int]]

    @property
    def sequences(self) -> int:
        """All conceivable sequences of lists and their beginnings."""
        return sum((self.items * (self.items - 1)) ** k for k in range(1, self.rounds + 1))

    def database(self, others: float, round: int, user: float) -> np.ndarray:
        """Weights, shape (rounds, items): all users have ``others`` for every item, the one of a round has ``user``."""
        weights = np.full((self.rounds, self.items), float(others))
        weights[round - 1] = user
        return weights


class Audit(NamedTuple):
    """One policy: the claimed epsilon, the certified one, the exact one (None if messages are not finite)."""

    claimed: float
    certified: float
    exact: float | None
    met: int  # full sequences met on the pair of databases that has most


def certified(
    policy: Any, instance: Instance, others: int, round: int, *, runs: int, confidence: float, rng: np.random.Generator
) -> tuple[float, int]:
    """The largest certified epsilon over all sequences and beginnings, and how many full sequences were met.

    Clopper-Pearson limits, corrected for all events in both directions and all pairs of databases.
    """
    shown = [
        list_sequences(policy, instance.database(others, round, user), list_length=2, runs=runs, rng=rng)
        for user in (1, 0)
    ]
    lists = np.concatenate(shown) @ [instance.items, 1]
    n_events = 2 * len(instance.pairs) * instance.sequences
    code, best = np.zeros(len(lists), dtype=np.int64), 0.0
    for k in range(instance.rounds):
        met, code = np.unique(code * instance.items**2 + lists[:, k], return_inverse=True)
        hits = [np.bincount(code[:runs], minlength=met.size), np.bincount(code[runs:], minlength=met.size)]
        for p, q in (hits, hits[::-1]):
            found = epsilon_lower_bound(p, runs, q, runs, confidence=confidence, n_events=n_events)
            best = max(best, float(found.max()))
    return best, met.size


def courses(policy: Any, instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    """All courses of messages, shape (courses, rounds - 1), and the lists they lead to, (courses, rounds, 2).

    The lists depend on the users through the messages alone.
    """
    alphabet = policy.channel(2).shape[1]
    lowest = 0 if alphabet == 2 else 1
    reports = np.array(list(itertools.product(range(alphabet), repeat=instance.rounds - 1)))
    lists = np.empty((len(reports), instance.rounds, 2), dtype=np.int64)
    for path, course in zip(lists, reports, strict=True):
        learner = policy.learner(instance.items, 2, instance.rounds)
        for t in range(1, instance.rounds + 1):
            path[t - 1] = learner.recommend(t)
            if t < instance.rounds:
                learner.update(path[t - 1], np.array([course[t - 1] + lowest]))
    return reports, lists


def exact_lists(
    policy: Any, instance: Instance, found: tuple[np.ndarray, np.ndarray], others: int, round: int
) -> float:
    """The exact epsilon of the lists for one pair of databases, summed over all `courses` of messages."""
    reports, lists = found
    channel, laws = policy.channel(2), []
    group = np.unique(lists.reshape(len(lists), -1), axis=0, return_inverse=True)[1].ravel()
    for user in (1, 0):
        probability = np.ones(len(reports))
        for t, weights in enumerate(instance.database(others, round, user)[:-1]):
            attracted = weights[lists[:, t]] == 1
            click = np.where(attracted.any(axis=1), attracted.argmax(axis=1), 2)
            probability *= channel[click, reports[:, t]]
        law = np.bincount(group, weights=probability)
        laws.append(law / law.sum())  # 1 up to rounding
    return exact_epsilon(*laws)


def audit(
    policies: Mapping[str, Any], instance: Instance, *, runs: int, confidence: float, seed: int
) -> dict[str, Audit]:
    """`Audit` of every policy, seeded by its name."""
    found = {}
    for name, policy in policies.items():
        rng = generator(seed, "audit", name)
        lower = [
            certified(policy, instance, *pair, runs=runs, confidence=confidence, rng=rng) for pair in instance.pairs
        ]
        exact = None
        if hasattr(policy, "channel"):
            all_courses = courses(policy, instance)
            exact = max(exact_lists(policy, instance, all_courses, *pair) for pair in instance.pairs)
        best, met = (max(column) for column in zip(*lower, strict=True))
        found[name] = Audit(policy.effective_epsilon(2), best, exact, met)
    return found


def table(found: Mapping[str, Audit]):
    """The audits as a table of the notebook."""
    return report.table(
        ["policy", "claimed ε", "certified from lists", "exact, from lists", "sequences met"],
        [
            [
                name,
                f"{one.claimed:g}",
                report.approx(one.certified),
                "not finite" if one.exact is None else f"{one.exact:.6f}",
                f"≈ {one.met}",
            ]
            for name, one in found.items()
        ],
    )


def judge(claim: str, found: Mapping[str, Audit], instance: Instance, *, runs: int, confidence: float) -> report.Card:
    """The card of one claim of privacy: no certified epsilon is above the claimed one."""
    return report.verdict(
        claim,
        report.holds_if(all(one.certified <= one.claimed for one in found.values())),
        evidence="confidence",
        level=f"{confidence:.0%}, all events and pairs together",
        check=f"end to end, L = {instance.items}, K = 2, T = {instance.rounds}: {instance.sequences} sequences of "
        f"lists and beginnings, {runs} runs a database",
        observed="certified ε " + ", ".join(f"{name}: {report.approx(one.certified)}" for name, one in found.items()),
        required="at most " + ", ".join(f"{one.claimed:g}" for one in found.values()),
        margin="no violation certified",
    )
