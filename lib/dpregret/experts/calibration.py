r"""The learning rate of exponential weights for a privacy target, and the privacy of a learning rate.

Neighbouring loss sequences differ in one round, whose whole loss vector may be replaced. The released transcript is
``(a_1, ..., a_T)``. Rounds up to the changed one have the same law under both, so ``n = T - 1`` releases compose (with
batches of B rounds, ``n = ceil(T/B) - 1``). In every later round the log-ratio of the two laws varies over an interval
of length at most ``2 eta`` (the sums of losses move by at most 1 in each coordinate): the release is
2 eta-bounded-range, hence (2 eta, 0)-private and ``eta^2 / 2``-zCDP. From this, with ``L = ln(1/delta)``:

========================  ================================================================  ==================
method                    how n releases are composed                                       adaptive adversary
========================  ================================================================  ==================
``text``                  advanced composition of T releases (2 eta, 0), in three caps      yes
``basic``                 ``2 n eta``, delta = 0                                            yes
``optimal``               optimal composition of (2 eta, 0)                                 yes
``zcdp``                  ``rho = n eta^2 / 2``, epsilon = ``rho + 2 sqrt(rho L)``          yes
``zcdp_optimal``          the same rho, converted by the best Renyi order                   yes
``bounded_range``         exact worst case over all k and oblivious neighbours              no
========================  ================================================================  ==================

``bounded_range`` fails for adaptive adversaries: see `dpregret.experts.transcripts.strongest_adversary`.

References
----------
[Kairouz2015] (optimal); Bun and Steinke (2016) (zCDP); Dong, Durfee and Rogers (2020) (bounded range).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from dpregret import _checks
from dpregret.privacy import composition

METHODS = ("text", "basic", "optimal", "zcdp", "zcdp_optimal", "bounded_range")


def text_caps(*, epsilon: float, delta: float, horizon: int) -> tuple[float, float, float]:
    """The three caps of the text's learning rate: ``eps / sqrt(32 T L)``, ``1/2``, ``sqrt(eps / (16 T))``."""
    epsilon, delta = _checks.epsilon(epsilon), _checks.delta(delta)
    horizon = _checks.integer("horizon", horizon, at_least=1)
    return epsilon / math.sqrt(32 * horizon * -math.log(delta)), 0.5, math.sqrt(epsilon / (16 * horizon))


def exponential_weights_eta(
    *, epsilon: float, delta: float, horizon: int, method: str = "text", adaptive: bool = True, batch: int = 1
) -> float:
    """The largest learning rate for which ``method`` certifies an (epsilon, delta)-private transcript.

    Parameters
    ----------
    epsilon, delta : float
        epsilon > 0, delta in (0, 1); ``basic`` gives delta = 0.
    horizon : int
        T >= 1.
    method : str
        See the table above. ``text`` is the rule as printed, the smallest of `text_caps`.
    adaptive : bool
        Whether the losses may depend on past actions.
    batch : int
        Rounds a draw; ``text`` then counts the draws as its rounds.

    Returns
    -------
    float
        ``math.inf`` if there is one draw and the method counts n: it does not depend on the data.

    Raises
    ------
    ValueError
        For ``bounded_range`` with ``adaptive=True``, which it does not cover, and for arguments out of range.
    """
    epsilon, delta = _checks.epsilon(epsilon), _checks.delta(delta)
    n = _releases(horizon, batch, method, adaptive)
    if method == "text":
        return min(text_caps(epsilon=epsilon, delta=delta, horizon=n + 1))
    if n == 0:
        return math.inf
    basic = epsilon / (2 * n)
    log = -math.log(delta)
    zcdp = math.sqrt(2 / n) * epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))
    if method in ("basic", "zcdp"):
        return basic if method == "basic" else zcdp

    def excess(x: float) -> float:
        found = _delta(math.exp(x), epsilon, n, method)
        return math.log(found) - math.log(delta) if found > 0 else -1e3

    # (2 eta, 0)-private releases are 2 eta^2-zCDP, four times the rho of a bounded range
    certified = {"optimal": max(basic, zcdp / 2), "bounded_range": max(basic, zcdp), "zcdp_optimal": zcdp}
    low = math.log(certified[method]) - 1e-9
    high = low + 0.1
    while excess(high) < 0:
        high += 0.4
    return math.exp(brentq(excess, low, high, xtol=1e-14, rtol=4 * np.finfo(float).eps))


def exponential_weights_delta(
    *, eta: float, epsilon: float, horizon: int, method: str = "zcdp_optimal", adaptive: bool = True, batch: int = 1
) -> float:
    """The delta that ``method`` certifies for learning rate ``eta`` at epsilon >= 0; 1 if it certifies nothing."""
    eta, epsilon = _checks.real("eta", eta, above=0.0), _checks.real("epsilon", epsilon, at_least=0.0)
    n = _releases(horizon, batch, method, adaptive)
    return 0.0 if n == 0 and method != "text" else _delta(eta, epsilon, n, method)


def exponential_weights_epsilon(
    *, eta: float, delta: float, horizon: int, method: str = "zcdp_optimal", adaptive: bool = True, batch: int = 1
) -> float:
    """The smallest epsilon that ``method`` certifies for learning rate ``eta`` at delta in (0, 1)."""
    eta, delta = _checks.real("eta", eta, above=0.0), _checks.delta(delta)
    n = _releases(horizon, batch, method, adaptive)
    if method == "text":
        return composition.advanced(epsilon=2 * eta, k=n + 1, slack=delta)[0]
    if n == 0:
        return 0.0
    if method == "basic":
        return 2 * n * eta
    if method == "optimal":
        return composition.optimal_epsilon(epsilon=2 * eta, k=n, target_delta=delta)
    if method == "bounded_range":
        return composition.bounded_range_epsilon(epsilon=2 * eta, k=n, target_delta=delta)
    rule = composition.zcdp if method == "zcdp" else composition.zcdp_epsilon
    return rule(rho=n * eta**2 / 2, delta=delta)


def _releases(horizon: int, batch: int, method: str, adaptive: bool) -> int:
    horizon = _checks.integer("horizon", horizon, at_least=1)
    batch = _checks.integer("batch", batch, at_least=1)
    _checks.choice("method", method, METHODS)
    if method == "bounded_range" and adaptive:
        raise ValueError(
            "adaptive must be False for method 'bounded_range', got True: an adversary that sees the actions can make "
            "delta larger than every fixed loss sequence does; use 'zcdp_optimal' or 'optimal'"
        )
    return -(-horizon // batch) - 1


def _delta(eta: float, epsilon: float, n: int, method: str) -> float:
    if method == "text":
        left = epsilon - 2 * (n + 1) * eta * math.expm1(2 * eta)
        return math.exp(-((left / (2 * eta)) ** 2) / (2 * (n + 1))) if left > 0 else 1.0
    if method == "basic":
        return 0.0 if 2 * n * eta <= epsilon else 1.0
    if method == "optimal":
        return composition.optimal(epsilon=2 * eta, k=n, target_epsilon=epsilon)
    if method == "bounded_range":
        return composition.bounded_range(epsilon=2 * eta, k=n, target_epsilon=epsilon)
    rho = n * eta**2 / 2
    if method == "zcdp_optimal":
        return composition.zcdp_delta(rho=rho, epsilon=epsilon)
    return math.exp(-((epsilon - rho) ** 2) / (4 * rho)) if epsilon > rho else 1.0
