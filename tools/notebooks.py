"""Reading notebooks: where they are, their parameters, their figures, and the form in which they are committed."""

import ast
import base64
from pathlib import Path

import nbformat

from tools.environment import ROOT

FOLDER = ROOT / "notebooks"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
SCALARS = (bool, int, float, str)


class Refused(ValueError):
    """The request is wrong; nothing has run."""


def names(folder: Path = FOLDER) -> list[str]:
    """The notebooks' names, such as ``cascading/ldp_regret``."""
    return sorted(
        path.relative_to(folder).with_suffix("").as_posix()
        for path in folder.rglob("*.ipynb")
        if ".ipynb_checkpoints" not in path.parts
    )


def read(name: str, folder: Path = FOLDER) -> nbformat.NotebookNode:
    return nbformat.read(folder / f"{name}.ipynb", as_version=4)


def is_parameter_value(value: object) -> bool:
    """Whether papermill keeps the type: a bool, int, float, str, or a list of these."""
    if type(value) is list:
        return all(type(item) in SCALARS for item in value)
    return type(value) in SCALARS


def parameters(notebook: nbformat.NotebookNode, name: str) -> dict[str, object]:
    """The defaults in the cell tagged ``parameters``; Refused without exactly one such cell of plain assignments."""
    cells = [c for c in notebook.cells if c.cell_type == "code" and "parameters" in c.metadata.get("tags", [])]
    if len(cells) != 1:
        raise Refused(f"{name}: needs one code cell tagged 'parameters', has {len(cells)}")
    defaults = {}
    for statement in ast.parse(cells[0].source).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=key)], value=expression):
                pass
            case ast.AnnAssign(target=ast.Name(id=key), value=expression) if expression is not None:
                pass
            case _:
                raise Refused(f"{name}: the parameters cell holds plain assignments only, got {ast.unparse(statement)}")
        try:
            defaults[key] = ast.literal_eval(expression)
        except ValueError:
            defaults[key] = None
        if not is_parameter_value(defaults[key]):
            raise Refused(f"{name}: parameter {key} must be a literal int, float, str, bool or list of these")
    return defaults


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def n_figures(notebook: nbformat.NotebookNode) -> int:
    """How many outputs hold a figure."""
    return sum(
        any(kind.startswith("image/") for kind in output.get("data", {}))
        or "<img" in (html := "".join(output.get("data", {}).get("text/html", "")))
        or "<svg" in html
        for output in outputs(notebook)
    )


def figures(notebook: nbformat.NotebookNode) -> dict[str, bytes]:
    """The published figures as PNG, by name (``fig-...``)."""
    published = {}
    for output in outputs(notebook):
        name = output.get("metadata", {}).get("image/png", {}).get("name")
        if name:
            published[name] = base64.b64decode(output["data"]["image/png"])
    return published


def normal_form(notebook: nbformat.NotebookNode) -> str:
    """The text that is committed: a second run of the same notebook gives the same bytes."""
    notebook = nbformat.from_dict(notebook)
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL})
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k in ("tags", "mystnb")})
        if cell.cell_type != "code":
            continue
        merged = []
        for output in cell.outputs:
            last = merged[-1] if merged else None
            if last and output.output_type == "stream" == last.output_type and output.name == last.name:
                last.text += output.text  # how a stream is cut up depends on the clock
            else:
                merged.append(output)
        cell.outputs = merged
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return nbformat.writes(notebook).rstrip("\n") + "\n"
