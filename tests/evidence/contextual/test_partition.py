"""The page on the layered partition: the procedure by hand, the bins counted, the two cases, figures and verdicts."""

import csv
import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpregret import contextual
from dpregret.contextual.partition import Layer
from dpregret.simulation.seeds import generator
from evidence import report
from evidence.contextual import partition, partition_figures, two_cases
from evidence.contextual.partition import Node
from evidence.contextual.slopes import Slope

E1, E2, E3 = np.eye(3)
TREE = {
    (0,): Node(E1, 0.5, 0.1, True),
    (0, 0): Node(E2, 0.25, 0.2, True),
    (0, 1): Node(E2, 0.0, 0.0, False),
    (0, 0, 1): Node(E3, -1.0, 0.4, True),
}
GAMMA, M = 10.0, 3


def test_a_tree_is_read_from_its_layers():
    def layer(parents, k, direction, active=True):
        n = len(k)
        codes = np.array(parents) * 3 + k
        numbers = np.arange(n) + 1.0
        return Layer(
            codes, np.array(parents), np.array(k), direction, numbers, numbers * 0, numbers / 8, np.full(n, active)
        )

    layers = [layer([0, 0], [0, 1], np.eye(2)), layer([0, 1, 1], [1, 1, 2], np.ones((3, 2)), False)]
    tree = partition.read_tree(layers)
    assert list(tree) == [(0,), (1,), (0, 1), (1, 1), (1, 2)]
    assert tree[(1,)].direction.tolist() == [0, 1] and tree[(1, 2)].coefficient == 3.0
    assert tree[(1, 1)].slope == 0.25 and tree[(1,)].active and not tree[(1, 1)].active


def test_procedure_by_hand():
    steps = partition.procedure([0.6, 0.3, 0.05], TREE, GAMMA, M)
    assert [step.label for step in steps] == [(0,), (0, 0), (0, 0, 1), None]
    np.testing.assert_allclose([step.prediction for step in steps], [0, 0.3, 0.375, 0.325])
    np.testing.assert_allclose(steps[1].residual, [0, 0.3, 0.05])
    np.testing.assert_allclose(steps[3].residual, 0.0)
    stopped = partition.procedure([0.6, 0.02, 0.01], TREE, GAMMA, M)
    assert [step.label for step in stopped] == [(0,), (0, 1)]
    assert [step.label for step in partition.procedure([0, 0, 0], TREE, GAMMA, M)] == [(3,)]
    table = partition.steps_table(steps, GAMMA).data
    assert "| 3 | 0.05 | $B_{001}$ | 0.01 | 0.1 | 0.3750 | 0.6250 | -1.3750 |" in table
    assert "| 4 | 0 | (end) |  |  | 0.3250 |" in table


@pytest.fixture(scope="module")
def fitted():
    sizes = 10.0 ** -np.arange(3)
    vectors = np.array([[0.8 * a, s * 0.5 * b] for a, b in itertools.product(sizes, sizes) if b <= a for s in (1, -1)])
    law = np.full(len(vectors), 1 / len(vectors))
    theta = np.array([0.6, -0.5])
    batch = contextual.Batch(vectors, np.zeros(len(law), int), law, vectors @ theta, 10**12)
    estimate = contextual.CorrectedLPLR(alpha=1.0, beta=1 / 6).fit(batch, delta=0.01, rng=generator(1, "tree"))
    return partition.read_tree(estimate.details), estimate, vectors, law, theta


def test_the_procedure_gives_the_values_of_the_library(fitted):
    tree, estimate, vectors, *_ = fitted
    more = np.random.default_rng(2).normal(size=(50, 2)) * np.logspace(-4, -0.7, 50)[:, None]
    queries = np.concatenate([vectors, more, np.zeros((1, 2))])
    found = partition.follow(queries, tree, 100.0, 3, support=len(vectors))
    assert found.nested and found.in_class and found.shorter
    assert partition.agrees(found, estimate, queries) and np.abs(found.values).max() > 0.3
    assert found.clipped <= found.largest <= 2
    broken = found._replace(values=found.values + 1e-9)
    assert not partition.agrees(broken, estimate, queries)
    other = partition.follow(queries, tree | {(0,): tree[(0,)]._replace(coefficient=9.0)}, 100.0, 3, support=2)
    assert other.largest > 2 and other.clipped == 2 and not partition.agrees(other, estimate, queries)


def test_what_fails_on_the_way_is_noticed():
    """A direction of norm 3 makes the residual longer, and out of order."""
    long = {(1,): Node(3 * E1, 0.5, 0.1, True)}
    found = partition.follow(np.array([[0.05, 0.0, 0.0]]), long, GAMMA, M, support=1)
    assert not found.shorter and found.nested
    wrong = partition.Step((0, 1), E1, 0.0)
    assert not partition._is_in_class(wrong, GAMMA, M)
    assert partition._is_in_class(partition.Step((0,), E1, 0.0), GAMMA, M)
    assert not partition._is_in_class(partition.Step((0,), 0.05 * E1, 0.0), GAMMA, M)


def test_checks_of_a_fit(fitted):
    tree, *_, theta = fitted
    assert partition.check(tree, theta) == (True, True)
    child = next(label for label in tree if len(label) == 2 and tree[label].active)
    tilted = tree | {child: tree[child]._replace(direction=tree[child[:1]].direction)}
    assert not partition.check(tilted, theta).orthogonal
    off = tree | {child: tree[child]._replace(coefficient=tree[child].coefficient + 9)}
    assert not partition.check(off, theta).within


def test_bins_and_the_users_in_them(fitted):
    tree, _, vectors, law, theta = fitted
    state = partition.states(tree, 3, layers=2)
    assert len(state) == 12 and state[1, 0] == state[2, 1] == "impossible" and state[(0,)] == "active"
    assert partition.states({(0,): Node(E1, 0.0, 0.0, False)}, 2, layers=2) == {
        (0,): "inactive", (1,): "below inactive", (0, 0): "below inactive", (0, 1): "below inactive",
        (1, 0): "impossible", (1, 1): "below inactive",
    }  # fmt: skip
    share = partition.reached(state, vectors, law, tree, 100.0, 3)
    assert sum(share[k,] for k in range(3)) == pytest.approx(1.0)
    assert all(share[label] == 0 for label, kind in state.items() if kind == "impossible")
    for k in range(3):
        assert share[k,] >= sum(share[k, j] for j in range(3)) - 1e-12
    table = partition.bins_table(tree, share, theta, 100.0).data
    assert table.count("\n") == 1 + sum(node.active for node in tree.values()) and "$B_{0}$" in table


@pytest.mark.parametrize(("h", "M", "wanted"), [(1, 3, (3, 3, 4, 4)), (2, 3, (9, 6, 16, 10)), (3, 2, (8, 4, 27, 10))])
def test_bins_are_counted(h, M, wanted):
    found = partition.count(h, M)
    assert found == wanted and found.is_binomial(h, M) and not found._replace(ordered=5).is_binomial(h, M)


COUNTS = {h: partition.count(h, 3) for h in (1, 2, 3)}


def test_verdict_on_figure_1():
    assert partition.figure_1(COUNTS, 3, True).verdict == "holds"
    assert partition.figure_1(COUNTS, 3, False).verdict == "fails"
    assert partition.figure_1(COUNTS | {2: COUNTS[2]._replace(partitioning=8)}, 3, True).verdict == "fails"
    assert partition.figure_1(COUNTS | {2: COUNTS[2]._replace(ordered=8)}, 3, True).verdict == "fails"


@pytest.mark.parametrize(
    ("changes", "agree", "word"),
    [
        ({}, True, "holds corrected"),
        ({"largest": 1.0, "clipped": 1.0}, True, "holds"),
        ({"clipped": 2.1}, True, "fails"),
        ({"nested": False}, True, "fails"),
        ({"in_class": False}, True, "fails"),
        ({"shorter": False}, True, "fails"),
        ({}, False, "fails"),
    ],
)
def test_verdict_on_figure_2(changes, agree, word):
    found = partition.Followed(True, True, True, np.zeros(3), 1.8, 1.8)._replace(**changes)
    assert partition.figure_2(found, agree).verdict == word


# --- figures


def rows(folder, name):
    return list(csv.DictReader((folder / f"{name}.csv").open(encoding="utf-8")))


def test_figure_of_the_tree(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    state = partition.states(TREE, 2, layers=3)
    share = dict.fromkeys(state, 0.25)
    partition_figures.draw_tree(state, share, 2, gamma=10.0, users=10**6, alpha=1.0)
    found = rows(tmp_path, "contextual-partition-tree")
    assert len(found) == 14 and found[0] == {"label": "B0", "layer": "1", "state": "active", "share": "0.25"}
    assert partition_figures.position((), 3) == (13, 0) and partition_figures.position((1, 0), 3) == (10, -2)
    assert partition_figures.position((2, 2, 2), 3) == (26, -3)


def test_figure_of_the_plane(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    tree = {(k,): Node(np.array([0.6, -0.8]), 0.1, 0.1, k < 2) for k in range(3)}
    points = partition_figures.turned_vectors(np.random.default_rng(1), 50)
    partition_figures.draw_plane(tree, points, gamma=2.0, log_users=16.0, alpha=1.0)
    assert rows(tmp_path, "contextual-partition-plane") == [
        {"ring": k, "direction_1": "0.6", "direction_2": "0.8"} for k in "01"
    ]


def test_classes_of_the_plane():
    """Direction e_1 in the outer ring: at (.75, .25) the ring is 0 and what is left, .25, has k = 2."""
    found = partition_figures.plane({(0,): Node(np.array([1.0, 0.0]), 0.1, 0.1, True)}, points=9)
    assert found.first[5, 7] == 0 and found.second[5, 7] == 2
    assert found.first[4, 6] == 1 and math.isnan(found.second[4, 6])  # (.5, 0): ring 1 was not fitted
    assert math.isnan(found.first[0, 0]) and found.second[4, 7] == 5


def test_the_law_of_the_plane_turns_with_the_size():
    points = partition_figures.turned_vectors(np.random.default_rng(3), 20_000)
    norms = np.linalg.norm(points, axis=1)
    assert 1 / 8 <= norms.min() and norms.max() <= 1 + 1e-12
    for k in range(3):
        ring = points[(norms <= 2.0**-k) & (norms > 2.0 ** -(k + 1))]
        top = np.linalg.eigh(ring.T @ ring)[1][:, -1]
        angle = math.pi * (0.12 + 0.22 * (k + 0.5))
        way = partition_figures.along(top, k)
        assert way @ [math.cos(angle), math.sin(angle)] > 0.98
        np.testing.assert_array_equal(partition_figures.along(-top, k), way)


# --- the two cases


def test_errors_of_fits_side_by_side():
    problem = contextual.case_one(0.25)
    data = contextual.offline_batch(problem, 10**4, replicates=2)

    class Off:
        values = data.means + np.array([0.1, 0.2, 0.3, -0.4])

    found = two_cases.errors(Off, data, 2)
    np.testing.assert_allclose(found, [[0.075 + 0.05, 0.225 + 0.1], [0.0075 + 0.01, 0.0675 + 0.04]])
    assert two_cases.mean(np.array([1.0, 3.0])) == (2.0, 1.0)


def test_shares_that_are_tried():
    one, two = (two_cases.shares_tried(10**10, case) for case in ("I", "II"))
    assert min(one) == pytest.approx(0.1 / 1e5) and max(one) == pytest.approx(1e3 / 1e5) and len(one) == 33
    assert two[:33] == one and min(two) == pytest.approx(1e-10) and len(two) == 33 + 21
    assert max(two_cases.shares_tried(100, "I")) <= 0.5


def test_slope_has_a_least_standard_error():
    exact = {float(x): two_cases.Mean(10 ** (-0.5 * x), 0.0) for x in (8, 10, 11, 12, 13)}
    exact[8.0] = two_cases.Mean(1.0, 0.0)  # below the least
    found = two_cases.slope_from(10.0, exact, 0.95)
    reach = stats.t.ppf(0.975, 2) * 5e-4
    assert found == pytest.approx((-0.5, 5e-4, -0.5 - reach, -0.5 + reach), rel=1e-9)
    noisy = {x: two_cases.Mean(cell.value * (1.2 if x == 11 else 1), 0.0) for x, cell in exact.items()}
    rough = two_cases.slope_from(10.0, noisy, 0.95)
    line = stats.linregress([10, 11, 12, 13], [math.log10(noisy[float(x)].value) for x in (10, 11, 12, 13)])
    assert (rough.value, rough.se) == (pytest.approx(line.slope), pytest.approx(line.stderr)) and rough.se > 5e-4


def test_closed_forms_of_case_two():
    """theta_2 sin r = .8 n^(-1/4); a bit of mean tau .8 sin r has variance 1 - its square."""
    assert two_cases.ignoring(12.0) == pytest.approx(8e-4, rel=1e-12)
    tau = math.tanh(0.25)
    assert two_cases.rescaled_bit(4.0, 0.5) == pytest.approx(math.sqrt(1 - (tau * 0.08) ** 2) / 100 / tau, rel=1e-12)


KEYS = (*two_cases.PRIVATE, "least squares")


def some_slopes(changes):
    found = {(key, case, measure): -0.5 for key in KEYS for case in ("I", "II") for measure in two_cases.MEASURES}
    found |= {(key, "II", "MAD"): -0.25 for key in KEYS[1:3]} | changes
    return {cell: Slope(x, 0.01, x - 0.03, x + 0.03) for cell, x in found.items()}


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, "holds corrected"),
        ({(KEYS[1], "I", "MAD"): -0.43}, "fails"),
        ({(KEYS[2], "I", "MSE"): -0.61}, "fails"),
        ({(KEYS[0], "II", "MAD"): -0.44}, "fails"),
        ({(KEYS[1], "II", "MAD"): -0.31}, "fails"),
        ({(KEYS[3], "I", "MSE"): -1.0}, "holds corrected"),
    ],
)
def test_verdict_on_the_two_cases(changes, word):
    slopes = some_slopes(changes)
    card = two_cases.card(slopes, [10.0, 12.0], 0.99)
    assert card.verdict == word and "LPLR ≈ [-0.530, -0.470]" in two_cases.card(some_slopes({}), [10.0], 0.99).observed
    table = two_cases.slopes_table(slopes, 10.0).data
    assert table.count("\n") == 5 and report.series("least squares")["label"] in table


def test_figure_of_the_two_cases(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    cells = itertools.product(KEYS, ("I", "II"), (10.0, 12.0), two_cases.MEASURES)
    result = {cell: two_cases.Mean(10 ** -(cell[2] / 2), 10 ** -(cell[2] / 2 + 1)) for cell in cells}
    two_cases.draw(result, alpha=1.0)
    found = rows(tmp_path, "contextual-partition-cases")
    assert len(found) == 32 and list(found[0]) == ["case", "measure", "oracle", "users", "error", "error_se"]
    assert {float(row["error"]) for row in found} == {1.0}
    assert all(float(row["error_se"]) == pytest.approx(0.1) for row in found)
