"""Private empirical risk minimisation over finite classes: the exponential mechanism, an estimator, bounds."""

from typing import Any

from dpregret.erm import bounds, classes, mechanism
from dpregret.erm.bounds import excess_risk_bound, excess_risk_terms, sample_size
from dpregret.erm.classes import Functions, Stumps
from dpregret.erm.mechanism import Selector, exact_epsilon, selection_probabilities

__all__ = [
    "ExponentialMechanismClassifier",
    "Functions",
    "Release",
    "Selector",
    "Stumps",
    "bounds",
    "classes",
    "exact_epsilon",
    "excess_risk_bound",
    "excess_risk_terms",
    "mechanism",
    "sample_size",
    "selection_probabilities",
]


def __getattr__(name: str) -> Any:
    if name in ("ExponentialMechanismClassifier", "Release"):  # they need scikit-learn, the rest does not
        from dpregret.erm import estimator

        return getattr(estimator, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
