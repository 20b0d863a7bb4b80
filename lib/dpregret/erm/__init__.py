"""Private empirical risk minimisation over finite classes: the exponential mechanism, an estimator, bounds."""

from dpregret.erm import bounds, classes, mechanism
from dpregret.erm.bounds import excess_risk_bound, excess_risk_terms, sample_size
from dpregret.erm.classes import Functions, HalfSpaces, Stumps
from dpregret.erm.estimator import ExponentialMechanismClassifier
from dpregret.erm.mechanism import exact_epsilon, selection_probabilities

__all__ = [
    "ExponentialMechanismClassifier",
    "Functions",
    "HalfSpaces",
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
