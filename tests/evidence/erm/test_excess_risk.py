"""The computations and the verdict rules behind notebooks/erm/excess_risk."""

import csv
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from dpregret.erm import Selector, Stumps, bounds, excess_risk_bound
from dpregret.simulation import generator
from evidence.erm import data_laws, hard_laws
from evidence.erm import excess_risk as exhibit
from evidence.erm import permute_and_flip as flip

# --- laws on which the failure is exact


@pytest.mark.parametrize("score", ["rate", "count"])
def test_the_wrong_constant_is_enumerated_over_all_samples(score):
    p, n, epsilon, total = 0.3, 6, 0.8, 0.0
    for labels in itertools.product((0, 1), repeat=n):  # errors of the constants 0 and 1
        errors = np.array([sum(labels), n - sum(labels)])
        law = Selector(epsilon=epsilon, score=score, n_min=n if score == "rate" else None).probabilities(errors, n)
        total += math.prod(p if y else 1 - p for y in labels) * law[1]
    assert hard_laws.wrong_constant(p, n, epsilon, score) == pytest.approx(total, rel=1e-12)


def test_the_hard_quantile_is_where_a_wrong_choice_has_probability_beta():
    q = hard_laws.hard_quantile(50, 10, 1.0, 0.05)
    assert hard_laws.wrong(q, 50, 10, 1.0, "rate") == pytest.approx(0.05, rel=1e-6)
    assert hard_laws.wrong(q + 1e-6, 50, 10, 1.0, "rate") < 0.05
    assert hard_laws.hard_quantile(2, 10, 0.01, 0.05) == 1.0  # a wrong choice is likely at every cost


def test_the_table_has_a_dash_where_the_bound_is_above_one():
    found = hard_laws.exact_failures((2,), (30,), (0.1, 1.0), 0.05)
    assert found[0].bound == excess_risk_bound(n_hypotheses=2, n=30, epsilon=0.1, beta=0.05) > 1
    assert found[0].failures["M3"] == 0.0 and 0 < found[1].failures["M3"] < 0.05
    assert found[1].failures["comparator"] >= found[1].failures["M3"]  # the sharper bound is lower
    assert hard_laws.exact_lines(found)[1].split()[-3:] == ["-", "-", "-"]


def test_tails_are_binomial():
    n, r, a = 20, 0.3, 0.21
    ones = np.arange(n + 1)
    assert hard_laws.off(n, r, a) == pytest.approx(binom.pmf(ones, n, r)[np.abs(ones / n - r) > a].sum(), rel=1e-12)
    margin = math.sqrt(math.log(80) / 40)
    expected = binom.pmf(ones, n, 0.3)[ones / n > 0.3 + margin].sum()
    assert hard_laws.comparator_tail((20,), (0.3,), 0.05) == pytest.approx(expected, rel=1e-12)
    one = hard_laws.off(20, 0.5, math.sqrt(math.log(4 / 0.05) / 40))
    assert hard_laws.deviation(1, 20, 0.05, [0.5]) == pytest.approx(one, rel=1e-12)
    one = hard_laws.off(20, 0.5, math.sqrt((math.log(2) + math.log(4 / 0.05)) / 40))
    assert hard_laws.deviation(2, 20, 0.05, [0.5]) == pytest.approx(1 - (1 - one) ** 2, rel=1e-12)


# --- data sets as laws


def test_the_ranges_are_read_off_a_table_and_compared(monkeypatch):
    table = "prose : 9.9 8.8\nSummary Statistics\n first:   1.0  2.5\n second:  0.5  7.0\n"
    assert data_laws.printed_ranges(table, 2) == [[1.0, 2.5], [0.5, 7.0]]
    assert data_laws.outside(np.array([[0.0, 1.0], [0.5, 3.0], [0.5, 2.0]]), [0.0, 1.0], [1.0, 2.0]) == 1
    load, low, high = data_laws.RANGES["wine"]
    monkeypatch.setitem(data_laws.RANGES, "wine", (load, [11.1, *low[1:]], high))
    with pytest.raises(ValueError, match="the ranges of wine"):
        data_laws.range_lines()


def test_the_synthetic_law_has_the_risks_of_its_definition():
    law = data_laws.uniform_law(4)
    assert law.probabilities.sum() == pytest.approx(1, rel=1e-14)
    assert law.risks.min() == pytest.approx(0.2, rel=1e-12)  # the rule itself, flipped with probability 0.2
    best = law.stumps.thresholds(1)[0, 3]
    share = (law.X[:, 0] >= best).mean()
    assert law.risks[-2] == pytest.approx(share * 0.8 + (1 - share) * 0.2, rel=1e-12)  # the constant 0
    assert law.excess.min() == 0.0 and (law.excess == law.risks - law.risks.min()).all()


# --- measured risk


@pytest.fixture(scope="module")
def small():
    law = data_laws.uniform_law(2)
    laws = {"synthetic": law}
    return laws, exhibit.measure(laws, [20, 40], epsilon=1.0, beta=0.1, replicates=40, draws=2, seed=3)


def test_the_laws_of_the_choice_are_those_of_the_selectors():
    errors = np.array([[0.0, 3.0], [2.0, 1.0]])
    laws = exhibit.choice_laws(errors, 4, epsilon=1.0, draws=4000, rng=generator(0))
    assert laws["count score"][0, 1] / laws["count score"][0, 0] == pytest.approx(math.exp(-3), rel=1e-12)
    assert laws["rate score"][0, 1] / laws["rate score"][0, 0] == pytest.approx(math.exp(-1.5), rel=1e-12)
    assert laws["no privacy"].tolist() == [[1, 0], [0, 1]]
    exact = flip.law_by_orders([2, 1], 1.0)  # 4000 draws: five standard errors, below 1e-6
    assert laws["permute and flip"][1] == pytest.approx(exact, abs=5 * math.sqrt(exact[0] * exact[1] / 4000))


def test_the_quantile_is_the_smallest_value_reached():
    law = np.tile([0.5, 0.4, 0.1], (20, 1))
    excess = np.array([0.3, 0.0, 1.0])
    assert exhibit.quantile(law, excess, 0.1) == pytest.approx((0.3, 0.0), abs=1e-15)
    assert exhibit.quantile(law, excess, 0.05)[0] == 1.0
    assert exhibit.quantile(law, excess, 0.6)[0] == 0.0


def test_the_measured_mean_is_that_of_the_laws(small):
    laws, measured = small
    law = laws["synthetic"]
    errors = generator(3, "synthetic", 20).multinomial(20, law.probabilities, size=40) @ law.missed
    greedy = law.excess[errors.argmin(axis=1)].mean()
    row = next(row for row in measured.rows if row["selector"] == "no privacy" and row["n"] == 20)
    assert row["mean"] == pytest.approx(greedy, rel=1e-12)
    assert len(measured.rows) == 2 * 4 and set(measured.certified) == {("synthetic", 20), ("synthetic", 40)}


def test_the_bound_fails_if_any_of_its_three_parts_does(small):
    _, measured = small
    exact = hard_laws.exact_failures((1000,), (3000,), (1.0,), 0.1)
    assert exhibit.judge_bound(exact, measured, 0.01, 0.1).verdict == "holds"
    assert exhibit.judge_bound(exact, measured, 0.06, 0.1).verdict == "fails"
    above = [exact[0]._replace(failures=exact[0].failures | {"M3": 0.11})]
    assert exhibit.judge_bound(above, measured, 0.01, 0.1).verdict == "fails"
    more = measured._replace(exceed=measured.exceed | {("synthetic", "rate score", 20): 0.2})
    assert exhibit.judge_bound(exact, more, 0.01, 0.1).verdict == "fails"
    assert exhibit.largest(more, "rate score") == 0.2


def test_the_selection_alone_is_the_mass_above_its_term():
    law = data_laws.uniform_law(2)
    whole = law._replace(missed=law.missed, y=law.y)
    share = exhibit.selection_share(dict.fromkeys(exhibit.DATA_SETS, whole), (1.0,), 0.5)
    errors, n = law.missed.sum(axis=0), len(law.y)
    t = bounds.excess_risk_terms(n_hypotheses=errors.size, n=n, epsilon=1.0, beta=0.5)["selection"]
    weights = np.exp(-(errors - errors.min()) / 2)
    assert share == pytest.approx(weights[errors > errors.min() + n * t].sum() / weights.sum(), rel=1e-12)


def test_the_tail_of_one_best_classifier_has_its_closed_form():
    u = 1.0 * 60 / 2
    expected = (9 * math.exp(-u) / (1 + 9 * math.exp(-u))) / (10 * math.exp(-u))
    assert exhibit.tail_share(np.array([0] + [60] * 9), 60, 1.0) == pytest.approx(expected, rel=1e-12)
    assert exhibit.tail_share(np.array([3, 3]), 6, 1.0) == 0  # no gap
    assert exhibit.judge_tail([0.5], {2: 1.0}).verdict == "holds"
    assert exhibit.judge_tail([1.1], {2: 1.0}).verdict == "fails"
    assert exhibit.judge_tail([0.5], {2: 1.1}).verdict == "fails"


def test_the_halves_and_the_comparator_fail_above_their_levels():
    deviation = {(2, 1000): 0.01, (1000, 1000): 0.02}
    assert exhibit.judge_deviation(deviation, 0.05).verdict == "holds"
    assert exhibit.judge_deviation(deviation, 0.03).verdict == "fails"
    exact = hard_laws.exact_failures((2,), (300,), (1.0,), 0.05)
    saved = exhibit.saved_by_comparator((2, 1000), n=100, epsilon=1.0, beta=0.05)
    ratio = math.sqrt(math.log(80) / (math.log(2) + math.log(80)))
    assert saved[2] == pytest.approx(1 - ratio, rel=1e-12) and saved[1000] > saved[2]
    assert exhibit.judge_comparator(exact, 0.01, 0.01, saved, 0.05).verdict == "holds"
    assert exhibit.judge_comparator(exact, 0.02, 0.01, saved, 0.05).verdict == "fails"
    assert exhibit.judge_comparator(exact, 0.01, 0.06, saved, 0.05).verdict == "fails"
    above = [exact[0]._replace(failures={"M3": 0.0, "comparator": 0.06})]
    assert exhibit.judge_comparator(above, 0.01, 0.01, saved, 0.05).verdict == "fails"


def test_one_classifier_is_chosen_always():
    assert exhibit.judge_one_classifier([1.0, 1.0], epsilon=1.0, beta=0.1).verdict == "holds"
    assert exhibit.judge_one_classifier([1.0, 0.9], epsilon=1.0, beta=0.1).verdict == "fails"


def test_the_figure_has_the_measured_rows(small, tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    laws, measured = small
    exhibit.draw(laws, measured, epsilon=1.0, beta=0.1, replicates=40)
    with open(tmp_path / "erm-excess-risk.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["mean"]) for row in rows] == [row["mean"] for row in measured.rows]


# --- permute-and-flip


@pytest.fixture(scope="module")
def line():
    """Records on a line, labelled by a threshold, five of them wrongly."""
    X = np.linspace(-1, 1, 40)[:, None]
    y = (X[:, 0] > 0.2).astype(int)
    y[::8] ^= 1
    return data_laws.law(X, y, np.full(40, 1 / 40), Stumps(n_thresholds=4))


def test_the_law_by_orders_of_two_classifiers():
    # visited first with probability 1/2; the better is always taken, the worse with e^-1
    assert flip.law_by_orders([0, 1], 1.0).tolist() == pytest.approx(
        [1 - math.exp(-1) / 2, math.exp(-1) / 2], rel=1e-15
    )


def test_exceedance_is_a_survival_function():
    law, errors = np.array([0.5, 0.3, 0.2]), np.array([1, 4, 4])
    assert flip.exceedance(law, errors).tolist() == [0.5, 0.0]


def test_enumeration_and_its_verdict(line):
    found = flip.enumerate_counts([(2, 2)], 1.0)
    assert found.vectors == 1 + 4 + 9 and found.by_orders < 1e-12 and found.epsilon <= 1 + 1e-12
    data = flip.training_errors(line, [0.1, 1.0])
    assert data.dominated and data.errors[0.1][0] > data.errors[0.1][1] > data.errors[0.1][2]
    assert data.above[1.0][0] == pytest.approx(data.errors[1.0][0] - data.best, abs=1e-12)
    training = {"synthetic": data}
    assert flip.judge(found, training, "synthetic", 0.1).verdict == "holds"
    for broken in ({"epsilon": 1.1}, {"by_orders": 1e-9}, {"advantage": -1e-9}):
        assert flip.judge(found._replace(**broken), training, "synthetic", 0.1).verdict == "fails"
    worse = {"synthetic": data._replace(dominated=False)}
    assert flip.judge(found, worse, "synthetic", 0.1).verdict == "fails"
    lines = flip.training_lines("synthetic", data)
    assert len(lines) == 4 and lines[0].startswith(f"synthetic: {data.n} records, K = {data.k}")


def test_the_training_error_is_a_mean_under_the_law(line):
    law = line
    errors, n = law.missed.sum(axis=0), len(law.y)
    weights = [math.exp(-float(Fraction(int(e - errors.min()), 1))) for e in errors]
    mean = sum(w * e for w, e in zip(weights, errors, strict=True)) / sum(weights) / n
    assert flip.training_errors(law, [1.0]).errors[1.0][1] == pytest.approx(mean, rel=1e-12)


def test_the_training_figure_keeps_its_numbers(line, tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    found = flip.training_errors(line, [0.1, 1.0])
    flip.draw({"synthetic": found})
    with open(tmp_path / "erm-training-error.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 6 and float(rows[0]["excess"]) == found.above[0.1][0]


def test_stumps_are_declared():
    stumps = data_laws.laws(2)["digits, is it a zero"].stumps
    assert stumps.thresholds(1).tolist() == Stumps(0.0, 16.0, 2).thresholds(1).tolist() == [[16 / 3, 32 / 3]]
