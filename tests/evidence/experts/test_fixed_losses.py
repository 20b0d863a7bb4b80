"""Regret against fixed losses: by enumeration of all transcripts, and the sequences themselves."""

import itertools

import numpy as np
import pytest

from dpregret.experts import ExponentialWeights
from evidence.experts import bounds, fixed_losses
from evidence.experts.transcripts import transcript_law

LOSSES = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 0, 1]], dtype=float)


def enumerated(losses, eta):
    """Regret and probability of every transcript."""
    horizon, k = losses.shape
    law = transcript_law(ExponentialWeights(k, eta), losses)
    for actions in itertools.product(range(k), repeat=horizon):
        played = sum(losses[t, a] for t, a in enumerate(actions))
        yield (played - losses.sum(axis=0).min()) / horizon, law[actions]


def test_mean_and_law_of_the_regret_are_those_of_all_transcripts():
    values, law = fixed_losses.regret_law(LOSSES, 0.7)
    found = dict(zip(values.round(12).tolist(), law.tolist(), strict=True))
    expected = {}
    for regret, probability in enumerated(LOSSES, 0.7):
        expected[round(regret, 12)] = expected.get(round(regret, 12), 0.0) + probability
    assert {value: p for value, p in found.items() if p > 0} == pytest.approx(expected, rel=1e-12, abs=0)
    mean = sum(regret * p for regret, p in expected.items())
    assert fixed_losses.expected_regret(LOSSES, 0.7) == pytest.approx(mean, rel=1e-12, abs=0)
    fractional = LOSSES * 0.3 + 0.1
    mean = sum(regret * p for regret, p in enumerated(fractional, 0.7))
    assert fixed_losses.expected_regret(fractional, 0.7) == pytest.approx(mean, rel=1e-12, abs=0)


def test_exceedance_is_strict():
    level = 0.25
    above = sum(p for regret, p in enumerated(LOSSES, 0.7) if regret > level + 1e-9)
    at = sum(p for regret, p in enumerated(LOSSES, 0.7) if abs(regret - level) < 1e-9)
    assert at > 0.1
    assert fixed_losses.exceedance(LOSSES, 0.7, level) == pytest.approx(above, rel=1e-12, abs=0)


def test_tail_exceedances_are_at_the_two_bounds():
    losses, eta, beta = fixed_losses.in_turn(60), 0.3, 0.4
    for found, version in zip(fixed_losses.tail_exceedances(losses, eta, beta), ("printed", "sharper"), strict=True):
        terms = bounds.regret_terms(eta=eta, n_experts=2, horizon=60, version=version, beta=beta)
        assert bounds.total(eta=eta, n_experts=2, horizon=60, version=version, beta=beta) == sum(terms.values())
        assert found == fixed_losses.exceedance(losses, eta, sum(terms.values()))
    assert fixed_losses.tail_exceedances(losses, eta, beta)[0] < fixed_losses.tail_exceedances(losses, eta, beta)[1]


def test_the_sequences():
    assert fixed_losses.one_right(2, 3).tolist() == [[0, 1, 1], [0, 1, 1]]
    assert fixed_losses.in_turn(4).tolist() == [[0, 1], [1, 0], [0, 1], [1, 0]]
    assert fixed_losses.in_turn(4, 3, steady=1).tolist() == [[0, 1, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1]]
    assert fixed_losses.in_turn(4, 3, steady=2).tolist() == [[0, 1, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1]]
    assert fixed_losses.in_turn(6, steady=2, batch=2).tolist() == [[0, 1], [0, 1], [1, 0], [1, 0], [0, 1], [0, 1]]
    assert fixed_losses.in_turn(4, steady=4).tolist() == [[0, 1]] * 4
