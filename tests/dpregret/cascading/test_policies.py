"""The cascade model, the simulator, and the local policies of [Wang2021]."""

import itertools
import math
import re
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpregret.cascading import (
    CascadeProblem,
    CascadeUCB1,
    CompositionLDP,
    GaussianLDP,
    LaplaceLDP,
    Policy,
    kveton_problem,
    learner,
    named_problem,
    simulate,
    uniform_problem,
)
from dpregret.cascading.learner import Index
from dpregret.cascading.model import INSTANCES

POLICIES = [
    CascadeUCB1(),
    LaplaceLDP(epsilon=0.5),
    LaplaceLDP(epsilon=2, version="corrected"),
    GaussianLDP(epsilon=1, delta=1e-3),
    CompositionLDP(epsilon=0.2, delta=1e-3, noise_multiplier=0.01, bonus_multiplier=0.01),
    GaussianLDP(epsilon=1, delta=1e-3, version="corrected"),
    CompositionLDP(epsilon=0.2, delta=1e-3, noise_multiplier=0.01, bonus_multiplier=0.01, version="corrected"),
]


def name(policy):
    return f"{type(policy).__name__}-{getattr(policy, 'version', '')}"


# --- model


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_the_reward_is_the_expectation_over_users(means):
    problem = CascadeProblem(means, 1, allow_ties=True)
    items = np.arange(len(means))
    expected = 0.0
    for weights in itertools.product((0, 1), repeat=len(means)):
        probability = math.prod(m if w else 1 - m for m, w in zip(means, weights, strict=True))
        expected += probability * (1 - math.prod(1 - w for w in weights))
    assert problem.reward(items) == pytest.approx(expected, abs=1e-12)


def test_the_optimal_list_by_enumeration():
    means = np.array([0.3, 0.1, 0.7, 0.25, 0.5])
    problem = CascadeProblem(means, 3)
    best = max(itertools.permutations(range(5), 3), key=lambda items: problem.reward(np.array(items)))
    assert set(problem.optimal_items) == set(best)
    assert problem.optimal_reward == pytest.approx(problem.reward(np.array(best)), rel=1e-9, abs=0)
    assert problem.minimal_gap == pytest.approx(0.05, rel=1e-9, abs=0)
    assert problem.gaps.shape == (2, 3)


def test_one_uniform_draws_the_click_with_its_law():
    """Inverse transform: each click has an interval of the uniform as long as its probability."""

    class Fixed:
        def __init__(self, u):
            self.u = u

        def random(self):
            return self.u

    problem = CascadeProblem([0.5, 0.2, 0.9], 3)
    items = np.array([1, 0, 2])
    law = [0.2, 0.8 * 0.5, 0.8 * 0.5 * 0.9, 0.8 * 0.5 * 0.1]
    grid = (np.arange(100_000) + 0.5) / 100_000
    clicks = np.array([problem.draw_click(items, Fixed(u)) for u in grid])
    for position, probability in enumerate(law, start=1):
        assert np.mean(clicks == position) == pytest.approx(probability, abs=2e-5)


@pytest.mark.parametrize("instance", INSTANCES)
def test_named_instances_meet_the_assumptions(instance):
    problem = named_problem(instance, n_items=20, list_length=4)
    assert problem.minimal_gap > 0 and problem.n_items == 20


# --- simulation


@pytest.mark.parametrize("policy", POLICIES, ids=name)
@pytest.mark.parametrize("problem", [kveton_problem(8, 3), CascadeProblem([0.9, 0.5, 0.1], 1)], ids=["K3", "K1"])
def test_kernel_and_plain_learner_agree_draw_for_draw(policy, problem):
    settings = dict(horizon=1500, replicates=2, seed=7)
    compiled = simulate(policy, problem, backend="compiled", **settings)
    plain = simulate(policy, problem, backend="reference", **settings)
    np.testing.assert_array_equal(compiled, plain)


def test_numbers_do_not_depend_on_workers_selection_or_checkpoints():
    settings = dict(policy=LaplaceLDP(epsilon=1), problem=kveton_problem(), horizon=3000, seed=1)
    one = simulate(replicates=4, n_jobs=1, **settings)
    two = simulate(replicates=4, n_jobs=2, **settings)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one.sel(replicate=[3, 1]), simulate(replicates=[3, 1], **settings))
    sparse = simulate(replicates=4, checkpoints=[1500, 3000], **settings)
    # the grouping of the sum differs, so the last bits may
    np.testing.assert_allclose(sparse.values, one.sel(round=[1500, 3000]).values, rtol=1e-12)


def test_regret_grows_and_is_at_most_the_worst_list_every_round():
    problem = kveton_problem()
    regret = simulate(CascadeUCB1(), problem, horizon=2000, replicates=3, seed=0)
    assert (regret.diff("round") >= 0).all()
    worst = problem.regret(np.arange(problem.n_items)[-4:])
    assert (regret <= worst * regret["round"] + 1e-9).all()


class AlwaysFirst:
    """A reader's policy that shows item 0 only."""

    def learner(self, n_items, list_length, horizon):
        return self

    def recommend(self, t):
        return np.array([0])

    def privatize(self, items, click, rng):
        return np.array([click])

    def update(self, items, message):
        pass


def test_every_round_counts_once_and_items_are_renamed():
    """One item for ever: its regret per round, at every checkpoint; which item it is differs from run to run."""
    problem = CascadeProblem([0.75, 0.5, 0.25], 1)
    regret = simulate(AlwaysFirst(), problem, horizon=40, replicates=30, seed=0, checkpoints=[1, 2, 7, 40])
    per_round = regret / regret["round"]
    assert set(per_round.values.ravel().round(12)) == {0.0, 0.25, 0.5}
    assert (per_round == per_round[:, :1]).all()
    by_default = simulate(AlwaysFirst(), problem, horizon=500, replicates=1, seed=0)
    assert by_default["round"][-1] == 500 and by_default.sizes["round"] == 200
    assert by_default.attrs["horizon"] == 500 and math.isnan(by_default.attrs["effective_epsilon"])
    assert math.isnan(by_default.attrs["value_epsilon"])


def test_named_instances_in_numbers():
    np.testing.assert_array_equal(np.sort(kveton_problem(5, 2, 0.5, 0.25).means), [0.25, 0.25, 0.25, 0.5, 0.5])
    np.testing.assert_array_equal(np.sort(kveton_problem().means), np.r_[[0.2 - 0.15] * 16, [0.2] * 4])
    for instance, top in (("linear to 0.95", 0.95), ("linear to 0.5", 0.5)):
        means = named_problem(instance, n_items=5, list_length=2).means
        np.testing.assert_allclose(means, [top, 0.8 * top, 0.6 * top, 0.4 * top, 0.2 * top], rtol=1e-15)
    wide, narrow = (named_problem(f"uniform to {top}", n_items=50, list_length=2).means for top in ("0.95", "0.5"))
    np.testing.assert_allclose(wide / 0.95, narrow / 0.5, rtol=1e-14)
    assert 0.85 < wide.max() <= 0.95 and wide.min() < 0.1
    assert (uniform_problem(50, 2, 0.95, seed=1).means != wide).all()
    assert (uniform_problem(50, 2, 0.95).means == wide).all()
    problem = CascadeProblem([0.5, 0.25, 0.125], 2)
    assert problem.regret(np.array([1, 2])) == 0.625 - (1 - 0.75 * 0.875)
    np.testing.assert_array_equal(problem.relabelled(np.array([2, 0, 1])).means, [0.125, 0.5, 0.25])


def test_showing_every_item_has_no_regret():
    problem = CascadeProblem([0.5, 0.3], 2)
    assert float(simulate(CascadeUCB1(), problem, horizon=50, replicates=1, seed=0)[0, -1]) == 0.0


def test_all_lists_are_equally_likely_while_the_noise_drowns_everything():
    """With enormous noise the regret per round is that of a uniformly random list.

    200 repetitions of 20 rounds; z-test at the two-sided level 1e-4, fixed seed.
    """
    problem = kveton_problem(6, 2)
    policy = LaplaceLDP(epsilon=1e-9, bonus_multiplier=0.0)
    regret = simulate(policy, problem, horizon=20, replicates=200, seed=11, checkpoints=[1, 20])
    later = regret.sel(round=20) - regret.sel(round=1)
    lists = [problem.regret(np.array(pair)) for pair in itertools.combinations(range(6), 2)]
    z = (later.mean() - 19 * np.mean(lists)) / (later.std(ddof=1) / math.sqrt(200))
    assert abs(float(z)) < 3.89


def test_a_readers_own_learner_can_be_simulated():
    class FixedList:
        def __init__(self, items):
            self.items = np.array(items)

        def learner(self, n_items, list_length, horizon):
            return self

        def recommend(self, t):
            return self.items

        def privatize(self, items, click, rng):
            return np.array([click])

        def update(self, items, message):
            pass

        def initialise(self, weights):
            raise AssertionError("only called for policies with initial_observation")

    problem = CascadeProblem([0.5, 0.5], 1, allow_ties=True)
    assert float(simulate(FixedList([1]), problem, horizon=10, replicates=1, seed=0)[0, -1]) == 0.0


def test_the_policy_of_the_documentation_runs_and_learns():
    example = textwrap.dedent(learner.__doc__.split("::\n")[1].split("\nWhat a policy may have")[0])
    names = {}
    exec(example, names)
    regret, problem = names["regret"], names["problem"]
    again = simulate(names["EpsilonGreedy"](), problem, horizon=10_000, replicates=[4], seed=1)
    np.testing.assert_array_equal(again, regret.sel(replicate=[4]))  # its draws come from the repetition's generator
    random_list = np.mean([problem.regret(np.array(items)) for items in itertools.combinations(range(20), 4)])
    assert (regret.isel(round=-1) < 0.6 * random_list * 10_000).all()
    assert isinstance(names["EpsilonGreedy"](), Policy) and not isinstance("UCB", Policy)


@pytest.mark.parametrize("wrong", [[0], [0, 1, 2], [], [1, 1], [0, -1], [0, 3], [0.0, 1.0], [[0, 1]], None, [[0], 1]])
def test_a_list_that_is_none_is_refused_with_its_round(wrong):
    class Wrong(AlwaysFirst):
        def recommend(self, t):
            return np.array([2, 0]) if t < 7 else wrong

    message = f"recommend must return 2 distinct items of 0 to 2, got {wrong!r} in round 7"
    with pytest.raises(ValueError, match=re.escape(message)):
        simulate(Wrong(), CascadeProblem([0.5, 0.4, 0.3], 2), horizon=9, replicates=1, seed=0)
    assert float(simulate(Wrong(), CascadeProblem([0.5, 0.4, 0.3], 2), horizon=6, replicates=1, seed=0)[0, -1]) >= 0


# --- policies


def test_indices_as_printed_and_corrected():
    t, n, length, epsilon, delta = 1000, 50, 4, 0.5, 1e-3
    plain = math.sqrt(1.5 * math.log(t) / n)
    sigma = math.sqrt(2 * length * math.log(1.25 / delta)) / epsilon
    scale = math.sqrt(4 * length * math.log(math.e + epsilon / delta)) / epsilon
    expected = {
        CascadeUCB1(): plain,
        LaplaceLDP(epsilon=epsilon): plain + length / epsilon * math.sqrt(24 * math.log(t) / n),
        GaussianLDP(epsilon=epsilon, delta=delta): plain + sigma * math.sqrt(2 * math.log(2 * t**3) / n),
        CompositionLDP(epsilon=epsilon, delta=delta): plain
        + 4 / epsilon * math.sqrt(6 * length * math.log(math.e + epsilon / delta) * math.log(t) / n),
        LaplaceLDP(epsilon=epsilon, version="corrected"): plain
        + length / epsilon * (math.sqrt(12 * math.log(t) / n) + 3 * math.log(t) / n),
        GaussianLDP(epsilon=epsilon, delta=delta, version="corrected"): plain
        + sigma * math.sqrt(2 * math.log(2 * t**3) / n),
        CompositionLDP(epsilon=epsilon, delta=delta, bonus_multiplier=3, version="corrected"): plain
        + 3 * scale * (math.sqrt(12 * math.log(t) / n) + 3 * math.log(t) / n),
    }
    for policy, bonus in expected.items():
        assert policy.index(length).bonus(t, np.array([n]))[0] == pytest.approx(bonus, rel=1e-12, abs=0)


def test_the_corrected_forms_play_as_the_same_noise_does_in_algorithm_2():
    """The composition variant is Algorithm 2 at another epsilon; Algorithm 3 without user 0 is a policy of its own."""
    problem, settings = kveton_problem(8, 2), dict(horizon=800, replicates=2, seed=4)
    composition = CompositionLDP(epsilon=0.5, delta=1e-3, version="corrected")
    laplace = LaplaceLDP(epsilon=2 / composition.noise(2).scale, version="corrected")
    np.testing.assert_array_equal(simulate(composition, problem, **settings), simulate(laplace, problem, **settings))

    class Unobserved(GaussianLDP):
        initial_observation = False

    gaussian = simulate(GaussianLDP(epsilon=0.5, delta=0.01, version="corrected"), problem, **settings)
    np.testing.assert_array_equal(gaussian, simulate(Unobserved(epsilon=0.5, delta=0.01), problem, **settings))
    assert (gaussian != simulate(GaussianLDP(epsilon=0.5, delta=0.01), problem, **settings)).any()


def test_multipliers_scale_the_noise_and_its_bonus_alone():
    policy = LaplaceLDP(epsilon=0.2, noise_multiplier=0.01, bonus_multiplier=0.0)
    assert policy.index(4) == Index(a=math.sqrt(1.5))
    assert policy.noise(4).scale == pytest.approx(0.2, rel=1e-9, abs=0)


def test_the_epsilon_of_the_noisy_values():
    assert CascadeUCB1().value_epsilon(4) == math.inf
    for epsilon in (0.2, 0.5, 1, 2):
        scaled = LaplaceLDP(epsilon=epsilon, noise_multiplier=0.01)
        assert scaled.value_epsilon(4) == pytest.approx(100 * epsilon, rel=1e-14, abs=0)
        assert scaled.value_epsilon(4, sensitivity="click") == pytest.approx(50 * epsilon, rel=1e-14, abs=0)
        assert scaled.value_epsilon(1, sensitivity="click") == pytest.approx(100 * epsilon, rel=1e-14, abs=0)
        # the printed noise is enough at its own epsilon, with room to spare
        assert GaussianLDP(epsilon=epsilon, delta=1e-3).value_epsilon(4) < epsilon
        assert CompositionLDP(epsilon=epsilon, delta=1e-3).value_epsilon(4) < epsilon
    with pytest.raises(ValueError, match="sensitivity must be one of"):
        LaplaceLDP(epsilon=1).value_epsilon(4, sensitivity="none")


@pytest.mark.parametrize("length", [1, 2, 4])
def test_everything_that_leaves_the_printed_policies_has_no_finite_epsilon(length):
    """The number of values tells K >= 2 users apart; at K = 1 what remains is user 0, whom one version leaves alone."""
    for policy in POLICIES:
        finite = length == 1 and not policy.initial_observation
        assert policy.effective_epsilon(length) == (policy.value_epsilon(1) if finite else math.inf)
        with pytest.raises(ValueError, match="list_length must be"):
            policy.effective_epsilon(0)
    assert [p.initial_observation for p in POLICIES] == [True, True, False, True, True, False, False]


def test_results_carry_both_epsilons():
    settings = dict(horizon=5, replicates=1, seed=0)
    regret = simulate(LaplaceLDP(epsilon=0.5), kveton_problem(), **settings)
    assert regret.attrs["value_epsilon"] == 0.5 and regret.attrs["effective_epsilon"] == math.inf
    regret = simulate(LaplaceLDP(epsilon=0.5, version="corrected"), kveton_problem(8, 1), **settings)
    assert regret.attrs["value_epsilon"] == regret.attrs["effective_epsilon"] == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LaplaceLDP(epsilon=0), "epsilon must be a finite number > 0, got 0"),
        (lambda: LaplaceLDP(epsilon=-1), "epsilon must be"),
        (lambda: LaplaceLDP(epsilon=math.nan), "epsilon must be"),
        (lambda: GaussianLDP(epsilon=1, delta=0), "delta must be a finite number > 0 and < 1, got 0"),
        (lambda: CompositionLDP(epsilon=1, delta=1), "delta must be"),
        (lambda: LaplaceLDP(epsilon=1, noise_multiplier=0), "noise_multiplier must be"),
        (lambda: LaplaceLDP(epsilon=1, version="fixed"), "version must be one of"),
        (lambda: GaussianLDP(epsilon=1, delta=0.1, version="proof"), "version must be one of"),
        (lambda: CascadeProblem([0.5, 0.4], 3), "list_length must be an integer >= 1 and <= 2, got 3"),
        (lambda: kveton_problem(n_items=3, list_length=4), "n_items must be an integer >= 4, got 3"),
        (lambda: CascadeProblem([0.5, 1.4], 1), r"means\[1\] must be finite and in \[0, 1\], got 1.4"),
        (lambda: CascadeProblem([0.5, math.nan], 1), r"means\[1\] must be finite"),
        (lambda: CascadeProblem([0.5, 0.5], 1), "Assumption 2"),
        (lambda: named_problem("lucky", n_items=4, list_length=2), "instance must be one of"),
        (lambda: simulate(CascadeUCB1(), kveton_problem(), horizon=0, replicates=1, seed=0), "horizon must be"),
        (lambda: simulate(CascadeUCB1(), kveton_problem(), horizon=9, replicates=0, seed=0), "replicates must be"),
        (lambda: simulate("UCB", kveton_problem(), horizon=9, replicates=1, seed=0), "policy must be"),
        (lambda: simulate(CascadeUCB1(), [0.5], horizon=9, replicates=1, seed=0), "problem must be"),
        (
            lambda: simulate(CascadeUCB1(), kveton_problem(), horizon=9, replicates=1, seed=0, backend="gpu"),
            "backend must be one of",
        ),
        *(
            (
                lambda wrong=wrong: simulate(
                    CascadeUCB1(), kveton_problem(), horizon=9, replicates=1, seed=0, checkpoints=wrong
                ),
                "checkpoints must be",
            )
            for wrong in ([3, 2], [2, 2], [10], [0, 1], [])
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
