"""Curves of the regret against the round, and the names of the figures."""

import numpy as np
import pytest
import xarray as xr

from dpregret.cascading import READINGS
from evidence import report
from evidence.cascading import curves


def test_every_reading_has_a_meaning_and_a_figure():
    assert set(curves.MEANING) == set(READINGS)
    assert curves.figure_name("a-b", "honest") == "a-b-honest"
    assert curves.figure_name("a-b", "noise only") == curves.figure_name("a-b", "noise and bonus") == "a-b-scaled"
    with pytest.raises(ValueError, match="reading must be"):
        curves.figure_name("a-b", "printed")


def test_a_curve_is_drawn_in_full_and_kept_at_every_tenth_round():
    rounds = np.arange(1, 31)
    regret = xr.DataArray([rounds * 1.0, rounds * 3.0], dims=("replicate", "round"), coords={"round": rounds})
    _, (ax,) = report.panels(1)
    rows = curves.regret_rows("epsilon")
    curves.add_curve(ax, rows, regret, labels={"epsilon": 0.5}, color=report.BLUE)
    assert dict(rows) == {
        "epsilon": [0.5] * 3,
        "round": [10, 20, 30],
        "regret": [20.0, 40.0, 60.0],
        "regret_se": [10.0, 20.0, 30.0],
    }
    assert ax.lines[0].get_ydata().tolist() == (2.0 * rounds).tolist()
    assert curves.largest_mean(regret) == 60.0


def test_the_line_of_a_random_list_ends_at_its_regret():
    _, (ax,) = report.panels(1)
    curves.add_random_line(ax, 30, 7.0)
    curves.add_random_line(ax, 30, 5.0, label="Random super arm")
    curves.finish_axes(ax, 30, 8.0)
    assert [(list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines] == [
        ([0, 30], [0, 7.0]),
        ([0, 30], [0, 5.0]),
    ]
    assert [line.get_label() for line in ax.lines] == ["Random list", "Random super arm"]
    assert (ax.get_xlim(), ax.get_ylim(), ax.get_xlabel()) == ((0, 30), (0, 8.0), "round")
