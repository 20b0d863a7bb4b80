"""Mechanisms: exact profiles by a second derivation, calibration round trips, distributions, bad input."""

import dataclasses
import itertools
import math
from fractions import Fraction

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar

from dpregret.privacy import composition, discrete
from dpregret.privacy.mechanisms import (
    ExponentialMechanism,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    RandomizedResponse,
    _minus_mills_derivative,
)
from dpregret.simulation.seeds import generator

EPSILONS = [0.0, 0.05, 0.2, 0.5, 1.0, 2.0]


def hockey_stick(p, q, epsilon, points):
    """``integral (p - e^epsilon q)_+`` by quadrature between given break points."""
    pieces = itertools.pairwise(points)
    return sum(quad(lambda x: max(0.0, p(x) - math.exp(epsilon) * q(x)), a, b, epsabs=1e-13)[0] for a, b in pieces)


# Laplace


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("scale", "sensitivity"), [(1.0, 1.0), (0.5, 2.0), (4.0, 3.0)])
def test_laplace_profile_is_the_hockey_stick_integral(scale, sensitivity, epsilon):
    law = stats.laplace(scale=scale)
    cut = (sensitivity - epsilon * scale) / 2  # where the log-ratio equals epsilon
    points = sorted([-60 * scale, 0.0, sensitivity, cut, 60 * scale])
    expected = hockey_stick(law.pdf, lambda x: law.pdf(x - sensitivity), epsilon, points)
    assert Laplace(scale, sensitivity).delta(epsilon) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 1.0, 30.0])
@pytest.mark.parametrize("sensitivity", [0.5, 1.0, 4.0])
def test_laplace_round_trip(epsilon, sensitivity):
    mechanism = Laplace.calibrated(epsilon=epsilon, sensitivity=sensitivity)
    assert mechanism.scale == pytest.approx(sensitivity / epsilon, rel=1e-15, abs=0)
    assert mechanism.epsilon == pytest.approx(epsilon, rel=1e-15, abs=0)
    assert mechanism.delta(epsilon * (1 + 1e-12)) == 0.0
    assert mechanism.delta(epsilon * 0.99) > 0.0


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (0.3, 1.7), (0.0, 2.0)])
def test_laplace_profile_bounds_two_coordinates(epsilon, first, second):
    """Shift one coordinate by ``first`` and the other by ``second``: never worse than one shift by the sum."""

    def given_first(x):
        ratio = abs(x - first) - abs(x)  # log-ratio of the first coordinate
        return 0.5 * math.exp(-abs(x)) * tail(epsilon - ratio)

    def tail(level):  # one-dimensional hockey-stick divergence at any level, negative ones included
        if level >= second:
            return 0.0
        return -math.expm1(level) if level <= -second else -math.expm1((level - second) / 2)

    points = sorted({-40.0, 0.0, first, min(max((first + second - epsilon) / 2, 0.0), first), 40.0})
    joint = sum(quad(given_first, a, b, epsabs=1e-12, limit=200)[0] for a, b in itertools.pairwise(points))
    bound = Laplace(1.0, first + second).delta(epsilon)
    assert joint <= bound + 1e-10
    if first == 0.0:
        assert joint == pytest.approx(bound, abs=1e-9)


# Gaussian


def gaussian_profile_50_digits(mu, epsilon):
    with mpmath.workdps(420):  # the two terms agree to up to 300 digits
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def test_derivative_of_the_mills_ratio_on_both_sides_of_its_series():
    x = np.array([0.0, 1.0, 30.0, 59.9, 60.1, 61.0, 100.0, 1e4])
    with mpmath.workdps(60):
        mills = [
            mpmath.sqrt(mpmath.pi / 2) * mpmath.exp(mpmath.mpf(v) ** 2 / 2) * mpmath.erfc(v / mpmath.sqrt(2)) for v in x
        ]
        exact = [float(1 - mpmath.mpf(v) * m) for v, m in zip(x, mills, strict=True)]
    series = x > 60
    assert _minus_mills_derivative(x[series]) == pytest.approx(np.array(exact)[series], rel=1e-13, abs=0)
    assert _minus_mills_derivative(x[~series]) == pytest.approx(np.array(exact)[~series], rel=1e-11, abs=0)


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.1, 0.499, 0.501, 1.0, 3.0, 10.0, 55.0])
@pytest.mark.parametrize("standardised", [-37.0, -20.0, -5.0, -1.0, -0.1, 0.0, 0.2, 1.0, 5.0])
def test_gaussian_profile_has_full_relative_accuracy(mu, standardised):
    epsilon = max(0.0, mu * (mu / 2 - standardised))
    expected = gaussian_profile_50_digits(mu, epsilon)
    assert Gaussian(1.0, mu).delta(epsilon) == pytest.approx(float(expected), rel=2e-12, abs=0)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("sigma", "sensitivity"), [(1.0, 1.0), (0.5, 2.0), (5.0, 1.0)])
def test_gaussian_profile_is_the_hockey_stick_integral(sigma, sensitivity, epsilon):
    law = stats.norm(scale=sigma)
    cut = sensitivity / 2 - epsilon * sigma**2 / sensitivity
    points = sorted([min(cut, 0.0) - 12 * sigma, cut, sensitivity + 12 * sigma])
    expected = hockey_stick(law.pdf, lambda x: law.pdf(x - sensitivity), epsilon, points)
    assert Gaussian(sigma, sensitivity).delta(epsilon) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("epsilon", [1e-3, 0.05, 0.5, 1.0, 5.0, 50.0, 2000.0])
@pytest.mark.parametrize("delta", [0.9, 0.3, 1e-3, 1e-9, 1e-100, 1e-300])
def test_analytic_gaussian_round_trip(epsilon, delta):
    mechanism = Gaussian.analytic(epsilon=epsilon, delta=delta, sensitivity=3.0)
    assert mechanism.sensitivity == 3.0
    assert mechanism.delta(epsilon) == pytest.approx(delta, rel=1e-10, abs=0)
    assert mechanism.epsilon(delta) == pytest.approx(epsilon, rel=1e-8, abs=0)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0, 20.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
def test_gaussian_agrees_with_dp_accounting(epsilon, delta):
    theirs = dp_accounting.get_sigma_gaussian(epsilon, delta)
    assert Gaussian.analytic(epsilon=epsilon, delta=delta, sensitivity=1.0).sigma == pytest.approx(
        theirs, rel=1e-7, abs=0
    )
    assert Gaussian(theirs, 1.0).epsilon(delta) == pytest.approx(
        dp_accounting.get_epsilon_gaussian(theirs, delta), rel=1e-7, abs=0
    )


@settings(deadline=None, max_examples=200)
@given(
    mu=st.floats(1e-6, 60.0),
    epsilon=st.floats(0.0, 2000.0),
    step=st.floats(1e-3, 10.0),
    unit=st.floats(1e-3, 1e3),
)
def test_gaussian_profile_decreases_and_has_no_unit(mu, epsilon, step, unit):
    mechanism = Gaussian(1.0, mu)
    assert 0.0 <= mechanism.delta(epsilon + step) <= mechanism.delta(epsilon) <= 1.0
    # mu is rounded once more, which moves log delta by at most about mu a |d mu| / mu < 1e-10 where delta > 0
    assert Gaussian(unit, mu * unit).delta(epsilon) == pytest.approx(mechanism.delta(epsilon), rel=1e-10, abs=1e-307)


@pytest.mark.parametrize(("sigma", "k"), [(30.0, 100), (1.7, 3), (1.5, 20), (55.0, 4000)])
def test_composed_gaussians_agree_with_dp_accounting(sigma, k):
    composed = Gaussian(2 * sigma, 2.0).composed(k)
    low, high = (
        privacy_loss_distribution.from_gaussian_mechanism(
            sigma, value_discretization_interval=1e-3, pessimistic_estimate=pessimistic
        )
        .self_compose(k)
        .get_epsilon_for_delta(1e-6)
        for pessimistic in (False, True)
    )
    assert low * (1 - 1e-9) <= composed.epsilon(1e-6) <= high * (1 + 1e-9)
    assert composed.epsilon(1e-6) == pytest.approx(
        dp_accounting.get_epsilon_gaussian(sigma / math.sqrt(k), 1e-6), rel=1e-7, abs=0
    )
    accountant = dp_accounting.rdp.RdpAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(sigma), k)
    assert composed.epsilon(1e-6) < accountant.get_epsilon(1e-6)
    assert composed.epsilon(1e-6) < composition.zcdp_epsilon(rho=k / (2 * sigma**2), delta=1e-6)


def test_composed_gaussians_by_name():
    one = Gaussian(30.0)
    assert one.composed(1) == one and one.composed(100) == Gaussian(3.0)
    assert Gaussian(10.0).composed(100).epsilon(1e-5) == pytest.approx(4.377, abs=5e-4)
    assert one.composed(4).composed(25).delta(1.0) == one.composed(100).delta(1.0)
    for k in (2, 3, 7, 10**6, 10**15 + 1):  # sigma / sqrt(k), rounded down
        for sigma in (0.1, 1.0, 3e-300, 1e300):
            found = Gaussian(sigma, 0.5).composed(k)
            above = math.nextafter(found.sigma, math.inf)
            assert found.sensitivity == 0.5
            assert Fraction(found.sigma) ** 2 * k <= Fraction(sigma) ** 2 < Fraction(above) ** 2 * k
    for k in (0, 2.5, "3"):
        with pytest.raises(ValueError, match="k must be an integer >= 1"):
            one.composed(k)


def test_gaussian_epsilon_is_zero_once_delta_is_large():
    mechanism = Gaussian(1.0, 1.0)
    assert mechanism.epsilon(mechanism.delta(0.0)) == 0.0
    assert mechanism.epsilon(0.99) == 0.0


def test_classical_gaussian_is_the_formula_of_lemma_3():
    mechanism = Gaussian.classical(epsilon=0.5, delta=1e-3, sensitivity=2.0)
    assert mechanism.sigma == pytest.approx(4 * math.sqrt(2 * math.log(1250)), rel=1e-15, abs=0)


@pytest.mark.parametrize(
    ("epsilon", "delta", "ratio"), [(0.2, 1.1e-6, 1.91), (0.5, 3.2e-6, 1.64), (1.0, 8.1e-6, 1.47), (2.0, 2.6e-5, 1.31)]
)
def test_lemma_3_gives_far_less_than_its_delta(epsilon, delta, ratio):
    """C16, delta = 1e-3: the true delta, and the sigma of the lemma over the smallest one."""
    classical = Gaussian.classical(epsilon=epsilon, delta=1e-3, sensitivity=2.0)
    analytic = Gaussian.analytic(epsilon=epsilon, delta=1e-3, sensitivity=2.0)
    assert float(f"{classical.delta(epsilon):.1e}") == delta
    assert round(classical.sigma / analytic.sigma, 2) == ratio


@pytest.mark.parametrize(("delta", "limit"), [(1e-3, 7.463), (1e-5, 8.420)])
def test_lemma_3_fails_beyond_a_limit(delta, limit):
    """C16: the true delta crosses the stated one once, and stays above."""

    def excess(epsilon):
        return Gaussian.classical(epsilon=epsilon, delta=delta, sensitivity=1.0).delta(epsilon) - delta

    assert round(brentq(excess, 1.0, 20.0), 3) == limit
    assert all(excess(epsilon) < 0 for epsilon in np.arange(0.05, limit, 0.05))
    assert all(excess(epsilon) > 0 for epsilon in np.arange(limit + 0.01, 60, 0.05))


@pytest.mark.parametrize(
    ("sensitivity", "expected"), [(2.0, [29.6, 128, 431, 1565]), (math.sqrt(2), [17.9, 72, 232, 816])]
)
def test_effective_epsilon_of_noise_a_hundred_times_too_small(sensitivity, expected):
    """C27: sigma calibrated for K = 4, delta = 1e-3, epsilon = .2, .5, 1, 2, then multiplied by .01."""
    for epsilon, value in zip([0.2, 0.5, 1.0, 2.0], expected, strict=True):
        sigma = 0.01 * Gaussian.classical(epsilon=epsilon, delta=1e-3, sensitivity=2.0).sigma
        effective = Gaussian(sigma, sensitivity).epsilon(1e-3)
        assert round(effective, 1 if value < 30 else 0) == value
        assert float(gaussian_profile_50_digits(sensitivity / sigma, effective)) == pytest.approx(1e-3, rel=1e-9, abs=0)


# Noise


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [(Laplace(2.5, 1.0), stats.laplace(scale=2.5)), (Gaussian(2.5, 1.0), stats.norm(scale=2.5))],
    ids=["laplace", "gaussian"],
)
def test_noise_has_the_stated_law(mechanism, law):
    # fixed seed; false alarm rate 1e-4 for each test
    noise = mechanism.sample(generator(1, "noise"), 20_000)
    assert stats.kstest(noise, law.cdf).pvalue > 1e-4
    values = np.arange(6.0).reshape(2, 3)
    added = mechanism.privatize(values, generator(1, "add")) - values
    assert added == pytest.approx(mechanism.sample(generator(1, "add"), (2, 3)), abs=1e-14)
    assert np.ndim(mechanism.sample(generator(1))) == 0


# Randomized response


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0])
@pytest.mark.parametrize("n_categories", [2, 3, 5])
def test_randomized_response_profile_over_all_events(epsilon, n_categories):
    mechanism = RandomizedResponse(epsilon=epsilon, n_categories=n_categories)
    matrix = mechanism.transition_matrix()
    assert matrix.sum(axis=1) == pytest.approx(np.ones(n_categories), rel=1e-15, abs=0)
    for target in [0.0, 0.3 * epsilon, 0.9 * epsilon, epsilon, 2 * epsilon]:
        worst = max(
            sum(matrix[a, list(event)]) - math.exp(target) * sum(matrix[b, list(event)])
            for a, b in itertools.permutations(range(n_categories), 2)
            for size in range(n_categories + 1)
            for event in itertools.combinations(range(n_categories), size)
        )
        assert mechanism.delta(target) == pytest.approx(worst, abs=1e-15)


@pytest.mark.parametrize("n_categories", [2, 4])
def test_randomized_response_reports_follow_the_matrix(n_categories):
    """The report as a function of its one uniform: lengths of the pieces are the probabilities."""
    mechanism = RandomizedResponse(epsilon=0.7, n_categories=n_categories)
    grid = 400_000

    class EvenlySpaced:
        def random(self, shape):
            return (np.arange(shape[0]) + 0.5) / shape[0]

    for value in range(n_categories):
        reports = mechanism.privatize(np.full(grid, value), EvenlySpaced())
        frequencies = np.bincount(reports, minlength=n_categories) / grid
        assert frequencies == pytest.approx(mechanism.transition_matrix()[value], abs=2 / grid)


@pytest.mark.parametrize("edge", [0.0, 1 - 2.0**-53])
@pytest.mark.parametrize("n_categories", [2, 7])
def test_randomized_response_stays_in_range_at_the_edges(edge, n_categories):
    class Constant:
        def random(self, shape):
            return np.full(shape, edge)

    for epsilon in [1e-9, 1.0, 36.0, 800.0]:
        values = np.arange(n_categories)
        reports = RandomizedResponse(epsilon=epsilon, n_categories=n_categories).privatize(values, Constant())
        assert reports.dtype == np.int64
        assert np.isin(reports, values).all()
        assert (edge > 0.0) or (reports == values).all()


@pytest.mark.parametrize("n_categories", [2, 3, 7])
def test_the_last_uniform_number_is_a_lie(n_categories):
    """Rounding may count one wrong category too many, which would be the truth again."""

    class Last:
        def random(self, shape):
            return np.full(shape, 1 - 2.0**-53)

    values = np.arange(n_categories)
    for epsilon in np.linspace(0.01, 30, 300):
        reports = RandomizedResponse(epsilon=epsilon, n_categories=n_categories).privatize(values, Last())
        assert (reports == (values - 1) % n_categories).all()


@pytest.mark.parametrize("n_categories", [2, 5])
def test_randomized_response_estimates_are_unbiased(n_categories):
    mechanism = RandomizedResponse(epsilon=0.4, n_categories=n_categories)
    one_report = np.array([mechanism.estimate_counts(np.array([r])) for r in range(n_categories)])
    assert mechanism.transition_matrix() @ one_report == pytest.approx(np.eye(n_categories), abs=1e-13)
    reports = np.array([0, 1, 1, 0, 1])
    assert mechanism.estimate_counts(reports) == pytest.approx(one_report[reports].sum(axis=0), abs=1e-12)


# Exponential mechanism and permute-and-flip


def neighbours(scores, step):
    for signs in itertools.product([-1, 0, 1], repeat=len(scores)):
        yield np.asarray(scores) + step * np.array(signs)


SCORES = [[0.0, 0.0], [0.0, 1.0, 3.0], [2.0, 2.0, 1.5, -1.0]]


def divergence(p, q, epsilon):
    return np.maximum(p - math.exp(epsilon) * q, 0).sum()


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlip])
def test_choices_are_private_on_neighbouring_scores(kind, scores):
    mechanism = kind(epsilon=0.8, sensitivity=0.5)
    p = mechanism.probabilities(scores)
    assert p.sum() == pytest.approx(1.0, rel=1e-14, abs=0)
    for other in neighbours(scores, 0.5):
        q = mechanism.probabilities(other)
        assert np.abs(np.log(p / q)).max() <= 0.8 + 1e-12
        if kind is ExponentialMechanism:
            assert np.ptp(np.log(p / q)) <= 0.8 + 1e-12  # bounded range
        for epsilon in [0.0, 0.3, 0.6]:
            assert divergence(p, q, epsilon) <= mechanism.delta(epsilon) + 1e-12


@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlip])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.79])
def test_profile_of_choices_is_attained(kind, epsilon):
    mechanism = kind(epsilon=0.8, sensitivity=0.5)

    def attained(gap, step):  # the two scores move by ``step`` in opposite directions
        p, q = (mechanism.probabilities([gap + sign * step, -sign * step]) for sign in (0.5, -0.5))
        return divergence(p, q, epsilon)

    def worst(step):
        start = max(np.linspace(-10, 10, 401), key=lambda gap: attained(gap, step))
        bounds = (start - 0.1, start + 0.1)
        return -minimize_scalar(lambda gap: -attained(gap, step), bounds=bounds, options={"xatol": 1e-11}).fun

    assert worst(0.5) == pytest.approx(mechanism.delta(epsilon), rel=1e-9, abs=0)
    assert worst(0.55) > mechanism.delta(epsilon)
    assert mechanism.delta(0.8) == mechanism.delta(5.0) == 0.0


def test_monotone_scores_need_half_the_noise():
    scores = [0.0, 1.0, 3.0]
    mechanism = ExponentialMechanism(epsilon=0.8, sensitivity=1.0, monotone=True)
    p = mechanism.probabilities(scores)
    assert p == pytest.approx(
        ExponentialMechanism(epsilon=1.6, sensitivity=1.0).probabilities(scores), rel=1e-15, abs=0
    )
    for steps in itertools.product([0, 1], repeat=3):
        assert np.abs(np.log(p / mechanism.probabilities(np.add(scores, steps)))).max() <= 0.8 + 1e-12


@pytest.mark.parametrize("scores", [[1.0], *SCORES, [0.0, 0.5, 1.0, 1.0, -3.0, 0.25]])
def test_permute_and_flip_probabilities_by_enumeration(scores):
    coins = np.exp(0.5 * (np.array(scores) - max(scores)))
    expected = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        alive = 1 / math.factorial(len(scores))
        for r in order:
            expected[r] += alive * coins[r]
            alive *= 1 - coins[r]
    assert PermuteAndFlip(epsilon=1.0, sensitivity=1.0).probabilities(scores) == pytest.approx(
        expected, rel=1e-13, abs=0
    )


@settings(deadline=None, max_examples=100)
@given(scores=st.lists(st.floats(-50, 50), min_size=1, max_size=60), shift=st.floats(-100, 100))
def test_permute_and_flip_never_scores_below_the_exponential_mechanism(scores, shift):
    flip = PermuteAndFlip(epsilon=1.0, sensitivity=1.0).probabilities(scores)
    exponential = ExponentialMechanism(epsilon=1.0, sensitivity=1.0).probabilities(scores)
    assert flip.sum() == pytest.approx(1.0, rel=1e-12, abs=0)
    assert flip @ np.array(scores) >= exponential @ np.array(scores) - 1e-10
    shifted = ExponentialMechanism(epsilon=1.0, sensitivity=1.0).probabilities(np.array(scores) + shift)
    assert shifted == pytest.approx(exponential, rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlip])
def test_choices_are_drawn_with_their_probabilities(kind):
    mechanism, scores = kind(epsilon=1.0, sensitivity=1.0), [0.0, 1.0, 2.0, -1.0]
    draws = mechanism.sample(generator(2, "choices"), scores, 40_000)
    counts = np.bincount(draws, minlength=4)
    # fixed seed; false alarm rate 1e-4 for each test
    assert stats.chisquare(counts, 40_000 * mechanism.probabilities(scores)).pvalue > 1e-4
    assert mechanism.sample(generator(3), scores) in range(4)
    assert mechanism.sample(generator(3), scores, 0).shape == (0,)


def test_extreme_scores_neither_overflow_nor_give_nan():
    for kind in (ExponentialMechanism, PermuteAndFlip):
        p = kind(epsilon=1e3, sensitivity=1e-3).probabilities([1e6, 0.0, -1e6])
        assert p == pytest.approx([1, 0, 0])


# Bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Laplace(0.0), "scale must be a finite number > 0, got 0.0"),
        (lambda: Laplace(1.0, -1.0), "sensitivity must be .* > 0, got -1.0"),
        (lambda: Laplace(math.nan), "scale must be .* got nan"),
        (lambda: Laplace.calibrated(epsilon=0, sensitivity=1), "epsilon must be .* > 0, got 0"),
        (lambda: Laplace(1.0).delta(-0.1), "epsilon must be .* >= 0, got -0.1"),
        (lambda: Laplace(1.0).privatize([0.0, math.inf], generator(0)), r"values\[1\] must be finite, got inf"),
        (lambda: Gaussian("1"), "sigma must be"),
        (lambda: Gaussian(math.inf), "sigma must be .* got inf"),
        (lambda: Gaussian.classical(epsilon=1.0, delta=0.0, sensitivity=1.0), "delta must be .* got 0.0"),
        (lambda: Gaussian.classical(epsilon=-1.0, delta=0.1, sensitivity=1.0), "epsilon must be .* got -1.0"),
        (lambda: Gaussian.analytic(epsilon=1.0, delta=1.0, sensitivity=1.0), "delta must be .* < 1, got 1.0"),
        (lambda: Gaussian.analytic(epsilon=1.0, delta=0.1, sensitivity=0.0), "sensitivity must be .* got 0.0"),
        (lambda: Gaussian(1.0).epsilon(0.0), "delta must be .* got 0.0"),
        (lambda: Gaussian(1.0).delta(math.inf), "epsilon must be .* got inf"),
        (lambda: RandomizedResponse(epsilon=0.0), "epsilon must be .* got 0.0"),
        (lambda: RandomizedResponse(epsilon=1.0, n_categories=1), "n_categories must be an integer >= 2, got 1"),
        (lambda: RandomizedResponse(epsilon=1.0).privatize([0, 2], generator(0)), r"values\[1\] must be .* got 2.0"),
        (lambda: RandomizedResponse(epsilon=1.0).privatize([0.5], generator(0)), "values must be integers, got 0.5"),
        (lambda: RandomizedResponse(epsilon=1.0).estimate_counts([-1]), r"reports\[0\] must be .* got -1.0"),
        (lambda: ExponentialMechanism(epsilon=1.0, sensitivity=0.0), "sensitivity must be .* got 0.0"),
        (lambda: ExponentialMechanism(epsilon=1.0, sensitivity=1.0, monotone="no"), "monotone must be .* got 'no'"),
        (lambda: ExponentialMechanism(epsilon=1.0, sensitivity=1.0).probabilities([]), "scores must have at least one"),
        (lambda: PermuteAndFlip(epsilon=1.0, sensitivity=1.0).probabilities([[0.0]]), "scores.ndim must be 1, got 2"),
        (lambda: PermuteAndFlip(epsilon=1.0, sensitivity=1.0).probabilities([math.nan]), r"scores\[0\] must be finite"),
        (lambda: PermuteAndFlip(epsilon=-1.0, sensitivity=1.0), "epsilon must be .* got -1.0"),
    ],
)
def test_bad_input_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(1),
        Gaussian(1),
        RandomizedResponse(epsilon=1),
        ExponentialMechanism(epsilon=1, sensitivity=1),
        discrete.PermuteAndFlip(epsilon=1, sensitivity=1),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_mechanisms_are_frozen_values(mechanism):
    field = dataclasses.fields(mechanism)[0].name
    assert isinstance(getattr(mechanism, field), float)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, field, 2.0)
    assert mechanism == dataclasses.replace(mechanism)


# Exact numbers over the whole range, against mpmath


EXTREME_EPSILONS = [1e-300, 1e-30, 1e-8, 0.05, 1.0, 50.0, 2000.0, 1e8, 1e20, 1e26, 1e35, 1e150]


def mills(x):
    """Phi(-x)/phi(x), by a continued fraction for large x."""
    if x < 200:
        return mpmath.sqrt(mpmath.pi / 2) * mpmath.exp(x * x / 2) * mpmath.erfc(x / mpmath.sqrt(2))
    value = x
    for i in range(40, 0, -1):
        value = x + i / value
    return 1 / value


def gaussian_profile_for_any_epsilon(sigma, sensitivity, epsilon):
    with mpmath.workdps(900 if epsilon < 1e-100 else 420):
        mu, epsilon = mpmath.mpf(sensitivity) / mpmath.mpf(sigma), mpmath.mpf(epsilon)
        a, r = mu / 2 - epsilon / mu, mu / 2 + epsilon / mu
        return mpmath.ncdf(a) - mpmath.npdf(a) * mills(r)


@pytest.mark.parametrize("epsilon", EXTREME_EPSILONS)
def test_analytic_gaussian_keeps_its_promise_at_every_epsilon(epsilon):
    for delta in [1 - 1e-9, 0.5, 0.3, 1e-5, 1e-50, 1e-300]:
        mechanism = Gaussian.analytic(epsilon=epsilon, delta=delta, sensitivity=3.0)
        true = gaussian_profile_for_any_epsilon(mechanism.sigma, 3.0, epsilon)
        assert true <= delta
        if epsilon <= 1e8:
            assert true >= delta * (1 - mpmath.mpf("1e-10"))
        else:  # one double less and the promise would be broken, or nearly
            less = math.nextafter(mechanism.sigma, 0.0)
            assert gaussian_profile_for_any_epsilon(less, 3.0, epsilon) >= delta * (1 - mpmath.mpf("1e-10"))
        if true > 1e-307:
            assert abs(mpmath.mpf(mechanism.delta(epsilon)) / true - 1) < 1e-12


@pytest.mark.parametrize("sigma", [1e-150, 1e-30, 1e-12, 0.1, 1.0, 30.0, 1e9])
def test_effective_epsilon_of_the_gaussian_keeps_its_promise(sigma):
    for delta in [0.7, 1e-5, 1e-200]:
        epsilon = Gaussian(sigma, 3.0).epsilon(delta)
        true = gaussian_profile_for_any_epsilon(sigma, 3.0, epsilon)
        assert true <= delta
        less = 0.0 if sigma == 1e9 else epsilon * (1 - 1e-9)
        assert epsilon == 0.0 or gaussian_profile_for_any_epsilon(sigma, 3.0, less) > delta
    assert Gaussian(1e-200, 1.0).epsilon(0.5) == math.inf
    assert Gaussian(1e-200, 1.0).delta(1.0) == 1.0 and Gaussian(1e200, 1e-200).delta(1.0) == 0.0


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-12, 0.3, 1.0, 40.0, 700.0, 1e308])
def test_pure_profiles_at_every_epsilon(epsilon):
    """Closed forms in mpmath; 0 from the mechanism's own epsilon on, however far."""
    laplace = Laplace.calibrated(epsilon=epsilon, sensitivity=1.0) if epsilon > 1e-300 else Laplace(1.0, epsilon)
    mechanisms = {
        "laplace": laplace,
        "flip": PermuteAndFlip(epsilon=epsilon, sensitivity=1.0),
        "exponential": ExponentialMechanism(epsilon=epsilon, sensitivity=1.0),
        "response": RandomizedResponse(epsilon=epsilon),
        "five": RandomizedResponse(epsilon=epsilon, n_categories=5),
    }
    with mpmath.workdps(800):
        for target in [0.0, 0.25 * epsilon, 0.5 * epsilon, (1 - 2.0**-20) * epsilon]:
            e, t = (mpmath.mpf(mechanisms["laplace"].epsilon), mpmath.mpf(target))
            x = mpmath.mpf(epsilon)
            expected = {
                "laplace": 1 - mpmath.exp((t - e) / 2),
                "flip": 1 - mpmath.exp((t - x) / 2),
                "exponential": (1 - mpmath.exp((t - x) / 2)) ** 2 / (1 - mpmath.exp(-x)),
                "response": (mpmath.exp(x) - mpmath.exp(t)) / (mpmath.exp(x) + 1),
                "five": (1 - mpmath.exp(t - x)) / (1 + 4 * mpmath.exp(-x)),
            }
            for name, value in expected.items():
                found = mechanisms[name].delta(target)
                assert found == pytest.approx(float(value), rel=1e-9 if name == "laplace" else 1e-13, abs=5e-324), name
    for mechanism in mechanisms.values():
        assert (
            mechanism.delta(epsilon * (1 + 1e-12))
            == mechanism.delta(max(1500.0, 2 * epsilon if epsilon < 1e307 else epsilon))
            == 0.0
        )


@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 0.3, 40.0, 700.0, 1e300])
@pytest.mark.parametrize("k", [2, 7, 10**6])
def test_randomized_response_probabilities_have_full_relative_accuracy(epsilon, k):
    response = RandomizedResponse(epsilon=epsilon, n_categories=k)
    with mpmath.workdps(700):
        e = mpmath.exp(-mpmath.mpf(epsilon)) if epsilon < 1e3 else mpmath.mpf(0)
        truth = 1 / (1 + (k - 1) * e)
        for found, exact in [
            (response.truth_probability, truth),
            (response.lie_probability, truth * e),
            (response.contrast, truth * (1 - e)),
        ]:
            assert found == pytest.approx(float(exact), rel=1e-15, abs=0)


@pytest.mark.parametrize(
    "epsilon, sensitivity", [(1e300, 1e-300), (1e-300, 1e300), (2.0, 0.5), (1e-9, 3.0), (1e3, 1.0)]
)
@pytest.mark.parametrize("monotone", [False, True])
def test_choices_have_full_relative_accuracy(epsilon, sensitivity, monotone):
    for scores in [[0.0, 1.0, 3.0, 2.5], [1e308, -1e308, 0.0], [5e-324, 0.0], [2.0, 2.0]]:
        with mpmath.workdps(50):
            rate = mpmath.mpf(epsilon) / (mpmath.mpf(sensitivity) * (1 if monotone else 2))
            weights = [mpmath.exp(rate * (mpmath.mpf(s) - max(scores))) for s in scores]
            exact = [float(w / mpmath.fsum(weights)) for w in weights]
        kind = ExponentialMechanism(epsilon=epsilon, sensitivity=sensitivity, monotone=monotone)
        found = kind.probabilities(scores)
        assert found == pytest.approx(exact, rel=1e-12, abs=1e-307)
        assert found.sum() == pytest.approx(1.0, rel=1e-15, abs=0)
        flip = PermuteAndFlip(epsilon=epsilon, sensitivity=sensitivity).probabilities(scores)
        assert flip.sum() == pytest.approx(1.0, rel=1e-13, abs=0) and (flip >= 0).all()
