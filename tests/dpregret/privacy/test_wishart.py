"""The printed Wishart mechanism: closed forms by quadrature, by special functions and by simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.special import k1

from dpregret.privacy.audit import lower_limit, upper_limit
from dpregret.privacy.mechanisms import Wishart
from dpregret.privacy.wishart import overlap
from dpregret.simulation.seeds import generator

RUNS = 40_000
# 13 intervals, each of level 1e-4 by two one-sided limits: a false alarm with probability below 2e-3
CONFIDENCE = 1 - 0.5e-4


def impossible(mechanism, first, second, rng):
    """How often the output under ``first`` is one that ``second`` cannot give."""
    d, variance = mechanism.dimension, 1.5 / mechanism.alpha
    shift = 3 * mechanism.scale**2 * variance * (d + 1) * np.eye(d)
    output = mechanism.privatize(np.broadcast_to(np.asarray(first, float), (RUNS, d)), rng)
    return int((np.linalg.eigvalsh(output + shift - np.outer(second, second))[:, 0] < 0).sum())


def agrees(hits, probability):
    return lower_limit(hits, RUNS, confidence=CONFIDENCE) <= probability <= upper_limit(
        hits, RUNS, confidence=CONFIDENCE
    )  # fmt: skip


@pytest.mark.parametrize("scale", [1.0, 0.2])
@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_impossible_outputs_under_the_empty_record(dimension, scale):
    mechanism = Wishart(alpha=1.0, dimension=dimension, scale=scale)
    v = scale * np.ones(dimension) / math.sqrt(dimension)
    hits = impossible(mechanism, 0 * v, v, generator(1, dimension, scale))
    assert agrees(hits, 1 - math.exp(-1 / 9))
    for epsilon in (0.0, 1.0, 100.0):
        assert mechanism.delta_between(0 * v, v, epsilon) == pytest.approx(mechanism.delta(epsilon), rel=1e-14, abs=0)
        assert mechanism.delta(epsilon) == pytest.approx(1 - math.exp(-1 / 9), rel=1e-14, abs=0)


@pytest.mark.parametrize(("dimension", "sine"), [(2, 1.0), (3, 1.0), (4, 0.5)])
def test_replacement_by_a_vector_of_equal_length(dimension, sine):
    mechanism = Wishart(alpha=4.0, dimension=dimension)
    v, w = np.eye(dimension)[0], np.zeros(dimension)
    w[:2] = math.sqrt(1 - sine**2), sine
    exact = 2 / math.pi * quad(lambda t: t * k1(t), 0, 4 / 9 * sine)[0]
    assert mechanism.delta_between(v, w, 0.0) == pytest.approx(exact, rel=1e-9, abs=0)
    assert mechanism.delta_between(v, w, 50.0) == pytest.approx(exact, rel=1e-9, abs=0)
    assert agrees(impossible(mechanism, v, w, generator(2, dimension)), exact)


@pytest.mark.parametrize("lengths", [(0.9, 0.4), (0.3, 1.0)])
def test_replacement_by_a_vector_of_another_length(lengths):
    mechanism = Wishart(alpha=9.0, dimension=3)
    v, w = np.array([lengths[0], 0, 0]), lengths[1] * np.array([0.6, 0, 0.8])
    # at a large epsilon only the impossible outputs count
    assert agrees(impossible(mechanism, v, w, generator(3, lengths)), mechanism.delta_between(v, w, 40.0))


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.3, 2.0])
@pytest.mark.parametrize(("v", "w"), [(0.0, 1.0), (1.0, 0.0), (0.6, 1.0), (1.0, 0.3)])
def test_one_dimension_by_quadrature(v, w, epsilon):
    """d = 1: the noise is exponential, since a chi-square of two degrees is."""
    law = stats.gamma(1, scale=3 / 1.7)  # W_1(2, 1.5 / alpha) at alpha = 1.7

    def density(m, u):
        return law.pdf((m - u * u) / 3) / 3

    points = [min(v * v, w * w), max(v * v, w * w), 60.0, 400.0]
    pieces = itertools.pairwise(points)
    exact = sum(quad(lambda m: max(0, density(m, v) - math.exp(epsilon) * density(m, w)), *p)[0] for p in pieces)
    assert Wishart(alpha=1.7, dimension=1).delta_between([v], [w], epsilon) == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize(("a", "b"), [(0.3, 1.1), (1.2, 0.2), (0.5, 0.5)])
def test_overlap_by_double_quadrature(a, b):

    def inner(x):
        kink = b / a * (x - a)  # where the two roots are equal
        below = quad(lambda y: math.exp(-y) * math.sqrt(x * y), 0, kink)[0]
        above = quad(lambda y: math.exp(-y) * math.sqrt((x - a) * (y + b)), kink, kink + 40)[0]
        return math.exp(-x) * (below + above)

    value, _ = quad(inner, a, a + 40)
    assert overlap(a, b) == pytest.approx(4 / math.pi * value, rel=1e-8, abs=0)


def test_overlap_at_its_edges():
    assert overlap(0.0, 3.0) == 1.0
    assert overlap(0.7, 0.0) == math.exp(-0.7)
    assert overlap(0.7, 1e-9) == pytest.approx(math.exp(-0.7), abs=1e-6)
    assert overlap(1e-9, 0.7) == pytest.approx(1.0, abs=1e-8)
    # exchange of the two inputs: the overlap weighs e^(a - b) times as much
    assert overlap(0.4, 0.9) * math.exp(0.4 - 0.9) == pytest.approx(overlap(0.9, 0.4), rel=1e-10, abs=0)


vectors = st.lists(st.floats(-1, 1), min_size=3, max_size=3).map(lambda x: np.array(x) / max(1.0, np.linalg.norm(x)))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(first=vectors, second=vectors, alpha=st.floats(0.1, 5), epsilon=st.floats(0, 3))
def test_no_pair_exceeds_the_profile(first, second, alpha, epsilon):
    mechanism = Wishart(alpha=alpha, dimension=3)
    value = mechanism.delta_between(first, second, epsilon)
    assert -1e-12 <= value <= mechanism.delta(epsilon) + 1e-12
    assert mechanism.delta_between(first, -first, epsilon) == pytest.approx(0.0, abs=1e-12)


def test_noise_has_the_printed_moments():
    """Mean zero; variance 9 g^4 s^2 (d + 1) (2 on the diagonal, 1 off it). Four means, three variances at 1e-4 each."""
    mechanism = Wishart(alpha=0.5, dimension=2, scale=0.7)
    noise = mechanism.sample(generator(4), 100_000)
    assert mechanism.sample(generator(4)).shape == (2, 2)
    unit = 3 * 0.7**2 * (1.5 / 0.5) * math.sqrt(3)
    for i, j, variance in ((0, 0, 2), (1, 1, 2), (0, 1, 1)):
        z = noise[:, i, j] / unit / math.sqrt(variance)
        assert abs(z.mean()) * math.sqrt(len(z)) < 3.9
        assert abs(z.var() - 1) < 3.9 * math.sqrt(((z - z.mean()) ** 2).var() / len(z))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Wishart(alpha=0.0, dimension=2), "alpha must be"),
        (lambda: Wishart(alpha=1.0, dimension=0), "dimension must be"),
        (lambda: Wishart(alpha=1.0, dimension=2, scale=-1.0), "scale must be"),
        (lambda: Wishart(alpha=1.0, dimension=2).delta(-0.1), "epsilon must be"),
        (lambda: Wishart(alpha=1.0, dimension=2).privatize([1.0, 1.0], generator(0)), "values must have norms"),
        (lambda: Wishart(alpha=1.0, dimension=2).privatize([1.0], generator(0)), "values must have last axis 2"),
        (lambda: Wishart(alpha=1.0, dimension=2).delta_between(np.eye(2), np.eye(2), 0.0), "single vectors"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
