"""Records without which no learner reaches an excess risk: the packing instance, two constants, the best learner."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.special import expit
from scipy.stats import binom

from dpregret import _checks
from dpregret._search import smallest

NEIGHBOURS = ("replace", "add or remove")


def packing_failure(*, n_hypotheses: int, n: int, q: float, epsilon: float) -> float:
    """``E[(K - 1) / (K - 1 + e^{eps N})]``, N ~ Bin(n, q): the least failure probability on the packing instance.

    Distribution i emits ``(x_i, 1)`` with probability q, else a record on which all hypotheses ``1{x = x_j}`` agree; to
    fail is to have excess risk q. For replace-one neighbours the bound holds at ``epsilon`` for every epsilon-private
    learner whose output is one of the K hypotheses; for add/remove neighbours at ``2 epsilon``, since a replacement is
    two steps. The mechanism of the text itself attains the expression at ``epsilon / 2`` (public n), the count score
    at ``epsilon``.
    """
    k, n = _checks.integer("n_hypotheses", n_hypotheses, at_least=1), _checks.integer("n", n, at_least=0)
    q, epsilon = _checks.real("q", q, at_least=0.0, at_most=1.0), _checks.epsilon(epsilon)
    if k == 1:
        return 0.0
    informative = np.arange(n + 1)
    return float(binom.pmf(informative, n, q) @ expit(math.log(k - 1) - epsilon * informative))


def packing_sample_size(*, n_hypotheses: int, alpha: float, beta: float, epsilon: float) -> int:
    """The smallest n with ``packing_failure <= beta`` at q = alpha: fewer records cannot give excess below alpha."""
    alpha = _checks.real("alpha", alpha, above=0.0, at_most=1.0)
    beta = _checks.delta(beta, "beta")
    failure = partial(packing_failure, n_hypotheses=n_hypotheses, q=alpha, epsilon=epsilon)
    return smallest(lambda n: failure(n=n) <= beta)


def packing_closed_form(*, n_hypotheses: int, q: float, beta: float, epsilon: float) -> float:
    """``(1 - beta) / (eps q) ln((K - 1)(1 - beta) / beta)``, at most `packing_sample_size`; 0 if negative."""
    k, q = _checks.integer("n_hypotheses", n_hypotheses, at_least=1), _checks.real("q", q, above=0.0, at_most=1.0)
    beta, epsilon = _checks.delta(beta, "beta"), _checks.epsilon(epsilon)
    odds = (k - 1) * (1 - beta) / beta
    return max(0.0, (1 - beta) / (epsilon * q) * math.log(odds)) if odds > 0 else 0.0


def two_constants_sample_size(*, alpha: float, beta: float) -> int:
    """The smallest n at which the majority is right with probability 1 - beta, labels Bernoulli((1 - alpha)/2).

    Two constant classifiers; a wrong choice has excess risk alpha. By Neyman and Pearson no learner does better.
    """
    alpha = _checks.real("alpha", alpha, above=0.0, at_most=1.0)
    beta = _checks.delta(beta, "beta")
    p = (1 - alpha) / 2

    def failure(n: int) -> float:
        return binom.sf(n // 2, n, p) + (0.5 * binom.pmf(n // 2, n, p) if n % 2 == 0 else 0.0)

    return 2 * smallest(lambda j: failure(2 * j - 1) <= beta) - 1  # an even n is no better than n - 1


def databases(n: int, k: int) -> list[tuple[int, ...]]:
    """All databases of n records of the packing instance up to order: numbers of (x_0, 0), (x_1, 1), ..., (x_k, 1)."""
    draws = itertools.combinations_with_replacement(range(k + 1), n)
    return [tuple(np.bincount(draw, minlength=k + 1)) for draw in draws]


def _neighbours(n: int, k: int, neighbours: str) -> tuple[list[tuple], list[tuple]]:
    """The databases that a learner is asked about, and all ordered pairs of neighbours among them."""
    small, large = databases(n, k), databases(n + 1, k)
    added = [(d, tuple(c + (i == record) for i, c in enumerate(d))) for d in small for record in range(k + 1)]
    if neighbours == "add or remove":
        return small + large, sorted({pair for d, larger in added for pair in ((d, larger), (larger, d))})
    below: dict[tuple, list[tuple]] = {}
    for d, larger in added:
        below.setdefault(larger, []).append(d)
    return small, sorted({(d, e) for group in below.values() for d in group for e in group if d != e})


def best_failure(*, n_hypotheses: int, n: int, q: float, epsilon: float, neighbours: str) -> float:
    """The least ``max_i P_i(H != h_i)`` over private proper learners on the packing instance, by a linear program.

    The variables are ``p(h | database)``, database by database, and last the largest failure. ``neighbours`` is
    "replace" or "add or remove"; the latter has the databases of n and n + 1 records. Accurate to about 1e-7.
    """
    k, n = _checks.integer("n_hypotheses", n_hypotheses, at_least=1), _checks.integer("n", n, at_least=1)
    q, epsilon = _checks.real("q", q, at_least=0.0, at_most=1.0), _checks.epsilon(epsilon)
    asked, pairs = _neighbours(n, k, _checks.choice("neighbours", neighbours, NEIGHBOURS))
    index = {database: i for i, database in enumerate(asked)}
    size, first = len(index) * k, len(pairs) * k
    entries = []  # of the inequalities: (row, column, value)
    for row, ((d, e), h) in enumerate(itertools.product(pairs, range(k))):  # p(h | d) <= e^eps p(h | e)
        entries += [(row, index[d] * k + h, 1.0), (row, index[e] * k + h, -math.exp(epsilon))]
    for i in range(k):  # 1 - P_i(H = h_i) <= the last variable
        for informative in range(n + 1):
            d = [n - informative] + [0] * k
            d[i + 1] = informative
            entries.append((first + i, index[tuple(d)] * k + i, -binom.pmf(informative, n, q)))
        entries.append((first + i, size, -1.0))
    rows, columns, values = zip(*entries, strict=True)
    total = coo_array((np.ones(size), (np.repeat(np.arange(len(index)), k), np.arange(size))), (len(index), size + 1))
    solution = linprog(
        np.r_[np.zeros(size), 1.0],
        A_ub=coo_array((values, (rows, columns)), (first + k, size + 1)),
        b_ub=np.r_[np.zeros(first), np.full(k, -1.0)],
        A_eq=total,
        b_eq=np.ones(len(index)),
        bounds=(0, None),
        method="highs",
    )
    return float(solution.fun)
