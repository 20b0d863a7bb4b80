"""Policies on perturbed data against a plain loop over rounds, closed forms and doubles."""

import math

import numpy as np
import pytest

from dpregret.simulation.seeds import generator
from evidence.contextual import perturbed_policies as policies


def test_too_short_a_horizon_is_played_uniformly():
    """Nothing is decided, so that every round at the other sign costs the gap: blocks 1, 1, 2, 2, 4, 4, ..."""
    found = policies.context_filter(100.0, 0.1, alpha=1.0, size=3, rng=np.random.default_rng(0))
    blocks = [1, 2, 4, 8, 16, 100 - 2 * 31 - 32]
    np.testing.assert_allclose(found.regret, 0.1 * sum(blocks), rtol=1e-12)
    assert not found.wrong.any()


def test_a_large_gap_is_decided_where_the_width_allows_it():
    horizon, gap, alpha = 1e12, 0.4, 1.0
    found = policies.context_filter(horizon, gap, alpha=alpha, size=8, rng=np.random.default_rng(0))
    level = 3 * math.log(horizon)
    n = 2.0 ** np.arange(40)
    width = 2 * (np.sqrt(2 * level / n) + (2 * np.sqrt(level / n) + level / n) / alpha)
    first = int(np.flatnonzero(2 * width <= gap)[0])
    earlier, later = (gap * (2.0 ** (first + shift) - 1) for shift in (0, 2))
    assert ((found.regret >= earlier) & (found.regret <= later)).all() and not found.wrong.any()


def test_a_wrong_sign_costs_the_gap_for_the_rest(monkeypatch):
    """The noise of the second half is set far above, so that the wrong sign is found at once."""
    shifts = iter([0.0, 1e9])
    monkeypatch.setattr(policies.sums, "laplace_sum", lambda rng, n, scale, size: np.full(size, next(shifts)))
    found = policies.context_filter(1000.0, 0.25, alpha=1.0, size=2, rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.regret, 0.25 * (1 + 998))
    assert found.wrong.all()


def test_the_regret_of_context_filtering_is_below_its_bound():
    for horizon in (1e9, 1e13):
        gap = 20 * math.sqrt(math.log(horizon) / horizon)
        found = policies.context_filter(horizon, gap, alpha=1.0, size=20, rng=np.random.default_rng(4))
        assert found.regret.mean() < policies.context_filter_bound(np.array([horizon]), 1.0)[0]


def test_the_bound_on_context_filtering_as_the_theorem_has_it():
    T, alpha = math.exp(6), 0.5
    expected = 24 * ((math.sqrt(2) + 4) * math.sqrt(9 * math.exp(6)) + 3 * 6 / alpha) + 3
    assert policies.context_filter_bound(np.array([T]), alpha)[0] == pytest.approx(expected, rel=1e-12, abs=0)


def plain_follower(horizon, m, scale, size, rng):
    """Follow the sign, round by round: the sign is told after 1, 2, 4, ... rounds; theta = (0, 1)."""
    total, regret = m**2 + rng.laplace(0, scale, size), np.full(size, m)  # arm 1 at the wrong context
    for t in range(1, horizon):
        if t & (t - 1) == 0:
            told = np.where(total >= 0, 1, -1)
        x = rng.choice([-1, 1], size)
        played = x == told
        total = total + played * m**2 + rng.laplace(0, scale, size)
        regret = regret + m * (played != (x == 1))
    return regret


def test_following_the_sign_loses_what_a_plain_loop_does():
    horizon, m, scale, size = 64, 0.9, 0.7, 20_000
    fast = policies.follow_the_sign(float(horizon), m, scale=scale, size=size, rng=np.random.default_rng(1))
    plain = plain_follower(horizon, m, scale, size, np.random.default_rng(2))
    error = math.hypot(fast.regret.std(), plain.std()) / math.sqrt(size)
    assert abs(fast.regret.mean() - plain.mean()) < 5 * error


def test_following_the_sign_is_wrong_where_the_noise_is_much_larger():
    arguments = dict(size=2000, rng=np.random.default_rng(1))
    assert not policies.follow_the_sign(1e6, 0.9, scale=1.0, **arguments).wrong.any()
    lost = policies.follow_the_sign(1e6, 0.01, scale=1e3, **arguments)
    assert abs(lost.wrong.mean() - 0.5) < 0.06
    assert np.corrcoef(lost.wrong, lost.regret)[0, 1] > 0.3


def test_the_worst_instance_of_each_horizon():
    regret = {(1.0, 10): [1.0, 3.0], (1.0, 20): [5.0, 5.0], (2.0, 10): [10.0, 14.0], (2.0, 20): [0.0, 2.0]}
    draws = {}

    def play(horizon, instance, rng):
        draws[horizon, instance] = rng.random()
        return policies.Played(np.array(regret[horizon, instance]), np.array([instance == 10, False]))

    found = policies.worst(play, [1.0, 2.0], [10, 20], seed=3, name="made up")
    np.testing.assert_allclose(found.mean, [5, 12])
    np.testing.assert_allclose(found.se, [0, 2])
    assert found.wrong == 2
    assert draws == {
        (horizon, instance): generator(3, "made up", horizon, index).random()
        for horizon in (1.0, 2.0)
        for index, instance in enumerate((10, 20))
    }


def test_the_ball_holds_the_bound_on_cutting_planes():
    bound, T = policies.cutting_planes_bound(40)
    assert float(T) == pytest.approx(1e40, rel=1e-12, abs=0)
    level = math.log(12) + 80 * math.log(10)
    nu = level * (1.42 + 3.83 * 2 * (math.sqrt(2) + 1)) ** 2
    loops = 3 * math.log2(8 * math.sqrt(2e40))
    expected = 80 * 2**2.5 * math.sqrt(nu * loops * 1e40) + 2
    assert float(bound) == pytest.approx(expected, rel=1e-9, abs=0)


def test_the_crossings_are_the_first_exponents_below():
    found = policies.cutting_planes_crossing(range(10, 61), (30, 60))
    shares = {
        e: float(bound) / 10 ** (2 * e / 3) for e in range(10, 61) for bound, _ in [policies.cutting_planes_bound(e)]
    }
    assert found.below_from == min(e for e, share in shares.items() if share < 1)
    assert found.nontrivial_from == min(e for e in shares if shares[e] * 10 ** (2 * e / 3) < 2 * 10**e)
    assert float(found.shares[60]) == pytest.approx(shares[60], rel=1e-5, abs=0)
    log = float(policies.cutting_planes_bound(30)[0]) / (1e15 * 30 * math.log(10))
    assert float(found.logs[30]) == pytest.approx(log, rel=1e-5, abs=0)
    assert not found.below and policies.cutting_planes_crossing(range(20, 41), (40,)).below
