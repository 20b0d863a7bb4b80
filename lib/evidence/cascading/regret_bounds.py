"""The upper bounds beside measured regret, the bracket of Theorem 4, and the margin of Theorem 6."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from evidence import report
from evidence.cascading import bounds


class Comparison(NamedTuple):
    """A bound and the regret measured under it at one horizon."""

    theorem: str
    version: str
    bound: float
    regret: float
    se: float
    informative_from: float  # base-10 logarithm of the horizon from which the bound is below a random list's regret


def compare(measured: Mapping, bound_of: Mapping[str, Callable], *, horizon: int, per_round: float) -> list[Comparison]:
    """Each bound beside the regret at the last measured round, in the order of ``measured``.

    ``measured`` maps (theorem, version) to curves of regret (replicate, round), ``bound_of`` a theorem to its bound as
    a function of ``horizon`` and ``version``; ``per_round`` is the regret of a random list.
    """
    rows = []
    for (name, version), curves in measured.items():
        mean, se = (float(x) for x in report.mean_se(curves.isel(round=-1)))

        def bound(t: float, name=name, version=version) -> float:
            return bound_of[name](horizon=t, version=version)

        begins = bounds.informative_from(bound, per_round=per_round)
        rows.append(Comparison(name, version, bound(horizon), mean, se, begins))
    return rows


def lines(rows: Iterable[Comparison], *, horizon: int) -> list[str]:
    """What the notebook prints of each comparison."""
    return [
        f"{row.theorem} {row.version}: at T = {horizon} the bound is {row.bound:.6g}, the measured regret "
        f"{report.approx(row.regret, row.se)}; below a random list from T = 10^{row.informative_from:.4f} on"
        for row in rows
    ]


def draw(measured: Mapping, bound_of: Mapping[str, Callable], *, per_round: float, about: str) -> None:
    """The figure of the bounds: one panel a theorem, with measured regret, both versions, and a random list.

    Arguments as for `compare`; ``about`` says the parameters in the caption.
    """
    far = np.geomspace(1e3, 1e12, 60)
    fig, axes = report.panels(4, height=2.9)
    rows = report.Rows("theorem", "curve", "round", "regret", "regret_se")
    looks = {"printed": (report.RED, "o"), "corrected": (report.GREEN, "")}
    for ax, (name, bound) in zip(axes, bound_of.items(), strict=True):
        for version, (color, marker) in looks.items():
            rounds = measured[name, version]["round"].values
            mean, se = (x.values for x in report.mean_se(measured[name, version]))
            report.band(ax, rounds, mean, se, color=color, marker=marker, markers=5, label=f"measured, {version}")
            line = np.array([bound(horizon=t, version=version) for t in far])
            ax.plot(far, line, **report.series(f"bound {version}"))
            rows.add(theorem=name, curve=f"measured {version}", round=rounds, regret=mean, regret_se=se)
            rows.add(theorem=name, curve=f"bound {version}", round=far, regret=line, regret_se=0.0)
        ax.plot(far, far * per_round, **report.series("random list"))
        ax.set(xscale="log", yscale="log", xlim=(1e3, 1e12), ylim=(100, 1e11))
        ax.set_title(name, fontsize=10, loc="right")
    for ax in axes[2:]:
        ax.set_xlabel("round T")
    for ax in axes[::2]:
        ax.set_ylabel("regret")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=3, fontsize=9)
    report.publish(
        fig,
        "cascading-regret-bounds",
        rows,
        alt="Four panels, Theorems 4, 6, 7 and 2: bounds and measured regret against the round on logarithmic axes. Up "
        "to the last measured round every bound lies above the line of a random list; it crosses that line far to the "
        "right.",
        caption=f"Bounds and measured regret with honest noise: {about} {report.BAND_NOTE}",
    )


def draw_bracket(lengths: list[int], found: np.ndarray) -> None:
    """The figure of the bracket: its supremum at each K, the maximiser's values ``found``, the worst gaps."""
    fig, axes = report.panels(2, height=3.1, sharex=False, sharey=False)
    ks = np.arange(1, 65)
    supremum, worst = axes
    supremum.plot(ks, [bounds.bracket_supremum(int(k)) for k in ks], color=report.BLUE, label="exact supremum $V_K$")
    supremum.plot(lengths, found, "ko", markersize=4, label="numeric maximiser")
    least = np.maximum(1, np.sqrt(ks[:20] - 1))
    supremum.plot(ks[:20], least, color=report.ORANGE, linestyle="-.", label="printed program, at least")
    supremum.axhline(1, color=report.RED, linestyle="--", linewidth=1.2, label="statement of Theorem 4")
    supremum.axhline(2, color=report.GREEN, linestyle=":", linewidth=1.6, label="its proof")
    supremum.set(xscale="log", xlabel="list length K", ylabel="largest $\\Delta_K$ × bracket", ylim=(0.8, 5))
    supremum.legend(fontsize=8, loc="upper left")
    for k, color, marker in (
        (2, report.ORANGE, "o"),
        (4, report.BLUE, "s"),
        (8, report.GREEN, "^"),
        (16, report.PURPLE, "D"),
    ):
        profile = bounds.bracket_maximiser(k)
        worst.plot(range(1, k + 1), profile, color=color, marker=marker, markersize=4, label=f"K = {k}")
    worst.set(xlabel="optimal item k, best first", ylabel="worst gaps, $\\Delta_k / \\Delta_K$", ylim=(0, None))
    worst.set(xticks=[1, 4, 8, 12, 16])
    worst.legend(fontsize=8.5)
    report.publish(
        fig,
        "cascading-bracket",
        {"list_length": lengths, "supremum": [bounds.bracket_supremum(k) for k in lengths]},
        alt="Left: the exact supremum of the bracket rises with K from 1 towards 2, the numeric maximiser lies on it, "
        "and the printed program allows more, growing like the square root of K. Right: the gap profiles that attain "
        "it.",
        caption="The bracket of Theorem 4, times $\\Delta_{e,K}$: its exact supremum for each $K$, and what the "
        "constraints as printed allow at least (a); the gaps that attain the supremum (b).",
    )


def constant_lines(list_length: int, epsilons: Iterable[float]) -> list[str]:
    """What the notebook prints of Theorem 4's leading constants over the printed one, and of their threshold."""
    lines = []
    for epsilon in epsilons:
        corrected, proof = (
            bounds.theorem_4_constant(list_length, epsilon=epsilon, version=version)
            / bounds.theorem_4_constant(list_length, epsilon=epsilon)
            for version in ("corrected", "proof")
        )
        lines.append(
            f"ε = {epsilon:<4g} leading constant over the printed one: corrected bonus {corrected:.4f}, the paper's "
            f"proof {proof:.4f}"
        )
    b = bounds.theorem_4_threshold(list_length)
    return [*lines, f"K = {list_length}: below the printed one for b > {b:.6f}, that is ε < {list_length / b:.4f}"]


class Margin(NamedTuple):
    """The smallest ratio of Theorem 6's printed bound to what is proved, and where it is attained."""

    ratio: float
    horizon: float
    list_length: int
    others: int  # L - K
    delta: float


GRID = (
    (1, 2, 3, 4, 8, 16, 50, 200, 2000),  # K
    (1, 2, 3, 16, 1000, 100_000),  # L - K
    (1e-9, 1e-3, 0.5, 0.99, 1 - 1e-12),  # delta
)


def theorem_6_margin(epsilon: float, *, grid: tuple = GRID) -> Margin:
    """The smallest ratio over a grid of K, L - K and delta and over horizons from 2 to 1e14, whatever the gaps.

    What is proved is the smaller of T and `evidence.cascading.bounds.theorem_6`, "proved", with the bracket at its
    supremum. The sum of 1/Delta is at its smallest, L - K, since a larger one raises the ratio.
    """
    t = np.r_[np.arange(2.0, 400.0), np.geomspace(400, 1e14, 200)]
    found = []
    for length, others, delta in itertools.product(*grid):
        s = 8 / epsilon * np.sqrt(length * np.log(1.25 / delta))
        width = 2 * np.sqrt(1.5) + s / 2 * np.sqrt(np.log(2 * t**3) / np.log(t))
        printed = 2 * (2 * np.sqrt(1.5) + s) ** 2 * others * np.log(t)
        proved = bounds.bracket_supremum(length) * width**2 * others * np.log(t) + 2 * np.sqrt(3 * (length + others))
        ratio = printed / np.minimum(t, proved)
        found.append(Margin(ratio.min(), t[ratio.argmin()], length, others, delta))
    return min(found)


def margin_line(epsilon: float, margin: Margin) -> str:
    """What the notebook prints of the margin at one epsilon."""
    ratio, horizon, length, others, delta = margin
    return (
        f"ε = {epsilon:<3g} smallest ratio {ratio:.4f}, at K = {length}, L = {length + others}, δ = {delta:g}, T = "
        f"{horizon:.4g}"
    )


def judge_theorem_6(least: float) -> report.Card:
    """The card of Theorem 6 from the smallest ratio over epsilon <= 2."""
    return report.verdict(
        "cascading/theorem-6",
        report.holds_if(least >= 1, otherwise="open"),
        evidence="proof",
        check="the printed sum over the regret that is proved, whatever the gaps: ε ≤ 2, K = 1 to 2000, L - K = 1 to "
        "100 000, δ = 1e-9 to 1, T = 2 to 1e14",
        observed=f"at least {least:.4f}",
        required="at least 1 for every T > 1",
        margin="proved for ε ≤ 2, and for every ε at K = 1; without the additive term the paper's own proof does not "
        "reach it",
    )
