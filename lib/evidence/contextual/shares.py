"""Shares of runs with Clopper-Pearson intervals that hold together, and independent copies of a regression problem."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dpregret.contextual import Batch
from dpregret.privacy.audit import lower_limit, upper_limit


class Share(NamedTuple):
    """``hits`` of ``runs``, and the ends of an interval."""

    hits: int
    runs: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """hits / runs."""
        return self.hits / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """The interval."""
        return self.low, self.high


def share(hits: int, runs: int, confidence: float, *, intervals: int = 1) -> Share:
    """A share whose two-sided interval holds together with ``intervals - 1`` others, at level ``confidence``."""
    each = 1 - (1 - confidence) / (2 * intervals)
    return Share(hits, runs, lower_limit(hits, runs, confidence=each), upper_limit(hits, runs, confidence=each))


def shares(hits: Mapping[Hashable, int], runs: int, confidence: float) -> dict[Hashable, Share]:
    """Each count as a share of ``runs``, all intervals together at level ``confidence``."""
    return {cell: share(count, runs, confidence, intervals=len(hits)) for cell, count in hits.items()}


def copies(rows: np.ndarray, law: Sequence[float], parameter: np.ndarray, horizon: float, runs: int) -> Batch:
    """Independent copies of one regression problem, T users each, fitted side by side.

    Rows (m, d) of probability 0 are queries. ``Estimate.values.reshape(runs, m)``.
    """
    label = np.repeat(np.arange(runs), len(rows))
    features = np.tile(rows, (runs, 1))
    means = features @ parameter
    return Batch(features, label, np.tile(law, runs), means, int(horizon), horizon=horizon, instances=label)
