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
    InputPerturbation,
    LeastSquares,
    PerturbedStatistics,
    arc_problem,
    case_one,
    case_two,
    lin_ucb,
    mixture_problem,
    nested_problem,
    offline_batch,
    simulate,
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
        (lambda: simulate(LeastSquares(), FAMILIES[0], horizon=40, seed=0), "horizon"),
        (lambda: simulate(LeastSquares(), FAMILIES[0], horizon=1e27, seed=0), "horizon"),
        (lambda: simulate("ols", FAMILIES[0], horizon=1e6, seed=0), "oracle"),
        (lambda: simulate(LeastSquares(), FAMILIES[0], horizon=1e6, seed=0, backend="gpu"), "backend"),
        (lambda: simulate(LeastSquares(), [], horizon=1e6, seed=0), "problem"),
        (lambda: CorrectedLPLR("gaussian", alpha=1.0), "mechanism"),
        (lambda: CorrectedLPLR(alpha=1.0, width_scale=0.0), "width_scale"),
        (lambda: CorrectedLPLR(alpha=1.0, beta=0.6), "beta"),
        (lambda: LPLR("L5", alpha=1.0), "corrections"),
        (lambda: LPLR({"L6", "line 11"}, alpha=1.0), "corrections"),
        (lambda: LPLR(alpha=1.0, kappa_scale=(1, 1, 1)), "kappa_scale"),
        *(
            (lambda make=make, alpha=alpha: make(alpha=alpha), "alpha must be .* > 0 and <= 1, got")
            for make in (CorrectedLPLR, LPLR, PerturbedStatistics, InputPerturbation)
            for alpha in (0.0, 1.01, math.nan, "1")
        ),
        (lambda: simulate(CorrectedLPLR, FAMILIES[0], horizon=1e6, seed=0), r"oracle must be an object .*, got <class"),
        (lambda: simulate(FAMILIES[0], LeastSquares(), horizon=1e6, seed=0), "oracle must be an object"),
        (lambda: simulate(LeastSquares(), ContextualProblem, horizon=1e6, seed=0), "problem must be a .*, got <class"),
        (
            lambda: simulate(LeastSquares(), [FAMILIES[0], nested_problem(3, 0.1)], horizon=1e6, seed=0),
            r"problem must have one dimension throughout, got \[2, 3\]",
        ),
        (lambda: simulate(LeastSquares(), FAMILIES[0], horizon=1e6, replicates=0, seed=0), "replicates"),
        (lambda: simulate(LeastSquares(), FAMILIES[0], horizon=1e6, checkpoints=[2e6], seed=0), "checkpoints"),
        (
            lambda: ContextualProblem([[1.0, 0.0]], [1.0], [0.0, 1.0]),
            r"features must have 3 dimensions \(contexts, actions, d\), got 2",
        ),
        (lambda: Batch([1.0], [0], [1.0], [1.0], 10), r"features must have 2 dimensions \(rows, d\), got 1"),
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

    def fit(self, batch, *, delta, rng):
        from dpregret.contextual import Estimate

        return Estimate(lambda features, actions: (batch.means, np.full(len(features), self.size)), batch)


def test_elimination_keeps_what_the_bands_cannot_separate():
    """With bands +-w around the truth, exactly the actions of gap <= 2 w survive; the regret is summed exactly."""
    problem = arc_problem(7, half_angle=1.0, parameter=(0.0, 1.0))
    width = 0.3
    first = 2 * first_epoch_scale(10**6, 2)
    checkpoints = [0, first, 10**6]
    found = simulate(Exact(width), problem, horizon=10**6, seed=0, checkpoints=checkpoints)[{"replicate": 0}]
    np.testing.assert_array_equal(found.left, problem.gaps <= 2 * width)
    alive = (found.left / found.left.sum("action")).values
    assert found.users[0] == first
    expected = first * problem.uniform_regret + (10**6 - first) * problem.regret(alive)
    assert math.isclose(found.regret, expected, rel_tol=1e-12) and found.covered
    np.testing.assert_allclose(found.regret_after, [0, first * problem.uniform_regret, expected])
    assert found["round"].values.tolist() == checkpoints


def test_runs_are_reproducible_and_differ_between_seeds():
    def width(seed):
        oracle = CorrectedLPLR(alpha=1.0, width_scale=0.05)
        return simulate(oracle, two_direction_problem(0.3), horizon=1e6, seed=seed).width.values[0, :-1]

    np.testing.assert_array_equal(width(1), width(1))
    assert (width(1) != width(2)).any()


def test_problems_of_different_shapes_run_side_by_side():
    problems = [two_direction_problem(0.5), arc_problem(5), case_one(0.2, family="shared")]
    for oracle in (CorrectedLPLR(alpha=1.0), LPLR("all", alpha=1.0), PerturbedStatistics(alpha=1.0), LeastSquares()):
        found = simulate(oracle, problems, horizon=1e9, seed=3, replicates=2)
        assert found.regret.dims == ("replicate", "problem") and found.width.dims == (*found.regret.dims, "epoch")
        assert found.covered.all() and found.left.shape == (2, 3, 5, 2)
        for i, problem in enumerate(problems):
            left = found.left[:, i].values
            assert left[:, : problem.n_contexts].any(axis=2).all() and not left[:, problem.n_contexts :].any()
            assert (0 < found.regret[:, i]).all()
            assert (found.regret[:, i] <= 1e9 * problem.uniform_regret * (1 + 1e-9)).all()


@pytest.mark.parametrize("backend", ["exact", "per_user"])
def test_replicates_are_the_problem_again_and_share_one_generator(backend):
    """Replicates of a list are rows of the longer list; a single problem has no dim of problems."""
    first, second = two_direction_problem(0.3), arc_problem(3)
    oracle, keys = CorrectedLPLR(alpha=1.0, width_scale=0.02), dict(horizon=4000, n_0=200, seed=5, backend=backend)
    both = simulate(oracle, [first, second], replicates=2, **keys)
    flat = simulate(oracle, [first, second, first, second], **keys)
    for name in ("regret", "covered", "width", "left"):
        np.testing.assert_array_equal(both[name].values.reshape(flat[name].shape), flat[name].values)
    assert (both.width[0, 0, 0] != both.width[1, 0, 0]).all()
    alone = simulate(oracle, first, replicates=2, **keys)
    again = simulate(oracle, [first, first], **keys)
    assert alone.regret.dims == ("replicate",) and alone.users.dims == ("replicate", "epoch")
    np.testing.assert_array_equal(alone.width, again.width[0])
    assert alone.epoch.values.tolist() == [1, 2, 3, 4] and (alone.users.sum("epoch") == 4000).all()


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
