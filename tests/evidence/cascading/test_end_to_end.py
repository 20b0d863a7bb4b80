"""What the lists alone reveal on a small instance."""

import math

import numpy as np
import pytest

from dpregret.cascading import ClickObservationDP, ClickPositionLDP, FirstPositionLDP
from dpregret.simulation import generator
from evidence.cascading import end_to_end
from evidence.cascading.list_sequences import list_sequences

SMALL = end_to_end.Instance(items=3, rounds=4, pairs=[(0, 2), (1, 2)])


def test_sequences_are_counted_with_their_beginnings():
    assert SMALL.sequences == 6 + 6**2 + 6**3 + 6**4


def test_neighbours_differ_in_one_user():
    first, second = (SMALL.database(0, 2, user) for user in (1, 0))
    assert (first != second).any(axis=1).tolist() == [False, True, False, False] and second.sum() == 0


def test_the_courses_lead_to_the_lists_that_the_policy_shows():
    policy = FirstPositionLDP(epsilon=60.0)  # no bit is flipped
    reports, lists = end_to_end.courses(policy, SMALL)
    assert reports.shape == (8, 3) and lists.shape == (8, 4, 2)
    shown = list_sequences(policy, SMALL.database(1, 2, 1), list_length=2, runs=3, rng=generator(0))
    everybody_clicks = [(course == course[0]).all() for course in reports]
    assert any((lists[i] == shown[0]).all() for i in np.flatnonzero(everybody_clicks))


def test_one_bit_reveals_its_epsilon_and_no_more():
    policy = FirstPositionLDP(epsilon=1.0)
    found = end_to_end.courses(policy, SMALL)
    exact = max(end_to_end.exact_lists(policy, SMALL, found, *pair) for pair in SMALL.pairs)
    assert exact == pytest.approx(1.0, abs=1e-9)


class Doubled:
    """A policy that claims half of the epsilon that its messages have."""

    def __init__(self, policy):
        self.policy = policy

    def effective_epsilon(self, list_length):
        return self.policy.effective_epsilon(list_length) / 2

    def __getattr__(self, name):
        return getattr(self.policy, name)


def test_a_claim_of_half_the_epsilon_fails_and_the_true_one_holds():
    policies = {"true": FirstPositionLDP(epsilon=2.0), "half": Doubled(FirstPositionLDP(epsilon=2.0))}
    audits = end_to_end.audit(policies, SMALL, runs=20_000, confidence=0.95, seed=1)
    assert audits["true"].exact == pytest.approx(2.0, abs=1e-9) and audits["half"].claimed == 1.0
    # with 20 000 runs an event of probability about 0.6 against 0.1 certifies more than 1; the level is 95 %
    assert 1.0 < audits["half"].certified <= 2.0
    judge = dict(instance=SMALL, runs=20_000, confidence=0.95)
    assert end_to_end.judge("cascading/x", {"true": audits["true"]}, **judge).verdict == "holds"
    assert end_to_end.judge("cascading/x", audits, **judge).verdict == "fails"


def test_infinite_messages_have_no_exact_number():
    audits = end_to_end.audit(
        {"LDP-C": ClickPositionLDP(epsilon=1.0), "DP-CO": ClickObservationDP(epsilon=1.0)},
        SMALL,
        runs=500,
        confidence=0.95,
        seed=1,
    )
    assert audits["DP-CO"].exact is None and audits["LDP-C"].exact <= 1.0 + 1e-9
    text = end_to_end.table(audits).data
    assert "not finite" in text and f"{audits['LDP-C'].exact:.6f}" in text


def test_the_correction_counts_all_events():
    # one policy that shows all: two certain, different lists; the limit is that of Clopper and Pearson at the full count
    policy = FirstPositionLDP(epsilon=60.0)
    best, met = end_to_end.certified(policy, SMALL, 0, 2, runs=300, confidence=0.95, rng=generator(2))
    alpha = 0.05 / (2 * 2 * SMALL.sequences)
    assert met >= 2 and best <= math.log((alpha / 2) ** (1 / 300) / (1 - (alpha / 2) ** (1 / 300)))
