"""Re-execution as on another processor, as a process on a folder of one small notebook."""

import os
import shutil
import subprocess
import sys

import nbformat
import pytest

from tools import notebooks
from tools.environment import ROOT

PARAMETERS = "scale = 1.0"
FIGURE = """\
import os
from pathlib import Path
folder = Path(os.environ["DPREGRET_FIGURES"])
_ = (folder / "curve.csv").write_text("x,y,y_se\\n1.0,2.05,0.1\\n")"""


def project(folder, *, printed="1.0", source="print(scale)", csv="x,y,y_se\n1.0,2.0,0.1\n"):
    """A project whose one notebook prints a number and writes a figure, with what is committed of both."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in (PARAMETERS, FIGURE, source)])
    notebook.metadata["kernelspec"] = notebooks.KERNEL
    for count, cell in enumerate(notebook.cells, 1):
        cell.execution_count = count
    notebook.cells[2].outputs = [nbformat.v4.new_output("stream", name="stdout", text=printed + "\n")]
    for name in ("notebooks/paper", "tests/figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / "notebooks/paper/one.ipynb")
    (folder / "tests/figures/curve.csv").write_text(csv)
    shutil.copy(ROOT / "tests/nbval_sanitize.cfg", folder / "tests")
    return folder


def run(folder, *arguments):
    process = subprocess.run(
        [sys.executable, "-m", "tools.portable", "--root", str(folder), "--workers", "1", *arguments],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "lib"), str(ROOT)])},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    return process.returncode, process.stdout, process.stderr


def test_the_same_everywhere(tmp_path):
    project(tmp_path, printed="≈ 1.2", source="print('≈ 1.3')")  # a Monte-Carlo number may differ
    status, said, wrong = run(tmp_path, "--setting", "generic", "--setting", "libraries")
    assert (status, wrong) == (0, "")
    assert said == "generic: 1 notebooks\ngeneric: the same\nlibraries: 1 notebooks\nlibraries: the same\n"


def test_a_setting_reaches_the_notebook_and_a_difference_is_told(tmp_path):
    ask = "import os\nprint(os.environ.get('NUMBA_CPU_NAME'), os.environ.get('OPENBLAS_CORETYPE'))"
    project(tmp_path, printed="haswell Haswell", source=ask, csv="x,y,y_se\n1.1,3.0,0.1\n")
    status, said, _ = run(tmp_path, "--setting", "generic", "--notebook", "paper/one")
    assert status == 1
    assert "generic: paper/one, Cell 2" in said and "haswell Haswell" in said and "generic Prescott" in said
    assert "generic: curve.csv: x, row 0: 1.0, committed 1.1" in said
    assert "generic: curve.csv: y, row 0: 2.05, committed 3.0" in said
    assert said.endswith("generic: 3 differences\n")
    assert (tmp_path / "tests/figures/curve.csv").read_text() == "x,y,y_se\n1.1,3.0,0.1\n"


def test_a_notebook_that_fails_and_a_figure_too_many_or_too_few(tmp_path):
    project(tmp_path, source="1 / 0")
    (tmp_path / "tests/figures/curve.csv").rename(tmp_path / "tests/figures/other.csv")
    status, said, _ = run(tmp_path, "--setting", "numpy")
    assert status == 1 and "ZeroDivisionError: division by zero" in said
    assert "numpy: curve.csv: not committed" in said and "numpy: other.csv: not regenerated" in said
    status, said, _ = run(tmp_path, "--setting", "numpy", "--notebook", "paper/one")
    assert status == 1 and "not regenerated" not in said


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--notebook", "paper/two"], "refused: unknown notebook 'paper/two'; there are: paper/one"),
        (["--setting", "sparc"], "invalid choice: 'sparc'"),
    ],
)
def test_a_wrong_request_is_refused(tmp_path, arguments, said):
    status, out, wrong = run(project(tmp_path), *arguments)
    assert status == 2 and out == "" and said in wrong and "Traceback" not in wrong


def test_without_notebooks_nothing_is_the_same(tmp_path):
    status, _, wrong = run(tmp_path)
    assert status == 2 and "refused: no notebooks" in wrong
