"""The API pages have every module of the two packages, and no other."""

import re

import pytest

from tools.environment import ROOT

PAGES = {"dpregret": "book/api.md", "evidence": "book/evidence.md"}
UNLISTED = {"dpregret.experts.kernels", "dpregret.contextual.kernels", "dpregret.simulation.store"}


@pytest.mark.parametrize("package", PAGES)
def test_every_module_is_on_its_page(package):
    files = (ROOT / "lib" / package).rglob("*.py")
    modules = {".".join(file.relative_to(ROOT / "lib").with_suffix("").parts) for file in files}
    modules = {module for module in modules if not re.search(r"\._|__init__$", module)} - UNLISTED
    listed = re.findall(r"automodule:: (\S+)", (ROOT / PAGES[package]).read_text(encoding="utf-8"))
    assert len(listed) == len(set(listed)) and set(listed) == modules
