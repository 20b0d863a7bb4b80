"""The appendix figure of [Wang2021]: the gap between the Laplace and the Gaussian mechanism against K.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Section 7 and appendix.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from evidence import report
from evidence.cascading import curves
from evidence.cascading.comparisons import Estimate, judged

LOOKS = {
    "noise and bonus": {"color": report.BLUE, "linestyle": "-", "marker": "o"},
    "noise only": {"color": report.ORANGE, "linestyle": "--", "marker": "s"},
    "honest": {"color": report.BLACK, "linestyle": ":", "marker": "^"},
}


def draw(
    grid: xr.Dataset,
    baseline: xr.DataArray,
    *,
    reading: str,
    random_list: dict[int, float],
    epsilon: float,
    n_items: int,
    instance: str,
) -> None:
    """Publish the regret curves under one reading, a panel a list length.

    ``grid`` has ``regret`` (reading, list_length, algorithm, replicate, round) and ``value_epsilon`` (reading,
    list_length, algorithm), ``baseline`` the regret (list_length, replicate, round) without privacy, ``random_list``
    the final regret of a random list of each length.
    """
    shown = grid.sel(reading=reading)
    horizon = int(baseline["round"][-1])
    fig, axes = report.panels(len(random_list), height=2.7, sharey=False)
    rows = curves.regret_rows("list_length", "algorithm")
    for ax, (length, at_random) in zip(axes, random_list.items(), strict=True):
        panel = shown.sel(list_length=length)
        regret = {"non-private": baseline.sel(list_length=length)} | {
            name: panel["regret"].sel(algorithm=name) for name in panel["algorithm"].values.tolist()
        }
        for name, curve in regret.items():
            curves.add_curve(ax, rows, curve, labels={"list_length": length, "algorithm": name}, key=name)
        curves.add_random_line(ax, horizon, at_random)
        in_force = ", ".join(f"{value:.3g}" for value in panel["value_epsilon"].values)
        ax.set_title(f"K = {length}; ε in force {in_force}")
        curves.finish_axes(ax, horizon, 1.1 * curves.largest_mean(panel["regret"]))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=2, fontsize=9)
    report.publish(
        fig,
        curves.figure_name("cascading-list-length", reading),
        rows,
        alt=f"Cumulative regret against the round for each list length K, reading {reading}: the non-private policy, "
        "the Laplace and the Gaussian mechanism, with the line of a random list.",
        caption=f"The appendix figure of {{cite:t}}`Wang2021` at ε = {epsilon:g}, reading “{reading}”. The title of a "
        f"panel gives the ε in force for the noisy values of Laplace and Gaussian (value_epsilon). L = {n_items}, "
        f"instance “{instance}”, {baseline.sizes['replicate']} repetitions; the panels have scales of their own. "
        + report.BAND_NOTE,
    )


def draw_gaps(absolute: Estimate, relative: Estimate, *, horizon: int, epsilon: float, replicates: int) -> None:
    """Publish both gaps (reading, list_length) against K, a line a reading."""
    lengths = absolute.mean["list_length"].values.tolist()
    fig, axes = report.panels(2, height=3.2, sharey=False)
    rows = report.Rows("reading", "list_length", "absolute", "absolute_se", "relative", "relative_se")
    for name, look in LOOKS.items():
        (gap, gap_se), (part, part_se) = absolute.sel(reading=name), relative.sel(reading=name)
        report.band(axes[0], lengths, gap, gap_se, label=name, markers=4, **look)
        report.band(axes[1], lengths, 100 * part, 100 * part_se, label=name, markers=4, **look)
        rows.add(
            reading=name, list_length=lengths, absolute=gap, absolute_se=gap_se, relative=part, relative_se=part_se
        )
    for ax, label in zip(axes, ("Laplace minus Gaussian", "the same, % of Gaussian"), strict=True):
        ax.axhline(0, color=report.GREY, linewidth=0.8)
        ax.set_xticks(lengths)
        ax.set_xlabel("K")
        ax.set_ylabel(label)
    axes[0].legend(title="reading")
    report.publish(
        fig,
        "cascading-list-length-gap",
        rows,
        alt="The gap between the Laplace and the Gaussian regret against K under three readings: absolute on the left, "
        "relative to the Gaussian regret on the right.",
        caption=f"The gap after {horizon} rounds at ε = {epsilon:g}, absolute (left) and relative to the Gaussian "
        f"regret (right), under the three readings. {replicates} repetitions. " + report.BAND_NOTE,
    )


def in_words(gap: Estimate, kind: str) -> str:
    """The gaps (list_length) one after the other, the relative ones in per cent."""
    return "; ".join(map(report.approx, *in_units(gap, kind)))


def in_units(gap: Estimate, kind: str) -> Estimate:
    """Per cent for a relative gap."""
    return Estimate(*(part.values for part in gap.times(100 if kind == "relative" else 1)))


def growth_card(gap: Estimate, *, kind: str, reading: str, instance: str) -> report.Card:
    """Sentence (iv): the gap (list_length) grows with K; ``kind`` is "absolute" or "relative".

    Holds when every step rises and the whole by more than three standard errors; fails when a step falls by as much.
    """
    values, errors = in_units(gap, kind)
    steps = np.diff(values) / np.hypot(errors[1:], errors[:-1])
    whole = (values[-1] - values[0]) / np.hypot(errors[-1], errors[0])
    return report.verdict(
        "cascading/figure-gap-in-k",
        judged(shown=steps.min() > 0 and whole > 3, refuted=steps.min() < -3),
        reading=f"{kind}, {reading}",
        evidence="confidence",
        level="99.7 %, each step",
        check=f"{kind} gap for K = " + ", ".join(map(str, gap.mean["list_length"].values)),
        observed=in_words(gap, kind) + (" %" if kind == "relative" else ""),
        required="no step down, and a rise beyond three standard errors",
        margin=f"smallest step {report.approx(steps.min())} standard errors; instance “{instance}”",
    )
