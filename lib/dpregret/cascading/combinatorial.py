r"""The combinatorial semi-bandit: super arms of K arms, a reward with bounded smoothness, an oracle [Chen2013].

In a round the learner plays a super arm and observes the outcome of every arm of it.

References
----------
[Chen2013] W. Chen, Y. Wang, Y. Yuan. Combinatorial Multi-Armed Bandit: General Framework and Applications. ICML 2013.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from dpregret import _checks
from dpregret.cascading.model import CascadeProblem

_MOST_SETS = 1_000_000


class Reward(Protocol):
    """A monotone expected reward with bounded smoothness ``|r_u(S) - r_v(S)| <= f(max_S |u_i - v_i|)`` on [0, 1]^m.

    It is read as the reward of the clipped vector outside [0, 1]^m, which keeps both properties.
    """

    def __call__(self, means: np.ndarray) -> np.ndarray:
        """The reward of the arms with these means, along the last axis."""

    def smoothness(self, width: float, list_length: int) -> float:
        """f, strictly increasing, f(0) = 0."""

    def inverse_smoothness(self, gap: float, list_length: int) -> float:
        """The inverse of f."""


@dataclass(frozen=True)
class LinearReward:
    """The sum of the K means; f(x) = K x."""

    code: ClassVar[int] = 0

    def __call__(self, means: np.ndarray) -> np.ndarray:
        """See `Reward`."""
        total = np.zeros(np.shape(means)[:-1])
        for k in range(np.shape(means)[-1]):  # in the compiled order
            total = total + means[..., k]
        return total

    def smoothness(self, width: float, list_length: int) -> float:
        """See `Reward`."""
        return list_length * _checks.real("width", width, at_least=0.0)

    def inverse_smoothness(self, gap: float, list_length: int) -> float:
        """See `Reward`."""
        return _checks.real("gap", gap, at_least=0.0) / list_length


@dataclass(frozen=True)
class CascadeReward:
    """1 - prod (1 - u_i), the reward of a cascade; f(x) = 1 - (1 - x)^K on [0, 1], the smallest f there is.

    Proof: ``prod y_i - prod (y_i - x)`` with y_i = 1 - v_i in [x, 1] increases in every y_i, so it is largest at y = 1.
    """

    code: ClassVar[int] = 1

    def __call__(self, means: np.ndarray) -> np.ndarray:
        """See `Reward`."""
        unclicked = np.ones(np.shape(means)[:-1])
        for k in range(np.shape(means)[-1]):
            unclicked = unclicked * (1.0 - means[..., k])
        return 1.0 - unclicked

    def smoothness(self, width: float, list_length: int) -> float:
        """See `Reward`."""
        width = _checks.real("width", width, at_least=0.0, at_most=1.0)
        return -math.expm1(list_length * math.log1p(-width)) if width < 1 else 1.0

    def inverse_smoothness(self, gap: float, list_length: int) -> float:
        """See `Reward`."""
        return -math.expm1(math.log1p(-_checks.real("gap", gap, at_least=0.0, below=1.0)) / list_length)


#: The rewards that the notebook can select by name.
REWARDS = {"linear": LinearReward(), "cascade": CascadeReward()}


class Oracle(Protocol):
    """An (alpha, beta)-oracle: for any vector u a super arm S with P(r_u(S) >= alpha opt_u) >= beta."""

    @property
    def alpha(self) -> float:
        """The share of the optimum that is reached."""

    @property
    def beta(self) -> float:
        """The probability with which it is reached."""

    def __call__(self, upper: np.ndarray, list_length: int, rng: np.random.Generator) -> np.ndarray:
        """The super arm, as K distinct arms, for the m upper confidence bounds (which may exceed 1)."""


@dataclass(frozen=True)
class TopK:
    """The K largest entries, ties to the smaller arm: exact for every symmetric monotone reward."""

    alpha: ClassVar[float] = 1.0
    beta: ClassVar[float] = 1.0

    def __call__(self, upper: np.ndarray, list_length: int, rng: np.random.Generator | None) -> np.ndarray:
        """See `Oracle`."""
        return np.argsort(-upper, kind="stable")[:list_length]


def bernoulli(means: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Independent outcomes in {0, 1} of the arms with these means."""
    return (rng.random(means.size) < means).astype(float)


@dataclass(frozen=True, eq=False)
class SemiBanditProblem:
    """m arms with means in [0, 1], super arms of exactly K arms, and a reward.

    Parameters
    ----------
    means : array of shape (m,)
    list_length : int
        K, 1 <= K <= m.
    reward : Reward
    outcomes : callable
        ``outcomes(means, rng)`` draws the outcomes in [0, 1] of the arms of a super arm; their expectations must be the
        means. Bernoulli by default.

    Raises
    ------
    ValueError
        For means outside [0, 1] or K outside 1..m.
    """

    means: np.ndarray
    list_length: int
    reward: Reward = field(default_factory=LinearReward)
    outcomes: Callable[[np.ndarray, np.random.Generator], np.ndarray] = field(default=bernoulli, repr=False)

    def __post_init__(self) -> None:
        checked = CascadeProblem(self.means, self.list_length, allow_ties=True)
        object.__setattr__(self, "means", checked.means)
        object.__setattr__(self, "list_length", checked.list_length)

    @property
    def n_arms(self) -> int:
        """m."""
        return self.means.size

    def all_rewards(self) -> np.ndarray:
        """The rewards of all sets of K arms (refused beyond a million of them)."""
        count = math.comb(self.n_arms, self.list_length)
        if count > _MOST_SETS:
            raise ValueError(f"problem must have at most {_MOST_SETS} super arms to enumerate, got {count}")
        return self.reward(self.means[np.array(list(itertools.combinations(range(self.n_arms), self.list_length)))])

    def gap_range(self, alpha: float = 1.0) -> tuple[float, float]:
        """Delta_min and Delta_max: the smallest and the largest ``alpha opt - r(S)`` over the bad sets (nan: none)."""
        rewards = self.all_rewards()
        gaps = _checks.real("alpha", alpha, above=0.0, at_most=1.0) * rewards.max() - rewards
        gaps = gaps[gaps > 1e-12]  # sets that tie with the optimum, up to rounding
        return (float(gaps.min()), float(gaps.max())) if gaps.size else (math.nan, math.nan)

    def optimal_reward(self) -> float:
        """opt, by enumeration except for the symmetric rewards of this module."""
        if isinstance(self.reward, (LinearReward, CascadeReward)):
            return float(self.reward(self.means[TopK()(self.means, self.list_length, None)]))
        return float(self.all_rewards().max())

    def relabelled(self, order: np.ndarray) -> SemiBanditProblem:
        """The new arm i is the old arm ``order[i]``."""
        return SemiBanditProblem(self.means[order], self.list_length, self.reward, self.outcomes)
