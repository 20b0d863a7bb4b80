"""Exponents: the slope of a least-squares line, with Student's interval for a regression slope."""

from __future__ import annotations

from typing import NamedTuple

from scipy import stats

from dpregret import _checks


class Slope(NamedTuple):
    """A slope, its standard error, and the ends of its interval."""

    value: float
    se: float
    low: float
    high: float

    @property
    def interval(self) -> tuple[float, float]:
        """The interval."""
        return self.low, self.high


def slope(x, y, confidence: float) -> Slope:
    """Slope of y on x, at least three points each, with an interval of level ``confidence`` in (0, 1).

    The scatter around the line holds all that makes a single point uncertain; a bend of the curve widens it.
    """
    confidence = _checks.real("confidence", confidence, above=0.0, below=1.0)
    fit = stats.linregress(x, y)
    reach = stats.t.ppf((1 + confidence) / 2, len(x) - 2) * fit.stderr
    return Slope(float(fit.slope), float(fit.stderr), float(fit.slope - reach), float(fit.slope + reach))
