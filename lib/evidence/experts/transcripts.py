r"""The transcript ``(a_1, ..., a_T)`` of exponential weights: its exact law, its exact privacy, its worst adversaries.

Privacy is between two loss sequences (or strategies, which choose losses from past actions) that differ in one round.
Profiles here are exact, or upper bounds that say so. Oblivious, all k: `calibration.exponential_weights_delta` with
``method="bounded_range"``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_expit
from scipy.stats import binom

from dpregret import _checks
from dpregret.experts.weights import ExponentialWeights
from dpregret.privacy import composition

_MOST = 1 << 20


def transcript_law(
    learner: ExponentialWeights,
    losses: np.ndarray | Callable[[tuple[int, ...]], Sequence[float]],
    horizon: int | None = None,
) -> np.ndarray:
    """Probabilities of all transcripts, shape (k,) * T: entry ``[a_1, ..., a_T]``.

    Parameters
    ----------
    losses : array (>= T - 1, k), or function from the tuple ``(a_1, ..., a_{t-1})`` to the k losses of round t
        Called for t = 1..T-1, since the last losses influence no action.
    horizon : int
        T; by default the rows of the matrix. At most 2^20 transcripts.
    """
    k = learner.n_experts
    if not callable(losses):
        matrix = _checks.array("losses", losses, ndim=2, at_least=0.0, at_most=1.0)
        horizon = len(matrix) if horizon is None else horizon
        if len(matrix) < horizon - 1:
            raise ValueError(f"losses must have at least horizon - 1 = {horizon - 1} rounds, got {len(matrix)}")
        losses = lambda actions: matrix[len(actions)]  # noqa: E731
    horizon = _checks.integer("horizon", horizon, at_least=1)
    if k**horizon > _MOST:
        raise ValueError(f"horizon must give at most {_MOST} transcripts, got {k}^{horizon}")
    law = np.zeros((k,) * horizon)

    def extend(actions: tuple[int, ...], cumulative: np.ndarray, current: np.ndarray, probability: float) -> None:
        t = len(actions) + 1
        if t > horizon:
            law[actions] = probability
            return
        draw = (t - 1) % learner.batch == 0
        if draw:
            current = learner.probabilities(cumulative)
        if t < horizon:
            row = _checks.array(f"the losses after {actions}", losses(actions), ndim=1, at_least=0.0, at_most=1.0)
            if row.shape != (k,):
                raise ValueError(f"the losses after {actions} must have shape ({k},), got {row.shape}")
            cumulative = cumulative + row
        for action in range(k) if draw else actions[-1:]:
            extend((*actions, action), cumulative, current, probability * (current[action] if draw else 1.0))

    extend((), np.zeros(k), np.full(k, 1 / k), 1.0)
    return law


def two_expert_profile(*, eta: float, horizon: int, epsilon: float) -> float:
    """Exact delta of the pair ``l_1 = (0, 1)`` against ``(1, 0)``, zero losses after: k = 2.

    Every later round is randomised response with parameter eta, so it is the (T-1)-fold optimal composition of
    (eta, 0). Among the oblivious pairs of two experts it is not always the worst.
    """
    eta, horizon = _checks.real("eta", eta, above=0.0), _checks.integer("horizon", horizon, at_least=1)
    return composition.optimal(epsilon=eta, k=horizon - 1, target_epsilon=epsilon) if horizon > 1 else 0.0


def subset_profile(*, n_experts: int, subset: int, eta: float, horizon: int, epsilon: float) -> float:
    """Exact ``sup_A P(A) - e^epsilon Q(A)``: under P the first m of k experts lose 1 in round 1, under Q the others.

    Zero losses after. Each later round only tells whether the action is among the m: a binary pair with log-ratios
    ``-t`` and ``2 eta - t``. As m/k varies these pairs come as near as one likes to the worst oblivious pair.
    """
    k = _checks.integer("n_experts", n_experts, at_least=2)
    m = _checks.integer("subset", subset, at_least=1, at_most=k - 1)
    eta, epsilon = _checks.real("eta", eta, above=0.0), _checks.real("epsilon", epsilon, at_least=0.0)
    n = _checks.integer("horizon", horizon, at_least=1) - 1
    odds = math.log(m / (k - m))
    count = np.arange(n + 1)  # actions among the m
    inside = log_expit_difference(odds - eta, -2 * eta)
    outside = log_expit_difference(eta - odds, 2 * eta)
    excess = count * inside + (n - count) * outside - epsilon
    return float(binom.pmf(count, n, expit(odds - eta)) @ -np.expm1(-np.maximum(excess, 0.0)))


def pure_epsilon(*, eta: float, horizon: int) -> float:
    """The smallest epsilon with delta = 0 for k = 2, adaptive adversaries included.

    ``sum_{t=2}^{T} g(t - 2)`` with ``g(s) = ln[expit(eta (1 - s)) / expit(-eta (1 + s))]``, the log-ratio of drawing an
    expert that is behind by s - 1 or s + 1: g rises with s, and after a change in round 1 the s of round t is at
    most t - 2 (a later change leaves out the first summands of this sum and keeps the others).
    """
    behind = np.arange(_checks.integer("horizon", horizon, at_least=1) - 1)
    eta = _checks.real("eta", eta, above=0.0)
    return float(log_expit_difference(eta * (1 - behind), 2 * eta).sum())


def pure_rate(*, epsilon: float, horizon: int) -> float:
    """The learning rate whose `pure_epsilon` is epsilon; ``math.inf`` for one round, whose draw sees no loss."""
    epsilon = _checks.epsilon(epsilon)
    if _checks.integer("horizon", horizon, at_least=1) == 1:
        return math.inf
    return brentq(
        lambda eta: pure_epsilon(eta=eta, horizon=horizon) - epsilon, 1e-9, 2 * epsilon, xtol=1e-15, rtol=1e-14
    )


def log_expit_difference(x: np.ndarray, step: float) -> np.ndarray:
    """``ln expit(x) - ln expit(x - step)`` without cancellation: ``ln(1 + expit(-x) (e^step - 1))`` for small steps."""
    x = np.asarray(x, dtype=float)
    return np.log1p(expit(-x) * np.expm1(step)) if abs(step) < 1 else log_expit(x) - log_expit(x - step)


def adaptive_profile(*, eta: float, horizon: int, epsilon: float, cells: int = 200) -> float:
    r"""An upper bound on delta for adaptive adversaries and all k: T - 1 adaptively chosen 2 eta-bounded ranges.

    ``d_0(x) = (1 - e^x)_+`` and ``d_n(x) = sup_t p_t d_{n-1}(x - t) + (1 - p_t) d_{n-1}(x - t + b)``, b = 2 eta, with
    ``p_t = (1 - e^{t-b}) / (1 - e^{-b})``: d is convex in e^x, so that each outcome may be split into the two extreme
    log-ratios. Between the points of a grid with ``cells`` cells in [0, b], d is replaced by its chord in e^x, which
    lies above it, and the supremum over t is then taken exactly; the excess falls like ``1 / cells^2``.
    """
    b = 2 * _checks.real("eta", eta, above=0.0)
    n = _checks.integer("horizon", horizon, at_least=1) - 1
    epsilon, m = _checks.real("epsilon", epsilon, at_least=0.0), _checks.integer("cells", cells, at_least=1)
    if epsilon >= n * b:
        return 0.0
    if n * b > 300:
        raise ValueError(f"eta must be <= {150 / n:g} at this horizon, got {eta!r}")
    big = math.exp(b)
    steps = np.exp(b / m * np.arange(m + 1))
    x = np.exp(epsilon + b / m * np.arange(-n * m, n * m + 1))
    d = np.maximum(0.0, 1 - x)
    for _ in range(n):
        slope = np.diff(d) / np.diff(x)
        intercept = d[:-1] - slope * x[:-1]
        size = len(x) - 2 * m  # points i = m .. of the old grid remain
        inner, best = x[m : m + size], np.zeros(size)
        for a in range(m + 1):
            s = steps[a]
            ends = (1 - s / big) * d[m - a : m - a + size] + (s - 1) / big * d[2 * m - a : 2 * m - a + size]
            best = np.maximum(best, ends)
            if a == m:
                break
            # s in [e^{a h}, e^{(a+1) h}]: chords of the cells left of i - a and of i + m - a
            low, high = slice(m - a - 1, m - a - 1 + size), slice(2 * m - a - 1, 2 * m - a - 1 + size)
            bend = np.maximum(0.0, inner * (slope[high] - slope[low]))
            fall = np.maximum(0.0, (intercept[low] - intercept[high]) / big)
            peak = np.sqrt(np.divide(bend, fall, out=np.zeros(size), where=fall > 0))
            level = intercept[low] - intercept[high] / big + inner * (slope[high] - slope[low] / big)
            top = level - 2 * np.sqrt(bend * fall)
            best = np.where((peak > s) & (peak < steps[a + 1]), np.maximum(best, top), best)
        x, d = inner, best / (1 - 1 / big)
    return float(d[0])


@dataclass(frozen=True)
class Attack:
    """Two strategies that differ in round 1 only, ``l_1 = (0, 1)`` against ``(1, 0)``, and the delta that they reach.

    ``moves[(a_2, ..., a_{t-1})]`` is ``l_t(1) - l_t(0)`` in round t >= 2.
    """

    delta: float
    moves: dict[tuple[int, ...], float]

    @property
    def worlds(self) -> tuple[Callable, Callable]:
        """Both strategies."""
        return self.strategy(0), self.strategy(1)

    def strategy(self, world: int) -> Callable[[tuple[int, ...]], tuple[float, float]]:
        """The losses after given actions, for `transcript_law`; world 0 or 1."""

        def losses(actions: tuple[int, ...]) -> tuple[float, float]:
            if not actions:
                return (0.0, 1.0) if world == 0 else (1.0, 0.0)
            move = self.moves[actions[1:]]
            return (max(0.0, -move), max(0.0, move))

        return losses


def strongest_adversary(
    *, eta: float, horizon: int, epsilon: float, levels: Sequence[float] = (0.0, 0.5, 1.0), adaptive: bool = True
) -> Attack:
    """The adversary of largest delta at epsilon: two experts, change in round 1, later losses among ``levels``.

    The losses of round t depend on ``a_1, ..., a_{t-1}``; with ``adaptive=False`` on nothing. Exact, by backward
    induction over histories (adaptive) or over loss sequences; T up to about 9. Of equally good moves (within 1e-12)
    the smallest is made, of x and -x the positive one.
    """
    eta, epsilon = _checks.real("eta", eta, above=0.0), _checks.real("epsilon", epsilon, at_least=0.0)
    horizon = _checks.integer("horizon", horizon, at_least=2, at_most=12)
    levels = _checks.array("levels", levels, ndim=1, at_least=0.0, at_most=1.0)
    moves = sorted({float(x) for x in np.r_[levels, -levels]} | {0.0}, key=lambda move: (abs(move), -move))

    @cache
    def outcomes(lead: float) -> tuple[tuple[float, float], ...]:
        """Probability under world 0 and log-ratio of actions 0 and 1, when C_1 - C_0 = lead + 1 against lead - 1."""
        signs = np.array([eta, -eta])
        gains = np.array([log_expit_difference(sign * (lead + 1), 2 * sign) for sign in signs.tolist()])
        return tuple(zip(expit(signs * (lead + 1)).tolist(), gains.tolist(), strict=True))

    @cache
    def value(t: int, lead: float, ratio: float) -> tuple[float, float]:
        """The largest delta from round t on, and the move in it; ``ratio`` is the log-ratio of a_2..a_{t-1}."""
        if t > horizon:
            return max(0.0, -math.expm1(epsilon - ratio)), 0.0
        options = moves if t < horizon else [0.0]
        found = [sum(p * value(t + 1, lead + m, ratio + gain)[0] for p, gain in outcomes(lead)) for m in options]
        return max(found), options[first_of_the_largest(found)]

    if adaptive:
        chosen: dict[tuple[int, ...], float] = {}

        def unroll(actions: tuple[int, ...], lead: float, ratio: float) -> None:
            t = len(actions) + 2
            if t < horizon:
                chosen[actions] = value(t, lead, ratio)[1]
                for action, (_, gain) in enumerate(outcomes(lead)):
                    unroll((*actions, action), lead + chosen[actions], ratio + gain)

        unroll((), 0.0, 0.0)
        return Attack(value(2, 0.0, 0.0)[0], chosen)

    sequences, values = list(itertools.product(moves, repeat=horizon - 2)), []
    for moved in sequences:
        leads = np.concatenate([[0.0], np.cumsum(moved)])
        states = [(1.0, 0.0)]
        for lead in leads:
            states = [(p * q, ratio + gain) for p, ratio in states for q, gain in outcomes(float(lead))]
        values.append(sum(p * max(0.0, -math.expm1(epsilon - ratio)) for p, ratio in states))
    sequence = sequences[first_of_the_largest(values)]
    histories = (h for t in range(2, horizon) for h in itertools.product((0, 1), repeat=t - 2))
    return Attack(max(values), {h: sequence[len(h)] for h in histories})


def first_of_the_largest(values: Sequence[float]) -> int:
    """The first index whose value is within 1e-12 of the largest.

    Many moves of an adversary are equally good, and in floating point they differ in the last bit, which depends on the
    processor; the choice between them must not.
    """
    largest = max(values)
    return next(index for index, value in enumerate(values) if value >= largest - 1e-12)
