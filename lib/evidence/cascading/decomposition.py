"""Lemma 5, the decomposition of a round's regret, against sums over every weight vector of random instances."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpregret.cascading import CascadeProblem
from evidence import report
from evidence.cascading.lemmas import lemma_5_sides, match_optimal_items

ROUNDING = 1e-12


def random_instance(rng: np.random.Generator) -> tuple[CascadeProblem, np.ndarray]:
    """A problem with 2 to 6 items, uniform means and lists of up to 3, and a random list of its items."""
    size = int(rng.integers(2, 7))
    problem = CascadeProblem(rng.random(size), int(rng.integers(1, min(3, size - 1) + 1)))
    return problem, rng.permutation(size)[: problem.list_length]


def enumerated_sides(problem: CascadeProblem, items: np.ndarray) -> tuple[float, float, float]:
    """Lower side, regret and upper side of Lemma 5, summed over all 2^L weight vectors."""
    weights = np.array(list(itertools.product((0, 1), repeat=problem.n_items)))
    law = np.prod(np.where(weights == 1, problem.means, 1 - problem.means), axis=1)
    match = match_optimal_items(problem, items)
    shown = weights[:, items]
    regret = law @ (weights[:, problem.optimal_items].max(axis=1) - shown.max(axis=1))
    examined = law @ np.column_stack([shown[:, :k].sum(axis=1) == 0 for k in range(problem.list_length)])
    upper = examined @ (problem.means[match] - problem.means[items])
    return (1 - problem.means.max()) ** (problem.list_length - 1) * upper, regret, upper


class Slack(NamedTuple):
    """The two differences of Lemma 5 by enumeration, and how far the closed forms are from the enumeration."""

    below: float  # regret minus lower side
    above: float  # upper side minus regret
    difference: float


def slack(problem: CascadeProblem, items: np.ndarray) -> Slack:
    """Lemma 5 on one list of one instance."""
    lower, regret, upper = sides = enumerated_sides(problem, items)
    difference = float(np.abs(np.subtract(sides, lemma_5_sides(problem, items))).max())
    return Slack(regret - lower, upper - regret, difference)


def judge_lemma_5(found: Sequence[Slack]) -> report.Card:
    """The card of Lemma 5 from many instances."""
    below, above, _ = np.min(found, axis=0)
    agrees = max(one.difference for one in found) <= ROUNDING
    return report.verdict(
        "cascading/lemma-5",
        report.holds_if(min(below, above) >= -ROUNDING and agrees),
        evidence="proof",
        check="both sides, by exact enumeration over random instances",
        observed=f"{len(found)} instances: regret minus lower side {'≥' if below >= -ROUNDING else '<'} -1e-12, upper "
        f"side minus regret {'≥' if above >= -ROUNDING else '<'} -1e-12",
        required="both differences are non-negative (1e-12: rounding)",
        margin=f"the library's closed forms agree with the enumeration within 1e-12: {agrees}",
    )
