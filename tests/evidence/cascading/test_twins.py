"""Broken twins: each policy with a guarantee passes the check that its card uses, and each broken version of it fails."""

import dataclasses
import math

import numpy as np
import pytest

from dpregret.cascading import (
    ClickObservationDP,
    ClickPositionLDP,
    CompositionLDP,
    FirstPositionDP,
    FirstPositionLDP,
    GaussianCUCB,
    GaussianLDP,
    HybridDP,
    LaplaceCUCB,
    LaplaceLDP,
    kveton_problem,
    simulate,
)
from dpregret.privacy.discrete import RandomizedResponse
from evidence.cascading.exact_messages import (
    first_list_epsilon,
    local_epsilon,
    message_epsilon,
    semibandit_epsilon,
)
from evidence.cascading.exact_releases import course_epsilon
from evidence.cascading.lists_audit import lists_audit

DELTA = 1e-3


def exact(policy, length):
    """What the card of the policy shows: the exact epsilon of what leaves the user or the curator."""
    if isinstance(policy, (FirstPositionDP, ClickObservationDP, HybridDP)):
        rng = np.random.default_rng(8)
        released = course_epsilon(policy, n_items=length + 1, list_length=length, rounds=12, courses=2, rng=rng)
        return max(released, first_list_epsilon(policy, list_length=length))
    if isinstance(policy, LaplaceCUCB | GaussianCUCB):
        return semibandit_epsilon(policy, list_length=length, delta=DELTA)
    return local_epsilon(policy, list_length=length, delta=DELTA if hasattr(policy, "delta") else 0.0)


def holds(policy, length, epsilon):
    return exact(policy, length) <= epsilon * (1 + 1e-9)


def twin(policy, **methods):
    """The policy with some of its methods replaced, everything else as it is."""
    kind = dataclasses.dataclass(frozen=True, kw_only=True, repr=False)(type("Twin", (type(policy),), methods))
    return kind(**{field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)})


def with_learner(policy, change):
    """The policy with a learner whose ``privatize`` is ``change(original privatize)``."""

    def learner(self, *arguments):
        made = type(policy).learner(self, *arguments)
        made.privatize = change(made)
        return made

    return twin(policy, learner=learner)


def halved(policy):
    kind = type(policy)
    if isinstance(policy, FirstPositionLDP):
        return twin(policy, _response=property(lambda self: RandomizedResponse(epsilon=2 * self.epsilon)))
    if isinstance(policy, ClickPositionLDP):
        return twin(policy, _response=lambda self, k: RandomizedResponse(epsilon=2 * self.epsilon, n_categories=k + 1))
    return twin(policy, noise=lambda self, length: kind.noise(self, length)._replace(scale=noise(policy, length) / 2))


def noise(policy, length):
    return type(policy).noise(policy, length).scale


def raw(made):
    """The message without its noise."""

    class Silent:
        def standard_exponential(self):
            return 0.0

        def standard_normal(self):
            return 0.0

        def random(self, size=None):
            return 0.0 if size is None else np.zeros(size)

    original = made.privatize
    return lambda *arguments: original(*arguments[:-1], Silent())


def reused(made):
    """Every round draws from the same seed."""
    original, seed = made.privatize, {}

    class Once:
        """The draws of the first round, again and again."""

        def __init__(self, rng):
            self.rng, self.at = rng, 0

        def __getattr__(self, name):
            def draw(size=None):
                key, self.at = (name, self.at), self.at + 1
                if key not in seed:
                    seed[key] = getattr(self.rng, name)() if size is None else getattr(self.rng, name)(size)
                return seed[key]

            return draw

    return lambda *arguments: original(*arguments[:-1], Once(arguments[-1]))


def half_noise_learner(made):
    """The generator's noise is halved on its way, whatever the policy says."""

    class Half:
        def __init__(self, rng):
            self.rng = rng

        def standard_exponential(self):
            return 0.5 * self.rng.standard_exponential()

        def standard_normal(self):
            return 0.5 * self.rng.standard_normal()

        def random(self, size=None):
            return 0.5 * self.rng.random(size)

    original = made.privatize
    return lambda *arguments: original(*arguments[:-1], Half(arguments[-1]))


def examined_in_clear(made):
    original = made.privatize
    return lambda items, click, rng: np.append(original(items, click, rng), min(click, len(items)))


def one_value_an_examined_position(made):
    original = made.privatize
    return lambda items, click, rng: np.repeat(original(items, click, rng), min(click, len(items)))


LOCAL = [
    *(FirstPositionLDP(epsilon=0.7, index=i, fill=f) for i in ("ucb", "kl") for f in ("index", "mean")),
    ClickPositionLDP(epsilon=0.7),
]
CENTRAL = [FirstPositionDP(epsilon=0.7, fill="index"), FirstPositionDP(epsilon=0.7), ClickObservationDP(epsilon=0.7)]
SEMI = [
    LaplaceCUCB(epsilon=0.7, initial="private"),
    GaussianCUCB(epsilon=0.7, delta=DELTA, initial="private"),
]
PRIVATE = [*LOCAL, *CENTRAL, *SEMI]
SINGLE = [LaplaceLDP(epsilon=0.7, version="corrected")]  # K = 1 and no user 0: what is left of Theorem 3


def name(policy):
    return "-".join([type(policy).__name__, *(str(vars(policy)[k]) for k in ("index", "fill") if k in vars(policy))])


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("policy", PRIVATE, ids=name)
def test_the_original_holds_and_its_number_is_the_sampled_one(policy, length):
    assert holds(policy, length, 0.7)
    assert exact(policy, length) == pytest.approx(policy.effective_epsilon(length), rel=1e-12, abs=0)


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("policy", PRIVATE, ids=name)
def test_halved_noise_fails_and_both_numbers_say_so(policy, length):
    broken = halved(policy)
    assert exact(broken, length) == pytest.approx(broken.effective_epsilon(length), rel=1e-12, abs=0)
    claimed = policy.effective_epsilon(length)
    assert not holds(broken, length, claimed)
    if not isinstance(policy, GaussianCUCB):
        assert broken.effective_epsilon(length) == pytest.approx(2 * claimed, rel=1e-12, abs=0)


@pytest.mark.parametrize("policy", PRIVATE, ids=name)
@pytest.mark.parametrize("change", [raw, reused, half_noise_learner])
def test_raw_values_a_reused_seed_and_thin_noise_fail(policy, change):
    for length in (1, 2):
        assert not holds(with_learner(policy, change), length, policy.effective_epsilon(length))


@pytest.mark.parametrize("policy", LOCAL, ids=name)
@pytest.mark.parametrize("change", [examined_in_clear, one_value_an_examined_position])
def test_the_examined_count_in_clear_fails(policy, change):
    assert exact(with_learner(policy, change), 2) == math.inf


@pytest.mark.parametrize("policy", CENTRAL, ids=name)
def test_releases_at_times_that_depend_on_the_user_fail(policy):
    def unfinished(made):
        """A block that ends when somebody clicks."""
        original = made.privatize

        def privatize(items, click, rng):
            message = original(items, click, rng)
            return np.where(np.isnan(message), 0.0, message) if click == 1 else message

        return privatize

    assert exact(with_learner(policy, unfinished), 2) == math.inf


@pytest.mark.parametrize("policy", CENTRAL, ids=name)
def test_counters_that_follow_the_click_fail(policy):
    """The state that the next list is chosen from moves with a private number."""

    def leaking(made):
        original, counter = made.privatize, made.displays if hasattr(made, "displays") else made.counts

        def privatize(items, click, rng):
            message = original(items, click, rng)
            counter[items[0]] += 8 * (click == 1)
            return message

        return privatize

    assert exact(with_learner(policy, leaking), 2) == math.inf


@pytest.mark.parametrize("policy", CENTRAL, ids=name)
def test_a_list_in_another_order_after_a_click_fails(policy):
    """What is released is private as before, but the next list shows the click by itself."""

    def leaking(made):
        original, chosen, last = made.privatize, made.recommend, []

        def privatize(items, click, rng):
            last.append(click)
            return original(items, click, rng)

        made.recommend = lambda t: chosen(t)[::-1] if last[-1:] == [1] else chosen(t)
        return privatize

    assert exact(with_learner(policy, leaking), 2) == math.inf


@pytest.mark.parametrize("policy", SINGLE, ids=name)
def test_one_position_and_no_user_0_hold(policy):
    assert exact(policy, 1) == pytest.approx(0.7, rel=1e-12, abs=0)
    assert not holds(halved(policy), 1, 0.7)
    for change in (raw, reused, half_noise_learner):
        assert not holds(with_learner(policy, change), 1, 0.7)


def test_user_0_observed_raw_fails():
    """The corrected policy that takes user 0 raw after all: same messages, another first list."""
    broken = twin(SINGLE[0], initial_observation=property(lambda self: True))
    assert message_epsilon(broken, list_length=1) == pytest.approx(0.7, rel=1e-12, abs=0)
    assert exact(broken, 1) == broken.effective_epsilon(1) == math.inf
    for policy in SEMI:
        broken = dataclasses.replace(policy, initial="raw")
        assert exact(broken, 2) == broken.effective_epsilon(2) == math.inf


@pytest.mark.parametrize(
    "policy",
    [
        LaplaceLDP(epsilon=0.7),
        LaplaceLDP(epsilon=0.7, version="corrected"),
        GaussianLDP(epsilon=0.7, delta=DELTA),
        CompositionLDP(epsilon=0.7, delta=DELTA),
        HybridDP(epsilon=0.7),
    ],
    ids=lambda policy: f"{type(policy).__name__}-{getattr(policy, 'version', '')}",
)
def test_the_printed_policies_fail_and_say_so(policy):
    for length in (2, 3):
        assert exact(policy, length) == policy.effective_epsilon(length) == math.inf
    assert exact(policy, 1) == policy.effective_epsilon(1)
    if getattr(policy, "version", "") != "corrected":
        assert exact(policy, 1) == math.inf


def test_the_one_value_of_the_printed_policies():
    """K = 1, users 1, 2, ...: the noisy value alone."""
    for policy in (LaplaceLDP(epsilon=0.7), GaussianLDP(epsilon=0.7, delta=DELTA)):
        delta = getattr(policy, "delta", 0.0)
        found = message_epsilon(policy, list_length=1, delta=delta)
        assert found == pytest.approx(policy.value_epsilon(1), rel=1e-12, abs=0)
        assert message_epsilon(halved(policy), list_length=1, delta=delta) > 0.7 or delta
    rng = np.random.default_rng(0)
    hybrid = dict(n_items=3, list_length=1, rounds=32, rng=rng)
    assert course_epsilon(HybridDP(epsilon=0.7), **hybrid) == pytest.approx(0.7 / 3, rel=1e-9, abs=0)
    thin = HybridDP(epsilon=0.7, noise_multiplier=0.5)
    assert course_epsilon(thin, **hybrid) == pytest.approx(1.4 / 3, rel=1e-9, abs=0)


def test_compiled_runs_draw_the_noise_of_the_learner():
    """A rule that draws less noise than its learner is found by comparing the two, for every policy."""

    def rule(self, n_items, length, horizon):
        made = ClickObservationDP.rule(self, n_items, length, horizon)
        return made._replace(noise=made.noise._replace(scale=made.noise.scale / 2))

    settings = dict(problem=kveton_problem(5, 2), horizon=400, replicates=2, seed=1)
    for policy, same in ((ClickObservationDP(epsilon=20), True), (twin(CENTRAL[2], rule=rule), False)):
        both = [simulate(policy, backend=b, **settings) for b in ("compiled", "reference")]
        assert np.array_equal(*both) == same
    for central in CENTRAL:
        made = [central.learner(4, 2, 10).noise, central.noise(2)]
        assert made[0] == made[1] == central.rule(4, 2, 10).noise


# --- the checks themselves


def test_samplers_that_are_not_understood_are_refused():
    def draws(change):
        return with_learner(FirstPositionLDP(epsilon=1), lambda made: lambda items, click, rng: change(click, rng))

    for change, message in (
        (lambda click, rng: [click + rng.laplace()], "one by one, got rng.laplace"),
        (lambda click, rng: [click + rng.standard_normal() + rng.standard_exponential()], "got both"),
        (lambda click, rng: [click + rng.standard_normal() + rng.random()], "uniforms for the signs"),
        (lambda click, rng: [rng.random() + rng.random() < 1], "one uniform a message"),
        (lambda click, rng: [click + rng.standard_normal() + rng.standard_normal()], "more independent noises"),
        (lambda click, rng: [rng.random() < 1e-9 * click], "probability of 2"),
    ):
        with pytest.raises(ValueError, match=message):
            message_epsilon(draws(change), list_length=1, delta=0.1)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 6.0])
def test_the_steps_of_a_randomised_response_to_12_digits(epsilon):
    found = message_epsilon(ClickPositionLDP(epsilon=epsilon), list_length=3, rounds=1)
    assert found == pytest.approx(epsilon, rel=1e-11, abs=1e-13)


def test_correlated_noise_is_solved_for():
    """Noisy running sums: the difference of two sums carries one fresh noise each, so that user 1 is at epsilon."""

    class Sums:
        def learner(self, n_items, list_length, horizon):
            return Running()

    class Running:
        total = 0.0

        def recommend(self, t):
            return np.array([0])

        def privatize(self, items, click, rng):
            self.total += (click == 1) + (2.0 * rng.standard_exponential() if rng.random() < 2 else 0.0)
            return np.array([self.total])

        def update(self, items, message):
            pass

    for rounds in (1, 7):
        arguments = dict(n_items=2, list_length=1, rounds=rounds, rng=np.random.default_rng(0))
        assert course_epsilon(Sums(), **arguments) == pytest.approx(0.5, rel=1e-12, abs=0)


def test_the_audit_of_lists_certifies_what_is_there_and_no_more():
    """A share of 5 % of wrong bounds each; fixed seed. DP-CO at T = 64, where its index has left the cap of 1."""
    users = np.zeros((2, 64, 3))
    users[0, 1] = 1.0
    rng = np.random.default_rng(2)
    found = lists_audit(ClickObservationDP(epsilon=32), *users, list_length=2, runs=2000, rng=rng)
    assert 1.5 < found.epsilon < 32 and found.hits_p > found.hits_q and found.runs == 2000
    other = lists_audit(ClickObservationDP(epsilon=32), *users[::-1], list_length=2, runs=2000, rng=rng)
    assert 1.5 < other.epsilon < 32 and other.hits_p > other.hits_q
    same = lists_audit(ClickObservationDP(epsilon=32), users[1], users[1], list_length=2, runs=2000, rng=rng)
    assert same.epsilon < 0.1
    # an event chosen on the runs that count it would look certain here: 50 runs, and almost as many sequences
    same = lists_audit(
        FirstPositionLDP(epsilon=1), users[1, :40], users[1, :40], list_length=2, runs=50, rng=rng, last=12
    )
    assert same.epsilon < 0.7
    local = lists_audit(FirstPositionLDP(epsilon=1), *users[:, :5], list_length=2, runs=4000, rng=rng, last=3)
    assert 0.7 < local.epsilon <= 1.0
