"""What the verdicts about figures compare: means, differences in standard errors, doubling ratios."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from evidence.cascading import comparisons
from evidence.cascading.comparisons import Estimate

ROUNDS = np.arange(100, 10_001, 100)


def runs_of(curve, scale=(1.0, 2.0, 4.0)):
    return xr.DataArray(
        [[s * curve(t) for t in ROUNDS] for s in scale], dims=("replicate", "round"), coords={"round": ROUNDS}
    )


def test_an_estimate_is_the_mean_with_its_standard_error():
    one = comparisons.estimate(xr.DataArray([1.0, 2.0, 6.0], dims="replicate"))
    assert one == pytest.approx((3.0, math.sqrt(7.0 / 3.0)), rel=1e-12, abs=0)
    assert all(isinstance(number, float) for number in one)
    assert str(Estimate(3461.27, 16.2)) == f"{Estimate(3461.27, 16.2)}" == "≈ 3461 ± 16"
    several = comparisons.estimate(xr.DataArray([[1.0, 5.0], [3.0, 5.0]], dims=("replicate", "epsilon")))
    assert several.mean.values.tolist() == [2.0, 5.0]
    assert several.se.values.tolist() == [1.0, 0.0]
    labelled = Estimate(*(part.assign_coords(epsilon=[0.5, 2.0]) for part in several))
    assert tuple(map(float, labelled.sel(epsilon=0.5).times(100))) == (200.0, 100.0)


def test_the_final_regret_is_that_of_the_last_round_of_the_selected_curve():
    both = xr.concat([runs_of(float), runs_of(lambda t: 3.0 * t)], xr.Variable("algorithm", ["a", "b"]))
    assert comparisons.final(both, algorithm="b").mean == pytest.approx(3e4 * 7 / 3, rel=1e-12, abs=0)


def test_differences_of_independent_estimates_agree_with_simulation():
    a, b = Estimate(12.0, 0.3), Estimate(8.0, 0.2)
    rng = np.random.default_rng(0)
    x, y = a.mean + a.se * rng.standard_normal(400_000), b.mean + b.se * rng.standard_normal(400_000)
    for found, sample in (
        (comparisons.difference(a, b), x - y),
        (comparisons.relative_difference(a, b), (x - y) / y),
    ):
        assert found.mean == pytest.approx(sample.mean(), rel=2e-3, abs=0)
        assert found.se == pytest.approx(sample.std(), rel=1e-2, abs=0)
    assert comparisons.z_score(a, b) == pytest.approx(4.0 / math.hypot(0.3, 0.2), rel=1e-12, abs=0)
    assert comparisons.z_score(b, a) == -comparisons.z_score(a, b)


@pytest.mark.parametrize(
    ("shown", "refuted", "word"),
    [(True, False, "holds"), (False, False, "consistent"), (False, True, "fails"), (True, True, "fails")],
)
def test_a_sentence_holds_if_shown_and_fails_if_refuted(shown, refuted, word):
    assert comparisons.judged(shown=shown, refuted=refuted) == word


@pytest.mark.parametrize(
    ("differences", "word"),
    [([3.1, 9.0], "holds"), ([3.0, 9.0], "consistent"), ([-3.0, 9.0], "consistent"), ([-3.1, 9.0], "fails")],
)
def test_an_order_is_judged_by_its_smallest_difference(differences, word):
    assert comparisons.ordered(differences) == word
    assert comparisons.ordered([z / 2 for z in differences], limit=1.5) == word


def test_the_doubling_ratio_is_1_for_a_logarithm_and_2_for_a_line():
    for curve, expected in ((math.log, 1.0), (float, 2.0), (math.sqrt, math.sqrt(2.0))):
        ratio = comparisons.doubling_ratio(runs_of(curve))
        assert ratio.dims == ("replicate",)
        np.testing.assert_allclose(ratio, expected, rtol=1e-9)


def test_the_share_above_a_limit_is_a_lower_confidence_limit():
    runs = xr.DataArray([1.0, 1.5, 2.0, 3.0, 1.6], dims="replicate")
    low = comparisons.share_above(runs, 1.5)
    assert stats.binom.sf(2, 5, low) == pytest.approx(0.001, rel=1e-9, abs=0)
    assert comparisons.share_above(runs, 9.0) == 0.0
    assert comparisons.share_above(runs, 0.0, confidence=0.99) == pytest.approx(0.01**0.2, rel=1e-12, abs=0)
