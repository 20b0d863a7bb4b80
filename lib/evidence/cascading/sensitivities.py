"""Sensitivities of what a user of [Wang2021] sends, by enumeration of all users and all pairs of them.

Between vectors of zeros and ones the squared L2 distance is the L1 distance.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Theorems 1, 3, 5, 7 and 8.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from evidence import report
from evidence.cascading import audit
from evidence.report.tables import Markdown


class Diameters(NamedTuple):
    """Largest L1 distances between two users at one K."""

    clicks: float
    """Of the click vectors, padded with zeros."""
    joint: float
    """Of the click vectors together with the vectors of examined positions."""
    same_mask: float
    """Of the click vectors, among users who examine the same positions."""


def diameters(list_length: int) -> Diameters:
    """All 2^K users, for what the click vector and the vector of examined positions reveal."""
    positions = np.arange(1, list_length + 1)
    users = itertools.product((0, 1), repeat=list_length)
    click = np.array([next((k for k, w in enumerate(user, start=1) if w), list_length + 1) for user in users])[:, None]
    clicks, mask = (positions == click).astype(float), (positions <= click).astype(float)
    between = _distances(clicks)
    same = _distances(mask) == 0
    return Diameters(
        float(between.max()), float((between + _distances(mask)).max()), float((between * same).max())
    )  # fmt: skip


def _distances(vectors: np.ndarray) -> np.ndarray:
    return np.abs(vectors[:, None] - vectors[None]).sum(axis=-1)


def table(found: Mapping[int, Diameters]) -> Markdown:
    """L1 and L2 diameters by K: of the text, and the three that are enumerated."""
    return report.table(
        [
            "K",
            "text: L₁, L₂",
            "clicks: L₁, L₂",
            "clicks and observations: L₁, L₂",
            "clicks, same observations: L₁, L₂",
        ],
        [[k, *(f"{l1:g}, {math.sqrt(l1):.4f}" for l1 in (k, *one))] for k, one in found.items()],
    )


def outcome_diameter(list_length: int) -> float:
    """The L2 diameter of the outcomes of a semi-bandit: [0, 1]^K is widest between its corners."""
    return math.sqrt(_distances(np.array(list(itertools.product((0, 1), repeat=list_length)))).max())


def public_mask_cards(found: Mapping[int, Diameters]) -> list[report.Card]:
    """Theorems 1, 3, 5 and 7 if the examined positions are public: such users must differ by at most 1."""
    same_mask = max(one.same_mask for one in found.values())
    return [
        report.verdict(
            f"cascading/{claim}",
            report.holds_if(same_mask <= 1),
            reading="public mask",
            evidence="proof",
            check="L1 and L2 diameter of the values of users who examine the same positions, all users, "
            f"K = {min(found)} to {max(found)}",
            observed=f"{same_mask:g}",
            required=f"at most 1, for {promised}",
            margin="excluded: the text compares any two users, and for C < K the mask is the click",
        )
        for claim, promised in (
            ("theorem-1", "ε/L in each counter"),
            ("theorem-3", "Lap(K/ε)"),
            ("theorem-5", "σ for sensitivity √K, within the range of Lemma 3"),
            ("theorem-7-privacy", "Lap of the composed scale, at least 1/ε"),
        )
    ]


def fewest_surplus(policy, list_length: int, rng: np.random.Generator) -> int:
    """The least number of values beyond k that a user who clicks position k sends, over k; 0: nothing is discarded."""
    users = np.eye(list_length)
    return min(
        len(audit.messages(policy, user, list_length=list_length)(rng)) - k for k, user in enumerate(users, start=1)
    )


def no_discard_card(surplus: Mapping[int, int]) -> report.Card:
    """The sentence that no observation is discarded; ``surplus`` maps K to `fewest_surplus`."""
    sent = set(surplus.values()) == {0}
    return report.verdict(
        "cascading/sentence-no-discard",
        report.holds_if(sent),
        evidence="exact",
        check=f"number of values sent by a user who clicks position k, against k, K = {min(surplus)} to {max(surplus)}",
        observed="all of them" if sent else str(dict(surplus)),
        required="k values",
        margin="that every examined position is sent, and nothing else, is also what tells the click",
    )
