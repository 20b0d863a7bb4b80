r"""What single messages cost, exactly: Laplace statistics of [Li2024], all oracles together, and the corrected message.

Laplace noise costs the :math:`L_1` distance of two values over its scale. Maxima over vectors in the unit ball are
taken through their duals, and those are enumerated; costs are in units of alpha, scales in units of 1/alpha.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpregret.privacy.laplace_sums import LaplaceSum
from dpregret.privacy.mechanisms import Laplace, RandomizedResponse


def signs(m: int) -> np.ndarray:
    """All sign vectors of length m: (2^m, m)."""
    return np.array(list(itertools.product((-1.0, 1.0), repeat=m)))


def longest(d: int) -> float:
    """The largest l1 norm on the unit ball: the longest sign vector."""
    return float(np.linalg.norm(signs(d), axis=1).max())


class Sensitivity(NamedTuple):
    """l1 sensitivities: one record added or removed, replaced between two bins, replaced inside one."""

    add: float
    between: float
    inside: float


def triangle_sensitivity(d: int) -> Sensitivity:
    """Those of the upper triangle of v v', ``|v|`` <= 1: eigenvalues of all sign patterns, halved off the diagonal."""
    i, j = np.triu_indices(d)
    patterns = signs(len(i)) * np.where(i == j, 1.0, 0.5)
    matrices = np.zeros((len(patterns), d, d))
    matrices[:, i, j] = matrices[:, j, i] = patterns
    values = np.linalg.eigvalsh(matrices)
    top, bottom = np.maximum(values[:, -1], 0), np.minimum(values[:, 0], 0)
    return Sensitivity(float(top.max()), float(2 * top.max()), float((top - bottom).max()))


def laplace_cost(distance: float, scale: float) -> float:
    """Exact epsilon, in units of alpha, of noise of this scale on values this far apart in L1."""
    return Laplace(scale, distance).epsilon


class Cost(NamedTuple):
    """The exact cost of a statistic: one record added or removed, replaced inside a bin, replaced between two bins."""

    statistic: str
    claimed: str
    add: float
    inside: float
    between: float


def replacement_costs(d: int) -> list[Cost]:
    """Those of the Laplace statistics of Algorithms 3 and 5 in dimension d, in units of alpha."""

    def rewards(bound: int) -> tuple[float, ...]:
        return tuple(laplace_cost(bound * r * longest(d), 3 * math.sqrt(d)) for r in (1, 2, 2))

    line_4 = "$1_B\\, y_h \\phi_h$, line 4, if $\\lvert y_h\\rvert \\le"
    return [
        Cost("$1_B$, line 3", "1/3", laplace_cost(1, 3), 0.0, laplace_cost(2, 3)),
        Cost(f"{line_4} 1$", "1/3", *rewards(1)),
        Cost(f"{line_4} 2$", "1/3", *rewards(2)),
        Cost("Algorithm 5, first layer", "1", 0.0, 0.0, 0.0),  # the width of the parent is 0 there
        Cost("Algorithm 5, later layers", "1", laplace_cost(1, 1), laplace_cost(1, 1), laplace_cost(2, 1)),
    ]


def first_layer_cost(bound: int) -> Fraction:
    """Counts and rewards of Algorithm 3, ``|y_h|`` <= bound, in units of alpha, for a record that moves to another bin.

    A count changes in two bins, each with noise of scale 3; so do sums of y_h v, of l1 norm at most bound sqrt(d), with
    noise of scale 3 sqrt(d). The root cancels.
    """
    return Fraction(2, 3) + Fraction(2 * bound, 3)


INTERVAL_COST = Fraction(2)
"""The same for Algorithm 5 on a layer after the first: the reported width changes by 1 in two bins, with noise 1."""


def log10_noise(users: int, bound: float, alpha: float) -> float:
    """log10 P(noise of the prediction beyond the bound) in a bin of users who are all at e1, d = 2, exact moments."""
    noise = LaplaceSum((3 * math.sqrt(2) / alpha,), (users,))
    return (math.log(2) + noise.log_tail(bound * users)) / math.log(10)


def oracle_reports(played: int, n_actions: int, alpha: float) -> np.ndarray:
    """Law over {0, 1}^A of the reports of all oracles, by randomized response on "is the record empty"."""
    channel = RandomizedResponse(epsilon=alpha).transition_matrix()
    law = np.ones(1)
    for action in range(n_actions):
        law = np.kron(law, channel[int(action == played)])
    return law


def message_law(slot: int, z: float, slots: int, alpha: float) -> np.ndarray:
    """Law over {-1, +1}^slots of a user's corrected message; slot -1 for the empty record, which has no slot."""
    law = np.ones(1)
    for s in range(slots):
        own = math.tanh(alpha / 2) * z if s == slot else 0.0
        law = np.kron(law, [(1 - own) / 2, (1 + own) / 2])
    return law


def message_laws(slots: int, alpha: float, values: Sequence[float] = (-1.0, -0.5, 0.5, 1.0)) -> list[np.ndarray]:
    """Those of all slots and values, and of the empty record."""
    laws = [message_law(s, z, slots, alpha) for s in range(slots) for z in values]
    return [*laws, message_law(-1, 0.0, slots, alpha)]
