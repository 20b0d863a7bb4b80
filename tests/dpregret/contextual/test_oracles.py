"""The oracles: exact channels and constants, bands that hold, and the rates that separate them."""

import math

import numpy as np
import pytest

from dpregret.contextual import (
    LPLR,
    Batch,
    CorrectedLPLR,
    InputPerturbation,
    LeastSquares,
    PerturbedStatistics,
    arc_problem,
    nested_problem,
    offline_batch,
    simulate,
    two_direction_problem,
)
from dpregret.contextual.lplr import theory_kappas
from evidence.contextual import bounds

PRIVATE = {
    "randomized response": CorrectedLPLR(alpha=1.0),
    "laplace": CorrectedLPLR("laplace", alpha=1.0),
    "statistics": PerturbedStatistics(alpha=1.0),
    "inputs": InputPerturbation(alpha=1.0),
}
ORACLES = PRIVATE | {"least squares": LeastSquares(), "printed, corrected": LPLR("all", alpha=1.0)}


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("n_slots", [1, 2, 5])
def test_worst_ratio_of_the_bits_is_exactly_e_to_alpha(alpha, n_slots):
    slots = np.repeat(np.arange(-1, n_slots), 5)
    values = np.tile([-1.0, -0.3, 0.0, 0.5, 1.0], n_slots + 1)
    law = CorrectedLPLR(alpha=alpha).channel(slots, values, n_slots=n_slots)
    np.testing.assert_allclose(law.sum(axis=1), 1)
    ratio = (law[:, None, :] / law[None, :, :]).max()
    assert math.isclose(ratio, math.exp(alpha), rel_tol=1e-12)


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("users", [10, 10**5, 10**9, 10**17])
def test_bands_hold_and_vanish_at_zero(name, users):
    """Nominal failure 1e-9 a fit: not one band may fail in 100 fits, queries included."""
    problem = arc_problem(9, half_angle=1.2, parameter=(-0.5, 0.8))
    batch = offline_batch(problem, users, horizon=4.0 * users, replicates=100)
    rng = np.random.default_rng(5)
    estimate = ORACLES[name].fit(batch, delta=1e-9, rng=rng)
    assert estimate.holds(batch).all()
    assert (np.abs(estimate.values) <= 1).all() and ((0 <= estimate.widths) & (estimate.widths <= 1)).all()
    queries = rng.normal(size=(200, 2))
    queries /= np.linalg.norm(queries, axis=1, keepdims=True) / rng.random((200, 1))
    value, width = estimate.band(queries, 7)
    assert (np.abs(value - queries @ problem.parameter) <= width + 1e-12).all()
    assert estimate.predict(np.zeros((1, 2))) == 0 and estimate.width(np.zeros((1, 2))) == 0


@pytest.mark.parametrize("name", ORACLES)
def test_bands_shrink_like_root_n(name):
    """On a well-spread law every oracle has widths of order n^-1/2: two decades of n give one decade, +-15%."""
    problem = arc_problem(9, half_angle=1.2, parameter=(-0.5, 0.8))
    widths = []
    for users in (10**20, 10**22):
        batch = offline_batch(problem, users, horizon=1e23)
        estimate = ORACLES[name].fit(batch, delta=1e-9, rng=np.random.default_rng(5))
        widths.append(batch.probabilities @ estimate.widths)
    assert 8.5 < widths[0] / widths[1] < 11.5


def test_oracles_beyond_two_dimensions():
    """d = 4, rows of all actions: bands hold, and the full tree recovers theta up to its bands."""
    problem = nested_problem(4, 0.3, parameter=(0.1, -0.4, 0.5, 0.6))
    for oracle in ORACLES.values():
        assert simulate(oracle, problem, horizon=1e15, replicates=5, seed=2).covered.all()
    batch = offline_batch(problem, 10**24)
    estimate = CorrectedLPLR(alpha=1.0).fit(batch, delta=1e-9, rng=np.random.default_rng(0))
    assert len(estimate.details) == 4
    np.testing.assert_allclose(estimate.values, batch.means, atol=1e-4)
    for layer in estimate.details:
        norms = np.linalg.norm(layer.direction[layer.active], axis=1)
        np.testing.assert_allclose(norms, 1, atol=1e-12)


def line_11_batch(horizon, replicates):
    """Contexts (cos .3, +-sin .3), theta = (.9, 0), and the query e_1 that never occurs."""
    features = np.array([[math.cos(0.3), math.sin(0.3)], [math.cos(0.3), -math.sin(0.3)], [1.0, 0.0]])
    label = np.repeat(np.arange(replicates), 3)
    features, law = np.tile(features, (replicates, 1)), np.tile([0.5, 0.5, 0.0], replicates)
    return Batch(features, label, law, features @ [0.9, 0], int(horizon), horizon=horizon, instances=label)


def test_line_11_as_printed_covers_too_little():
    """L6: about .56 at every T, for the paper's own constants; 800 runs, standard error .018; exact law at e_1."""
    for horizon in (1e14, 1e18):
        batch = line_11_batch(horizon, 800)
        rates = {}
        for corrections in (frozenset({"L8", "L9"}), frozenset({"L8", "L9", "L6"})):
            estimate = LPLR(corrections, alpha=1.0).fit(batch, delta=horizon**-2, rng=np.random.default_rng(1))
            rates[len(corrections)] = estimate.holds(batch).reshape(800, 3)[:, 2].mean()
        assert 0.48 < rates[2] < 0.65
        assert rates[3] == 1.0


def test_line_13_as_printed_leaves_the_noise_uncovered():
    """L7: without bias the printed term is far below the noise of the sum, so eps-bar >= eps half of the time."""
    below = {}
    for corrections in ("none", "L7"):
        names = {"L8", "L9"} | ({corrections} - {"none"})
        batch = line_11_batch(1e16, 400)
        estimate = LPLR(names, alpha=1.0).fit(batch, delta=1e-32, rng=np.random.default_rng(1))
        first = estimate.details[0]  # h = 1: the true eps is 0
        below[corrections] = (first.slope[first.active] < 0).mean()
    assert abs(below["none"] - 0.5) < 0.13  # five standard errors
    assert below["L7"] == 0.0


def test_switches_are_independent_of_order_and_words():
    assert LPLR("all", alpha=1.0) == LPLR(("L11", "L10", "L9", "L8", "L7", "L6", "L4"), alpha=1.0)
    assert LPLR("L6", alpha=1.0).corrections == {"L6"} and LPLR(alpha=1.0).corrections == frozenset()


def worst(oracle, exponent, family):
    scales = 10 ** np.linspace(-exponent / 2, 0, 61)
    problems = [two_direction_problem(min(r, 1.0), family) for r in scales for _ in range(2)]
    found = simulate(oracle, problems, horizon=10**exponent, seed=exponent)
    assert found.covered.all()
    return found.regret.values.reshape(61, 2).mean(axis=1).max()


@pytest.mark.parametrize("family", ["null", "shared"])
@pytest.mark.parametrize(
    "name, low, high",
    [
        ("randomized response", 0.48, 0.55),
        ("laplace", 0.48, 0.55),
        ("least squares", 0.48, 0.55),
        ("statistics", 0.72, 0.79),
        ("inputs", 0.72, 0.79),
    ],
)
def test_exponent_of_the_worst_regret(name, low, high, family):
    """The rates of the book, over T = 1e12..1e18; regret on the grid of r varies by some 20% a point."""
    exponents = np.array([12, 14, 16, 18])
    regrets = [worst(ORACLES[name], int(k), family) for k in exponents]
    assert low < np.polyfit(exponents, np.log10(regrets), 1)[0] < high


def test_a_direction_that_lies_within_the_bins_noise_is_left_alone():
    """Under the rigorous widths a bin that nobody is in is inactive: s is noise, whatever its sign."""
    features = np.array([[1.0, 0.0], [0.0, 0.5]])
    label = np.repeat(np.arange(300), 2)
    batch = Batch(
        np.tile(features, (300, 1)), label, np.tile([1.0, 0.0], 300), np.full(600, 0.2), 10**6, instances=label
    )
    estimate = CorrectedLPLR(alpha=1.0).fit(batch, delta=1e-6, rng=np.random.default_rng(3))
    first = estimate.details[0]
    assert first.active[first.k == 0].all() and not first.active[first.k > 0].any()
    np.testing.assert_allclose(estimate.widths.reshape(300, 2)[:, 1], 0.5)


def test_constants_of_the_paper():
    k = theory_kappas(2, alpha=0.5, beta=0.1, delta=1e-6)
    log = math.log(48 * 2 / (0.1 * 1e-6)) / 0.5
    np.testing.assert_allclose(k, [43 * log, 15 * log, 118 * (log - math.log(2) / 0.5), 300 * log])
    printed = [bounds.remark_4_5_constant(d, version="printed") for d in range(1, 5)]
    np.testing.assert_array_equal(np.floor(printed), [63144, 19449, 11942, 9129])
    assert bounds.remark_4_5_constant(5, version="corrected") < 1e4 < bounds.remark_4_5_constant(4, version="corrected")


@pytest.mark.parametrize("d, beta", [(1, None), (2, None), (3, 0.05), (2, 0.2)])
def test_smallest_horizons_solve_their_equations(d, beta):
    for log10_T, needed in zip(bounds.smallest_horizons(d, beta=beta), ("k1", "k3", "k3"), strict=True):
        if log10_T > 70:
            continue  # 1/T^2 underflows
        horizon = 10.0**log10_T
        b = 1 / math.log(horizon) if beta is None else beta
        k = theory_kappas(d, alpha=1.0, beta=b, delta=horizon**-2)
        root = 0.5 * math.sqrt(horizon / (4 * d))
        term = {"k1": k.k1 * (d + 1) ** 3, "k3": k.k3 * (d + 1) ** 4}[needed] * horizon ** (2 * b) / root
        assert min(abs(term - 1), abs(term - 0.25)) < 1e-6


def test_bounds_agree_with_each_other():
    """The closed form of Lemma 4.6 is above the recursion; Theorem 3.2 by hand; corrected is never smaller."""
    k = bounds.kappas(3, alpha=1.0, beta=0.05, delta=1e-9, version="printed")
    numerator = bounds.layer_numerator(3, gamma=2.0, constants=k, version="printed")
    forms = [
        bounds.lemma_4_6(3, M=10, n=1e9, numerator=numerator, version="printed", tight=tight) for tight in (False, True)
    ]
    unit = 12 * numerator / math.sqrt(1e9)
    assert math.isclose(forms[1], unit * (2.54**2 * 10 + 2.54 * 100 + 1000), rel_tol=1e-12) and forms[1] < forms[0]
    assert bounds.theorem_3_2([4, 8, 16], [0.5, 0.25, 9], 2, version="printed") == 4 + 4 * (8 * 0.5 + 16 * 0.25)
    for version in bounds.VERSIONS:
        assert bounds.theorem_4_7(1e12, 2, 2, alpha=1.0, version=version) > 0
    assert bounds.regret_bound([1e20, 2e20, 4e20], 2, 2, alpha=1.0, version="corrected") >= bounds.regret_bound(
        [1e20, 2e20, 4e20], 2, 2, alpha=1.0, version="printed"
    )
