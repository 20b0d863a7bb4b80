"""What the notebook regret finds: computations by second derivations, verdicts on both sides, figures on made-up data."""

import csv
import itertools
import math

import numpy as np
import pytest

from dpregret import experts
from dpregret.simulation import generator
from evidence.experts import bounds, fixed_losses, minimax, regret, regret_figures, regret_verdicts
from evidence.experts.accounting import number

BEST = regret.AtBest(1000, 0.0181, 0.0838, 0.0186)
ONE_RIGHT = {2: regret.OneRight(0.9, 0.99, 0.5), 10: regret.OneRight(0.95, 0.999, 0.6)}
CASES = [regret.WorstCase(0.1, 0.9, 0.98), regret.WorstCase(1.0, 0.95, 0.99), regret.WorstCase(2.0, 0.3, 0.97)]
GAMES = [regret.Game(2, "a", 0.01, 0.001, 0.8, 0.012), regret.Game(10, "b", 0.02, 0.001, 0.9, 0.02)]


def words(cards):
    return {card.claim.removeprefix("experts/"): card.verdict for card in cards}


def changed(items, index, **changes):
    return [item._replace(**changes) if i == index else item for i, item in enumerate(items)]


def test_a_step_holds_up_to_one():
    assert regret_verdicts.judge_step([0.1, 1.0]).verdict == "holds"
    assert regret_verdicts.judge_step([0.1, 1.0 + 1e-9]).verdict == "fails"


def test_the_bounds_at_a_rate_hold_on_made_up_data():
    cards = regret_verdicts.judge_rates(CASES, GAMES, ONE_RIGHT, BEST)
    assert words(cards) == {"hoeffding": "holds", "o-4": "holds", "o-5": "holds"}
    hoeffding, four, five = cards
    assert "at most 0.990000 of the bound over 3 pairs" in hoeffding.observed
    assert "all 2 adversaries below it on every run: True" in hoeffding.observed
    assert hoeffding.margin.endswith("0.9900 (k = 2), 0.9990 (k = 10)")
    assert four.observed == five.observed == "exact worst case is at most 0.950000 of the bound"
    assert five.margin.startswith("for eta > 1 at most 0.300000 of it")
    assert "0.018100 against 0.083800" in four.margin


@pytest.mark.parametrize(
    ("cases", "games", "fail"),
    [
        (changed(CASES, 2, sharper=1.001), GAMES, {"hoeffding"}),
        (changed(CASES, 1, printed=1.001), GAMES, {"o-4", "o-5"}),
        (changed(CASES, 2, printed=1.001), GAMES, {"o-5"}),
        (CASES, changed(GAMES, 0, largest_share=1.001), {"hoeffding", "o-4"}),
        (CASES, changed(GAMES, 1, mean=0.0251), {"o-5"}),
    ],
)
def test_each_bound_at_a_rate_fails_where_it_is_exceeded(cases, games, fail):
    found = words(regret_verdicts.judge_rates(cases, games, ONE_RIGHT, BEST))
    assert {claim for claim, word in found.items() if word == "fails"} == fail


@pytest.mark.parametrize("place", range(4))
def test_the_tail_fails_if_any_exceedance_is_above_beta(place):
    tails = [regret.Tail(0.01, 0.02), regret.Tail(0.0, 0.05)]
    card = regret_verdicts.judge_tail(tails, tails, 0.05)
    assert (card.claim, card.verdict) == ("experts/o-6", "holds")
    assert card.observed == "at most 1.000e-02, and 1.000e-02 against adversaries that see the actions"
    bad = regret.Tail(*[(0.0501, 0.0), (0.0, 0.0501)][place % 2])
    fixed, seeing = ([*tails, bad], tails) if place < 2 else (tails, [*tails, bad])
    assert regret_verdicts.judge_tail(fixed, seeing, 0.05).verdict == "fails"


def test_the_best_rate_fails_if_a_share_or_a_mean_is_above_the_bound():
    eta = bounds.best_eta(n_experts=10, horizon=100)
    top = bounds.total(eta=eta, n_experts=10, horizon=100)
    run = regret_figures.InHorizon("no privacy", "a", 100, eta, top + 4.9e-3, 1e-3, 0.5, 1e-3)
    shares = {1: 0.3, 1000: 0.55}
    card = regret_verdicts.judge_best_rate(shares, ONE_RIGHT, [run], BEST, 10)
    assert (card.claim, card.verdict) == ("experts/o-7", "holds")
    assert card.observed.endswith("T = 1: 0.300000, T = 1000: 0.550000")
    assert f"{0.0181 / math.sqrt(math.log(2) / 2000):.6f} at k = 2" in card.margin
    above = {2: regret.OneRight(0.9, 0.99, 1.01)}
    for case in (
        ({1: 1.01}, ONE_RIGHT, [run]),
        (shares, above, [run]),
        (shares, ONE_RIGHT, [run._replace(mean=top + 5.1e-3)]),
    ):
        assert regret_verdicts.judge_best_rate(*case, BEST, 10).verdict == "fails"


def test_private_bounds_fail_where_the_forms_or_the_numbers_do_not_fit():
    forms = regret.Forms(10, True, 1e-14, 1e-13)
    tails = [regret.PrivateTail(1.0, 0.5, 1e-31, 2e-31), regret.PrivateTail(10.0, 0.1, 1e-4, 0.05)]
    setting = {"beta": 0.05, "delta": 1e-6, "epsilon": 1.0, "n_experts": 10, "horizon": 1000}

    def judged(forms=forms, below=0.96, tails=tails):
        return words(regret_verdicts.judge_private(forms, below, tails, **setting))

    assert judged() == {"o-8": "holds", "o-9": "holds"}
    eight, nine = regret_verdicts.judge_private(forms, 0.96, tails, **setting)
    assert "0.390099 against 1.532500 in expectation" in eight.margin
    assert nine.margin == f"limit at delta = 1e-6, T = 1000: {2 * 6 * math.log(10):.6f}"
    assert judged(forms=forms._replace(capped=1e-11)) == {"o-8": "fails", "o-9": "holds"}
    assert judged(below=1.01) == {"o-8": "fails", "o-9": "holds"}
    assert judged(tails=changed(tails, 0, printed=0.06)) == {"o-8": "fails", "o-9": "holds"}
    assert judged(tails=changed(tails, 1, sharper=0.06)) == {"o-8": "fails", "o-9": "holds"}
    assert judged(forms=forms._replace(same_limit=False)) == {"o-8": "holds", "o-9": "fails"}
    assert judged(forms=forms._replace(first_cap=1e-11)) == {"o-8": "holds", "o-9": "fails"}


def test_one_expert_has_no_regret():
    assert regret_verdicts.judge_one_expert(0.0).verdict == "holds"
    assert regret_verdicts.judge_one_expert(1e-300).verdict == "fails"


def test_the_forms_agree_and_a_wrong_one_would_not(monkeypatch):
    forms = regret.compare_forms(n_experts=10, beta=0.05)
    assert forms.cases == 6 * 4 * 35
    assert forms.same_limit
    assert forms.capped < 1e-12
    assert forms.first_cap < 1e-12
    limit, capped = bounds.first_cap_limit, bounds.capped_terms
    monkeypatch.setattr(bounds, "first_cap_limit", lambda **options: limit(**options) * (1 - 1e-7))
    assert not regret.compare_forms(n_experts=10, beta=0.05).same_limit
    monkeypatch.setattr(bounds, "first_cap_limit", limit)
    monkeypatch.setattr(
        bounds, "capped_terms", lambda **options: {key: x * 1.01 for key, x in capped(**options).items()}
    )
    forms = regret.compare_forms(n_experts=10, beta=0.05)
    assert min(forms.capped, forms.first_cap) > 5e-3


def test_at_best_is_exact_where_it_can_be_enumerated():
    horizon = 6
    best = regret.at_best(horizon)
    eta = math.sqrt(8 * math.log(2) / horizon)
    sequences = itertools.product(((0, 1), (1, 0)), repeat=horizon)
    worst = max(fixed_losses.expected_regret(np.array(s, dtype=float), eta) for s in sequences)
    assert best.worst == pytest.approx(worst, rel=1e-12, abs=0)
    assert best.sharper == pytest.approx(math.sqrt(math.log(2) / (2 * horizon)), rel=1e-12, abs=0)
    assert best.printed == pytest.approx(eta + math.log(2) / (eta * horizon), rel=1e-12, abs=0)
    assert minimax.worst_regret(eta, horizon) == best.worst


def test_tails_are_the_largest_of_their_sequences():
    eta, beta, horizon = 0.3, 0.4, 40
    each = [
        fixed_losses.tail_exceedances(fixed_losses.in_turn(horizon, 3, steady=m), eta, beta) for m in (0, 2, 10, 40)
    ]
    assert regret.fixed_tail(3, horizon, eta, beta) == tuple(map(max, zip(*each, strict=True)))
    assert regret.steady_rounds(40) == (0, 2, 10, 40)
    seeing = regret.seeing_tail(8, eta, 0.9)
    for tail, version in zip(seeing, bounds.VERSIONS, strict=True):
        level = 8 * bounds.total(eta=eta, n_experts=2, horizon=8, version=version, beta=0.9)
        assert tail == minimax.worst_tail(eta=eta, horizon=8, threshold=level)
    assert str(regret.Tail(0.012346, 0.5)) == "1.235e-02 (text), 5.000e-01 (eta/8)"


def test_the_private_tail_is_at_the_capped_bound_and_at_that_with_an_eighth():
    tail = regret.private_tail(30.0, 1e-3, 60, 0.5)
    target = {"epsilon": 30.0, "delta": 1e-3, "horizon": 60}
    eta = experts.exponential_weights_eta(**target, method="text")
    printed, sharper = (
        bounds.total(eta=eta, n_experts=2, horizon=60, version=v, beta=0.5) for v in ("printed", "sharper")
    )
    assert tail.bound == pytest.approx(printed, rel=1e-12, abs=0)
    sequences = [fixed_losses.in_turn(60, steady=m) for m in (0, 3, 15, 60)]
    assert tail.printed == max(fixed_losses.exceedance(s, eta, printed) for s in sequences)
    assert tail.sharper == max(fixed_losses.exceedance(s, eta, sharper) for s in sequences)
    assert 0 < tail.printed < tail.sharper
    assert str(regret.PrivateTail(10.0, 0.1, 1e-4, 2e-3)) == (
        "epsilon = 10   capped bound 0.100000, exceeded with probability 1.000e-04; with eta/8 2.000e-03"
    )


def test_adversaries_and_what_is_measured_of_them():
    made = regret.six_adversaries(3, 50, generator(0, "made"))
    learner = experts.ExponentialWeights(3, 0.2)
    for name, adversary in made.items():
        game = experts.simulate(learner, adversary, horizon=50, seed=generator(0, name), replicates=4)
        found = regret.measured(name, 3, game, 0.5)
        values = game["regret"].values[:, -1]
        assert found.mean == pytest.approx(values.mean(), rel=1e-12, abs=1e-15)
        assert found.se == pytest.approx(values.std(ddof=1) / 2, rel=1e-12, abs=1e-15)
        assert found.largest_share == pytest.approx(2 * game["mean_loss_regret"].values.max(), rel=1e-12, abs=1e-15)
    assert len(made) == 6
    assert str(GAMES[0]) == "k = 2   a                        mean regret ≈ 0.0100 ± 0.0010, bound 0.012000"
    assert regret.most_played_punished(3)(4, np.array([2, 0, 2])).tolist() == [0, 0, 1]
    assert regret.most_played_punished(3)(1, np.array([], dtype=int)).tolist() == [1, 0, 0]


def test_a_mean_and_a_quantile_of_runs():
    values = np.linspace(0, 1, 101)
    found = regret_figures.in_horizon("private", "a", 0.1, 100, values, 0.05)
    assert found.mean == pytest.approx(0.5, rel=1e-12, abs=0)
    assert found.quantile == pytest.approx(0.95, rel=1e-12, abs=0)
    assert found.mean_se == pytest.approx(values.std(ddof=1) / math.sqrt(101), rel=1e-12, abs=0)
    assert found.quantile_se == pytest.approx(2.11 * found.mean_se, rel=1e-12, abs=0)


@pytest.mark.parametrize("epsilon", [0.5, 1000.0])
def test_a_point_over_epsilon(epsilon):
    point = regret_figures.in_epsilon(epsilon, delta=1e-6, horizon=20)
    eta = min(point.caps)
    assert eta == experts.exponential_weights_eta(epsilon=epsilon, delta=1e-6, horizon=20, method="text")
    assert point.text_bound == pytest.approx(bounds.total(eta=eta, n_experts=2, horizon=20), rel=1e-12, abs=0)
    assert point.text_exact == minimax.worst_regret(eta, 20)
    best = math.sqrt(8 * math.log(2) / 20)
    zcdp = experts.exponential_weights_eta(epsilon=epsilon, delta=1e-6, horizon=20, method="zcdp")
    assert point.zcdp_eta == min(zcdp, best)
    assert (point.zcdp_eta == best) is (epsilon > 1)
    assert point.zcdp_bound == bounds.total(eta=point.zcdp_eta, n_experts=2, horizon=20, version="sharper")
    assert point.zcdp_exact == minimax.worst_regret(point.zcdp_eta, 20)


def read(path):
    with open(path) as stream:
        return list(csv.DictReader(stream))


def test_the_figures_write_what_they_draw(monkeypatch, tmp_path):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    names = ("exact", "printed", "sharper", "in_turn", "always")
    curves = {name: [0.1 * (i + 1), 0.2 * (i + 1)] for i, name in enumerate(names)}
    regret_figures.draw_rates(np.array([0.1, 1.0]), curves, 100)
    rows = read(tmp_path / "experts-regret-eta.csv")
    assert list(rows[0]) == ["eta", *names]
    assert [float(rows[1][name]) for name in names] == [curves[name][1] for name in names]

    results = [
        regret_figures.InHorizon(rate, name, t, 0.1, 0.3, 0.01, 0.4, 0.02)
        for rate in ("no privacy", "private")
        for name in regret_figures.fields(10)
        for t in (100, 1000)
    ]
    regret_figures.draw_horizons(results, n_experts=10, beta=0.05, epsilon=1.0, delta=1e-6)
    rows = read(tmp_path / "experts-regret-horizon.csv")
    assert list(rows[0]) == ["rate", "adversary", "round", "mean", "mean_se", "quantile", "quantile_se"]
    assert len(rows) == len(results)
    assert list(rows[0].values()) == ["no privacy", "one expert always right", "100", "0.3", "0.01", "0.4", "0.02"]

    points = [regret_figures.InEpsilon(e, (0.3, 0.5, 0.4), 0.2, 0.9, 0.8, 0.7, 0.6) for e in (0.1, 1.0)]
    regret_figures.draw_caps(points, horizon=100, delta=1e-6)
    rows = read(tmp_path / "experts-regret-caps.csv")
    expected = [
        "epsilon",
        "cap_1",
        "cap_2",
        "cap_3",
        "zcdp_eta",
        "text_bound",
        "text_exact",
        "zcdp_bound",
        "zcdp_exact",
    ]
    assert list(rows[0]) == expected
    assert [float(x) for x in rows[0].values()] == [0.1, 0.3, 0.5, 0.4, 0.2, 0.9, 0.8, 0.7, 0.6]


def test_small_parameters_are_written_as_in_the_texts():
    assert [number(x) for x in (1e-6, 1e-12, 0.05, 1e-3)] == ["1e-6", "1e-12", "0.05", "0.001"]
