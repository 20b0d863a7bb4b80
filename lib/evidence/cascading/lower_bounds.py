"""Lower bounds on the regret of consistent policies: Theorems 10 and 11 of [Wang2021], and what replaces them.

All are slopes, the limit inferior of regret over log(horizon), on the instance ``B_LB(L, K, p, Delta)`` of
`dpregret.cascading.model.kveton_problem`.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Theorems 10 and 11.
[Kveton2015] Cascading Bandits: Learning to Rank in the Cascade Model.
"""

from __future__ import annotations

import math

from scipy import special

from dpregret import _checks


def kveton_lower_bound(*, n_items: int, list_length: int, p: float, gap: float) -> float:
    """Slope of [Kveton2015] without privacy: ``(L-K) Delta (1-p)^(K-1) / d(p - Delta || p)`` on the instance B_LB."""
    return _instance(n_items, list_length, p, gap) / _kl_below(gap, p, 1 - p)


def ldp_lower_bound(*, n_items: int, list_length: int, p: float, gap: float, epsilon: float) -> float:
    """Slope ``(L-K) Delta (1-p)^(K-1) / d(RR(p - Delta) || RR(p))`` under pure epsilon-LDP, on the instance B_LB.

    ``RR(x)`` is the probability that randomised response reports 1 for a bit of mean x.  For policies consistent on
    every product-Bernoulli instance, ties allowed.  As epsilon grows it tends to `kveton_lower_bound`.
    """
    weight = _instance(n_items, list_length, p, gap)
    keep, flip = special.expit(_checks.epsilon(epsilon)), special.expit(-epsilon)
    step = gap * math.tanh(epsilon / 2)  # not as a difference of probabilities
    return weight / _kl_below(step, p * keep + (1 - p) * flip, p * flip + (1 - p) * keep)


def theorem_10(
    *, n_items: int, list_length: int, p: float, gap: float, epsilon: float, version: str = "printed"
) -> float:
    """Theorem 10 (LDP), a slope: ``(L-K) Delta (1-p)^(K-1) / (2 min(4, e^2eps) (e^eps - 1)^2 D)`` on the instance B_LB.

    printed: ``D = Delta^2/(p(1-p))``, reached through ``d(p || p - Delta) <= D``, which is not always true.
    kl_right: ``D = d(p - Delta || p)``, the divergence that a change of measure gives, which is at most the printed D.
    """
    version = _checks.choice("version", version, ("printed", "kl_right"))
    numerator, epsilon = _instance(n_items, list_length, p, gap), _checks.epsilon(epsilon)
    divergence = gap**2 / (p * (1 - p)) if version == "printed" else _kl_below(gap, p, 1 - p)
    log_channel = min(math.log(4), 2 * epsilon) + 2 * (epsilon + math.log(-math.expm1(-epsilon)))
    return numerator / (2 * divergence) * math.exp(-log_channel)


def theorem_11(
    *, n_items: int, list_length: int, p: float, gap: float, epsilon: float, version: str = "printed"
) -> float:
    """Theorem 11 (central DP), a slope on the instance B_LB: the larger of `kveton_lower_bound` and a private term.

    printed: ``(L-K) (1-p)^(K-1) / (200 epsilon)``, the constant of the proof, which takes it from Claim 14 of Shariff
    and Sheffet (2018) on bandits. The printed sum of the two terms is at most twice their maximum.
    corrected: ``(L-K) (1-p)^(K-1) / (e^2eps - 1)``, for policies whose lists are purely epsilon-DP and that are
    consistent on every product-Bernoulli instance; proved in the book (lower bound under central privacy).
    """
    version = _checks.choice("version", version, ("printed", "corrected"))
    epsilon = _checks.epsilon(epsilon)
    weight = _instance(n_items, list_length, p, gap) / gap
    private = (
        weight / (200 * epsilon)
        if version == "printed"
        else weight * math.exp(-2 * epsilon) / -math.expm1(-2 * epsilon)
    )
    return max(kveton_lower_bound(n_items=n_items, list_length=list_length, p=p, gap=gap), private)


def bernoulli_kl(q: float, r: float) -> float:
    """``d(q || r)`` in nats, for r in (0, 1); accurate when q and r are close."""
    return _kl_below(r - q, r, 1 - r)


def _kl_below(step: float, r: float, miss: float) -> float:
    """``d(r - step || r)`` with ``miss = 1 - r``: both parts are positive."""
    return float(_kl_part(-step / r, r) + _kl_part(step / miss, miss))


def _kl_part(u: float, weight: float) -> float:
    """``weight ((1+u) log(1+u) - u)``; the terms in u cancel in the sum of two parts."""
    if abs(u) < 1e-2:
        return weight * sum((-u) ** k / (k * (k - 1)) for k in range(2, 10))
    return weight * (float(special.xlog1py(1 + u, u)) - u)


def _instance(n_items: int, list_length: int, p: float, gap: float) -> float:
    """``(L-K) Delta (1-p)^(K-1)`` of B_LB(L, K, p, Delta), after checking its parameters."""
    length = _checks.integer("list_length", list_length, at_least=1)
    others = _checks.integer("n_items", n_items, at_least=length) - length
    p = _checks.real("p", p, above=0.0, below=1.0)
    return others * _checks.real("gap", gap, above=0.0, at_most=p) * (1 - p) ** (length - 1)
