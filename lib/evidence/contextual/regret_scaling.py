"""Worst regret against the horizon: curves, exponents, tables and cards of ``notebooks/contextual/regret_scaling``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from evidence import report
from evidence.contextual import bounds
from evidence.contextual.slopes import Slope, slope
from evidence.contextual.worst_instance import Worst

OWN_CONSTANTS_FROM = 18.0  # log10 T from which the exponent with the paper's own constants is fitted
UNIFORM = {"null": 0.5, "shared": 0.4}  # the regret of a round of uniform play at r = 1
WORDS = {
    "lplr corrected rr": "{prf:ref}`alg-corrected-lplr`, one bit a bin; rigorous widths",
    "lplr corrected laplace": "the same with Laplace noise; rigorous widths",
    "lplr tuned": "Algorithms 2 to 6 with the faults L4 and L6 to L11 corrected, the constants scaled down by hand",
    "lplr printed": "the same with the constants that the lemmas ask for",
    "perturbed statistics": "sums of $y\\phi$ and $\\phi\\phi^\\top$ with Laplace noise",
    "input perturbation": "noise on $\\phi$ and $y$, moments corrected for it",
    "least squares": "no noise",
}


class Curve(NamedTuple):
    """Arrays of one length: log10 T, the worst regret over sqrt(T), and its standard error."""

    x: np.ndarray
    y: np.ndarray
    se: np.ndarray

    def within(self, low: float, high: float = math.inf) -> Curve:
        """The part with ``low <= log10 T <= high``."""
        keep = (self.x >= low) & (self.x <= high)
        return Curve(*(part[keep] for part in self))


Curves = Mapping[tuple[str, str], Curve]


def curves(*results: xr.Dataset) -> dict[tuple[str, str], Curve]:
    """A curve for each oracle and family of the first grid, with further horizons of the others joined on.

    ``regret`` has the dimensions oracle, family, log_horizon, replicate.
    """
    found = {}
    for result in results:
        mean, se = report.mean_se(result.regret)
        root = 10 ** (mean.log_horizon / 2)
        for oracle in result.oracle.values.tolist():
            for family in result.family.values.tolist():
                at = dict(oracle=oracle, family=family)
                new = Curve(mean.log_horizon.values, (mean / root).sel(at).values, (se / root).sel(at).values)
                old = found.get((oracle, family))
                found[oracle, family] = new if old is None else Curve(*map(np.append, old, new))
    return found


def exponents(data: Curves, fit_from: float, confidence: float) -> dict[tuple[str, str], Slope]:
    """Slope of log10 of the worst regret on log10 T, from 10^fit_from on; later with the paper's own constants."""
    found = {}
    for (oracle, family), curve in data.items():
        x, y, _ = curve.within(OWN_CONSTANTS_FROM if oracle == "lplr printed" else fit_from)
        found[oracle, family] = slope(x, np.log10(y * 10 ** (x / 2)), confidence)
    return found


def power_of_logarithm(log_horizons, regret, confidence: float) -> Slope:
    """p of ``regret = c sqrt(T) (ln T)^p``: slope of ln(regret / sqrt(T)) on ln ln T."""
    logs = np.asarray(log_horizons, dtype=float) * math.log(10)
    return slope(np.log(logs), np.log(regret) - logs / 2, confidence)


def crossing(ahead: Curve, behind: Curve) -> float:
    """The least log10 T of the grid from which on the first is at most 0.8 times the second; nan if there is none."""
    late = np.flatnonzero(ahead.y > 0.8 * behind.y)
    first = late.max() + 1 if late.size else 0
    return float(ahead.x[first]) if first < ahead.x.size else math.nan


def leaves_uniform_play(curve: Curve, family: str) -> float:
    """The least log10 T at which the worst regret is below nine tenths of that of uniform play."""
    return float(curve.x[curve.y < 0.9 * UNIFORM[family] * 10 ** (curve.x / 2)].min())


def within(found: Mapping[tuple[str, str], Slope], oracles: Iterable[str], low: float, high: float) -> bool:
    """Whether the intervals of these oracles, in every family, lie in a window."""
    return all(low <= part.low and part.high <= high for (name, _), part in found.items() if name in set(oracles))


def intervals(found: Mapping[tuple[str, str], Slope], oracles: Iterable[str]) -> str:
    """The exponents' intervals as text."""
    return "; ".join(
        f"{report.series(name)['label']}, {family}: {report.approx(interval=part.interval)}"
        for wanted in oracles
        for (name, family), part in found.items()
        if name == wanted
    )


def oracle_table(oracles: Mapping) -> Any:
    """What the oracles are, and the epsilon that is in force."""
    stated = {name: oracle.effective_epsilon() for name, oracle in oracles.items()}
    return report.table(
        ["oracle", "", "ε in force"],
        [
            [report.series(name)["label"], WORDS[name], f"{value:g}" if math.isfinite(value) else "none"]
            for name, value in stated.items()
        ],
    )


def exponent_table(data: Curves, found: Mapping[tuple[str, str], Slope], fit_from: float) -> Any:
    """Exponents, and the worst regret over sqrt(T) at 10^18."""
    names, families = (list(dict.fromkeys(part)) for part in zip(*found, strict=True))

    def row(name):
        exact = [found[name, family] for family in families]
        last = [data[name, family].within(18.0, 18.0) for family in families]
        return [
            report.series(name)["label"],
            "10^18 to 10^24" if name == "lplr printed" else f"10^{fit_from:g} to 10^18",
            *(f"{report.approx(part.value, part.se)}, {report.approx(interval=part.interval)}" for part in exact),
            *(report.approx(float(part.y[0]), float(part.se[0])) for part in last),
        ]

    head = [*(f"exponent, {f}" for f in families), *(f"worst regret / √T at 10^18, {f}" for f in families)]
    return report.table(["oracle", "fitted over", *head], [row(name) for name in names])


class Scaled(NamedTuple):
    """Worst regret on the family with many scales: arrays over the horizons of its mean, standard error and J."""

    mean: np.ndarray
    se: np.ndarray
    scales: np.ndarray

    @classmethod
    def of(cls, found: Iterable[Worst]) -> Scaled:
        """From what was found at each horizon, instances (J, r)."""
        return cls(*np.array([(worst.mean, worst.se, worst.instance[0]) for worst in found]).T)


def scales_table(log_horizons: Sequence[float], scaled: Mapping[str, Scaled], confidence: float) -> Any:
    """Exponents on the family with many scales, for corrected LPLR as a power of ln T, too, and the worst J."""
    x = np.array(log_horizons, dtype=float)
    rows = []
    for name, found in scaled.items():
        power = power_of_logarithm(x, found.mean, confidence).interval
        rows.append(
            [
                report.series(name)["label"],
                report.approx(interval=slope(x, np.log10(found.mean), confidence).interval),
                report.approx(interval=power) if name == "lplr corrected rr" else "",
                f"{report.approx(found.scales[0], digits=2)}, {report.approx(found.scales[-1], digits=2)}",
            ]
        )
    return report.table(["oracle", "exponent of T", "as a power of ln T times √T", "worst J, first and last T"], rows)


def horizon_table(alpha: float) -> Any:
    """log10 T that the paper's own constants need, in one to three dimensions."""
    rows = []
    for beta in (None, 0.05, 0.1, 0.2):
        needed = [bounds.smallest_horizons(d, beta=beta, alpha=alpha) for d in (1, 2, 3)]
        cells = [" / ".join(f"{value:.1f}" for value in horizons) for horizons in needed]
        rows.append(["1/ln T" if beta is None else f"{beta:g}", *cells])
    return report.table(["β", "d = 1: active / χ < 1 / χ < 1/4", "d = 2", "d = 3"], rows)


def cards(
    found: Mapping[tuple[str, str], Slope],
    power: Slope,
    *,
    runs: int,
    valid: int,
    epsilons: Sequence[float],
    alpha: float,
) -> list[report.Card]:
    """The abstract's sentence, coverage and regret of the corrected LPLR, and the paper's two questions.

    Parameters
    ----------
    found : exponents of the two families
    power : that of ln T on the family with many scales, where the theorem allows 5/2
    runs, valid : runs of corrected LPLR, and those without an invalid band
    epsilons : what is in force for its forms
    """
    private = all(epsilon <= alpha * (1 + 1e-12) for epsilon in epsilons)
    proved = power.low <= 2.5
    shown = report.approx(interval=power.interval)
    missed = f"{runs - valid} of {report.approx(runs)}"
    one_scale = intervals(found, ["lplr corrected rr", "lplr corrected laplace"])
    return [
        report.verdict(
            "contextual/sentence-sqrt-regret",
            report.holds_if(private and valid == runs and proved, otherwise="consistent"),
            evidence="proof",
            check="the theorem on corrected LPLR; measured: worst regret over T = 10^12 to 10^18 on the hardest family "
            "tried, ε in force, coverage",
            observed=f"power of ln T over √T with many scales {shown}; exponents with one scale {one_scale}; "
            f"ε in force {alpha:g}; runs with an invalid band: {missed}",
            required="√T times a power of ln T, at d = 2 the power 5/2; ε at most α; no run with an invalid band",
            margin="no measurement at finitely many T could contradict an order; the proof is the evidence",
        ),
        report.verdict(
            "contextual/corrected-coverage",
            report.holds_if(valid == runs),
            evidence="proof",
            check="the theorem; runs of both forms with a band that missed the truth in some epoch",
            observed=f"{missed} at δ = T⁻²",
            required="at most δ for each action and epoch",
            margin="a count of 0 at such a δ could hardly be otherwise; the proof is the evidence",
        ),
        report.verdict(
            "contextual/corrected-regret",
            report.holds_if(proved, otherwise="consistent"),
            evidence="proof",
            check="the theorem; power of ln T over √T on the family with many scales",
            observed=shown,
            required="at d = 2 at most 5/2, in the limit",
            margin="no measurement at finitely many T could contradict an order",
        ),
        report.verdict(
            "contextual/question-polynomial",
            "holds",
            evidence="proof",
            check="whether regret poly(d, 1/α, ln(T/δ)) √T is possible: the theorem on perturbed inputs",
            observed="O(d^(7/2) ln(dT) √T/α) in the mean, and with probability 1 − δ with ln(T/δ)",
            required="a polynomial in d, 1/α and ln(T/δ), times √T; for 5.2 times T^(1/2 + β)",
            margin="by another algorithm than the paper's; the corrected LPLR is exponential in d",
        ),
        report.verdict(
            "contextual/question-actions",
            "open",
            evidence="proof",
            check="whether regret without d is possible, also for adversarial contexts",
            observed="bounds here are free of the number of actions but not of d, and for contexts of one law",
            required="poly(1/α, ln(|A|T/δ)) √T",
        ),
    ]
