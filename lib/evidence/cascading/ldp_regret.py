"""Figure 1 (a) to (d) of [Wang2021]: regret against the round under local privacy, and the two sentences about it.

The grid of results is an `xarray.Dataset` with ``regret`` (reading, epsilon, algorithm, replicate, round) and
``value_epsilon`` (reading, epsilon, algorithm); ``baseline`` is the regret (replicate, round) without privacy.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Section 7.
"""

from __future__ import annotations

from typing import Any

import xarray as xr

from dpregret.cascading import CascadeProblem
from evidence import report
from evidence.cascading import curves
from evidence.cascading.comparisons import Estimate, estimate, final, ordered, share_above, z_score

MECHANISMS = ["laplace", "gaussian"]
"""The two that the sentences are about; composition is an addition."""


def draw(
    grid: xr.Dataset,
    baseline: xr.DataArray,
    *,
    reading: str,
    random_list: float,
    problem: CascadeProblem,
    instance: str,
) -> None:
    """Publish the curves of one reading, a panel an epsilon; ``random_list`` is the final regret of a random list."""
    shown = grid.sel(reading=reading)
    horizon = int(baseline["round"][-1])
    top = 1.08 * max(map(curves.largest_mean, (shown["regret"], baseline)))
    fig, axes = report.panels(shown.sizes["epsilon"], height=2.9)
    rows = curves.regret_rows("epsilon", "algorithm")
    for ax, eps in zip(axes, shown["epsilon"].values, strict=True):
        panel = shown.sel(epsilon=eps)
        curves.add_curve(ax, rows, baseline, labels={"epsilon": eps, "algorithm": "non-private"}, key="non-private")
        for name in panel["algorithm"].values.tolist():
            labels = {"epsilon": eps, "algorithm": name}
            curves.add_curve(ax, rows, panel["regret"].sel(algorithm=name), labels=labels, key=name)
        curves.add_random_line(ax, horizon, random_list)
        in_force = ", ".join(map(report.short, panel["value_epsilon"].values))
        ax.set_title(f"ε = {eps:g} (in force {in_force})", fontsize=9.5, loc="right")
        curves.finish_axes(ax, horizon, top)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=3, fontsize=9)
    report.publish(
        fig,
        curves.figure_name("cascading-ldp-regret", reading),
        rows,
        alt=f"Cumulative regret against the round at each epsilon, reading {reading}: the non-private policy and the "
        "three private ones (composition is not in the paper's figure), with the line of a random list.",
        caption=f"Figure 1 (a) to (d) of {{cite:t}}`Wang2021`, reading “{reading}”: {curves.MEANING[reading]}. "
        f"K = {problem.list_length}, L = {problem.n_items}, instance “{instance}”, {baseline.sizes['replicate']} "
        "repetitions. The title of a panel gives the ε of the text and the ε in force for the noisy values alone "
        "(value_epsilon; with everything that leaves it is infinite) of Laplace, Gaussian and composition, in this "
        "order (at the same δ). " + report.BAND_NOTE,
    )


def pair(regret: xr.DataArray, **at: Any) -> list[Estimate]:
    """The final regrets of Laplace and Gaussian at one reading and epsilon."""
    return [final(regret, algorithm=name, **at) for name in MECHANISMS]


def final_lines(regret: xr.DataArray, baseline: xr.DataArray) -> list[str]:
    """The final regrets of Laplace and Gaussian, a line for each reading and epsilon, and the non-private one."""
    lines = []
    for reading in regret["reading"].values:
        for eps in regret["epsilon"].values:
            laplace, gaussian = pair(regret, reading=reading, epsilon=eps)
            lines.append(f"{reading:16s} ε = {eps:<4g} Laplace {laplace}, Gaussian {gaussian}")
    return [*lines, f"non-private {final(baseline)}"]


def order_cards(regret: xr.DataArray, baseline: xr.DataArray, *, instance: str) -> list[report.Card]:
    """Sentence (i), one card a reading: Laplace above Gaussian above non-private, at every epsilon.

    A difference counts beyond three standard errors, on either side.
    """
    cards = []
    for reading in regret["reading"].values.tolist():
        first, second = {}, {}
        for eps in regret["epsilon"].values:
            laplace, gaussian = pair(regret, reading=reading, epsilon=eps)
            first[eps], second[eps] = z_score(laplace, gaussian), z_score(gaussian, final(baseline))
        cards.append(
            report.verdict(
                "cascading/figure-order",
                ordered([*first.values(), *second.values()]),
                reading=reading,
                evidence="confidence",
                level="99.7 %, each difference",
                check="final regret, Laplace > Gaussian > non-private",
                observed="Laplace minus Gaussian in standard errors, at ε = "
                + ", ".join(f"{eps:g}: {report.approx(z)}" for eps, z in first.items()),
                required="above 3 at every ε, and Gaussian above non-private likewise",
                margin=f"Gaussian minus non-private: at least {report.approx(min(second.values()))} standard errors; "
                f"instance “{instance}”",
            )
        )
    return cards


def growth_cards(ratio: xr.DataArray, *, instance: str) -> list[report.Card]:
    """Sentence (ii), one card a reading: the regrets of Laplace and Gaussian grow like log T.

    ``ratio`` is the doubling ratio (reading, epsilon, algorithm, replicate). A reading fails when, where its mean is
    largest, most runs exceed 1.5 at 99.9 % confidence.
    """
    cards = []
    for reading in ratio["reading"].values.tolist():
        curve = ratio.sel(reading=reading, algorithm=MECHANISMS).stack(curve=["epsilon", "algorithm"])
        runs = curve.isel(curve=int(curve.mean("replicate").argmax("curve")))
        share = share_above(runs, 1.5)
        beyond = f"share of runs above 1.5 is at least {report.approx(share)}; " if share > 0.5 else ""
        cards.append(
            report.verdict(
                "cascading/figure-log-growth",
                "fails" if share > 0.5 else "consistent",
                reading=reading,
                evidence="confidence",
                level="99.9 %",
                check="doubling ratio of the private regret (1: logarithmic, 2: linear)",
                observed=f"largest mean ratio {estimate(runs)}",
                required="1 in the limit; no ε at which most runs exceed 1.5",
                margin=f"{beyond}instance “{instance}”",
            )
        )
    return cards


def ratio_lines(ratio: xr.DataArray) -> list[str]:
    """The mean doubling ratios of Laplace and Gaussian, from (epsilon, algorithm, replicate), a line an epsilon."""
    return [
        f"ε = {eps:<4g} Laplace, Gaussian: "
        + ", ".join(str(estimate(ratio.sel(epsilon=eps, algorithm=name))) for name in MECHANISMS)
        for eps in ratio["epsilon"].values
    ]
