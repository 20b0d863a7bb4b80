"""Cards, marked numbers, the register and published figures."""

import json
import math
import re
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from dpregret import report
from dpregret.report.book import Renderer
from dpregret.report.claims import MIME, VERDICTS
from dpregret.report.numbers import GLUE_PREFIX, is_marked

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
    text = (Path(__file__).parent / "nbval_sanitize.cfg").read_text()
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

CARD = dict(check="regret < bound", observed="≈ 3461 ± 16", required="<= 1200", margin="≈ 2.9 times")


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
    cards.append(report.verdict("experts/lemma-2", "holds", check="c", observed="1", required="1", reading="honest"))
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claim": "Theorem 4"}, "claim must be"),
        ({"verdict": "true"}, "verdict must be one of"),
        ({"check": ""}, "check must be"),
        ({"check": "≈ 3"}, "check must not hold"),
        ({"observed": 3}, "observed must be"),
        ({"reading": " "}, "reading must be"),
    ],
)
def test_verdict_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        report.verdict(**({"claim": "cascading/theorem-4", "verdict": "fails"} | CARD | change))


# The register

REGISTER = """
paper: cascading
title: A title
citation: Wang2021
claims:
  - id: theorem-4
    kind: theorem
    number: "4"
    title: Regret
    line: 356
    statement: At most $\\log T$.
    verdict: fails
    readings: {noise only: holds, honest: fails}
    notebook: cascading/regret
    faults: [E4]
  - {id: definition-1, kind: definition, title: Privacy, statement: As usual.}
faults:
  - {id: E4, kind: constant, where: Theorem 4, text: Too small.}
"""


def load(tmp_path, text):
    path = tmp_path / "cascading.yml"
    path.write_text(text, encoding="utf-8")
    return report.load_register(path)


def test_the_register_is_read(tmp_path):
    register = load(tmp_path, REGISTER)
    assert [claim.id for claim in register.claims] == ["cascading/theorem-4", "cascading/definition-1"]
    assert report.expected(register, "cascading/theorem-4") == "fails"
    assert report.expected(register, "cascading/theorem-4", "noise only") == "holds"
    assert report.load_registers(tmp_path) == {"cascading": register}
    for claim, reading in [("cascading/lemma-1", None), ("cascading/theorem-4", "x"), ("cascading/definition-1", None)]:
        with pytest.raises(ValueError, match=claim):
            report.expected(register, claim, reading)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("verdict: fails", "verdict: false", "verdict must be one of"),
        ("honest: fails", "honest: maybe", "reading 'honest'"),
        ("kind: theorem", "kind: theorm", "kind must be one of"),
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
