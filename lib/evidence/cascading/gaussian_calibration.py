"""The classical Gaussian calibration: Lemma 3 of [Wang2021], and Theorem 8, whose noise it is.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Lemma 3 and Theorem 8.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import brentq

from dpregret.cascading import GaussianCUCB
from dpregret.privacy.mechanisms import Gaussian
from evidence import report
from evidence.cascading import enclosures
from evidence.report.enclosure import ball, proves, show
from evidence.report.tables import Markdown

REFUTED = 8, "0.001"
"""The epsilon and the promised delta at which Lemma 3 is refuted in balls."""


def true_delta(epsilon: float, delta: float) -> float:
    """The exact delta of the classical calibration for (epsilon, delta); it depends on nothing else."""
    return Gaussian.classical(epsilon=epsilon, delta=delta, sensitivity=1.0).delta(epsilon)


def excess_noise(epsilon: float, delta: float) -> float:
    """The classical sigma over the smallest sufficient one."""
    setting = {"epsilon": epsilon, "delta": delta, "sensitivity": 1.0}
    return Gaussian.classical(**setting).sigma / Gaussian.analytic(**setting).sigma


def last_epsilon(delta: float) -> float:
    """The largest epsilon for which Lemma 3 is true at this delta: its true delta increases in epsilon."""
    return brentq(lambda eps: math.log(true_delta(eps, delta) / delta), 0.5, 100, xtol=1e-12)


def tables(last: Mapping[float, float], epsilons: Sequence[float], *, delta: float) -> list[Markdown]:
    """Up to where Lemma 3 is true, by delta; and what it costs at the epsilons of the experiments."""
    return [
        report.table(["δ", "Lemma 3 true up to ε ="], [[f"{d:g}", f"{eps:.4f}"] for d, eps in last.items()]),
        report.table(
            ["ε of the experiments", f"true δ at the stated σ (δ = {delta:g})", "σ over the smallest sufficient σ"],
            [[f"{eps:g}", f"{true_delta(eps, delta):.2e}", f"{excess_noise(eps, delta):.3f}"] for eps in epsilons],
        ),
    ]


Ratios = Mapping[tuple[float, float, int], float]
"""True over promised delta, by (epsilon, delta, K)."""


def semibandit_ratios(deltas: Sequence[float]) -> Ratios:
    """`semibandit_ratio` on a grid of epsilon in the range of Lemma 3 and beyond, delta and K."""
    grid = itertools.product((0.05, 0.2, 0.5, 1.0, 10.0), deltas, (1, 2, 4, 8, 16))
    return {key: semibandit_ratio(*key) for key in grid}


def semibandit_ratio(epsilon: float, delta: float, list_length: int) -> float:
    """The true delta of Algorithm 4's noise over the promised one, for outcomes in [0, 1]^K."""
    sigma = GaussianCUCB(epsilon=epsilon, delta=delta).noise(list_length).scale
    return Gaussian(sigma, sensitivity=math.sqrt(list_length)).delta(epsilon) / delta


def draw(last: Mapping[float, float], *, experiments: tuple[float, float]) -> None:
    """Publish true over promised delta against epsilon; ``last`` maps each delta to `last_epsilon`."""
    fig, (ax,) = report.panels(1, height=3.4)
    grid = np.geomspace(0.1, 30, 121)
    rows = report.Rows("delta", "epsilon", "ratio")
    colors = (report.BLUE, report.RED, report.GREEN, report.BLACK, report.PURPLE)
    styles = ("-", "--", "-.", ":", (0, (5, 1)))
    for (delta, crossing), color, style in zip(
        last.items(), itertools.cycle(colors), itertools.cycle(styles), strict=False
    ):
        ratio = [true_delta(eps, delta) / delta for eps in grid]
        ax.plot(grid, ratio, color=color, linestyle=style, label=f"δ = $10^{{{round(math.log10(delta))}}}$")
        ax.plot(crossing, 1, color=color, marker="o")
        rows.add(delta=delta, epsilon=grid, ratio=ratio)
    ax.axhline(1, color=report.GREY, linewidth=1)
    ax.axvspan(*experiments, color=report.SKY, alpha=0.15, linewidth=0)
    ax.text(math.sqrt(math.prod(experiments)), 30, "the experiments", ha="center", fontsize=9)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(1e-4, 2e2)
    ax.set_xlim(grid[0], grid[-1])
    ax.set_xticks([0.1, 0.2, 0.5, 1, 2, 5, 10, 20], ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20"])
    ax.set_xlabel("ε")
    ax.set_ylabel("true δ over promised δ")
    ax.legend(loc="lower right", ncols=2)
    report.publish(
        fig,
        "cascading-audit-gaussian",
        rows,
        alt="Ratio of the true delta of the classically calibrated Gaussian mechanism to the promised delta, against "
        "epsilon, for five values of delta: below 1 for small epsilon, crossing 1 between about 5 and 10.",
        caption="Lemma 3: the exact δ of the classical calibration over the promised one. The lemma is true below the "
        "line at 1 and false above it; the dots mark the largest ε at which it is true. The band is the range of the "
        "experiments.",
    )


def is_refuted(value) -> bool:
    """Whether the ball ``value``, the true delta at `REFUTED`, is certainly above the promised delta."""
    return proves(value > ball(REFUTED[1]))


def refuting_delta():
    """The true delta at `REFUTED`, a ball."""
    return enclosures.lemma_3_delta(epsilon=REFUTED[0], delta=REFUTED[1])


def _refuting_text(value) -> str:
    return f"at ε = {REFUTED[0]} and promised δ = {REFUTED[1]} the true δ is {show(value, 8)}"


def lemma_3_card(last: Mapping[float, float], refuting, *, delta: float) -> report.Card:
    """Lemma 3: true up to epsilon = 1, which is enough there since the true delta increases; false at `REFUTED`."""
    at_one, beyond = (max(true_delta(eps, d) / d for d in last) for eps in (1.0, 10.0))
    return report.verdict(
        "cascading/lemma-3",
        ("holds corrected" if is_refuted(refuting) else "open") if at_one <= 1 else "fails",
        evidence="enclosure",
        check="exact profile at the stated σ; it increases in ε",
        observed=f"true δ over promised δ: at most {at_one:.4f} at ε = 1, up to {beyond:.4g} at ε = 10; "
        + _refuting_text(refuting),
        required="at most 1 for every ε > 0",
        margin=f"true exactly for ε ≤ {last[delta]:.4f} at δ = {delta:g}",
    )


def ratio_extremes(ratios: Ratios) -> tuple[float, float]:
    """The largest `semibandit_ratio` for epsilon up to 1, and above."""
    small = max(ratio for (eps, *_), ratio in ratios.items() if eps <= 1)
    return small, max(ratio for (eps, *_), ratio in ratios.items() if eps > 1)


def semibandit_lines(diameters: Mapping[int, float], ratios: Ratios) -> list[str]:
    """The squared diameters of the outcomes by K, and the extremes of the ratios."""
    small, large = ratio_extremes(ratios)
    squares = ", ".join(f"{width**2:.6g}" for width in diameters.values())
    return [
        f"L₂ diameter squared of the outcomes, K = {min(diameters)} to {max(diameters)}: {squares}",
        f"true δ over promised δ: at most {small:.4f} for ε ≤ 1; up to {large:.4g} at ε = 10",
    ]


def theorem_8_cards(
    diameters: Mapping[int, float], ratios: Ratios, refuting, *, raw_epsilon: float
) -> list[report.Card]:
    """Theorem 8 within the range of Lemma 3, and as printed.

    ``diameters`` maps K to the L2 diameter of the outcomes, ``ratios`` (epsilon, delta, K) to `semibandit_ratio`;
    ``raw_epsilon`` is the exact epsilon of the user of the first observation.
    """
    small, large = ratio_extremes(ratios)
    right = all(math.isclose(width**2, length) for length, width in diameters.items())
    within = report.verdict(
        "cascading/theorem-8",
        report.holds_if(right and small <= 1),
        reading="epsilon at most 1, first observation excepted",
        evidence="proof",
        check="L2 diameter of the outcomes, and exact profile over a grid of ε, δ and K",
        observed=f"diameter √K; true δ over promised δ at most {small:.4f}",
        required="at most 1",
        margin="the set played is public; no mask",
    )
    printed = report.verdict(
        "cascading/theorem-8",
        "holds corrected" if large > 1 and small <= 1 and is_refuted(refuting) else "open",
        reading="as printed",
        evidence="enclosure",
        check="profile of the noise outside the range of Lemma 3; user 0",
        observed=_refuting_text(refuting) + f"; exact ε for the user of u₀, raw: {raw_epsilon:g}",
        required="at most the promised δ; at most ε",
        margin="true for ε ≤ 1, the range of Lemma 3, if u₀ is nobody's datum",
    )
    return [within, printed]
