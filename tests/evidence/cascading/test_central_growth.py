"""The exhibit of Theorem 2: constants of its proof, the minimax bound, the growth with either bonus, the cards."""

import csv
import math
from fractions import Fraction

import numpy as np
import pytest

from dpregret.cascading import CascadeProblem
from evidence.cascading import bounds, central_growth, rates
from evidence.report.enclosure import ball


def read(folder, name):
    with open(folder / f"{name}.csv", newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_the_constant_of_the_proof_at_xi_1_is_288():
    assert central_growth.proof_constant(1) == 288  # 2 * 12^2


def test_below_the_threshold_the_step_of_the_proof_is_false():
    (row,) = central_growth.proof_thresholds([0.2], n_items=10, gap=0.25)
    for factor, true in ((0.99, False), (1.01, True)):
        log_b = factor * row.log_b
        assert (0.2 * log_b >= 1.5 * math.log(1.2 * log_b)) == true
    assert row.constant == pytest.approx(6 * 12**1.2, rel=1e-12, abs=0)
    assert row.log10_cost == pytest.approx(1.2 * row.log_b / math.log(10), rel=1e-12, abs=0)
    # at that horizon log B is the threshold: B = 12 L log T / gap
    log_t = 10**row.log10_log_horizon
    assert math.log(12 * 10 / 0.25 * log_t) == pytest.approx(row.log_b, rel=1e-12, abs=0)
    (line,) = central_growth.threshold_lines([row])
    assert line.startswith("ξ = 0.2  constant ") and f"log B ≥ {row.log_b:.4f}, " in line


def test_the_figure_of_the_constants_holds_constant_and_threshold(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    central_growth.draw_constant(n_items=20, gap=0.15)
    rows = read(tmp_path, "cascading-theorem-2-constant")
    assert list(rows[0]) == ["xi", "constant", "log_threshold"]
    for row in rows[::30]:
        xi = float(row["xi"])
        assert float(row["constant"]) == pytest.approx((1 + 1 / xi) * 12 ** (1 + xi), rel=1e-12, abs=0)
        assert float(row["log_threshold"]) == bounds.theorem_2_threshold(xi)
    assert all(float(row["xi"]) < 1.2 for row in rows)


def test_the_minimax_bound_is_that_of_bretagnolle_and_huber():
    found = central_growth.minimax(0.1, xi=0.1)
    d = sum(p * math.log(p / (1 - p)) for p in (0.4, 0.6))  # d(0.4 || 0.6)
    horizon = math.floor(1 / d)
    assert found.lower == pytest.approx(0.1 * horizon / 8 * math.exp(-(horizon + 1) * d), rel=1e-12, abs=0)
    # the main term is 1, so the printed bound is 1 + 2 pi^2 / 3 * 2
    assert found.printed == pytest.approx(1 + 4 * math.pi**2 / 3, rel=1e-9, abs=0)
    assert found.lower < found.printed
    small = central_growth.minimax(1e-6, xi=0.1)
    assert small.lower > small.printed


def test_pulls_of_a_pure_power_of_the_logarithm_have_that_exponent():
    horizons = np.array([100, 1000, 10_000, 100_000])
    base = np.log(horizons) ** 2.5
    growth = central_growth.growth_of(np.array([base, 3 * base]), horizons, gap=0.5)
    assert growth.form == pytest.approx(12 * base, rel=1e-12, abs=0)  # 3 * 2 / 0.5
    assert growth.pulls == pytest.approx(2 * base, rel=1e-12, abs=0)
    assert growth.pulls_se == pytest.approx(base, rel=1e-12, abs=0)  # deviation sqrt 2, over sqrt 2
    assert growth.exponent == pytest.approx([2.5, 2.5], rel=1e-12, abs=0)
    assert growth.exponent_se == pytest.approx([0, 0], abs=1e-12)
    lines = central_growth.growth_lines("printed", growth)
    assert lines[0].startswith("printed: n = 100, pulls over the closed form ≈ 0.167 ± 0.083")
    assert "exponent" not in lines[1] and "exponent over the last decade ≈ 2.5" in lines[2]


def made_up(exponent=2.6):
    horizons = np.array([100, 1000, 10_000])
    return central_growth.Growth(
        horizons, np.full(3, 10.0), np.full(3, 11.0), np.full(3, 0.5), np.array([exponent]), np.array([0.1])
    )


def test_the_figure_of_the_growth_holds_the_pulls_of_either_bonus(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    central_growth.draw_growth({"proof": made_up(), "printed": made_up()}, xi=0.1, replicates=4)
    rows = read(tmp_path, "cascading-growth-exponent")
    assert [row["bonus"] for row in rows] == ["printed"] * 3 + ["proof"] * 3
    assert rows[1] == {"bonus": "printed", "horizon": "1000", "pulls": "11.0", "pulls_se": "0.5"}


def test_the_leading_form_passes_the_printed_bound_where_both_agree():
    log_n = central_growth.overtaking_horizon(gap=0.5, xi=0.1) * math.log(10)
    assert 6 * log_n**2.5 == pytest.approx(384 * (2 * log_n) ** 1.1, rel=1e-9, abs=0)
    problem = CascadeProblem([0.9, 0.4], 1)
    printed = bounds.theorem_2(problem, horizon=math.exp(log_n), epsilon=1.0, c1=1.0, xi=0.1)
    # the form is of pulls times the gap of 0.5: regret 3 L log^2.5, and the additive term is left out
    assert printed - 4 * math.pi**2 / 3 == pytest.approx(6 * log_n**2.5, rel=1e-9, abs=0)


@pytest.mark.parametrize(("xi", "word"), [(0.1, "fails"), (1.5, "open")])
def test_the_printed_bonus_fails_below_an_exponent_of_5_halves(xi, word):
    printed, proof = central_growth.judge_theorem_2(made_up(), xi=xi, passes=14.5, beyond=7.0, constants=(285, 1242))
    assert printed.verdict == word and proof.verdict == "holds corrected"
    assert f"5/2 against {1 + Fraction(str(xi))}: " in printed.observed and "n = 10^14.5000" in printed.observed
    assert "at n = 10000: ≈ 1.100 ± 0.050, exponent over the last decade ≈ 2.60 ± 0.10" in printed.observed
    assert "285.0 at ξ = 0.05 and 1242.0 at ξ = 0.01" in proof.observed


def test_the_bonus_of_the_proof_needs_a_correction_only_if_a_gap_exceeds_the_bound():
    *_, proof = central_growth.judge_theorem_2(made_up(), xi=0.1, passes=14.5, beyond=-1.0, constants=(285, 1242))
    assert proof.verdict == "open"


@pytest.mark.parametrize(
    ("xi", "words"), [(Fraction(1, 10), ("holds corrected", "fails")), (Fraction(3, 2), ("holds corrected", "open"))]
)
def test_the_rate_of_algorithm_1_is_judged_by_its_power_of_log_t(xi, words):
    proof, printed = rates.judge_dp_rate(xi)
    assert (proof.verdict, printed.verdict) == words
    assert f"L: 0 (abstract), {1 + xi} (contributions), {2 + xi} (Theorem 2); proved: 2" in proof.observed


def test_what_was_known_before_the_text_decides_its_novelty(monkeypatch):
    assert [card.verdict for card in rates.judge_novelty(Fraction(1, 10))] == ["fails", "open", "holds", "fails"]
    monkeypatch.setattr(rates, "EARLIER", rates.THIS)
    assert [card.verdict for card in rates.judge_novelty(Fraction(1, 10))] == ["open", "open", "holds", "open"]


def test_powers_of_the_logarithm_decide_the_improvement():
    assert [card.verdict for card in rates.judge_powers(Fraction(1, 10))] == ["holds", "holds"]
    worse = rates.judge_powers(Fraction(1, 10), proved=Fraction(3))
    assert [card.verdict for card in worse] == ["fails", "fails"]
    assert rates.judge_powers(Fraction(2))[0].verdict == "fails"


@pytest.mark.parametrize(("composed", "word"), [(ball(3), "fails"), (ball(-3), "open")])
def test_the_local_rate_of_the_laplace_variant_needs_a_proof_to_fail(composed, word):
    *_, both = rates.judge_reach(composed)
    assert (both.claim, both.verdict) == ("cascading/sentence-ldp-rate-both", word)
