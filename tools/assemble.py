"""Assemble the book's source: prose, executed notebooks, and the tables generated from them.

    python -m tools.assemble TARGET [EXECUTED]

Notebooks come from EXECUTED where it has them and are the committed ones otherwise. When the notebooks ran at their
defaults, a card that contradicts the register stops the build; with other parameters, or without EXECUTED (where
tests/book/test_claims.py says it), it is only told.
"""

import shutil
import sys
from pathlib import Path

from tools import ledger, notebooks
from tools.environment import ROOT

COPIED = ("_config.yml", "_toc.yml")


def assemble(target: Path, executed: Path | None = None) -> list[str]:
    """Write the source into ``target``; the disagreements between cards and register that stop a build."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in COPIED:
        shutil.copy(ROOT / name, target / name)
    shutil.copytree(ROOT / "book", target / "book", ignore=shutil.ignore_patterns("_generated"))
    at_defaults = True
    for name in notebooks.names():
        path = target / "notebooks" / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        if executed and (executed / f"{name}.ipynb").exists():
            notebook = notebooks.read(name, executed)
            at_defaults &= not notebook.metadata.get("papermill", {}).get("parameters")
            path.write_text(notebooks.normal_form(notebook), encoding="utf-8")
        else:
            shutil.copy(notebooks.FOLDER / f"{name}.ipynb", path)

    papers, found = ledger.registers(), ledger.cards(target / "notebooks")
    generated = target / "book" / "_generated"
    generated.mkdir()
    (generated / "glance.md").write_text(ledger.glance(papers, found), encoding="utf-8")
    (generated / "headlines.md").write_text(ledger.headlines(papers, found), encoding="utf-8")
    (generated / "ledger.md").write_text(ledger.ledger(papers, found), encoding="utf-8")
    (generated / "faults.md").write_text(ledger.faults(papers), encoding="utf-8")
    for name in notebooks.names():
        for figure, image in notebooks.figures(notebooks.read(name, target / "notebooks")).items():
            (generated / f"{figure}.png").write_bytes(image)
    problems = ledger.disagreements(papers, found, notebooks.names())
    for problem in problems:
        print(f"register: {problem}", file=sys.stderr)
    return problems if executed and at_defaults else []


if __name__ == "__main__":
    places = [Path(argument) for argument in sys.argv[1:]]
    sys.exit(1 if assemble(*places) else 0)
