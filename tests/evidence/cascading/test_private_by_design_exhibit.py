"""The computations, figures and verdict rules behind notebooks/cascading/private_by_design."""

import csv
import math

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

from evidence.cascading import private_by_design as exhibit
from evidence.cascading.comparisons import Estimate

NAMES = ["laplace", "gaussian", "first-position ucb", "first-position kl", "hybrid", "first-position dp"]


@pytest.fixture
def regret():
    """Two epsilons, six algorithms, three repetitions, curves that end at 100 times 1 to 6, with a spread of 1."""
    end = 100.0 * np.array([6, 5, 1, 0.5, 6, 1])
    rounds = np.arange(1, 41)
    curve = end[:, None, None] * rounds / 40 + np.array([-1.0, 0.0, 1.0])[None, :, None]
    return xr.DataArray(
        np.stack([curve, curve]),
        dims=("epsilon", "algorithm", "replicate", "round"),
        coords={"epsilon": [0.5, 1.0], "algorithm": NAMES, "round": rounds},
    )


def read(path):
    with open(path) as stream:
        return list(csv.DictReader(stream))


def test_the_gain_is_a_ratio_with_its_first_order_error(regret):
    gains = exhibit.gains(regret, 1.0)
    se = 1 / math.sqrt(3)
    assert gains["first-position ucb", "laplace"].mean == pytest.approx(6)
    expected = 6 * math.hypot(se / 100, se / 600)
    assert gains["first-position ucb", "laplace"].se == pytest.approx(expected, rel=1e-12)


def test_the_gain_holds_only_if_all_four_are_shown(regret):
    gains = exhibit.gains(regret, 1.0)
    least = min(g.mean - norm.isf(0.001 / 4) * g.se for g in gains.values())
    word = {required: exhibit.judge_gain(gains, required, epsilon=1.0, horizon=40).verdict for required in (1, 5, 20)}
    assert 4 < least < 5 and word == {1: "holds", 5: "consistent", 20: "consistent"}


def test_the_conjecture_is_shown_beside_its_numbers(regret):
    table, proved, open_question = exhibit.conjecture(regret, regret.sel(algorithm="first-position ucb"))
    assert table.data.count("\n") == 3 and proved.verdict == "holds" and open_question.verdict == "open"
    assert "6.0" in proved.observed


def test_a_certified_epsilon_above_the_claimed_one_fails():
    assert exhibit.judge_long_audit({8.0: 0.3}, 0.95).verdict == "holds"
    assert exhibit.judge_long_audit({8.0: 0.3, 2.0: 2.1}, 0.95).verdict == "fails"


def test_a_bound_fails_where_the_regret_is_above_it():
    measured = {0.5: Estimate(100.0, 1.0)}
    case = ("cascading/corrected-first-position-ldp-regret", "LDP-F", measured)
    assert exhibit.judge_bound(*case, [104.0], 50.0, 40).verdict == "holds"
    card = exhibit.judge_bound(*case, [103.9], 50.0, 40)
    assert card.verdict == "fails" and card.margin.endswith("ε = 0.5: 2.1")


def test_growth_per_log_is_recovered_from_a_logarithm():
    marks = np.array([100, 1000, 10_000])
    curve = xr.DataArray(
        7 * np.log(marks)[None] + np.array([[0.0], [5.0]]), dims=("replicate", "round"), coords={"round": marks}
    )
    share = exhibit.growth_share(curve, 0, 2, 3.5)
    assert share.mean == pytest.approx(2, rel=1e-12) and share.se == pytest.approx(0, abs=1e-12)


def test_the_figures_keep_their_numbers(regret, tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    baseline = regret.sel(epsilon=0.5, algorithm="first-position kl")
    names = ["laplace", "first-position ucb"]
    exhibit.draw_curves("local", names, regret, baseline, 700.0, about="x ")
    rows = read(tmp_path / "cascading-private-local.csv")
    assert {row["algorithm"] for row in rows} == {"non-private", *names} and len(rows) == 2 * 3 * 4
    at = next(row for row in rows if row["algorithm"] == "laplace" and row["round"] == "40")
    assert float(at["regret"]) == 600 and float(at["regret_se"]) == pytest.approx(1 / math.sqrt(3))

    exhibit.draw_final(
        regret,
        {"local": names, "central": ["hybrid"]},
        baseline=Estimate(50.0, 1.0),
        unprivate=Estimate(40.0, 1.0),
        random_list=700.0,
        about="z ",
    )
    rows = read(tmp_path / "cascading-private-final.csv")
    assert [float(row["regret"]) for row in rows] == [600, 600, 100, 100, 600, 600]

    marks = np.array([100, 1000, 10_000])
    paid = xr.DataArray(
        np.log(marks)[None, None] * np.ones((1, 2, 1)),
        dims=("epsilon", "replicate", "round"),
        coords={"epsilon": [0.5], "round": marks},
    )
    exhibit.draw_price(paid, {0.5: 0.5})
    rows = read(tmp_path / "cascading-private-price.csv")
    assert [float(row["share"]) for row in rows] == pytest.approx([2, 2])


def test_the_table_has_a_row_an_algorithm(regret):
    lines = exhibit.final_table(regret).data.split("\n")
    assert len(lines) == 2 + len(NAMES) and lines[0].count("|") == 4
