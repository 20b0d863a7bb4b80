"""Limits of perturbed inputs and statistics: checks against closed forms, verdicts on both sides, and the figures."""

import csv
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

from evidence.contextual import input_perturbation_limit as limit
from evidence.contextual import input_perturbation_limit_figures as figures
from evidence.contextual import lower_bounds
from evidence.contextual.perturbed_policies import Crossing, Worst
from evidence.contextual.slopes import Slope

EXPONENT = Slope(0.52, 0.01, 0.5, 0.54)
BELOW = Crossing(30, 38, {40: "0.4", 60: "0.0003"}, {40: "7", 60: "7.1"}, True)
HORIZONS = np.array([1e8, 1e10])
FLOOR = np.array([10.0, 100.0])


def measured(*mean, se=1.0):
    return Worst(np.array(mean), np.full(len(mean), se), 0)


# Computation


def test_the_divergence_of_statistics_agrees_with_quadrature_and_its_bound():
    found = limit.statistics_divergence((0.1, 1.0), (0.5, 2.0))
    z = 2 / np.array([50.0, 200.0, 0.5, 2.0])  # 2 m^2/b
    assert found.error < 1e-7
    assert found.share == pytest.approx(((z - 1 + np.exp(-z)) / (z**2 / 2)).max(), rel=1e-9, abs=0)


def test_a_wrong_divergence_shows(monkeypatch):
    true = lower_bounds.statistics_kl
    monkeypatch.setattr(lower_bounds, "statistics_kl", lambda m, b: 1.5 * true(m, b))
    found = limit.statistics_divergence((0.1,), (0.5,))
    assert found.error == pytest.approx(1 / 3, rel=1e-6, abs=0) and found.share > 1


def test_chebyshevs_bound_has_the_variance_of_a_square():
    mu, users = Fraction(3, 2), 1000

    def moment(power):  # of mu + Laplace(1), which has the even moments of mu + x and of -mu + x
        return integrate.quad(lambda x: (1.5 + x) ** power * np.exp(-abs(x)) / 2, -60, 60, points=[0])[0]

    variance = moment(4) - moment(2) ** 2
    assert moment(2) - 2 == pytest.approx(float(mu**2), rel=1e-9, abs=0)
    assert float(limit.square_error_probability(mu, users)) == pytest.approx(4 * variance / users, rel=1e-9, abs=0)


def test_the_chi_square_of_the_sign_pair_reaches_its_bound_as_m_vanishes():
    assert limit.chi_square_share(1e-4, 1.0) == pytest.approx(1, abs=1e-3)
    assert limit.chi_square_share(0.8, 1.0) < limit.chi_square_share(0.02, 1.0) < 1


def test_le_cam_with_the_exact_error_is_above_the_certified_bound():
    for n in (1e6, 1e12):
        exact, certified = limit.le_cam(n, 1.0), lower_bounds.input_perturbation_bound(n=n, alpha=1.0)
        assert certified < exact < 2 * certified
    m = 0.5e-3
    assert limit.le_cam(1e12, 1.0) >= m / 2 * lower_bounds.sign_flip_pair(m, 1.0).overlap(1e12)


def test_the_lines_on_the_tests_show_the_last_errors():
    users = np.array([1e8, 1e16])
    error = {("pair", p, c): np.array([0.5, c * p / 10]) for p in (1 / 3, 1 / 4) for c in (1.0, 2.0)}
    first, second = limit.describe_tests(error, 1.0)
    assert first == (
        "pair: test error at n = 1e16, m = c n^(-1/3): 0.0333 (c = 1), 0.0667 (c = 2); m = c n^(-1/4): 0.0250, 0.0500"
    )
    own = lower_bounds.theorem_2_2_pair(1e8 ** (-1 / 3), 1.0).overlap(users[0]) / 2
    assert f", {own:.4f}, " in second


def test_the_lines_on_the_deviations_show_the_exponents():
    n = 10.0 ** np.arange(6, 15, 2)
    bend = np.where(n < 1e8, 1.0, n**-0.25)  # what lies below 1e8 is left out
    noisy = bend * np.array([1, 1.1, 0.9, 1, 1.1])
    floors = {"exact": 0.3 * n**-0.25, "certified": 0.2 * n**-0.25}
    lines = limit.describe_deviations(n, {"a": np.array([bend, 0 * n]), "b": np.array([noisy, n**-0.5])}, floors)
    assert lines[0] == "a: slope for n ≥ 1e8 -0.250"
    assert lines[1].startswith("b: slope for n ≥ 1e8 ≈ -0.2")
    assert lines[2] == "Le Cam with the exact test error, times n^(1/4): 0.3000; certified: 0.2000"


# Verdicts


@pytest.mark.parametrize(("kl", "word"), [(0.1667, "holds"), (16.7, "holds"), (16.8, "fails")])
def test_lemma_6_1_holds_up_to_its_constant(kl, word):
    assert limit.lemma_6_1(kl, 0.3).verdict == limit.mixture_means(kl, users=11_200)[0].verdict == word


@pytest.mark.parametrize(
    ("third", "spare", "below", "word"),
    [(0.2, 1.0, True, "holds"), (0.0, 1.0, True, "fails"), (0.2, 0.99, True, "fails"), (0.2, 1.0, False, "fails")],
)
def test_theorem_2_2_holds_with_a_positive_bound_that_was_checked(third, spare, below, word):
    card = limit.theorem_2_2(third, spare, below)
    assert card.verdict == word and f"at least {third:.4f}" in card.observed


@pytest.mark.parametrize(
    ("crossing", "regret", "word"),
    [
        (BELOW, (5.0, 50.0), "fails"),
        (BELOW._replace(below=False), (5.0, 50.0), "open"),
        (BELOW, (6.5, 50.0), "open"),  # above the bound within its standard errors
    ],
)
def test_the_sentence_on_perturbed_inputs_fails_where_both_bounds_stand(crossing, regret, word):
    card = limit.input_perturbation(crossing, measured(*regret), FLOOR, EXPONENT)
    assert card.verdict == word
    assert card.observed.startswith("0.4 at T = 1e40; 0.0003 at T = 1e60") and "T = 1e38" in card.margin


@pytest.mark.parametrize(
    ("share", "regret", "word"),
    [(1.0, (20.0, 300.0), "holds"), (1.01, (20.0, 300.0), "fails"), (1.0, (20.0, 95.0), "fails")],
)
def test_the_sentence_on_statistics_holds_unless_a_policy_is_below_the_bound(share, regret, word):
    card = limit.sufficient_statistics(limit.Agreement(0.0, share), 0.2357, measured(*regret), FLOOR, EXPONENT)
    assert card.verdict == word
    if word == "holds":
        assert (
            limit.sufficient_statistics(
                limit.Agreement(0.0, 1.0), 0.2357, measured(20.0, 97.0), FLOOR, EXPONENT
            ).verdict
            == "holds"
        )  # within four standard errors


@pytest.mark.parametrize(("users", "word"), [(11_200, "fails"), (11_199, "holds")])
def test_means_of_a_fixed_size_can_be_estimated_with_enough_records(users, word):
    card = limit.mixture_means(0.1, users=users)[1]
    assert card.verdict == word and (users != 11_200 or card.observed == "at most 1/100")


@pytest.mark.parametrize(("regret", "word"), [((20.0, 300.0), "holds"), ((4.0, 300.0), "fails")])
def test_without_the_condition_no_policy_is_below_the_bound(regret, word):
    assert limit.well_conditioned(measured(*regret), FLOOR, 0.2357).verdict == word


def test_what_rests_on_cutting_planes_alone():
    above = BELOW._replace(below=False)
    assert limit.non_interactive(BELOW).verdict == "fails" and limit.non_interactive(above).verdict == "open"
    assert limit.perturbed_inputs_regret(BELOW).verdict == "holds"
    assert limit.perturbed_inputs_regret(above).verdict == "fails"
    assert "7.1 at T = 1e60" in limit.perturbed_inputs_regret(BELOW).observed


@pytest.mark.parametrize(
    ("scaled", "share", "word"),
    [([0.23, 0.24], 1.0, "holds"), ([0.24, 0.229], 1.0, "fails"), ([0.24], 1.001, "fails")],
)
def test_the_bound_on_statistics_keeps_its_constant(scaled, share, word):
    assert limit.statistics_every_policy(scaled, limit.Agreement(0.0, share)).verdict == word


@pytest.mark.parametrize(("spare", "error", "word"), [(1.0, 0.31, "holds"), (0.9, 0.31, "fails"), (1.0, 0.3, "fails")])
def test_the_quarter_rate_needs_the_bound_and_an_error_that_stays(spare, error, word):
    assert limit.quarter_rate(spare, error).verdict == word


# Figures


@pytest.fixture
def published(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))

    def read(name):
        with open(tmp_path / f"contextual-input-perturbation-{name}.csv", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))

    return read


def test_figure_of_the_divergences(published):
    lengths, sizes = np.array([0.1, 1.0]), np.array([0.1, 0.2, 0.4])
    pairs = {"one": sizes**3, "other": sizes**4}
    figures.draw_divergence(lengths, {"(1, 0)": lengths / 6}, sizes, pairs, 1.0)
    rows = published("divergence")
    assert [(row["panel"], row["curve"]) for row in rows] == [
        *[("a", "(1, 0)")] * 2, *[("b", "zero against half")] * 3, *[("b", "sign")] * 3
    ]  # fmt: skip
    assert [float(row["size"]) for row in rows] == [0.1, 1, 0.1, 0.2, 0.4, 0.1, 0.2, 0.4]
    assert float(rows[-1]["value"]) == pytest.approx(0.4**4, rel=1e-12, abs=0)


def test_figure_of_the_tests(published):
    users = np.array([1e4, 1e5])
    error = {
        (name, power, c): np.array([power, c]) / 10
        for name in ("one", "other")
        for power in (1 / 3, 1 / 4)
        for c in (1.0, 2.0)
    }
    figures.draw_tests(users, error, 1.0)
    rows = published("tests")
    assert len(rows) == 16 and {row["error_se"] for row in rows} == {"1e-07"}
    for row in rows:
        power = {"-1/3": 1 / 3, "-1/4": 1 / 4}[row["power"]]
        value = power if row["users"] == "10000.0" else float(row["c"])
        assert float(row["error"]) == pytest.approx(value / 10, rel=1e-12, abs=0)


def test_figure_of_the_deviations(published):
    n = np.array([1e6, 1e8])
    curves = {"a": np.array([[3.0, 1.0], [0.2, 0.1]]), "b": np.array([[4.0, 2.0], [0.0, 0.0]]), "c": np.ones((2, 2))}
    figures.draw_deviation(n, curves, {"exact": n**-0.5, "certified": n**-0.6}, alpha=1.0, draws=9)
    rows = published("deviation")
    assert [row["curve"] for row in rows[::2]] == [
        "a", "b", "c", "no estimator below, exact", "no estimator below, certified"
    ]  # fmt: skip
    assert [float(row["deviation_se"]) for row in rows[:4]] == [0.2, 0.1, 4e-9, 2e-9]
    assert float(rows[7]["deviation"]) == pytest.approx(1e-4, rel=1e-12, abs=0)


def test_figure_of_the_policies(published):
    figures.draw_policies(
        HORIZONS, filtered=measured(5.0, 50.0), proved=7 * FLOOR, followed=measured(20.0, 300.0, se=2.0), floor=FLOOR,
        alpha=1.0, replicates=9,
    )  # fmt: skip
    rows = published("policies")
    assert [row["curve"] for row in rows[::2]] == [
        "context filtering, measured", "its proved bound", "$T^{2/3}$",
        "follow the sign, measured", "no policy below", "$\\sqrt{T}$",
    ]  # fmt: skip
    assert [float(row["regret"]) for row in rows[:4]] == [5, 50, 70, 700]
    np.testing.assert_allclose([float(row["regret_se"]) for row in rows[6:10]], [2, 2, 1e-8, 1e-7], rtol=1e-12)
    assert float(rows[11]["regret"]) == pytest.approx(1e5, rel=1e-12, abs=0)
