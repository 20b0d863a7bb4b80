"""Curves of the regret against the round, and how a figure of [Wang2021] is named and described.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Section 7 and Figure 1.
"""

from __future__ import annotations

from typing import Any

import xarray as xr

from dpregret import _checks
from dpregret.cascading import READINGS
from evidence import report

MEANING = {
    "noise and bonus": "the noise and its part of the bonus are multiplied by 0.01",
    "noise only": "the noise is multiplied by 0.01, the bonus is as printed",
    "honest": "no multiplier: the noise of the stated ε",
}
"""What each reading of "all noises are multiplied by 0.01" does, for a caption."""


def figure_name(exhibit: str, reading: str) -> str:
    """``<exhibit>-honest`` for the noise of the stated epsilon, ``<exhibit>-scaled`` with a multiplier."""
    return f"{exhibit}-" + ("honest" if _checks.choice("reading", reading, READINGS) == "honest" else "scaled")


def regret_rows(*labels: str) -> report.Rows:
    """The columns behind a figure of regret curves: the curve's labels, then round, regret and its standard error."""
    return report.Rows(*labels, "round", "regret", "regret_se")


def add_curve(ax, rows: report.Rows, regret: xr.DataArray, *, labels: dict[str, Any], **look: Any) -> None:
    """Draw the mean of ``regret`` (replicate, round) with its band; every tenth round goes into ``rows``.

    ``labels`` are the curve's entries in the other columns of ``rows``, ``look`` arguments of `evidence.report.band`.
    """
    mean, se = report.mean_se(regret)
    report.band(ax, mean["round"], mean, se, **look)
    kept = slice(9, None, 10)
    rows.add(**labels, round=mean["round"][kept], regret=mean[kept], regret_se=se[kept])


def add_random_line(ax, horizon: int, regret: float, **look: Any) -> None:
    """The line of a list drawn at random every round, which ends at ``regret``."""
    ax.plot([0, horizon], [0, regret], **report.series("random list", **look))


def finish_axes(ax, horizon: int, top: float) -> None:
    """Limits and labels of a panel of regret against the round."""
    ax.set_xlim(0, horizon)
    ax.set_ylim(0, top)
    ax.set_xlabel("round")
    ax.set_ylabel("cumulative regret")


def largest_mean(regret: xr.DataArray) -> float:
    """The largest mean over the repetitions, of any curve at any round."""
    return float(regret.mean("replicate").max())
