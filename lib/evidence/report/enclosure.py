"""Numbers with a guarantee: ball arithmetic of python-flint, for cards whose evidence is an enclosure.

python-flint is a dependency of the book and its tests, not of the library, and is imported where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction

from dpregret import _checks

__all__ = ["ball", "bracket", "precision", "proves", "show"]


@contextmanager
def precision(digits: int = 50) -> Iterator[None]:
    """Ball arithmetic with this many decimal digits, inside a ``with`` block."""
    import flint

    before = flint.ctx.prec
    flint.ctx.dps = _checks.integer("digits", digits, at_least=1)
    try:
        yield
    finally:
        flint.ctx.prec = before


def ball(x):
    """A ball that holds ``x``: an integer, a Fraction, a decimal string, a float (the binary number it is), a ball."""
    import flint

    if isinstance(x, flint.arb):
        return x
    if isinstance(x, str):
        x = Fraction(x)
    if isinstance(x, float):
        if not math.isfinite(x):
            raise ValueError(f"x must be a finite number, got {x!r}")
        x = Fraction(x)
    if isinstance(x, Decimal):
        x = Fraction(x)
    if isinstance(x, bool) or not isinstance(x, (int, Fraction)):
        raise ValueError(f"x must be an integer, a Fraction, a decimal string, a float or a ball, got {x!r}")
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def proves(statement) -> bool:
    """Whether a comparison of balls is certain: ``a < b`` is True only if every number of a is below every one of b."""
    if not isinstance(statement, bool):
        raise ValueError(f"statement must be a comparison of balls, got {statement!r}")
    return statement


def bracket(x, digits: int = 6) -> tuple[str, str]:
    """Decimal numbers with ``digits`` significant digits, the first below the ball and the second above it."""
    digits = _checks.integer("digits", digits, at_least=1, at_most=27)
    x = ball(x)
    if not x.is_finite():
        raise ValueError(f"x must be a finite ball, got {x}")
    ends = []
    for end, up in ((x.lower(), False), (x.upper(), True)):
        numerator = _exact(end)
        if numerator == 0:
            ends.append("0")
            continue
        exponent = _decimal_exponent(abs(numerator))
        unit = Fraction(10) ** (exponent - digits + 1)
        steps = math.ceil(numerator / unit) if up else math.floor(numerator / unit)
        ends.append(_decimal(steps, exponent - digits + 1))
    return ends[0], ends[1]


def show(x, digits: int = 6) -> str:
    """``"1.23456"`` where the ball decides these digits (rounded to nearest), and else ``"[low, high]"``."""
    low, high = bracket(x, digits + 4)
    rounded = {_round(Fraction(end), digits) for end in (low, high)}
    if len(rounded) == 1:
        return rounded.pop()
    low, high = bracket(x, digits)
    return f"[{low}, {high}]"


def _exact(end) -> Fraction:
    """The dyadic number that an end of a ball is: ``lower()`` and ``upper()`` have radius 0."""
    mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _decimal_exponent(x: Fraction) -> int:
    exponent = len(str(x.numerator)) - len(str(x.denominator))
    while Fraction(10) ** exponent > x:
        exponent -= 1
    while Fraction(10) ** (exponent + 1) <= x:
        exponent += 1
    return exponent


def _round(x: Fraction, digits: int) -> str:
    if x == 0:
        return "0"
    exponent = _decimal_exponent(abs(x)) - digits + 1
    return _decimal(round(x / Fraction(10) ** exponent), exponent)


def _decimal(steps: int, exponent: int) -> str:
    """``steps * 10^exponent``, with an exponent only for very small and very large numbers."""
    number = Decimal(steps).scaleb(exponent).normalize()
    return f"{number:f}" if -6 < number.adjusted() < 16 else f"{number:e}"
