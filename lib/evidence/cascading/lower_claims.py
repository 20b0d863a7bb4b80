"""The verdicts on Theorems 10 and 11, on the remark, and on what the section of the text concludes from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evidence import report
from evidence.cascading.lower_slopes import RemarkRow, power, proved_constant
from evidence.report.enclosure import proves, show

EPSILON_POWERS = {"Theorem 10": -2, "Theorem 11": -1}
"""Powers of epsilon as epsilon -> 0, read off the formulas."""

LENGTH_POWERS = {"Theorem 4": 2, "Theorem 6": 1, "Theorem 7": 1}
"""Powers of K in the upper bounds, read off the formulas; the lower bound has 0."""


def judge_theorem_10(ratios: np.ndarray, *, fails_on: float, p: float) -> report.Card:
    """The card of Theorem 10 from the proved slope over the printed one; ``fails_on`` is a share of the gaps at p."""
    return report.verdict(
        "cascading/theorem-10",
        report.holds_if(min(ratios) >= 1, otherwise="open"),
        evidence="proof",
        check="the statement against the larger bound that the book proves; the inequality of the paper's proof",
        observed=f"d(p || p-Δ) exceeds Δ²/(p(1-p)) on {100 * fails_on:.4f} % of the gaps at p = {p:g}; the proved "
        f"slope over the printed one is at least {min(ratios):.4f} on {len(ratios)} parameter points",
        required="a ratio of at least 1; the inequality is false for large gaps, a slip of the proof",
        margin="the ratio is at least 8 by proof, for consistency on every product-Bernoulli instance",
    )


def judge_remark(rows: Sequence[RemarkRow]) -> report.Card:
    """The card of the remark in Theorem 10, from list lengths that rise."""
    lengths, printed, proved = zip(*rows, strict=True)
    return report.verdict(
        "cascading/remark-theorem-10",
        report.holds_if(min(proved) >= 2 / np.e, otherwise="open"),
        evidence="proof",
        check="the constant of (L-K)/(Δ ε²) at p = 1/K, ε → 0",
        observed=f"printed bound: {printed[0]:.6f} at K = {lengths[0]}, {printed[-1]:.6f} at K = {lengths[-1]}, "
        f"exponent of K {power(lengths, printed):.4f}; proved bound: at least {min(proved):.6f}",
        required="a bound whose constant does not fall with K",
        margin="the rate is true, and does not follow from the printed display: the printed constant tends to 0 like "
        "1/(2eK); the proved one stays above 2/e",
    )


def judge_theorem_11(constants: Mapping[float, float], *, p: float, points: int) -> report.Card:
    """The card of Theorem 11 from the smallest constant at each p, on a grid of ``points`` gaps and epsilons."""
    return report.verdict(
        "cascading/theorem-11",
        report.holds_if(all(found >= proved_constant(x) for x, found in constants.items()), otherwise="open"),
        evidence="proof",
        check="the proved bound against the order of the statement, uniformly in gap and ε",
        observed=f"at p = {p:g} at least {constants[p]:.6f} times (L-K)(1-p)^(K-1) (1/Δ + 1/ε) on {points} points",
        required=f"a positive constant for each p; by proof {proved_constant(p):.6f}",
        margin="true on the instance B_LB, for pure ε-DP and consistency on every product-Bernoulli instance; the "
        "constant depends on p, and the printed step from bandits to lists is replaced",
    )


def judge_contributions(factors: Mapping[int, float], *, p: float) -> report.Card:
    """The card of the list of contributions, which leaves out the factor (1-p)^(K-1) of Theorem 11 at each K."""
    return report.verdict(
        "cascading/sentence-lower-bounds",
        "holds corrected" if max(factors.values()) < 1 else "holds",
        evidence="proof",
        check=f"the factor (1-p)^(K-1) of Theorem 11, left out in the list of contributions, p = {p:g}",
        observed=", ".join(f"{value:.3g} (K = {k})" for k, value in factors.items()),
        required="1 for the rate without K",
        margin="with the factor the rate is Theorem 11; without it nothing is proved, and nothing is refuted",
    )


def judge_negligible_effect(
    powers: Mapping[str, float], *, lowest_slope: float, ratio: float, epsilon: float
) -> list[report.Card]:
    """The cards of "negligible effect", in T and in epsilon.

    ``powers`` of epsilon are measured between two small ones, for the two theorems and for "local, proved" and
    "central, proved"; ``ratio`` is the proved local bound over the central one at ``epsilon``.
    """
    found = {name: f"{value:.3f}" for name, value in powers.items()}
    stated = ", ".join(f"{name}: {value}" for name, value in EPSILON_POWERS.items())
    return [
        report.verdict(
            "cascading/sentence-negligible-effect",
            report.holds_if(lowest_slope > 0, otherwise="open"),
            reading="in T",
            evidence="proof",
            check="order in T of the two lower bounds, for fixed ε and instance",
            observed=f"log T in both, with slopes of at least {lowest_slope:.4g}",
            required="the same order in T",
            margin="no policy, private or not, has less than log T, and both theorems add a constant to it",
        ),
        report.verdict(
            "cascading/sentence-negligible-effect",
            "fails" if all(round(powers[name]) == value for name, value in EPSILON_POWERS.items()) else "open",
            reading="in epsilon",
            evidence="exact",
            check="power of ε in the two lower bounds as ε → 0",
            observed=f"{stated} (numerically {found['Theorem 10']} and {found['Theorem 11']}; proved bounds "
            f"{found['local, proved']} and {found['central, proved']})",
            required="the same power, up to a negligible effect",
            margin=f"at ε = {epsilon:g} the proved local bound is {ratio:.1f} times the central one on this instance",
        ),
    ]


def judge_matching(growth: Mapping[str, float], *, slope: float, excess, epsilon: float) -> list[report.Card]:
    """The cards of "matching upper bound under LDP".

    ``growth`` is the power of K in each upper bound over the lower one, ``slope`` the power of log T in Theorem 6, and
    ``excess`` the ball of Algorithm 2's regret over Theorem 4 at T = 10^60 and ``epsilon``, as a logarithm.
    """
    return [
        report.verdict(
            "cascading/sentence-matching",
            "fails" if all(round(growth[name]) == value > 0 for name, value in LENGTH_POWERS.items()) else "open",
            reading="in T, K and epsilon",
            evidence="exact",
            check="power of K in the upper bounds over the lower bound, p = 1/K",
            observed=", ".join(
                f"{name}: {value} (numerically {growth[name]:.3f})" for name, value in LENGTH_POWERS.items()
            ),
            required="0",
            margin="the ratio is unbounded in K, and the lower bound is for δ = 0",
        ),
        report.verdict(
            "cascading/sentence-matching",
            report.holds_if(abs(slope - 1) < 1e-6, otherwise="open"),
            reading="in T, Algorithm 3",
            evidence="proof",
            check="power of log T in the bound of Theorem 6, which is true; the lower bound has 1",
            observed=f"{slope:.6f}",
            required="1",
            margin="Theorem 6 is proved for ε ≤ 2, and with an additive constant for every ε",
        ),
        report.verdict(
            "cascading/sentence-matching",
            "fails" if proves(excess > 0) else "open",
            reading="in T, Algorithms 2 and 3",
            evidence="enclosure",
            check=f"regret of Algorithm 2 at T = 10^60, ε = {epsilon:g}, over the bound of Theorem 4, as a logarithm",
            observed=f"at least {show(excess, 8)}",
            required="at most 0 for every T",
            margin="the regret of Algorithm 2 is not O(log T), whatever the constant",
        ),
    ]
