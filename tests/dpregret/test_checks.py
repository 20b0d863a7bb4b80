"""Bad input is refused with the argument's name, its value and what is allowed; good input comes back in its type."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpregret import _checks


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int8(1), Fraction(1)])
def test_numbers_become_floats_or_integers(value):
    assert type(_checks.real("x", value)) is float and _checks.real("x", value) == 1.0
    assert type(_checks.integer("x", value)) is int and _checks.integer("x", value) == 1


@pytest.mark.parametrize("bad", [True, np.True_, "1", None, math.nan, math.inf, -math.inf, [1.0], 1j])
def test_what_is_no_number_is_refused(bad):
    for check in (_checks.real, _checks.integer, _checks.epsilon, _checks.delta):
        with pytest.raises(ValueError, match="x must be"):
            check(name="x", value=bad)


@pytest.mark.parametrize(
    "limits, inside, outside, said",
    [
        ({"above": 0}, [5e-324, 1e308], [0.0, -1.0], "a finite number > 0, got"),
        ({"at_least": 0}, [0.0, 1e308], [-5e-324], "a finite number >= 0, got"),
        ({"below": 1}, [math.nextafter(1, 0), -1e308], [1.0, 2.0], "a finite number < 1, got"),
        ({"at_most": 1}, [1.0], [math.nextafter(1, 2)], "a finite number <= 1, got"),
        ({"above": 0, "at_most": 1}, [1.0, 0.5], [0.0, 1.5], "a finite number > 0 and <= 1, got"),
        ({}, [0.0, -1e308], [math.nan], "a finite number, got"),
    ],
)
def test_limits_of_a_real_number(limits, inside, outside, said):
    for value in inside:
        assert _checks.real("x", value, **limits) == value
    for value in outside:
        with pytest.raises(ValueError, match=f"^x must be {said} {value!r}$"):
            _checks.real("x", value, **limits)


def test_an_integer_and_its_limits():
    assert _checks.integer("n", 1e5) == 100_000 and _checks.integer("n", 10**30) == 10**30
    assert _checks.integer("n", 2, at_least=2, at_most=2) == 2
    for value, said in [(1, ">= 2 and <= 3, got 1"), (4, ">= 2 and <= 3, got 4"), (2.5, ">= 2 and <= 3, got 2.5")]:
        with pytest.raises(ValueError, match=f"^n must be an integer {said}$"):
            _checks.integer("n", value, at_least=2, at_most=3)
    with pytest.raises(ValueError, match=r"n must be an integer, got 0\.5"):
        _checks.integer("n", 0.5)


def test_privacy_parameters():
    assert _checks.epsilon(1) == 1.0 and _checks.delta(0.5) == 0.5
    for value in (0.0, -1.0):
        with pytest.raises(ValueError, match="epsilon must be a finite number > 0"):
            _checks.epsilon(value)
    for value in (0.0, 1.0):
        with pytest.raises(ValueError, match="slack must be a finite number > 0 and < 1"):
            _checks.delta(value, "slack")


def test_a_word_of_several():
    assert _checks.choice("version", "printed", ("printed", "corrected")) == "printed"
    for value in ("Printed", 1, None):
        with pytest.raises(ValueError, match="version must be one of 'printed', 'corrected', got"):
            _checks.choice("version", value, ("printed", "corrected"))


def test_an_array_is_a_new_one_of_doubles():
    given = np.array([1, 2])
    taken = _checks.array("x", given, ndim=1, at_least=1, at_most=2)
    assert taken.dtype == np.float64 and taken.tolist() == [1.0, 2.0]
    taken[0] = 7
    assert given[0] == 1
    assert _checks.array("x", 3.0).shape == ()


@pytest.mark.parametrize(
    "value, limits, said",
    [
        ([1.0, math.nan], {}, r"^x\[1\] must be finite, got nan"),
        ([[1.0], [-2.0]], {"at_least": 0.0}, r"^x\[1, 0\] must be finite and in \[0, inf\], got -2.0"),
        ([1.0, 3.0], {"at_least": 0.0, "at_most": 2.0}, r"^x\[1\] must be finite and in \[0, 2\], got 3.0"),
        (math.inf, {}, "^x must be finite, got inf"),
        ([[1.0]], {"ndim": 1}, "^x.ndim must be 1, got 2"),
        (1.0, {"ndim": 1}, "^x.ndim must be 1, got 0"),
        (["a"], {}, "^x must be an array of numbers, got"),
        ([[1.0], [1.0, 2.0]], {}, "^x must be an array of numbers, got"),
    ],
)
def test_a_bad_entry_is_named(value, limits, said):
    with pytest.raises(ValueError, match=said):
        _checks.array("x", value, **limits)
