"""The accounting methods of `dpregret.experts.calibration` as the notebooks compare them: names, looks, one call each.

``bounded_range`` covers losses fixed in advance only, all others adaptive adversaries too.
"""

from __future__ import annotations

from dpregret.experts import calibration

LABELS = {
    "text": "text",
    "basic": "basic composition, δ = 0",
    "optimal": "optimal composition",
    "zcdp": "zCDP, closed form",
    "zcdp_optimal": "zCDP, best order",
    "bounded_range": "exact, oblivious losses",
}
"""The methods from the loosest to the exact one, as they are called in tables and legends."""


def key(method: str) -> str:
    """The method's series in `evidence.report.series`."""
    return {"zcdp_optimal": "zcdp optimal", "bounded_range": "bounded range"}.get(method, method)


def adversary(method: str) -> str:
    """For whose losses the method certifies privacy: "adaptive", or "oblivious"."""
    return "oblivious" if method == "bounded_range" else "adaptive"


def rate(method: str, *, epsilon: float, delta: float, horizon: int, batch: int = 1) -> float:
    """The largest learning rate that the method certifies."""
    return calibration.exponential_weights_eta(
        epsilon=epsilon, delta=delta, horizon=horizon, method=method, batch=batch,
        adaptive=adversary(method) == "adaptive",
    )  # fmt: skip


def certified_delta(method: str, *, eta: float, epsilon: float, horizon: int) -> float:
    """The delta that the method certifies at a learning rate."""
    return calibration.exponential_weights_delta(
        eta=eta, epsilon=epsilon, horizon=horizon, method=method, adaptive=adversary(method) == "adaptive"
    )


def certified_epsilon(method: str, *, eta: float, delta: float, horizon: int) -> float:
    """The epsilon that the method certifies at a learning rate."""
    return calibration.exponential_weights_epsilon(
        eta=eta, delta=delta, horizon=horizon, method=method, adaptive=adversary(method) == "adaptive"
    )


def number(x: float) -> str:
    """A parameter as the texts write it: ``1e-6``, where Python writes ``1e-06``."""
    return f"{x:g}".replace("e-0", "e-")
