"""Estimators from perturbed inputs against distribution functions, plain counting and quadrature."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from evidence.contextual import perturbed_estimators as estimators


def test_cells_have_the_masses_of_the_distribution_function():
    edges, centres = np.array([-1.0, -0.2, 0.3, 2.0]), [0.3, -3.0, 0.0]
    found = estimators.cell_masses(edges, centres)
    for row, centre in zip(found, centres, strict=True):
        at = np.r_[0.0, stats.laplace.cdf(edges, centre), 1.0]
        np.testing.assert_allclose(row, np.diff(at), rtol=1e-12)


def test_a_cell_far_out_keeps_its_relative_accuracy():
    [row] = estimators.cell_masses(np.array([40.0, 41.0]), [0.0])
    assert row[1] == pytest.approx((math.exp(-40) - math.exp(-41)) / 2, rel=1e-12, abs=0)


def test_the_table_is_a_law_that_knows_the_sign():
    thetas = np.linspace(-1, 1, 5)
    table = estimators.cell_table(0.3, thetas, 0.7)
    np.testing.assert_allclose(table.sum(axis=1), 1, rtol=1e-13)
    assert np.abs(table[0] - table[-1]).max() > 1e-4


def test_a_cell_of_the_table_against_simulated_records():
    m, theta, alpha, n = 0.8, 0.5, 0.9, 400_000
    rng = np.random.default_rng(3)
    x = rng.choice([-1, 1], n)
    u, v = alpha * m * x + rng.laplace(size=n), alpha * m * theta * x + rng.laplace(size=n)
    a = alpha * m
    first = np.mean((np.sign(u) == np.sign(v)) & (np.abs(u) > a) & (np.abs(v) > a))
    table = estimators.cell_table(m, np.array([theta]), alpha)[0]
    assert table[0] == pytest.approx(first, abs=5 * math.sqrt(table[0] / n))


def test_counts_have_the_laws_means_for_many_more_records_than_a_generator_draws():
    law, n, size = np.array([0.5, 0.3, 0.2]), 1e16, 4000
    counts = estimators.cell_counts(np.random.default_rng(1), n, law, size)
    np.testing.assert_allclose(counts.sum(axis=1), n, rtol=1e-15)
    z = (counts - n * law) / np.sqrt(n * law * (1 - law))
    assert np.abs(z.mean(axis=0)).max() < 5 / math.sqrt(size)
    np.testing.assert_allclose(z.std(axis=0), 1, atol=5 / math.sqrt(2 * size))
    assert np.corrcoef(z[:, 0], z[:, 1])[0, 1] == pytest.approx(-math.sqrt(3 / 7), abs=5 / math.sqrt(size))


def test_the_likelihood_estimate_maximises_the_plain_likelihood():
    n, m, thetas, alpha, draws = 1000.0, 0.5, np.linspace(-1, 1, 21), 1.0, 50
    found = estimators.likelihood_deviation(n, m, thetas, 0.5, alpha=alpha, draws=draws, rng=np.random.default_rng(7))
    table = estimators.cell_table(m, thetas, alpha)
    counts = estimators.cell_counts(np.random.default_rng(7), n, table[15], draws)
    best = thetas[(counts @ np.log(table).T).argmax(axis=1)]
    off = m * np.abs(best - 0.5)
    assert found.mean == pytest.approx(off.mean(), rel=1e-12, abs=0) and found.mean > 0
    assert found.se == pytest.approx(stats.sem(off), rel=1e-12, abs=0)


def test_the_likelihood_estimate_finds_theta_with_many_records():
    arguments = dict(alpha=1.0, draws=20, rng=np.random.default_rng(7))
    assert estimators.likelihood_deviation(1e14, 0.5, np.linspace(-1, 1, 21), -0.3, **arguments) == (0, 0)


def test_the_worst_cell_is_found_in_their_order():
    thetas, scales, truths = np.linspace(0, 1, 11), [(1.0, 1 / 3), (2.0, 1 / 4)], (0.5, 1.0)
    arguments = dict(alpha=1.0, draws=30)
    found = estimators.worst_likelihood(1e6, thetas, scales, truths, rng=np.random.default_rng(2), **arguments)
    rng = np.random.default_rng(2)
    one_by_one = [
        estimators.likelihood_deviation(1e6, c * 1e6**-p, thetas, true, rng=rng, **arguments)
        for (c, p), true in itertools.product(scales, truths)
    ]
    assert found == max(one_by_one, key=lambda part: part.mean) and len({part.mean for part in one_by_one}) > 1


@pytest.mark.parametrize(
    ("n", "m", "theta", "alpha"),
    [(1e4, 0.3, 0.5, 1.0), (1e8, 0.02, 0.0, 0.5), (1e6, 0.2, 1.0, 1.0), (1e4, 0.05, 0.5, 1.0)],
)
def test_the_moment_estimate_by_quadrature(n, m, theta, alpha):
    noise = 2 / alpha**2
    # E (x m + U)^2 (x m theta + V)^2 of independent noises, minus the square of the mean theta m^2
    variance = m**4 * theta**2 + noise * m**2 + noise * theta**2 * m**2 + noise**2 - (theta * m**2) ** 2
    spread = math.sqrt(variance / n) / m**2

    def integrand(z):
        return abs(min(1.0, max(-1.0, theta + spread * z)) - theta) * stats.norm.pdf(z)

    breaks = sorted(np.clip([(-1 - theta) / spread, 0.0, (1 - theta) / spread], -12, 12))
    parts = itertools.pairwise([-12, *breaks, 12])
    expected = m * sum(integrate.quad(integrand, low, high)[0] for low, high in parts)
    assert estimators.moment_deviation(n, m, theta, alpha) == pytest.approx(expected, rel=1e-8, abs=0)


def test_the_worst_moment_estimate_falls_like_the_fourth_root():
    found = [estimators.worst_moment(n, 1.0) for n in (1e12, 1e16)]
    assert found[1] / found[0] == pytest.approx(0.1, rel=1e-3, abs=0)
    cells = itertools.product((1, 1.4, 2, 2.8), (0, 0.5, 1))
    assert found[0] == max(estimators.moment_deviation(1e12, c * 1e-3, theta, 1.0) for c, theta in cells)
