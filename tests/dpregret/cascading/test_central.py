"""Algorithm 1 of [Wang2021] and Lemma 1, on which it rests."""

import math

import numpy as np
import pytest

from dpregret.cascading import CascadeProblem, HybridDP, LaplaceLDP, kveton_problem, simulate
from dpregret.privacy.continual import HybridMechanism
from evidence.cascading.lemmas import (
    LEMMA_1_CONSTANT,
    lemma_1_bound,
    lemma_1_constant,
    lemma_1_constant_bound,
)

POLICIES = [
    HybridDP(epsilon=1),
    HybridDP(epsilon=0.5, version="corrected", c1=LEMMA_1_CONSTANT),
    HybridDP(epsilon=2, noise_multiplier=0.01, bonus_multiplier=0.01),
]


@pytest.mark.parametrize("policy", POLICIES, ids=["printed", "proof", "scaled"])
@pytest.mark.parametrize("problem", [kveton_problem(8, 3), CascadeProblem([0.9, 0.5, 0.1], 1)], ids=["K3", "K1"])
def test_kernel_and_plain_learner_agree_draw_for_draw(policy, problem):
    settings = dict(horizon=2500, replicates=2, seed=7)
    compiled = simulate(policy, problem, backend="compiled", **settings)
    plain = simulate(policy, problem, backend="reference", **settings)
    np.testing.assert_array_equal(compiled, plain)


def test_exact_counts_as_the_noise_vanishes():
    """Without noise and its bonus, Algorithms 1 and 2 are the same policy; both draw one variable an observation."""
    silent = dict(epsilon=1, noise_multiplier=1e-300, bonus_multiplier=0)
    problem, settings = kveton_problem(), dict(horizon=20_000, replicates=2, seed=3)
    hybrid, laplace = (simulate(policy(**silent), problem, **settings) for policy in (HybridDP, LaplaceLDP))
    np.testing.assert_array_equal(hybrid, laplace)


@pytest.mark.parametrize("version", ["printed", "corrected"])
def test_the_index_as_printed_and_corrected(version):
    n_items, horizon, t = 5, 1000, 90
    learner = HybridDP(epsilon=0.5, c1=2.0, version=version).learner(n_items, 1, horizon)
    learner.initialise(np.zeros(n_items))
    learner.counts[:] = [1, 2, 10, 10, 10]
    index = np.sqrt(1.5 * math.log(t) / learner.counts) + 3 * 2.0 * n_items * math.log(t) / (0.5 * learner.counts) * (
        math.log(horizon) ** 1.5 if version == "printed" else np.log([2, 2, 10, 10, 10]) ** 1.5
    )
    order = []
    for _ in range(n_items):  # read the order of the indices off the lists: sums are lowered item by item
        order.append(int(learner.recommend(t)[0]))
        learner.sums[order[-1]] = -1e9
    assert order == np.argsort(-index, kind="stable").tolist()
    # an item is preferred exactly when its mean makes up for the difference of the indices
    for shift, first in ((-1e-6, 0), (1e-6, 2)):
        learner.sums[:] = -1e9
        learner.sums[0] = 0.0
        learner.sums[2] = 10 * (index[0] - index[2] + shift)
        assert learner.recommend(t)[0] == first


def test_messages_are_the_releases_of_the_examined_items():
    learner = HybridDP(epsilon=1).learner(4, 3, 100)
    learner.initialise(np.array([1.0, 0.0, 0.0, 1.0]))
    rng = np.random.default_rng(1)
    items = np.array([3, 1, 2])
    message = learner.privatize(items, 2, rng)
    assert message.tolist() == [learner.counters[3].release(), learner.counters[1].release()]
    learner.update(items, message)
    assert learner.counts.tolist() == [1, 2, 1, 2]
    assert learner.sums.tolist() == [1.0, message[1], 0.0, 1.0 + message[0]]
    assert learner.counters[3].epsilon == pytest.approx(1 / 4, rel=1e-9, abs=0)
    assert len(learner.privatize(items, 4, rng)) == 3  # no click: all three


def test_the_epsilon_of_what_is_sent():
    scaled = HybridDP(epsilon=0.2, noise_multiplier=0.01)
    for length in (1, 4):
        assert HybridDP(epsilon=0.2).value_epsilon(length) == pytest.approx(0.2, rel=1e-14, abs=0)
        assert scaled.value_epsilon(length) == pytest.approx(20, rel=1e-14, abs=0)
        assert scaled.effective_epsilon(length) == math.inf  # the mask, or user 0
    assert 20 * scaled.counter_epsilon(20) == pytest.approx(20, rel=1e-14, abs=0)
    with pytest.raises(ValueError, match="list_length must be"):
        scaled.effective_epsilon(0)


# --- Lemma 1


def test_lemma_1_at_the_first_item_is_false():
    assert lemma_1_bound(1, 0.5, epsilon=1.0, c1=1e9) == 0.0
    assert HybridMechanism(epsilon=1.0).quantile(1, 0.5) == pytest.approx(2 * math.log(2), rel=1e-9, abs=0)


def test_the_constant_of_lemma_1_is_attained_at_the_second_item():
    assert lemma_1_constant(2) == pytest.approx(LEMMA_1_CONSTANT, rel=1e-12, abs=0)
    others = [lemma_1_constant(n) for n in range(3, 300)]
    assert max(others) < LEMMA_1_CONSTANT


@pytest.mark.parametrize("n", [2, 3, 7, 64, 79, 1023, 2**20])
def test_the_needed_constant_rises_to_its_limit_in_gamma(n):
    gammas = [1e-200, 1e-20, 1e-5, 0.01, 0.5, 0.9, 0.999, 1 - 1e-6]
    needed = [lemma_1_constant(n, gamma) for gamma in gammas]
    assert np.all(np.diff(needed) > 0)
    assert needed[-1] == pytest.approx(lemma_1_constant(n), rel=1e-5, abs=0)
    bound = lemma_1_bound(n, 0.01, epsilon=0.3, c1=needed[3])
    assert HybridMechanism(epsilon=0.3).tail(n, bound) == pytest.approx(0.01, rel=1e-9, abs=0)


def test_the_closed_form_bound_on_the_constant():
    for n in [*range(2, 200), 2**24 - 1, 2**40]:
        assert lemma_1_constant(n) <= lemma_1_constant_bound(n)
    assert max(lemma_1_constant_bound(n) for n in range(3, 8)) < LEMMA_1_CONSTANT
    by_level = [math.sqrt(4 * math.pi * (k + 1 + k**3)) / (k * math.log(2)) ** 1.5 for k in range(3, 60)]
    assert by_level[0] < LEMMA_1_CONSTANT and np.all(np.diff(by_level) < 0)
    assert all(lemma_1_constant_bound(n) <= by_level[n.bit_length() - 4] for n in range(8, 3000))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HybridDP(epsilon=0), "epsilon must be"),
        (lambda: HybridDP(epsilon=1, c1=-1), "c1 must be"),
        (lambda: HybridDP(epsilon=1, version="proof"), "version must be one of"),
        (lambda: HybridDP(epsilon=1, noise_multiplier=0), "noise_multiplier must be"),
        (lambda: HybridDP(epsilon=1, bonus_multiplier=-1), "bonus_multiplier must be"),
        (lambda: lemma_1_constant(1), "n must be an integer >= 2, got 1"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
