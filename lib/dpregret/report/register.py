"""The register of claims: what each paper says, the verdict expected, and where the evidence is.

One YAML file a paper in ``book/claims``. A notebook's cards (`dpregret.report.claims`) are compared with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from dpregret import _checks
from dpregret.report.claims import CLAIM_ID, VERDICTS

KINDS = ("algorithm", "theorem", "lemma", "corollary", "proposition", "remark", "figure", "table", "sentence")
UNJUDGED = ("definition", "assumption")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim. ``id`` is the full id, ``paper/id``; ``readings`` maps a reading to its verdict.

    A claim with a ``headline``, the reason for its verdict in a line, is shown on the first page.
    """

    id: str
    kind: str
    title: str
    statement: str
    number: str = ""
    line: int | str | None = None
    verdict: str | None = None
    readings: Mapping[str, str] = field(default_factory=dict)
    notebook: str | None = None
    status: str | None = None
    faults: tuple[str, ...] = ()
    page: str | None = None
    headline: str | None = None


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault of a paper's text."""

    id: str
    kind: str
    where: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Register:
    """The claims and faults of one paper."""

    paper: str
    title: str
    citation: str
    claims: tuple[Claim, ...]
    faults: tuple[Fault, ...] = ()


def _build(kind: type, entry: Any, where: str) -> Any:
    """``kind(**entry)`` after a check of the keys."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"{where} must be a mapping, got {entry!r}")
    allowed = {f.name for f in fields(kind)}
    needed = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    for problem, keys in (("unknown", set(entry) - allowed), ("missing", needed - set(entry))):
        if keys:
            raise ValueError(f"{where} has {problem} keys {sorted(map(str, keys))}; allowed are {sorted(allowed)}")
    return kind(**entry)


def _unique(ids: list[str], where: str) -> None:
    repeated = sorted({name for name in ids if ids.count(name) > 1})
    if repeated:
        raise ValueError(f"{where} has repeated ids {repeated}")


def _claim(paper: str, entry: Mapping[str, Any], faults: set[str], where: str) -> Claim:
    claim = _build(Claim, entry, where)
    where = f"{where} ({claim.id})"
    full = f"{paper}/{claim.id}"
    if not CLAIM_ID.fullmatch(full):
        raise ValueError(f"{where}: id must be lower-case words joined by '-' or '.', got {claim.id!r}")
    _checks.choice(f"{where}: kind", claim.kind, KINDS + UNJUDGED)
    verdicts = {"verdict": claim.verdict} | {f"reading {name!r}": word for name, word in claim.readings.items()}
    if claim.kind in UNJUDGED and claim.verdict is None:
        verdicts.pop("verdict")
    for name, word in verdicts.items():
        _checks.choice(f"{where}: {name}", word, VERDICTS)
    if claim.status not in (None, "planned"):
        raise ValueError(f"{where}: status must be 'planned' or absent, got {claim.status!r}")
    unknown = sorted(set(claim.faults) - faults)
    if unknown:
        raise ValueError(f"{where}: faults {unknown} are not in the list of faults")
    return Claim(**{**entry, "id": full, "number": str(claim.number), "faults": tuple(claim.faults)})


def load_register(path: str | Path) -> Register:
    """Read and check one file of the register.

    Raises
    ------
    ValueError
        For an unknown or missing key, a repeated id, a word that is no verdict, or a fault that is not listed.
    """
    path = Path(path)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path.name} is not valid YAML: {error}") from error
    register = _build(Register, content, path.name)
    entries, fault_entries = list(register.claims or ()), list(register.faults or ())
    faults = [_build(Fault, entry, f"{path.name}: fault {n}") for n, entry in enumerate(fault_entries, 1)]
    _unique([fault.id for fault in faults], f"{path.name}: faults")
    known = {fault.id for fault in faults}
    claims = [_claim(register.paper, entry, known, f"{path.name}: claim {n}") for n, entry in enumerate(entries, 1)]
    _unique([claim.id for claim in claims], f"{path.name}: claims")
    return Register(
        paper=register.paper,
        title=register.title,
        citation=register.citation,
        claims=tuple(claims),
        faults=tuple(faults),
    )


def load_registers(folder: str | Path) -> dict[str, Register]:
    """Every ``*.yml`` of a folder, by paper."""
    registers = [load_register(path) for path in sorted(Path(folder).glob("*.yml"))]
    _unique([register.paper for register in registers], f"{Path(folder).name}: papers")
    return {register.paper: register for register in registers}


def expected(register: Register, claim: str, reading: str | None = None) -> str:
    """The verdict that the register expects of a card.

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
        return entry.readings[_checks.choice(f"reading of {claim}", reading, tuple(entry.readings))]
    if entry.verdict is None:
        raise ValueError(f"claim must have a verdict in the register, got the {entry.kind} {claim!r}")
    return entry.verdict
