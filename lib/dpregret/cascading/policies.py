"""The policies of [Wang2021] under local privacy, and the non-private policy they extend.

``noise_multiplier`` and ``bonus_multiplier`` scale the injected noise and the part of the index that accounts for it.
The text multiplies "all noises by 0.01" in its experiments; both at 1 is the algorithm as printed.

As printed these policies observe the weights of user 0 without noise, and for K >= 2 the number of values that a user
sends reveals the click: the guarantees of Theorems 3, 5 and 7 fail for every epsilon. ``effective_epsilon`` says so: it
is about any two users and everything that leaves them. ``value_epsilon`` is the privacy of the noisy values alone, for
two users who examine the same positions. Both are computed from the noise that is drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpregret import _checks
from dpregret.cascading.learner import Index, IndexLearner, IndexRule, Noise
from dpregret.privacy import composition
from dpregret.privacy.mechanisms import Gaussian

_ROOT = math.sqrt(1.5)  # the coefficient of sqrt(log t / n) for the Bernoulli part


def _sensitivity(list_length: int, sensitivity: str) -> float:
    """Largest number of changed values: K as the text counts, or 2 (1 if K = 1), since a user clicks at most once."""
    _checks.choice("sensitivity", sensitivity, ("printed", "click"))
    return float(list_length if sensitivity == "printed" else min(list_length, 2))


class IndexPolicy:
    """A policy that shows the K items of largest upper confidence bound and averages the values it is sent."""

    @property
    def initial_observation(self) -> bool:
        """Whether user 0 is observed raw ("Observe w_0")."""
        return True

    def index(self, list_length: int) -> Index:
        """The bonus of an item, for lists of this length."""
        raise NotImplementedError

    def noise(self, list_length: int) -> Noise:
        """The noise on each value that is sent."""
        raise NotImplementedError

    def learner(self, n_items: int, list_length: int, horizon: int) -> IndexLearner:
        """A learner for one run."""
        return IndexLearner(n_items, list_length, self.index(list_length), self.noise(list_length))

    def rule(self, n_items: int, list_length: int, horizon: int) -> IndexRule:
        """The compiled twin of the learner; see `dpregret.cascading.play`."""
        return IndexRule(self.index(list_length), self.noise(list_length))

    def value_epsilon(self, list_length: int, *, sensitivity: str = "printed") -> float:
        """The privacy of the noisy values alone, for two users who examine the same positions.

        ``sensitivity="printed"``: K values change, as the text counts; ``"click"``: 2 (1 if K = 1), as they really do.
        """
        raise NotImplementedError

    def effective_epsilon(self, list_length: int) -> float:
        """The privacy of everything that leaves a user, for any two users, user 0 among them.

        Infinite for K >= 2, since the number of values reveals the click (theorem "Algorithms 2, 3 and the composition
        variant are not locally private" of the book), and wherever user 0 is observed raw. Otherwise one noisy value.
        """
        if _checks.integer("list_length", list_length, at_least=1) > 1 or self.initial_observation:
            return math.inf
        return self.value_epsilon(1)


@dataclass(frozen=True)
class CascadeUCB1(IndexPolicy):
    """CascadeUCB1 of [Kveton2015]: no noise, index mean + sqrt(1.5 log t / n). Not private."""

    label = "non-private"

    def index(self, list_length: int) -> Index:
        """The bonus of an item, for lists of this length."""
        return Index(a=_ROOT)

    def noise(self, list_length: int) -> Noise:
        """The noise on each value that is sent."""
        return Noise(0, 0.0)

    def value_epsilon(self, list_length: int, *, sensitivity: str = "printed") -> float:
        """See `IndexPolicy`."""
        distance = _sensitivity(list_length, sensitivity)
        return self.noise(list_length).epsilon(l1=distance, l2=math.sqrt(distance))


@dataclass(frozen=True, kw_only=True)
class LocalIndexPolicy(IndexPolicy):
    """What the locally private policies share."""

    epsilon: float
    noise_multiplier: float = 1.0
    bonus_multiplier: float = 1.0
    version: str = "printed"

    def __post_init__(self) -> None:
        _checks.epsilon(self.epsilon)
        _checks.real("noise_multiplier", self.noise_multiplier, above=0.0)
        _checks.real("bonus_multiplier", self.bonus_multiplier, at_least=0.0)
        _checks.choice("version", self.version, ("printed", "corrected"))

    @property
    def initial_observation(self) -> bool:
        """Whether user 0 is observed raw: as printed."""
        return self.version == "printed"


def _sub_gamma_index(scale: float) -> Index:
    """The index for Laplace noise of this scale that is valid for every number of observations."""
    return Index(a=_ROOT + scale * math.sqrt(12.0), d=3.0 * scale)


@dataclass(frozen=True, kw_only=True)
class LaplaceLDP(LocalIndexPolicy):
    r"""Algorithm 2 of [Wang2021]: each examined position is sent with Lap(K / epsilon).

    Index: mean + sqrt(1.5 log t / n) + (K / epsilon) sqrt(24 log t / n). Theorem 3 claims epsilon-LDP (false for
    K >= 2), Theorem 4 the regret (false). ``version="corrected"`` replaces the last term by
    :math:`(K / \varepsilon)(\sqrt{12 \log t / n} + 3 \log t / n)`, which is valid for every n, and observes nobody raw;
    theorem "Regret of Algorithm 2, corrected" of the book bounds its regret.

    The printed update divides before it adds up; sums are kept here, which is the same mean.
    """

    label = "laplace"

    def index(self, list_length: int) -> Index:
        """The bonus of an item, for lists of this length."""
        scale = self.bonus_multiplier * list_length / self.epsilon
        if self.version == "corrected":
            return _sub_gamma_index(scale)
        return Index(a=_ROOT + scale * math.sqrt(24.0))

    def noise(self, list_length: int) -> Noise:
        """The noise on each value that is sent."""
        return Noise(1, self.noise_multiplier * list_length / self.epsilon)

    def value_epsilon(self, list_length: int, *, sensitivity: str = "printed") -> float:
        """See `IndexPolicy`."""
        distance = _sensitivity(list_length, sensitivity)
        return self.noise(list_length).epsilon(l1=distance, l2=math.sqrt(distance))


@dataclass(frozen=True, kw_only=True)
class GaussianLDP(LocalIndexPolicy):
    """Algorithm 3 of [Wang2021]: Gaussian noise of sigma = sqrt(2 K ln(1.25 / delta)) / epsilon on each value.

    Index: mean + sqrt(1.5 log t / n) + sigma sqrt(2 log(2 t^3) / n). Theorem 5 claims (epsilon, delta)-LDP (false for
    K >= 2), Theorem 6 the regret. The index is valid for every n; ``version="corrected"`` keeps it, and observes nobody
    raw: an item never observed comes first. The proof of theorem "Theorem 6 is true as printed" of the book bounds the
    regret of both, with one display of each item on top where nobody is observed raw.
    """

    delta: float
    label = "gaussian"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.delta(self.delta)

    def sigma(self, list_length: int) -> float:
        """The printed standard deviation, before ``noise_multiplier``."""
        return Gaussian.classical(epsilon=self.epsilon, delta=self.delta, sensitivity=math.sqrt(list_length)).sigma

    def index(self, list_length: int) -> Index:
        """The bonus of an item, for lists of this length."""
        # 2 log(2 t^3) = 6 (log t + log(2) / 3)
        scale = self.bonus_multiplier * self.sigma(list_length)
        return Index(a=_ROOT, b=scale * math.sqrt(6.0), c=math.log(2.0) / 3.0)

    def noise(self, list_length: int) -> Noise:
        """The noise on each value that is sent."""
        return Noise(2, self.noise_multiplier * self.sigma(list_length))

    def value_epsilon(self, list_length: int, *, sensitivity: str = "printed") -> float:
        """At the policy's delta, from the exact privacy profile of the Gaussian mechanism; see `IndexPolicy`."""
        distance = _sensitivity(list_length, sensitivity)
        return self.noise(list_length).epsilon(l1=distance, l2=math.sqrt(distance), delta=self.delta)


@dataclass(frozen=True, kw_only=True)
class CompositionLDP(LocalIndexPolicy):
    """The variant of Theorem 7 of [Wang2021]: Laplace noise of scale sqrt(4 K log(e + epsilon / delta)) / epsilon.

    Index: mean + sqrt(1.5 log t / n) + (4 / epsilon) sqrt(6 K log(e + epsilon / delta) log t / n). The composition
    theorem (Lemma 4) is stated for epsilon <= 0.9; larger values are accepted, since the text's experiments use them.

    ``version="corrected"`` is that of `LaplaceLDP` at this scale b: the last term becomes
    b (sqrt(12 log t / n) + 3 log t / n), and nobody is observed raw. Theorem "Regret of Algorithm 2, corrected" of the
    book bounds its regret, since its proof is for every b.
    """

    delta: float
    label = "composition"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.delta(self.delta)

    def _scale(self, list_length: int) -> float:
        return math.sqrt(4.0 * list_length * math.log(math.e + self.epsilon / self.delta)) / self.epsilon

    def index(self, list_length: int) -> Index:
        """The bonus of an item, for lists of this length."""
        if self.version == "corrected":
            return _sub_gamma_index(self.bonus_multiplier * self._scale(list_length))
        return Index(a=_ROOT + self.bonus_multiplier * math.sqrt(24.0) * self._scale(list_length))

    def noise(self, list_length: int) -> Noise:
        """The noise on each value that is sent."""
        return Noise(1, self.noise_multiplier * self._scale(list_length))

    def value_epsilon(self, list_length: int, *, sensitivity: str = "printed") -> float:
        """At the policy's delta, from the optimal composition of the changed values' mechanisms; see `IndexPolicy`."""
        changed = int(_sensitivity(list_length, sensitivity))
        single = self.noise(list_length).epsilon(l1=1.0, l2=1.0)
        return composition.optimal_epsilon(epsilon=single, k=changed, target_delta=self.delta)


#: Three readings of "all noises are multiplied by 0.01" (Section 7 of [Wang2021]): the multipliers that each one means.
READINGS = {
    "noise and bonus": {"noise_multiplier": 0.01, "bonus_multiplier": 0.01},
    "noise only": {"noise_multiplier": 0.01, "bonus_multiplier": 1.0},
    "honest": {"noise_multiplier": 1.0, "bonus_multiplier": 1.0},
}


def reading_multipliers(reading: str) -> dict[str, float]:
    """The keyword arguments of a policy for one of ``READINGS``."""
    return dict(READINGS[_checks.choice("reading", reading, READINGS)])
