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
from dataclasses import dataclass

import numpy as np

from dpregret import _checks
from dpregret.privacy.discrete import ExponentialMechanism, PermuteAndFlip

SCORES = ("rate", "count")
MECHANISMS = ("exponential", "permute_and_flip")


@dataclass(frozen=True, kw_only=True)
class Selector:
    """The private choice: its law, its draw, and the privacy of that draw.

    Parameters
    ----------
    epsilon : float
        Privacy parameter > 0.
    n_min : int or None
        Public lower bound on the number of records, for the rate score only.
    score : "rate" or "count"
    mechanism : "exponential" or "permute_and_flip"

    Raises
    ------
    ValueError
        For parameters out of range, and for the rate score without ``n_min``.
    """

    epsilon: float
    n_min: int | None = None
    score: str = "rate"
    mechanism: str = "exponential"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _checks.epsilon(self.epsilon))
        _checks.choice("score", self.score, SCORES)
        _checks.choice("mechanism", self.mechanism, MECHANISMS)
        if self.n_min is not None:
            object.__setattr__(self, "n_min", _checks.integer("n_min", self.n_min, at_least=1))
        elif self.score == "rate":
            raise ValueError("n_min must be given for the rate score, got None")

    def exponent(self, n_records: int) -> float:
        """What one error costs in the exponent at m records: ``eps n_min / (2 m)`` for rates, ``eps`` for counts.

        The law, the draw and `value_epsilon` all use this number.
        """
        if self.score == "count" or self.n_min is None:  # the rate score has an n_min
            return self.epsilon
        return self.epsilon * (self.n_min / n_records) / 2

    def probabilities(self, errors: np.ndarray, n_records: int) -> np.ndarray:
        """The law of the choice, shape (K,). Permute-and-flip: time and memory grow like K^2."""
        errors, exponent = self._input(errors, n_records)
        if self.mechanism == "exponential":
            return ExponentialMechanism(epsilon=exponent, sensitivity=1.0, monotone=True).probabilities(-errors)
        # coins exp(exponent (least errors - errors))
        return PermuteAndFlip(epsilon=exponent, sensitivity=0.5).probabilities(-errors)

    def sample(self, errors: np.ndarray, n_records: int, rng) -> int:
        """One draw from `probabilities`, in time K: by one choice, or (permute-and-flip) by the noisy maximum."""
        if self.mechanism == "exponential":
            return int(rng.choice(len(errors), p=self.probabilities(errors, n_records)))
        errors, exponent = self._input(errors, n_records)
        return int(np.argmax(exponent * (errors.min() - errors) + rng.standard_exponential(len(errors))))

    def value_epsilon(self, n_hypotheses: int) -> float:
        """The smallest epsilon that holds for every class of K hypotheses on the whole domain: `exact_epsilon`.

        It is computed from `exponent`, with which the draw is made. A given class may have less: see
        `evidence.erm.audit.enumerated_epsilon`.
        """
        return _worst_epsilon(self, n_hypotheses, self.n_min or 1)

    def effective_epsilon(self, n_hypotheses: int) -> float:
        """The privacy of all that leaves, for all neighbours: the choice is all, so it is `value_epsilon`."""
        return self.value_epsilon(n_hypotheses)

    def _input(self, errors: np.ndarray, n_records: int) -> tuple[np.ndarray, float]:
        n_records = _checks.integer("n_records", n_records, at_least=0)
        errors = _checks.array("errors", errors, ndim=1, at_least=0, at_most=n_records)
        if errors.size == 0:
            raise ValueError("errors must have at least one hypothesis, got none")
        if self.score == "rate" and self.n_min is not None and n_records < self.n_min:
            raise ValueError(f"n_records must be >= n_min = {self.n_min} for the rate score, got {n_records}")
        return errors, max(self.exponent(n_records), 5e-324)


def selection_probabilities(
    errors: np.ndarray,
    *,
    n_records: int,
    epsilon: float,
    n_min: int | None = None,
    score: str = "rate",
    mechanism: str = "exponential",
) -> np.ndarray:
    """The law of the chosen hypothesis, shape (K,): `Selector.probabilities`.

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
    return Selector(epsilon=epsilon, n_min=n_min, score=score, mechanism=mechanism).probabilities(errors, n_records)


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

    It is an upper bound for each single class, and attained by the worst one.

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
    if score == "rate" and n_hypotheses > 1 and n is None:
        raise ValueError("n must be given for the rate score, got None")
    n = 1 if n is None else _checks.integer("n", n, at_least=1)
    selector = Selector(epsilon=epsilon, n_min=n, score=score, mechanism=mechanism)
    m = n if n_records is None else _checks.integer("n_records", n_records, at_least=1)
    return _worst_epsilon(selector, n_hypotheses, m)


def _worst_epsilon(selector: Selector, n_hypotheses: int, m: int) -> float:
    """`exact_epsilon` between m and m + 1 records, from the exponents that the selector draws with."""
    k = _checks.integer("n_hypotheses", n_hypotheses, at_least=1)
    if k == 1:
        return 0.0
    if selector.score == "count":
        return selector.exponent(1)
    two_r = max(2 * selector.exponent(m + 1), 5e-324)  # an error costs r with m + 1 records, s / m with m
    if selector.mechanism != "exponential":
        return two_r
    s = selector.exponent(m) * m
    if two_r <= 30:  # ln f = ln(1 + (1 - e^{-2r}) / (1/Q + e^{-2r})): all terms positive
        value = math.log1p(-math.expm1(-two_r) / (math.exp(-s) / (k - 1) + math.exp(-two_r)))
    else:
        close = 1.0 if m == 1 else math.exp(-s * ((m - 1) / (m + 1)))  # e^{2r - s}
        value = two_r + math.log1p(math.exp(-s) / (k - 1)) - math.log1p(close / (k - 1))
    return max(min(value, two_r), 5e-324)
