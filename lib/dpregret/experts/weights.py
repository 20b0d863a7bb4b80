r"""Exponential weights: expert j is drawn in round t with probability proportional to ``exp(-eta C_j)``, where C is the
sum of the losses of the rounds before t.

Only the differences ``C_j - min C`` are exponentiated. Multiplied weights would stop moving at the smallest double
(eta = 0.5: after about 1490 rounds in which every expert loses 1) or divide zero by zero.

References
----------
[Dwork2014], chapter 11.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpregret import _checks


def probabilities(cumulative_losses: np.ndarray, eta: float) -> np.ndarray:
    """Probabilities of the experts, the softmax of ``-eta C`` along the last axis; same shape as C, any finite C."""
    losses = _checks.array("cumulative_losses", cumulative_losses)
    if losses.ndim == 0 or losses.shape[-1] == 0:
        raise ValueError(f"cumulative_losses must hold at least one expert, got shape {losses.shape}")
    weights = np.exp(-_checks.real("eta", eta, above=0.0) * (losses - losses.min(axis=-1, keepdims=True)))
    return weights / weights.sum(axis=-1, keepdims=True)


def inverse_cdf(weights: np.ndarray, uniform: float) -> int:
    """The first j with ``uniform * sum(weights) < weights_0 + ... + weights_j``, clipped to the last index."""
    total = np.cumsum(weights)
    return min(int(np.searchsorted(total, uniform * total[-1], side="right")), len(weights) - 1)


@dataclass(frozen=True)
class ExponentialWeights:
    """Exponential weights over ``n_experts`` experts with learning rate ``eta``.

    Parameters
    ----------
    n_experts : int
        k >= 1. Experts are the integers 0..k-1.
    eta : float
        Learning rate > 0. `exponential_weights_eta` gives one for (epsilon, delta).
    batch : int
        The action is drawn anew every ``batch`` rounds and kept in between. The regret bound of a batch > 1 holds for
        oblivious adversaries only.

    Raises
    ------
    ValueError
        For ``n_experts < 1``, an eta that is not finite or not > 0, ``batch < 1``.
    """

    n_experts: int
    eta: float
    batch: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_experts", _checks.integer("n_experts", self.n_experts, at_least=1))
        object.__setattr__(self, "eta", _checks.real("eta", self.eta, above=0.0))
        object.__setattr__(self, "batch", _checks.integer("batch", self.batch, at_least=1))

    def probabilities(self, cumulative_losses: np.ndarray) -> np.ndarray:
        """Law of the next draw after losses whose sums are ``cumulative_losses``, shape (..., k)."""
        if np.shape(cumulative_losses)[-1:] != (self.n_experts,):
            raise ValueError(
                f"cumulative_losses must have last dimension {self.n_experts}, got shape {np.shape(cumulative_losses)}"
            )
        return probabilities(cumulative_losses, self.eta)

    def act(self, cumulative_losses: np.ndarray, rng: np.random.Generator) -> int:
        """One draw, by one uniform number."""
        return inverse_cdf(self.probabilities(cumulative_losses), rng.random())
