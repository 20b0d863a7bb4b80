"""The computations and the verdict rules behind notebooks/erm/sample_size."""

import csv
import math

import pytest

from dpregret.erm import bounds, excess_risk_bound, sample_size
from evidence.erm import lower_bounds
from evidence.erm import sample_size as exhibit

CASE = {"n_hypotheses": 10, "epsilon": 0.5, "alpha": 0.2, "beta": 0.1}


def test_the_sizes_are_ordered_as_their_bounds_are():
    sizes = exhibit.sizes(**CASE)
    names = [exhibit.RULE, exhibit.SOLVED, exhibit.SHARPEST, "count score on the packing instance", exhibit.PROPER]
    assert [sizes[name] for name in names] == sorted((sizes[name] for name in names), reverse=True)
    assert sizes[exhibit.RULE] == sample_size(**CASE)
    assert sizes["lower bound, all learners"] == lower_bounds.two_constants_sample_size(alpha=0.2, beta=0.1)
    assert (
        sizes["selector on the packing instance"] > sizes["count score on the packing instance"] > sizes[exhibit.PROPER]
    )


def test_the_share_is_the_bound_at_the_real_number_of_records():
    q = math.log(10) - math.log(0.1)
    n = 24 * q * max(0.2**-2, 1 / (0.5 * 0.2))
    expected = excess_risk_bound(n_hypotheses=10, n=n, epsilon=0.5, beta=0.1) / 0.2
    assert exhibit.share(24.0, **CASE) == pytest.approx(expected, rel=1e-15)
    assert exhibit.share(1e-9, **CASE) == 0.0  # less than one record


def test_the_sharper_constant_is_the_root_of_its_quadratic():
    x = exhibit.sharper_constant() ** -0.5
    assert 2 * x**2 + (math.sqrt(1.5) + 1) * x == pytest.approx(1, rel=1e-14)
    found = exhibit.shares(exhibit.sharper_constant(), version="sharper", score="count")
    assert 0.999 < found.largest <= 1 + 1e-9 and found.cases == 6 * 7 * 5 * 6


def test_the_rule_holds_at_24_and_fails_where_the_bound_is_above_two_thirds():
    found = exhibit.shares(24.0)
    assert exhibit.judge_rule(found, 0.6).verdict == "holds"
    assert exhibit.judge_rule(found, 0.7).verdict == "fails"
    assert exhibit.judge_rule(exhibit.shares(20.0), 0.6).verdict == "fails"


def test_rounding_up_keeps_the_rule():
    assert exhibit.rounded_share() <= 2 / 3 + 1e-9


def test_the_constant_is_the_smallest():
    c = bounds.rule_constant()
    found = exhibit.shares(c)
    card = exhibit.judge_constant(c, found)
    assert card.verdict == "holds" and "exceeds 1 for M3 at K = 2, beta near 1, epsilon = alpha: True" in card.margin
    assert exhibit.judge_constant(c + 1e-6, found).verdict == "fails"  # not the root
    assert exhibit.judge_constant(c, exhibit.shares(12.0)).verdict == "fails"


def test_the_packing_bound_fails_if_a_learner_beats_it():
    found = exhibit.programs([(2, 1)], epsilons=(0.3, 1.0))
    assert [p.epsilon for p in found] == [0.3, 1.0]
    assert found[0].count == found[0].packing["replace"] < found[0].selector
    assert exhibit.judge_packing(found, 1.5, 2).verdict == "holds"
    beaten = [p._replace(best=p.best | {"add or remove": p.packing["add or remove"] - 1e-6}) for p in found]
    assert exhibit.judge_packing(beaten, 1.5, 2).verdict == "fails"
    lines = exhibit.program_lines(found)
    assert len(lines) == 5 and lines[3].split()[:3] == ["2", "1", "0.3"]


def test_the_figure_keeps_its_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    axes = {"n_hypotheses": ("K", [2, 10]), "epsilon": ("ε", [0.5]), "alpha": ("α", [0.2, 0.4])}
    exhibit.draw(CASE, axes)
    with open(tmp_path / "erm-sample-size.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 5 * len(exhibit.CURVES)
    ours = next(row for row in rows if row["axis"] == "epsilon" and row["curve"] == "sharper")
    assert int(ours["n"]) == exhibit.sizes(**CASE)[exhibit.SHARPEST]
