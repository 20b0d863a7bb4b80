"""Verdict cards: what a notebook found about a claim, for a reader, for nbval and for the ledger.

A card is displayed as a mime bundle of three. ``text/plain`` is for a terminal, ``text/html`` for the book, and
``application/vnd.dpregret.claim+json`` for the ledger. nbval applies its sanitize patterns to text only and compares
JSON as it is, so the JSON holds what must not change from one processor to another (claim, reading, verdict, check),
and the printed numbers (observed, required, margin) travel in the metadata of the output, which nbval does not compare.
Nothing is lost: the text and the HTML carry the same numbers, exact ones compared to the letter, Monte-Carlo ones in
the marked form of `evidence.report.numbers.approx`. `collect` reads both halves back from an executed notebook; whoever
rewrites a notebook must keep ``output.metadata``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from dpregret import _checks
from evidence.report.numbers import is_marked
from evidence.report.rule import WORDS

MIME = "application/vnd.dpregret.claim+json"
VERSION = 2
VERDICTS = WORDS
SYMBOLS = {"holds": "✓", "holds corrected": "✓*", "consistent": "∼", "open": "?", "fails": "✗"}
EVIDENCE = {
    "proof": "a proof in the book; the numbers illustrate it",
    "exact": "integers, fractions or enumeration",
    "enclosure": "ball arithmetic: the true value lies in the printed interval",
    "confidence": "a statistical statement at the level given",
}
CLAIM_ID = re.compile(r"[a-z]+/[a-z0-9]+(?:[-.][a-z0-9]+)*")

_STABLE = ("claim", "reading", "verdict", "check", "evidence", "level")
_PRINTED = ("observed", "required", "margin")


@dataclass(frozen=True, kw_only=True)
class Card:
    """The evidence of one check of one claim (see `verdict`, which validates it)."""

    claim: str
    verdict: str
    check: str
    observed: str
    required: str
    evidence: str
    level: str = ""
    margin: str = ""
    reading: str | None = None

    @property
    def _rows(self) -> list[tuple[str, str]]:
        rows = [(name, getattr(self, name)) for name in ("check", *_PRINTED) if getattr(self, name)]
        return [*rows, ("evidence", f"{self.evidence} ({self.level})" if self.level else self.evidence)]

    def __str__(self) -> str:
        reading = f" [{self.reading}]" if self.reading else ""
        lines = [f"{self.claim}{reading}: {SYMBOLS[self.verdict]} {self.verdict}"]
        return "\n".join(lines + [f"  {name:<9}{text}" for name, text in self._rows])

    def _repr_html_(self) -> str:
        reading = f' <span class="claim-reading">{escape(self.reading)}</span>' if self.reading else ""
        rows = "".join(f'<dt>{name}</dt><dd class="claim-{name}">{escape(text)}</dd>' for name, text in self._rows)
        return (
            f'<div class="claim-card verdict-{self.verdict.replace(" ", "-")}"><p class="claim-head">'
            f'<span class="verdict-symbol" aria-hidden="true">{SYMBOLS[self.verdict]}</span> '
            f'<strong class="verdict-word">{self.verdict}</strong> '
            f'<code class="claim-id">{escape(self.claim)}</code>{reading}</p><dl>{rows}</dl></div>'
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict[str, Any], dict[str, Any]]:
        stable = {"version": VERSION, **{name: getattr(self, name) for name in _STABLE}}
        printed = {name: getattr(self, name) for name in _PRINTED}
        return {"text/plain": str(self), "text/html": self._repr_html_(), MIME: stable}, {MIME: printed}


def verdict(
    claim: str,
    verdict: str,
    *,
    evidence: str,
    level: str = "",
    check: str,
    observed: str,
    required: str,
    margin: str = "",
    reading: str | None = None,
) -> Card:
    """A verdict card.

    Parameters
    ----------
    claim : str
        Full id in the register, such as ``cascading/theorem-4``.
    verdict : {"holds", "holds corrected", "consistent", "open", "fails"}
        Computed from the evidence, by the rule in `evidence.report.rule`.
    evidence : {"proof", "exact", "enclosure", "confidence"}
        What the verdict rests on: a proof in the book, which the numbers illustrate; integers, fractions or
        enumeration; ball arithmetic; or a statistical statement.
    level : str
        The confidence level, such as ``99 %``; with the evidence "confidence", and only with it.
    check : str
        Short name of the check; stable from run to run, so without a Monte-Carlo number.
    observed, required, margin : str
        What was found, what the claim asks for, and by how much it holds or fails. Monte-Carlo numbers in the marked
        form (see `evidence.report.numbers.approx`), exact ones at a stated precision.
    reading : str, optional
        Which reading of an ambiguous claim is checked; a key of its ``readings`` in the register.

    Raises
    ------
    ValueError
        For an unknown verdict or kind of evidence, a missing or needless level, an id that is not of the form
        ``paper/id``, an empty or non-text field, or a Monte-Carlo number in ``check``, ``reading`` or ``level``.
    """
    if not isinstance(claim, str) or not CLAIM_ID.fullmatch(claim):
        raise ValueError(f"claim must be of the form 'paper/id' in lower case, got {claim!r}")
    _checks.choice("verdict", verdict, VERDICTS)
    _checks.choice("evidence", evidence, EVIDENCE)
    fields = {"check": check, "observed": observed, "required": required, "margin": margin, "level": level}
    if reading is not None:
        fields["reading"] = reading
    for name, text in fields.items():
        optional = name in ("margin", "level")
        if not isinstance(text, str) or (not text.strip() and not optional):
            raise ValueError(f"{name} must be {'' if optional else 'non-empty '}text, got {text!r}")
        if name in _STABLE and is_marked(text):
            raise ValueError(f"{name} must not hold a Monte-Carlo number, got {text!r}")
    if bool(level.strip()) != (evidence == "confidence"):
        raise ValueError(f"level must be given for the evidence 'confidence' and for no other, got {level!r}")
    return Card(claim=claim, verdict=verdict, evidence=evidence, **fields)


def holds_if(condition: bool, *, otherwise: str = "fails") -> str:
    """The word "holds" if the condition is true, else ``otherwise``."""
    return "holds" if condition else _checks.choice("otherwise", otherwise, VERDICTS)


def collect(notebook: Mapping[str, Any]) -> list[Card]:
    """The cards in the outputs of an executed notebook (its JSON as a dictionary), in order.

    Raises
    ------
    ValueError
        If a card is of another version, is not valid, or has lost its numbers with the output's metadata.
    """
    cards = []
    for number, cell in enumerate(notebook["cells"]):
        for output in cell.get("outputs", ()):
            stable = output.get("data", {}).get(MIME)
            if stable is None:
                continue
            printed = output.get("metadata", {}).get(MIME)
            if stable.get("version") != VERSION or printed is None:
                why = "has lost its numbers" if printed is None else f"is not of version {VERSION}"
                raise ValueError(f"the card of {stable.get('claim')!r} in cell {number} {why}")
            cards.append(verdict(**{name: stable.get(name) for name in _STABLE}, **printed))
    return cards
