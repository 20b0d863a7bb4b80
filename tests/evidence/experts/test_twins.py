"""Broken twins of exponential weights: the check that the cards call says `fails` for each."""

import dataclasses
import math

import numpy as np
import pytest

from dpregret.experts import ExponentialWeights, LeaderPunishing, exponential_weights_eta, simulate
from dpregret.experts.weights import drawn_rate, inverse_cdf
from dpregret.simulation import generator
from evidence.experts import audit, transcripts


class DoubledRate(ExponentialWeights):
    """Half the noise: twice the learning rate inside the weights."""

    def weights(self, cumulative_losses):
        return super().weights(2 * np.asarray(cumulative_losses, dtype=float))


class DoubledInDraw(ExponentialWeights):
    """Twice the learning rate in the draw alone, behind honest probabilities."""

    def act(self, cumulative_losses, rng):
        return inverse_cdf(self.probabilities(2 * np.asarray(cumulative_losses, dtype=float)), rng.random())


class TellsTheLeader(ExponentialWeights):
    """Now and then the leader itself, without noise."""

    def act(self, cumulative_losses, rng):
        uniform = rng.random()
        if uniform < 0.05:
            return int(np.argmin(cumulative_losses))
        return inverse_cdf(self.weights(cumulative_losses), uniform)


class TellsALoss(ExponentialWeights):
    """The action tells whether expert 0 has lost."""

    def act(self, cumulative_losses, rng):
        rng.random()
        return int(np.asarray(cumulative_losses)[0] > 0)


class SameSeed(ExponentialWeights):
    def act(self, cumulative_losses, rng):
        return super().act(cumulative_losses, np.random.default_rng(4736))  # its number lies near 1/2


TWINS = [DoubledRate, DoubledInDraw, TellsTheLeader, TellsALoss, SameSeed]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_learner_keeps_its_promise_and_its_twins_do_not(k, epsilon):
    delta, horizon = 1e-3, 4
    eta = exponential_weights_eta(epsilon=epsilon, delta=delta, horizon=horizon, method="optimal")
    options = {"horizon": horizon, "epsilon": epsilon, "delta": delta}
    honest = audit.transcript_check(ExponentialWeights(k, eta), **options)
    assert honest.word == "holds" and honest.follows
    assert honest.pure <= 2 * (horizon - 1) * eta
    # rates chosen so that there is no slack: the exact delta of the pair is what is promised
    exact = audit.transcript_check(ExponentialWeights(k, eta), **options | {"epsilon": epsilon / 2})
    tight = options | {"epsilon": epsilon / 2, "delta": exact.delta}
    assert audit.transcript_check(ExponentialWeights(k, eta), **tight).word == "holds"
    for twin in TWINS:
        assert audit.transcript_check(twin(k, eta), **tight).word == "fails", twin


def test_what_twins_give_away():
    options = {"horizon": 4, "epsilon": 0.3, "delta": 1e-2}
    assert math.isinf(audit.transcript_check(TellsALoss(2, 0.05), **options).pure)
    assert math.isinf(audit.transcript_check(SameSeed(2, 0.05), **options).pure)
    twice, doubled = (
        audit.transcript_check(learner, **options).pure
        for learner in (ExponentialWeights(2, 0.1), DoubledRate(2, 0.05))
    )
    assert doubled == pytest.approx(twice, rel=1e-12, abs=0)
    assert audit.transcript_check(DoubledInDraw(2, 0.05), **options).pure == pytest.approx(doubled, rel=1e-9, abs=0)
    # the pair of the theorem is among those enumerated
    learner = ExponentialWeights(2, 0.3)
    found = audit.transcript_check(learner, horizon=7, epsilon=0.15, delta=0.5)
    assert found.delta == pytest.approx(0.245358301442544423813, rel=1e-12, abs=0)
    assert found.pair == "the strongest adaptive adversary"
    fixed = audit.transcript_check(learner, horizon=7, epsilon=0.15, delta=0.5, adaptive=False)
    assert fixed.delta >= transcripts.two_expert_profile(eta=0.3, horizon=7, epsilon=0.15) * (1 - 1e-12)
    assert fixed.delta < found.delta


def test_of_equally_bad_pairs_the_first_is_named(monkeypatch):
    options = {"horizon": 3, "epsilon": 0.1, "delta": 1e-3, "adaptive": False}
    found = audit.transcript_check(ExponentialWeights(2, 0.5), **options)
    for last_bits in (0.0, 1e-15):  # the second pair a little worse than the first
        deltas = iter([found.delta, found.delta + last_bits])
        monkeypatch.setattr(audit, "exact_delta", lambda *_: next(deltas))  # noqa: B023
        assert audit.transcript_check(ExponentialWeights(2, 0.5), **options).pair == (
            "first 1 of 2 against the others, zero losses after"
        )
    deltas = iter([0.1, 0.2])
    monkeypatch.setattr(audit, "exact_delta", lambda *_: next(deltas))
    check = audit.transcript_check(ExponentialWeights(2, 0.5), **options)
    assert (check.pair, check.delta) == ("first 1 of 2 against the others, the last expert loses after", 0.2)


def test_the_word_of_a_check():
    check = audit.TranscriptCheck(epsilon=0.5, promised=0.1, delta=0.1, pure=1.0, pair="", follows=True)
    assert check.word == "holds"
    assert dataclasses.replace(check, delta=0.1001).word == "fails"
    assert dataclasses.replace(check, follows=False).word == "fails"


def test_the_epsilon_of_a_learner_comes_from_its_weights():
    assert drawn_rate(DoubledRate(3, 0.07)) == pytest.approx(0.14, rel=1e-14, abs=0)
    one, two = (kind(3, 0.07).value_epsilon(50) for kind in (ExponentialWeights, DoubledRate))
    assert two == pytest.approx(ExponentialWeights(3, 0.14).value_epsilon(50), rel=1e-12, abs=0)
    assert two > 2 * one
    game = simulate(DoubledRate(3, 0.07), LeaderPunishing(), horizon=50, seed=generator(0), record_actions=True)
    assert game.attrs["value_epsilon"] == two
    same = simulate(ExponentialWeights(3, 0.14), LeaderPunishing(), horizon=50, seed=generator(0), record_actions=True)
    np.testing.assert_array_equal(game["actions"], same["actions"])  # games of a subclass follow its own weights


def test_the_recorded_law_is_the_law():
    rng = generator(0, "laws")
    for k in (1, 2, 5):
        learner = ExponentialWeights(k, 0.4)
        cumulative = 3 * rng.random(k)
        np.testing.assert_array_equal(audit.drawn_law(learner, cumulative), learner.probabilities(cumulative))
    doubled = audit.drawn_law(DoubledInDraw(5, 0.4), cumulative)
    np.testing.assert_allclose(doubled, ExponentialWeights(5, 0.8).probabilities(cumulative), rtol=1e-11)
    leader = audit.drawn_law(TellsTheLeader(2, 0.4), np.array([1.0, 0.0]))
    honest = ExponentialWeights(2, 0.4).probabilities([1.0, 0.0])
    np.testing.assert_allclose(leader, [honest[0] - 0.05, honest[1] + 0.05], rtol=1e-11)


@pytest.mark.parametrize(("k", "batch"), [(2, 1), (5, 1), (30, 3)])
def test_compiled_games_make_the_draws_of_the_learner(k, batch):
    for eta in (0.01, 0.3, 2.0):
        assert audit.games_follow_the_learner(ExponentialWeights(k, eta, batch), horizon=2000, seed=batch)
