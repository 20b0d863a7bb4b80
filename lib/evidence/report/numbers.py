"""Numbers as the book prints them.

A Monte-Carlo number is printed in one marked form, ``≈ 3461 ± 16``, ``≈ [0.12, 0.15]`` or ``≈ 2.9``, and nothing else
begins with that sign and a number. nbval compares text to the letter, and a bandit's path can change with the last bit
of an exponential on another processor: ``tests/nbval_sanitize.cfg`` holds the pattern `MARKED`, which hides the marked
numbers on both sides. They are compared within their standard errors by the test of the figures' numbers instead.
"""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import xarray as xr

from dpregret import _checks

_NUMBER = r"[-\u2212]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
MARKED = rf"\u2248 (?:{_NUMBER}(?: \u00b1 {_NUMBER})?|\[{_NUMBER}, {_NUMBER}\])"
"""Pattern of a printed Monte-Carlo number; the text of ``tests/nbval_sanitize.cfg``."""

GLUE_PREFIX = "application/papermill.record/"


def is_marked(text: str) -> bool:
    """Whether ``text`` holds a Monte-Carlo number in the marked form."""
    return re.search(MARKED, text) is not None


def _exponent(number: float, digits: int) -> int:
    """Decimal exponent of the leading digit, after rounding to ``digits`` significant digits."""
    return int(f"{abs(number):.{digits - 1}e}".partition("e")[2]) if number else 0


def _fixed(number: float, decimals: int) -> str:
    number = round(number, decimals) + 0.0  # + 0.0 turns -0.0 into 0.0
    return f"{number:.{min(max(decimals, 0), 15)}f}"


def _format(values: list[float], resolution: float, digits: int) -> list[str]:
    """``values`` with the decimals that show ``resolution`` to ``digits`` significant digits and one power of ten."""
    largest = max(abs(value) for value in values)
    decimals = digits - 1 - _exponent(resolution, digits)
    power = _exponent(largest, digits)
    if largest == 0 or 1e-3 <= largest < 1e6:
        return [_fixed(value, decimals) for value in values]
    return [f"{_fixed(float(Decimal(value).scaleb(-power)), decimals + power)}e{power}" for value in values]


def approx(value: float | None = None, se: float | None = None, *, interval=None, digits: int | None = None) -> str:
    """A Monte-Carlo number in the marked form.

    Parameters
    ----------
    value, se : float
        Estimate and standard error. The standard error is shown to ``digits`` significant digits (default 2) and the
        value to the same decimals: ``approx(3461.27, 16.2)`` is ``≈ 3461 ± 16``. Without a standard error the value has
        ``digits`` significant digits (default 3).
    interval : (float, float), optional
        Instead of ``value``: a confidence interval, ``≈ [0.120, 0.151]``, its width to ``digits`` significant digits.

    Raises
    ------
    ValueError
        If a number is not finite, ``se`` is negative, or the interval is empty.
    """
    if digits is not None:
        digits = _checks.integer("digits", digits, at_least=1, at_most=12)
    if interval is not None:
        if value is not None or se is not None:
            raise ValueError("interval must be given without value and se")
        low = _checks.real("interval[0]", interval[0])
        high = _checks.real("interval[1]", interval[1], at_least=low)
        low_text, high_text = _format([low, high], high - low or abs(low), digits or 2)
        return f"≈ [{low_text}, {high_text}]"
    value = _checks.real("value", value)
    se = 0.0 if se is None else _checks.real("se", se, at_least=0.0)
    if se == 0.0:
        return "≈ " + _format([value], value, digits or 3)[0]
    value_text, se_text = _format([value, se], se, digits or 2)
    return f"≈ {value_text} ± {se_text}"


def short(value: float) -> str:
    """Three significant digits without an exponent."""
    return f"{float(f'{value:.3g}'):g}"


def mean_se(results: xr.DataArray | xr.Dataset, dim: str = "replicate"):
    """Mean and its standard error over the repetitions (sample standard deviation over the root of their number).

    Raises
    ------
    ValueError
        If ``dim`` is not a dimension or has fewer than two entries.
    """
    n = dict(results.sizes).get(dim, 0)
    if n < 2:
        raise ValueError(f"dimension {dim!r} must have at least 2 entries, got {n} in {dict(results.sizes)}")
    return results.mean(dim), results.std(dim, ddof=1) / np.sqrt(n)


def glue(name: str, value: str | float) -> None:
    """Store a value under ``name`` for the prose.

    In the notebook: ``{glue:text}`name``` for text, ``{glue:text}`name:.3f``` for a number. In another page, text needs
    its format too: ``{glue:text}`path/to/notebook.ipynb::name:s```.

    Emits the record that MyST-NB reads, without a display. Floats keep 12 significant digits, because nbval compares
    the record to the letter; a Monte-Carlo number is to be glued as text in the marked form (see `approx`).
    """
    from IPython.display import display

    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (str, int, float, np.number)):
        raise ValueError(f"value must be text or a number, got {value!r}")
    if isinstance(value, (float, np.floating)):
        value = float(f"{_checks.real('value', value):.12g}")
    elif isinstance(value, np.integer):
        value = int(value)
    metadata = {"scrapbook": {"name": str(name), "mime_prefix": GLUE_PREFIX}}
    display({GLUE_PREFIX + "text/plain": repr(value)}, raw=True, metadata=metadata)
