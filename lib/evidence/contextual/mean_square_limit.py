"""The limit of the mean-square error: what ``notebooks/contextual/mean_square_limit`` computes, and its cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evidence.contextual import lower_bounds

VERSIONS = ("paper", "corrected", "sharp")


class Risks(NamedTuple):
    """Arrays over the numbers of users, all times sqrt(n) (e^alpha - 1): the exact Bayes risk at the paper's c under
    randomized response, and the three proved bounds."""

    risk: np.ndarray
    paper: np.ndarray
    corrected: np.ndarray
    sharp: np.ndarray


def scaled_risks(alpha: float, sizes: np.ndarray) -> Risks:
    """Risk and bounds of Theorem 2.1 at each number of users."""
    factor = np.sqrt(sizes) * np.expm1(alpha)
    risk = [lower_bounds.randomized_response_risk(n=int(n), alpha=alpha) for n in sizes]
    proved = (
        [lower_bounds.mean_square_bound(n=float(n), alpha=alpha, version=version) for n in sizes]
        for version in VERSIONS
    )
    return Risks(*(factor * np.array(values) for values in (risk, *proved)))


def worst_pair_risks(alpha: float, sizes: np.ndarray) -> np.ndarray:
    """The largest Bayes risk over 30 values of c, times sqrt(n) (e^alpha - 1), at each number of users."""
    cs = np.geomspace(0.5, 5, 30) / np.expm1(alpha)
    worst = [max(lower_bounds.randomized_response_risk(n=int(n), alpha=alpha, c=c) for c in cs) for n in sizes]
    return np.sqrt(sizes) * np.expm1(alpha) * np.array(worst)


class Channels(NamedTuple):
    """Divergences of one message over q^2 as q -> 0, arrays over alpha: of one bit, of the best channel in closed form
    and by a linear program at q = 1e-6, and the bound of the proof."""

    alpha: np.ndarray
    bit: np.ndarray
    best: np.ndarray
    program: np.ndarray
    proof: np.ndarray


def channels(alphas: Sequence[float]) -> Channels:
    """The divergences at each alpha."""
    grid = np.asarray(alphas, dtype=float)
    return Channels(
        grid,
        np.expm1(grid) ** 2 / np.exp(grid),
        np.array([lower_bounds.channel_divergence(a) for a in grid]),
        np.array([lower_bounds.channel_divergence_lp(a, 1e-6) for a in grid]),
        lower_bounds.proof_divergence(grid),
    )


class RareDirection(NamedTuple):
    """Errors against the probability q of the second direction, arrays over q: worst error of the estimate 0 and of the
    shrunken mean, the bound on the latter, the Bayes risk of the pair under one bit, and what no protocol can beat."""

    q: np.ndarray
    zero: np.ndarray
    shrunk: np.ndarray
    shrunk_bound: np.ndarray
    pair: np.ndarray
    every: np.ndarray


def shrunken_mean_error(q, theta: float, *, n: int, alpha: float):
    """Mean-square error of the mean of n bits times ``t q/(t^2 q^2 + 1/n)``, t = tanh(alpha/2), by its two moments."""
    t = np.tanh(alpha / 2)
    constant = t * q / (t**2 * q**2 + 1 / n)
    bias = constant * t * q * theta - theta
    return q * (constant**2 * (1 - (t * q * theta) ** 2) / n + bias**2)


def rare_direction(q: np.ndarray, *, n: int, alpha: float) -> RareDirection:
    """Both sides of the error at each q, n <= 1e9 users."""
    worst = [max(shrunken_mean_error(x, theta, n=n, alpha=alpha) for theta in np.linspace(-1, 1, 41)) for x in q]
    pair = [lower_bounds.randomized_response_risk(n=n, alpha=alpha, c=x * np.sqrt(n)) for x in q]
    every = np.maximum(0, lower_bounds.rare_direction_bound(q, n=n, alpha=alpha))
    bound = q / (1 + n * np.tanh(alpha / 2) ** 2 * q**2)
    return RareDirection(q, q, np.array(worst), bound, np.array(pair), every)


class Measured(NamedTuple):
    """Worst mean over the shares of the rare direction, and its standard error, arrays over the numbers of users."""

    mean: np.ndarray
    se: np.ndarray


def worst_share(errors: np.ndarray) -> Measured:
    """From errors (users, shares, repetitions)."""
    mean, se = errors.mean(axis=2), errors.std(axis=2, ddof=1) / np.sqrt(errors.shape[2])
    at = np.arange(len(mean)), mean.argmax(axis=1)
    return Measured(mean[at], se[at])


def private_action_regret(alpha: float, grid: int = 2001) -> float:
    """The least regret of a round, two contexts and two actions, if the action is alpha-LDP in the context."""
    plus = np.linspace(0, 1, grid)  # P(right action | context +)
    wrong = np.maximum(np.exp(-alpha) * plus, 1 - np.exp(alpha) * (1 - plus))  # the least P(action + | context -)
    return float(((1 - plus) + wrong).min() / 2)


def cauchy_schwarz_gap(weights: np.ndarray, errors: np.ndarray) -> float:
    """Least ``sqrt(mean(1/w) mean(w e^2)) - mean(e)`` over laws (laws, points): at least 0."""
    return float((np.sqrt((1 / weights).mean(1) * (weights * errors**2).mean(1)) - errors.mean(1)).min())


class Orders(NamedTuple):
    """Both errors on the laws of Theorem 2.1 times sqrt(n), arrays over n: lower ends of each, and the upper one."""

    mean_square: np.ndarray
    absolute: np.ndarray
    upper: np.ndarray


def orders(n: np.ndarray, alpha: float) -> Orders:
    """With the probability ``p = min(1, 1/(sqrt(2 n) (e^alpha - 1)))`` of the corrected theorem: p/8, p/4 and p."""
    scaled = np.minimum(1, 1 / (np.sqrt(2 * n) * np.expm1(alpha))) * np.sqrt(n)
    return Orders(scaled / 8, scaled / 4, scaled)


class StatisticsErrors(NamedTuple):
    """sqrt(n) times the error of perturbed statistics, arrays over dimensions: by moments, and the simple bound."""

    moments: np.ndarray
    simple: np.ndarray


def statistics_errors(dimensions: np.ndarray, alpha: float) -> StatisticsErrors:
    """By moments ``2 (sqrt(1 + 2 b^2 d^2) + 2 sqrt(1 + 2 b^2 d))``, b = (sqrt(d) + 1)^2/alpha; simple ``3 alpha b^2``.

    The simple bound is ``3 (sqrt(d) + 1)^4 / alpha``.
    """
    d = np.asarray(dimensions)
    b = (np.sqrt(d) + 1) ** 2 / alpha
    moments = 2 * (np.sqrt(1 + 2 * b**2 * d**2) + 2 * np.sqrt(1 + 2 * b**2 * d))
    return StatisticsErrors(moments, 3 * (np.sqrt(d) + 1) ** 4 / alpha)
