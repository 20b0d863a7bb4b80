"""Semi-bandits: rewards, oracles, Algorithm 4 of [Wang2021] and the tail that its proof needs."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from dpregret.cascading import (
    CUCB,
    REWARDS,
    CascadeProblem,
    CascadeReward,
    GaussianCUCB,
    LaplaceCUCB,
    LaplaceLDP,
    LinearReward,
    SemiBanditProblem,
    TopK,
    simulate,
)
from evidence.cascading import bounds
from evidence.cascading.simultaneous import simultaneous_tail

MEANS = np.array([0.05] * 5 + [0.2] * 3)
POLICIES = [
    CUCB(),
    GaussianCUCB(epsilon=1, delta=1e-3),
    GaussianCUCB(epsilon=0.5, delta=1e-3, version="corrected", initial="private", noise_multiplier=0.01),
    LaplaceCUCB(epsilon=2, noise_multiplier=0.01, bonus_multiplier=0.01),
    LaplaceCUCB(epsilon=0.5, version="corrected", initial="private"),
]


def name(policy):
    return f"{type(policy).__name__}-{getattr(policy, 'version', '')}"


# --- rewards and problems

unit = st.floats(0, 1)


@given(st.lists(st.tuples(unit, unit), min_size=1, max_size=6), st.sampled_from(list(REWARDS)))
def test_rewards_are_monotone_and_smooth(pairs, reward):
    reward = REWARDS[reward]
    u, v = np.array(pairs).T
    width = float(abs(u - v).max())
    assert abs(reward(u) - reward(v)) <= reward.smoothness(width, len(pairs)) + 1e-12
    assert reward(np.maximum(u, v)) >= reward(u) - 1e-12


@given(st.floats(0, 0.99), st.integers(1, 8), st.sampled_from(list(REWARDS)))
def test_smoothness_is_attained_and_inverted(width, length, reward):
    reward = REWARDS[reward]
    most = length * Fraction(width) if reward == REWARDS["linear"] else 1 - (1 - Fraction(width)) ** length
    assert reward.smoothness(width, length) == pytest.approx(float(most), rel=1e-13, abs=0)
    # a reward is formed from 1 - mean, so it has the absolute accuracy of numbers near 1
    assert reward(np.full(length, width)) - reward(np.zeros(length)) == pytest.approx(float(most), rel=0, abs=2e-15)
    back = reward.inverse_smoothness(min(reward.smoothness(width, length), 1 - 1e-9), length)
    if reward.smoothness(width, length) < 1 - 1e-6:
        assert back == pytest.approx(width, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("reward", REWARDS.values(), ids=REWARDS)
def test_top_k_is_an_exact_oracle_and_the_gaps_are_those_of_the_bad_sets(reward):
    rng = np.random.default_rng(0)
    problem = SemiBanditProblem(rng.random(7), 3, reward)
    assert problem.optimal_reward() == pytest.approx(problem.all_rewards().max(), abs=1e-15)
    ordered = np.sort(problem.means)[::-1]
    low, high = problem.gap_range()
    best = reward(ordered[:3])
    # the best bad set swaps the third for the fourth arm, the worst takes the last three
    assert low == pytest.approx(best - reward(ordered[[0, 1, 3]]), rel=1e-9, abs=0)
    assert high == pytest.approx(best - reward(ordered[-3:]), rel=1e-9, abs=0)
    assert problem.gap_range(0.5)[1] == pytest.approx(0.5 * best - reward(ordered[-3:]), nan_ok=True, rel=1e-9, abs=0)


def test_no_bad_set():
    assert all(map(math.isnan, SemiBanditProblem([0.5, 0.5], 1).gap_range()))


# --- simulation


@pytest.mark.parametrize("policy", POLICIES, ids=name)
@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("reward", REWARDS.values(), ids=REWARDS)
def test_kernel_and_plain_learner_agree_draw_for_draw(policy, length, reward):
    problem = SemiBanditProblem(MEANS, length, reward)
    settings = dict(horizon=600, replicates=2, seed=7)
    compiled = simulate(policy, problem, backend="compiled", **settings)
    plain = simulate(policy, problem, backend="reference", **settings)
    np.testing.assert_array_equal(compiled, plain)


def test_checkpoints_may_fall_in_the_initial_rounds():
    problem = SemiBanditProblem(MEANS, 2)
    regret = simulate(CUCB(), problem, horizon=20, replicates=2, seed=1, checkpoints=[3, 8, 20])
    whole = simulate(CUCB(), problem, horizon=20, replicates=2, seed=1, checkpoints=range(1, 21))
    np.testing.assert_allclose(regret, whole.sel(round=[3, 8, 20]), rtol=1e-12)
    # every arm is in two of the initial super arms
    assert np.allclose(regret.sel(round=8), 8 * 0.4 - 2 * MEANS.sum())


@dataclass(frozen=True)
class Failing:
    """With probability 1 - beta the worst super arm; otherwise any of reward at least alpha opt, here the optimum."""

    beta: float
    alpha: float = 1.0

    def __call__(self, upper, list_length, rng):
        order = np.argsort(-upper, kind="stable")
        return order[:list_length] if rng.random() < self.beta else order[-list_length:]


def test_an_oracle_that_fails_has_regret_against_its_own_standard():
    """Once the means are known, E r = beta opt + (1 - beta) worst, so the regret against alpha beta opt is negative."""
    problem = SemiBanditProblem([0.9, 0.9, 0.1, 0.0], 2)
    policy = CUCB(oracle=Failing(0.5))
    regret = simulate(policy, problem, horizon=4000, replicates=1, seed=0, checkpoints=[2000, 4000])
    slope = float(regret.diff("round")[0, 0]) / 2000
    assert slope == pytest.approx(-0.5 * 0.1, abs=0.06)  # 3 standard errors of 2000 coin tosses
    with pytest.raises(ValueError, match="backend"):
        simulate(policy, problem, horizon=10, replicates=1, seed=0, backend="compiled")


@dataclass(frozen=True)
class Sorted:
    """A 2/3-approximate oracle: one of its two arms is the third best."""

    alpha: float = 2 / 3
    beta: float = 1.0

    def __call__(self, upper, list_length, rng):
        return np.argsort(-upper, kind="stable")[[0, 2]]


def test_an_approximate_oracle_is_judged_by_alpha():
    problem = SemiBanditProblem([0.8, 0.7, 0.5, 0.1, 0.1, 0.1], 2)
    policy = CUCB(oracle=Sorted())
    regret = simulate(policy, problem, horizon=2000, replicates=1, seed=0, checkpoints=[1000, 2000])
    assert float(regret.diff("round")[0, 0]) / 1000 == pytest.approx(2 / 3 * 1.5 - 1.3, abs=0.05)


def test_other_outcomes_than_bernoulli():
    problem = SemiBanditProblem([0.9, 0.5, 0.1], 1, outcomes=lambda means, rng: means)
    regret = simulate(CUCB(), problem, horizon=500, replicates=1, seed=0, checkpoints=[500])
    assert regret.attrs["effective_epsilon"] == math.inf
    assert 0 < float(regret[0, 0]) < 50


def test_the_initial_observation_is_raw_or_private():
    rng = np.random.default_rng(0)
    for initial, raw in (("raw", True), ("private", False)):
        learner = GaussianCUCB(epsilon=1, delta=1e-3, initial=initial).learner(3, 2, 10)
        for t in (1, 2, 3):
            arms = learner.recommend(t, rng)
            message = learner.privatize(arms, np.ones(2), rng)
            assert arms[0] == t - 1 and message.size == 1 and (message[0] == 1.0) == raw
            learner.update(arms, message)
        assert (learner.counts == 1).all()
        assert learner.privatize(learner.recommend(4, rng), np.ones(2), rng).size == 2


@given(st.integers(2, 10**6), st.integers(1, 1000), st.floats(0.05, 3))
def test_the_bonus_is_the_papers(t, n, epsilon):
    root = math.sqrt(3 * math.log(t) / (2 * n))
    kappa = 4 * math.log(1250)
    for version, noise in (("printed", 2 * kappa * math.log(t)), ("corrected", kappa * math.log(2 * t**3))):
        index = GaussianCUCB(epsilon=epsilon, delta=1e-3, version=version).index(4)
        assert index.bonus(t, n) == pytest.approx(root + 2 / epsilon * math.sqrt(noise / n), rel=1e-9, abs=0)


def test_the_epsilon_of_what_is_sent():
    assert LaplaceCUCB(epsilon=0.5).value_epsilon(4) == pytest.approx(0.5, rel=1e-14, abs=0)
    assert LaplaceCUCB(epsilon=0.5, noise_multiplier=0.01).value_epsilon(4) == pytest.approx(50, rel=1e-14, abs=0)
    # Lemma 3 is loose at epsilon = 1 and false from 7.46 on
    assert GaussianCUCB(epsilon=1, delta=1e-3).value_epsilon(4) < 1
    assert GaussianCUCB(epsilon=8, delta=1e-3).value_epsilon(4) > 8


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianCUCB(epsilon=0, delta=0.1), "epsilon"),
        (lambda: GaussianCUCB(epsilon=1, delta=1), "delta"),
        (lambda: GaussianCUCB(epsilon=1, delta=0.1, version="x"), "version"),
        (lambda: LaplaceCUCB(epsilon=1, initial="x"), "initial"),
        (lambda: LaplaceCUCB(epsilon=1, noise_multiplier=0), "noise_multiplier"),
        (lambda: SemiBanditProblem([0.5, 1.5], 1), r"means\[1\]"),
        (lambda: SemiBanditProblem([0.5, 0.5], 3), "list_length"),
        (lambda: SemiBanditProblem(np.full(60, 0.5), 30).all_rewards(), "super arms"),
        (lambda: CascadeReward().inverse_smoothness(1.0, 2), "gap"),
        (lambda: simulate(TopK(), None, horizon=1, replicates=1, seed=0), "policy"),
        (lambda: simulate(CUCB(), None, horizon=1, replicates=1, seed=0), "problem"),
        (
            lambda: simulate(CUCB(), CascadeProblem([0.5, 0.4], 1), horizon=1, replicates=1, seed=0),
            r"problem must be a SemiBanditProblem for CUCB\(",
        ),
        (
            lambda: simulate(LaplaceLDP(epsilon=1), SemiBanditProblem([0.5, 0.4], 1), horizon=1, replicates=1, seed=0),
            r"problem must be a CascadeProblem for LaplaceLDP\(",
        ),
        (
            lambda: simulate(LaplaceLDP, CascadeProblem([0.5, 0.4], 1), horizon=1, replicates=1, seed=0),
            "policy must be a policy",
        ),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_corrected_algorithm_stays_under_its_bound_where_the_bound_is_not_trivial():
    problem = SemiBanditProblem([0.95, 0.05], 1)
    policy = GaussianCUCB(epsilon=2, delta=0.05, version="corrected", initial="private")
    regret = simulate(policy, problem, horizon=20_000, replicates=3, seed=0, checkpoints=[20_000])
    low, high = problem.gap_range()
    bound = bounds.theorem_9(
        n_arms=2, list_length=1, inverse_gap=LinearReward().inverse_smoothness(low, 1), max_gap=high,
        horizon=20_000, epsilon=2, delta=0.05, version="corrected",
    )  # fmt: skip
    assert float(regret.max()) < bound < 20_000 * high


# --- the tail over all counts


@pytest.mark.parametrize("width", [0.5, 1.5, 4.0])
def test_simultaneous_tail_of_one_and_two(width):
    assert simultaneous_tail(width, n=1) == pytest.approx(special.erfc(width / math.sqrt(2)), rel=1e-14, abs=0)
    r = 1 / math.sqrt(2)
    inside = stats.multivariate_normal(cov=[[1, r], [r, 1]]).cdf([width] * 2, lower_limit=[-width] * 2)
    assert simultaneous_tail(width, n=2) == pytest.approx(1 - inside, abs=1e-8)


@pytest.mark.parametrize(("width", "n"), [(1.0, 20), (4.3, 99)])
def test_simultaneous_tail_does_not_depend_on_the_nodes(width, n):
    first, second = simultaneous_tail(width, n=n), simultaneous_tail(width, n=n, nodes=700)
    assert first == pytest.approx(second, rel=1e-10, abs=0)
    single = special.erfc(width / math.sqrt(2))
    assert single < first < n * single


def test_simultaneous_tail_by_simulation():
    """200,000 paths; Clopper-Pearson at two-sided level 1e-4, fixed seed."""
    rng = np.random.default_rng(3)
    walk = np.cumsum(rng.standard_normal((200_000, 20)), axis=1) / np.sqrt(np.arange(1, 21))
    hits = int((abs(walk).max(axis=1) > 2.5).sum())
    interval = stats.binomtest(hits, 200_000).proportion_ci(1 - 1e-4, method="exact")
    assert interval.low < simultaneous_tail(2.5, n=20) < interval.high


def test_the_rewards_of_all_sets():
    problem = SemiBanditProblem([0.1, 0.5, 0.7], 2, CascadeReward())
    expected = [1 - (1 - a) * (1 - b) for a, b in itertools.combinations([0.1, 0.5, 0.7], 2)]
    np.testing.assert_allclose(problem.all_rewards(), expected)
