"""The two sentences about Figure 1 (a) to (d), on curves whose order and growth are known."""

import csv

import numpy as np
import pytest
import xarray as xr

from dpregret import cascading
from evidence.cascading import ldp_regret
from evidence.cascading.comparisons import doubling_ratio

ROUNDS = np.arange(1, 21) * 500
NOISE = np.array([-1.0, 0.0, 1.0])
EPSILONS = [0.5, 2.0]


def curves(heights, growth=np.log, noise=1.0):
    """Regret (reading, epsilon, algorithm, replicate, round): a height an algorithm, three repetitions around it."""
    shape = growth(ROUNDS) / growth(ROUNDS[-1])
    values = [[np.outer(height + noise * NOISE, shape) for height in heights.values()] for _ in EPSILONS]
    return xr.DataArray(
        [values] * len(cascading.READINGS),
        dims=("reading", "epsilon", "algorithm", "replicate", "round"),
        coords={"reading": list(cascading.READINGS), "epsilon": EPSILONS, "algorithm": list(heights), "round": ROUNDS},
    )


def without_privacy(height=100.0):
    return curves({"laplace": height}).sel(reading="honest", epsilon=0.5, algorithm="laplace", drop=True)


@pytest.mark.parametrize(
    ("laplace", "gaussian", "word"),
    [(300, 200, "holds"), (201, 200, "consistent"), (200, 300, "fails"), (300, 101, "consistent"), (300, 50, "fails")],
)
def test_the_order_is_laplace_above_gaussian_above_non_private(laplace, gaussian, word):
    regret = curves({"laplace": laplace, "gaussian": gaussian, "composition": 1e4})
    cards = ldp_regret.order_cards(regret, without_privacy(), instance="made up")
    assert [(card.reading, card.verdict) for card in cards] == [(name, word) for name in cascading.READINGS]
    assert {card.claim for card in cards} == {"cascading/figure-order"}


def test_the_order_needs_every_epsilon():
    regret = curves({"laplace": 300, "gaussian": 200})
    regret.loc[{"epsilon": 2.0, "algorithm": "laplace", "reading": "honest"}] -= 150
    words = {c.reading: c.verdict for c in ldp_regret.order_cards(regret, without_privacy(), instance="made up")}
    assert words == {"noise and bonus": "holds", "noise only": "holds", "honest": "fails"}


def test_the_final_regrets_are_printed_a_line_for_each_reading_and_epsilon():
    lines = ldp_regret.final_lines(curves({"laplace": 300, "gaussian": 200}), without_privacy())
    assert len(lines) == 7
    assert lines[0].split() == "noise and bonus ε = 0.5 Laplace ≈ 300.00 ± 0.58, Gaussian ≈ 200.00 ± 0.58".split()
    assert lines[-1] == "non-private ≈ 100.00 ± 0.58"


@pytest.mark.parametrize(("growth", "word"), [(np.log, "consistent"), (lambda t: t * 1.0, "fails")])
def test_growth_like_a_line_is_not_growth_like_a_logarithm(growth, word):
    regret = curves({"laplace": 300, "gaussian": 200, "composition": 100}, growth).isel(replicate=[0, 1, 2] * 4)
    cards = ldp_regret.growth_cards(doubling_ratio(regret), instance="made up")
    assert [card.verdict for card in cards] == [word] * 3
    assert ("share of runs" in cards[0].margin) == (word == "fails")


def test_growth_is_judged_where_it_is_fastest_and_not_by_composition():
    ratio = doubling_ratio(curves({"laplace": 300, "gaussian": 200, "composition": 100})).isel(replicate=[0, 1, 2] * 4)
    ratio.loc[{"algorithm": "composition"}] = 2.0
    ratio.loc[{"algorithm": "gaussian", "epsilon": 2.0, "reading": "honest"}] = [1.9, 1.94, 1.98] * 4
    cards = {card.reading: card for card in ldp_regret.growth_cards(ratio, instance="made up")}
    assert {name: card.verdict for name, card in cards.items()} == {
        "noise and bonus": "consistent",
        "noise only": "consistent",
        "honest": "fails",
    }
    assert cards["honest"].observed.startswith("largest mean ratio ≈ 1.9")
    assert [line.split("Gaussian: ")[0] for line in ldp_regret.ratio_lines(ratio.sel(reading="honest"))] == [
        "ε = 0.5  Laplace, ",
        "ε = 2    Laplace, ",
    ]


def test_the_figure_has_a_panel_an_epsilon_and_every_curve_in_its_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    regret = curves({"laplace": 300, "gaussian": 200, "composition": 400})
    grid = xr.Dataset(
        {"regret": regret, "value_epsilon": xr.full_like(regret.isel(replicate=0, round=0, drop=True), 0.5)}
    )
    problem = cascading.kveton_problem(6, 2)
    ldp_regret.draw(grid, without_privacy(), reading="honest", random_list=900.0, problem=problem, instance="made up")
    rows = list(csv.DictReader((tmp_path / "cascading-ldp-regret-honest.csv").open()))
    assert list(rows[0]) == ["epsilon", "algorithm", "round", "regret", "regret_se"]
    assert len(rows) == 2 * 4 * 2
    last = {(row["epsilon"], row["algorithm"]): float(row["regret"]) for row in rows if row["round"] == "10000"}
    heights = {"non-private": 100.0, "laplace": 300.0, "gaussian": 200.0, "composition": 400.0}
    assert last == {(str(e), name): pytest.approx(h, rel=1e-12, abs=0) for e in EPSILONS for name, h in heights.items()}
