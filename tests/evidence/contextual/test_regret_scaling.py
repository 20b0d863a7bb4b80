"""Curves, exponents, verdicts and figures of the regret against the horizon, on made-up regret."""

import csv
import math

import numpy as np
import pytest
import xarray as xr

from dpregret.contextual import CorrectedLPLR, LeastSquares
from evidence.contextual import bounds
from evidence.contextual import regret_scaling as scaling
from evidence.contextual import regret_scaling_figures as figures
from evidence.contextual.slopes import Slope
from evidence.contextual.worst_instance import Worst

X = np.array([12.0, 13.0, 14.0, 15.0, 16.0])


def grid(powers, x=X, families=("null", "shared")):
    """Two repetitions of regret (1 -+ 0.1) T^power, an oracle each."""
    mean = np.array([[10 ** (power * x) for _ in families] for power in powers.values()])
    dims = ("oracle", "family", "log_horizon", "replicate")
    coords = {"oracle": list(powers), "family": list(families), "log_horizon": x}
    return xr.Dataset({"regret": (dims, np.stack([0.9 * mean, 1.1 * mean], axis=-1))}, coords=coords)


def test_a_curve_is_the_regret_over_the_root_with_its_error():
    found = scaling.curves(grid({"lplr tuned": 0.75}))["lplr tuned", "shared"]
    np.testing.assert_allclose(found.x, X)
    np.testing.assert_allclose(found.y, 10 ** (X / 4))
    np.testing.assert_allclose(found.se, 0.1 * 10 ** (X / 4))  # of two values, half their distance


def test_longer_horizons_are_joined_to_their_curve_alone():
    found = scaling.curves(grid({"a": 0.5, "b": 0.75}), grid({"b": 0.75}, x=np.array([20.0, 21.0])))
    assert found["a", "null"].x.size == 5
    np.testing.assert_allclose(found["b", "null"].x, [*X, 20, 21])
    np.testing.assert_allclose(found["b", "null"].y[-1], 10 ** (21 / 4))
    assert found["b", "null"].within(13.5, 20).x.tolist() == [14, 15, 16, 20]


def test_exponents_are_fitted_from_a_horizon_on():
    x = np.arange(10.0, 25.0)
    bent = np.where(x < 12, 1.0, 0.75) * x
    data = {(name, "null"): scaling.Curve(x, 10 ** (bent - x / 2), x) for name in ("lplr tuned", "lplr printed")}
    data["lplr printed", "null"].y[x < 18] = 1.0  # uniform play
    for name in ("lplr tuned", "lplr printed"):
        assert scaling.exponents(data, 12.0, 0.99)[name, "null"].value == pytest.approx(0.75, rel=1e-9, abs=0)
    assert scaling.exponents(data, 10.0, 0.99)["lplr tuned", "null"].value < 0.74


def test_power_of_the_logarithm():
    x = np.arange(12.0, 19.0)
    regret = 7 * 10 ** (x / 2) * (x * math.log(10)) ** 2.5
    assert scaling.power_of_logarithm(x, regret, 0.99).value == pytest.approx(2.5, rel=1e-9, abs=0)


def test_crossing_is_the_first_horizon_after_the_last_at_which_it_is_behind():
    flat = scaling.Curve(X, np.full(5, 8.0), X)
    assert scaling.crossing(flat, scaling.Curve(X, np.array([20, 9.9, 10.1, 11, 12]), X)) == 14
    assert scaling.crossing(flat, scaling.Curve(X, np.full(5, 20.0), X)) == 12
    assert math.isnan(scaling.crossing(flat, flat))


def test_where_the_regret_leaves_uniform_play():
    for family, rate in (("null", 0.5), ("shared", 0.4)):
        uniform = rate * 10 ** (X / 2)
        curve = scaling.Curve(X, uniform * [1, 0.91, 0.89, 0.5, 0.1], X)
        assert scaling.leaves_uniform_play(curve, family) == 14


def found_exponents(low=0.49, high=0.53):
    return {
        (name, family): Slope((low + high) / 2, 0.005, low, high)
        for name in ("lplr corrected rr", "lplr corrected laplace")
        for family in ("null", "shared")
    }


def test_windows_hold_for_whole_intervals():
    found = found_exponents() | {("least squares", "null"): Slope(0.7, 0.1, 0.6, 0.8)}
    names = ["lplr corrected rr", "lplr corrected laplace"]
    assert scaling.within(found, names, 0.48, 0.55)
    assert not scaling.within(found, names, 0.5, 0.55)
    assert not scaling.within(found, names, 0.48, 0.52)
    assert not scaling.within(found, [*names, "least squares"], 0.48, 0.55)
    text = scaling.intervals(found, ["least squares", "lplr corrected rr"])
    assert text.startswith("Least squares (not private), null: ≈ [0.60, 0.80]; LPLR corrected, randomised response, ")


GOOD = dict(power=Slope(2.6, 0.1, 2.2, 3.0), runs=70, valid=70, epsilons=[1.0, 0.9], alpha=1.0)


def words(**changes):
    arguments = GOOD | changes
    return [card.verdict for card in scaling.cards(found_exponents(), arguments.pop("power"), **arguments)]


def test_verdicts_of_good_runs():
    assert words() == ["holds", "holds", "holds", "holds", "open"]
    cards = scaling.cards(found_exponents(), GOOD["power"], runs=7230, valid=7229, epsilons=[1.0], alpha=1.0)
    assert "1 of ≈ 7230" in cards[0].observed and "1 of ≈ 7230" in cards[1].observed
    assert "≈ [2.20, 3.00]" in cards[0].observed and cards[2].observed == "≈ [2.20, 3.00]"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (dict(valid=69), ["consistent", "fails", "holds"]),
        (dict(epsilons=[1.0, 1.1]), ["consistent", "holds", "holds"]),
        (dict(epsilons=[math.inf]), ["consistent", "holds", "holds"]),
        (dict(power=Slope(2.7, 0.01, 2.6, 2.8)), ["consistent", "holds", "consistent"]),
    ],
)
def test_verdicts_of_bad_runs(changes, expected):
    assert words(**changes)[:3] == expected


def rows_of(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.data.splitlines()]


def test_table_of_oracles_says_what_epsilon_is_in_force():
    table = scaling.oracle_table({"lplr corrected rr": CorrectedLPLR(alpha=0.5), "least squares": LeastSquares()})
    assert [row[2] for row in rows_of(table)[2:]] == ["0.5", "none"]


def test_table_of_exponents():
    x = np.arange(12.0, 25.0)
    data = {("lplr printed", f): scaling.Curve(x, np.full(13, 25.0), np.ones(13)) for f in ("null", "shared")}
    row = rows_of(scaling.exponent_table(data, scaling.exponents(data, 12.0, 0.99), 12.0))[2]
    assert row[1] == "10^18 to 10^24" and row[4:] == ["≈ 25.0 ± 1.0"] * 2
    assert row[2].startswith("≈ 0.5")


def made_up_scales():
    x = [12.0, 14.0, 16.0]
    regret = np.array([10 ** (value / 2) * value**2.5 for value in x])
    return x, scaling.Scaled(regret, 0.1 * regret, np.array([4, 6, 8]))


def test_worst_of_many_scales_as_columns():
    found = [Worst((n, 0.1), np.array([n, n + 2.0]), [], 1, 1) for n in (4, 6)]
    columns = scaling.Scaled.of(found)
    np.testing.assert_allclose(columns, [[5, 7], [1, 1], [4, 6]])


def test_table_of_many_scales():
    x, found = made_up_scales()
    rows = rows_of(scaling.scales_table(x, {"lplr corrected rr": found, "perturbed statistics": found}, 0.9))[2:]
    assert rows[0][2] == "≈ [2.50, 2.50]" or rows[0][2].startswith("≈ [2.5")
    assert rows[1][2] == "" and rows[0][3] == "≈ 4.0, ≈ 8.0"


def test_table_of_horizons_is_that_of_the_bounds():
    rows = rows_of(scaling.horizon_table(0.5))
    expected = bounds.smallest_horizons(2, beta=0.1, alpha=0.5)
    assert rows[4][2] == " / ".join(f"{value:.1f}" for value in expected)
    assert [row[0] for row in rows[2:]] == ["1/ln T", "0.05", "0.1", "0.2"]


def published(folder, name):
    with open(folder / f"{name}.csv", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    return tmp_path


def test_figure_of_the_regret_ends_at_the_last_horizon(folder):
    data = scaling.curves(grid({"lplr corrected rr": 0.5, "lplr printed": 1.0}))
    figures.draw_scaling(data, ["lplr printed"], log_horizons=[12.0, 15.0], alpha=1.0)
    rows = published(folder, "contextual-regret-scaling")
    assert [row["family"] for row in rows] == ["null"] * 4 + ["shared"] * 4
    assert {row["oracle"] for row in rows} == {"lplr printed"}
    assert [float(row["log10_horizon"]) for row in rows[:4]] == [12, 13, 14, 15]
    assert float(rows[0]["regret_over_root"]) == pytest.approx(1e6, rel=1e-9, abs=0)
    assert float(rows[0]["regret_over_root_se"]) == pytest.approx(1e5, rel=1e-9, abs=0)


def test_figure_of_many_scales_has_both_families(folder):
    x, found = made_up_scales()
    data = scaling.curves(grid({"lplr corrected rr": 0.5}, x=np.array([10.0, 12.0, 14.0])))
    figures.draw_many_scales(data, {"lplr corrected rr": found}, log_horizons=x, alpha=1.0, largest=8)
    rows = published(folder, "contextual-many-scales")
    assert [(row["family"], float(row["log10_horizon"])) for row in rows] == [
        ("null", 12), ("null", 14), ("scales", 12), ("scales", 14), ("scales", 16),
    ]  # fmt: skip
    assert float(rows[2]["regret_over_root"]) == pytest.approx(12**2.5, rel=1e-9, abs=0)
    assert float(rows[2]["regret_over_root_se"]) == pytest.approx(0.1 * 12**2.5, rel=1e-9, abs=0)


def test_figure_of_the_instances(folder):
    values = np.array([0.5, 1.0])
    regret = np.array([[1e6, 2e6], [3e6, 2e6]])
    profiles = {(12.0, "least squares"): (values, regret), (18.0, "least squares"): (values, 1e3 * regret)}
    figures.draw_instances(profiles, 1.0)
    rows = published(folder, "contextual-regret-instances")
    assert [float(row["r"]) for row in rows] == [0.5, 1, 0.5, 1]
    np.testing.assert_allclose([float(row["regret_over_root"]) for row in rows], [2, 2, 2, 2])
    np.testing.assert_allclose([float(row["regret_over_root_se"]) for row in rows], [1, 0, 1, 0])


def test_figure_with_the_papers_own_constants(folder):
    data = scaling.curves(grid({"lplr corrected rr": 0.5, "lplr tuned": 0.6, "lplr printed": 1.0}))
    figures.draw_own_constants(data, ends=(12.0, 16.0), alpha=1.0)
    rows = published(folder, "contextual-regret-own-constants")
    assert len(rows) == 2 * 3 * 5
    assert rows[14]["oracle"] == "lplr printed" and float(rows[14]["log10_horizon"]) == 16
