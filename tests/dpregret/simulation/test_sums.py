"""Sums over n users: against per-user sums, against exact laws, at huge n, and refusals.

Kolmogorov-Smirnov tests and moment checks run with fixed seeds. There are fewer than 200 of them, each at level 1e-5, so
that by Bonferroni the file has a false alarm with probability below 2e-3 over the choice of seeds.
"""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import gammainc, ndtr

from dpregret.simulation import sums
from dpregret.simulation.seeds import generator

LEVEL = 1e-5
Z = stats.norm.isf(LEVEL / 2)
RUNS = 20_000


def same_law(x, y):
    assert stats.ks_2samp(x, y).pvalue > LEVEL


def has_law(x, cdf):
    assert stats.kstest(x, cdf).pvalue > LEVEL


def standard_normal_moments(z, kurtosis=0.0):
    """Mean 0 and variance 1 within the fluctuation of ``len(z)`` draws."""
    assert abs(z.mean()) < Z / math.sqrt(len(z))
    assert abs(z.var() - 1) < Z * math.sqrt((2 + kurtosis) / len(z))


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_laplace_sum_has_the_law_of_per_user_sums(n):
    rng = generator(1, "laplace", n)
    same_law(sums.laplace_sum(rng, n, 1.7, RUNS), rng.laplace(0, 1.7, (RUNS, n)).sum(1))


@pytest.mark.parametrize("n", [1e6, 1e12, 1e18, 1e24, 1e40])
def test_laplace_sum_of_many_users_is_normal(n):
    z = sums.laplace_sum(generator(2, n), n, 0.3, RUNS) / (0.3 * math.sqrt(2 * n))
    has_law(z, ndtr)
    assert len(np.unique(z)) == RUNS  # no granularity


def test_laplace_sums_broadcast():
    rng = generator(3)
    assert sums.laplace_sum(rng, [0, 0, 5], [[1.0], [2.0]]).shape == (2, 3)
    assert (sums.laplace_sum(rng, [0, 0, 5], [[1.0], [2.0]])[:, :2] == 0).all()
    assert isinstance(sums.laplace_sum(rng, 3, 1.0), float)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 2), (3, 2), (4, 3)])
def test_wishart_sum_has_the_law_of_per_user_sums(n, d, centred):
    rng = generator(4, n, d, centred)
    v = np.eye(d) + 0.3 * np.ones((d, d))
    ours = sums.wishart_sum(rng, np.full(RUNS, n), d + 1, v, centred=centred)
    theirs = stats.wishart(d + 1, v).rvs(RUNS * n, random_state=rng).reshape(RUNS, n, d, d).sum(1)
    theirs = theirs - centred * n * (d + 1) * v
    for statistic in (np.trace, lambda m, **_: np.linalg.eigvalsh(m)[..., 0], lambda m, **_: m[..., -1, 0]):
        same_law(statistic(ours, axis1=-2, axis2=-1), statistic(theirs, axis1=-2, axis2=-1))
    assert (ours == ours.swapaxes(-1, -2)).all()


@pytest.mark.parametrize("n", [1e9, 1e18, 1e30])
def test_wishart_sum_of_many_users_has_exact_covariance(n):
    d, v = 3, np.array([[2.0, 0.3, 0], [0.3, 1.0, -0.2], [0, -0.2, 0.5]])
    draws = sums.wishart_sum(generator(5, n), np.full(RUNS, n), d + 1, v, centred=True) / math.sqrt(n * (d + 1))
    # Cov(W_ij, W_kl) = N (V_ik V_jl + V_il V_jk)
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)):
        has_law(draws[:, i, j] / math.sqrt(v[i, i] * v[j, j] + v[i, j] ** 2), ndtr)
    x, y = draws[:, 0, 0] / math.sqrt(2 * v[0, 0] ** 2), draws[:, 0, 1] / math.sqrt(v[0, 0] * v[1, 1] + v[0, 1] ** 2)
    expected = 2 * v[0, 0] * v[0, 1] / math.sqrt(2 * v[0, 0] ** 2 * (v[0, 0] * v[1, 1] + v[0, 1] ** 2))
    assert abs(np.arctanh(np.corrcoef(x, y)[0, 1]) - np.arctanh(expected)) < Z / math.sqrt(RUNS)


def test_wishart_sum_of_nobody_is_zero_and_the_mean_is_added_once():
    assert (sums.wishart_sum(generator(6), [0, 0], 4, np.eye(3)) == 0).all()
    plain, centred = (sums.wishart_sum(generator(6), 7, 3, np.eye(2), centred=c) for c in (False, True))
    np.testing.assert_allclose(plain - centred, 21 * np.eye(2), rtol=1e-14)


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (50, 0.02), (1000, 0.7), (10**6, 1e-6)])
def test_binomial_is_exact_for_few_users(n, p):
    draws = sums.binomial(generator(7, n), n, p, RUNS)
    edges = np.unique(stats.binom.ppf(np.linspace(0.05, 0.95, 13), n, p))
    cells = np.bincount(np.searchsorted(edges, draws), minlength=len(edges) + 1)
    law = np.diff(np.r_[0, stats.binom.cdf(edges, n, p), 1])
    assert stats.chisquare(cells[law > 0], RUNS * law[law > 0]).pvalue > LEVEL


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("p", [0.5, 0.1, 1 - 1e-7, 1e-9])
@pytest.mark.parametrize("n", [10**13, 10**18, 1e24])
def test_binomial_of_many_users(n, p, centred):
    if p > 0.9 and not centred:
        n = min(n, 1e18)  # beyond, the rounding of a sum near n hides the failures, as documented
    draws = sums.binomial(generator(8, n, p, centred), n, p, 200_000, centred=centred)
    v = n * p * (1 - p)
    z = (draws - (0 if centred else n * p)) / math.sqrt(v)
    standard_normal_moments(z, (1 - 6 * p * (1 - p)) / v)
    assert abs(z).max() < 6.5  # of 2e5 normal draws: above with probability 2e-5
    if centred and v > 1e8:
        has_law(z, ndtr)


@pytest.mark.parametrize("p", [0.5, 1e-7, 5.1e-8])
def test_normal_binomial_is_within_its_stated_distance(p):
    """Exact: the law of the floored Cornish-Fisher variable against the binomial distribution function."""
    n = 2e12
    v = n * p * (1 - p)
    k = np.unique(np.floor(n * p + math.sqrt(v) * np.linspace(-9, 9, 2001)))
    skew = (1 - 2 * p) / 6
    # the x for which sqrt(v) x + skew (x^2 - 1) = k + 1/2 - n p
    target = k + 0.5 - n * p + skew
    x = 2 * target / (math.sqrt(v) + np.sqrt(v + 4 * skew * target))
    assert abs(ndtr(x) - stats.binom.cdf(k, n, p)).max() < 1e-6


@pytest.mark.parametrize("p", [4.9e-8, 1e-10, 1e-12])
def test_poisson_counts_are_within_their_stated_distance(p):
    n = 2e12
    k = np.arange(int(n * p - 9 * math.sqrt(n * p)) - 1, n * p + 9 * math.sqrt(n * p) + 9)
    assert abs(stats.poisson.cdf(k, n * p) - stats.binom.cdf(k, n, p)).max() < 1e-7


@pytest.mark.parametrize("a", [1e3, 1e5])
def test_the_cube_of_a_normal_variable_is_within_a_hundredth_over_the_shape(a):
    x = np.linspace(-5, 5, 1001)
    d = a - 1 / 3
    value = a + np.sqrt(d) * x + (x * x - 1) / 3 + x**3 / (27 * np.sqrt(d))
    assert abs(gammainc(a, value) - ndtr(x)).max() * a < 0.011


@pytest.mark.parametrize("n", [9.9e8, 1.1e9])  # on both sides of the change of method
def test_gamma_continues_across_its_threshold(n):
    z = sums._centred_gamma(generator(9, n), np.full(200_000, n)) / math.sqrt(n)
    has_law(z, ndtr)
    standard_normal_moments(z)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("n", "mean"), [(7, 0.4), (30, -0.8), (200, 0.0)])
def test_signed_sum_has_the_law_of_per_user_sums(n, mean, centred):
    rng = generator(10, n, centred)
    ours = sums.signed_sum(rng, n, mean, RUNS, centred=centred) + centred * n * mean
    theirs = np.where(rng.random((RUNS, n)) < (1 + mean) / 2, 1, -1).sum(1)
    same_law(np.rint(ours), theirs)


@pytest.mark.parametrize("mean", [0.0, 0.6, -1 + 1e-6])
def test_signed_sum_of_many_users(mean):
    z = sums.signed_sum(generator(11, mean), 1e18, mean, RUNS, centred=True) / math.sqrt(1e18 * (1 - mean**2))
    has_law(z, ndtr)
    assert sums.signed_sum(generator(11), 10**18, [1.0, -1.0]).tolist() == [1e18, -1e18]
    assert sums.signed_sum(generator(11), 10**18, [1.0, -1.0], centred=True).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: sums.binomial(r, -1, 0.5), "n must be"),
        (lambda r: sums.binomial(r, 2.5, 0.5), "n must be a whole number, got 2.5"),
        (lambda r: sums.binomial(r, 1e27, 0.5), r"n must be finite and in \[0, 1e\+26\]"),
        (lambda r: sums.binomial(r, 10, 1.5), "p must be"),
        (lambda r: sums.binomial(r, [10, 20], 0.5, size=3), "size must be"),
        (lambda r: sums.signed_sum(r, 10, -1.2), "mean must be"),
        (lambda r: sums.signed_sum(r, math.nan, 0.2), "n must be"),
        (lambda r: sums.laplace_sum(r, 3, -1.0), "scale must be"),
        (lambda r: sums.wishart_sum(r, 5, 1, np.eye(2)), "degrees must be"),
        (lambda r: sums.wishart_sum(r, 5, 3, [[1, 0.5], [0.4, 1]]), "scale_matrix must be symmetric"),
        (lambda r: sums.wishart_sum(r, 5, 3, [[1, 2], [2, 1]]), "scale_matrix must be positive definite"),
        (lambda r: sums.wishart_sum(r, 1e27, 3, np.eye(2)), "n must be"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(generator(0))


# --- the transforms of a normal draw, pinned to the law by exact quantiles


class Fixed:
    """A generator whose normal draws are given; the others are their medians."""

    def __init__(self, x):
        self.x = np.asarray(x, dtype=float)

    def standard_normal(self, shape):
        return self.x.reshape(shape) if np.prod(shape) == self.x.size else np.zeros(shape)

    def standard_gamma(self, a):
        return np.asarray(a, dtype=float)

    def binomial(self, n, p):
        return np.zeros(np.shape(n))

    def poisson(self, mean):
        return np.floor(mean)


def gamma_quantiles(a, x):
    """Quantiles of Gamma(a) minus a at the levels of normal x, in 40 digits by bisection."""
    with mpmath.workdps(40):
        low, high = [mpmath.mpf(a) + mpmath.sqrt(a) * (x + shift) for shift in (-1, 1 + x * x)]
        goal = mpmath.ncdf(x)
        for _ in range(90):
            middle = (low + high) / 2
            low, high = (middle, high) if mpmath.gammainc(a, 0, middle, regularized=True) < goal else (low, middle)
        return float(low - a)


@pytest.mark.parametrize("x", [-4.0, -1.0, 0.0, 0.5, 3.0, 6.0])
def test_the_cube_has_each_of_its_three_terms(x, monkeypatch):
    """At a shape where the terms are far apart, each is seen; the rest is of order 1/a."""
    a = 400.0
    monkeypatch.setattr(sums, "_GAMMA_EXACT", 100.0)
    found = float(sums._centred_gamma(Fixed([x]), np.array([a]))[0])
    d = a - 1 / 3
    assert found == pytest.approx(d * ((1 + x / (3 * math.sqrt(d))) ** 3 - 1) - 1 / 3, rel=1e-11, abs=1e-12)
    third = abs(x) ** 3 / (27 * math.sqrt(d))
    assert abs(found - gamma_quantiles(a, x)) < max(0.5 * third, 2e-3)


@pytest.mark.parametrize("p", [0.5, 0.1, 0.9, 1e-5])
@pytest.mark.parametrize("x", [-3.0, -1.0, 0.0, 2.0, 4.0])
def test_the_normal_binomial_has_its_skewness_once(p, x):
    n = 1e13
    q = min(p, 1 - p)
    v = n * q * (1 - q)
    rare = math.sqrt(v) * x + (1 - 2 * q) * (x * x - 1) / 6
    centred = sums.binomial(Fixed([x]), n, p, centred=True)
    assert centred == pytest.approx(rare if p <= 0.5 else -rare, rel=1e-13, abs=0 if x else 1e-9)
    plain = sums.binomial(Fixed([x]), n, p)
    count = math.floor(n * q + rare + 0.5)
    assert plain == pytest.approx(count if p <= 0.5 else n - count, rel=1e-15, abs=0)
    mean = 1 - 2 * p
    signed = sums.signed_sum(Fixed([x]), n, mean, centred=True)
    rare = math.sqrt(v) * x + (1 - 2 * q) * (x * x - 1) / 6
    assert signed == pytest.approx(-2 * rare if mean >= 0 else 2 * rare, rel=1e-11, abs=1e-8)


def test_thresholds_between_the_methods():
    assert (sums._GAMMA_EXACT, sums._BINOMIAL_EXACT, sums._POISSON_BELOW) == (1e9, 1e12, 1e5)
    assert sums.binomial(Fixed([1.0]), 1e13, 9e4 / 1e13) == 9e4  # Poisson, here at its mean
    assert sums.binomial(Fixed([1.0]), 1e13, 2e5 / 1e13) > 2e5 + 400  # normal
    assert sums.MOST_USERS == 1e26 and sums.binomial(Fixed([0.0]), 1e26, 0.5) == pytest.approx(5e25, rel=1e-15, abs=0)


@pytest.mark.parametrize("n", [1.0, 3.0, 1e8, 1e20])
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_a_laplace_sum_from_its_two_draws(n, scale):
    """sqrt(2 G) N with G at its mean n and N = 1.5; the variance of the law is 2 n scale^2."""
    found = sums.laplace_sum(Fixed([1.5]), n, scale)
    g = n if n <= 1e9 else n + math.sqrt(n - 1 / 3) * 1.5 + (1.5**2 - 1) / 3
    assert found == pytest.approx(scale * math.sqrt(2 * g) * 1.5, rel=1e-12, abs=0)
