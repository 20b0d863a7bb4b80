"""What the notebook minimax shows: its verdicts on both sides, its table and its figure on made-up games."""

import csv
import math

import pytest

from dpregret.experts import ExponentialWeights
from evidence.experts import audit, bounds, minimax, small_games, transcripts

ONE = small_games.Game(1, 1.0, 0.5, 0.5, 0.5, math.inf, 0.5)
TWO = small_games.Game(2, 1.0, 0.75, 0.75, 0.75, 1.0, 0.9)
THREE = small_games.Game(3, 1.0, 0.88, 1.04, 1.18, 0.45, 1.32)
OTHER = small_games.Game(3, 2.0, 0.6, 0.7, 0.8, 0.9, 1.0)


def test_the_packing_bound_holds_if_no_game_is_below_it():
    card = small_games.judge_packing([ONE, TWO, THREE, THREE, OTHER], {"a": 0.1, "b": 0.0}, last=THREE)
    assert (card.claim, card.verdict) == ("experts/packing-experts", "holds")
    assert card.observed == (
        "4 linear programmes: none below by more than 1e-7: True; 2 settings of exponential weights: none below: True"
    )
    assert card.margin == "attained for T <= 2 within 1e-7: True; at T = 3, epsilon = 1: minimax 1.04000, bound 0.88000"
    near = THREE._replace(packing=THREE.minimax + 0.9e-7)
    assert small_games.judge_packing([ONE, near], {"a": 0.0}, last=THREE).verdict == "holds"
    far = THREE._replace(packing=THREE.minimax + 1.1e-7)
    assert small_games.judge_packing([ONE, far], {"a": 0.0}, last=THREE).verdict == "fails"
    assert small_games.judge_packing([ONE, THREE], {"a": 0.2, "b": -1e-11}, last=THREE).verdict == "fails"
    loose = TWO._replace(packing=0.7)
    assert "within 1e-7: False" in small_games.judge_packing([ONE, loose], {"a": 0.0}, last=THREE).margin


@pytest.mark.parametrize("wrong", ["programme", "weights", "pure_epsilon"])
def test_two_rounds_hold_if_programme_weights_and_privacy_agree(wrong):
    found = [small_games.TwoRounds(e, *[small_games.two_round_value(e)] * 2, e) for e in (0.5, 2.0)]
    assert small_games.judge_two_rounds(found).verdict == "holds"
    assert small_games.judge_two_rounds(found).margin == "at epsilon = 0.5: 0.8775406688"
    bad = found[0]._replace(**{wrong: getattr(found[0], wrong) + 2e-7})
    assert small_games.judge_two_rounds([bad, found[1]]).verdict == "fails"


def test_the_value_of_two_rounds_is_the_packing_bound():
    for e in (0.1, 1.0, 5.0):
        packing = bounds.packing_total_regret(epsilon=e, n_experts=2, horizon=2)
        assert small_games.two_round_value(e) == pytest.approx(packing, rel=1e-12, abs=0)
        assert small_games.TwoRounds(e, 0, 0, 0).formula == small_games.two_round_value(e)


def test_the_closed_form_is_below_the_packing_bound():
    for k, t, e in ((2, 2, 0.1), (10, 100, 1.0), (100, 10, 5.0), (100, 100, 0.1)):
        closed = math.log(k / (1 + (k - 1) * math.exp(-e * t))) / e
        assert closed <= bounds.packing_total_regret(epsilon=e, n_experts=k, horizon=t) + 1e-12


def test_the_table_has_the_games_of_two_rounds_and_more():
    lines = small_games.tabulate([ONE, TWO, THREE]).data.splitlines()
    assert len(lines) == 4
    assert lines[2] == "| 2 | 0.750000 | 0.750000 | 0.750000 | 1.000000 | 0.900000 | 1.0 |"


def test_the_figure_has_the_games_over_epsilon(monkeypatch, tmp_path):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    more = [THREE, OTHER, TWO._replace(minimax=0.12345678), TWO._replace(epsilon=2.0)]
    small_games.draw([ONE, TWO, THREE], more)
    with open(tmp_path / "experts-minimax.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["horizon", "epsilon", "minimax", "packing", "weights"]
    assert [(row["horizon"], row["epsilon"]) for row in rows] == [
        ("2", "1.0"),
        ("2", "2.0"),
        ("3", "1.0"),
        ("3", "2.0"),
    ]
    assert rows[0]["minimax"] == "0.123457"
    assert (rows[3]["packing"], rows[3]["weights"]) == ("0.6", "0.8")


def test_the_pure_rate_inverts_the_pure_epsilon():
    for epsilon, horizon in ((0.1, 2), (1.0, 3), (6.0, 5)):
        eta = transcripts.pure_rate(epsilon=epsilon, horizon=horizon)
        assert transcripts.pure_epsilon(eta=eta, horizon=horizon) == pytest.approx(epsilon, rel=1e-12, abs=0)
    assert transcripts.pure_rate(epsilon=1.0, horizon=1) == math.inf
    assert minimax.worst_total_regret(eta=math.inf, horizon=1, resolution=4) == 0.5
    with pytest.raises(ValueError, match="eta must be"):
        minimax.worst_total_regret(eta=math.inf, horizon=2)


def test_the_pure_epsilon_is_that_of_all_enumerated_pairs():
    learner = ExponentialWeights(2, 0.6)
    found = audit.enumerated_pure_epsilon(learner, 4)
    assert found == pytest.approx(transcripts.pure_epsilon(eta=0.6, horizon=4), rel=1e-12, abs=0)
    assert audit.enumerated_pure_epsilon(learner, 2) == pytest.approx(0.6, rel=1e-12, abs=0)
