"""The figure of the page on confidence bands: coverage with line 11, by width scale, and with line 13."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from evidence import report
from evidence.contextual.line_11 import Limit
from evidence.contextual.shares import Share


def draw(
    line_11: Mapping[tuple[str, float], Share],
    limit: Mapping[float, Limit],
    along: float,
    scales: Mapping[tuple[str, float], Share],
    upper: Mapping[float, tuple[Share, Share]],
    *,
    alpha: float,
    confidence: float,
    delta: float,
    lemma_delta: float,
    log_scale_horizon: float,
) -> None:
    """Coverage with line 11, against the width scale, and of the estimate of line 13.

    Parameters
    ----------
    line_11 : by ("e1" | "along" | "all points", log10 T)
    limit : by log10 T, on a grid: the curve; its bounds free of T are the band
    along : the bound along the direction learned
    scales : by (instance, width scale)
    upper : by log10 T, line 13 as printed and corrected
    confidence : joint level of the intervals of a panel
    delta, lemma_delta : those of the second and the third panel
    log_scale_horizon : log10 T of the second panel
    """
    fig, axes = report.panels(3, ncols=3, height=3.9, sharex=False, sharey=True)
    rows = report.Rows("panel", "series", "x", "y", "y_se")
    _draw_line_11(axes[0], line_11, limit, along, rows)
    _draw_scales(axes[1], scales, 1 - delta, rows)
    _draw_line_13(axes[2], upper, 1 - lemma_delta, rows)
    axes[0].set_ylim(-0.03, 1.18)
    axes[0].set_yticks(np.arange(0, 1.01, 0.2))
    for ax in axes:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=1, fontsize=8)
    runs, cover_runs = (next(iter(cells.values())).runs for cells in (line_11, scales))
    report.publish(
        fig,
        "contextual-confidence-coverage",
        rows,
        alt="Left: coverage at an unseen vector with line 11 as printed stays between 0.55 and 0.57 from T = 1e14 to "
        "1e24, along the learned direction below 0.03, and is 1 once corrected. Middle: coverage of the corrected "
        "algorithm against a width scale falls from 1 at scale 1 to nearly 0 at 0.03. Right: line 13 as printed gives "
        "an upper estimate in half of the bins, corrected in all.",
        caption=f"α = {alpha:g}. (a) Coverage with line 11 as printed, at a vector that no user had (band: bounds free "
        f"of T) and along the direction learned (dashed: bound α/4d); corrected, at all points; {runs} runs each, the "
        "paper's constants and δ = 1/T². (b) Coverage of all points by the corrected algorithm (α-LDP) against a "
        f"factor on its widths, T = 10^{log_scale_horizon:g}, {cover_runs} runs each; dotted: nominal 1 − δ. (c) "
        f"Share of bins in which the estimate of the carried-over error is an upper one, δ = {lemma_delta:g}; dashed "
        f"1/2, dotted 1 − δ. Bars are joint {confidence:.0%} Clopper–Pearson intervals.",
    )


def _marks(ax, x: Sequence[float], cells: Sequence[Share], color: str, marker: str, label: str) -> None:
    mid, low, high = (np.array(part) for part in zip(*((s.value, s.low, s.high) for s in cells), strict=True))
    bars = [np.maximum(mid - low, 0), np.maximum(high - mid, 0)]
    look = {"linestyle": "", "markersize": 5, "capsize": 2.5, "elinewidth": 1.1, "markerfacecolor": color}
    ax.errorbar(x, mid, bars, color=color, marker=marker, label=label, **look)


def _standard_errors(cells: Sequence[Share]) -> list[float]:
    """Of shares; at least 1 / runs."""
    return [max(math.sqrt(s.value * (1 - s.value) / s.runs), 1 / s.runs) for s in cells]


def _draw_line_11(ax, shares, limit: Mapping[float, Limit], along: float, rows: report.Rows) -> None:
    first = next(iter(limit.values()))
    fine, curve = list(limit), [law.covered for law in limit.values()]
    ax.fill_between(fine, first.low, first.high, color=report.RED, alpha=0.12, linewidth=0)
    ax.plot(fine, curve, color=report.RED, label="at $e_1$, closed form")
    ax.axhline(along, color=report.PURPLE, linestyle="--", linewidth=1.2)
    log_horizons = [x for name, x in shares if name == "e1"]
    for name, color, marker, label, series in (
        ("all points", report.GREEN, "s", "corrected", "mended"),
        ("e1", report.RED, "o", "at $e_1$", "at $e_1$"),
        ("along", report.PURPLE, "^", "along $\\hat u$", "along $\\hat u$"),
    ):
        cells = [shares[name, x] for x in log_horizons]
        _marks(ax, log_horizons, cells, color, marker, label)
        y = [s.value for s in cells]
        rows.add(panel="a", series=series, x=log_horizons, y=y, y_se=_standard_errors(cells))
    rows.add(panel="a", series="at $e_1$, closed form", x=fine[::20], y=curve[::20], y_se=0.0)
    ax.set_xticks(range(int(min(log_horizons)), 25, 2))
    ax.set_xlabel("$\\log_{10} T$")
    ax.set_ylabel("share of runs")
    ax.set_title("line 11", fontsize=10)


def _draw_scales(ax, shares, nominal: float, rows: report.Rows) -> None:
    colors = (report.BLUE, report.ORANGE, report.GREEN, report.PURPLE)
    scales = list(dict.fromkeys(scale for _, scale in shares))
    instances = list(dict.fromkeys(label for label, _ in shares))
    for label, color, marker in zip(instances, colors[: len(instances)], "osD^"[: len(instances)], strict=True):
        cells = [shares[label, scale] for scale in scales]
        y = [s.value for s in cells]
        _marks(ax, scales, cells, color, marker, label)
        ax.plot(scales, y, color=color, linewidth=1)
        rows.add(panel="b", series=label, x=scales, y=y, y_se=_standard_errors(cells))
    least = min(scales)
    ax.set_xscale("log")
    ax.axhline(nominal, color=report.GREY, linewidth=1, linestyle=":")
    if least < 1:
        ax.axvspan(least / 1.4, 0.98, color=report.GREY, alpha=0.12, linewidth=0)
        ax.text(math.sqrt(least / 1.4), 1.1, "heuristic", ha="center", fontsize=8.5, color="#555555")
    ax.set_xlim(least / 1.4, 1.7)
    ax.set_xticks(scales, [f"{x:g}" for x in scales])
    ax.minorticks_off()
    ax.set_xlabel("width scale")
    ax.set_title("corrected algorithm", fontsize=10)


def _draw_line_13(ax, upper: Mapping[float, tuple[Share, Share]], nominal: float, rows: report.Rows) -> None:
    x = list(upper)
    for i, (color, marker, label) in enumerate(
        ((report.RED, "o", "as printed"), (report.GREEN, "s", "with $\\sqrt{n}$"))
    ):
        cells = [pair[i] for pair in upper.values()]
        _marks(ax, x, cells, color, marker, label)
        rows.add(panel="c", series=label, x=x, y=[s.value for s in cells], y_se=_standard_errors(cells))
    ax.axhline(0.5, color=report.RED, linewidth=1, linestyle="--")
    ax.axhline(nominal, color=report.GREY, linewidth=1, linestyle=":")
    ax.set_xlim(min(x) - 0.7, max(x) + 0.7)
    ax.set_xlabel("$\\log_{10} T$")
    ax.set_title("line 13", fontsize=10)
