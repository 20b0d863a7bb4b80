"""Draw bands and panels, and publish a figure together with the numbers in it."""

from __future__ import annotations

import base64
import csv
import io
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.figure import Figure

from dpregret import _checks
from evidence.report.numbers import is_marked
from evidence.report.series import WIDTH, series

BAND_NOTE = "Lines are means and bands are ± 2 standard errors."
"""For the caption of a figure with bands."""

_DPI = 100
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def band(ax: Axes, x: Any, mean: Any, se: Any = None, *, key: str | None = None, markers: int = 8, **look: Any):
    """Draw a mean line with a band of two standard errors on either side; returns the line.

    Parameters
    ----------
    x, mean, se : array_like, shape (n,)
        ``se=None`` draws the line alone.
    key : str, optional
        A named series (see `evidence.report.series`), which sets colour, line, marker and label.
    markers : int
        About how many markers to draw along the line.
    **look
        Arguments of ``ax.plot``; they replace those of the series.
    """
    x, mean = _checks.array("x", x, ndim=1), _checks.array("mean", mean, ndim=1)
    if x.shape != mean.shape or x.size == 0:
        raise ValueError(f"x and mean must have one length > 0, got {x.size} and {mean.size}")
    look = series(key, **look) if key is not None else look
    look.setdefault("markevery", max(1, math.ceil(x.size / max(markers, 1))))
    (line,) = ax.plot(x, mean, **look)
    if se is not None:
        se = _checks.array("se", se, ndim=1, at_least=0.0)
        if se.shape != mean.shape:
            raise ValueError(f"se must have the length of mean, {mean.size}, got {se.size}")
        ax.fill_between(x, mean - 2 * se, mean + 2 * se, color=line.get_color(), alpha=0.2, linewidth=0)
    return line


def panels(
    n: int = 1,
    ncols: int | None = None,
    *,
    height: float = 2.8,
    sharex: bool | str = True,
    sharey: bool | str = True,
    letters: bool | None = None,
) -> tuple[Figure, np.ndarray]:
    """A figure of ``n`` small multiples with common axes, lettered (a), (b), ...; returns it and a flat array of axes.

    ``height`` is that of a row in inches; the width is that of the book's column. ``ncols`` defaults to at most 2.
    """
    n = _checks.integer("n", n, at_least=1, at_most=26)
    ncols = min(n, 2) if ncols is None else _checks.integer("ncols", ncols, at_least=1, at_most=n)
    nrows = math.ceil(n / ncols)
    height = _checks.real("height", height, above=0.0) * nrows
    fig, grid = plt.subplots(
        nrows, ncols, sharex=sharex, sharey=sharey, squeeze=False, figsize=(WIDTH, height), layout="constrained"
    )
    axes = grid.ravel()
    for spare in range(n, axes.size):
        axes[spare].remove()
        axes[spare - ncols].xaxis.set_tick_params(labelbottom=True)
    for index in range(n if letters or (letters is None and n > 1) else 0):
        axes[index].set_title(f"({chr(ord('a') + index)})", loc="left", fontweight="bold")
    return fig, axes[:n]


def colormap(name: str, n: int) -> Colormap:
    """A named colour map in ``n`` steps, for classes drawn with ``ax.imshow``."""
    return plt.get_cmap(name, _checks.integer("n", n, at_least=1))


def _columns(data: Mapping[str, Any], allow_nan: bool) -> dict[str, np.ndarray]:
    """One-dimensional columns of one length > 0, with finite numbers or text."""
    columns = {str(name): np.atleast_1d(np.asarray(values)) for name, values in data.items()}
    lengths = {name: column.shape for name, column in columns.items()}
    if (
        len(set(lengths.values())) != 1
        or next(iter(lengths.values()))[0] == 0
        or columns[next(iter(columns))].ndim != 1
    ):
        raise ValueError(f"data must hold one-dimensional columns of one length > 0, got shapes {lengths}")
    for name, column in columns.items():
        if name.endswith("_se") and name.removesuffix("_se") not in columns:
            raise ValueError(f"column {name!r} is a standard error, so data must have {name.removesuffix('_se')!r}")
        if column.dtype.kind == "f":
            bad = ~np.isfinite(column) & ~(allow_nan & np.isnan(column))
            if bad.any():
                row = int(np.argmax(bad))
                raise ValueError(f"data[{name!r}][{row}] must be finite, got {column[row]}")
        elif column.dtype.kind not in "iubUOT":
            raise ValueError(f"data[{name!r}] must hold numbers or text, got dtype {column.dtype}")
    return columns


def _write(path: Path, write: Callable[[Any], None], **opening: Any) -> None:
    """Write a file under another name first, so that no reader meets half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(draft, **opening) as stream:
            write(stream)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def figures_directory() -> Path:
    """``DPREGRET_FIGURES`` if set, else ``_build/figures`` below the first parent folder with a ``_toc.yml``."""
    if os.environ.get("DPREGRET_FIGURES"):
        return Path(os.environ["DPREGRET_FIGURES"])
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / "_toc.yml").is_file()), here)
    return root / "_build" / "figures"


def publish(
    fig: Figure,
    name: str,
    data: Mapping[str, Any],
    *,
    alt: str,
    caption: str | None = None,
    directory: str | os.PathLike | None = None,
    allow_nan: bool = False,
) -> None:
    """Show a figure and write ``<name>.svg`` and ``<name>.csv``, then close it.

    Parameters
    ----------
    name : str
        Lower-case words joined by hyphens; the figure's target in the book is ``fig-<name>``.
    data : mapping or DataFrame
        What is plotted, columns of one length. Column ``x_se`` is the standard error of column ``x``. Floats are
        written in full (17 significant digits where needed).
    alt : str
        What the figure shows, for those who do not see it; without a Monte-Carlo number.
    caption : str, optional
        Caption in the book (MyST), which also makes the figure a numbered one.
    directory : path, optional
        Instead of `figures_directory`.
    allow_nan : bool
        Whether a number may be missing (nan).

    Raises
    ------
    ValueError
        If a name or text is not as said, or the columns are empty, of unequal length, or not finite.

    Notes
    -----
    The display has a PNG at twice the resolution, and the alternative text, width and caption in the metadata of the
    output; `evidence.report.book` hands them to MyST-NB. Both files and the PNG are the same bytes at every run.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"name must be lower-case words joined by hyphens, got {name!r}")
    if not isinstance(alt, str) or not alt.strip() or is_marked(alt):
        raise ValueError(f"alt must be non-empty text without a Monte-Carlo number, got {alt!r}")
    if caption is not None and (not isinstance(caption, str) or not caption.strip()):
        raise ValueError(f"caption must be non-empty text or None, got {caption!r}")
    columns = _columns(data, allow_nan)
    folder = Path(directory) if directory is not None else figures_directory()

    def table(stream: Any) -> None:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))

    _write(folder / f"{name}.csv", table, mode="w", newline="", encoding="utf-8")
    with plt.rc_context({"svg.hashsalt": "dpregret"}):
        _write(folder / f"{name}.svg", lambda s: fig.savefig(s, format="svg", metadata={"Date": None}), mode="wb")
    png = io.BytesIO()
    fig.savefig(png, format="png", dpi=2 * _DPI, metadata={"Software": None})
    width = round(_DPI * fig.get_size_inches()[0])  # the width alone, so that a narrow page keeps the proportions
    plt.close(fig)
    about = {"width": width, "alt": alt, "name": f"fig-{name}"}
    if caption is not None:
        about["caption"] = caption
    _show(png.getvalue(), f"[figure {name}] {alt}", about)


def _show(png: bytes, text: str, about: dict[str, Any]) -> None:
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        return
    if get_ipython() is None:
        return
    data = {"image/png": base64.b64encode(png).decode("ascii"), "text/plain": text}
    display(data, raw=True, metadata={"image/png": about})
