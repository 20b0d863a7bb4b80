"""The two cases of Section 2.3 of [Li2024]: offline regression, the worst error over the share, and its slopes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from dpregret.contextual import Batch, Estimate
from evidence import report
from evidence.contextual.slopes import Slope, slope

MEASURES = "MAD", "MSE"
LEAST_SE = 5e-4  # of a slope: below it the scatter of so few points says little
LPLR, STATISTICS, INPUTS = "lplr corrected rr", "perturbed statistics", "input perturbation"
PRIVATE = LPLR, STATISTICS, INPUTS


class Mean(NamedTuple):
    """Of repetitions, with its standard error."""

    value: float
    se: float


def mean(sample: np.ndarray) -> Mean:
    """Of a sample (replicates,)."""
    return Mean(float(sample.mean()), float(sample.std(ddof=1) / math.sqrt(sample.size)))


def errors(fit: Estimate, batch: Batch, replicates: int) -> np.ndarray:
    """Mean absolute deviation and mean square of each of the fits, (2, replicates)."""
    miss = fit.values - batch.means
    sizes = np.abs(miss), miss**2
    return np.array([(batch.probabilities * x).reshape(replicates, -1).sum(axis=1) for x in sizes])


def shares_tried(users: int, case: str) -> list[float]:
    """From 0.1 to 10^3 over root n, in Case II also sin r from 1 to 10^2.5 over root n; at most 1/2."""
    tried = list(10.0 ** np.arange(-1, 3.01, 0.125) / math.sqrt(users))
    if case == "II":
        tried += list((10.0 ** np.arange(0, 2.51, 0.125)) ** 2 / users)
    return [share for share in tried if share <= 0.5]


def slope_from(least: float, result: Mapping[float, Mean], confidence: float) -> Slope:
    """Of the logarithm of the error against log10 n from ``least`` on; its standard error is at least 0.0005."""
    logs = [x for x in result if x >= least]
    found = slope(logs, [math.log10(result[x].value) for x in logs], confidence)
    if found.se >= LEAST_SE:
        return found
    reach = stats.t.ppf((1 + confidence) / 2, len(logs) - 2) * LEAST_SE
    return Slope(found.value, LEAST_SE, float(found.value - reach), float(found.value + reach))


def ignoring(log_users: float) -> float:
    """MAD of an estimate without the second direction, Case II, share 1 / sqrt n: ``0.8 sin r`` for theta_2 = 0.8."""
    return 0.8 * (10**log_users) ** -0.25


def rescaled_bit(log_users: float, alpha: float) -> float:
    """Standard deviation of the estimate of theta_2 sin r from a bit that knows the share 1 / sqrt n."""
    tau = math.tanh(alpha / 2)
    return math.sqrt((1 - (tau * 0.8) ** 2 * 10 ** (-log_users / 2)) / 10**log_users) / tau


def slopes_table(slopes: Mapping[tuple[str, str, str], Slope], least: float):
    """By (oracle, case, measure)."""
    head = [f"slope against $n$, from $10^{{{least:g}}}$ on"]
    head += [f"Case {case}, {measure}" for case, measure in itertools.product(("I", "II"), MEASURES)]
    rows = []
    for key in dict.fromkeys(key for key, *_ in slopes):
        cells = [slopes[key, case, measure] for case, measure in itertools.product(("I", "II"), MEASURES)]
        rows.append([report.series(key)["label"], *(report.approx(cell.value, cell.se) for cell in cells)])
    return report.table(head, rows)


def draw(result: Mapping[tuple[str, str, float, str], Mean], *, alpha: float) -> None:
    """Worst error times root n, by (oracle, case, log10 n, measure)."""
    fig, axes = report.panels(4, height=2.5, sharex=True, sharey=False)
    rows = report.Rows("case", "measure", "oracle", "users", "error", "error_se")
    oracles, logs = ([*dict.fromkeys(cell[i] for cell in result)] for i in (0, 2))
    users = 10.0 ** np.array(logs)
    root = np.sqrt(users)
    for ax, (case, measure) in zip(axes, itertools.product(("I", "II"), MEASURES), strict=True):
        for key in oracles:
            error, se = np.array([result[key, case, x, measure] for x in logs]).T * root
            report.band(ax, users, error, se, key=key)
            rows.add(case=case, measure=measure, oracle=key, users=users, error=error, error_se=se)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(f"Case {case}, {measure}", fontsize=10)
        ax.set_ylabel(f"$\\sqrt{{n}}$ × {measure}")
    for ax in axes[2:]:
        ax.set_xlabel("users $n$")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8.5)
    report.publish(
        fig,
        "contextual-partition-cases",
        rows,
        alt="Four panels of error times root n against n. Case I, mean absolute deviation: flat for all methods. Case "
        "I, mean square: flat for the private methods, falling for least squares. Case II, mean absolute deviation: "
        "flat for LPLR and least squares, rising like n to the quarter for perturbed statistics and perturbed inputs. "
        "Case II, mean square: falling for LPLR, flat for the perturbed methods.",
        caption=f"Worst error over δ, times √n; d = 2, α = {alpha:g} (least squares is not private). Flat means an "
        f"error of order 1/√n. In (a) and (b) LPLR and perturbed statistics nearly coincide. {report.BAND_NOTE}",
    )


def card(slopes: Mapping[tuple[str, str, str], Slope], log_users: Sequence[float], confidence: float) -> report.Card:
    """Case I does not separate the methods and Case II does; its printed vectors are longer than 1 (L16)."""
    norm = math.sqrt(1 + 1 / math.sqrt(10 ** log_users[0]))
    alike = all(
        abs(slopes[key, "I", "MAD"].value + 0.5) < 0.06 and slopes[key, "I", "MSE"].value > -0.6 for key in PRIVATE
    )
    apart = slopes[LPLR, "II", "MAD"].value < -0.45
    apart = apart and all(slopes[key, "II", "MAD"].value > -0.3 for key in (STATISTICS, INPUTS))

    def of(key: str, case: str) -> str:
        return report.approx(interval=slopes[key, case, "MAD"].interval)

    return report.verdict(
        "contextual/sentence-two-cases",
        report.holds_if(norm <= 1, otherwise="holds corrected") if alike and apart else "fails",
        evidence="proof",
        check="worst MAD over δ, slopes against n; norm of the vectors of Case II",
        observed=f"Case I: LPLR {of(LPLR, 'I')}, statistics {of(STATISTICS, 'I')}; Case II: LPLR {of(LPLR, 'II')}, "
        f"statistics {of(STATISTICS, 'II')}, inputs {of(INPUTS, 'II')}",
        required="Case I: −1/2 within 0.06 for all private methods; Case II: below −0.45 for LPLR (−1/2 proved for the "
        "bit), above −0.30 for noise of a fixed size (−1/4 proved)",
        margin=f"intervals at {confidence:.0%}; the printed vectors have norm √(1 + δ) > 1, and on the unit sphere all "
        "holds (L16)",
    )
