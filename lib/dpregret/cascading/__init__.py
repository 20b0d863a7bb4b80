"""Cascading bandits and semi-bandits under (local) differential privacy: the models, the policies, and `simulate`.

Of [Wang2021], as printed or corrected: Algorithm 1 is `HybridDP`, 2 `LaplaceLDP`, 3 `GaussianLDP`, 4 `GaussianCUCB`,
and the variant of Theorem 7 `CompositionLDP`. The book's own, private for every list length: LDP-F and LDP-FX are
`FirstPositionLDP`, LDP-C `ClickPositionLDP`, DP-F and DP-FX `FirstPositionDP`, DP-CO `ClickObservationDP`.
"""

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
