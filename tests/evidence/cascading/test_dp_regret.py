"""The sentence about Figure 1 (f) and (g): verdicts on regrets made up, and the figure."""

import csv
import math

import numpy as np
import pytest
import xarray as xr

from evidence import report
from evidence.cascading import dp_regret
from evidence.cascading.comparisons import Estimate

ROUNDS = np.arange(1, 21)
RUNS = xr.DataArray([-1.0, 0.0, 1.0], dims="replicate")
GROWTH = xr.DataArray(ROUNDS / ROUNDS[-1], dims="round", coords={"round": ROUNDS})
EPSILONS, SIZES = [0.5, 1.0, 2.0], [6, 8, 10]


def regret(heights, **axis):
    """Regret (axis, replicate, round) that ends at the heights."""
    ((dim, values),) = axis.items()
    return (xr.DataArray(np.array(heights, dtype=float), dims=dim, coords={dim: values}) + RUNS) * GROWTH


BASE = regret([10, 20, 30], n_items=SIZES)


def test_rises_are_steps_and_the_whole_in_standard_errors():
    steps, whole = dp_regret.rises([Estimate(0.0, 3.0), Estimate(10.0, 4.0), Estimate(8.0, 0.0)])
    assert steps == pytest.approx([10 / 5, -2 / 4], rel=1e-12, abs=0)
    assert whole == pytest.approx(8 / 3, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("falling", "growing", "word"),
    [
        ([90, 70, 50], [20, 60, 90], "holds"),
        ([90, 70, 71], [20, 60, 90], "holds"),  # a step the other way that the repetitions do not show
        ([90, 70, 75], [20, 60, 90], "fails"),
        ([90, 70, 50], [20, 60, 20], "fails"),
        ([51, 51, 50], [20, 60, 90], "consistent"),
        ([90, 70, 50], [20, 30, 41], "consistent"),  # the excess grows by 1, the regret by 21
    ],
)
def test_the_excess_falls_in_epsilon_and_grows_with_the_items(falling, growing, word):
    card = dp_regret.excess_card(
        regret(falling, epsilon=EPSILONS), regret(growing, n_items=SIZES), BASE, n_items=10, reading="honest"
    )
    assert (card.claim, card.verdict, card.reading) == ("cascading/figure-dp", word, "honest")


def test_the_card_prints_the_excess_over_the_policy_with_as_many_items():
    card = dp_regret.excess_card(
        regret([90, 70, 50], epsilon=EPSILONS), regret([20, 60, 90], n_items=SIZES), BASE, n_items=10, reading="honest"
    )
    se = f"{math.sqrt(2 / 3):.2f}"
    assert card.observed == (
        f"at ε = 0.5: ≈ 60.00 ± {se}, 1: ≈ 40.00 ± {se}, 2: ≈ 20.00 ± {se}; "
        f"at L = 6: ≈ 10.00 ± {se}, 8: ≈ 40.00 ± {se}, 10: ≈ 60.00 ± {se}"
    )


@pytest.mark.parametrize(("reading", "name"), [("honest", "honest"), ("noise only", "scaled")])
def test_the_figure_has_every_curve_of_both_panels_in_its_numbers(reading, name, tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    left, right = (
        xr.Dataset({"regret": curves, "value_epsilon": curves.isel(replicate=0, round=0, drop=True)}).expand_dims(
            reading=[reading]
        )
        for curves in (regret([90, 70, 50], epsilon=EPSILONS), regret([20, 60, 90], n_items=SIZES))
    )
    dp_regret.draw(
        left,
        right,
        BASE,
        reading=reading,
        random_list=dict.fromkeys(SIZES, 100.0),
        n_items=10,
        epsilon_of_items=1.0,
        algorithm="c₁ = 1",
        list_length=2,
        instance="made up",
    )
    rows = list(csv.DictReader((tmp_path / f"cascading-dp-regret-{name}.csv").open()))
    assert list(rows[0]) == ["panel", "curve", "round", "regret", "regret_se"]
    last = [(row["panel"], row["curve"], float(row["regret"])) for row in rows if row["round"] == "20"]
    assert last == [
        ("f", "0.5", 90.0),
        ("f", "1", 70.0),
        ("f", "2", 50.0),
        ("f", "non-private", 30.0),
        ("g", "6", 20.0),
        ("g", "6, non-private", 10.0),
        ("g", "8", 60.0),
        ("g", "8, non-private", 20.0),
        ("g", "10", 90.0),
        ("g", "10, non-private", 30.0),
    ]


def test_the_panel_of_items_shows_random_lists_where_they_are_given():
    _, axes = report.panels(2)
    curves = regret([20, 60, 90], n_items=SIZES)
    for ax, at_random in zip(axes, ({}, dict.fromkeys(SIZES, 100.0)), strict=True):
        rows = report.Rows("panel", "curve", "round", "regret", "regret_se")
        dp_regret.draw_items(ax, rows, curves, BASE, at_random)
    assert [line.get_linestyle() for line in axes[0].lines].count(":") == 0
    assert [line.get_linestyle() for line in axes[1].lines].count(":") == 4
    colors = [line.get_color() for line in axes[0].lines]
    assert colors[:-1:2] == colors[1:-1:2] == [look["color"] for look in dp_regret.LOOKS[:3]]
