"""Composition: published and high-precision values, independent accounting, inverses, order of the bounds."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import common, privacy_loss_distribution
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binom

from dpregret.privacy import composition
from dpregret.privacy.mechanisms import ExponentialMechanism, Gaussian, Laplace, RandomizedResponse


def product_divergence(p, q, k, epsilon):
    """Hockey-stick divergence of k-fold products of two laws on a few outcomes, by enumeration."""
    total = 0.0
    for outcome in itertools.product(range(len(p)), repeat=k):
        outcome = list(outcome)
        total += max(0.0, math.prod(p[outcome]) - math.exp(epsilon) * math.prod(q[outcome]))
    return total


# Basic, advanced, Lemma 4


def test_basic_adds_up():
    assert composition.basic(epsilon=0.25, delta=1e-3, k=4) == (1.0, pytest.approx(4e-3, rel=1e-15, abs=0))
    assert composition.basic(epsilon=0.25, k=4) == (1.0, 0.0)
    assert composition.basic(epsilon=0.25, delta=0.5, k=4) == (1.0, 1.0)


def test_advanced_is_theorem_3_20():
    epsilon, delta = composition.advanced(epsilon=0.1, delta=1e-6, k=100, slack=1e-5)
    assert epsilon == pytest.approx(0.1 * math.sqrt(200 * math.log(1e5)) + 10 * (math.exp(0.1) - 1), rel=1e-14, abs=0)
    assert delta == pytest.approx(1.1e-4, rel=1e-14, abs=0)


def test_lemma_4_formula_and_range():
    each = composition.corollary_4_1(epsilon=0.2, delta=1e-3, k=4)
    assert each == (pytest.approx(0.2 / math.sqrt(16 * math.log(math.e + 200)), rel=1e-15, abs=0), 1e-3 / 8)
    with pytest.raises(ValueError, match=r"epsilon must be .* <= 0.9, got 1.0"):
        composition.corollary_4_1(epsilon=1.0, delta=1e-3, k=4)
    assert composition.corollary_4_1(epsilon=2.0, delta=1e-3, k=4, strict=False)[0] > each[0]


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("delta", [1.0, 0.1, 1e-3, 1e-8])
@pytest.mark.parametrize("k", [1, 2, 4, 16, 100, 1000])
def test_lemma_4_holds_on_a_grid(epsilon, delta, k):
    each, slack = composition.corollary_4_1(epsilon=epsilon, delta=delta, k=k)
    assert composition.optimal(epsilon=each, delta=slack, k=k, target_epsilon=epsilon) <= delta


@pytest.mark.parametrize(("epsilon", "threshold"), [(0.2, 21.2), (2.0, 30.4)])
def test_lemma_4_beats_basic_composition_only_for_many_releases(epsilon, threshold):
    """C18: only if K > 4 ln(e + epsilon / delta), here at delta = 1e-3."""
    exact = 4 * math.log(math.e + epsilon / 1e-3)
    assert round(exact, 1) == threshold
    for k in range(1, 60):
        each, _ = composition.corollary_4_1(epsilon=epsilon, delta=1e-3, k=k, strict=False)
        assert (each > epsilon / k) == (k > exact)


def test_scales_for_four_clicks():
    """C18: K = 4, epsilon = .2, delta = 1e-3: Laplace scales by Lemma 4, basic and optimal composition."""
    each, _ = composition.corollary_4_1(epsilon=0.2, delta=1e-3, k=4)
    best = brentq(lambda x: composition.optimal(epsilon=x, k=4, target_epsilon=0.2) - 1e-3, 0.05, 0.2)
    assert round(1 / each, 1) == 46.1
    assert round(4 / 0.2) == 20
    assert round(1 / best, 2) == 18.65
    assert composition.optimal(epsilon=each, k=4, target_epsilon=0.2) == 0.0


# Optimal composition


@pytest.mark.parametrize(
    ("epsilon", "k", "target", "expected"),
    [(0.6, 4, 0.5, "0.339840145209102952642"), (0.3, 4, 0.5, "0.0855226779150984543133")],
)
def test_optimal_reference_values(epsilon, k, target, expected):
    assert composition.optimal(epsilon=epsilon, k=k, target_epsilon=target) == pytest.approx(
        float(expected), rel=1e-13, abs=0
    )


def test_optimal_of_many_small_releases():
    assert round(composition.optimal(epsilon=0.02, k=999, target_epsilon=1.0), 7) == 0.0243681


@pytest.mark.parametrize("target", [0.0, 0.1, 0.37, 1.0, 1.5])
@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_optimal_by_enumeration(k, delta, target):
    """Randomized response that reveals its input with probability delta, all outcomes of k releases."""
    truth, lie = RandomizedResponse(epsilon=0.6).transition_matrix()
    p = np.concatenate([[delta, 0.0], (1 - delta) * truth])
    q = np.concatenate([[0.0, delta], (1 - delta) * lie])
    expected = product_divergence(p, q, k, target)
    found = composition.optimal(epsilon=0.6, delta=delta, k=k, target_epsilon=target)
    assert found == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("epsilon", "k", "target"),
    [
        (0.02, 10_000, 1.0),
        (0.01, 10_000, 3.0),
        (0.05, 10_000, 60.0),
        (0.1, 1000, 50.0),
        (30.0, 3, 10.0),
        (0.6, 7, 4.19),
    ],
)
def test_optimal_keeps_its_relative_accuracy(epsilon, k, target):
    with mpmath.workdps(60):
        e, t = mpmath.mpf(epsilon), mpmath.mpf(target)
        terms, choose = [], 1
        for i in range(k // 2 + 1):
            if (k - 2 * i) * e > t:
                terms.append(choose * (mpmath.exp((k - i) * e) - mpmath.exp(t + i * e)))
            choose = choose * (k - i) // (i + 1)
        expected = float(mpmath.fsum(terms) / (1 + mpmath.exp(e)) ** k)
    found = composition.optimal(epsilon=epsilon, k=k, target_epsilon=target)
    assert found == pytest.approx(expected, rel=1e-12, abs=0.0)


@pytest.mark.parametrize(("epsilon", "delta", "k"), [(0.1, 0.0, 50), (0.05, 1e-6, 200), (0.5, 1e-4, 5)])
@pytest.mark.parametrize("target", [0.0, 0.5, 1.0])
def test_optimal_agrees_with_dp_accounting(epsilon, delta, k, target):
    parameters = common.DifferentialPrivacyParameters(epsilon, delta)
    # the interval divides epsilon, so that the losses lie on the grid
    pld = privacy_loss_distribution.from_privacy_parameters(parameters, value_discretization_interval=epsilon)
    theirs = pld.self_compose(k).get_delta_for_epsilon(target)
    ours = composition.optimal(epsilon=epsilon, delta=delta, k=k, target_epsilon=target)
    assert ours == pytest.approx(theirs, rel=1e-7, abs=1e-9)


@settings(deadline=None, max_examples=100)
@given(
    epsilon=st.floats(1e-3, 2.0),
    k=st.integers(1, 300),
    delta=st.one_of(st.just(0.0), st.floats(1e-9, 1e-3)),
    slack=st.floats(1e-10, 0.5),
)
def test_optimal_is_below_basic_and_advanced(epsilon, k, delta, slack):
    for total, bound in [
        composition.basic(epsilon=epsilon, delta=delta, k=k),
        composition.advanced(epsilon=epsilon, delta=delta, k=k, slack=slack),
    ]:
        assert composition.optimal(epsilon=epsilon, delta=delta, k=k, target_epsilon=total) <= bound * (1 + 1e-12)


@settings(deadline=None, max_examples=100)
@given(
    epsilon=st.floats(1e-3, 2.0), k=st.integers(1, 300), delta=st.sampled_from([0.0, 1e-6]), part=st.floats(1e-3, 0.95)
)
def test_optimal_epsilon_inverts_optimal(epsilon, k, delta, part):
    target_delta = composition.optimal(epsilon=epsilon, delta=delta, k=k, target_epsilon=part * k * epsilon)
    assume(target_delta < 1.0)
    found = composition.optimal_epsilon(epsilon=epsilon, delta=delta, k=k, target_delta=target_delta)
    assert 0.0 <= found <= k * epsilon * (1 + 1e-15)
    again = composition.optimal(epsilon=epsilon, delta=delta, k=k, target_epsilon=found)
    assert again == pytest.approx(target_delta, rel=1e-8, abs=1e-14)


def test_optimal_epsilon_at_its_ends():
    assert composition.optimal_epsilon(epsilon=0.1, k=10, target_delta=0.0) == 1.0
    assert composition.optimal_epsilon(epsilon=0.1, k=10, target_delta=0.999) == 0.0
    with pytest.raises(ValueError, match=r"target_delta must be .* got 0.0001"):
        composition.optimal_epsilon(epsilon=0.1, k=10, delta=1e-4, target_delta=1e-4)


def test_composed_laplace_is_more_private_than_optimal_composition_says():
    """Two Laplace releases of the same number, by integrating one profile against the other's log-ratio."""

    def inner(x):
        ratio = abs(x - 0.6) - abs(x)
        level = 0.5 - ratio
        gain = 0.0 if level >= 0.6 else -math.expm1((level - 0.6) / 2)
        return 0.5 * math.exp(-abs(x)) * gain

    exact = sum(quad(inner, a, b)[0] for a, b in itertools.pairwise([-40, 0, 0.35, 0.6, 40]))
    assert Laplace(1.0, 0.6).delta(0.5) < exact < composition.optimal(epsilon=0.6, k=2, target_epsilon=0.5)


# Bounded range


def bounded_range_at(t, epsilon, k, target):
    """Divergence of k copies of the binary pair with log-ratios t and t - epsilon, from their probabilities."""
    p = -math.expm1(t - epsilon) / -math.expm1(-epsilon)
    i = np.arange(k + 1)
    p_mass, q_mass = binom.pmf(i, k, 1 - p), binom.pmf(i, k, 1 - p * math.exp(-t))
    return np.maximum(p_mass - math.exp(target) * q_mass, 0).sum()


@pytest.mark.parametrize(("epsilon", "k"), [(0.3, 1), (0.6, 2), (0.6, 6), (0.2, 19), (2.0, 5)])
@pytest.mark.parametrize("target", [0.0, 0.15, 0.5])
def test_bounded_range_is_the_worst_pair(epsilon, k, target):
    if target >= k * epsilon:
        assert composition.bounded_range(epsilon=epsilon, k=k, target_epsilon=target) == 0.0
        return
    grid = np.linspace(0, epsilon, 401)[1:-1]
    values = [bounded_range_at(t, epsilon, k, target) for t in grid]
    peak, width = grid[int(np.argmax(values))], epsilon / 400
    search = minimize_scalar(
        lambda t: -bounded_range_at(t, epsilon, k, target),
        bounds=(peak - width, peak + width),
        options={"xatol": 1e-12},
    )
    worst = max(-search.fun, *values)
    found = composition.bounded_range(epsilon=epsilon, k=k, target_epsilon=target)
    assert found == pytest.approx(worst, rel=1e-9, abs=0)


@pytest.mark.parametrize(
    ("epsilon", "k", "target"), [(0.02, 500, 0.5), (0.01, 1000, 0.0), (0.3, 201, 4.0), (3.0, 250, 700.0)]
)
def test_bounded_range_search_misses_no_better_pair(epsilon, k, target):
    """Long compositions sum only a few candidates in full; here all k + 1 are summed."""
    t = np.minimum((target + np.arange(1, k + 2) * epsilon) / (k + 1), epsilon)[:, None]
    i = np.arange(k + 1)
    p = -np.expm1(t - epsilon) / -math.expm1(-epsilon)
    excess = k * t - i * epsilon - target
    terms = binom.pmf(k - i, k, p) * np.where(excess > 0, -np.expm1(-np.maximum(excess, 0)), 0)
    found = composition.bounded_range(epsilon=epsilon, k=k, target_epsilon=target)
    assert found == pytest.approx(terms.sum(axis=1).max(), rel=1e-11, abs=0)


def test_one_bounded_range_release_is_the_exponential_mechanism():
    for epsilon, target in [(0.1, 0.0), (0.8, 0.3), (5.0, 2.0), (1.0, 1.0)]:
        found = composition.bounded_range(epsilon=epsilon, k=1, target_epsilon=target)
        assert found == pytest.approx(
            ExponentialMechanism(epsilon=epsilon, sensitivity=1.0).delta(target), rel=1e-13, abs=0
        )


def test_bounded_range_bounds_products_of_exponential_mechanisms():
    mechanism = ExponentialMechanism(epsilon=0.6, sensitivity=1.0)
    rng = np.random.default_rng(5)
    for _ in range(20):
        scores = rng.normal(scale=4, size=3)
        p, q = mechanism.probabilities(scores), mechanism.probabilities(scores + rng.choice([-1, 1], 3))
        bound = composition.bounded_range(epsilon=0.6, k=4, target_epsilon=0.4)
        assert product_divergence(p, q, 4, 0.4) <= bound + 1e-14


@settings(deadline=None, max_examples=50)
@given(epsilon=st.floats(1e-2, 2.0), k=st.integers(1, 60), part=st.floats(0.0, 0.95))
def test_order_of_the_bounds(epsilon, k, part):
    """An epsilon / 2 private release is epsilon-bounded-range, and that is epsilon-private and k epsilon^2 / 8 zCDP."""
    target = part * k * epsilon
    bounded = composition.bounded_range(epsilon=epsilon, k=k, target_epsilon=target)
    assert composition.optimal(epsilon=epsilon / 2, k=k, target_epsilon=target) <= bounded * (1 + 1e-11)
    assert bounded <= composition.optimal(epsilon=epsilon, k=k, target_epsilon=target) * (1 + 1e-11)
    assert bounded <= composition.zcdp_delta(rho=k * epsilon**2 / 8, epsilon=target) * (1 + 1e-11)


def test_four_accounts_of_nineteen_releases():
    """Exponential weights with eta = .1 and 20 rounds, delta(.5)."""
    assert composition.optimal(epsilon=0.2, k=19, target_epsilon=0.5) == pytest.approx(0.189, abs=5e-4)
    assert composition.zcdp_delta(rho=19 * 0.1**2 / 2, epsilon=0.5) == pytest.approx(0.0715, abs=5e-5)
    assert composition.bounded_range(epsilon=0.2, k=19, target_epsilon=0.5) == pytest.approx(0.0356, abs=5e-5)
    assert composition.optimal(epsilon=0.1, k=19, target_epsilon=0.5) == pytest.approx(0.0322, abs=5e-5)


@pytest.mark.parametrize(("epsilon", "k"), [(0.003, 999), (0.5, 7), (0.02, 5000)])
@pytest.mark.parametrize("target_delta", [1e-2, 1e-6])
def test_bounded_range_epsilon_inverts_bounded_range(epsilon, k, target_delta):
    found = composition.bounded_range_epsilon(epsilon=epsilon, k=k, target_delta=target_delta)
    again = composition.bounded_range(epsilon=epsilon, k=k, target_epsilon=found)
    assert again == pytest.approx(target_delta, rel=1e-7, abs=0)


# Zero-concentrated privacy


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5, 3.0, 50.0])
@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0, 2.0, 5.0])
def test_zcdp_delta_is_the_minimum_over_orders(rho, ratio):
    """The infimum searched on a fine grid of orders, without using that the objective is convex."""
    epsilon = ratio * rho
    a = np.exp(np.linspace(-120, 25, 200_001))
    log_bound = a * ((a + 1) * rho - epsilon) + a * np.log(a) - (a + 1) * np.log1p(a)
    found = composition.zcdp_delta(rho=rho, epsilon=epsilon)
    assert found <= np.exp(log_bound.min()) * (1 + 1e-12)
    assert found == pytest.approx(np.exp(log_bound.min()), rel=1e-4, abs=0)


@settings(deadline=None, max_examples=100)
@given(rho=st.floats(1e-6, 100.0), epsilon=st.floats(0.0, 500.0))
def test_zcdp_delta_bounds_the_gaussian_mechanism(rho, epsilon):
    exact = Gaussian(1.0, math.sqrt(2 * rho)).delta(epsilon)
    bound = composition.zcdp_delta(rho=rho, epsilon=epsilon)
    assert exact * (1 - 1e-11) <= bound <= 1.0


@pytest.mark.parametrize("rho", [1e-5, 0.01, 1.0, 20.0, 1000.0])
@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-9, 1e-200])
def test_zcdp_closed_form_and_inverse(rho, delta):
    closed = composition.zcdp(rho=rho, delta=delta)
    assert closed == pytest.approx(rho + 2 * math.sqrt(rho * -math.log(delta)), rel=1e-14, abs=0)
    assert math.sqrt(rho) == pytest.approx(
        math.sqrt(-math.log(delta) + closed) - math.sqrt(-math.log(delta)), rel=1e-7, abs=0
    )
    best = composition.zcdp_epsilon(rho=rho, delta=delta)
    assert 0.0 <= best <= closed
    if best > 0.0:
        assert composition.zcdp_delta(rho=rho, epsilon=best) == pytest.approx(delta, rel=1e-9, abs=0)


def test_accounts_of_a_thousand_rounds():
    """The learning rate that advanced composition allows for (1, 1e-6) and 1000 rounds, accounted in four ways."""
    eta, k = 0.001503978200167620980916, 999
    assert round(composition.bounded_range_epsilon(epsilon=2 * eta, k=k, target_delta=1e-6), 3) == 0.179
    assert round(composition.zcdp_epsilon(rho=k * eta**2 / 2, delta=1e-6), 3) == 0.195
    assert round(composition.zcdp(rho=k * eta**2 / 2, delta=1e-6), 3) == 0.251
    assert round(composition.optimal_epsilon(epsilon=2 * eta, k=k, target_delta=1e-6), 3) == 0.375
    total, delta = composition.advanced(epsilon=2 * eta, k=1000, slack=1e-6)
    assert (total, delta) == (pytest.approx(0.509061423056895594240940, rel=1e-13, abs=0), 1e-6)


def test_optimal_in_exact_rationals():
    """e^epsilon = 2 and e^target = 3/2: everything is rational."""
    k, ratio, target = 6, Fraction(2), Fraction(3, 2)
    expected = (
        sum(math.comb(k, i) * max(Fraction(0), ratio ** (k - i) - target * ratio**i) for i in range(k + 1)) / 3**k
    )
    found = composition.optimal(epsilon=math.log(2), k=k, target_epsilon=math.log(1.5))
    assert found == pytest.approx(float(expected), rel=1e-14, abs=0)


# Bad input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: composition.basic(epsilon=0.0, k=1), "epsilon must be .* > 0, got 0.0"),
        (lambda: composition.basic(epsilon=1.0, k=0), "k must be an integer >= 1, got 0"),
        (lambda: composition.basic(epsilon=1.0, k=2.5), "k must be an integer >= 1, got 2.5"),
        (lambda: composition.basic(epsilon=1.0, k=1, delta=1.0), "delta must be .* < 1, got 1.0"),
        (lambda: composition.advanced(epsilon=1.0, k=1, slack=0.0), "slack must be .* > 0 .* got 0.0"),
        (lambda: composition.optimal(epsilon=1.0, k=1, target_epsilon=-1.0), "target_epsilon must be .* got -1.0"),
        (lambda: composition.optimal(epsilon=math.nan, k=1, target_epsilon=1.0), "epsilon must be .* got nan"),
        (lambda: composition.optimal_epsilon(epsilon=1.0, k=1, target_delta=1.0), "target_delta must be .* got 1.0"),
        (lambda: composition.bounded_range(epsilon=1.0, k=True, target_epsilon=1.0), "k must be .* got True"),
        (lambda: composition.bounded_range_epsilon(epsilon=1.0, k=1, target_delta=-0.1), "target_delta .* got -0.1"),
        (lambda: composition.corollary_4_1(epsilon=0.5, delta=0.0, k=1), "delta must be .* > 0 .* got 0.0"),
        (lambda: composition.corollary_4_1(epsilon=0.0, delta=0.1, k=1, strict=False), "epsilon must be .* got 0.0"),
        (lambda: composition.zcdp(rho=0.0, delta=0.1), "rho must be .* > 0, got 0.0"),
        (lambda: composition.zcdp(rho=1.0, delta=1.0), "delta must be .* < 1, got 1.0"),
        (lambda: composition.zcdp_delta(rho=1.0, epsilon=-1.0), "epsilon must be .* >= 0, got -1.0"),
        (lambda: composition.zcdp_epsilon(rho="1", delta=0.5), "rho must be .* got '1'"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Exact numbers over the whole range, against mpmath


def exact_pair(t, epsilon, k, target):
    """Divergence of k copies of the binary pair with log-ratios t and t - epsilon, all in mpmath."""
    high = (1 - mpmath.exp(t - epsilon)) / (1 - mpmath.exp(-epsilon))
    ratio, weight, total = (1 - high) / high, high**k, mpmath.mpf(0)
    for i in range(k + 1):
        excess = k * t - i * epsilon - target
        if excess <= 0:
            break
        total += weight * (1 - mpmath.exp(-excess))
        weight *= ratio * (k - i) / (i + 1)
    return total


@pytest.mark.parametrize("epsilon", [1e-250, 1e-15, 1e-12, 1e-6, 0.3])
@pytest.mark.parametrize("k, part", [(201, 0.0), (251, 0.2)])
def test_bounded_range_of_many_releases_is_the_exact_maximum(epsilon, k, part):
    target = part * k * epsilon
    found = composition.bounded_range(epsilon=epsilon, k=k, target_epsilon=target)
    with mpmath.workdps(40 if epsilon > 1e-100 else 300):
        e, goal = mpmath.mpf(epsilon), mpmath.mpf(target)
        candidates = [(goal + (j + 1) * e) / (k + 1) for j in range(0 if part else 60, k + 1 if part else 140)]
        exact = max(exact_pair(t, e, k, goal) for t in candidates if k * t > goal and t < e)
    assert found == pytest.approx(float(exact), rel=1e-11, abs=0)


def test_the_pairs_rise_and_then_fall():
    """What the search for the worst pair of many small releases rests on, over all pairs."""
    for k, epsilon, part in itertools.product([201, 800], [1e-200, 1e-13, 1e-7, 0.01], [0.0, 1e-3, 0.05, 0.5]):
        target, j, i = part * k * epsilon, np.arange(k + 1)[:, None], np.arange(k + 1)
        t, rest = (target + (j + 1) * epsilon) / (k + 1), ((k - j) * epsilon - target) / (k + 1)
        kept = ((k * t > target) & (rest > 0))[:, 0]
        t, rest = t[kept], rest[kept]
        excess = k * t - i * epsilon - target
        high = np.expm1(-rest) / math.expm1(-epsilon)
        values = (binom.pmf(k - i, k, high) * -np.expm1(-np.maximum(excess, 0))).sum(axis=1)
        steps = np.diff(values)
        signs = np.sign(steps[abs(steps) > 1e-12 * values.max()])
        assert (np.diff(signs) <= 0).all()
        found = composition.bounded_range(epsilon=epsilon, k=k, target_epsilon=target)
        assert found == pytest.approx(values.max(), rel=1e-12, abs=0)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-15, 1e-6, 0.3, 40.0, 1e300])
@pytest.mark.parametrize("k, part", [(1, 0.0), (2, 0.3), (19, 0.0), (200, 0.1)])
@pytest.mark.parametrize("delta", [0.0, 1e-12])
def test_optimal_over_the_whole_range(epsilon, k, part, delta):
    target = part * k * epsilon
    with mpmath.workdps(700):
        e, t, d = mpmath.mpf(epsilon), mpmath.mpf(target), mpmath.mpf(delta)
        small = mpmath.exp(-e) if epsilon < 1e3 else mpmath.mpf(0)
        pure = mpmath.mpf(0)
        for i in range(k + 1):
            if (excess := (k - 2 * i) * e - t) > 0:
                gain = 1 - (mpmath.exp(-excess) if excess < 1e4 else 0)
                pure += mpmath.binomial(k, i) * small**i * gain
        exact = 1 - (1 - d) ** k * (1 - pure / (1 + small) ** k)
    found = composition.optimal(epsilon=epsilon, k=k, delta=delta, target_epsilon=target)
    assert found == pytest.approx(float(exact), rel=1e-12, abs=0)


@pytest.mark.parametrize("k", [2, 19, 300])
@pytest.mark.parametrize("epsilon", [1e-12, 0.01, 0.7])
@pytest.mark.parametrize("part", [1e-3, 0.3, 0.999])
def test_a_smallest_epsilon_meets_its_delta(k, epsilon, part):
    for epsilon_of, profile, high in [
        (composition.optimal_epsilon, composition.optimal, {"epsilon": epsilon, "k": k}),
        (composition.bounded_range_epsilon, composition.bounded_range, {"epsilon": epsilon, "k": k}),
    ]:
        target_delta = part * profile(**high, target_epsilon=0.0)
        found = epsilon_of(**high, target_delta=target_delta)
        assert profile(**high, target_epsilon=found) <= target_delta
        assert profile(**high, target_epsilon=found * (1 - 1e-9)) > target_delta
    rho = k * epsilon**2 / 8
    found = composition.zcdp_epsilon(rho=rho, delta=part)
    assert composition.zcdp_delta(rho=rho, epsilon=found) <= part


@pytest.mark.parametrize("rho", [1e-12, 1e-3, 0.5, 30.0, 1e4])
@pytest.mark.parametrize("ratio", [0.0, 1.0, 1.5, 10.0, 1e4])
def test_zcdp_delta_against_a_minimum_in_mpmath(rho, ratio):
    epsilon = ratio * rho
    found = composition.zcdp_delta(rho=rho, epsilon=epsilon)
    with mpmath.workdps(40):
        r, e = mpmath.mpf(rho), mpmath.mpf(epsilon)

        def log_bound(a):
            return a * ((a + 1) * r - e) + a * mpmath.log(a) - (a + 1) * mpmath.log1p(a)

        def slope(x):
            a = mpmath.exp(x)
            return (2 * a + 1) * r - e - mpmath.log1p(1 / a)

        low, high = mpmath.mpf(-40000), mpmath.mpf(200)
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        exact = mpmath.exp(log_bound(mpmath.exp(low)))
    assert found == pytest.approx(float(exact), rel=1e-11, abs=1e-307)


def test_advanced_composition_of_a_huge_epsilon_is_infinite():
    assert composition.advanced(epsilon=1e3, k=2, slack=0.1) == (math.inf, 0.1)
    assert composition.zcdp(rho=2.0, delta=0.25) == pytest.approx(2 + 2 * math.sqrt(2 * math.log(4)), rel=1e-15, abs=0)
