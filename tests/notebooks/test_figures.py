"""The figures' numbers, regenerated, agree with the committed ones by the rule of ``tools.figures``.

`make test` re-executes the notebooks before this runs, and they publish into ``_build/figures``.
"""

import os

import pytest

from tools.execute import FIGURES, REFERENCE
from tools.figures import differences, read

NAMES = sorted(path.name for path in REFERENCE.glob("*.csv"))
MUST = bool(os.environ.get("REQUIRE_BUILT") or os.environ.get("CI"))

regenerated = pytest.mark.skipif(
    not MUST and not list(FIGURES.glob("*.csv")), reason="no regenerated figures; `make test` makes them"
)


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
