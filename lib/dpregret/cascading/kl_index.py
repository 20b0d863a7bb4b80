"""The KL index: the upper end of a Bernoulli confidence set, compiled."""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True, nogil=True)
def kl_upper(mean: float, level: float) -> float:
    r"""The largest q in [mean, 1] with ``d(mean || q) <= level``, d the Bernoulli divergence in nats.

    As a function of q the divergence is convex and increasing beyond the mean: Newton's method falls to the root from
    any point above it, and passes it once from a point below. It starts from the expansion of the root to second order
    where that is good, and otherwise from an upper bound: ``d(p || q) >= 2 (q - p)^2`` and ``>= (q - p)^2 / 2q``.
    """
    if mean >= 1.0:
        return 1.0
    if mean <= 0.0:
        return -math.expm1(-level)
    miss = 1.0 - mean
    variance = mean * miss
    offset = mean * math.log(mean) + miss * math.log(miss) - level
    root = math.sqrt(2.0 * variance * level)
    if root < 0.2 * variance:
        upper = mean + root + (1.0 - 2.0 * mean) * root * root / (3.0 * variance)
    else:
        upper = mean + min(math.sqrt(0.5 * level), level + math.sqrt(level * (level + 2.0 * mean)))
        # where the second term of the divergence alone is at the level, with -q log q >= 0 dropped from the first
        upper = min(upper, -math.expm1(offset / miss))
    for _ in range(60):
        if not mean < upper < 1.0:
            break
        excess = offset - mean * math.log(upper) - miss * math.log1p(-upper)
        step = excess * upper * (1.0 - upper) / (upper - mean)
        upper -= step
        if abs(step) <= 1e-8 * (upper - mean):  # the next one would be of the square of this size
            break
    return max(mean, min(upper, 1.0))


@njit(cache=True, nogil=True)
def kl_slope(mean: float, upper: float) -> float:
    """The derivative of `kl_upper` with respect to the level; the function is concave, so a tangent lies above it."""
    if upper >= 1.0:
        return 0.0
    return upper * (1.0 - upper) / (upper - mean) if upper > mean else math.inf
