"""Divergences and test errors of the hard pairs against closed forms, quadrature, enumeration and simulation."""

import itertools
import math

import flint
import numpy as np
import pytest
from scipy import integrate, special, stats

from evidence.contextual import lower_bounds as lb

ALPHAS = [0.01, 0.1, 0.5, math.log(2), 0.8, 1.0]


# Theorem 2.1


@pytest.mark.parametrize("alpha", ALPHAS)
def test_linear_program_is_the_closed_form_for_a_rare_direction_and_below_its_bound(alpha):
    kappa = lb.channel_divergence(alpha)
    assert lb.channel_divergence_lp(alpha, 1e-7) == pytest.approx(kappa, rel=1e-5, abs=0)
    for q in (0.01, 0.3, 0.9):
        assert lb.channel_divergence_lp(alpha, q) <= kappa / (1 + q * math.expm1(-alpha)) * (1 + 1e-9)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_two_channels_behind_the_closed_form(alpha):
    e, q = math.exp(alpha), 1e-6
    bit = np.array([[1, 1, e], [e, e, 1]]) / (1 + e)
    letters = (np.ones((3, 3)) + (e - 1) * np.eye(3)) / (2 + e)
    found = []
    for channel in (bit, letters):
        zero, one = channel @ [1 - q, q, 0], channel @ [1 - q, 0, q]
        found.append(float((one - zero) @ np.log1p((one - zero) / zero)) / q**2)
    assert lb.channel_divergence(alpha) == pytest.approx(max(found), rel=1e-4, abs=0)


def test_bayes_risk_by_enumeration_of_all_reports():
    n, alpha, c = 8, 0.7, 0.9
    q, keep = c / math.sqrt(n), special.expit(alpha)
    rate = [1 - keep, 1 - keep + q * (2 * keep - 1)]
    risk = 0.0
    for bits in itertools.product((0, 1), repeat=n):
        p, r = (math.prod(x if bit else 1 - x for bit in bits) for x in rate)
        risk += q * (p / 2) * (r / 2) / (p / 2 + r / 2)
    assert lb.randomized_response_risk(n=n, alpha=alpha, c=c) == pytest.approx(risk, rel=1e-12, abs=0)


def bayes_risk_in_balls(n, alpha, c):
    """``(q/2) sum p0 p1/(p0 + p1)`` over 13 standard deviations beyond both centres, in ball arithmetic."""
    alpha, wide = flint.arb(alpha), 13 * math.sqrt(n) / 2 + 13
    q = flint.arb(1) if c >= math.sqrt(n) else flint.arb(c) / flint.arb(n).sqrt()
    keep = 1 / (1 + (-alpha).exp())
    rates = [1 - keep, 1 - keep + q * (2 * keep - 1)]
    low = max(0, math.floor(n * float(rates[0]) - wide))
    high = min(n, math.ceil(n * float(rates[1]) + wide))
    ways = flint.arb(n + 1).lgamma() - flint.arb(low + 1).lgamma() - flint.arb(n - low + 1).lgamma()
    p, r = ((ways + low * rate.log() + (n - low) * (1 - rate).log()).exp() for rate in rates)
    odds = [rate / (1 - rate) for rate in rates]
    total = flint.arb(0)
    for k in range(low, high + 1):
        total += p * r / (p + r)
        factor = flint.arb(n - k) / (k + 1)
        p, r = p * factor * odds[0], r * factor * odds[1]
    return q / 2 * total


@pytest.mark.parametrize(
    ("n", "alphas", "units", "accuracy"),
    [
        (1, (1.0, 1e-3), (0.1, None, 5, 50), 1e-13),
        (1000, (1.0, 0.1, 1e-3), (0.1, None, 5, 50), 2e-13),
        (31_623, (1.0, 0.1, 0.01), (None, 5, 50), 5e-13),
        (10**6, (1.0, 0.5, 0.01), (None, 5), 5e-13),
        (10**6, (1.0, 0.1), (50,), 5e-12),  # errors of 1e-53 and 1e-125
        (10**8, (1.0, 0.01), (None, 5), 2e-12),
        (10**9, (0.5,), (None,), 1e-12),
    ],
)
def test_bayes_risk_against_ball_arithmetic(n, alphas, units, accuracy):
    """Far more accurate than the 1e-9 to which the figures' exact numbers are compared; c in units of 1/(e^a - 1)."""
    flint.ctx.prec = 160
    for alpha, unit in itertools.product(alphas, units):
        c = lb.paper_c(alpha) if unit is None else unit / math.expm1(alpha)
        exact = bayes_risk_in_balls(n, alpha, c)
        assert float(exact.rel_accuracy_bits()) > 60
        assert abs(lb.randomized_response_risk(n=n, alpha=alpha, c=c) / exact - 1) < accuracy, (alpha, unit)


@pytest.mark.parametrize("alpha", [0.05, 1.0])
@pytest.mark.parametrize("n", [1, 10, 1000, 10**7])
def test_bounds_are_ordered(alpha, n):
    paper, proof = (lb.mean_square_bound(n=n, alpha=alpha, version=v) for v in ("paper", "corrected"))
    sharp = lb.mean_square_bound(n=n, alpha=alpha, version="sharp")
    best = max(lb.randomized_response_risk(n=n, alpha=alpha, c=c) for c in np.geomspace(0.1, 30, 60) / alpha)
    shrink = min(1.0, 1 / (2 * math.tanh(alpha / 2) * math.sqrt(n)))
    assert proof <= 1.000001 * sharp <= 1.001 * best  # a grid of c
    assert sharp <= shrink
    assert paper <= min(1.000001 * sharp, lb.randomized_response_risk(n=n, alpha=alpha))


def test_sharp_bound_for_many_users():
    assert lb.mean_square_bound(n=1e12, alpha=0.3, version="sharp") == pytest.approx(
        1 / (8 * math.sqrt(lb.channel_divergence(0.3) * 1e12)), rel=1e-5, abs=0
    )


# Laplace mixtures


def density(z, centre, alpha):
    a, b = centre
    return sum(alpha**2 / 8 * np.exp(-alpha * abs(z[0] - s * a) - alpha * abs(z[1] - s * b)) for s in (1, -1))


@pytest.mark.parametrize(
    ("mu", "nu"),
    [((0.4, 0.2), (0.0, 0.0)), ((0.5, 0.0), (0.5, 0.3)), ((0.7, 0.35), (0.7, -0.35)), ((0, 0), (0.3, -0.6))],
)
@pytest.mark.parametrize("alpha", [1.0, 0.4])
def test_divergences_against_a_sum_over_a_fine_lattice(mu, nu, alpha):
    mu, nu = (tuple(np.divide(centre, alpha)) for centre in (mu, nu))
    grid = np.linspace(-25, 25, 1251) / alpha
    step = grid[1] - grid[0]
    z = np.meshgrid(grid, grid, indexing="ij")
    p, q = density(z, mu, alpha) * step**2, density(z, nu, alpha) * step**2
    pair = lb.LaplaceMixtures(mu, nu, alpha)
    assert pair.mass.sum() == pytest.approx(1, abs=1e-13)
    assert pair.kl == pytest.approx(float((p * np.log(p / q) - p + q).sum()), rel=2e-2, abs=0)
    assert pair.reverse_kl == pytest.approx(float((q * np.log(q / p) - q + p).sum()), rel=2e-2, abs=0)
    assert pair.chi_square == pytest.approx(float(((p - q) ** 2 / q).sum()), rel=2e-2, abs=0)


def test_one_coordinate_is_a_closed_integral():
    a = 0.6
    inside = integrate.quad(lambda u: math.exp(-u) * ((math.exp(2 * u - a) + math.exp(-a)) / 2 - 1) ** 2, 0, a)[0]
    exact = math.exp(-a) * (math.cosh(a) - 1) ** 2 + inside
    assert lb.LaplaceMixtures((a, 0), (0, 0)).chi_square == pytest.approx(exact, rel=1e-11, abs=0)
    assert lb.LaplaceMixtures((0, -a / 0.3), (0, 0), 0.3).chi_square == pytest.approx(exact, rel=1e-11, abs=0)


@pytest.mark.parametrize("share", [0, 0.25, 0.5, -0.5, 1])
@pytest.mark.parametrize("size", [1e-5, 1e-3, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_lemma_6_1_with_its_best_constants(share, size, alpha):
    pair = lb.LaplaceMixtures((size * (1 - abs(share)), size * share), (0, 0), alpha)
    cube = (alpha * size) ** 3
    assert pair.kl <= cube / 6 * (1 + 1e-9)
    assert pair.chi_square <= cube / 3 * (1 + 1e-9)
    assert pair.kl <= pair.chi_square <= lb.LEMMA_6_1_CONSTANT * cube


@pytest.mark.parametrize("m", [1e-4, 0.02, 0.2, 0.8])
@pytest.mark.parametrize("t", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("alpha", [0.2, 1.0])
def test_sign_flip_chi_square_is_below_its_bound_and_tends_to_it(m, t, alpha):
    exact, bound = lb.sign_flip_pair(m, alpha, t).chi_square, lb.sign_flip_chi_square_bound(m, alpha, t)
    assert exact <= bound
    assert exact >= bound * (1 - 6 * alpha * m)


# Test errors


def log_density(z, centre):
    parts = [-np.abs(z[..., 0] - s * centre[0]) - np.abs(z[..., 1] - s * centre[1]) for s in (1, -1)]
    return np.logaddexp(*parts)


@pytest.mark.parametrize(("pair", "n"), [(lb.theorem_2_2_pair(0.5, 1.0), 100), (lb.sign_flip_pair(0.5, 1.0), 150)])
def test_overlap_against_simulated_tests(pair, n):
    # 12000 tests a law; four standard errors, error rate 6e-5 each
    rng, runs = np.random.default_rng(20240414), 12_000
    wrong = 0
    for centre, sign in ((pair.mu, 1), (pair.nu, -1)):
        signs = rng.choice([-1, 1], (runs, n, 1))
        z = signs * np.array(centre) + rng.laplace(size=(runs, n, 2))
        wrong += int((sign * (log_density(z, pair.nu) - log_density(z, pair.mu)).sum(axis=1) > 0).sum())
    error = wrong / (2 * runs)
    assert abs(error - pair.overlap(n) / 2) < 4 * math.sqrt(0.25 / (2 * runs))


@pytest.mark.parametrize("n", [1e4, 1e10, 1e16])
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_overlap_tends_to_the_normal_limit(n, alpha):
    pair = lb.sign_flip_pair(0.5 * n**-0.25 / alpha**0.5, alpha)
    spread = math.sqrt(2 * n * pair.kl)
    assert pair.overlap(n) == pytest.approx(2 * stats.norm.cdf(-spread / 2), rel=2 * n**-0.25, abs=1e-8)


@pytest.mark.parametrize("n", [1e3, 1e8, 1e14])
def test_overlap_lies_between_le_cam_and_pinsker(n):
    for pair in (lb.theorem_2_2_pair(n ** (-1 / 3), 1.0), lb.sign_flip_pair(n**-0.25, 1.0)):
        affinity = n * math.log1p(-float(pair.mass @ np.expm1(pair.log_ratio / 2) ** 2) / 2)
        assert 1 - math.sqrt(n * min(pair.kl, pair.reverse_kl) / 2) <= pair.overlap(n)
        assert 1 - math.sqrt(-math.expm1(2 * affinity)) <= pair.overlap(n) <= math.exp(affinity)


def test_equal_laws_overlap_wholly():
    assert lb.LaplaceMixtures((0.3, 0.0), (0.3, 0.0)).overlap(1000) == 1.0


# Certified bounds


def test_closed_form_of_the_input_perturbation_bound():
    for alpha in np.geomspace(1e-4, 1, 17):
        for n in np.geomspace(1, 1e18, 37):
            simple = min(0.15, 0.18 / (alpha * n**0.25))
            assert lb.input_perturbation_bound(n=n, alpha=alpha) >= 1.05 * simple


def test_two_numbers_prove_the_closed_form():
    # with m0 = 1/2 and x0 = 1.2 the bound is m0 (1 - x0^2 sqrt(chi2(m0)/2))/2 times min(1, x0/(alpha n^(1/4)))
    level = 0.25 * (1 - 1.44 * math.sqrt(lb.sign_flip_chi_square_bound(0.5, 1.0) / 2))
    assert level >= 0.15
    assert 1.2 * level >= 0.18


def test_input_perturbation_bound_is_below_the_exact_le_cam_bound():
    for n in (1e3, 1e8):
        exact = max(0.5 * m * lb.sign_flip_pair(m, 1.0).overlap(n) for m in np.geomspace(0.2, 2, 40) * n**-0.25)
        assert lb.input_perturbation_bound(n=n, alpha=1.0) <= exact


def test_statistics_kl_is_that_of_shifted_laplace_laws():
    m, b = 0.7, 1.3
    p, q = stats.laplace(m**2, b), stats.laplace(-(m**2), b)
    kl = integrate.quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), -60, 60, points=[-(m**2), m**2])[0]
    assert lb.statistics_kl(m, b) == pytest.approx(kl, rel=1e-9, abs=0)
    assert lb.statistics_kl(m, b) <= 2 * m**4 / b**2
    assert lb.statistics_kl(1e-3, b) == pytest.approx(2e-12 / b**2, rel=1e-5, abs=0)


def test_statistics_bounds_are_the_maxima_over_m():
    n, b = 1e6, 2.0
    m = np.linspace(1e-3, 0.2, 200_001)
    deviation = m * (1 - m**2 * math.sqrt(n) / b)
    assert lb.statistics_bound(n=n, scale=b) == pytest.approx(deviation.max(), rel=1e-6, abs=0)
    regret = m * n / 2 * (1 - 2 / 3 * m**2 * math.sqrt(n) / b)
    assert lb.statistics_bound(n=n, scale=b, quantity="regret") == pytest.approx(regret.max(), rel=1e-6, abs=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lb.paper_c(0.0), "alpha must be"),
        (lambda: lb.paper_c(1.5), "alpha must be"),
        (lambda: lb.mean_square_bound(n=0, alpha=1.0), "n must be"),
        (lambda: lb.mean_square_bound(n=10, alpha=1.0, version="best"), "version must be"),
        (lambda: lb.randomized_response_risk(n=10**10, alpha=1.0), "n must be"),
        (lambda: lb.channel_divergence_lp(1.0, 1.0), "q must be"),
        (lambda: lb.LaplaceMixtures((0.1,), (0.0, 0.0)), "mu must have two"),
        (lambda: lb.sign_flip_pair(0.9, 1.0), "m must be"),
        (lambda: lb.sign_flip_pair(0.1, 1.0).overlap(10), "n must be"),
        (lambda: lb.statistics_bound(n=1, scale=4.0), "scale must be"),
        (lambda: lb.statistics_kl(1.1, 1.0), "m must be"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
