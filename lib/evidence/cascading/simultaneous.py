"""How often some mean of s <= n Gaussians leaves its interval: what a bound at a random count needs (Theorem 9)."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfc

from dpregret import _checks


def simultaneous_tail(width: float, *, n: int, nodes: int = 0) -> float:
    r"""Exact :math:`P(\max_{s\le n}|X_1+\dots+X_s|/\sqrt s>c)` for independent standard normal X and c = ``width``.

    A recursion over s on the density of the sum restricted to paths that have stayed inside, by Gauss-Legendre
    quadrature on [0, c sqrt(s)] (the density is even). The probabilities of leaving at s are summed, so that small
    results keep their relative accuracy. The integrands are entire and vary on the scale 1, so the error decays
    faster than geometrically in ``nodes``; the default gives about 10 digits.

    Parameters
    ----------
    width : float
        c > 0; at s = 1 alone the probability is ``erfc(c / sqrt 2)``, and so it is at every single s.
    n : int
        Largest count.
    nodes : int, optional
        Nodes of the quadrature; ``1.5 c sqrt(n) + 40`` by default.
    """
    width, n = _checks.real("width", width, above=0.0), _checks.integer("n", n, at_least=1)
    nodes = _checks.integer("nodes", nodes, at_least=0) or math.ceil(1.5 * width * math.sqrt(n)) + 40
    unit, weight = np.polynomial.legendre.leggauss(nodes)
    unit, weight = (unit + 1) / 2, weight / 2

    def kernel(y):
        return np.exp(-(y**2) / 2) / math.sqrt(2 * math.pi)

    tail = math.erfc(width / math.sqrt(2))
    x, mass = width * unit, 2 * width * weight * kernel(width * unit)  # of the sum's absolute value
    for s in range(2, n + 1):
        limit = width * math.sqrt(s)
        leaves = (erfc((limit - x) / math.sqrt(2)) + erfc((limit + x) / math.sqrt(2))) / 2
        tail += float(mass @ leaves)
        y = limit * unit
        mass = limit * weight * ((kernel(y[:, None] - x) + kernel(y[:, None] + x)) @ mass)
        x = y
    return tail
