"""Audits of cascading policies: what a message and what the lists reveal."""

import numpy as np
import pytest

from dpregret.cascading import CascadeUCB1, CompositionLDP, GaussianLDP, HybridDP, LaplaceLDP
from dpregret.privacy.audit import distinguish
from evidence.cascading import audit

POLICIES = [
    LaplaceLDP(epsilon=0.5),
    LaplaceLDP(epsilon=2, version="corrected"),
    GaussianLDP(epsilon=1, delta=1e-3),
    CompositionLDP(epsilon=0.2, delta=1e-3),
    HybridDP(epsilon=1),
    HybridDP(epsilon=1, version="corrected"),
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize("length", [2, 4])
def test_the_length_of_a_message_reveals_the_click(policy, length):
    first, second = np.eye(6)[:2]
    found = distinguish(
        audit.messages(policy, first, list_length=length),
        audit.messages(policy, second, list_length=length),
        {"one value": lambda message: len(message) == 1},
        runs=200,
        rng=np.random.default_rng(0),
    )
    assert (found.hits_p["one value"], found.hits_q["one value"]) == (200, 0)


def test_a_message_is_about_the_list_shown():
    message = audit.messages(CascadeUCB1(), [0, 0, 1, 0], list_length=3, items=[3, 0, 2])
    assert message(np.random.default_rng(0)).tolist() == [0, 0, 1]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("attracted", [True, False])
def test_compiled_probe_shows_the_lists_of_the_learner(policy, length, attracted):
    t0, n_items = 7, 5
    users = np.zeros((t0 + 1, n_items))
    users[t0 - 1] = attracted
    sample = audit.lists(policy, users, list_length=length)
    for run in range(4):
        rng = np.random.default_rng(run)
        shown = sample(rng)
        found = audit.probe(
            policy,
            n_items=n_items,
            list_length=length,
            round=t0,
            attracted=attracted,
            runs=1,
            rng=np.random.default_rng(run),
        )
        np.testing.assert_array_equal(found.before[0], shown[t0 - 1])
        np.testing.assert_array_equal(found.after[0], shown[t0])
        counts = int(policy.initial_observation) + np.bincount(shown[: t0 - 1].ravel(), minlength=n_items)
        np.testing.assert_array_equal(found.counts[0], counts)


def test_order_events_by_hand():
    counts = np.array([[9, 3, 2, 3, 5, 1]] * 6)
    before = np.array([[0, 1, 2]] * 6)
    after = np.array(
        [
            [0, 1, 2],  # nothing
            [0, 2, 1],  # 2 overtakes 1, but has the smaller counter
            [0, 1, 4],  # 4 replaces 2: T(2) = 2 <= 5
            [0, 2, 3],  # 3 replaces 1: T(1) = 3 <= 3
            [0, 1, 5],  # 5 has counter 1
            [4, 1, 2],  # only position 1 was replaced
        ]
    )
    swapped, replaced = audit.order_events(audit.Probe(before, counts, after))
    assert swapped.tolist() == [False] * 6
    assert replaced.tolist() == [False, False, True, True, False, False]
    equal = audit.order_events(audit.Probe(before, counts, after), equal_counts=True)[1]
    assert equal.tolist() == [False, False, False, True, False, False]
    rising = np.array([[9, 2, 3, 3, 5, 1]])
    swapped, _ = audit.order_events(audit.Probe(before[:1], rising, np.array([[2, 1, 0]])))
    assert swapped.tolist() == [True]
    for counts, shown, then in (
        ([9, 1, 9, 3, 5, 1], [0, 1, 2], [0, 3, 2]),  # 3 replaces 1, which has counter 1: ties are possible there
        ([9, 3, 6, 3, 5, 1], [0, 1, 2], [0, 4, 1]),  # 4 passes 1, which stays; it leaves 2 out, of a larger counter
        ([2, 3, 2, 3, 5, 1], [0, 1, 2], [4, 1, 2]),  # 4 replaces position 1
    ):
        found = audit.order_events(audit.Probe(*(np.array([row]) for row in (shown, counts, then))))
        assert [event.tolist() for event in found] == [[False], [False]]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize("n_items, length, t0", [(4, 2, 5), (20, 4, 10), (8, 3, 40)])
def test_a_click_at_position_1_excludes_the_order_events(policy, n_items, length, t0):
    """Certain under one database; frequent under the other (each policy, each size: at least 2 of 300 runs)."""
    hits = {}
    for attracted in (True, False):
        found = audit.probe(
            policy,
            n_items=n_items,
            list_length=length,
            round=t0,
            attracted=attracted,
            runs=300,
            rng=np.random.default_rng(t0),
        )
        equal = isinstance(policy, HybridDP) and policy.version == "corrected"
        hits[attracted] = int(np.logical_or(*audit.order_events(found, equal_counts=equal)).sum())
    assert hits[True] == 0
    assert hits[False] >= 2


def test_the_raw_user_decides_the_first_list():
    for weights in np.eye(4):
        sample = audit.lists(LaplaceLDP(epsilon=0.1), np.zeros((1, 4)), list_length=1, initial_weights=weights)
        assert sample(np.random.default_rng(0)).tolist() == [[weights.argmax()]]


def test_bad_users_are_refused():
    with pytest.raises(ValueError, match="weights must hold 0 and 1 only"):
        audit.messages(LaplaceLDP(epsilon=1), [0.5, 1.0], list_length=1)
    with pytest.raises(ValueError, match=r"weights\[1\] must hold 0 and 1"):
        audit.lists(LaplaceLDP(epsilon=1), [[0, 1], [0.5, 1.0]], list_length=1)
    with pytest.raises(ValueError, match="initial_weights must have 2 entries"):
        audit.lists(LaplaceLDP(epsilon=1), [[0, 1]], list_length=1, initial_weights=[1, 0, 0])
    with pytest.raises(ValueError, match="round"):
        audit.probe(
            LaplaceLDP(epsilon=1),
            n_items=3,
            list_length=2,
            round=0,
            attracted=True,
            runs=1,
            rng=np.random.default_rng(),
        )
