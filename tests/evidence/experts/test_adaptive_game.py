"""The explicit adaptive adversary in exact numbers, its verdict on both sides, and the figure of the others."""

import csv
import math
from fractions import Fraction

import numpy as np
import pytest

from dpregret.experts import ExponentialWeights
from evidence.experts import accounting, adaptive_game, transcripts
from evidence.report import enclosure

FOUND = adaptive_game.Found(7, 0.3, 0.15, 0.244, 0.2445, 0.2454, 0.2454, 0.2452, 0.2485, 0.369)


@pytest.fixture(scope="module")
def explicit():
    return adaptive_game.explicit()


def test_the_explicit_game_is_exact(explicit):
    assert explicit.delta == Fraction(79, 150)
    for world in (0, 1):
        assert sum(adaptive_game.rational_law(world).values()) == 1
    assert explicit.law_gap < 1e-14
    assert explicit.above_fixed
    assert explicit.radius < 1e-30
    u = 2**0.8
    x, y = (u - 1) / 3, 4 * (1 - 1 / u) / 3
    supremum = (1 - x) ** 3 * (1 + 3 * x) - (1 - y) ** 3 * (1 + 3 * y)
    assert explicit.supremum == pytest.approx(supremum, rel=1e-13, abs=0)
    assert explicit.oblivious == pytest.approx(supremum, rel=1e-13, abs=0)
    assert explicit.strongest == pytest.approx(79 / 150, rel=1e-13, abs=0)
    assert explicit.composed == pytest.approx(0.792, rel=1e-12, abs=0)
    assert str(explicit).splitlines()[:3] == [
        "this adversary, exactly                         79/150 = 0.5266666667",
        "the learner's own law agrees within 1e-12       True",
        "supremum over all fixed losses and all k        0.5246835029; in balls 0.5246835029, radius below 1e-30: True",
    ]


def test_the_two_forms_of_the_adversary_are_one():
    learner = ExponentialWeights(2, math.log(2))
    law = transcripts.transcript_law(learner, adaptive_game.reward_the_last(1), 5)
    for actions, probability in adaptive_game.rational_law(1).items():
        assert law[actions] == pytest.approx(float(probability), rel=1e-13, abs=0)
    losses = adaptive_game.reward_the_last(0)
    assert [losses(h) for h in ((), (0,), (0, 1), (0, 0), (0, 1, 1))] == [[0, 1], [0, 0], [1, 0], [0, 1], [0, 0]]


def test_adaptive_adversaries_are_worse_if_every_part_says_so(explicit):
    card = adaptive_game.judge(explicit, FOUND)
    assert (card.claim, card.verdict, card.evidence) == ("experts/adaptive-worse", "holds", "enclosure")
    assert card.required == "above 0.52468350 (the balls are below 79/150: True)"
    assert card.margin.endswith("T = 7, eta = 0.3, eps = 0.15: 0.24540000 above 0.24520000")
    with enclosure.precision(38):
        above = [*explicit.balls, enclosure.ball("0.6")]
    for wrong in (
        explicit._replace(delta=Fraction(78, 150)),
        explicit._replace(balls=above),
        explicit._replace(law_gap=1e-9),
        explicit._replace(oblivious=0.5247),
    ):
        assert adaptive_game.judge(wrong, FOUND).verdict == "fails"
    for wrong in (FOUND._replace(supremum=0.24539), FOUND._replace(halves=0.24541)):
        expected = "holds" if wrong.supremum == 0.2452 and wrong.halves == 0.2454 else "fails"
        assert adaptive_game.judge(explicit, wrong).verdict == expected


def test_the_game_that_was_found_is_printed_in_seven_lines():
    lines = str(FOUND).splitlines()
    assert lines[0] == "T = 7, eta = 0.3, eps = 0.15"
    assert lines[1] == "fixed losses in 0, 1/2, 1, two experts          0.2440000000"
    assert lines[4] == "strongest adversary with losses 0, 1/2, 1       0.2454000000 (enumerated: 0.2454000000)"
    assert lines[6] == "zCDP, best order                                0.369000"


def test_curves_and_their_figure(monkeypatch, tmp_path):
    epsilons = np.array([0.0, 0.2])
    games = [adaptive_game.curves(math.log(2), 4, epsilons), adaptive_game.curves(0.3, 3, epsilons)]
    for game in games:
        setting = {"eta": game.eta, "horizon": game.horizon, "epsilon": 0.2}
        assert game.oblivious[1] == accounting.certified_delta("bounded_range", **setting)
        recursion, halves, binary, pair = (values[1] for values in game.deltas.values())
        assert recursion == transcripts.adaptive_profile(**setting, cells=100)
        assert halves == transcripts.strongest_adversary(**setting).delta
        assert binary == transcripts.strongest_adversary(**setting, levels=(0, 1)).delta
        assert pair == transcripts.two_expert_profile(**setting)
        assert np.diff([pair, binary, halves, recursion]).min() >= -1e-12
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    adaptive_game.draw(games, limits=((-3, 3), (-1, 2)))
    with open(tmp_path / "experts-privacy-adaptive.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["panel", "series", "epsilon", "delta", "oblivious"]
    assert len(rows) == 2 * 4 * 2
    assert (rows[-1]["panel"], rows[-1]["series"], float(rows[-1]["delta"])) == (
        "T = 3",
        "pair with k = 2",
        games[1].deltas["pair with k = 2"][1],
    )
