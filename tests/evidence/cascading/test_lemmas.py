"""Lemmas 3 to 7 of the cascading paper: exact quantities, ranges, and what happens outside them."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss
from scipy import integrate, stats

from evidence.cascading import lemmas


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("y", [0.0, 0.3, 2.0, 15.0, 60.0])
def test_laplace_sum_tail_is_that_of_a_difference_of_gammas(n, y):
    gamma = stats.gamma(n)
    exact, _ = integrate.quad(
        lambda g: gamma.pdf(g) * gamma.sf(y + g) / gamma.sf(y),
        0,
        60 + 3 * n,
        epsrel=1e-11,
        limit=300,
        points=[n, 2 * n],
    )
    assert lemmas.laplace_sum_tail(3 * y, n=n, scale=3.0) == pytest.approx(exact * gamma.sf(y), rel=1e-9, abs=0)


@pytest.mark.parametrize("y", [0.5, 40.0, 690.0, 5e5])
def test_laplace_sum_tail_closed_forms_far_out(y):
    assert lemmas.laplace_sum_log_tail(y, n=1) == pytest.approx(-y - math.log(2), rel=1e-14, abs=0)
    assert lemmas.laplace_sum_log_tail(y, n=2) == pytest.approx(math.log((2 + y) / 4) - y, rel=1e-14, abs=0)
    assert lemmas.laplace_sum_log_tail(y, n=3) == pytest.approx(
        math.log((8 + 5 * y + y * y) / 16) - y, rel=1e-14, abs=0
    )


def test_laplace_sum_tail_is_symmetric_and_tends_to_a_gaussian():
    for n in (1, 5, 200):
        assert lemmas.laplace_sum_tail(0.0, n=n) == pytest.approx(0.5, rel=1e-12, abs=0)
        total = lemmas.laplace_sum_tail(1.7, n=n) + lemmas.laplace_sum_tail(-1.7, n=n)
        assert total == pytest.approx(1.0, rel=1e-12, abs=0)
    n = 200_000
    assert lemmas.laplace_sum_tail(2 * math.sqrt(2 * n), n=n) == pytest.approx(stats.norm.sf(2), rel=1e-3, abs=0)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 30, 100, 1000])
@pytest.mark.parametrize("stretch", [1.0, 1.5, 4.0])
def test_lemma_6_holds_in_its_range(n, stretch):
    v = stretch * 2.0 * math.sqrt(n)
    limit = lemmas.lemma_6_limit(n=n, scale=2.0, v=v)
    for fraction in np.linspace(0.001, 0.999, 60):
        lam = fraction * limit
        slack = lemmas.laplace_sum_log_tail(lam, n=n, scale=2.0) + lam**2 / (8 * v**2)
        assert slack <= math.log(0.5)
    for lam in (0.0, limit):
        with pytest.raises(ValueError, match="lam"):
            lemmas.lemma_6_bound(lam, n=n, scale=2.0, v=v)
    with pytest.raises(ValueError, match="v must"):
        lemmas.lemma_6_bound(0.1, n=n, scale=2.0, v=1.99 * math.sqrt(n))


def test_lemma_6_fails_where_the_proof_of_theorem_4_extrapolates_it():
    t = 1e5
    violated = []
    for s in range(1, 40):
        lam = math.sqrt(24 * s * math.log(t))
        assert lemmas.lemma_6_bound(lam, n=s, scale=1.0, extrapolate=True) == pytest.approx(t**-3, rel=1e-9, abs=0)
        assert (lam < lemmas.lemma_6_limit(n=s, scale=1.0)) == (s > 3 * math.log(t))
        if lemmas.laplace_sum_tail(lam, n=s) > t**-3:
            violated.append(s)
    assert violated == list(range(1, 9))
    assert 2 * lemmas.laplace_sum_tail(math.sqrt(24 * math.log(t)), n=1) == pytest.approx(6.04e-8, rel=1e-3, abs=0)
    # One raw sample in the count: s noises, count s + 1.
    raw = [s for s in range(1, 40) if lemmas.laplace_sum_tail(math.sqrt(24 * (s + 1) * math.log(t)), n=s) > t**-3]
    assert raw == list(range(1, 7))


def test_sub_gamma_radius_is_valid_for_every_number_of_noises():
    for n in (1, 2, 3, 5, 10, 30, 100, 1000, 10_000):
        for x in (0.0, 1e-3, 0.1, 0.5, 1, 3, 10, 50, 200, 2000):
            assert lemmas.laplace_sum_log_tail(lemmas.sub_gamma_radius(x, n=n), n=n) <= -x - math.log(2) + 1e-9


@pytest.mark.parametrize("t", [1, 2, 3, 10, 1e3, 1e5, 1e9])
def test_corrected_bonus_fails_with_probability_at_most_t_to_the_minus_3(t):
    for s in (*range(1, 40), 100, 1000, 20_000):
        bonus = lemmas.corrected_noise_bonus(t, s, scale=2.5)
        assert bonus == pytest.approx(2.5 * (math.sqrt(12 * math.log(t) / s) + 3 * math.log(t) / s), rel=1e-9, abs=0)
        assert lemmas.laplace_sum_log_tail(s * bonus, n=s, scale=2.5) <= -3 * math.log(t) - math.log(2) + 1e-9


@pytest.mark.parametrize(("delta", "largest"), [(1e-3, 7.463), (1e-5, 8.420)])
def test_lemma_3_is_true_up_to_one_epsilon_and_false_beyond(delta, largest):
    edge = lemmas.lemma_3_largest_epsilon(delta=delta)
    assert edge == pytest.approx(largest, abs=5e-4)
    for epsilon in (0.1, 1.0, 0.999 * edge, 1.001 * edge, 2 * edge):
        sigma = lemmas.lemma_3_sigma(epsilon=epsilon, delta=delta, sensitivity=2.0)
        real = GaussianPrivacyLoss(standard_deviation=sigma, sensitivity=2.0).get_delta_for_epsilon(epsilon)
        assert lemmas.lemma_3_delta(epsilon=epsilon, delta=delta) == pytest.approx(real, rel=1e-8, abs=0)
        assert (real <= delta) == (epsilon <= edge)


def test_lemma_3_profile_increases():
    grid = [lemmas.lemma_3_delta(epsilon=e, delta=0.01) for e in np.geomspace(0.05, 50, 200)]
    assert np.all(np.diff(grid) > 0)


def test_lemma_4_parameters_and_range():
    epsilon, delta = lemmas.lemma_4_parameters(epsilon=0.5, delta=1e-3, n_queries=4)
    assert epsilon == pytest.approx(math.sqrt(0.25 / (16 * math.log(math.e + 500))), rel=1e-9, abs=0)
    assert delta == pytest.approx(1e-3 / 8, rel=1e-9, abs=0)
    with pytest.raises(ValueError, match=r"epsilon must be .* <= 0.9, got 1.0"):
        lemmas.lemma_4_parameters(epsilon=1.0, delta=1e-3, n_queries=4)
    # Composition needs more noise than K / epsilon while K <= 4 log(e + epsilon / delta).
    assert lemmas.composition_factor(epsilon=0.2, delta=1e-3, n_queries=4) / 0.2 == pytest.approx(46.1, abs=0.05)
    for epsilon in (0.2, 0.5, 2.0):
        edge = 4 * math.log(math.e + epsilon / 1e-3)
        for k in range(1, 60):
            assert (lemmas.composition_factor(epsilon=epsilon, delta=1e-3, n_queries=k) > k) == (k < edge)


def random_case(rng):
    n_items = int(rng.integers(2, 9))
    length = int(rng.integers(1, n_items + 1))
    means = np.round(rng.random(n_items), int(rng.integers(1, 4)))  # ties and zeros included
    items = rng.permutation(n_items)[:length]
    return SimpleNamespace(means=means, list_length=length), items


def test_lemma_5_on_random_instances():
    rng = np.random.default_rng(5)
    for _ in range(3000):
        problem, items = random_case(rng)
        match = lemmas.match_optimal_items(problem, items)
        free = np.flatnonzero(match != items)
        match[free] = rng.permutation(match[free])  # any matching of the others will do
        lower, regret, upper = lemmas.lemma_5_sides(problem, items, match)
        assert regret - lower >= -1e-15
        assert upper - regret >= -1e-15


def test_lemma_5_sides_by_enumeration_of_the_users():
    rng = np.random.default_rng(6)
    for _ in range(60):
        problem, items = random_case(rng)
        match = lemmas.match_optimal_items(problem, items)
        best = np.argsort(-problem.means, kind="stable")[: problem.list_length]
        regret = events = 0.0
        for weights in itertools.product([0, 1], repeat=len(problem.means)):
            w = np.array(weights)
            probability = np.prod(np.where(w == 1, problem.means, 1 - problem.means))
            regret += probability * (w[best].max() - w[items].max())
            click = int(np.argmax(w[items])) if w[items].any() else problem.list_length - 1
            events += probability * np.sum((problem.means[match] - problem.means[items])[: click + 1])
        lower, exact, upper = lemmas.lemma_5_sides(problem, items)
        assert exact == pytest.approx(regret, abs=1e-14)
        assert upper == pytest.approx(events, abs=1e-14)
        assert lower == pytest.approx((1 - problem.means.max()) ** (problem.list_length - 1) * events, abs=1e-14)


def test_lemma_5_needs_shown_optimal_items_matched_with_themselves():
    problem = SimpleNamespace(means=np.array([0.9, 0.5, 0.1]), list_length=2)
    with pytest.raises(ValueError, match="permutation"):
        lemmas.lemma_5_sides(problem, [1, 2], [0, 1])
    regret = lemmas.lemma_5_sides(problem, [1, 2])[1]
    assert regret > (0.5 - 0.1) * (1 - 0.5)  # the upper side that this permutation would give
    for bad in ([0], [0, 0], [0, 3], [0.0, 1.0], [-1, 0]):
        with pytest.raises(ValueError, match="items must be 2 distinct integers"):
            lemmas.lemma_5_sides(problem, bad)


def test_lemma_7_with_a_factor_2_to_spare():
    for n, sigma in itertools.product((1, 4, 100), (0.5, 3.0)):
        for radius in np.linspace(0, 12, 60) * sigma / math.sqrt(n):
            exact, bound = lemmas.lemma_7_sides(radius, n=n, sigma=sigma)
            assert exact == pytest.approx(2 * stats.norm.sf(radius * math.sqrt(n) / sigma), rel=1e-10, abs=0)
            assert exact <= bound / 2 * (1 + 1e-12)
