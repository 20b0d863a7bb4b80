r"""Bounds on the mean regret ``R_T = (1/T) (sum_t l_t(a_t) - min_j sum_t l_t(j))``, as named terms that add up.

Terms: ``stability`` (what a moving law costs), ``comparator`` (``ln k / (eta T)``, the start from the uniform law) and,
where ``beta`` is given, ``fluctuation`` (the bound then holds with probability 1 - beta instead of in expectation).
printed: the text's stability ``eta``, from ``e^{-x} <= 1 - x + x^2``. sharper: ``eta/8``, from Hoeffding's lemma
``ln E e^{-eta X} <= -eta E X + eta^2/8`` for X in [0, 1]. Both hold for every eta > 0 and for adaptive adversaries (the
printed one for eta > 1 because ``R_T <= 1``).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import expit

from dpregret import _checks
from dpregret.experts.calibration import exponential_weights_eta, text_caps

VERSIONS = ("printed", "sharper")


def regret_terms(
    *,
    eta: float,
    n_experts: int,
    horizon: int,
    beta: float | None = None,
    version: str = "printed",
    batch: int = 1,
) -> dict[str, float]:
    """Terms of the bound for exponential weights at learning rate eta; their sum bounds ``R_T``.

    With batches of B rounds (oblivious adversaries, version ``sharper``) a batch is one round of losses in [0, b], b
    its length, so that stability is ``eta sum b^2 / (8 T)`` and, since ``sum b^2 <= B T``, fluctuation
    ``sqrt(B ln(1/beta) / (2 T))``. One expert: all terms are 0.
    """
    eta, k, horizon = _checks.real("eta", eta, above=0.0), _experts(n_experts), _horizon(horizon)
    version = _checks.choice("version", version, VERSIONS)
    batch = _checks.integer("batch", batch, at_least=1)
    if batch > 1 and version == "printed":
        raise ValueError(f"batch must be 1 for the printed bound, got {batch}")
    full, rest = divmod(horizon, batch)
    stability = eta if version == "printed" else eta * (full * batch**2 + rest**2) / (8 * horizon)
    terms = {"stability": stability, "comparator": math.log(k) / (eta * horizon)}
    if beta is not None:
        terms["fluctuation"] = math.sqrt(batch * -math.log(_checks.delta(beta, "beta")) / (2 * horizon))
    return terms if k > 1 else dict.fromkeys(terms, 0.0)


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


def binding_cap(*, epsilon: float, delta: float, horizon: int) -> int:
    """Which cap of the text's learning rate is the smallest: 1, 2 or 3 (the first of equal ones).

    If ``L < 2 T``: 1 for ``eps <= 2 L``, 3 for ``2 L <= eps <= 4 T``, 2 from there. If ``L >= 2 T``: 1 for
    ``eps <= sqrt(8 T L)``, then 2.
    """
    return int(np.argmin(text_caps(epsilon=epsilon, delta=delta, horizon=horizon))) + 1


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
    adaptive: bool = True,
    beta: float | None = None,
    version: str = "sharper",
    batch: int = 1,
    limit_eta: bool = False,
) -> dict[str, float]:
    """`regret_terms` at the learning rate of `exponential_weights_eta` (same ``method``, ``adaptive``, ``batch``).

    With ``limit_eta`` the learning rate is at most the best one without privacy, so that the bound falls with epsilon;
    without, as in the text, it rises again at large epsilon. If there is one draw only, every learning rate is private
    and the best one is taken.
    """
    eta = exponential_weights_eta(
        epsilon=epsilon, delta=delta, horizon=horizon, method=method, adaptive=adaptive, batch=batch
    )
    terms = {"n_experts": n_experts, "horizon": horizon, "beta": beta, "version": version, "batch": batch}
    if limit_eta or math.isinf(eta):
        slope = regret_terms(eta=1.0, **terms)  # the bound is slope * eta + comparator / eta
        best = math.sqrt(slope["comparator"] / slope["stability"]) if slope["stability"] > 0 else 1.0
        eta = min(eta, best)
    return regret_terms(eta=eta, **terms)


def best_batch(
    *, epsilon: float, delta: float, n_experts: int, horizon: int, method: str = "zcdp_optimal"
) -> tuple[int, float]:
    """The batch length of the smallest `private_terms` (oblivious adversaries, two draws at least), and that bound.

    With ``eta = sqrt(2 rho / (N - 1))``, N = ceil(T/B), it is least near ``B = sqrt(4 ln k / (3 rho))``.
    """
    _checks.integer("horizon", horizon, at_least=2)

    def bound(batch: int) -> float:
        options = {"epsilon": epsilon, "delta": delta, "n_experts": n_experts, "horizon": horizon}
        return sum(private_terms(**options, method=method, batch=batch).values())

    longest = -(-horizon // 2)
    best, value, batch = 1, bound(1), 2
    while batch <= longest and batch <= 4 * best + 20:
        found = bound(batch)
        if found < value:
            best, value = batch, found
        batch += 1
    return best, value


def smallest_horizon(bound: Callable[[int], float], level: float) -> int:
    """The smallest T >= 2 with ``bound(T) <= level``, for a bound that falls with T (bisection)."""
    high = 2
    while bound(high) > level:
        high *= 2
    low = max(1, high // 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(middle) <= level else (middle, high)
    return high


def packing_total_regret(*, epsilon: float, n_experts: int, horizon: int, delta: float = 0.0) -> float:
    """A lower bound on ``T E R_T`` of every learner with an (epsilon, delta)-private transcript, on one of k streams.

    On stream i expert i loses 0 and the others 1, in every round. Before round t + 1 two streams differ in t rounds, so
    the probability of the right expert, averaged over i, is at most ``(e^{eps t} + (k-1) delta_t) / (e^{eps t} + k-1)``
    with ``delta_t = delta (e^{eps t} - 1) / (e^eps - 1)`` (group privacy). With delta = 0 the sum is
    ``sum_{t < T} (k-1) / (k-1 + e^{eps t})``, about ``ln k / eps``.
    """
    epsilon, k, horizon = _checks.epsilon(epsilon), _experts(n_experts), _horizon(horizon)
    delta = _checks.real("delta", delta, at_least=0.0, below=1.0)
    if k == 1:
        return 0.0
    # beyond this round a summand is below 1e-16 of the first
    t = np.arange(min(horizon, math.ceil((math.log(k) + 40) / epsilon) + 1))
    wrong = expit(math.log(k - 1) - epsilon * t)  # (k-1) / (k-1 + e^{eps t})
    if delta:
        group = delta * np.exp(epsilon * (t - 1)) * np.expm1(-epsilon * t) / math.expm1(-epsilon)
        wrong = np.maximum(0.0, wrong * (1 - group))
    return float(wrong.sum())


def _experts(n_experts: int) -> int:
    return _checks.integer("n_experts", n_experts, at_least=1)


def _horizon(horizon: int) -> int:
    return _checks.integer("horizon", horizon, at_least=1)
