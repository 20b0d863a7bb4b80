"""The policies that keep the promise: their channels by enumeration, their bookkeeping, their compiled twins."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpregret.cascading import (
    CascadeProblem,
    CascadeUCB1,
    ClickObservationDP,
    ClickPositionLDP,
    FirstPositionDP,
    FirstPositionLDP,
    kveton_problem,
    simulate,
)
from dpregret.cascading.click_position import debiased_click
from dpregret.cascading.first_position import arrange
from dpregret.cascading.kl_index import kl_slope, kl_upper
from dpregret.cascading.play import CANDIDATES, COUNT, MEAN, SHOWN
from dpregret.privacy.discrete import RandomizedResponse
from evidence.cascading.audit import lists
from evidence.cascading.list_sequences import list_sequences
from evidence.cascading.lower_bounds import bernoulli_kl

POLICIES = [
    *(FirstPositionLDP(epsilon=0.7, index=i, fill=f) for i in ("ucb", "kl") for f in ("index", "mean")),
    FirstPositionLDP(epsilon=5, index="kl"),
    *(FirstPositionDP(epsilon=e, fill=f) for e in (1, 30) for f in ("index", "mean")),
    ClickPositionLDP(epsilon=1),
    ClickPositionLDP(epsilon=6),
    ClickObservationDP(epsilon=2),
    ClickObservationDP(epsilon=200),
]


def name(policy):
    return "-".join([type(policy).__name__, *(str(v) for v in vars(policy).values())])


def click_of(weights, items):
    return next((k for k, e in enumerate(items, start=1) if weights[e]), len(items) + 1)


class Uniforms:
    """A generator that returns the given uniforms."""

    def __init__(self, *values):
        self.values = list(values)

    def random(self, shape=None):
        value = self.values.pop(0)
        return value if shape is None else np.full(shape, value)


# --- the compiled twins


@pytest.mark.parametrize("policy", POLICIES, ids=name)
@pytest.mark.parametrize(
    "problem",
    [kveton_problem(8, 3), CascadeProblem([0.9, 0.5, 0.1], 1), CascadeProblem([1.0, 0.5, 0.0], 2)],
    ids=["K3", "K1", "extreme means"],
)
def test_kernel_and_plain_learner_agree_draw_for_draw(policy, problem):
    settings = dict(horizon=500, replicates=2, seed=7)
    compiled = simulate(policy, problem, backend="compiled", **settings)
    plain = simulate(policy, problem, backend="reference", **settings)
    np.testing.assert_array_equal(compiled, plain)


@given(st.floats(0, 1), st.floats(1e-6, 20))
def test_the_kl_index_solves_its_equation(mean, level):
    upper = kl_upper(mean, level)
    assert mean <= upper <= 1
    if 0 < mean and upper < 1 - 1e-9:
        assert bernoulli_kl(mean, upper) == pytest.approx(level, rel=1e-5, abs=0)
    if mean == 0:
        assert upper == pytest.approx(1 - math.exp(-level), rel=1e-9, abs=0)


@given(st.floats(0, 1), st.floats(1e-4, 5), st.floats(1, 3))
def test_the_tangent_lies_above_the_kl_index(mean, level, factor):
    upper = kl_upper(mean, level)
    tangent = upper + kl_slope(mean, upper) * level * (factor - 1)
    assert kl_upper(mean, factor * level) <= tangent + 1e-12


# --- the lists


def test_the_least_observed_candidate_comes_first():
    learner = FirstPositionLDP(epsilon=1).learner(6, 3, 100)
    learner.counts[:] = [50, 9, 30, 40, 50, 60]
    learner.ones[:] = [40, 5, 20, 30, 5, 6]
    learner.means = learner.ones / learner.counts
    upper = learner.upper(50)
    best = set(np.argsort(-upper)[:3])
    shown = learner.recommend(50)
    assert set(shown) == best and 1 in best
    assert shown[0] == min(best, key=lambda e: learner.counts[e])


def test_fill_by_mean_shows_the_best_means_behind_the_first():
    learner = FirstPositionDP(epsilon=1).learner(5, 3, 100)
    learner.counts[:] = [64, 64, 64, 64, 2]
    learner.means = np.array([0.5, 0.4, 0.6, 0.1, 0.0])
    assert learner.recommend(100).tolist() == [4, 0, 2]


def test_every_item_is_shown_before_any_index_counts():
    """An unobserved item has an infinite index, and all are treated alike."""
    for policy in POLICIES:
        learner = policy.learner(7, 2, 100)
        rng = np.random.default_rng(0)
        seen = set()
        for t in range(1, 8):
            items = learner.recommend(t)
            learner.update(items, learner.privatize(items, 3, rng))
            seen |= set(items.tolist())
        assert seen == set(range(7))


@given(st.permutations(range(6)), *[st.lists(st.integers(0, 3), min_size=6, max_size=6)] * 2, st.integers(1, 6))
def test_arrange_shows_the_least_counted_candidate_first_and_sorts_the_others(order, counts, means, length):
    state = np.zeros((7, 6))
    state[COUNT], state[MEAN] = counts, means
    first = min(order[:length], key=lambda e: (counts[e], e))
    for by_mean in (False, True):
        lists = np.tile(np.arange(length), (3, 1))
        lists[CANDIDATES] = order[:length]
        arrange(state, by_mean, lists)
        ranked = sorted(range(6), key=lambda e: (-means[e], e)) if by_mean else order[:length]
        others = [e for e in ranked if e != first][: length - 1]
        assert lists[SHOWN].tolist() == [first, *sorted(others)]


# --- privacy of the messages, exactly


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("length", [1, 2, 4])
@pytest.mark.parametrize("policy", [FirstPositionLDP, ClickPositionLDP])
def test_the_worst_ratio_over_all_users_is_exactly_e_to_the_epsilon(policy, length, epsilon):
    channel = policy(epsilon=epsilon).channel(length)
    items = np.arange(length)
    laws = {click_of(weights, items) for weights in itertools.product((0, 1), repeat=length)}
    rows = channel[[click - 1 for click in laws]]
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-14)
    worst = max((p / q).max() for p, q in itertools.permutations(rows, 2))
    assert worst == pytest.approx(math.exp(epsilon), rel=1e-12, abs=0)


@pytest.mark.parametrize("policy", [FirstPositionLDP(epsilon=0.8), ClickPositionLDP(epsilon=0.8)], ids=name)
def test_the_code_draws_messages_from_the_stated_channel(policy):
    """The message is a step function of one uniform; each step has the probability of its message as its length."""
    length = 3
    channel = policy.channel(length)
    learner = policy.learner(length, length, 10)
    lowest = 1 if isinstance(policy, ClickPositionLDP) else 0
    for click, law in enumerate(channel, start=1):
        truth, lie = law.max(), law.min()
        edges = [0.0, *(truth + j * lie for j in range(channel.shape[1]))]
        drawn = np.zeros(channel.shape[1])
        for low, high in itertools.pairwise(edges):
            message = learner.privatize(np.arange(length), click, Uniforms((low + high) / 2))
            assert message.shape == (1,)
            drawn[message[0] - lowest] += high - low
        np.testing.assert_allclose(drawn, law, rtol=1e-12)


def test_the_message_has_one_length_for_all_users():
    """What breaks Theorems 3 and 5: there the length of the message is the number of examined positions."""
    rng = np.random.default_rng(0)
    for policy in (FirstPositionLDP(epsilon=1), ClickPositionLDP(epsilon=1)):
        learner = policy.learner(4, 3, 10)
        assert {len(learner.privatize(np.arange(3), click, rng)) for click in range(1, 5)} == {1}


# --- estimates


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@given(means=st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_debiased_clicks_are_unbiased(epsilon, means):
    """E z_k = P(C = k), E o_k = P(C >= k), so z_k - w(a_k) o_k has mean 0; its range is at most 1/(p1 - p2)."""
    length = len(means)
    response = RandomizedResponse(epsilon=epsilon, n_categories=length + 1)
    reach = np.concatenate(([1.0], np.cumprod(1 - np.array(means))))
    law = np.append(reach[:-1] * means, reach[-1]) @ response.transition_matrix()
    z, o = np.transpose([debiased_click(report, response) for report in range(1, length + 2)], (1, 0, 2))
    np.testing.assert_allclose(law @ z, reach[:-1] * means, atol=1e-12 / response.contrast)
    np.testing.assert_allclose(law @ o, reach[:-1], atol=1e-12 / response.contrast)
    spread = z - np.array(means) * o
    np.testing.assert_allclose(law @ spread, 0, atol=1e-12 / response.contrast)
    assert (np.ptp(spread, axis=0) <= (1 + 1e-9) / response.contrast).all()


# --- the central policies


class Silent:
    """No noise: the exponential draws are zero."""

    def standard_exponential(self):
        return 0.0

    def random(self):
        return 0.0


@pytest.mark.parametrize("fill", ["index", "mean"])
def test_every_user_enters_exactly_one_block_of_one_item(fill):
    """With the noise switched off, the released blocks of each item are consecutive sums of sizes 1, 1, 2, 4, ..."""
    rng = np.random.default_rng(3)
    learner = FirstPositionDP(epsilon=1, fill=fill).learner(3, 2, 200)
    bits, blocks = {e: [] for e in range(3)}, {e: [] for e in range(3)}
    for t in range(1, 201):
        items = learner.recommend(t)
        click = int(rng.integers(1, 4))
        message = learner.privatize(items, click, Silent())
        learner.update(items, message)
        bits[items[0]].append(click == 1)
        if not np.isnan(message[0]):
            blocks[items[0]].append(message[0])
    for e in range(3):
        assert learner.counts[e] == len(bits[e])
        ends = [0, *(2**j for j in range(len(blocks[e])))]
        assert ends[-1] <= len(bits[e]) < 2 * ends[-1]
        assert blocks[e] == [sum(bits[e][a:b]) for a, b in itertools.pairwise(ends)]
        assert learner.released[e] == sum(bits[e][: ends[-1]])


def test_the_noise_is_fresh_for_each_block_and_adds_up():
    """Of 8 observations come 4 blocks: the total has the variance of 4 Laplace variables, 8/epsilon^2.

    4000 runs; the relative standard error of the sample variance is sqrt((2 + 6/4 )/4000 ) or less, 0.03: 5 of them.
    """
    rng = np.random.default_rng(5)
    totals = []
    for _ in range(4000):
        learner = FirstPositionDP(epsilon=0.5).learner(1, 1, 8)
        for _ in range(8):
            items = np.array([0])
            learner.update(items, learner.privatize(items, 2, rng))
        totals.append(learner.released[0])
    assert np.var(totals) == pytest.approx(4 * 2 / 0.5**2, rel=0.15, abs=0)


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_the_sensitivity_of_clicks_and_observations(length):
    """L1 distance of the joint vectors over all pairs of users: K + 1 at most, reached for K >= 2."""
    vectors = []
    for click in range(1, length + 2):
        learner = ClickObservationDP(epsilon=1).learner(length, length, 10)
        vectors.append(learner.privatize(np.arange(length), click, Silent()))
    worst = max(np.abs(a - b).sum() for a in vectors for b in vectors)
    assert worst == (1 if length == 1 else length + 1)
    assert ClickObservationDP(epsilon=2).learner(length, length, 10).noise.scale == (length + 1) / 2


def test_widths_as_in_the_text():
    t, log_t = 1000, math.log(1000)
    learner = FirstPositionDP(epsilon=0.5).learner(2, 1, t)
    learner.counts[:], learner.means = [9, 0], np.array([0.25, np.inf])
    level, size, blocks = 3 * log_t, 8, 4
    width = math.sqrt(1.5 * log_t / size) + (level + 2 * math.sqrt(level * blocks)) / (0.5 * size)
    assert learner.upper(t)[0] == pytest.approx(0.25 + width, rel=1e-14, abs=0) and learner.upper(t)[1] == np.inf
    p1, p2 = math.e / (math.e + 3), 1 / (math.e + 3)
    ldp = ClickPositionLDP(epsilon=1).learner(5, 3, t)
    assert ldp.width(t, 9) == pytest.approx(math.sqrt(1.5 * 9 * log_t) / (p1 - p2), rel=1e-14, abs=0)
    dp = ClickObservationDP(epsilon=0.5).learner(5, 3, t)
    assert dp.width(t, 9) == pytest.approx(
        math.sqrt(1.5 * size * log_t) + 8 * (level + 2 * math.sqrt(2 * level * blocks)), rel=1e-14, abs=0
    )


def test_regret_bounds_as_in_the_text():
    problem, horizon = CascadeProblem([0.5, 0.4, 0.3, 0.1], 2), 1000
    coth, log_t, tail = 1 / math.tanh(0.25), math.log(1000), 4 * math.pi**2 / 3
    for fill, constant in (("index", 12), ("mean", 48)):
        bound = FirstPositionLDP(epsilon=0.5, fill=fill).regret_bound(problem, horizon=horizon)
        assert bound == pytest.approx(constant * 4 * 2 * coth**2 / 0.1 * log_t + 4 + tail, rel=1e-9, abs=0)
    for fill, a, b, c in (("index", 96, 72, 3 / 2), ("mean", 384, 144, 3 / 4)):
        for epsilon in (0.1, 0.5):
            bound = FirstPositionDP(epsilon=epsilon, fill=fill).regret_bound(problem, horizon=horizon)
            spread = max(0.0, math.log(min(c * 0.4 / epsilon, 0.4 / 0.1)))
            slope = a / 0.1 + b / epsilon * (1 + spread)
            assert bound == pytest.approx(4 * 2 * log_t * slope + 4 + 2 * tail, rel=1e-9, abs=0)
    with pytest.raises(ValueError, match="index must be one of 'ucb'"):
        FirstPositionLDP(epsilon=1, index="kl").regret_bound(problem, horizon=10)
    with pytest.raises(ValueError, match="problem must have K < L"):
        FirstPositionDP(epsilon=1).regret_bound(CascadeProblem([0.5, 0.3], 2), horizon=10)


def test_no_user_is_observed_raw_and_the_epsilon_is_the_stated_one():
    for policy in POLICIES:
        assert policy.initial_observation is False
        for length in (1, 2, 4):
            share = 0.5 if length == 1 and isinstance(policy, ClickObservationDP) else 1.0  # distance 1, not K + 1 = 2
            assert policy.effective_epsilon(length) == pytest.approx(share * policy.epsilon, rel=1e-12, abs=0)
            assert policy.value_epsilon(length) == policy.effective_epsilon(length)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FirstPositionLDP(epsilon=0), "epsilon must be a finite number > 0, got 0"),
        (lambda: FirstPositionLDP(epsilon=1, index="ts"), "index must be one of"),
        (lambda: FirstPositionLDP(epsilon=1, fill="best"), "fill must be one of"),
        (lambda: FirstPositionDP(epsilon=math.inf), "epsilon must be"),
        (lambda: FirstPositionDP(epsilon=1, fill=None), "fill must be one of"),
        (lambda: ClickPositionLDP(epsilon=-1), "epsilon must be"),
        (lambda: ClickPositionLDP(epsilon=1).channel(0), "list_length must be"),
        (lambda: FirstPositionLDP(epsilon=1).channel(0), "list_length must be"),
        (lambda: ClickObservationDP(epsilon=math.nan), "epsilon must be"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- the lists alone


@pytest.mark.parametrize(
    "policy",
    [FirstPositionLDP(epsilon=1), FirstPositionLDP(epsilon=1, index="kl"), ClickPositionLDP(epsilon=1)],
    ids=name,
)
def test_many_compiled_runs_follow_the_exact_law_of_the_lists(policy):
    """Chi-square-like: every sequence of lists within 5 standard errors of its exact probability, 20000 runs.

    The exact law sums over all messages; at most 100 sequences, error rate below 1e-4, fixed seed.
    """
    users = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1]])
    channel = policy.channel(2)
    lowest = 1 if isinstance(policy, ClickPositionLDP) else 0
    law = {}
    for reports in itertools.product(range(channel.shape[1]), repeat=len(users) - 1):
        learner, probability, shown = policy.learner(3, 2, len(users)), 1.0, []
        for t, report in enumerate((*reports, None), start=1):
            items = learner.recommend(t)
            shown.append(tuple(items.tolist()))
            if report is not None:
                probability *= channel[click_of(users[t - 1], items) - 1, report]
                learner.update(items, np.array([report + lowest]))
        law[tuple(shown)] = law.get(tuple(shown), 0.0) + probability
    assert sum(law.values()) == pytest.approx(1, rel=1e-9, abs=0)
    runs = 20_000
    drawn = list_sequences(policy, users, list_length=2, runs=runs, rng=np.random.default_rng(1))
    sequences, hits = np.unique(drawn.reshape(runs, -1), axis=0, return_counts=True)
    counted = {tuple(map(tuple, s.reshape(-1, 2).tolist())): int(h) for s, h in zip(sequences, hits, strict=True)}
    assert set(counted) <= set(law) and len(law) <= 100
    for sequence, p in law.items():
        assert abs(counted.get(sequence, 0) / runs - p) <= 5 * math.sqrt(p * (1 - p) / runs) + 5 / runs


@pytest.mark.parametrize("policy", [FirstPositionDP(epsilon=1), ClickObservationDP(epsilon=1)], ids=name)
def test_many_compiled_runs_agree_with_the_plain_learner(policy):
    """Two samples of the last list, 4000 runs each, on the same users; every frequency within 5 standard errors."""
    users = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]])
    compiled = list_sequences(policy, users, list_length=2, runs=4000, rng=np.random.default_rng(1))[:, -1]
    plain = lists(policy, users, list_length=2)
    rng = np.random.default_rng(2)
    plain = np.array([plain(rng)[-1] for _ in range(4000)])
    for items in itertools.permutations(range(3), 2):
        p, q = ((sample == items).all(axis=1).mean() for sample in (compiled, plain))
        assert abs(p - q) <= 5 * math.sqrt((p * (1 - p) + q * (1 - q) + 1e-3) / 4000)


def test_lists_of_bad_users_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="weights must hold 0 and 1 only"):
        list_sequences(FirstPositionLDP(epsilon=1), [[0.5, 1.0]], list_length=1, runs=1, rng=rng)
    with pytest.raises(ValueError, match="policy must observe no user raw"):
        list_sequences(CascadeUCB1(), [[0, 1]], list_length=1, runs=1, rng=rng)
