"""Learning rates, the regret they prove, and batching: what the notebook learning_rate shows, at small sizes."""

import csv
import math

import numpy as np
import pytest
from scipy.special import expit

from dpregret import experts
from dpregret.experts import calibration
from dpregret.experts.calibration import METHODS
from dpregret.simulation import generator
from evidence.experts import accounting, audit, batching, bounds, fixed_losses, learning_rate, minimax


def read(path):
    with open(path) as stream:
        return list(csv.DictReader(stream))


def test_every_accounting_method_has_a_name_and_covers_what_it_says():
    assert set(accounting.LABELS) == set(METHODS) - {"best"}
    for method in accounting.LABELS:
        options = {"horizon": 7, "method": method, "adaptive": method != "bounded_range"}
        assert accounting.adversary(method) == ("adaptive" if options["adaptive"] else "oblivious")
        eta = calibration.exponential_weights_eta(epsilon=1.0, delta=1e-3, batch=2, **options)
        assert accounting.rate(method, epsilon=1.0, delta=1e-3, horizon=7, batch=2) == eta
        found = accounting.certified_delta(method, eta=0.2, epsilon=0.5, horizon=7)
        assert found == calibration.exponential_weights_delta(eta=0.2, epsilon=0.5, **options)
        found = accounting.certified_epsilon(method, eta=0.2, delta=1e-3, horizon=7)
        assert found == calibration.exponential_weights_epsilon(eta=0.2, delta=1e-3, **options)


def test_the_rate_of_two_rounds_and_two_experts():
    epsilon, delta = 1.0, 1e-3
    eta = learning_rate.two_round_rate(epsilon=epsilon, delta=delta)
    # round 2 is randomised response with parameter eta
    assert expit(eta) - math.exp(epsilon) * expit(-eta) == pytest.approx(delta, rel=1e-8, abs=0)


def test_the_table_of_rates():
    lines = learning_rate.tabulate_rates([0.5, 2.0], {"text": [0.1, 0.2], "zcdp": [0.4, 0.5]}).data.splitlines()
    assert lines[0] == "| accounting | ε = 0.5 | ε = 2 | times the text's, ε = 0.5 | times the text's, ε = 2 |"
    assert lines[3] == "| zCDP, closed form | 4.0000e-01 | 5.0000e-01 | 4.0000 | 2.5000 |"


def test_the_closed_form_beats_the_text_by_the_constant_and_no_more():
    good = {(100, 1e-6, 1.0): 2.93, (100, 1e-6, 1e-4): 4 * math.sqrt(100 / 99)}
    card = learning_rate.judge_ratios(good)
    assert (card.claim, card.verdict) == ("experts/learning-rate", "holds")
    assert card.observed == "2 cases, smallest ratio 2.93000000"
    assert learning_rate.judge_ratios(good | {(2, 0.5, 1.0): 2.928}).verdict == "fails"
    assert learning_rate.judge_ratios(good | {(10, 1e-6, 1e-4): 4.3}).verdict == "fails"
    assert learning_rate.judge_ratios(good | {(10, 0.5, 1e-4): 4.3}).verdict == "holds"  # a large delta
    ratios = learning_rate.closed_form_ratios()
    assert len(ratios) == 6 * 6 * 47
    # in exact terms: sqrt(2 eps^2 / ((T - 1) (sqrt(L + eps) + sqrt(L))^2)) over the smallest cap
    log = -math.log(1e-2)
    zcdp = math.sqrt(2 / 9) * 2 * log / (math.sqrt(3 * log) + math.sqrt(log))
    text = min(2 * log / math.sqrt(320 * log), 0.5, math.sqrt(2 * log / 160))
    assert ratios[10, 1e-2, -2 * math.log(1e-2)] == pytest.approx(zcdp / text, rel=1e-12, abs=0)


def test_provable_regret_by_the_terms():
    options = {"horizon": 300, "n_experts": 5, "epsilon": 1.0, "delta": 1e-4}
    for method, version in (("text", "printed"), ("zcdp", "sharper"), ("bounded_range", "sharper")):
        eta = accounting.rate(method, epsilon=1.0, delta=1e-4, horizon=300)
        expected = bounds.total(eta=eta, n_experts=5, horizon=300, version=version)
        assert learning_rate.provable(method, **options, version=version) == expected
    assert learning_rate.without_privacy(horizon=300, n_experts=5) == pytest.approx(
        math.sqrt(math.log(5) / 600), rel=1e-12, abs=0
    )
    found = learning_rate.all_provable(300, 5, epsilon=1.0, delta=1e-4)
    assert (found.batch, found.batched) == bounds.best_batch(**options)
    both = [
        batching.fixed_bound(
            accounting.rate("bounded_range", epsilon=1.0, delta=1e-4, horizon=300, batch=b),
            n_experts=5, horizon=300, batch=b,
        )
        for b in range(max(1, found.batch - 3), found.batch + 3)
    ]  # fmt: skip
    assert found.batched_both == min(both)
    assert found.no_privacy < found.batched_both < found.batched < found.zcdp < found.text
    line = learning_rate.tabulate_provable([found]).data.splitlines()[2]
    assert line.startswith(f"| 300, 5, 1 | {found.text:.5f} | {found.optimal:.5f} | {found.zcdp:.5f} |")
    assert line.endswith(f"| {found.batched:.5f} ({found.batch}) | {found.batched_both:.5f} | {found.no_privacy:.5f} |")


def test_the_figures_of_rates_and_regret(monkeypatch, tmp_path):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    learning_rate.draw_rates(
        {"basic": ([0.1, 1.0], [0.5, 0.6]), "zcdp": ([0.1], [4.0])}, {"zcdp": ([2, 9], [3.0, 4.0])},
        epsilon=1.0, delta=1e-6, horizon=100,
    )  # fmt: skip
    rows = [tuple(row.values()) for row in read(tmp_path / "experts-learning-rates.csv")]
    assert rows == [
        ("epsilon", "basic composition, δ = 0", "0.1", "0.5"),
        ("epsilon", "basic composition, δ = 0", "1.0", "0.6"),
        ("epsilon", "zCDP, closed form", "0.1", "4.0"),
        ("horizon", "zCDP, closed form", "2.0", "3.0"),
        ("horizon", "zCDP, closed form", "9.0", "4.0"),
    ]
    private = {"epsilon": 1.0, "delta": 1e-4}
    curves = learning_rate.provable_curves(5, **private, horizons=[100, 300], longest_exact=200)
    learning_rate.draw_provable(curves, level=0.1, n_experts=5, **private)
    rows = read(tmp_path / "experts-provable-regret.csv")
    assert list(rows[0]) == ["series", "horizon", "bound"]
    found = learning_rate.all_provable(300, 5, **private)
    at = {row["series"]: float(row["bound"]) for row in rows if row["horizon"] == "300"}
    assert list(at.values()) == [found.text, found.optimal, found.zcdp, found.batched, found.no_privacy]
    assert (rows[-1]["series"], rows[-1]["horizon"]) == ("exact, oblivious losses", "100")


def test_the_smallest_horizons_with_batches_are_where_the_bound_reaches_the_level():
    private = {"n_experts": 2, "epsilon": 1.0, "delta": 1e-6}
    level = bounds.best_batch(horizon=1300, **private)[1]
    course = batching.reach(level, **private)
    values = {t: bounds.best_batch(horizon=t, **private)[1] for t in range(course.first - 5, course.first + 1)}
    assert values[course.first] <= level
    assert min(value for t, value in values.items() if t < course.first) > level
    assert course.matching < course.first
    assert course.span[1] - course.span[0] == 349
    assert course.span[0] <= course.first <= course.span[1]
    assert 0 < course.rises < 349

    def both(t):
        return batching.bound_for_both(horizon=t, near=bounds.best_batch(horizon=t, **private)[0], **private)

    assert both(course.matching) <= level < both(course.matching - 1)


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_the_worst_regret_of_batches_is_that_of_all_sequences(batch):
    eta, horizon = 0.4, 6
    learner = experts.ExponentialWeights(2, eta, batch)
    worst = -1.0
    for word in range(2**horizon):
        bits = (word >> np.arange(horizon)) & 1
        losses = np.stack([bits, 1 - bits], axis=1).astype(float)
        game = experts.simulate(learner, experts.ObliviousLosses(losses), horizon=horizon, seed=generator(0, "any"))
        worst = max(worst, game["mean_loss_regret"].item())
    assert batching.worst_regret(eta, horizon, batch) == pytest.approx(worst, rel=1e-12, abs=0)
    assert batching.worst_regret(eta, horizon, 1) == minimax.worst_regret(eta, horizon)


def test_an_adversary_that_sees_actions_forces_its_regret_on_every_run():
    losses = batching.punish_repeats(3, 2)
    assert losses(1, np.array([], dtype=int)).tolist() == [0, 0, 0]
    assert losses(2, np.array([2])).tolist() == [0, 0, 1]
    assert losses(3, np.array([2, 2])).tolist() == [0, 0, 0]
    game = experts.simulate(
        experts.ExponentialWeights(3, 0.1, 4),
        batching.punish_repeats(3, 4),
        horizon=120,
        seed=generator(0, "x"),
        replicates=5,
    )
    assert game["regret"].min() >= batching.forced(3, 4) - 1e-12
    assert batching.forced(3, 4) == pytest.approx(0.5, rel=1e-12, abs=0)


def test_the_gain_of_batches_holds_if_both_shares_are_at_most_one():
    options = {"level": 0.1, "batched": 1721, "plain": 10941}
    card = batching.judge_gain({"a": 0.9, "b": 1.0}, [0.5, 1.0], **options)
    assert (card.claim, card.verdict) == ("experts/batching", "holds")
    assert card.margin == "smallest T for 0.1: 1,721 against 10,941 without batches"
    assert batching.judge_gain({"a": 1.001}, [0.5], **options).verdict == "fails"
    assert batching.judge_gain({"a": 0.9}, [0.5, 1.001], **options).verdict == "fails"


ATTACKED = [
    batching.Attacked(2, 1, 1000, 0.05, 0.0, 0.01, 0.001, 0.03),
    batching.Attacked(2, 6, 996, 0.05, 0.41667, 0.4, 0.001, 0.02),
]


def test_the_loss_of_batches_holds_if_every_run_has_the_forced_regret():
    runs = [batching.Run(0.5, 0.5), batching.Run(0.3, 0.25)]
    card = batching.judge_loss(runs, ATTACKED[1:], replicates=3)
    assert (card.claim, card.verdict) == ("experts/batching-adaptive", "holds")
    assert card.observed == "6 runs over k, B and eta, none below: True"
    assert card.margin.endswith("k = 2, B = 6: 0.41667 against 0.05000")
    assert batching.judge_loss([*runs, batching.Run(0.4, 0.41)], ATTACKED[1:], replicates=3).verdict == "fails"
    low = [ATTACKED[1]._replace(mean=0.39)]
    assert batching.judge_loss(runs, low, replicates=3).verdict == "fails"


def test_the_table_and_the_figure_of_batches(monkeypatch, tmp_path):
    line = batching.tabulate(ATTACKED).data.splitlines()[3]
    assert line == "| 996 | 2 | 6 | 0.05000 | 0.41667 | ≈ 0.4000 ± 0.0010 |"
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    batching.draw(ATTACKED, horizon=1000, epsilon=1.0, delta=1e-6)
    rows = read(tmp_path / "experts-batching.csv")
    assert list(rows[1].items()) == [
        ("batch", "6"), ("bound", "0.05"), ("floor", "0.41667"), ("fixed", "0.02"), ("last", "0.4"), ("last_se", "0.001"),
    ]  # fmt: skip


def test_random_neighbours_differ_in_one_round_and_are_remembered():
    rng = generator(0, "neighbours")
    one, other = audit.random_adjacent(2, 2, rng, levels=3)
    for history in ((), (0,), (1,), (0, 1)):
        assert one(history).tolist() == one(history).tolist()
        assert set(one(history).tolist()) <= {0.0, 0.5, 1.0}
        if len(history) != 1:
            assert one(history).tolist() == other(history).tolist()
    drawn = [audit.random_adjacent(3, 2, rng, levels=3) for _ in range(20)]
    assert any(a((0,)).tolist() != b((0,)).tolist() for a, b in drawn)
    binary = audit.random_adjacent(2, 1, rng)
    assert {x for t in range(6) for x in binary[0]((0,) * t).tolist()} == {0.0, 1.0}
    strategy = audit.random_strategy(3, rng)
    assert strategy((1, 0)).tolist() == strategy((1, 0)).tolist() != strategy((0, 1)).tolist()


def test_the_pair_of_round_one():
    assert audit.first_round_pair(2).tolist() == [[[0, 1], [0, 0]], [[1, 0], [0, 0]]]
    learner = experts.ExponentialWeights(2, 0.3)
    laws = audit.both_worlds(learner, audit.first_round_pair(2), 2)
    np.testing.assert_allclose(laws[0], laws[1][::-1, ::-1], rtol=1e-12)
    assert laws[0][0, 0] == pytest.approx(expit(0.3) / 2, rel=1e-12, abs=0)
    assert fixed_losses.one_right(1, 2).tolist() == [[0, 1]]
