"""The steps of the proofs of Lemmas 4.2 to 4.6 of [Li2024]: what each needs, over what is stated.

First the paper's own chain of inequalities with its lost factors put back (`chain`), then the sharper steps of the book
(`sharper`), the last of them in fractions. A ratio is the largest over the dimension (d <= 1000) and the free
logarithms; a step holds if it is at most 1.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

DIMENSIONS = range(1, 1001)
ROUNDING = 1e-12


class Step(NamedTuple):
    """Needed over stated, with the constant as printed and with the larger one of the paper's chain put right."""

    printed: float
    corrected: float

    @property
    def holds(self) -> bool:
        """With the larger constant."""
        return self.corrected <= 1 + ROUNDING

    @property
    def status(self) -> str:
        """``as printed``, a ``slip`` that a larger constant puts right, or ``open``."""
        return "as printed" if self.printed <= 1 + ROUNDING else ("slip" if self.holds else "open")


def union_bound() -> Step:
    """L18: M^h bins with delta_0 = delta / (2 beta^h) as printed, delta beta^h / 2 corrected."""
    betas = (0.5, 0.49, 0.26, 0.25, 0.2, 0.1, 0.07, 0.05, 0.03)
    cases = [(math.ceil(1 / (2 * b) - 1e-12), b, h) for b in betas for h in range(1, 9)]
    return Step(max(M**h / (2 * b**h) for M, b, h in cases), max(M**h * b**h / 2 for M, b, h in cases))


def wishart_sum() -> float:
    """Eq. (48): 1.5 (d+1) (2a + a^2) over 6 (d+1)^2 l / sqrt(n), worst over d, l >= ln(96 d), n >= l."""
    worst = 0.0
    for d in (1, 2, 3, 5, 10, 100, 1000):
        l, n = _logs(96 * d)[:, None], 10.0 ** np.arange(0, 19)
        a = (math.sqrt(d) + np.sqrt(2 * l)) / np.sqrt(n * (d + 1))
        worst = max(worst, float(np.max((2 * a + a**2) * np.sqrt(n) / (4 * (d + 1) * l), where=n >= l, initial=0.0)))
    return worst


def _logs(least: float) -> np.ndarray:
    """Values of the free logarithm, from ln(least) on; those of ln 48 and above."""
    logs = np.exp(np.linspace(math.log(math.log(48)), math.log(1e5), 200_001))
    return logs[logs >= math.log(least)]


def counts() -> Step:
    """L19: 6.2 of the counts; printed with the factor 3 of the noise and sqrt 8 put into the paper's argument."""
    l = _logs(48)
    printed = 12 * l + 3 * np.sqrt(8 * l) + np.sqrt(l / 2)
    corrected = 6 * np.sqrt(l) + 3 * l + np.sqrt(l / 2)
    return Step(*(float(np.max(needed / (6.2 * (l + math.log(2))))) for needed in (printed, corrected)))


def lemma_8_1() -> float:
    """47 of Lemma 8.1 for d >= 2 and gamma >= 2, by the paper's steps."""
    l = _logs(96)
    kept = 1 - 6.2 * l / (
        8.5 * math.sqrt(2) * 2 * (l - math.log(2))
    )  # of psi that the estimate keeps, d = 2, gamma = 2
    needed = 3 * 6.2 / kept * math.sqrt(2) + 6 * math.sqrt(2) * (l - math.log(2)) / l
    needed += np.sqrt((l - math.log(1.5)) / 2) * math.sqrt(2) / l
    return float(np.max(needed)) / 47


def chain() -> dict[str, Step]:
    """The paper's chain, step by step."""
    d = np.array(DIMENSIONS, dtype=float)
    c, third = d + 1, 18 * (d + 1) ** 3 + 31 * d  # third: what the third line of Lemma 4.2 becomes (L21)

    def over(printed, corrected=None) -> Step:
        return Step(*(float(np.max(x)) for x in (printed, printed if corrected is None else corrected)))

    needed = 18 * d * c**2 + 31 * d
    kappa_1 = 72 * d + 6.2 * d / c**3
    growth = math.sqrt(1.1 * (1 + math.sqrt(2) * math.sqrt(2)) ** 2)
    return {
        "L18: all bins together, δ₀ M^h ≤ δ": union_bound(),
        "L19: 6.2 of the counts": counts(),
        "(48): 6(d+1)² of the Wishart sum": over(wishart_sum()),
        "L21: third line of Lemma 4.2": over(needed / (7 * c**3 + 29 * d), needed / third),
        "L9: 36(d+1)³ of (57)": over(2 * third / (36 * c**3), third / (36 * c**3)),
        "L22: κ₁ for (58)": over(kappa_1 / 43, kappa_1 / (86 * d)),
        "(65): 120(d+1)⁴": over(
            2 * d * (36 * c**3 + 48 * d**2) / (120 * c**4), 2 * d * (36 * c**3 + 20 * d**2 + 48 * d) / (120 * c**4)
        ),
        "47 of Lemma 8.1, d ≥ 2, γ ≥ 2": over(lemma_8_1()),
        "47 ≤ 118 / 2.5 of Corollary 8.3": over(47 * 2.5 / 118),
        "0.4 and 2.5 of Corollary 8.3, d = 1": over(max(0.4 * (1 + 6.2 / 30), 1 / (1 - 6.2 / 30) / 2.5)),
        "300 of Corollary 8.7": over(2.5 * 120 / 300),
        "L23: factor of the recursion": over(growth / 2.54, growth / 3.15),
        "L23: κ₂ term, γ = 2": over(math.sqrt(2) * 2, 1.0),
        "12 of the recursion": over(math.sqrt(11 * 2 * 2.5**2) / 12),
    }


def recursion_is_summed_up() -> bool:
    """Whether sum_h c^(d-h) M^h is at most (c M)^d, for both factors c, M < 60 and d < 13."""
    return all(
        sum(c ** (d - h) * M**h for h in range(1, d + 1)) <= (c * M) ** d * (1 + ROUNDING)
        for c, M, d in itertools.product((2.54, 3.15), range(1, 60), range(1, 13))
    )


def sharper_at(d: int, beta: float, delta: float, users: float) -> dict[str, float]:
    """Needed over stated for the steps of the sharper proofs; n is ``users`` times its smallest value."""
    log_0 = math.log(delta / 2) + d * math.log(beta)  # ln of delta_0
    large, small = math.log(48 * d / (beta * delta)), math.log(24 * d / (beta * delta))
    l, l_count, n = math.log(24 * d) - log_0, math.log(12) - log_0, 2 * d * small * users
    a = (math.sqrt(d) + math.sqrt(2 * l)) / math.sqrt(n * (d + 1))
    steps = {
        "counts, 6.2": (6 * math.sqrt(l_count) + 3 * l_count + math.sqrt(l_count / 2)) / (6.2 * d * large),
        "Laplace sums, 1.30 √d": (2 * math.sqrt(l) + l / math.sqrt(n)) / (1.30 * math.sqrt(d) * large),
        "Wishart sums, 11(d+1)": 4.5 * (d + 1) * (2 * a + a * a) * math.sqrt(n) / (11 * (d + 1) * large),
        "matrix Hoeffding, 2d": math.sqrt(8 * l) / (2 * d * large),
    }
    if d > 1:
        unit = d**1.5 * small
        change = 6.2 * l_count / (8.5 * d**1.5 * math.log(12 * d / (beta * delta)))
        noise = math.sqrt(2 * d) * (2 * math.sqrt(l_count) + l_count / math.sqrt(n) + math.sqrt(l_count / 2))
        steps["47 of Lemma 8.1"] = (noise / unit + 6.2 * l_count / (1 - change) * 1.13 * math.sqrt(2 * d) / unit) / 47
        steps["0.52 of Lemma 8.1"] = change / 0.52
    return steps


def sharper_in_fractions() -> dict[str, Fraction]:
    """The steps of the sharper proofs without a logarithm, exactly, over every d <= 1000."""
    return {
        "second line of Lemma 4.2": max(
            Fraction(2365, 4800)
            if d == 1
            else (Fraction(39, 10) * (math.isqrt(d**3) + 1) + 30 * d) / (19 * d**2 + 29 * d)
            for d in DIMENSIONS
        ),
        "third line of Lemma 4.2": max(Fraction(11 * (d + 1) + 31 * d, 7 * (d + 1) ** 3 + 29 * d) for d in DIMENSIONS),
        "ε/s of Lemma 4.3, over 0.1": max(Fraction(10 * d * (20 * d + 11), 42 * (d + 1) ** 3) for d in DIMENSIONS),
        "120(d+1)⁴ of Lemma 4.3": max(
            Fraction(2 * d * (19 * d**2 + 69 * d + 22), 120 * (d + 1) ** 4) for d in DIMENSIONS
        ),
        "2.54 of the recursion": recursion_factor(Fraction(2, 10)) / Fraction(254, 100),
    }


def recursion_factor(change: Fraction) -> Fraction:
    """1 + 1 / (1 - change), the factor of the sharper recursion; ``change`` is the relative error of s."""
    return 1 + 1 / (1 - change)


def sharper() -> dict[str, float]:
    """All steps of the sharper proofs, the largest over d, beta, delta and n."""
    worst: dict[str, float] = {}
    for case in itertools.product(
        (*range(1, 21), 50, 200, 1000),
        (0.5, 0.49, 0.3, 0.25, 0.1, 0.01),
        (1.0, 0.5, 1e-2, 1e-8, 1e-24),
        (1, 1.5, 10, 1e6),
    ):
        for name, ratio in sharper_at(*case).items():
            worst[name] = max(worst.get(name, 0.0), ratio)
    return worst | {name: float(ratio) for name, ratio in sharper_in_fractions().items()}


def lemma_4_2_alone(d: int) -> Fraction:
    """Largest error of Lambda over s_B that the inequalities of Lemma 4.2 allow at kappa_1 = 43 L / alpha."""
    return Fraction(d * (7 * (d + 1) ** 3 + 29 * d), 43 * (d + 1) ** 3)


def corollary_8_7() -> Fraction:
    """Needed over 300 (d+1)^4 of Corollary 8.7, with line 13 of Algorithm 5 as printed; every d <= 1000."""
    return max(
        Fraction(171, 100) * (Fraction(665, 10) * d**2 + 120 * (d + 1) ** 4) / (300 * (d + 1) ** 4) for d in DIMENSIONS
    )
