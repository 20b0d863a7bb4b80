"""The tails of Lemmas 6 and 7 and what Theorem 4 asks of them."""

import csv
import math

import numpy as np
import pytest
from scipy import stats

from evidence.cascading import tails


def test_the_ratio_of_lemma_6_for_one_variable_is_a_closed_form():
    # P(X > r) = exp(-r)/2 with r = share sqrt 8, against exp(-r^2/8) = exp(-share^2)
    (ratios,) = tails.lemma_6_ratios((1,), (0.25, 0.5))
    expected = [math.exp(-share * math.sqrt(8)) / 2 / math.exp(-(share**2)) for share in (0.25, 0.5)]
    assert ratios == pytest.approx(expected, rel=1e-12, abs=0)
    assert tails.lemma_6_ratios((1, 2, 5), (0.1,)).shape == (3, 1)


def test_the_ratio_of_lemma_7_is_half_of_the_gaussian_tail_over_its_bound():
    radii = [0.0, 1.0, 3.0]
    expected = [2 * stats.norm.sf(r) / (2 * math.exp(-(r**2) / 2)) for r in radii]
    assert tails.lemma_7_ratios(radii) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("judge", [lambda r: tails.judge_lemma_6(r, largest=7), tails.judge_lemma_7])
def test_the_lemmas_hold_up_to_a_ratio_of_1(judge):
    assert judge(1.0).verdict == "holds"
    assert judge(1.0 + 1e-9).verdict == "fails"
    assert "at most 0.250000" in judge(0.25).observed


def test_the_tail_at_one_observation_is_a_closed_form():
    t, log_t = 50.0, math.log(50.0)
    found = tails.noise_tails([1, 2], t=t)
    assert found.printed[0] == pytest.approx((-math.sqrt(24 * log_t) - math.log(2)) / math.log(10), rel=1e-12, abs=0)
    assert found.corrected[0] == pytest.approx(
        (-math.sqrt(12 * log_t) - 3 * log_t - math.log(2)) / math.log(10), rel=1e-12, abs=0
    )
    # two: P(X + Y > y) = exp(-y) (2 + y) / 4
    y = math.sqrt(48 * log_t)
    assert found.printed[1] == pytest.approx((math.log((2 + y) / 4) - y) / math.log(10), rel=1e-12, abs=0)
    assert all(found.corrected <= -3 * math.log10(t))
    line = tails.tail_lines([1, 2], found, claimed=-5.1)[1]
    assert line == (
        f"s = 2  exact tail 10^{found.printed[1]:.4f}, claimed 10^-5.1; with the corrected bonus 10^{found.corrected[1]:.4f}"
    )


def test_the_figure_of_the_range_holds_both_tails(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    counts = np.array([1, 2])
    tails.draw_tails(counts, tails.NoiseTails(np.array([-1.0, -2.0]), np.array([-3.0, -4.0])), claimed=-5, covered=9)
    with open(tmp_path / "cascading-lemma-6-range.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    assert rows == [["count", "printed", "corrected"], ["1", "-1.0", "-3.0"], ["2", "-2.0", "-4.0"]]
