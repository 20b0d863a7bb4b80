"""Figure 1 (f) and (g) of [Wang2021]: the regret of Algorithm 1 for each epsilon and each number of items.

``by_epsilon`` is a dataset of ``regret`` (reading, epsilon, replicate, round) and ``value_epsilon`` (reading, epsilon),
``by_items`` the same with n_items in place of epsilon, ``baseline`` the regret (n_items, replicate, round) without
privacy.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Section 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, pairwise

import xarray as xr

from evidence import report
from evidence.cascading import curves
from evidence.cascading.comparisons import Estimate, difference, final, judged, z_score

LOOKS = [
    {"color": report.BLUE, "marker": "o"},
    {"color": report.RED, "marker": "s"},
    {"color": report.GREEN, "marker": "^"},
    {"color": report.PURPLE, "marker": "D"},
]


def draw(
    by_epsilon: xr.Dataset,
    by_items: xr.Dataset,
    baseline: xr.DataArray,
    *,
    reading: str,
    random_list: Mapping[int, float],
    n_items: int,
    epsilon_of_items: float,
    algorithm: str,
    list_length: int,
    instance: str,
) -> None:
    """Publish both panels under one reading: the regret curves for each epsilon, and for each number of items.

    ``random_list`` has the final regret of a random list for each number of items, ``n_items`` is that of the first
    panel, ``epsilon_of_items`` the epsilon of the second, ``algorithm`` what the caption says of the algorithm.
    """
    left, right = by_epsilon.sel(reading=reading), by_items.sel(reading=reading)
    fig, axes = report.panels(2, height=3.8, sharey=False)
    rows = curves.regret_rows("panel", "curve")
    draw_epsilons(axes[0], rows, left, baseline.sel(n_items=n_items), random_list[n_items])
    draw_items(axes[1], rows, right["regret"], baseline, random_list if reading == "honest" else {})
    in_force = float(right["value_epsilon"][0])
    axes[0].set_title(f"L = {n_items}", loc="right")
    axes[1].set_title(f"ε = {epsilon_of_items:g} (in force {in_force:g})", loc="right")
    for ax, shown in zip(axes, (left, right), strict=True):
        curves.finish_axes(ax, int(baseline["round"][-1]), 1.7 * curves.largest_mean(shown["regret"]))
        ax.legend(fontsize=7.5, loc="upper left")
    report.publish(
        fig,
        curves.figure_name("cascading-dp-regret", reading),
        rows,
        alt=f"Cumulative regret of Algorithm 1 against the round, reading {reading}: left for each epsilon, right for "
        "each number of items, with the non-private policy and the line of a random list.",
        caption=f"Figure 1 (f) and (g) of {{cite:t}}`Wang2021`, here (a) and (b), reading “{reading}”: Algorithm 1 "
        f"with {algorithm}, K = {list_length}, instance “{instance}”, {baseline.sizes['replicate']} repetitions. The ε "
        "in force is that of the counters' values together, as the text accounts for them (value_epsilon). The panels "
        "have scales of their own. " + report.BAND_NOTE,
    )


def draw_epsilons(ax, rows: report.Rows, grid: xr.Dataset, baseline: xr.DataArray, random_list: float) -> None:
    """The panel of a curve for each epsilon, with the non-private policy and a random list."""
    for eps, look in zip(grid["epsilon"].values, cycle(LOOKS), strict=False):
        curve = grid.sel(epsilon=eps)
        label = f"ε = {eps:g} (in force {float(curve['value_epsilon']):g})"
        curves.add_curve(ax, rows, curve["regret"], labels={"panel": "f", "curve": f"{eps:g}"}, label=label, **look)
    labels = {"panel": "f", "curve": "non-private"}
    curves.add_curve(ax, rows, baseline, labels=labels, key="non-private", label="not private")
    curves.add_random_line(ax, int(baseline["round"][-1]), random_list, label="random list")


def draw_items(
    ax, rows: report.Rows, regret: xr.DataArray, baseline: xr.DataArray, random_list: Mapping[int, float]
) -> None:
    """The panel of a curve for each number of items, with the non-private policy and, where given, a random list."""
    horizon = int(baseline["round"][-1])
    for size, look in zip(regret["n_items"].values.tolist(), cycle(LOOKS), strict=False):
        labels = {"panel": "g", "curve": f"{size}"}
        curves.add_curve(ax, rows, regret.sel(n_items=size), labels=labels, label=f"L = {size}", **look)
        thin = {"color": look["color"], "linewidth": 1.1, "label": "_"}
        labels = {"panel": "g", "curve": f"{size}, non-private"}
        curves.add_curve(ax, rows, baseline.sel(n_items=size), labels=labels, linestyle="--", **thin)
        if random_list:
            ax.plot([0, horizon], [0, random_list[size]], linestyle=":", **thin)
    grey = {"color": report.GREY, "linewidth": 1.1}
    ax.plot([], [], linestyle="--", label="not private, same L", **grey)
    if random_list:
        ax.plot([], [], linestyle=":", label="random list, same L", **grey)


def rises(values: Sequence[Estimate]) -> tuple[list[float], float]:
    """Each step, and the last value minus the first, in standard errors."""
    return [z_score(b, a) for a, b in pairwise(values)], z_score(values[-1], values[0])


def excess_card(
    by_epsilon: xr.DataArray, by_items: xr.DataArray, baseline: xr.DataArray, *, n_items: int, reading: str
) -> report.Card:
    """The excess over the non-private regret falls in epsilon and grows in L; the regrets are those of one reading.

    Holds when both pairs of ends are apart by more than three standard errors and no step goes the other way by more
    than three; fails when one does.
    """
    base = {size: final(baseline, n_items=size) for size in baseline["n_items"].values.tolist()}
    falling = {eps: difference(final(by_epsilon, epsilon=eps), base[n_items]) for eps in by_epsilon["epsilon"].values}
    growing = {
        size: difference(final(by_items, n_items=size), base[size]) for size in by_items["n_items"].values.tolist()
    }
    checked = [rises(list(falling.values())[::-1]), rises(list(growing.values()))]
    return report.verdict(
        "cascading/figure-dp",
        judged(
            shown=all(ends > 3 for _, ends in checked),
            refuted=any(step < -3 for steps, _ in checked for step in steps),
        ),
        reading=reading,
        evidence="confidence",
        level="99.7 %, each comparison",
        check="excess over the non-private regret: falls in ε, grows in L",
        observed="at ε = "
        + ", ".join(f"{eps:g}: {excess}" for eps, excess in falling.items())
        + "; at L = "
        + ", ".join(f"{size}: {excess}" for size, excess in growing.items()),
        required="ends apart by more than 3 standard errors, no step the other way by more than 3",
        margin="ends apart by " + " and ".join(report.approx(ends) for _, ends in checked) + " standard errors",
    )
