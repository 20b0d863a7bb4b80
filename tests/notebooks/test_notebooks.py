"""Every committed notebook was executed top to bottom, has its parameters and its figures, and is in normal form."""

import ast
import re

import pytest

from tools import notebooks

NAMES = notebooks.names()
DRAWS = re.compile(r"^(?!\s*#).*\b(publish|draw(_\w+)?)\(", re.M)  # a function that publishes is called draw...
LINES, CELL, WIDTH = 200, 30, 100  # of code: a notebook, a cell, a line


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def notebook(name):
    return notebooks.read(name)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_are_notebooks():
    assert NAMES


def test_was_executed_top_to_bottom(notebook):
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))


def test_has_no_error_and_no_stderr(notebook):
    bad = [
        output
        for output in notebooks.outputs(notebook)
        if output.output_type == "error" or output.get("name") == "stderr"
    ]
    assert bad == []


def test_has_a_parameters_cell(notebook, name):
    assert notebooks.parameters(notebook, name)


def test_has_no_injected_cell(notebook):
    assert not [cell for cell in notebook.cells if "injected-parameters" in cell.metadata.get("tags", [])]


def test_contains_its_figures(notebook):
    for cell in code_cells(notebook):
        images = [o for o in cell.outputs if any(kind.startswith("image/") for kind in o.get("data", {}))]
        if DRAWS.search(cell.source) and not cell.source.lstrip().startswith("def "):
            assert images, f"no figure below the cell that starts with {cell.source[:60]!r}"
        for output in images:
            assert output.metadata["image/png"]["alt"].strip()


def test_is_in_normal_form(notebook, name):
    text = (notebooks.FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert text == notebooks.normal_form(notebook), "run `make notebooks`"


def code_lines(source: str) -> int:
    return sum(1 for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#"))


def is_short(notebook) -> bool:
    """At most LINES lines of code, CELL a cell, WIDTH characters a line."""
    counts = [code_lines(cell.source) for cell in code_cells(notebook)]
    widest = max(len(line) for cell in code_cells(notebook) for line in cell.source.splitlines())
    return sum(counts) <= LINES and max(counts) <= CELL and widest <= WIDTH


def private_names(notebook) -> set[str]:
    """Names with a leading underscore that the notebook takes from elsewhere."""
    found = set()
    for cell in code_cells(notebook):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr):
                found.add(node.attr)
            elif isinstance(node, ast.ImportFrom):
                found |= {alias.name for alias in node.names if alias.name.startswith("_")}
    return found


def subclasses(notebook) -> list[str]:
    """Classes that a notebook derives from others (an algorithm returns what a lemma speaks of)."""
    nodes = [node for cell in code_cells(notebook) for node in ast.walk(ast.parse(cell.source))]
    return [node.name for node in nodes if isinstance(node, ast.ClassDef) and node.bases]


def hidden(notebook) -> list[str]:
    """Cells that the book folds away; only imports may be, and numbers for the prose (`report.glue`)."""
    folded = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
    sources = [cell.source for cell in code_cells(notebook) if folded & set(cell.metadata.get("tags", []))]
    shows = re.compile(r"\b(verdict|judge\w*|draw\w*|publish|print|display|show|table|simulate|run_grid)\(")
    imports = re.compile(r"(from|import) |report\.style\(|[ )#]|$")
    return [
        source
        for source in sources
        if not all(imports.match(line) for line in source.splitlines())
        and ("report.glue(" not in source or shows.search(source))
    ]


def test_reads_like_a_lecture(notebook):
    assert is_short(notebook) and not private_names(notebook) and not subclasses(notebook) and not hidden(notebook)
