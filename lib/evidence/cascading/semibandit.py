"""Figure 1 (h) and (i) of [Wang2021]: Algorithm 4 beside its non-private base, and the sentence about their gap.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Sections 5.3 and 7.
"""

from __future__ import annotations

import xarray as xr

from dpregret.cascading import SemiBanditProblem
from evidence import report
from evidence.cascading import curves
from evidence.cascading.comparisons import difference, final, ordered, z_score

BASE = {"label": "CUCB (not private)", "color": report.BLACK, "linestyle": "-", "marker": ""}
PRIVATE = {"label": "Algorithm 4 (Gaussian LDP)", "color": report.RED, "linestyle": "--", "marker": "s"}


def draw(
    grid: xr.Dataset,
    baseline: xr.DataArray,
    *,
    reading: str,
    random_set: float,
    reward: str,
    problem: SemiBanditProblem,
    instance: str,
) -> None:
    """Publish the regret curves under one reading, a panel an epsilon.

    ``grid`` has ``regret`` (reading, epsilon, replicate, round) and ``value_epsilon`` (reading, epsilon) for one
    reward, ``baseline`` is the regret (replicate, round) of CUCB, ``random_set`` that of a random super arm at the end.
    """
    shown = grid.sel(reading=reading)
    horizon = int(baseline["round"][-1])
    scaled = reading == "noise and bonus"
    top = 1.35 * curves.largest_mean(shown["regret"]) if scaled else 1.05 * random_set
    fig, axes = report.panels(shown.sizes["epsilon"], height=3.0)
    rows = curves.regret_rows("epsilon", "algorithm")
    for ax, eps in zip(axes, shown["epsilon"].values, strict=True):
        private = shown.sel(epsilon=eps)
        curves.add_curve(ax, rows, baseline, labels={"epsilon": eps, "algorithm": "cucb"}, **BASE)
        labels = {"epsilon": eps, "algorithm": "gaussian cucb"}
        curves.add_curve(ax, rows, private["regret"], labels=labels, **PRIVATE)
        curves.add_random_line(ax, horizon, random_set, label="Random super arm")
        in_force = report.short(float(private["value_epsilon"]))
        ax.set_title(f"ε = {eps:g} (in force {in_force})", fontsize=9.5, loc="right")
        curves.finish_axes(ax, horizon, top)
    axes[-1 if scaled else 0].legend(fontsize=8, loc="upper right" if scaled else "upper left")
    report.publish(
        fig,
        curves.figure_name("cascading-semibandit", reading),
        rows,
        alt=f"Cumulative regret against the round at each epsilon, reading {reading}: CUCB without privacy and "
        "Algorithm 4, with the line of a random super arm.",
        caption=f"Figure 1 (h) and (i) of {{cite:t}}`Wang2021`, reading “{reading}”: {curves.MEANING[reading]}. Reward "
        f"“{reward}”, K = {problem.list_length}, m = {problem.n_arms}, instance “{instance}”, "
        f"{baseline.sizes['replicate']} repetitions. The title of a panel gives the ε of the text and the ε in force "
        "for the noisy outcomes at the same δ; the initial observations are raw, as printed. " + report.BAND_NOTE,
    )


def gap_card(regret: xr.DataArray, baseline: xr.DataArray, *, reading: str) -> report.Card:
    """The gap to the non-private algorithm is larger at the smallest epsilon than at the largest, for every reward.

    ``regret`` (reward, epsilon, replicate, round), ``baseline`` (reward, replicate, round).  The difference of the gaps
    is that of the private regrets.
    """
    epsilons = regret["epsilon"].values
    small, large = epsilons.min(), epsilons.max()
    z, observed = {}, []
    for kind in regret["reward"].values.tolist():
        base = final(baseline, reward=kind)
        low, high = (final(regret, reward=kind, epsilon=eps) for eps in (small, large))
        z[kind] = z_score(low, high)
        observed.append(f"{kind} reward: {difference(low, base)} and {difference(high, base)}")
    return report.verdict(
        "cascading/figure-cucb",
        ordered(list(z.values())),
        reading=reading,
        evidence="confidence",
        level="99.7 %, each reward",
        check=f"final gap to the non-private algorithm at ε = {small:g} and {large:g}",
        observed="; ".join(observed),
        required=f"larger at ε = {small:g}",
        margin="difference in standard errors: " + ", ".join(f"{kind} {report.approx(v)}" for kind, v in z.items()),
    )
