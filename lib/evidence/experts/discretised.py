"""What `dp_accounting` makes of the transcript's rounds on a grid of privacy losses, and by Rényi orders.

An independent check of the formulas, and a trap: a grid that looks fine can be far too coarse for many small steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dp_accounting
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.special import expit

from dpregret.privacy import composition
from evidence import report


def binary_distribution(t: float, b: float, *, grid: float, pessimistic: bool = True) -> Any:
    """One release of range b with log-ratios ``t`` and ``t - b``, losses rounded up to the grid, or down."""
    high = math.log(-math.expm1(t - b) / -math.expm1(-b))  # ln P(hi)
    low = math.log(math.exp(t - b) * math.expm1(-t) / math.expm1(-b))  # ln P(lo)
    return pld.from_two_probability_mass_functions(
        {"hi": high - t, "lo": low - t + b},
        {"hi": high, "lo": low},
        pessimistic_estimate=pessimistic,
        value_discretization_interval=grid,
        symmetric=False,
    )


def bracket(b: float, n: int, epsilon: float, *, grid: float) -> tuple[float, float]:
    """The delta of the worst of n equal releases of range b, rounded down and rounded up."""
    candidates = [min(b, (epsilon + (m + 1) * b) / (n + 1)) for m in range(n)]
    down, up = (
        max(
            binary_distribution(t, b, grid=grid, pessimistic=pessimistic).self_compose(n).get_delta_for_epsilon(epsilon)
            for t in candidates
            if t < b
        )
        for pessimistic in (False, True)
    )
    return down, up


def renyi_delta(rho: float, epsilon: float, orders: Sequence[float] | None = None) -> float:
    """The delta of rho-zCDP by the Rényi accountant, on its own grid of orders or another."""
    accountant = dp_accounting.rdp.RdpAccountant(**({} if orders is None else {"orders": list(orders)}))
    accountant.compose(dp_accounting.ZCDpEvent(rho))
    return accountant.get_delta(epsilon)


def randomised_response_delta(constructor: str, eta: float, grid: float, n: int, epsilon: float) -> float:
    """The delta of n rounds of randomised response with parameter eta, by one of three constructors."""
    q = float(expit(-eta))
    if constructor == "from_privacy_parameters":
        parameters = common.DifferentialPrivacyParameters(eta, 0.0)
        made = pld.from_privacy_parameters(parameters, value_discretization_interval=grid)
    elif constructor == "from_randomized_response":
        made = pld.from_randomized_response(2 * q, 2, value_discretization_interval=grid)
    elif constructor == "from_two_probability_mass_functions":
        right, wrong = math.log1p(-q), math.log(q)
        made = pld.from_two_probability_mass_functions(
            {0: wrong, 1: right}, {0: right, 1: wrong}, value_discretization_interval=grid
        )
    else:
        raise ValueError(f"constructor must be one of the three, got {constructor!r}")
    return made.self_compose(n).get_delta_for_epsilon(epsilon)


def tabulate_grids(n: int, epsilon: float, eta: float) -> Any:
    """Delta of n rounds of randomised response by three constructors and several grids, beside the exact value.

    In the last row of dp-accounting the losses lie just above a point of the grid: one part in 10^9.
    """
    rows = []
    for constructor, rate, grid, name in (
        ("from_privacy_parameters", eta, eta / 4, "η/4"),
        ("from_privacy_parameters", eta, 1.5e-4, "0.00015"),
        ("from_randomized_response", eta, 1.5e-4, "0.00015"),
        ("from_two_probability_mass_functions", eta, 1.5e-4, "0.00015"),
        ("from_two_probability_mass_functions", eta * (1 + 1e-9), eta / 4, "η/4, one part in 10⁹ above it"),
    ):
        value = randomised_response_delta(constructor, rate, grid, n, epsilon)
        truth = composition.optimal(epsilon=rate, k=n, target_epsilon=epsilon)
        rows.append([f"`{constructor}`", name, f"{value:.6f}", f"{value / truth:.4f}"])
    formula = composition.optimal(epsilon=eta, k=n, target_epsilon=epsilon)
    rows.append(["binomial sum (this library)", "none", f"{formula:.6f}", "1"])
    head = ["constructor", "grid", f"δ({epsilon:g}) of {n} rounds, η = {eta:g}", "times the truth"]
    return report.table(head, rows)
