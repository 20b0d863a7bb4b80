"""Algorithm 1 of [Li2024] as its text has it, for one context and one action at a time, with what the theorems say.

It judges Lemma 7.1 and Theorem 3.2 on its own runs, and `dpregret.contextual.simulate`, which draws alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpregret import contextual
from dpregret.contextual.batch import Batch
from dpregret.contextual.elimination import epoch_lengths
from dpregret.simulation.seeds import generator
from evidence.contextual import bounds


class Trace(NamedTuple):
    """One run of the loop.

    regret : expected regret of the run
    rates : E(n_tau) of each epoch but the last, the largest mean width of an action under the law of its records
    lemma : largest gap over twice the width of the action plus that of the best one, over epochs, contexts and
    surviving actions (Lemma 7.1: at most 1)
    lost : how often the best action was not among the surviving ones
    valid : whether every band held
    sets : the surviving actions of each context in the last epoch
    """

    regret: float
    rates: list[float]
    lemma: float
    lost: int
    valid: bool
    sets: list[list[int]]


def survivors(x: int, n_actions: int, bands: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[int]:
    """A_tau(x): the nested sets of Algorithm 1 from the bands of all epochs so far, values and widths (X, A)."""
    alive = list(range(n_actions))
    for value, width in bands:
        best = max(value[x, b] - width[x, b] for b in alive)
        alive = [a for a in alive if value[x, a] + width[x, a] >= best]
    return alive


def algorithm_1(
    oracle: contextual.Oracle, problem: contextual.ContextualProblem, lengths: Sequence[int], *, delta: float, rng
) -> Trace:
    """The loop, over epochs of ``lengths`` users."""
    n_contexts, n_actions = problem.n_contexts, problem.n_actions
    law, gaps = problem.context_probabilities, problem.gaps
    features, label = problem.features.reshape(-1, problem.dimension), np.tile(np.arange(n_actions), n_contexts)
    bands, rates, regret, lemma, lost, valid = [], [], 0.0, 0.0, 0, True
    for tau, users in enumerate(lengths):
        sets = [survivors(x, n_actions, bands) for x in range(n_contexts)]
        policy = np.zeros((n_contexts, n_actions))
        for x, alive in enumerate(sets):
            policy[x, alive] = law[x] / len(alive)
            regret += users * law[x] * np.mean([gaps[x, a] for a in alive])
            best = int(gaps[x].argmin())
            lost += best not in alive
            if bands:
                lemma = max(lemma, _lemma_7_1(gaps[x], bands[-1][1][x], alive, best))
        if tau + 1 < len(lengths):
            horizon = float(sum(lengths))
            batch = Batch(features, label, policy.ravel(), problem.mean_rewards.ravel(), users, horizon=horizon)
            estimate = oracle.fit(batch, delta=delta, rng=rng)
            valid &= bool(estimate.holds(batch).all())
            bands.append([part.reshape(n_contexts, n_actions) for part in (estimate.values, estimate.widths)])
            rates.append(float((policy * bands[-1][1]).sum(axis=0).max()))
    return Trace(float(regret), rates, lemma, lost, valid, sets)


def _lemma_7_1(gaps: np.ndarray, widths: np.ndarray, alive: Sequence[int], best: int) -> float:
    """Largest ratio of a surviving action's gap to twice the two widths, in one context; 0 for a gap of 0."""
    return max((gaps[a] / (2 * (widths[a] + widths[best])) for a in alive if a != best and gaps[a] > 0), default=0.0)


class Comparison(NamedTuple):
    """A run of the loop beside the library's, and the explicit bound of Theorem 3.2 with the run's own widths.

    ``agree``: same regret (to 1e-9) and same surviving actions. ``printed`` leaves out the factor 2 that (26) drops.
    """

    regret: float
    printed: float
    corrected: float
    lemma: float
    lost: int
    valid: bool
    agree: bool


def compare(oracle: contextual.Oracle, problem: contextual.ContextualProblem, *, horizon: int, seed) -> Comparison:
    """The loop and the library on one problem, with the same random numbers and epochs from about sqrt(T) users on."""
    n_0 = math.isqrt(horizon) // 2
    lengths = epoch_lengths(horizon, n_0)
    delta, rng = float(horizon) ** -2, generator(seed, "elimination")
    mine = algorithm_1(oracle, problem, lengths, delta=delta, rng=rng)
    theirs = contextual.simulate(oracle, problem, horizon=horizon, seed=seed, n_0=n_0)[{"replicate": 0}]
    same_sets = [np.flatnonzero(row).tolist() for row in theirs.left] == mine.sets
    printed, corrected = (
        bounds.theorem_3_2(lengths, [*mine.rates, 1.0], problem.n_actions, version=version)
        for version in ("printed", "corrected")
    )
    agree = math.isclose(mine.regret, float(theirs.regret), rel_tol=1e-9) and same_sets
    return Comparison(mine.regret, printed, corrected, mine.lemma, mine.lost, mine.valid, agree)


def random_problem(rng: np.random.Generator) -> contextual.ContextualProblem:
    """Features of very different lengths; two to six contexts, two to four actions, two or three dimensions."""
    n_contexts, n_actions, d = rng.integers(2, 7), rng.integers(2, 5), rng.integers(2, 4)
    features = rng.standard_normal((n_contexts, n_actions, d)) * 10.0 ** -rng.uniform(0, 2, d)
    features /= np.maximum(1.0, np.linalg.norm(features, axis=2, keepdims=True))
    parameter = rng.standard_normal(d)
    law = rng.dirichlet(np.ones(n_contexts))
    return contextual.ContextualProblem(features, law, parameter / np.linalg.norm(parameter))
