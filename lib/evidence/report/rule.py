"""The rule for the words: from what is known about each reading of a claim to the word of the claim.

The register states, for each reading, an outcome and, where there is one, a correction; the word follows from them and
from nothing else, and `evidence.report.register` refuses an entry whose word does not follow. The rule in full is on
the book's first page and in CONTRIBUTING.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from dpregret import _checks

WORDS = ("holds", "holds corrected", "consistent", "open", "fails")  # from the kindest on
OUTCOMES = {"established": "holds", "agrees": "consistent", "undecided": "open", "refuted": "fails"}
STATEMENT = ("constants", "lower-order", "conditions", "misprint", "range")  # what a correction of a statement changes
REPAIR = "repair"  # of the algorithm
KEPT = ("message", "noise law", "order")  # what a repair must keep in order to count


@dataclass(frozen=True, kw_only=True)
class Correction:
    """What makes a claim true: the parts that change, and what it then says."""

    kinds: tuple[str, ...]
    text: str
    keeps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, allowed in (("kinds", (*STATEMENT, REPAIR)), ("keeps", KEPT)):
            words = getattr(self, name)
            if isinstance(words, str) or not isinstance(words, Collection):
                raise ValueError(f"correction: {name} must be a list, got {words!r}")
            object.__setattr__(self, name, tuple(_checks.choice(f"correction: {name}", w, allowed) for w in words))
        if not self.kinds:
            raise ValueError("correction: kinds must not be empty, got []")
        if not isinstance(self.text, str) or not self.text.strip():
            raise ValueError(f"correction: text must say what becomes true, got {self.text!r}")
        if self.keeps and REPAIR not in self.kinds:
            raise ValueError(f"correction: keeps must go with the kind {REPAIR!r}, got kinds {list(self.kinds)}")

    def counts(self, outcome: str) -> bool:
        """Whether the claim, with this outcome as printed, ``holds corrected``."""
        if REPAIR in self.kinds:
            return outcome == "undecided" and set(self.keeps) == set(KEPT)
        return outcome in ("undecided", "refuted")


def word(outcome: str, correction: Correction | None = None) -> str:
    """The word of one reading.

    Raises
    ------
    ValueError
        For an unknown outcome, or a correction of what is true or agrees.
    """
    _checks.choice("outcome", outcome, OUTCOMES)
    if correction is None:
        return OUTCOMES[outcome]
    if outcome in ("established", "agrees"):
        raise ValueError(f"correction must be absent for the outcome {outcome!r}, got {correction.text!r}")
    return "holds corrected" if correction.counts(outcome) else OUTCOMES[outcome]


def kindest(words: Iterable[str]) -> str:
    """The kindest of several words."""
    return min(words, key=WORDS.index)
