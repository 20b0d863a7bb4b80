"""The search for the worst instance on made-up regret, and the families of instances."""

import math

import numpy as np
import pytest
import xarray as xr

from dpregret.contextual import CorrectedLPLR, simulate, two_direction_problem
from dpregret.contextual.partition import Grid
from evidence.contextual import worst_instance as search


@pytest.fixture
def made_up(monkeypatch):
    """`simulate` with a regret that falls off on both sides of 0.3, and its calls."""
    calls = []

    def simulate(*, problem, replicates, seed, bonus=0.0):
        calls.append((len(problem) * replicates, seed.spawn_key))
        r = np.tile(problem, (replicates, 1))
        regret = 10.0 * len(calls) + bonus - np.abs(np.log2(r / 0.3))
        return xr.Dataset(
            {name: (("replicate", "problem"), v) for name, v in (("regret", regret), ("covered", r != 0.5))}
        )

    monkeypatch.setattr(search, "simulate", simulate)
    return calls


def found(**arguments):
    options = dict(choosing=3, measuring=4, seed=5) | arguments
    return search.find(lambda r: r, search.falling(1 / 16), lambda r: search.around(r, per_octave=2), **options)


def test_the_worst_instance_is_found_within_a_step_of_the_finer_grid(made_up):
    worst = found()
    assert worst.instance == pytest.approx(0.25 * 2**0.5, rel=1e-15, abs=0)
    np.testing.assert_allclose(worst.finer, 0.25 * 2.0 ** (np.arange(-2, 3) / 2))


def test_the_regret_of_the_worst_instance_is_that_of_fresh_runs(made_up):
    worst = found(bonus=1.0)
    expected = 30 + 1 - abs(math.log2(worst.instance / 0.3))
    assert worst.mean == pytest.approx(expected, rel=1e-12, abs=0)
    assert worst.regret.shape == (4,) and worst.se == 0
    assert len({key for _, key in made_up}) == 3


def test_all_runs_are_counted_and_those_without_an_invalid_band(made_up):
    worst = found()
    assert [size for size, _ in made_up] == [5, 5 * 3, 4]
    assert worst.runs == 24
    assert worst.covered == 24 - 1 - 3  # 0.5 is in the coarse grid once, and three times in the finer one


def test_standard_error_of_the_mean():
    worst = search.Worst(0.5, np.array([1.0, 2.0, 6.0]), [0.5], 3, 3)
    assert worst.mean == 3
    assert worst.se == pytest.approx(math.sqrt((4 + 1 + 9) / 2 / 3), rel=1e-15, abs=0)


def test_repetitions_are_rows_and_instances_columns():
    options = dict(horizon=10**4, oracle=CorrectedLPLR(alpha=1.0), n_0=10)
    runs = search.play(two_direction_problem, [1.0, 0.25], 3, seed=1, **options)
    assert runs.regret.shape == runs.covered.shape == (3, 2)
    np.testing.assert_allclose(runs.regret, np.tile([5000, 1250], (3, 1)))  # so few users exclude nothing
    alone = simulate(problem=two_direction_problem(0.25), seed=1, **options)
    assert runs.regret[0, 1] == pytest.approx(float(alone.regret[0]), rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("least", "per_octave", "expected"),
    [(1 / 8, 1, [1, 0.5, 0.25, 0.125]), (0.3, 1, [1, 0.5]), (0.3, 2, [1, 0.5**0.5, 0.5]), (1.0, 4, [1])],
)
def test_coarse_grid(least, per_octave, expected):
    np.testing.assert_allclose(search.falling(least, per_octave=per_octave), expected, rtol=1e-15)


def test_finer_grid_is_cut_at_one_without_repetition():
    np.testing.assert_allclose(search.around(0.25, per_octave=1), [0.125, 0.25, 0.5])
    np.testing.assert_allclose(search.around(1.0, per_octave=2), [0.5, 0.5**0.5, 1.0])
    assert len(search.around(0.1, per_octave=8)) == 17


def test_family_with_many_scales():
    problem = search.many_scales_problem(3, 0.01)
    np.testing.assert_allclose(problem.gaps.max(axis=1), 0.01)
    np.testing.assert_allclose(problem.context_probabilities, 1 / 6)
    vectors, root = problem.features[:, 1], math.sqrt(1 - 1e-4)
    np.testing.assert_allclose(vectors[:3], [[root, 0.01], [root / math.e, 0.01], [root / math.e**2, 0.01]])
    np.testing.assert_allclose(vectors[3:], vectors[:3] * [1, -1])
    assert not problem.features[:, 0].any()


@pytest.mark.parametrize("r", [1e-3, 1e-7])
def test_bins_of_many_scales_hold_one_scale_each_but_for_one_that_holds_two(r):
    vectors = search.many_scales_problem(6, r).features[:6, 1]
    bins, scales = np.unique(Grid.of(1e18).size_class(np.linalg.norm(vectors, axis=1)), return_counts=True)
    assert len(bins) == 5 and sorted(scales) == [1, 1, 1, 1, 2]


def test_instances_of_many_scales():
    coarse, near = search.many_scales([2, 4, 6, 9], 256.0**2)
    assert coarse == [(n, r) for n in (2, 4, 6, 9) for r in (0.5, 0.25)]
    close = near((4, 0.5))
    assert {n for n, _ in close} == {2, 4, 6} and len(close) == 21
    assert max(r for _, r in close) == 0.5
    assert min(r for _, r in close) == pytest.approx(0.5 * 2**-0.75, rel=1e-15, abs=0)
