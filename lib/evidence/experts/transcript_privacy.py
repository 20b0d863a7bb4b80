"""What the notebook ``transcript_privacy`` shows of rounds and profiles: O1 to O3. Enumerated games: `enumerated`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from dpregret.experts import ExponentialWeights
from dpregret.privacy import composition
from evidence import report
from evidence.experts import accounting, transcripts
from evidence.experts.accounting import number

LABELS = {
    "text": "text's composition",
    "optimal": "optimal composition, T − 1",
    "zcdp": "zCDP, closed form",
    "zcdp_optimal": "zCDP, best order",
    "recursion": "adaptive recursion",
    "bounded_range": "exact, oblivious losses",
    "pair": "exact, pair with k = 2",
}
"""The accounting methods and two profiles of `transcripts`."""

_KEYS = {"recursion": "adaptive recursion", "pair": "lower bound"}
_SEEN = 1e-14  # of the deltas in the figure


def largest_log_ratio(n_experts: int, eta: float, reach: int) -> float:
    """The largest ``ln p_j / p'_j`` of a round (O2), by search.

    Over common sums of losses in {0..reach}^k, and losses l and l' in {0, 1}^k.
    """
    sums = np.array(list(itertools.product(range(reach + 1), repeat=n_experts)), dtype=float)
    vectors = np.array(list(itertools.product((0.0, 1.0), repeat=n_experts)))
    learner = ExponentialWeights(n_experts, eta)
    logs = np.log(learner.probabilities(sums[:, None, :] + vectors[None, :, :]))
    return float((logs[:, :, None, :] - logs[:, None, :, :]).max())


def ratio_in_round_two(n_experts: np.ndarray | float, eta: float) -> np.ndarray:
    """The largest log-ratio of round 2, in units of eta: one of k experts gets better, all others worse."""
    k = n_experts
    return (eta + np.log((k - 1 + np.exp(-eta)) / (1 + (k - 1) * np.exp(-eta)))) / eta


def ratio_of_two_experts(rounds: np.ndarray, eta: float) -> np.ndarray:
    """The largest log-ratio of each of the consecutive ``rounds`` >= 2, in units of eta, after a change in round 1."""
    steps = [transcripts.pure_epsilon(eta=eta, horizon=int(t)) for t in (rounds[0] - 1, *rounds)]
    return np.diff(steps) / eta


def draw_kernels(
    n_experts: np.ndarray, in_experts: Mapping[float, np.ndarray], rounds: np.ndarray,
    in_rounds: Mapping[float, np.ndarray],
) -> None:  # fmt: skip
    """The two log-ratios for some learning rates, at most three: over k in round 2, and over the round for k = 2."""
    fig, axes = report.panels(2, height=3.1, sharex=False)
    rows = report.Rows("panel", "eta", "x", "ratio")
    looks = ((report.BLUE, "-", "o"), (report.RED, "--", "s"), (report.GREEN, "-.", "^"))
    for eta, (color, line, marker) in zip(in_experts, looks, strict=False):
        panels = ("experts", n_experts, in_experts[eta]), ("rounds", rounds, in_rounds[eta])
        for ax, (panel, x, ratio) in zip(axes, panels, strict=True):
            report.band(ax, x, ratio, color=color, linestyle=line, marker=marker, label=f"η = {eta:g}")
            rows.add(panel=panel, eta=eta, x=x.astype(float), ratio=ratio)
    for ax in axes:
        ax.axhline(2, color=report.GREY, linewidth=1)
        ax.set_ylim(0.9, 2.1)
    axes[0].set(xscale="log", xlabel="experts k, round 2", ylabel="largest log-ratio / η")
    axes[1].set(xlabel="round t, two experts")
    axes[1].legend(loc="lower right")
    report.publish(
        fig,
        "experts-privacy-kernels",
        rows,
        alt="The largest log-ratio of a round over eta: left, in round 2 it rises with the number of experts from 1 to "
        "2; right, with two experts it is 1 in round 2 and rises with the round towards 2. It never reaches 2.",
        caption="The largest log-ratio of one round, in units of $\\eta$, after a change in round 1: over $k$ in round "
        "2, and over the round for two experts. The constant 2 of O2 is a supremum.",
    )


class Profiles(NamedTuple):
    """Privacy profiles of one game: delta over ``epsilons`` for each of some `LABELS`."""

    horizon: int
    eta: float
    epsilons: np.ndarray
    deltas: dict[str, np.ndarray]


def profiles(eta: float, horizon: int, epsilons: np.ndarray, *, longest_recursion: int = 50) -> Profiles:
    """Every method, the recursion (up to ``longest_recursion`` rounds: it is slow), and the pair of two experts."""
    options = {"eta": eta, "horizon": horizon}
    deltas = {
        m: [accounting.certified_delta(m, epsilon=eps, **options) for eps in epsilons]
        for m in LABELS
        if m in accounting.LABELS
    }
    if horizon <= longest_recursion:
        deltas["recursion"] = [transcripts.adaptive_profile(epsilon=eps, **options, cells=40) for eps in epsilons]
    deltas["pair"] = [transcripts.two_expert_profile(epsilon=eps, **options) for eps in epsilons]
    return Profiles(horizon, eta, epsilons, {name: np.array(values) for name, values in deltas.items()})


def draw_profiles(short: Profiles, long: Profiles, *, epsilon: float, delta: float) -> None:
    """A short game, and one at the text's learning rate with the promised point (epsilon, delta)."""
    fig, axes = report.panels(2, height=4.0, sharex=False, sharey=False)
    rows = report.Rows("panel", "series", "epsilon", "delta")
    for ax, game in zip(axes, (short, long), strict=True):
        for name, deltas in game.deltas.items():
            seen = deltas > _SEEN
            look = report.series(_KEYS.get(name, accounting.key(name)), label=LABELS[name])
            ax.plot(game.epsilons[seen], deltas[seen], **look, markevery=6)
            rows.add(panel=f"T = {game.horizon}", series=LABELS[name], epsilon=game.epsilons[seen], delta=deltas[seen])
        ax.set(yscale="log", xlabel="ε")
    axes[0].set(ylabel="δ", ylim=(1e-5, 1.6))
    axes[0].set_title(f"T = {short.horizon}, η = {short.eta:g}", loc="right")
    axes[1].set(ylim=(1e-12, 3))
    axes[1].set_title(f"T = {long.horizon}, the text's η", loc="right")
    axes[1].plot([epsilon], [delta], "k*", markersize=10, label="promised by O3")
    handles = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    handles |= dict(zip(*reversed(axes[1].get_legend_handles_labels()), strict=True))
    fig.legend(handles.values(), handles.keys(), loc="outside lower center", ncol=3)
    report.publish(
        fig,
        "experts-privacy-profiles",
        rows,
        alt="Delta against epsilon, logarithmic: the text's composition is far above optimal composition, then zCDP, "
        "the adaptive recursion, and the exact oblivious profile, with the pair of two experts just below it.",
        caption="Privacy profiles of the transcript. (a) A short game. (b) The text's learning rate for "
        f"$\\varepsilon = {epsilon:g}$, δ = {number(delta)}, $T = {long.horizon}$; the star is what O3 promises.",
    )


def all_deltas(*, eta: float, horizon: int, epsilon: float) -> dict[str, float]:
    """Delta at one epsilon by every method and the recursion, which is an upper bound."""
    setting = {"eta": eta, "horizon": horizon, "epsilon": epsilon}
    deltas = {method: accounting.certified_delta(method, **setting) for method in accounting.LABELS}
    return deltas | {"recursion": transcripts.adaptive_profile(**setting, cells=200)}


def all_epsilons(*, eta: float, horizon: int, delta: float) -> dict[str, float]:
    """Epsilon at one delta by every method, by the recursion, and of the pair of two experts, exactly.

    The recursion is on a coarse grid, an upper bound all the same, and lies between the exact oblivious value and zCDP.
    """
    setting = {"eta": eta, "horizon": horizon, "delta": delta}
    epsilons = {method: accounting.certified_epsilon(method, **setting) for method in accounting.LABELS}

    def excess(epsilon: float) -> float:
        return math.log(transcripts.adaptive_profile(eta=eta, horizon=horizon, epsilon=epsilon, cells=2) / delta)

    recursion = brentq(excess, epsilons["bounded_range"], epsilons["zcdp_optimal"], xtol=1e-7)
    pair = composition.optimal_epsilon(epsilon=eta, k=horizon - 1, target_delta=delta)
    return epsilons | {"recursion": recursion, "pair": pair}


def tabulate_profiles(deltas: Mapping[str, float], epsilons: Mapping[str, float], *, short: str, long: str) -> Any:
    """`all_deltas` of a game ``short``, `all_epsilons` of a game ``long``; whether adaptive adversaries are covered."""
    lines = (
        [
            LABELS[name],
            "no" if name == "bounded_range" else "yes",
            f"{deltas[name]:.6f}",
            f"{epsilons[name]:.6f}",
        ]
        for name in LABELS
        if name != "pair"
    )
    return report.table(["accounting", "covers adaptive adversaries", short, long], lines)


def multiplied_weights() -> np.ndarray:
    """Two weights multiplied round by round, eta = 1/2: both experts lose for 1600 rounds, then the first for 400."""
    weights = np.ones(2)
    for t in range(1, 2001):
        weights = weights * np.exp(-0.5 * np.array([1.0, 1.0 if t <= 1600 else 0.0]))
    return weights


def judge_kernel(law: np.ndarray, far: np.ndarray, exact: np.ndarray) -> report.Card:
    """O1: an enumerated law of transcripts; the learner's probabilities at large sums of losses beside exact ones."""
    positive, sums = bool(law.min() > 0), abs(float(law.sum()) - 1) < 1e-12
    return report.verdict(
        "experts/o-1",
        report.holds_if(sums and positive and np.allclose(far, exact, rtol=1e-12, atol=0)),
        evidence="proof",
        check="the law of the transcript by enumeration, k = 3, T = 8, losses that depend on the history",
        observed=f"{law.size} transcripts, all of positive probability: {positive}; they sum to 1 within 1e-12: {sums}",
        required="a probability law",
    )


def judge_ratios(ratios: Mapping[tuple[int, int, float], float], many: float) -> report.Card:
    """O2: log-ratios in units of eta by (k, reach, eta), (2, 0, 0.5) among them; ``many`` with 1e9 experts."""
    most = max(ratios.values())
    first = max(abs(ratio - 1) for (k, reach, _), ratio in ratios.items() if (k, reach) == (2, 0))
    near = many > 2 - 1e-6
    return report.verdict(
        "experts/o-2",
        report.holds_if(max(most, many) < 2 and first < 1e-12 and near),
        evidence="proof",
        check="largest log-ratio of a round kernel by search over cumulative losses, and in closed form for many "
        "experts",
        observed=f"below 2 eta everywhere, at most {most:.8f} eta in the search; round 2 with k = 2: "
        f"{ratios[2, 0, 0.5]:.8f} eta",
        required="at most 2 eta",
        margin=f"none in the limit: k = 1e9 comes within 1e-6 of 2 eta: {near}",
    )


def judge_promise(
    own: Sequence[float], proved: Sequence[float], *, target: Mapping[str, float], certified: Mapping[str, float]
) -> report.Card:
    """O3: epsilon at the text's rate over its target, by the text's own composition and by zCDP.

    ``certified`` are `all_epsilons` of the setting ``target`` (epsilon, delta, horizon).
    """
    return report.verdict(
        "experts/o-3",
        report.holds_if(max(own) <= 1 + 1e-12 and max(proved) <= 1),
        evidence="proof",
        check="epsilon at the text's learning rate, as a share of the target, over T, epsilon and delta",
        observed=f"{len(own)} cases: at most {max(own):.6f} by the text's own composition, {max(proved):.6f} by zCDP, "
        "which is proved",
        required="at most 1",
        margin=f"epsilon = {target['epsilon']:g}, delta = {number(target['delta'])}, T = {target['horizon']}: "
        f"{certified['zcdp_optimal']:.6f} by zCDP, {certified['bounded_range']:.6f} exactly against losses fixed in "
        "advance, worst case over all k",
    )
