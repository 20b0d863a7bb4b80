r"""Line 11 of Algorithm 5 of [Li2024]: the width that a vector gets in an inactive bin (L6).

The example: d = 2, contexts :math:`(\cos v, \pm\sin v)` with probability 1/2, :math:`\theta^* = (\theta_1, 0)`, and the
query e_1, which no user had. The first layer learns a direction near e_1; what it leaves of e_1 is about as long as the
error of the direction, and the bin of that residual is empty, hence inactive.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from dpregret.contextual import Batch, Estimate
from dpregret.contextual.partition import Layer

SMALL_S, SMALL_PSI = 1.5, 1.25  # what the bound along the direction asks of the estimates of layer 1


class Limit(NamedTuple):
    """Coverage of the printed band at e_1 in the limit law, and two bounds on it that are free of T."""

    covered: float
    low: float
    high: float


def limit_law(horizon: float, *, angle: float, theta_1: float, alpha: float) -> Limit:
    """Coverage at e_1 with line 11 as printed, for Lemma 4.4: gamma = e, so M = ceil(ln T / 2), and n = T / 4 users.

    Error of the prediction and length of the residual are normal variables over root n, to first order.
    """
    n, M = horizon / 4, math.ceil(math.log(horizon) / 2 - 1e-12)
    a, b = math.cos(angle) ** 2, math.sin(angle) ** 2
    sigma_f = math.sqrt((36 + 121.5 * theta_1**2) / alpha**2 + a * (1 - a * theta_1**2)) / a
    sigma_r = math.sqrt(60.75 / alpha**2 + a * b) / (a - b)
    width = np.exp(-np.arange(M + 1.0))
    shorter = special.erf(width * math.sqrt(n / 2) / sigma_r)
    mass = shorter - np.append(shorter[1:], 0.0)
    covered = float(mass @ special.erf(width * math.sqrt(n / 2) / sigma_f))
    return Limit(covered, *(2 / math.pi * math.atan(factor * sigma_r / sigma_f) for factor in (1, math.e)))


def bound_along(alpha: float, dimension: int) -> float:
    """The largest coverage along the direction learned, for every T, if `conditions` hold: alpha / (4 d)."""
    return alpha / (4 * dimension)


def conditions(layer: Layer) -> bool:
    """Whether layer 1 is active in every run, and its estimates are as small as `bound_along` asks (a traced fit)."""
    trace = layer.trace
    return bool(layer.active.all() and trace.s.max() <= SMALL_S and trace.psi.max() <= SMALL_PSI)


def hits(fit: Estimate, batch: Batch, directions: np.ndarray, parameter: np.ndarray) -> dict[str, int]:
    """Runs in which the bands of one fit a run hold: at the contexts, at e1, along the direction, at all of them.

    The rows of each run are the contexts and, last, the query; ``directions`` (runs, d) are those of layer 1.
    """
    runs = len(directions)
    value, width = fit.band(directions, np.arange(runs))
    rows, along = fit.holds(batch).reshape(runs, -1), np.abs(value - directions @ parameter) <= width
    everywhere = rows.all(axis=1) & along
    held = {"contexts": rows[:, :-1].all(axis=1), "e1": rows[:, -1], "along": along, "all points": everywhere}
    return {name: int(x.sum()) for name, x in held.items()}
