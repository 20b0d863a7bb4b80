r"""Private choice of one of K hypotheses by their numbers of errors: the text's mechanism and its relatives.

Neighbours: one record added or removed. With err the number of errors and m the number of records,

- score ``rate``: weights ``exp(-eps n_min err / (2 m))`` (the text's), eps-private on databases of ``m >= n_min``
  records, where a rate moves by at most ``1 / (m + 1)`` between m and m + 1 records;
- score ``count``: weights ``exp(-eps err)``, eps-private on all databases: a record moves all counts in one direction,
  by at most 1, so neither the factor 2 nor n_min is needed.

``permute_and_flip`` uses the same exponents. It chooses r if ``score_r + Exp(1)`` is largest; given the other noises, r
wins with probability ``min(1, exp(score_r - M))``, M their maximum, and ``score_r - M`` moves by at most eps in both
cases: twice eps/2 for rates; for counts, of which both terms move in one direction by at most eps, by eps.
"""

from __future__ import annotations

import math

import numpy as np

from dpregret import _checks
from dpregret.privacy.discrete import ExponentialMechanism, PermuteAndFlip

SCORES = ("rate", "count")
MECHANISMS = ("exponential", "permute_and_flip")


def selection_probabilities(
    errors: np.ndarray,
    *,
    n_records: int,
    epsilon: float,
    n_min: int | None = None,
    score: str = "rate",
    mechanism: str = "exponential",
) -> np.ndarray:
    """The law of the chosen hypothesis, shape (K,).

    Parameters
    ----------
    errors : array (K,)
        Numbers of errors, 0..n_records.
    n_records : int
        m, the size of the database.
    n_min : int
        Public lower bound on m; needed for the rate score only.

    Raises
    ------
    ValueError
        For no hypothesis, and for ``n_records < n_min`` with the rate score, where the law is not epsilon-private.
    """
    n_records = _checks.integer("n_records", n_records, at_least=0)
    errors = _checks.array("errors", errors, ndim=1, at_least=0, at_most=n_records)
    if errors.size == 0:
        raise ValueError("errors must have at least one hypothesis, got none")
    law, scores = _mechanism(errors, n_records, epsilon, n_min, score, mechanism)
    return law.probabilities(scores)


def select(errors: np.ndarray, rng: np.random.Generator, **options) -> int:
    """One draw from `selection_probabilities`, which takes the same options."""
    return int(rng.choice(len(errors), p=selection_probabilities(errors, **options)))


def _mechanism(errors, n_records, epsilon, n_min, score, mechanism):
    epsilon = _checks.epsilon(epsilon)
    exponential = _checks.choice("mechanism", mechanism, MECHANISMS) == "exponential"
    if _checks.choice("score", score, SCORES) == "count":
        # coins exp(eps (score - best)): PermuteAndFlip halves its epsilon
        law = (
            ExponentialMechanism(epsilon=epsilon, sensitivity=1.0, monotone=True)
            if exponential
            else PermuteAndFlip(epsilon=2 * epsilon, sensitivity=1.0)
        )
        return law, -errors
    n_min = _checks.integer("n_min", n_min, at_least=1) if n_min is not None else None
    if n_min is None:
        raise ValueError("n_min must be given for the rate score, got None")
    if n_records < n_min:
        raise ValueError(f"n_records must be >= n_min = {n_min} for the rate score, got {n_records}")
    kind = ExponentialMechanism if exponential else PermuteAndFlip
    return kind(epsilon=epsilon, sensitivity=1 / n_min), -errors / n_records


def exact_epsilon(
    *,
    n_hypotheses: int,
    epsilon: float,
    n: int | None = None,
    n_records: int | None = None,
    score: str = "rate",
    mechanism: str = "exponential",
) -> float:
    r"""The smallest epsilon that holds for every class of K hypotheses and all neighbours in the domain.

    rate, exponential: with ``s = eps n / 2``, ``r = s / (m + 1)`` between m and m + 1 records and
    ``Q = (K - 1) e^s``, it is ``ln f(Q, 2 r)``, ``f(Q, v) = (1 + Q) / (1 + Q e^-v)``, which equals
    ``2 r + ln[(e^-s + K - 1) / (e^{2r - s} + K - 1)]``.

    Proof. A record with losses q multiplies the weights by ``exp(r (L_h - q_h))``. Adding it, the likelihood ratio at h
    is the inverse of ``F = E_p e^{r (L_g - q_g - L_h + q_h)}``, p the law before, so ``q_h = 0`` and ``q_g = 1`` for
    g != h. Then with ``c = e^{-r (1 + L_h)}``, ``F`` is the least value with ``sum_g e^{-s L_g} (c e^{r L_g} - F) +
    e^{-s L_h} (1 - F) = 0``; each summand is at least ``c - F <= 0``, its value at ``L_g = 0``. What remains,
    ``F = c + (1 - c) p_h``, falls with L_h, so ``L_h = 1``. Removing it, the ratio is ``E_p e^{r (L_g - q_g - L_h +
    q_h)}`` with ``q_h = 1``, ``q_g = 0``; its maximum has one value for all L_g, and with ``d = L_g - L_h`` it is
    ``f((K - 1) e^{r (1 + d) - s d}, r (1 + d))``, no more since f rises in both arguments and r <= s. The first case is
    attained for every m and falls with m, so the domain ``m >= n`` gives m = n. ``n_records`` asks for another m, as
    if the domain had no lower end.

    count: epsilon itself for K >= 2, as a supremum over databases. Permute-and-flip: for K >= 2, epsilon (count) and
    ``2 r`` (rate), attained by two hypotheses. K = 1: 0.
    """
    n_hypotheses = _checks.integer("n_hypotheses", n_hypotheses, at_least=1)
    epsilon = _checks.epsilon(epsilon)
    exponential = _checks.choice("mechanism", mechanism, MECHANISMS) == "exponential"
    if n_hypotheses == 1:
        return 0.0
    if _checks.choice("score", score, SCORES) == "count":
        return epsilon
    n = _checks.integer("n", n, at_least=1) if n is not None else None
    if n is None:
        raise ValueError("n must be given for the rate score, got None")
    m = n if n_records is None else _checks.integer("n_records", n_records, at_least=1)
    s = epsilon * n / 2
    r = s / (m + 1)
    if not exponential:
        return 2 * r
    log_q = math.log(n_hypotheses - 1) + s
    return float(np.logaddexp(0.0, log_q) - np.logaddexp(0.0, log_q - 2 * r))
