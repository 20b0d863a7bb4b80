"""Exact privacy of a selector or an estimator as it runs: its own draws are recorded, all neighbours are enumerated.

A law is a `Selector`, or any function of (errors, n_records) that gives the probabilities of the K hypotheses. Of an
object with ``sample`` the law is read off that very method, by a generator that notes what is asked of it.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from dpregret import _checks
from dpregret.privacy.audit import exact_epsilon as epsilon_of

Law = Callable[[np.ndarray, int], np.ndarray]
NEIGHBOURS = ("add_remove", "replace")
_ROUNDING = 1e-9  # relative, of a recorded law


@dataclass(frozen=True)
class Enumerated:
    """The largest log-ratio over enumerated neighbours, and the first pair of databases that reaches it.

    ``errors`` with ``n_records`` records against ``other_errors`` with ``other_records``.
    """

    epsilon: float
    errors: tuple[int, ...]
    n_records: int
    other_errors: tuple[int, ...]
    other_records: int

    def word(self, epsilon: float) -> str:
        """Whether the enumerated pairs keep the promise ``epsilon``: "holds" or "fails"."""
        return "holds" if self.epsilon <= epsilon * (1 + _ROUNDING) else "fails"


def enumerated_epsilon(
    law: object,
    *,
    n_hypotheses: int,
    n_records: int | Iterable[int],
    neighbours: str = "add_remove",
    patterns: Sequence[Sequence[int]] | None = None,
) -> Enumerated:
    """Exact epsilon between databases of m and of m + 1 records (or, ``replace``, of m and m), by enumeration.

    Parameters
    ----------
    law : Selector, or function of (errors, n_records)
        Of a selector the law that its ``sample`` draws from (`drawn_law`).
    n_records : int or several
        m; the largest over several.
    patterns : sequence of K losses 0 or 1
        The losses that a record can have. By default all 2^K, the worst class; those of a given class are
        ``np.unique(table, axis=0)`` over the points and labels of the domain.
    """
    k = _checks.integer("n_hypotheses", n_hypotheses, at_least=1)
    _checks.choice("neighbours", neighbours, NEIGHBOURS)
    patterns = itertools.product((0, 1), repeat=k) if patterns is None else patterns
    patterns = sorted({tuple(int(x) for x in pattern) for pattern in patterns})
    function = (lambda errors, m: drawn_law(law, errors, m)) if hasattr(law, "sample") else law

    @cache
    def logs(errors: tuple[int, ...], m: int) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(function(np.array(errors), m), dtype=float))

    best = Enumerated(0.0, (), 0, (), 0)
    for m in [n_records] if np.ndim(n_records) == 0 else n_records:
        m = _checks.integer("n_records", m, at_least=0)
        pairs = _neighbours(k, m, neighbours, patterns)
        for one, (other, size) in pairs:
            found = _log_ratio(logs(one, m), logs(other, size))
            if found > best.epsilon * (1 + _ROUNDING):  # the first of ties
                best = Enumerated(found, one, m, other, size)
    return best


def _neighbours(k, m, neighbours, patterns):
    def reached(records):
        found = {(0,) * k}
        for _ in range(records):
            found = {
                tuple(c + p for c, p in zip(counts, pattern, strict=True)) for counts in found for pattern in patterns
            }
        return sorted(found)

    def plus(counts, pattern):
        return tuple(c + p for c, p in zip(counts, pattern, strict=True))

    if neighbours == "add_remove":
        for counts in reached(m):
            for pattern in patterns:
                yield counts, (plus(counts, pattern), m + 1)
    elif m > 0:
        for rest in reached(m - 1):
            for one, other in itertools.combinations(patterns, 2):
                yield plus(rest, one), (plus(rest, other), m)


def _log_ratio(p: np.ndarray, q: np.ndarray) -> float:
    both = np.isfinite(p) & np.isfinite(q)
    if (np.isfinite(p) != np.isfinite(q)).any():
        return math.inf
    return float(np.abs(p[both] - q[both]).max(initial=0.0))


class Recorder:
    """A generator that notes the law of the one choice asked of it and returns a given outcome.

    It answers ``choice(n, p=...)``, and ``standard_exponential(n)`` with given numbers.
    """

    def __init__(self, outcome: int = 0, noise: np.ndarray | None = None) -> None:
        self.outcome, self.noise = outcome, noise
        self.law: np.ndarray | None = None
        self.calls = 0

    def choice(self, n: int, p: np.ndarray) -> int:
        """Keep the law, give the fixed outcome."""
        self.calls += 1
        self.law = np.array(p, dtype=float)
        return self.outcome

    def standard_exponential(self, n: int) -> np.ndarray:
        """The fixed noise, or so much for the fixed outcome that it wins."""
        self.calls += 1
        if self.noise is not None:
            return np.array(self.noise, dtype=float)
        return np.where(np.arange(n) == self.outcome, 1e300, 0.0)


def drawn_law(selector: object, errors: np.ndarray, n_records: int) -> np.ndarray:
    """The law that ``selector.sample`` draws from: the one given to ``choice``, or that of the noisy maximum.

    Of a noisy maximum the scores are read off the sampler, by bisection for the noise at which the winner changes. A
    sampler that asks the generator for nothing has the law of its constant answer.
    """
    errors = np.asarray(errors)
    return _recorded(lambda generator: selector.sample(errors, n_records, generator), len(errors))


def _recorded(draw: Callable[[Recorder], int], k: int) -> np.ndarray:
    recorder = Recorder()
    outcome = draw(recorder)
    if recorder.law is not None:
        return recorder.law
    if recorder.calls == 0:
        return np.eye(k)[outcome]
    gaps = np.array([_gap(draw, k, j) for j in range(k)])
    return noisy_maximum_law(gaps - gaps.max())


def _gap(draw: Callable[[Recorder], int], k: int, j: int) -> float:
    """score_j - score_0 of a noisy maximum: where the winner of two outcomes with raised noise changes."""
    if j == 0:
        return 0.0

    def wins(gap: float) -> bool:  # whether 0 wins with its noise raised by gap
        noise = np.full(k, -1e6)
        noise[0], noise[j] = max(gap, 0.0), max(-gap, 0.0)
        return draw(Recorder(noise=noise)) == 0

    low, high = -1e4, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if wins(middle) else (middle, high)
    return high


def noisy_maximum_law(scores: np.ndarray) -> np.ndarray:
    """The law of ``argmax(scores_r + Exp(1))``, shape (K,), for a few outcomes: an alternating sum over subsets.

    With coins ``c_r = exp(score_r - largest)`` it is ``sum over S without r of (-1)^|S| c_r prod_S c / (|S| + 1)``.
    """
    coins = np.exp(np.asarray(scores, dtype=float) - np.max(scores))
    k = len(coins)
    if k > 16:
        raise ValueError(f"scores must have at most 16 entries here, got {k}")
    law = np.zeros(k)
    for r in range(k):
        polynomial = np.ones(1)  # coefficients of prod_{s != r} (1 - u c_s)
        for s in range(k):
            if s != r:
                polynomial = np.convolve(polynomial, [1.0, -coins[s]])
        law[r] = coins[r] * math.fsum(polynomial / np.arange(1, len(polynomial) + 1))
    return law


@dataclass(frozen=True)
class ReleaseAudit:
    """Exact epsilon of what a fit releases, between two databases; ``inf`` if the rest of it tells them apart."""

    epsilon: float
    reason: str

    def word(self, epsilon: float) -> str:
        """Whether the promise ``epsilon`` is kept between the two: "holds" or "fails"."""
        return "holds" if self.epsilon <= epsilon * (1 + _ROUNDING) else "fails"


def release_epsilon(model: object, first: tuple, second: tuple) -> ReleaseAudit:
    """Exact epsilon between ``model.fit(*first)`` and ``model.fit(*second)``, from the draws of ``fit`` itself.

    The law of the choice is recorded while ``fit`` runs, on both. For every outcome both fits are made to choose it,
    and then what is released and the pickle of the fitted estimator must be the same bytes. An exception on one of the
    two alone tells them apart.

    Parameters
    ----------
    model : ExponentialMechanismClassifier
        Not changed: copies are fitted.
    first, second : (X, y)
    """
    fitted = []
    for X, y in (first, second):
        try:
            k = _fit(model, X, y, Recorder()).n_hypotheses_
            law = _recorded(lambda generator, X=X, y=y: _fit(model, X, y, generator).released_.index, k)
        except ValueError as error:
            fitted.append((None, type(error).__name__))
        else:
            fitted.append((law, k))
    (p, k), (q, _) = fitted
    if (p is None) != (q is None):
        return ReleaseAudit(math.inf, "an exception on one of the two")
    if p is None:
        return ReleaseAudit(0.0, "an exception on both")
    for outcome in range(k):
        one, other = (_fit(model, X, y, Recorder(outcome)) for X, y in (first, second))
        if _bytes(one.released_) != _bytes(other.released_):
            return ReleaseAudit(math.inf, "what is released differs at the same choice")
        if _bytes(one) != _bytes(other):
            return ReleaseAudit(math.inf, "the fitted estimators differ at the same choice")
    epsilon = epsilon_of(p, q)
    reason = "the choice" if math.isfinite(epsilon) else "a choice that only one of the two can make"
    return ReleaseAudit(epsilon, reason)


def _fit(model, X, y, generator):
    """A fitted copy; scikit-learn's ``clone`` would copy the generator, and so its notes would be lost."""
    parameters = model.get_params(deep=False) | {"random_state": generator}
    return type(model)(**parameters).fit(X, y)


def _bytes(thing: object) -> bytes:
    """What leaves with a pickle, without functions, which count as public (``lambda`` cannot be pickled)."""
    state = thing.__getstate__() if hasattr(thing, "__getstate__") else vars(thing)
    return pickle.dumps({key: value for key, value in (state or {}).items() if key != "hypotheses"} | _inner(state))


def _inner(state: dict | None) -> dict:
    """Released objects inside a state, by their own fields."""
    found = {}
    for key, value in (state or {}).items():
        if key == "released_":
            found[key] = _bytes(value)
    return found
