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
``best``                  the better of ``basic`` and ``zcdp_optimal``                      yes
``bounded_range``         exact worst case over all k and oblivious neighbours              no
========================  ================================================================  ==================

``best``, the default, is the best of those for adaptive adversaries but for a few draws, where ``optimal`` can give a
slightly larger rate (by 2.5 % at most for the epsilon, delta and T of the tests). ``basic`` and ``best`` take
delta = 0, where they agree.

``bounded_range`` fails for adaptive adversaries: see `evidence.experts.transcripts.strongest_adversary`.

References
----------
[Kairouz2015] (optimal); Bun and Steinke (2016) (zCDP); Dong, Durfee and Rogers (2020) (bounded range).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from dpregret import _checks
from dpregret.privacy import composition

METHODS = ("text", "basic", "optimal", "zcdp", "zcdp_optimal", "best", "bounded_range")
_PURE = ("basic", "best")  # at delta = 0 too


def text_caps(*, epsilon: float, delta: float, horizon: int) -> tuple[float, float, float]:
    """The three caps of the text's learning rate: ``eps / sqrt(32 T L)``, ``1/2``, ``sqrt(eps / (16 T))``."""
    epsilon, delta = _checks.epsilon(epsilon), _checks.delta(delta)
    horizon = _checks.integer("horizon", horizon, at_least=1)
    return epsilon / math.sqrt(32 * horizon * -math.log(delta)), 0.5, math.sqrt(epsilon / (16 * horizon))


def exponential_weights_eta(
    *, epsilon: float, delta: float, horizon: int, method: str = "best", adaptive: bool = True, batch: int = 1
) -> float:
    """The largest learning rate for which ``method`` certifies an (epsilon, delta)-private transcript.

    Parameters
    ----------
    epsilon, delta : float
        epsilon > 0, delta in (0, 1), or delta = 0 for ``basic`` and ``best``. ``basic`` gives delta = 0 for any.
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
    n = _releases(horizon, batch, method, adaptive)
    epsilon, delta = _checks.epsilon(epsilon), _target(delta, method)
    if method == "text":
        return min(text_caps(epsilon=epsilon, delta=delta, horizon=n + 1))
    if n == 0:
        return math.inf
    basic = epsilon / (2 * n)
    if method == "basic" or delta == 0:
        return _step_back(basic, lambda eta: _at_most(2 * n, eta, epsilon))
    if method == "best":
        return max(
            exponential_weights_eta(epsilon=epsilon, delta=delta, horizon=n + 1, method=each)
            for each in ("basic", "zcdp_optimal")
        )
    log = -math.log(delta)
    zcdp = math.sqrt(2 / n) * epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))
    if method == "zcdp":
        return _step_back(zcdp, lambda eta: _delta(eta, epsilon, n, method) <= delta)
    if method == "zcdp_optimal":
        return _step_back(
            math.sqrt(2 * _zcdp_rho(epsilon, delta) / n), lambda eta: _delta(eta, epsilon, n, method) <= delta
        )

    def excess(x: float) -> float:
        found = _delta(math.exp(x), epsilon, n, method)
        return math.log(found) - math.log(delta) if found > 0 else -1e3

    # (2 eta, 0)-private releases are 2 eta^2-zCDP, four times the rho of a bounded range
    low = math.log(max(basic, zcdp / 2) if method == "optimal" else max(basic, zcdp)) - 1e-9
    high = low + 0.1
    while excess(high) < 0:
        high += 0.4
    root = math.exp(brentq(excess, low, high, xtol=1e-14, rtol=4 * np.finfo(float).eps))
    # against the rounding of the sum: a target a little lower, a delta a little larger
    lower = epsilon * (1 - 8 * np.finfo(float).eps)
    return _step_back(
        root, lambda eta: _at_most(2 * n, eta, epsilon) or _delta(eta, lower, n, method) * (1 + 1e-11) <= delta
    )


def _at_most(count: int, eta: float, epsilon: float) -> bool:
    """``count * eta <= epsilon``, in exact arithmetic."""
    return count * Fraction(eta) <= Fraction(epsilon)


def _step_back(eta: float, kept: Callable[[float], bool]) -> float:
    """The learning rate, or the next lower one (by growing steps) that keeps the promise."""
    step = math.ulp(eta)
    while not kept(eta) and eta > step:
        eta, step = eta - step, 2 * step
    return eta


@lru_cache(maxsize=256)
def _zcdp_rho(epsilon: float, delta: float) -> float:
    """The rho with ``zcdp_delta(rho, epsilon) = delta``: at least that of the closed form."""
    log = -math.log(delta)
    low = 2 * math.log(epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))) - 1e-9

    def excess(x: float) -> float:
        found = composition.zcdp_delta(rho=math.exp(x), epsilon=epsilon)
        return math.log(found) + log if found > 0 else -1e3

    high = low + 0.1
    while excess(high) < 0:
        high += 0.4
    return math.exp(brentq(excess, low, high, xtol=1e-14, rtol=4 * np.finfo(float).eps))


def exponential_weights_delta(
    *, eta: float, epsilon: float, horizon: int, method: str = "best", adaptive: bool = True, batch: int = 1
) -> float:
    """The delta that ``method`` certifies for learning rate ``eta`` at epsilon >= 0; 1 if it certifies nothing.

    With one draw, which depends on no data, it is 0 (method ``text`` excepted), ``eta = math.inf`` included.
    """
    if _one_draw(eta, horizon, batch, method, adaptive):
        _checks.real("epsilon", epsilon, at_least=0.0)
        return 0.0
    eta, epsilon = _checks.real("eta", eta, above=0.0), _checks.real("epsilon", epsilon, at_least=0.0)
    return _delta(eta, epsilon, _releases(horizon, batch, method, adaptive), method)


def exponential_weights_epsilon(
    *, eta: float, delta: float, horizon: int, method: str = "best", adaptive: bool = True, batch: int = 1
) -> float:
    """The smallest epsilon that ``method`` certifies for learning rate ``eta`` at delta in (0, 1).

    ``basic`` and ``best`` take delta = 0. With one draw it is 0 (method ``text`` excepted), ``eta = math.inf``
    included.
    """
    if _one_draw(eta, horizon, batch, method, adaptive):
        _target(delta, method)
        return 0.0
    n = _releases(horizon, batch, method, adaptive)
    eta, delta = _checks.real("eta", eta, above=0.0), _target(delta, method)
    if method == "text":
        return composition.advanced(epsilon=2 * eta, k=n + 1, slack=delta)[0]
    if method == "basic":
        return 2 * n * eta
    if method == "best":
        basic, rho = 2 * n * eta, n * (eta * eta) / 2
        return min(basic, composition.zcdp_epsilon(rho=rho, delta=delta)) if delta and 0 < rho < 1e300 else basic
    if method == "optimal":
        return composition.optimal_epsilon(epsilon=2 * eta, k=n, target_delta=delta)
    if method == "bounded_range":
        return composition.bounded_range_epsilon(epsilon=2 * eta, k=n, target_delta=delta)
    rule = composition.zcdp if method == "zcdp" else composition.zcdp_epsilon
    return rule(rho=n * eta**2 / 2, delta=delta)


def _one_draw(eta: float, horizon: int, batch: int, method: str, adaptive: bool) -> bool:
    if _releases(horizon, batch, method, adaptive) > 0 or method == "text":
        return False
    if eta != math.inf:
        _checks.real("eta", eta, above=0.0)
    return True


def _target(delta: float, method: str) -> float:
    return _checks.real("delta", delta, at_least=0.0, below=1.0) if method in _PURE else _checks.delta(delta)


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
    if method in _PURE and _at_most(2 * n, eta, epsilon):
        return 0.0
    if method == "basic":
        return 1.0
    if method == "optimal":
        return composition.optimal(epsilon=2 * eta, k=n, target_epsilon=epsilon)
    if method == "bounded_range":
        return composition.bounded_range(epsilon=2 * eta, k=n, target_epsilon=epsilon)
    rho = n * eta**2 / 2
    if method in ("zcdp_optimal", "best"):
        return composition.zcdp_delta(rho=rho, epsilon=epsilon)
    return math.exp(-((epsilon - rho) ** 2) / (4 * rho)) if epsilon > rho else 1.0
