"""Theorems 3.2 and 4.7 against measured regret: tables and cards of ``notebooks/contextual/regret_theorem``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from dpregret.contextual.elimination import epoch_lengths, first_epoch_scale
from evidence import report
from evidence.contextual import bounds
from evidence.contextual.algorithm_1 import Comparison
from evidence.contextual.slopes import Slope, slope
from evidence.contextual.worst_instance import Worst


class Regret(NamedTuple):
    """Worst regret and its standard error, arrays over the horizons (or whatever else is varied)."""

    mean: np.ndarray
    se: np.ndarray

    @classmethod
    def of(cls, found: Sequence[Worst]) -> Regret:
        """From what was found at each of them."""
        return cls(*np.array([(worst.mean, worst.se) for worst in found]).T)


def bound_4_7(horizon: int, dimension: int, n_actions: int, *, alpha: float, version: str) -> float:
    """Theorem 4.7 with all its constants and the first epoch of its text, at most 2 T."""
    lengths = epoch_lengths(horizon, first_epoch_scale(horizon, dimension))
    return min(bounds.regret_bound(lengths, dimension, n_actions, alpha=alpha, version=version), 2.0 * horizon)


def exponents(log_horizons, found: Mapping[Any, Regret], confidence: float) -> dict[Any, Slope]:
    """Slope of log10 of the worst regret on log10 T."""
    x = np.array(log_horizons, dtype=float)
    return {key: slope(x, np.log10(regret.mean / 10 ** (x / 2)) + x / 2, confidence) for key, regret in found.items()}


def bound_slope(log_horizons, beta: float | None, *, alpha: float, logarithms: int = 2) -> float:
    """Slope of the bound of Theorem 4.7 (corrected, d = 2) over these horizons, fitted as regret is.

    With ``logarithms=1`` the bound is divided by one of its two factors ln(96 T / beta).
    """
    values, logs = [], []
    for x in log_horizons:
        values.append(bounds.theorem_4_7(10.0**x, 2, 2, alpha=alpha, beta=beta, version="corrected"))
        b = 1 / (x * math.log(10)) if beta is None else beta
        logs.append((2 - logarithms) * math.log10(math.log(96 * 10.0**x / b)))
    return float(stats.linregress(log_horizons, np.log10(values) - logs).slope)


def beta_text(beta: float | None) -> str:
    """Beta as the tables print it."""
    return "1/ln T" if beta is None else f"{beta:g}"


def beta_table(log_horizons, found: Mapping[tuple[str, float | None], Slope], alpha: float) -> Any:
    """Exponents at each beta, beside those of the bound."""
    return report.table(
        ["oracle", "β", "exponent over the figure's T", "1/2 + 2β", "Theorem 4.7 with its logarithms"],
        [
            [
                report.series(name)["label"],
                beta_text(beta),
                report.approx(interval=part.interval),
                "1/2" if beta is None else f"{0.5 + 2 * beta:g}",
                f"{bound_slope(log_horizons, beta, alpha=alpha):.3f}",
            ]
            for (name, beta), part in found.items()
        ],
    )


def factor_a_step(regret: Regret, dimensions: Sequence[int]) -> float:
    """Mean factor by which the worst regret grows from one dimension to the next."""
    return float((regret.mean[-1] / regret.mean[0]) ** (1 / (dimensions[-1] - dimensions[0])))


def dimension_table(growth: Mapping[tuple[str, int], Regret], dimensions: Sequence[int]) -> Any:
    """Factors a dimension; ``growth[oracle, log10 T]`` over the dimensions."""
    names, horizons = (list(dict.fromkeys(part)) for part in zip(*growth, strict=True))
    rows = [
        [
            report.series(name)["label"],
            *(report.approx(factor_a_step(growth[name, x], dimensions), digits=2) for x in horizons),
        ]
        for name in names
    ]
    rows.append(["bound: 3.15 M", *(f"{3.15 * math.ceil(x * math.log(10) / 2):.0f}" for x in horizons)])
    return report.table(["oracle", *(f"factor a dimension, T = 10^{x}" for x in horizons)], rows)


def cards_3_2(runs: Sequence[Comparison]) -> list[report.Card]:
    """Lemma 7.1 and Theorem 3.2 on all runs of Algorithm 1."""
    all_valid = all(run.valid for run in runs)
    lemma, lost = max(run.lemma for run in runs), sum(run.lost for run in runs)
    largest, printed = (max(run.regret / getattr(run, form) for run in runs) for form in ("corrected", "printed"))
    return [
        report.verdict(
            "contextual/lemma-7.1",
            "holds corrected" if lost == 0 and lemma <= 1 and all_valid else "consistent",
            evidence="proof",
            check="every epoch, context and surviving action: gap over 2 (width of the action + width of the best)",
            observed=f"largest ratio {report.approx(lemma)}; best action eliminated {lost} times",
            required="at most 1; never",
            margin=f"{len(runs)} runs, all bands valid: {all_valid}; "
            "the second inequality needs a ≠ a*, where the loss is not 0",
        ),
        report.verdict(
            "contextual/theorem-3.2-regret",
            report.holds_if(largest <= 1 and all_valid, otherwise="consistent"),
            evidence="proof",
            check="regret over the explicit bound with the run's own widths",
            observed=f"largest ratio {report.approx(largest)}; without the factor 2 of (26): {report.approx(printed)}",
            required="at most 1 (the theorem has O(·); the explicit constants are those of the book's proof)",
            margin=f"{len(runs)} runs: random problems and the worst instances",
        ),
    ]


def card_4_7(
    measured: np.ndarray, bound: np.ndarray, log_horizons, found: Mapping[float | None, Slope], alpha: float
) -> report.Card:
    """Theorem 4.7: regret under the corrected bound, and exponents at fixed beta under the bound's.

    Parameters
    ----------
    measured, bound : arrays over horizons
    log_horizons : those of the exponents
    found : exponent of the scaled-down algorithm at each beta, None for 1/ln T
    """
    betas = [beta for beta in found if beta is not None]
    two, one = (
        {beta: bound_slope(log_horizons, beta, alpha=alpha, logarithms=logs) for beta in found} for logs in (2, 1)
    )
    below = bool((measured <= bound).all()) and all(found[beta].high <= two[beta] for beta in found)
    return report.verdict(
        "contextual/theorem-4.7",
        "holds corrected" if below else "consistent",
        evidence="proof",
        check="the proof; the bound of the book's chain with all constants against the worst regret of the corrected "
        "Algorithms 2 to 6; exponents at fixed beta, constants scaled down by hand",
        observed=f"largest ratio regret / bound {report.approx(float((measured / bound).max()))}, where both are those "
        "of uniform play; exponents "
        + ", ".join(f"β = {beta:g}: {report.approx(interval=found[beta].interval)}" for beta in betas),
        required="ratio at most 1; exponents at most those of the bound with its two logarithms: "
        + ", ".join(f"{two[beta]:.3f}" for beta in betas)
        + f"; at one logarithm they would be {', '.join(f'{one[beta]:.3f}' for beta in betas)}",
        margin="neither number could contradict the bound at these T: it equals 2T at most of them, and the scaled "
        "algorithm is not the theorem's",
    )
