"""The verdicts on Lemmas 4.2 to 4.6 and 8.1 to 8.7 of [Li2024].

Measured inequalities illustrate; what each word rests on is said by the card. `Found` holds what the lemmas share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from evidence import report
from evidence.contextual import proof_steps
from evidence.contextual.lemma_ratios import Summary
from evidence.contextual.lemmas import WITH_ROOT
from evidence.contextual.line_11 import Limit
from evidence.contextual.proof_steps import ROUNDING, Step
from evidence.contextual.remarks import Enclosed
from evidence.contextual.shares import Share

CORRECTED = "holds corrected"
UNION_BOUND = "L18: all bins together, δ₀ M^h ≤ δ"


class Found(NamedTuple):
    """The measured inequalities, the steps of the paper's chain and of the sharper proofs; ``delta`` of the runs."""

    runs: Summary
    chain: Mapping[str, Step]
    sharper: Mapping[str, float]
    delta: float

    def ok(self, *names: str) -> bool:
        """Whether the measured inequalities hold, and the steps of the chain with their larger constants."""
        return all(self.runs.largest[x] <= 1 if x in self.runs.largest else self.chain[x].holds for x in names)

    @property
    def room(self) -> bool:
        """Whether every step of the sharper proofs holds."""
        return max(self.sharper.values()) <= 1

    def ratio_of(self, *names: str) -> str:
        """The largest measured ratios, in words."""
        return ", ".join(f"{x}: {report.approx(self.runs.largest[x], digits=2)}" for x in names)

    @property
    def line_13_is_right(self) -> bool:
        """Whether line 13 corrected gives an upper estimate with probability 1 - delta, at every horizon."""
        return all(corrected.low >= 1 - self.delta for _, corrected in self.runs.upper.values())

    @property
    def in_runs(self) -> str:
        """For the check of a card."""
        return f"largest left over right in {self.runs.runs} runs"


def corrected_if(condition: bool) -> str:
    """The word "holds corrected" if the condition is true, else "fails"."""
    return CORRECTED if condition else "fails"


def lemma_4_2(f: Found) -> report.Card:
    """True with the counts over n, ``|y_h|`` <= 2 and one logarithm; the text's c / sqrt n is not (L8)."""
    names = "4.2, counts", "4.2, λ", "4.2, Λ"
    wrong, second, third = (
        f.runs.largest[WITH_ROOT],
        *(f.sharper[f"{x} line of Lemma 4.2"] for x in ("second", "third")),
    )
    return report.verdict(
        "contextual/lemma-4.2",
        corrected_if(f.ok(*names, UNION_BOUND) and f.room and wrong > 1),
        evidence="proof",
        check=f"sharper steps over the printed constants; {f.in_runs}",
        observed=f"steps: at most {second:.4f} and {third:.4f} of the printed constants; runs: {f.ratio_of(*names)}; "
        f"with c/√n: {report.approx(wrong, digits=2)}",
        required=f"at most 1 (runs: but for {f.delta:g} of them)",
        margin="counts over n, |y_h| ≤ 2, one logarithm; the printed constants stand",
    )


def lemma_4_3(f: Found, alone: Mapping[int, Fraction]) -> list[report.Card]:
    """True with the probability of Lemma 4.2; its inequalities alone, ``alone`` by dimension, do not give it."""
    names = "4.3, 1/s", "4.3, ω"
    return [
        report.verdict(
            "contextual/lemma-4.3",
            report.holds_if(f.ok(*names) and f.room),
            evidence="proof",
            reading="with the probability of Lemma 4.2",
            check=f"sharper steps over the printed constants; {f.in_runs}",
            observed=f"ε/s_B at most {f.sharper['ε/s of Lemma 4.3, over 0.1'] / 10:.4f}, twice that with line 6 as "
            f"printed; ω: {f.sharper['120(d+1)⁴ of Lemma 4.3']:.4f}; runs: {f.ratio_of(*names)}",
            required="at most 1/2; at most 1",
            margin="the printed κ₁ stands, for every minimiser of line 6",
        ),
        report.verdict(
            "contextual/lemma-4.3",
            report.holds_if(max(alone.values()) <= Fraction(1, 2)),
            evidence="exact",
            reading="from the inequalities of Lemma 4.2 alone",
            check="largest error over s_B that the inequalities allow at κ₁ = 43 L/α",
            observed=", ".join(f"d = {d}: {x}" for d, x in alone.items()),
            required="at most 1/2",
            margin="from d = 3 on the inequalities allow an estimate with a smaller eigenvalue; κ₁ would have to grow "
            "with d",
        ),
    ]


def lemma_4_4(
    f: Found,
    line_11: Mapping[tuple[str, float], Share],
    limits: Mapping[float, Limit],
    *,
    along: float,
    conditions: bool,
) -> list[report.Card]:
    """Line 11 as the proof uses it, and as printed: a coverage bounded away from 1 for every T.

    ``line_11`` by ("all points" | "along", log10 T), ``limits`` the limit law by log10 T, ``along`` the bound on the
    coverage along the direction learned, proved under ``conditions``.
    """
    valid = all(s.hits == s.runs for (name, _), s in line_11.items() if name == "all points")
    first = min(limits)
    high = limits[first].high
    bounded = max(limit.covered for limit in limits.values()) < high + ROUNDING < 0.99 and along < 0.99
    return [
        report.verdict(
            "contextual/lemma-4.4",
            corrected_if(valid and f.line_13_is_right and f.room),
            evidence="proof",
            reading="line 11 as the proof uses it",
            check="coverage with η_parent + |φ_h| in line 11 and value 0 where the width is 1",
            observed=f"valid in all runs at every point: {valid}",
            required="1 − δ",
        ),
        report.verdict(
            "contextual/lemma-4.4",
            report.holds_if(not (bounded and conditions)),
            evidence="exact",
            reading="line 11 as printed",
            check="coverage of the band of an inactive bin along û, line 11 as printed",
            observed=f"at most α/(4d) = {Fraction(along)} for every T, if layer 1 is active; simulated "
            f"{report.approx(interval=line_11['along', first].interval)}; at e_1 the limit law gives "
            f"{limits[first].covered:.4f} at the smallest T, at most {high:.4f} at every T",
            required="at least 1 − δ",
            margin="the bound along û is proved in the book",
        ),
    ]


def recursion(f: Found, summed_up: bool) -> report.Card:
    """The factor of the recursion, by the sharper step; ``summed_up``: whether it adds up to (c M)^d."""
    sharp, sharper = (float(proof_steps.recursion_factor(Fraction(1, x))) for x in (5, 10))
    return report.verdict(
        "contextual/lemma-4.4-recursion",
        report.holds_if(f.ok("4.4, recursion") and f.room and summed_up),
        evidence="proof",
        check=f"the factor that the sharper step gives; {f.in_runs}",
        observed=f"{sharp:g}, and {sharper:.4g} with the eigenpair of the complement; "
        f"runs: {f.ratio_of('4.4, recursion')}",
        required="at most 2.54",
        margin=f"the printed chain, with the √2 that it drops between (86) and (90), gives √9.9 = {math.sqrt(9.9):.4f}",
    )


def lemma_4_6(f: Found, needed: Sequence[float], summed_up: bool) -> report.Card:
    """The mean width; ``needed``: the constant that d^3 needs in the step, from d = 1 to d = 256."""
    names = "4.6, EΔ", "4.6, coverage"
    return report.verdict(
        "contextual/lemma-4.6",
        corrected_if(f.ok(*names) and summed_up and f.room),
        evidence="proof",
        check=f"E Δ over the bound, and coverage over 1 − δ, in {f.runs.runs} runs",
        observed=f"{f.ratio_of(*names)}; constant that d³ needs in the step at d = 1, 256 as β → 1/2: "
        f"{needed[0]:.3g}, {needed[-1]:.3g}",
        required="at most 1",
        margin="with line 11 and the value as in Lemma 4.4; the coverage nearest to nominal is that of cells in which "
        "every width is 1; d³ is true of E Δ, since the bound is vacuous for β > 1/4",
    )


def lemma_8_1(f: Found) -> report.Card:
    """The constant 47."""
    return report.verdict(
        "contextual/lemma-8.1",
        report.holds_if(f.ok("8.1") and f.room),
        evidence="proof",
        check=f"sharper steps over the constant 47, γ ≥ 1; {f.in_runs}",
        observed=f"{f.sharper['47 of Lemma 8.1']:.4f}; runs: {f.ratio_of('8.1')}",
        required="at most 1",
        margin="with δ β^d / 2 for a bin",
    )


def corollary_8_3(f: Found, half: Enclosed, log10_T: int) -> list[report.Card]:
    """Line 13 as the proof uses it, and as printed: an upper estimate with probability ``half`` only."""
    names = "8.3, lower", "8.3, upper"
    printed = [pair[0].value for pair in f.runs.upper.values()]
    return [
        report.verdict(
            "contextual/corollary-8.3",
            corrected_if(f.ok(*names, "47 ≤ 118 / 2.5 of Corollary 8.3") and f.line_13_is_right),
            evidence="proof",
            reading="line 13 as the proof uses it",
            check=f"share of the margin that is used, in {f.runs.runs} runs",
            observed=f.ratio_of(*names),
            required="at most 1",
        ),
        report.verdict(
            "contextual/corollary-8.3",
            report.holds_if(not half.proved),
            evidence="enclosure",
            reading="line 13 as printed",
            check=f"layer 1 (carried error 0), d = 2, α = 1, T = 10^{log10_T}: probability that the upper estimate is "
            "one",
            observed=f"at most {half.shown}",
            required="1 − δ",
            margin=f"simulated, all bins: {report.approx(sum(printed) / len(printed))}",
        ),
    ]


def lemma_8_5(f: Found) -> report.Card:
    """It follows from Lemma 4.3."""
    return report.verdict(
        "contextual/lemma-8.5",
        report.holds_if(f.ok("8.5") and f.room),
        evidence="proof",
        check=f"{f.in_runs}; it follows from Lemma 4.3",
        observed=f.ratio_of("8.5"),
        required="at most 1",
    )


def corollary_8_7(f: Found, needed: Fraction) -> report.Card:
    """``needed``: over 300 (d+1)^4 with line 13 as printed, every d <= 1000."""
    names = "8.7", "4.4, χ"
    return report.verdict(
        "contextual/corollary-8.7",
        report.holds_if(f.ok(*names, "300 of Corollary 8.7") and f.room and needed <= 1),
        evidence="proof",
        check=f"with line 13 as printed: needed over 300 (d+1)⁴, every d ≤ 1000; {f.in_runs}",
        observed=f"{float(needed):.4f}; runs: {f.ratio_of(*names)}",
        required="at most 1",
        margin="with √n in line 13 there is more room",
    )
