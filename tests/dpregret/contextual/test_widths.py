"""Bands, constants and shares of users against formulas worked out by hand, on sums without noise."""

import math

import numpy as np
import pytest

from dpregret import contextual
from dpregret.contextual import LPLR, Batch, CorrectedLPLR, InputPerturbation, LeastSquares, PerturbedStatistics
from dpregret.contextual.elimination import epoch_lengths, first_epoch_scale
from dpregret.contextual.lplr import theory_kappas
from dpregret.contextual.moments import bernstein_width, hoeffding_width, laplace_width, record_values, sensitivities
from dpregret.contextual.partition import Grid
from dpregret.simulation.seeds import generator

N, ALPHA, DELTA, MEAN = 10**10, 0.5, 0.1, 0.25


class Expected(Batch):
    """Expected values for all sums; it notes who was asked for what."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.asked = []

    def counts(self, rng, users, groups=1):
        self.take(groups * users)
        self.asked.append(users)
        p = users * self.probabilities[:, None] * np.stack([1 + self.means, 1 - self.means], axis=1) / 2
        return np.repeat(p[None], groups, axis=0)

    def bit_sums(self, rng, users, values, slots, n_slots, bias):
        sums = (self.counts(rng, users, len(values)) * values).sum(axis=2) * bias
        return np.array([[row[slots == slot].sum() for slot in range(n_slots)] for row in sums])

    def laplace_sums(self, rng, users, scale):
        self.asked.append(np.asarray(scale))
        return np.zeros(np.shape(scale))

    def wishart_sums(self, rng, users, n_slots, degrees, scale):
        self.asked.append((degrees, scale))
        return np.zeros((n_slots, self.dimension, self.dimension))

    def input_sums(self, rng, users, scale):
        self.asked.append(scale)
        n = self.counts(rng, users)[0]
        return np.einsum("m,mi,mj->ij", n.sum(axis=1), self.features, self.features)[None], np.einsum(
            "m,mi->i", n[:, 0] - n[:, 1], self.features
        )[None]


def fitted(oracle, features=((1.0,),), means=(MEAN,), law=(1.0,), **keys):
    batch = Expected(np.array(features), np.zeros(len(features), dtype=int), np.array(law), np.array(means), N, **keys)
    return batch, oracle.fit(batch, delta=DELTA, rng=np.random.default_rng(0))


def exactly(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def hoeffding(log, n, half):
    return half * math.sqrt(2 * log / n)


def laplace(log, n, b):
    return 2 * b * math.sqrt(log / n) + b * log / n


def bernstein(log, n, variance, largest):
    return math.sqrt(2 * variance * log / n) + 2 / 3 * largest * log / n


def test_widths_and_sensitivities():
    assert hoeffding_width(3.0, 50, 0.7) == exactly(hoeffding(3.0, 50, 0.7))
    assert laplace_width(3.0, 50, 0.7) == exactly(laplace(3.0, 50, 0.7))
    assert bernstein_width(3.0, 50, 0.7, 1.9) == exactly(bernstein(3.0, 50, 0.7, 1.9))
    for d in (1, 2, 5):
        assert sensitivities(d, 1.5) == (exactly(3 * math.sqrt(d)), exactly(d + 1))
    assert record_values(np.array([[2.0, 3.0]]), 0.25).tolist() == [[[1.5, 2.25, 4, 6, 9], [-2.5, -3.75, 4, 6, 9]]]


def test_least_squares():
    _, estimate = fitted(LeastSquares())
    assert estimate.values[0] == exactly(MEAN)
    assert estimate.widths[0] == exactly(math.sqrt(2 * math.log(2 / DELTA) / N))
    _, estimate = fitted(LeastSquares(), np.eye(2), (0.5, -0.25), (0.8, 0.2))
    assert estimate.values.tolist() == [exactly(0.5), exactly(-0.25)]
    expected = [math.sqrt(2 * math.log(4 / DELTA) / (N * s)) for s in (0.8, 0.2)]
    assert estimate.widths.tolist() == [exactly(w) for w in expected]


def test_perturbed_statistics():
    batch, estimate = fitted(PerturbedStatistics(alpha=ALPHA))
    log = math.log(8 / DELTA)
    expected = hoeffding(log, N, 1) + hoeffding(log, N, 0.5) + 2 * laplace(log, N, 4 / ALPHA)
    assert estimate.values[0] == exactly(MEAN) and estimate.widths[0] == exactly(expected)
    assert batch.asked[0] == N and batch.asked[1].tolist() == [[4 / ALPHA, 4 / ALPHA]]
    batch, estimate = fitted(PerturbedStatistics(alpha=ALPHA), np.eye(2), (0.5, -0.25), (0.8, 0.2))
    b_l, b_L, log = 4 * math.sqrt(2) / ALPHA, 6 / ALPHA, math.log(4 * 5 / DELTA)
    w_l, w_L = hoeffding(log, N, 1) + laplace(log, N, b_l), hoeffding(log, N, 0.5) + laplace(log, N, b_L)
    assert batch.asked[1].tolist() == [[exactly(b_l)] * 2 + [exactly(b_L)] * 3]
    expected = [(w_l + math.sqrt(2) * w_L) / s for s in (0.8, 0.2)]
    assert estimate.widths.tolist() == [exactly(w) for w in expected]


def test_input_perturbation():
    batch, estimate = fitted(InputPerturbation(alpha=ALPHA))
    b, log, x = 4 / ALPHA, math.log(18 / DELTA), math.log(N * 2 * 9 / DELTA)
    assert batch.asked == [b, N]
    largest, linear = (b * x) ** 2, 2 * laplace(log, N, b)
    bias = b**2 * math.exp(-x) * (x**2 + 2 * x + 2)
    expected = hoeffding(log, N, 1) + linear + bernstein(log, N, 4 * b**4, largest)
    expected += hoeffding(log, N, 0.5) + linear + bernstein(log, N, 20 * b**4, largest) + bias
    assert estimate.values[0] == exactly(MEAN) and estimate.widths[0] == exactly(expected)
    batch, estimate = fitted(InputPerturbation(alpha=ALPHA), np.eye(2), (0.5, -0.25), (0.8, 0.2))
    b, log, x = 2 * (math.sqrt(2) + 1) / ALPHA, math.log(2 * 21 / DELTA), math.log(N * 3 * 21 / DELTA)
    assert batch.asked[0] == exactly(b)
    largest, linear = (b * x) ** 2, 2 * laplace(log, N, b)
    bias = b**2 * math.exp(-x) * (x**2 + 2 * x + 2)
    w_l = hoeffding(log, N, 1) + linear + bernstein(log, N, 4 * b**4, largest)
    square = hoeffding(log, N, 0.5) + linear + bernstein(log, N, 20 * b**4, largest) + bias
    product = hoeffding(log, N, 0.5) + linear + bernstein(log, N, 4 * b**4, largest)
    expected = [(w_l + math.hypot(square, product)) / s for s in (0.8, 0.2)]
    assert estimate.widths.tolist() == [exactly(w) for w in expected]


def test_corrected_lplr_in_one_dimension():
    M = math.ceil(math.log(N) / 2)
    batch, estimate = fitted(CorrectedLPLR(alpha=ALPHA))
    log = math.log(2 * 2 * M / DELTA)
    expected = 2 * hoeffding(log, N // 2, 1) / math.tanh(ALPHA / 2)
    assert estimate.values[0] == exactly(MEAN) and estimate.widths[0] == exactly(expected)
    assert batch.asked == [N // 2] and batch.users_left == 0
    batch, estimate = fitted(CorrectedLPLR(alpha=ALPHA, width_scale=0.5))
    assert estimate.widths[0] == exactly(expected / 2)
    assert [CorrectedLPLR(alpha=ALPHA, width_scale=w).is_rigorous for w in (0.5, 1.0, 2.0)] == [False, True, True]
    batch, estimate = fitted(CorrectedLPLR("laplace", alpha=ALPHA, beta=0.1))
    log = math.log(2 * 2 * 5 / DELTA) + math.log(2)
    expected = hoeffding(log, N, 1) + hoeffding(log, N, 0.5) + 2 * laplace(log, N, 4 / ALPHA)
    assert estimate.values[0] == exactly(MEAN) and estimate.widths[0] == exactly(expected)
    assert batch.asked[0] == N and batch.asked[1].tolist() == [[4 / ALPHA, 4 / ALPHA]]


def two_layers(mechanism):
    """Half e_1, half (c, +-b) with b = 1/gamma^3: layer 2 has one bin, with v = +-1."""
    beta = 0.05
    gamma = N**beta
    b = gamma**-3
    c = math.sqrt(1 - b * b)
    theta = np.array([0.25, 0.75])
    features = np.array([[1.0, 0.0], [c, b], [c, -b]])
    batch, estimate = fitted(
        CorrectedLPLR(mechanism, alpha=ALPHA, beta=beta), features, features @ theta, (0.5, 0.25, 0.25)
    )
    return batch, estimate, gamma, b, c, theta, (0.5 + 0.5 * c * c)


def test_corrected_lplr_on_two_layers():
    """theta is found exactly; the width along the first direction, the carried error and the second one, by hand."""
    M = 10
    tests = M * 5 + M**2 * 3
    for mechanism in ("randomized_response", "laplace"):
        batch, estimate, gamma, b, c, theta, s1 = two_layers(mechanism)
        g = gamma**-3
        assert len(estimate.details) == 2
        assert estimate.values[1:].tolist() == [exactly(theta[0] * c + side * theta[1] * b) for side in (1, -1)]
        cap_R = 1.25  # 1 + |t| g of the first layer
        log = math.log(2 * tests / DELTA)
        if mechanism == "laplace":
            log += math.log(2)
            n = N // 3
            b_l, b_L = 4 * math.sqrt(2) / ALPHA, 6 / ALPHA
            w_l, w_L = hoeffding(log, n, 1) + laplace(log, n, b_l), hoeffding(log, n, 0.5) + laplace(log, n, b_L)
            first = (w_l + math.hypot(w_L, w_L)) / s1
            doubt = first
            l2 = hoeffding(log, n, cap_R) + laplace(log, n, 4 * cap_R / ALPHA)
            L2 = hoeffding(log, n, 0.5) + laplace(log, n, 4 / ALPHA)
            carried = hoeffding(log, n, doubt / 2) + laplace(log, n, 2 * doubt / ALPHA)
            scales = [x for x in batch.asked if isinstance(x, np.ndarray)]
            assert scales[0].tolist() == [[exactly(b_l)] * 2 + [exactly(b_L)] * 3]
            assert scales[1][0].tolist() == [exactly(4 * cap_R / ALPHA), exactly(4 / ALPHA)]
            assert scales[2][0].tolist() == [exactly(2 * doubt / ALPHA)]
            assert [x for x in batch.asked if isinstance(x, int)] == [n] * 3
        else:
            n = N // 8
            w = hoeffding(log, n, 1) / math.tanh(ALPHA / 2)
            first = (w + math.hypot(w, w / 2)) / s1
            doubt = first
            l2, L2, carried = cap_R * w, w, doubt * w
            assert batch.asked == [n] * 3
        eta = first * c
        e_2 = 0.5 * eta
        second = (g * L2 + l2 + e_2 + carried) / (0.5 * g)
        assert second < 1  # else a vector stops at the first layer
        assert estimate.widths[1:].tolist() == [exactly(eta + second * b)] * 2


def test_printed_lplr_in_one_dimension():
    T = 10.0**12
    oracle = LPLR("all", alpha=ALPHA, kappa_scale=(1e-6, 1e-6, 0.5, 0.01))
    batch, estimate = fitted(oracle, horizon=T)
    n, beta, gamma = N // 2, 1 / math.log(T), math.e
    log = math.log(48 / (beta * DELTA)) / ALPHA
    k2, k3 = 0.5 * 118 * math.log(24 / (beta * DELTA)) / ALPHA, 0.01 * 300 * log
    offset = k3 * gamma**2 * 2**4 / math.sqrt(n)
    slope = k2 * gamma / math.sqrt(n)
    assert estimate.values[0] == exactly(MEAN)
    assert estimate.widths[0] == exactly(offset + slope)
    assert batch.asked[0] == n and batch.asked[1].tolist() == [[3 / ALPHA, 3 / ALPHA]]
    assert batch.asked[2] == (2, exactly(1.5 / ALPHA))
    assert batch.asked[3].tolist() == [exactly(1 / ALPHA)] and batch.asked[4] == n
    theory = theory_kappas(3, alpha=0.2, beta=0.3, delta=0.01)
    log = math.log(48 * 3 / 0.003) / 0.2
    assert theory == (
        exactly(43 * log),
        exactly(15 * log),
        exactly(118 * math.log(72 / 0.003) / 0.2),
        exactly(300 * log),
    )
    least = [oracle.kappas(1, horizon=T, delta=DELTA).k1 * gamma**2 * 8 / math.sqrt(n)]
    for factor, active in ((0.99, True), (1.01, False)):
        bound = LPLR("all", alpha=ALPHA, kappa_scale=(1e-6 * factor / least[0], 1, 1e-3, 1e-3))
        assert bool(fitted(bound, horizon=T)[1].details[0].active[0]) == active


def test_scales_of_the_printed_algorithm():
    assert LPLR(alpha=0.5).scales(2, np.array([1.0, 0.25])).tolist() == [
        [6.0, exactly(6 * math.sqrt(2)), exactly(6 * math.sqrt(2))],
        [6.0, exactly(1.5 * math.sqrt(2)), exactly(1.5 * math.sqrt(2))],
    ]


def test_grid_and_epochs():
    grid = Grid.of(1e6)
    assert (grid.gamma, grid.M) == (exactly(math.e), 7)
    grid = Grid.of(1e6, 0.25)
    assert (grid.gamma, grid.M) == (exactly(10**1.5), 2)
    assert grid.size_class(np.array([1.0, 10**-1.5, 10**-1.4, 1e-3, 0.0])).tolist() == [0, 1, 0, 2, 2]
    assert epoch_lengths(100, 10) == [20, 40, 40] and epoch_lengths(20, 10) == [20]
    assert first_epoch_scale(1000.0, 3) == math.ceil(9 * math.log(3000 * math.log(1000)))
    assert first_epoch_scale(1000.0, 3, 0.5) == math.ceil(9 * math.log(6000))


def test_failure_probability_counts_actions_and_fitted_epochs():
    problem = contextual.arc_problem(3)

    def bound(**more):
        return contextual.simulate(LeastSquares(), problem, horizon=700, n_0=50, seed=1, **more).failure_probability

    assert bound(delta=1e-3) == exactly(2 * 2 * 1e-3)
    assert bound() == exactly(2 * 2 / 700**2)
    assert bound(delta=0.4) == 1.0


def test_regret_between_epochs_is_linear():
    problem, rounds = contextual.two_direction_problem(0.3), [0, 100, 200, 400, 600, 10**4]
    oracle = CorrectedLPLR(alpha=1.0, width_scale=0.02)
    found = contextual.simulate(oracle, problem, horizon=10**4, n_0=100, seed=1, replicates=3, checkpoints=rounds)
    first, second = found.epoch_regret.values[:, :2].T
    expected = [0 * first, first / 2, first, first + second / 2, first + second, found.regret.values]
    np.testing.assert_allclose(found.regret_after, np.transpose(expected), rtol=1e-12)
    assert found.regret_after.dims == ("replicate", "round") and len(set(found.regret.values)) > 1


def test_lin_ucb_against_plain_linear_algebra():
    problem = contextual.nested_problem(2, 0.5)
    found = contextual.lin_ucb(problem, horizon=300, seed=3, ridge=0.5, delta=0.05, checkpoints=[10, 300])
    rng = generator(3, "LinUCB")
    V, b, regret, out = 0.5 * np.eye(2), np.zeros(2), 0.0, []
    cumulative = np.cumsum(problem.context_probabilities)
    for t in range(1, 301):
        x = min(int(np.searchsorted(cumulative, rng.random(), side="right")), len(cumulative) - 1)
        radius = math.sqrt(0.5) + math.sqrt(2 * math.log(20) + 2 * math.log(1 + (t - 1) / (0.5 * 2)))
        phi, inverse = problem.features[x], np.linalg.inv(V)
        index = phi @ inverse @ b + radius * np.sqrt(np.einsum("ai,ij,aj->a", phi, inverse, phi))
        a = int(np.argmax(index))
        regret += problem.gaps[x, a]
        y = 1.0 if rng.random() < (1 + phi[a] @ problem.parameter) / 2 else -1.0
        V, b = V + np.outer(phi[a], phi[a]), b + y * phi[a]
        if t in (10, 300):
            out.append(regret)
    assert found.tolist() == [exactly(value) for value in out]
