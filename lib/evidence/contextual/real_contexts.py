"""Regret on contexts of a data set: the figure and the tables of ``notebooks/contextual/real_contexts``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evidence import report


class PerUser(NamedTuple):
    """Regret divided by T of one method on one problem: arrays of log10 T, its mean and its standard error."""

    x: np.ndarray
    mean: np.ndarray
    se: np.ndarray

    @classmethod
    def of(cls, log_horizons: Sequence[float], regret) -> PerUser:
        """From repeated runs (horizons, repetitions)."""
        regret = np.asarray(regret)
        se = regret.std(axis=1, ddof=1) / np.sqrt(regret.shape[1])
        return cls(np.array(log_horizons, dtype=float), regret.mean(axis=1), se)

    def at(self, x: float) -> tuple[float, float] | None:
        """Mean and standard error at 10^x users, None where that was not run."""
        here = np.flatnonzero(self.x == x)
        return (float(self.mean[here[0]]), float(self.se[here[0]])) if here.size else None


Results = Mapping[tuple[int, str], PerUser]


def draw(results: Results, uniform: Mapping[int, float], alpha: float) -> None:
    """Figure contextual-real-contexts: a panel a dimension; ``uniform[d]`` is the regret of a round of uniform play."""
    rows = report.Rows("d", "method", "log10_horizon", "regret_per_user", "regret_per_user_se")
    fig, axes = report.panels(len(uniform), len(uniform), height=4.4)
    for ax, d in zip(axes, uniform, strict=True):
        for (dimension, name), found in results.items():
            if dimension == d:
                report.band(ax, 10.0**found.x, found.mean, found.se, key=name)
                rows.add(
                    d=d, method=name, log10_horizon=found.x, regret_per_user=found.mean, regret_per_user_se=found.se
                )
        ax.axhline(uniform[d], **report.series("uniform play"))
        ax.set(xscale="log", yscale="log", xlabel="users T", ylim=(1e-6, 1))
        ax.set_title(f"d = {d}", loc="right")
    axes[0].set_ylabel("regret divided by T")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=2)
    report.publish(
        fig,
        "contextual-real-contexts",
        rows,
        alt="Regret per user against the number of users for dimension two, three and four. Methods without privacy "
        "learn within the first hundred thousand users. Private ones follow uniform play for ten million users or "
        "more; perturbed statistics and the corrected LPLR then fall, at similar horizons.",
        caption=f"Mean regret of a user on contexts from the breast cancer data. ε in force: α = {alpha:g} for the "
        "four private methods (the width scale does not change the messages); none for least squares and LinUCB. "
        + report.BAND_NOTE,
    )


def share(found: PerUser, uniform: float, x: float) -> str:
    """Regret at 10^x users as a share of that of uniform play; with its error where that says something."""
    at = found.at(x)
    if at is None:
        return "–"
    mean, se = (value / uniform for value in at)
    return report.approx(mean, se if mean < 0.999 and se > 1e-6 * mean else None)


def share_table(
    d: int, results: Results, uniform: float, epsilons: Mapping[str, str], log_horizons: Sequence[float]
) -> Any:
    """Shares of one dimension; ``epsilons`` says what is in force for each method, in the table's order."""
    return report.table(
        [f"d = {d}", "ε in force", *(f"T = 10^{x:g}" for x in log_horizons)],
        [
            [report.series(name)["label"], epsilon, *(share(results[d, name], uniform, x) for x in log_horizons)]
            for name, epsilon in epsilons.items()
        ],
    )
