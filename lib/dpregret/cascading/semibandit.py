"""CUCB under local privacy: Algorithm 4 of [Wang2021], and the algorithm of [Chen2013] that it extends.

The user sends the outcome of every arm of the super arm, with noise. Which outcomes are sent is public: the super arm.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Section 5.3 and Appendix B.
[Chen2013] W. Chen, Y. Wang, Y. Yuan. Combinatorial Multi-Armed Bandit: General Framework and Applications. ICML 2013.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dpregret import _checks
from dpregret.cascading.combinatorial import Oracle, TopK
from dpregret.cascading.learner import Index, Noise
from dpregret.cascading.play import COUNT, MEAN, ROOT, SHOWN, SUM, UPPER, draw_noise, top_k
from dpregret.cascading.policies import CascadeUCB1, GaussianLDP, LaplaceLDP


class CUCBLearner:
    """One run of Algorithm 4, its misprints corrected, with any oracle.

    In round t <= m the super arm t, t + 1, ..., t + K - 1 (counted round m) is played and arm t alone is observed.
    """

    def __init__(self, n_arms: int, list_length: int, index: Index, noise: Noise, oracle: Oracle, raw: bool) -> None:
        self.list_length = list_length
        self.index = index
        self.noise = noise
        self.oracle = oracle
        self.raw = raw
        self.counts = np.zeros(n_arms, dtype=np.int64)
        self.sums = np.zeros(n_arms)

    def recommend(self, t: int, rng: np.random.Generator) -> np.ndarray:
        """The super arm of round t."""
        if t <= self.counts.size:
            return (t - 1 + np.arange(self.list_length)) % self.counts.size
        return self.oracle(self.sums / self.counts + self.index.bonus(t, self.counts), self.list_length, rng)

    def privatize(self, arms: np.ndarray, outcomes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """What leaves the user; its length is public."""
        if self.counts[arms[0]] == 0:  # an initial round
            return outcomes[:1] if self.raw else outcomes[:1] + self.noise.draw(rng)
        return np.array([outcome + self.noise.draw(rng) for outcome in outcomes])

    def update(self, arms: np.ndarray, message: np.ndarray) -> None:
        """Learn from the message."""
        for arm, value in zip(arms, message, strict=False):
            self.counts[arm] += 1
            self.sums[arm] += value


class SemiBandit(NamedTuple):
    """The users of a semi-bandit problem with Bernoulli outcomes and a reward of `combinatorial`."""

    means: np.ndarray
    target: float  # alpha beta opt
    reward: int
    list_length: int
    outcomes: np.ndarray  # of the last super arm

    def respond(self, rng, items):
        """The expected regret of a super arm, and the outcomes of its arms."""
        value = 0.0 if self.reward == 0 else 1.0
        for k in range(items.size):
            mean = self.means[items[k]]
            value = value + mean if self.reward == 0 else value * (1.0 - mean)
            self.outcomes[k] = 1.0 if rng.random() < mean else 0.0
        return self.target - (value if self.reward == 0 else 1.0 - value), self.outcomes


class CUCBRule(NamedTuple):
    """The compiled twin of `CUCBLearner` with the oracle `TopK`."""

    bonus: Index
    noise: Noise
    raw: bool
    rows: int = 6  # of a state

    def recommend(self, t, log_t, state, lists):
        """Write the list of round t."""
        n_arms = state.shape[1]
        if t <= n_arms:
            for k in range(lists.shape[1]):
                lists[SHOWN, k] = (t - 1 + k) % n_arms
        else:
            by_root = self.bonus.a * math.sqrt(log_t) + self.bonus.b * math.sqrt(log_t + self.bonus.c)
            for e in range(n_arms):
                exact = self.bonus.d * log_t / state[COUNT, e]
                state[UPPER, e] = state[MEAN, e] + by_root * state[ROOT, e] + exact
            top_k(state[UPPER], lists[SHOWN])

    def update(self, rng, state, items, outcomes):
        """Learn from one user."""
        first = state[COUNT, items[0]] == 0.0  # in the initial rounds arm t alone is observed
        for k in range(1 if first else items.size):
            e = items[k]
            state[COUNT, e] += 1.0
            state[SUM, e] += outcomes[k] + (0.0 if first and self.raw else draw_noise(rng, self.noise))
            state[MEAN, e] = state[SUM, e] / state[COUNT, e]
            state[ROOT, e] = 1.0 / math.sqrt(state[COUNT, e])


@dataclass(frozen=True, kw_only=True)
class CUCB:
    """CUCB of [Chen2013]: index mean + sqrt(1.5 log t / n), no noise. Not private."""

    oracle: Oracle = field(default_factory=TopK)
    feedback: ClassVar[str] = "outcomes"
    label: ClassVar[str] = "cucb"
    initial: ClassVar[str] = "raw"

    def index(self, list_length: int) -> Index:
        """The bonus of an item, for lists of this length."""
        return CascadeUCB1().index(list_length)

    def noise(self, list_length: int) -> Noise:
        """The noise on each value that is sent."""
        return Noise(0, 0.0)

    def value_epsilon(self, list_length: int) -> float:
        """The privacy of the noisy outcomes alone, between any two users: no user 0."""
        length = _checks.integer("list_length", list_length, at_least=1)
        # outcomes fill [0, 1]^K: diameter K in L1, sqrt(K) in L2
        return self.noise(length).epsilon(l1=float(length), l2=math.sqrt(length), delta=getattr(self, "delta", 0.0))

    def effective_epsilon(self, list_length: int) -> float:
        """The privacy of everything that leaves a user, for any two users: inf where some are observed raw.

        Which outcomes are sent is a function of the earlier messages, so that there is no mask to hide.
        """
        return math.inf if self.initial == "raw" else self.value_epsilon(list_length)

    def learner(self, n_arms: int, list_length: int, horizon: int) -> CUCBLearner:
        """A learner for one run."""
        parts = self.index(list_length), self.noise(list_length)
        return CUCBLearner(n_arms, list_length, *parts, self.oracle, self.initial == "raw")

    def rule(self, n_arms: int, list_length: int, horizon: int) -> CUCBRule:
        """The compiled twin of the learner; see `dpregret.cascading.play`."""
        return CUCBRule(self.index(list_length), self.noise(list_length), self.initial == "raw")


@dataclass(frozen=True, kw_only=True)
class _LocalCUCB(CUCB):
    epsilon: float
    noise_multiplier: float = 1.0
    bonus_multiplier: float = 1.0
    version: str = "printed"
    initial: str = "raw"  # type: ignore[misc]

    def __post_init__(self) -> None:
        self._cascade()  # checks epsilon and the multipliers
        _checks.choice("version", self.version, ("printed", "corrected"))
        _checks.choice("initial", self.initial, ("raw", "private"))

    def _cascade(self) -> GaussianLDP | LaplaceLDP:
        raise NotImplementedError

    def _multipliers(self) -> dict[str, Any]:
        return {"noise_multiplier": self.noise_multiplier, "bonus_multiplier": self.bonus_multiplier}

    def index(self, list_length: int) -> Index:
        return self._cascade().index(list_length)

    def noise(self, list_length: int) -> Noise:
        return self._cascade().noise(list_length)


@dataclass(frozen=True, kw_only=True)
class GaussianCUCB(_LocalCUCB):
    r"""Algorithm 4 of [Wang2021]: outcomes are sent with N(0, sigma^2), sigma = sqrt(2 K ln(1.25 / delta)) / epsilon.

    Index: mean + sqrt(1.5 log t / n) + noise part; ``version="printed"``: (2 / epsilon) sqrt(2 K log(1.25 / delta)
    log t / n), whose proof lacks a union over n; ``"corrected"``: (2 / epsilon) sqrt(K log(1.25 / delta) log(2 t^3) /
    n). Theorem 8 claims (epsilon, delta)-LDP: true for ``initial="private"`` while Lemma 3 is. ``initial="raw"`` takes
    the m initial observations without noise, as printed.

    Departures from the pseudo-code, as its proof needs: the oracle is given all m indices (printed: K), and the arms of
    the super arm are updated (printed: 1 to K).
    """

    delta: float
    label: ClassVar[str] = "gaussian cucb"

    def _cascade(self) -> GaussianLDP:
        return GaussianLDP(epsilon=self.epsilon, delta=self.delta, **self._multipliers())

    def index(self, list_length: int) -> Index:
        """The bonus of an item, for lists of this length."""
        corrected = super().index(list_length)
        if self.version == "corrected":
            return corrected
        return Index(a=corrected.a + 2.0 * self.bonus_multiplier * self._cascade().sigma(list_length))


@dataclass(frozen=True, kw_only=True)
class LaplaceCUCB(_LocalCUCB):
    """Algorithm 4 with Lap(K / epsilon): epsilon-LDP for ``initial="private"``, since [0, 1]^K has L1 diameter K.

    Index: that of `LaplaceLDP`, printed (Algorithm 2) or corrected (valid at every count).
    """

    label: ClassVar[str] = "laplace cucb"

    def _cascade(self) -> LaplaceLDP:
        return LaplaceLDP(epsilon=self.epsilon, version=self.version, **self._multipliers())
