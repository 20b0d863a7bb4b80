"""The guards of the build, as processes on a project of two notebooks: exit status, message, and what is left on disk."""

import json
import os
import shutil
import subprocess
import sys

import nbformat
import pytest

from evidence.report import verdict
from tools import notebooks
from tools.environment import ROOT

FIGURE = """\
import os
from pathlib import Path
folder = Path(os.environ.get("DPREGRET_FIGURES", "../../_build/figures"))
folder.mkdir(parents=True, exist_ok=True)
_ = (folder / f"{name}.csv").write_text(f"x\\n{scale}\\n")"""
REGISTER = """\
paper: paper
title: A paper
citation: Someone2020
claims:
  - id: theorem-1
    kind: theorem
    title: First
    statement: One.
    outcome: established
    verdict: holds
    notebook: paper/one
    page: book/paper
  - id: theorem-2
    kind: theorem
    title: Second
    statement: Two.
    outcome: refuted
    verdict: fails
    notebook: paper/two
    page: book/paper
"""
CARD = {"check": "c", "observed": "1", "required": "2", "evidence": "exact"}


def write(root, name, *cells, cards=()):
    """An executed notebook: parameters, further cells, and one cell whose outputs are the cards."""
    sources = [f'name = "{name[-3:]}"\nscale = 1.0', *cells, *(["cards"] if cards else [])]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s, id=f"c{i}") for i, s in enumerate(sources)])
    notebook.cells[0].metadata["tags"] = ["parameters"]
    for card in cards:
        data, metadata = card._repr_mimebundle_()
        notebook.cells[-1].outputs.append(nbformat.v4.new_output("display_data", data=data, metadata=metadata))
    path = root / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(notebooks.normal_form(notebook), encoding="utf-8")
    return path


@pytest.fixture
def project(tmp_path):
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "book" / "claims").mkdir(parents=True)
    (tmp_path / "book" / "claims" / "paper.yml").write_text(REGISTER, encoding="utf-8")
    (tmp_path / "book" / "paper.md").write_text("# Paper\n")
    for name in ("_config.yml", "_toc.yml"):
        (tmp_path / name).write_text("{}\n")
    write(tmp_path / "notebooks", "paper/one", FIGURE, "print(scale)")
    write(tmp_path / "notebooks", "paper/two", FIGURE, "print(2 * scale)")
    (tmp_path / "notebooks" / "presets.yml").write_text("deep: {paper/one: {scale: 7.0}}\n")
    (tmp_path / "tests" / "figures").mkdir(parents=True)
    (tmp_path / "tests" / "figures" / "old.csv").write_text("x\n0.0\n")
    return tmp_path


def run(project, tool, *arguments):
    process = subprocess.run(
        [sys.executable, "-m", f"tools.{tool}", *map(str, arguments)], cwd=project,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "lib"), str(project)])},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert "Traceback (most recent call last):\n  File" not in process.stderr.partition("---")[0]
    return process.returncode, process.stdout, process.stderr


def printed(path):
    return [output.text for output in notebooks.outputs(nbformat.read(path, as_version=4)) if "text" in output]


def references(project):
    return {path.name: path.read_text() for path in (project / "tests" / "figures").iterdir()}


# --- execute


def test_the_notebooks_are_executed_beside_the_committed_ones(project):
    committed = (project / "notebooks/paper/one.ipynb").read_bytes()
    status, said, _ = run(project, "execute", "--preset", "deep")
    assert status == 0 and said.count("done") == 2 and "FAILED" not in said
    assert printed(project / "_build/notebooks/paper/one.ipynb") == ["7.0\n"]
    assert printed(project / "_build/notebooks/paper/two.ipynb") == ["2.0\n"]
    assert (project / "notebooks/paper/one.ipynb").read_bytes() == committed and list(references(project)) == [
        "old.csv"
    ]


def test_a_failed_notebook_is_told_and_the_status_says_so(project):
    write(project / "notebooks", "paper/two", "1 / 0")
    left = project / "_build" / "notebooks" / "paper" / "gone.ipynb"
    left.parent.mkdir(parents=True)
    left.write_text("of an earlier run")
    status, said, wrong = run(project, "execute")
    assert status == 1
    assert "done" in said and "FAILED" in said and "paper/two" in said.partition("FAILED")[2].splitlines()[0]
    assert "--- paper/two" in wrong and "ZeroDivisionError: division by zero" in wrong
    assert wrong.endswith("1 of 2 notebooks failed: paper/two\n")
    assert not left.exists()


def test_in_place_writes_notebooks_and_reference_figures(project):
    status, _, _ = run(project, "execute", "--in-place")
    assert status == 0
    assert printed(project / "notebooks/paper/one.ipynb") == ["1.0\n"]
    assert references(project) == {"one.csv": "x\n1.0\n", "two.csv": "x\n1.0\n"}  # and the stale one is gone
    assert list((project / "_build").glob("in-place-*")) == [] and not (project / "_build/notebooks").exists()
    before = {path: path.read_bytes() for path in (project / "notebooks").rglob("*.ipynb")}
    (project / "tests" / "figures" / "old.csv").write_text("x\n0.0\n")
    status, said, _ = run(project, "execute", "--in-place", "--notebook", "paper/one")
    assert status == 0 and said.count("done") == 1
    assert {path: path.read_bytes() for path in before} == before  # a second run changes nothing
    assert set(references(project)) == {"old.csv", "one.csv", "two.csv"}  # one notebook cannot say what is stale


def test_in_place_keeps_what_a_failed_notebook_would_replace(project):
    failing = write(project / "notebooks", "paper/two", FIGURE, "print(1)", "1 / 0")
    committed = failing.read_bytes()
    status, _, wrong = run(project, "execute", "--in-place")
    assert status == 1 and "1 of 2 notebooks failed: paper/two" in wrong
    assert failing.read_bytes() == committed
    assert printed(project / "notebooks/paper/one.ipynb") == ["1.0\n"]
    assert references(project) == {"old.csv": "x\n0.0\n"}  # no half of a set of figures
    assert list((project / "_build").glob("in-place-*")) == []


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--in-place", "--preset", "deep"], "no preset or parameter with --in-place"),
        (["--in-place", "-p", "scale", "2"], "no preset or parameter with --in-place"),
        (["--notebook", "paper/three"], "unknown notebook 'paper/three'; there are: paper/one, paper/two"),
        (["-p", "width", "2"], "paper/one: unknown parameter 'width'; it has: name, scale"),
        (["-p", "scale", "wide"], "paper/one: parameter scale must be of type float (default 1.0), got 'wide'"),
        (["--preset", "none"], "unknown preset 'none'; there are: deep"),
        (["--workers", "0"], "--workers must be at least 1, got 0"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_runs(project, arguments, said):
    status, out, wrong = run(project, "execute", *arguments)
    assert (status, out) == (2, "") and wrong.startswith("refused: ") and said in wrong
    assert not (project / "_build").exists() and list(references(project)) == ["old.csv"]


# --- assemble


def card(name, word, **fields):
    return verdict(f"paper/theorem-{name}", word, **(CARD | fields))


def executed(project, *, one=("holds",), two=("fails",), parameters=None, of=1, **fields):
    """Executed notebooks with cards on the two theorems; ``parameters`` are those of the notebook number ``of``."""
    folder = project / "_build" / "notebooks"
    paths = [
        write(folder, "paper/one", cards=[card(1, word) for word in one]),
        write(folder, "paper/two", cards=[card(2, word, **fields) for word in two]),
    ]
    if parameters is not None:
        path = paths[of]
        content = json.loads(path.read_text(encoding="utf-8"))
        content["metadata"]["papermill"] = {"parameters": parameters}
        path.write_text(json.dumps(content), encoding="utf-8")
    return folder


def assemble(project, *folder):
    return run(project, "assemble", project / "_build" / "source", *folder)


def test_cards_that_agree_are_assembled(project):
    status, _, wrong = assemble(project, executed(project))
    assert (status, wrong) == (0, "")
    source = project / "_build" / "source"
    assert "*c:*" in (source / "book/_generated/ledger.md").read_text(encoding="utf-8")
    assert (source / "_toc.yml").exists() and (source / "notebooks/paper/two.ipynb").exists()


@pytest.mark.parametrize(
    "change, said",
    [
        ({"two": ["holds"]}, "paper/two: paper/theorem-2: the card says 'holds', the register 'fails'"),
        ({"one": ["holds", "open"]}, "paper/one: paper/theorem-1: the card says 'open', the register 'holds'"),
        ({"one": []}, "paper/theorem-1: neither planned nor with a card"),
        ({"evidence": "proof"}, "a 'fails' needs evidence that is exact or enclosure, the card has 'proof'"),
        ({"two": ["holds"], "parameters": {}}, "the card says 'holds'"),
    ],
)
def test_a_card_that_contradicts_the_register_stops_the_build(project, change, said):
    status, _, wrong = assemble(project, executed(project, **change))
    assert status == 1 and said in wrong and all(line.startswith("register: ") for line in wrong.splitlines())


@pytest.mark.parametrize("of", [0, 1])
def test_with_other_parameters_a_contradiction_is_only_told(project, of):
    folder = executed(project, two=["holds"], parameters={"scale": 3.0}, of=of)
    status, _, wrong = assemble(project, folder)
    assert status == 0 and "the card says 'holds', the register 'fails'" in wrong
    text = (project / "_build/source/book/_generated/ledger.md").read_text(encoding="utf-8")
    assert "not what the register expects" in text


def test_the_committed_notebooks_are_taken_where_none_was_executed(project):
    for name, cards in (("paper/one", [card(1, "holds")]), ("paper/two", [card(2, "holds")])):
        write(project / "notebooks", name, cards=cards)
    status, _, wrong = assemble(project)
    assert (
        status == 0 and "the card says 'holds', the register 'fails'" in wrong
    )  # tests/book/test_claims.py refuses that
    folder = executed(project)
    (folder / "paper" / "one.ipynb").unlink()
    assert assemble(project, folder)[::2] == (0, "")
    executed(project, one=["fails"])
    stale = project / "_build" / "source" / "stale.md"
    stale.write_text("x")
    assert assemble(project, folder)[0] == 1 and not stale.exists()


# --- check_html

SOUND = "<html><body><h1 id='top'>x</h1>%s</body></html>"


@pytest.fixture
def built(project):
    """Two built pages, and a source with one notebook of two figures."""
    html, source = project / "html", project / "source"
    (html / "notebooks" / "paper").mkdir(parents=True)
    (html / "dot.png").write_bytes(b"")
    (html / "index.html").write_text(SOUND % '<a href="notebooks/paper/one.html#top">x</a>')
    figures = '<div class="cell_output"><img src="../../dot.png" alt="A dot."></div>' * 2
    (html / "notebooks/paper/one.html").write_text(SOUND % figures)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x")])
    image = {"output_type": "display_data", "data": {"image/png": "AQI="}, "metadata": {}}
    notebook.cells[0].outputs = [nbformat.from_dict(image)] * 2
    (source / "notebooks" / "paper").mkdir(parents=True)
    nbformat.write(notebook, source / "notebooks/paper/one.ipynb")
    return html


def check(project):
    return run(project, "check_html", project / "html", project / "source")


def test_a_sound_book_passes(project, built):
    status, said, wrong = check(project)
    assert (status, said, wrong) == (0, f"checked {built}: 0 problems\n", "")


@pytest.mark.parametrize(
    "body, said",
    [
        ('<img src="dot.png" srcset="dot.png 1x, gone.png 2x" alt="A dot.">', "<img> does not exist: gone.png"),
        ('<img src="dot.png" srcset="https://example.org/x.png 2x" alt="A dot.">', "<img> loads from elsewhere"),
        ('<video poster="//example.org/x.png"></video>', "<video> loads from elsewhere"),
        ('<svg><image href="https://example.org/x.png"/></svg>', "<image> loads from elsewhere"),
        ('<p style="background: url(//example.org/x.png)">x</p>', "<p style> loads from elsewhere"),
        ("<style>@import 'https://example.org/x.css';</style>", "<style> loads from elsewhere"),
        ('<a href="notebooks/paper/one.html#gone">x</a>', "<a> no such anchor"),
        ('<img src="../dot.png" alt="A dot.">', "<img> leads out of the book"),
    ],
)
def test_one_problem_of_a_page_is_enough(project, built, body, said):
    (built / "index.html").write_text(SOUND % body)
    status, out, wrong = check(project)
    assert status == 1 and wrong.startswith(f"index.html: {said}") and out.endswith(": 1 problems\n")


@pytest.mark.parametrize(
    "body",
    [
        '<img src="dot.png" srcset="dot.png 1x, dot.png 2x" alt="A dot.">',
        '<img src="data:image/png;base64,AQI=" alt="A dot.">',
        '<link rel="canonical" href="https://example.org/">',
        '<a href="notebooks/paper/one.html?x=1#top">x</a><a href="">x</a><a href="mailto:a@b">x</a>',
    ],
)
def test_what_needs_nothing_from_elsewhere_passes(project, built, body):
    (built / "index.html").write_text(SOUND % body)
    assert check(project)[0] == 0


def test_a_book_without_pages_is_no_book(project, built):
    for path in built.rglob("*.html"):
        path.unlink()
    status, _, wrong = check(project)
    assert status == 1 and f"{built}: no pages" in wrong
    (built / "_static").mkdir()
    (built / "_static" / "a.html").write_text(SOUND % "")
    assert check(project)[0] == 1
    assert run(project, "check_html", project / "nowhere")[0] == 1
    status, _, wrong = run(project, "check_html")
    assert status == 2 and wrong.startswith("usage:")


def test_a_style_sheet_from_elsewhere_is_told(project, built):
    (built / "_static").mkdir()
    (built / "_static" / "a.css").write_text("a { background: url('https://example.org/x.png') }")
    status, _, wrong = check(project)
    assert (status, wrong) == (1, "_static/a.css: loads from elsewhere\n")


def test_a_notebook_that_is_not_in_the_book_is_told(project, built):
    (built / "index.html").write_text(SOUND % "")
    (built / "notebooks/paper/one.html").unlink()
    status, _, wrong = check(project)
    assert (status, wrong) == (1, "notebooks/paper/one: not in the book (is it in _toc.yml?)\n")


@pytest.mark.parametrize("shown, status", [(0, 1), (1, 1), (2, 0), (3, 0)])
def test_a_page_with_fewer_figures_than_its_notebook_is_told(project, built, shown, status):
    figures = '<div class="cell_output"><img src="../../dot.png" alt="A dot."></div>' * shown
    (built / "notebooks/paper/one.html").write_text(SOUND % figures)
    found, _, wrong = check(project)
    assert found == status
    assert wrong == (f"notebooks/paper/one: shows {shown} of its 2 figures\n" if status else "")


# --- environment


def test_the_environment_of_notebooks_and_tests(project):
    (project / "lib").mkdir()
    (project / "lib" / "a.py").write_text("x = 1")
    names = ["NUMBA_CACHE_DIR", "MPLBACKEND", "JUPYTER_PREFER_ENV_PATH", "PYDEVD_DISABLE_FILE_VALIDATION"]
    names += ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]
    ask = f"import os; from tools import environment as e; e.prepare(); print(*(os.environ.get(k) for k in {names!r}))"

    def prepared(**variables):
        environ = {k: v for k, v in os.environ.items() if k != "DPREGRET_KERNELS"}
        environ |= {"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "7", "PYTHONPATH": str(project)} | variables
        process = subprocess.run([sys.executable, "-c", ask], env=environ, capture_output=True, text=True, cwd=project)
        assert process.stderr == ""
        return process.stdout.split()

    first = prepared()
    assert first[0].startswith(str(project / "_build" / "numba")) and first[1:] == ["None", "1", "1", "1", "1", "1"]
    assert prepared() == first
    (project / "lib" / "a.py").write_text("x = 2")
    second = prepared()[0]
    (project / "lib" / "a.py").rename(project / "lib" / "b.py")
    assert len({first[0], second, prepared()[0]}) == 3
    assert prepared(DPREGRET_KERNELS="elsewhere")[0] == "elsewhere"
