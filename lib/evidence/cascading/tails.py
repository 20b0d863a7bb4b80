"""The tails behind the bonuses: Lemmas 6 and 7 against the exact laws, and what Theorem 4 asks of Lemma 6 beyond it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from evidence import report
from evidence.cascading import lemmas


def lemma_6_ratios(sizes: Iterable[int], shares: Iterable[float]) -> np.ndarray:
    """Exact tail of a sum of Laplace variables over the bound of Lemma 6; one row a size of the sum.

    A column is a share of the largest radius that the lemma covers.
    """
    return np.array(
        [
            [
                lemmas.laplace_sum_tail(radius, n=n) / lemmas.lemma_6_bound(radius, n=n, scale=1.0)
                for radius in (share * lemmas.lemma_6_limit(n=n, scale=1.0) for share in shares)
            ]
            for n in sizes
        ]
    )


def lemma_7_ratios(radii: Iterable[float]) -> np.ndarray:
    """Exact two-sided Gaussian tail over the bound of Lemma 7, at radii in standard deviations of the mean."""
    exact, bound = np.array([lemmas.lemma_7_sides(r, n=1, sigma=1.0) for r in radii]).T
    return exact / bound


def judge_lemma_6(ratio: float, *, largest: int) -> report.Card:
    """The card of Lemma 6 from the largest of its ratios, for sums of up to ``largest`` variables."""
    return report.verdict(
        "cascading/lemma-6",
        report.holds_if(ratio <= 1),
        evidence="proof",
        check="exact tail over bound, within the range of the lemma",
        observed=f"at most {ratio:.6f} for sums of 1 to {largest} variables",
        required="at most 1",
        margin="proved in the chapter on local privacy; outside its range the formula is false, see below",
    )


def judge_lemma_7(ratio: float) -> report.Card:
    """The card of Lemma 7 from the largest of its ratios, up to 8 standard deviations."""
    return report.verdict(
        "cascading/lemma-7",
        report.holds_if(ratio <= 1),
        evidence="proof",
        check="exact two-sided tail over bound, radius 0 to 8 standard deviations of the mean",
        observed=f"at most {ratio:.6f}",
        required="at most 1",
        margin="the bound is at least twice the tail",
    )


class NoiseTails(NamedTuple):
    """Base-10 logarithms of P(mean noise > noise part of the bonus) on one side, at one round, one entry a count."""

    printed: np.ndarray  # with the bonus of Algorithm 2
    corrected: np.ndarray


def noise_tails(counts: Sequence[int], *, t: float) -> NoiseTails:
    """The exact tails that the proof of Theorem 4 claims to be at most ``t^-3`` at every count."""
    log10 = 1 / np.log(10)
    printed = [lemmas.laplace_sum_log_tail(np.sqrt(24 * s * np.log(t)), n=int(s)) for s in counts]
    corrected = [
        lemmas.laplace_sum_log_tail(s * lemmas.corrected_noise_bonus(t, int(s), scale=1.0), n=int(s)) for s in counts
    ]
    return NoiseTails(np.array(printed) * log10, np.array(corrected) * log10)


def tail_lines(counts: Sequence[int], tails: NoiseTails, *, claimed: float) -> list[str]:
    """What the notebook prints of each count; ``claimed`` is the base-10 logarithm of ``t^-3``."""
    return [
        f"s = {s:<2d} exact tail 10^{printed:.4f}, claimed 10^{claimed:.1f}; with the corrected bonus "
        f"10^{corrected:.4f}"
        for s, printed, corrected in zip(counts, *tails, strict=False)
    ]


def draw_tails(counts: np.ndarray, tails: NoiseTails, *, claimed: float, covered: float) -> None:
    """The figure of Lemma 6's range: the exact tails, the level ``claimed`` and the count from which it is covered."""
    fig, axes = report.panels(1, height=3.3)
    ax = axes[0]
    ax.plot(counts, tails.printed, color=report.RED, marker="o", markersize=3.5, label="bonus of Algorithm 2")
    ax.plot(counts, tails.corrected, color=report.GREEN, marker="s", markersize=3.5, label="corrected bonus")
    ax.axhline(claimed, color="k", linestyle="--", linewidth=1.2, label="claimed, $t^{-3}$")
    ax.axvline(covered, color=report.GREY, linestyle=":", label="range of Lemma 6 begins")
    ax.set(xlabel="observations s", ylabel="log₁₀ P(mean noise > bonus)", xlim=(0, 60))
    ax.legend(loc="upper right")
    report.publish(
        fig,
        "cascading-lemma-6-range",
        {"count": counts, "printed": tails.printed, "corrected": tails.corrected},
        alt="Exact tail of the mean noise beyond its bonus against the number of observations: with the printed bonus "
        "it is far above the claimed level for few observations; with the corrected bonus it stays below it.",
        caption="The probability, exact, that the mean of $s$ Laplace noises exceeds the noise part of the bonus at "
        "$t = 10^5$, on one side.",
    )
