"""The limit of the mean-square error: closed forms, second derivations, verdicts on both sides, and the figures."""

import csv
import math

import numpy as np
import pytest

from evidence.contextual import lower_bounds as lb
from evidence.contextual import mean_square_cards as cards
from evidence.contextual import mean_square_figures as figures
from evidence.contextual import mean_square_limit as limit


def test_constant_of_the_proof():
    assert lb.THEOREM_2_1_CONSTANT == pytest.approx(3 / 16 * lb.paper_c(0.4) * math.expm1(0.4), rel=1e-12, abs=0)
    assert math.expm1(cards.critical_alpha()) == pytest.approx(lb.THEOREM_2_1_CONSTANT, rel=1e-12, abs=0)


def test_scaled_risks_are_flat_and_their_bounds_those_of_the_theorem():
    alpha, sizes = 0.5, np.array([10**4, 10**6])
    found = limit.scaled_risks(alpha, sizes)
    assert found.paper == pytest.approx([3 / 64 / math.sqrt(2)] * 2, rel=1e-12, abs=0)
    assert found.corrected == pytest.approx([1 / 8 / math.sqrt(2)] * 2, rel=1e-12, abs=0)
    sharp = math.expm1(alpha) / 8 / math.sqrt(lb.channel_divergence(alpha))
    assert found.sharp == pytest.approx([sharp] * 2, rel=1e-2, abs=0)
    risk = lb.randomized_response_risk(n=10**4, alpha=alpha) * 100 * math.expm1(alpha)
    assert found.risk[0] == pytest.approx(risk, rel=1e-12, abs=0)
    assert found.risk[1] == pytest.approx(risk, rel=1e-2, abs=0)


def test_worst_pair_is_above_the_pair_at_each_c_that_was_tried():
    found = limit.worst_pair_risks(1.0, np.array([100]))
    cs = np.geomspace(0.5, 5, 30) / math.expm1(1.0)
    risks = [10 * math.expm1(1.0) * lb.randomized_response_risk(n=100, alpha=1.0, c=c) for c in cs]
    assert found[0] == pytest.approx(max(risks), rel=1e-12, abs=0)


def test_channels_at_a_small_and_a_large_alpha():
    found = limit.channels([0.1, 1.0])
    assert found.bit == pytest.approx([math.expm1(a) ** 2 / math.exp(a) for a in (0.1, 1.0)], rel=1e-12, abs=0)
    assert found.best[0] == pytest.approx(found.bit[0], rel=1e-12, abs=0) and found.best[1] > found.bit[1]
    assert found.program == pytest.approx(found.best, rel=1e-5, abs=0)
    proof = [math.exp(0.2) * math.expm1(0.1) ** 2, 4 * math.expm1(1.0) ** 2]
    assert found.proof == pytest.approx(proof, rel=1e-12, abs=0)


def test_what_no_protocol_can_beat_is_maximal_at_the_sharp_bound():
    q = np.geomspace(1e-4, 1, 20_001)
    found = lb.rare_direction_bound(q, n=1e4, alpha=0.8)
    assert found.max() == pytest.approx(lb.mean_square_bound(n=1e4, alpha=0.8, version="sharp"), rel=1e-6, abs=0)
    tv = 0.3 / 2 * math.sqrt(50 * lb.channel_divergence(0.8) / (1 - 0.3 * (1 - math.exp(-0.8))))
    assert lb.rare_direction_bound(0.3, n=50, alpha=0.8) == pytest.approx(0.3 / 4 * (1 - tv), rel=1e-12, abs=0)


@pytest.mark.parametrize("theta", [-1.0, 0.3, 1.0])
def test_error_of_the_shrunken_mean_by_enumeration(theta):
    n, q, alpha = 3, 0.4, 0.7
    t = math.tanh(alpha / 2)
    up, factor, error = (1 + t * q * theta) / 2, t * q / (t**2 * q**2 + 1 / n), 0.0
    for ones in range(n + 1):
        law = math.comb(n, ones) * up**ones * (1 - up) ** (n - ones)
        error += law * q * (factor * (2 * ones - n) / n - theta) ** 2
    assert limit.shrunken_mean_error(q, theta, n=n, alpha=alpha) == pytest.approx(error, rel=1e-12, abs=0)


def test_both_sides_of_the_error_are_in_order():
    found = limit.rare_direction(np.array([1e-3, 1e-2, 0.1]), n=10**4, alpha=1.0)
    assert (found.every <= found.pair).all() and (found.pair <= found.shrunk).all()
    assert (found.shrunk <= found.shrunk_bound * (1 + 1e-12)).all()
    t = math.tanh(0.5)
    assert found.shrunk_bound[1] == pytest.approx(0.01 / (1 + 1e4 * t**2 * 1e-4), rel=1e-12, abs=0)
    assert found.zero.tolist() == found.q.tolist() == [1e-3, 1e-2, 0.1]


def test_worst_share():
    errors = np.array([[[1.0, 3.0], [0.0, 1.0]], [[0.0, 0.0], [5.0, 5.0]]])
    np.testing.assert_allclose(limit.worst_share(errors), [[2, 5], [1, 0]])


@pytest.mark.parametrize("alpha", [0.01, 0.5, 1.0])
def test_private_action_costs_a_linear_regret(alpha):
    assert limit.private_action_regret(alpha, 20_001) == pytest.approx(1 / (1 + math.exp(alpha)), rel=1e-3, abs=0)


def test_gap_of_cauchy_and_schwarz():
    weights = np.array([[1.0, 2.0, 4.0], [1.0, 1.0, 1.0]])
    equal = 1 / weights[:1]  # the inequality is an equality for errors in proportion to 1/w
    assert limit.cauchy_schwarz_gap(weights[:1], equal) == pytest.approx(0, abs=1e-12)
    both = np.concatenate([equal, [[1.0, 2.0, 6.0]]])
    assert limit.cauchy_schwarz_gap(weights[1:], both[1:]) == pytest.approx(math.sqrt(41 / 3) - 3, rel=1e-12, abs=0)


def test_orders_are_constant_once_the_direction_is_rare():
    found = limit.orders(np.array([1e4, 1e8]), 1.0)
    p = 1 / (math.sqrt(2) * math.expm1(1.0))
    for part, share in zip(found, (8, 4, 1), strict=True):
        assert part == pytest.approx([p / share] * 2, rel=1e-12, abs=0)
    assert limit.orders(np.array([1.0]), 0.01).upper == pytest.approx([1.0], rel=1e-12, abs=0)


def test_errors_of_perturbed_statistics():
    found = limit.statistics_errors(np.array([1, 4]), 0.5)
    b = 9 / 0.5
    assert found.moments[1] == pytest.approx(
        2 * (math.sqrt(1 + 32 * b**2) + 2 * math.sqrt(1 + 8 * b**2)), rel=1e-12, abs=0
    )
    assert found.simple[1] == pytest.approx(3 * 81 / 0.5, rel=1e-12, abs=0)


SIZES = np.array([1, 100, 10**4])


def made_up(alpha=0.5, worst=0.3):
    return {alpha: limit.scaled_risks(alpha, SIZES)}, {alpha: np.array([1.0, worst])}


def test_theorem_2_1_with_a_constant_for_each_alpha_and_with_one_for_all():
    each, one = cards.cards_theorem_2_1(*made_up(), SIZES)
    assert (each.verdict, one.verdict) == ("holds", "holds corrected")
    assert each.observed == "never above it, n = 1 to 10000, α = 0.5: True"
    assert each.margin == f"C_1 = {math.expm1(0.5) / 8:.5f} (α = 0.5)"
    assert f"{0.3 / lb.THEOREM_2_1_CONSTANT:.2f} times the bound with the paper's" in one.margin


def test_theorem_2_1_fails_if_a_lower_bound_is_above_the_exact_risk():
    scaled, worst = made_up(worst=0.01)
    assert [card.verdict for card in cards.cards_theorem_2_1(scaled, worst, SIZES)] == ["fails", "fails"]
    scaled, worst = made_up()
    scaled = {a: part._replace(corrected=part.sharp * 1.01) for a, part in scaled.items()}
    assert [card.verdict for card in cards.cards_theorem_2_1(scaled, worst, SIZES)] == ["fails", "fails"]


def test_theorem_2_1_fails_for_each_alpha_if_its_constant_is_above_the_corrected_bound():
    scaled, worst = made_up()
    scaled = {a: part._replace(corrected=part.corrected / 2) for a, part in scaled.items()}
    each, one = cards.cards_theorem_2_1(scaled, worst, SIZES)
    assert (each.verdict, one.verdict) == ("fails", "holds corrected")


def test_one_constant_for_all_alpha_would_hold_without_the_missing_minimum(monkeypatch):
    monkeypatch.setattr(cards, "critical_alpha", lambda: 0.2)
    assert cards.cards_theorem_2_1(*made_up(), SIZES)[1].verdict == "holds"


def around(**changes):
    found = dict(regret={1.0: 1.0001}, two=limit.orders(np.array([1e2, 1e4]), 1.0), gap=1e-3) | changes
    return cards.cards_around(found["regret"], found["two"], found["gap"])


def test_the_six_sentences():
    found = around()
    assert [card.verdict for card in found] == ["holds"] * 6
    assert found[0].reading and not any(card.reading for card in found[1:])
    assert found[3].observed == "1.0001 (α = 1)"


@pytest.mark.parametrize(
    "changes",
    [
        dict(gap=-1e-3),
        dict(regret={1.0: 0.99}),
        dict(regret={1.0: 1.0, 0.5: 1.01}),
        dict(two=limit.Orders(*np.zeros((3, 2)))),
    ],
)
def test_the_six_sentences_fail_together(changes):
    assert [card.verdict for card in around(**changes)] == ["fails"] * 6


def test_the_rate_is_attained_if_the_moment_bound_is_below_the_simple_one():
    dimensions = np.array([1, 2, 3])
    good = cards.card_attained({a: limit.statistics_errors(dimensions, a) for a in (1.0, 0.1)})
    assert good.verdict == "holds" and good.margin == "at d = 2, α = 1: 79.83 against 101.91"
    bad = limit.StatisticsErrors(np.array([1.0, 2.0]), np.array([1.0, 1.9]))
    assert cards.card_attained({0.1: bad}).verdict == "fails"


@pytest.fixture
def published(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))

    def read(name):
        with open(tmp_path / f"{name}.csv", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))

    return read


def test_figure_of_the_limit_leaves_out_what_says_nothing(published):
    rare = limit.rare_direction(np.array([0.01, 0.05]), n=10**4, alpha=1.0)
    assert rare.every[1] == 0
    figures.draw_limit(made_up()[0], SIZES, rare, n=10**4, alpha=1.0)
    rows = published("contextual-mean-square-limit")
    curves = [row["curve"] for row in rows]
    assert curves[:6] == ["exact"] * 3 + ["paper"] * 3
    assert curves[6:] == [
        *["estimate 0, worst"] * 2, *["shrunken mean, worst"] * 2, *["Bayes risk, one bit"] * 2, "proved for every protocol",
    ]  # fmt: skip
    assert float(rows[6]["x"]) == float(rows[6]["value"]) == pytest.approx(math.expm1(1.0), rel=1e-12, abs=0)
    assert float(rows[1]["x"]) == 100 and rows[1]["alpha"] == "0.5"


def test_figure_of_the_channels_is_relative_to_one_bit(published):
    figures.draw_channels(limit.Channels(*(np.array([value] * 2) for value in (0.5, 2.0, 4.0, 5.0, 6.0))))
    row = published("contextual-mean-square-channels")[0]
    assert [float(row[f"{name}_over_bit"]) for name in ("closed_form", "program", "proof")] == [2, 2.5, 3]


def test_figure_of_case_one(published):
    users = np.array([1e6, 1e8])
    names = [(name, measure) for name in ("corrected LPLR", "least squares") for measure in figures.MEASURES]
    measured = {key: limit.Measured(np.array([i + 1.0, i + 2.0]), np.ones(2)) for i, key in enumerate(names)}
    figures.draw_case_one(users, measured, 1.0)
    rows = published("contextual-mean-square-case-one")
    assert [float(row["error"]) for row in rows] == [1, 2, 3, 4, 2, 3, 4, 5]
    assert [row["measure"] for row in rows[::4]] == list(figures.MEASURES)
