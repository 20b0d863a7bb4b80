"""A search that sample sizes and horizons share."""

from __future__ import annotations

from collections.abc import Callable


def smallest(enough: Callable[[int], bool], *, at_least: int = 1) -> int:
    """The smallest integer n >= at_least >= 1 with ``enough(n)``, which must stay true once true."""
    low, high = at_least - 1, at_least
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
