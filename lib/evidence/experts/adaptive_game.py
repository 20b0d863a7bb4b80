"""Adaptive adversaries against the supremum over fixed losses: an explicit one exactly, the strongest ones found."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dpregret.experts import ExponentialWeights
from dpregret.privacy import composition
from evidence import report
from evidence.experts import accounting, transcripts
from evidence.experts.audit import drawn_transcript
from evidence.report import enclosure

ROUNDS, ETA = 5, math.log(2)
"""Of the explicit game; epsilon is 0."""


def rational_law(world: int) -> dict[tuple[int, ...], Fraction]:
    """The law of the transcript of the explicit game, in fractions: weights are powers of 1/2.

    In round 1 expert ``1 - world`` loses, in round 3 the expert that was not played in round 2.
    """
    law = {}
    for actions in itertools.product((0, 1), repeat=ROUNDS):
        sums, probability = [0, 0], Fraction(1)
        for t, action in enumerate(actions, start=1):
            weights = [Fraction(1, 2**total) for total in sums]
            probability *= weights[action] / sum(weights)
            if t == 1:
                sums[1 - world] += 1
            elif t == 3:
                sums[1 - actions[1]] += 1
        law[actions] = probability
    return law


def reward_the_last(world: int) -> Callable[[tuple[int, ...]], list[float]]:
    """The same adversary, for a learner of the library."""

    def losses(actions: tuple[int, ...]) -> list[float]:
        row = [0.0, 0.0]
        if len(actions) == 0:
            row[1 - world] = 1.0
        elif len(actions) == 2:
            row[1 - actions[1]] = 1.0
        return row

    return losses


def fixed_losses_ball(m: int) -> Any:
    """``G(t_m)`` of the theorem for the explicit game, as a ball: ``e^b = 4``, ``e^t = 4^((m + 1)/5)``."""
    n = ROUNDS - 1
    u = enclosure.ball(4) ** (enclosure.ball(m + 1) / ROUNDS)
    p, q = (u - 1) / 3, 4 * (1 - 1 / u) / 3  # the probabilities of lo
    terms = [math.comb(n, i) * (p**i * (1 - p) ** (n - i) - q**i * (1 - q) ** (n - i)) for i in range(n + 1)]
    positive = [term for term in terms if enclosure.proves(term > 0)]
    if len(positive) + sum(enclosure.proves(term < 0) for term in terms) < len(terms):
        raise ArithmeticError(f"a term of G is not decided at this precision: {terms}")
    return sum(positive, enclosure.ball(0))


class Explicit(NamedTuple):
    """The explicit game.

    Attributes
    ----------
    delta : Fraction
        What the adversary reaches.
    law_gap : float
        The largest difference of the learner's own law of transcripts from the rational one.
    balls : list
        ``G`` at its candidates: the supremum over fixed losses is the largest.
    oblivious : float
        The same supremum as the library computes it.
    strongest, composed : float
        The strongest adversary with losses 0, 1/2, 1; optimal composition of ``(2 eta, 0)``.
    """

    delta: Fraction
    law_gap: float
    balls: list
    oblivious: float
    strongest: float
    composed: float

    @property
    def above_fixed(self) -> bool:
        """Whether the balls prove that delta exceeds the supremum over fixed losses."""
        return all(enclosure.proves(ball < enclosure.ball(self.delta)) for ball in self.balls)

    @property
    def supremum(self) -> float:
        """The middle of the largest ball."""
        return float(max(ball.mid() for ball in self.balls))

    @property
    def radius(self) -> float:
        """The largest radius of a ball."""
        return max(float(ball.rad()) for ball in self.balls)

    def __str__(self) -> str:
        lines = {
            "this adversary, exactly": f"{self.delta} = {float(self.delta):.10f}",
            "the learner's own law agrees within 1e-12": f"{self.law_gap < 1e-12}",
            "supremum over all fixed losses and all k": f"{self.oblivious:.10f}; in balls {self.supremum:.10f}, "
            f"radius below 1e-30: {self.radius < 1e-30}",
            "strongest adversary with losses 0, 1/2, 1": f"{self.strongest:.10f}",
            "optimal composition of four (2 eta, 0)": f"{self.composed:.10f}",
        }
        return "\n".join(f"{name:47s} {value}" for name, value in lines.items())


def explicit() -> Explicit:
    """The explicit game in fractions and balls."""
    worlds = rational_law(0), rational_law(1)
    delta = sum((max(p - worlds[1][a], Fraction(0)) for a, p in worlds[0].items()), Fraction(0))
    learner = ExponentialWeights(2, ETA)
    drawn = [drawn_transcript(learner, reward_the_last(world), ROUNDS) for world in (0, 1)]
    gap = max(abs(drawn[w][a] - float(p)) for w in (0, 1) for a, p in worlds[w].items())
    with enclosure.precision(38):
        balls = [fixed_losses_ball(m) for m in range(ROUNDS - 1)]
    setting = {"eta": ETA, "horizon": ROUNDS, "epsilon": 0.0}
    return Explicit(
        delta,
        float(gap),
        balls,
        oblivious=accounting.certified_delta("bounded_range", **setting),
        strongest=transcripts.strongest_adversary(**setting).delta,
        composed=composition.optimal(epsilon=2 * ETA, k=ROUNDS - 1, target_epsilon=0.0),
    )


class Found(NamedTuple):
    """Deltas of one game of two experts.

    Attributes
    ----------
    fixed, binary, halves : float
        The strongest fixed losses in {0, 1/2, 1}, adversary with losses in {0, 1}, and adversary in {0, 1/2, 1}.
    enumerated : float
        Of the last one again, from the enumerated laws of its transcripts.
    supremum : float
        Over all fixed losses and all numbers of experts.
    recursion, zcdp : float
        Upper bounds for all adversaries.
    """

    horizon: int
    eta: float
    epsilon: float
    fixed: float
    binary: float
    halves: float
    enumerated: float
    supremum: float
    recursion: float
    zcdp: float

    def __str__(self) -> str:
        lines = {
            "fixed losses in 0, 1/2, 1, two experts": f"{self.fixed:.10f}",
            "strongest adversary with losses 0, 1": f"{self.binary:.10f}",
            "supremum over all fixed losses and all k": f"{self.supremum:.10f}",
            "strongest adversary with losses 0, 1/2, 1": f"{self.halves:.10f} (enumerated: {self.enumerated:.10f})",
            "adaptive recursion, an upper bound": f"{self.recursion:.6f}",
            "zCDP, best order": f"{self.zcdp:.6f}",
        }
        head = f"T = {self.horizon}, eta = {self.eta:g}, eps = {self.epsilon:g}"
        return "\n".join([head, *(f"{name:47s} {value}" for name, value in lines.items())])


def judge(game: Explicit, found: Found) -> report.Card:
    """Adaptive adversaries are strictly worse: the explicit game, and the strongest one of another."""
    return report.verdict(
        "experts/adaptive-worse",
        report.holds_if(
            game.delta == Fraction(79, 150)
            and game.above_fixed
            and game.law_gap < 1e-12
            and abs(game.oblivious - game.supremum) < 1e-12
            and found.enumerated > found.supremum + 1e-5
            and abs(found.enumerated - found.halves) < 1e-12
        ),
        evidence="enclosure",
        check="delta of an explicit adversary, in fractions, against the supremum over all fixed losses and all k, in "
        "balls",
        observed=f"T = 5, eta = ln 2, eps = 0: {game.delta} = {float(game.delta):.8f}",
        required=f"above {game.oblivious:.8f} (the balls are below 79/150: {game.above_fixed})",
        margin=f"{100 * (float(game.delta) / game.oblivious - 1):.4f} %; a second example, in floating point: "
        f"T = {found.horizon}, eta = {found.eta:g}, eps = {found.epsilon:g}: {found.enumerated:.8f} above "
        f"{found.supremum:.8f}",
    )


class Curves(NamedTuple):
    """Delta over ``epsilons`` in one game: the supremum over fixed losses, and what adaptive adversaries do."""

    horizon: int
    eta: float
    epsilons: np.ndarray
    oblivious: np.ndarray
    deltas: dict[str, list[float]]


_LOOKS = {
    "adaptive recursion, upper bound": {"color": report.PURPLE, "linestyle": "-", "marker": "v"},
    "strongest found, losses 0, ½, 1": {"color": report.BLUE, "linestyle": "-", "marker": "o"},
    "strongest with losses 0, 1": {"color": report.RED, "linestyle": "--", "marker": "s"},
    "pair with k = 2": {"color": report.GREY, "linestyle": ":", "marker": ""},
}


def curves(eta: float, horizon: int, epsilons: np.ndarray) -> Curves:
    """The four curves of the figure."""
    setting = {"eta": eta, "horizon": horizon}
    profiles: Sequence[Callable[[float], float]] = (
        lambda eps: transcripts.adaptive_profile(**setting, epsilon=eps, cells=100),
        lambda eps: transcripts.strongest_adversary(**setting, epsilon=eps).delta,
        lambda eps: transcripts.strongest_adversary(**setting, epsilon=eps, levels=(0.0, 1.0)).delta,
        lambda eps: transcripts.two_expert_profile(**setting, epsilon=eps),
    )
    deltas = {label: [profile(eps) for eps in epsilons] for label, profile in zip(_LOOKS, profiles, strict=True)}
    oblivious = [accounting.certified_delta("bounded_range", **setting, epsilon=eps) for eps in epsilons]
    return Curves(horizon, eta, epsilons, np.array(oblivious), deltas)


def draw(games: Sequence[Curves], limits: Sequence[tuple[float, float]]) -> None:
    """The excess over fixed losses in per cent, a panel for each of two games."""
    fig, axes = report.panels(2, height=3.4, sharey=False, sharex=False)
    rows = report.Rows("panel", "series", "epsilon", "delta", "oblivious")
    for ax, game, limit in zip(axes, games, limits, strict=True):
        for label, deltas in game.deltas.items():
            ax.plot(game.epsilons, 100 * (np.array(deltas) / game.oblivious - 1), label=label, **_LOOKS[label])
            rows.add(
                panel=f"T = {game.horizon}", series=label, epsilon=game.epsilons, delta=deltas,
                oblivious=game.oblivious,
            )  # fmt: skip
        ax.axhline(0, color=report.GREEN, linewidth=2, label="exact, oblivious losses, all k")
        ax.set(xlabel="ε", ylim=limit)
        eta = "ln 2" if game.eta == math.log(2) else f"{game.eta:g}"
        ax.set_title(f"T = {game.horizon}, η = {eta}", loc="right")
    axes[0].set_ylabel("excess of δ, %")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=2)
    report.publish(
        fig,
        "experts-privacy-adaptive",
        rows,
        alt="Delta relative to the oblivious supremum against epsilon, in per cent, for two games: adaptive "
        "adversaries with fractional losses lie above zero in part of the range, the adaptive recursion above them.",
        caption="Exact $\\delta(\\varepsilon)$ of adaptive adversaries with two experts, in per cent above the "
        "supremum over all fixed losses and all $k$ (the line at zero). The true supremum over adaptive adversaries "
        "lies between the strongest one found and the recursion.",
    )
