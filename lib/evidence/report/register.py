"""The register of claims: what each paper says, the verdict expected, and where the evidence is.

One YAML file a paper in ``book/claims``. A notebook's cards (`evidence.report.claims`) are compared with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from dpregret import _checks
from evidence.report.claims import CLAIM_ID
from evidence.report.rule import WORDS, Correction, kindest, word

KINDS = ("theorem", "lemma", "corollary", "proposition", "remark", "figure", "table", "sentence")
UNJUDGED = ("definition", "assumption", "algorithm")  # they assert nothing: faults, and no word
FAULT_KINDS = (
    "false",
    "privacy",
    "proof slip",
    "gap",
    "constant",
    "inconsistent",
    "missing",
    "loose",
    "practice",
    "misprint",
)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A meaning that the words of a claim admit, or a case of it.

    ``support`` is the line that admits it. A ``case`` (a range of a parameter) and a reading that is ``excluded``,
    with the reason, are shown and are never the headline.
    """

    name: str
    outcome: str
    support: str = ""
    correction: Correction | None = None
    criterion: str = ""
    case: bool = False
    excluded: str = ""

    @property
    def word(self) -> str:
        """The word that follows from the outcome and the correction."""
        return word(self.outcome, self.correction)

    @property
    def admitted(self) -> bool:
        """Whether the row can be the headline: neither a case nor excluded."""
        return not self.case and not self.excluded


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim. ``id`` is the full id, ``paper/id``; a claim without ``readings`` is read as printed.

    ``verdict`` is the word that follows from the outcomes (`evidence.report.rule`). ``lines`` are those of the source
    where the claim stands; a claim of the book's own (``own``) has none. ``empirical``: it says what an experiment
    shows. ``beyond`` names what lies outside the range that the word is about. A claim with a ``headline``, the reason
    for its verdict in a line, is shown on the first page.
    """

    id: str
    kind: str
    title: str
    statement: str
    number: str = ""
    lines: tuple[str, ...] = ()
    own: bool = False
    empirical: bool = False
    outcome: str | None = None
    correction: Correction | None = None
    criterion: str = ""
    readings: tuple[Reading, ...] = ()
    verdict: str | None = None
    beyond: str = ""
    notebook: str | None = None
    status: str | None = None
    faults: tuple[str, ...] = ()
    page: str | None = None
    headline: str | None = None

    def reading(self, name: str) -> Reading:
        """The reading of this name, or ValueError."""
        _checks.choice(f"reading of {self.id}", name, [reading.name for reading in self.readings])
        return next(reading for reading in self.readings if reading.name == name)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault of a paper's text."""

    id: str
    kind: str
    where: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Unclaimed:
    """A range of lines from which no claim was taken, and what stands there."""

    lines: str
    what: str


@dataclass(frozen=True, kw_only=True)
class Register:
    """The claims and faults of one paper, and the lines of its source that make no claim."""

    paper: str
    title: str
    citation: str
    claims: tuple[Claim, ...]
    faults: tuple[Fault, ...] = ()
    source_lines: int | None = None
    unclaimed: tuple[Unclaimed, ...] = ()


def line_range(text: object, where: str) -> range:
    """``"12"`` or ``"12-15"`` as the lines 12 to 15.

    Raises
    ------
    ValueError
        If the text is neither, or the range is empty.
    """
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", str(text))
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last:
        raise ValueError(f"{where} must be a line or a range of lines such as '12-15', got {text!r}")
    return range(first, last + 1)


def uncovered(register: Register) -> list[int]:
    """The lines of the source from which no claim was taken and of which no reason is given.

    Raises
    ------
    ValueError
        If the register has no ``source_lines``, or names a line beyond them.
    """
    total = _checks.integer(f"{register.paper}: source_lines", register.source_lines, at_least=1)
    named = [(claim.id, lines) for claim in register.claims for lines in claim.lines]
    named += [(f"unclaimed {entry.lines}", entry.lines) for entry in register.unclaimed]
    seen: set[int] = set()
    for where, lines in named:
        span = line_range(lines, where)
        if span[-1] > total:
            raise ValueError(f"{where}: lines must be at most {total}, got {lines!r}")
        seen.update(span)
    return sorted(set(range(1, total + 1)) - seen)


def _build(kind: type, entry: Any, where: str, **ready: Any) -> Any:
    """``kind(**entry)`` after a check of the keys; ``ready`` are values that replace those of the file."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"{where} must be a mapping, got {entry!r}")
    allowed = {f.name for f in fields(kind)}
    needed = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    for problem, keys in (("unknown", set(entry) - allowed), ("missing", needed - set(entry))):
        if keys:
            raise ValueError(f"{where} has {problem} keys {sorted(map(str, keys))}; allowed are {sorted(allowed)}")
    try:
        return kind(**{**entry, **ready})
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _unique(ids: list[str], where: str) -> None:
    repeated = sorted({name for name in ids if ids.count(name) > 1})
    if repeated:
        raise ValueError(f"{where} has repeated ids {repeated}")


def _judged(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The outcome's correction, built; the word of the outcome checked, and the criterion of one that agrees."""
    ready: dict[str, Any] = {}
    if entry.get("correction") is not None:
        ready["correction"] = _build(Correction, entry["correction"], where)
    try:
        derived = word(entry.get("outcome"), ready.get("correction"))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if (derived == "consistent") != bool(entry.get("criterion")):
        raise ValueError(f"{where}: criterion must be given for the outcome 'agrees', and for no other")
    return ready


def _reading(entry: Any, where: str) -> Reading:
    if not isinstance(entry, Mapping):
        raise ValueError(f"{where} must be a mapping, got {entry!r}")
    where = f"{where} {entry.get('name')!r}"
    reading = _build(Reading, entry, where, **_judged(entry, where))
    if not reading.support and not reading.case:
        raise ValueError(f"{where}: support must name the line that admits this reading, got {reading.support!r}")
    return reading


def _verdict(claim: Claim, where: str) -> None:
    """Refuse a verdict that does not follow from the outcomes."""
    stated = [name for name in ("outcome", "correction", "criterion", "readings", "verdict") if getattr(claim, name)]
    if claim.kind in UNJUDGED:
        if stated:
            raise ValueError(f"{where}: {stated} must be absent, since a claim of kind {claim.kind!r} has no word")
        return
    _checks.choice(f"{where}: verdict", claim.verdict, WORDS)
    if claim.readings:
        if claim.outcome or claim.correction or claim.criterion:
            raise ValueError(f"{where}: outcome, correction and criterion must stand with the readings")
        words = [reading.word for reading in claim.readings if reading.admitted]
        if not words:
            raise ValueError(f"{where}: readings must hold one that is neither a case nor excluded")
        derived = kindest(words)
    else:
        derived = word(claim.outcome, claim.correction)
    if claim.verdict != derived:
        raise ValueError(f"{where}: verdict must be {derived!r}, as follows from the outcomes, got {claim.verdict!r}")


def _claim(paper: str, entry: Any, faults: set[str], where: str) -> Claim:
    if not isinstance(entry, Mapping):
        raise ValueError(f"{where} must be a mapping, got {entry!r}")
    where = f"{where} ({entry.get('id')})"
    readings = entry.get("readings") or ()
    if not isinstance(readings, (list, tuple)):
        raise ValueError(f"{where}: readings must be a list, got {readings!r}")
    spans = entry.get("lines", ())
    spans = (spans,) if isinstance(spans, (str, int)) else tuple(spans)
    full = f"{paper}/{entry.get('id')}"
    claim = _build(
        Claim,
        entry,
        where,
        **({} if "outcome" not in entry else _judged(entry, where)),
        id=full,
        number=str(entry.get("number", "")),
        lines=tuple(map(str, spans)),
        readings=tuple(_reading(reading, f"{where}: reading") for reading in readings),
        faults=tuple(entry.get("faults", ())),
    )
    if not CLAIM_ID.fullmatch(full):
        raise ValueError(f"{where}: id must be lower-case words joined by '-' or '.', got {entry['id']!r}")
    _checks.choice(f"{where}: kind", claim.kind, KINDS + UNJUDGED)
    if claim.status not in (None, "planned"):
        raise ValueError(f"{where}: status must be 'planned' or absent, got {claim.status!r}")
    _unique([reading.name for reading in claim.readings], f"{where}: readings")
    _verdict(claim, where)
    for span in claim.lines:
        line_range(span, f"{where}: lines")
    if claim.own and claim.lines:
        raise ValueError(f"{where}: lines must be absent for a claim of the book's own, got {list(claim.lines)}")
    unknown = sorted(set(claim.faults) - faults)
    if unknown:
        raise ValueError(f"{where}: faults {unknown} are not in the list of faults")
    return claim


def load_register(path: str | Path) -> Register:
    """Read and check one file of the register.

    Raises
    ------
    ValueError
        For an unknown or missing key, a repeated id, a verdict that does not follow from the outcomes, a reading
        without support, or a fault that is not listed.
    """
    path = Path(path)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path.name} is not valid YAML: {error}") from error
    register = _build(Register, content, path.name)
    faults = [_build(Fault, entry, f"{path.name}: fault {n}") for n, entry in enumerate(register.faults or (), 1)]
    for fault in faults:
        _checks.choice(f"{path.name}: kind of fault {fault.id}", fault.kind, FAULT_KINDS)
    _unique([fault.id for fault in faults], f"{path.name}: faults")
    known = {fault.id for fault in faults}
    claims = [_claim(register.paper, c, known, f"{path.name}: claim {n}") for n, c in enumerate(register.claims, 1)]
    _unique([claim.id for claim in claims], f"{path.name}: claims")
    unclaimed = [_build(Unclaimed, e, f"{path.name}: unclaimed {n}") for n, e in enumerate(register.unclaimed or (), 1)]
    return Register(
        paper=register.paper,
        title=register.title,
        citation=register.citation,
        claims=tuple(claims),
        faults=tuple(faults),
        source_lines=register.source_lines,
        unclaimed=tuple(unclaimed),
    )


def load_registers(folder: str | Path) -> dict[str, Register]:
    """Every ``*.yml`` of a folder, by paper."""
    registers = [load_register(path) for path in sorted(Path(folder).glob("*.yml"))]
    _unique([register.paper for register in registers], f"{Path(folder).name}: papers")
    return {register.paper: register for register in registers}


def expected(register: Register, claim: str, reading: str | None = None) -> str:
    """The word that the register expects of a card.

    Raises
    ------
    ValueError
        If the claim (a full id) or its reading is not in the register, or the claim has no verdict.
    """
    for entry in register.claims:
        if entry.id == claim:
            break
    else:
        raise ValueError(f"claim must be in the register of {register.paper!r}, got {claim!r}")
    if reading is not None:
        return entry.reading(reading).word
    if entry.verdict is None:
        raise ValueError(f"claim must have a verdict in the register, got the {entry.kind} {claim!r}")
    return entry.verdict
