r"""Excess risk and sample sizes of private empirical risk minimisation over K hypotheses.

The text's theorem: with probability at least ``1 - beta`` the excess risk is at most ``2 a + t``, where

    ``a = sqrt((ln K + ln(4/beta)) / (2 n))`` (uniform deviation), ``t = 2 (ln K + ln(2/beta)) / (eps n)`` (selection).
"""

from __future__ import annotations

import math
from functools import partial

from dpregret import _checks
from dpregret._search import smallest

VERSIONS = ("printed", "sharper")


def excess_risk_terms(
    *, n_hypotheses: int, n: int, epsilon: float, beta: float, version: str = "printed", score: str = "rate"
) -> dict[str, float]:
    """The terms of the excess-risk bound at n records (n public): ``deviation``, ``comparator``, ``selection``.

    printed: ``a``, ``a``, ``t``. sharper: the comparator is one fixed best hypothesis, so that Hoeffding's inequality
    needs no union bound: ``sqrt(ln(4/beta) / (2 n))`` (a one-sided bound for K hypotheses at beta/4, one for the best
    at beta/4). ``score="count"`` halves ``t``. One hypothesis: all terms 0, its excess is 0.
    """
    k, records = _checks.integer("n_hypotheses", n_hypotheses, at_least=1), _checks.real("n", n, at_least=1)
    epsilon, beta = _checks.epsilon(epsilon), _checks.delta(beta, "beta")
    version = _checks.choice("version", version, VERSIONS)
    rate = 2.0 if _checks.choice("score", score, ("rate", "count")) == "rate" else 1.0
    if k == 1:
        return {"deviation": 0.0, "comparator": 0.0, "selection": 0.0}
    a = math.sqrt((math.log(k) + math.log(4 / beta)) / (2 * records))
    return {
        "deviation": a,
        "comparator": a if version == "printed" else math.sqrt(math.log(4 / beta) / (2 * records)),
        "selection": rate * (math.log(k) + math.log(2 / beta)) / (epsilon * records),
    }


def excess_risk_bound(
    *, n_hypotheses: int, n: int, epsilon: float, beta: float, version: str = "printed", score: str = "rate"
) -> float:
    """The bound on the excess risk that holds with probability ``1 - beta``: the sum of `excess_risk_terms`."""
    return sum(
        excess_risk_terms(
            n_hypotheses=n_hypotheses, n=n, epsilon=epsilon, beta=beta, version=version, score=score
        ).values()
    )


def sample_size(
    *,
    n_hypotheses: int,
    alpha: float,
    beta: float,
    epsilon: float,
    rule: str = "text",
    version: str = "printed",
    score: str = "rate",
) -> int:
    """Records that suffice for excess risk at most ``alpha`` with probability ``1 - beta``.

    text: the smallest integer ``n >= 24 (ln K + ln(1/beta)) max(1/alpha^2, 1/(eps alpha))``.
    constant: the same with `rule_constant` in place of 24.
    inverted: the smallest n with ``excess_risk_bound(...) <= alpha``, for the given ``version`` and ``score``.
    """
    k, alpha = _checks.integer("n_hypotheses", n_hypotheses, at_least=1), _checks.real("alpha", alpha, above=0.0)
    beta, epsilon = _checks.delta(beta, "beta"), _checks.epsilon(epsilon)
    if _checks.choice("rule", rule, ("text", "constant", "inverted")) != "inverted":
        if k == 1:
            return 1
        constant = 24.0 if rule == "text" else rule_constant()
        return math.ceil(constant * (math.log(k) + math.log(1 / beta)) * max(alpha**-2, 1 / (epsilon * alpha)))
    bound = partial(excess_risk_bound, n_hypotheses=k, epsilon=epsilon, beta=beta, version=version, score=score)
    return smallest(lambda n: bound(n=n) <= alpha)


def rule_constant() -> float:
    """The smallest c for which ``n >= c Q max(1/alpha^2, 1/(eps alpha))`` follows from the proof's own inequalities.

    With ``Q + ln 4 <= 3 Q`` and ``Q + ln 2 <= 2 Q`` the bound is at most ``(2 sqrt(3/(2c)) + 4/c) alpha``, and
    ``2 sqrt(3/(2c)) + 4/c = 1`` is a quadratic in ``1/sqrt(c)``: ``c = (sqrt(3/2) + sqrt(11/2))^2 = 12.74...``.
    """
    return (math.sqrt(1.5) + math.sqrt(5.5)) ** 2
