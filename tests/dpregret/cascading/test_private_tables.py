"""Channels, noise, widths and regret bounds of the policies that keep the promise, against independent numbers."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from dpregret.cascading import CascadeProblem, ClickObservationDP, ClickPositionLDP, FirstPositionDP, FirstPositionLDP
from dpregret.cascading.kl_index import kl_slope, kl_upper

mp.mp.dps = 40


def near(x, rel=1e-12):
    return pytest.approx(float(x), rel=rel, abs=0)


def test_their_two_epsilons():
    """Click and observations together have L1 distance K + 1, but 1 for K = 1."""
    for length, epsilon in itertools.product((1, 2, 5), (0.2, 3.0)):
        for policy in (FirstPositionLDP, FirstPositionDP, ClickPositionLDP, ClickObservationDP):
            share = 0.5 if (policy, length) == (ClickObservationDP, 1) else 1.0
            made = policy(epsilon=epsilon)
            assert made.value_epsilon(length) == made.effective_epsilon(length) == near(share * epsilon)
            assert made.initial_observation is False


def test_the_policies_that_keep_the_promise_in_numbers():
    for epsilon, length in itertools.product((0.2, 1.0, 4.0), (1, 2, 5)):
        e = mp.mpf(epsilon)
        for policy in (FirstPositionLDP(epsilon=epsilon), FirstPositionLDP(epsilon=epsilon, index="kl")):
            truth = 1 / (1 + mp.exp(-e))
            channel = policy.channel(length)
            assert channel.shape == (length + 1, 2)
            np.testing.assert_allclose(channel[0], [float(1 - truth), float(truth)], rtol=1e-13)
            np.testing.assert_allclose(channel[1:], [[float(truth), float(1 - truth)]] * length, rtol=1e-13)
            assert policy.learner(6, length, 9).response.truth_probability == near(truth)
            assert policy.rule(6, length, 9)[:-1] == (near(truth), policy.index == "kl", False)
        policy = ClickPositionLDP(epsilon=epsilon)
        p1, p2 = mp.exp(e) / (mp.exp(e) + length), 1 / (mp.exp(e) + length)
        channel = policy.channel(length)
        np.testing.assert_allclose(np.diag(channel), float(p1), rtol=1e-13)
        np.testing.assert_allclose(channel[~np.eye(length + 1, dtype=bool)], float(p2), rtol=1e-13)
        assert policy.rule(6, length, 9)[:-1] == (near(p1), near(p2), near(p1 - p2))
        assert FirstPositionDP(epsilon=epsilon).noise(length) == (1, near(1 / e))
        assert ClickObservationDP(epsilon=epsilon).noise(length) == (1, near((length + 1) / e))
        dp = FirstPositionDP(epsilon=epsilon)
        assert dp.rule(6, length, 9)[:-1] == (epsilon, (1, near(1 / e)), True)
        assert ClickObservationDP(epsilon=epsilon).rule(6, length, 9).noise == (1, near((length + 1) / e))


@pytest.mark.parametrize("t", [2, 50, 10**6])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 1000])
def test_the_widths_of_the_policies_that_keep_the_promise(t, n):
    epsilon, e, log_t = 0.7, mp.mpf(0.7), mp.log(t)
    block = 0
    while 2 ** (block + 1) <= n:
        block += 1
    size, blocks, level = 2**block, block + 1, 3 * log_t
    noise = level + 2 * mp.sqrt(level * blocks)
    first = FirstPositionDP(epsilon=epsilon).learner(2, 1, t)
    first.counts[:], first.means = [n, 0], np.array([0.25, np.inf])
    assert first.upper(t)[0] == near(mp.mpf("0.25") + mp.sqrt(1.5 * log_t / size) + noise / (e * size))
    ldp = FirstPositionLDP(epsilon=epsilon).learner(2, 1, t)
    ldp.counts[:], ldp.means = [n, 0], np.array([0.25, np.inf])
    assert ldp.upper(t)[0] == near(mp.mpf("0.25") + mp.sqrt(1.5 * log_t / n)) and ldp.upper(t)[1] == math.inf
    kl = FirstPositionLDP(epsilon=epsilon, index="kl").learner(2, 1, t)
    kl.counts[:], kl.means = [n, 0], np.array([0.25, np.inf])
    upper = mp.mpf(float(kl.upper(t)[0]))
    if upper < 1 - 1e-9:
        divergence = mp.mpf("0.25") * mp.log(mp.mpf("0.25") / upper) + mp.mpf("0.75") * mp.log(
            mp.mpf("0.75") / (1 - upper)
        )
        assert divergence == near(log_t / n, 1e-6)
    contrast = (mp.exp(e) - 1) / (mp.exp(e) + 3)
    assert ClickPositionLDP(epsilon=epsilon).learner(5, 3, t).width(t, n) == near(mp.sqrt(1.5 * n * log_t) / contrast)
    joint = level + 2 * mp.sqrt(2 * level * blocks)
    width = ClickObservationDP(epsilon=epsilon).learner(5, 3, t).width(t, n)
    assert width == near(mp.sqrt(1.5 * size * log_t) + 4 / e * joint)


def test_kl_slope_is_the_derivative():
    for mean, level in itertools.product((0.1, 0.5, 0.9), (0.01, 0.3)):
        upper, h = kl_upper(mean, level), 1e-3 * level
        numeric = (kl_upper(mean, level + h) - kl_upper(mean, level - h)) / (2 * h)
        assert kl_slope(mean, upper) == pytest.approx(numeric, rel=1e-4, abs=0)
    assert kl_slope(0.3, 1.0) == 0.0 and kl_slope(0.3, 0.3) == math.inf
    assert kl_upper(1.0, 0.5) == 1.0 and kl_upper(0.0, 0.5) == near(1 - mp.exp(-0.5))


# --- regret bounds of the policies that keep the promise


def test_regret_bounds():
    problem, T = CascadeProblem([0.5, 0.375, 0.25, 0.125], 2), 1000
    smallest, largest, log_t = mp.mpf("0.125"), mp.mpf("0.375"), mp.log(T)
    for epsilon in (0.05, 0.5, 3.0):
        e = mp.mpf(epsilon)
        for fill, constant in (("index", 12), ("mean", 48)):
            bound = constant * 4 * 2 * mp.coth(e / 2) ** 2 / smallest * log_t + 4 + mp.pi**2 / 3 * 4
            assert FirstPositionLDP(epsilon=epsilon, fill=fill).regret_bound(problem, horizon=T) == near(bound)
        for fill, first, second, share in (("index", 96, 72, mp.mpf(3) / 2), ("mean", 384, 144, mp.mpf(3) / 4)):
            spread = max(0, mp.log(min(share * largest / e, largest / smallest)))
            bound = 8 * log_t * (first / smallest + second / e * (1 + spread)) + 4 + 2 * mp.pi**2 / 3 * 4
            assert FirstPositionDP(epsilon=epsilon, fill=fill).regret_bound(problem, horizon=T) == near(bound)
