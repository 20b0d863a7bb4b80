"""The computations and the verdict rules behind notebooks/erm/exact_privacy."""

import csv
import math
from fractions import Fraction

import numpy as np
import pytest

from dpregret.erm import Selector, exact_epsilon
from evidence.erm import audit
from evidence.erm import exact_privacy as exhibit


def test_a_rate_moves_by_at_most_one_over_the_new_size():
    assert [exhibit.rate_change(m) for m in (1, 2, 9)] == [Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)]


def test_enumeration_and_closed_form_agree_and_the_card_sees_where_they_do_not():
    cases = exhibit.compare([(2, 2), (3, 3)], epsilons=(0.5, 2.0))
    assert len(cases) == 4 and all(case.enumerated == pytest.approx(case.formula, rel=1e-9, abs=0) for case in cases)
    course = exhibit.course([2], 3, 4, 1.0)
    assert list(course) == [(2, m) for m in (1, 2, 3, 4)]
    assert exhibit.judge_closed_form(cases, course, 3).verdict == "holds"
    wrong = [cases[0]._replace(enumerated=cases[0].formula + 2e-9)]
    assert exhibit.judge_closed_form(wrong, course, 3).verdict == "fails"
    off = {key: (pair, formula + 2e-9) for key, (pair, formula) in course.items()}
    assert exhibit.judge_closed_form(cases, off, 3).verdict == "fails"


def test_the_domain_holds_only_if_all_three_conditions_do():
    course, shares = exhibit.course([2], 3, 4, 1.0), exhibit.domain_shares((2, 5), (1, 4), (0.1, 3.0))
    assert shares.shape == (8, 2) and (shares[:, 0] < shares[:, 1]).all() and shares.max() <= 1 + 1e-12
    assert shares[0, 0] == pytest.approx(exact_epsilon(n_hypotheses=2, n=1, epsilon=0.1) / 0.1, rel=1e-15)
    assert exhibit.judge_domain(True, course, shares, 3, 1.0).verdict == "holds"
    assert exhibit.judge_domain(False, course, shares, 3, 1.0).verdict == "fails"
    assert exhibit.judge_domain(True, course, shares + 0.5, 3, 1.0).verdict == "fails"
    assert exhibit.judge_domain(True, course, shares, 3, 0.3).verdict == "fails"  # the enumerated pairs have more


def test_the_course_prints_one_line_a_size():
    lines = exhibit.course_lines(exhibit.course([2], 3, 4, 1.0), 3, 1.0, 1000)
    assert len(lines) == 5 and lines[0].split() == ["|D|", "K", "=", "2", "K", "=", "1000", "limit", "in", "K"]
    assert lines[3].split()[-1] == "0.75000000"  # epsilon n / (m + 1) at m = n = 3


class Degenerate:
    """A sampler whose law has a zero."""

    def sample(self, errors, n_records, rng):
        return 0


def test_a_law_with_a_zero_fails():
    assert exhibit.judge_laws(Selector(epsilon=1.0, n_min=2), [2], 2).verdict == "holds"
    assert exhibit.judge_laws(Degenerate(), [2], 2).verdict == "fails"


def test_small_databases_break_the_guarantee_in_fractions():
    card = exhibit.judge_small_databases()
    # by hand: 2^-10 / (1 + 2^-10) = 1/1025 and 1/2
    assert card.verdict == "fails" and "1/1025 and 1/2: ratio 1025/2" in card.observed and card.evidence == "exact"


def test_a_mechanism_with_the_right_exponent_for_small_databases_does_not_fail(monkeypatch):
    monkeypatch.setattr(exhibit, "unrestricted", lambda n, epsilon: lambda errors, m: np.array([0.5, 0.5]))
    assert exhibit.judge_small_databases().verdict == "holds"  # its law is not the one in fractions


def test_the_smallest_breaking_class_is_the_first_above():
    k = exhibit.breaking_class(10, 8, 0.5)
    assert exact_epsilon(n_hypotheses=k, n=10, n_records=8, epsilon=0.5) > 0.5
    assert exact_epsilon(n_hypotheses=k - 1, n=10, n_records=8, epsilon=0.5) <= 0.5
    assert exhibit.breaking_class(10, 9, 0.5, limit=50) == 50  # none does at n - 1 records


def test_sizes_that_hold_are_those_of_the_closed_form():
    holding = exhibit.sizes_that_hold(2, 10, 0.1)
    assert holding == [m for m in range(1, 11) if exact_epsilon(n_hypotheses=2, n=10, n_records=m, epsilon=0.1) <= 0.1]
    assert holding[-1] == 10 and len(holding) < 10


def test_the_worst_pair_has_the_enumerated_ratio():
    found, _ = exhibit.course([2], 4, 1, 1.0)[2, 1]
    low, high = exhibit.worst_pair(exhibit.unrestricted(4, 1.0), found)
    assert math.log(high / low) == pytest.approx(found.epsilon, rel=1e-9)


def test_the_restricted_domain_needs_all_its_parts():
    course = exhibit.course([2], 10, 10, 1.0)
    breaks = {m: exhibit.breaking_class(10, m, 1.0) for m in range(1, 9)}
    last = exact_epsilon(n_hypotheses=1000, n=10, n_records=9, epsilon=1.0)
    assert exhibit.judge_restricted_domain(course, breaks, last, 10, 1.0, 1000).verdict == "holds"
    assert exhibit.judge_restricted_domain(course, breaks | {8: 10**9}, last, 10, 1.0, 1000).verdict == "fails"
    assert exhibit.judge_restricted_domain(course, breaks, 1.01, 10, 1.0, 1000).verdict == "fails"
    assert exhibit.judge_restricted_domain(course, breaks, last, 10, 5.0, 1000).verdict == "fails"


def test_the_count_score_is_private_and_its_closed_form_is_the_enumeration():
    count = Selector(epsilon=1.0, score="count")
    counted = {(2, m): audit.enumerated_epsilon(count, n_hypotheses=2, n_records=m) for m in range(4)}
    for (k, m), pair in counted.items():
        assert pair.epsilon == pytest.approx(exhibit.count_epsilon(k, m, 1.0), rel=1e-9)
    assert exhibit.judge_count_score(counted, 3, 1.0).verdict == "holds"
    assert exhibit.judge_count_score(counted, 3, 0.5).verdict == "fails"


def test_the_figure_keeps_its_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    exhibit.draw(3, 1.0, 100)
    with open(tmp_path / "erm-exact-privacy.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["K"] for row in rows} == {"2", "3", "100"} and {row["panel"] for row in rows} == {"databases", "domain"}
    first = next(row for row in rows if row["panel"] == "databases" and row["K"] == "3" and row["x"] == "2")
    assert float(first["epsilon"]) == exact_epsilon(n_hypotheses=3, n=3, n_records=2, epsilon=1.0)
