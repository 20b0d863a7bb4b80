"""The exhibit "Lower bounds": Lemma 5 by enumeration, the divergence, the channels, the slopes, the cards."""

import csv
import math

import numpy as np
import pytest
import xarray as xr

from dpregret.cascading import CascadeProblem, kveton_problem
from evidence.cascading import bounds, channels, decomposition, divergence, lower_claims, lower_slopes
from evidence.cascading.lower_bounds import bernoulli_kl
from evidence.report.enclosure import ball

INSTANCE = {"n_items": 6, "list_length": 2, "p": 0.3, "gap": 0.2}


@pytest.fixture
def columns(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))

    def read(name):
        with open(tmp_path / f"{name}.csv", newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))

    return read


def test_the_enumerated_sides_of_a_small_list_are_those_by_hand():
    problem = CascadeProblem([0.5, 0.4, 0.1], 2)
    # shown: the worst item, then the best; item 1 of mean 0.4 is left out and matched with it
    lower, regret, upper = decomposition.enumerated_sides(problem, np.array([2, 0]))
    assert regret == pytest.approx((1 - 0.5 * 0.6) - (1 - 0.9 * 0.5), rel=1e-12, abs=0)
    assert upper == pytest.approx(0.3, rel=1e-12, abs=0)
    assert lower == pytest.approx(0.5 * 0.3, rel=1e-12, abs=0)


def test_random_instances_are_small_and_lists_hold_distinct_items():
    rng = np.random.default_rng(1)
    seen = [decomposition.random_instance(rng) for _ in range(60)]
    assert {problem.n_items for problem, _ in seen} == {2, 3, 4, 5, 6}
    assert {problem.list_length for problem, _ in seen} == {1, 2, 3}
    assert all(len(set(items)) == problem.list_length < problem.n_items for problem, items in seen)


def test_lemma_5_has_no_negative_slack_and_agrees_with_its_closed_forms():
    rng = np.random.default_rng(2)
    found = [decomposition.slack(*decomposition.random_instance(rng)) for _ in range(40)]
    card = decomposition.judge_lemma_5(found)
    assert card.verdict == "holds" and card.observed.startswith("40 instances: ")
    assert max(one.difference for one in found) < 1e-14 < max(one.above for one in found)


@pytest.mark.parametrize("bad", [(-1e-9, 1.0, 0.0), (1.0, -1e-9, 0.0), (1.0, 1.0, 1e-9)])
def test_lemma_5_fails_with_one_bad_instance(bad):
    good = decomposition.Slack(0.0, 0.0, 0.0)
    assert decomposition.judge_lemma_5([good]).verdict == "holds"
    assert decomposition.judge_lemma_5([good, decomposition.Slack(*bad)]).verdict == "fails"


@pytest.mark.parametrize("p", [0.05, 0.3, 0.9])
def test_the_printed_inequality_fails_from_the_boundary_on(p):
    share = divergence.boundary(p)
    for factor, holds in ((0.999, True), (1.001, False)):
        gap = min(factor * share, (1 + share) / 2) * p
        assert (bernoulli_kl(p, p - gap) <= gap**2 / (p * (1 - p))) == holds


def test_the_right_divergence_stays_below_its_bound():
    # by the chi-square bound; near p = 1 and a small gap it is half of it
    ratio = divergence.largest_right_ratio([0.5], [0.2, 0.4])
    expected = [sum(q * math.log(q / 0.5) for q in (0.5 - gap, 0.5 + gap)) * 0.25 / gap**2 for gap in (0.1, 0.2)]
    assert ratio == pytest.approx(max(expected), rel=1e-12, abs=0)
    assert ratio < 1


def test_the_figure_of_the_divergence_holds_boundary_and_printed_divergence(columns):
    divergence.draw_divergence(p=0.2, gap=0.15)
    rows = columns("cascading-lower-bounds-divergence")
    one = rows[100]
    assert one["what"] == "boundary"
    assert float(one["share"]) == pytest.approx(divergence.boundary(float(one["p"])), rel=1e-12, abs=0)
    assert float(one["value"]) == pytest.approx(float(one["share"]) * float(one["p"]), rel=1e-12, abs=0)
    last = rows[-1]
    assert (last["p"], last["what"]) == ("0.2", "printed divergence")
    assert float(last["value"]) == pytest.approx(bernoulli_kl(0.2, 0.2 * (1 - 0.985)), rel=1e-9, abs=0)


def test_the_law_of_a_click_adds_up_the_weights_that_lead_to_it():
    assert channels.input_law([0.2, 0.5], clicks=False) == pytest.approx([0.4, 0.4, 0.1, 0.1], rel=1e-12, abs=0)
    assert channels.input_law([0.2, 0.5], clicks=True) == pytest.approx([0.2, 0.4, 0.4], rel=1e-12, abs=0)


def test_for_one_bit_the_best_channel_is_the_randomised_response():
    low, high, epsilon = 0.1, 0.3, 0.7
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    q, r = (x * keep + (1 - x) * (1 - keep) for x in (low, high))
    by_hand = q * math.log(q / r) + (1 - q) * math.log((1 - q) / (1 - r))
    assert channels.response_divergence(low, high, epsilon) == pytest.approx(by_hand, rel=1e-10, abs=0)
    best = channels.best_channel(np.array([0.9, 0.1]), np.array([0.7, 0.3]), epsilon)
    assert best == pytest.approx(by_hand, rel=1e-9, abs=0)


def test_a_later_position_tells_less_through_clicks_and_as_much_through_weights():
    at = {"low": 0.05, "high": 0.2, "epsilon": 1.0}
    assert channels.advantage([0.35, 0.2], 0, **at, clicks=True) == pytest.approx(1, rel=1e-9, abs=0)
    assert channels.advantage([0.35, 0.2], 1, **at, clicks=False) == pytest.approx(1, rel=1e-9, abs=0)
    assert channels.advantage([0.35, 0.2], 1, **at, clicks=True) < 0.65 + 1e-9  # not examined with probability 0.35


def test_slopes_are_the_bounds_at_each_epsilon():
    found = lower_slopes.slopes(INSTANCE, (0.5, 2.0))
    at = {**INSTANCE, "epsilon": 2.0}
    assert [column[1] for column in found[:-1]] == [
        2.0,
        bounds.ldp_lower_bound(**at),
        bounds.theorem_10(**at),
        bounds.theorem_10(**at, version="kl_right"),
        bounds.theorem_11(**at, version="corrected"),
        bounds.theorem_11(**at),
    ]
    assert found.without_privacy == bounds.kveton_lower_bound(**INSTANCE)
    line = lower_slopes.slope_lines(found)[0]
    assert line.startswith(f"ε = 0.5  local: proved {found.ldp[0]:.3f}, Theorem 10 {found.theorem_10[0]:.4f}, with")
    assert line.endswith(f"central: proved {found.dp[0]:.4f}, Theorem 11 {found.theorem_11[0]:.4f}")


def test_theorem_10_crosses_the_bound_without_privacy():
    epsilon = lower_slopes.crossing(INSTANCE)
    assert bounds.theorem_10(**INSTANCE, epsilon=epsilon) == pytest.approx(
        bounds.kveton_lower_bound(**INSTANCE), rel=1e-9, abs=0
    )


def test_the_figure_of_the_slopes_holds_all_of_them(columns):
    found = lower_slopes.slopes(INSTANCE, (0.5, 2.0))
    lower_slopes.draw_slopes(found, INSTANCE)
    rows = columns("cascading-lower-bounds-slopes")
    assert list(rows[0]) == ["epsilon", "ldp", "theorem_10", "theorem_10_kl_right", "dp", "theorem_11"]
    assert [float(x) for x in rows[1].values()] == [column[1] for column in found[:-1]]


def test_the_grid_of_ratios_has_one_a_point():
    ratios = lower_slopes.proved_over_printed((1, 3), (0.3,), (0.5,), (0.1, 1.0))
    at = {"n_items": 4, "list_length": 3, "p": 0.3, "gap": 0.15, "epsilon": 0.1}
    assert ratios.shape == (4,)
    assert ratios[2] == pytest.approx(bounds.ldp_lower_bound(**at) / bounds.theorem_10(**at), rel=1e-12, abs=0)


def test_a_power_is_read_off_two_points():
    x = np.array([1.0, 3.0, 7.0])
    assert lower_slopes.power(x, 5 * x**-1.5) == pytest.approx(-1.5, rel=1e-12, abs=0)


@pytest.mark.parametrize("length", [2, 16])
def test_the_constants_of_the_remark_have_closed_forms(length):
    row = lower_slopes.remark_row(length)
    p = 1 / length
    assert row.printed == pytest.approx(p * (1 - p) ** length / 2, rel=1e-4, abs=0)
    # d(RR(q) || RR(p)) tends to (gap eps/2)^2 2, so the constant is 2 (1-p)^(K-1)
    assert row.proved == pytest.approx(2 * (1 - p) ** (length - 1), rel=1e-4, abs=0)


def test_the_order_of_theorem_11_has_at_least_the_proved_constant():
    shares, epsilons = (0.1, 0.9), (0.01, 1.0, 10.0)
    found = lower_slopes.order_constant(0.3, shares=shares, epsilons=epsilons)
    quotients = []
    for gap in (0.03, 0.27):
        q = 0.3 - gap
        slope = gap / (q * math.log(q / 0.3) + (1 - q) * math.log((1 - q) / 0.7))
        quotients += [max(slope, 1 / math.expm1(2 * e)) / (1 / gap + 1 / e) for e in epsilons]
    assert found == pytest.approx(min(quotients), rel=1e-9, abs=0)
    assert found >= lower_slopes.proved_constant(0.3)
    assert lower_slopes.proved_constant(0.3) == pytest.approx(0.5 / (math.e**2 - 1), rel=1e-12, abs=0)
    assert lower_slopes.proved_constant(0.1) == pytest.approx(0.045, rel=1e-12, abs=0)


def test_the_slope_of_an_upper_bound_leaves_out_its_constant():
    def bound(problem, *, horizon):
        assert np.allclose(problem.means, kveton_problem(n_items=8, list_length=4, p=0.25, gap=0.125).means)
        return 7 * math.log(horizon) + 1e6

    at = {"n_items": 8, "list_length": 4, "p": 0.25, "gap": 0.125, "epsilon": 0.2}
    found = lower_slopes.upper_over_lower(bound, 4, epsilon=0.2)
    assert found == pytest.approx(7 / bounds.ldp_lower_bound(**at), rel=1e-9, abs=0)


def test_regret_along_the_bound_has_a_slope_of_1(columns):
    rounds = np.array([100, 178, 316, 562, 1000, 1778])
    values = 3 * np.log(rounds)
    regret = xr.DataArray([values, 3 * values], dims=("replicate", "round"), coords={"round": rounds})
    found = lower_slopes.decade_slopes(regret, bound=3.0)
    assert found.rounds.tolist() == [1000, 1778]
    assert found.mean == pytest.approx([2, 2], rel=1e-12, abs=0)
    assert found.se == pytest.approx([1, 1], rel=1e-12, abs=0)
    lower_slopes.draw_measured({"ε = 1": found, "non-private": found}, replicates=2)
    rows = columns("cascading-lower-bounds-measured")
    assert [row["policy"] for row in rows] == ["ε = 1"] * 2 + ["non-private"] * 2
    assert float(rows[1]["ratio"]) == found.mean[1] and float(rows[1]["ratio_se"]) == found.se[1]


def test_theorem_10_holds_from_a_ratio_of_1_on():
    card = lower_claims.judge_theorem_10(np.array([1.0, 4.0]), fails_on=0.25, p=0.2)
    assert card.verdict == "holds" and "25.0000 % of the gaps at p = 0.2" in card.observed
    assert "at least 1.0000 on 2 parameter points" in card.observed
    assert lower_claims.judge_theorem_10(np.array([0.99, 4.0]), fails_on=0.25, p=0.2).verdict == "open"


def test_the_remark_holds_while_the_proved_constant_stays_above_2_over_e():
    row = lower_slopes.RemarkRow
    card = lower_claims.judge_remark([row(2, 0.4, 1.0), row(4, 0.2, 0.74)])
    assert card.verdict == "holds" and "exponent of K -1.0000; proved bound: at least 0.740000" in card.observed
    assert lower_claims.judge_remark([row(2, 0.4, 1.0), row(4, 0.2, 0.73)]).verdict == "open"


def test_theorem_11_holds_if_each_constant_is_at_least_the_proved_one():
    at = {"p": 0.2, "points": 12}
    assert lower_claims.judge_theorem_11({0.2: 0.079, 0.5: 0.079}, **at).verdict == "holds"
    card = lower_claims.judge_theorem_11({0.2: 0.079, 0.5: 0.078}, **at)  # by proof 0.0783
    assert card.verdict == "open" and "at least 0.079000 times" in card.observed and "on 12 points" in card.observed


def test_the_contributions_need_the_factor_unless_it_is_1():
    assert lower_claims.judge_contributions({4: 0.5, 16: 0.1}, p=0.2).verdict == "holds corrected"
    card = lower_claims.judge_contributions({1: 1.0}, p=0.2)
    assert (card.verdict, card.observed) == ("holds", "1 (K = 1)")


POWERS = {"Theorem 10": -2.001, "Theorem 11": -0.999, "local, proved": -2.0, "central, proved": -1.0}


def test_the_effect_is_negligible_in_t_and_not_in_epsilon():
    at = {"ratio": 164.2, "epsilon": 0.2}
    in_t, in_epsilon = lower_claims.judge_negligible_effect(POWERS, lowest_slope=0.02, **at)
    assert (in_t.verdict, in_epsilon.verdict) == ("holds", "fails")
    assert in_epsilon.observed == (
        "Theorem 10: -2, Theorem 11: -1 (numerically -2.001 and -0.999; proved bounds -2.000 and -1.000)"
    )
    same = POWERS | {"Theorem 11": -2.0}
    in_t, in_epsilon = lower_claims.judge_negligible_effect(same, lowest_slope=0.0, **at)
    assert (in_t.verdict, in_epsilon.verdict) == ("open", "open")


def test_upper_and_lower_bound_match_only_where_nothing_grows():
    growth = {"Theorem 4": 2.004, "Theorem 6": 1.002, "Theorem 7": 1.0}
    cards = lower_claims.judge_matching(growth, slope=1.0, excess=ball(3), epsilon=0.2)
    assert [card.verdict for card in cards] == ["fails", "holds", "fails"]
    assert "Theorem 4: 2 (numerically 2.004), Theorem 6: 1" in cards[0].observed
    cards = lower_claims.judge_matching(growth | {"Theorem 7": 0.2}, slope=1.01, excess=ball(-3), epsilon=0.2)
    assert [card.verdict for card in cards] == ["open", "open", "open"]


def test_the_powers_read_off_the_formulas_are_those_of_the_bounds():
    for name, bound in (("Theorem 10", bounds.theorem_10), ("Theorem 11", bounds.theorem_11)):
        epsilons = (1e-4, 1e-5)
        values = [bound(**INSTANCE, epsilon=e) for e in epsilons]
        assert lower_slopes.power(epsilons, values) == pytest.approx(lower_claims.EPSILON_POWERS[name], abs=0.01)
    for name, given in (("4", {}), ("6", {"delta": 1e-3}), ("7", {"delta": 1e-3})):
        over = [
            lower_slopes.upper_over_lower(
                lambda problem, horizon, name=name, given=given: getattr(bounds, f"theorem_{name}")(
                    problem, horizon=horizon, epsilon=0.2, **given
                ),
                k,
                epsilon=0.2,
            )
            for k in (64, 256)
        ]
        assert lower_slopes.power((64, 256), over) == pytest.approx(
            lower_claims.LENGTH_POWERS[f"Theorem {name}"], abs=0.01
        )
