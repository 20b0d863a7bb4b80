"""The worst instance of a family for an oracle inside Algorithm 1, and the families that only the book needs.

A rate is a statement about the worst instance at each horizon. Some runs choose it, fresh runs measure the regret
there, so that the maximum over noisy values does not push the measured regret up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpregret.contextual import ContextualProblem, simulate
from dpregret.contextual.model import against_baseline
from dpregret.simulation.seeds import seed_sequence


class Runs(NamedTuple):
    """Repeated runs of Algorithm 1 on some instances: arrays (repetitions, instances)."""

    regret: np.ndarray
    covered: np.ndarray


class Worst(NamedTuple):
    """What `find` found.

    instance : the worst one
    regret : (measuring,), of the fresh runs on it
    finer : the instances of the second step
    runs, covered : how many runs there were, and how many had no invalid band
    """

    instance: Any
    regret: np.ndarray
    finer: Sequence[Any]
    runs: int
    covered: int

    @property
    def mean(self) -> float:
        """Mean regret on the worst instance."""
        return float(self.regret.mean())

    @property
    def se(self) -> float:
        """Standard error of that mean."""
        return float(self.regret.std(ddof=1) / math.sqrt(self.regret.size))


def play(
    make: Callable[[Any], ContextualProblem], instances: Sequence[Any], repetitions: int, *, seed, **arguments
) -> Runs:
    """Algorithm 1 on ``make(instance)`` for all instances; ``arguments`` are those of `simulate`, the oracle too."""
    problems = [make(instance) for instance in instances]
    found = simulate(problem=problems, replicates=repetitions, seed=seed, **arguments)
    return Runs(found.regret.values, found.covered.values)


def find(
    make: Callable[[Any], ContextualProblem],
    coarse: Sequence[Any],
    near: Callable[[Any], Sequence[Any]],
    *,
    choosing: int,
    measuring: int,
    seed,
    **arguments,
) -> Worst:
    """The instance with the largest regret of Algorithm 1: the worst of ``coarse``, then of those near it.

    Parameters
    ----------
    make : callable
        From an instance, such as r, to the problem.
    coarse : sequence
        Instances that are run once.
    near : callable
        From the worst of them to the instances among which ``choosing`` runs each choose.
    measuring : int
        Fresh runs, at least 2, on the chosen one.
    seed : int or SeedSequence
    **arguments
        Those of `dpregret.contextual.simulate`, the oracle too.
    """
    first = play(make, coarse, 1, seed=seed_sequence(seed, "coarse"), **arguments)
    finer = near(coarse[int(first.regret[0].argmax())])
    second = play(make, finer, choosing, seed=seed_sequence(seed, "fine"), **arguments)
    worst = finer[int(second.regret.mean(axis=0).argmax())]
    last = play(make, [worst], measuring, seed=seed_sequence(seed, "measure"), **arguments)
    covered = [runs.covered for runs in (first, second, last)]
    return Worst(
        worst, last.regret[:, 0], finer, sum(part.size for part in covered), int(sum(part.sum() for part in covered))
    )


def falling(least: float, *, per_octave: int = 1) -> np.ndarray:
    """1, 2^(-1/per_octave), ..., down to a power of two that is at least ``least`` in (0, 1]."""
    return 0.5 ** (np.arange(per_octave * math.floor(-math.log2(least)) + 1) / per_octave)


def around(r: float, *, per_octave: int) -> np.ndarray:
    """From r/2 to 2 r in steps of 2^(1/per_octave), cut at 1, increasing."""
    return np.unique(np.minimum(r * 2.0 ** (np.arange(-per_octave, per_octave + 1) / per_octave), 1.0))


def many_scales_problem(n_scales: int, r: float) -> ContextualProblem:
    """Features ``(e^-j sqrt(1 - r^2), +-r)``, j < n_scales, equally likely, against zero; theta* = (0, 1), gap r.

    The bins of the first layer share nothing. For gamma = e and r below the smallest scale each holds one scale, but
    for one that holds two: the norms are above e^-j.
    """
    first = np.exp(-np.arange(n_scales, dtype=float)) * math.sqrt(1 - r * r)
    vectors = np.stack([np.tile(first, 2), np.repeat([r, -r], n_scales)], axis=1)
    return against_baseline(vectors, np.full(2 * n_scales, 0.5 / n_scales), (0.0, 1.0), "null")


def many_scales(n_scales: Sequence[int], horizon: float) -> tuple[list, Callable]:
    """The instances (J, r) of `find` for `many_scales_problem`: the coarse ones, and those near one."""
    coarse = [(n, r) for n in n_scales for r in falling(64 / math.sqrt(horizon))[1:]]

    def near(instance):
        n, r = instance
        radii = np.minimum(r * 2.0 ** (np.arange(-3, 4) / 4), 0.5)
        return [(m, x) for m in n_scales if abs(m - n) <= 2 for x in radii]

    return coarse, near
