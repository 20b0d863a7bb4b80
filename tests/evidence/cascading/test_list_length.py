"""The gap between Laplace and Gaussian against K: its verdicts on gaps made up, and both figures."""

import csv

import numpy as np
import pytest
import xarray as xr

from dpregret import cascading
from evidence.cascading import list_length
from evidence.cascading.comparisons import Estimate, difference, estimate, relative_difference

LENGTHS = [2, 4, 8]
READINGS = list(cascading.READINGS)


def gap_of(values, se=1.0):
    mean = xr.DataArray(np.asarray(values, dtype=float), dims="list_length", coords={"list_length": LENGTHS})
    return Estimate(mean, xr.full_like(mean, se))


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([0, 3, 6], "holds"),
        ([0, 2, 4], "consistent"),  # rises, by less than three standard errors
        ([0, 9, 8], "consistent"),  # one step down, within three standard errors
        ([0, 9, 4.5], "fails"),
        ([0, -4.5, 9], "fails"),
    ],
)
def test_the_gap_grows_if_no_step_falls_and_the_whole_rises(values, word):
    card = list_length.growth_card(gap_of(values), kind="absolute", reading="honest", instance="made up")
    assert (card.verdict, card.reading) == (word, "absolute, honest")
    assert card.check == "absolute gap for K = 2, 4, 8"


def test_a_relative_gap_is_in_per_cent():
    gap = gap_of([0.01, 0.02, 0.04], 0.001)
    assert list_length.in_words(gap, "relative") == "≈ 1.00 ± 0.10; ≈ 2.00 ± 0.10; ≈ 4.00 ± 0.10"
    assert list_length.in_words(gap, "absolute") == "≈ 0.0100 ± 0.0010; ≈ 0.0200 ± 0.0010; ≈ 0.0400 ± 0.0010"
    card = list_length.growth_card(gap, kind="relative", reading="honest", instance="made up")
    assert card.observed == list_length.in_words(gap, "relative") + " %"


@pytest.fixture
def grid():
    rounds = np.arange(1, 21)
    regret = xr.DataArray(
        np.ones((3, 3, 2, 2, 1)) * rounds,
        dims=("reading", "list_length", "algorithm", "replicate", "round"),
        coords={"reading": READINGS, "list_length": LENGTHS, "algorithm": ["laplace", "gaussian"], "round": rounds},
    )
    regret = regret * xr.DataArray([2.0, 1.0], dims="algorithm") * xr.DataArray([1.0, 3.0], dims="replicate")
    return xr.Dataset({"regret": regret, "value_epsilon": regret.isel(replicate=0, round=0, drop=True)})


def test_the_curves_of_each_length_are_in_the_numbers(grid, tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    baseline = 0.5 * grid["regret"].sel(reading="honest", algorithm="gaussian", drop=True)
    at_random = dict.fromkeys(LENGTHS, 50.0)
    about = dict(random_list=at_random, epsilon=0.2, n_items=9, instance="made up")
    list_length.draw(grid, baseline, reading="noise only", **about)
    rows = list(csv.DictReader((tmp_path / "cascading-list-length-scaled.csv").open()))
    assert list(rows[0]) == ["list_length", "algorithm", "round", "regret", "regret_se"]
    last = {(int(row["list_length"]), row["algorithm"]): float(row["regret"]) for row in rows if row["round"] == "20"}
    heights = {"non-private": 20.0, "laplace": 80.0, "gaussian": 40.0}
    assert last == {(length, name): height for length in LENGTHS for name, height in heights.items()}


def test_both_gaps_are_in_the_numbers_of_their_figure(grid, tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    last = estimate(grid["regret"].isel(round=-1))
    pair = last.sel(algorithm="laplace"), last.sel(algorithm="gaussian")
    about = dict(horizon=20, epsilon=0.2, replicates=2)
    list_length.draw_gaps(difference(*pair), relative_difference(*pair), **about)
    rows = list(csv.DictReader((tmp_path / "cascading-list-length-gap.csv").open()))
    assert [(row["reading"], int(row["list_length"])) for row in rows] == [(r, k) for r in READINGS for k in LENGTHS]
    assert {(float(row["absolute"]), float(row["relative"])) for row in rows} == {(40.0, 1.0)}
    assert {"absolute_se", "relative_se"} < set(rows[0])
