"""Mechanisms that release one of finitely many outcomes: randomized response, exponential, permute-and-flip."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpregret import _checks


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse:
    """k-ary randomized response: tell the truth with probability ``e^eps / (e^eps + k - 1)``, else another category.

    The other k - 1 categories are equally likely. Values and reports are the integers 0..k-1.

    References
    ----------
    [Dwork2014], section 3.2, for k = 2.
    """

    epsilon: float
    n_categories: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _checks.epsilon(self.epsilon))
        object.__setattr__(self, "n_categories", _checks.integer("n_categories", self.n_categories, at_least=2))

    @property
    def truth_probability(self) -> float:
        """Probability of the true category, ``e^eps / (e^eps + n_categories - 1)``."""
        return 1 / (1 + (self.n_categories - 1) * math.exp(-self.epsilon))

    @property
    def lie_probability(self) -> float:
        """Probability of each single wrong category."""
        return math.exp(-self.epsilon) * self.truth_probability

    @property
    def contrast(self) -> float:
        """Truth probability minus lie probability, without cancellation at small epsilon."""
        return -math.expm1(-self.epsilon) * self.truth_probability

    def transition_matrix(self) -> np.ndarray:
        """Matrix (value, report) of probabilities, shape (k, k)."""
        matrix = np.full((self.n_categories, self.n_categories), self.lie_probability)
        np.fill_diagonal(matrix, self.truth_probability)
        return matrix

    def privatize(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Reports for an integer array of any shape; one uniform a value decides both whether to lie and the lie."""
        values = self._categories("values", values)
        above = rng.random(values.shape) - self.truth_probability
        lie = np.floor(np.maximum(above, 0.0) / max(self.lie_probability, 5e-324))
        step = np.where(above < 0, 0, 1 + np.minimum(lie, self.n_categories - 2)).astype(np.int64)
        return (values + step) % self.n_categories

    def estimate_counts(self, reports: np.ndarray) -> np.ndarray:
        """Unbiased estimates of how many values lie in each category, shape (k,); they sum to the number of reports.

        For one bit (k = 2) that of the report r is ``(r - lie_probability) / contrast``.
        """
        reports = self._categories("reports", reports)
        counts = np.bincount(reports.ravel(), minlength=self.n_categories)
        return (counts - reports.size * self.lie_probability) / self.contrast

    def delta(self, epsilon: float) -> float:
        """The exact profile ``(truth - exp(epsilon) lie)_+``; only the report of the true value can favour it."""
        epsilon = _checks.real("epsilon", epsilon, at_least=0.0)
        return -math.expm1(epsilon - self.epsilon) * self.truth_probability if epsilon < self.epsilon else 0.0

    def _categories(self, name: str, values: np.ndarray) -> np.ndarray:
        values = _checks.array(name, values, at_least=0, at_most=self.n_categories - 1)
        if (values != np.floor(values)).any():
            raise ValueError(f"{name} must be integers, got {float(values[values != np.floor(values)][0])!r}")
        return values.astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanism:
    """Choose outcome r with probability proportional to ``exp(eps score_r / (2 D))``; high scores are good.

    Parameters
    ----------
    epsilon : float
        Privacy parameter. The mechanism is also epsilon-bounded-range (see ``composition.bounded_range``).
    sensitivity : float
        D, the largest change of any score between adjacent inputs.
    monotone : bool
        All scores move in one direction between adjacent inputs; then the factor 2 is not needed and is left out.

    References
    ----------
    [Dwork2014], Theorem 3.10.
    """

    epsilon: float
    sensitivity: float
    monotone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _checks.epsilon(self.epsilon))
        object.__setattr__(self, "sensitivity", _checks.real("sensitivity", self.sensitivity, above=0.0))
        if not isinstance(self.monotone, (bool, np.bool_)):
            raise ValueError(f"monotone must be True or False, got {self.monotone!r}")

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of the outcomes, shape (n,) like ``scores``."""
        weights = np.exp(_exponents(scores, self.epsilon / (1 if self.monotone else 2), self.sensitivity))
        return weights / weights.sum()

    def sample(self, rng: np.random.Generator, scores: np.ndarray, size: int | None = None) -> np.ndarray | int:
        """``size`` independent choices (indices), or one if ``size`` is None."""
        return rng.choice(len(scores), size, p=self.probabilities(scores))

    def delta(self, epsilon: float) -> float:
        """The exact profile ``(1 - e^{(epsilon - eps)/2})^2 / (1 - e^{-eps})``, the maximum over two or more scores.

        Grouping outcomes by their likelihood ratio leaves two of them, with log-ratios t and t - eps (bounded range).
        The divergence of such a pair is largest at t = (epsilon + eps) / 2, and real scores attain it.
        """
        epsilon = _checks.real("epsilon", epsilon, at_least=0.0)
        if epsilon >= self.epsilon:
            return 0.0
        gain = -math.expm1((epsilon - self.epsilon) / 2)
        return gain * (gain / -math.expm1(-self.epsilon))


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip:
    """Visit the outcomes in random order and stop at r with probability ``exp(eps (score_r - best) / (2 D))``.

    Its expected score is never below that of the exponential mechanism with the same epsilon.

    References
    ----------
    McKenna and Sheldon (2020), Permute-and-Flip; Ding et al. (2021) for its form with exponential noise.
    """

    epsilon: float
    sensitivity: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _checks.epsilon(self.epsilon))
        object.__setattr__(self, "sensitivity", _checks.real("sensitivity", self.sensitivity, above=0.0))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Exact probabilities, shape (n,): ``c_r int_0^1 prod_{s != r} (1 - u c_s) du`` with c the coins.

        u is the rank of r as a uniform arrival time. Gauss-Legendre nodes integrate this polynomial of degree n - 1
        exactly; time and memory grow like n^2.
        """
        coins = np.exp(_exponents(scores, self.epsilon / 2, self.sensitivity))
        nodes, weights = np.polynomial.legendre.leggauss(len(coins) // 2 + 1)
        tails = 1 - np.outer(coins, (nodes + 1) / 2)
        return coins * ((np.exp(np.log(tails).sum(axis=0)) / tails) @ (weights / 2))

    def sample(self, rng: np.random.Generator, scores: np.ndarray, size: int | None = None) -> np.ndarray | int:
        """``size`` independent choices (indices), or one if ``size`` is None: the largest score plus Exp(1) noise."""
        exponents = _exponents(scores, self.epsilon / 2, self.sensitivity)
        shape = exponents.shape if size is None else (_checks.integer("size", size, at_least=0), len(exponents))
        winners = np.argmax(exponents + rng.standard_exponential(shape), axis=-1)
        return int(winners) if size is None else winners

    def delta(self, epsilon: float) -> float:
        """The exact profile ``1 - exp((epsilon - eps) / 2)`` below eps: that of the Laplace mechanism.

        For a set of outcomes S let W be the largest noisy exponent in S minus the largest outside. Neighbours move W
        by at most eps. A maximum of shifted Exp(1) variables has hazard rate at most 1, so the density of W is at most
        the smaller of its two tails, and the Laplace law, which two outcomes attain, is the extreme case.
        """
        epsilon = _checks.real("epsilon", epsilon, at_least=0.0)
        return -math.expm1((epsilon - self.epsilon) / 2) if epsilon < self.epsilon else 0.0


def _exponents(scores: np.ndarray, epsilon: float, sensitivity: float) -> np.ndarray:
    """``epsilon (score - best) / sensitivity``, all <= 0; -inf below the range of a double, never nan."""
    scores = _checks.array("scores", scores, ndim=1)
    if scores.size == 0:
        raise ValueError("scores must have at least one entry, got none")
    with np.errstate(over="ignore"):
        gaps, rate = scores - scores.max(), epsilon / sensitivity
        if 0.0 < rate < math.inf:
            return rate * gaps
        return epsilon * (gaps / sensitivity) if rate else np.zeros_like(gaps)
