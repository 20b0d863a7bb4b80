"""What the notebook ``regret`` finds about O4 to O10 and O12: the results by name, adversaries, the forms of a bound.

Verdicts on them are in `regret_verdicts`, figures in `regret_figures`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import xarray as xr

from dpregret import experts
from dpregret.experts import calibration
from evidence import report
from evidence.experts import bounds, fixed_losses, minimax


class OneRight(NamedTuple):
    """Regret where one expert is always right, as a share of a bound.

    Attributes
    ----------
    printed, sharper : float
        At a small learning rate: of the text's bound, and of the one with eta/8.
    best : float
        At ``sqrt(ln k / T)``: of the text's bound ``2 sqrt(ln k / T)``.
    """

    printed: float
    sharper: float
    best: float


class WorstCase(NamedTuple):
    """The exact worst regret of two experts as a share of the text's bound, and of the one with eta/8."""

    eta: float
    printed: float
    sharper: float


class Game(NamedTuple):
    """Measured: mean regret of an adversary's runs, its standard error; the largest share of ``bound`` of one run.

    That share is of ``(sum_t mu_t - min_j sum_t l_t(j)) / T``, which no adversary may lift above the bound.
    """

    n_experts: int
    adversary: str
    mean: float
    se: float
    largest_share: float
    bound: float

    def __str__(self) -> str:
        return (
            f"k = {self.n_experts:<3d} {self.adversary:24s} mean regret {report.approx(self.mean, self.se)}, "
            f"bound {self.bound:.6f}"
        )


class AtBest(NamedTuple):
    """Two experts at ``sqrt(8 ln 2 / T)``: exact worst regret, the text's bound, the bound with eta/8."""

    horizon: int
    worst: float
    printed: float
    sharper: float


class Tail(NamedTuple):
    """The largest probability that the regret exceeds the tail bound: the text's, and the one with eta/8."""

    printed: float
    sharper: float

    def __str__(self) -> str:
        return f"{self.printed:.3e} (text), {self.sharper:.3e} (eta/8)"


class Forms(NamedTuple):
    """How the forms of the private bound agree over many settings.

    Attributes
    ----------
    same_limit : bool
        The first cap is the smallest exactly up to `bounds.first_cap_limit`.
    capped, first_cap : float
        Largest relative difference of the capped form from O6, and of the special form from the capped one.
    """

    cases: int
    same_limit: bool
    capped: float
    first_cap: float


class PrivateTail(NamedTuple):
    """The private tail bound at one epsilon, and the probability of exceeding it: as printed, with eta/8."""

    epsilon: float
    bound: float
    printed: float
    sharper: float

    def __str__(self) -> str:
        return (
            f"epsilon = {self.epsilon:<4g} capped bound {self.bound:.6f}, exceeded with probability "
            f"{self.printed:.3e}; with eta/8 {self.sharper:.3e}"
        )


def at_best(horizon: int) -> AtBest:
    """The exact worst case and the two bounds at the best learning rate of two experts."""
    eta = bounds.best_eta(n_experts=2, horizon=horizon, version="sharper")
    of = [bounds.total(eta=eta, n_experts=2, horizon=horizon, version=version) for version in bounds.VERSIONS]
    return AtBest(horizon, minimax.worst_regret(eta, horizon), *of)


def fixed_tail(n_experts: int, horizon: int, eta: float, beta: float) -> Tail:
    """The largest exceedances over four sequences: two experts lose in turn, for all, most or none of the rounds."""
    sequences = [fixed_losses.in_turn(horizon, n_experts, steady=rounds) for rounds in steady_rounds(horizon)]
    return Tail(*np.max([fixed_losses.tail_exceedances(losses, eta, beta) for losses in sequences], axis=0).tolist())


def steady_rounds(horizon: int) -> tuple[int, int, int, int]:
    """How many rounds of a sequence one expert is always right in."""
    return 0, horizon // 20, horizon // 4, horizon


def seeing_tail(horizon: int, eta: float, beta: float) -> Tail:
    """The largest exceedances over all adversaries of two experts that see the actions, binary losses."""
    levels = [
        bounds.total(eta=eta, n_experts=2, horizon=horizon, version=version, beta=beta) for version in bounds.VERSIONS
    ]
    return Tail(*(minimax.worst_tail(eta=eta, horizon=horizon, threshold=level * horizon) for level in levels))


def private_tail(epsilon: float, delta: float, horizon: int, beta: float) -> PrivateTail:
    """The capped bound of two experts, and how often four sequences exceed it; the second time with eta/8 for eta."""
    target = {"epsilon": epsilon, "delta": delta, "horizon": horizon}
    eta = calibration.exponential_weights_eta(**target, method="text")
    level = sum(bounds.capped_terms(**target, n_experts=2, beta=beta).values())
    sequences = [fixed_losses.in_turn(horizon, steady=rounds) for rounds in steady_rounds(horizon)]
    printed, sharper = (
        max(fixed_losses.exceedance(losses, eta, c) for losses in sequences) for c in (level, level - eta * 7 / 8)
    )
    return PrivateTail(epsilon, level, printed, sharper)


def six_adversaries(n_experts: int, horizon: int, rng: np.random.Generator) -> dict[str, object]:
    """Adversaries of several kinds; the uniform losses are drawn here."""
    k = n_experts
    return {
        "leader punished": experts.LeaderPunishing(),
        "last action punished": experts.LastActionPunishing(),
        "most played punished": most_played_punished(k),
        "Bernoulli, one better": experts.BernoulliExperts([0.4] + [0.5] * (k - 1)),
        "uniform losses, fixed": experts.ObliviousLosses(rng.random((horizon, k))),
        "one expert always right": experts.ObliviousLosses(1 - np.eye(k)[:1], cycle=True),
    }


def most_played_punished(n_experts: int) -> Callable[[int, np.ndarray], np.ndarray]:
    """An adversary that sees actions: loss 1 on the action played most often so far."""

    def losses(_: int, actions: np.ndarray) -> np.ndarray:
        row = np.zeros(n_experts)
        row[np.bincount(actions, minlength=n_experts).argmax()] = 1.0
        return row

    return losses


def measured(name: str, n_experts: int, game: xr.Dataset, bound: float) -> Game:
    """What the runs of `experts.simulate` give, beside a bound on the mean."""
    mean, se = report.mean_se(game["regret"].isel(round=-1))
    return Game(n_experts, name, float(mean), float(se), float(game["mean_loss_regret"].max()) / bound, bound)


def compare_forms(*, n_experts: int, beta: float) -> Forms:
    """O8 and O9: the capped form is O6 at the text's rate, and the special form is the capped one where it is said."""
    same_limit, capped, first_cap, cases = True, 0.0, 0.0, 0
    for t, delta in itertools.product((1, 3, 10, 100, 1000, 10**6), (0.5, 1e-2, 1e-6, 1e-12)):
        limit = bounds.first_cap_limit(delta=delta, horizon=t)
        for e in [*np.geomspace(1e-3, 1e5, 33).tolist(), limit * (1 - 1e-9), limit * (1 + 1e-9)]:
            first, *others = calibration.text_caps(epsilon=e, delta=delta, horizon=t)
            same_limit &= (first <= min(others)) == (e <= limit)
            options = {"epsilon": e, "delta": delta, "n_experts": n_experts, "horizon": t, "beta": beta}
            whole = sum(bounds.capped_terms(**options).values())
            direct = bounds.total(eta=min(first, *others), n_experts=n_experts, horizon=t, beta=beta)
            capped = max(capped, abs(whole / direct - 1))
            if e <= limit:
                first_cap = max(first_cap, abs(sum(bounds.first_cap_terms(**options).values()) / whole - 1))
            cases += 1
    return Forms(cases, same_limit, capped, first_cap)
