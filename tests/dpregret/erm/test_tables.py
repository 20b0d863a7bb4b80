"""Every law, epsilon, bound and sample size of the ERM part against an independent derivation."""

import itertools
import tracemalloc
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dpregret.erm import (
    ExponentialMechanismClassifier,
    Selector,
    Stumps,
    bounds,
    classes,
    exact_epsilon,
    excess_risk_bound,
    excess_risk_terms,
    mechanism,
    sample_size,
    selection_probabilities,
)
from evidence.erm import lower_bounds


@pytest.fixture(autouse=True)
def fifty_digits():
    with mp.workdps(60):
        yield


def close(found, expected, rel=1e-12):
    assert float(found) == pytest.approx(float(expected), rel=rel, abs=0)


def worst_class(k, n, m, epsilon):
    """ln f(Q, 2 r) at 400 digits, so that nothing is lost."""
    with mp.workdps(400):
        s = mp.mpf(epsilon) * n / 2
        v = 2 * s / (m + 1)
        q = (k - 1) * mp.exp(s)
        return mp.log((1 + q) / (1 + q * mp.exp(-v)))


@pytest.mark.parametrize("epsilon", [1e-300, 1e-17, 1e-16, 1e-10, 1e-3, 0.7, 29.0, 31.0, 300.0, 700.0])
@pytest.mark.parametrize("n", [1, 2, 10, 10**6, 10**15])
@pytest.mark.parametrize("k", [2, 3, 1000, 10**6, 10**18])
def test_exact_epsilon_over_the_whole_range(k, n, epsilon):
    found = exact_epsilon(n_hypotheses=k, n=n, epsilon=epsilon)
    assert 0 < found <= epsilon
    if epsilon * n < 1e5:
        close(found, worst_class(k, n, n, epsilon), 1e-13)
    else:
        close(found, mp.mpf(epsilon) * n / (n + 1), 1e-13)
    flip = exact_epsilon(n_hypotheses=k, n=n, epsilon=epsilon, mechanism="permute_and_flip")
    close(flip, mp.mpf(epsilon) * n / (n + 1), 1e-14)
    for m in (1, 2, 7):  # another number of records, below or above n
        if epsilon * n < 1e4:
            close(
                exact_epsilon(n_hypotheses=k, n=n, n_records=m, epsilon=epsilon), worst_class(k, n, m, epsilon), 1e-12
            )
    for name in mechanism.MECHANISMS:
        assert exact_epsilon(n_hypotheses=k, epsilon=epsilon, score="count", mechanism=name) == epsilon
        selector = Selector(epsilon=epsilon, n_min=n, mechanism=name)
        assert selector.value_epsilon(k) == selector.effective_epsilon(k)
        assert selector.value_epsilon(k) == exact_epsilon(n_hypotheses=k, n=n, epsilon=epsilon, mechanism=name)
        assert selector.value_epsilon(1) == 0.0


def test_exact_epsilon_does_not_end_in_zero_or_infinity():
    assert exact_epsilon(n_hypotheses=2, n=1, epsilon=5e-324) == 5e-324
    assert exact_epsilon(n_hypotheses=2, n=10**9, epsilon=1e300) <= 1e300
    close(exact_epsilon(n_hypotheses=2, n=10**9, epsilon=1e300), 1e300, 1e-8)


@pytest.mark.parametrize(("score", "n_min", "per_error"), [("rate", 4, Fraction(4, 14)), ("count", None, Fraction(1))])
def test_the_law_is_the_softmax_and_the_visits_in_random_order(score, n_min, per_error):
    """m = 7 records: an error costs eps n_min / (2 m), or eps."""
    errors, epsilon = [3, 0, 7, 3], 0.8
    options = {"n_records": 7, "n_min": n_min, "epsilon": epsilon, "score": score}
    cost = mp.mpf(epsilon) * per_error.numerator / per_error.denominator
    close(Selector(epsilon=epsilon, n_min=n_min, score=score).exponent(7), cost)
    weights = [mp.exp(-cost * e) for e in errors]
    for found, weight in zip(selection_probabilities(errors, **options), weights, strict=True):
        close(found, weight / mp.fsum(weights))
    law = [mp.mpf(0)] * 4
    for order in itertools.permutations(range(4)):
        left = mp.mpf(1)
        for h in order:
            law[h] += left * weights[h] / 24  # the best hypothesis has 0 errors: its coin is 1
            left *= 1 - weights[h]
    for found, expected in zip(
        selection_probabilities(errors, **options, mechanism="permute_and_flip"), law, strict=True
    ):
        close(found, expected)


def test_the_draw_of_a_large_class_takes_little_time():
    errors = np.arange(400_000) % 1000
    rng = np.random.default_rng(0)
    selector = Selector(epsilon=0.5, score="count", mechanism="permute_and_flip")
    assert errors[selector.sample(errors, 1000, rng)] < 100
    # the very formula of the noisy maximum
    noise = np.random.default_rng(3).standard_exponential(5)
    found = selector.sample(np.array([4, 2, 9, 2, 3]), 9, np.random.default_rng(3))
    assert found == np.argmax(noise - 0.5 * np.array([4, 2, 9, 2, 3]))
    found = Selector(epsilon=0.5, n_min=3).sample(np.array([4, 2, 9]), 9, np.random.default_rng(3))
    assert found == np.random.default_rng(3).choice(
        3, p=selection_probabilities([4, 2, 9], n_records=9, n_min=3, epsilon=0.5)
    )


@pytest.mark.parametrize("k", [2, 30, 10**9])
@pytest.mark.parametrize("n", [1, 77, 10**6])
@pytest.mark.parametrize("epsilon", [0.01, 2.0])
@pytest.mark.parametrize("beta", [1e-9, 0.4])
def test_the_terms_of_the_excess_risk(k, n, epsilon, beta):
    b = mp.mpf(beta)
    a = mp.sqrt((mp.log(k) + mp.log(4 / b)) / (2 * n))
    fixed = mp.sqrt(mp.log(4 / b) / (2 * n))
    for score, factor in (("rate", 2), ("count", 1)):
        t = factor * (mp.log(k) + mp.log(2 / b)) / (mp.mpf(epsilon) * n)
        for version, comparator in (("printed", a), ("sharper", fixed)):
            options = {"n_hypotheses": k, "n": n, "epsilon": epsilon, "beta": beta, "version": version, "score": score}
            found = excess_risk_terms(**options)
            for name, expected in (("deviation", a), ("comparator", comparator), ("selection", t)):
                close(found[name], expected, 1e-13)
            close(excess_risk_bound(**options), a + comparator + t, 1e-13)
            assert excess_risk_bound(**options | {"n_hypotheses": 1}) == 0.0


@pytest.mark.parametrize("k", [2, 100])
@pytest.mark.parametrize(("alpha", "epsilon"), [(0.3, 0.5), (0.3, 0.1), (0.05, 4.0), (1.5, 0.2)])
@pytest.mark.parametrize("beta", [0.3, 1e-4])
def test_sample_sizes(k, alpha, epsilon, beta):
    options = {"n_hypotheses": k, "alpha": alpha, "beta": beta, "epsilon": epsilon}
    size = (mp.log(k) + mp.log(1 / mp.mpf(beta))) * max(1 / mp.mpf(alpha) ** 2, 1 / (mp.mpf(epsilon) * alpha))
    assert sample_size(**options) == sample_size(**options, rule="text") == mp.ceil(24 * size)
    constant = (mp.sqrt(mp.mpf(3) / 2) + mp.sqrt(mp.mpf(11) / 2)) ** 2
    close(bounds.rule_constant(), constant, 1e-14)
    assert sample_size(**options, rule="constant") == mp.ceil(constant * size)
    for version, score in itertools.product(bounds.VERSIONS, ("rate", "count")):
        n = sample_size(**options, rule="inverted", version=version, score=score)
        at = {"n_hypotheses": k, "beta": beta, "epsilon": epsilon, "version": version, "score": score}
        assert excess_risk_bound(n=n, **at) <= alpha
        assert n == 1 or excess_risk_bound(n=n - 1, **at) > alpha


@pytest.mark.parametrize("k", [2, 9, 10**6])
@pytest.mark.parametrize("n", [0, 1, 40])
@pytest.mark.parametrize(("q", "epsilon"), [(0.1, 0.3), (0.9, 5.0), (0.5, 1e-6), (1.0, 0.2)])
def test_packing(k, n, q, epsilon):
    p, e = mp.mpf(q), mp.mpf(epsilon)
    expected = mp.fsum(
        mp.binomial(n, i) * p**i * (1 - p) ** (n - i) * (k - 1) / (k - 1 + mp.exp(e * i)) for i in range(n + 1)
    )
    close(lower_bounds.packing_failure(n_hypotheses=k, n=n, q=q, epsilon=epsilon), expected, 1e-12)
    for beta in (0.01, 0.3):
        odds = (k - 1) * (1 - mp.mpf(beta)) / mp.mpf(beta)
        closed = max(mp.mpf(0), (1 - mp.mpf(beta)) / (e * p) * mp.log(odds))
        close(lower_bounds.packing_closed_form(n_hypotheses=k, q=q, beta=beta, epsilon=epsilon), closed)
    assert lower_bounds.packing_closed_form(n_hypotheses=2, q=q, beta=0.6, epsilon=epsilon) == 0.0


def test_packing_sample_sizes_are_the_smallest():
    for k, alpha, beta, epsilon in ((100, 0.1, 0.1, 0.2), (3, 0.5, 0.2, 1.0), (2, 1.0, 0.05, 0.3)):
        n = lower_bounds.packing_sample_size(n_hypotheses=k, alpha=alpha, beta=beta, epsilon=epsilon)
        options = {"n_hypotheses": k, "q": alpha, "epsilon": epsilon}
        assert lower_bounds.packing_failure(n=n, **options) <= beta < lower_bounds.packing_failure(n=n - 1, **options)


@pytest.mark.parametrize("rows", [1, 4096, 4097, 9000])
def test_every_record_is_counted(rows, monkeypatch):
    X = np.linspace(-1, 1, rows)[:, None]
    y = (np.arange(rows) % 3).astype(int)  # a third label: an error of all
    stumps = Stumps(-1.0, 1.0, 3)
    direct = [int((stumps.predictions(X, j) != y).sum()) for j in range(stumps.size(1))]
    for entries in (1, 50, 1 << 21):
        monkeypatch.setattr(classes, "_ENTRIES", entries if rows > 4097 or entries > 1 else 100)
        assert classes.error_counts(stumps, X, y).tolist() == direct
    assert direct[-2] + direct[-1] == rows + int((y == 2).sum())


def test_memory_does_not_grow_with_the_number_of_records():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    stumps = Stumps(-2.0, 2.0, 1500)
    tracemalloc.start()
    classes.error_counts(stumps, X[:3000], np.ones(3000, dtype=int))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


def test_thresholds_divide_the_box():
    stumps = Stumps([0.0, -2.0], [1.0, 6.0], 3.0)
    assert stumps.n_thresholds == 3 and isinstance(stumps.n_thresholds, int)
    np.testing.assert_allclose(stumps.thresholds(2), [[0.25, 0.5, 0.75], [0.0, 2.0, 4.0]], rtol=1e-15)
    assert stumps.size(2) == 14
    # at a threshold the rule says 1, and its reverse 0; the last two are the constants 0 and 1
    table = stumps.predictions(np.array([[0.5, 1.9]]))[0]
    assert table.tolist() == [1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1]
    with pytest.raises(ValueError, match="low and high must be numbers or have one length"):
        Stumps([0, 0], [1, 1, 1])


def test_the_promise_of_the_estimator_is_that_of_its_selector():
    for score, name in itertools.product(mechanism.SCORES, mechanism.MECHANISMS):
        model = ExponentialMechanismClassifier(
            Stumps(0, 1, 4), epsilon=0.9, classes=(0, 1), n_min=12, score=score, mechanism=name
        )
        expected = exact_epsilon(n_hypotheses=26, n=12, epsilon=0.9, score=score, mechanism=name)
        assert model.value_epsilon(3) == model.effective_epsilon(3) == expected <= 0.9
