"""Laws on which the excess risk of the selector is exact: two constants with noisy labels, and the packing instance."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom

from dpregret.erm import excess_risk_bound
from evidence.erm import lower_bounds

FORMS = {"M3": ("printed", "rate"), "comparator": ("sharper", "rate"), "comparator, count score": ("sharper", "count")}
"""Forms of the bound: version and score."""


def wrong_constant(p: float, n: int, epsilon: float, score: str) -> float:
    """P(the selector takes the worse of the two constants), labels Bernoulli(p), p < 1/2."""
    ones = np.arange(n + 1)
    exponent = epsilon * (n - 2 * ones) * (0.5 if score == "rate" else 1.0)  # in favour of the constant 0
    return float(binom.pmf(ones, n, p) @ expit(-exponent))


def wrong_packing(q: float, n: int, k: int, epsilon: float, score: str) -> float:
    """P(the selector takes a classifier of risk q) on the packing instance of K classifiers."""
    in_force = epsilon / 2 if score == "rate" else epsilon
    return lower_bounds.packing_failure(n_hypotheses=k, n=n, q=q, epsilon=in_force)


def wrong(excess: float, n: int, k: int, epsilon: float, score: str) -> float:
    """Largest probability, over both families, of a wrong choice that costs ``excess``; K even."""
    return max(wrong_constant((1 - excess) / 2, n, epsilon, score), wrong_packing(excess, n, k, epsilon, score))


@functools.cache
def hard_quantile(n: int, k: int, epsilon: float, beta: float) -> float:
    """The largest cost of a wrong choice of probability at least beta, rate score, over both families."""
    gaps = (
        lambda x: wrong_constant((1 - x) / 2, n, epsilon, "rate") - beta,
        lambda x: wrong_packing(x, n, k, epsilon, "rate") - beta,
    )
    return max(1.0 if gap(1.0) > 0 else brentq(gap, 1e-9, 1.0, xtol=1e-12) for gap in gaps)


class Exact(NamedTuple):
    """The failure probabilities of the forms of the bound, and the hard quantile; 0 where a bound is above 1."""

    k: int
    n: int
    epsilon: float
    bound: float  # M3
    hard: float
    failures: dict[str, float]


def exact_failures(ks: Sequence[int], ns: Sequence[int], epsilons: Sequence[float], beta: float) -> list[Exact]:
    """`Exact` for every K, n and epsilon."""
    found = []
    for k in ks:
        for n in ns:
            for eps in epsilons:
                levels = {
                    name: excess_risk_bound(n_hypotheses=k, n=n, epsilon=eps, beta=beta, version=version, score=score)
                    for name, (version, score) in FORMS.items()
                }
                failures = {
                    name: wrong(level, n, k, eps, FORMS[name][1]) if level < 1 else 0.0
                    for name, level in levels.items()
                }
                found.append(Exact(k, n, eps, levels["M3"], hard_quantile(n, k, eps, beta), failures))
    return found


def exact_lines(found: Sequence[Exact]) -> list[str]:
    """A printed table of `exact_failures`."""
    lines = ["   K    n  eps     M3     hard        P, M3   P, sharper     P, count"]
    for case in found:
        shown = [f"{failure:.3e}" if failure else "-" for failure in case.failures.values()]
        columns = "".join(f"{text:>13s}" for text in shown)
        lines.append(f"{case.k:4d}{case.n:5d}{case.epsilon:5.1f}{case.bound:7.3f}{case.hard:9.5f}{columns}")
    return lines


def comparator_tail(ns: Sequence[int], risks: Sequence[float], beta: float) -> float:
    """The largest P(rate of one fixed classifier > its risk + sqrt(ln(4/beta) / (2 n))), a binomial tail."""
    margin = {n: math.sqrt(math.log(4 / beta) / (2 * n)) for n in ns}
    return max(float(binom.sf(np.floor(n * (r + margin[n]) + 1e-9), n, r)) for n in ns for r in risks)


def off(n: int, r: float, a: float) -> float:
    """P(\\|error rate - r\\| > a) of one classifier of risk r on n records."""
    high, low = math.floor(n * (r + a) + 1e-9), math.ceil(n * (r - a) - 1e-9)
    return float(binom.sf(high, n, r) + (binom.cdf(low - 1, n, r) if low > 0 else 0.0))


def deviation(k: int, n: int, beta: float, risks: Sequence[float]) -> float:
    """M8, exactly: P(one of K classifiers with independent errors is off by more than a), at the worst of the risks."""
    a = math.sqrt((math.log(k) + math.log(4 / beta)) / (2 * n))
    return -math.expm1(k * math.log1p(-max(off(n, r, a) for r in risks)))
