"""What each policy draws and adds, and what each bound says, against numbers written independently (mpmath, fractions).

A compiled rule and its learner share ``noise()`` and ``index()``, so that comparing the two cannot see a wrong one.
"""

import math

import mpmath as mp
import numpy as np
import pytest

from dpregret.cascading import (
    CUCB,
    CascadeProblem,
    CascadeUCB1,
    ClickObservationDP,
    ClickPositionLDP,
    CompositionLDP,
    FirstPositionDP,
    FirstPositionLDP,
    GaussianCUCB,
    GaussianLDP,
    HybridDP,
    LaplaceCUCB,
    LaplaceLDP,
    reading_multipliers,
    simulate,
)
from dpregret.cascading.learner import Index, IndexRule, Noise

mp.mp.dps = 40
D = mp.mpf("0.001")
ROOT = mp.sqrt("1.5")


def near(x, rel=1e-12):
    return pytest.approx(float(x), rel=rel, abs=0)


# --- what is drawn: (kind, scale) and (a, b, c, d) of policy, K, epsilon, noise multiplier, bonus multiplier


def laplace(K, e, nm, bm):
    return (1, nm * K / e), (ROOT + bm * K / e * mp.sqrt(24), 0, None, 0)


def laplace_corrected(K, e, nm, bm):
    return (1, nm * K / e), (ROOT + bm * K / e * mp.sqrt(12), 0, None, 3 * bm * K / e)


def gaussian(K, e, nm, bm):
    sigma = mp.sqrt(2 * K * mp.log(1250)) / e
    return (2, nm * sigma), (ROOT, bm * sigma * mp.sqrt(6), mp.log(2) / 3, 0)  # sqrt(2 log 2t^3) = sqrt(6 (log t + c))


def composition(K, e, nm, bm):
    scale = mp.sqrt(4 * K * mp.log(mp.e + 1000 * e)) / e
    return (1, nm * scale), (ROOT + bm * 4 / e * mp.sqrt(6 * K * mp.log(mp.e + 1000 * e)), 0, None, 0)


def gaussian_cucb(K, e, nm, bm):
    sigma = mp.sqrt(2 * K * mp.log(1250)) / e
    return (2, nm * sigma), (ROOT + bm * 2 / e * mp.sqrt(2 * K * mp.log(1250)), 0, None, 0)


TABLE = {
    "laplace": (lambda **k: LaplaceLDP(**k), laplace),
    "laplace corrected": (lambda **k: LaplaceLDP(version="corrected", **k), laplace_corrected),
    "gaussian": (lambda **k: GaussianLDP(delta=1e-3, **k), gaussian),
    "composition": (lambda **k: CompositionLDP(delta=1e-3, **k), composition),
    "laplace cucb": (lambda **k: LaplaceCUCB(**k), laplace),
    "laplace cucb corrected": (lambda **k: LaplaceCUCB(version="corrected", **k), laplace_corrected),
    "gaussian cucb": (lambda **k: GaussianCUCB(delta=1e-3, **k), gaussian_cucb),
    "gaussian cucb corrected": (lambda **k: GaussianCUCB(delta=1e-3, version="corrected", **k), gaussian),
}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize(("noise", "bonus"), [(1, 1), (0.01, 1), (1, 0.01), (0.25, 3)])
def test_noise_and_index_of_the_policies_with_multipliers(name, length, noise, bonus):
    make, expected = TABLE[name]
    for epsilon in (0.2, 2.0):
        policy = make(epsilon=epsilon, noise_multiplier=noise, bonus_multiplier=bonus)
        (kind, scale), (a, b, c, d) = expected(length, mp.mpf(epsilon), mp.mpf(noise), mp.mpf(bonus))
        drawn, index = policy.noise(length), policy.index(length)
        assert drawn.kind == kind and drawn.scale == near(scale)
        assert index.a == near(a) and index.b == near(b) and index.d == near(d)
        assert c is None or index.c == near(c)
        # the parts that are used are those
        learner = policy.learner(length + 1, length, 10)
        assert learner.noise == drawn and learner.index == index
        assert policy.rule(length + 1, length, 10)[:2] == (index, drawn)


def gaussian_epsilon(mu, delta):
    """The smallest epsilon of the Gaussian profile at sensitivity over sigma = mu, by bisection."""

    def profile(x):
        return mp.ncdf(mu / 2 - x / mu) - mp.exp(x) * mp.ncdf(-mu / 2 - x / mu)

    return bisect(profile, delta)


def composed_epsilon(single, k, delta):
    """Of k Laplace variables: their profile is at most that of k randomised responses, which is a sum."""

    def profile(x):
        terms = (mp.binomial(k, i) * max(0, mp.exp((k - i) * single) - mp.exp(x + i * single)) for i in range(k + 1))
        return sum(terms) / (1 + mp.exp(single)) ** k

    return bisect(profile, delta)


def bisect(profile, delta):
    low, high = mp.mpf(0), mp.mpf(4000)
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if profile(middle) > delta else (low, middle)
    return high


@pytest.mark.parametrize(("length", "changed"), [(1, 1), (2, 2), (4, 2)])
@pytest.mark.parametrize("multiplier", [1.0, 0.01])
def test_the_two_epsilons_of_the_policies(length, changed, multiplier):
    scaled = dict(epsilon=0.5, noise_multiplier=multiplier)
    for policy, epsilon_of in (
        (LaplaceLDP(**scaled), lambda d: d / laplace(length, mp.mpf(0.5), mp.mpf(multiplier), 1)[0][1]),
        (
            GaussianLDP(delta=1e-3, **scaled),
            lambda d: gaussian_epsilon(mp.sqrt(d) / gaussian(length, mp.mpf(0.5), mp.mpf(multiplier), 1)[0][1], D),
        ),
        (
            CompositionLDP(delta=1e-3, **scaled),
            lambda d: composed_epsilon(1 / composition(length, mp.mpf(0.5), mp.mpf(multiplier), 1)[0][1], d, D),
        ),
    ):
        assert policy.value_epsilon(length) == near(epsilon_of(length), 1e-9)
        assert policy.value_epsilon(length, sensitivity="click") == near(epsilon_of(changed), 1e-9)
        assert policy.effective_epsilon(length) == math.inf
    corrected = LaplaceLDP(version="corrected", **scaled)
    assert corrected.effective_epsilon(length) == (near(mp.mpf("0.5") / multiplier) if length == 1 else math.inf)
    for semi, epsilon_of in (
        (LaplaceCUCB, lambda: length / laplace(length, mp.mpf(0.5), mp.mpf(multiplier), 1)[0][1]),
        (
            lambda **k: GaussianCUCB(delta=1e-3, **k),
            lambda: gaussian_epsilon(mp.sqrt(length) / gaussian(length, mp.mpf(0.5), mp.mpf(multiplier), 1)[0][1], D),
        ),
    ):
        assert semi(**scaled).effective_epsilon(length) == math.inf
        private = semi(initial="private", **scaled)
        assert private.effective_epsilon(length) == private.value_epsilon(length) == near(epsilon_of(), 1e-9)
        assert semi(**scaled).value_epsilon(length) == near(epsilon_of(), 1e-9)
    assert HybridDP(**scaled).value_epsilon(length) == near(mp.mpf("0.5") / multiplier)
    for free in (CascadeUCB1(), CUCB(), HybridDP(**scaled)):
        assert free.effective_epsilon(length) == math.inf
    assert CascadeUCB1().value_epsilon(length) == CUCB().value_epsilon(length) == math.inf
    for policy in (FirstPositionLDP, FirstPositionDP, ClickPositionLDP, ClickObservationDP):
        share = mp.mpf("0.5") * (mp.mpf("0.5") if (policy, length) == (ClickObservationDP, 1) else 1)
        assert policy(epsilon=0.5).value_epsilon(length) == policy(epsilon=0.5).effective_epsilon(length) == near(share)


def test_policies_without_noise_and_the_readings():
    for policy in (CascadeUCB1(), CUCB()):
        assert policy.noise(4) == Noise(0, 0.0) and policy.index(4) == Index(a=near(ROOT))
    readings = {"noise and bonus": (0.01, 0.01), "noise only": (0.01, 1.0), "honest": (1.0, 1.0)}
    for reading, (noise, bonus) in readings.items():
        assert reading_multipliers(reading) == {"noise_multiplier": noise, "bonus_multiplier": bonus}
        policy = LaplaceLDP(epsilon=0.5, **reading_multipliers(reading))
        assert policy.noise(4).scale == near(8 * noise) and policy.index(4).a == near(ROOT + 8 * bonus * mp.sqrt(24))
    with pytest.raises(ValueError, match="reading must be one of"):
        reading_multipliers("mine")


def test_noise_is_drawn_with_its_law():
    """Kolmogorov distance to the law, 20000 draws: above 0.0177 with probability below 1e-5; fixed seed."""
    rng = np.random.default_rng(4)
    for noise, cdf in (
        (
            Noise(1, 3.0),
            lambda x: np.where(x < 0, np.exp(np.minimum(x, 0) / 3) / 2, 1 - np.exp(-np.maximum(x, 0) / 3) / 2),
        ),
        (Noise(2, 0.5), lambda x: np.array([float(mp.ncdf(v / 0.5)) for v in x])),
    ):
        drawn = np.sort([noise.draw(rng) for _ in range(20_000)])
        grid = (np.arange(20_000) + 0.5) / 20_000
        picked = slice(None, None, 40)
        assert np.abs(cdf(drawn[picked]) - grid[picked]).max() < 0.018
    assert Noise(0, 5.0).draw(rng) == 0.0
    assert Noise(1, 2.0).epsilon(l1=3.0, l2=9.0) == 1.5 and Noise(0, 1.0).epsilon(l1=1, l2=1) == math.inf
    assert Noise(2, 2.0).epsilon(l1=3.0, l2=2.0) == math.inf
    found = Noise(2, 2.0).epsilon(l1=9.0, l2=1.0, delta=1e-3)
    assert mp.ncdf(mp.mpf("0.25") - 2 * found) - mp.exp(found) * mp.ncdf(-mp.mpf("0.25") - 2 * found) == near(D, 1e-9)


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize(("t", "n"), [(2, 1), (1000, 7), (10**6, 400)])
def test_the_bonus_of_an_index(kind, t, n):
    index = (Index(a=0.7), Index(a=0.7, b=2.0, c=0.3), Index(a=0.7, b=2.0, c=0.3, d=1.5))[kind]
    log_t = mp.log(t)
    expected = 0.7 * mp.sqrt(log_t / n) + (2 * mp.sqrt((log_t + mp.mpf(0.3)) / n) if kind else 0)
    expected += 1.5 * log_t / n if kind == 2 else 0
    assert index.bonus(t, np.array([n]))[0] == near(expected)


def test_who_is_observed_raw():
    raw = {
        CascadeUCB1(): True, LaplaceLDP(epsilon=1): True, LaplaceLDP(epsilon=1, version="corrected"): False,
        GaussianLDP(epsilon=1, delta=1e-3): True, CompositionLDP(epsilon=1, delta=1e-3): True, HybridDP(epsilon=1): True,
        GaussianLDP(epsilon=1, delta=1e-3, version="corrected"): False,
        CompositionLDP(epsilon=1, delta=1e-3, version="corrected"): False,
        HybridDP(epsilon=1, version="corrected"): True,
        FirstPositionLDP(epsilon=1): False, FirstPositionDP(epsilon=1): False, ClickPositionLDP(epsilon=1): False,
        ClickObservationDP(epsilon=1): False,
    }  # fmt: skip
    for policy, expected in raw.items():
        assert policy.initial_observation is expected
        learner = policy.learner(3, 1, 5)
        if expected:  # user 0 decides the first list
            learner.initialise(np.array([0.0, 1.0, 0.0]))
            assert learner.recommend(1).tolist() == [1]
        else:  # nothing is known of any item
            assert learner.recommend(1).tolist() == [0]
    for policy, expected in (
        (CUCB(), "raw"), (GaussianCUCB(epsilon=1, delta=1e-3), "raw"), (LaplaceCUCB(epsilon=1), "raw"),
        (LaplaceCUCB(epsilon=1, initial="private"), "private"),
    ):  # fmt: skip
        assert policy.initial == expected and policy.learner(3, 2, 5).raw == (expected == "raw")


class Deaf(IndexRule):
    """Refuses to observe a user raw."""

    initialise = None  # calling it fails


class DeafLaplace(LaplaceLDP):
    def rule(self, n_items, list_length, horizon):
        return Deaf(*super().rule(n_items, list_length, horizon))


def test_the_simulator_observes_user_0_only_where_the_policy_does():
    settings = dict(problem=CascadeProblem([0.9, 0.5, 0.1], 1), horizon=3, replicates=1, seed=0)
    for backend in ("compiled", "reference"):  # these learners have no initialise
        simulate(FirstPositionLDP(epsilon=1), backend=backend, **settings)
    simulate(DeafLaplace(epsilon=1, version="corrected"), **settings)
    with pytest.raises(TypeError):
        simulate(DeafLaplace(epsilon=1), **settings)


def test_the_hybrid_policy_in_numbers():
    for noise, bonus in ((1.0, 1.0), (0.01, 1.0), (1.0, 0.5), (0.25, 3.0)):
        policy = HybridDP(epsilon=0.5, c1=2.0, noise_multiplier=noise, bonus_multiplier=bonus)
        assert policy.counter_epsilon(8) == near(mp.mpf("0.5") / 8 / noise)
        learner = policy.learner(8, 2, 1000)
        assert [c.epsilon for c in learner.counters] == [near(mp.mpf("0.5") / 8 / noise)] * 8
        width, own = policy.width(8, 1000)
        assert width == near(bonus * 3 * 2 * 8 / mp.mpf("0.5") * mp.log(1000) ** 1.5) and own is False
        assert (learner.width, learner.own_log) == (width, own)
        assert policy.rule(8, 2, 1000)[:-1] == (near(mp.mpf("0.25") / 8 / noise), width, False)
    assert HybridDP(epsilon=0.5, c1=2.0, version="corrected").width(8, 1000) == (near(96), True)
    assert HybridDP(epsilon=0.5).c1 == 1.0
