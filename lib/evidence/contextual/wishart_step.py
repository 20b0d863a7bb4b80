r"""The Wishart step of Algorithm 3 of [Li2024]: how often its output is impossible under another record.

Line 5 sends :math:`v v^\top` plus noise of mean zero, which is bounded below by :math:`-\frac{4.5 (d + 1)}{\alpha} I`
in the order of matrices. So an output excludes every v for which it lies below that; the empty record has v = 0. The
pair "empty" is the empty record against a unit vector, "orthogonal" two orthogonal unit vectors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dpregret.privacy.audit import lower_limit, upper_limit
from dpregret.privacy.mechanisms import Wishart
from evidence import report

Hits = Mapping[tuple[str, int, float], int]
"""From (pair, dimension, alpha) to the number of runs whose output was impossible under the other record."""

Exact = Mapping[str, Mapping[float, float]]
"""From pair and alpha to the probability of an impossible output, which is the same in all dimensions."""


def impossible(first: np.ndarray, second: np.ndarray, noise: np.ndarray, alpha: float) -> int:
    """How many outputs under the vector ``first``, with the noises (runs, d, d), are impossible under ``second``."""
    d = len(first)
    move = np.outer(first, first) - np.outer(second, second) + 4.5 * (d + 1) / alpha * np.eye(d)
    return int((np.linalg.eigvalsh(noise + move)[:, 0] < 0).sum())


def exact_delta(alphas: Iterable[float]) -> dict[str, dict[float, float]]:
    """The closed forms, from the profiles of `dpregret.privacy.wishart`."""
    alphas = list(alphas)
    return {
        "empty": {a: Wishart(alpha=a, dimension=1).delta(0.0) for a in alphas},
        "orthogonal": {a: Wishart(alpha=a, dimension=2).delta_between([1, 0], [0, 1], 1000.0) for a in alphas},
    }


def single_level(hits: Hits, confidence: float) -> float:
    """The one-sided level at which all two-sided intervals hold together (Bonferroni)."""
    return 1 - (1 - confidence) / (2 * len(hits))


def all_inside(hits: Hits, exact: Exact, *, runs: int, confidence: float) -> bool:
    """Whether the closed forms are inside the Clopper-Pearson intervals of joint level ``confidence``."""
    each = single_level(hits, confidence)
    return all(
        lower_limit(count, runs, confidence=each) <= exact[pair][a] <= upper_limit(count, runs, confidence=each)
        for (pair, _, a), count in hits.items()
    )


def certified(hits: Hits, alpha: float, *, runs: int, confidence: float) -> float:
    """The least lower limit over the dimensions for the empty record at ``alpha``, at the joint level."""
    each = single_level(hits, confidence)
    counts = [count for (pair, _, a), count in hits.items() if pair == "empty" and a == alpha]
    return min(lower_limit(count, runs, confidence=each) for count in counts)


def share(count: int, runs: int) -> tuple[float, float]:
    """A share and its standard error, which is not 0 where no run hits."""
    p = count / runs
    return p, math.sqrt(max(p * (1 - p), 1 / runs) / runs)


def table(hits: Hits, exact: Exact, *, runs: int):
    """A row for each alpha: the closed form, and the simulated share in each dimension."""
    dimensions = list(dict.fromkeys(d for _, d, _ in hits))
    return report.table(
        ["$\\alpha$", "$1 - e^{-\\alpha/9}$", *(f"simulated, $d = {d}$" for d in dimensions)],
        [
            [f"{a:g}", f"{value:.6f}", *(report.approx(*share(hits["empty", d, a], runs)) for d in dimensions)]
            for a, value in exact["empty"].items()
        ],
    )


def draw(
    hits: Hits,
    exact: Exact,
    profiles: Mapping[str, Sequence[float]],
    *,
    grid: np.ndarray,
    runs: int,
    alpha: float,
) -> None:
    """Figure contextual-audit-wishart: two output laws, the probability of an impossible output, and exact profiles.

    ``profiles`` are delta at epsilon in ``grid`` for some pairs of records at ``alpha``.
    """
    rows = report.Rows("panel", "series", "x", "y", "y_se")
    fig, axes = report.panels(3, ncols=3, height=3.3, sharex=False, sharey=False)
    _outputs(axes[0], rows, alpha)
    _probabilities(axes[1], rows, hits, exact, runs)
    _profiles(axes[2], rows, profiles, grid, alpha)
    report.publish(
        fig,
        "contextual-audit-wishart",
        rows,
        alt="Left: two exponential densities, the one under v starts one unit later. Middle: the probability of an "
        "output that is impossible under v against alpha; simulated points for four dimensions lie on the closed form. "
        "Right: delta against epsilon, constant for the empty record against v.",
        caption="The Wishart step of Algorithm 3 for a vector of full length. (a) The output in one dimension at "
        f"α = {alpha:g}; shaded, what is impossible under v. (b) Probability under the empty record (or under an "
        "orthogonal vector of the same length) of an output that is impossible under v: closed forms and "
        f"{runs} runs for each marker. (c) Exact profiles at α = {alpha:g}, any dimension above one, with w orthogonal "
        "to v and of full length; and what Proposition 4.1 claims of this step.",
    )


def _outputs(ax, rows: report.Rows, alpha: float) -> None:
    start, mean = -9 / alpha, 9 / alpha
    m = np.linspace(0, 3.2, 321)
    for name, low, color, style in (
        ("empty record", start, report.BLUE, "-"),
        ("|v| = 1", start + 1, report.RED, "--"),
    ):
        x, density = low + 3 * m, np.exp(-m / mean * 3) / mean
        ax.plot([low, *x], [0, *density], color=color, linestyle=style, label=name)
        rows.add(panel="a", series=name, x=x[::32], y=np.exp(-3 * m[::32] / mean) / mean, y_se=0.0)
    ax.axvspan(start, start + 1, color=report.BLUE, alpha=0.2, linewidth=0)
    ax.annotate(
        "impossible\nunder v",
        (start + 1, 0.35 / mean),
        (start + 3.2, 0.12 / mean),
        fontsize=8.5,
        arrowprops={"arrowstyle": "->", "color": report.BLACK, "linewidth": 0.8},
    )
    ax.set(xlim=(start - 1, start + 9.5), ylim=(0, 1.45 / mean), xlabel="output, $d = 1$", ylabel="density")
    ax.legend(loc="upper right", fontsize=8)


def _probabilities(ax, rows: report.Rows, hits: Hits, exact: Exact, runs: int) -> None:
    alphas = list(exact["empty"])
    fine, colors = np.linspace(0.001, alphas[-1], 40), {"empty": report.BLUE, "orthogonal": report.GREEN}
    closed = exact_delta(fine)
    ax.plot(fine, list(closed["empty"].values()), color=report.BLUE, label="$1 - e^{-\\alpha/9}$")
    ax.plot(fine, list(closed["orthogonal"].values()), color=report.GREEN, linestyle="--", label="orthogonal")
    dimensions = list(dict.fromkeys(d for _, d, _ in hits))
    for index, d in enumerate(dimensions):
        for pair in ("empty", "orthogonal") if d > 1 else ("empty",):
            p, se = np.array([share(hits[pair, d, a], runs) for a in alphas]).T
            look = {"marker": "os^D"[index % 4], "markersize": 4, "markerfacecolor": "none", "linestyle": ""}
            ax.plot(alphas, p, color=colors[pair], label=f"$d = {d}$" if pair == "empty" else None, **look)
            rows.add(panel="b", series=f"{pair}, simulated, d = {d}", x=alphas, y=p, y_se=se)
    for a in alphas:
        for pair in exact:
            rows.add(panel="b", series=f"{pair}, exact", x=a, y=exact[pair][a], y_se=0.0)
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    ax.set(xlabel="$\\alpha$", ylabel="P(impossible output)")
    ax.legend(loc="upper left", fontsize=8)


def _profiles(ax, rows: report.Rows, profiles: Mapping[str, Sequence[float]], grid: np.ndarray, alpha: float) -> None:
    looks = ((report.BLUE, "-"), (report.RED, "-."), (report.GREEN, "--"))
    for (name, values), (color, style) in zip(profiles.items(), looks, strict=False):
        ax.plot(grid, values, color=color, linestyle=style, label=name)
        rows.add(panel="c", series=name, x=grid[::4], y=values[::4], y_se=0.0)
    ax.plot([alpha / 3, 1], [0, 0], color=report.BLACK, linewidth=3, solid_capstyle="butt", label="claimed")
    ax.set(ylim=(-0.003, 1.75 * Wishart(alpha=alpha, dimension=1).delta(0.0)), xlabel="$\\varepsilon$")
    ax.set_ylabel("exact $\\delta$")
    ax.legend(loc="upper right", fontsize=8)
