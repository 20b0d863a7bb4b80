"""The cards of ``notebooks/contextual/mean_square_limit``: Theorem 2.1 and what the paper says around it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evidence import report
from evidence.contextual.lower_bounds import THEOREM_2_1_CONSTANT
from evidence.contextual.mean_square_limit import Orders, Risks, StatisticsErrors


def _listed(alphas) -> str:
    return ", ".join(f"{a:g}" for a in alphas)


def critical_alpha() -> float:
    """Below it the printed bound at n = 1 exceeds 1, the largest error of the estimate 0."""
    return float(np.log1p(THEOREM_2_1_CONSTANT))


def in_order(scaled: Mapping[float, Risks], worst_pair: Mapping[float, np.ndarray]) -> bool:
    """Whether corrected bound <= sharp bound <= exact worst Bayes risk, the last for the first sizes alone."""
    return all(
        bool(
            (part.corrected <= part.sharp * (1 + 1e-6)).all()
            and (part.sharp[: worst_pair[a].size] <= worst_pair[a]).all()
        )
        for a, part in scaled.items()
    )


def cards_theorem_2_1(
    scaled: Mapping[float, Risks], worst_pair: Mapping[float, np.ndarray], sizes: np.ndarray
) -> list[report.Card]:
    """Theorem 2.1 with a constant for each alpha, and with one for all; ``sizes`` are numbers of users.

    ``scaled[alpha]`` and ``worst_pair[alpha]`` are times sqrt(n) (e^alpha - 1), the latter for the first sizes alone.
    """
    levels, ordered = list(scaled), in_order(scaled, worst_pair)
    constants = {a: min(np.expm1(a), 1 / np.sqrt(2)) / 8 for a in levels}
    below = all(bool((constants[a] <= scaled[a].corrected * (1 + 1e-12)).all()) for a in levels)
    at = critical_alpha() / 2
    printed = THEOREM_2_1_CONSTANT / np.expm1(at)
    first, last = levels[0], worst_pair[levels[0]][-1]
    return [
        report.verdict(
            "contextual/theorem-2.1",
            report.holds_if(below and ordered),
            evidence="proof",
            reading="a constant for each alpha",
            check="C_1 = min{e^α - 1, 1/√2}/8: the printed bound against that of the corrected theorem, and this "
            "against the exact risk",
            observed=f"never above it, n = {sizes[0]:g} to {sizes[-1]:g}, α = {_listed(levels)}: {below}",
            required="at most the bound of the corrected theorem, which is proved",
            margin="C_1 = " + ", ".join(f"{c:.5f} (α = {a:g})" for a, c in constants.items()),
        ),
        report.verdict(
            "contextual/theorem-2.1",
            "fails" if not ordered else "holds corrected" if printed > 1 else "holds",
            evidence="proof",
            reading="one constant for all alpha",
            check="printed bound against the largest possible error; the bound with min{1, ·} against the sharp one "
            "and the exact worst Bayes risk under randomized response",
            observed=f"printed, its own constant, n = 1, α = {at:.4f}: {printed:.4f}; with the minimum, "
            f"n = 1 to 1000000, α = {_listed(levels)}: "
            f"{'in this order everywhere' if ordered else 'out of order somewhere'}",
            required="at most 1, since the estimate 0 never errs by more; each lower bound below the next and below "
            "the exact risk",
            margin=f"α = {first:g}, n = 1e6: the exact worst risk is {last / THEOREM_2_1_CONSTANT:.2f} times the "
            f"bound with the paper's constant, {last * 8 * np.sqrt(2):.2f} times that of the corrected theorem",
        ),
    ]


def cards_around(regret: Mapping[float, float], two: Orders, gap: float) -> list[report.Card]:
    """The six sentences beside the theorem.

    Parameters
    ----------
    regret : for each alpha, the least regret of a round with a private action times 1 + e^alpha; 1 is the exact value
    two : both errors times sqrt(n)
    gap : the least difference of the two sides of the inequality of Cauchy and Schwarz
    """
    right = gap >= 0 and all(abs(value - 1) < 1e-3 for value in regret.values()) and two.mean_square.min() > 0

    def card(name, *, check, observed, required, **reading):
        word = report.holds_if(right)
        texts = dict(check=check, observed=observed, required=required)
        return report.verdict(f"contextual/{name}", word, evidence="proof", **texts, **reading)

    return [
        card(
            "sentence-mean-square-analyses",
            check="a bound on the mean-square error for every law, put through Cauchy-Schwarz",
            observed="the error is at least c/√n for some law, so Σ √(c/√n) ≥ c' T^(3/4)",
            required="no better order by this method",
            reading="a bound for every law, put through Cauchy-Schwarz",
        ),
        card(
            "sentence-best-mean-square",
            check="order of the smallest worst mean-square error: lower bound of the corrected theorem, upper bound "
            "of the moment estimate",
            observed="lower and upper bounds of order 1/√n",
            required="both of order 1/√n",
        ),
        card(
            "sentence-two-measures",
            check="both errors on the laws of the theorem, times √n, α = 1, n = 1e2 to 1e16",
            observed=f"mean square between {two.mean_square.min():.4f} and {two.upper.max():.4f}, absolute between "
            f"{two.absolute.min():.4f} and {two.upper.max():.4f}",
            required="both bounded, above and below",
        ),
        card(
            "sentence-linear-otherwise",
            check="least regret of a round with a private action, two contexts, times 1 + e^α",
            observed=", ".join(f"{value:.4f} (α = {a:g})" for a, value in regret.items()),
            required="at least 1: linear regret T/(1 + e^α)",
        ),
        card(
            "sentence-cauchy-schwarz",
            check="the displayed inequality on random positive weights",
            observed=f"200 laws of 50 points, none against it: {gap >= 0}",
            required="none against it",
        ),
        card(
            "sentence-beta-zero",
            check="T^(3/4) with a polynomial in d as an instance of Question 5.2",
            observed="T^(1/2 + 1/4)",
            required="exponent at most 1/2 + β for β = 1/4",
        ),
    ]


def card_attained(errors: Mapping[float, StatisticsErrors]) -> report.Card:
    """The rate is attained: the moment bound of perturbed statistics over the simple one, d = 1, 2, ... up to 1e6."""
    ratio = {a: float((part.moments / part.simple).max()) for a, part in errors.items()}
    at = errors.get(1.0)
    return report.verdict(
        "contextual/mean-square-attained",
        report.holds_if(max(ratio.values()) <= 1),
        evidence="proof",
        check="√n times the error bound of perturbed statistics, by moments, over 3(√d + 1)^4/α, d = 1 to 1e6",
        observed="at most " + ", ".join(f"{value:.6f} (α = {a:g})" for a, value in ratio.items()),
        required="at most 1",
        margin="" if at is None else f"at d = 2, α = 1: {at.moments[1]:.2f} against {at.simple[1]:.2f}",
    )
