"""Cascading bandits under (local) differential privacy: the model, the policies of [Wang2021] and their bounds."""

from dpregret.cascading.central import HybridDP
from dpregret.cascading.click_position import ClickObservationDP, ClickPositionLDP
from dpregret.cascading.combinatorial import REWARDS, CascadeReward, LinearReward, SemiBanditProblem, TopK
from dpregret.cascading.first_position import FirstPositionDP, FirstPositionLDP
from dpregret.cascading.learner import Learner, Policy
from dpregret.cascading.model import (
    CascadeProblem,
    kveton_problem,
    linear_problem,
    named_problem,
    uniform_problem,
)
from dpregret.cascading.policies import (
    READINGS,
    CascadeUCB1,
    CompositionLDP,
    GaussianLDP,
    LaplaceLDP,
    reading_multipliers,
)
from dpregret.cascading.semibandit import CUCB, GaussianCUCB, LaplaceCUCB
from dpregret.cascading.simulate import geometric_checkpoints, simulate

__all__ = [
    "CUCB",
    "READINGS",
    "REWARDS",
    "CascadeProblem",
    "CascadeReward",
    "CascadeUCB1",
    "ClickObservationDP",
    "ClickPositionLDP",
    "CompositionLDP",
    "FirstPositionDP",
    "FirstPositionLDP",
    "GaussianCUCB",
    "GaussianLDP",
    "HybridDP",
    "LaplaceCUCB",
    "LaplaceLDP",
    "Learner",
    "LinearReward",
    "Policy",
    "SemiBanditProblem",
    "TopK",
    "geometric_checkpoints",
    "kveton_problem",
    "linear_problem",
    "named_problem",
    "reading_multipliers",
    "simulate",
    "uniform_problem",
]
