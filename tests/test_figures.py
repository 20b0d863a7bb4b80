"""The figures' numbers, regenerated, agree with the committed ones.

`make test` re-executes the notebooks before this runs, and they publish into ``_build/figures``. A column with a
standard error may move by 4 joint standard errors: were the seeds independent, a value would leave that range with
probability 6e-5 under normality; with the committed seeds on one machine the numbers are equal.
"""

import csv
import math
import os

import pytest

from tools.execute import FIGURES, REFERENCE

NAMES = sorted(path.name for path in REFERENCE.glob("*.csv"))
MUST = bool(os.environ.get("REQUIRE_BUILT") or os.environ.get("CI"))

regenerated = pytest.mark.skipif(
    not MUST and not list(FIGURES.glob("*.csv")), reason="no regenerated figures; `make test` makes them"
)


def read(path):
    """The columns of a file as lists of text."""
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))
    return {name: [row[i] for row in rows] for i, name in enumerate(head)}


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def differences(new, old):
    """Where two tables differ by more than they may, as text."""
    if list(new) != list(old):
        return [f"columns {list(new)}, committed {list(old)}"]
    if {len(column) for column in new.values()} != {len(column) for column in old.values()}:
        return ["another number of rows"]
    problems = []
    for name in old:
        if name.endswith("_se"):
            continue
        for row, (a, b) in enumerate(zip(new[name], old[name], strict=True)):
            x, y = number(a), number(b)
            if x is None or y is None:
                same = a == b
            elif math.isnan(x) or math.isnan(y):
                same = math.isnan(x) and math.isnan(y)
            elif f"{name}_se" in old:
                same = abs(x - y) <= 4 * math.hypot(float(new[f"{name}_se"][row]), float(old[f"{name}_se"][row]))
                same |= math.isclose(x, y, rel_tol=1e-9)
            else:
                same = math.isclose(x, y, rel_tol=1e-9)
            if not same:
                problems.append(f"{name}, row {row}: {a}, committed {b}")
    return problems


@regenerated
def test_the_same_figures_are_regenerated():
    assert sorted(path.name for path in FIGURES.glob("*.csv")) == NAMES


@regenerated
@pytest.mark.parametrize("name", NAMES)
def test_numbers_agree(name):
    assert differences(read(FIGURES / name), read(REFERENCE / name)) == []


# The comparison itself.

OLD = {"arm": ["a", "b"], "x": ["1.0", "2.0"], "x_se": ["0.1", "0.1"], "exact": ["0.25", "nan"]}


@pytest.mark.parametrize(
    "change",
    [{}, {"x": ["1.5", "2.0"]}, {"x_se": ["0.12", "0.1"]}, {"exact": ["0.25000000001", "nan"]}],
)
def test_small_moves_pass(change):
    assert differences(OLD | change, OLD) == []


@pytest.mark.parametrize(
    "change",
    [
        {"x": ["1.6", "2.0"]},
        {"x": ["nan", "2.0"]},
        {"exact": ["0.2500001", "nan"]},
        {"exact": ["0.25", "1.0"]},
        {"arm": ["a", "c"]},
        {"extra": ["1", "2"]},
        {key: values[:1] for key, values in OLD.items()},
    ],
)
def test_a_moved_number_is_told(change):
    assert len(differences(OLD | change, OLD)) == 1
