"""What an oracle returns: values and confidence bands of every action's reward function."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpregret import _checks
from dpregret.contextual.batch import Batch


class Estimate:
    r"""Estimates :math:`\hat f^a` with bands :math:`\Delta^a`, Definition 3.1 of [Li2024]_.

    Parameters
    ----------
    band : callable
        ``band(features (k, d), actions (k,))`` gives values and widths, both (k,).
    batch : Batch
        Its rows are evaluated once: `values` and `widths`.
    details : object
        What the oracle fitted (a partition, spectral coordinates).
    """

    def __init__(self, band: Callable, batch: Batch, details: object = None) -> None:
        self._band = band
        self.details = details
        self.values, self.widths = band(batch.features, batch.actions)

    def band(self, features, actions=0) -> tuple[np.ndarray, np.ndarray]:
        """Values and widths at features (k, d) of an action (or one action a row)."""
        features = _checks.array("features", features, ndim=2)
        return self._band(features, np.broadcast_to(np.asarray(actions, dtype=np.int64), len(features)))

    def predict(self, features, actions=0) -> np.ndarray:
        r""":math:`\hat f^a(\phi)`, shape (k,)."""
        return self.band(features, actions)[0]

    def width(self, features, actions=0) -> np.ndarray:
        r""":math:`\Delta^a(\phi)`, shape (k,)."""
        return self.band(features, actions)[1]

    def holds(self, batch: Batch) -> np.ndarray:
        """Whether the band holds, at each row of the batch (1e-12 is left to rounding)."""
        return np.abs(self.values - batch.means) <= self.widths + 1e-12


def safe_band(values: np.ndarray, widths: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A band of width below 1 with its value clipped to [-1, 1], else 0 +- 1 (f* is in [-1, 1]); 0 +- 0 at zero."""
    useful = widths < 1  # not where a width is not a number
    values, widths = np.where(useful, np.clip(values, -1, 1), 0.0), np.where(useful, widths, 1.0)
    empty = ~features.any(axis=1)
    return np.where(empty, 0.0, values), np.where(empty, 0.0, widths)
