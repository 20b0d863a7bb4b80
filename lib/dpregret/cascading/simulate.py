"""Play a policy on a cascade or a semi-bandit and record its cumulative pseudo-regret."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import xarray as xr
from joblib import Parallel, delayed

from dpregret import _checks
from dpregret.cascading.combinatorial import CascadeReward, LinearReward, Oracle, SemiBanditProblem, TopK, bernoulli
from dpregret.cascading.learner import Learner, Policy
from dpregret.cascading.model import CascadeProblem
from dpregret.cascading.play import Cascade, Run
from dpregret.cascading.semibandit import SemiBandit
from dpregret.simulation.seeds import generator

BACKENDS = ("compiled", "reference")


def default_checkpoints(horizon: int, points: int = 200) -> np.ndarray:
    """At most ``points`` equally spaced rounds, the last of them the horizon."""
    return np.unique(np.linspace(0, horizon, min(points, horizon) + 1).round().astype(np.int64))[1:]


def geometric_checkpoints(horizon: int, points: int = 200) -> np.ndarray:
    """At most ``points`` geometrically spaced rounds from 1 to the horizon."""
    return np.unique(np.geomspace(1, horizon, points).round().astype(np.int64))


def plain_users(problem, target: float):
    """A function of a list and a generator: the list's expected regret, and how one user responds to it."""
    if isinstance(problem, SemiBanditProblem):
        return lambda arms, rng: (
            target - float(problem.reward(problem.means[arms])),
            problem.outcomes(problem.means[arms], rng),
        )
    best_unclicked = Cascade.of(problem.means, problem.list_length).best_unclicked

    def respond(items: np.ndarray, rng: np.random.Generator):
        unclicked = 1.0
        for item in items:
            unclicked *= 1.0 - problem.means[item]
        return unclicked - best_unclicked, problem.draw_click(items, rng)

    return respond


def compiled_users(problem, target: float):
    """The same users for the compiled loop."""
    if isinstance(problem, SemiBanditProblem):
        length = problem.list_length
        code = problem.reward.code  # type: ignore[attr-defined]
        return SemiBandit(np.array(problem.means), target, code, length, np.empty(length))
    return Cascade.of(problem.means, problem.list_length)


def checked_list(shown, size: tuple[int, int], t: int) -> np.ndarray:
    """The list of round t, refused unless it holds K distinct items of 0 to L - 1; ``size`` is (L, K)."""
    n_items, length = size
    try:
        items = np.asarray(shown)
    except ValueError:  # a ragged sequence
        items = np.empty(0)
    if items.shape == (length,) and items.dtype.kind in "iu":
        numbers = items.tolist()
        if min(numbers) >= 0 and max(numbers) < n_items and len(set(numbers)) == length:
            return items
    raise ValueError(f"recommend must return {length} distinct items of 0 to {n_items - 1}, got {shown!r} in round {t}")


def plain_regret(learner: Learner, respond, size, rng: np.random.Generator, rounds: np.ndarray) -> list[float]:
    """Play round by round: the plain version of the compiled loop, and the way in for any other learner."""
    asks = "rng" in signature(learner.recommend).parameters
    regret, t = [], 1
    for stop in rounds:
        total = 0.0
        while t <= stop:
            items = checked_list(learner.recommend(t, rng=rng) if asks else learner.recommend(t), size, t)
            loss, response = respond(items, rng)
            learner.update(items, learner.privatize(items, response, rng))
            total += loss
            t += 1
        regret.append(total)
    return regret


def _run(policy, backend, target, problem, horizon, rounds, rng):
    """The regret of one repetition between the checkpoints."""
    size = problem.means.size, problem.list_length
    compiled = backend == "compiled"
    if compiled:
        run = Run(policy.rule(*size, horizon), compiled_users(problem, target))
    else:
        run = policy.learner(*size, horizon)
    if getattr(policy, "initial_observation", False):
        run.initialise((rng.random(problem.means.size) < problem.means).astype(float))
    if compiled:
        return run.play(rng, 1, rounds)[0]
    return plain_regret(run, plain_users(problem, target), size, rng, rounds)


def repeat(run, policy, problem, *, horizon, replicates, seed, checkpoints, n_jobs) -> xr.DataArray:
    """The arguments of `simulate`, checked, and its result, from ``run(problem, horizon, rounds, rng)``.

    Items are renamed at random first, so that ties favour none.
    """
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

    def curve(rng: np.random.Generator) -> np.ndarray:
        renamed = problem.relabelled(rng.permutation(problem.means.size))
        return np.cumsum(run(renamed, horizon, rounds, rng))

    # threads: the kernels hold no lock while they run
    curves = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(curve)(generator(seed, "replicate", r)) for r in replicates
    )
    attrs: dict[str, Any] = {"policy": repr(policy), "problem": repr(problem)}
    for name in ("effective_epsilon", "value_epsilon"):
        attrs[name] = getattr(policy, name)(problem.list_length) if hasattr(policy, name) else math.nan
    return xr.DataArray(
        np.array(curves),
        dims=("replicate", "round"),
        coords={"replicate": replicates, "round": rounds},
        name="regret",
        attrs=attrs | {"horizon": horizon},
    )


def _compiles(policy, problem) -> bool:
    """Whether the compiled loop has this policy and the users of this problem."""
    if not hasattr(policy, "rule"):
        return False
    if isinstance(problem, CascadeProblem):
        return True
    known = isinstance(problem.reward, (LinearReward, CascadeReward)) and problem.outcomes is bernoulli
    return known and isinstance(getattr(policy, "oracle", TopK()), TopK)


def simulate(
    policy: Policy,
    problem: CascadeProblem | SemiBanditProblem,
    *,
    horizon: int,
    replicates: int | Sequence[int],
    seed: int | np.random.SeedSequence,
    checkpoints: Sequence[int] | None = None,
    n_jobs: int = 1,
    backend: str | None = None,
) -> xr.DataArray:
    r"""Cumulative pseudo-regret of a policy, on a cascade or on a semi-bandit.

    On a cascade it is :math:`\sum_{s \le t} f(A^*, \bar w) - f(A_s, \bar w)`; its expectation over lists is the regret
    R(T) of Section 3.1 of [Wang2021]_, with less variance than the realised one: given the list, the expectation over
    the user is taken exactly. On a semi-bandit it is :math:`\sum_{s\le t}(\alpha\beta\,\mathrm{opt}_u-r_u(S_s))` of
    Section 5.3, with alpha and beta those of ``policy.oracle`` (1 without one); the m initial rounds count.

    Parameters
    ----------
    policy : Policy
        One of the policies of this package, or one of your own: `dpregret.cascading.learner` shows one.
    problem : CascadeProblem or SemiBanditProblem
        The latter for policies with ``feedback = "outcomes"``.
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
        By default compiled where the policy has a rule, and on a semi-bandit where the oracle is `TopK`, the reward one
        of this package and the outcomes are Bernoulli. Both make the same draws and decisions.

    Returns
    -------
    xarray.DataArray
        Dims ``replicate`` and ``round``; attributes: policy, its effective and its value epsilon (nan where it states
        none), problem, horizon.

    Raises
    ------
    ValueError
        For bad arguments, and for a list that does not hold K distinct items of 0 to L - 1, with its round.
    """
    if isinstance(policy, type) or not (hasattr(policy, "learner") or hasattr(policy, "rule")):
        raise ValueError(f"policy must be a policy, an object with a method learner(...), got {policy!r}")
    if not isinstance(problem, (CascadeProblem, SemiBanditProblem)):
        raise ValueError(f"problem must be a CascadeProblem or a SemiBanditProblem, got {problem!r}")
    semibandit = isinstance(problem, SemiBanditProblem)
    if semibandit != (getattr(policy, "feedback", "click") == "outcomes"):
        users = "a CascadeProblem" if semibandit else "a SemiBanditProblem"
        raise ValueError(f"problem must be {users} for {policy!r}, got {problem!r}")
    compiles = _compiles(policy, problem)
    if backend is None:
        backend = "compiled" if compiles else "reference"
    _checks.choice("backend", backend, BACKENDS)
    if not (compiles if backend == "compiled" else hasattr(policy, "learner")):
        raise ValueError(f"backend must be one that there is for {policy!r} and {problem!r}, got {backend!r}")
    target = 0.0
    if isinstance(problem, SemiBanditProblem):
        oracle: Oracle = getattr(policy, "oracle", TopK())
        target = float(oracle.alpha * oracle.beta * problem.optimal_reward())
    settings = dict(horizon=horizon, replicates=replicates, seed=seed, checkpoints=checkpoints, n_jobs=n_jobs)
    return repeat(partial(_run, policy, backend, target), policy, problem, **settings)
