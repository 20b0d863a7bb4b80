"""Remarks 4.5 and 4.8 of [Li2024], Lemma 4.6 as simplified by the first, and line 13 of Algorithm 5 as printed (L7)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dpregret import _checks
from evidence import report
from evidence.contextual import bounds
from evidence.report.enclosure import ball, precision, proves, show

LARGEST = 1e4  # Remark 4.5: C < 10^4


def by_hand(d: int, version: str) -> float:
    """The constant of Remark 4.5 at M beta = 1, written out."""
    extra, first = (118.0, 43.0) if version == "printed" else (118 * math.sqrt(2), 86.0 * d)
    return 12 * (300 * (d + 1) ** 4 + extra * d**2 + first * (d + 1) ** 3) / d**4


def by_hand_agrees() -> bool:
    """Whether `by_hand` is the constant of `bounds.remark_4_5_constant`, for d = 1..6, printed and corrected."""
    return all(
        math.isclose(bounds.remark_4_5_constant(d, version=version), by_hand(d, version), rel_tol=1e-12)
        for d, version in itertools.product(range(1, 7), bounds.VERSIONS)
    )


def first_below(version: str, largest: float = LARGEST) -> int:
    """The smallest dimension whose constant is below ``largest``."""
    return next(d for d in range(1, 100) if bounds.remark_4_5_constant(d, version=version) < largest)


def needed(d: int, power: int) -> float:
    """The constant that d^3 or d^4 needs in the step of Lemma 4.6, as printed, for beta up to 1/2."""
    return bounds.remark_4_5_constant(d, version="printed") * d**4 / d**power


def over_remark_4_8(log10_T: float, d: int, power: int) -> float:
    """The bound of Theorem 4.7 (without C, A = alpha = 1) over ``sqrt(T) ln^power T``, beta = 1/ln T."""
    theorem = bounds.theorem_4_7(10.0**log10_T, d, 1, alpha=1.0, version="printed")
    return theorem / 10 ** (log10_T / 2) / (log10_T * math.log(10)) ** power


class Enclosed(NamedTuple):
    """A number in digits that a ball decides, and whether the comparison that it is for is proved."""

    shown: str
    proved: bool


def line_13_half(log10_T: int, largest: str = "0.6") -> Enclosed:
    """An upper bound on P(the estimate of epsilon_B is an upper one), line 13 as printed; proved if below ``largest``.

    Layer 1, where the carried error is 0, d = 2, alpha = 1, beta = 1/ln T, delta = T^-2: the margin of line 13 against
    n = T/4 Laplace draws, whose sum has a density of at most ``1.1 / (2 sqrt(pi (n - 1)))``.
    """
    T = 10 ** _checks.integer("log10_T", log10_T, at_least=2)
    with precision(50):
        n, log_T = ball(T) / 4, ball(T).log()
        kappa_2 = 118 * (ball(48) * log_T * ball(T) ** 2).log()
        margin = kappa_2 * ball(1).exp() * ball(8).sqrt()
        half = ball("0.5") + margin * ball("1.1") / (2 * (_pi() * (n - 1)).sqrt())
        return Enclosed(show(half, 4), proves(half < ball(largest)))


def _pi():
    return 4 * ball(1).atan()


def logarithms_grow() -> tuple[dict[int, str], bool]:
    """The logarithms that Theorem 4.7 has beyond ln^d T, over their value at T = 10^12, at T = 10^24, 10^48, 10^96.

    ``ln^2(48 d T / beta)`` at d = 2 and beta = 1/ln T; and whether it is proved that each is three times the one
    before, so that Remark 4.8 leaves out something unbounded.
    """
    with precision(50):

        def square(log10_T: int):
            log_T = log10_T * ball(10).log()
            return ((ball(96) * log_T).log() + log_T) ** 2

        excess = {k: square(k) / square(12) for k in (24, 48, 96)}
        grows = all(proves(excess[2 * k] > 3 * excess[k]) for k in (24, 48)) and proves(excess[24] > 3)
        return {k: show(x, 4) for k, x in excess.items()}, grows


def card_4_5(constants: Mapping[int, float], first: int, largest: float = LARGEST) -> report.Card:
    """The smallest C by dimension, as printed, M beta up to 1; ``first``: the first dimension where it is allowed."""
    quarter = 0.75 * constants[3]
    corrected = first <= 4 and quarter < largest
    printed = max(constants.values()) < largest
    return report.verdict(
        "contextual/remark-4.5",
        report.holds_if(corrected and printed, otherwise="holds corrected" if corrected else "fails"),
        evidence="proof",
        check="the smallest C that serves all β ≤ 1/2, by dimension",
        observed="; ".join(f"d = {d}: {constants[d]:.0f}" for d in range(1, 5))
        + f"; for β ≤ 1/4 at most {quarter:.0f} at d = 3",
        required=f"below {largest:.0f}",
        margin=f"true from d = {first} on, and from d = 3 on for β ≤ 1/4; an absolute constant exists",
    )


def card_4_8(lost: Sequence[float]) -> report.Card:
    """The sign of an exponent; ``lost``: Theorem 4.7 over the printed factors of T at T = 1e12, 1e24, 1e48."""
    grows = lost[2] > 3 * lost[1] > 9 * lost[0]
    return report.verdict(
        "contextual/remark-4.8",
        "holds corrected" if grows else "fails",
        evidence="proof",
        check="the factor that depends on β, against the theorem's",
        observed=f"(2.54/β)^d over (2/β)^-d at β = 0.1, d = 2: {(25.4 * 20) ** 2:.4g}",
        required="one constant for each d (the remark tracks only T)",
        margin="the sign of the exponent is a misprint; 2.54^d against 2^d is a constant in T",
    )


def card_4_8_root(excess: Mapping[int, str], grows: bool) -> report.Card:
    """At beta = 1/ln T: what is left over sqrt(T) ln^d T is not bounded, ``grows`` by ball arithmetic."""
    return report.verdict(
        "contextual/remark-4.8-root",
        "fails" if grows else "consistent",
        evidence="enclosure",
        check="the logarithms that Theorem 4.7 has beyond ln^d T, at β = 1/ln T, d = 2, over their value at T = 10^12",
        observed=", ".join(f"10^{k}: {x}" for k, x in excess.items()),
        required="bounded",
        margin="√T ln^(d+2) T is what the theorem gives",
    )


def tables_4_5() -> list:
    """The constant C of Remark 4.5 for d = 1..6, M beta at its supremum 1 and at 1/2; what d^3 and d^4 need."""
    head = ["$d$", "printed, $M\\beta \\to 1$", "$M\\beta = \\frac12$", "corrected, $M\\beta \\to 1$"]
    head += ["$M\\beta = \\frac12$", "below $10^4$ (printed, $\\to 1$)"]
    rows = []
    for d in range(1, 7):
        cases = itertools.product(bounds.VERSIONS, (1.0, 0.5))
        constants = [bounds.remark_4_5_constant(d, version=version, m_beta=share) for version, share in cases]
        rows.append([d, *(f"{x:.0f}" for x in constants), "yes" if constants[0] < LARGEST else "no"])
    dimensions = (1, 4, 16, 64, 256)
    powers = [[f"constant for $d^{p}$", *(f"{needed(d, p):.3g}" for d in dimensions)] for p in (3, 4)]
    return [report.table(head, rows), report.table(["$d$", *dimensions], powers)]


def tables_4_8(log10_T: int = 12) -> list:
    """Remark 4.8 against Theorem 4.7: the factor that depends on beta, and what is left at beta = 1/ln T."""
    dimensions, ln_T = range(1, 5), log10_T * math.log(10)
    factors = [[d, f"{25.4**d:.4g}", f"{20.0**-d:.4g}", f"{(25.4 * 20) ** d:.4g}"] for d in dimensions]
    rest = []
    for d in dimensions:
        row = over_remark_4_8(log10_T, d, 0), ln_T**d, over_remark_4_8(log10_T, d, d), 2.54**d
        rest.append([d, *(f"{x:.4g}" for x in (*row, math.log(48 * d * 10.0**log10_T * ln_T) ** 2))])
    head = [f"$d$ at $T = 10^{{{log10_T}}}$, $\\beta = 1/\\ln T$"]
    head += ["theorem over $\\sqrt T$ (with $d^5$, $A = \\alpha = 1$)", "$\\ln^d T$", "ratio", "of it $2.54^d$"]
    return [
        report.table(
            ["$d$ at $\\beta = 0.1$", "$(2.54/\\beta)^d$, Theorem 4.7", "$(2/\\beta)^{-d}$, Remark 4.8", "ratio"],
            factors,
        ),
        report.table([*head, "and $\\ln^2(48dT\\ln T)$"], rest),
    ]
