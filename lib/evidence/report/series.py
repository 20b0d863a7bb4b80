"""One look for every figure: the style, and what a colour means.

The colours are those of Okabe and Ito, told apart by readers with any common colour vision; each series also has its
line style and marker, so that a grey print can be read. A key stands for the same algorithm in every figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from cycler import cycler

from dpregret import _checks

BLACK, GREY = "#000000", "#7a7a7a"
ORANGE, SKY, GREEN, BLUE, RED, PURPLE = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"

WIDTH = 7.5
"""Width of a figure in inches; 750 CSS pixels, the column of the book."""

_STYLE: dict[str, Any] = {
    "figure.figsize": (WIDTH, 4.0),
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "axes.prop_cycle": cycler(color=[BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK]),
    "svg.hashsalt": "dpregret",
    "svg.fonttype": "path",
}


def style() -> None:
    """Set matplotlib's defaults to the book's; called once at the top of a notebook."""
    mpl.rcParams.update(_STYLE)


@dataclass(frozen=True)
class Series:
    """How one algorithm or bound is drawn and named."""

    label: str
    color: str
    linestyle: Any = "-"
    marker: str = ""


SERIES: dict[str, Series] = {
    "non-private": Series("CascadeUCB1 (not private)", BLACK, "-", ""),
    "laplace": Series("Laplace LDP (Algorithm 2)", BLUE, "-", "o"),
    "gaussian": Series("Gaussian LDP (Algorithm 3)", RED, "--", "s"),
    "composition": Series("Composition LDP (Theorem 7)", GREEN, "-.", "^"),
    "hybrid": Series("Hybrid DP (Algorithm 1)", PURPLE, "-", "D"),
    "first-position ucb": Series("First position LDP, UCB", ORANGE, "-", "v"),
    "first-position kl": Series("First position LDP, KL", ORANGE, ":", "P"),
    "click-position": Series("Click position LDP", SKY, "-", "X"),
    "first-position dp": Series("First position DP", PURPLE, "--", "<"),
    "click-observation dp": Series("Click and observation DP", SKY, "--", ">"),
    "random list": Series("Random list", GREY, (0, (1, 1)), ""),
    "bound printed": Series("Bound as printed", RED, (0, (5, 1)), ""),
    "bound corrected": Series("Bound corrected", GREEN, (0, (5, 1)), ""),
    "lower bound": Series("Lower bound", GREY, (0, (3, 1, 1, 1)), ""),
    "lplr corrected rr": Series("LPLR corrected, randomised response", BLUE, "-", "o"),
    "lplr corrected laplace": Series("LPLR corrected, Laplace", SKY, "-", "s"),
    "lplr tuned": Series("Paper's LPLR with corrections, constants tuned", PURPLE, "-.", "v"),
    "lplr printed": Series("Paper's LPLR with corrections, own constants", RED, "--", "^"),
    "perturbed statistics": Series("Perturbed statistics", ORANGE, "-", "D"),
    "input perturbation": Series("Input perturbation", GREEN, "--", "P"),
    "least squares": Series("Least squares (not private)", BLACK, "-", ""),
    "linucb": Series("LinUCB (not private)", GREY, "--", "x"),
    "uniform play": Series("Uniform play", GREY, (0, (1, 1)), ""),
    "exponential weights": Series("Exponential weights", BLUE, "-", "o"),
    "text": Series("Text (advanced composition)", RED, "--", "s"),
    "basic": Series("Basic composition", PURPLE, ":", "x"),
    "optimal": Series("Optimal composition", ORANGE, "-.", "^"),
    "zcdp": Series("zCDP", BLUE, "-", "o"),
    "zcdp optimal": Series("zCDP, best order", SKY, "-", "P"),
    "adaptive recursion": Series("Adaptive recursion", PURPLE, "-", "v"),
    "bounded range": Series("Exact, oblivious losses only", GREEN, "-", "D"),
    "batched": Series("Batched, oblivious losses only", SKY, "--", "v"),
    "no privacy": Series("Without privacy", BLACK, (0, (1, 1)), ""),
    "rate score": Series("Rate score (the text's selector)", RED, "-", "s"),
    "count score": Series("Count score", GREEN, "-", "D"),
    "permute and flip": Series("Permute-and-flip", BLUE, "--", "v"),
}


def register_series(key: str, label: str, color: str, linestyle: Any = "-", marker: str = "") -> None:
    """Give ``key`` its look in every figure; ValueError if the key has another one."""
    entry = Series(label, color, linestyle, marker)
    if SERIES.setdefault(key, entry) != entry:
        raise ValueError(f"key must be new, got {key!r}, which is {SERIES[key]}")


def series(key: str, **changes: Any) -> dict[str, Any]:
    """Keyword arguments of ``ax.plot`` for a named series; ``changes`` replaces some, such as the label."""
    entry = SERIES[_checks.choice("key", key, tuple(SERIES))]
    look = {"label": entry.label, "color": entry.color, "linestyle": entry.linestyle, "marker": entry.marker}
    return look | changes
