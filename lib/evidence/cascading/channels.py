"""What a locally private channel can tell of one item: a linear program over all channels, against randomised response.

A channel is a matrix of probabilities (input, message). For one message its column lies in the cone ``x_i <= e^eps
x_j``, whose extreme rays have entries 1 and e^eps only; the divergence is convex and homogeneous in the column.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from scipy import optimize, special

from evidence.cascading.lower_bounds import bernoulli_kl


def best_channel(law: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    """Largest divergence in nats of the message over all pure epsilon-LDP channels, for two laws of the input."""
    rays = np.array(list(itertools.product((1.0, np.exp(epsilon)), repeat=law.size)))
    a, b = rays @ law, rays @ other
    found = optimize.linprog(-a * np.log(a / b), A_eq=rays.T, b_eq=np.ones(law.size), method="highs-ds")
    return -found.fun


def input_law(means: Sequence[float], *, clicks: bool) -> np.ndarray:
    """The law of a user's input for a list with these means: of all 2^K weights, or of the click (K + 1 outcomes)."""
    means = np.asarray(means, dtype=float)
    weights = np.array(list(itertools.product((0, 1), repeat=means.size)))
    law = np.prod(np.where(weights == 1, means, 1 - means), axis=1)
    if not clicks:
        return law
    click = np.where(weights.any(axis=1), weights.argmax(axis=1), means.size)  # means.size for none
    return np.bincount(click, law, minlength=means.size + 1)


def response_divergence(low: float, high: float, epsilon: float) -> float:
    """Divergence of a randomised response to a bit of mean ``low`` from one to a bit of mean ``high``."""
    report_one = [x * special.expit(epsilon) + (1 - x) * special.expit(-epsilon) for x in (low, high)]
    return bernoulli_kl(*report_one)


def advantage(means: Sequence[float], position: int, *, low: float, high: float, epsilon: float, clicks: bool) -> float:
    """What the best channel tells of the item at ``position``, over what a randomised response to it tells.

    The item has mean ``low`` or ``high``, the others those in ``means``; ``clicks`` as for `input_law`.
    """
    laws = []
    for mean in (low, high):
        changed = list(means)
        changed[position] = mean
        laws.append(input_law(changed, clicks=clicks))
    return best_channel(*laws, epsilon) / response_divergence(low, high, epsilon)
