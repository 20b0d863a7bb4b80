"""The loop of Algorithm 1 against the library, hand-made bands and broken oracles."""

import math

import numpy as np
import pytest

from dpregret.contextual import CorrectedLPLR, LeastSquares, two_direction_problem
from dpregret.contextual.elimination import epoch_lengths
from dpregret.simulation.seeds import generator
from evidence.contextual.algorithm_1 import algorithm_1, compare, random_problem, survivors


def bands(value, width):
    return np.array([value]), np.array([width])


def test_an_action_survives_if_its_band_reaches_the_best_lower_end():
    assert survivors(0, 3, []) == [0, 1, 2]
    assert survivors(0, 3, [bands([0.5, 0.1, -0.4], [0.2, 0.2, 0.2])]) == [0, 1]
    assert survivors(0, 2, [bands([0.5, 0.0], [0.25, 0.25])]) == [0, 1]  # equal ends


def test_what_is_lost_stays_lost_and_no_longer_counts():
    first = bands([0.0, -0.5, 0.0], [0.1, 0.1, 0.1])
    second = bands([0.0, 0.9, -0.1], [0.1, 0.1, 0.1])
    assert survivors(0, 3, [first]) == [0, 2]
    assert survivors(0, 3, [first, second]) == [0, 2]


class Given:
    """An oracle with the same values and widths at each epoch, (X * A,)."""

    def __init__(self, values, widths):
        self.values, self.widths = np.array(values), np.array(widths)

    def fit(self, batch, *, delta, rng):
        self.means = batch.means
        return self

    def holds(self, batch):
        return np.abs(self.values - batch.means) <= self.widths


def run(values, widths, lengths=(10, 100)):
    """Two contexts, rewards of arm 1 +-0.6, of arm 0 zero; the law is 1/2 each."""
    problem = two_direction_problem(0.6)
    return algorithm_1(Given(values, widths), problem, lengths, delta=0.1, rng=generator(1))


def test_regret_and_rates_of_given_bands():
    """Context 0 excludes arm 0 after the first epoch, context 1 nothing."""
    trace = run([0.0, 0.6, 0.0, -0.3], [0.2, 0.2, 0.3, 0.3])
    assert trace.sets == [[1], [0, 1]]
    assert trace.regret == pytest.approx(10 * 0.3 + 100 * 0.5 * 0.3, rel=1e-12, abs=0)
    assert trace.rates == pytest.approx([0.25 * 0.2 + 0.25 * 0.3], rel=1e-12, abs=0)  # either arm: half of each context
    assert trace.valid and trace.lost == 0
    assert trace.lemma == pytest.approx(0.6 / (2 * 0.6), rel=1e-12, abs=0)


def test_a_best_action_that_is_lost_and_a_band_that_misses_are_seen():
    trace = run([0.0, -0.6, 0.0, -0.6], [0.1, 0.1, 0.1, 0.1])
    assert trace.sets[0] == [0] and trace.lost == 1 and not trace.valid


def test_a_surviving_action_with_a_gap_above_twice_the_widths_is_seen():
    trace = run([0.0, 0.0, 0.0, 0.0], [0.1, 0.1, 0.1, 0.1])
    assert trace.lemma == pytest.approx(0.6 / 0.4, rel=1e-12, abs=0)


@pytest.mark.parametrize("oracle", [CorrectedLPLR(alpha=1.0), LeastSquares()], ids=["corrected", "least squares"])
def test_the_loop_is_the_library(oracle):
    rng = generator(3)
    for seed in range(3):
        found = compare(oracle, random_problem(rng), horizon=10**9, seed=seed)
        assert found.agree and found.valid and found.lost == 0 and found.lemma <= 1
        assert found.regret <= found.corrected == pytest.approx(2 * found.printed, rel=1e-12, abs=0)


def test_another_regret_than_the_librarys_is_seen(monkeypatch):
    from evidence.contextual import algorithm_1 as module

    other = module.algorithm_1
    monkeypatch.setattr(module, "algorithm_1", lambda *a, **k: (t := other(*a, **k))._replace(regret=1.001 * t.regret))
    found = compare(LeastSquares(), two_direction_problem(0.5), horizon=10**6, seed=1)
    assert not found.agree


def test_the_bound_has_the_runs_own_widths():
    problem, oracle, horizon = two_direction_problem(0.5), LeastSquares(), 10**6
    found = compare(oracle, problem, horizon=horizon, seed=2)
    lengths = epoch_lengths(horizon, 500)
    trace = algorithm_1(oracle, problem, lengths, delta=1e-12, rng=generator(2, "elimination"))
    later = sum(n * e for n, e in zip(lengths[1:], trace.rates, strict=True))
    assert found.printed == pytest.approx(lengths[0] + 4 * later, rel=1e-12, abs=0)


def test_random_problems_have_unit_parameters_and_differ():
    rng = generator(1)
    problems = [random_problem(rng) for _ in range(20)]
    assert {p.dimension for p in problems} == {2, 3} and {p.n_actions for p in problems} == {2, 3, 4}
    assert all(math.isclose(np.linalg.norm(p.parameter), 1) for p in problems)
