"""What LPLR returns of its computation when asked for a trace."""

import numpy as np
import pytest

from dpregret.contextual import LPLR, CorrectedLPLR, mixture_problem, nested_problem, offline_batch
from dpregret.contextual.partition import Grid, Walk
from dpregret.simulation.seeds import generator

PROBLEMS = {
    "two scales": mixture_problem([0.5, 0.05], parameter=(0.6, 0.8)),
    "three": nested_problem(3, 0.1, parameter=(0.5, 0.5, 0.6)),
}
FIELDS = ("codes", "parents", "k", "direction", "coefficient", "offset", "slope", "active")


def fit(problem, corrections="all", **arguments):
    batch = offline_batch(PROBLEMS[problem], 10**18, horizon=1e18, replicates=3)
    rng = generator(7, "trace", problem)
    return LPLR(corrections, alpha=1.0).fit(batch, delta=0.1, rng=rng, **arguments), batch, rng


@pytest.fixture(params=PROBLEMS)
def traced(request):
    found, batch, _ = fit(request.param, trace=True)
    return found.details, batch


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("corrections", ["none", "all"])
def test_a_trace_changes_no_draw_and_no_estimate(problem, corrections):
    (one, _, rng), (other, _, same) = fit(problem, corrections), fit(problem, corrections, trace=True)
    assert rng.bit_generator.state == same.bit_generator.state
    assert np.array_equal(one.values, other.values) and np.array_equal(one.widths, other.widths)
    for a, b in zip(one.details, other.details, strict=True):
        assert all(np.array_equal(getattr(a, name), getattr(b, name)) for name in FIELDS)


def test_without_being_asked_there_is_none():
    found, batch, _ = fit("three")
    assert [layer.trace for layer in found.details] == [None] * 3
    right = CorrectedLPLR(alpha=1.0).fit(batch, delta=0.1, rng=generator(7))
    assert all(layer.trace is None for layer in right.details)


def test_the_layer_follows_from_its_trace(traced):
    """Line 7 of Algorithm 4 and line 13 of Algorithm 5, from the estimates."""
    layers, batch = traced
    for layer in layers:
        x, on = layer.trace, layer.active
        assert on.all() and x.n == batch.n // (2 * batch.dimension)
        np.testing.assert_allclose(x.size, np.exp(-layer.k), rtol=1e-14)
        np.testing.assert_array_equal(layer.direction, x.u)
        np.testing.assert_allclose(layer.coefficient, np.einsum("bi,bi->b", x.u, x.lam) / x.s, rtol=1e-12)
        projected = np.einsum("bi,bij,bj->b", x.u, x.Lam, x.u)
        np.testing.assert_allclose(projected, x.s, rtol=1e-9)
        margin = (layer.slope * np.sqrt(x.s) - x.carried) * x.psi  # kappa_2 gamma d^1.5 / sqrt(n), for every bin
        np.testing.assert_allclose(margin, margin[0], rtol=1e-9)


def test_estimates_are_near_the_law(traced):
    """psi, lambda, Lambda and epsilon against sums over the rows that the trace puts in the bin."""
    layers, batch = traced
    for layer in layers:
        x = layer.trace
        for b in range(len(layer.codes)):
            rows = (x.bin == b) & (batch.probabilities > 0)
            psi = batch.probabilities[rows].sum()
            law, phi = batch.probabilities[rows] / psi, x.residual[rows]
            size = x.size[b]
            assert (np.linalg.norm(phi, axis=1) <= size * (1 + 1e-9)).all()
            left = (batch.means[rows] - x.prediction[rows])[:, None] * phi
            assert x.psi[b] == pytest.approx(psi, rel=1e-5, abs=0)
            np.testing.assert_allclose(x.lam[b], law @ left, atol=1e-4 * size)
            np.testing.assert_allclose(x.Lam[b], (law[:, None] * phi).T @ phi, atol=1e-4 * size**2)
            carried = law @ (x.eta[rows] * np.abs(phi @ x.u[b])) / np.sqrt(x.s[b])
            assert x.carried[b] == pytest.approx(carried, abs=1e-3 * size / np.sqrt(x.s[b]))


def test_the_first_layer_starts_from_the_features(traced):
    layers, batch = traced
    first = layers[0].trace
    np.testing.assert_array_equal(first.residual, batch.features)
    assert not first.prediction.any() and not first.eta.any()
    assert layers[1].trace.eta.max() > 0


def test_each_layer_starts_where_the_one_before_ended(traced):
    layers, batch = traced
    walk = Walk(batch.features, batch.actions, Grid.of(1e18))
    for layer in layers:
        walk.enter(layer.codes)
        x = layer.trace
        for name in ("bin", "residual", "prediction", "eta"):
            np.testing.assert_array_equal(getattr(x, name), getattr(walk, name))
        walk.advance(layer)
    assert np.abs(layers[1].trace.prediction).max() > 0.1
