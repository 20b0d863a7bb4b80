"""Exponential weights against losses fixed in advance, shape (T, k): its exact mean regret, the law of its regret.

And the sequences that the notebooks use. Regret is the mean ``R_T`` of `bounds`.
"""

from __future__ import annotations

import numpy as np

from dpregret import _checks
from dpregret.experts.weights import probabilities
from evidence.experts import bounds


def mean_losses(losses: np.ndarray, eta: float) -> np.ndarray:
    """The expected loss ``mu_t`` of each round, shape (T,)."""
    losses = _checks.array("losses", losses, ndim=2, at_least=0.0, at_most=1.0)
    before = np.vstack([np.zeros(losses.shape[1]), np.cumsum(losses, axis=0)[:-1]])
    return (probabilities(before, eta) * losses).sum(axis=1)


def expected_regret(losses: np.ndarray, eta: float) -> float:
    """``E R_T``, exactly."""
    return float((mean_losses(losses, eta).sum() - losses.sum(axis=0).min()) / len(losses))


def regret_law(losses: np.ndarray, eta: float) -> tuple[np.ndarray, np.ndarray]:
    """Values of ``R_T`` and their probabilities, shape (T + 1,) each, for losses in {0, 1} (O6).

    The played loss is a sum of independent coins with means ``mu_t``.
    """
    law = np.ones(1)
    for mu in mean_losses(losses, eta):
        law = np.convolve(law, [1 - mu, mu])
    return (np.arange(len(law)) - losses.sum(axis=0).min()) / len(losses), law


def exceedance(losses: np.ndarray, eta: float, level: float) -> float:
    """``P(R_T > level)`` for losses in {0, 1}."""
    values, law = regret_law(losses, eta)
    return float(law[values > level + 1e-12].sum())


def tail_exceedances(losses: np.ndarray, eta: float, beta: float) -> tuple[float, float]:
    """``P(R_T > tail bound)`` for losses in {0, 1}: the bound of the text, and the one with eta/8 (O6)."""
    horizon, k = losses.shape
    printed, sharper = (
        exceedance(losses, eta, bounds.total(eta=eta, n_experts=k, horizon=horizon, version=version, beta=beta))
        for version in bounds.VERSIONS
    )
    return printed, sharper


def one_right(horizon: int, n_experts: int) -> np.ndarray:
    """Expert 0 is always right and the others always wrong."""
    losses = np.ones((horizon, n_experts))
    losses[:, 0] = 0.0
    return losses


def in_turn(horizon: int, n_experts: int = 2, *, steady: int = 0, batch: int = 1) -> np.ndarray:
    """Experts 0 and 1 lose in turn, batch by batch, the others always; in the last ``steady`` rounds all but expert 0.

    In turn, the leader always loses next (about ``eta / 4`` a pair of rounds); steady, the learner has to find out that
    expert 0 is right (about ``ln 2 / eta``).
    """
    first = np.arange(horizon) // batch % 2 == 1
    losses = np.ones((horizon, n_experts))
    losses[:, 0], losses[:, 1] = first, ~first
    losses[horizon - steady :] = 1.0
    losses[horizon - steady :, 0] = 0.0
    return losses
