"""Cascading bandits under (local) differential privacy: the model, the policies of [Wang2021] and their bounds."""

from dpregret.cascading import audit, bounds, lemmas
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
from dpregret.cascading.simulate import geometric_checkpoints, simulate

__all__ = [
    "READINGS",
    "CascadeProblem",
    "CascadeUCB1",
    "CompositionLDP",
    "GaussianLDP",
    "LaplaceLDP",
    "audit",
    "bounds",
    "geometric_checkpoints",
    "kveton_problem",
    "lemmas",
    "linear_problem",
    "named_problem",
    "reading_multipliers",
    "simulate",
    "uniform_problem",
]
