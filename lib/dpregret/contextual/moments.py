"""Second moments in vector form, and bounds on the errors of their estimates."""

from __future__ import annotations

import math
from functools import cache

import numpy as np


@cache
def triangle(dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column indices of the upper triangle, diagonal included."""
    return np.triu_indices(dimension)


def unfold(entries: np.ndarray, dimension: int) -> np.ndarray:
    """Symmetric matrices (B, D, D) from their upper triangles (B, D(D+1)/2)."""
    i, j = triangle(dimension)
    out = np.empty((len(entries), dimension, dimension))
    out[:, i, j] = out[:, j, i] = entries
    return out


def record_values(vectors: np.ndarray, offset: np.ndarray | float = 0.0) -> np.ndarray:
    """``(y - offset) v`` and the upper triangle of ``v v'`` for y = +1, -1: (m, 2, D + D(D+1)/2)."""
    m, D = vectors.shape
    i, j = triangle(D)
    values = np.empty((m, 2, D + len(i)))
    for side, y in enumerate((1.0, -1.0)):
        values[:, side, :D] = np.reshape(y - offset, (-1, 1)) * vectors
    values[:, :, D:] = (vectors[:, i] * vectors[:, j])[:, None, :]
    return values


def sensitivities(dimension: int, bound: float = 1.0) -> tuple[float, float]:
    """l1 distances of the parts l and L of the statistics, over all pairs of records, the bin or the action included.

    Twice the norms at the vector ``(1, ..., 1) / sqrt(D)``, where both are largest by Cauchy and Schwarz; ``bound`` on
    the reward less its prediction. Attained together by two records in different bins.
    """
    values = np.abs(record_values(np.full((1, dimension), dimension**-0.5), 1.0 - bound)[0, 0])
    return 2 * float(values[:dimension].sum()), 2 * float(values[dimension:].sum())


def spent(sensitivities, scales) -> float:
    """Epsilon of Laplace noise: the sum of the parts' l1 sensitivities over their scales."""
    return math.fsum(s / float(b) if b > 0 else math.inf for s, b in zip(sensitivities, scales, strict=True))


def hoeffding_width(log: float, n: int, half_range):
    """Error of a mean of n independent values, in an interval of length 2 half_range, but for ``2 exp(-log)``."""
    return half_range * math.sqrt(2 * log / n)


def laplace_width(log: float, n: int, scale):
    """Error of a mean of n Laplace variables, but for ``2 exp(-log)``.

    ``-ln(1 - x^2) <= x^2 / (1 - x)`` makes the sum sub-gamma with variance factor 2 n b^2 and scale b. It holds also if
    each variable is multiplied by an independent number of [-1, 1].
    """
    return scale * (2 * math.sqrt(log / n) + log / n)


def bernstein_width(log: float, n: int, variance: float, largest: float) -> float:
    """Error of a mean of n independent centred values of absolute value at most ``largest``."""
    return math.sqrt(2 * variance * log / n) + 2 * largest * log / (3 * n)
