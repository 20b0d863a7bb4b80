"""Play a policy on a cascade problem and record its cumulative pseudo-regret."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import xarray as xr
from joblib import Parallel, delayed

from dpregret import _checks
from dpregret.cascading.model import CascadeProblem
from dpregret.simulation.seeds import generator

BACKENDS = ("compiled", "reference")


def default_checkpoints(horizon: int, points: int = 200) -> np.ndarray:
    """At most ``points`` equally spaced rounds, the last of them the horizon."""
    return np.unique(np.linspace(0, horizon, min(points, horizon) + 1).round().astype(np.int64))[1:]


def geometric_checkpoints(horizon: int, points: int = 200) -> np.ndarray:
    """At most ``points`` geometrically spaced rounds from 1 to the horizon."""
    return np.unique(np.geomspace(1, horizon, points).round().astype(np.int64))


class ReferenceKernel:
    """Drive a learner round by round: the plain version of a compiled kernel, and the way in for any other learner."""

    def __init__(self, learner, problem: CascadeProblem) -> None:
        self.learner = learner
        self.problem = problem
        self.initialise = learner.initialise
        self.best_unclicked = 1.0
        for mean in np.sort(problem.means)[::-1][: problem.list_length]:
            self.best_unclicked *= 1.0 - mean

    def advance(self, rng: np.random.Generator, start: int, stop: int) -> float:
        regret = 0.0
        for t in range(start, stop):
            items = self.learner.recommend(t)
            unclicked = 1.0
            for item in items:
                unclicked *= 1.0 - self.problem.means[item]
            regret += unclicked - self.best_unclicked
            message = self.learner.privatize(items, self.problem.draw_click(items, rng), rng)
            self.learner.update(items, message)
        return regret


def _run(policy, problem, horizon, backend, rng, checkpoints) -> np.ndarray:
    """One repetition. Items are renamed at random first, so that ties favour no item."""
    shuffled = problem.relabelled(rng.permutation(problem.n_items))
    if backend == "compiled":
        kernel = policy.kernel(shuffled.means, problem.list_length, horizon)
    else:
        kernel = ReferenceKernel(policy.learner(problem.n_items, problem.list_length, horizon), shuffled)
    if getattr(policy, "initial_observation", False):
        kernel.initialise((rng.random(problem.n_items) < shuffled.means).astype(float))
    return cumulative_regret(kernel, rng, checkpoints)


def cumulative_regret(kernel, rng: np.random.Generator, checkpoints: np.ndarray) -> np.ndarray:
    """Play one run; one call of ``kernel.advance`` a checkpoint, so that an interrupt is heard between two of them."""
    starts = np.concatenate(([0], checkpoints[:-1])) + 1
    return np.cumsum([kernel.advance(rng, int(a), int(b) + 1) for a, b in zip(starts, checkpoints, strict=True)])


def repeat(run, *, horizon, replicates, seed, checkpoints, n_jobs, attrs) -> xr.DataArray:
    """``run(rng, rounds)`` for every repetition; the arguments of `simulate`, checked, and its result."""
    horizon = _checks.integer("horizon", horizon, at_least=1)
    if np.ndim(replicates) == 0:
        replicates = range(_checks.integer("replicates", replicates, at_least=1))
    replicates = [_checks.integer("replicates", r, at_least=0) for r in replicates]
    if not replicates:
        raise ValueError("replicates must name at least one repetition, got an empty sequence")
    if checkpoints is None:
        rounds = default_checkpoints(horizon)
    else:
        rounds = np.array([_checks.integer("checkpoints", c, at_least=1, at_most=horizon) for c in checkpoints])
        if rounds.size == 0 or (np.diff(rounds) <= 0).any():
            raise ValueError(f"checkpoints must be a strictly increasing sequence of rounds, got {checkpoints!r}")
    n_jobs = _checks.integer("n_jobs", n_jobs, at_least=-1)
    # threads: the kernels hold no lock while they run
    curves = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(run)(generator(seed, "replicate", r), rounds) for r in replicates
    )
    return xr.DataArray(
        np.array(curves),
        dims=("replicate", "round"),
        coords={"replicate": replicates, "round": rounds},
        name="regret",
        attrs=attrs | {"horizon": horizon},
    )


def simulate(
    policy,
    problem: CascadeProblem,
    *,
    horizon: int,
    replicates: int | Sequence[int],
    seed: int | np.random.SeedSequence,
    checkpoints: Sequence[int] | None = None,
    n_jobs: int = 1,
    backend: str | None = None,
) -> xr.DataArray:
    r"""Cumulative pseudo-regret :math:`\sum_{s \le t} f(A^*, \bar w) - f(A_s, \bar w)` of a policy.

    Its expectation over lists is the regret R(T) of Section 3.1 of [Wang2021]_, with less variance than the realised
    one: given the list, the expectation over the user is taken exactly.

    Parameters
    ----------
    policy
        One of the policies of this package, or any object with ``learner(n_items, list_length, horizon)`` that gives a
        :class:`~dpregret.cascading.learner.Learner`.
    problem : CascadeProblem
    horizon : int
        T >= 1, the number of rounds.
    replicates : int or sequence of int
        How many repetitions, or which ones: repetition 3 has the same numbers in any selection.
    seed : int or SeedSequence
        Root of the repetitions' seeds.
    checkpoints : increasing sequence of int, optional
        Rounds at which the regret is kept, within 1..horizon; 200 equally spaced ones by default.
    n_jobs : int
        Worker threads; results do not depend on it.
    backend : {"compiled", "reference"}, optional
        By default compiled where the policy has a kernel. Both make the same draws and decisions.

    Returns
    -------
    xarray.DataArray
        Dims ``replicate`` and ``round``; attributes: policy, its effective and its value epsilon, problem, horizon.
    """
    if not (hasattr(policy, "learner") or hasattr(policy, "kernel")):
        raise ValueError(f"policy must be a policy, an object with a method learner(...), got {policy!r}")
    if not isinstance(problem, CascadeProblem):
        raise ValueError(f"problem must be a CascadeProblem, got {problem!r}")
    horizon = _checks.integer("horizon", horizon, at_least=1)
    if backend is None:
        backend = "compiled" if hasattr(policy, "kernel") else "reference"
    _checks.choice("backend", backend, BACKENDS)
    if not hasattr(policy, "kernel" if backend == "compiled" else "learner"):
        raise ValueError(f"backend must be one that {type(policy).__name__} has, got {backend!r}")
    attrs = {"policy": repr(policy), "problem": repr(problem)}
    for name in ("effective_epsilon", "value_epsilon"):
        if hasattr(policy, name):
            attrs[name] = getattr(policy, name)(problem.list_length)
    return repeat(
        partial(_run, policy, problem, horizon, backend),
        horizon=horizon,
        replicates=replicates,
        seed=seed,
        checkpoints=checkpoints,
        n_jobs=n_jobs,
        attrs=attrs,
    )
