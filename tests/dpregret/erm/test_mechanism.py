"""Private choice from a finite class: exact privacy by enumeration, reference numbers, bounds and sample sizes."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer

from dpregret.erm import (
    Functions,
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
from dpregret.privacy.audit import exact_epsilon as epsilon_of
from dpregret.simulation import generator
from evidence.erm import lower_bounds

CASE = {"n_hypotheses": 100, "alpha": 0.1, "beta": 0.1, "epsilon": 0.1}


def test_reference_numbers():
    assert exact_epsilon(n_hypotheses=2, n=4, epsilon=1) == pytest.approx(0.663645543704941307256, rel=1e-14, abs=0)
    assert excess_risk_bound(n_hypotheses=100, n=1000, epsilon=1, beta=0.05) == pytest.approx(
        0.150656714702770219623, rel=1e-14, abs=0
    )


def enumerated_epsilon(k, records, **options):
    """The largest epsilon between m and m + 1 records over all error counts and all losses of the added record."""
    worst = 0.0
    for m in records:
        for errors in itertools.product(range(m + 1), repeat=k):
            p = selection_probabilities(errors, n_records=m, **options)
            for losses in itertools.product((0, 1), repeat=k):
                q = selection_probabilities(np.add(errors, losses), n_records=m + 1, **options)
                worst = max(worst, epsilon_of(p, q))
    return worst


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize(("k", "n"), [(2, 1), (2, 4), (3, 2), (4, 1)])
def test_exact_epsilon_of_rates_is_the_enumerated_one(k, n, epsilon):
    for mechanism_name in mechanism.MECHANISMS:
        options = {"epsilon": epsilon, "n_min": n, "mechanism": mechanism_name}
        found = exact_epsilon(n_hypotheses=k, n=n, epsilon=epsilon, mechanism=mechanism_name)
        assert found == pytest.approx(enumerated_epsilon(k, range(n, n + 2), **options), rel=1e-9, abs=0)
        assert found <= epsilon * n / (n + 1) * (1 + 1e-12)


@pytest.mark.parametrize("mechanism_name", mechanism.MECHANISMS)
def test_exact_epsilon_of_counts(mechanism_name):
    options = {"epsilon": 1.5, "score": "count", "mechanism": mechanism_name}
    values = [enumerated_epsilon(2, [m], **options) for m in (1, 2, 5, 9)]
    assert all(value <= 1.5 * (1 + 1e-12) for value in values)
    assert values[-1] == pytest.approx(exact_epsilon(n_hypotheses=2, **options), abs=1e-4)
    assert enumerated_epsilon(3, [1, 2, 3], **options) <= 1.5 * (1 + 1e-12)


def test_exact_epsilon_limits():
    values = [exact_epsilon(n_hypotheses=k, n=10, epsilon=1) for k in (2, 10, 1000, 10**9)]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(10 / 11, rel=1e-6, abs=0)
    assert exact_epsilon(n_hypotheses=1, n=10, epsilon=1) == 0.0
    # outside the domain, with the public n of 10
    small = [exact_epsilon(n_hypotheses=k, n=10, n_records=1, epsilon=1) for k in (2, 3, 10**9)]
    np.testing.assert_allclose(small, [4.3136, 4.5979, 5.0], atol=5e-5)
    law = [np.exp(-5 * np.array(rates)) for rates in ((1, 0), (0.5, 0.5))]  # one record, two records
    assert epsilon_of(*(w / w.sum() for w in law)) == pytest.approx(small[0], rel=1e-12, abs=0)
    assert exact_epsilon(n_hypotheses=2, n=10**6, epsilon=700) <= 700


@given(st.integers(1, 30), st.integers(1, 30), st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1))
def test_sensitivity_of_rates(n, extra, hypotheses):
    m = n + extra - 1
    errors = np.array([round(rate * m) for rate, _ in hypotheses])
    losses = np.array([loss for _, loss in hypotheses])
    change = np.abs((errors + losses) / (m + 1) - errors / m)
    assert change.max() <= 1 / (m + 1) + 1e-15
    assert 1 / (m + 1) <= 1 / n


@settings(max_examples=50)
@given(st.integers(2, 6), st.floats(0.01, 5), st.integers(5, 40), st.integers(0, 2**32 - 1))
def test_selection_is_rarely_bad(k, epsilon, n, seed):
    errors = np.random.default_rng(seed).integers(0, n + 1, k)
    beta = 0.1
    for score, rate in (("rate", 2), ("count", 1)):
        p = selection_probabilities(errors, n_records=n, n_min=n, epsilon=epsilon, score=score)
        t = rate * (math.log(k) + math.log(2 / beta)) / (epsilon * n)
        assert p[errors / n > errors.min() / n + t].sum() <= beta / 2
        q = selection_probabilities(
            errors, n_records=n, n_min=n, epsilon=epsilon, score=score, mechanism="permute_and_flip"
        )
        assert q @ errors <= p @ errors + 1e-9


@pytest.mark.parametrize("score", ["rate", "count"])
@pytest.mark.parametrize("version", ["printed", "sharper"])
def test_excess_risk_bound_on_an_exact_law(version, score):
    # hypotheses 0 and 1, labels Bernoulli(p): excess |1 - 2 p| if the choice is wrong
    n, epsilon, beta = 60, 2.0, 0.2
    bound = excess_risk_bound(n_hypotheses=2, n=n, epsilon=epsilon, beta=beta, version=version, score=score)
    ones = np.arange(n + 1)
    tested = 0
    for p in np.linspace(0, 0.5, 51):
        if 1 - 2 * p > bound:
            wrong = expit(-epsilon * (n - 2 * ones) * (0.5 if score == "rate" else 1.0))
            assert binom.pmf(ones, n, p) @ wrong <= beta
            tested += 1
    assert tested > 3


def test_terms_of_the_excess_risk():
    options = {"n_hypotheses": 100, "n": 1000, "epsilon": 1.0, "beta": 0.05}
    printed = excess_risk_terms(**options)
    assert list(printed) == ["deviation", "comparator", "selection"]
    assert printed["deviation"] == printed["comparator"] == math.sqrt(math.log(8000) / 2000)
    assert sum(printed.values()) == excess_risk_bound(**options)
    sharper = excess_risk_terms(**options, version="sharper", score="count")
    assert sharper["deviation"] == printed["deviation"]
    assert sharper["comparator"] == math.sqrt(math.log(80) / 2000)
    assert 2 * sharper["selection"] == pytest.approx(printed["selection"], rel=1e-6, abs=0)
    assert excess_risk_bound(n_hypotheses=1, n=1, epsilon=1.0, beta=0.05) == 0.0


def test_sample_sizes():
    assert sample_size(**CASE) == 16_579
    assert sample_size(**CASE, rule="inverted") == 4_142
    options = {key: CASE[key] for key in ("n_hypotheses", "epsilon", "beta")}
    assert excess_risk_bound(n=4_142, **options) <= 0.1 < excess_risk_bound(n=4_141, **options)
    assert bounds.rule_constant() == pytest.approx(12.75, abs=0.01)
    c = bounds.rule_constant()
    assert 2 * math.sqrt(3 / (2 * c)) + 4 / c == pytest.approx(1, rel=1e-12, abs=0)
    assert sample_size(**CASE, rule="inverted") <= sample_size(**CASE, rule="constant") < sample_size(**CASE)
    assert sample_size(n_hypotheses=1, alpha=0.1, beta=0.1, epsilon=1) == 1


@given(st.integers(2, 10**6), st.floats(0.01, 1), st.floats(1e-6, 0.99), st.floats(0.01, 10))
def test_the_printed_rule_gives_two_thirds(k, alpha, beta, epsilon):
    options = {"n_hypotheses": k, "beta": beta, "epsilon": epsilon}
    n = sample_size(**options, alpha=alpha)
    assert excess_risk_bound(**options, n=n) <= 2 * alpha / 3 * (1 + 1e-12)
    n = sample_size(**options, alpha=alpha, rule="constant")
    assert excess_risk_bound(**options, n=n) <= alpha * (1 + 1e-12)


def test_packing():
    sizes = [
        lower_bounds.packing_sample_size(n_hypotheses=100, alpha=0.1, beta=0.1, epsilon=factor * 0.1)
        for factor in (2, 1, 0.5)
    ]
    assert sizes == [363, 703, 1383]  # add/remove, replace-one, the mechanism itself
    for epsilon, size in zip((0.2, 0.1, 0.05), sizes, strict=True):
        assert lower_bounds.packing_closed_form(n_hypotheses=100, q=0.1, beta=0.1, epsilon=epsilon) <= size
    # the mechanism on the instance: N of n records inform, the right hypothesis has no error, the others N
    n, q, epsilon, k = 25, 0.3, 0.8, 5
    failure = sum(
        binom.pmf(N, n, q)
        * (1 - selection_probabilities([0] + [N] * (k - 1), n_records=n, n_min=n, epsilon=epsilon)[0])
        for N in range(n + 1)
    )
    assert lower_bounds.packing_failure(n_hypotheses=k, n=n, q=q, epsilon=epsilon / 2) == pytest.approx(
        failure, rel=1e-12, abs=0
    )
    assert lower_bounds.packing_failure(n_hypotheses=k, n=n, q=q, epsilon=2 * epsilon) < failure
    assert lower_bounds.packing_failure(n_hypotheses=1, n=n, q=q, epsilon=1) == 0.0


def test_classes_agree_with_their_members():
    rng = generator(0, "classes")
    X = rng.normal(size=(50, 2))
    y = rng.integers(0, 2, 50)
    for hypotheses in (
        Stumps(-2, 2, 5),
        Stumps([-1, 0], [1, 3], 4),
        Functions([lambda X: X[:, 0] > 0, lambda X: np.zeros(len(X))]),
    ):
        table = hypotheses.predictions(X)
        assert table.shape == (50, hypotheses.size(2))
        assert set(np.unique(table)) <= {0, 1}
        for j in range(hypotheses.size(2)):
            np.testing.assert_array_equal(hypotheses.predictions(X, j), table[:, j])
        np.testing.assert_array_equal(classes.error_counts(hypotheses, X, y), (table != y[:, None]).sum(axis=0))
    stumps = Stumps(0.25, 1.0, 2)
    np.testing.assert_array_equal(stumps.thresholds(1), [[0.5, 0.75]])
    np.testing.assert_array_equal(stumps.predictions(np.array([[0.5]]))[0], [1, 0, 0, 1, 0, 1])


@pytest.mark.parametrize("hypotheses", [Stumps(-1, 1, 5), Stumps([-2, 0, 1.5], [1, 3, 2], 4)])
def test_a_rule_says_what_its_number_predicts(hypotheses):
    X = generator(0, "rules").uniform(-2, 3, (200, 3))
    holds = {">=": np.greater_equal, "<": np.less}
    for index in range(hypotheses.size(3)):
        rule = hypotheses.rule(index, n_features=3)
        if rule in ("always", "never"):
            expected = np.full(200, rule == "always")
        else:
            word, feature, sign, threshold = rule.split()
            assert word == "feature"
            expected = holds[sign](X[:, int(feature)], float(threshold))
        np.testing.assert_array_equal(hypotheses.predictions(X, index), expected)


def test_rules_in_words():
    stumps = Stumps(0.0, 1.0, 3)
    assert stumps.rule(3, n_features=4) == "feature 1 >= 0.25"
    assert stumps.rule(12 + 5, ["a", "b", "c", "d"]) == "b < 0.75"
    assert [stumps.rule(i, n_features=4) for i in (24, 25)] == ["never", "always"]
    assert Stumps([0.0, 0.0], 1.0, 2).rule(2) == Stumps(0.0, [1.0, 1.0], 2).rule(2) == "feature 1 >= 0.333333"


class Transposed:
    def size(self, n_features):
        return 3

    def predictions(self, X, index=None):
        return np.zeros((3, len(X)), dtype=np.int8)


def test_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    errors = classes.error_counts(Stumps(X.min(axis=0), X.max(axis=0)), X, y)
    assert len(errors) == 962
    rates = [
        selection_probabilities(errors, n_records=569, epsilon=0.1, n_min=569, score=score, mechanism=name)
        @ errors
        / 569
        for score, name in (("rate", "exponential"), ("count", "exponential"), ("count", "permute_and_flip"))
    ]
    assert rates[0] > rates[1] > rates[2] > errors.min() / 569
    np.testing.assert_allclose([*rates, errors.min() / 569], [0.1227, 0.0999, 0.0990, 0.0826], atol=6e-5)


def test_select_follows_its_law():
    rng = generator(1, "select")
    selector = Selector(epsilon=2.0, n_min=6)
    draws = [selector.sample([0, 2, 5], 6, rng) for _ in range(2000)]
    p = selection_probabilities([0, 2, 5], n_records=6, n_min=6, epsilon=2.0)
    # three z-tests at 4.4 standard errors: error rate 3e-5, fixed seed
    errors = np.sqrt(p * (1 - p) / 2000)
    assert (np.abs(np.bincount(draws, minlength=3) / 2000 - p) < 4.4 * errors).all()


OPTIONS = {"n_records": 5, "n_min": 5, "epsilon": 1.0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: selection_probabilities([], **OPTIONS), "errors must have at least one hypothesis, got none"),
        (lambda: selection_probabilities([6], **OPTIONS), r"errors\[0\] must be finite and in \[0, 5\], got 6.0"),
        (
            lambda: selection_probabilities([1], n_records=4, n_min=5, epsilon=1),
            "n_records must be >= n_min = 5 .* got 4",
        ),
        (lambda: selection_probabilities([1], n_records=4, epsilon=1), "n_min must be given"),
        (lambda: selection_probabilities([1], n_records=4, n_min=0, epsilon=1), "n_min must be .* got 0"),
        (lambda: selection_probabilities([1], **OPTIONS | {"epsilon": 0}), "epsilon must be .* got 0"),
        (lambda: selection_probabilities([1], **OPTIONS, score="rank"), "score must be .* got 'rank'"),
        (lambda: selection_probabilities([1], **OPTIONS, mechanism="laplace"), "mechanism must be .* got 'laplace'"),
        (lambda: exact_epsilon(n_hypotheses=0, epsilon=1, n=5), "n_hypotheses must be .* got 0"),
        (lambda: exact_epsilon(n_hypotheses=2, epsilon=1), "n must be given"),
        (lambda: excess_risk_bound(n_hypotheses=0, n=5, epsilon=1, beta=0.1), "n_hypotheses must be .* got 0"),
        (lambda: excess_risk_bound(n_hypotheses=2, n=5, epsilon=1, beta=0.0), "beta must be .* got 0.0"),
        (lambda: excess_risk_bound(n_hypotheses=2, n=5, epsilon=1, beta=1.0), "beta must be .* got 1.0"),
        (lambda: excess_risk_bound(n_hypotheses=2, n=0, epsilon=1, beta=0.1), "n must be .* got 0"),
        (lambda: sample_size(**CASE | {"alpha": 0}), "alpha must be .* got 0"),
        (lambda: sample_size(**CASE, rule="mine"), "rule must be .* got 'mine'"),
        (lambda: lower_bounds.packing_sample_size(**CASE | {"beta": 1}), "beta must be .* got 1"),
        (lambda: lower_bounds.packing_sample_size(**CASE | {"alpha": 2}), "alpha must be .* <= 1, got 2"),
        (lambda: Functions([]), r"functions must hold at least one function"),
        (
            lambda: Functions([lambda X: X[:, 0]]).predictions(np.full((2, 1), 0.5)),
            r"functions\[0\] must return 2 labels",
        ),
        (lambda: Stumps(1, 0), "low must be < high"),
        (lambda: Stumps(0, 1, 0), "n_thresholds must be .* got 0"),
        (lambda: Stumps().rule(0), "n_features or feature_names must be given"),
        (lambda: Stumps(0, 1, 4).rule(18, n_features=2), "index must be an integer >= 0 and <= 17, got 18"),
        (lambda: Stumps(0, 1, 4).rule(-1, "ab"), "index must be .* got -1"),
        (lambda: Stumps(0, 1, 4).rule(0, "ab", n_features=3), "feature_names must have 3 names, got 2"),
        (lambda: Stumps([0, 0], 1, 4).rule(0, "abc"), "low must have one entry for each of the 3 features, got 2"),
        (
            lambda: classes.error_counts(Transposed(), np.zeros((4, 2)), np.zeros(4)),
            r"return shape \(4, 3\), .*\(3, 4\)",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
