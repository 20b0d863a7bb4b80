"""Every bound, scale and width of the contextual package against numbers derived anew: mpmath, ball arithmetic, loops."""

import itertools
import math

import flint
import mpmath as mp
import numpy as np
import pytest

from dpregret.contextual import (
    LPLR,
    Batch,
    CorrectedLPLR,
    Estimate,
    InputPerturbation,
    LeastSquares,
    PerturbedStatistics,
    corrected,
    kernels,
    lin_ucb,
    offline_batch,
    simulate,
    two_direction_problem,
)
from dpregret.contextual.lplr import Kappas, theory_kappas
from dpregret.contextual.moments import (
    bernstein_width,
    hoeffding_width,
    laplace_width,
    record_values,
    sensitivities,
    spent,
)
from dpregret.contextual.partition import Grid, Walk
from dpregret.simulation.seeds import generator
from evidence.contextual import bounds
from evidence.contextual import lower_bounds as lb

mp.mp.dps = 40


def near(value, rel=1e-12):
    return pytest.approx(float(value), rel=rel, abs=0)


# --- widths: each solves its tail bound


@pytest.mark.parametrize(("log", "n", "size"), [(0.7, 5, 1.0), (3.0, 1000, 0.5), (40.0, 10**9, 2.5)])
def test_widths_solve_their_tail_bounds(log, n, size):
    t = hoeffding_width(log, n, size)
    assert 2 * n**2 * mp.mpf(t) ** 2 / (n * (2 * mp.mpf(size)) ** 2) == near(log)
    t = n * mp.mpf(laplace_width(log, n, size))  # sup over x < 1/b of x t - n b^2 x^2/(1 - b x)
    x = (1 - mp.sqrt(n * size / (t + n * size))) / size
    assert x * t - n * size**2 * x**2 / (1 - size * x) == near(log)
    for variance in (0.3, 4.0):
        root, linear = mp.sqrt(2 * mp.mpf(variance) * log / n), 2 * mp.mpf(size) * log / (3 * n)
        assert bernstein_width(log, n, variance, size) == near(root + linear)
        t = n * mp.mpf(bernstein_width(log, n, variance, size))
        assert t**2 / 2 / (n * mp.mpf(variance) + size * t / 3) >= log
        t = n * (root + linear / 2)  # half of the second term is not enough
        assert t**2 / 2 / (n * mp.mpf(variance) + size * t / 3) < log


def test_laplace_width_is_above_the_exact_moment_generating_function():
    for x in np.linspace(0.01, 0.99, 50):
        assert -math.log1p(-(x**2)) <= x**2 / (1 - x)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("bound", [1.0, 1.7, 2.0])
def test_sensitivities_over_random_records(d, bound):
    """Never above, attained at the corner of the ball; two records in two bins."""
    rng = np.random.default_rng(d)
    v = rng.normal(size=(3000, d))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    upper = np.triu_indices(d)
    size_l = bound * np.abs(v).sum(axis=1).max()
    size_L = np.abs(v[:, upper[0]] * v[:, upper[1]]).sum(axis=1).max()
    found = sensitivities(d, bound)
    assert found == (near(2 * bound * math.sqrt(d)), near(d + 1))
    assert found[0] >= 2 * size_l * (1 - 1e-12) and found[1] >= 2 * size_L * (1 - 1e-12)
    assert 2 * size_l >= 0.8 * found[0] and 2 * size_L >= 0.8 * found[1]
    assert spent(found, (4.0, 0.5)) == near(found[0] / 4 + found[1] * 2)
    assert spent((1.0,), (0.0,)) == math.inf


def test_values_of_a_record():
    values = record_values(np.array([[0.5, -0.25]]), np.array([0.1]))
    np.testing.assert_allclose(values[0, 0], [0.45, -0.225, 0.25, -0.125, 0.0625], rtol=1e-15)
    np.testing.assert_allclose(values[0, 1], [-0.55, 0.275, 0.25, -0.125, 0.0625], rtol=1e-15)


@pytest.mark.parametrize("alpha", [0.2, 1.0])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_scales(d, alpha):
    for found in (CorrectedLPLR("laplace", alpha=alpha).scales(d, 2.0), corrected.laplace_scales(d, 2.0, alpha)):
        assert [float(x) for x in found] == [near(8 * math.sqrt(d) / alpha), near(2 * (d + 1) / alpha)]
    assert PerturbedStatistics(alpha=alpha).scales(d) == (near(4 * math.sqrt(d) / alpha), near(2 * (d + 1) / alpha))
    assert InputPerturbation(alpha=alpha).scale(d) == near((2 * math.sqrt(d) + 2) / alpha)
    assert CorrectedLPLR("laplace", alpha=alpha).carried_scale(0.3) == near(0.6 / alpha)
    assert CorrectedLPLR(alpha=alpha).bias == near((mp.exp(alpha) - 1) / (mp.exp(alpha) + 1))
    printed = LPLR(alpha=alpha).scales(d, np.array([1.0, 0.25]))
    np.testing.assert_allclose(printed[:, 0], 3 / alpha, rtol=1e-14)
    np.testing.assert_allclose(printed[:, 1:], np.outer([1, 0.25], np.full(d, 3 * math.sqrt(d) / alpha)), rtol=1e-14)


# --- what an oracle makes of messages without noise


class Noiseless(Batch):
    """Sums at their expected values, to the last user."""

    def counts(self, rng, users, groups=1):
        self.take(users)
        out = np.zeros((groups, 2 * len(self.features)))
        out[:, self._cell] = users * self._law[self._place]
        return out.reshape(groups, len(self.features), 2)

    def bit_sums(self, rng, users, values, slots, n_slots, bias):
        counts = self.counts(rng, users, len(values))
        total = [
            np.bincount(slots + 1, (c * x).sum(axis=1), n_slots + 1)[1:] for c, x in zip(counts, values, strict=True)
        ]
        return bias * np.array(total)

    def laplace_sums(self, rng, users, scale):
        return np.zeros(np.shape(scale))

    def wishart_sums(self, rng, users, n_slots, degrees, scale):
        return np.zeros((n_slots, self.dimension, self.dimension))

    def input_sums(self, rng, users, scale):
        n = self.counts(rng, users)[0]
        second = np.einsum("m,mi,mj->ij", n.sum(axis=1), self.features, self.features)
        return second[None], np.einsum("m,mi->i", n[:, 0] - n[:, 1], self.features)[None]


def one_direction(users, horizon, size=0.8, mean=0.4):
    return Noiseless([[size]], [0], [1.0], [mean], users, horizon=horizon)


N, ALPHA, DELTA = 10**14, 0.6, 0.01


def test_width_of_least_squares():
    estimate = LeastSquares().fit(one_direction(N, N), delta=DELTA, rng=None)
    assert estimate.values[0] == near(0.4)
    assert estimate.widths[0] == near(0.8 * mp.sqrt(2 * mp.log(2 / mp.mpf(DELTA)) * 0.64 / N) / 0.64)


def test_width_of_perturbed_statistics():
    estimate = PerturbedStatistics(alpha=ALPHA).fit(one_direction(N, N), delta=DELTA, rng=None)
    log, b = mp.log(4 * 2 / mp.mpf(DELTA)), 4 / mp.mpf(ALPHA)  # both scales in one dimension
    noise = b * (2 * mp.sqrt(log / N) + log / N)
    each = [r * mp.sqrt(2 * log / N) + noise for r in (1, 0.5)]
    assert estimate.widths[0] == near(0.8 * sum(each) / mp.mpf(0.64), rel=1e-9)
    assert estimate.values[0] == near(0.4)


def test_width_of_input_perturbation():
    estimate = InputPerturbation(alpha=ALPHA).fit(one_direction(N, N), delta=DELTA, rng=None)
    b, tests = 4 / mp.mpf(ALPHA), 4 * 2 + 1
    log, x = mp.log(2 * tests / mp.mpf(DELTA)), mp.log(N * 2 * tests / mp.mpf(DELTA))
    # the mean of min(u, bx)^2 over what is cut off: int_x^oo 2 b^2 t e^-t dt and its square at the cut
    bias = b**2 * (mp.exp(-x) * x**2 + mp.quad(lambda t: 2 * t * mp.exp(-t), [x, x + 50]))
    largest, linear = (b * x) ** 2, 2 * b * (2 * mp.sqrt(log / N) + log / N)

    def product(variance):
        return mp.sqrt(2 * variance * b**4 * log / N) + 2 * largest * log / (3 * N)

    w_l = mp.sqrt(2 * log / N) + linear + product(4)
    w_L = mp.sqrt(2 * log / N) / 2 + linear + product(20) + bias  # E (u^2 - 2b^2)^2 = 24 b^4 - 4 b^4
    assert estimate.widths[0] == near(0.8 * (w_l + w_L) / mp.mpf(0.64), rel=1e-9)


@pytest.mark.parametrize("mechanism", ["randomized_response", "laplace"])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_band_of_the_corrected_oracle_in_one_dimension(mechanism, scale):
    """beta = 1/4: gamma = T^(1/4) and M = 2, so that a vector above gamma^-1 is in the first bin."""
    horizon = 10**8
    estimate = CorrectedLPLR(mechanism, scale, alpha=ALPHA, beta=0.25).fit(
        one_direction(N, horizon), delta=DELTA, rng=None
    )
    log = mp.log(2 * (2 * 2) / mp.mpf(DELTA))  # l and L in each of two bins, two sides
    if mechanism == "laplace":
        log += mp.log(2)
        b = 4 / mp.mpf(ALPHA)
        noise = b * (2 * mp.sqrt(log / N) + log / N)
        w_l, w_L = (scale * (r * mp.sqrt(2 * log / N) + noise) for r in (1, 0.5))
    else:
        w_l = w_L = scale * mp.sqrt(2 * log / (N // 2)) / mp.tanh(mp.mpf(ALPHA) / 2)
    assert estimate.widths[0] == near(0.8 * (w_l + w_L) / mp.mpf(0.64), rel=1e-9)
    assert estimate.values[0] == near(0.4)


@pytest.mark.parametrize(("d", "groups", "parts"), [(1, 2, [2]), (2, 8, [5, 3]), (3, 18, [9, 6, 3])])
@pytest.mark.parametrize("mechanism", ["randomized_response", "laplace"])
def test_users_and_union_bound_of_the_corrected_oracle(d, groups, parts, mechanism):
    """parts: coordinates tested a bin on each layer, the carried error included from the second on."""
    batch = Batch(np.eye(d), np.zeros(d, dtype=int), np.full(d, 1 / d), np.zeros(d), 10**6, horizon=1e8)
    grid = Grid.of(1e8, 0.1)
    assert grid.M == 5 and grid.gamma == near(mp.mpf(10) ** mp.mpf("0.8"))
    sampler = corrected._SAMPLERS[mechanism](CorrectedLPLR(mechanism, alpha=ALPHA, beta=0.1), batch, grid, DELTA, None)
    tests = sum(5 ** (h + 1) * size for h, size in enumerate(parts))
    if mechanism == "laplace":
        assert sampler.users == 10**6 // (2 * d - 1)
        assert sampler.log == near(mp.log(4 * tests / mp.mpf(DELTA)))
        n, b = sampler.users, 3.0
        noise = b * (2 * mp.sqrt(sampler.log / n) + sampler.log / n)
        assert sampler._width(0.5, b) == near(mp.sqrt(2 * sampler.log / n) / 2 + noise)
    else:
        assert sampler.users == 10**6 // groups
        assert sampler.log == near(mp.log(2 * tests / mp.mpf(DELTA)))
        width = mp.sqrt(2 * mp.mpf(sampler.log) / sampler.users) / mp.tanh(mp.mpf(ALPHA) / 2)
        assert sampler.width == near(width)


@pytest.mark.parametrize("mechanism", ["randomized_response", "laplace"])
def test_the_carried_error_is_estimated_and_its_width_added(mechanism):
    """e = E[1_B along min(eta, cap)], and nothing is carried where nothing can be in doubt."""
    batch = Noiseless(np.eye(2), np.zeros(2, dtype=int), [0.25, 0.75], np.zeros(2), 10**6, horizon=1e8)
    oracle = CorrectedLPLR(mechanism, alpha=ALPHA, beta=0.1)
    sampler = corrected._SAMPLERS[mechanism](oracle, batch, Grid.of(1e8, 0.1), DELTA, None)
    along, eta, slot = np.array([0.5, 0.25]), np.array([0.1, 0.9]), np.array([0, 0])
    found = sampler.inherited(along, eta, np.array([0.4]), slot)
    mean = 0.25 * 0.5 * 0.1 + 0.75 * 0.25 * 0.4
    width = 0.4 * sampler.width if mechanism == "randomized_response" else sampler._width(0.2, 0.8 / ALPHA)
    assert found[0] == near(mean + float(width))


@pytest.mark.parametrize("mechanism", ["randomized_response", "laplace"])
def test_a_bin_is_active_from_where_its_moment_reaches_its_band(mechanism):
    """L = .64 and one coordinate: active from the number of users at which the width of L is .64, by hand.

    There the best band is still that of stopping, the norm.
    """
    log, s = mp.log(2 * (2 * 2) / mp.mpf(DELTA)), mp.mpf("0.64")
    if mechanism == "laplace":  # sqrt(log/n) is the positive root of b x^2 + (2 b + 1/sqrt 2) x - s
        log += mp.log(2)
        b = 4 / mp.mpf(ALPHA)
        half = b + 1 / mp.sqrt(8)
        least = log / ((mp.sqrt(half**2 + b * s) - half) / b) ** 2
    else:
        least = 2 * (2 * log / (mp.tanh(mp.mpf(ALPHA) / 2) * s) ** 2)
    for factor, active in ((1.001, True), (0.999, False)):
        batch = one_direction(2 * int(least * factor / 2), 10**8)
        estimate = CorrectedLPLR(mechanism, alpha=ALPHA, beta=0.25).fit(batch, delta=DELTA, rng=None)
        assert estimate.details[0].active.tolist() == [active]
        assert (estimate.values[0], estimate.widths[0]) == (0.0, near(0.8))


@pytest.mark.parametrize("mechanism", ["randomized_response", "laplace"])
def test_a_bin_without_a_sum_is_inactive_even_if_its_band_is_rounded_to_zero(mechanism):
    batch = Noiseless([[1.0], [0.005]], [0, 0], [1.0, 0.0], [0.4, 0.002], 10**6, horizon=1e8)
    estimate = CorrectedLPLR(mechanism, 1e-200, alpha=ALPHA, beta=0.25).fit(batch, delta=DELTA, rng=None)
    assert estimate.details[0].active.tolist() == [True, False]
    assert estimate.values.tolist() == [near(0.4), 0.0] and estimate.widths[1] == near(0.005)


def printed_run(corrections, users=4 * 10**18, horizon=10**8, beta=0.25, scale=(1.0,) * 4, mean=0.4):
    """The printed oracle on one direction: n = users/2 in each pass."""
    oracle = LPLR(corrections, alpha=ALPHA, kappa_scale=scale, beta=beta)
    return oracle.fit(one_direction(users, horizon, mean=mean), delta=DELTA, rng=None)


def printed_constants():
    log = mp.log(48 / (mp.mpf("0.25") * DELTA)) / mp.mpf(ALPHA)
    return 43 * log, 15 * log, 118 * mp.log(24 / (mp.mpf("0.25") * DELTA)) / mp.mpf(ALPHA), 300 * log


@pytest.mark.parametrize("corrections", ["L8", "all"])
def test_printed_band_in_one_dimension(corrections):
    """Offset k3 g^2 16/(psi sqrt n), slope (k2 g/(psi n or psi sqrt n))/sqrt s, g = gamma = 100, psi = 1, s = .64."""
    n = 2 * 10**18
    layer = printed_run(corrections).details[0]
    _, _, k2, k3 = printed_constants()
    root = mp.sqrt(mp.mpf("0.64"))
    assert layer.active.all() and layer.coefficient[0] == near(0.5)
    assert layer.offset[0] == near(k3 * 10**4 * 16 / mp.sqrt(n))
    assert layer.slope[0] == near(k2 * 100 / (n if corrections == "L8" else mp.sqrt(n)) / root)


@pytest.mark.parametrize("constant", [0, 1])
def test_printed_bins_become_active_at_their_thresholds(constant):
    """psi = 1 against max(k1 g^2 8, k1' g)/sqrt n, one of the two made tiny; L11 drops the second."""
    scale = [1e-9, 1e-9, 1.0, 1.0]
    scale[constant] = 1.0
    least = (printed_constants()[0] * 10**4 * 8, printed_constants()[1] * 100)[constant] ** 2
    for factor, active in ((1.01, True), (0.99, False)):
        users = 2 * int(least * factor)
        found = printed_run("L8", users=users, scale=tuple(scale)).details[0].active.all()
        assert found == active
    if constant == 1:
        assert printed_run({"L8", "L11"}, users=users, scale=tuple(scale)).details[0].active.all()


def test_as_printed_the_frequency_has_the_wrong_root():
    """L8: psi is c/sqrt n, here sqrt n, so that the band is smaller by sqrt n and the coefficient too."""
    n = 2 * 10**18
    layer = printed_run("none").details[0]
    assert layer.offset[0] == near(printed_constants()[3] * 10**4 * 16 / mp.mpf(n))
    # lambda / psi and Lambda / psi n both lose sqrt n: the coefficient is as before
    assert layer.coefficient[0] == near(0.5)


@pytest.mark.parametrize(
    ("corrections", "clipped"),
    [("none", False), ({"L4"}, True), ("all", True), ({"L6", "L7", "L8", "L9", "L10", "L11"}, False)],
)
def test_the_residual_reward_subtracts_the_clipped_prediction_under_e4_alone(corrections, clipped):
    """Predictions 1.5, -3 and .25: what is left of the reward, summed by hand."""
    features, n = np.array([[1.0], [0.5], [0.75]]), 10**6
    batch = Noiseless(features, [0, 0, 0], [0.5, 0.375, 0.125], [0.25, -0.5, 0.125], n, horizon=1e8)
    walk = Walk(features, batch.actions, Grid(100.0, 2))
    walk.enter(np.array([0]))
    walk.prediction = np.array([1.5, -3.0, 0.25])
    _, found, _ = LPLR(corrections, alpha=ALPHA)._update(batch, None, n, walk, np.ones(1))
    left = (0.25 - 1, -0.5 + 1, -0.125) if clipped else (0.25 - 1.5, -0.5 + 3, -0.125)
    assert found[0, 0] == near(n * (0.5 * left[0] + 0.375 * 0.5 * left[1] + 0.125 * 0.75 * left[2]))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_printed_noise_of_the_wishart_step(d, monkeypatch):
    """d + 1 degrees, scale 1.5/alpha, times 3 gamma^-2k."""
    asked = []

    class Wishart(Noiseless):
        def wishart_sums(self, rng, users, n_slots, degrees, scale):
            asked.append((users, n_slots, degrees, scale))
            return np.ones((n_slots, d, d))

    batch = Wishart(np.eye(d)[:1], [0], [1.0], [0.3], 10**6, horizon=1e8)
    oracle = LPLR("all", alpha=ALPHA)
    seen = []
    monkeypatch.setattr(LPLR, "_principal", lambda self, Lam, bases: seen.append(Lam) or stop())

    def stop():
        raise StopIteration

    with pytest.raises(StopIteration):
        oracle.fit(batch, delta=DELTA, rng=None)
    assert asked == [(10**6 // (2 * d), 1, d + 1, near(1.5 / ALPHA))]
    # a bin without an active frequency is divided by 1: n phi phi' + 3
    first = (10**6 // (2 * d)) * np.outer(np.eye(d)[0], np.eye(d)[0]) + 3
    np.testing.assert_allclose(seen[0][0], first, rtol=1e-12)


# --- coverage near nominal


def test_miss_rate_of_least_squares_near_its_tail():
    """One direction, mean 0, delta = .2: a band of sqrt(2 ln 10) = 2.15 standard deviations misses 3.2 %; 20,000 runs."""
    problem = two_direction_problem(1.0, parameter=(0.0, 0.0))
    batch = offline_batch(problem, 10**6, replicates=1)
    assert batch.n == 10**6
    replicates, delta = 20_000, 0.2
    label = np.arange(replicates)
    batch = Batch(np.ones((replicates, 1)), label, np.ones(replicates), np.zeros(replicates), 10**6, instances=label)
    missed = 1 - LeastSquares().fit(batch, delta=delta, rng=np.random.default_rng(0)).holds(batch).mean()
    expected = math.erfc(math.sqrt(math.log(2 / delta)))
    assert abs(missed - expected) < 5 * math.sqrt(expected / replicates)


@pytest.mark.parametrize(
    "oracle", [PerturbedStatistics(alpha=1.0), InputPerturbation(alpha=1.0)], ids=["statistics", "inputs"]
)
def test_bands_are_within_a_small_factor_of_the_errors(oracle):
    """Union bounds and two parts each cost something: the 80 % quantile of the error is 10 % to 60 % of the band."""
    replicates = 4000
    label = np.arange(replicates)
    batch = Batch(
        np.ones((replicates, 1)), label, np.ones(replicates), np.full(replicates, 0.9), 10**9, instances=label
    )
    estimate = oracle.fit(batch, delta=0.2, rng=np.random.default_rng(0))
    share = np.quantile(np.abs(estimate.values - 0.9) / estimate.widths, 0.8)
    assert 0.1 < share < 0.6
    assert estimate.holds(batch).mean() >= 0.8


# --- the elimination and LinUCB


@pytest.mark.parametrize("n_actions", [2, 3, 5])
def test_failure_probability_counts_actions_and_fitted_epochs(n_actions):
    from dpregret.contextual import ContextualProblem

    problem = ContextualProblem(np.linspace(0.1, 0.9, n_actions).reshape(1, n_actions, 1), [1.0], [0.5])
    for horizon, epochs in ((20, 1), (60, 2), (61, 3), (620, 5)):
        result = simulate(LeastSquares(), problem, horizon=horizon, seed=0, n_0=10, delta=1e-3)
        assert result.sizes["epoch"] == epochs
        assert result.failure_probability == pytest.approx(n_actions * (epochs - 1) * 1e-3, rel=1e-12, abs=0)
    result = simulate(LeastSquares(), problem, horizon=620, seed=0, n_0=10, delta=0.9)
    assert result.failure_probability == 1.0
    result = simulate(LeastSquares(), problem, horizon=600, seed=0, n_0=10)
    assert result.failure_probability == near(n_actions * 4 / 600**2)


def test_a_band_that_fails_is_reported():
    """Zero width around a value that is off by 1e-6; and around the truth."""

    class Near:
        def __init__(self, off):
            self.off = off

        def fit(self, batch, *, delta, rng):
            values = batch.means + self.off
            return Estimate(lambda features, actions: (values, np.zeros(len(features))), batch)

    for off, covered in ((1e-6, False), (0.0, True)):
        result = simulate(Near(off), two_direction_problem(0.5), horizon=100, seed=0, n_0=10)
        assert result.covered.values.tolist() == [covered] and result.epoch_covered.values[0, 0] == covered


@pytest.mark.parametrize(("ridge", "delta"), [(1.0, None), (0.5, 0.1), (4.0, 0.01)])
def test_lin_ucb_against_a_plain_loop(ridge, delta):
    """The same uniforms, the inverse by a solver, the radius sqrt(l) + sqrt(2 ln(1/delta) + d ln(1 + (t-1)/(l d)))."""
    problem = two_direction_problem(0.4, "shared", parameter=(0.3, -0.6))
    horizon, rounds = 300, np.array([1, 10, 100, 300])
    rng = generator(3, "LinUCB")
    V, b, total, expected = ridge * np.eye(2), np.zeros(2), 0.0, []
    log = math.log(horizon) if delta is None else math.log(1 / delta)
    cumulative = np.cumsum(problem.context_probabilities)
    for t in range(1, horizon + 1):
        x = int(rng.random() >= cumulative[0])
        radius = math.sqrt(ridge) + math.sqrt(2 * log + 2 * math.log(1 + (t - 1) / (2 * ridge)))
        phi = problem.features[x]
        spread = np.sqrt(np.einsum("ai,ai->a", phi, np.linalg.solve(V, phi.T).T))
        a = int(np.argmax(phi @ np.linalg.solve(V, b) + radius * spread))
        total += problem.gaps[x, a]
        y = 1.0 if rng.random() < (1 + phi[a] @ problem.parameter) / 2 else -1.0
        V, b = V + np.outer(phi[a], phi[a]), b + y * phi[a]
        if t in rounds:
            expected.append(total)
    found = lin_ucb(problem, horizon=horizon, seed=3, checkpoints=rounds, ridge=ridge, delta=delta)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_lin_ucb_radius_decides(monkeypatch):
    """Two arms of sizes 1 and .5 and no data: after one pull of the larger its index is radius/sqrt(1 + 1/ridge)."""
    source = kernels.lin_ucb_loop.py_func
    features = np.array([[[1.0], [0.5]]])

    class Uniform:
        def random(self):
            return 0.0

    for ridge in (0.1, 1.0, 3.0):
        gaps = np.array([[0.0, 1.0]])
        curve = source(Uniform(), features, np.array([1.0]), np.array([1.0]), gaps, np.arange(1, 40), ridge, 2.0)
        expected, total, V, b = [], 0.0, ridge, 0.0
        for t in range(1, 40):
            radius = math.sqrt(ridge) + math.sqrt(4 + math.log(1 + (t - 1) / ridge))
            index = [size * b / V + radius * size / math.sqrt(V) for size in (1.0, 0.5)]
            a = int(np.argmax(index))
            total, V, b = total + gaps[0, a], V + (1.0, 0.5)[a] ** 2, b + (1.0, 0.5)[a]
            expected.append(total)
        np.testing.assert_array_equal(curve, expected)


# --- the bounds of the text


BOUND = dict(alpha=0.6, beta=0.2, delta=1e-4)


def big_l(d, factor=48):
    return mp.log(factor * d / (mp.mpf(0.2) * mp.mpf(1e-4)))


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_lemma_4_2(d):
    unit = 1 / (mp.mpf(0.6) * mp.mpf(0.3) * mp.sqrt(1e8))
    printed = bounds.lemma_4_2(d, n=1e8, psi=0.3, g=0.1, version="printed", **BOUND)
    assert printed.psi == near(mp.mpf("6.2") * d * big_l(d) / (mp.mpf(0.6) * mp.sqrt(1e8)))
    assert printed.lam == near((19 * d**2 + 29 * d) * mp.mpf(0.1) * big_l(d) * unit)
    log = mp.log(48 * d / mp.mpf(1e-4))
    assert printed.Lam == near((7 * (d + 1) ** 3 + 29 * d) * mp.mpf(0.1) ** 2 * log * unit)
    chain = bounds.lemma_4_2(d, n=1e8, psi=0.3, g=0.1, version="corrected", **BOUND)
    assert chain.psi == printed.psi
    assert chain.lam == near((20 * d**2 + 48 * d) * mp.mpf(0.1) * big_l(d) * unit)
    assert chain.Lam == near((18 * (d + 1) ** 3 + 31 * d) * mp.mpf(0.1) ** 2 * big_l(d) * unit)
    assert bounds.smallest_n(d, beta=0.2, delta=1e-4) == near(2 * d * big_l(d, 24))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_lemma_4_3_and_the_constants(d):
    inverse, omega = bounds.lemma_4_3(d, n=1e8, psi=0.3, k=2, gamma=1.5, **BOUND)
    assert inverse == near(2 * d * mp.mpf(1.5) ** 6)
    assert omega == near(
        120 * (d + 1) ** 4 * mp.mpf(1.5) ** 4 * big_l(d) / (mp.mpf(0.6) * mp.mpf(0.3) * mp.mpf(10) ** 4)
    )
    unit = big_l(d) / mp.mpf(0.6)
    expected = [43 * unit, 15 * unit, 118 * big_l(d, 24) / mp.mpf(0.6), 300 * unit]
    assert list(theory_kappas(d, **BOUND)) == [near(x) for x in expected]
    assert list(bounds.kappas(d, version="printed", **BOUND)) == [near(x) for x in expected]
    expected[0] *= 2 * d
    assert list(bounds.kappas(d, version="corrected", **BOUND)) == [near(x) for x in expected]


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("k", [Kappas(2.0, 5.0, 7.0, 11.0), Kappas(0.01, 5.0, 7.0, 11.0)])
def test_recursion_of_the_layers(d, k):
    gamma = mp.mpf(1.5)
    inactive = max(k.k1 * gamma**2 * (d + 1) ** 3, k.k1_prime * gamma * mp.mpf(d) ** 1.5)
    numerators = {
        "printed": 11 * gamma**2 * (d + 1) ** 4 + 7 * gamma * d**2 + inactive,
        "corrected": 11 * gamma**2 * (d + 1) ** 4 + 7 * gamma**2 * mp.sqrt(2) * d**2 + inactive,
    }
    for (version, numerator), growth in zip(numerators.items(), (mp.mpf("2.54"), mp.mpf("3.15")), strict=True):
        assert bounds.layer_numerator(d, gamma=1.5, constants=k, version=version) == near(numerator)
        arguments = dict(M=4, n=1e6, numerator=float(numerator), version=version)
        unit = 12 * numerator / 1000
        assert bounds.lemma_4_4(0.7, 2, **arguments) == near(growth * mp.mpf(0.7) + 16 * unit)
        assert bounds.lemma_4_6(d, **arguments) == near((4 * growth) ** d * unit)
        tight = sum(growth ** (d - h) * mp.mpf(4) ** h for h in range(1, d + 1)) * unit
        assert bounds.lemma_4_6(d, tight=True, **arguments) == near(tight)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_remark_4_5(d):
    printed = mp.mpf(12) * (300 * (d + 1) ** 4 + 118 * d**2 + 43 * (d + 1) ** 3) / d**4
    chain = mp.mpf(12) * (300 * (d + 1) ** 4 + 118 * mp.sqrt(2) * d**2 + 86 * d * (d + 1) ** 3) / d**4
    # kappa_1' and kappa_2 have the logarithms L and L', here both counted as one
    assert bounds.remark_4_5_constant(d, version="printed") == near(printed)
    assert bounds.remark_4_5_constant(d, version="corrected") == near(chain)
    assert bounds.remark_4_5_constant(d, version="printed", m_beta=0.5) == near(printed / 2)


def test_theorem_3_2():
    lengths, errors = [4.0, 8.0, 16.0], [0.5, 0.25, 9.0]
    assert bounds.theorem_3_2(lengths, errors, 3, version="printed") == 4 + 9 * (8 * 0.5 + 16 * 0.25)
    assert bounds.theorem_3_2(lengths, errors, 3, version="corrected") == 2 * (4 + 9 * (8 * 0.5 + 16 * 0.25))
    assert bounds.theorem_3_2([5.0], [1.0], 7, version="printed") == 5


@pytest.mark.parametrize("beta", [None, 0.1])
@pytest.mark.parametrize(("d", "actions"), [(1, 2), (2, 5), (3, 3)])
def test_theorem_4_7_and_remark_4_8(beta, d, actions):
    T, alpha = mp.mpf(10) ** 12, mp.mpf(0.6)
    b = 1 / mp.log(T) if beta is None else mp.mpf(beta)
    for version, c in (("printed", mp.mpf("2.54")), ("corrected", mp.mpf("3.15"))):
        exact = (c / b) ** d * actions**2 * d**5 * mp.log(48 * d * T / b) ** 2 / alpha * T ** (mp.mpf(1) / 2 + 2 * b)
        assert bounds.theorem_4_7(1e12, d, actions, alpha=0.6, beta=beta, version=version) == near(exact)
    if beta is not None:
        power = T ** (mp.mpf(1) / 2 + 2 * b)
        assert bounds.remark_4_8(1e12, d, beta=beta, version="printed") == near((b / 2) ** d * power)
        corrected = (mp.mpf("2.54") / b) ** d * mp.log(T) ** 2 * power
        assert bounds.remark_4_8(1e12, d, beta=beta, version="corrected") == near(corrected)


def test_theorem_4_7_refuses_beta_outside_its_range():
    least = math.log(2) / math.log(1e12)
    bounds.theorem_4_7(1e12, 2, 2, alpha=1.0, beta=least / 2, version="printed")
    for beta, version in ((least / 2, "corrected"), (0.6, "corrected"), (0.6, "printed"), (0.0, "printed")):
        with pytest.raises(ValueError, match="beta"):
            bounds.theorem_4_7(1e12, 2, 2, alpha=1.0, beta=beta, version=version)


@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize(("version", "c"), [("printed", "2.54"), ("corrected", "3.15")])
def test_regret_bound_from_its_parts(version, c, tight):
    d, actions, alpha, lengths = 2, 3, mp.mpf(0.6), [1e30, 2e30, 4e30]
    T = mp.mpf(7) * 10**30
    beta, delta, c = 1 / mp.log(T), 1 / T**2, mp.mpf(c)
    L, L2 = (mp.log(f * d / (beta * delta)) / alpha for f in (48, 24))
    gamma, M = mp.e, int(mp.ceil(mp.log(T) / 2))
    k1 = 43 * L * (1 if version == "printed" else 2 * d)
    second = 118 * L2 * (gamma * d**2 if version == "printed" else gamma**2 * mp.sqrt(2) * d**2)
    numerator = 300 * L * gamma**2 * (d + 1) ** 4 + second + k1 * gamma**2 * (d + 1) ** 3
    factor = sum(c ** (d - h) * mp.mpf(M) ** h for h in range(1, d + 1)) if tight else (c * M) ** d
    errors = [min(1, factor * 12 * numerator / mp.sqrt(mp.mpf(n) / (2 * d))) for n in lengths]
    exact = lengths[0] + actions**2 * sum(n * e for n, e in zip(lengths[1:], errors[:2], strict=True))
    exact *= 1 if version == "printed" else 2
    found = bounds.regret_bound(lengths, d, actions, alpha=0.6, version=version, tight=tight)
    assert found == near(exact, rel=1e-9)
    assert 0 < errors[0] < 1


@pytest.mark.parametrize(("alpha", "psi"), [(1.0, 0.5), (0.5, 0.1)])
@pytest.mark.parametrize(("d", "beta"), [(1, None), (2, 0.1)])
def test_smallest_horizons(d, beta, alpha, psi):
    """psi sqrt(T/4d) = needed gamma^2 L / alpha at the three thresholds."""
    for log10_T, needed in zip(
        bounds.smallest_horizons(d, beta=beta, alpha=alpha, psi=psi),
        (43 * (d + 1) ** 3, 300 * (d + 1) ** 4, 1200 * (d + 1) ** 4),
        strict=True,
    ):
        T = mp.mpf(10) ** mp.mpf(log10_T)
        b = 1 / mp.log(T) if beta is None else mp.mpf(beta)
        right = needed * T ** (2 * b) * mp.log(48 * d * T**2 / b) / alpha
        assert psi * mp.sqrt(T / (4 * d)) == near(right, rel=1e-9)


# --- lower bounds


@pytest.mark.parametrize("alpha", [0.01, 0.3, math.log(2), 0.8, 1.0])
def test_constants_of_the_mean_square_bounds(alpha):
    e = mp.exp(mp.mpf(alpha))
    assert lb.paper_c(alpha) == near(1 / (4 * mp.sqrt(2) * (e - 1)))
    kappa = (e - 1) ** 2 * max(1 / e, 2 / (e + 2))
    assert lb.channel_divergence(alpha) == near(kappa)
    for n in (1, 7, 10**4, 10**12):
        c = 1 / (4 * mp.sqrt(2) * (e - 1))
        paper = mp.mpf(3) / 16 * min(1, c / mp.sqrt(n))
        assert lb.mean_square_bound(n=n, alpha=alpha, version="paper") == near(paper)
        corrected_bound = min(1, 1 / (mp.sqrt(2) * (e - 1) * mp.sqrt(n))) / 8
        assert lb.mean_square_bound(n=n, alpha=alpha) == near(corrected_bound)
        grid = np.append(np.geomspace(1e-3, 1, 20_001) / math.sqrt(n) / alpha, 1.0)
        q = grid[grid <= 1]
        sharp = (q / 4 * (1 - q / 2 * np.sqrt(n * float(kappa) / (1 - q * -math.expm1(-alpha))))).max()
        assert lb.mean_square_bound(n=n, alpha=alpha, version="sharp") == near(sharp, rel=1e-6)


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 0.8, 1.0])
@pytest.mark.parametrize("q", [1e-6, 0.05, 0.7])
def test_linear_program_over_all_its_vertices(alpha, q):
    """Every basis of three rays in ball arithmetic; the solver is far more accurate than the figure's 1e-9."""
    flint.ctx.prec = 200
    e, q_ball = flint.arb(alpha).exp(), flint.arb(q)
    rays = list(itertools.product((flint.arb(1), e), repeat=3))
    gains = [(r[2] - r[1]) * (1 + q_ball * (r[2] - r[1]) / (r[0] * (1 - q_ball) + r[1] * q_ball)).log() for r in rays]
    best = flint.arb(0)
    for basis in itertools.combinations(range(8), 3):
        try:
            weights = flint.arb_mat([[rays[j][i] for j in basis] for i in range(3)]).solve(flint.arb_mat(3, 1, [1] * 3))
        except ZeroDivisionError:
            continue
        if all(weights[i, 0] > -1e-40 for i in range(3)):
            best = best.max(sum((weights[i, 0] * gains[j] for i, j in enumerate(basis)), flint.arb(0)) / q_ball)
    assert abs(lb.channel_divergence_lp(alpha, q) / best - 1) < 1e-11


@pytest.mark.parametrize(("m", "alpha", "t"), [(0.5, 1.0, 0.5), (0.01, 0.3, 0.8), (1e-4, 1.0, 0.1)])
def test_input_perturbation_bound_and_its_divergence(m, alpha, t):
    a = mp.mpf(alpha) * m
    chi = 4 * mp.exp(a * (1 + mp.mpf(t))) * mp.sinh(a) ** 2 * mp.sinh(a * t) ** 2
    assert lb.sign_flip_chi_square_bound(m, alpha, t) == near(chi)
    n = 1 / float(chi)  # an m near the best one
    sizes = np.geomspace(m / 10, min(10 * m, lb.LARGEST_M), 20_001)
    values = [t * x * (1 - math.sqrt(n / 2 * math.log1p(lb.sign_flip_chi_square_bound(x, alpha, t)))) for x in sizes]
    assert lb.input_perturbation_bound(n=max(n, 1.0), alpha=alpha, t=t) == near(max(values), rel=1e-6)
    assert lb.LARGEST_M == near(mp.sqrt(3) / 2) and lb.LEMMA_6_1_CONSTANT == 16.7


@pytest.mark.parametrize(("m", "scale"), [(1.0, 0.5), (0.3, 4.0), (1e-4, 2.0)])
def test_divergence_of_perturbed_statistics_by_quadrature(m, scale):
    """KL of Laplace laws at +-m^2: the mean of (|x + m^2| - |x - m^2|)/b under the first."""
    shift, b = mp.mpf(m) ** 2, mp.mpf(scale)

    def integrand(x):
        return mp.exp(-abs(x - shift) / b) / (2 * b) * (abs(x + shift) - abs(x - shift)) / b

    exact = mp.quad(integrand, [-60 * b, -shift, shift, 60 * b])
    assert lb.statistics_kl(m, scale) == near(exact, rel=1e-9)


def test_bounds_of_perturbed_statistics():
    """Le Cam and Pinsker at the stated m: (m/2) t (1 - sqrt(n 2 m^4/b^2 / 2)) and n times it, maximised."""
    n, b = 1e6, 2.0
    deviation = mp.mpf(2) / (3 * mp.sqrt(3)) * mp.sqrt(b) * mp.mpf(n) ** -0.25
    regret = mp.sqrt(2) / 6 * mp.sqrt(b) * mp.mpf(n) ** 0.75
    assert lb.statistics_bound(n=n, scale=b) == near(deviation)
    assert lb.statistics_bound(n=n, scale=b, quantity="regret") == near(regret)
    for quantity, factor in (("deviation", 3), ("regret", 2)):
        lb.statistics_bound(n=n, scale=factor * 1e3, quantity=quantity)
        with pytest.raises(ValueError, match="scale"):
            lb.statistics_bound(n=n, scale=factor * 1e3 * 1.001, quantity=quantity)
    # deviation: the largest m (1 - n m^4/b^2 ... ) with KL at most 2 m^4/b^2
    best = max(m * (1 - math.sqrt(n) * m**2 / b) for m in np.linspace(0, 0.1, 100_001))
    assert best == near(deviation, rel=1e-6)


def laplace_mixture_in_balls(mu, nu, order=24):
    """(log-ratio, mass) of P at Gauss-Legendre nodes between the lines through the centres, in ball arithmetic."""

    def panels(a, b):
        ends = [flint.arb(end) for end in sorted({0.0, abs(a), abs(b)})]
        x, mass = [ends[-1]], [(-ends[-1]).exp() / 2]
        for low, high in itertools.pairwise(ends):
            for i in range(order):
                node, weight = flint.arb.legendre_p_root(order, i, True)
                x.append((low + high) / 2 + (high - low) / 2 * node)
                mass.append((high - low) / 4 * weight * (-x[-1]).exp())
        return x + [-y for y in x], mass + mass

    axes = [list(zip(*panels(mu[i], nu[i]), strict=True)) for i in (0, 1)]
    out = []
    for (x, wx), (y, wy) in itertools.product(*axes):
        density = [
            sum(((abs(x) - abs(x - s * a) + abs(y) - abs(y - s * b)).exp() for s in (1, -1)), flint.arb(0)) / 2
            for a, b in (mu, nu)
        ]
        out.append(((density[1] / density[0]).log(), wx * wy * density[0]))
    return out


@pytest.mark.parametrize(
    ("mu", "nu", "n"),
    [
        ((0.5, 0.25), (0.5, -0.25), 150.0),
        ((0.5, 0.0), (0.5, 0.25), 100.0),
        ((2e-3, 0.0), (2e-3, 1e-3), 1e8),
        ((1e-4, 5e-5), (1e-4, -5e-5), 1e16),
    ],
)
def test_divergences_and_overlap_against_ball_arithmetic(mu, nu, n):
    flint.ctx.prec = 160
    nodes = laplace_mixture_in_balls(mu, nu)
    pair = lb.LaplaceMixtures(mu, nu)
    for found, exact in (
        (pair.kl, sum((m * (r.exp() - 1 - r) for r, m in nodes), flint.arb(0))),
        (pair.reverse_kl, sum((m * r.exp() * ((-r).exp() - 1 + r) for r, m in nodes), flint.arb(0))),
        (pair.chi_square, sum((m * r.exp() * ((-r).exp() - 1) ** 2 for r, m in nodes), flint.arb(0))),
    ):
        assert abs(found / exact - 1) < 1e-12
    roots = [(m * (r / 2).exp(), r) for r, m in nodes]
    spread = math.sqrt(n * float(sum((w * r * r for w, r in roots), flint.arb(0))))
    step, total = 0.15 / max(spread, 3.0), flint.arb(0)
    for k in range(math.ceil(math.asinh(18 / spread) / step) + 1):
        s = flint.arb(k * step).sinh() / 2
        turns = [(s * r).sin_cos() for _, r in roots]
        real, imaginary = (
            sum((w * turn[i] for (w, _), turn in zip(roots, turns, strict=True)), flint.arb(0)) for i in (1, 0)
        )
        term = (flint.acb(real, imaginary) ** flint.arb(n)).real / flint.arb(k * step).cosh()
        total += term if k else term / 2
    assert abs(pair.overlap(n) / (total * step * 2 / flint.arb.pi()) - 1) < 1e-11
