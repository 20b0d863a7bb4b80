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
from dpregret.experts.calibration import exponential_weights_epsilon


def probabilities(cumulative_losses: np.ndarray, eta: float) -> np.ndarray:
    """Probabilities of the experts, the softmax of ``-eta C`` along the last axis; same shape as C, any finite C."""
    losses = _checks.array("cumulative_losses", cumulative_losses)
    if losses.ndim == 0 or losses.shape[-1] == 0:
        raise ValueError(f"cumulative_losses must hold at least one expert, got shape {losses.shape}")
    weights = _weights(losses, _rate(eta))
    return weights / weights.sum(axis=-1, keepdims=True)


def _weights(losses: np.ndarray, eta: float) -> np.ndarray:
    excess = losses - losses.min(axis=-1, keepdims=True)
    return np.exp(-eta * excess) if eta < np.inf else np.where(excess > 0, 0.0, 1.0)


def _rate(eta: float) -> float:
    if isinstance(eta, (float, np.floating)) and eta == np.inf:
        return np.inf
    return _checks.real("eta", eta, above=0.0)


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
        Learning rate > 0. `exponential_weights_eta` gives one for (epsilon, delta). ``math.inf``, which it gives for
        one draw, is taken for one draw only: that draw is uniform.
    batch : int
        The action is drawn anew every ``batch`` rounds and kept in between. The regret bound of a batch > 1 holds for
        oblivious adversaries only.

    Raises
    ------
    ValueError
        For ``n_experts < 1``, an eta that is not a number > 0, ``batch < 1``.
    """

    n_experts: int
    eta: float
    batch: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_experts", _checks.integer("n_experts", self.n_experts, at_least=1))
        object.__setattr__(self, "eta", _rate(self.eta))
        object.__setattr__(self, "batch", _checks.integer("batch", self.batch, at_least=1))

    def weights(self, cumulative_losses: np.ndarray) -> np.ndarray:
        """Weights of the next draw, the largest of them 1, after losses with these sums, shape (..., k).

        `probabilities`, `act`, the plain game and `value_epsilon` all go through this method.
        """
        losses = _checks.array("cumulative_losses", cumulative_losses)
        if losses.shape[-1:] != (self.n_experts,):
            raise ValueError(
                f"cumulative_losses must have last dimension {self.n_experts}, got shape {np.shape(cumulative_losses)}"
            )
        return _weights(losses, self.eta)

    def probabilities(self, cumulative_losses: np.ndarray) -> np.ndarray:
        """Law of the next draw after losses whose sums are ``cumulative_losses``, shape (..., k)."""
        weights = self.weights(cumulative_losses)
        return weights / weights.sum(axis=-1, keepdims=True)

    def act(self, cumulative_losses: np.ndarray, rng: np.random.Generator) -> int:
        """One draw, by one uniform number."""
        return inverse_cdf(self.weights(cumulative_losses), rng.random())

    def value_epsilon(self, horizon: int, *, delta: float = 1e-6) -> float:
        """An epsilon for which the transcript of ``horizon`` rounds is (epsilon, delta)-private; adaptive losses.

        `exponential_weights_epsilon` (method ``best``) at the learning rate with which the weights are drawn: the
        log-ratio of two weights whose sums of losses differ by 1. ``delta = 0`` is allowed. It is an upper bound for
        every k; what two experts really lose is in `evidence.experts.transcripts`.
        """
        draws = -(-_checks.integer("horizon", horizon, at_least=1) // self.batch)
        delta = _checks.real("delta", delta, at_least=0.0, below=1.0)
        if draws == 1 or self.n_experts == 1:
            return 0.0
        eta = drawn_rate(self)
        if eta == np.inf:
            return np.inf
        return exponential_weights_epsilon(eta=eta, delta=delta, horizon=draws)

    def effective_epsilon(self, horizon: int, *, delta: float = 1e-6) -> float:
        """The privacy of all that leaves, for all neighbours: the transcript is all, so it is `value_epsilon`."""
        return self.value_epsilon(horizon, delta=delta)


def drawn_rate(learner: ExponentialWeights) -> float:
    """The learning rate that a learner's own weights have: the largest ``ln(w_i / w_j) / gap`` over gaps of losses.

    The gaps are powers of two at which the log-ratio is neither lost to rounding nor out of range.
    """
    gaps = 2.0 ** np.arange(-60, 61)
    sums = np.zeros((len(gaps), learner.n_experts))
    sums[:, 1:] = gaps[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.log(learner.weights(sums))
        logs = (weights[:, :1] - weights[:, 1:]).max(axis=1)
    seen = (logs > 0.5) & (logs < 600)
    if not seen.any():
        return float(learner.eta)
    return float((logs[seen] / gaps[seen]).max())
