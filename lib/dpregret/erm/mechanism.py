r"""Private choice of one of K hypotheses by their numbers of errors: the text's exponential mechanism and its relatives.

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
    errors = _checks.array("errors", errors, ndim=1, at_least=0, at_most=_checks.integer("n_records", n_records))
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

    rate, exponential: with ``s = eps n / 2`` and ``r = s / (m + 1)``, between m and m + 1 records,

        ``2 r + ln[(e^-s + K - 1) / (e^{2r - s} + K - 1)]``.

    Proof. A record multiplies the weights by ``exp(r (L_h - q_h))``, q its losses. The log-ratio at h is largest for
    ``q_h = 0`` and other ``q = 1``: ``ln of 1 / (p_h + sum_g p_g e^{-r (L_h - q_h - L_g + q_g)})`` falls with every
    ``L_g`` and rises with ``L_h``, through p as well since ``s > r``; so ``L_h = 1``, ``L_g = 0``. The opposite order
    gives the same number (all labels flipped) times at most one. It falls with m, so the domain ``m >= n`` gives it
    at m = n; ``n_records`` asks for another m, the domain being then left.

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
    rest = math.log(n_hypotheses - 1)
    return 2 * r + float(np.logaddexp(-s, rest) - np.logaddexp(2 * r - s, rest))
