"""Every committed notebook was executed top to bottom, has its parameters and its figures, and is in normal form."""

import re

import pytest

from tools import notebooks

NAMES = notebooks.names()
CALLS_PUBLISH = re.compile(r"^(?!\s*#).*\bpublish\(", re.M)


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
        if CALLS_PUBLISH.search(cell.source) and not cell.source.lstrip().startswith("def "):
            assert images, f"no figure below the cell that starts with {cell.source[:60]!r}"
        for output in images:
            assert output.metadata["image/png"]["alt"].strip()


def test_is_in_normal_form(notebook, name):
    text = (notebooks.FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert text == notebooks.normal_form(notebook), "run `make notebooks`"
