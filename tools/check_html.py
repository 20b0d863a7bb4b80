"""Check the built book, since Sphinx does not see a broken image, a missing anchor or a script from elsewhere.

    python -m tools.check_html HTML [SOURCE]

With SOURCE, the assembled source, each notebook's page must hold as many figures as the notebook.
"""

import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

from tools import notebooks

LOADED = {  # element -> attributes from which a browser loads something by itself
    "img": ("src", "srcset"),
    "script": ("src",),
    "link": ("href",),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "track": ("src",),
    "input": ("src",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
NOT_LOADED = {"canonical", "prev", "next", "index", "search", "author", "license", "alternate"}
IMAGE_NAME = re.compile(r"\.(png|svg|jpe?g|gif|webp)$", re.I)
CSS_ELSEWHERE = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])(?:https?:)?//""", re.I)


@cache
def page(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(path: Path) -> frozenset[str]:
    return frozenset(element.get("id") or element.get("name") for element in page(path).select("[id], a[name]"))


def check_target(source: Path, address: str, root: Path) -> str | None:
    """What is wrong with a local address, if anything."""
    parts = urlsplit(address)
    target = (source.parent / unquote(parts.path)).resolve() if parts.path else source
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(root):
        return f"leads out of the book: {address}"
    if not target.exists():
        return f"does not exist: {address}"
    if parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in anchors(target):
        return f"no such anchor: {address}"
    return None


def addresses(attribute: str, value: str) -> list[str]:
    """The addresses in an attribute; a srcset holds several, each with a width or a density."""
    if attribute != "srcset":
        return [value]
    return [part.split()[0] for part in value.split(",") if part.strip()]


def check_page(path: Path, root: Path) -> list[str]:
    problems = []
    for element in page(path).find_all(list(LOADED)):
        if element.name == "link" and NOT_LOADED & set(element.get("rel", [])):
            continue
        for attribute in LOADED[element.name]:
            for address in addresses(attribute, element.get(attribute) or ""):
                if not address or address.startswith("data:"):
                    continue
                parts = urlsplit(address)
                if parts.scheme or parts.netloc:
                    problems.append(f"<{element.name}> loads from elsewhere: {address}")
                elif problem := check_target(path, address, root):
                    problems.append(f"<{element.name}> {problem}")
    for element in page(path).find_all("a", href=True):
        parts = urlsplit(element["href"])
        if not parts.scheme and not parts.netloc and element["href"] not in ("#", ""):
            if problem := check_target(path, element["href"], root):
                problems.append(f"<a> {problem}")
    for element in page(path).find_all("img"):
        alternative = (element.get("alt") or "").strip()
        if not alternative or IMAGE_NAME.search(alternative):
            problems.append(f"<img> without alternative text: {element.get('src', '')[:80]}")
    for element in page(path).find_all("style"):
        if CSS_ELSEWHERE.search(element.get_text()):
            problems.append("<style> loads from elsewhere")
    for element in page(path).select("[style]"):
        if CSS_ELSEWHERE.search(element["style"]):
            problems.append(f"<{element.name} style> loads from elsewhere")
    return problems


def check(root: Path, source: Path | None = None) -> list[str]:
    """Every problem of the book below ``root``, as text."""
    root = root.resolve()
    problems, pages = [], sorted(path for path in root.rglob("*.html") if "_static" not in path.relative_to(root).parts)
    for path in pages:
        problems += [f"{path.relative_to(root)}: {problem}" for problem in check_page(path, root)]
    for path in root.rglob("*.css"):
        if CSS_ELSEWHERE.search(path.read_text(encoding="utf-8", errors="replace")):
            problems.append(f"{path.relative_to(root)}: loads from elsewhere")
    if source:
        for name in notebooks.names(source / "notebooks"):
            path = root / "notebooks" / f"{name}.html"
            if not path.exists():
                problems.append(f"notebooks/{name}: not in the book (is it in _toc.yml?)")
                continue
            wanted = notebooks.n_figures(notebooks.read(name, source / "notebooks"))
            shown = len(page(path).select(".cell_output img, .cell_output svg"))
            if shown < wanted:
                problems.append(f"notebooks/{name}: shows {shown} of its {wanted} figures")
    return problems if pages else [f"{root}: no pages"]


def main() -> int:
    if not 1 <= len(sys.argv) - 1 <= 2:
        print("usage: python -m tools.check_html HTML [SOURCE]", file=sys.stderr)
        return 2
    found = check(*(Path(argument) for argument in sys.argv[1:]))
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"checked {sys.argv[1]}: {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
