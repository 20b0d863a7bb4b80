"""Prediction with expert advice under differential privacy: exponential weights, adversaries, calibration, bounds."""

from dpregret.experts import adversaries, calibration, weights
from dpregret.experts.adversaries import (
    BernoulliExperts,
    Callback,
    LastActionPunishing,
    LeaderPunishing,
    ObliviousLosses,
)
from dpregret.experts.calibration import (
    exponential_weights_delta,
    exponential_weights_epsilon,
    exponential_weights_eta,
)
from dpregret.experts.game import Adversary, Learner, simulate
from dpregret.experts.weights import ExponentialWeights

__all__ = [
    "Adversary",
    "BernoulliExperts",
    "Callback",
    "ExponentialWeights",
    "LastActionPunishing",
    "LeaderPunishing",
    "Learner",
    "ObliviousLosses",
    "adversaries",
    "calibration",
    "exponential_weights_delta",
    "exponential_weights_epsilon",
    "exponential_weights_eta",
    "simulate",
    "weights",
]
