"""Refuse bad input with the argument's name, its value and what is allowed.

Every check returns the value in the type the caller works with, so that validation and conversion are one step.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from typing import Any, NoReturn, cast

import numpy as np


def _refuse(name: str, value: object, allowed: str) -> NoReturn:
    raise ValueError(f"{name} must be {allowed}, got {value!r}")


def real(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
    at_most: float = math.inf,
) -> float:
    """A finite real number with ``above < value < below`` and ``at_least <= value <= at_most``."""
    limits = [f"> {above:g}"] if above > -math.inf else []
    limits += [f">= {at_least:g}"] if at_least > -math.inf else []
    limits += [f"< {below:g}"] if below < math.inf else []
    limits += [f"<= {at_most:g}"] if at_most < math.inf else []
    allowed = "a finite number" + (" " + " and ".join(limits) if limits else "")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, np.number)):
        _refuse(name, value, allowed)
    number = float(value)
    if not (math.isfinite(number) and above < number < below and at_least <= number <= at_most):
        _refuse(name, value, allowed)
    return number


def integer(name: str, value: Any, *, at_least: int | None = None, at_most: int | None = None) -> int:
    """An integer (a float of integer value, such as ``1e5``, is taken) with ``at_least <= value <= at_most``."""
    limits = [f">= {at_least}"] if at_least is not None else []
    limits += [f"<= {at_most}"] if at_most is not None else []
    allowed = "an integer" + (" " + " and ".join(limits) if limits else "")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, np.number)):
        _refuse(name, value, allowed)
    value = cast(Any, value)
    if not math.isfinite(float(value)) or value != int(value):
        _refuse(name, value, allowed)
    number = int(value)
    if (at_least is not None and number < at_least) or (at_most is not None and number > at_most):
        _refuse(name, value, allowed)
    return number


def epsilon(value: object, name: str = "epsilon") -> float:
    """A privacy parameter: a finite number > 0."""
    return real(name, value, above=0.0)


def delta(value: object, name: str = "delta") -> float:
    """A failure probability: a number in (0, 1)."""
    return real(name, value, above=0.0, below=1.0)


def choice(name: str, value: object, allowed: Collection[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in allowed:
        _refuse(name, value, "one of " + ", ".join(repr(word) for word in allowed))
    return value


def array(
    name: str,
    value: Any,
    *,
    ndim: int | None = None,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> np.ndarray:
    """A float64 array of finite entries within ``[at_least, at_most]``; the first offending entry is named."""
    try:
        entries = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        _refuse(name, value, "an array of numbers")
    if ndim is not None and entries.ndim != ndim:
        _refuse(f"{name}.ndim", entries.ndim, str(ndim))
    with np.errstate(invalid="ignore"):
        bad = ~(np.isfinite(entries) & (entries >= at_least) & (entries <= at_most))
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        index = ", ".join(map(str, place))
        allowed = (
            "finite" if at_least == -math.inf and at_most == math.inf else f"finite and in [{at_least:g}, {at_most:g}]"
        )
        _refuse(f"{name}[{index}]" if place else name, float(entries[place]), allowed)
    return entries
