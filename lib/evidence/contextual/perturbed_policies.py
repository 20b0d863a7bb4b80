r"""Bandit policies on perturbed data: what two of them lose on the hard pairs, and what is proved of all of them.

Perturbed inputs are phi and y with Laplace noise of scale 1/alpha, perturbed statistics y phi with Laplace noise of a
fixed scale. Arm 0 is known; arm 1 has the pair's feature, whose sign x = +-1 is fair. Sums over users are drawn in one
step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dpregret.simulation import sums
from dpregret.simulation.seeds import generator
from evidence.report import enclosure


class Played(NamedTuple):
    """Repetitions of a policy: regret (size,), and whether it went by the wrong sign at the end (size,)."""

    regret: np.ndarray
    wrong: np.ndarray


class Worst(NamedTuple):
    """The largest mean regret over the instances at each horizon, and its standard error: arrays (horizon,).

    ``wrong`` counts the repetitions, of all instances and horizons, that went by the wrong sign at the end.
    """

    mean: np.ndarray
    se: np.ndarray
    wrong: int


def context_filter(horizon: float, gap: float, *, alpha: float, size: int, rng: np.random.Generator) -> Played:
    """Algorithm "context filtering" on perturbed inputs, phi = (1/2, x m), theta = (1/2, 1/2), gap = m/2 <= 1/2.

    In blocks that double, arm 1 is played at x = 1 alone and then at x = -1 alone; once the means of the perturbed
    rewards, of mean 1/4 +- gap/2 and in {-1, 1} before the noise, differ by twice the width, their order decides.
    """
    level = 3 * np.log(horizon)
    played, regret, n = 0.0, np.zeros(size), 1.0
    undecided, wrong = np.ones(size, bool), np.zeros(size, bool)
    while played < horizon and undecided.any():
        halves = []
        for sign in (1, -1):
            users = min(n, horizon - played)
            played += users
            regret += undecided * (sign < 0) * users * gap
            if users:
                reward = sums.signed_sum(rng, users, 0.25 + sign * gap / 2, size=size)
                halves.append((reward + sums.laplace_sum(rng, users, 1 / alpha, size=size)) / users)
        if played < horizon:
            width = 2 * (np.sqrt(2 * level / n) + (2 * np.sqrt(level / n) + level / n) / alpha)
            difference = halves[0] - halves[1]
            stop = undecided & (np.abs(difference) >= 2 * width)
            regret += stop * (difference < 0) * (horizon - played) * gap
            wrong |= stop & (difference < 0)
            undecided &= ~stop
        n *= 2
    return Played(regret, wrong)


def context_filter_bound(horizon: np.ndarray, alpha: float) -> np.ndarray:
    """What the theorem on context filtering says of its mean regret, for every m."""
    log = np.log(horizon)
    return 24 * ((np.sqrt(2) + 2 / alpha) * np.sqrt(1.5 * horizon * log) + 3 * log / alpha) + 3


def follow_the_sign(horizon: float, m: float, *, scale: float, size: int, rng: np.random.Generator) -> Played:
    """The policy "follow the sign" on perturbed statistics, phi = (0, x m) and theta = (0, 1).

    After each block, as long as all before, arm 1 is played where it is better under the sign of the sum so far.
    """
    total = sums.laplace_sum(rng, 1, scale, size=size) + m**2  # one round of arm 1
    played, regret = 1.0, np.full(size, m)
    while played < horizon:
        users = min(played, horizon - played)
        regret += (total < 0) * users * m
        shown = sums.binomial(rng, users, 0.5, size=size)  # rounds of arm 1, one context
        total += shown * m**2 + sums.laplace_sum(rng, users, scale, size=size)
        played += users
    return Played(regret, total < 0)


def worst(
    play: Callable[[float, float, np.random.Generator], Played],
    horizons: Iterable[float],
    instances: Sequence[float],
    *,
    seed: int,
    name: str,
) -> Worst:
    """The instance of largest mean regret at each horizon T: ``play(T, c, rng)`` for all c in ``instances``.

    The generator is that of ``seed``, the experiment's ``name``, T and the number of the instance.
    """
    runs = [[play(T, c, generator(seed, name, T, index)) for index, c in enumerate(instances)] for T in horizons]
    regret = np.array([[run.regret for run in row] for row in runs])
    mean, se = regret.mean(axis=2), regret.std(axis=2, ddof=1) / math.sqrt(regret.shape[2])
    at = np.arange(len(regret)), mean.argmax(axis=1)
    return Worst(mean[at], se[at], sum(int(run.wrong.sum()) for row in runs for run in row))


def cutting_planes_bound(exponent: int) -> tuple[Any, Any]:
    """The proved bound on the regret of cutting planes on perturbed inputs at T = 10^exponent, and T, in balls.

    For every instance with d = 2, alpha = 1; it is of order sqrt(T) ln T.
    """
    d, T = 2, enclosure.ball(10) ** enclosure.ball(exponent)
    b = 2 * (enclosure.ball(d).sqrt() + 1)
    level = ((8 + 2 * d) * T**2).log()
    nu = level * (enclosure.ball("1.42") + enclosure.ball("3.83") * b) ** 2
    loops = (d + 1) * (8 * (d * T).sqrt()).log() / enclosure.ball(2).log()
    return 80 * enclosure.ball(d) ** enclosure.ball(Fraction(5, 2)) * (nu * loops * T).sqrt() + 2, T


class Crossing(NamedTuple):
    """Where `cutting_planes_bound` crosses 2 T and T^(2/3), as least exponents, and what it is of two orders.

    shares, logs : from an exponent to the bound over T^(2/3) and over sqrt(T) ln T, as text of six certain digits
    below : whether all shares are certainly below 1
    """

    nontrivial_from: int
    below_from: int
    shares: dict[int, str]
    logs: dict[int, str]
    below: bool


def cutting_planes_crossing(searched: Iterable[int], shown: Iterable[int]) -> Crossing:
    """From exponents among which the crossings are searched, in increasing order, and others that are shown."""
    with enclosure.precision(40):
        third = enclosure.ball(Fraction(2, 3))
        bounds = {e: cutting_planes_bound(e) for e in searched}
        nontrivial = [e for e, (bound, T) in bounds.items() if enclosure.proves(bound < 2 * T)]
        below = [e for e, (bound, T) in bounds.items() if enclosure.proves(bound < T**third)]
        bounds = {e: cutting_planes_bound(e) for e in shown}
        shares = {e: bound / T**third for e, (bound, T) in bounds.items()}
        logs = {e: bound / (T.sqrt() * T.log()) for e, (bound, T) in bounds.items()}
        return Crossing(
            nontrivial[0],
            below[0],
            {e: enclosure.show(share, 6) for e, share in shares.items()},
            {e: enclosure.show(log, 6) for e, log in logs.items()},
            all(enclosure.proves(share < 1) for share in shares.values()),
        )
