"""Imports run one way: dpregret (privacy, simulation, then each paper's package), evidence, notebooks."""

import ast

import pytest

from tools.environment import ROOT

PAPERS = {"cascading", "contextual", "experts", "erm"}
BASE = {"dpregret._checks", "dpregret._search", "dpregret.privacy", "dpregret.simulation"}
OF_THE_BOOK = {"matplotlib", "IPython", "yaml"}  # what only evidence.report imports
MODULES = sorted((ROOT / "lib").rglob("*.py"))


def imported(text: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def room(name: str) -> str:
    """A package of the two, such as ``dpregret.cascading``."""
    return ".".join(name.split(".")[:2])


def allowed(module: str) -> set[str]:
    top, package = [*module.split("."), ""][:2]
    if top == "dpregret":
        return BASE | {f"dpregret.{package}"} if package in PAPERS else BASE
    return (
        BASE
        | {f"dpregret.{paper}" for paper in PAPERS if paper == package or package not in PAPERS}
        | {
            "evidence.report",
            f"evidence.{package}",
        }
    )


def refused(module: str, text: str) -> set[str]:
    """What a module imports and must not."""
    names = imported(text)
    own = {name for name in names if name.split(".")[0] in ("dpregret", "evidence")}
    wrong = {name for name in own if room(name) not in allowed(module)}
    if not module.startswith("evidence.report"):
        wrong |= {name for name in names if name.split(".")[0] in OF_THE_BOOK}
    return wrong


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT / "lib").as_posix())
def test_a_module_imports_only_what_lies_below_it(path):
    module = ".".join(path.relative_to(ROOT / "lib").with_suffix("").parts).removesuffix(".__init__")
    assert refused(module, path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("dpregret.privacy.audit", "from dpregret.cascading import simulate"),
        ("dpregret.cascading.model", "from dpregret.experts import weights"),
        ("dpregret.cascading.model", "from evidence.cascading import bounds"),
        ("dpregret.simulation.grid", "import evidence"),
        ("evidence.cascading.bounds", "from evidence.contextual import bounds"),
        ("evidence.cascading.bounds", "from dpregret.experts import weights"),
        ("evidence.experts.bounds", "import matplotlib.pyplot as plt"),
        ("evidence.report.rule", "from evidence.cascading import bounds"),
    ],
)
def test_another_arrow_is_refused(module, text):
    assert refused(module, text)
