"""Regret a user, shares of uniform play, and the figure, on made-up regret."""

import csv

import numpy as np
import pytest

from evidence.contextual import real_contexts as real


def test_regret_of_a_user_has_mean_and_standard_error_of_its_runs():
    found = real.PerUser.of([5.0, 6.0], [[1.0, 3.0], [2.0, 2.0]])
    np.testing.assert_allclose(found, [[5, 6], [2, 2], [1, 0]])
    assert found.at(5.0) == (2.0, 1.0)
    assert found.at(7.0) is None


@pytest.mark.parametrize(
    ("mean", "se", "text"),
    [
        (0.25, 0.01, "≈ 0.500 ± 0.020"),
        (0.49999, 0.01, "≈ 1.00"),  # nothing excluded: no error worth a word
        (0.25, 1e-8, "≈ 0.500"),
    ],
)
def test_share_of_uniform_play(mean, se, text):
    found = real.PerUser(np.array([5.0]), np.array([mean]), np.array([se]))
    assert real.share(found, 0.5, 5.0) == text
    assert real.share(found, 0.5, 8.0) == "–"


RESULTS = {
    (d, name): real.PerUser(np.array([5.0, 8.0]), np.array([0.1, 0.01]) * d, np.array([0.001, 0.0]))
    for d in (2, 3)
    for name in ("least squares", "linucb")
}


def test_table_has_a_row_for_each_method_in_its_order():
    table = real.share_table(2, RESULTS, 0.4, {"linucb": "none", "least squares": "none"}, [5.0, 12.0])
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.data.splitlines()]
    assert rows[0] == ["d = 2", "ε in force", "T = 10^5", "T = 10^12"]
    assert rows[2] == ["LinUCB (not private)", "none", "≈ 0.5000 ± 0.0025", "–"]
    assert rows[3][0] == "Least squares (not private)"


def test_figure(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    real.draw(RESULTS, {2: 0.4, 3: 0.3}, 1.0)
    with open(tmp_path / "contextual-real-contexts.csv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["d"], row["method"]) for row in rows[::2]] == [
        ("2", "least squares"), ("2", "linucb"), ("3", "least squares"), ("3", "linucb"),
    ]  # fmt: skip
    assert [float(row["regret_per_user"]) for row in rows[:2]] == pytest.approx([0.2, 0.02], rel=1e-12, abs=0)
    assert float(rows[0]["regret_per_user_se"]) == 0.001
