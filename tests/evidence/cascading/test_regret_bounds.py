"""The exhibit "Regret bounds": the comparison with measured regret, the bracket, and the margin of Theorem 6."""

import csv
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import xarray as xr

from dpregret import cascading
from evidence.cascading import bounds, bracket, regret_bounds

PROBLEM = cascading.CascadeProblem([0.5, 0.4, 0.3], 2)
GAUSSIAN = cascading.GaussianLDP(epsilon=0.5, delta=0.01)


@pytest.fixture
def columns(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))

    def read(name):
        with open(tmp_path / f"{name}.csv", newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))

    return read


def curves(*values):
    rounds = [10, 100]
    data = np.multiply.outer(np.array(values, dtype=float), np.array([1.0, 2.0]))
    return xr.DataArray(data, dims=("replicate", "round"), coords={"round": rounds})


def play(policy, backend):
    return cascading.simulate(policy, PROBLEM, horizon=300, replicates=3, seed=3, backend=backend).values


def test_a_comparison_holds_the_last_round_and_where_the_bound_begins_to_say_something():
    bound_of = {
        "Theorem 4": lambda horizon, version: {"printed": 200.0, "corrected": 5.0}[version] * math.sqrt(horizon)
    }
    measured = {("Theorem 4", "printed"): curves(1, 3), ("Theorem 4", "corrected"): curves(2, 2)}
    printed, corrected = regret_bounds.compare(measured, bound_of, horizon=100, per_round=0.5)
    assert (printed.bound, printed.regret, corrected.regret, corrected.se) == (2000.0, 4.0, 4.0, 0.0)
    assert printed.se == pytest.approx(2.0, rel=1e-12, abs=0)  # 2 and 6: deviation sqrt 8, over sqrt 2
    # 200 sqrt(t) = t / 2 at t = 400^2
    assert printed.informative_from == pytest.approx(math.log10(400**2), rel=1e-10, abs=0)
    assert corrected.informative_from == pytest.approx(2.0, rel=1e-10, abs=0)
    first, second = regret_bounds.lines([printed, corrected], horizon=100)
    assert first.startswith("Theorem 4 printed: at T = 100 the bound is 2000, the measured regret ≈ 4.0 ± 2.0; ")
    assert second.endswith("below a random list from T = 10^2.0000 on")


def test_the_bounds_begin_where_they_cross_a_random_list():
    per_round = bounds.random_list_regret(PROBLEM, 1)
    bound = partial(bounds.theorem_6, PROBLEM, epsilon=1.0, delta=0.01)
    start = bounds.informative_from(lambda t: bound(horizon=t), per_round=per_round)
    for factor, sign in ((0.99, 1), (1.01, -1)):
        t = factor * 10**start
        assert sign * (bound(horizon=t) - bounds.random_list_regret(PROBLEM, t)) > 0
    with pytest.raises(ValueError, match="per_round"):
        bounds.informative_from(lambda t: 1.0, per_round=0.0)


def test_the_figure_of_the_bounds_holds_measured_and_bound_of_each_theorem(columns):
    names = ("Theorem 4", "Theorem 6", "Theorem 7", "Theorem 2")
    measured = {(name, version): curves(1, 3) for name in names for version in ("printed", "corrected")}
    bound_of = {name: lambda horizon, version: len(version) * math.log(horizon) for name in names}
    regret_bounds.draw(measured, bound_of, per_round=0.25, about="made up.")
    rows = columns("cascading-regret-bounds")
    assert {row["theorem"] for row in rows} == set(names)
    one = [row for row in rows if row["theorem"] == "Theorem 2"]
    assert [float(row["regret"]) for row in one if row["curve"] == "measured printed"] == [2.0, 4.0]
    assert [float(row["regret_se"]) for row in one if row["curve"] == "measured printed"] == [1.0, 2.0]
    far = [row for row in one if row["curve"] == "bound corrected"]
    assert len(far) == 60 and float(far[-1]["regret"]) == pytest.approx(9 * math.log(1e12), rel=1e-12, abs=0)
    assert {row["regret_se"] for row in far} == {"0.0"}


def test_the_figure_of_the_bracket_holds_its_suprema(columns):
    regret_bounds.draw_bracket([1, 2, 3], np.array([1.0, 1.25, 1.390625]))
    assert [float(row["supremum"]) for row in columns("cascading-bracket")] == [1.0, 1.25, 1.390625]


def test_the_printed_program_is_solved_exactly_and_allows_more_than_is_stated():
    gaps = np.array([Fraction(1), Fraction(1, 2), Fraction(1, 3)])
    # m = (1, 4, 4): 1 + 2 + 4/3; stated: 1 + (4 - 1)/2 + (9 - 4)/3
    assert bracket.printed_program(gaps) == Fraction(13, 3)
    assert bounds.prefix_sum(gaps, gaps**-2) == Fraction(25, 6)
    rng = np.random.default_rng(1)
    for length in (1, 2, 4, 7):
        some = np.sort(rng.uniform(0.1, 1, length))[::-1]
        assert bracket.solved_program(some) == pytest.approx(bracket.printed_program(some), rel=1e-9, abs=0)
        assert bracket.printed_program(some) >= bounds.bracket(some) - 1e-12
    flat = np.r_[np.ones(4), 0.5]  # four items fill all of 1/gap^2
    assert bracket.printed_program(flat) * flat[-1] == pytest.approx(2.0, rel=1e-12, abs=0)


@pytest.mark.parametrize(("length", "value"), [(1, 1.0), (2, 1.25), (3, 1.390625), (5, None)])
def test_the_maximiser_finds_the_supremum(length, value):
    found = bracket.numeric_supremum(length, np.random.default_rng(2))
    assert found == pytest.approx(value or bounds.bracket_supremum(length), rel=1e-9, abs=0)


def test_the_lines_of_the_leading_constants():
    first, last = regret_bounds.constant_lines(2, [4.0])
    root, b = math.sqrt(1.5), 0.5
    corrected = 1.25 * (root + b * math.sqrt(12)) ** 2 / (root + b * math.sqrt(24)) ** 2
    assert first == (
        f"ε = 4    leading constant over the printed one: corrected bonus {corrected:.4f}, the paper's proof 2.0000"
    )
    b = (math.sqrt(1.25) - 1) / (math.sqrt(8) * (math.sqrt(2) - math.sqrt(1.25)))
    assert last == f"K = 2: below the printed one for b > {b:.6f}, that is ε < {2 / b:.4f}"


def test_the_margin_of_theorem_6_agrees_with_the_two_bounds():
    found = regret_bounds.theorem_6_margin(0.5, grid=((1, 3), (1, 2), (1e-3, 0.5)))
    problem = cascading.CascadeProblem([1.0] * found.list_length + [0.0] * found.others, found.list_length)
    given = {"horizon": found.horizon, "epsilon": 0.5, "delta": found.delta}
    printed = bounds.theorem_6(problem, **given)
    proved = bounds.theorem_6(problem, **given, version="proved")  # with a bracket of 1, below the supremum
    least = printed / min(found.horizon, proved)
    assert found.ratio <= least * (1 + 1e-12)
    if found.list_length == 1:
        assert found.ratio == pytest.approx(least, rel=1e-12, abs=0)
    single = regret_bounds.theorem_6_margin(0.5, grid=((1,), (1,), (1e-3,)))
    one = cascading.CascadeProblem([1.0, 0.0], 1)
    for t in (2.0, 3.0, 50.0):
        ratio = bounds.theorem_6(one, horizon=t, epsilon=0.5, delta=1e-3) / min(
            t, bounds.theorem_6(one, horizon=t, epsilon=0.5, delta=1e-3, version="proved")
        )
        assert single.ratio <= ratio * (1 + 1e-12)
    assert "K = 1, L = 2, δ = 0.001, T = " in regret_bounds.margin_line(0.5, single)


def test_theorem_6_holds_from_a_ratio_of_1_and_stays_open_below():
    assert regret_bounds.judge_theorem_6(1.0).verdict == "holds"
    card = regret_bounds.judge_theorem_6(0.9)
    assert (card.verdict, card.observed) == ("open", "at least 0.9000")
