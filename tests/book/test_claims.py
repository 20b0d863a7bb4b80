"""The verdict cards in the committed notebooks agree with the register of claims."""

import pytest

from evidence.report import Card, Claim, Register
from evidence.report.register import Reading, uncovered
from evidence.report.rule import OUTCOMES
from tools import ledger, notebooks


def test_cards_and_register_agree():
    assert ledger.disagreements(ledger.registers(), ledger.cards(notebooks.FOLDER), notebooks.names()) == []


@pytest.mark.parametrize("paper", sorted(ledger.registers()))
def test_every_line_of_the_sources_has_a_claim_or_a_reason(paper):
    assert uncovered(ledger.registers()[paper]) == []


def test_a_fault_has_one_name_in_the_whole_book():
    names = [fault.id for paper in ledger.registers().values() for fault in paper.faults]
    assert len(names) == len(set(names)) and {name[0] for name in names} == {"C", "L", "X"}


def test_pages_named_in_the_register_exist():
    claims = [claim for paper in ledger.registers().values() for claim in paper.claims]
    pages = {claim.page for claim in claims if claim.page and claim.status != "planned"}
    assert [page for page in sorted(pages) if not (ledger.ROOT / f"{page}.md").exists()] == []


# The comparison itself, on a small register: each kind of rot is seen.

NOTEBOOK = "cascading/one"
CLAIM = {"kind": "theorem", "title": "t", "statement": "s", "notebook": NOTEBOOK}
DEFINITION = Claim(id="cascading/definition-1", kind="definition", title="t", statement="s")


def disagreements(claims, cards, existing=(NOTEBOOK,)):
    papers = {"cascading": Register(paper="cascading", title="t", citation="c", claims=tuple(claims))}
    return ledger.disagreements(papers, [(NOTEBOOK, card) for card in cards], list(existing))


def claim(**fields):
    return Claim(**{**CLAIM, "id": "cascading/theorem-4", "verdict": "fails", **fields})


def card(verdict="fails", name="cascading/theorem-4", reading=None, evidence="exact"):
    fields = {"check": "c", "observed": "1", "required": "2", "evidence": evidence}
    return Card(claim=name, verdict=verdict, reading=reading, **fields)


OUTCOME = {word: outcome for outcome, word in OUTCOMES.items()}
READINGS = tuple(Reading(name=n, outcome=OUTCOME[w]) for n, w in (("honest", "fails"), ("scaled", "holds")))


@pytest.mark.parametrize(
    "claims, cards",
    [
        ([claim(), DEFINITION], [card()]),
        ([claim(status="planned", notebook="cascading/later")], []),
        ([claim(readings=READINGS)], [card(reading="honest"), card("holds", reading="scaled")]),
        ([claim(readings=READINGS)], [card(), card(reading="honest"), card("holds", reading="scaled")]),
        ([claim()], [card(evidence="enclosure")]),
        ([claim(empirical=True)], [card(evidence="confidence")]),
        ([claim(kind="figure")], [card(evidence="confidence")]),
        ([claim(verdict="holds")], [card("holds", evidence="proof")]),
    ],
)
def test_agreement_is_silent(claims, cards):
    assert disagreements(claims, cards) == []


@pytest.mark.parametrize(
    "claims, cards, said",
    [
        ([claim()], [card(), card(name="cascading/theorem-5")], "names no claim"),
        ([claim()], [card(name="elsewhere/theorem-4"), card()], "names no claim"),
        ([claim()], [card("holds")], "the card says 'holds', the register 'fails'"),
        ([claim()], [card(), card("consistent")], "the card says 'consistent'"),
        ([claim(readings=READINGS)], [card(reading="honest"), card(reading="scaled")], "the register 'holds'"),
        ([claim(readings=READINGS)], [card(reading="honest")], "no card for the reading 'scaled'"),
        ([claim()], [card(), card(reading="honest")], "the register None"),
        ([claim()], [], "neither planned nor with a card"),
        ([claim(notebook="cascading/gone")], [card()], "does not exist"),
        ([claim(status="planned")], [card()], "planned in the register"),
        ([claim(status="planned")], [], "planned in the register"),
        ([claim()], [card(evidence="proof")], "needs evidence that is exact or enclosure"),
        ([claim()], [card(evidence="confidence")], "needs evidence that is exact or enclosure"),
        ([claim(kind="figure")], [card(evidence="proof")], "or confidence, the card has 'proof'"),
        ([claim(verdict="holds")], [card("holds", evidence="belief")], "does not say what its evidence is"),
        ([DEFINITION], [card("holds", name="cascading/definition-1")], "the register None"),
    ],
)
def test_disagreement_is_told(claims, cards, said):
    problems = disagreements(claims, cards)
    assert len(problems) == 1 and said in problems[0]
