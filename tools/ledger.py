"""The tables of the book that are made of the register of claims and of the cards in the executed notebooks.

Every number in them comes from a card; the register gives the statement and the verdict expected.
"""

import html
import os
import re
from pathlib import Path

from evidence.report import Card, Claim, Register, collect, expected, load_registers
from evidence.report.claims import EVIDENCE, SYMBOLS
from evidence.report.register import UNJUDGED
from evidence.report.rule import WORDS
from tools import notebooks
from tools.environment import ROOT

REGISTER = ROOT / "book" / "claims"
MARKS = {**SYMBOLS, "planned": "…"}
ORDER = (*WORDS, "planned")  # also from best to worst
PAPERS = ("cascading", "contextual", "experts")

Found = list[tuple[str, Card]]  # the notebook's name, and a card in it


def registers(folder: Path = REGISTER) -> dict[str, Register]:
    """The registers by paper, in the order of the book."""
    loaded = load_registers(folder)
    return {paper: loaded[paper] for paper in sorted(loaded, key=lambda paper: (*PAPERS, paper).index(paper))}


def cards(folder: Path) -> Found:
    """Every card in the notebooks below ``folder``."""
    return [(name, card) for name in notebooks.names(folder) for card in collect(notebooks.read(name, folder))]


def wanted(papers: dict[str, Register], card: Card) -> str | None:
    """The verdict the register expects of a card; None if it knows no such claim or reading."""
    try:
        return expected(papers[card.claim.partition("/")[0]], card.claim, card.reading)
    except (KeyError, ValueError):
        return None


def disagreements(papers: dict[str, Register], found: Found, existing: list[str]) -> list[str]:
    """Where cards and register differ; ``existing`` are the notebooks' names."""
    problems = []
    claims = {claim.id: claim for paper in papers.values() for claim in paper.claims}
    for notebook, card in found:
        where = f"{notebook}: {card.claim}" + (f" (reading {card.reading!r})" if card.reading else "")
        if card.claim not in claims:
            problems.append(f"{where}: a card names no claim of the register")
        elif (word := wanted(papers, card)) != card.verdict:
            problems.append(f"{where}: the card says {card.verdict!r}, the register {word!r}")
        elif problem := weak(claims[card.claim], card):
            problems.append(f"{where}: {problem}")
    for claim in claims.values():
        own = [card for _, card in found if card.claim == claim.id]
        if claim.status == "planned":
            if own or claim.notebook in existing:
                problems.append(f"{claim.id}: planned in the register, but its notebook or a card exists")
            continue
        if claim.notebook and claim.notebook not in existing:
            problems.append(f"{claim.id}: its notebook {claim.notebook!r} does not exist")
        if claim.verdict and not own:
            problems.append(f"{claim.id}: neither planned nor with a card in a notebook")
        for reading in claim.readings if own else ():
            if reading.name not in {card.reading for card in own}:
                problems.append(f"{claim.id}: no card for the reading {reading.name!r}")
    return problems


def weak(claim: Claim, card: Card) -> str:
    """What is wrong with the evidence of a card; empty if nothing is."""
    if card.evidence not in EVIDENCE:
        return "the card does not say what its evidence is"
    empirical = claim.empirical or claim.kind == "figure"
    allowed = ("exact", "enclosure", "confidence") if empirical else ("exact", "enclosure")
    if card.verdict == "fails" and card.evidence not in allowed:
        return f"a 'fails' needs evidence that is {' or '.join(allowed)}, the card has {card.evidence!r}"
    return ""


def overall(papers: dict[str, Register], claim: Claim, found: Found) -> str | None:
    """One verdict for a claim: the register's if every card agrees with it, else the worst a card says."""
    own = [card for _, card in found if card.claim == claim.id]
    if not claim.verdict:
        return None  # a definition or an assumption
    if not own:
        return "planned"
    if all(card.verdict == wanted(papers, card) for card in own):
        return claim.verdict
    return max((card.verdict for card in own), key=ORDER.index)


def counts(papers: dict[str, Register], paper: Register, found: Found, *, own: bool) -> dict[str, int]:
    """How often each word is given to the text's claims, or to the book's ``own``."""
    verdicts = [overall(papers, claim, found) for claim in paper.claims if claim.own == own]
    return {word: verdicts.count(word) for word in ORDER}


def said(numbers: dict[str, int]) -> str:
    """Counts in words."""
    return ", ".join(f"{number} {word}" for word, number in numbers.items() if number) or "none"


def badge(word: str) -> str:
    return f'<span class="verdict verdict-{word.replace(" ", "-")}">{MARKS[word]}&nbsp;{word}</span>'


def line(text: object) -> str:
    """MyST from the register, on one line."""
    return " ".join(str(text).split())


def plain(text: str) -> str:
    """Text from a card, in which nothing is MyST."""
    return re.sub(r"([\\`*_{}\[\]$~^|:@])", lambda match: f"&#{ord(match[0])};", html.escape(text))


def link(text: str, page: str | None, suffix: str) -> str:
    """A link from a page of ``book/``; a planned page is not linked."""
    exists = page and (ROOT / f"{page}{suffix}").exists()
    return f"[{text}]({Path(os.path.relpath(page, 'book')).as_posix()}{suffix})" if exists else text


def table(head: list[str], rows: list[list[str]], css: str, widths: str) -> str:
    """A MyST list-table, in which math and links work."""
    lines = ["```{list-table}", ":header-rows: 1", f":class: {css}", f":widths: {widths}", ""]
    for row in [head, *rows]:
        lines += [f"{'* -' if i == 0 else '  -'} {cell}".rstrip() for i, cell in enumerate(row)]
    return "\n".join([*lines, "```", ""])


def glance(papers: dict[str, Register], found: Found) -> str:
    """Verdict counts: a row a text for its own claims, then a row for what the book adds."""
    rows = []
    for paper in papers.values():
        numbers = counts(papers, paper, found, own=False).values()
        rows.append([f"{line(paper.title)} {{cite}}`{paper.citation}`", *map(str, numbers)])
    added = [counts(papers, paper, found, own=True) for paper in papers.values()]
    rows.append(["*The book's own propositions*", *(str(sum(numbers[word] for numbers in added)) for word in ORDER)])
    shown = [i for i, word in enumerate(ORDER) if word != "planned" or any(row[i + 1] != "0" for row in rows)]
    rows = [[row[0], *(row[i + 1] for i in shown)] for row in rows]
    return table(["Claims of", *(badge(ORDER[i]) for i in shown)], rows, "glance", "40" + " 12" * len(shown))


def headlines(papers: dict[str, Register], found: Found) -> str:
    """For each paper the claims that matter most, with the verdict and the reason for it."""
    parts = []
    for paper in papers.values():
        claims = [claim for claim in paper.claims if claim.headline]
        rows = [
            [
                f"{link(f'{claim.kind.capitalize()} {claim.number}'.strip(), claim.page, '.md')}: {line(claim.title)}",
                badge(overall(papers, claim, found)),
                line(claim.headline),
            ]
            for claim in claims
        ]
        if rows:
            parts.append(
                f"**{line(paper.title)}**\n\n" + table(["Claim", "Verdict", "Why"], rows, "headlines", "32 20 48")
            )
    return "\n".join(parts)


def row_of(papers: dict[str, Register], claim: Claim, name: str, card: Card) -> list[str]:
    """The verdict and the evidence of a card."""
    word = badge(card.verdict)
    if card.verdict != wanted(papers, card):
        word += " (not what the register expects)"
    reading = next((reading for reading in claim.readings if reading.name == card.reading), None)
    notes = []
    if reading is not None:
        kind = "case" if reading.case else "excluded reading" if reading.excluded else "reading"
        why = reading.excluded or reading.support
        notes.append(f"{kind}: *{line(reading.name)}*" + (f" ({line(why)})" if why else "") + ".")
    judged = reading or claim
    if judged.correction:
        notes.append(f"Corrected ({', '.join(judged.correction.kinds)}): {line(judged.correction.text)}")
    if judged.criterion:
        notes.append(f"Criterion: {line(judged.criterion)}")
    numbers = "; ".join(filter(None, [f"observed {card.observed}", f"required {card.required}", card.margin]))
    level = f", {card.level}" if card.level else ""
    evidence = f"*{plain(card.check)}:* {plain(numbers)} [{card.evidence}{plain(level)}]"
    notebook = link("notebook", f"notebooks/{name}", ".ipynb")
    return [word, "<br>".join([*notes, f"{evidence} ({notebook})"])]


def claim_rows(papers: dict[str, Register], claim: Claim, found: Found) -> list[list[str]]:
    """The rows of one claim: the statement beside its first card."""
    item = link(f"{claim.kind.capitalize()} {claim.number}".strip(), claim.page, ".md")
    if claim.lines:
        item += f" (l. {', '.join(claim.lines)})"
    text = f"**{line(claim.title)}.** {line(claim.statement)}"
    if claim.beyond:
        text += f" *Beyond:* {line(claim.beyond)}"
    if claim.faults:
        text += f" Faults: {', '.join(claim.faults)}."
    own = [(name, card) for name, card in found if card.claim == claim.id]
    if not own:
        return [[item, text, badge("planned") if claim.verdict else "", ""]]
    rows = [row_of(papers, claim, name, card) for name, card in own]
    verdict = overall(papers, claim, found)
    if len(rows) > 1:
        text += f" **Verdict:** {badge(verdict)}"
    return [[item, text, *rows[0]], *(["", "", *row] for row in rows[1:])]


def ledger(papers: dict[str, Register], found: Found) -> str:
    """For each text a table of its claims, one of the book's own, and one of what carries no word; a row a card."""
    parts = []
    for paper in papers.values():
        parts.append(f"## {line(paper.title)}\n")
        judged = [claim for claim in paper.claims if claim.kind not in UNJUDGED]
        groups = [
            ("Claims of the text", [claim for claim in judged if not claim.own], False),
            ("The book's own propositions", [claim for claim in judged if claim.own], True),
        ]
        for title, claims, own in groups:
            if claims:
                numbers = said(counts(papers, paper, found, own=own))
                parts.append(f"### {title}\n\n{len(claims)} entries: {numbers}.\n")
                rows = [row for claim in claims for row in claim_rows(papers, claim, found)]
                parts.append(table(["Item", "Claim", "Verdict", "Evidence"], rows, "ledger", "13 30 16 41"))
        rest = [claim for claim in paper.claims if claim.kind in UNJUDGED]
        if rest:
            parts.append("### Without a word: definitions, assumptions, pseudo-code\n")
            rows = [row[:2] for claim in rest for row in claim_rows(papers, claim, found)]
            parts.append(table(["Item", "What it is"], rows, "ledger", "14 86"))
    return "\n".join(parts)


def faults(papers: dict[str, Register]) -> str:
    """The faults of each paper, its misprints in a table of their own."""
    parts = []
    for paper in papers.values():
        parts.append(f"## {line(paper.title)}\n")
        serious = [fault for fault in paper.faults if fault.kind != "misprint"]
        misprints = [fault for fault in paper.faults if fault.kind == "misprint"]
        if serious:
            rows = [[fault.id, fault.kind, line(fault.where), line(fault.text)] for fault in serious]
            parts.append(table(["", "Kind", "Where", "What"], rows, "faults", "6 12 20 62"))
        if misprints:
            rows = [[fault.id, line(fault.where), line(fault.text)] for fault in misprints]
            parts.append("### Misprints\n\n" + table(["", "Where", "What"], rows, "faults", "6 24 70"))
    return "\n".join(parts)
