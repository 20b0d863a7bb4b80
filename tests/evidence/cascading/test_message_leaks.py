"""What a message reveals: the number of values, and the one value at K = 1; the cards on both sides."""

import math

import numpy as np
import pytest

from dpregret.cascading import CompositionLDP, FirstPositionLDP, GaussianLDP, LaplaceLDP
from evidence.cascading import message_leaks

PRINTED = {
    "Algorithm 2": lambda eps: LaplaceLDP(epsilon=eps),
    "Algorithm 3": lambda eps: GaussianLDP(epsilon=eps, delta=1e-3),
    "Theorem 7": lambda eps: CompositionLDP(epsilon=eps, delta=1e-3),
}
AT = dict(epsilon=0.2, delta=1e-3, list_length=4, runs=100)


@pytest.mark.parametrize("policy", PRINTED.values(), ids=list(PRINTED))
def test_the_number_of_values_is_the_number_of_examined_positions(policy):
    laws = message_leaks.length_laws(policy(1.0), 2, np.random.default_rng(0))
    assert laws.argmax(axis=1).tolist() == [1, 1, 0, 0]  # users 00, 01 examine both positions, 10 and 11 one
    found = message_leaks.length_deltas(policy(1.0), (1, 2, 3), np.random.default_rng(0))
    assert found == {1: 0.0, 2: 1.0, 3: 1.0}


def test_a_message_of_one_bit_has_one_length_and_hides_user_0():
    policy = FirstPositionLDP(epsilon=1.0)
    assert message_leaks.length_deltas(policy, (1, 3), np.random.default_rng(0)) == {1: 0.0, 3: 0.0}
    assert message_leaks.first_list_delta(policy) == 0.0
    assert message_leaks.first_list_delta(PRINTED["Algorithm 2"](1.0)) == 1.0
    assert message_leaks.leaving(policy, (1, 2)) == pytest.approx({1: 1.0, 2: 1.0})
    assert message_leaks.leaving(PRINTED["Algorithm 2"](1.0), (1, 2)) == {1: math.inf, 2: math.inf}


def test_the_distinguisher_tells_the_two_users_apart():
    found = message_leaks.distinguish_users(PRINTED["Theorem 7"](1.0), 3, runs=50, rng=np.random.default_rng(0))
    assert (found.hits_p["one value"], found.hits_q["one value"]) == (50, 0)
    text = message_leaks.distinguisher_table({"Theorem 7": found}, {"Theorem 7": 2.5}, epsilon=1.0).data
    assert text.splitlines()[-1] == "| Theorem 7 | 50 | 0 | at least 2.50 |"


def test_the_profile_of_one_value_is_that_of_its_noise():
    grid = [0.5, 1.0]
    laplace = message_leaks.value_profile("Algorithm 2", PRINTED["Algorithm 2"], grid)
    assert laplace == pytest.approx({0.5: 0.5, 1.0: 1.0}, rel=1e-12)
    gaussian = message_leaks.value_profile("Algorithm 3", PRINTED["Algorithm 3"], grid)
    sigma = math.sqrt(2 * math.log(1250))
    phi = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731
    exact = phi(1 / (2 * sigma) - sigma) - math.e * phi(-1 / (2 * sigma) - sigma)
    assert gaussian[1.0] == pytest.approx(exact, rel=1e-6)
    composed = message_leaks.value_profile("Theorem 7", PRINTED["Theorem 7"], grid)
    profiles = dict(zip(PRINTED, (laplace, gaussian, composed), strict=True))
    assert len(message_leaks.value_table(profiles).data.splitlines()) == 4


@pytest.mark.parametrize("name", PRINTED)
def test_any_two_users_must_be_told_apart_with_certainty_at_every_length(name):
    apart, everything = {1: 0.0, 2: 1.0, 3: 1.0}, {1: math.inf, 2: math.inf, 4: math.inf}
    card = message_leaks.any_two_users_card(name, apart, everything, 2.0, **AT)
    assert (card.claim, card.verdict) == (f"cascading/{message_leaks.THEOREMS[name]}", "fails")
    assert message_leaks.any_two_users_card(name, apart | {3: 0.5}, everything, 2.0, **AT).verdict == "open"
    assert message_leaks.any_two_users_card(name, apart, everything | {4: 0.2}, 2.0, **AT).verdict == "open"


@pytest.mark.parametrize(
    ("name", "kept", "broken_above", "broken"),
    [
        ("Algorithm 2", {0.5: 0.5, 1.0: 1.0, 10.0: 10.0}, {10.0: 10.1}, {1.0: 1.1}),
        ("Algorithm 3", {0.5: 1e-4, 1.0: 1e-3, 10.0: 1e-3}, {10.0: 2e-3}, {1.0: 2e-3}),
        ("Theorem 7", {0.5: 0.1, 1.0: 0.2, 10.0: 2.0}, {10.0: 11.0}, {1.0: 1.1}),
    ],
)
def test_one_value_holds_as_printed_only_if_user_0_is_hidden_and_every_epsilon_kept(name, kept, broken_above, broken):
    def word(profile, raw):
        return message_leaks.one_position_card(name, profile, raw, delta=1e-3).verdict

    assert word(kept, 0.0) == "holds"
    assert word(kept, 1.0) == word(kept | broken_above, 0.0) == "holds corrected"
    assert word(kept | broken, 0.0) == word(kept | broken, 1.0) == "fails"
