"""What the notebook ``minimax`` shows of small games: table, figure, verdicts. Regret is total, ``T R_T``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evidence import report

SOLVER = 1e-7
"""What is asked of the values of linear programmes."""

_DASH_DOTTED = (0, (3, 1, 1, 1))


class Game(NamedTuple):
    """Total regret of private learners in one game: two experts, ``horizon`` rounds, pure epsilon-DP.

    Attributes
    ----------
    packing, minimax : float
        The lower bound of the packing argument, and the regret of the best private learner.
    weights, rate : float
        The worst regret of exponential weights at the rate whose exact epsilon is ``epsilon``, and that rate.
    basic : float
        The same at the rate of basic composition.
    """

    horizon: int
    epsilon: float
    packing: float
    minimax: float
    weights: float
    rate: float
    basic: float


def tabulate(games: Iterable[Game]) -> Any:
    """The games of two rounds and more, a line each, with uniform play (regret T/2) beside them."""
    head = ["T", "packing bound", "minimax", "exponential weights, exact ε", "its η", "exponential weights, basic"]
    numbers = (
        (g.horizon, *(f"{x:.6f}" for x in (g.packing, g.minimax, g.weights, g.rate, g.basic)), g.horizon / 2)
        for g in games
        if g.horizon > 1
    )
    return report.table([*head, "uniform play"], numbers)


def draw(in_horizon: Sequence[Game], in_epsilon: Sequence[Game]) -> None:
    """Left the games at one epsilon, from T = 1 on; right games over epsilon, two to five rounds."""
    fig, (left, right) = report.panels(2, height=3.6, sharex=False, sharey=False)
    _draw_horizons(left, in_horizon)
    rows = report.Rows("horizon", "epsilon", "minimax", "packing", "weights")
    looks = zip((report.BLUE, report.RED, report.GREEN, report.PURPLE), "osD^", strict=True)
    for t, (color, marker) in zip(sorted({game.horizon for game in in_epsilon}), looks, strict=False):
        games = Game(*np.array([game for game in in_epsilon if game.horizon == t]).T)
        report.band(right, games.epsilon, games.minimax, color=color, marker=marker, label=f"T = {t}", markers=20)
        right.plot(games.epsilon, games.packing, color=color, linestyle=_DASH_DOTTED, linewidth=1)
        right.plot(games.epsilon, games.weights, color=color, linestyle="--", linewidth=1)
        rows.add(
            horizon=t, epsilon=games.epsilon, minimax=[round(x, 6) for x in games.minimax.tolist()],
            packing=games.packing, weights=games.weights,
        )  # fmt: skip
    right.plot([], [], color=report.GREY, linestyle="--", linewidth=1, label="exponential weights")
    right.plot([], [], color=report.GREY, linestyle=_DASH_DOTTED, linewidth=1, label="packing bound")
    right.set(xscale="log", xlabel="ε", ylim=(0, 3.4))
    right.legend(loc="upper right", fontsize=8, ncol=2)
    right.set_xticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"])
    report.publish(
        fig,
        "experts-minimax",
        rows,
        alt="Left: total regret against T; minimax lies between the packing bound, which stays near one, and "
        "exponential weights, which is near uniform play. Right: the same against epsilon for two to five rounds; "
        "minimax and the packing bound fall with epsilon, exponential weights for few rounds rise again at the end.",
        caption="Exact minimax total regret with two experts under pure $\\varepsilon$-DP, against losses fixed in "
        "advance. Right: solid minimax, dashed exponential weights at its exact $\\varepsilon$ and with losses in "
        "quarters, dash-dotted the packing bound. At large $\\varepsilon$ and few rounds that rate is too large for "
        "regret, and the dashed lines rise.",
    )


def _draw_horizons(ax: Any, games: Sequence[Game]) -> None:
    all_rounds = Game(*np.array(games).T)
    several = Game(*np.array([game for game in games if game.horizon > 1]).T)
    report.band(ax, several.horizon, several.basic, key="basic", label="exponential weights, basic")
    report.band(ax, several.horizon, several.weights, key="exponential weights", label="exponential weights, exact ε")
    report.band(ax, all_rounds.horizon, all_rounds.minimax, color=report.GREEN, marker="D", label="minimax (exact)")
    report.band(ax, all_rounds.horizon, all_rounds.packing, key="lower bound", label="packing bound")
    ax.plot(all_rounds.horizon, all_rounds.horizon / 2, color=report.GREY, linestyle=(0, (1, 1)), label="uniform play")
    ax.set(xlabel="T", ylabel="total regret", ylim=(0, None))
    ax.set_title(f"ε = {games[0].epsilon:g}", loc="right")
    ax.legend(loc="upper left", fontsize=8)


def judge_packing(games: Iterable[Game], beyond: Mapping[Any, float], last: Game) -> report.Card:
    """The packing bound: below the minimax regret of every game, and below exponential weights on its own streams.

    ``beyond`` has, for several settings, the regret of exponential weights less the bound.
    """
    gaps = {(game.horizon, game.epsilon): game.minimax - game.packing for game in games}
    above, streams = min(gaps.values()) >= -SOLVER, min(beyond.values()) >= -1e-12
    attained = max(abs(gap) for (t, _), gap in gaps.items() if t <= 2) < SOLVER
    return report.verdict(
        "experts/packing-experts",
        report.holds_if(above and streams),
        evidence="proof",
        check="exact minimax regret (k = 2) and exponential weights (k to 100) against the packing bound",
        observed=f"{len(gaps)} linear programmes: none below by more than 1e-7: {above}; "
        f"{len(beyond)} settings of exponential weights: none below: {streams}",
        required="none below",
        margin=f"attained for T <= 2 within 1e-7: {attained}; at T = {last.horizon}, epsilon = {last.epsilon:g}: "
        f"minimax {last.minimax:.5f}, bound {last.packing:.5f}",
    )


class TwoRounds(NamedTuple):
    """What T = 2 gives for one epsilon: two regrets, and the exact epsilon of exponential weights at rate epsilon."""

    epsilon: float
    programme: float
    weights: float
    pure_epsilon: float

    @property
    def formula(self) -> float:
        """The value that the theorem gives."""
        return two_round_value(self.epsilon)


def two_round_value(epsilon: float) -> float:
    """The minimax total regret of two rounds, ``1/2 + 1 / (1 + e^epsilon)``."""
    return 0.5 + 1 / (1 + math.exp(epsilon))


def judge_two_rounds(found: Sequence[TwoRounds]) -> report.Card:
    """Minimax regret of two rounds, and its attainment by exponential weights with eta = epsilon."""
    programme = max(abs(x.programme - x.formula) for x in found) < SOLVER
    weights = max(abs(x.weights - x.formula) for x in found) < 1e-12
    private = max(abs(x.pure_epsilon - x.epsilon) for x in found) < 1e-12
    return report.verdict(
        "experts/minimax-two-rounds",
        report.holds_if(programme and weights and private),
        evidence="proof",
        check="linear programme and exact worst regret of exponential weights (eta = epsilon, binary losses), T = 2",
        observed=f"{len(found)} values of epsilon: programme within 1e-7 of the formula: {programme}; "
        f"exponential weights within 1e-12: {weights}, their exact epsilon is eta: {private}",
        required="1/2 + 1/(1 + e^epsilon)",
        margin=f"at epsilon = 0.5: {two_round_value(0.5):.10f}",
    )
