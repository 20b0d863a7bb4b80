"""Composition in [Wang2021]: Lemma 4, and whether the noise of Theorem 7 beats the splitting of Algorithm 2.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Lemma 4 and Theorem 7.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from scipy.optimize import brentq

from dpregret.cascading import CompositionLDP
from dpregret.privacy import composition
from evidence import report
from evidence.cascading import enclosures
from evidence.report.enclosure import proves
from evidence.report.tables import Markdown

CALIBRATIONS = {
    "split": {"label": "$K/ε$ (Algorithm 2)", "color": report.BLUE, "linestyle": "-"},
    "theorem 7": {"label": "composition as in Theorem 7", "color": report.GREEN, "linestyle": "-."},
    "optimal": {"label": "optimal composition", "color": report.ORANGE, "linestyle": "--"},
    "clicks": {"label": "what the clicks need, $2/ε$", "color": report.BLACK, "linestyle": ":"},
}
"""How each calibration of the noise is drawn."""

EXPERIMENTS = 4, 16
"""The range of K in the experiments of the text."""

Scales = Mapping[float, Mapping[str, Mapping[int, float]]]
"""Scales of the Laplace noise by epsilon, calibration and K."""


def lemma_4_ratio(epsilon: float, delta: float, k: int) -> float:
    """The true delta of ``k`` mechanisms at the lemma's parameters (optimal composition) over the promised one."""
    each_epsilon, each_delta = composition.corollary_4_1(epsilon=epsilon, delta=delta, k=k, strict=False)
    return composition.optimal(epsilon=each_epsilon, delta=each_delta, k=k, target_epsilon=epsilon) / delta


Ratios = Mapping[tuple[float, float, int], float]
"""True over promised delta, by (epsilon, delta, k)."""


def lemma_4_ratios(deltas: Sequence[float]) -> Ratios:
    """`lemma_4_ratio` on a grid of epsilon in the range of the lemma and beyond, delta, and k up to 1024."""
    grid = itertools.product((0.05, 0.2, 0.5, 0.9, 2.0), deltas, [2**j for j in range(11)])
    return {key: lemma_4_ratio(*key) for key in grid}


def lemma_4_extremes(ratios: Ratios) -> tuple[float, float]:
    """The largest ratio in the range of the lemma, epsilon <= 0.9, and outside."""
    inside = max(ratio for (eps, *_), ratio in ratios.items() if eps <= 0.9)
    return inside, max(ratio for (eps, *_), ratio in ratios.items() if eps > 0.9)


def lemma_4_line(ratios: Ratios) -> str:
    """The extremes of the ratios in words."""
    inside, outside = lemma_4_extremes(ratios)
    most = max(k for *_, k in ratios)
    return f"true δ over promised δ: at most {inside:.4f} for ε ≤ 0.9, {outside:.4f} at ε = 2 (k up to {most})"


def lemma_4_card(ratios: Ratios) -> report.Card:
    """Lemma 4, from `lemma_4_ratio` by (epsilon, delta, k)."""
    inside, outside = lemma_4_extremes(ratios)
    counts = [k for *_, k in ratios]
    return report.verdict(
        "cascading/lemma-4",
        report.holds_if(inside <= 1),
        evidence="proof",
        check=f"optimal composition at the lemma's parameters, k = {min(counts)} to {max(counts)}",
        observed=f"true δ over promised δ at most {inside:.4f}",
        required="at most 1 for ε ≤ 0.9",
        margin=f"at ε = 2, outside the range, {outside:.4f}; proof for every k in the book",
    )


def optimal_scale(epsilon: float, delta: float, k: int) -> float:
    """The smallest scale whose k-fold optimal composition is (epsilon, delta)-private."""

    def excess(log_b: float) -> float:
        found = composition.optimal(epsilon=math.exp(-log_b), k=k, target_epsilon=epsilon)
        return math.log(max(found, 1e-300) / delta)

    return math.exp(brentq(excess, math.log(0.1 / epsilon), math.log(k / epsilon), xtol=1e-12))


def scales(epsilon: float, delta: float, lengths: Sequence[int]) -> dict[str, dict[int, float]]:
    """The scale of the Laplace noise on K values under each of the `CALIBRATIONS`, by K."""
    policy = CompositionLDP(epsilon=epsilon, delta=delta)
    return {
        "split": {k: k / epsilon for k in lengths},
        "theorem 7": {k: policy.noise(k).scale for k in lengths},
        "optimal": {k: optimal_scale(epsilon, delta, k) for k in lengths},
        "clicks": {k: min(k, 2) / epsilon for k in lengths},
    }


def threshold(epsilon: float, delta: float) -> float:
    """The K above which the noise of Theorem 7 is below K / epsilon."""
    return 4 * math.log(math.e + epsilon / delta)


def table(found: Scales, *, delta: float, lengths: Sequence[int] = EXPERIMENTS) -> Markdown:
    """The threshold and the scales at a few K, by epsilon."""
    return report.table(
        ["ε", "composition helps from K above", *(f"K = {k}: K/ε, Theorem 7, optimal, 2/ε" for k in lengths)],
        [
            [
                f"{eps:g}",
                f"{threshold(eps, delta):.2f}",
                *("; ".join(f"{scale[k]:.2f}" for scale in scales.values()) for k in lengths),
            ]
            for eps, scales in found.items()
        ],
    )


def draw(found: Scales, *, delta: float) -> None:
    """Publish the scales against K, at the smallest and the largest epsilon."""
    shown = sorted({min(found), max(found)})
    fig, axes = report.panels(len(shown), height=3.4)
    rows = report.Rows("epsilon", "calibration", "list_length", "scale")
    for ax, eps in zip(axes, shown, strict=True):
        ax.axvspan(*EXPERIMENTS, color=report.SKY, alpha=0.15, linewidth=0)
        for key, look in CALIBRATIONS.items():
            lengths, values = zip(*found[eps][key].items(), strict=True)
            ax.plot(lengths, values, **look)
            rows.add(epsilon=eps, calibration=key, list_length=lengths, scale=values)
        k = threshold(eps, delta)
        ax.plot(k, k / eps, color=report.GREEN, marker="o", linestyle="")
        ax.annotate(f"K = {k:.1f}", (k, k / eps), (-54, 7), textcoords="offset points", fontsize=9)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_xticks([1, 2, 4, 8, 16, 32, 64, 128], ["1", "2", "4", "8", "16", "32", "64", "128"])
        ax.set_xlabel("list length $K$")
        ax.set_title(f"ε = {eps:g}", loc="right")
    axes[0].set_ylabel("scale of the Laplace noise")
    axes[-1].legend(loc="upper left", fontsize=8.5)
    report.publish(
        fig,
        "cascading-audit-composition",
        rows,
        alt="Scale of the Laplace noise against the list length for four calibrations at the smallest and the largest "
        "epsilon: Theorem 7 lies above K over epsilon until K is above 21 and 30, and the scale that the clicks need "
        "is the lowest, and constant.",
        caption=f"Noise for K values under four calibrations, δ = {delta:g}. Theorem 7 adds more noise than plain "
        "splitting up to the marked K. The band is the range of the experiments, K = 4 to 16.",
    )


def gain_cards(found: Scales, *, delta: float) -> list[report.Card]:
    """The sentence that composition improves on splitting: in the experiments (in balls), and as an order in K."""
    epsilons = sorted(found)
    ratios = {
        (eps, k): found[eps]["theorem 7"][k] / split
        for eps in epsilons
        for k, split in found[eps]["split"].items()
    }  # fmt: skip
    inside = {key: ratio for key, ratio in ratios.items() if EXPERIMENTS[0] <= key[1] <= EXPERIMENTS[1]}
    worse = all(
        proves(enclosures.composition_excess(k, epsilon=str(eps), delta=str(delta)) > 0) for eps, k in inside
    )  # fmt: skip
    limits = [threshold(eps, delta) for eps in epsilons]
    last = max(k for _, k in ratios)
    tail = max(ratios[eps, last] for eps in epsilons)
    growth = [(found[eps]["theorem 7"][last] / found[eps]["theorem 7"][last // 4]) ** 2 for eps in epsilons]
    experiments = report.verdict(
        "cascading/sentence-composition-gain",
        "fails" if worse else "open",
        reading="the experiments, K at most 16",
        evidence="enclosure",
        check="noise scale of Theorem 7 over that of Algorithm 2, K = 4 to 16, every ε",
        observed=f"between {min(inside.values()):.3f} and {max(inside.values()):.3f}, above 1 in balls for each",
        required="below 1 for an improvement",
        margin=f"improves only for K above {min(limits):.1f} (ε = {epsilons[0]:g}) to "
        f"{max(limits):.1f} (ε = {epsilons[-1]:g})",
    )
    order = report.verdict(
        "cascading/sentence-composition-gain",
        report.holds_if(tail < 1 and all(math.isclose(g, 4) for g in growth)),
        reading="order in K",
        evidence="proof",
        check=f"growth of the squared noise scale in K, and its ratio to splitting at K = {last}",
        observed=f"proportional to K, against K²; scale at K = {last} at most {tail:.3f} of K/ε",
        required="K in place of K², and below 1",
        margin="the click vector needs 2/ε for every K",
    )
    return [experiments, order]
