r"""Two estimators from perturbed inputs on the hard pairs of Theorem 2.2 of [Li2024], and how far off they are.

phi = (1/2, +-m) and theta_1 = 1/2 are known, theta_2 in [-1, 1] is not. A record is (phi_2, y) plus Laplace noise of
scale 1/alpha on each, and y = phi . theta, so that the centres are :math:`(\pm m, \frac14 \pm \theta_2 m)`. The error
is :math:`m |\hat\theta_2 - \theta_2|`, the absolute deviation of the prediction.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import stats

from dpregret.simulation import sums


class Deviation(NamedTuple):
    """A mean absolute deviation and its standard error."""

    mean: float
    se: float


def cell_masses(edges: np.ndarray, centres) -> np.ndarray:
    """Masses under Laplace laws of scale 1: (centre, cell), for the cells between sorted edges and the two tails."""
    off = edges - np.reshape(centres, (-1, 1))
    tail = np.exp(-np.abs(off)) / 2
    lower, upper = np.where(off < 0, tail, 0.5), np.where(off > 0, tail, 0.5)  # below the edge, above it, at most 1/2
    ends = lower[:, :1] + 0.5 - upper[:, :1], upper[:, -1:] + 0.5 - lower[:, -1:]
    return np.hstack([ends[0], np.diff(lower) - np.diff(upper), ends[1]])


def cell_table(m: float, thetas: np.ndarray, alpha: float) -> np.ndarray:
    """Law of the cell of (alpha phi_2, alpha (y - 1/4)), for each theta_2: (theta, cell); opposite cells are joined.

    Four columns for phi_2 and, between the centres of y, cells that halve towards 0.
    """
    a = alpha * m
    fine = np.unique(np.r_[0.0, np.arange(1, 9) / 8, 2.0 ** -np.arange(4, 12)]) * a
    up, down = cell_masses(np.array([-a, 0.0, a]), [a, -a])
    edges = np.r_[-fine[:0:-1], fine]
    plus, minus = cell_masses(edges, thetas * a), cell_masses(edges, -thetas * a)
    table = (up[:, None] * plus[:, None, :] + down[:, None] * minus[:, None, :]).reshape(thetas.size, -1) / 2
    return (table + table[:, ::-1])[:, : table.shape[1] // 2]


def cell_counts(rng: np.random.Generator, n: float, law: np.ndarray, size: int) -> np.ndarray:
    """How many of n records fall into each cell, for any n: (size, cell), by conditional binomials."""
    counts, left, rest = np.zeros((size, law.size)), np.full(size, n), 1.0
    for j, p in enumerate(law[:-1]):
        counts[:, j] = sums.binomial(rng, left, min(1.0, p / rest))
        left, rest = left - counts[:, j], rest - p
    counts[:, -1] = left
    return counts


def likelihood_deviation(
    n: float, m: float, thetas: np.ndarray, true: float, *, alpha: float, draws: int, rng: np.random.Generator
) -> Deviation:
    """Error of the most likely theta_2 of the grid ``thetas``, given the cells of n records; ``true`` lies on the grid.

    The mean over ``draws`` repetitions. It is an upper bound on what an estimator can do, so the grid may be coarse.
    """
    table = cell_table(m, thetas, alpha)
    at = int(np.abs(thetas - true).argmin())
    gain = np.log1p((table - table[at]) / table[at])  # log-likelihood over that of the truth
    score = (cell_counts(rng, n, table[at], draws) - n * table[at]) @ gain.T + n * (gain @ table[at])
    off = m * np.abs(thetas[score.argmax(axis=1)] - thetas[at])
    return Deviation(float(off.mean()), float(off.std(ddof=1) / math.sqrt(draws)))


def worst_likelihood(
    n: float,
    thetas: np.ndarray,
    scales: Iterable[tuple[float, float]],
    truths: Iterable[float],
    *,
    alpha: float,
    draws: int,
    rng: np.random.Generator,
) -> Deviation:
    """The largest `likelihood_deviation` over m = c n^-p, (c, p) in ``scales``, and true theta_2 in ``truths``."""
    cells = itertools.product(scales, truths)
    return max(
        likelihood_deviation(n, c * n**-power, thetas, true, alpha=alpha, draws=draws, rng=rng)
        for (c, power), true in cells
    )


def moment_deviation(n: float, m: float, theta: float, alpha: float) -> float:
    """Error of the mean of phi_2 (y - 1/4), over m^2 and clipped to [-1, 1], in the normal limit of n records."""
    noise = 2 / alpha**2
    spread = np.sqrt(((m**2 + noise) * (theta**2 * m**2 + noise) - theta**2 * m**4) / n) / m**2
    low, high = (1 + theta) / spread, (1 - theta) / spread
    clipped = stats.norm.sf(low) * (1 + theta) + stats.norm.sf(high) * (1 - theta)
    pdf = stats.norm.pdf
    return float(m * (clipped + spread * (2 * pdf(0) - pdf(low) - pdf(high))))


def worst_moment(n: float, alpha: float) -> float:
    """The largest `moment_deviation` near m = 2 n^(-1/4)/alpha, theta_2 = 0, 1/2, 1."""
    cells = itertools.product((1, 1.4, 2, 2.8), (0, 0.5, 1))
    return max(moment_deviation(n, c * n**-0.25 / alpha, theta, alpha) for c, theta in cells)
