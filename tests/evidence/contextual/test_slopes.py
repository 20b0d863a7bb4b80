"""Slopes and their intervals against closed forms."""

import math

import numpy as np
import pytest
from scipy import stats

from evidence.contextual.slopes import slope


def test_a_line_has_its_slope_and_no_width():
    found = slope([1.0, 2.0, 4.0], [3.0, 2.5, 1.5], 0.99)
    assert found.value == pytest.approx(-0.5, rel=1e-12, abs=0)
    assert found.se == pytest.approx(0, abs=1e-9)


def test_interval_of_three_points():
    """One degree of freedom: Student's law is Cauchy's, with quantile tan(pi (p - 1/2))."""
    found = slope([-1.0, 0.0, 1.0], [0.0, 3.0, 2.0], 0.9)
    assert found.value == pytest.approx(1, rel=1e-12, abs=0)
    se = math.sqrt(((0 - 2 / 3) ** 2 + (3 - 5 / 3) ** 2 + (2 - 8 / 3) ** 2) / 2)
    assert found.se == pytest.approx(se, rel=1e-12, abs=0)
    reach = math.tan(math.pi * 0.45) * se
    assert found.interval == pytest.approx((1 - reach, 1 + reach), rel=1e-9, abs=0)


def test_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(1)
    x = np.arange(8.0)
    hits = sum(part.low <= 0.5 <= part.high for part in (slope(x, 0.5 * x + e, 0.8) for e in rng.normal(size=(600, 8))))
    assert stats.binomtest(hits, 600, 0.8).pvalue > 1e-3


def test_level_is_a_probability():
    with pytest.raises(ValueError, match="confidence"):
        slope([0, 1, 2], [0, 1, 3], 1.0)
