"""The gap between Algorithm 4 and CUCB: its verdict on regrets made up, and the figure."""

import csv

import numpy as np
import pytest
import xarray as xr

from dpregret import cascading
from evidence.cascading import semibandit

ROUNDS = np.arange(1, 21)
RUNS = xr.DataArray([-1.0, 0.0, 1.0], dims="replicate")
GROWTH = xr.DataArray(ROUNDS / ROUNDS[-1], dims="round", coords={"round": ROUNDS})


def regret(linear, cascade, epsilons=(0.2, 2.0)):
    """Regret (reward, epsilon, replicate, round) that ends at the heights given for each epsilon."""
    heights = xr.DataArray(
        np.array([linear, cascade], dtype=float),
        dims=("reward", "epsilon"),
        coords={"reward": ["linear", "cascade"], "epsilon": list(epsilons)},
    )
    return (heights + RUNS) * GROWTH


BASE = regret([10], [20], [1.0]).isel(epsilon=0, drop=True)


@pytest.mark.parametrize(
    ("linear", "cascade", "word"),
    [
        ([90, 50], [80, 40], "holds"),
        ([90, 50], [41, 40], "consistent"),
        ([41, 40], [80, 40], "consistent"),
        ([90, 50], [40, 80], "fails"),
        ([50, 90], [80, 40], "fails"),
    ],
)
def test_the_gap_is_larger_at_the_smaller_epsilon_for_both_rewards(linear, cascade, word):
    card = semibandit.gap_card(regret(linear, cascade), BASE, reading="honest")
    assert (card.claim, card.verdict, card.reading) == ("cascading/figure-cucb", word, "honest")
    assert card.check.endswith("at ε = 0.2 and 2")


def test_the_card_prints_the_gaps_to_the_non_private_algorithm():
    card = semibandit.gap_card(regret([90, 70, 50], [80, 60, 40], (2.0, 1.0, 0.2)), BASE, reading="honest")
    assert (
        card.observed
        == "linear reward: ≈ 40.00 ± 0.82 and ≈ 80.00 ± 0.82; cascade reward: ≈ 20.00 ± 0.82 and ≈ 60.00 ± 0.82"
    )
    assert card.verdict == "fails"


@pytest.mark.parametrize(("reading", "name"), [("honest", "honest"), ("noise and bonus", "scaled")])
def test_the_figure_has_both_curves_of_each_panel_in_its_numbers(reading, name, tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    shown = regret([90, 50], [80, 40]).sel(reward="linear").expand_dims(reading=[reading])
    grid = xr.Dataset({"regret": shown, "value_epsilon": shown.isel(replicate=0, round=0, drop=True)})
    semibandit.draw(
        grid,
        BASE.sel(reward="linear"),
        reading=reading,
        random_set=100.0,
        reward="linear",
        problem=cascading.SemiBanditProblem([0.9, 0.5, 0.1], 2),
        instance="made up",
    )
    rows = list(csv.DictReader((tmp_path / f"cascading-semibandit-{name}.csv").open()))
    assert list(rows[0]) == ["epsilon", "algorithm", "round", "regret", "regret_se"]
    last = {(row["epsilon"], row["algorithm"]): float(row["regret"]) for row in rows if row["round"] == "20"}
    assert last == {
        ("0.2", "cucb"): 10.0,
        ("0.2", "gaussian cucb"): 90.0,
        ("2.0", "cucb"): 10.0,
        ("2.0", "gaussian cucb"): 50.0,
    }
