"""Audits: certified bounds from counts, exact answers for finite laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from dpregret.privacy.audit import (
    delta_lower_bound,
    distinguish,
    epsilon_lower_bound,
    exact_delta,
    exact_epsilon,
    lower_limit,
    upper_limit,
)
from dpregret.privacy.mechanisms import RandomizedResponse

# --- certified bounds


@pytest.mark.parametrize("hits, runs", [(0, 1), (1, 1), (0, 20), (3, 20), (19, 20), (20, 20), (977, 1000)])
@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_limits_are_those_of_scipy(hits, runs, confidence):
    low = binomtest(hits, runs, alternative="greater").proportion_ci(confidence, method="exact").low
    high = binomtest(hits, runs, alternative="less").proportion_ci(confidence, method="exact").high
    assert lower_limit(hits, runs, confidence=confidence) == pytest.approx(low, rel=1e-10, abs=0)
    assert upper_limit(hits, runs, confidence=confidence) == pytest.approx(high, rel=1e-10, abs=0)


@pytest.mark.parametrize(
    "hits_p, hits_q, delta", [(90, 20, 0.0), (90, 20, 0.1), (90, 20, 0.4), (30, 25, 0.2), (100, 0, 1e-3)]
)
def test_the_bound_is_its_formula_with_the_limits_of_scipy(hits_p, hits_q, delta):
    low = binomtest(hits_p, 100, alternative="greater").proportion_ci(0.975, method="exact").low
    high = binomtest(hits_q, 100, alternative="less").proportion_ci(0.975, method="exact").high
    expected = max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
    assert epsilon_lower_bound(hits_p, 100, hits_q, 100, delta=delta) == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("epsilon, delta", [(0.1, 0.0), (1.0, 0.0), (1.0, 0.1), (3.0, 0.0)])
@pytest.mark.parametrize("runs", [10, 60])
def test_coverage_is_exact_on_randomized_response(epsilon, delta, runs):
    """No statistics: the probability that the bound exceeds the true epsilon is summed over all pairs of counts."""
    response = RandomizedResponse(epsilon=epsilon)
    true = exact_epsilon(*response.transition_matrix(), delta)
    counts = np.arange(runs + 1)
    bounds = epsilon_lower_bound(counts[:, None], runs, counts, runs, delta=delta, confidence=0.9)
    joint = np.outer(
        binom.pmf(counts, runs, response.truth_probability), binom.pmf(counts, runs, response.lie_probability)
    )
    assert joint[bounds > true].sum() <= 0.1
    deltas = delta_lower_bound(counts[:, None], runs, counts, runs, epsilon=epsilon / 2, confidence=0.9)
    assert joint[deltas > response.delta(epsilon / 2)].sum() <= 0.1


def test_every_run_against_none_has_a_closed_form():
    low = 0.025 ** (1 / 1000)
    assert epsilon_lower_bound(1000, 1000, 0, 1000) == pytest.approx(math.log(low / (1 - low)))
    assert delta_lower_bound(1000, 1000, 0, 1000, epsilon=0.0) == pytest.approx(2 * low - 1)
    assert delta_lower_bound(1000, 1000, 0, 1000, epsilon=1000.0) == 0.0
    assert lower_limit(1000, 1000, confidence=0.975) == pytest.approx(low)


@given(st.integers(1, 300), st.integers(1, 300), st.data())
def test_bounds_are_monotone(runs_p, runs_q, data):
    hits_p, hits_q = data.draw(st.integers(0, runs_p)), data.draw(st.integers(0, runs_q))
    bound = epsilon_lower_bound(hits_p, runs_p, hits_q, runs_q)
    assert 0.0 <= bound < math.inf
    assert epsilon_lower_bound(max(hits_p - 1, 0), runs_p, hits_q, runs_q) <= bound
    assert epsilon_lower_bound(hits_p, runs_p, max(hits_q - 1, 0), runs_q) >= bound
    assert epsilon_lower_bound(hits_p, runs_p, hits_q, runs_q, delta=0.1) <= bound
    assert epsilon_lower_bound(hits_p, runs_p, hits_q, runs_q, n_events=3) <= bound
    assert epsilon_lower_bound(hits_p, runs_p, hits_q, runs_q, confidence=0.99) <= bound
    counts = (hits_p, runs_p, hits_q, runs_q)
    assert delta_lower_bound(*counts, epsilon=1.0) <= delta_lower_bound(*counts, epsilon=0.5)
    # the two bounds say the same: delta is certified positive exactly below the certified epsilon
    assert (delta_lower_bound(*counts, epsilon=bound + 1e-6) == 0.0) and (
        bound < 1e-6 or delta_lower_bound(*counts, epsilon=bound * (1 - 1e-6)) > 0.0
    )


@pytest.mark.parametrize(
    "arguments, said",
    [
        ((11, 10, 0, 10), "hits_p must be at most runs_p = 10, got 11"),
        ((0, 10, 3, 2), "hits_q must be at most runs_q"),
        ((0, 0, 0, 10), "runs_p must be an integer >= 1"),
        ((0.5, 10, 0, 10), "hits_p must be an integer"),
        ((-1, 10, 0, 10), "hits_p must be an integer >= 0"),
        (([0, 1.5], 10, 0, 10), "hits_p must be integers, got 1.5"),
    ],
)
def test_bad_counts_are_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        epsilon_lower_bound(*arguments)
    with pytest.raises(ValueError, match=said):
        delta_lower_bound(*arguments, epsilon=1.0)


@pytest.mark.parametrize(
    "keywords", [{"confidence": 0.0}, {"confidence": 1.0}, {"delta": 1.0}, {"delta": -0.1}, {"n_events": 0}]
)
def test_bad_levels_are_refused(keywords):
    with pytest.raises(ValueError, match=next(iter(keywords))):
        epsilon_lower_bound(5, 10, 1, 10, **keywords)


# --- finite laws


@pytest.mark.parametrize("n_categories", [2, 5])
def test_randomized_response_exactly(n_categories):
    response = RandomizedResponse(epsilon=1.3, n_categories=n_categories)
    p, q = response.transition_matrix()[:2]
    assert exact_epsilon(p, q) == pytest.approx(1.3)
    for epsilon in (0.0, 0.4, 1.3, 5.0):
        assert exact_delta(p, q, epsilon) == pytest.approx(response.delta(epsilon), abs=1e-15)


def test_disjoint_and_equal_laws():
    assert exact_epsilon([1, 0], [0, 1]) == exact_epsilon([1, 0], [0, 1], 0.999) == math.inf
    assert exact_delta([1, 0], [0, 1], 1000) == 1.0
    assert exact_epsilon([0.3, 0.7], [0.3, 0.7]) == exact_delta([0.3, 0.7], [0.3, 0.7], 0.0) == 0.0
    # publishing the data with probability delta is (0, delta)-private
    assert exact_delta([0.9, 0.1, 0], [0.9, 0, 0.1], 50) == pytest.approx(0.1)
    assert exact_epsilon([0.9, 0.1, 0], [0.9, 0, 0.1], 0.1) == 0.0


LAWS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=7).filter(
    lambda pairs: all(sum(column) > 0 for column in zip(*pairs, strict=True))
)


@given(LAWS, st.floats(0, 4))
def test_exact_delta_is_the_largest_excess_of_an_event(pairs, epsilon):
    p, q = (np.array(column) / sum(column) for column in zip(*pairs, strict=True))
    events = (np.arange(2 ** len(pairs))[:, None] >> np.arange(len(pairs))) & 1
    excess = max((events @ (p - math.exp(epsilon) * q)).max(), (events @ (q - math.exp(epsilon) * p)).max())
    assert exact_delta(p, q, epsilon) == pytest.approx(excess, abs=1e-12)


@given(LAWS, st.floats(0, 0.9))
def test_exact_epsilon_inverts_exact_delta(pairs, delta):
    p, q = (np.array(column) / sum(column) for column in zip(*pairs, strict=True))
    epsilon = exact_epsilon(p, q, delta)
    if epsilon < math.inf:
        assert exact_delta(p, q, epsilon) <= delta + 1e-12
        assert epsilon < 1e-6 or exact_delta(p, q, epsilon * (1 - 1e-6)) > delta - 1e-12
    else:
        assert exact_delta(p, q, 500.0) > delta


def test_bad_laws_are_refused():
    with pytest.raises(ValueError, match="p must have sum 1"):
        exact_delta([0.5, 0.4], [0.5, 0.5], 1.0)
    with pytest.raises(ValueError, match="one shape"):
        exact_epsilon([1.0], [0.5, 0.5])


# --- the distinguisher


def test_distinguisher_on_randomized_response():
    response = RandomizedResponse(epsilon=1.0)
    events = {"one": lambda bit: bit == 1, "zero": lambda bit: bit == 0}
    audit_ = distinguish(
        lambda rng: int(response.privatize(np.array(1), rng)),
        lambda rng: int(response.privatize(np.array(0), rng)),
        events,
        runs=3000,
        rng=np.random.default_rng(5),
    )
    assert audit_.hits_p["one"] + audit_.hits_p["zero"] == 3000
    event, bound = audit_.best()
    # fixed seed; both assertions fail with probability below 5% each over seeds
    assert event == "one" and 0.8 < bound <= 1.0
    assert bound < epsilon_lower_bound(audit_.hits_p["one"], 3000, audit_.hits_q["one"], 3000)
    with pytest.raises(ValueError, match="events"):
        distinguish(None, None, {}, runs=10, rng=np.random.default_rng(5))
