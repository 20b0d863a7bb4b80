"""Means over repetitions and how they differ: what the verdicts about the figures of [Wang2021] compare.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Section 7.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dpregret.privacy.audit import lower_limit
from evidence import report


class Estimate(NamedTuple):
    """A mean over repetitions and its standard error: two numbers, or two arrays of one shape."""

    mean: Any
    se: Any

    def __str__(self) -> str:
        return report.approx(self.mean, self.se)

    def sel(self, **at: Any) -> Estimate:
        """The entries at these labels."""
        return Estimate(self.mean.sel(at), self.se.sel(at))

    def times(self, factor: float) -> Estimate:
        """The estimate in another unit; ``factor`` is positive and known."""
        return Estimate(factor * self.mean, factor * self.se)


def estimate(runs: xr.DataArray) -> Estimate:
    """The mean over the dimension ``replicate``; numbers where no other dimension is left."""
    mean, se = report.mean_se(runs)
    return Estimate(mean, se) if mean.ndim else Estimate(float(mean), float(se))


def final(regret: xr.DataArray, **at: Any) -> Estimate:
    """The regret of a curve at its last round; ``at`` selects the curve by its labels."""
    return estimate(regret.sel(at).isel(round=-1))


def difference(a: Estimate, b: Estimate) -> Estimate:
    """``a - b`` for independent estimates."""
    return Estimate(a.mean - b.mean, np.sqrt(a.se**2 + b.se**2))


def relative_difference(a: Estimate, b: Estimate) -> Estimate:
    """``(a - b) / b`` for independent estimates, with the standard error of the first-order expansion."""
    return Estimate((a.mean - b.mean) / b.mean, np.hypot(a.se, a.mean / b.mean * b.se) / b.mean)


def z_score(a: Estimate, b: Estimate) -> float:
    """``a - b`` in standard errors of the difference."""
    gap = difference(a, b)
    return float(gap.mean / gap.se)


def judged(*, shown: bool, refuted: bool) -> str:
    """The word for a sentence about a figure: holds if it is shown, fails if refuted, else consistent."""
    return report.holds_if(shown and not refuted, otherwise="fails" if refuted else "consistent")


def ordered(differences: list[float], *, limit: float = 3.0) -> str:
    """The word for "each of these differences is positive", given in standard errors.

    It holds when all are above ``limit`` and fails when one is below its negative.
    """
    return judged(shown=min(differences) > limit, refuted=min(differences) < -limit)


def doubling_ratio(regret: xr.DataArray) -> xr.DataArray:
    """``(R_T - R_{T/2}) / (R_{T/2} - R_{T/4})`` of each run, T the last round: 1 for ``log T``, 2 for linear growth."""
    horizon = int(regret["round"][-1])
    quarter, half, whole = (
        regret.sel(round=horizon // parts, method="nearest").reset_coords("round", drop=True) for parts in (4, 2, 1)
    )
    return (whole - half) / (half - quarter)


def share_above(runs: xr.DataArray, limit: float, *, confidence: float = 0.999) -> float:
    """A lower confidence limit (Clopper-Pearson, one-sided) for the probability that a run is above ``limit``."""
    return float(lower_limit(int((runs > limit).sum()), runs.size, confidence=confidence))
