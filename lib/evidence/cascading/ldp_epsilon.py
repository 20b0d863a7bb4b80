"""Figure 1 (e) of [Wang2021]: the final regret against epsilon under local privacy, and the sentence about it.

``final`` maps a reading to the final regret (epsilon, algorithm, replicate), each on its own grid of epsilon;
``baseline`` is the final regret (replicate) without privacy.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Section 7.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from scipy.stats import norm

from dpregret.cascading import CascadeProblem
from evidence import report
from evidence.cascading.comparisons import Estimate, difference, estimate, judged, share_above, z_score


def draw(
    final: Mapping[str, xr.DataArray],
    baseline: xr.DataArray,
    *,
    reading: str,
    random_list: float,
    in_force: tuple[float, float],
    horizon: int,
    problem: CascadeProblem,
    instance: str,
) -> None:
    """Publish the final regret under a reading, with the honest one beside it.

    ``random_list`` is the regret of a random list, ``in_force`` the value_epsilon of Laplace under ``reading`` at the
    smallest and at the largest epsilon.
    """
    shown = list(dict.fromkeys([reading, "honest"]))
    epsilon_max = float(final[reading]["epsilon"][-1])
    flat = Estimate(*(np.full(2, number) for number in estimate(baseline)))
    fig, axes = report.panels(len(shown), height=3.4, sharey=False)
    rows = report.Rows("reading", "algorithm", "epsilon", "regret", "regret_se")
    for ax, name in zip(axes, shown, strict=True):
        for algorithm in final[name]["algorithm"].values.tolist():
            mean, se = estimate(final[name].sel(algorithm=algorithm))
            report.band(ax, mean["epsilon"], mean, se, key=algorithm)
            rows.add(reading=name, algorithm=algorithm, epsilon=mean["epsilon"], regret=mean, regret_se=se)
        report.band(ax, [0.0, epsilon_max], *flat, key="non-private")
        ax.plot([0, epsilon_max], [random_list] * 2, **report.series("random list"))
        ax.set_title("honest noise" if name == "honest" else f"{name} × 0.01")
        ax.set_xlim(0, epsilon_max)
        ax.set_ylim(0, 1.08 * random_list)
        ax.set_xlabel("ε of the text")
        ax.set_ylabel(f"regret after {horizon} rounds")
    axes[0].legend(loc="center right", fontsize=8)
    report.publish(
        fig,
        "cascading-ldp-epsilon",
        rows,
        alt="Final regret against epsilon for the Laplace and Gaussian mechanisms, the non-private policy and a random "
        f"list, under the reading {reading} and with honest noise.",
        caption=f"Figure 1 (e) of {{cite:t}}`Wang2021`. Left: reading “{reading}”, where the privacy in force for the "
        f"Laplace values alone (value_epsilon) runs from ε = {in_force[0]:.3g} to {in_force[1]:.3g}. Right: the noise "
        f"of the stated ε. K = {problem.list_length}, L = {problem.n_items}, instance “{instance}”, "
        f"{baseline.sizes['replicate']} repetitions. " + report.BAND_NOTE,
    )


def decay_card(regret: xr.DataArray, baseline: xr.DataArray, *, reading: str, instance: str) -> report.Card:
    """Sentence (iii): the regret falls in epsilon, for both mechanisms, soon to the non-private one.

    Fails when most runs at the largest epsilon are above twice the non-private mean at 99.9 % confidence; holds when
    the fall is beyond three standard errors and no run is above it.
    """
    base, last = estimate(baseline), regret.isel(epsilon=-1)
    ends = {name: estimate(last.sel(algorithm=name)) for name in ("laplace", "gaussian")}
    fall = min(z_score(estimate(regret.isel(epsilon=0).sel(algorithm=name)), end) for name, end in ends.items())
    above = [share_above(last.sel(algorithm=name), 2 * base.mean) for name in ends]
    return report.verdict(
        "cascading/figure-decay",
        judged(shown=fall > 3 and max(above) == 0, refuted=max(above) > 0.5),
        reading=reading,
        evidence="confidence",
        level="99.7 %",
        check=f"regret at ε = {regret['epsilon'][-1]:g} against the non-private policy",
        observed=f"Laplace {ends['laplace']}, Gaussian {ends['gaussian']}; non-private {base}",
        required="falling in ε, and at most twice the non-private regret at the end",
        margin=f"fall of at least {report.approx(fall)} standard errors; instance “{instance}”",
    )


def group_differences(regret: xr.DataArray, *, groups: int = 10) -> np.ndarray:
    """Laplace minus Gaussian in standard errors, over groups of neighbouring epsilon, from the smallest epsilon up."""
    mean, se = difference(*(estimate(regret.sel(algorithm=name)) for name in ("laplace", "gaussian")))
    parts = np.array_split(np.arange(mean.size), groups)
    return np.array([mean.values[part].sum() / np.sqrt((se.values[part] ** 2).sum()) for part in parts])


def gaussian_card(z: np.ndarray, *, reading: str, instance: str) -> report.Card:
    """Sentence (iii), "especially" the Gaussian mechanism: some group of `group_differences` above, none below.

    The limit covers all groups together at 99.7 %.
    """
    limit = norm.isf(0.003 / 2 / len(z))
    return report.verdict(
        "cascading/figure-decay-gaussian",
        judged(shown=z.max() > limit, refuted=z.min() < -limit),
        reading=reading,
        evidence="confidence",
        level="99.7 %, all groups together",
        check="Laplace minus Gaussian in standard errors, ten groups of ε from the smallest to the largest",
        observed=", ".join(report.approx(x) for x in z),
        required=f"some above {limit:.2f} and none below -{limit:.2f}",
        margin=f"largest and smallest: {report.approx(z.max())}, {report.approx(z.min())}; instance “{instance}”",
    )
