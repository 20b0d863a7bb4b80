"""Lemma 1: the worst n of each law, the bounds beyond, the verdict and the figure."""

import csv
import math

import pytest

from dpregret.privacy.continual import HybridMechanism
from evidence.cascading import hybrid_constant, lemmas

SMALL = hybrid_constant.first_of_each_law(5)


def law(n):
    """What the law of the noise at n depends on."""
    k = n.bit_length() - 1
    return k, (n - 2**k).bit_count()


def test_the_first_n_of_each_law_are_all_laws_and_the_first():
    laws = {}
    for n in range(2, 2**5):
        laws.setdefault(law(n), n)
    assert SMALL == [*laws.values(), 2**5]


def test_the_first_n_of_a_law_needs_the_largest_constant():
    for gamma in (None, 0.5, -3):
        constant = {n: lemmas.lemma_1_constant(n, n**gamma if gamma == -3 else gamma) for n in range(2, 2**5)}
        for n, value in constant.items():
            first = next(m for m in SMALL if law(m) == law(n))
            assert value <= constant[first] * (1 + 1e-9)


def test_the_worst_of_a_block_is_its_largest():
    assert hybrid_constant.worst_of_each_block([2, 3, 4, 5, 7, 8], [1, 3, 5, 9, 7, 4]) == [3, 9]


def test_from_three_on_a_smaller_constant_is_enough():
    bound = hybrid_constant.needed_from_three()
    assert max(lemmas.lemma_1_constant(n) for n in range(3, 70)) <= bound < lemmas.LEMMA_1_CONSTANT
    # the closed form at k bounds every n of its block, and falls in k
    for k in (3, 4, 5):
        block = math.sqrt(4 * math.pi * (k + 1 + k**3)) / (k * math.log(2)) ** 1.5
        assert max(lemmas.lemma_1_constant_bound(n) for n in range(2**k, 2 ** (k + 1))) <= block <= bound


def test_the_bound_beyond_is_above_the_constants_and_falls():
    for k in (6, 10, 16):
        for n in (2**k, 2**k + 1, 2 ** (k + 1) - 1):
            assert lemmas.lemma_1_constant(n, float(n) ** -3) <= hybrid_constant.cubed_beyond(k)
        assert hybrid_constant.cubed_beyond(k + 1) < hybrid_constant.cubed_beyond(k)
    # sub-gamma at gamma = n^-3 with variance 8 (k^3 + k + 1) and largest scale 2 k, at n = 2^k and epsilon = 1
    k, log_n = 10, 10 * math.log(2)
    level = math.log(2 * 2.0 ** (3 * k))
    assert HybridMechanism(epsilon=1.0).variance(2 ** (k + 1) - 1) <= 8 * (k**3 + k + 1)
    quantile = math.sqrt(2 * 8 * (k**3 + k + 1) * level) + 2 * k * level
    expected = quantile / (log_n**1.5 * 3 * log_n)
    assert hybrid_constant.cubed_beyond(k) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("from_two", "at_one", "word"),
    [(True, True, "holds"), (True, False, "holds corrected"), (False, False, "fails"), (False, True, "fails")],
)
def test_lemma_1_needs_one_constant_and_its_first_value(from_two, at_one, word):
    assert hybrid_constant.lemma_1_word(true_from_two=from_two, true_at_one=at_one) == word


@pytest.mark.parametrize(("factor", "word"), [(1.0, "holds corrected"), (1.01, "fails")])
def test_the_card_finds_the_largest_constant(factor, word):
    needed = [lemmas.LEMMA_1_CONSTANT * factor, *(1.0 for _ in SMALL[1:])]
    card = hybrid_constant.lemma_1_card(SMALL, needed, c1=1.0)
    assert card.verdict == word
    assert card.observed.startswith(f"largest over 2 ≤ n ≤ 2^5: {needed[0]:.8f}, at n = 2 as γ → 1")
    # Lap(2): above 2 log 2 in absolute value with probability 1/2
    assert f"exceeds {2 * math.log(2):.6f} with probability 1/2, for a bound of 0 whatever" in card.observed


def test_the_figure_has_a_column_for_each_gamma(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    needed = {name: [float(n) * factor for n in SMALL] for factor, name in enumerate(hybrid_constant.LOOKS, 1)}
    hybrid_constant.draw_lemma_1(SMALL, needed)
    rows = list(csv.DictReader((tmp_path / "cascading-lemma-1.csv").open()))
    largest = [3, 7, 15, 31]
    assert [(int(row["k"]), float(row["limit"])) for row in rows] == list(enumerate(largest, 1))
    assert [(float(row["half"]), float(row["cubed"])) for row in rows] == [(2 * n, 3 * n) for n in largest]
