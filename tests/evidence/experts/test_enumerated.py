"""Enumerated transcripts beside their promises: shares by a second computation, verdicts on both sides."""

import math

import numpy as np
import pytest

from dpregret.experts import ExponentialWeights
from dpregret.simulation import generator
from evidence.experts import audit, discretised, enumerated, transcripts
from evidence.experts.audit import TranscriptCheck

LONG = {"epsilon": 1.0, "delta": 1e-6, "horizon": 1000}


def test_kernels_on_every_history():
    eta = 0.4
    learner = ExponentialWeights(3, eta)
    pair = np.zeros((2, 3, 3))
    pair[0, 0], pair[1, 0] = (1, 0, 0), (0, 1, 1)
    found = enumerated.kernel_share(audit.both_worlds(learner, pair, 3), eta)
    assert found.histories == 3 + 9
    laws = [learner.probabilities(losses[0]) for losses in pair]  # fixed losses: the same on every history
    assert found.largest == pytest.approx(np.abs(np.log(laws[0] / laws[1])).max() / (2 * eta), rel=1e-12, abs=0)


def test_renyi_divergence_of_randomised_response():
    eta, rho = 0.5, 0.2
    p = 1 / (1 + math.exp(-eta))
    laws = [np.array([[p, 1 - p]]), np.array([[1 - p, p]])]
    best = max(
        math.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1) / (a * rho)
        for a in enumerated.ORDERS
    )
    assert enumerated.renyi_share(laws, rho) == pytest.approx(best, rel=1e-10, abs=0)
    skew = [np.array([0.9, 0.1]), np.array([0.5, 0.5])]
    assert enumerated.renyi_share(skew, rho) == enumerated.renyi_share(skew[::-1], rho)


def check(delta, follows=True):
    return TranscriptCheck(1.0, 1e-3, delta, 0.5, "pair", follows)


def test_strategies_hold_if_kept_at_the_rate_and_broken_at_six_times_it():
    checks = {(1.0, 1e-3, 1): check(1e-4), (1.0, 1e-3, 6): check(2e-3), (3.0, 1e-3, 6): check(5e-4)}
    kernels = [enumerated.KernelShare(0.7, 10), enumerated.KernelShare(0.6, 20)]

    def judged(checks=checks, shares=(0.1, 0.2), kernels=kernels):
        return enumerated.judge_strategies(checks, shares, kernels, horizon=7, long=LONG)

    card = judged()
    assert (card.claim, card.verdict) == ("experts/o-11", "holds")
    assert card.observed == "delta(epsilon) at most 0.000100; epsilon over its target at most 0.200000"
    assert "up to 2.00 times delta" in card.margin
    assert "on 30 histories at most 0.700000 of 2 eta" in card.margin
    assert card.margin.endswith(
        "4.64 times the rate is proved private, more than 4.98 times is not for some k, fixed losses"
    )
    assert judged(checks | {(8.0, 1e-3, 1): check(2e-3)}).verdict == "fails"
    assert judged(checks | {(8.0, 1e-3, 1): check(1e-4, follows=False)}).verdict == "fails"
    assert judged(checks | {(1.0, 1e-3, 6): check(5e-4)}).verdict == "fails"  # then it could not fail
    assert judged(shares=(0.1, 1.01)).verdict == "fails"
    assert judged(kernels=[*kernels, enumerated.KernelShare(1.001, 1)]).verdict == "fails"


def test_zcdp_holds_if_no_share_is_above_one_and_the_rate_solves_its_equation():
    shares = {("pair", 0.1): 1.0, ("pair", 0.3): 0.99, ("random", 0.3): 0.5}
    card = enumerated.judge_zcdp(shares, 1e-12)
    assert (card.claim, card.verdict, card.margin) == ("experts/zcdp", "holds", "at eta = 0.3: 0.990000")
    assert enumerated.judge_zcdp(shares | {("random", 0.1): 1.0001}, 1e-12).verdict == "fails"
    assert enumerated.judge_zcdp(shares, 1e-9).verdict == "fails"
    assert enumerated.rate_residual() < 1e-10


def test_the_rate_residual_sees_a_wrong_rate(monkeypatch):
    rate = enumerated.accounting.rate
    monkeypatch.setattr(enumerated.accounting, "rate", lambda *a, **options: rate(*a, **options) * (1 + 1e-6))
    assert enumerated.rate_residual() > 1e-7


def test_the_oblivious_profile_holds_if_reached_and_not_exceeded():
    good = {"supremum": 0.0356, "near": 0.035599, "pair_gap": 1e-15}
    card = enumerated.judge_oblivious([-0.1, 1e-13], **good)
    assert (card.claim, card.verdict) == ("experts/exact-oblivious", "holds")
    assert card.observed.endswith("k = 1000 comes within 1.0e-06 of 0.035600")
    assert enumerated.judge_oblivious([1e-11], **good).verdict == "fails"
    for wrong in ({"near": 0.0355}, {"near": 0.0357}, {"pair_gap": 1e-11}):
        assert enumerated.judge_oblivious([-0.1], **good | wrong).verdict == "fails"


def test_random_fixed_pairs_differ_in_round_one_only():
    rng = generator(0, "pairs")
    pairs = [audit.random_fixed_pair(2, 3, rng) for _ in range(20)]
    for pair in pairs:
        assert pair.shape == (2, 3, 2)
        np.testing.assert_array_equal(pair[0, 0] + pair[1, 0], 1.0)
        np.testing.assert_array_equal(pair[0, 1:], pair[1, 1:])
    binary = [bool(np.isin(pair, (0.0, 1.0)).all()) for pair in pairs]
    assert any(binary)
    assert not all(binary)


def test_the_grid_brackets_the_exact_profile():
    b, n, epsilon, best = 0.4, 3, 0.3, 0.0
    for t in np.linspace(0.001, 0.399, 4000):  # two outcomes with log-ratios t and t - b
        q = (1 - math.exp(t - b)) / (math.exp(t) - math.exp(t - b))
        one, other = np.ones(1), np.ones(1)
        for _ in range(n):
            one = np.outer(one, [q * math.exp(t), (1 - q) * math.exp(t - b)]).ravel()
            other = np.outer(other, [q, 1 - q]).ravel()
        assert one.sum() == pytest.approx(1.0, rel=1e-12, abs=0)
        best = max(best, float(np.maximum(one - math.exp(epsilon) * other, 0).sum()))
    low, high = discretised.bracket(b, n, epsilon, grid=3.7e-5)
    assert low <= best <= high
    assert high - low < 1e-3


def test_renyi_orders_and_constructors():
    fine = discretised.renyi_delta(0.095, 0.5, np.linspace(1.01, 60, 600))
    assert fine <= discretised.renyi_delta(0.095, 0.5) < 1.01 * fine
    exact = transcripts.two_expert_profile(eta=0.1, horizon=11, epsilon=0.3)
    for constructor in ("from_privacy_parameters", "from_randomized_response", "from_two_probability_mass_functions"):
        found = discretised.randomised_response_delta(constructor, 0.1, 1e-4, 10, 0.3)
        assert exact * (1 - 1e-9) <= found < 1.05 * exact
    with pytest.raises(ValueError, match="constructor must be one of the three, got 'other'"):
        discretised.randomised_response_delta("other", 0.1, 1e-4, 10, 0.3)


def test_the_table_of_grids():
    lines = discretised.tabulate_grids(n=10, epsilon=0.3, eta=0.1).data.splitlines()
    assert lines[0] == "| constructor | grid | δ(0.3) of 10 rounds, η = 0.1 | times the truth |"
    exact = transcripts.two_expert_profile(eta=0.1, horizon=11, epsilon=0.3)
    assert lines[2] == f"| `from_privacy_parameters` | η/4 | {exact:.6f} | 1.0000 |"
    assert float(lines[6].split(" | ")[3].removesuffix(" |")) > 1.01
    assert lines[7] == f"| binomial sum (this library) | none | {exact:.6f} | 1 |"
