"""The steps of the proofs and the two remarks, against derivations of their own."""

import math
from fractions import Fraction

import mpmath as mp
import pytest

from evidence.contextual import bounds, proof_steps, remarks


def test_every_corrected_step_of_the_chain_holds_and_the_slips_are_seen():
    chain = proof_steps.chain()
    assert all(step.holds for step in chain.values())
    slips = {name.split(":")[0] for name, step in chain.items() if step.status == "slip"}
    assert slips == {"L9", "L18", "L19", "L21", "L22", "L23"}
    assert proof_steps.Step(1.0, 1.0).status == "as printed"
    assert proof_steps.Step(1.1, 1.1).status == "open" and not proof_steps.Step(1.1, 1.1).holds


def test_ratios_of_the_chain_in_closed_form():
    chain = proof_steps.chain()
    # d = 1: 18*4 + 31 over 7*8 + 29, growing towards 18/7 as d does
    third = max((18 * d * (d + 1) ** 2 + 31 * d) / (7 * (d + 1) ** 3 + 29 * d) for d in range(1, 1001))
    assert chain["L21: third line of Lemma 4.2"].printed == pytest.approx(third, rel=1e-12)
    assert chain["L22: κ₁ for (58)"].corrected == pytest.approx((72 + 6.2 / 8) / 86, rel=1e-12)
    assert chain["L9: 36(d+1)³ of (57)"].corrected == pytest.approx((18 * 8 + 31) / (36 * 8), rel=1e-12)
    assert chain["L23: factor of the recursion"].printed == pytest.approx(math.sqrt(9.9) / 2.54, rel=1e-12)
    assert chain["47 ≤ 118 / 2.5 of Corollary 8.3"].printed == pytest.approx(117.5 / 118, rel=1e-12)
    assert chain["(65): 120(d+1)⁴"].printed == pytest.approx(
        max((72 * d * (d + 1) ** 3 + 96 * d**3) / (120 * (d + 1) ** 4) for d in range(1, 1001)), rel=1e-12
    )


def test_counts_of_the_chain_by_hand():
    """The needed over 6.2 (l + ln 2): printed it grows with l, corrected it is largest at l = ln 48."""
    step, l = proof_steps.counts(), math.log(48)
    corrected = (6 * math.sqrt(l) + 3 * l + math.sqrt(l / 2)) / (6.2 * (l + math.log(2)))
    assert step.corrected == pytest.approx(corrected, rel=1e-9)
    printed = max(
        (12 * x + 3 * math.sqrt(8 * x) + math.sqrt(x / 2)) / (6.2 * (x + math.log(2))) for x in (l, 25.0, 1e5)
    )
    assert step.printed >= printed * (1 - 1e-12) and step.printed < 2.4


def test_union_bound_is_over_all_bins():
    step = proof_steps.union_bound()
    assert step.printed == pytest.approx((17 / 0.03) ** 8 / 2, rel=1e-12)
    assert step.corrected == pytest.approx((2 * 0.49) / 2, rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_a_sharper_step_at_one_point(d):
    """In mpmath: the counts and the matrix, beta = .25, delta = .01, n twice its smallest value."""
    found = proof_steps.sharper_at(d, 0.25, 0.01, 2.0)
    delta_0 = mp.mpf("0.005") * mp.mpf("0.25") ** d
    large, small = mp.log(48 * d / mp.mpf("0.0025")), mp.log(24 * d / mp.mpf("0.0025"))
    l, count, n = mp.log(24 * d / delta_0), mp.log(12 / delta_0), 4 * d * small
    counts = (6 * mp.sqrt(count) + 3 * count + mp.sqrt(count / 2)) / (6.2 * d * large)
    assert found["counts, 6.2"] == pytest.approx(float(counts), rel=1e-12)
    assert found["matrix Hoeffding, 2d"] == pytest.approx(float(mp.sqrt(8 * l) / (2 * d * large)), rel=1e-12)
    laplace = (2 * mp.sqrt(l) + l / mp.sqrt(n)) / (1.3 * mp.sqrt(d) * large)
    assert found["Laplace sums, 1.30 √d"] == pytest.approx(float(laplace), rel=1e-12)
    a = (mp.sqrt(d) + mp.sqrt(2 * l)) / mp.sqrt(n * (d + 1))
    wishart = 4.5 * (2 * a + a**2) * mp.sqrt(n) / (11 * large)
    assert found["Wishart sums, 11(d+1)"] == pytest.approx(float(wishart), rel=1e-12)
    assert ("47 of Lemma 8.1" in found) == (d > 1)


def test_sharper_steps_have_room():
    found = proof_steps.sharper()
    assert len(found) == 11 and 0.99 < max(found.values()) <= 1
    exact = proof_steps.sharper_in_fractions()
    assert exact["2.54 of the recursion"] == Fraction(9, 4) / Fraction(254, 100)
    assert found["ε/s of Lemma 4.3, over 0.1"] == float(
        max(Fraction(10 * d * (20 * d + 11), 42 * (d + 1) ** 3) for d in (1, 2, 3))
    )


def test_what_lemma_4_2_alone_allows():
    assert [proof_steps.lemma_4_2_alone(d) for d in (1, 3)] == [Fraction(85, 344), Fraction(1605, 2752)]
    assert proof_steps.lemma_4_2_alone(2) < Fraction(1, 2) < proof_steps.lemma_4_2_alone(3)


def test_corollary_8_7_over_all_dimensions():
    assert proof_steps.corollary_8_7() == Fraction(171, 100) * Fraction(133 + 240 * 16, 2) / 4800
    assert proof_steps.recursion_is_summed_up()


# --- remarks


@pytest.mark.parametrize(("version", "first"), [("printed", 4), ("corrected", 5)])
def test_first_dimension_below_the_constant(version, first):
    assert remarks.first_below(version) == first
    assert remarks.by_hand(first, version) < 1e4 < remarks.by_hand(first - 1, version)
    assert remarks.by_hand_agrees()


def test_by_hand_is_noticed_to_differ(monkeypatch):
    monkeypatch.setattr(remarks, "by_hand", lambda d, version: 1.0)
    assert not remarks.by_hand_agrees()


def test_constant_for_a_power_of_the_dimension():
    assert remarks.needed(4, 3) == pytest.approx(4 * bounds.remark_4_5_constant(4, version="printed"), rel=1e-12)
    assert remarks.needed(4, 4) == pytest.approx(bounds.remark_4_5_constant(4, version="printed"), rel=1e-12)


def test_theorem_over_the_remark():
    x = 12 * mp.log(10)
    wanted = mp.e**2 * (mp.mpf("2.54") * x) ** 2 * 2**5 * (mp.log(96 * x) + x) ** 2 / x**2
    assert remarks.over_remark_4_8(12, 2, 2) == pytest.approx(float(wanted), rel=1e-9)


def test_line_13_as_printed_is_a_coin():
    with mp.workdps(40):
        n = mp.mpf(10) ** 14 / 4
        kappa = 118 * mp.log(48 * mp.log(mp.mpf(10) ** 14) * mp.mpf(10) ** 28)
        half = mp.mpf("0.5") + kappa * mp.e * mp.sqrt(8) * mp.mpf("1.1") / (2 * mp.sqrt(mp.pi * (n - 1)))
        shown = mp.nstr(half, 4)
    assert remarks.line_13_half(14) == (shown, True)
    assert not remarks.line_13_half(14, largest="0.501").proved
    assert not remarks.line_13_half(6).proved


def test_logarithms_beyond_the_remark():
    shown, grows = remarks.logarithms_grow()
    square = {k: (mp.log(96 * k * mp.log(10)) + k * mp.log(10)) ** 2 for k in (12, 24, 48, 96)}
    assert shown == {k: mp.nstr(square[k] / square[12], 4) for k in (24, 48, 96)} and grows


@pytest.mark.parametrize(
    ("constants", "first", "word"),
    [
        ((9e3, 9e3, 9e3, 9e3), 1, "holds"),
        ((6e4, 2e4, 1.2e4, 9e3), 4, "holds corrected"),
        ((6e4, 2e4, 1.4e4, 1.1e4), 5, "fails"),
        ((6e4, 2e4, 1.4e4, 9e3), 4, "fails"),
    ],
)
def test_verdict_on_remark_4_5(constants, first, word):
    assert remarks.card_4_5(dict(enumerate(constants, start=1)), first).verdict == word


def test_verdicts_on_remark_4_8():
    assert remarks.card_4_8([1.0, 3.1, 9.9]).verdict == "holds corrected"
    assert remarks.card_4_8([1.0, 3.1, 5.0]).verdict == remarks.card_4_8([1.0, 2.9, 9.9]).verdict == "fails"
    assert remarks.card_4_8_root({24: "3.2"}, True).verdict == "fails"
    assert remarks.card_4_8_root({24: "3.2"}, False).verdict == "consistent"


def test_tables_of_the_remarks():
    by_dimension, by_power = (table.data for table in remarks.tables_4_5())
    assert "| 4 | 9130 | 4565 | 10930 | 5465 | yes |" in by_dimension and "| 3 | 11943 |" in by_dimension
    assert "| constant for $d^4$ | 6.31e+04 | 9.13e+03 |" in by_power
    factors, rest = (table.data for table in remarks.tables_4_8())
    assert "| 2 | 645.2 | 0.0025 | 2.581e+05 |" in factors
    assert "| 1 | 6.288e+05 | 27.63 | 2.276e+04 | 2.54 | 1213 |" in rest
