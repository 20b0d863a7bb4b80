"""The tools refuse a wrong request before anything runs, and see what is wrong with a page."""

import math

import nbformat
import papermill
import pytest

from evidence.report import Card, Claim, Register
from tools import check_html, environment, execute, ledger, notebooks
from tools.notebooks import Refused

DEFAULTS = """\
# the paper's scale
horizon = 1_000  # rounds
epsilon: float = 0.2
epsilons = [
    0.2,
    0.5,
]
reading = "noise and bonus"
quick = False
"""


def write(folder, name, *cells, tags=("parameters",)):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    notebook.cells[0].metadata["tags"] = list(tags)
    path = folder / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    return path


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, "paper/one", DEFAULTS, "print(horizon)")
    write(tmp_path, "paper/two", "horizon = 10")
    (tmp_path / "presets.yml").write_text(
        "deep: {paper/one: {horizon: 100000}}\nbare:\nwrong: {paper/none: {horizon: 1}}\nodd: {paper/one: {wide: 1}}\n"
    )
    return tmp_path


def plan(folder, selected=("paper/one",), preset=None, **given):
    return execute.plan(list(selected), preset, given, folder)


def test_parameters_are_read(folder):
    assert notebooks.parameters(notebooks.read("paper/one", folder), "paper/one") == {
        "horizon": 1000,
        "epsilon": 0.2,
        "epsilons": [0.2, 0.5],
        "reading": "noise and bonus",
        "quick": False,
    }


@pytest.mark.parametrize(
    "text, value",
    [("3", 3), ("0.3", 0.3), ("1e5", 1e5), ("true", True), ("[0.2, 0.5]", [0.2, 0.5]), ("noise only", "noise only")],
)
def test_values_are_typed_as_written(text, value):
    assert execute.parse(text) == value and type(execute.parse(text)) is type(value)


def test_plan_takes_defaults_preset_and_given(folder):
    assert plan(folder, selected=()) == {"paper/one": {}, "paper/two": {}}
    assert plan(folder, selected=(), preset="deep") == {"paper/one": {"horizon": 100000}, "paper/two": {}}
    assert plan(folder, preset="deep", horizon=5) == {"paper/one": {"horizon": 5}}
    assert plan(folder, preset="bare") == {"paper/one": {}}


@pytest.mark.parametrize(
    "key, given, taken",
    [
        ("horizon", 1e5, 100000),
        ("epsilon", 1, 1.0),
        ("epsilons", [1, 0.5], [1.0, 0.5]),
        ("epsilons", 0.3, [0.3]),
        ("quick", True, True),
    ],
)
def test_a_value_takes_the_type_of_the_default(folder, key, given, taken):
    value = plan(folder, **{key: given})["paper/one"][key]
    assert value == taken and type(value) is type(taken)


@pytest.mark.parametrize(
    "key, value",
    [
        ("epsilon", "small"),
        ("epsilon", True),
        ("epsilon", math),
        ("epsilon", (1, 2)),
        ("epsilon", [0.2]),
        ("epsilons", "a"),
        ("epsilons", ["a"]),
        ("epsilons", [[0.2]]),
        ("horizon", 0.5),
        ("horizon", "1000"),
        ("horizon", None),
        ("reading", 3),
        ("quick", 1),
    ],
)
def test_a_value_of_another_type_is_refused(folder, key, value):
    with pytest.raises(Refused, match=f"parameter {key}.*must be"):
        plan(folder, **{key: value})


@pytest.mark.parametrize(
    "request_, said",
    [
        ({"epsilom": 0.3}, "unknown parameter 'epsilom'; it has: horizon, epsilon"),
        ({"selected": ("paper/three",)}, "unknown notebook 'paper/three'; there are: paper/one, paper/two"),
        ({"selected": (), "epsilon": 0.3}, "paper/two: unknown parameter 'epsilon'"),
        ({"preset": "deeper"}, "unknown preset 'deeper'; there are: deep"),
        ({"preset": "wrong"}, "names an unknown notebook 'paper/none'"),
        ({"preset": "odd"}, "unknown parameter 'wide'"),
    ],
)
def test_an_unknown_name_is_refused(folder, request_, said):
    with pytest.raises(Refused, match=said):
        plan(folder, **request_)


@pytest.mark.parametrize(
    "cell, tags",
    [
        ("horizon = 1", ()),
        ("horizon = 10 * 10", ("parameters",)),
        ("horizon = (1, 2)", ("parameters",)),
        ("horizon = None", ("parameters",)),
        ("import numpy", ("parameters",)),
        ("a, b = 1, 2", ("parameters",)),
    ],
)
def test_a_notebook_without_plain_parameters_is_refused(tmp_path, cell, tags):
    write(tmp_path, "paper/bad", cell, tags=tags)
    with pytest.raises(Refused, match="paper/bad"):
        execute.plan([], None, {}, tmp_path)


def test_every_preset_fits_the_notebooks():
    import yaml

    for preset in yaml.safe_load((notebooks.FOLDER / "presets.yml").read_text(encoding="utf-8")):
        execute.plan([], preset, {})


def test_papermill_alone_knows_the_parameters():
    for name in notebooks.names():
        own = papermill.inspect_notebook(str(notebooks.FOLDER / f"{name}.ipynb"))
        assert set(own) == set(notebooks.parameters(notebooks.read(name), name))


def test_running_a_notebook(folder):
    target = folder / "out" / "one.ipynb"
    _, failure = execute.run("paper/one", {"horizon": 7}, target, folder)
    assert failure == ""
    assert notebooks.outputs(nbformat.read(target, as_version=4))[0].text == "7\n"
    assert "papermill" not in (text := notebooks.normal_form(nbformat.read(target, as_version=4)))
    assert notebooks.normal_form(nbformat.reads(text, as_version=4)) == text


def test_a_failing_notebook_gives_its_traceback(folder):
    write(folder, "paper/fails", "horizon = 1", "1 / (horizon - 1)")
    _, failure = execute.run("paper/fails", {}, folder / "out.ipynb", folder)
    assert "ZeroDivisionError" in failure


def test_a_stream_cut_in_two_is_joined():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", id="a")])
    notebook.cells[0].outputs = [nbformat.v4.new_output("stream", name="stdout", text=text) for text in ("a\n", "b\n")]
    (output,) = notebooks.outputs(nbformat.reads(notebooks.normal_form(notebook), as_version=4))
    assert output.text == "a\nb\n"


def test_the_cache_of_kernels_follows_the_library(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    source = tmp_path / "lib" / "a.py"
    source.parent.mkdir()
    source.write_text("x = 1")
    first = environment.library_key()
    assert environment.library_key() == first
    source.write_text("x = 2")
    assert environment.library_key() != first


def page(tmp_path, body):
    (tmp_path / "index.html").write_text(f"<html><body>{body}</body></html>", encoding="utf-8")
    (tmp_path / "there.html").write_text("<html><body><p id='anchor'>x</p></body></html>", encoding="utf-8")
    (tmp_path / "dot.png").write_bytes(b"")
    check_html.page.cache_clear()
    check_html.anchors.cache_clear()
    return check_html.check(tmp_path)


@pytest.mark.parametrize(
    "body",
    [
        '<img src="dot.png" alt="A dot.">',
        '<a href="there.html#anchor">x</a> <a href="#">x</a> <a href="https://example.org/paper">x</a>',
    ],
)
def test_a_sound_page_passes(tmp_path, body):
    assert page(tmp_path, body) == []


@pytest.mark.parametrize(
    "body, said",
    [
        ('<img src="gone.png" alt="A dot.">', "does not exist: gone.png"),
        ('<img src="dot.png">', "without alternative text"),
        ('<img src="dot.png" alt="dot.png">', "without alternative text"),
        ('<img src="https://example.org/x.png" alt="x">', "loads from elsewhere"),
        ('<script src="//example.org/x.js"></script>', "loads from elsewhere"),
        ('<link rel="stylesheet" href="https://example.org/x.css">', "loads from elsewhere"),
        ("<style>a { background: url(https://example.org/x.png) }</style>", "loads from elsewhere"),
        ('<a href="gone.html">x</a>', "does not exist: gone.html"),
        ('<a href="there.html#gone">x</a>', "no such anchor"),
        ('<a href="../../out.html">x</a>', "leads out of the book"),
    ],
)
def test_a_broken_page_is_told(tmp_path, body, said):
    (problem,) = page(tmp_path, body)
    assert said in problem


def test_text_of_a_card_is_not_read_as_markup():
    assert ledger.plain("$x$ <b> | `y`") == "&#36;x&#36; &lt;b&gt; &#124; &#96;y&#96;"


def test_the_first_page_shows_headlines_with_the_verdict_of_the_cards():
    fields = {"kind": "theorem", "title": "t", "statement": "s", "verdict": "fails"}
    claims = (
        Claim(id="p/theorem-1", headline="why $x$", **fields),
        Claim(id="p/theorem-2", headline="later", **fields),
        Claim(id="p/theorem-3", **fields),
    )
    papers = {"p": Register(paper="p", title="A paper", citation="c", claims=claims)}
    card = {"check": "c", "observed": "1", "required": "2", "evidence": "exact"}
    found = [("p/one", Card(claim="p/theorem-1", verdict="fails", **card))]
    text = ledger.headlines(papers, found)
    assert "A paper" in text and "why $x$" in text and "fails" in text
    assert text.count("* - ") == 3 and text.index("why $x$") < text.index("planned") < text.index("later")


def test_figures_are_taken_from_outputs_by_name():
    image = {"output_type": "display_data", "data": {"image/png": "AQI="}, "metadata": {"image/png": {"name": "fig-a"}}}
    cell = nbformat.v4.new_code_cell("1", outputs=[nbformat.from_dict(image)])
    assert notebooks.figures(nbformat.v4.new_notebook(cells=[cell])) == {"fig-a": b"\x01\x02"}


def test_names_are_sorted_and_leave_out_what_jupyter_keeps(folder):
    write(folder, "paper/.ipynb_checkpoints/one-checkpoint", "x = 1")
    write(folder, "a/zero", "x = 1")
    assert notebooks.names(folder) == ["a/zero", "paper/one", "paper/two"]


@pytest.mark.parametrize(
    "data, shown",
    [
        ({"image/png": "AQI="}, 1),
        ({"image/svg+xml": "<svg/>", "text/plain": "x"}, 1),
        ({"text/html": '<p><img src="data:"></p>'}, 1),
        ({"text/html": ["<p>", "<svg></svg></p>"]}, 1),
        ({"text/html": "<table></table>"}, 0),
        ({"text/plain": "image/png <img"}, 0),
    ],
)
def test_outputs_with_a_figure_are_counted(data, shown):
    output = {"output_type": "display_data", "data": data, "metadata": {}}
    cells = [
        nbformat.v4.new_code_cell("1", outputs=[nbformat.from_dict(output)] * 2),
        nbformat.v4.new_markdown_cell("x"),
    ]
    assert notebooks.n_figures(nbformat.v4.new_notebook(cells=cells)) == 2 * shown


def test_the_normal_form_keeps_what_the_book_needs_and_nothing_of_the_run():
    cell = nbformat.v4.new_code_cell("x", id="a")
    cell.metadata.update(
        tags=["parameters"], mystnb={"image": {}}, papermill={"duration": 3}, execution={"iopub.execute_input": "2026"}
    )
    streams = [("stdout", "a"), ("stderr", "b"), ("stdout", "c"), ("stdout", "d")]
    cell.outputs = [nbformat.v4.new_output("stream", name=name, text=text) for name, text in streams]
    cell.outputs.insert(3, nbformat.v4.new_output("display_data", data={"text/plain": "e"}))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("m", id="b"), cell])
    notebook.metadata.update(papermill={"parameters": {}}, language_info={"version": "3.11.7"})
    text = notebooks.normal_form(notebook)
    again = nbformat.reads(text, as_version=4)
    assert text.endswith("}\n") and not text.endswith("\n\n") and notebooks.normal_form(again) == text
    assert dict(again.metadata) == {"kernelspec": notebooks.KERNEL}
    assert again.cells[1].metadata == {"tags": ["parameters"], "mystnb": {"image": {}}}
    assert [output.get("text") for output in again.cells[1].outputs] == ["a", "b", "c", None, "d"]
    assert [c.id for c in again.cells] == ["b", "a"]
    assert (again.nbformat, again.nbformat_minor) == (4, 5)


@pytest.mark.parametrize(
    "text, value", [("[1, 2", "[1, 2"), ("null", None), ("-7", -7), ("nan", math.nan), ("'7'", "7"), ("1_000", 1000)]
)
def test_odd_values_on_the_command_line(text, value):
    found = execute.parse(text)
    assert type(found) is type(value) and (found == value or found != found)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (1, True),
        ([1, "a", 0.5, True], True),
        ([], True),
        ([[1]], False),
        ([1, None], False),
        (None, False),
        ((1,), False),
    ],
)
def test_papermill_keeps_scalars_and_flat_lists(value, kept):
    assert notebooks.is_parameter_value(value) is kept
