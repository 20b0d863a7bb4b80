"""Rounds and profiles of transcripts: search and closed forms against brute force, verdicts on both sides, figures."""

import csv
import itertools
import math

import numpy as np
import pytest
from scipy.special import softmax

from dpregret.experts import ExponentialWeights
from dpregret.privacy import composition
from evidence.experts import accounting, audit, transcript_privacy, transcripts


def read(path):
    with open(path) as stream:
        return list(csv.DictReader(stream))


def test_the_search_of_log_ratios_finds_the_largest():
    eta, best = 0.4, 0.0
    for sums in itertools.product(range(3), repeat=2):
        for one, other in itertools.product(itertools.product((0, 1), repeat=2), repeat=2):
            laws = [softmax(-eta * (np.array(sums) + np.array(losses))) for losses in (one, other)]
            best = max(best, float(np.log(laws[0] / laws[1]).max()))
    assert transcript_privacy.largest_log_ratio(2, eta, 2) == pytest.approx(best, rel=1e-12, abs=0)


@pytest.mark.parametrize("eta", [0.1, 2.0])
def test_the_ratios_of_round_two_and_of_two_experts(eta):
    for k in (2, 3, 4):
        found = transcript_privacy.largest_log_ratio(k, eta, 0) / eta
        expected = transcript_privacy.ratio_in_round_two(np.array([k]), eta)[0]
        assert found >= expected * (1 - 1e-12)
        one = np.zeros(k)
        one[0] = 1.0
        laws = [softmax(-eta * losses) for losses in (1 - one, one)]
        assert expected == pytest.approx(math.log(laws[0][0] / laws[1][0]) / eta, rel=1e-12, abs=0)
    rounds = np.arange(2, 6)
    found = transcript_privacy.ratio_of_two_experts(rounds, eta)
    behind = rounds - 2.0  # of the drawn expert, s: from s - 1 to s + 1

    def log_law(gap):
        return -np.log1p(np.exp(eta * gap))

    np.testing.assert_allclose(found, (log_law(behind - 1) - log_law(behind + 1)) / eta, rtol=1e-11)
    assert found[0] == pytest.approx(1.0, rel=1e-12, abs=0)


def test_multiplied_weights_stop_at_the_smallest_double():
    assert transcript_privacy.multiplied_weights().tolist() == [5e-324, 5e-324]


def test_the_kernel_holds_if_its_law_is_one():
    law, far = np.full((2, 2), 0.25), np.array([0.2, 0.8])
    card = transcript_privacy.judge_kernel(law, far, far)
    assert (card.claim, card.verdict) == ("experts/o-1", "holds")
    assert card.observed == "4 transcripts, all of positive probability: True; they sum to 1 within 1e-12: True"
    assert transcript_privacy.judge_kernel(law * 1.01, far, far).verdict == "fails"
    assert transcript_privacy.judge_kernel(np.array([1.0, 0.0]), far, far).verdict == "fails"
    assert transcript_privacy.judge_kernel(law, far, far + 1e-9).verdict == "fails"


def test_round_kernels_hold_below_two_and_near_it():
    ratios = {(2, 0, 0.1): 1.0, (2, 0, 0.5): 1.0, (3, 4, 0.5): 1.99}
    card = transcript_privacy.judge_ratios(ratios, 2 - 1e-7)
    assert (card.claim, card.verdict) == ("experts/o-2", "holds")
    assert card.observed == (
        "below 2 eta everywhere, at most 1.99000000 eta in the search; round 2 with k = 2: 1.00000000 eta"
    )
    for changed, many in (
        ({(3, 4, 0.5): 2.0}, 2 - 1e-7),
        ({(2, 0, 0.1): 1.001}, 2 - 1e-7),
        ({}, 1.99),
        ({}, 2.01),
    ):
        assert transcript_privacy.judge_ratios(ratios | changed, many).verdict == "fails"


def test_the_promise_holds_if_both_shares_are_at_most_one():
    options = {
        "target": {"epsilon": 1.0, "delta": 1e-6, "horizon": 1000},
        "certified": {"zcdp_optimal": 0.195, "bounded_range": 0.179},
    }
    card = transcript_privacy.judge_promise([0.5, 1.0], [0.2, 1.0], **options)
    assert (card.claim, card.verdict) == ("experts/o-3", "holds")
    assert card.margin == (
        "epsilon = 1, delta = 1e-6, T = 1000: 0.195000 by zCDP, 0.179000 exactly against losses fixed in advance, "
        "worst case over all k"
    )
    assert transcript_privacy.judge_promise([1.001], [0.2], **options).verdict == "fails"
    assert transcript_privacy.judge_promise([0.5], [1.001], **options).verdict == "fails"


def test_profiles_and_their_inverses():
    eta, horizon = 0.2, 6
    profiles = transcript_privacy.profiles(eta, horizon, np.array([0.1, 0.5]))
    assert set(profiles.deltas) == set(transcript_privacy.LABELS)
    assert list(profiles.deltas)[-2:] == ["recursion", "pair"]
    deltas = transcript_privacy.all_deltas(eta=eta, horizon=horizon, epsilon=0.5)
    for method in ("text", "optimal", "zcdp", "zcdp_optimal", "bounded_range"):
        expected = accounting.certified_delta(method, eta=eta, epsilon=0.5, horizon=horizon)
        assert deltas[method] == profiles.deltas[method][1] == expected
    learner = ExponentialWeights(2, eta)
    laws = audit.both_worlds(learner, audit.first_round_pair(horizon), horizon)
    pair = np.maximum(laws[0] - math.exp(0.5) * laws[1], 0).sum()
    assert profiles.deltas["pair"][1] == pytest.approx(pair, rel=1e-10, abs=0)
    assert deltas["bounded_range"] < deltas["recursion"] <= profiles.deltas["recursion"][1] < deltas["optimal"]
    assert "recursion" not in transcript_privacy.profiles(eta, 6, np.array([0.5]), longest_recursion=5).deltas

    epsilons = transcript_privacy.all_epsilons(eta=eta, horizon=horizon, delta=1e-3)
    coarse = transcripts.adaptive_profile(eta=eta, horizon=horizon, epsilon=epsilons["recursion"], cells=2)
    assert coarse == pytest.approx(1e-3, rel=1e-5, abs=0)
    assert composition.optimal(epsilon=eta, k=horizon - 1, target_epsilon=epsilons["pair"]) == pytest.approx(
        1e-3, rel=1e-8, abs=0
    )
    assert epsilons["pair"] < epsilons["bounded_range"] < epsilons["recursion"] < epsilons["zcdp_optimal"]

    lines = transcript_privacy.tabulate_profiles(deltas, epsilons, short="a", long="b").data.splitlines()
    assert lines[0] == "| accounting | covers adaptive adversaries | a | b |"
    assert [line.split(" | ")[1] for line in lines[2:]] == ["yes"] * 5 + ["no"]
    assert lines[6].startswith(f"| adaptive recursion | yes | {deltas['recursion']:.6f} |")


def test_the_figures_write_what_they_draw(monkeypatch, tmp_path):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    k, rounds = np.array([2, 3]), np.array([2, 3, 4])
    transcript_privacy.draw_kernels(k, {0.1: k / 2, 0.5: k / 3}, rounds, {0.1: rounds / 4, 0.5: rounds / 5})
    rows = [tuple(row.values()) for row in read(tmp_path / "experts-privacy-kernels.csv")]
    assert rows[0] == ("experts", "0.1", "2.0", "1.0")
    assert rows[2] == ("rounds", "0.1", "2.0", "0.5")
    assert len(rows) == 10

    grid = np.array([0.1, 0.5, 1.0])
    deltas = {"text": np.array([0.5, 0.1, 1e-15]), "pair": np.array([0.4, 0.05, 0.01])}
    short, long = (transcript_privacy.Profiles(t, 0.1, grid, deltas) for t in (5, 100))
    transcript_privacy.draw_profiles(short, long, epsilon=1.0, delta=1e-6)
    rows = [tuple(row.values()) for row in read(tmp_path / "experts-privacy-profiles.csv")]
    assert rows[:3] == [
        ("T = 5", "text's composition", "0.1", "0.5"),
        ("T = 5", "text's composition", "0.5", "0.1"),
        ("T = 5", "exact, pair with k = 2", "0.1", "0.4"),
    ]
    assert len(rows) == 10
