"""Laplace against Gaussian noise: Algorithms 2 and 3 of [Wang2021], and the noise that the click vector needs.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Algorithms 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.optimize import brentq

from dpregret.privacy.mechanisms import Gaussian
from evidence import report
from evidence.report.tables import Markdown


def click_noise(epsilon: float, delta: float) -> tuple[float, ...]:
    """Standard deviations for the click vector's own sensitivities: Laplace, classical and smallest Gaussian."""
    calibration = {"epsilon": epsilon, "delta": delta, "sensitivity": math.sqrt(2)}
    return 2 * math.sqrt(2) / epsilon, Gaussian.classical(**calibration).sigma, Gaussian.analytic(**calibration).sigma


def gaussian_below(delta: float) -> float:
    """The epsilon below which the smallest sufficient Gaussian noise for the click vector is below Laplace noise."""

    def excess(epsilon: float) -> float:
        laplace, _, smallest = click_noise(epsilon, delta)
        return math.log(smallest / laplace)

    return brentq(excess, 0.01, 2.0, xtol=1e-12)


def noise_in_units(list_length: int, *, delta: float, horizon: float) -> tuple[float, ...]:
    """Laplace (Algorithm 2) and Gaussian (Algorithm 3), times epsilon: standard deviations of one value, then bonuses.

    The bonuses are the noise part of the index at the horizon, in units of ``sqrt(1 / T(e))``.
    """
    log_t = math.log(horizon)
    gaussian = math.sqrt(2 * list_length * math.log(1.25 / delta))
    return (
        math.sqrt(2) * list_length,
        gaussian,
        list_length * math.sqrt(24 * log_t),
        gaussian * math.sqrt(2 * math.log(2) + 6 * log_t),
    )


def noise_table(lengths: Sequence[int], *, delta: float, horizon: float) -> Markdown:
    """`noise_in_units` by K."""
    rows = []
    for k in lengths:
        *deviations, laplace_bonus, gaussian_bonus = noise_in_units(k, delta=delta, horizon=horizon)
        rows.append([k, *(f"{sd:.3f}" for sd in deviations), f"{laplace_bonus:.2f}", f"{gaussian_bonus:.2f}"])
    return report.table(["K", "ε × sd, Laplace", "ε × sd, Gaussian", "ε × bonus, Laplace", "ε × bonus, Gaussian"], rows)


def click_table(epsilons: Sequence[float], delta: float) -> Markdown:
    """`click_noise` by epsilon."""
    return report.table(
        ["ε", "sd for the clicks: Laplace, scale 2/ε", "Gaussian, classical", "Gaussian, smallest sufficient"],
        [[f"{eps:g}", *(f"{sd:.3f}" for sd in click_noise(eps, delta))] for eps in epsilons],
    )
