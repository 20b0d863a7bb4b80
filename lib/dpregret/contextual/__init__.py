"""Locally private linear contextual bandits: [Li2024], printed and corrected, and what it is compared with."""

from dpregret.contextual.baselines import LeastSquares
from dpregret.contextual.batch import Batch, offline_batch
from dpregret.contextual.corrected import CorrectedLPLR
from dpregret.contextual.elimination import Oracle, Result, run
from dpregret.contextual.estimate import Estimate
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
    "Batch",
    "ContextualProblem",
    "CorrectedLPLR",
    "Estimate",
    "LeastSquares",
    "Oracle",
    "Result",
    "arc_problem",
    "case_one",
    "case_two",
    "mixture_problem",
    "nested_problem",
    "offline_batch",
    "run",
    "two_direction_problem",
]
