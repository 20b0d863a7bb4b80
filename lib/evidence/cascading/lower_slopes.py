"""The lower bounds of Theorems 10 and 11 as slopes: over grids, in their limits, and beside measured regret."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from dpregret.cascading import kveton_problem
from evidence import report
from evidence.cascading import bounds


def proved_over_printed(lengths, ps, shares, epsilons) -> np.ndarray:
    """The proved slope under local privacy over Theorem 10 as printed, on a grid with gaps as shares of p."""
    ratios = []
    for length, p, share, epsilon in itertools.product(lengths, ps, shares, epsilons):
        at = {"n_items": length + 1, "list_length": length, "p": p, "gap": share * p, "epsilon": epsilon}
        ratios.append(bounds.ldp_lower_bound(**at) / bounds.theorem_10(**at))
    return np.array(ratios)


class Slopes(NamedTuple):
    """Lower bounds on regret / log T at each epsilon, and the one without privacy."""

    epsilon: np.ndarray
    ldp: np.ndarray  # proved
    theorem_10: np.ndarray
    theorem_10_kl_right: np.ndarray
    dp: np.ndarray  # proved
    theorem_11: np.ndarray
    without_privacy: float


def slopes(instance: Mapping[str, Any], epsilons: Iterable[float]) -> Slopes:
    """All of them on the instance ``B_LB`` with the parameters ``instance`` (n_items, list_length, p, gap)."""
    epsilons = np.asarray(list(epsilons))

    def slope(bound: Callable, **given) -> np.ndarray:
        return np.array([bound(**instance, epsilon=e, **given) for e in epsilons])

    return Slopes(
        epsilons,
        slope(bounds.ldp_lower_bound),
        slope(bounds.theorem_10),
        slope(bounds.theorem_10, version="kl_right"),
        slope(bounds.theorem_11, version="corrected"),
        slope(bounds.theorem_11),
        bounds.kveton_lower_bound(**instance),
    )


def slope_lines(found: Slopes) -> list[str]:
    """What the notebook prints of each epsilon."""
    return [
        f"ε = {epsilon:<4g} local: proved {ldp:.3f}, Theorem 10 {ten:.4f}, with the right divergence {right:.4f}; "
        f"central: proved {dp:.4f}, Theorem 11 {eleven:.4f}"
        for epsilon, ldp, ten, right, dp, eleven in zip(*found[:-1], strict=True)
    ]


def crossing(instance: Mapping[str, Any]) -> float:
    """The epsilon from which Theorem 10 is below what is known without privacy."""
    without = bounds.kveton_lower_bound(**instance)
    return optimize.brentq(lambda e: bounds.theorem_10(**instance, epsilon=e) - without, 1e-3, 10)


def draw_slopes(found: Slopes, instance: Mapping[str, Any]) -> None:
    """The figure of the slopes against epsilon, under local and under central privacy."""
    local = {
        "local, proved": (found.ldp, report.BLUE, "-"),
        "Theorem 10, right divergence": (found.theorem_10_kl_right, report.ORANGE, "-."),
        "Theorem 10, printed": (found.theorem_10, report.RED, "--"),
    }
    central = {
        "local, proved": local["local, proved"],
        "central, proved": (found.dp, report.GREEN, "-"),
        "Theorem 11, constants of its proof": (found.theorem_11, report.RED, "--"),
    }
    fig, axes = report.panels(2, height=3.8)
    for ax, family in zip(axes, (local, central), strict=True):
        for label, (values, color, linestyle) in family.items():
            ax.plot(found.epsilon, values, color=color, linestyle=linestyle, label=label)
        ax.axhline(found.without_privacy, color="k", linewidth=1, linestyle=":", label="without privacy")
        ax.set(xscale="log", yscale="log", xlabel="ε", ylim=(1e-3, 1e10))
        ax.legend(fontsize=8, loc="upper right")
    axes[0].set_ylabel("lower bound on regret / log T")
    report.publish(
        fig,
        "cascading-lower-bounds-slopes",
        {name: getattr(found, name) for name in Slopes._fields[:-1]},
        alt="Lower-bound slopes against epsilon on logarithmic axes. Left, local privacy: the proved bound falls to "
        "the non-private one; Theorem 10 lies far below it and falls to zero. Right, central privacy: the proved bound "
        "and Theorem 11, both level with the non-private bound except at small epsilon, far below the local bound.",
        caption=f"Lower bounds on $\\liminf R(T)/\\log T$ on $B_{{LB}}$ with L = {instance['n_items']}, "
        f"K = {instance['list_length']}, p = {instance['p']:g}, Δ = {instance['gap']:g}: local privacy (a) and central "
        "privacy (b).",
    )


def power(x: Sequence[float], y: Sequence[float]) -> float:
    """The power of x in y, between the last two entries."""
    return float(np.log(y[-1] / y[-2]) / np.log(x[-1] / x[-2]))


class RemarkRow(NamedTuple):
    """``gap epsilon^2 / (L - K)`` times the two bounds under local privacy at p = 1/K, epsilon small."""

    list_length: int
    printed: float
    proved: float


def remark_row(list_length: int, *, epsilon: float = 1e-5) -> RemarkRow:
    """The constants of the remark in Theorem 10, at L - K = 1 and a gap of half of p."""
    gap = 0.5 / list_length
    at = {"n_items": list_length + 1, "list_length": list_length, "p": 1 / list_length, "gap": gap, "epsilon": epsilon}
    scale = gap * epsilon**2
    return RemarkRow(list_length, scale * bounds.theorem_10(**at), scale * bounds.ldp_lower_bound(**at))


def order_constant(p: float, *, shares: Iterable[float], epsilons: Iterable[float]) -> float:
    """The smallest quotient of the proved bound of Theorem 11 and its order, ``(L-K) (1-p)^(K-1) (1/gap + 1/eps)``.

    At K = 1 and L = 2, where the common factor is 1; gaps are shares of p.
    """
    epsilons = list(epsilons)
    at = {"n_items": 2, "list_length": 1, "p": p}
    return min(
        bounds.theorem_11(**at, gap=s * p, epsilon=e, version="corrected") / (1 / (s * p) + 1 / e)
        for s in shares
        for e in epsilons
    )


def proved_constant(p: float) -> float:
    """The constant that the chi-square bound proves in place of `order_constant`: ``min(p (1-p), 1/(e^2-1)) / 2``."""
    return min(p * (1 - p), 1 / np.expm1(2)) / 2


def upper_over_lower(bound: Callable, list_length: int, *, epsilon: float) -> float:
    """The slope in log T of an upper bound over the proved lower bound, at p = 1/K, a gap of half of it and L = 2K.

    ``bound`` takes the problem and ``horizon``; its slope between 1e100 and 1e200 is without the additive term.
    """
    at = {"n_items": 2 * list_length, "list_length": list_length, "p": 1 / list_length, "gap": 0.5 / list_length}
    problem = kveton_problem(**at)
    leading = (bound(problem, horizon=1e200) - bound(problem, horizon=1e100)) / (100 * np.log(10))
    return leading / bounds.ldp_lower_bound(**at, epsilon=epsilon)


class Measured(NamedTuple):
    """Regret gained over the decade before each round, per unit of log T, over the lower bound."""

    rounds: np.ndarray
    mean: np.ndarray
    se: np.ndarray


def decade_slopes(regret, *, bound: float) -> Measured:
    """From curves (replicate, round) at four checkpoints a decade."""
    t, values = regret["round"].values, regret.values
    steps = (values[:, 4:] - values[:, :-4]) / np.log(t[4:] / t[:-4]) / bound
    return Measured(t[4:], steps.mean(axis=0), steps.std(axis=0, ddof=1) / np.sqrt(len(values)))


def draw_measured(found: Mapping[str, Measured], *, replicates: int) -> None:
    """The figure of the measured slopes: private policies by their epsilon, and "non-private"."""
    fig, axes = report.panels(1, height=4.6)
    ax = axes[0]
    looks = itertools.cycle(
        [
            (report.ORANGE, "-", "P"),
            (report.BLUE, "--", "s"),
            (report.GREEN, "-.", "^"),
            (report.PURPLE, ":", "D"),
            (report.SKY, "-", "v"),
        ]
    )
    rows = report.Rows("policy", "round", "ratio", "ratio_se")
    for name, (ends, mean, se) in found.items():
        color, linestyle, marker = (report.BLACK, "-", "") if name == "non-private" else next(looks)
        label = "CascadeUCB1 over Kveton et al." if name == "non-private" else f"First position LDP, KL, {name}"
        report.band(ax, ends, mean, se, color=color, linestyle=linestyle, marker=marker, label=label)
        rows.add(policy=name, round=ends, ratio=mean, ratio_se=se)
    ax.axhline(1, **report.series("lower bound", linewidth=1.2))
    ax.set(xscale="log", yscale="log", xlabel="round T", ylabel="slope of the last decade / lower bound")
    fig.legend(loc="outside lower center", ncol=2, fontsize=9)
    report.publish(
        fig,
        "cascading-lower-bounds-measured",
        rows,
        alt="Measured slope of the regret over the last decade divided by the lower bound, against the round: the "
        "private policies end within a small factor of 1; CascadeUCB1 stays far above its bound.",
        caption="Regret gained from T/10 to T, over log 10 times the lower bound, for `FirstPositionLDP` with the KL "
        f"index (effective ε as stated, δ = 0) and the non-private CascadeUCB1. {replicates} repetitions. "
        f"{report.BAND_NOTE}",
    )
