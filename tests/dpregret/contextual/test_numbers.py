"""Lower bounds, the printed Wishart mechanism, instances and bins against numbers found another way; coverage."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from dpregret.contextual import (
    LPLR,
    Batch,
    CorrectedLPLR,
    InputPerturbation,
    LeastSquares,
    PerturbedStatistics,
    case_one,
    case_two,
    lin_ucb,
    mixture_problem,
    nested_problem,
    offline_batch,
    simulate,
    two_direction_problem,
)
from dpregret.contextual import batch as batches
from dpregret.contextual.baselines import spectral_estimate
from dpregret.contextual.estimate import Estimate, safe_band
from dpregret.contextual.lplr import theory_kappas
from dpregret.contextual.moments import hoeffding_width, laplace_width, spent
from dpregret.contextual.partition import Grid, Layer, Walk, complement
from dpregret.privacy.mechanisms import Wishart
from dpregret.privacy.wishart import overlap
from evidence.contextual import lower_bounds as lb

mpmath.mp.dps = 40


def exactly(value, rel=1e-9):
    return pytest.approx(float(value), rel=rel, abs=0)


# lower bounds


@pytest.mark.parametrize("alpha", [0.01, 0.3, 0.7, 1.0])
def test_constants_of_the_mean_square_bounds(alpha):
    gain = mpmath.expm1(mpmath.mpf(alpha))
    c = 1 / (4 * mpmath.sqrt(2) * gain)
    assert lb.paper_c(alpha) == exactly(c, 1e-13)
    kappa = gain**2 * max(mpmath.exp(-alpha), 2 / (mpmath.exp(alpha) + 2))
    assert lb.channel_divergence(alpha) == exactly(kappa, 1e-12)
    for n in (1, 100, 10**9):
        paper, corrected = (lb.mean_square_bound(n=n, alpha=alpha, version=v) for v in ("paper", "corrected"))
        assert paper == exactly(mpmath.mpf(3) / 16 * min(1, c / mpmath.sqrt(n)), 1e-13)
        assert corrected == exactly(min(1, 1 / (mpmath.sqrt(2 * n) * gain)) / 8, 1e-13)
        q = np.geomspace(1e-8, 1, 200_001)
        inner = 1 - q / 2 * np.sqrt(n * float(kappa) / (1 + q * math.expm1(-alpha)))
        assert lb.mean_square_bound(n=n, alpha=alpha, version="sharp") == exactly((q / 4 * inner).max(), 1e-7)
    assert lb.mean_square_bound(n=50, alpha=alpha) == lb.mean_square_bound(n=50, alpha=alpha, version="corrected")
    assert lb.randomized_response_risk(n=50, alpha=alpha) == exactly(
        lb.randomized_response_risk(n=50, alpha=alpha, c=float(c)), 1e-13
    )


def test_linear_program_over_channels_by_one_letter_at_a_time():
    """At alpha = 1, q = 0.3: all mixtures of bits and of three letters cannot beat it, and its best rays attain it."""
    e, q = math.e, 0.3
    found = []
    for channel in (
        np.array([[1, 1, e], [e, e, 1]]) / (1 + e),
        np.array([[1, e, 1], [e, 1, e]]) / (1 + e),
        (np.ones((3, 3)) + (e - 1) * np.eye(3)) / (2 + e),
    ):
        zero, one = channel @ [1 - q, q, 0], channel @ [1 - q, 0, q]
        found.append(float((one - zero) @ np.log(one / zero)) / q**2)
    assert lb.channel_divergence_lp(1.0, q) >= max(found) * (1 - 1e-9)
    assert lb.channel_divergence_lp(1.0, q) <= lb.channel_divergence(1.0) / (1 + q * math.expm1(-1)) * (1 + 1e-9)


def test_centres_and_closed_bound_of_the_hard_pairs():
    pair = lb.theorem_2_2_pair(0.25, 0.5, 0.75)
    assert (pair.mu, pair.nu, pair.alpha) == ((0.25, 0.0), (0.25, 0.1875), 0.5)
    pair = lb.sign_flip_pair(0.25, 0.5, 0.75)
    assert (pair.mu, pair.nu, pair.alpha) == ((0.25, 0.1875), (0.25, -0.1875), 0.5)
    assert lb.theorem_2_2_pair(0.25, 0.5).nu == (0.25, 0.125) and lb.sign_flip_pair(0.25, 0.5).nu == (0.25, -0.125)
    assert lb.LARGEST_M == exactly(mpmath.sqrt(3) / 2, 1e-15)
    assert lb.LEMMA_6_1_CONSTANT == 16.7
    a = mpmath.mpf("0.35")
    chi2 = 4 * mpmath.exp(a * mpmath.mpf("1.25")) * mpmath.sinh(a) ** 2 * mpmath.sinh(a / 4) ** 2
    assert lb.sign_flip_chi_square_bound(0.7, 0.5, 0.25) == exactly(chi2, 1e-12)


@pytest.mark.parametrize("alpha", [0.2, 1.0])
@pytest.mark.parametrize("n", [1, 1000, 1e12])
def test_input_perturbation_bound_on_a_grid(n, alpha):
    m = np.geomspace(1e-6, math.sqrt(3) / 2, 400_001)
    for t in (0.5, 0.3):
        a = alpha * m
        chi2 = 4 * np.exp(a * (1 + t)) * np.sinh(a) ** 2 * np.sinh(a * t) ** 2
        best = (t * m * (1 - np.sqrt(n * np.log1p(chi2) / 2))).max()
        assert lb.input_perturbation_bound(n=n, alpha=alpha, t=t) == exactly(best, 1e-6)


def test_bounds_for_perturbed_statistics():
    for m, b in ((0.7, 1.3), (1.0, 0.1), (1e-4, 2.0)):
        z = 2 * mpmath.mpf(m) ** 2 / mpmath.mpf(b)
        assert lb.statistics_kl(m, b) == exactly(z - 1 + mpmath.exp(-z), 1e-12)
    root = mpmath.mpf(10) ** 8
    assert lb.statistics_bound(n=1e32, scale=3.0) == exactly(2 / (3 * mpmath.sqrt(3)) * mpmath.sqrt(3) / root, 1e-12)
    regret = lb.statistics_bound(n=1e32, scale=3.0, quantity="regret")
    assert regret == exactly(mpmath.sqrt(2) / 6 * mpmath.sqrt(3) * root**3, 1e-12)
    assert lb.statistics_bound(n=100, scale=30.0) > 0 and lb.statistics_bound(n=100, scale=20.0, quantity="regret") > 0
    for scale, quantity in ((30.1, "deviation"), (20.1, "regret")):
        with pytest.raises(ValueError, match="scale"):
            lb.statistics_bound(n=100, scale=scale, quantity=quantity)


def test_divergences_of_one_laplace_law_against_itself_shifted():
    """With the sign of one centre alone exchanged in a far mixture, KL is nearly that of two shifted Laplace laws."""
    a, t = 20.0, 0.3
    pair = lb.LaplaceMixtures((a, t), (a, -t))
    z = mpmath.mpf(2 * t)
    shifted = z - 1 + mpmath.exp(-z)
    chi2 = 2 * mpmath.exp(z) / 3 + mpmath.exp(-2 * z) / 3 - 1
    assert pair.kl == exactly(shifted, 1e-7) and pair.reverse_kl == exactly(shifted, 1e-7)
    assert pair.chi_square == exactly(chi2, 1e-7)
    assert lb.LaplaceMixtures((a / 2, t / 2), (a / 2, -t / 2), 2.0).kl == exactly(pair.kl, 1e-13)


# the printed Wishart mechanism


def test_rate_profile_and_overlap_of_the_wishart_mechanism():
    mechanism = Wishart(alpha=0.8, dimension=3, scale=0.5)
    rate = mpmath.mpf("0.8") / 9 * 4
    assert mechanism.rate == exactly(rate, 1e-14)
    assert mechanism.delta(0.4) == exactly(-mpmath.expm1(-mpmath.mpf("0.8") / 9), 1e-14)
    # parallel vectors: one-sided, F(a, 0) = e^-a; a shorter second vector, F(0, b) = 1 and the ratio e^-b
    v, w = np.array([0.1, 0, 0]), np.array([0.4, 0, 0])
    a = rate * mpmath.mpf("0.15")
    assert mechanism.delta_between(v, w, 0.0) == exactly(1 - mpmath.exp(-a), 1e-12)
    assert mechanism.delta_between(v, w, 3.0) == exactly(1 - mpmath.exp(-a), 1e-12)
    epsilon = float(a) / 3
    assert mechanism.delta_between(w, v, epsilon) == exactly(1 - mpmath.exp(epsilon - a), 1e-12)
    assert mechanism.delta_between(w, v, 3.0) == 0.0
    # vectors at a right angle, of different lengths
    v, w = np.array([0.3, 0, 0]), np.array([0, 0.5, 0])
    a, b = float(rate * mpmath.mpf("0.25")), float(rate * mpmath.mpf("0.09"))
    for epsilon in (0.0, 0.02, 5.0):
        expected = 1 - math.exp(min(0.0, epsilon + a - b)) * overlap(a, b)
        assert mechanism.delta_between(v, w, epsilon) == exactly(expected, 1e-10)
        expected = 1 - math.exp(min(0.0, epsilon + b - a)) * overlap(b, a)
        assert mechanism.delta_between(w, v, epsilon) == exactly(expected, 1e-10)


@pytest.mark.parametrize("a", [0.05, 0.4, 3.0])
def test_overlap_of_equal_eigenvalues_is_a_bessel_integral(a):
    with mpmath.workdps(15):
        exact = 1 - 2 / mpmath.pi * mpmath.quad(lambda t: t * mpmath.besselk(1, t), [0, a / 2, a])
    assert overlap(a, a) == exactly(exact, 1e-10)


@pytest.mark.parametrize(("dimension", "scale", "alpha"), [(1, 1.0, 1.0), (3, 0.5, 0.6)])
def test_wishart_noise_has_its_mean_and_its_floor(dimension, scale, alpha):
    """Mean zero, so that trace + 4.5 g^2 d (d+1)/alpha is a gamma variable of shape d (d+1)/2 at rate alpha/(9 g^2)."""
    draws = Wishart(alpha=alpha, dimension=dimension, scale=scale).sample(np.random.default_rng(2), 20_000)
    trace = np.trace(draws, axis1=1, axis2=2)
    unit, shape = 9 * scale**2 / alpha, dimension * (dimension + 1) / 2
    assert abs(trace.mean()) < 5 * unit * math.sqrt(shape / 20_000)
    assert trace.var() == pytest.approx(shape * unit**2, rel=0.2, abs=0)
    floor = np.linalg.eigvalsh(draws)[:, 0].min() + unit * (dimension + 1) / 2
    assert 0 <= floor < 0.02 * unit


# instances


def test_instances_by_hand():
    c = math.sqrt(0.75)
    null, shared = two_direction_problem(0.5), two_direction_problem(0.5, "shared")
    assert null.features[:, 1].tolist() == [[exactly(c), 0.5], [exactly(c), -0.5]]
    assert not null.features[:, 0].any() and shared.features[:, 0].tolist() == [[exactly(c), 0.0]] * 2
    assert null.parameter.tolist() == [0.0, 1.0] and shared.parameter.tolist() == [exactly(0.6), exactly(0.8)]
    assert shared.gaps.tolist() == [[exactly(0.4), 0.0], [0.0, exactly(0.4)]]
    assert shared.uniform_regret == exactly(0.2) and shared.regret(np.array([[1, 0], [0.5, 0.5]])) == exactly(0.3)
    one = case_one(0.1)
    assert one.features[:, 1].tolist() == [[1, 0], [0, 1]] and one.context_probabilities.tolist() == [0.9, 0.1]
    assert one.mean_rewards[:, 1].tolist() == [exactly(0.6), exactly(0.8)]
    assert case_two(0.25).features[0, 1].tolist() == [exactly(c), exactly(0.5)]
    nested = nested_problem(3, 0.04, parameter=(0, 0, 1))
    size = math.sqrt(1 + 0.04 + 0.0016)
    assert (
        np.abs(nested.features[:, 1]).tolist() == [[exactly(1 / size), exactly(0.2 / size), exactly(0.04 / size)]] * 4
    )
    assert len({tuple(row) for row in np.sign(nested.features[:, 1])}) == 4 and (nested.features[:, 1, 0] > 0).all()
    mixed = mixture_problem([1.0, 0.6])
    assert mixed.features[:, 1].tolist() == [[0, 1], [exactly(0.8), 0.6], [0, -1], [exactly(0.8), -0.6]]
    assert mixed.context_probabilities.tolist() == [0.25] * 4


@pytest.mark.parametrize("family", ["null", "shared"])
@pytest.mark.parametrize("scales", [[0.6], [1.0, 0.3, 0.05], [0.2, 0.2, 0.9, 1e-3]])
def test_a_mixture_has_the_law_of_its_two_direction_problems(family, scales):
    """A scale drawn uniformly, then a context of its problem: the law of both arms, norms and second moments."""
    parts = [two_direction_problem(r, family) for r in scales]
    expected, found = {}, {}
    for law, problems in ((expected, parts), (found, [mixture_problem(scales, family)])):
        for problem in problems:
            for arms, p in zip(problem.features, problem.context_probabilities, strict=True):
                key = tuple(np.round(arms, 12).ravel() + 0.0)
                law[key] = law.get(key, 0.0) + p / len(problems)
    assert found == {key: exactly(p, 1e-14) for key, p in expected.items()}
    mixed, squares = mixture_problem(scales, family), np.mean(np.square(scales))
    assert mixed.parameter.tolist() == parts[0].parameter.tolist()
    phi, law = mixed.features[:, 1], mixed.context_probabilities
    np.testing.assert_allclose(np.hypot(*phi.T), 1, rtol=0, atol=1e-15)
    np.testing.assert_allclose((law[:, None] * phi).T @ phi, np.diag([1 - squares, squares]), rtol=0, atol=1e-15)
    assert mixed.uniform_regret == exactly(np.mean([part.uniform_regret for part in parts]), 1e-14)


# the partition


def test_walk_down_two_layers_by_hand():
    grid = Grid(2.0, 6)
    walk = Walk(np.array([[0.6, 0.3], [0.1, 0.0], [0.6, -0.3]]), np.array([0, 1, 1]), grid)
    assert walk.codes().tolist() == [0 * 7 + 0, 1 * 7 + 3, 1 * 7 + 0]
    walk.enter(np.array([0, 7]))
    assert walk.bin.tolist() == [0, -1, 1]
    u = np.eye(2)[[0, 0]]
    layer = Layer(np.array([0, 7]), np.array([0, 1]), np.array([0, 0]), u, np.array([0.5, 0.25]),
                  np.array([0.125, 0.0]), np.array([0.25, 0.5]), np.array([True, False]))  # fmt: skip
    assert walk.advance(layer).tolist() == [True, False, False]
    assert walk.prediction.tolist() == [exactly(0.3), 0.0, 0.0] and walk.eta.tolist() == [exactly(0.275), 0.0, 0.0]
    assert walk.residual.tolist() == [[0.0, 0.3], [0.1, 0.0], [0.6, -0.3]] and walk.bin.tolist() == [0, -1, -1]
    assert walk.codes().tolist() == [1, -1, -1] and walk.norms.tolist() == [0.3, 0.1, exactly(math.hypot(0.6, 0.3))]
    far = Layer(np.array([1]), np.array([0]), np.array([1]), u[:1, ::-1], np.array([4.0]),
                np.array([0.0]), np.array([1.0]), np.array([True]))  # fmt: skip
    walk.enter(far.codes)
    walk.advance(far)
    assert walk.prediction[0] == 1.0 and walk.eta[0] == exactly(0.575)
    for fallback, prediction in ((True, 0.0), (False, 1.25)):
        walk = Walk(np.array([[1.0, 0.0]]), np.array([0]), grid)
        walk.enter(np.array([0]))
        bad = Layer(np.array([0]), np.array([0]), np.array([0]), u[:1], np.array([1.25]), np.array([1.0]),
                    np.array([0.5]), np.array([True]))  # fmt: skip
        walk.advance(bad, fallback)
        assert walk.prediction[0] == prediction and walk.eta[0] == 1.0


def test_complement_of_a_direction_in_a_basis():
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0][None, :, :3]
    for inner in ([1.0, 0, 0], [-1.0, 0, 0], [0, 0.6, -0.8]):
        inner = np.array([inner])
        left = complement(basis, inner)
        projector = basis[0] @ (np.eye(3) - inner.T @ inner) @ basis[0].T
        np.testing.assert_allclose(left[0] @ left[0].T, projector, rtol=0, atol=1e-13)


# bands and estimates


def test_safe_band_and_estimates():
    value, width = safe_band(
        np.array([1.5, -1.5, 0.5, 0.5, 0.5]), np.array([0.25, 0.25, 1.0, math.nan, 0.5]), np.eye(5)[[0, 0, 0, 0, 0]]
    )
    assert value.tolist() == [1.0, -1.0, 0.0, 0.0, 0.5] and width.tolist() == [0.25, 0.25, 1.0, 1.0, 0.5]
    assert [x.tolist() for x in safe_band(np.array([0.5]), np.array([0.5]), np.zeros((1, 2)))] == [[0.0], [0.0]]
    rows = Batch(np.eye(2), [0, 1], [0.5, 0.5], [0.25, -0.25], 10)
    estimate = Estimate(lambda features, actions: (actions + 0.0, features[:, 0] * 0.75), rows)
    assert estimate.holds(rows).tolist() == [True, False]
    assert estimate.predict(np.eye(2), [1, 1]).tolist() == [1.0, 1.0] and estimate.width(np.eye(2)).tolist() == [
        0.75,
        0,
    ]
    assert spent((2.0, 3.0), (4.0, 0.5)) == 6.5 and spent((2.0, 3.0), (4.0, 0.0)) == math.inf


def test_a_safe_band_contains_all_that_its_band_and_the_range_allow():
    """Never wider; from any value, the clipped one is the nearest of [-1, 1]; no width below 1 is changed."""
    values, widths = (x.ravel() for x in np.meshgrid(np.linspace(-3, 3, 49), np.linspace(0, 2, 33)))
    value, width = safe_band(values, widths, np.ones((len(values), 1)))
    for v, w, new_v, new_w in zip(values, widths, value, width, strict=True):
        nearest = sorted((-1.0, v, 1.0))[1]
        assert (new_v, new_w) == ((nearest, w) if w < 1 else (0.0, 1.0))
        low, high = max(v - w, -1.0), min(v + w, 1.0)  # what both bounds leave, if anything
        assert low > high or (new_v - new_w <= low and high <= new_v + new_w)


def test_a_spectral_estimate_leaves_out_directions_within_their_error():
    """Eigenvalues -.1 and .25 with errors .05 and .3, at the price |u'phi|; .5 with error .1; and 0 with any."""
    u = np.linalg.qr(np.random.default_rng(7).normal(size=(3, 3)))[0]
    L, l = (u * [-0.1, 0.25, 0.5]) @ u.T, u @ [0.2, 0.15, -0.3]
    rows = Batch(np.eye(3), [0, 0, 0], [0.5, 0.25, 0.25], [0.0] * 3, 10)
    estimate = spectral_estimate(rows, l[None], L[None], lambda s, u: np.array([[0.05, 0.3, 0.1]]))
    for along, value, width in (
        ([0.0, 0.0, 0.5], -0.3, 0.1),
        ([0.1, -0.2, -0.5], 0.3, 0.4),
        ([0.3, 0.4, 0.0], 0.0, 0.5),  # the norm, below .3 + .4
        ([-0.4, 0.4, 0.1], -0.06, math.sqrt(0.33) + 0.06),  # the norm and the value, below .82
    ):
        found = estimate.band(np.array([u @ along]))
        assert found[0][0] == pytest.approx(value, rel=0, abs=1e-12)
        assert found[1][0] == pytest.approx(width, rel=0, abs=1e-12)
    estimate = spectral_estimate(rows, l[None], np.diag([0.0, 0.0, 0.5])[None], lambda s, u: np.full((1, 3), 0.1))
    assert estimate.values[:2].tolist() == [0.0, 0.0] and estimate.widths[:2].tolist() == [1.0, 1.0]
    assert estimate.values[2] == exactly(l[2] / 0.5) and estimate.widths[2] == exactly(0.2)


ONE = np.array([[1.0]])


@pytest.mark.parametrize(
    ("oracle", "share", "alpha"),
    [(LeastSquares(), 1, 1.0), (CorrectedLPLR(alpha=1.0), 0.5, 1.0), (PerturbedStatistics(alpha=0.5), 1, 0.5)],
)
def test_coverage_at_a_large_delta(oracle, share, alpha):
    """At delta = .2, 4000 fits: at least nominal; widths and the errors' standard deviation by hand."""
    users, replicates, mean, delta = 10**8, 4000, 0.0, 0.2
    label = np.arange(replicates)
    rows = Batch(np.ones((replicates, 1)), label, np.ones(replicates), np.full(replicates, mean), users,
                 horizon=1e9, instances=label)  # fmt: skip
    estimate = oracle.fit(rows, delta=delta, rng=np.random.default_rng(8))
    error = estimate.values - mean
    assert estimate.holds(rows).mean() >= 1 - delta
    n = users * share
    if isinstance(oracle, LeastSquares):
        deviation = 1 / math.sqrt(n)
        assert estimate.widths[0] == exactly(math.sqrt(2 * math.log(10)) * deviation)
    elif isinstance(oracle, CorrectedLPLR):
        deviation = 1 / math.tanh(alpha / 2) / math.sqrt(n)
        M = math.ceil(math.log(1e9) / 2)
        assert estimate.widths.max() == exactly(2 * math.sqrt(2 * math.log(4 * M / delta)) * deviation, 0.01)
    else:
        deviation = math.sqrt(1 + 2 * (4 / alpha) ** 2) / math.sqrt(n)
    assert error.std() == pytest.approx(deviation, rel=0.05, abs=0)


def test_hoeffding_and_laplace_widths_cover_at_delta_of_a_fifth():
    """Near nominal: signs at 1.80 and Laplace means at 2.3 to 2.6 of their standard deviations in place of 1.28."""
    rng, n, runs, log = np.random.default_rng(4), 400, 4000, math.log(10)
    signs = 2 * rng.binomial(n, 0.5, runs) / n - 1
    assert 0.95 < (np.abs(signs) <= hoeffding_width(log, n, 1.0)).mean() < 0.98  # a normal variable: .968
    noise = rng.laplace(0, 3, (runs, n)).mean(axis=1)
    assert laplace_width(log, n, 3.0) / (3 * math.sqrt(2 / n)) == exactly(math.sqrt(2 * log) + log / math.sqrt(2 * n))
    assert 0.95 < (np.abs(noise) <= laplace_width(log, n, 3.0)).mean() < 0.99


# the printed algorithm on its second layer


class Plain(Batch):
    """Expected values, no noise; it notes the scales."""

    def counts(self, rng, users, groups=1):
        self.take(groups * users)
        p = users * self.probabilities[:, None] * np.stack([1 + self.means, 1 - self.means], axis=1) / 2
        return np.repeat(p[None], groups, axis=0)

    def laplace_sums(self, rng, users, scale):
        self.scales = [*getattr(self, "scales", []), np.asarray(scale)]
        return np.zeros(np.shape(scale))

    def wishart_sums(self, rng, users, n_slots, degrees, scale):
        return np.zeros((n_slots, self.dimension, self.dimension))


@pytest.mark.parametrize("e8", [False, True])
@pytest.mark.parametrize("e7", [False, True])
def test_printed_lplr_on_two_layers(e7, e8):
    """Half e_1, half (c, +-b): s, t, the carried error and the band of the second layer by hand."""
    N, alpha, delta, beta, d = 10**14, 0.5, 0.1, 0.02, 2
    gamma = N**beta
    b = gamma**-3
    c, theta = math.sqrt(1 - b * b), np.array([0.25, 0.75])
    features = np.array([[1.0, 0.0], [c, b], [c, -b]])
    rows = Plain(features, [0, 0, 0], [0.5, 0.25, 0.25], features @ theta, N)
    n, factors = N // 4, (1e-6, 1e-6, 1e-4, 1e-5)
    if not e8:
        factors = tuple(f / math.sqrt(n) if i == 3 else f for i, f in enumerate((1e-6, 1e-6, 1e-4, 1.0)))
    oracle = LPLR(
        {"L4", "L6", "L9", "L10", *(["L7"] if e7 else []), *(["L8"] if e8 else [])}, factors, beta, alpha=alpha
    )
    estimate = oracle.fit(rows, delta=delta, rng=np.random.default_rng(0))
    k = [x * f for x, f in zip(theory_kappas(d, alpha=alpha, beta=beta, delta=delta), factors, strict=True)]
    first, second = estimate.details
    psi = [1.0, 0.5] if e8 else [math.sqrt(n), 0.5 * math.sqrt(n)]
    assert first.active.tolist() == [True]
    scale = psi[0] * n
    s = (0.5 + 0.5 * c * c) * n / scale
    root = math.sqrt(n)
    excess = k[2] * gamma * d**1.5 / (scale / root if e7 else scale)
    offset = k[3] * gamma**2 * (d + 1) ** 4 * root / scale
    assert first.offset[0] == exactly(offset) and first.slope[0] == exactly(excess / math.sqrt(s))
    assert abs(first.coefficient[0]) == exactly(0.25)
    assert rows.scales[1][0] == exactly(1 / math.sqrt(s) / alpha)
    eta = offset + excess / math.sqrt(s) * c
    assert eta < 1
    place = int(np.flatnonzero(second.k == 3)[0])
    assert second.active[place]
    scale = psi[1] * n
    s = 0.5 * b * b * n / scale
    carried = 0.5 * n * eta * b / math.sqrt(s)
    excess = carried / scale + k[2] * gamma * d**1.5 / (scale / root if e7 else scale)
    offset = k[3] * gamma**2 * (d + 1) ** 4 * root / scale
    assert abs(second.coefficient[place]) == exactly(0.75)
    assert second.offset[place] == exactly(offset) and second.slope[place] == exactly(excess / math.sqrt(s))
    assert rows.scales[2][place].tolist() == [3 / alpha] + [exactly(3 * math.sqrt(2) * b / alpha)] * 2
    assert rows.scales[3][place] == exactly(b / math.sqrt(s) / alpha)
    assert estimate.values.tolist() == [exactly(x) for x in features @ theta]


# what leaves, and the framework


def test_law_of_the_bits():
    law = CorrectedLPLR(alpha=0.6).channel([-1, 0, 1], [0.0, 0.5, -1.0], n_slots=2)
    t = math.tanh(0.3)
    up = [[0.5, 0.5], [(1 + t / 2) / 2, 0.5], [0.5, (1 - t) / 2]]
    for row, (p, q) in zip(law, up, strict=True):
        assert row.tolist() == [exactly(x) for x in ((1 - p) * (1 - q), p * (1 - q), (1 - p) * q, p * q)]


def test_records_by_cell_and_slot():
    rows = Batch(np.eye(2), [0, 1], [0.25, 0.5], [0.5, -1.0], 1000)
    assert rows._law.tolist() == [[0.25, 0.1875, 0.0625, 0.5]]
    n = 10**16
    counts = Batch(np.eye(2), [0, 1], [0.25, 0.5], [0.5, -1.0], n).counts(np.random.default_rng(0), n)[0]
    for count, p in zip(counts.ravel(), (0.1875, 0.0625, 0.0, 0.5), strict=True):
        assert abs(count - n * p) <= 6 * math.sqrt(n * p * (1 - p))
    sums = batches._by_slot(np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]), np.array([1, -1, 1]), 3)
    assert sums.tolist() == [[0, 5, 0], [0, 40, 0]]
    with pytest.raises(ValueError, match="users"):
        Batch(np.eye(2), [0, 1], [0.25, 0.5], [0.5, -1.0], 5).take(6)


def test_large_counts_have_their_covariances():
    """Above 1e12 users counts are drawn as normal, or level by level: variances and covariances of a multinomial."""
    for law in ([0.5, 0.3, 0.2], [1 - 1e-9, 0.5e-9, 0.5e-9]):
        n, law = 10**14, np.array(law)
        x = batches._multinomials(np.random.default_rng(1), n, law[None], 4000)[:, 0]
        assert (x.sum(axis=1) == n).all() or np.abs(x.sum(axis=1) - n).max() <= 4
        assert np.cov(x.T) / n == pytest.approx(np.diag(law) - np.outer(law, law), rel=0.2, abs=0.1 * law[1:].min())
        z = (x.mean(axis=0) - n * law) / np.sqrt(n * law * (1 - law) / 4000)
        assert np.abs(z).max() < 5
    sums = batches._signed_sums(np.random.default_rng(2), np.full(4000, 1e13), np.full(4000, 0.4))
    assert abs((sums - 4e12).mean()) < 5 * math.sqrt(1e13 * 0.84 / 4000)
    assert sums.var() == pytest.approx(1e13 * 0.84, rel=0.15, abs=0)


def test_moments_of_many_perturbed_inputs():
    """Means 0 without users of the action; variances n 20 b^4, n 4 b^4 and n 4 b^4 of square, product and cross."""
    n, replicates, b = 10**6, 3000, 1.5
    label = np.arange(replicates)
    zero = Batch(np.zeros((replicates, 2)), label, np.ones(replicates), np.zeros(replicates), n, instances=label)
    second, cross = zero.input_sums(np.random.default_rng(3), n, b)
    assert second[:, 0, 0].var() == pytest.approx(20 * n * b**4, rel=0.15, abs=0)
    assert second[:, 0, 1].var() == pytest.approx(4 * n * b**4, rel=0.15, abs=0)
    assert (second[:, 0, 1] == second[:, 1, 0]).all()
    # z times noise on phi, and y times noise: n (4 b^4 + 2 b^2)
    assert cross[:, 0].var() == pytest.approx(n * (4 * b**4 + 2 * b**2), rel=0.15, abs=0)


def central_moments_of_products():
    """Of u v and of u^2, b = 1, from E u^k = k! for even k: both variances, and the third moment of u^2."""
    m = {k: math.factorial(k) for k in (2, 4, 6, 8)}
    square = [m[4] - m[2] ** 2, m[6] - 3 * m[4] * m[2] + 2 * m[2] ** 3]
    fourth = m[8] - 4 * m[6] * m[2] + 6 * m[4] * m[2] ** 2 - 3 * m[2] ** 4
    return {"product": m[2] ** 2, "product, fourth": m[4] ** 2, "square": square[0], "third": square[1],
            "square, fourth": fourth}  # fmt: skip


def test_normal_sums_of_products_have_the_moments_of_laplace_products(monkeypatch):
    """Above 4095 users: the sums as functions of the normal variables, given as -1, 0, 1; no other noise is left."""
    n, b = 5000, 1.5

    class Rows(Batch):
        def counts(self, rng, users, groups=1):
            return users * np.array([[[0.5, 0.5]]])

    class Given:
        def __init__(self, value):
            self.value = value

        def standard_normal(self, shape):
            return np.full(shape, self.value)

    def no_noise(rng, users, scale, size=None):
        return np.zeros(np.shape(users) if size is None else size)

    monkeypatch.setattr(batches.sums, "laplace_sum", no_noise)
    rows = Rows(np.zeros((1, 2)), [0], [1.0], [0.0], n)
    (below, cross), (zero, none), (above, _) = (rows.input_sums(Given(x), n, b) for x in (-1.0, 0.0, 1.0))
    moments = central_moments_of_products()
    assert moments["product"] == 4 and moments["square"] == 20 and moments["third"] == 592
    assert not none.any() and zero[0, 0, 1] == zero[0, 1, 0] == 0
    assert (cross**2).tolist() == [[exactly(4 * n * b**4)] * 2]
    assert below[0, 0, 1] == below[0, 1, 0] == -above[0, 0, 1] and above[0, 0, 1] ** 2 == exactly(4 * n * b**4)
    for i in (0, 1):  # a x + c (x^2 - 1): variance a^2 + 2 c^2, third moment 6 a^2 c + 8 c^3
        a, c = (above[0, i, i] - below[0, i, i]) / 2, -zero[0, i, i]
        assert a**2 == exactly(20 * n * b**4)
        assert 6 * a**2 * c == exactly(592 * n * b**6)
        assert above[0, i, i] + below[0, i, i] == pytest.approx(0.0, rel=0, abs=1e-9 * a)


@pytest.mark.parametrize("users", [64, 4096])
def test_sums_of_products_have_their_variances_one_by_one_and_at_once(users):
    """4000 runs: variances within 5 standard errors, from the fourth moments; a false alarm in 1e5 at most."""
    replicates, b, moments = 4000, 1.5, central_moments_of_products()
    label = np.arange(replicates)
    zero = Batch(np.zeros((replicates, 2)), label, np.ones(replicates), np.zeros(replicates), users, instances=label)
    second, _ = zero.input_sums(np.random.default_rng(11), users, b)
    for sums, name in ((second[:, 0, 0], "square"), (second[:, 1, 1], "square"), (second[:, 0, 1], "product")):
        variance = moments[name]
        excess = (moments[name + ", fourth"] / variance**2 - 3) / users
        error = 5 * math.sqrt((2 + excess) / replicates)
        assert error < 0.15 and sums.var() == pytest.approx(users * variance * b**4, rel=error, abs=0)
        assert abs(sums.mean()) < 5 * math.sqrt(users * variance / replicates) * b**2


def test_default_radius_of_lin_ucb_is_for_delta_one_over_t():
    problem = nested_problem(2, 0.5)
    keys = dict(horizon=2000, seed=5, checkpoints=[500, 2000])
    assert lin_ucb(problem, **keys).tolist() == lin_ucb(problem, delta=1 / 2000, ridge=1.0, **keys).tolist()
    assert lin_ucb(problem, horizon=2000, seed=5).tolist() == lin_ucb(problem, **keys).tolist()[1:]


class Given:
    """Bands of one size around the truth, from fits that it counts."""

    def __init__(self, size, shift=0.0):
        self.size, self.shift, self.seen = size, shift, []

    def fit(self, batch, *, delta, rng):
        self.seen.append((batch.n, batch.horizon, delta, batch.probabilities.copy()))
        width = np.full(len(batch.features), self.size)
        return Estimate(lambda features, actions: (batch.means + self.shift, width[: len(features)]), batch)


def test_what_the_framework_asks_of_an_oracle():
    problem = two_direction_problem(0.5, "shared")  # gaps .4
    oracle = Given(0.1)

    def once(oracle, **more):
        return simulate(oracle, problem, horizon=700, n_0=50, seed=1, **more)[{"replicate": 0}]

    found = once(oracle, delta=1e-3)
    assert [row[:3] for row in oracle.seen] == [(100, 700.0, 1e-3), (200, 700.0, 1e-3)]
    assert oracle.seen[0][3].tolist() == [0.25] * 4 and oracle.seen[1][3].tolist() == [0.0, 0.5, 0.5, 0.0]
    assert found.regret == exactly(100 * 0.2) and found.covered and found.failure_probability == exactly(4e-3)
    assert (found.horizon, found.delta) == (700.0, 1e-3)
    assert found.epoch.values.tolist() == [1, 2, 3] and found.start.values.tolist() == [0, 100, 300]
    assert found.surviving.values.tolist() == [2.0, 1.0, 1.0] and found.width.values[:2].tolist() == [exactly(0.1)] * 2
    assert np.isnan(found.width[2]) and found.epoch_covered.all()
    assert found.instantaneous_regret.values.tolist() == [exactly(0.2), 0.0, 0.0]
    assert not once(Given(0.1, 0.11)).covered
    kept = once(Given(0.21))
    assert kept.left.all() and kept.regret == exactly(700 * 0.2)


def test_offline_batch_repeats_the_problem():
    rows = offline_batch(case_one(0.25), 10, replicates=2)
    assert rows.features.tolist() == [[1, 0], [0, 1]] * 2 and rows.actions.tolist() == [0, 0, 1, 1]
    assert rows.probabilities.tolist() == [0.75, 0.25] * 2 and rows.means.tolist() == [exactly(0.6), exactly(0.8)] * 2
    assert rows.horizon == 10 and offline_batch(case_one(0.25), 10, horizon=50).horizon == 50


def test_exact_channel_is_attained_by_a_pair_in_two_bins():
    for alpha in (0.2, 1.0):
        oracle = CorrectedLPLR(alpha=alpha)
        law = oracle.channel([0, 1], [1.0, 1.0], n_slots=2)
        assert max(abs(math.log(p / q)) for p, q in zip(*law, strict=True)) == exactly(alpha, 1e-12)
        assert oracle.effective_epsilon() == exactly(alpha, 1e-12)
    bits, laplace = CorrectedLPLR(alpha=0.5), CorrectedLPLR("laplace", alpha=0.5)
    for oracle, d in itertools.product((PerturbedStatistics(alpha=0.5), laplace), (1, 2, 5)):
        scales = oracle.scales(d, 1.0) if oracle is laplace else oracle.scales(d)
        assert [float(x) for x in scales] == [exactly(8 * math.sqrt(d)), exactly(4 * (d + 1))]
    assert InputPerturbation(alpha=0.5).scale(4) == exactly(12) and bits.carried_scale(0.3) == exactly(1.2)


def test_a_direction_of_relative_error_above_one_is_left_out():
    """Four users at 1/2: the bound .61 on the error exceeds the eigenvalue .25, so the band is 0 +- |phi|."""
    estimate = LeastSquares().fit(Batch([[0.5]], [0], [1.0], [1.0], 4), delta=0.1, rng=np.random.default_rng(0))
    assert (estimate.values.tolist(), estimate.widths.tolist()) == ([0.0], [0.5])
