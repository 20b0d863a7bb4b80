"""What the abstract and the contributions of the text say of its rates, each against what is proved or was known."""

from __future__ import annotations

from fractions import Fraction

from evidence import report
from evidence.cascading.central_growth import PROVED_POWER
from evidence.report.enclosure import proves, show

EARLIER, THIS = 2019, 2021  # years of publication: Sajed and Sheffet; the text
EARLIER_POWER = Fraction(1)  # of log T, under epsilon-DP and for K = 1
PROOF_BONUS_POWER = Fraction(1)  # of log T with the bonus of the proof, times a power of log log T
CORRECTED_ITEMS_POWER = Fraction(2)  # of L in the corrected bound of Theorem 2, (L - K) L


def items_powers(xi: Fraction) -> dict[str, Fraction]:
    """The power of L, K fixed, in each of the three rates that the text states for Algorithm 1."""
    return {"abstract": Fraction(0), "contributions": 1 + xi, "Theorem 2": 2 + xi}


def judge_dp_rate(xi: Fraction) -> list[report.Card]:
    """The cards of the rate of Algorithm 1 in the abstract and the contributions, with either bonus."""
    powers = ", ".join(f"{power} ({name})" for name, power in items_powers(xi).items())

    def card(reading: str, power: Fraction, word: str, evidence: str, more: str, margin: str) -> report.Card:
        return report.verdict(
            "cascading/sentence-dp-rate",
            "fails" if power > 1 + xi else word,
            reading=reading,
            evidence=evidence,
            check="power of log T of this bonus; powers of L in three statements of one rate",
            observed=f"log T: {power}{more}; L: {powers}; proved: {CORRECTED_ITEMS_POWER}",
            required=f"log T with exponent {1 + xi}; one power of L",
            margin=margin,
        )

    return [
        card(
            "bonus of the proof",
            PROOF_BONUS_POWER,
            "holds corrected",
            "proof",
            " (and a power of log log T)",
            "with this bonus the rate in T is right, and within log^ξ T of the lower bound; L, K and the gaps are left "
            "out",
        ),
        card("printed bonus", PROVED_POWER, "open", "exact", ", at least, by proof", "false for every ξ < 1.5"),
    ]


def judge_novelty(xi: Fraction) -> list[report.Card]:
    """The cards of what the text says was known before it."""
    known = EARLIER < THIS
    return [
        report.verdict(
            "cascading/sentence-first-rate",
            "fails" if known and EARLIER_POWER <= 1 + xi else "open",
            reading="for bandits",
            evidence="exact",
            check="power of log T of an earlier algorithm under ε-DP, K = 1",
            observed=f"{EARLIER_POWER}, published in {EARLIER}",
            required=f"more than {1 + xi}, or later than {THIS}",
            margin="the text says: to the best of our knowledge",
        ),
        report.verdict(
            "cascading/sentence-first-rate",
            "open",
            reading="for cascading bandits",
            evidence="proof",
            check="an earlier rate for lists of K ≥ 2 under ε-DP",
            observed="none found in a search of the literature",
            required="an exhaustive search would be needed",
            margin="and Algorithm 1 is not ε-DP there",
        ),
        report.verdict(
            "cascading/sentence-open-gap",
            "holds",
            reading="an upper bound is known",
            evidence="proof",
            check="an upper bound of order log³ T for private bandits",
            observed="Mishra and Thakurta 2015, as the text cites",
            required="one such bound",
        ),
        report.verdict(
            "cascading/sentence-open-gap",
            "fails" if known and EARLIER_POWER == 1 else "open",
            reading="whether the gap can be closed is open",
            evidence="exact",
            check="power of log T of an earlier algorithm under ε-DP, K = 1",
            observed=f"{EARLIER_POWER}, published in {EARLIER}",
            required="more than 1",
            margin="it meets the lower bound up to constants",
        ),
    ]


def judge_powers(xi: Fraction, *, proved: Fraction = PROVED_POWER) -> list[report.Card]:
    """The cards of the powers of log T in the text's rates; ``proved`` is that of the printed bonus."""
    return [
        report.verdict(
            "cascading/sentence-improvement",
            report.holds_if(max(proved, 1 + xi) < 3),
            evidence="proof",
            check="power of log T with either bonus, against 3",
            observed=f"{proved} printed, 1 with the bonus of the proof",
            required="below 3",
            margin="in T; the text itself says that L grows",
        ),
        report.verdict(
            "cascading/sentence-unavoidable",
            report.holds_if(proved == Fraction(5, 2)),
            evidence="proof",
            check="power of log n where the width has log^1.5 of the horizon",
            observed=f"{proved}, from below and from above",
            required="5/2",
            margin="by direct derivation from Lemma 1, as the text says; not for every algorithm",
        ),
    ]


def judge_reach(composed) -> list[report.Card]:
    """The cards of how far the rates reach, to other models, K, and local privacy.

    ``composed`` is the ball of the Laplace variant's regret over its bound at T = 10^60, as a logarithm.
    """
    return [
        report.verdict(
            "cascading/sentence-universality",
            "open",
            reading="as printed",
            evidence="proof",
            check="a proof for the combinatorial semi-bandit",
            observed="none in the text",
            required="both models",
        ),
        report.verdict(
            "cascading/sentence-universality",
            "holds",
            reading="basic MAB",
            evidence="proof",
            check="the corrected bound at K = 1",
            observed="log T (log log T)^1.5 for L arms",
            required="a power of log T below 3",
            margin="K = 1 is the basic bandit, where the algorithm is private",
        ),
        report.verdict(
            "cascading/sentence-k-relaxed",
            "holds",
            evidence="proof",
            check="power of K in the bounds of Theorems 4 and 6",
            observed="2 and 1",
            required="2 and 1",
            margin="the 2 is that of a sensitivity K; a user clicks at most once, and 2 would do (C3)",
        ),
        report.verdict(
            "cascading/sentence-ldp-rate",
            "holds corrected",
            evidence="proof",
            check="Theorem 6 against K log(1/δ) log T/ε² for one item",
            observed="a sum of 1/Δ over the L - K items, and an additive term where ε is large",
            required="no L and no gap",
            margin="the order in K, δ, T and ε is right",
        ),
        report.verdict(
            "cascading/sentence-ldp-rate-both",
            "fails" if proves(composed > 0) else "open",
            evidence="enclosure",
            check="regret of the Laplace variant at T = 10^60 over its bound, as a logarithm",
            observed=f"at least {show(composed, 8)}",
            required="O(log T)",
            margin="by Theorem 7, whose regret half is false",
        ),
    ]
