"""Private empirical risk minimisation over finite classes: the exponential mechanism, an estimator, bounds."""

from dpregret.erm import audit, bounds, classes, mechanism
from dpregret.erm.bounds import excess_risk_bound, excess_risk_terms, sample_size
from dpregret.erm.classes import Functions, HalfSpaces, Stumps
from dpregret.erm.estimator import ExponentialMechanismClassifier, Release
from dpregret.erm.mechanism import Selector, exact_epsilon, selection_probabilities

__all__ = [
    "ExponentialMechanismClassifier",
    "Functions",
    "HalfSpaces",
    "Release",
    "Selector",
    "Stumps",
    "audit",
    "bounds",
    "classes",
    "exact_epsilon",
    "excess_risk_bound",
    "excess_risk_terms",
    "mechanism",
    "sample_size",
    "selection_probabilities",
]
