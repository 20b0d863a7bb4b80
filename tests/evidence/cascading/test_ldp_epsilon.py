"""The sentence about Figure 1 (e): verdicts and groups on regrets made up."""

import csv
import math

import numpy as np
import pytest
import xarray as xr

from dpregret import cascading
from evidence.cascading import ldp_epsilon

RUNS = np.linspace(-1.5, 1.5, 12)


def final(laplace, gaussian, epsilons=None):
    """Final regret (epsilon, algorithm, replicate): twelve repetitions around each height."""
    heights = np.transpose([laplace, gaussian])
    return xr.DataArray(
        heights[..., None] + RUNS,
        dims=("epsilon", "algorithm", "replicate"),
        coords={"epsilon": epsilons or list(range(1, len(laplace) + 1)), "algorithm": ["laplace", "gaussian"]},
    )


BASE = xr.DataArray(100.0 + RUNS, dims="replicate")


@pytest.mark.parametrize(
    ("laplace", "gaussian", "word"),
    [
        ([900, 150], [800, 140], "holds"),
        ([900, 250], [800, 140], "fails"),
        ([900, 150], [800, 250], "fails"),
        ([900, 150], [141, 140], "consistent"),  # the fall of one is not beyond three standard errors
        ([900, 199], [800, 140], "consistent"),  # some runs, not most, above twice the non-private mean
    ],
)
def test_the_regret_falls_to_at_most_twice_the_non_private_one(laplace, gaussian, word):
    card = ldp_epsilon.decay_card(final(laplace, gaussian), BASE, reading="honest", instance="made up")
    assert (card.verdict, card.reading, card.claim) == (word, "honest", "cascading/figure-decay")
    assert card.check.startswith("regret at ε = 2 against")


def test_the_groups_of_epsilon_add_up_differences_and_their_variances():
    regret = final([10, 12, 14, 20], [9, 10, 15, 15])
    se = RUNS.std(ddof=1) / math.sqrt(12)
    expected = [(1 + 2) / (2 * se), (-1 + 5) / (2 * se)]
    np.testing.assert_allclose(ldp_epsilon.group_differences(regret, groups=2), expected, rtol=1e-12)
    assert ldp_epsilon.group_differences(final(np.full(25, 2), np.full(25, 1))).size == 10


@pytest.mark.parametrize(
    ("z", "word"),
    [
        ([0.0] * 9 + [3.7], "holds"),
        ([0.0] * 9 + [3.6], "consistent"),
        ([-3.6] + [0.0] * 8 + [9.0], "holds"),
        ([-3.7] + [0.0] * 8 + [9.0], "fails"),
    ],
)
def test_the_gaussian_mechanism_is_closer_somewhere_and_farther_nowhere(z, word):
    card = ldp_epsilon.gaussian_card(np.array(z), reading="noise only", instance="made up")
    assert (card.verdict, card.reading) == (word, "noise only")
    assert card.required == "some above 3.62 and none below -3.62"


@pytest.mark.parametrize("reading", ["noise and bonus", "honest"])
def test_the_figure_shows_a_reading_and_the_honest_one_once(reading, tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    grids = {
        "noise and bonus": final([3, 2, 1], [3, 1, 1], [0.1, 0.5, 1.0]),
        "honest": final([9, 8], [9, 7], [0.1, 1.0]),
    }
    ldp_epsilon.draw(
        grids,
        BASE,
        reading=reading,
        random_list=300.0,
        in_force=(0.1, 1.0),
        horizon=50,
        problem=cascading.kveton_problem(6, 2),
        instance="made up",
    )
    rows = list(csv.DictReader((tmp_path / "cascading-ldp-epsilon.csv").open()))
    assert list(rows[0]) == ["reading", "algorithm", "epsilon", "regret", "regret_se"]
    assert len(rows) == (4 if reading == "honest" else 10)
    assert [float(row["regret"]) for row in rows[-4:]] == [9.0, 8.0, 9.0, 7.0]
    assert {row["reading"] for row in rows} == {reading, "honest"}
