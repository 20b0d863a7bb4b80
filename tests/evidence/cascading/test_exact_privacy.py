"""The exact epsilon of the book's private policies, and the rule of its card."""

import pytest

from dpregret.cascading import FirstPositionDP, FirstPositionLDP, LaplaceLDP
from evidence.cascading import exact_privacy


def test_the_messages_of_one_bit_have_the_stated_epsilon_and_those_of_algorithm_2_none():
    found = exact_privacy.messages(lambda eps: FirstPositionLDP(epsilon=eps), [0.5, 2.0], list_length=2)
    assert found == pytest.approx({0.5: 0.5, 2.0: 2.0}, rel=1e-9)
    raw = exact_privacy.messages(lambda eps: LaplaceLDP(epsilon=eps), [0.5], list_length=2)
    assert raw[0.5] == float("inf")


def test_the_releases_of_the_first_position_have_the_stated_epsilon(monkeypatch):
    monkeypatch.setattr(exact_privacy, "ROUNDS", 8)
    monkeypatch.setattr(exact_privacy, "COURSES", 2)
    found = exact_privacy.releases("x", lambda eps: FirstPositionDP(epsilon=eps), [1.0], list_length=2, seed=1)
    assert found == pytest.approx({1.0: 1.0}, rel=1e-9)


def test_an_exact_epsilon_above_the_stated_one_fails():
    for claim, what in (("corrected-first-position-ldp", "messages"), ("corrected-first-position-dp", "releases")):
        card = exact_privacy.card(claim, "x", {0.5: 0.5, 1.0: 1.0 + 1e-10}, list_length=3)
        assert card.verdict == "holds" and what in card.check and card.check.endswith("K = 3")
        assert exact_privacy.card(claim, "x", {0.5: 0.5, 1.0: 1.0 + 1e-8}, list_length=3).verdict == "fails"
