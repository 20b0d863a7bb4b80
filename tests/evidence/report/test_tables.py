"""Tables, rows and words that the notebooks use."""

import doctest

import pytest

from evidence import report
from evidence.report import tables


def test_the_example_of_rows_runs():
    assert doctest.testmod(tables).failed == 0


def test_a_single_value_stands_in_every_row():
    rows = report.Rows("a", "b")
    rows.add(a=1, b="x")
    rows.add(a=[2, 3], b="y")
    assert dict(rows) == {"a": [1, 2, 3], "b": ["x", "y", "y"]}


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"a": 1}, "values must be given for a, b"),
        ({"a": [1, 2], "b": [1, 2, 3]}, "broadcast"),
        ({"a": [[1]], "b": 1}, "one-dimensional"),
    ],
)
def test_rows_refuse_other_columns_and_lengths(values, match):
    with pytest.raises(ValueError, match=match):
        report.Rows("a", "b").add(**values)


def test_a_table_is_markdown():
    assert report.table(["a", "b"], [(1, "x"), (2, "y")]).data == "| a | b |\n| --- | --- |\n| 1 | x |\n| 2 | y |"
    with pytest.raises(ValueError, match=r"rows\[1\] must have 2 entries"):
        report.table(["a", "b"], [(1, "x"), (2,)])


def test_words():
    assert report.holds_if(True) == "holds" and report.holds_if(False) == "fails"
    assert report.holds_if(False, otherwise="consistent") == "consistent"
    with pytest.raises(ValueError, match="otherwise"):
        report.holds_if(False, otherwise="maybe")
    assert [report.short(x) for x in (1234.5, 0.012345, 1e-9)] == ["1230", "0.0123", "1e-09"]
