r"""Exact worst cases for two experts, in total regret ``T R_T``: of exponential weights, of the best private learner.

Only the difference ``D_t = l_t(1) - l_t(0)`` in [-1, 1] of the two losses matters to regret and to exponential weights.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.special import expit

from dpregret import _checks


def worst_total_regret(*, eta: float, horizon: int, resolution: int = 1) -> float:
    """The largest expected total regret of exponential weights over losses that are multiples of ``1 / resolution``.

    Oblivious and adaptive adversaries alike: ``sum_t mu_t - min_j sum_t l_t(j)`` is a function of the losses. With
    p(d) the probability of expert 1 when it is behind by d, regret is ``sum_t p(d_t) D_t + max(0, -d_{T+1})``, found by
    backward induction over d. Binary losses: ``resolution = 1``. For losses in [0, 1] it is a lower bound on the worst
    case, and rises with multiples of the resolution (at T = 2, fractions help for eta > 2.82 only). ``eta = math.inf``
    is taken for one round, whose draw is a fair coin.
    """
    horizon = _checks.integer("horizon", horizon, at_least=1)
    eta = eta if horizon == 1 and eta == math.inf else _checks.real("eta", eta, above=0.0)
    r = _checks.integer("resolution", resolution, at_least=1)
    behind = np.arange(-r * horizon, r * horizon + 1) / r
    value = np.maximum(0.0, -behind)
    for _ in range(horizon):
        behind = behind[r:-r]
        worse = expit(-eta * behind) if eta < math.inf else np.array([0.5])
        size = len(behind)
        value = np.max([worse * (move / r) + value[r + move : r + move + size] for move in range(-r, r + 1)], axis=0)
    return float(value[0])


def worst_regret(eta: float, horizon: int, resolution: int = 1) -> float:
    """The mean of `worst_total_regret` over the rounds, ``R_T``."""
    return worst_total_regret(eta=eta, horizon=horizon, resolution=resolution) / horizon


def worst_tail(*, eta: float, horizon: int, threshold: float) -> float:
    """The largest P(total regret > threshold) of exponential weights over adversaries that see the actions, k = 2.

    Total regret is that of the actions played, ``sum_t l_t(a_t) - min_j sum_t l_t(j)``; losses are binary. It is
    ``S - min(0, d)`` with d the loss of expert 1 less that of expert 0 and S the loss played less that of expert 0, so
    backward induction over (d, S) is exact. Time grows like T^3: a second at T = 200.
    """
    eta, T = _checks.real("eta", eta, above=0.0), _checks.integer("horizon", horizon, at_least=1)
    threshold = _checks.real("threshold", threshold)
    d, s = np.arange(-T, T + 1)[:, None], np.arange(-T, T + 1)
    value = (s - np.minimum(0, d) > threshold).astype(float)
    for t in range(T, 0, -1):  # before round t both coordinates are within t - 1 of 0
        n = t - 1
        right = expit(-eta * np.arange(-n, n + 1))[:, None]  # of expert 1
        inner = slice(1, 2 * n + 2)
        best = value[inner, inner].copy()
        for move in (-1, 1):
            moved = slice(1 + move, 2 * n + 2 + move)
            np.maximum(best, (1 - right) * value[moved, inner] + right * value[moved, moved], out=best)
        value = best
    return float(value[0, 0])


def minimax_total_regret(*, epsilon: float, horizon: int) -> float:
    """The least worst-case expected total regret of a learner with a purely epsilon-private transcript, k = 2.

    Oblivious losses in [0, 1]^2, T <= 7, epsilon <= 20 (beyond, ``e^epsilon`` is past the accuracy of the solver, and
    privacy costs next to nothing at such T); a linear program over the laws of the transcript. Losses (0, 1) and (1, 0)
    suffice: others the learner rounds, D_t to 1 or -1 at random with mean D_t. That keeps privacy, and the regret for
    the given losses is at most the expected regret for the rounded ones, since the minimum over experts is concave. The
    first action sees no loss: averaging over it loses nothing, and exchanging the experts makes it a fair coin. So the
    variables are the laws of ``a_2..a_T`` for the ``2^(T-1)`` sequences ``l_1..l_{T-1}``. Constraints: the law of
    ``a_2..a_t`` depends on ``l_1..l_{t-1}`` only; laws of neighbours are within ``e^epsilon``; the regret of each of
    the ``2^T`` sequences is at most z, which is minimised.
    """
    epsilon = _checks.real("epsilon", epsilon, above=0.0, at_most=20.0)
    n = _checks.integer("horizon", horizon, at_least=1, at_most=7) - 1
    if n == 0:
        return 0.5
    words = 1 << n  # sequences and transcripts are n-bit words, the first round in the highest bit
    z = words * words

    def variable(sequence, transcript):
        return sequence * words + transcript

    bits = (np.arange(words)[:, None] >> np.arange(n - 1, -1, -1)) & 1
    everything = np.arange(words)
    upper, upper_bound, equal, equal_bound = [], [], [], []
    for sequence in range(words):
        equal.append((variable(sequence, everything), np.ones(words)))
        equal_bound.append(1.0)
        for t in range(1, n):  # the first t actions see the first t losses: bits after them do not matter
            reference = sequence | (words >> t) - 1
            if reference != sequence:
                for prefix in range(1 << t):
                    block = everything[prefix * (words >> t) : (prefix + 1) * (words >> t)]
                    columns = np.r_[variable(sequence, block), variable(reference, block)]
                    equal.append((columns, np.repeat([1.0, -1.0], len(block))))
                    equal_bound.append(0.0)
        for i in range(n):
            for transcript in range(words):
                columns = np.array([variable(sequence, transcript), variable(sequence ^ (1 << i), transcript)])
                upper.append((columns, np.array([1.0, -np.exp(epsilon)])))
                upper_bound.append(0.0)
        for last in (0, 1):
            # bit 1: expert 1 loses; the action of round t + 1 is bit t of the transcript
            lost = np.r_[bits[sequence], last]
            costs = (bits == lost[1:]).sum(axis=1)
            best = min(lost.sum(), n + 1 - lost.sum())
            upper.append((np.r_[variable(sequence, everything), z], np.r_[costs, -1.0]))
            upper_bound.append(best - 0.5)
    solution = linprog(
        np.r_[np.zeros(z), 1.0],
        A_ub=_matrix(upper, z + 1),
        b_ub=upper_bound,
        A_eq=_matrix(equal, z + 1),
        b_eq=equal_bound,
        bounds=[(0, None)] * z + [(None, None)],
        method="highs",
    )
    if not solution.success:
        raise RuntimeError(f"the linear program was not solved: {solution.message}")
    return float(solution.fun)


def _matrix(rows: list[tuple[np.ndarray, np.ndarray]], width: int) -> coo_array:
    index = np.repeat(np.arange(len(rows)), [len(columns) for columns, _ in rows])
    columns, values = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    return coo_array((values, (index, columns)), shape=(len(rows), width)).tocsr()
