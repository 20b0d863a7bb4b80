"""The best private learner by linear programming, and the majority between two constants."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from evidence.erm import lower_bounds


def test_databases_are_counted_like_multisets():
    found = lower_bounds.databases(3, 2)
    assert len(found) == len(set(found)) == math.comb(5, 2) and all(sum(d) == 3 for d in found)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_randomised_response_is_the_best_learner_of_one_replaced_record(k, epsilon):
    # one record: the learner is a channel from {x_0, x_1, ..., x_K} to the K classifiers; from x_i keep i with e/(e+K-1)
    q = 0.5
    best = lower_bounds.best_failure(n_hypotheses=k, n=1, q=q, epsilon=epsilon, neighbours="replace")
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    assert best == pytest.approx(q * (1 - keep) + (1 - q) * (1 - 1 / k), abs=1e-7)
    bound = lower_bounds.packing_failure(n_hypotheses=k, n=1, q=q, epsilon=epsilon)
    assert best == pytest.approx(bound, abs=1e-7)


def test_more_privacy_more_records_and_wider_neighbours_never_help_the_learner():
    def best(n=2, epsilon=1.0, neighbours="replace"):
        return lower_bounds.best_failure(n_hypotheses=2, n=n, q=0.5, epsilon=epsilon, neighbours=neighbours)

    assert best(epsilon=0.5) > best() > best(epsilon=2.0)
    assert best(n=3) < best()
    # two steps of adding and removing replace a record, so epsilon there is 2 epsilon here
    assert best(epsilon=2.0) - 1e-7 <= best(neighbours="add or remove") <= 0.5


@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.1), (0.5, 0.05), (0.3, 0.01)])
def test_the_majority_needs_exactly_so_many_records(alpha, beta):
    def failure(n):  # by summing over the number of ones
        ones = np.arange(n + 1)
        wrong = (2 * ones > n) + 0.5 * (2 * ones == n)
        return binom.pmf(ones, n, (1 - alpha) / 2) @ wrong

    n = lower_bounds.two_constants_sample_size(alpha=alpha, beta=beta)
    assert failure(n) <= beta
    assert all(failure(m) > beta for m in range(1, n))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"neighbours": "swap"}, "neighbours must be .* got 'swap'"),
        ({"q": 1.5}, "q must be .* got 1.5"),
        ({"n": 0}, "n must be .* got 0"),
        ({"epsilon": 0}, "epsilon must be .* got 0"),
    ],
)
def test_bad_input_is_refused(options, match):
    good = {"n_hypotheses": 2, "n": 1, "q": 0.5, "epsilon": 1.0, "neighbours": "replace"}
    with pytest.raises(ValueError, match=match):
        lower_bounds.best_failure(**good | options)


def test_the_majority_refuses_bad_input():
    for options, name in (({"alpha": 2.0, "beta": 0.1}, "alpha"), ({"alpha": 0.1, "beta": 1.0}, "beta")):
        with pytest.raises(ValueError, match=name):
            lower_bounds.two_constants_sample_size(**options)
