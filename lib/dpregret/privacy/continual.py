"""Counters under continual observation: a private running sum after each item of a stream.

An item is a number in [0, 1]; streams that differ in one item are neighbours. A mechanism keeps sums over intervals of
items ("p-sums"), each released once with fresh Laplace noise, and a running sum is a sum of them. If every item lies in
p-sums of scales ``b_1, b_2, ...`` with ``sum_j 1/b_j <= epsilon``, the mechanism is epsilon-DP by basic composition;
``p_sums(n)`` says which p-sums make up the n-th release, so that this, and the noise, can be enumerated.

References
----------
[Chan2011] T-H. H. Chan, E. Shi, D. Song. Private and Continual Release of Statistics. The binary, the logarithmic and
the hybrid mechanism.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from dpregret import _checks
from dpregret.privacy.laplace_sums import LaplaceSum

__all__ = ["BinaryMechanism", "HybridMechanism", "LogarithmicMechanism", "PSum"]


class PSum(NamedTuple):
    """The sum of the items ``start < i <= stop`` with noise Lap(scale)."""

    start: int
    stop: int
    scale: float


def draw_laplace(rng: np.random.Generator, scale: float) -> float:
    """One Lap(scale) variable: an exponential variable and a sign, drawn in this order."""
    magnitude = scale * rng.standard_exponential()
    return magnitude if rng.random() < 0.5 else -magnitude


class _RunningSum:
    """What the three mechanisms share; `n` is the number of items so far."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = _checks.epsilon(epsilon)
        self.n = 0

    def add(self, value: float, rng: np.random.Generator) -> None:
        """Insert an item in [0, 1]."""
        value = _checks.real("value", value, at_least=0.0, at_most=1.0)
        self._check_count("the number of items", self.n + 1)
        self.n += 1
        self._insert(value, rng)

    def release(self) -> float:
        """The current private sum; 0 before the first item. Reading it again gives the same number."""
        raise NotImplementedError

    def p_sums(self, n: int) -> tuple[PSum, ...]:
        """The p-sums that the release after n items adds up."""
        raise NotImplementedError

    def noise(self, n: int) -> LaplaceSum:
        """The exact law of the noise in the release after n >= 1 items."""
        scales = Counter(part.scale for part in self.p_sums(n))
        return LaplaceSum(tuple(scales), tuple(scales.values()))

    def variance(self, n: int) -> float:
        """The exact variance of the release after n >= 1 items."""
        return self.noise(n).variance

    def tail(self, n: int, x: float) -> float:
        """``P(|noise| > x)`` in the release after n items, exact (see `LaplaceSum`)."""
        return self.noise(n).two_sided_tail(x)

    def quantile(self, n: int, gamma: float) -> float:
        """The x with ``P(|noise| > x) = gamma`` in the release after n items."""
        return self.noise(n).two_sided_quantile(gamma)

    def _check_count(self, name: str, n: int) -> int:
        return _checks.integer(name, n, at_least=1)

    def _insert(self, value: float, rng: np.random.Generator) -> None:
        raise NotImplementedError


class BinaryMechanism(_RunningSum):
    """The binary mechanism: p-sums over dyadic intervals, for streams of at most ``horizon`` items.

    With ``levels = floor(log2 horizon) + 1`` an item lies in at most that many p-sums, so the noise is
    Lap(levels / epsilon) and the mechanism epsilon-DP. The release after n items adds popcount(n) p-sums. Memory is
    O(levels).

    [Chan2011] writes the scale as log T / epsilon, one level short where the horizon is a power of two and each level
    is used.

    Parameters
    ----------
    epsilon : float
    horizon : int
        Largest number of items, >= 1; a further one is refused with ValueError.
    """

    def __init__(self, *, epsilon: float, horizon: int) -> None:
        super().__init__(epsilon)
        self.horizon = _checks.integer("horizon", horizon, at_least=1)
        self.levels = self.horizon.bit_length()
        self.scale = self.levels / self.epsilon
        self._exact = [0.0] * self.levels
        self._noisy = [0.0] * self.levels

    def _check_count(self, name: str, n: int) -> int:
        return _checks.integer(name, n, at_least=1, at_most=self.horizon)

    def _insert(self, value: float, rng: np.random.Generator) -> None:
        level = (self.n & -self.n).bit_length() - 1  # the lower levels merge into this one
        for lower in range(level):
            value += self._exact[lower]
            self._exact[lower] = self._noisy[lower] = 0.0
        self._exact[level] = value
        self._noisy[level] = value + draw_laplace(rng, self.scale)

    def release(self) -> float:
        """The current private sum; 0 before the first item."""
        total = 0.0
        for noisy in reversed(self._noisy):
            total += noisy
        return total

    def p_sums(self, n: int) -> tuple[PSum, ...]:
        """The p-sums that the release after n items adds up."""
        n, parts, start = self._check_count("n", n), [], 0
        for level in reversed(range(self.levels)):
            if n >> level & 1:
                parts.append(PSum(start, start + 2**level, self.scale))
                start += 2**level
        return tuple(parts)


class LogarithmicMechanism(_RunningSum):
    """The logarithmic mechanism: releases at the powers of two only, for streams of any length.

    At ``n = 2^j`` the items since ``2^(j-1)`` enter with one Lap(1 / epsilon). An item lies in one p-sum: epsilon-DP.
    Between powers of two ``release()`` is the last one, and ``variance(n)`` its variance, ``2 (j + 1) / epsilon^2``.
    Memory is O(1).
    """

    def __init__(self, *, epsilon: float) -> None:
        super().__init__(epsilon)
        self.scale = 1.0 / self.epsilon
        self._pending = 0.0
        self._released = 0.0

    def _insert(self, value: float, rng: np.random.Generator) -> None:
        self._pending += value
        if self.n & (self.n - 1) == 0:
            self._released += self._pending + draw_laplace(rng, self.scale)
            self._pending = 0.0

    def release(self) -> float:
        """The current private sum; 0 before the first item."""
        return self._released

    def p_sums(self, n: int) -> tuple[PSum, ...]:
        """The p-sums that the release after n items adds up."""
        powers = range(self._check_count("n", n).bit_length())
        return tuple(PSum(2**j // 2, 2**j, self.scale) for j in powers)


class HybridMechanism(_RunningSum):
    r"""The hybrid mechanism: a release after every item, for streams of any length.

    A logarithmic mechanism with epsilon/2 releases at the powers of two; the items strictly between ``2^k`` and
    ``2^(k+1)``, at most ``2^k - 1`` of them, go to a binary mechanism with epsilon/2 and k levels. Item ``2^(k+1)``
    ends the block and goes to the logarithmic mechanism alone. So the privacy is epsilon/2 + epsilon/2, memory is
    O(log n), each insertion draws one variable, and with ``k = floor(log2 n)``

    .. math:: Var(n) = (k + 1)\, 2 (2/\varepsilon)^2 + popcount(n - 2^k)\, 2 (2k/\varepsilon)^2.
    """

    def __init__(self, *, epsilon: float) -> None:
        super().__init__(epsilon)
        self._logarithmic = LogarithmicMechanism(epsilon=self.epsilon / 2)
        self._binary: BinaryMechanism | None = None

    def _block(self, k: int) -> BinaryMechanism:
        """The binary mechanism of the items between ``2^k`` and ``2^(k+1)``, k >= 1."""
        return BinaryMechanism(epsilon=self.epsilon / 2, horizon=2**k - 1)

    def _insert(self, value: float, rng: np.random.Generator) -> None:
        self._logarithmic.add(value, rng)  # draws at the powers of two only
        if self.n & (self.n - 1):
            assert self._binary is not None  # made at the last power of two
            self._binary.add(value, rng)
        else:
            self._binary = self._block(self.n.bit_length() - 1) if self.n > 1 else None

    def release(self) -> float:
        """The current private sum; 0 before the first item."""
        return self._logarithmic.release() + (self._binary.release() if self._binary else 0.0)

    def p_sums(self, n: int) -> tuple[PSum, ...]:
        """The p-sums that the release after n items adds up."""
        parts = self._logarithmic.p_sums(n)
        k = int(n).bit_length() - 1
        if n > 2**k:
            parts += tuple(PSum(2**k + a, 2**k + b, scale) for a, b, scale in self._block(k).p_sums(n - 2**k))
        return parts
