"""The page on confidence bands: line 11, the lemmas measured, tables, figure, and each verdict on both sides."""

import csv
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special

from dpregret import contextual
from dpregret.contextual.lplr import Kappas
from dpregret.contextual.partition import Grid, Layer, Trace
from dpregret.simulation.seeds import generator
from evidence.contextual import bounds, confidence, confidence_cards, confidence_figure, lemma_ratios, lemmas
from evidence.contextual import line_11 as eleven
from evidence.contextual.proof_steps import Step
from evidence.contextual.remarks import Enclosed
from evidence.contextual.shares import Share, copies, share, shares

RIGHT, WRONG = Share(100, 100, 0.95, 1.0), Share(50, 100, 0.4, 0.6)


# --- shares


def test_intervals_of_a_table_hold_together():
    """Clopper-Pearson: the tail at each end of 30 of 100 is (1 - .9)/(2 * 4)."""
    cell = share(30, 100, 0.9, intervals=4)
    tail = 0.1 / 8
    assert special.bdtrc(29, 100, cell.low) == pytest.approx(tail, rel=1e-9, abs=0)
    assert special.bdtr(30, 100, cell.high) == pytest.approx(tail, rel=1e-9, abs=0)
    assert (cell.value, cell.interval) == (0.3, (cell.low, cell.high))
    assert shares(dict.fromkeys("abcd", 30), 100, 0.9) == dict.fromkeys("abcd", cell)


def test_copies_are_problems_side_by_side():
    batch = copies(np.eye(2), [0.25, 0.75], np.array([0.5, -0.2]), 1e6, 3)
    assert (batch.n, batch.horizon, batch.n_actions) == (10**6, 1e6, 3)
    assert batch.probabilities.reshape(3, 2).tolist() == [[0.25, 0.75]] * 3
    assert batch.means.reshape(3, 2).tolist() == [[0.5, -0.2]] * 3
    assert batch.actions.tolist() == batch.instances.tolist() == [0, 0, 1, 1, 2, 2]


# --- line 11


@pytest.mark.parametrize("log_T", [14, 18])
def test_limit_law_of_line_11_against_draws(log_T):
    n, angle, theta_1, alpha = 10.0**log_T / 4, 0.3, 0.9, 0.7
    a, b = math.cos(angle) ** 2, math.sin(angle) ** 2
    error = np.sqrt((18 * 2 + 121.5 * theta_1**2) / alpha**2 + a * (1 - a * theta_1**2)) / a
    length = np.sqrt(60.75 / alpha**2 + a * b) / (a - b)
    z = np.random.default_rng(3).standard_normal((2, 400_000)) / math.sqrt(n)
    k = np.minimum(np.floor(-np.log(np.abs(length * z[1]))), math.ceil(math.log(10.0**log_T) / 2))
    found = eleven.limit_law(10.0**log_T, angle=angle, theta_1=theta_1, alpha=alpha)
    assert found.covered == pytest.approx(np.mean(np.abs(error * z[0]) <= np.exp(-k)), abs=0.004)
    assert found.low < found.covered < found.high
    assert math.tan(math.pi / 2 * found.low) == pytest.approx(length / error, rel=1e-12, abs=0)
    assert math.tan(math.pi / 2 * found.high) == pytest.approx(math.e * length / error, rel=1e-9, abs=0)


def test_bound_along_the_direction():
    assert eleven.bound_along(1.0, 2) == 1 / 8
    assert eleven.bound_along(0.5, 3) == pytest.approx(1 / 24, rel=1e-15, abs=0)


@pytest.mark.parametrize(
    ("active", "s", "psi", "word"),
    [(True, 1.5, 1.25, True), (False, 1.0, 1.0, False), (True, 1.51, 1.0, False), (True, 1.0, 1.26, False)],
)
def test_conditions_of_the_bound(active, s, psi, word):
    layer = SimpleNamespace(
        active=np.array([True, active]), trace=SimpleNamespace(s=np.array([0.2, s]), psi=np.array([1, psi]))
    )
    assert eleven.conditions(layer) is word


def test_hits_of_line_11():
    """Two runs, rows (context, query): the first run holds everywhere, the second at its context alone."""
    fit = SimpleNamespace(
        holds=lambda batch: np.array([True, True, True, False]),
        band=lambda u, runs: (np.array([0.5, 0.2]), np.array([0.1, 0.29])),
    )
    found = eleven.hits(fit, None, np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0.5, 0.3]))
    assert found == {"contexts": 2, "e1": 1, "along": 1, "all points": 1}


# --- the lemmas in one bin, by hand


ALPHA, N = 0.5, 10**8
SETTING = lemmas.Setting(ALPHA, 0.1, 0.01, Grid(2.0, 5), Kappas(1.0, 2.0, 3.0, 4.0))
THETA = np.array([0.6, 0.8])


def one_bin(active=True, slope=0.05, psi=0.21):
    """Rows (.5, 0) and (.25, 0) of probabilities .1 and .1, features (.5, .3) and (.25, .3); direction (1, 0)."""
    phi = np.array([[0.5, 0.0], [0.25, 0.0]])
    trace = Trace(
        N, np.array([0.5]), np.zeros(2, int), phi, np.array([0.2, 0.3]), np.array([0.01, 0.03]), np.array([psi]),
        np.array([[0.11, 0.0]]), np.array([[[0.16, 0.0], [0.0, 0.0]]]), np.array([0.16]), np.array([[1.0, 0.0]]),
        np.array([0.019]),
    )  # fmt: skip
    layer = Layer(
        np.array([1]), np.array([0]), np.array([1]), trace.u, np.array([0.7]), np.array([0.002]), np.array([slope]),
        np.array([active]), trace,
    )  # fmt: skip
    features = np.add(phi, [0.0, 0.3])
    batch = contextual.Batch(features, [0, 0], [0.1, 0.1], features @ THETA, N)
    (found,) = lemma_ratios.bins(layer, batch, THETA)
    return found


def test_a_bin_has_its_law_exactly():
    b = one_bin()
    assert (b.run, b.psi) == (0, pytest.approx(0.2, rel=1e-15))
    np.testing.assert_allclose(b.law, [0.5, 0.5])
    np.testing.assert_allclose(b.error, [0.2 - 0.24, 0.3 - 0.24])
    # y_h = <phi, theta> - prediction: .54 - .2 and .39 - .3
    np.testing.assert_allclose(b.lam, [(0.34 * 0.5 + 0.09 * 0.25) / 2, 0.0], atol=1e-15)
    np.testing.assert_allclose(b.Lam, [[(0.25 + 0.0625) / 2, 0], [0, 0]], atol=1e-15)
    assert b.carried == pytest.approx((0.01 * 0.5 + 0.03 * 0.25) / 2 / 0.4, rel=1e-12)
    assert b.upper == pytest.approx(0.05 * 0.4, rel=1e-12)
    assert b.missed(THETA) == pytest.approx(0.1, rel=1e-12)


def test_ratios_of_lemma_4_2():
    found = lemmas.of_statistics(one_bin(), N, SETTING)
    limits = bounds.lemma_4_2(2, n=N, psi=0.2, g=0.5, alpha=ALPHA, beta=0.1, delta=0.01, version="corrected")
    assert found == {
        "4.2, counts": pytest.approx(0.01 / limits.psi, rel=1e-9),
        lemmas.WITH_ROOT: pytest.approx((2100 - 0.2) / limits.psi, rel=1e-9),
        "4.2, λ": pytest.approx((0.11 - 0.09625) / limits.lam, rel=1e-9),
        "4.2, Λ": pytest.approx((0.16 - 0.15625) / limits.Lam, rel=1e-9),
    }
    assert list(lemmas.of_statistics(one_bin(active=False), N, SETTING)) == ["4.2, counts", lemmas.WITH_ROOT]


def test_ratios_of_lemma_4_3():
    """1/s = 6.25 against 2 d gamma^4; omega = t - <u, theta> + E[error <u, phi>]/s."""
    passed = (-0.04 * 0.5 + 0.06 * 0.25) / 2 / 0.16
    log = math.log(96 / 0.001)
    found = lemmas.of_coefficient(one_bin(), N, SETTING, THETA)
    assert found["4.3, 1/s"] == pytest.approx(6.25 / (4 * 2**4), rel=1e-9)
    assert found["4.3, ω"] == pytest.approx((0.1 + passed) / (120 * 81 * 8 * log / (ALPHA * 0.2 * 1e4)), rel=1e-9)


def test_ratios_of_the_carried_error():
    carried, unit = 0.015625, 2 * 2**1.5 / (0.2 * 1e4)
    found = lemmas.of_carried(one_bin(), N, SETTING)
    log = math.log(48 / 0.001)
    assert found["8.1"] == pytest.approx((0.019 - carried) * ALPHA / (47 * unit * log), rel=1e-9)
    assert found["8.3, lower"] == pytest.approx((carried - 0.019) / (0.02 - 0.019), rel=1e-9)
    assert found["8.3, upper"] == pytest.approx((0.02 - carried) / (2.5 * 3 * unit), rel=1e-9)
    assert lemmas.is_upper(one_bin(), N, SETTING) == (True, True)
    assert lemmas.is_upper(one_bin(slope=0.039), N, SETTING) == (True, False)


def test_ratios_of_the_width():
    """Errors .1 * (.5, .25), shares carried .5/.4 and .25/.4, after: eta + .002 + .05 |along|."""
    log = math.log(96 / 0.001)
    found = lemmas.of_width(one_bin(), N, SETTING, THETA)
    assert found["4.4, χ"] == pytest.approx(max(0.05 / 0.027, 0.025 / 0.0145), rel=1e-9)
    assert found["4.4, η"] == pytest.approx(max(abs(-0.04 + 0.05) / 0.037, abs(0.06 + 0.025) / 0.0445), rel=1e-9)
    for name, carried, factor, psi in (("8.5", 0.015625, 120, 0.2), ("8.7", 0.02, 300, 0.21)):
        rest = factor * 81 * 4 * log / (ALPHA * psi * 1e4)
        assert found[name] == pytest.approx(0.05 / (carried * 1.25 + rest), rel=1e-9)


def test_band_after_a_bin():
    np.testing.assert_allclose(lemmas.band_after(one_bin()), [0.01 + 0.002 + 0.025, 0.03 + 0.002 + 0.0125])
    np.testing.assert_allclose(lemmas.band_after(one_bin(active=False)), [0.51, 0.28])
    np.testing.assert_array_equal(lemmas.band_after(one_bin(slope=9.0)), 1.0)
    assert "4.4, η" not in lemmas.of_width(one_bin(slope=9.0), N, SETTING, THETA)


# --- and in runs


@pytest.fixture(scope="module")
def measured():
    problem, T = contextual.mixture_problem([0.5, 0.05], parameter=(0.6, 0.8)), 1e14
    oracle = contextual.LPLR("all", alpha=1.0, kappa_scale=(4.0, 1.0, 1.0, 1.0))
    batch = contextual.offline_batch(problem, int(T), horizon=T, replicates=20)
    options = {"alpha": 1.0, "delta": 0.1}
    fit = oracle.fit(batch, delta=0.1, rng=generator(1, "lemma"), trace=True)
    return lemma_ratios.measure(fit, batch, problem.parameter, **options), fit, batch


def test_all_inequalities_hold_in_runs_of_the_corrected_algorithm(measured):
    cell, _, batch = measured
    assert len(cell.ratios) == 16 and cell.bins == 40 and cell.users == 4 * cell.n == batch.n
    assert all(ratio.shape == (20,) for ratio in cell.ratios.values())
    worst = {name: ratio.max() for name, ratio in cell.ratios.items()}
    assert worst.pop(lemmas.WITH_ROOT) > 1e9
    assert max(worst.values()) <= 1
    assert cell.upper[1] == 40 and 5 < cell.upper[0] < 35


def test_lemma_4_6_and_the_recursion_from_their_definitions(measured):
    cell, fit, batch = measured
    c = lemmas.setting(batch, alpha=1.0, delta=0.1)
    assert (c.beta, c.grid.M) == (1 / math.log(1e14), 17)
    assert c.kappas == bounds.kappas(2, alpha=1.0, beta=c.beta, delta=0.1, version="corrected")
    numerator = bounds.layer_numerator(2, gamma=math.e, constants=c.kappas, version="corrected")
    mean = (batch.probabilities * fit.widths).reshape(20, -1).sum(axis=1)
    bound = bounds.lemma_4_6(2, M=17, n=cell.n, numerator=numerator, version="corrected")
    np.testing.assert_allclose(cell.ratios["4.6, EΔ"], mean / bound, rtol=1e-9)
    sums = []
    for layer in fit.details:
        total = np.zeros(20)
        for b in lemma_ratios.bins(layer, batch, np.array([0.6, 0.8])):
            total[b.run] += b.psi * math.sqrt(b.law @ lemmas.band_after(b) ** 2)
        sums.append(total)
    step = 12 * numerator / math.sqrt(cell.n)
    wanted = np.maximum(sums[0] / (17 * step), sums[1] / (3.15 * sums[0] + 17**2 * step))
    np.testing.assert_allclose(cell.ratios["4.4, recursion"], wanted, rtol=1e-9)


def test_the_largest_ratio_of_a_run_is_over_all_its_bins(measured):
    cell, fit, batch = measured
    c = lemmas.setting(batch, alpha=1.0, delta=0.1)
    for name in ("4.2, counts", "4.2, Λ"):
        worst = np.zeros(20)
        for layer in fit.details:
            for b in lemma_ratios.bins(layer, batch, np.array([0.6, 0.8])):
                worst[b.run] = max(worst[b.run], lemmas.of_statistics(b, cell.n, c)[name])
        np.testing.assert_array_equal(cell.ratios[name], worst)


def test_summary_of_cells():
    def cell(value, upper, users=8):
        ratios = {"a": np.array([0.1, value]), lemmas.WITH_ROOT: np.full(2, 9.0), "4.6, EΔ": np.full(2, 0.2)}
        return lemma_ratios.Measured(ratios, upper, 10, users, 2, 2)

    cells = {("x", 1.0): cell(0.5, (4, 10)), ("y", 1.0): cell(1.5, (6, 9)), ("x", 2.0): cell(0.7, (5, 10))}
    found = lemma_ratios.summarize(cells, confidence=0.9)
    assert found.largest["a"] == 1.5 and found.violated["a"] == 1 and found.by_instance["a", "x"] == 0.7
    assert found.names == ["4.6, EΔ", "a"] and found.runs == 6 and found.counted
    assert found.upper[1.0] == (share(10, 20, 0.9, intervals=6), share(19, 20, 0.9, intervals=6))
    assert found.upper[2.0][0].runs == 10
    assert not lemma_ratios.summarize({("x", 1.0): cell(0.5, (4, 10), users=9)}, confidence=0.9).counted
    table = confidence.lemma_table(found, 0.1).data
    assert "| a | ≈ 0.70 | ≈ 1.5 | 1 | 0.1 |" in table and "c/√n" not in table
    assert "| 1 | 20 | ≈ 0.500 |" in confidence.line_13_table(found).data
    assert confidence.line_13_lines(found, 0.01)[1].endswith("False")


# --- coverage


def test_queries_are_of_very_different_sizes():
    problem = contextual.arc_problem(3)
    batch = confidence.with_queries(problem, 1e6, 2, generator(1))
    features, law = batch.features.reshape(2, 43, 2), batch.probabilities.reshape(2, 43)
    np.testing.assert_array_equal(features[0], features[1])
    np.testing.assert_allclose(np.linalg.norm(features[0, 3:], axis=1), np.logspace(-6, 0, 40))
    assert law[:, 3:].max() == 0 and law[0, :3].tolist() == problem.context_probabilities.tolist()


def test_coverage_counts_runs_in_which_all_holds():
    fit = SimpleNamespace(holds=lambda batch: np.array([True, True, True, False]), widths=np.array([0.1, 0.2, 0.3, 9]))
    cell = confidence.coverage(fit, SimpleNamespace(probabilities=np.array([0.5, 0.5, 1.0, 0.0])), 2)
    assert cell == (1, 2, pytest.approx(0.225))
    assert confidence.Coverage(100, 100, 0.1).lower(0.99, 4) == pytest.approx(0.0025**0.01, rel=1e-9)


@pytest.mark.parametrize(("kept", "word"), [(1000, True), (970, False)])
def test_coverage_table_says_whether_all_limits_are_above_the_level(kept, word):
    cells = {("arc", "laplace", 8.0): confidence.Coverage(kept, 1000, 0.2)}
    table, valid = confidence.coverage_table(cells, 0.99, alpha=1.0, delta=0.01)
    assert valid is word and "| arc | laplace | 8 | 1 |" in table.data


def test_tables_of_line_11_and_of_the_scales():
    cells = {(name, 14.0): RIGHT for name in ("e1", "along", "contexts", "all points")}
    limits = {14.0: eleven.Limit(0.96, 0.5, 0.99)}
    assert "| 14 | 0.9600 | ≈ 1.00 |" in confidence.line_11_table(cells, limits, 0.99).data
    first, second = confidence.line_11_lines(cells, limits, 0.125, True)
    assert first.endswith("0.125") and second.startswith("closed form inside all intervals: True")
    outside = confidence.line_11_lines(cells, {14.0: eleven.Limit(0.9, 0.5, 0.99)}, 0.125, True)[1]
    assert outside.startswith("closed form inside all intervals: False")
    scales = {("arc", 1.0): RIGHT, ("arc", 0.3): WRONG}
    table = confidence.scale_table(scales, 0.3, {"arc": confidence.Coverage(9, 10, 0.1)}).data
    assert "| 1 | proved | ≈ 1.00 |" in table and "| 0.3 | heuristic | ≈ 0.500 |" in table
    assert "T^{-2}$ | heuristic | ≈ 0.900 |" in table
    steps = {"a": Step(2.0, 1.0), "b": Step(2.0, 2.0)}
    assert "| a | 2 | 1 | slip |" in confidence.chain_table(steps).data
    assert confidence.chain_lines(steps, True)[0].startswith("all corrected steps hold: False")


def test_figure_of_the_bands(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    cells = {(name, x): WRONG for name in ("e1", "along", "contexts", "all points") for x in (14.0, 16.0)}
    curve = {float(x): eleven.Limit(0.5, 0.4, 0.7) for x in np.linspace(14, 24, 201)}
    scales = {(label, x): RIGHT for label in ("two", "arc") for x in (1.0, 0.3)}
    arguments = {"alpha": 1.0, "confidence": 0.99, "delta": 0.01, "lemma_delta": 0.1, "log_scale_horizon": 14.0}
    confidence_figure.draw(cells, curve, 0.125, scales, {14.0: (WRONG, RIGHT)}, **arguments)
    rows = list(csv.DictReader((tmp_path / "contextual-confidence-coverage.csv").open(encoding="utf-8")))
    assert list(rows[0]) == ["panel", "series", "x", "y", "y_se"]
    assert [sum(row["panel"] == panel for row in rows) for panel in "abc"] == [2 * 3 + 11, 4, 2]
    assert {float(row["y_se"]) for row in rows if row["panel"] == "b"} == {0.01}  # 1 / runs where all hold
    assert {float(row["y_se"]) for row in rows if row["series"] == "as printed"} == {0.05}


# --- verdicts


NAMES = ("4.2, counts", "4.2, λ", "4.2, Λ", "4.3, 1/s", "4.3, ω", "4.4, recursion", "4.4, χ", "4.6, EΔ")
NAMES += ("4.6, coverage", "8.1", "8.3, lower", "8.3, upper", "8.5", "8.7")
CHAIN = (confidence_cards.UNION_BOUND, "47 ≤ 118 / 2.5 of Corollary 8.3", "300 of Corollary 8.7")
SHARPER = ("second line of Lemma 4.2", "third line of Lemma 4.2", "ε/s of Lemma 4.3, over 0.1")
SHARPER += ("120(d+1)⁴ of Lemma 4.3", "47 of Lemma 8.1")


def evidence(*, ratio=0.5, step=0.9, sharp=0.9, root=1e9, upper=RIGHT):
    largest = dict.fromkeys(NAMES, ratio) | {lemmas.WITH_ROOT: root}
    runs = lemma_ratios.Summary(largest, {}, {}, {14.0: (WRONG, upper)}, 10, True)
    chain = {name: Step(9.0, step) for name in CHAIN}
    return confidence_cards.Found(runs, chain, dict.fromkeys(SHARPER, sharp), 0.1)


ONE = {
    "lemma-4.2": (confidence_cards.lemma_4_2, {"root": 0.5, "ratio": 1.1, "step": 1.1, "sharp": 1.1}),
    "lemma-4.3": (lambda f: confidence_cards.lemma_4_3(f, {1: Fraction(1, 4)})[0], {"ratio": 1.1, "sharp": 1.1}),
    "lemma-4.4-recursion": (lambda f: confidence_cards.recursion(f, True), {"ratio": 1.1, "sharp": 1.1}),
    "lemma-4.6": (lambda f: confidence_cards.lemma_4_6(f, [1.0, 2.0], True), {"ratio": 1.1, "sharp": 1.1}),
    "lemma-8.1": (confidence_cards.lemma_8_1, {"ratio": 1.1, "sharp": 1.1}),
    "corollary-8.3": (
        lambda f: confidence_cards.corollary_8_3(f, Enclosed("0.5", True), 14)[0],
        {"ratio": 1.1, "step": 1.1, "upper": WRONG},
    ),
    "lemma-8.5": (confidence_cards.lemma_8_5, {"ratio": 1.1, "sharp": 1.1}),
    "corollary-8.7": (
        lambda f: confidence_cards.corollary_8_7(f, Fraction(1, 2)), {"ratio": 1.1, "step": 1.1, "sharp": 1.1}
    ),
}  # fmt: skip
AS_CORRECTED = {"lemma-4.2", "lemma-4.6", "corollary-8.3"}


@pytest.mark.parametrize("claim", ONE)
def test_verdicts_on_the_lemmas_need_each_of_their_grounds(claim):
    card, faults = ONE[claim]
    right = card(evidence())
    assert right.claim == f"contextual/{claim}"
    assert right.verdict == ("holds corrected" if claim in AS_CORRECTED else "holds")
    for name, value in faults.items():
        assert card(evidence(**{name: value})).verdict == "fails", name


def test_verdicts_that_depend_on_more():
    f = evidence()
    assert confidence_cards.recursion(f, False).verdict == "fails"
    assert confidence_cards.lemma_4_6(f, [1.0, 2.0], False).verdict == "fails"
    assert confidence_cards.corollary_8_7(f, Fraction(3, 2)).verdict == "fails"
    half = [confidence_cards.corollary_8_3(f, Enclosed("0.5", proved), 14)[1].verdict for proved in (True, False)]
    assert half == ["fails", "holds"]
    alone = [confidence_cards.lemma_4_3(f, {3: Fraction(x, 10)})[1].verdict for x in (5, 6)]
    assert alone == ["holds", "fails"]


@pytest.mark.parametrize(
    ("cells", "limits", "along", "conditions", "faults", "words"),
    [
        (RIGHT, (0.5, 0.7), 0.125, True, {}, ("holds corrected", "fails")),
        (WRONG, (0.5, 0.7), 0.125, True, {}, ("fails", "fails")),
        (RIGHT, (0.5, 0.7), 0.125, True, {"upper": WRONG}, ("fails", "fails")),
        (RIGHT, (0.5, 0.7), 0.125, True, {"sharp": 1.1}, ("fails", "fails")),
        (RIGHT, (0.5, 0.7), 0.125, False, {}, ("holds corrected", "holds")),
        (RIGHT, (0.5, 0.995), 0.125, True, {}, ("holds corrected", "holds")),
        (RIGHT, (0.8, 0.7), 0.125, True, {}, ("holds corrected", "holds")),
        (RIGHT, (0.5, 0.7), 1.0, True, {}, ("holds corrected", "holds")),
    ],
)
def test_verdicts_on_lemma_4_4(cells, limits, along, conditions, faults, words):
    line_11 = {("all points", 14.0): cells, ("along", 14.0): WRONG}
    limit = {14.0: eleven.Limit(limits[0], 0.4, limits[1])}
    found = confidence_cards.lemma_4_4(evidence(**faults), line_11, limit, along=along, conditions=conditions)
    assert tuple(card.verdict for card in found) == words
