"""Verdicts, tables and figures of Theorems 3.2 and 4.7 on made-up regret."""

import csv
import math

import numpy as np
import pytest

from dpregret.contextual.elimination import epoch_lengths
from evidence.contextual import bounds
from evidence.contextual import regret_theorem as theorem
from evidence.contextual import regret_theorem_figures as figures
from evidence.contextual.algorithm_1 import Comparison
from evidence.contextual.slopes import Slope
from evidence.contextual.worst_instance import Worst

GOOD = Comparison(regret=20.0, printed=50.0, corrected=100.0, lemma=0.8, lost=0, valid=True, agree=True)


def test_lemma_and_theorem_hold_on_good_runs():
    lemma, regret = theorem.cards_3_2([GOOD, GOOD._replace(regret=30.0)])
    assert (lemma.verdict, regret.verdict) == ("holds corrected", "holds")
    assert lemma.observed == "largest ratio ≈ 0.800; best action eliminated 0 times"
    assert regret.observed == "largest ratio ≈ 0.300; without the factor 2 of (26): ≈ 0.600"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (dict(lemma=1.01), ["consistent", "holds"]),
        (dict(lost=1), ["consistent", "holds"]),
        (dict(valid=False), ["consistent", "consistent"]),
        (dict(regret=101.0), ["holds corrected", "consistent"]),
    ],
)
def test_one_bad_run_is_enough(bad, words):
    assert [card.verdict for card in theorem.cards_3_2([GOOD, GOOD._replace(**bad), GOOD])] == words


def test_bound_4_7_is_that_of_its_epochs_and_never_above_that_of_any_play():
    assert theorem.bound_4_7(10**20, 2, 2, alpha=1.0, version="printed") == 2e20
    lengths = epoch_lengths(10**38, math.ceil(4 * math.log(2 * 1e38 * math.log(1e38))))
    expected = bounds.regret_bound([float(n) for n in lengths], 2, 2, alpha=1.0, version="corrected")
    assert theorem.bound_4_7(10**38, 2, 2, alpha=1.0, version="corrected") == expected < 2e38


def test_slope_of_the_bound():
    """At fixed beta, T^(1/2 + 2 beta) times the square of ln(96 T / beta): its slope by differentiation."""
    x, beta = [23.9, 24.0, 24.1], 0.1
    log = math.log(96e24 / beta)
    assert theorem.bound_slope(x, beta, alpha=1.0) == pytest.approx(0.7 + 2 / log, rel=1e-5, abs=0)
    assert theorem.bound_slope(x, beta, alpha=1.0, logarithms=1) == pytest.approx(0.7 + 1 / log, rel=1e-5, abs=0)
    log = math.log(96e24 * math.log(1e24))
    power = 0.5 + 2 / math.log(1e24) + 2 / log * (1 + 1 / math.log(1e24))  # (c ln T)^2 times ln^2(96 T ln T)
    assert theorem.bound_slope(x, None, alpha=1.0) == pytest.approx(power, rel=1e-4, abs=0)


X = [12, 14, 16, 18]


def law(power, x=X):
    mean = 10 ** (power * np.array(x))
    return theorem.Regret(mean, 0.1 * mean)


def test_exponents():
    found = theorem.exponents(X, {"a": law(0.6), "b": law(0.75)}, 0.99)
    assert [part.value for part in found.values()] == pytest.approx([0.6, 0.75], rel=1e-9, abs=0)


def test_worst_regret_as_columns():
    found = [Worst(0.1, np.array([n, n + 2.0]), [], 1, 1) for n in (4, 6)]
    np.testing.assert_allclose(theorem.Regret.of(found), [[5, 7], [1, 1]])


def rows_of(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.data.splitlines()][2:]


def test_table_of_betas():
    found = {("lplr tuned", None): Slope(0.5, 0.01, 0.48, 0.52), ("lplr tuned", 0.05): Slope(0.6, 0.01, 0.58, 0.62)}
    rows = rows_of(theorem.beta_table(X, found, 1.0))
    assert [row[1:4] for row in rows] == [["1/ln T", "≈ [0.480, 0.520]", "1/2"], ["0.05", "≈ [0.580, 0.620]", "0.6"]]
    assert rows[1][4] == f"{theorem.bound_slope(X, 0.05, alpha=1.0):.3f}"


def test_table_of_dimensions_has_the_factor_a_dimension():
    growth = {("least squares", 12): theorem.Regret(np.array([1.0, 5.0, 27.0]), np.ones(3))}
    rows = rows_of(theorem.dimension_table(growth, [2, 4, 5]))
    assert rows[0][1] == "≈ 3.0"
    assert rows[1] == ["bound: 3.15 M", f"{3.15 * 14:.0f}"]


def exponents_below(beta, by=0.01):
    top = theorem.bound_slope(X, beta, alpha=1.0) - by
    return Slope(top - 0.01, 0.002, top - 0.02, top)


def card(measured=0.5, **changes):
    found = {beta: exponents_below(beta) for beta in (None, 0.05, 0.1)} | changes.pop("found", {})
    return theorem.card_4_7(np.array([0.1, measured]), np.ones(2), X, found, 1.0)


def test_theorem_4_7_holds_corrected_if_regret_and_exponents_are_below():
    good = card()
    assert good.verdict == "holds corrected"
    assert good.observed.startswith("largest ratio regret / bound ≈ 0.500") and "β = 0.05: ≈ [" in good.observed
    assert f"{theorem.bound_slope(X, 0.1, alpha=1.0):.3f}; at one logarithm" in good.required


def test_theorem_4_7_is_only_consistent_if_one_of_them_is_not():
    assert card(measured=1.01).verdict == "consistent"
    for beta in (None, 0.05, 0.1):
        assert card(found={beta: exponents_below(beta, by=-0.001)}).verdict == "consistent"


@pytest.fixture
def published(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))

    def read(name):
        with open(tmp_path / f"{name}.csv", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))

    return read


def numbers(rows, column):
    return [float(row[column]) for row in rows]


def test_figure_of_theorem_3_2(published):
    figures.draw_theorem_3_2([2, 4], {"least squares": [GOOD, GOOD._replace(regret=40.0)]}, 1.0)
    rows = published("contextual-theorem-3-2")
    assert numbers(rows, "measured") == pytest.approx([2, 0.4], rel=1e-12, abs=0)
    assert numbers(rows, "printed") == pytest.approx([5, 0.5], rel=1e-12, abs=0)
    assert numbers(rows, "corrected") == pytest.approx([10, 1], rel=1e-12, abs=0)


def test_figure_of_theorem_4_7(published):
    measured = {"text": law(1.0), "corrected": law(0.5)}
    over = {"printed": np.array([2e3, 2e4]), "corrected": np.array([1e3, 1e4]), "own": np.array([5e2, 5e3])}
    figures.draw_theorem_4_7(X, measured, range(3, 5), over, 1.0)
    rows = published("contextual-theorem-4-7")
    assert [row["curve"] for row in rows] == (
        ["text with corrections"] * 4 + ["lplr corrected rr"] * 4
        + ["bound printed"] * 2 + ["bound corrected"] * 2 + ["bound of corrected LPLR"] * 2
    )  # fmt: skip
    assert numbers(rows[:5], "over_horizon") == pytest.approx([1, 1, 1, 1, 1e-6], rel=1e-12, abs=0)
    assert numbers(rows[8:], "over_horizon") == pytest.approx([2, 2, 1, 1, 0.5, 0.5], rel=1e-12, abs=0)
    assert numbers(rows, "over_horizon_se")[:1] == pytest.approx([0.1], rel=1e-12, abs=0)


def test_figure_of_fixed_beta(published):
    found = {(name, beta): law(0.5) for name in ("lplr corrected rr", "lplr tuned") for beta in (None, 0.05)}
    figures.draw_fixed_beta(X, found, 1.0)
    rows = published("contextual-fixed-beta")
    assert [row["beta"] for row in rows] == (["1/ln T"] * 4 + ["0.05"] * 4) * 2
    assert numbers(rows, "regret_over_root") == pytest.approx([1] * 16, rel=1e-9, abs=0)


def test_figure_of_the_dimension(published):
    growth = {("least squares", x): theorem.Regret(np.full(2, 10 ** (x / 2)), np.ones(2)) for x in (4, 6)}
    figures.draw_dimension([2, 3], growth, 1.0)
    rows = published("contextual-dimension")
    assert [(row["log10_horizon"], row["dimension"]) for row in rows] == [
        ("4", "2"),
        ("4", "3"),
        ("6", "2"),
        ("6", "3"),
    ]
    assert numbers(rows, "regret_over_root_se") == pytest.approx([0.01, 0.01, 0.001, 0.001], rel=1e-9, abs=0)


def test_figure_of_scales_and_alpha(published):
    two = theorem.Regret(np.array([1e3, 2e3]), np.array([10.0, 20.0]))
    figures.draw_scales(
        ([1, 8], {"least squares": two}), ([0.1, 1.0], {"lplr corrected rr": two}), log_horizon=6, alpha=1.0
    )
    rows = published("contextual-scales")
    assert [(row["panel"], row["oracle"], float(row["x"])) for row in rows] == [
        ("scales", "least squares", 1), ("scales", "least squares", 8),
        ("alpha", "lplr corrected rr", 0.1), ("alpha", "lplr corrected rr", 1),
    ]  # fmt: skip
    assert numbers(rows, "regret_over_root") == pytest.approx([1, 2, 1, 2], rel=1e-12, abs=0)
