"""Problems, partition and the elimination framework: exact facts and bad input."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpregret.contextual import (
    LPLR,
    ContextualProblem,
    CorrectedLPLR,
    LeastSquares,
    PerturbedStatistics,
    arc_problem,
    case_one,
    case_two,
    lin_ucb,
    mixture_problem,
    nested_problem,
    offline_batch,
    run,
    run_many,
    two_direction_problem,
)
from dpregret.contextual.batch import Batch
from dpregret.contextual.elimination import epoch_lengths, first_epoch_scale
from dpregret.contextual.partition import Grid, Layer, Walk, complement

FAMILIES = [
    two_direction_problem(0.1),
    two_direction_problem(0.1, "shared"),
    case_one(0.01),
    case_two(0.01),
    arc_problem(11),
    nested_problem(4, 0.1, "shared"),
    mixture_problem([0.1, 0.01, 1.0]),
]


@pytest.mark.parametrize("problem", FAMILIES)
def test_families_are_valid_problems(problem):
    assert np.linalg.norm(problem.features, axis=2).max() <= 1 + 1e-12
    np.testing.assert_allclose(problem.context_probabilities.sum(), 1)
    gaps = problem.gaps
    np.testing.assert_allclose(gaps.min(axis=1), 0)
    by_hand = sum(
        p * np.mean([max(phi @ problem.parameter for phi in arms) - phi @ problem.parameter for phi in arms])
        for p, arms in zip(problem.context_probabilities, problem.features, strict=True)
    )
    assert math.isclose(problem.uniform_regret, by_hand, rel_tol=1e-12)


def test_the_two_cases_have_the_same_second_moments():
    share = 0.03
    for problem in (case_one(share), case_two(share)):
        phi = problem.features[:, 1]
        moments = np.einsum("x,xi,xj->ij", problem.context_probabilities, phi, phi)
        np.testing.assert_allclose(moments, np.diag([1 - share, share]), atol=1e-15)


def test_nested_problem_of_dimension_two_is_a_two_direction_problem():
    tangent = 0.2
    sine = tangent / math.hypot(1, tangent)
    np.testing.assert_allclose(
        np.sort(nested_problem(2, tangent).features, axis=0), np.sort(two_direction_problem(sine).features, axis=0)
    )


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: ContextualProblem([[[1.0, 0.1]]], [1.0], [0.0, 1.0]), "features"),
        (lambda: ContextualProblem([[[1.0, 0.0]]], [1.0], [0.8, 0.8]), "parameter"),
        (lambda: ContextualProblem([[[1.0, 0.0]]], [0.9], [0.0, 1.0]), "context_probabilities"),
        (lambda: ContextualProblem([[[1.0]], [[1.0]]], [1.5, -0.5], [1.0]), "context_probabilities"),
        (lambda: ContextualProblem([[[1.0, 0.0]]], [1.0], [1.0]), "features"),
        (lambda: two_direction_problem(0.0), "r"),
        (lambda: two_direction_problem(0.1, "other"), "family"),
        (lambda: Batch([[1.0]], [0], [1.0], [1.2], 10), "means"),
        (lambda: Batch([[1.0]], [0], [1.1], [1.0], 10), "probabilities"),
        (lambda: run(FAMILIES[0], horizon=1e6, oracle=LeastSquares(), alpha=0.0, seed=0), "alpha"),
        (lambda: run(FAMILIES[0], horizon=1e6, oracle=LeastSquares(), alpha=1.01, seed=0), "alpha"),
        (lambda: run(FAMILIES[0], horizon=40, oracle=LeastSquares(), alpha=1.0, seed=0), "horizon"),
        (lambda: run(FAMILIES[0], horizon=1e27, oracle=LeastSquares(), alpha=1.0, seed=0), "horizon"),
        (lambda: run(FAMILIES[0], horizon=1e6, oracle="ols", alpha=1.0, seed=0), "oracle"),
        (lambda: run(FAMILIES[0], horizon=1e6, oracle=LeastSquares(), alpha=1.0, seed=0, backend="gpu"), "backend"),
        (lambda: run_many([], horizon=1e6, oracle=LeastSquares(), alpha=1.0, seed=0), "problems"),
        (lambda: CorrectedLPLR("gaussian"), "mechanism"),
        (lambda: CorrectedLPLR(width_scale=0.0), "width_scale"),
        (lambda: CorrectedLPLR(beta=0.6), "beta"),
        (lambda: LPLR("E5"), "corrections"),
        (lambda: LPLR({"E6", "line 11"}), "corrections"),
        (lambda: LPLR(kappa_scale=(1, 1, 1)), "kappa_scale"),
        (lambda: lin_ucb(FAMILIES[0], horizon=100, seed=0, checkpoints=[5, 5]), "checkpoints"),
    ],
)
def test_bad_input_is_refused_by_name(call, name):
    with pytest.raises(ValueError, match=name):
        call()


@given(st.floats(0, 1), st.floats(1e2, 1e24))
def test_size_class_is_the_largest_k_that_fits(norm, horizon):
    grid = Grid.of(horizon)
    k = int(grid.size_class(np.array([norm]))[0])
    assert 0 <= k <= grid.M and grid.gamma**-grid.M <= horizon**-0.5 * (1 + 1e-9)
    assert norm <= grid.gamma**-k * (1 + 1e-9)
    assert k == grid.M or norm >= grid.gamma ** -(k + 1) * (1 - 1e-9)


@given(st.integers(2, 6), st.integers(0, 2**31))
@settings(max_examples=25)
def test_walk_and_complements_are_orthogonal(d, seed):
    """Down a tree of random directions the residual is what is left, and |phi|^2 adds up."""
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(1, d))
    phi /= np.linalg.norm(phi)
    grid = Grid(math.e, 12)
    walk, basis, squares, used = Walk(phi, np.zeros(1), grid), np.eye(d)[None], 0.0, []
    theta = rng.normal(size=d)
    for _ in range(d):
        inner = rng.normal(size=(1, basis.shape[2]))
        inner /= np.linalg.norm(inner)
        u = (basis @ inner[:, :, None])[:, :, 0]
        codes, one = walk.codes(), np.ones(1)
        layer = Layer(codes, codes * 0, codes * 0, u, u @ theta, 0 * one, 0 * one, np.ones(1, dtype=bool))
        walk.enter(codes)
        squares += ((u * walk.residual).sum()) ** 2
        walk.advance(layer, fallback=False)
        used.append(u[0])
        if basis.shape[2] > 1:
            basis = complement(basis, inner)
            np.testing.assert_allclose(basis[0].T @ basis[0], np.eye(basis.shape[2]), atol=1e-12)
            np.testing.assert_allclose(np.array(used) @ basis[0], 0, atol=1e-12)
    assert math.isclose(squares, 1, rel_tol=1e-10)
    np.testing.assert_allclose(walk.prediction, phi @ theta, atol=1e-10)


@given(st.integers(2, 10**26), st.integers(1, 1000))
def test_epochs_double_and_fill_the_horizon(horizon, n_0):
    lengths = epoch_lengths(horizon, n_0)
    assert sum(lengths) == horizon
    assert all(length == 2 ** (i + 1) * n_0 for i, length in enumerate(lengths[:-1]))
    assert 1 <= lengths[-1] <= 2 ** len(lengths) * n_0


def test_first_epoch_scale():
    horizon = 1e6
    assert first_epoch_scale(horizon, 3) == math.ceil(9 * math.log(3 * horizon * math.log(horizon)))


class Exact:
    """An oracle that knows the answer: values f*, bands of a given size."""

    def __init__(self, size):
        self.size = size

    def fit(self, batch, *, alpha, delta, rng):
        from dpregret.contextual import Estimate

        return Estimate(lambda features, actions: (batch.means, np.full(len(features), self.size)), batch)


def test_elimination_keeps_what_the_bands_cannot_separate():
    """With bands +-w around the truth, exactly the actions of gap <= 2 w survive; the regret is summed exactly."""
    problem = arc_problem(7, half_angle=1.0, parameter=(0.0, 1.0))
    width = 0.3
    result = run(problem, horizon=10**6, oracle=Exact(width), alpha=1.0, seed=0)
    np.testing.assert_array_equal(result.surviving, problem.gaps <= 2 * width)
    alive = result.surviving / result.surviving.sum(axis=1, keepdims=True)
    first = result.epochs["users"][0]
    expected = first * problem.uniform_regret + (10**6 - first) * problem.regret(alive)
    assert math.isclose(result.regret, expected, rel_tol=1e-12) and result.covered
    np.testing.assert_allclose(result.regret_after([0, first, 10**6]), [0, first * problem.uniform_regret, expected])


def test_runs_are_reproducible_and_differ_between_seeds():
    def regret(seed):
        oracle = CorrectedLPLR(width_scale=0.05)
        return run(two_direction_problem(0.3), horizon=1e6, oracle=oracle, alpha=1.0, seed=seed).epochs["width"][:-1]

    np.testing.assert_array_equal(regret(1), regret(1))
    assert (regret(1) != regret(2)).any()


def test_problems_of_different_shapes_run_side_by_side():
    problems = [two_direction_problem(0.5), arc_problem(5), case_one(0.2, family="shared")]
    for oracle in (CorrectedLPLR(), LPLR("all"), PerturbedStatistics(), LeastSquares()):
        results = run_many(problems, horizon=1e9, oracle=oracle, alpha=1.0, seed=3)
        for problem, result in zip(problems, results, strict=True):
            assert result.surviving.shape == (problem.n_contexts, problem.n_actions)
            assert result.covered and 0 < result.regret <= 1e9 * problem.uniform_regret * (1 + 1e-9)


def test_users_are_used_once():
    batch = offline_batch(two_direction_problem(0.5), 100)
    batch.counts(np.random.default_rng(0), 60)
    with pytest.raises(ValueError, match="users"):
        batch.counts(np.random.default_rng(0), 41)


def test_lin_ucb_learns():
    """Far below uniform play on an easy problem; a run's regret grows by at most the largest gap a round."""
    problem = two_direction_problem(0.8)
    curve = lin_ucb(problem, horizon=20_000, seed=0, checkpoints=[100, 1000, 20_000])
    assert (np.diff(curve) >= 0).all() and curve[-1] < 0.1 * 20_000 * problem.uniform_regret
    assert (np.diff(curve) <= np.diff([100, 1000, 20_000]) * problem.gaps.max()).all()
