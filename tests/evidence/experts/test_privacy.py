"""Calibration and exact transcripts: reference numbers, enumeration, and what each accounting method covers."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld import common, privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit

from dpregret.experts import (
    ExponentialWeights,
    exponential_weights_delta,
    exponential_weights_epsilon,
    exponential_weights_eta,
)
from dpregret.experts.calibration import METHODS, text_caps
from dpregret.privacy import composition
from dpregret.privacy.audit import exact_delta, exact_epsilon
from dpregret.simulation import generator
from evidence.experts import minimax, transcripts
from evidence.experts.bounds import packing_total_regret

ADAPTIVE = tuple(method for method in METHODS if method != "bounded_range")


def test_reference_numbers():
    eta = exponential_weights_eta(epsilon=1, delta=1e-6, horizon=1000, method="text")
    assert eta == pytest.approx(0.001503978200167620980916, rel=1e-14, abs=0)
    assert exponential_weights_epsilon(eta=eta, delta=1e-6, horizon=1000, method="text") == pytest.approx(
        0.509061423056895594240940, rel=1e-14, abs=0
    )
    assert exponential_weights_eta(epsilon=40, delta=1e-2, horizon=100, method="text") == pytest.approx(
        0.158113883008418966600, rel=1e-14, abs=0
    )
    assert transcripts.two_expert_profile(eta=0.3, horizon=5, epsilon=0.5) == pytest.approx(
        0.0855226779150984543133, rel=1e-13, abs=0
    )
    assert exponential_weights_delta(eta=0.3, epsilon=0.5, horizon=5, method="optimal") == pytest.approx(
        0.339840145209102952642, rel=1e-13, abs=0
    )
    assert minimax.minimax_total_regret(epsilon=0.5, horizon=2) == pytest.approx(0.877540668798145436, rel=1e-12, abs=0)


def test_what_the_text_rate_delivers():
    options = {"eta": 0.001503978200167620980916, "delta": 1e-6, "horizon": 1000}
    found = {m: exponential_weights_epsilon(**options, method=m, adaptive=False) for m in METHODS}
    expected = {"bounded_range": 0.179, "zcdp_optimal": 0.195, "zcdp": 0.251, "optimal": 0.375, "text": 0.509}
    assert {m: round(found[m], 3) for m in expected} == expected
    options = {"eta": 0.1, "epsilon": 0.5, "horizon": 20, "adaptive": False}
    found = [
        exponential_weights_delta(**options, method=m) for m in ("text", "optimal", "zcdp_optimal", "bounded_range")
    ]
    assert np.round(found, 4).tolist() == [1.0, 0.1892, 0.0715, 0.0356]
    assert transcripts.two_expert_profile(eta=0.1, epsilon=0.5, horizon=20) == pytest.approx(0.0322, abs=5e-5)


@pytest.mark.parametrize(
    ("epsilon", "ratios"), [(1, (3.930, 4.977)), (0.1, (3.993, 5.792)), (5, (3.692, 4.291))]
)  # against the text, T = 1e4, delta = 1e-6
def test_rates_relative_to_the_text(epsilon, ratios):
    options = {"epsilon": epsilon, "delta": 1e-6, "horizon": 10_000}
    text = exponential_weights_eta(**options, method="text")
    found = [exponential_weights_eta(**options, method=m, adaptive=False) / text for m in ("zcdp", "bounded_range")]
    np.testing.assert_allclose(found, ratios, atol=5e-4)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(METHODS),
    st.floats(0.01, 20),
    st.floats(1e-10, 0.5),
    st.integers(2, 400),
    st.integers(1, 5),
)
def test_rates_and_their_privacy_are_inverse(method, epsilon, delta, horizon, batch):
    options = {"horizon": horizon, "method": method, "adaptive": False, "batch": batch}
    eta = exponential_weights_eta(epsilon=epsilon, delta=delta, **options)
    if math.isinf(eta):
        assert batch >= horizon
        return
    certified = exponential_weights_epsilon(eta=eta, delta=delta, **options)
    if method == "text":
        assert certified <= epsilon * (1 + 1e-12)
    else:
        assert certified == pytest.approx(epsilon, rel=1e-7, abs=0)
    assert exponential_weights_delta(eta=eta, epsilon=epsilon * (1 + 1e-12), **options) <= delta * (1 + 1e-6)


def test_the_caps_bind_in_their_regimes():
    for epsilon, delta, horizon in itertools.product((0.1, 3, 30, 500), (0.5, 1e-2, 1e-9), (1, 5, 100)):
        first, second, third = text_caps(epsilon=epsilon, delta=delta, horizon=horizon)
        log = math.log(1 / delta)
        assert (first <= min(second, third)) == (epsilon <= min(math.sqrt(8 * horizon * log), 2 * log))


def test_plain_composition_beats_the_text_below_eight_logs():
    log = math.log(1e6)  # 8 L = 110.5, with T - 1 releases 2 more
    for horizon, wins in ((100, True), (112, True), (113, False), (200, False)):
        options = {"epsilon": 1.0, "delta": 1e-6, "horizon": horizon}
        basic, text = (exponential_weights_eta(**options, method=method) for method in ("basic", "text"))
        assert (basic > text) is wins
        assert ((horizon - 1) ** 2 < 8 * log * horizon) is wins


def test_one_draw_depends_on_no_data():
    assert exponential_weights_eta(epsilon=1, delta=1e-6, horizon=1, method="zcdp") == math.inf
    assert exponential_weights_eta(epsilon=1, delta=1e-6, horizon=7, method="optimal", batch=7) == math.inf
    assert exponential_weights_delta(eta=3, epsilon=0, horizon=1, method="optimal") == 0.0
    assert exponential_weights_epsilon(eta=3, delta=1e-6, horizon=1, method="zcdp") == 0.0


def neighbours(rng, horizon, k):
    losses = rng.random((horizon, k))
    if rng.random() < 0.5:
        losses = np.round(losses)
    other = losses.copy()
    other[rng.integers(horizon)] = np.round(rng.random(k))
    return losses, other


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(("k", "horizon"), [(2, 6), (3, 5)])
def test_exact_transcripts_obey_every_method(k, horizon, batch):
    rng = generator(0, "neighbours", k, horizon)
    for _ in range(15):
        learner = ExponentialWeights(k, float(rng.uniform(0.05, 1.5)), batch)
        laws = [transcripts.transcript_law(learner, losses) for losses in neighbours(rng, horizon, k)]
        assert laws[0].sum() == pytest.approx(1, abs=1e-12)
        for epsilon in (0.0, 0.1, 0.5, 1.0):
            exact = exact_delta(*laws, epsilon)
            for method in METHODS:
                certified = exponential_weights_delta(
                    eta=learner.eta, epsilon=epsilon, horizon=horizon, method=method, adaptive=False, batch=batch
                )
                assert exact <= certified + 1e-12, method


def random_strategies(rng, horizon, k):
    """Losses that depend on all past actions; in one round the two strategies differ."""
    changed = rng.integers(horizon)
    table = {h: rng.random((2, k)).round(1) for t in range(horizon) for h in itertools.product(range(k), repeat=t)}
    return [lambda h, w=w: table[h][w if len(h) == changed else 0] for w in (0, 1)]


def test_adaptive_strategies_obey_every_adaptive_method_and_zcdp():
    rng = generator(1, "strategies")
    horizon = 5
    for _ in range(15):
        learner = ExponentialWeights(2, float(rng.uniform(0.1, 1.5)))
        p, q = (
            transcripts.transcript_law(learner, strategy, horizon).ravel()
            for strategy in random_strategies(rng, horizon, 2)
        )
        rho = (horizon - 1) * learner.eta**2 / 2
        for alpha in (1.01, 1.5, 2.0, 8.0, 50.0):
            for a, b in ((p, q), (q, p)):
                divergence = math.log(float((a**alpha * b ** (1 - alpha)).sum())) / (alpha - 1)
                assert divergence <= alpha * rho + 1e-12
        for method in ADAPTIVE:
            for epsilon in (0.1, 0.5):
                certified = exponential_weights_delta(eta=learner.eta, epsilon=epsilon, horizon=horizon, method=method)
                assert exact_delta(p, q, epsilon) <= certified + 1e-12


@settings(max_examples=60)
@given(st.integers(1, 5), st.floats(0.01, 3), st.integers(0, 2**32 - 1))
def test_round_kernels(k, eta, seed):
    rng = np.random.default_rng(seed)
    cumulative = 5 * rng.random(k)
    learner = ExponentialWeights(k, eta)
    ratio = np.log(learner.probabilities(cumulative)) - np.log(
        learner.probabilities(cumulative + rng.uniform(-1, 1, k))
    )
    assert np.abs(ratio).max() <= 2 * eta + 1e-12
    assert np.ptp(ratio) <= 2 * eta + 1e-12  # bounded range
    one_coordinate = cumulative.copy()
    one_coordinate[0] += rng.uniform(-1, 1)
    ratio = np.log(learner.probabilities(cumulative)) - np.log(learner.probabilities(one_coordinate))
    assert np.ptp(ratio) <= eta + 1e-12


def test_the_round_kernel_supremum_is_not_attained():
    eta = 0.7
    p, q = (ExponentialWeights(2, eta).probabilities(c) for c in ([0.0, 1.0], [1.0, 0.0]))
    assert np.abs(np.log(p / q)).max() == pytest.approx(eta, rel=1e-14, abs=0)  # round 2, two experts
    ratios = []
    for gap in (0.0, 5.0, 20.0):
        p, q = (ExponentialWeights(2, eta).probabilities([gap + c, 1 - c]) for c in (0.0, 1.0))
        ratios.append(np.abs(np.log(p / q)).max())
    assert ratios == sorted(ratios)
    assert 2 * eta * (1 - 1e-4) < ratios[-1] < 2 * eta


def test_special_pairs_are_their_enumerated_laws():
    for eta, horizon, epsilon in ((0.3, 5, 0.5), (1.1, 4, 0.2)):
        learner = ExponentialWeights(2, eta)
        first = np.zeros((2, horizon, 2))
        first[0, 0, 1] = first[1, 0, 0] = 1.0
        exact = exact_delta(*(transcripts.transcript_law(learner, losses) for losses in first), epsilon)
        assert transcripts.two_expert_profile(eta=eta, horizon=horizon, epsilon=epsilon) == pytest.approx(
            exact, rel=1e-12, abs=0
        )
        learner = ExponentialWeights(3, eta)
        first = np.zeros((2, horizon, 3))
        first[0, 0, :2] = first[1, 0, 2] = 1.0
        laws = [transcripts.transcript_law(learner, losses) for losses in first]
        exact = max(0.0, float(np.maximum(laws[0] - math.exp(epsilon) * laws[1], 0).sum()))
        found = transcripts.subset_profile(n_experts=3, subset=2, eta=eta, horizon=horizon, epsilon=epsilon)
        assert found == pytest.approx(exact, rel=1e-11, abs=0)


def test_subsets_near_the_oblivious_supremum():
    options = {"eta": 0.1, "horizon": 20, "epsilon": 0.5}
    supremum = exponential_weights_delta(**options, method="bounded_range", adaptive=False)
    best = max(transcripts.subset_profile(n_experts=1000, subset=m, **options) for m in range(1, 1000))
    assert supremum * (1 - 1e-5) < best <= supremum


def test_the_pair_of_two_experts_is_not_the_worst():
    options = {"eta": 0.3, "horizon": 3, "epsilon": 0.15}
    assert transcripts.two_expert_profile(**options) == pytest.approx(0.11958, abs=5e-6)
    assert transcripts.strongest_adversary(**options).delta == pytest.approx(0.12368, abs=5e-6)


def test_an_adaptive_adversary_beats_every_oblivious_one():
    options = {"eta": 0.3, "horizon": 7, "epsilon": 0.15}
    attack = transcripts.strongest_adversary(**options)
    assert attack.delta == pytest.approx(0.245358301442544423813, rel=1e-13, abs=0)
    learner = ExponentialWeights(2, 0.3)
    laws = [transcripts.transcript_law(learner, attack.strategy(world), 7) for world in (0, 1)]
    assert exact_delta(*laws, 0.15) == pytest.approx(attack.delta, rel=1e-13, abs=0)
    oblivious = exponential_weights_delta(**options, method="bounded_range", adaptive=False)
    assert oblivious == pytest.approx(0.2452006, abs=5e-8)
    assert attack.delta > oblivious
    binary = transcripts.strongest_adversary(**options, levels=(0, 1))
    assert binary.delta == pytest.approx(0.2447974, abs=5e-8)
    fixed = transcripts.strongest_adversary(**options, levels=(0, 1), adaptive=False)
    laws = [transcripts.transcript_law(learner, fixed.strategy(world), 7) for world in (0, 1)]
    assert exact_delta(*laws, 0.15) == pytest.approx(fixed.delta, rel=1e-12, abs=0)
    assert fixed.delta < binary.delta
    # what stays valid
    recursion = transcripts.adaptive_profile(**options)
    assert recursion == pytest.approx(0.24851, abs=5e-6)
    assert attack.delta < recursion < exponential_weights_delta(**options, method="optimal")
    assert attack.delta < exponential_weights_delta(**options, method="zcdp_optimal")


def test_of_equally_good_moves_the_first_is_made():
    one = 0.3
    below, above = np.nextafter(one, 0), np.nextafter(one, 1)
    for values in ([one, one], [below, one], [above, one], [one - 5e-13, one, above]):
        assert transcripts.first_of_the_largest(values) == 0
    assert transcripts.first_of_the_largest([one - 2e-12, below, one]) == 1


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("eta", [0.1, 0.3, 1.0])
def test_the_strongest_adversary_does_not_depend_on_last_bits(monkeypatch, eta, adaptive):
    options = {"eta": eta, "horizon": 5, "epsilon": eta / 2, "adaptive": adaptive}
    attack = transcripts.strongest_adversary(**options)
    moves = {-1.0, -0.5, 0.0, 0.5, 1.0}
    assert set(attack.moves.values()) <= moves
    rng, exact = generator(0, "last bits"), transcripts.log_expit_difference
    for _ in range(5):  # another processor's exponential: errors of a few units in the last place
        monkeypatch.setattr(
            transcripts, "log_expit_difference", lambda *a: exact(*a) * (1 + 4e-16 * rng.integers(-1, 2))
        )
        monkeypatch.setattr(transcripts, "expit", lambda x: expit(x) * (1 + 4e-16 * rng.integers(-1, 2, np.shape(x))))
        other = transcripts.strongest_adversary(**options)
        assert other.moves == attack.moves
        assert other.delta == pytest.approx(attack.delta, rel=1e-13, abs=0)


def test_adaptive_recursion():
    # one release: no adaptivity
    exact = composition.bounded_range(epsilon=1.0, k=1, target_epsilon=0.25)
    bound = transcripts.adaptive_profile(eta=0.5, horizon=2, epsilon=0.25, cells=400)
    assert exact * (1 - 1e-12) <= bound < exact * (1 + 1e-5)
    # finer grids only lower the upper bound
    bounds = [transcripts.adaptive_profile(eta=0.3, horizon=5, epsilon=0.2, cells=c) for c in (10, 20, 40, 80)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] - bounds[-1] < 1e-2
    assert bounds[-1] > composition.bounded_range(epsilon=0.6, k=4, target_epsilon=0.2)
    assert transcripts.adaptive_profile(eta=0.3, horizon=1, epsilon=0.0) == 0.0
    assert transcripts.adaptive_profile(eta=0.3, horizon=5, epsilon=1000.0) == 0.0
    # beyond the exact adversary of the book, and the oblivious supremum that it exceeds
    options = {"eta": math.log(2), "horizon": 5, "epsilon": 0.0}
    attack = transcripts.strongest_adversary(**options).delta
    assert attack == pytest.approx(79 / 150, rel=1e-14, abs=0)
    oblivious = exponential_weights_delta(**options, method="bounded_range", adaptive=False)
    u = 2**0.8
    x, y = (u - 1) / 3, 4 * (1 - 1 / u) / 3
    assert oblivious == pytest.approx((1 - x) ** 3 * (1 + 3 * x) - (1 - y) ** 3 * (1 + 3 * y), rel=1e-13, abs=0)
    assert oblivious < attack < transcripts.adaptive_profile(**options)


def test_bounded_range_is_refused_for_adaptive_adversaries():
    for call in (
        lambda: exponential_weights_eta(epsilon=1, delta=1e-6, horizon=10, method="bounded_range"),
        lambda: exponential_weights_delta(eta=0.1, epsilon=1, horizon=10, method="bounded_range"),
    ):
        with pytest.raises(
            ValueError, match="adaptive must be False for method 'bounded_range', got True: an adversary"
        ):
            call()


def test_pure_epsilon_of_two_experts():
    eta, horizon = 0.6, 4
    learner = ExponentialWeights(2, eta)
    sequences = [np.array(s, dtype=float) for s in itertools.product(((0, 1), (1, 0), (0, 0)), repeat=horizon - 1)]
    laws = [transcripts.transcript_law(learner, np.vstack([s, [0, 0]])) for s in sequences]
    worst = max(
        exact_epsilon(laws[i], laws[j])
        for i, j in itertools.combinations(range(len(sequences)), 2)
        if (sequences[i] != sequences[j]).any(axis=1).sum() == 1
    )
    found = transcripts.pure_epsilon(eta=eta, horizon=horizon)
    assert found == pytest.approx(worst, rel=1e-12, abs=0)
    assert found < 2 * (horizon - 1) * eta


def test_minimax_against_exponential_weights():
    for epsilon in (0.3, 1.0, 2.5):
        assert minimax.minimax_total_regret(epsilon=epsilon, horizon=2) == pytest.approx(
            0.5 + expit(-epsilon), rel=1e-10, abs=0
        )
        assert minimax.worst_total_regret(eta=epsilon, horizon=2) == pytest.approx(
            0.5 + expit(-epsilon), rel=1e-12, abs=0
        )
    eta = brentq(lambda x: transcripts.pure_epsilon(eta=x, horizon=6) - 1, 0.01, 1, xtol=1e-15)
    assert eta == pytest.approx(0.17139, abs=1e-5)
    best, weights = minimax.minimax_total_regret(epsilon=1, horizon=6), minimax.worst_total_regret(eta=eta, horizon=6)
    assert best == pytest.approx(1.44755, abs=5e-6)
    assert weights == pytest.approx(2.37962, abs=5e-6)
    assert packing_total_regret(epsilon=1, n_experts=2, horizon=6) < best
    values = [minimax.minimax_total_regret(epsilon=1, horizon=T) for T in range(1, 5)]
    assert values == sorted(values)
    assert values[0] == 0.5


def test_dp_accounting_agrees_and_where_its_grid_overstates():
    eta, n, epsilon = 0.02, 999, 1.0
    exact = transcripts.two_expert_profile(eta=eta, horizon=n + 1, epsilon=epsilon)
    assert exact == pytest.approx(0.0243681, abs=5e-8)

    def theirs(pld):
        return pld.self_compose(n).get_delta_for_epsilon(epsilon)

    parameters = common.DifferentialPrivacyParameters(eta, 0)
    assert theirs(privacy_loss_distribution.from_privacy_parameters(parameters)) == pytest.approx(
        exact, rel=1e-10, abs=0
    )

    # losses off the grid are rounded up, n times; at eta = 0.02, on the grid, the last bit of a logarithm decides
    def overstated(eta, **grid):
        right, wrong = (math.log(expit(sign * eta)) for sign in (1, -1))
        pair = {0: right, 1: wrong}, {0: wrong, 1: right}
        ours = transcripts.two_expert_profile(eta=eta, horizon=n + 1, epsilon=epsilon)
        masses = privacy_loss_distribution.from_two_probability_mass_functions(*pair, **grid)
        response = privacy_loss_distribution.from_randomized_response(2 * float(expit(-eta)), 2, **grid)
        return theirs(masses) / ours, theirs(response) / ours

    assert all(1.05 < ratio < 1.25 for ratio in overstated(0.02005))  # the default grid, 1e-4
    assert all(ratio > 10 for ratio in overstated(0.02, value_discretization_interval=0.003))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exponential_weights_eta(epsilon=0, delta=0.1, horizon=9), "epsilon must be .* > 0, got 0"),
        (lambda: exponential_weights_eta(epsilon=1, delta=0, horizon=9, method="zcdp"), "delta must be .* got 0"),
        (lambda: exponential_weights_eta(epsilon=1, delta=1, horizon=9), "delta must be .* got 1"),
        (lambda: exponential_weights_eta(epsilon=1, delta=0.1, horizon=0), "horizon must be .* got 0"),
        (lambda: exponential_weights_eta(epsilon=1, delta=0.1, horizon=9, method="rdp"), "method must be .* got 'rdp'"),
        (lambda: exponential_weights_epsilon(eta=-1, delta=0.1, horizon=9), "eta must be .* got -1"),
        (lambda: exponential_weights_delta(eta=1, epsilon=-1, horizon=9), "epsilon must be .* got -1"),
        (lambda: transcripts.transcript_law(ExponentialWeights(2, 1), np.zeros((40, 2))), "horizon must give at most"),
        (lambda: transcripts.transcript_law(ExponentialWeights(2, 1), lambda h: [0, 2], 3), "must be finite and in"),
        (
            lambda: transcripts.transcript_law(ExponentialWeights(2, 1), lambda h: [0], 3),
            r"must have shape \(2,\), got",
        ),
        (
            lambda: transcripts.transcript_law(ExponentialWeights(2, 1), np.zeros((2, 3))),
            r"must have shape \(2,\), got",
        ),
        (lambda: transcripts.transcript_law(ExponentialWeights(2, 1), np.zeros((2, 2)), 4), "at least horizon - 1 = 3"),
        (lambda: transcripts.adaptive_profile(eta=10, horizon=100, epsilon=1), "eta must be <= "),
        (lambda: minimax.minimax_total_regret(epsilon=1, horizon=8), "horizon must be .* got 8"),
        (lambda: minimax.minimax_total_regret(epsilon=25, horizon=5), "epsilon must be .* <= 20, got 25"),
        (lambda: minimax.worst_total_regret(eta=0, horizon=8), "eta must be .* got 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
