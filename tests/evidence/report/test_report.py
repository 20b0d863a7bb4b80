"""Cards, marked numbers, the register and published figures."""

import contextlib
import json
import math
import re
import types

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
import xarray as xr
from docutils import nodes
from docutils.utils import new_document
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from evidence import report
from evidence.report import rule
from evidence.report.book import Renderer
from evidence.report.claims import MIME, VERDICTS
from evidence.report.numbers import GLUE_PREFIX, is_marked
from evidence.report.register import line_range, uncovered
from evidence.report.series import SERIES
from tools.environment import ROOT

FINITE = st.floats(-1e300, 1e300)
ERRORS = st.floats(1e-12, 1e12)


@pytest.fixture
def shell():
    """IPython's display machinery, without a kernel."""
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


# Marked numbers


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        ((3461.27, 16.2), "≈ 3461 ± 16"),
        ((34612, 163.7), "≈ 34610 ± 160"),
        ((-0.004, 16.0), "≈ 0 ± 16"),
        ((0.0996, 0.00996), "≈ 0.100 ± 0.010"),
        ((1.2634e7, 3.2e5), "≈ 1.263e7 ± 0.032e7"),
        ((2e-7, 3e-8), "≈ 2.00e-7 ± 0.30e-7"),
        ((2.9,), "≈ 2.90"),
        ((345678.0,), "≈ 346000"),
        ((5, 0), "≈ 5.00"),
    ],
)
def test_approx_prints_the_value_to_the_decimals_of_its_error(arguments, printed):
    assert report.approx(*arguments) == printed


def test_approx_of_fewer_digits_and_of_an_interval():
    assert report.approx(1.2634e7, 3.2e5, digits=1) == "≈ 1.26e7 ± 0.03e7"
    assert report.approx(interval=(0.12, 0.1511)) == "≈ [0.120, 0.151]"


@given(FINITE, ERRORS)
def test_approx_is_marked_whole_and_rounds_by_less_than_a_tenth_of_the_error(value, se):
    text = report.approx(value, se)
    assert re.fullmatch(report.MARKED, text)
    shown, error = (float(part) for part in text.removeprefix("≈ ").split(" ± "))
    assert abs(shown - value) <= 0.051 * se + 1e-9 * abs(value)
    assert math.isclose(error, se, rel_tol=0.051) or se < 1e-14 * abs(value)


@given(FINITE, st.floats(0, 1e6))
def test_an_interval_is_marked_whole(low, width):
    assert re.fullmatch(report.MARKED, report.approx(interval=(low, low + width)))


@given(FINITE)
def test_a_number_alone_is_marked_whole(value):
    assert re.fullmatch(report.MARKED, report.approx(value))


@pytest.mark.parametrize("bad", [dict(value=math.nan), dict(value=1, se=-1), dict(interval=(2, 1)), dict(value="1")])
def test_approx_refuses(bad):
    with pytest.raises(ValueError, match="must be"):
        report.approx(**bad)


def test_the_sanitize_file_holds_the_pattern():
    text = (ROOT / "tests" / "nbval_sanitize.cfg").read_text()
    patterns = re.findall("^regex: (.*)$\n^replace: (.*)$", text, flags=re.MULTILINE)  # as nbval reads it
    assert patterns == [(report.MARKED, "MONTE-CARLO")]
    assert not is_marked("MONTE-CARLO") and not is_marked("3461 ± 16") and not is_marked("a ≈ b")


def test_mean_se_is_the_textbook_formula():
    da = xr.DataArray([[1.0, 2.0], [3.0, 2.0], [5.0, 2.0]], dims=("replicate", "round"))
    mean, se = report.mean_se(da)
    assert mean.values.tolist() == [3.0, 2.0]
    assert se.values == pytest.approx([2 / math.sqrt(3), 0.0])
    with pytest.raises(ValueError, match="at least 2"):
        report.mean_se(da[:1])


def test_glue_emits_the_record_of_myst_nb(shell):
    from myst_nb.core.variables import format_plain_text
    from myst_nb.ext.glue import extract_glue_data_cell

    values = {"mc": "≈ 3461 ± 16", "word": "1e5", "third": 1 / 3, "n": np.int64(12)}
    with capture_output() as captured:
        for name, value in values.items():
            report.glue(name, value)
    outputs = [nbformat.v4.new_output("display_data", data=o.data, metadata=o.metadata) for o in captured.outputs]
    assert all(set(output.data) == {GLUE_PREFIX + "text/plain"} for output in outputs)
    glued = dict(extract_glue_data_cell(nbformat.v4.new_code_cell(outputs=outputs)))
    text = {name: output["data"]["text/plain"] for name, output in glued.items()}
    assert format_plain_text(text["mc"], "s") == "≈ 3461 ± 16"
    assert format_plain_text(text["word"], "s") == "1e5"
    assert format_plain_text(text["third"], ".3f") == "0.333" and len(text["third"]) == 14
    assert format_plain_text(text["n"], "s") == "12"
    with pytest.raises(ValueError, match="value"):
        report.glue("bad", [1])


# Cards

CARD = dict(
    check="regret < bound", observed="≈ 3461 ± 16", required="<= 1200", margin="≈ 2.9 times", evidence="enclosure"
)


def executed(*cards):
    """A notebook with these cards, through IPython's formatters and a file."""
    cells = []
    for card in cards:
        data, metadata = InteractiveShell.instance().display_formatter.format(card)
        output = nbformat.v4.new_output("display_data", data=data, metadata=metadata)
        cells.append(nbformat.v4.new_code_cell(outputs=[output]))
    return json.loads(nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("x"), *cells])))


def test_cards_come_back_from_an_executed_notebook(shell):
    cards = [report.verdict("cascading/theorem-4", word, **CARD) for word in VERDICTS]
    sure = dict(evidence="confidence", level="99 %")
    cards.append(report.verdict("experts/lemma-2", "holds", **(CARD | sure), reading="honest"))
    assert report.collect(executed(*cards)) == cards


def test_what_nbval_compares_of_a_card_does_not_move_with_a_monte_carlo_number(shell):
    def compared(observed):
        card = report.verdict("cascading/theorem-4", "fails", **(CARD | {"observed": observed}))
        data, _ = shell.display_formatter.format(card)
        return {k: re.sub(report.MARKED, "MONTE-CARLO", v) if isinstance(v, str) else v for k, v in data.items()}

    assert compared("≈ 3461 ± 16") == compared("≈ 3.5e3 ± 0.2e3")
    assert compared("3461") != compared("3462")


def test_a_card_without_its_metadata_is_refused(shell):
    notebook = executed(report.verdict("cascading/theorem-4", "fails", **CARD))
    notebook["cells"][1]["outputs"][0]["metadata"] = {}
    with pytest.raises(ValueError, match="lost its numbers"):
        report.collect(notebook)


def test_a_card_is_text_and_escaped_html():
    card = report.verdict("cascading/theorem-4", "holds corrected", reading="a & b", **CARD)
    assert str(card).splitlines()[0] == "cascading/theorem-4 [a & b]: ✓* holds corrected"
    html = card._repr_html_()
    assert 'class="claim-card verdict-holds-corrected"' in html
    assert "regret &lt; bound" in html and "a &amp; b" in html and "<= 1200" not in html
    assert '<dt>evidence</dt><dd class="claim-evidence">enclosure</dd>' in html
    sure = report.verdict("cascading/theorem-4", "holds", **(CARD | dict(evidence="confidence", level="99 %")))
    assert str(sure).splitlines()[-1].split() == ["evidence", "confidence", "(99", "%)"]


def test_a_card_of_another_version_is_refused(shell):
    notebook = executed(report.verdict("cascading/theorem-4", "fails", **CARD))
    notebook["cells"][1]["outputs"][0]["data"][MIME]["version"] = 3
    with pytest.raises(ValueError, match="is not of version"):
        report.collect(notebook)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claim": "Theorem 4"}, "claim must be"),
        ({"verdict": "true"}, "verdict must be one of"),
        ({"check": ""}, "check must be"),
        ({"check": "≈ 3"}, "check must not hold"),
        ({"observed": 3}, "observed must be"),
        ({"reading": " "}, "reading must be"),
        ({"evidence": "belief"}, "evidence must be one of"),
        ({"evidence": "confidence"}, "level must be given"),
        ({"level": "99 %"}, "level must be given"),
        ({"evidence": "confidence", "level": "≈ 99"}, "level must not hold"),
    ],
)
def test_verdict_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        report.verdict(**({"claim": "cascading/theorem-4", "verdict": "fails"} | CARD | change))


# The rule for the words

STATEMENT = {"kinds": ("constants", "conditions"), "text": "with 8 for 4"}
REPAIR = {"kinds": ("repair",), "text": "another bonus"}
KEEPS = {"keeps": ("message", "noise law", "order")}


@pytest.mark.parametrize(
    ("outcome", "correction", "word"),
    [
        ("established", None, "holds"),
        ("agrees", None, "consistent"),
        ("undecided", None, "open"),
        ("refuted", None, "fails"),
        ("refuted", STATEMENT, "holds corrected"),
        ("undecided", STATEMENT, "holds corrected"),
        ("refuted", REPAIR, "fails"),
        ("refuted", REPAIR | KEEPS, "fails"),
        ("refuted", REPAIR | KEEPS | {"kinds": ("repair", "constants")}, "fails"),
        ("undecided", REPAIR, "open"),
        ("undecided", REPAIR | {"keeps": ("message", "order")}, "open"),
        ("undecided", REPAIR | KEEPS, "holds corrected"),
        ("undecided", REPAIR | KEEPS | {"kinds": ("constants", "repair")}, "holds corrected"),
        *[("refuted", STATEMENT | {"kinds": (kind,)}, "holds corrected") for kind in rule.STATEMENT],
    ],
)
def test_the_word_follows_from_outcome_and_correction(outcome, correction, word):
    assert rule.word(outcome, correction and rule.Correction(**correction)) == word


def test_the_rule_refuses_what_it_does_not_know():
    for outcome in ("established", "agrees"):
        with pytest.raises(ValueError, match="correction must be absent"):
            rule.word(outcome, rule.Correction(**STATEMENT))
    with pytest.raises(ValueError, match="outcome must be one of"):
        rule.word("true")
    for change in ({"kinds": ()}, {"kinds": "constants"}, {"kinds": ("wish",)}, {"text": " "}, {"keeps": ("order",)}):
        with pytest.raises(ValueError, match=r"correction: (kinds|text|keeps)"):
            rule.Correction(**(STATEMENT | change))
    assert rule.kindest(["fails", "open", "consistent"]) == "consistent"
    assert rule.kindest(["holds corrected", "consistent"]) == "holds corrected"
    assert rule.kindest(["fails", "open"]) == "open"
    assert rule.kindest(["holds corrected", "holds"]) == "holds"


# The register

REGISTER = """
paper: cascading
title: A title
citation: Wang2021
source_lines: 12
claims:
  - id: theorem-4
    kind: theorem
    number: "4"
    title: Regret
    lines: ["3-4", "9"]
    statement: At most $\\log T$.
    readings:
      - {name: noise only, support: l. 3, outcome: refuted, correction: {kinds: [constants], text: twice as much}}
      - {name: honest, support: l. 4, outcome: refuted}
      - {name: K = 1, outcome: established, case: true}
      - {name: public mask, support: l. 9, outcome: established, excluded: l. 4 contradicts it}
    verdict: holds corrected
    notebook: cascading/regret
    faults: [E4]
  - {id: theorem-5, kind: theorem, title: Another, statement: Also., lines: "5", outcome: agrees, criterion: below 1,
     verdict: consistent}
  - {id: our-own, kind: proposition, title: Ours, statement: More., own: true, outcome: established, verdict: holds}
  - {id: definition-1, kind: definition, title: Privacy, statement: As usual., lines: "1"}
faults:
  - {id: E4, kind: constant, where: Theorem 4, text: Too small.}
unclaimed:
  - {lines: "2", what: a definition of notation}
  - {lines: "6-8", what: related work}
  - {lines: "10-12", what: references}
"""


def load(tmp_path, text):
    path = tmp_path / "cascading.yml"
    path.write_text(text, encoding="utf-8")
    return report.load_register(path)


def test_the_register_is_read(tmp_path):
    register = load(tmp_path, REGISTER)
    names = ["theorem-4", "theorem-5", "our-own", "definition-1"]
    assert [claim.id for claim in register.claims] == [f"cascading/{name}" for name in names]
    assert [claim.own for claim in register.claims] == [False, False, True, False]
    words = {None: "holds corrected", "noise only": "holds corrected", "honest": "fails"}
    for reading, word in (words | {"K = 1": "holds", "public mask": "holds"}).items():
        assert report.expected(register, "cascading/theorem-4", reading) == word
    assert report.expected(register, "cascading/theorem-5") == "consistent"
    assert report.load_registers(tmp_path) == {"cascading": register}
    for claim, reading in [("cascading/lemma-1", None), ("cascading/theorem-4", "x"), ("cascading/definition-1", None)]:
        with pytest.raises(ValueError, match=claim):
            report.expected(register, claim, reading)


def test_every_line_of_a_source_has_a_claim_or_a_reason(tmp_path):
    assert uncovered(load(tmp_path, REGISTER)) == []
    assert uncovered(load(tmp_path, REGISTER.replace('lines: "6-8"', 'lines: "7"'))) == [6, 8]
    assert uncovered(load(tmp_path, REGISTER.replace('["3-4", "9"]', '["3-4"]'))) == [9]
    with pytest.raises(ValueError, match="lines must be at most 12"):
        uncovered(load(tmp_path, REGISTER.replace('"10-12"', '"10-13"')))
    with pytest.raises(ValueError, match="source_lines must be"):
        uncovered(load(tmp_path, REGISTER.replace("source_lines: 12", "source_lines:")))
    for bad in ("0", "4-3", "x", "1-", "-2"):
        with pytest.raises(ValueError, match="a line or a range of lines"):
            line_range(bad, "lines")
    assert list(line_range("3-5", "lines")) == [3, 4, 5] and list(line_range(7, "lines")) == [7]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("verdict: holds corrected", "verdict: false", "verdict must be one of"),
        ("verdict: holds corrected", "verdict: holds", "verdict must be 'holds corrected', as follows"),
        ("verdict: holds corrected", "verdict: fails", "verdict must be 'holds corrected', as follows"),
        ("verdict: consistent", "verdict: holds", "verdict must be 'consistent', as follows"),
        ("outcome: refuted}", "outcome: maybe}", "reading 'honest': outcome must be one of"),
        ("support: l. 4, outcome: refuted}", "outcome: refuted}", "support must name"),
        ("criterion: below 1,", "", "criterion must be given"),
        ("outcome: refuted}", "outcome: refuted, criterion: none}", "criterion must be given"),
        ("name: honest", "name: noise only", "repeated ids"),
        ("    notebook:", "    outcome: refuted\n    notebook:", "must stand with the readings"),
        ("statement: As usual.", "statement: As usual., outcome: established", "'outcome'.* must be absent"),
        ("kinds: [constants]", "kinds: [wishes]", "kinds must be one of"),
        ("kind: proposition", "kind: proposition, lines: 3", "lines must be absent"),
        ("kind: constant,", "kind: odd,", "kind of fault E4 must be one of"),
        ("kind: theorem\n", "kind: theorm\n", "kind must be one of"),
        ("number:", "nummer:", "unknown keys"),
        ("    title: Regret\n", "", "missing keys"),
        ("id: definition-1", "id: theorem-4", "repeated ids"),
        ("faults: [E4]", "faults: [E5]", "not in the list of faults"),
        ("id: theorem-4", "id: Theorem_4", "lower-case"),
        ("notebook: cascading/regret", "status: soon", "status must be"),
        ("title: A title", "title: [", "not valid YAML"),
    ],
)
def test_the_register_is_checked(tmp_path, old, new, message):
    assert old in REGISTER
    with pytest.raises(ValueError, match=message):
        load(tmp_path, REGISTER.replace(old, new, 1))


def test_readings_that_are_cases_or_excluded_are_no_headline(tmp_path):
    only = REGISTER.replace("support: l. 3,", "case: true,").replace("support: l. 4,", "case: true,")
    with pytest.raises(ValueError, match="one that is neither a case nor excluded"):
        load(tmp_path, only)


# Published figures

DATA = {
    "round": np.arange(1, 4),
    "regret": np.array([0.1, 1 / 3, 2.5]),
    "regret_se": [0.1, 0.1, 0.2],
    "who": list("abc"),
}


def publish(directory, data=DATA, **changes):
    report.style()
    fig, (ax,) = report.panels(1)
    report.band(ax, data["round"], [1, 2, 3], [0.1, 0.1, 0.1], key="laplace")
    ax.legend()
    report.publish(fig, changes.pop("name", "a-figure"), data, directory=directory, **({"alt": "A line."} | changes))


def test_publish_writes_the_same_bytes_and_the_full_numbers(tmp_path, shell):
    with capture_output() as captured:
        publish(tmp_path / "one", caption="A caption.")
        publish(tmp_path / "two")
    for suffix in ("svg", "csv"):
        assert len({(tmp_path / run / f"a-figure.{suffix}").read_bytes() for run in ("one", "two")}) == 1
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["a-figure.csv", "a-figure.svg"]
    rows = (tmp_path / "one" / "a-figure.csv").read_text().splitlines()
    assert rows[0] == "round,regret,regret_se,who" and rows[2] == f"2,{1 / 3!r},0.1,b"
    first, second = captured.outputs
    assert first.data == second.data and first.data["text/plain"] == "[figure a-figure] A line."
    about = {"width": 750, "alt": "A line.", "name": "fig-a-figure"}
    assert second.metadata == {"image/png": about}
    assert first.metadata == {"image/png": about | {"caption": "A caption."}}
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("data", "changes", "message"),
    [
        (DATA, {"name": "A figure"}, "name must be"),
        (DATA, {"alt": ""}, "alt must be"),
        (DATA, {"alt": "About ≈ 3 ± 1"}, "alt must be"),
        (DATA | {"who": ["a"]}, {}, "one length"),
        (DATA | {"x_se": [1, 2, 3]}, {}, "must have 'x'"),
        (DATA | {"regret": [1, math.inf, 2]}, {"allow_nan": True}, r"\['regret'\]\[1\] must be finite"),
        (DATA | {"regret": [1, math.nan, 2]}, {}, "must be finite"),
    ],
)
def test_publish_refuses(tmp_path, data, changes, message):
    with pytest.raises(ValueError, match=message):
        publish(tmp_path, data, **changes)
    plt.close("all")
    assert not list(tmp_path.iterdir())


def test_publish_takes_missing_numbers_on_request_and_data_frames(tmp_path):
    import pandas as pd

    publish(tmp_path, pd.DataFrame(DATA | {"regret": [1.0, math.nan, 2.0]}), allow_nan=True)
    assert (tmp_path / "a-figure.csv").read_text().splitlines()[2] == "2,nan,0.1,b"


def test_figures_go_below_the_root_of_the_book(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "_toc.yml").touch()
    monkeypatch.chdir(tmp_path / "notebooks")
    monkeypatch.delenv("DPREGRET_FIGURES", raising=False)
    publish(None)
    assert (tmp_path / "_build" / "figures" / "a-figure.svg").is_file()
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path / "elsewhere"))
    publish(None)
    assert (tmp_path / "elsewhere" / "a-figure.csv").is_file()


def test_series_keep_their_look():
    assert report.series("laplace", label="x")["label"] == "x"
    with pytest.raises(ValueError, match="key must be one of"):
        report.series("laplac")
    with pytest.raises(ValueError, match="key must be new"):
        report.register_series("laplace", "Another", "#000000")


def test_the_book_shows_no_json_of_a_card_and_leaves_other_outputs():
    class Data:
        mime_type, output_metadata = MIME, {}

    assert Renderer.handle_mime(None, Data, False) == []
    Data.mime_type = "text/plain"
    assert Renderer.handle_mime(None, Data, False) is None


class Renderers:
    """What MyST-NB hands to a renderer of mime types: its own image nodes, and the parser behind it."""

    def __init__(self):
        self.document = new_document("page")
        self.renderer = self

    def render_image(self, data):
        return [nodes.image(uri="block.png")]

    def render_image_inline(self, data):
        return [nodes.image(uri="inline.png")]

    @contextlib.contextmanager
    def current_node_context(self, node):
        self.node = node
        yield

    def nested_render_text(self, text, line):
        self.node += nodes.paragraph("", "", nodes.emphasis(text, text), line=line)


def image(**about):
    return types.SimpleNamespace(mime_type="image/png", output_metadata={"image/png": about}, line=7)


def test_the_book_shows_an_image_with_its_alternative_text():
    (found,) = Renderer.handle_mime(Renderers(), image(alt="A line."), False)
    assert found["alt"] == "A line." and found["uri"] == "block.png"
    (found,) = Renderer.handle_mime(Renderers(), image(alt="A line.", caption="C.", name="fig-a"), True)
    assert found["alt"] == "A line." and found["uri"] == "inline.png"
    assert Renderer.handle_mime(Renderers(), image(width=3), False) is None


def test_the_book_shows_a_captioned_image_as_a_numbered_figure_with_a_target():
    renderer = Renderers()
    (figure,) = Renderer.handle_mime(renderer, image(alt="A line.", caption="*A* caption.", name="fig-A"), False)
    assert isinstance(figure, nodes.figure) and figure[0]["alt"] == "A line."
    assert figure["names"] == ["fig-a"] and figure["ids"] and renderer.document.nameids["fig-a"] == figure["ids"][0]
    assert isinstance(figure[1], nodes.caption) and isinstance(figure[1][0], nodes.emphasis)
    assert figure[1].astext() == "*A* caption." and (figure.line, figure[1].line) == (7, 7)


def test_the_palette_tells_the_series_apart():
    """No two series of one family look alike; the colours are those of Okabe and Ito, or grey or black."""
    palette = {"#000000", "#7a7a7a", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"}
    assert {entry.color for entry in SERIES.values()} <= palette
    for family in (
        ["non-private", "laplace", "gaussian", "composition", "hybrid", "click-position", "first-position ucb"],
        ["zcdp", "optimal", "basic", "text", "adaptive recursion", "zcdp optimal", "no privacy"],
    ):
        looks = {(SERIES[key].color, SERIES[key].linestyle) for key in family}
        assert len(looks) == len(family) and len({SERIES[key].marker for key in family if SERIES[key].marker}) > 3


def test_only_bounds_and_plain_baselines_are_drawn_without_a_marker():
    plain = {key for key, entry in SERIES.items() if not entry.marker}
    baselines = {"non-private", "least squares", "random list", "uniform play", "no privacy"}
    assert plain == baselines | {"bound printed", "bound corrected", "lower bound"}
    assert all(entry.label[:1].isupper() or entry.label.startswith("z") for entry in SERIES.values())
    for key in ("bound printed", "bound corrected", "lower bound", "random list", "uniform play", "no privacy"):
        assert isinstance(SERIES[key].linestyle, tuple)  # dashed: nothing that was run
