"""Outputs of the Wishart step that another record excludes: by hand in one dimension, and against the closed forms."""

import csv
import math

import numpy as np
import pytest
from scipy import stats

from dpregret.privacy.mechanisms import Wishart
from evidence.contextual import wishart_step as step

RUNS = 4000


def test_in_one_dimension_what_lies_below_the_start_is_impossible():
    """Under v = 1 the output is at least 1 - 9/alpha; under the empty record it is the noise."""
    noise = np.array([-9.0, -8.5, -8.0001, -7.9999, 3.0])[:, None, None]
    assert step.impossible(np.zeros(1), np.ones(1), noise, 1.0) == 3
    assert step.impossible(np.ones(1), np.zeros(1), noise, 1.0) == 0


@pytest.mark.parametrize("d", [1, 2, 4])
def test_no_output_excludes_its_own_record(d):
    noise = Wishart(alpha=0.5, dimension=d).sample(np.random.default_rng(d), 500)
    v = np.eye(d)[0]
    assert step.impossible(v, v, noise, 0.5) == step.impossible(v, 0 * v, noise, 0.5) == 0


@pytest.mark.parametrize("d", [1, 3])
def test_shares_lie_around_the_closed_forms(d):
    alpha, basis = 1.0, np.eye(d)
    noise = Wishart(alpha=alpha, dimension=d).sample(np.random.default_rng(d), RUNS)
    exact = step.exact_delta([alpha])
    pairs = {"empty": (0 * basis[0], basis[0])} | ({"orthogonal": (basis[0], basis[1])} if d > 1 else {})
    for name, pair in pairs.items():
        p, se = step.share(step.impossible(*pair, noise, alpha), RUNS)
        assert abs(p - exact[name][alpha]) < 5 * se


def test_the_closed_form_of_the_empty_record():
    assert step.exact_delta([0.9])["empty"][0.9] == pytest.approx(-math.expm1(-0.1), rel=1e-14, abs=0)


def test_the_share_where_no_run_hits_has_an_error():
    assert step.share(0, 100) == (0.0, 0.01)
    assert step.share(50, 100) == (0.5, 0.05)


def made_up(count):
    return {("empty", 1, 1.0): count, ("empty", 2, 1.0): 420, ("orthogonal", 2, 1.0): 90}


EXACT = {"empty": {1.0: 0.105}, "orthogonal": {1.0: 0.0225}}


@pytest.mark.parametrize(("count", "inside"), [(420, True), (480, False), (360, False)])
def test_closed_forms_have_to_be_in_every_interval(count, inside):
    assert step.all_inside(made_up(count), EXACT, runs=RUNS, confidence=0.95) is inside


def test_the_level_of_one_side_is_shared_out():
    assert step.single_level(made_up(1), 0.95) == pytest.approx(1 - 0.05 / 6, rel=1e-14, abs=0)


def test_the_certified_probability_is_the_least_lower_limit_at_that_alpha():
    hits = made_up(400) | {("empty", 3, 0.5): 1}
    found = step.certified(hits, 1.0, runs=RUNS, confidence=0.95)
    assert found == pytest.approx(stats.beta.ppf(0.05 / 8, 400, RUNS - 399), rel=1e-9, abs=0)


def test_the_table_has_a_column_for_each_dimension():
    head, _, row = step.table(made_up(400), EXACT, runs=RUNS).data.splitlines()
    assert [part.strip() for part in head.split("|")[3:-1]] == ["simulated, $d = 1$", "simulated, $d = 2$"]
    assert [part.strip() for part in row.split("|")[1:-1]] == [
        "1",
        "0.105000",
        "≈ 0.1000 ± 0.0047",
        "≈ 0.1050 ± 0.0048",
    ]


def test_figure_of_the_step(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    profiles = {"empty against v": [0.1, 0.05, 0.03, 0.02, 0.01], "v against empty": [0.1] * 5}
    step.draw(made_up(400), EXACT, profiles, grid=np.linspace(0, 1, 5), runs=RUNS, alpha=1.0)
    with open(tmp_path / "contextual-audit-wishart.csv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    by_panel = {letter: [row for row in rows if row["panel"] == letter] for letter in "abc"}
    assert [row["series"] for row in by_panel["b"]] == [
        "empty, simulated, d = 1", "empty, simulated, d = 2", "orthogonal, simulated, d = 2",
        "empty, exact", "orthogonal, exact",
    ]  # fmt: skip
    assert [float(row["y"]) for row in by_panel["b"]] == [0.1, 0.105, 0.0225, 0.105, 0.0225]
    assert float(by_panel["b"][0]["y_se"]) == pytest.approx(math.sqrt(0.09 / RUNS), rel=1e-12, abs=0)
    assert [(float(row["x"]), float(row["y"])) for row in by_panel["c"]] == [(0, 0.1), (1, 0.01), (0, 0.1), (1, 0.1)]
    for row in by_panel["a"]:  # an exponential density of mean 9 from -9, or from -8, on
        start = -9 + (row["series"] == "|v| = 1")
        assert float(row["y"]) == pytest.approx(stats.expon.pdf(float(row["x"]), start, 9), rel=1e-12, abs=0)
