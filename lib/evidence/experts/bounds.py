r"""Bounds on the mean regret ``R_T = (1/T) (sum_t l_t(a_t) - min_j sum_t l_t(j))``, as named terms that add up.

Terms: ``stability`` (what a moving law costs), ``comparator`` (``ln k / (eta T)``, the start from the uniform law) and,
where ``beta`` is given, ``fluctuation`` (the bound then holds with probability 1 - beta instead of in expectation).
printed: the text's stability ``eta``, from ``e^{-x} <= 1 - x + x^2``. sharper: ``eta/8``, from Hoeffding's lemma
``ln E e^{-eta X} <= -eta E X + eta^2/8`` for X in [0, 1]. Both hold for every eta > 0 and for adaptive adversaries (the
printed one for eta > 1 because ``R_T <= 1``).

Two adversaries are named apart: ``regret_against``, whose losses the regret bound covers, and ``private_against``, for
whose losses the transcript is private. With batches the regret bound holds for losses that were fixed beforehand only
(``regret_against="oblivious"``, which must be said), while privacy by zCDP holds against adaptive adversaries.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import expit

from dpregret import _checks
from dpregret._search import smallest
from dpregret.experts.calibration import exponential_weights_eta, text_caps

VERSIONS = ("printed", "sharper")
ADVERSARIES = ("adaptive", "oblivious")


def regret_terms(
    *,
    eta: float,
    n_experts: int,
    horizon: int,
    beta: float | None = None,
    version: str = "printed",
    batch: int = 1,
    regret_against: str = "adaptive",
) -> dict[str, float]:
    """Terms of the bound for exponential weights at learning rate eta; their sum bounds ``R_T``.

    With batches of B rounds (version ``sharper``) a batch is one round of losses in [0, b], b its length, so that
    stability is ``eta sum b^2 / (8 T)`` and, since ``sum b^2 <= B T``, fluctuation ``sqrt(B ln(1/beta) / (2 T))``. That
    holds for fixed losses only, and ``regret_against="oblivious"`` must say so: an adversary that sees actions forces
    ``(1 - 1/B) (1 - 1/k)``. One expert: all terms are 0.

    Raises
    ------
    ValueError
        For a batch > 1 with ``regret_against="adaptive"`` or with the printed bound, and arguments out of range.
    """
    eta, k, horizon = _checks.real("eta", eta, above=0.0), _experts(n_experts), _horizon(horizon)
    version = _checks.choice("version", version, VERSIONS)
    batch = _checks.integer("batch", batch, at_least=1)
    if batch > 1 and version == "printed":
        raise ValueError(f"batch must be 1 for the printed bound, got {batch}")
    if _checks.choice("regret_against", regret_against, ADVERSARIES) == "adaptive" and batch > 1:
        raise ValueError(
            f"regret_against must be 'oblivious' for batch = {batch}, got 'adaptive': an adversary that sees actions "
            "forces a regret of (1 - 1/batch) (1 - 1/k)"
        )
    full, rest = divmod(horizon, batch)
    stability = eta if version == "printed" else eta * (full * batch**2 + rest**2) / (8 * horizon)
    terms = {"stability": stability, "comparator": math.log(k) / (eta * horizon)}
    if beta is not None:
        terms["fluctuation"] = math.sqrt(batch * -math.log(_checks.delta(beta, "beta")) / (2 * horizon))
    return terms if k > 1 else dict.fromkeys(terms, 0.0)


def total(**arguments) -> float:
    """The bound itself, the sum of `regret_terms`, which has the same arguments."""
    return sum(regret_terms(**arguments).values())


def best_eta(*, n_experts: int, horizon: int, version: str = "printed") -> float:
    """The learning rate of the smallest bound: ``sqrt(ln k / T)`` printed, ``sqrt(8 ln k / T)`` sharper; k >= 2."""
    k = _checks.integer("n_experts", n_experts, at_least=2)
    scale = 1 if _checks.choice("version", version, VERSIONS) == "printed" else 8
    return math.sqrt(scale * math.log(k) / _horizon(horizon))


def no_privacy_terms(
    *, n_experts: int, horizon: int, beta: float | None = None, version: str = "printed"
) -> dict[str, float]:
    """The bound at `best_eta`: ``2 sqrt(ln k / T)`` printed, ``sqrt(ln k / (2 T))`` sharper, plus the fluctuation."""
    eta = best_eta(n_experts=n_experts, horizon=horizon, version=version)
    return regret_terms(eta=eta, n_experts=n_experts, horizon=horizon, beta=beta, version=version)


def capped_terms(
    *, epsilon: float, delta: float, n_experts: int, horizon: int, beta: float | None = None
) -> dict[str, float]:
    """The text's private bound: ``eta + (ln k / T) max{sqrt(32 T L)/eps, 2, 4 sqrt(T/eps)}`` + fluctuation."""
    caps = text_caps(epsilon=epsilon, delta=delta, horizon=horizon)
    terms = regret_terms(eta=min(caps), n_experts=n_experts, horizon=horizon, beta=beta)
    return terms | {"comparator": math.log(n_experts) / horizon * max(1 / cap for cap in caps)}


def first_cap_limit(*, delta: float, horizon: int) -> float:
    """The largest epsilon at which the first cap binds: ``min{sqrt(8 T L), 2 L}``."""
    log = -math.log(_checks.delta(delta))
    return min(math.sqrt(8 * _horizon(horizon) * log), 2 * log)


def first_cap_terms(
    *, epsilon: float, delta: float, n_experts: int, horizon: int, beta: float | None = None
) -> dict[str, float]:
    """The text's specialisation ``eps/sqrt(32 T L) + (ln k / eps) sqrt(32 L / T)`` + fluctuation.

    Raises
    ------
    ValueError
        For epsilon above `first_cap_limit`, where the text's learning rate is another.
    """
    limit = first_cap_limit(delta=delta, horizon=horizon)
    epsilon = _checks.real("epsilon", epsilon, above=0.0, at_most=limit * (1 + 1e-15))
    eta = text_caps(epsilon=epsilon, delta=delta, horizon=horizon)[0]
    terms = regret_terms(eta=eta, n_experts=n_experts, horizon=horizon, beta=beta)
    log = -math.log(delta)
    return terms | {"comparator": math.log(n_experts) / epsilon * math.sqrt(32 * log / horizon)}


def private_terms(
    *,
    epsilon: float,
    delta: float,
    n_experts: int,
    horizon: int,
    method: str = "zcdp",
    private_against: str = "adaptive",
    regret_against: str = "adaptive",
    beta: float | None = None,
    version: str = "sharper",
    batch: int = 1,
    limit_eta: bool = False,
) -> dict[str, float]:
    """`regret_terms` at the learning rate of `exponential_weights_eta` (same ``method``, ``batch``).

    ``private_against`` is the adversary for whose losses the transcript is (epsilon, delta)-private (method
    ``bounded_range``: "oblivious" only), ``regret_against`` the one for whose losses the regret bound holds (a batch
    above 1: "oblivious" only).

    With ``limit_eta`` the learning rate is at most the best one without privacy, so that the bound falls with epsilon;
    without, as in the text, it rises again at large epsilon. If there is one draw only, every learning rate is private
    and the best one is taken.
    """
    adaptive = _checks.choice("private_against", private_against, ADVERSARIES) == "adaptive"
    eta = exponential_weights_eta(
        epsilon=epsilon, delta=delta, horizon=horizon, method=method, adaptive=adaptive, batch=batch
    )
    terms = {"n_experts": n_experts, "horizon": horizon, "beta": beta, "version": version, "batch": batch}
    terms["regret_against"] = regret_against
    if limit_eta or math.isinf(eta):
        slope = regret_terms(eta=1.0, **terms)  # the bound is slope * eta + comparator / eta
        best = math.sqrt(slope["comparator"] / slope["stability"]) if slope["stability"] > 0 else 1.0
        eta = min(eta, best)
    return regret_terms(eta=eta, **terms)


def best_batch(
    *,
    epsilon: float,
    delta: float,
    n_experts: int,
    horizon: int,
    method: str = "zcdp_optimal",
    private_against: str = "adaptive",
    limit_eta: bool = True,
) -> tuple[int, float]:
    """The batch length of the smallest `private_terms` with two draws at least, and that bound.

    The bound holds for fixed losses only (``regret_against="oblivious"``); ``private_against`` is about privacy alone,
    and matches it with "oblivious" and method ``bounded_range``. With ``eta = sqrt(2 rho / (N - 1))``, N = ceil(T/B),
    it is least near ``B = sqrt(4 ln k / (3 rho))``. Lengths are tried up to four times the best one so far and 20 more.
    """
    _checks.integer("horizon", horizon, at_least=2)

    def bound(batch: int) -> float:
        return sum(
            private_terms(
                epsilon=epsilon, delta=delta, n_experts=n_experts, horizon=horizon, method=method, batch=batch,
                private_against=private_against, regret_against="oblivious", limit_eta=limit_eta,
            ).values()
        )  # fmt: skip

    longest = -(-horizon // 2)
    best, value, batch = 1, bound(1), 2
    while batch <= longest and batch <= 4 * best + 20:
        found = bound(batch)
        if found < value:
            best, value = batch, found
        batch += 1
    return best, value


def smallest_horizon(bound: Callable[[int], float], level: float, *, ripple: float = 0.0) -> int:
    """The smallest T >= 2 from which on ``bound(T) <= level``.

    Parameters
    ----------
    bound : function of T
        It must fall with T up to ripples: ``bound(T') <= (1 + ripple) bound(T)`` for T' > T. Without ripples the answer
        is found by bisection; with them every T between the first with ``bound(T) <= (1 + ripple) level`` that
        bisection finds and the first with ``bound(T) <= level / (1 + ripple)`` is tried. The batched bound needs them,
        since the number of draws is an integer: between T = 1,000 and 2,600 (epsilon = 1, delta = 1e-6, k = 10) it
        rises by 0.19 % at most.
    level : float
        A finite number > 0.
    """
    level, ripple = _checks.real("level", level, above=0.0), _checks.real("ripple", ripple, at_least=0.0)

    def first(target: float) -> int:
        return smallest(lambda T: bound(T) <= target, at_least=2)

    if ripple == 0:
        return first(level)
    stop = first(level / (1 + ripple))
    start = first(level * (1 + ripple))
    above = [T for T in range(start, stop) if not bound(T) <= level]
    return above[-1] + 1 if above else start


def packing_total_regret(*, epsilon: float, n_experts: int, horizon: int, delta: float = 0.0) -> float:
    """A lower bound on ``T E R_T`` of every learner with an (epsilon, delta)-private transcript, on one of k streams.

    On stream i expert i loses 0 and the others 1, in every round. Before round t + 1 two streams differ in t rounds, so
    the probability of the right expert, averaged over i, is at most ``(e^{eps t} + (k-1) delta_t) / (e^{eps t} + k-1)``
    with ``delta_t = delta (e^{eps t} - 1) / (e^eps - 1)`` (group privacy). With delta = 0 the sum is
    ``sum_{t < T} (k-1) / (k-1 + e^{eps t})``, about ``ln k / eps``. That sum is also the exact expected total regret of
    exponential weights at learning rate epsilon where one expert is always right and the others always wrong.
    """
    epsilon, k, horizon = _checks.epsilon(epsilon), _experts(n_experts), _horizon(horizon)
    delta = _checks.real("delta", delta, at_least=0.0, below=1.0)
    if k == 1:
        return 0.0
    # beyond this round a summand is below 1e-16 of the first
    rounds = min(horizon, math.ceil((math.log(k) + 40) / epsilon) + 1)
    if delta:
        return _packing_with_delta(epsilon, k, rounds, delta)
    if rounds <= _MOST_ROUNDS:
        return float(expit(math.log(k - 1) - epsilon * np.arange(rounds)).sum())  # (k-1) / (k-1 + e^{eps t})
    # Euler-Maclaurin for f(t) = expit(start - eps t), at eps < 1e-3; the next term is of order eps^5
    start, end = math.log(k - 1), math.log(k - 1) - epsilon * rounds
    span = epsilon * rounds  # the integral is the difference of two softplus, over eps
    area = math.log1p(expit(end) * math.expm1(span)) if span < 30 else _softplus(start) - _softplus(end)
    first, last = float(expit(start)), float(expit(end))
    slopes = [-epsilon * p * (1 - p) for p in (first, last)]
    thirds = [-(epsilon**3) * p * (1 - p) * (1 - 6 * p * (1 - p)) for p in (first, last)]
    corrections = (first - last) / 2 + (slopes[1] - slopes[0]) / 12 - (thirds[1] - thirds[0]) / 720
    return area / epsilon + corrections


_MOST_ROUNDS = 1 << 21


def _packing_with_delta(epsilon: float, k: int, rounds: int, delta: float) -> float:
    """The sum with group privacy; the summands fall, so that of many rounds each block counts as its last one."""
    # beyond it the group's delta exceeds 1, and the summands are 0
    limit = math.log1p(math.expm1(epsilon) / delta) / epsilon if epsilon < 700 else 1 - math.log(delta) / epsilon
    rounds = max(1, min(rounds, math.ceil(min(limit, 1e300)) + 1))
    size = -(-rounds // _MOST_ROUNDS)
    t = np.minimum(np.arange(size - 1, rounds + size - 1, size), rounds - 1).astype(float)
    counts = np.diff(np.append(0, np.minimum(np.arange(size, rounds + size, size), rounds)))
    wrong = expit(math.log(k - 1) - epsilon * t)
    with np.errstate(over="ignore"):
        group = delta * np.exp(epsilon * (t - 1)) * np.expm1(-epsilon * t) / math.expm1(-epsilon)
    return float(counts @ np.maximum(0.0, wrong * (1 - group)))


def _softplus(x: float) -> float:
    return float(np.logaddexp(0.0, x))


def _experts(n_experts: int) -> int:
    return _checks.integer("n_experts", n_experts, at_least=1)


def _horizon(horizon: int) -> int:
    return _checks.integer("horizon", horizon, at_least=1)
