"""Costs of single messages against random search, closed forms and enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpregret.privacy.audit import exact_epsilon
from evidence.contextual import message_costs as costs


def ball(rng, n, d):
    """Points of the unit ball, half of them on its surface."""
    v = rng.normal(size=(n, d))
    return v / np.linalg.norm(v, axis=1, keepdims=True) * np.where(rng.random((n, 1)) < 0.5, 1, rng.random((n, 1)))


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_longest_vector_has_norm_root_d(d):
    assert costs.longest(d) == pytest.approx(math.sqrt(d), rel=1e-14, abs=0)
    assert len(np.unique(costs.signs(d), axis=0)) == 2**d


@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_pair_of_vectors_exceeds_the_sensitivities_of_the_triangle_and_some_come_close(d):
    found, rng = costs.triangle_sensitivity(d), np.random.default_rng(d)
    i, j = np.triu_indices(d)
    v, w = (x[:, i] * x[:, j] for x in (ball(rng, 40_000, d), ball(rng, 40_000, d)))
    add, inside = np.abs(v).sum(axis=1), np.abs(v - w).sum(axis=1)
    assert 0.95 * found.add <= add.max() <= found.add * (1 + 1e-12)
    assert 0.85 * found.inside <= inside.max() <= found.inside * (1 + 1e-12)
    assert found.between == 2 * found.add
    assert found.add == pytest.approx((d + 1) / 2, rel=1e-12, abs=0)  # all entries of v equal, or of their pattern


def test_the_costs_add_up_to_the_fractions():
    for d in (1, 2, 3):
        counts, at_most_1, at_most_2, first, later = costs.replacement_costs(d)
        assert counts.between + at_most_1.between == pytest.approx(float(costs.first_layer_cost(1)), rel=1e-12, abs=0)
        assert counts.between + at_most_2.between == pytest.approx(float(costs.first_layer_cost(2)), rel=1e-12, abs=0)
        assert at_most_1.add == pytest.approx(1 / 3, rel=1e-12, abs=0) and at_most_1.inside == at_most_1.between
        assert first[2:] == (0, 0, 0) and later[2:] == (1, 1, 2) and later.between == costs.INTERVAL_COST
        assert (counts.add, counts.inside) == (pytest.approx(1 / 3, rel=1e-15, abs=0), 0)
    assert costs.first_layer_cost(1) == Fraction(4, 3) and costs.first_layer_cost(2) == 2


def test_noise_of_the_prediction_for_one_user_is_a_laplace_tail():
    scale = 3 * math.sqrt(2) / 0.5
    assert costs.log10_noise(1, 4.0, 0.5) == pytest.approx(-4 / scale / math.log(10), rel=1e-9, abs=0)


def test_noise_of_the_prediction_for_many_users_is_nearly_normal():
    expected = math.log10(2 * stats.norm.sf(1.0 * 10_000 / math.sqrt(10_000 * 2 * 18)))
    assert costs.log10_noise(10_000, 1.0, 1.0) == pytest.approx(expected, rel=0.02, abs=0)


def test_reports_of_all_oracles_by_enumeration():
    alpha = 0.6
    right = math.exp(alpha) / (1 + math.exp(alpha))
    law = costs.oracle_reports(1, 3, alpha)
    for at, reports in enumerate(itertools.product((0, 1), repeat=3)):
        expected = math.prod(right if report == (action == 1) else 1 - right for action, report in enumerate(reports))
        assert law[at] == pytest.approx(expected, rel=1e-12, abs=0)
    assert exact_epsilon(law, costs.oracle_reports(2, 3, alpha)) == pytest.approx(2 * alpha, rel=1e-12, abs=0)


def test_the_corrected_message_by_enumeration():
    alpha, z = 0.8, -0.5
    law = costs.message_law(1, z, 3, alpha)
    for at, bits in enumerate(itertools.product((-1, 1), repeat=3)):
        assert law[at] == pytest.approx((1 + bits[1] * math.tanh(0.4) * z) / 8, rel=1e-12, abs=0)
    np.testing.assert_allclose(costs.message_law(-1, 0.0, 3, alpha), 1 / 8, rtol=1e-14)


def test_the_laws_of_a_message_include_the_extremes_and_the_empty_record():
    laws = costs.message_laws(2, 0.8)
    assert len(laws) == 2 * 4 + 1
    worst = max(exact_epsilon(p, q) for p, q in itertools.combinations(laws, 2))
    assert worst == pytest.approx(0.8, rel=1e-12, abs=0)
    assert min(np.abs(law - 0.25).max() for law in laws) < 1e-15
