"""Audits: what an attacker can certify about a mechanism from its outputs, and exact answers for finite output laws.

A lower bound from counts is certified in the sense of Clopper and Pearson: for every pair of true probabilities it
exceeds the true parameter with probability at most ``1 - confidence``. Events have to be chosen before the runs that
count them; where several are tried on the same runs, ``n_events`` says how many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import betainccinv, betaincinv
from scipy.stats import binom

from dpregret import _checks


def lower_limit(hits, runs, *, confidence: float = 0.95):
    """One-sided Clopper-Pearson lower limit for a probability, from ``hits`` of ``runs``; 0 for no hit."""
    hits, runs = _counts("hits", hits, "runs", runs)
    return _lower(hits, runs, 1 - _confidence(confidence))


def upper_limit(hits, runs, *, confidence: float = 0.95):
    """One-sided Clopper-Pearson upper limit for a probability, from ``hits`` of ``runs``; 1 if every run hits."""
    hits, runs = _counts("hits", hits, "runs", runs)
    return _upper(hits, runs, 1 - _confidence(confidence))


def epsilon_lower_bound(
    hits_p, runs_p, hits_q, runs_q, *, delta: float = 0.0, confidence: float = 0.95, n_events: int = 1
):
    r"""Certified lower bound on the epsilon of two output laws P and Q, from how often one event occurred under each.

    :math:`\max(0, \ln\{(\underline p - \delta) / \overline q\})` with one-sided Clopper-Pearson limits, each at level
    ``(1 - confidence) / (2 n_events)``, so that all ``n_events`` bounds are valid together with probability
    ``confidence``. Finite always: n runs cannot certify more than about ln n.

    Parameters
    ----------
    hits_p, runs_p, hits_q, runs_q : int or array of int
        The event occurred in ``hits_p`` of ``runs_p`` runs under P, likewise under Q. Arrays are broadcast.
    delta : float
        The delta in [0, 1) at which epsilon is asked for.
    n_events : int
        The number of events tried on these runs (Bonferroni); counts of one event in both directions are two.

    Returns
    -------
    float, or array for array counts

    Raises
    ------
    ValueError
        For more hits than runs, no runs, a confidence outside (0, 1), a delta outside [0, 1).
    """
    low, up = _limits(hits_p, runs_p, hits_q, runs_q, confidence, n_events)
    delta = _checks.real("delta", delta, at_least=0.0, below=1.0)
    bound = np.log(np.maximum(low - delta, up) / up)  # up > 0
    return float(bound) if bound.ndim == 0 else bound


def most_certifiable(runs, *, confidence: float = 0.95, n_events: int = 1) -> float:
    """The largest epsilon that `epsilon_lower_bound` can certify: every one of the runs hits under P, none under Q.

    An audit whose claim lies above it has no power against that claim; its bound is no evidence.
    """
    return epsilon_lower_bound(runs, runs, 0, runs, confidence=confidence, n_events=n_events)


def power(p: float, q: float, *, runs: int, epsilon: float, confidence: float = 0.95, n_events: int = 1) -> float:
    """The probability that `epsilon_lower_bound` exceeds ``epsilon`` for an event of probabilities p and q; exact.

    To be known before a test is run: what it would say of a mechanism that breaks its promise. A bound of 0 from a test
    whose power is small says nothing.
    """
    p, q = (_checks.real(name, value, at_least=0.0, at_most=1.0) for name, value in (("p", p), ("q", q)))
    epsilon = _checks.real("epsilon", epsilon, at_least=0.0)
    runs = _checks.integer("runs", runs, at_least=1)
    counts = np.arange(runs + 1)
    level = (1 - _confidence(confidence)) / (2 * _checks.integer("n_events", n_events, at_least=1))
    low, log_up = _lower(counts, runs, level), np.log(_upper(counts, runs, level))
    with np.errstate(divide="ignore"):
        most = np.searchsorted(log_up + epsilon, np.log(low), side="left") - 1  # the most hits under Q that still do
    return float(binom.pmf(counts, runs, p) @ np.where(most >= 0, binom.cdf(most, runs, q), 0.0))


def delta_lower_bound(hits_p, runs_p, hits_q, runs_q, *, epsilon: float, confidence: float = 0.95, n_events: int = 1):
    r"""Certified lower bound on delta at a given epsilon: :math:`\max(0, \underline p - e^\varepsilon \overline q)`.

    Arguments as in `epsilon_lower_bound`. Where a proof says that the event has probability 0 under Q, `lower_limit` of
    the hits under P alone bounds delta for every epsilon.
    """
    low, up = _limits(hits_p, runs_p, hits_q, runs_q, confidence, n_events)
    epsilon = _checks.real("epsilon", epsilon, at_least=0.0)
    bound = np.maximum(0.0, low - np.exp(np.minimum(epsilon + np.log(up), 1.0)))  # low <= 1 < e
    return float(bound) if bound.ndim == 0 else bound


def exact_delta(p, q, epsilon: float) -> float:
    """The smallest delta for which two finite output laws are (epsilon, delta)-indistinguishable, in both orders.

    ``max(sum_i (p_i - e^epsilon q_i)_+, sum_i (q_i - e^epsilon p_i)_+)``.

    Parameters
    ----------
    p, q : array
        Probabilities of the outputs, same shape, each with sum 1.
    epsilon : float
        At least 0; values such as 1000 are fine.
    """
    p, q = _laws(p, q)
    epsilon = _checks.real("epsilon", epsilon, at_least=0.0)
    return max(_hockey_stick(p, q, epsilon), _hockey_stick(q, p, epsilon))


def exact_epsilon(p, q, delta: float = 0.0) -> float:
    """The smallest epsilon >= 0 with ``exact_delta(p, q, epsilon) <= delta``; ``math.inf`` if there is none.

    The worst events are the outputs of largest likelihood ratio: with S and R the sums of p and q over the j first of
    them, epsilon is the largest ``ln((S - delta) / R)`` over j and both orders.
    """
    p, q = _laws(p, q)
    delta = _checks.real("delta", delta, at_least=0.0, below=1.0)
    return max(0.0, _smallest_epsilon(p, q, delta), _smallest_epsilon(q, p, delta))


@dataclass(frozen=True, kw_only=True)
class Audit:
    """How often each event occurred in ``runs`` runs under either law (see `distinguish`)."""

    runs: int
    hits_p: Mapping[str, int]
    hits_q: Mapping[str, int]

    def epsilon(self, event: str, *, delta: float = 0.0, confidence: float = 0.95) -> float:
        """`epsilon_lower_bound` of one event, corrected for all events of the audit."""
        _checks.choice("event", event, self.hits_p)
        return epsilon_lower_bound(
            self.hits_p[event], self.runs, self.hits_q[event], self.runs,
            delta=delta, confidence=confidence, n_events=len(self.hits_p),
        )  # fmt: skip

    def best(self, *, delta: float = 0.0, confidence: float = 0.95) -> tuple[str, float]:
        """The event with the largest certified epsilon, and that epsilon; valid for all events together."""
        bounds = {event: self.epsilon(event, delta=delta, confidence=confidence) for event in self.hits_p}
        event = max(bounds, key=bounds.__getitem__)
        return event, bounds[event]


def distinguish(
    sample_p: Callable[[np.random.Generator], object],
    sample_q: Callable[[np.random.Generator], object],
    events: Mapping[str, Callable[[object], bool]],
    *,
    runs: int,
    rng: np.random.Generator,
) -> Audit:
    """Run two samplers ``runs`` times each and count events, likely under P and rare under Q, about their outputs.

    Parameters
    ----------
    sample_p, sample_q : callables
        ``sample(rng)`` gives one output of the mechanism on one of two adjacent inputs.
    events : mapping
        Name -> ``event(output)``. To look for the opposite direction, add the complement.
    """
    if not events:
        raise ValueError(f"events must name at least one event, got {events!r}")
    runs = _checks.integer("runs", runs, at_least=1)
    hits = []
    for sample in (sample_p, sample_q):
        counted = dict.fromkeys(events, 0)
        for _ in range(runs):
            output = sample(rng)
            for name, event in events.items():
                counted[name] += bool(event(output))
        hits.append(counted)
    return Audit(runs=runs, hits_p=hits[0], hits_q=hits[1])


def _confidence(confidence: float) -> float:
    return _checks.real("confidence", confidence, above=0.0, below=1.0)


def _counts(hits_name: str, hits, runs_name: str, runs) -> tuple[np.ndarray, np.ndarray]:
    hits, runs = (_whole(name, value, low) for name, value, low in ((hits_name, hits, 0), (runs_name, runs, 1)))
    hits, runs = np.broadcast_arrays(hits, runs)
    if (hits > runs).any():
        worst = np.argmax(hits > runs)
        raise ValueError(f"{hits_name} must be at most {runs_name} = {runs.flat[worst]:g}, got {hits.flat[worst]:g}")
    return hits, runs


def _whole(name: str, value, low: int) -> np.ndarray:
    if np.ndim(value) == 0:
        return np.array(float(_checks.integer(name, value, at_least=low)))
    value = _checks.array(name, value, at_least=low)
    if (value != np.floor(value)).any():
        raise ValueError(f"{name} must be integers, got {float(value[value != np.floor(value)][0])!r}")
    return value


def _limits(hits_p, runs_p, hits_q, runs_q, confidence, n_events):
    hits_p, runs_p = _counts("hits_p", hits_p, "runs_p", runs_p)
    hits_q, runs_q = _counts("hits_q", hits_q, "runs_q", runs_q)
    level = (1 - _confidence(confidence)) / (2 * _checks.integer("n_events", n_events, at_least=1))
    return _lower(hits_p, runs_p, level), _upper(hits_q, runs_q, level)


def _lower(hits, runs, level: float):
    limit = np.where(hits == 0, 0.0, betaincinv(np.maximum(hits, 1), runs - hits + 1, level))
    return limit if limit.ndim else float(limit)


def _upper(hits, runs, level: float):
    limit = np.where(hits == runs, 1.0, betainccinv(hits + 1, np.maximum(runs - hits, 1), level))
    return limit if limit.ndim else float(limit)


def _laws(p, q) -> tuple[np.ndarray, np.ndarray]:
    p, q = (_checks.array(name, law, at_least=0.0, at_most=1 + 1e-9) for name, law in (("p", p), ("q", q)))
    if p.shape != q.shape:
        raise ValueError(f"p and q must have one shape, got {p.shape} and {q.shape}")
    for name, law in (("p", p), ("q", q)):
        if abs(law.sum() - 1) > 1e-9:
            raise ValueError(f"{name} must have sum 1, got {float(law.sum())!r}")
    return p.ravel(), q.ravel()


def _hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    never = float(p[q == 0].sum())
    p, q = p[(p > 0) & (q > 0)], q[(p > 0) & (q > 0)]
    excess = np.log(p / q) - epsilon
    return never - float(np.expm1(-excess[excess > 0]) @ p[excess > 0])


def _smallest_epsilon(p: np.ndarray, q: np.ndarray, delta: float) -> float:
    p, q = p[p > 0], q[p > 0]
    with np.errstate(divide="ignore"):
        order = np.argsort(-(p / q), kind="stable")
        above, below = np.cumsum(p[order]) - delta, np.cumsum(q[order])
        bounds = np.log(above[above > 0] / below[above > 0])
    return float(bounds.max(initial=0.0))
