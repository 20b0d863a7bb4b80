"""The compiled loop: a reader's own rule, checkpoints and parts of the rounds, interrupts."""

import signal
from typing import NamedTuple

import numpy as np
import pytest

from dpregret.cascading import CUCB, CascadeUCB1, SemiBanditProblem, kveton_problem, play, simulate
from dpregret.cascading.play import COUNT, MEAN, SHOWN, SUM, top_k


class Greedy:
    """A reader's policy, plain and compiled: items by mean, and with the given probability a click is not counted."""

    def learner(self, n_items, list_length, horizon):
        return GreedyLearner(n_items, list_length)

    def rule(self, n_items, list_length, horizon):
        return GreedyRule(0.25)


class GreedyLearner:
    def __init__(self, n_items, list_length):
        self.length, self.counts, self.sums = list_length, np.zeros(n_items), np.zeros(n_items)

    def recommend(self, t):
        means = [s / n if n else np.inf for s, n in zip(self.sums, self.counts, strict=True)]
        return np.argsort(-np.array(means), kind="stable")[: self.length]

    def privatize(self, items, click, rng):
        return np.array([click == 1 and rng.random() >= 0.25])

    def update(self, items, message):
        self.counts[items[0]] += 1
        self.sums[items[0]] += message[0]


class GreedyRule(NamedTuple):
    lost: float
    rows: int = 6

    def recommend(self, t, log_t, state, lists):
        top_k(state[MEAN], lists[SHOWN])

    def update(self, rng, state, items, click):
        e = items[0]
        state[COUNT, e] += 1.0
        state[SUM, e] += click == 1 and rng.random() >= self.lost
        state[MEAN, e] = state[SUM, e] / state[COUNT, e]


def test_a_readers_rule_of_twenty_lines_is_compiled_into_the_loop():
    settings = dict(problem=kveton_problem(8, 3, 0.6, 0.3), horizon=400, replicates=3, seed=1)
    compiled, plain = (simulate(Greedy(), backend=backend, **settings) for backend in ("compiled", "reference"))
    np.testing.assert_array_equal(compiled, plain)
    assert plain[:, -1].std() > 0


def test_the_rounds_may_be_played_in_parts(monkeypatch):
    """Checkpoints before, at and behind the ends of the parts, in which alone an interrupt is heard."""
    problem = kveton_problem(8, 3)
    semi = SemiBanditProblem(problem.means, 3)
    settings = dict(horizon=100, replicates=2, seed=3, checkpoints=[1, 14, 15, 16, 17, 31, 32, 70, 100])

    def both():
        return simulate(CascadeUCB1(), problem, **settings), simulate(CUCB(), semi, **settings)

    whole = both()
    monkeypatch.setattr(play, "_CHUNK", 16)
    play._first_logs.cache_clear()
    assert [logs.size for logs in play.log_rounds(3, 50)] == [13, 16, 16, 2]
    for parts, expected in zip(both(), whole, strict=True):
        np.testing.assert_allclose(parts, expected, rtol=1e-13)
    monkeypatch.undo()
    play._first_logs.cache_clear()


def test_an_interrupt_ends_a_long_run():
    def interrupt(number, frame):
        raise KeyboardInterrupt

    simulate(CascadeUCB1(), kveton_problem(), horizon=10, replicates=1, seed=0)  # compiled before the clock runs
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):  # a day of rounds to one checkpoint
            simulate(CascadeUCB1(), kveton_problem(), horizon=10**12, replicates=1, seed=0, checkpoints=[10**12])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
