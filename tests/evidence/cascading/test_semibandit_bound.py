"""Theorem 9: the noise at a random count, the bound beside the measured regret, and the rate."""

import csv
import itertools
import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from dpregret import cascading
from evidence.cascading import bounds, semibandit_bound
from evidence.cascading.semibandit_bound import CLAIMED, WIDTH, Case
from evidence.cascading.simultaneous import simultaneous_tail

TWO_ARMS = Case(cascading.SemiBanditProblem([0.95, 0.05], 1), 2.0, 1e-3)
THREE_ARMS = Case(cascading.SemiBanditProblem([0.9, 0.5, 0.1], 2), 0.5, 1e-2)
CASES = {"two": TWO_ARMS, "three": THREE_ARMS}
ROUNDS = np.array([1, 5, 10, 100])


def regret(heights):
    curve = np.array(heights, dtype=float)
    return xr.DataArray([0.9 * curve, 1.1 * curve], dims=("replicate", "round"), coords={"round": ROUNDS})


@pytest.mark.parametrize("t", [10, 100])
def test_the_width_of_one_count_is_that_of_a_gaussian_tail(t):
    # at a fixed count: P(|X| > c_t) is at most what the proof takes for all of them
    assert WIDTH["printed"](t) == pytest.approx(math.sqrt(4 * math.log(t)), rel=1e-12, abs=0)
    assert 2 * math.exp(-(WIDTH["corrected"](t) ** 2) / 2) * t == pytest.approx(
        CLAIMED["corrected"](t), rel=1e-12, abs=0
    )
    assert 2 * math.exp(-(WIDTH["printed"](t) ** 2) / 2) == pytest.approx(CLAIMED["printed"](t), rel=1e-12, abs=0)
    for version in ("printed", "corrected"):
        assert 2 * stats.norm.sf(WIDTH[version](t)) < CLAIMED[version](t)


@pytest.mark.parametrize(("version", "t"), list(itertools.product(WIDTH, [10, 30, 100])))
def test_twice_the_nodes_give_the_same_tail(version, t):
    width = WIDTH[version](t)
    more = simultaneous_tail(width, n=t - 1, nodes=math.ceil(3 * width * math.sqrt(t)) + 80)
    assert simultaneous_tail(width, n=t - 1) == pytest.approx(more, rel=1e-9, abs=0)


def test_the_printed_claim_first_fails_where_the_tail_crosses_it():
    first = semibandit_bound.first_failure()
    assert first == 26
    assert simultaneous_tail(WIDTH["printed"](25), n=24) < 2 / 25**2
    assert simultaneous_tail(WIDTH["printed"](26), n=25) > 2 / 26**2


def test_a_case_has_the_gaps_of_all_super_arms():
    sums = sorted(a + b for a, b in itertools.combinations([0.9, 0.5, 0.1], 2))
    low, high = sums[-1] - sums[-2], sums[-1] - sums[0]
    assert THREE_ARMS.max_gap == pytest.approx(high, rel=1e-12, abs=0)
    inverse = THREE_ARMS.problem.reward.inverse_smoothness(low, 2)
    assert THREE_ARMS.inverse_gap == pytest.approx(inverse, rel=1e-12, abs=0)
    assert THREE_ARMS.left_out == pytest.approx(3 * high / inverse**2, rel=1e-12, abs=0)
    for version in ("printed", "corrected"):
        expected = bounds.theorem_9(
            n_arms=3,
            list_length=2,
            inverse_gap=inverse,
            max_gap=high,
            horizon=1e6,
            epsilon=0.5,
            delta=1e-2,
            version=version,
        )
        assert THREE_ARMS.bound(1e6, version) == pytest.approx(expected, rel=1e-12, abs=0)


def test_a_bound_says_something_from_where_it_crosses_the_trivial_one():
    for case in CASES.values():
        horizon = 10**case.informative_from
        assert case.bound(1.001 * horizon, "corrected") < 1.001 * horizon * case.max_gap
        assert case.bound(0.999 * horizon, "corrected") > 0.999 * horizon * case.max_gap
    lines = semibandit_bound.bound_lines(CASES, 100)
    assert len(lines) == 6
    assert lines[0] == f"two, ε = 2, printed: bound at T = 100: {TWO_ARMS.bound(100, 'printed'):.6g}"
    assert lines[5].endswith(f"10^{THREE_ARMS.informative_from:.3f} on")


def test_the_corrected_bound_is_not_always_below_the_printed_one():
    assert semibandit_bound.corrected_is_smaller(TWO_ARMS)
    # leading terms in the other order: K log(1.25 / delta) is small
    assert not semibandit_bound.corrected_is_smaller(Case(TWO_ARMS.problem, 2.0, 0.99))


def test_the_regret_is_held_against_the_bound_from_the_second_round_on():
    limits = [TWO_ARMS.bound(float(t), "corrected") for t in ROUNDS]
    factor = 0.5  # the mean plus three standard errors is 1.3 times the mean
    assert semibandit_bound.is_below(regret(factor * np.array(limits)), TWO_ARMS)
    assert semibandit_bound.is_below(regret(limits * np.array([9, 0.5, 0.5, 0.5])), TWO_ARMS)
    assert not semibandit_bound.is_below(regret(limits * np.array([0.5, 0.9, 0.5, 0.5])), TWO_ARMS)
    assert not semibandit_bound.is_below(regret(limits * np.array([0.5, 0.5, 0.5, 0.9])), TWO_ARMS)


@pytest.mark.parametrize(
    ("printed", "corrected", "below", "word"),
    [
        (True, True, True, "holds"),
        (False, True, True, "holds corrected"),
        (False, False, True, "fails"),
        (True, False, True, "fails"),
        (True, True, False, "fails"),
    ],
)
def test_theorem_9_needs_its_step_and_a_regret_below_the_bound(printed, corrected, below, word):
    assert semibandit_bound.theorem_9_word(printed_step=printed, corrected_step=corrected, below=below) == word


@pytest.mark.parametrize(
    ("printed", "corrected", "height", "word"),
    [(0.9, 0.9, 0.0, "holds"), (1.1, 0.9, 0.0, "holds corrected"), (1.1, 1.1, 0.0, "fails"), (0.9, 0.9, 1e9, "fails")],
)
def test_both_cards_of_theorem_9_carry_the_word(printed, corrected, height, word):
    tail = {("printed", t): 0.5 * CLAIMED["printed"](t) for t in (10, 30)}
    tail |= {("corrected", t): 0.5 * CLAIMED["corrected"](t) for t in (10, 30)}
    tail["printed", 10] = printed * CLAIMED["printed"](10)
    tail["corrected", 30] = corrected * CLAIMED["corrected"](30)
    measured = dict.fromkeys(CASES, regret(np.full(4, height + 1.0)))
    cards = semibandit_bound.theorem_9_cards(tail, 26, measured, CASES)
    assert [card.verdict for card in cards] == [word, word]
    assert "t = 30" in cards[0].observed
    assert "T = 100" in cards[1].observed


def test_the_rate_leaves_out_a_factor_above_1():
    assert semibandit_bound.rate_card(CASES).verdict == "holds corrected"
    small = Case(cascading.SemiBanditProblem([1.0, 0.0], 1), 2.0, 1e-3)
    object.__setattr__(small, "inverse_gap", 2.0)  # a factor of 1/2
    assert small.left_out == pytest.approx(0.5, rel=1e-12, abs=0)
    assert semibandit_bound.rate_card(CASES | {"small": small}).verdict == "holds"


def test_the_figure_holds_the_bound_beside_the_regret_from_round_10_on(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    measured = {(name, version): regret([1, 2, 3, 4]) for name in CASES for version in ("printed", "corrected")}
    semibandit_bound.draw_bound(measured, CASES, reward="linear")
    rows = list(csv.DictReader((tmp_path / "cascading-semibandit-bound.csv").open()))
    assert list(rows[0]) == ["instance", "version", "round", "regret", "regret_se", "bound"]
    assert [(row["instance"], row["version"], row["round"]) for row in rows] == [
        (name, version, t) for name in CASES for version in ("printed", "corrected") for t in ("10", "100")
    ]
    assert float(rows[3]["bound"]) == TWO_ARMS.bound(100.0, "corrected")
    assert float(rows[3]["regret"]) == pytest.approx(4.0, rel=1e-12, abs=0)
