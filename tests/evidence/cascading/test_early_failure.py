"""The exhibit of Theorem 4's failure: curves, excess, cards; the lower bound itself is tested with the bounds."""

import csv
import math

import numpy as np
import pytest

from dpregret.cascading import CascadeProblem
from evidence.cascading import bounds, early_failure
from evidence.report.enclosure import ball

EXTREME = CascadeProblem([1.0, 0.0], 1)


def test_the_curves_are_the_bounds_in_decades():
    curves = early_failure.failure_curves(EXTREME, decades=[4.0, 40.0], epsilon=0.2)
    for i, decade in enumerate((4.0, 40.0)):
        for initial in ("raw", "none"):
            log_t = decade * math.log(10)
            lower = bounds.early_failure_log_lower_bound(EXTREME, log_horizon=log_t, epsilon=0.2, initial=initial)
            assert curves.lower[initial][i] == pytest.approx(lower / math.log(10), rel=1e-12, abs=0)
        for version in ("printed", "corrected"):
            upper = bounds.theorem_4(EXTREME, horizon=10.0**decade, epsilon=0.2, version=version)
            assert curves.upper[version][i] == pytest.approx(math.log10(upper), rel=1e-12, abs=0)


def test_the_figure_of_the_failure_cuts_what_is_far_below_its_frame(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    curves = early_failure.FailureCurves(
        np.array([4.0, 5.0]),
        {"raw": np.array([-math.inf, 3.0]), "none": np.array([1.0, 2.0])},
        {"printed": np.array([5.0, 6.0]), "corrected": np.array([7.0, 8.0])},
    )
    early_failure.draw_failure({"two items": curves, "others": curves})
    with open(tmp_path / "cascading-theorem-4-failure.csv", newline="", encoding="utf-8") as stream:
        head, *rows = csv.reader(stream)
    assert head == ["instance", "log10_horizon", "lower_raw", "lower_none", "printed", "corrected"]
    assert rows[0] == ["two items", "4.0", "-99.0", "1.0", "5.0", "7.0"]
    assert [row[0] for row in rows] == ["two items"] * 2 + ["others"] * 2


def test_the_excess_agrees_with_its_parts():
    found = early_failure.excess(EXTREME, epsilon=0.2, exact_epsilon="0.2", decades=80)
    curves = early_failure.failure_curves(EXTREME, decades=[60.0, 80.0], epsilon=0.2)
    ratios = curves.lower["raw"] - curves.upper["printed"]
    assert float(found.enclosed.mid()) == pytest.approx(ratios[0] * math.log(10), rel=1e-6, abs=0)
    assert found.log10_ratio == pytest.approx(ratios[1], rel=1e-12, abs=0)
    assert found.crossing == bounds.early_failure_crossing(EXTREME, epsilon=0.2)
    line = early_failure.crossing_line("two", EXTREME, epsilon=0.2)
    none = bounds.early_failure_crossing(EXTREME, epsilon=0.2, initial="none")
    assert line.startswith("two, ε = 0.2 : ") and f"10^{found.crossing:.4f} on;" in line and f"10^{none:.4f} on" in line


def excess(enclosed):
    return early_failure.Excess("0.5", enclosed, 80, 12.5, 33.25)


@pytest.mark.parametrize(("enclosed", "word"), [(ball("0.001"), "fails"), (ball("-0.001"), "open")])
def test_a_bound_fails_only_where_the_excess_is_proved(enclosed, word):
    four = early_failure.judge_theorem_4(excess(enclosed), two_items=21.5, list_length=2)
    seven = early_failure.judge_theorem_7(excess(enclosed), epsilon=1.0, delta=0.01)
    assert four.verdict == seven.verdict == word
    assert "T = 10^80, ε = 0.5, the regret is at least 10^12.500 times" in four.observed
    assert "from T = 10^33.2500 on (10^21.5000 with two items)" in four.observed
    assert "the factor 4 is 5.000000 at K = 2" in four.margin  # 4 V_2
    assert "K/ε' = 0.5" in seven.observed and "ε = 1, δ = 0.01" in seven.observed


def test_a_ball_around_0_proves_nothing():
    import flint

    around = flint.arb(0, 1)
    assert early_failure.judge_theorem_4(excess(around), two_items=21.5, list_length=2).verdict == "open"
    assert early_failure.judge_theorem_7(excess(around), epsilon=1.0, delta=0.01).verdict == "open"
