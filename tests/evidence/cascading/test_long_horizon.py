"""The exhibit "Long horizons": shares, exponents, where they end, the table and the cards."""

import csv
import math
from functools import partial

import numpy as np
import pytest
import xarray as xr

from dpregret.cascading import CascadeProblem
from evidence.cascading import bounds, long_horizon
from evidence.report.enclosure import ball

PROBLEM = CascadeProblem([0.5, 0.4, 0.2], 2)
ROUNDS = np.array([100, 1000, 10_000, 100_000])


def curves(*rows):
    return xr.DataArray(np.array(rows, dtype=float), dims=("replicate", "round"), coords={"round": ROUNDS})


def test_a_power_of_t_has_its_exponent_and_its_share_of_a_random_list():
    regret = curves(2 * ROUNDS**0.5, 3 * ROUNDS**0.75)
    t, local = long_horizon.exponent(regret, per_decade=2)  # a step of one checkpoint
    assert t.tolist() == [1000, 10_000, 100_000]
    assert local == pytest.approx(np.array([[0.5] * 3, [0.75] * 3]), rel=1e-12, abs=0)
    t, part = long_horizon.share(regret, per_round=0.25)
    assert t.tolist() == ROUNDS.tolist()
    assert part[0] == pytest.approx(8 * ROUNDS**-0.5, rel=1e-12, abs=0)


def quantity(curve):
    return curve["round"].values, curve.values


def test_errors_of_few_runs_are_pooled_within_a_policy():
    spread = {
        ("a", 1.0): curves([0] * 4, [2] * 4),
        ("a", 2.0): curves([0] * 4, [6] * 4),
        ("b", 1.0): curves([0] * 4, [8] * 4),
    }
    found = long_horizon.summaries(quantity, spread)
    assert list(found) == list(spread)
    assert found["a", 2.0].mean.tolist() == [3] * 4
    # standard errors of two runs: half of the distance, 1 and 3; together sqrt 5
    assert found["a", 1.0].se == pytest.approx([math.sqrt(5)] * 4, rel=1e-12, abs=0)
    assert found["a", 2.0].se == pytest.approx([math.sqrt(5)] * 4, rel=1e-12, abs=0)
    assert found["b", 1.0].se == pytest.approx([4] * 4, rel=1e-12, abs=0)


def test_errors_of_five_runs_are_their_own():
    rows = [[x, 2 * x, 0, 0] for x in range(5)]
    found = long_horizon.summaries(quantity, {("a", 1.0): curves(*rows)})
    expected = math.sqrt(2.5 / 5)
    assert found["a", 1.0].se == pytest.approx([expected, 2 * expected, 0, 0], rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("values", "level", "expected"),
    [
        ([0.4, 0.3, 0.2, 0.1], 0.5, 100.0),  # below from the start
        ([1.0, 0.8, 0.6, 0.5], 0.5, None),  # not yet
        ([1.0, 0.6, 0.4, 0.1], 0.5, 10**3.5),  # half way in log t
        ([0.9, 0.2, 0.7, 0.1], 0.4, 10**4.5),  # for the last time
    ],
)
def test_a_curve_ends_where_it_falls_below_the_level_for_good(values, level, expected):
    curve = long_horizon.Curve(ROUNDS, np.array(values), np.zeros(4))
    found = long_horizon.below(curve, level)
    assert found == (expected if expected is None else pytest.approx(expected, rel=1e-12, abs=0))


def test_a_round_is_printed_as_found_or_as_not_reached():
    assert long_horizon.printed_round(None, 1e7) == "after 1e+07"
    assert long_horizon.printed_round(123.0, 1e7) == "≈ 120"


def test_theorem_4_falls_below_half_of_a_random_list_where_they_are_equal():
    per_round = bounds.random_list_regret(PROBLEM, 1)
    t = long_horizon.theorem_4_below_half(PROBLEM, epsilon=0.5, per_round=per_round)
    share = partial(long_horizon.theorem_4_share, PROBLEM, epsilon=0.5, per_round=per_round)
    assert share(horizon=t) == pytest.approx(0.5, rel=1e-9, abs=0)
    assert share(horizon=2 * t) < 0.5 < share(horizon=t / 2)
    assert share(horizon=1000) == bounds.theorem_4(PROBLEM, horizon=1000, epsilon=0.5) / (1000 * per_round)


def test_the_enclosed_term_is_the_part_of_theorem_4_in_log_t():
    at = {"horizon": 1000, "epsilon": 0.5, "per_round": 0.25}
    enclosed = long_horizon.enclosed_main_term(PROBLEM, **at)
    whole = long_horizon.theorem_4_share(PROBLEM, **at)
    additive = 2 * math.pi**2 / 3 * 3 / (0.25 * 1000)
    assert float(enclosed.mid()) == pytest.approx(whole - additive, rel=1e-12, abs=0)
    assert float(enclosed.rad()) < 1e-20


def test_the_table_has_a_row_an_epsilon_and_policy_and_theorem_4_beside_algorithm_2():
    keys = [("laplace", 1.0), ("laplace", 2.0), ("gaussian", 1.0), ("gaussian", 2.0)]
    halves = {key: f"half {key[0]} {key[1]:g}" for key in keys}
    slow = {key: f"slow {key[0]} {key[1]:g}" for key in keys}
    lines = long_horizon.ends_table(halves, slow, {1.0: 5e6, 2.0: 7e6}).data.splitlines()
    assert lines[2] == "| 1 | Laplace LDP (Algorithm 2) | half laplace 1 | slow laplace 1 | 5e+06 |"
    assert lines[5] == "| 2 | Gaussian LDP (Algorithm 3) | half gaussian 2 | slow gaussian 2 |  |"
    assert len(lines) == 6


@pytest.mark.parametrize("what", ["share", "exponent"])
def test_the_figures_hold_every_curve(what, tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    curve = long_horizon.Curve(ROUNDS[:2], np.array([1.0, 0.5]), np.array([0.1, 0.2]))
    found = {(name, eps): curve for name in ("non-private", "laplace") for eps in (0.5, 1.0)}
    getattr(long_horizon, f"draw_{what}")(found, paper_horizon=500, about="Made up.")
    with open(tmp_path / f"cascading-long-horizon-{what}.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == ["epsilon", "algorithm", "round", "value", "value_se"]
    assert rows[2] == ["0.5", "non-private", "1000", "0.5", "0.2"] and len(rows) == 9
    assert rows[8][:2] == ["1.0", "laplace"]


def test_a_curve_is_read_at_a_round_between_its_checkpoints():
    curve = long_horizon.Curve(ROUNDS[:2], np.array([1.0, 0.5]), np.array([0.01, 0.03]))
    assert long_horizon.at_round(curve, round(math.sqrt(1e5))) == "≈ 0.750 ± 0.020"
    found = {("laplace", 0.5): curve, ("gaussian", 0.5): curve, ("laplace", 1.0): curve}
    said = long_horizon.exponents_at(found, "laplace", 1000)
    assert said == "Laplace LDP (Algorithm 2) at that horizon is ≈ 0.500 ± 0.030, ≈ 0.500 ± 0.030"


@pytest.mark.parametrize(
    ("measured", "stated", "word"),
    [
        ([(0.2, 0.01), (0.1, 0.01)], [0.5, 0.9], "consistent"),
        ([(0.2, 0.01), (0.1, 0.01)], [0.5, 1.1], "open"),  # a bound that says nothing
        ([(0.48, 0.01), (0.1, 0.01)], [0.5, 0.9], "open"),  # regret too near to its bound
    ],
)
def test_experiments_agree_where_regret_is_below_a_bound_that_says_something(measured, stated, word):
    card = long_horizon.judge_corroboration(in_force=[20, 50], measured=measured, stated=stated, horizon=1000)
    assert card.verdict == word
    assert card.observed.startswith("ε in force 20, 50; regret ≈ 0.")
    assert card.required == f"below the bound, {stated[0]:.3f}, {stated[1]:.3f}, and the bound below 1"


@pytest.mark.parametrize(("enclosed", "word"), [(ball("1.0001"), "fails"), (ball("0.9999"), "open")])
def test_honest_experiments_say_nothing_where_the_bound_is_above_a_random_list(enclosed, word):
    card = long_horizon.judge_honest(enclosed, epsilons=[0.5, 2.0], stated=[20.0, 3.0], local="all is 1", horizon=1000)
    assert card.verdict == word
    assert (
        card.observed.startswith("20, 3; at ε = 2 in ball arithmetic ") and "exponent of all is 1, where" in card.margin
    )
