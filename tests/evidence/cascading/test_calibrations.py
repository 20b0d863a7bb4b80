"""Sensitivities, the Gaussian calibration, composition, and the two sentences about privacy: numbers, cards, figures."""

import csv
import itertools
import math

import numpy as np
import pytest

from dpregret.cascading import CascadeUCB1, FirstPositionLDP, GaussianLDP, LaplaceLDP
from dpregret.privacy import composition
from evidence.cascading import (
    composition_scale,
    gaussian_calibration,
    laplace_or_gaussian,
    privacy_audit,
    sensitivities,
)
from evidence.cascading.sensitivities import Diameters
from evidence.report.enclosure import ball

DELTA = 1e-3


def rows_of(folder, name):
    return list(csv.DictReader((folder / f"{name}.csv").open()))


# --- sensitivities


@pytest.mark.parametrize("length", [1, 2, 5])
def test_clicks_change_two_entries_and_the_mask_up_to_k_more(length):
    expected = Diameters(min(length, 2), length + 1 if length > 1 else 1, 1)
    found = sensitivities.diameters(length)
    assert (found.clicks, found.same_mask) == (expected.clicks, expected.same_mask)
    users = list(itertools.product((0, 1), repeat=length))

    def sent(user):
        click = user.index(1) + 1 if 1 in user else length + 1
        return [*(k == click for k in range(1, length + 1)), *(k <= click for k in range(1, length + 1))]

    assert found.joint == max(sum(a != b for a, b in zip(sent(u), sent(v), strict=True)) for u in users for v in users)
    assert sensitivities.outcome_diameter(length) == pytest.approx(math.sqrt(length))
    assert f"| {length} | {length}, " in sensitivities.table({length: found}).data


@pytest.mark.parametrize(("same_mask", "word"), [(1.0, "holds"), (2.0, "fails")])
def test_a_public_mask_leaves_one_entry(same_mask, word):
    cards = sensitivities.public_mask_cards({1: Diameters(1, 1, 1.0), 2: Diameters(2, 3, same_mask)})
    assert [card.verdict for card in cards] == [word] * 4 and len({card.claim for card in cards}) == 4


def test_every_examined_position_is_sent():
    rng = np.random.default_rng(0)
    assert sensitivities.fewest_surplus(GaussianLDP(epsilon=1.0, delta=DELTA), 4, rng) == 0
    assert sensitivities.fewest_surplus(FirstPositionLDP(epsilon=1.0), 4, rng) == -3  # one bit for a click at 4
    assert sensitivities.fewest_surplus(CascadeUCB1(), 2, rng) == 0
    assert sensitivities.no_discard_card({1: 0, 2: 0}).verdict == "holds"
    assert sensitivities.no_discard_card({1: 0, 2: -1}).verdict == "fails"


# --- the Gaussian calibration


def test_lemma_3_is_true_up_to_the_last_epsilon_and_not_beyond():
    last = gaussian_calibration.last_epsilon(DELTA)
    assert (
        gaussian_calibration.true_delta(last * 0.999, DELTA)
        < DELTA
        < gaussian_calibration.true_delta(last * 1.001, DELTA)
    )
    assert gaussian_calibration.excess_noise(0.5, DELTA) > 1 > gaussian_calibration.excess_noise(2 * last, DELTA)
    assert float(gaussian_calibration.refuting_delta()) == pytest.approx(gaussian_calibration.true_delta(8, DELTA))
    first, second = gaussian_calibration.tables({DELTA: last}, [0.5], delta=DELTA)
    assert f"{last:.4f}" in first.data and "| 0.5 | " in second.data


def test_the_noise_of_algorithm_4_is_the_classical_one_for_every_length():
    ratios = gaussian_calibration.semibandit_ratios([DELTA])
    for (eps, delta, _), ratio in ratios.items():
        assert ratio == pytest.approx(gaussian_calibration.true_delta(eps, delta) / delta, rel=1e-9)
    small, large = gaussian_calibration.ratio_extremes(ratios)
    assert small < 1 < large
    lines = gaussian_calibration.semibandit_lines({1: 1.0, 2: math.sqrt(2)}, ratios)
    assert lines[0].endswith("K = 1 to 2: 1, 2")


def test_lemma_3_holds_corrected_where_a_ball_refutes_it_beyond_its_range():
    last, refuting = {DELTA: gaussian_calibration.last_epsilon(DELTA)}, gaussian_calibration.refuting_delta()
    assert gaussian_calibration.lemma_3_card(last, refuting, delta=DELTA).verdict == "holds corrected"
    assert gaussian_calibration.lemma_3_card(last, ball("0.0005"), delta=DELTA).verdict == "open"


def test_lemma_3_fails_if_it_is_false_at_epsilon_1(monkeypatch):
    monkeypatch.setattr(gaussian_calibration, "true_delta", lambda epsilon, delta: 2 * delta)
    assert gaussian_calibration.lemma_3_card({DELTA: 0.5}, ball("0.0013"), delta=DELTA).verdict == "fails"


@pytest.mark.parametrize(
    ("diameter", "small", "large", "refuting", "expected"),
    [
        (2**0.5, 0.5, 2.0, "0.0013", ["holds", "holds corrected"]),
        (2.0, 0.5, 2.0, "0.0013", ["fails", "holds corrected"]),
        (2**0.5, 1.5, 2.0, "0.0013", ["fails", "open"]),
        (2**0.5, 0.5, 0.9, "0.0013", ["holds", "open"]),
        (2**0.5, 0.5, 2.0, "0.0009", ["holds", "open"]),
    ],
)
def test_theorem_8_needs_the_diameter_the_range_and_the_refutation(diameter, small, large, refuting, expected):
    ratios = {(1.0, DELTA, 2): small, (10.0, DELTA, 2): large}
    cards = gaussian_calibration.theorem_8_cards({2: diameter}, ratios, ball(refuting), raw_epsilon=math.inf)
    assert [card.verdict for card in cards] == expected


def test_the_figure_of_lemma_3_crosses_1_at_the_last_epsilon(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    last = gaussian_calibration.last_epsilon(DELTA)
    gaussian_calibration.draw({DELTA: last}, experiments=(0.2, 2.0))
    rows = rows_of(tmp_path, "cascading-audit-gaussian")
    assert list(rows[0]) == ["delta", "epsilon", "ratio"] and len(rows) == 121
    assert all((float(row["ratio"]) > 1) == (float(row["epsilon"]) > last) for row in rows)


# --- Laplace or Gaussian


def test_the_units_are_those_of_the_policies():
    length, horizon, eps = 4, 1000, 0.5
    found = laplace_or_gaussian.noise_in_units(length, delta=DELTA, horizon=horizon)
    laplace, gaussian = LaplaceLDP(epsilon=eps), GaussianLDP(epsilon=eps, delta=DELTA)
    assert found[0] == pytest.approx(eps * math.sqrt(2) * laplace.noise(length).scale)
    assert found[1] == pytest.approx(eps * gaussian.noise(length).scale)
    assert found[2] == pytest.approx(eps * (laplace.index(length).a - 1.5**0.5) * math.log(horizon) ** 0.5)
    assert found[3] == pytest.approx(found[1] * math.sqrt(2 * math.log(2 * horizon**3)))
    assert "| 4 | 5.657 | " in laplace_or_gaussian.noise_table([4], delta=DELTA, horizon=horizon).data


def test_gaussian_noise_for_the_clicks_is_smaller_below_the_crossing_only():
    even = laplace_or_gaussian.gaussian_below(DELTA)
    for eps, smaller in ((0.9 * even, True), (1.1 * even, False)):
        laplace, classical, smallest = laplace_or_gaussian.click_noise(eps, DELTA)
        assert (smallest < laplace) == smaller and smallest < classical
    assert "| 1 | 2.828 | " in laplace_or_gaussian.click_table([1.0], DELTA).data


# --- composition


def test_one_mechanism_spends_what_the_lemma_gives_it():
    each, _ = composition.corollary_4_1(epsilon=0.5, delta=DELTA, k=1, strict=False)
    assert each < 0.5 and composition_scale.lemma_4_ratio(0.5, DELTA, 1) <= 1
    ratios = composition_scale.lemma_4_ratios([DELTA])
    assert ratios[0.5, DELTA, 1] == composition_scale.lemma_4_ratio(0.5, DELTA, 1)
    assert max(k for *_, k in ratios) == 1024


@pytest.mark.parametrize(("inside", "word"), [(0.9, "holds"), (1.1, "fails")])
def test_lemma_4_is_judged_in_its_range(inside, word):
    ratios = {(0.9, DELTA, 1): inside, (0.2, DELTA, 1024): 0.1, (2.0, DELTA, 8): 5.0}
    assert composition_scale.lemma_4_card(ratios).verdict == word
    assert composition_scale.lemma_4_line(ratios).endswith("5.0000 at ε = 2 (k up to 1024)")


def test_the_optimal_scale_spends_exactly_delta():
    scale = composition_scale.optimal_scale(1.0, DELTA, 4)
    assert composition.optimal(epsilon=1 / scale, k=4, target_epsilon=1.0) == pytest.approx(DELTA, rel=1e-6)
    assert scale < 4.0
    found = composition_scale.scales(1.0, DELTA, [1, 4])
    assert found["split"] == {1: 1.0, 4: 4.0} and found["clicks"] == {1: 1.0, 4: 2.0}
    assert found["optimal"][4] == scale


def test_above_the_threshold_composition_has_less_noise_than_splitting():
    limit = composition_scale.threshold(1.0, DELTA)
    below, above = math.floor(limit), math.ceil(limit)
    found = composition_scale.scales(1.0, DELTA, [below, above])
    assert found["theorem 7"][below] > found["split"][below] and found["theorem 7"][above] < found["split"][above]


def made_up(factor, power=0.5, eps=1.0):
    lengths = [4, 16, 32, 128]
    return {eps: {"split": {k: k / eps for k in lengths}, "theorem 7": {k: factor * k**power for k in lengths}}}


def test_composition_gains_as_an_order_and_not_in_the_experiments():
    real = {eps: composition_scale.scales(eps, DELTA, [4, 16, 32, 128]) for eps in (0.2, 2.0)}
    assert [card.verdict for card in composition_scale.gain_cards(real, delta=DELTA)] == ["fails", "holds"]
    assert [card.verdict for card in composition_scale.gain_cards(made_up(5.0, 1.0), delta=DELTA)] == ["fails", "fails"]
    assert [card.verdict for card in composition_scale.gain_cards(made_up(12.0), delta=DELTA)] == ["fails", "fails"]
    assert [card.verdict for card in composition_scale.gain_cards(made_up(1.0), delta=0.5)] == ["open", "holds"]


def test_the_figure_of_the_scales_has_the_smallest_and_the_largest_epsilon(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    found = {eps: composition_scale.scales(eps, DELTA, [4, 16]) for eps in (0.2, 1.0, 2.0)}
    composition_scale.draw(found, delta=DELTA)
    rows = rows_of(tmp_path, "cascading-audit-composition")
    assert list(rows[0]) == ["epsilon", "calibration", "list_length", "scale"]
    assert len(rows) == 2 * 4 * 2 and {row["epsilon"] for row in rows} == {"0.2", "2.0"}
    assert rows[0] == {"epsilon": "0.2", "calibration": "split", "list_length": "4", "scale": "20.0"}
    assert "| 0.2 | " in composition_scale.table(found, delta=DELTA).data


# --- two sentences


def test_noise_multiplied_by_a_hundredth_multiplies_epsilon_by_a_hundred():
    published = {"Laplace": lambda eps: LaplaceLDP(epsilon=eps, noise_multiplier=0.01)}
    in_force = privacy_audit.in_force(published, [0.2, 1.0], 4)
    assert in_force["Laplace", "printed", 0.2] == pytest.approx(20)
    assert in_force["Laplace", "click", 1.0] == pytest.approx(50)
    assert (
        privacy_audit.in_force_table(in_force).data.splitlines()[2] == "| Laplace | as in the text | 20.00 | 100.00 |"
    )
    card = privacy_audit.noise_scaling_card(in_force, multiplier=0.01, one_entry=25.0)
    assert card.verdict == "fails" and "100 times, exactly" in card.observed
    assert privacy_audit.noise_scaling_card(in_force, multiplier=1.0, one_entry=0.25).verdict == "open"
    kept = {key: key[2] for key in in_force}
    assert privacy_audit.noise_scaling_card(kept, multiplier=0.01, one_entry=0.25).verdict == "open"


@pytest.mark.parametrize(("value", "word"), [(1.0, "holds"), (1.1, "fails")])
def test_ldp_is_stronger_if_the_messages_keep_epsilon(value, word):
    assert privacy_audit.stronger_card({1.0: value, 2.0: 2.0}).verdict == word
