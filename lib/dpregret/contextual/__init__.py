"""Locally private linear contextual bandits: [Li2024], printed and corrected, and what it is compared with."""

from dpregret.contextual.baselines import InputPerturbation, LeastSquares, PerturbedStatistics, lin_ucb
from dpregret.contextual.batch import Batch, offline_batch
from dpregret.contextual.corrected import CorrectedLPLR
from dpregret.contextual.elimination import Oracle, simulate
from dpregret.contextual.estimate import Estimate
from dpregret.contextual.lplr import CORRECTIONS, LPLR
from dpregret.contextual.model import (
    ContextualProblem,
    arc_problem,
    case_one,
    case_two,
    mixture_problem,
    nested_problem,
    two_direction_problem,
)

__all__ = [
    "CORRECTIONS",
    "LPLR",
    "Batch",
    "ContextualProblem",
    "CorrectedLPLR",
    "Estimate",
    "InputPerturbation",
    "LeastSquares",
    "Oracle",
    "PerturbedStatistics",
    "arc_problem",
    "case_one",
    "case_two",
    "lin_ucb",
    "mixture_problem",
    "nested_problem",
    "offline_batch",
    "simulate",
    "two_direction_problem",
]
