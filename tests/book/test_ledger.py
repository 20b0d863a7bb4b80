"""The tables of the book: what they count, what they mark, and what a claim's row says."""

import pytest

from evidence.report import Card, Claim, Register
from evidence.report.register import Fault, Reading
from evidence.report.rule import Correction
from tools import ledger

NOTEBOOK = "p/one"


def card(name, word, evidence="exact", **fields):
    shown = {"check": "c", "observed": "1", "required": "2"}
    return NOTEBOOK, Card(claim=f"p/{name}", verdict=word, evidence=evidence, **(shown | fields))


def claim(name, word=None, kind="theorem", **fields):
    return Claim(id=f"p/{name}", kind=kind, title="Title", statement="statement", verdict=word, **fields)


def papers(*claims, faults=()):
    return {"p": Register(paper="p", title="A paper", citation="c", claims=claims, faults=faults)}


def counts(register, found, own=False):
    numbers = ledger.counts(register, register["p"], found, own=own)
    return {word: number for word, number in numbers.items() if number}


def test_own_propositions_are_counted_apart_and_pseudo_code_not_at_all():
    register = papers(claim("a", "holds"), claim("b", "holds", own=True), claim("c", kind="algorithm"))
    found = [card("a", "holds"), card("b", "holds")]
    assert counts(register, found) == {"holds": 1}
    assert counts(register, found, own=True) == {"holds": 1}
    head, first, own = ledger.glance(register, found).split("* - ")[1:]
    assert [row.split("  - ")[1].strip() for row in (first, own)] == ["1", "1"]
    assert "planned" not in head and "own" in own and "own" not in first
    text = ledger.ledger(register, found)
    assert text.count("1 entries: 1 holds.") == 2
    assert text.index("Claims of the text") < text.index("own propositions") < text.index("Without a word")


def test_a_claim_whose_cards_disagree_with_the_register_shows_the_worst():
    register = papers(claim("a", "holds"))
    for words, overall in [
        (["holds", "fails", "consistent"], "fails"),
        (["holds", "holds corrected"], "holds corrected"),
    ]:
        found = [card("a", word) for word in words]
        assert ledger.overall(register, register["p"].claims[0], found) == overall
        assert ledger.ledger(register, found).count("not what the register expects") == len(words) - 1
    assert "not what the register" not in ledger.ledger(register, [card("a", "holds")])


def test_one_card_of_many_that_disagrees_is_enough():
    readings = (Reading(name="x", outcome="refuted"), Reading(name="y", outcome="established"))
    entry = claim("a", "holds", readings=readings)
    register = papers(entry)
    agreeing = [card("a", "fails", reading="x"), card("a", "holds", reading="y")]
    assert ledger.overall(register, entry, agreeing) == "holds"
    assert ledger.overall(register, entry, [*agreeing, card("a", "fails", reading="y")]) == "fails"


def test_a_claim_without_a_card_is_planned_and_one_without_a_word_is_nothing():
    register = papers(claim("a", "holds", status="planned"), claim("b", kind="definition"))
    assert [ledger.overall(register, entry, []) for entry in register["p"].claims] == ["planned", None]
    assert "planned" in ledger.glance(register, [])


def test_a_row_says_reading_support_correction_criterion_lines_and_faults():
    correction = Correction(kinds=("constants",), text="with 8")
    readings = (
        Reading(name="printed", outcome="refuted", support="l. 279"),
        Reading(name="of the proof", outcome="refuted", support="l. 263", correction=correction),
        Reading(name="K = 1", outcome="established", case=True),
        Reading(name="public", outcome="established", support="l. 9", excluded="l. 4 contradicts it"),
        Reading(name="growth", outcome="agrees", support="l. 3", criterion="below 0.9"),
    )
    entry = claim(
        "a", "holds corrected", readings=readings, lines=("3-5", "9"), faults=("E7",), beyond="open for K = 3"
    )
    words = [reading.word for reading in readings]
    found = [card("a", w, reading=r.name, check=r.name) for r, w in zip(readings, words, strict=True)]
    found.append(card("a", "holds", evidence="confidence", level="99 %", reading="K = 1"))
    text = ledger.ledger(papers(entry, faults=(Fault(id="E7", kind="false", where="w", text="t"),)), found)
    for said in (
        "reading: *printed* (l. 279).",
        "Corrected (constants): with 8",
        "case: *K = 1*.",
        "excluded reading: *public* (l. 4 contradicts it).",
        "Criterion: below 0.9",
        "(l. 3-5, 9)",
        "Faults: E7.",
        "*Beyond:* open for K = 3",
        "[exact]",
        "[confidence, 99 %]",
        "**Verdict:** " + ledger.badge("holds corrected"),
    ):
        assert text.count(said) >= 1, said
    assert text.count("**Title.**") == 1 and text.count("Corrected (") == 1


@pytest.mark.parametrize("word", ledger.ORDER)
def test_each_word_has_its_mark(word):
    assert f"verdict-{word.replace(' ', '-')}" in ledger.badge(word)
    assert ledger.MARKS[word] in ledger.badge(word)
    assert len(set(ledger.MARKS.values())) == len(ledger.ORDER)
