"""Exponential weights and games: closed forms, the reference loop, regret bounds on every sequence, bad input."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import expit

from dpregret.experts import (
    BernoulliExperts,
    Callback,
    ExponentialWeights,
    LastActionPunishing,
    LeaderPunishing,
    ObliviousLosses,
    exponential_weights_epsilon,
    simulate,
    weights,
)
from dpregret.experts.weights import drawn_rate
from dpregret.simulation import generator, seed_sequence
from evidence.experts import bounds, minimax

LOSSES = hnp.arrays(
    float, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.floats(0, 1, allow_subnormal=False)
)


def alternating():
    return ObliviousLosses([[0, 1], [1, 0]], cycle=True)


def test_probabilities_reference():
    found = ExponentialWeights(3, 0.5).probabilities([0, 1, 2.5])
    expected = [0.528252123608087748903, 0.320401109026613039445, 0.151346767365299211653]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@given(
    hnp.arrays(float, st.tuples(st.integers(1, 3), st.integers(1, 5)), elements=st.floats(0, 1e7)),
    st.floats(1e-6, 50),
)
def test_probabilities_are_a_kernel(cumulative, eta):
    p = weights.probabilities(cumulative, eta)
    assert p.shape == cumulative.shape
    assert (p >= 0).all() and np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=1e-14)
    best = np.take_along_axis(p, np.argmin(cumulative, axis=-1)[..., None], axis=-1)
    np.testing.assert_array_equal(best[..., 0], p.max(axis=-1))


def test_one_draw_at_an_infinite_rate():
    learner = ExponentialWeights(3, math.inf, 4)
    np.testing.assert_array_equal(learner.probabilities([0.0, 0.0, 0.0]), np.full(3, 1 / 3))
    np.testing.assert_array_equal(learner.probabilities([[1.0, 0.5, 0.5], [0, 2, 3]]), [[0, 0.5, 0.5], [1, 0, 0]])
    for backend in ("compiled", "reference"):
        game = simulate(
            learner,
            ObliviousLosses(np.ones((4, 3))),
            horizon=4,
            seed=generator(0),
            record_actions=True,
            backend=backend,
        )
        assert len(set(game["actions"].values[0].tolist())) == 1
        assert game.attrs["value_epsilon"] == game.attrs["effective_epsilon"] == 0.0
    assert learner.value_epsilon(4) == 0.0
    assert learner.value_epsilon(5) == math.inf


def test_results_carry_their_privacy():
    learner = ExponentialWeights(3, 0.01, 2)
    game = simulate(learner, LeaderPunishing(), horizon=21, seed=generator(0), delta=1e-4)
    assert game.attrs == {
        "eta": 0.01, "batch": 2, "delta": 1e-4,
        "value_epsilon": learner.value_epsilon(21, delta=1e-4),
        "effective_epsilon": learner.effective_epsilon(21, delta=1e-4),
    }  # fmt: skip
    # 11 draws, 10 of which see a loss
    assert learner.value_epsilon(21, delta=0.0) == pytest.approx(0.2, rel=1e-14, abs=0)
    for method, delta in (("zcdp_optimal", 1e-4), ("basic", 1e-30)):
        expected = exponential_weights_epsilon(eta=0.01, delta=delta, horizon=21, batch=2, method=method)
        assert learner.value_epsilon(21, delta=delta) == pytest.approx(expected, rel=1e-13, abs=0)
    assert ExponentialWeights(1, 0.5).value_epsilon(100) == 0.0
    for eta in (1e-12, 1e-5, 0.3, 7.0, 1e4, 1e200):
        assert drawn_rate(ExponentialWeights(3, eta)) == pytest.approx(eta, rel=2e-15, abs=0)
        assert ExponentialWeights(2, eta).value_epsilon(2, delta=0.0) == pytest.approx(2 * eta, rel=2e-15, abs=0)
        assert 0 <= ExponentialWeights(2, eta).value_epsilon(1000, delta=1e-9) <= 1998 * eta * (1 + 1e-14)


def test_other_objects_as_adversaries():
    class Mine:
        def losses(self, t, actions, cumulative, rng):
            cumulative[:] = 7.0  # a copy
            return [0.0, 1.0] if t % 2 else [1.0, 0.0]

    mine = simulate(ExponentialWeights(2, 0.3), Mine(), horizon=9, seed=generator(1), record_actions=True)
    known = simulate(ExponentialWeights(2, 0.3), alternating(), horizon=9, seed=generator(1), record_actions=True)
    np.testing.assert_array_equal(mine["actions"], known["actions"])
    np.testing.assert_array_equal(mine["expert_loss"], known["expert_loss"])
    Mine.losses = lambda self, t, actions, cumulative, rng: [0.0, 2.0]
    with pytest.raises(ValueError, match=r"the losses of round 1\[1\] must be finite and in \[0, 1\], got 2.0"):
        simulate(ExponentialWeights(2, 0.3), Mine(), horizon=9, seed=generator(1))

    def rewrite(t, actions):
        actions[:] = 0
        return [0.0, 1.0]

    with pytest.raises(ValueError, match="read-only"):
        simulate(ExponentialWeights(2, 0.3), rewrite, horizon=9, seed=generator(1))


def test_inverse_cdf_clips_its_index():
    assert weights.inverse_cdf(np.full(10, 0.1), np.nextafter(1, 0)) == 9
    assert weights.inverse_cdf(np.full(10, 0.1), 1.0) == 9
    assert [weights.inverse_cdf(np.array([1.0, 0.0, 3.0]), u) for u in (0.0, 0.2499, 0.25, 0.9)] == [0, 0, 2, 2]


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("k", [2, 5, 30])
@pytest.mark.parametrize("name", ["matrix", "bernoulli", "leader", "last", "alternating"])
def test_compiled_games_are_the_reference_games(name, k, batch):
    rng = generator(0, "game", name, k)
    adversary = {
        "matrix": ObliviousLosses(rng.random((300, k))),
        "bernoulli": BernoulliExperts(rng.random(k)),
        "leader": LeaderPunishing(),
        "last": LastActionPunishing(),
        "alternating": alternating(),
    }[name]
    if name == "alternating" and k > 2:
        with pytest.raises(ValueError, match="n_experts"):
            simulate(ExponentialWeights(k, 0.2), adversary, horizon=10, seed=rng)
        return
    games = [
        simulate(
            ExponentialWeights(k, 0.2, batch), adversary, horizon=300, seed=generator(1, name),
            checkpoints=[1, 100, 300], record_actions=True, backend=backend,
        )
        for backend in ("compiled", "reference")
    ]  # fmt: skip
    np.testing.assert_array_equal(games[0]["actions"], games[1]["actions"])
    for game in games:
        for name, loss in (("regret", "played_loss"), ("mean_loss_regret", "expected_loss")):
            mean = (game[loss] - game["best_loss"]).values / [1, 100, 300]
            np.testing.assert_allclose(game[name], mean, rtol=1e-13)
    for name in ("played_loss", "expected_loss", "best_loss", "regret", "mean_loss_regret", "expert_loss"):
        np.testing.assert_allclose(games[0][name], games[1][name], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(games[0]["probabilities"], games[1]["probabilities"], rtol=1e-11)


def test_a_callback_sees_the_past_and_nothing_else():
    seen = []

    def adversary(t, actions):
        seen.append((t, actions.copy()))
        return [0.0, 1.0] if t % 2 else [1.0, 0.0]

    learner = ExponentialWeights(2, 0.3)
    game = simulate(learner, adversary, horizon=20, seed=generator(2), record_actions=True)
    assert [t for t, _ in seen] == list(range(1, 21))
    for t, past in seen:
        np.testing.assert_array_equal(past, game["actions"][0, : t - 1])
    compiled = simulate(learner, alternating(), horizon=20, seed=generator(2), record_actions=True)
    np.testing.assert_array_equal(compiled["actions"], game["actions"])
    assert float(compiled["regret"].item()) == float(game["regret"].item())


def test_replicates_of_an_oblivious_game_share_losses_and_not_draws():
    game = simulate(
        ExponentialWeights(2, 0.5),
        ObliviousLosses([[0.0, 1.0]], cycle=True),
        horizon=50,
        seed=generator(3),
        replicates=4000,
    )
    assert len(np.unique(game["expected_loss"])) == 1
    # z-test of the mean played loss: error rate 1e-5 at 4.4 standard errors, fixed seed
    p = expit(-0.5 * np.arange(50))
    error = math.sqrt((p * (1 - p)).sum() / 4000)
    assert abs(float(game["played_loss"].mean()) - p.sum()) < 4.4 * error
    assert float(game["expected_loss"][0].item()) == pytest.approx(p.sum(), rel=1e-14, abs=0)


def test_ten_million_rounds():
    T = 10_000_000
    eta = 1e-6
    game = simulate(ExponentialWeights(2, eta), ObliviousLosses([[0.1, 0.3]], cycle=True), horizon=T, seed=generator(4))
    np.testing.assert_allclose(game["expert_loss"][0], [1e6, 3e6], rtol=1e-15)
    np.testing.assert_allclose(game["probabilities"][0], [expit(2), expit(-2)], rtol=1e-12)
    # sum_t expit(-x (t-1)), x = 0.2 eta: Euler-Maclaurin, the next term is of order x^3
    x = 0.2 * eta
    integral = (math.log(2) - math.log1p(math.exp(-x * T))) / x
    slope = expit(-x * T) * expit(x * T) * -x + x / 4
    expected = integral + (0.5 - expit(-x * T)) / 2 + slope / 12
    assert float(game["mean_loss_regret"].item()) == pytest.approx(0.2 * expected / T, rel=1e-13, abs=0)

    game = simulate(ExponentialWeights(2, 0.01), alternating(), horizon=T, seed=generator(5))
    assert float(game["mean_loss_regret"].item()) == pytest.approx((expit(0.01) - 0.5) / 2, rel=1e-9, abs=0)
    # Azuma-Hoeffding: the played regret leaves this interval with probability 2e-9, fixed seed
    assert abs(float((game["regret"] - game["mean_loss_regret"]).item())) < math.sqrt(math.log(1e9) / (2 * T))

    frozen = simulate(
        ExponentialWeights(2, 1.0), ObliviousLosses([[0.9, 1.0]], cycle=True), horizon=100_000, seed=generator(6)
    )
    np.testing.assert_array_equal(frozen["probabilities"][0], [1.0, 0.0])  # multiplied weights would be 0/0


@settings(max_examples=60)
@given(LOSSES, st.floats(1e-3, 3), st.booleans())
def test_pathwise_regret_bounds(losses, eta, binary):
    losses = np.round(losses) if binary else losses
    T, k = losses.shape
    game = simulate(
        ExponentialWeights(k, eta),
        ObliviousLosses(losses),
        horizon=T,
        seed=np.random.default_rng(0),
        backend="reference",
    )
    regret = float(game["mean_loss_regret"].item())
    sharper = sum(bounds.regret_terms(eta=eta, n_experts=k, horizon=T, version="sharper").values())
    printed = sum(bounds.regret_terms(eta=eta, n_experts=k, horizon=T).values())
    assert regret <= sharper + 1e-12
    assert regret <= printed + 1e-12
    if k == 1:
        assert float(game["regret"].item()) == 0.0


@settings(max_examples=40)
@given(LOSSES, st.floats(1e-3, 3), st.integers(2, 5))
def test_batched_regret_bound_for_fixed_losses(losses, eta, batch):
    T, k = losses.shape
    learner = ExponentialWeights(k, eta, batch)
    game = simulate(learner, ObliviousLosses(losses), horizon=T, seed=np.random.default_rng(0), backend="reference")
    bound = sum(
        bounds.regret_terms(
            eta=eta, n_experts=k, horizon=T, version="sharper", batch=batch, regret_against="oblivious"
        ).values()
    )
    assert float(game["mean_loss_regret"].item()) <= bound + 1e-12


@pytest.mark.parametrize(("k", "batch"), [(2, 6), (10, 11), (100, 15)])
def test_batching_fails_against_an_adversary_that_sees_actions(k, batch):
    T = 60_000
    game = simulate(ExponentialWeights(k, 1e-4, batch), LastActionPunishing(), horizon=T, seed=generator(7, k))
    regret = float(game["regret"].item())
    assert regret == pytest.approx((1 - 1 / batch) * (1 - 1 / k), abs=0.02)  # the limit for small eta
    assert regret > sum(bounds.regret_terms(eta=1e-2, n_experts=k, horizon=T).values())


def test_tail_bound():
    # P(R_T > bound) <= beta = 0.05; 400 games exceed more than 37 times with probability below 1e-3, fixed seed
    terms = bounds.regret_terms(eta=0.05, n_experts=2, horizon=200, beta=0.05, version="sharper")
    game = simulate(ExponentialWeights(2, 0.05), LastActionPunishing(), horizon=200, seed=generator(8), replicates=400)
    assert int((game["regret"] > sum(terms.values())).sum()) <= 37


def test_worst_regret_of_two_experts():
    assert minimax.worst_total_regret(eta=math.sqrt(8 * math.log(2) / 1000), horizon=1000) / 1000 == pytest.approx(
        0.01815, abs=5e-6
    )
    # all binary sequences of five rounds, played
    worst = max(
        float(
            simulate(
                ExponentialWeights(2, 0.7), ObliviousLosses(rows), horizon=5, seed=generator(0)
            ).mean_loss_regret.item()
        )
        * 5
        for code in range(3**5)
        for rows in [np.array([[(0, 0), (0, 1), (1, 0)][code // 3**i % 3] for i in range(5)], dtype=float)]
    )
    assert minimax.worst_total_regret(eta=0.7, horizon=5) == pytest.approx(worst, rel=1e-12, abs=0)
    # fractional losses help at T = 2 from eta = 2.82... on
    for eta, helps in ((2.82, False), (2.83, True)):
        coarse, fine = (minimax.worst_total_regret(eta=eta, horizon=2, resolution=r) for r in (1, 400))
        assert (fine > coarse + 1e-6) is helps
    assert minimax.worst_total_regret(eta=3, horizon=2, resolution=400) == pytest.approx(0.5692, abs=5e-5)
    assert minimax.worst_total_regret(eta=3, horizon=2) == pytest.approx(0.5474, abs=5e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ExponentialWeights(0, 0.1), r"n_experts must be an integer >= 1, got 0"),
        (lambda: ExponentialWeights(2, 0.0), r"eta must be .* > 0, got 0.0"),
        (lambda: ExponentialWeights(2, -1), r"eta must be .* > 0, got -1"),
        (lambda: ExponentialWeights(2, math.nan), r"eta must be .* got nan"),
        (
            lambda: simulate(ExponentialWeights(2, math.inf), alternating(), horizon=2, seed=generator(0)),
            r"eta must be finite for more",
        ),
        (
            lambda: simulate(ExponentialWeights(2, 1), np.ones((3, 2)), horizon=2, seed=generator(0)),
            r"ObliviousLosses\(matrix\)\), got an",
        ),
        (
            lambda: simulate(ExponentialWeights(2, 1), alternating(), horizon=2, seed=generator(0), delta=1),
            r"delta must be .* got 1",
        ),
        (lambda: ExponentialWeights(2, 0.1, 0), r"batch must be an integer >= 1, got 0"),
        (lambda: ExponentialWeights(2, 0.1).probabilities([0.0]), r"cumulative_losses must have last dimension 2"),
        (lambda: weights.probabilities([0.0, math.nan], 1.0), r"cumulative_losses\[1\] must be finite, got nan"),
        (lambda: ObliviousLosses([[0.0, 1.5]]), r"matrix\[0, 1\] must be finite and in \[0, 1\], got 1.5"),
        (lambda: ObliviousLosses([[0.0, math.nan]]), r"matrix\[0, 1\] must be finite and in \[0, 1\], got nan"),
        (lambda: ObliviousLosses(np.zeros((0, 2))), r"matrix must have at least one round"),
        (lambda: BernoulliExperts([0.5, -0.1]), r"means\[1\] must be finite and in \[0, 1\], got -0.1"),
        (lambda: BernoulliExperts([]), r"means must have at least one expert"),
        (lambda: Callback(3), r"function must be callable, got 3"),
        (
            lambda: simulate(ExponentialWeights(2, 0.1), alternating(), horizon=0, seed=generator(0)),
            r"horizon .* >= 1, got 0",
        ),
        (
            lambda: simulate(ExponentialWeights(2, 0.1), alternating(), horizon=5, seed=-1),
            r"seed must be .* got -1",
        ),
        (
            lambda: simulate("hedge", alternating(), horizon=5, seed=generator(0)),
            r"learner must be an object with n_experts, weights and act, got 'hedge'",
        ),
        (
            lambda: simulate(ExponentialWeights(2, 0.1), ObliviousLosses([[0.0, 1.0]]), horizon=2, seed=generator(0)),
            r"horizon must be <= 1",
        ),
        (
            lambda: simulate(
                ExponentialWeights(2, 0.1), alternating(), horizon=9, seed=generator(0), checkpoints=[3, 2, 9]
            ),
            r"checkpoints must be increasing",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ([0.0, 1.1], r"losses of round 3\[1\] must be finite and in \[0, 1\], got 1.1"),
        ([-0.1, 1.0], r"losses of round 3\[0\] .* got -0.1"),
        ([0.0, math.nan], r"losses of round 3\[1\] .* got nan"),
        ([0.0, math.inf], r"losses of round 3\[1\] .* got inf"),
        ([0.0], r"losses of round 3 must have shape \(2,\), got \(1,\)"),
        (["a", "b"], r"losses of round 3 must be an array of numbers"),
    ],
)
def test_a_callback_with_bad_losses_is_refused_in_its_round(losses, message):
    with pytest.raises(ValueError, match=message):
        simulate(
            ExponentialWeights(2, 0.1), lambda t, actions: [0.0, 1.0] if t < 3 else losses, horizon=5, seed=generator(0)
        )


def test_losses_outside_the_unit_interval_would_break_the_bound():
    # five times the losses are five times the learning rate: 5 T (expit(5 eta) - 1/2) / 2 against eta T + ln 2 / eta
    T, eta = 1000, 0.1
    assert 5 * T * (expit(5 * eta) - 0.5) / 2 > eta * T + math.log(2) / eta


class FollowTheLeader:
    """A learner of one's own: no noise, no epsilon."""

    n_experts = 2

    def weights(self, cumulative_losses):
        return (cumulative_losses == cumulative_losses.min()) * (np.arange(2) == cumulative_losses.argmin())

    def act(self, cumulative_losses, rng):
        return int(cumulative_losses.argmin())


def test_a_learner_of_ones_own_plays_and_states_no_epsilon():
    game = simulate(FollowTheLeader(), alternating(), horizon=10, replicates=2, seed=0)
    # the leader always loses next: (0, 1) first, so expert 0 wins round 1 and loses round 2, ...
    assert game["played_loss"].values.tolist() == [[5.0], [5.0]] and game["regret"].values.tolist() == [[0.0], [0.0]]
    assert all(math.isnan(game.attrs[name]) for name in ("eta", "value_epsilon", "effective_epsilon"))


def test_a_seed_a_sequence_and_a_generator_give_the_same_game():
    games = [
        simulate(ExponentialWeights(3, 0.5), BernoulliExperts([0.2, 0.5, 0.5]), horizon=40, replicates=3, seed=seed)
        for seed in (7, seed_sequence(7), generator(7))
    ]
    assert games[0].identical(games[1]) and games[0].identical(games[2])
