"""Broken twins of the selector and the estimator: the check that the cards call says `fails` for each."""

import dataclasses
import math

import numpy as np
import pytest

from dpregret.erm import ExponentialMechanismClassifier, Functions, Release, Selector
from dpregret.privacy.discrete import PermuteAndFlip
from evidence.erm import audit

SELECTORS = [
    {"n_min": 3},
    {"n_min": 3, "mechanism": "permute_and_flip"},
    {"score": "count"},
    {"score": "count", "mechanism": "permute_and_flip"},
]


class DoubledLaw(Selector):
    """Half the noise of the exponential mechanism, behind an honest `exponent`."""

    def probabilities(self, errors, n_records):
        law = super().probabilities(errors, n_records) ** 2
        return law / law.sum()

    def sample(self, errors, n_records, rng):
        if self.mechanism == "exponential":
            return super().sample(errors, n_records, rng)
        errors = np.asarray(errors)
        noise = rng.standard_exponential(len(errors)) / 2
        return int(np.argmax(self.exponent(n_records) * (errors.min() - errors) + noise))


class DoubledExponent(Selector):
    def exponent(self, n_records):
        return 2 * super().exponent(n_records)


class Greedy(Selector):
    """The best hypothesis, without asking for noise."""

    def sample(self, errors, n_records, rng):
        return int(np.argmin(errors))


class SameSeed(Selector):
    """A generator of its own, with one seed (whose number lies near 1/2, where the choice depends on the data)."""

    def sample(self, errors, n_records, rng):
        return super().sample(errors, n_records, np.random.default_rng(4736))


class Unbounded(Selector):
    """The rate score below n_min, as if the database had n_min records at least."""

    def exponent(self, n_records):
        return self.epsilon * 10 / n_records / 2


def worst(selector):
    return audit.enumerated_epsilon(selector, n_hypotheses=2, n_records=[3, 4])


@pytest.mark.parametrize("options", SELECTORS)
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_the_selector_keeps_its_promise_and_its_twins_do_not(options, epsilon):
    options = options | {"epsilon": epsilon}
    honest = Selector(**options)
    assert worst(honest).word(honest.value_epsilon(2)) == "holds"
    assert worst(honest).word(epsilon) == "holds"
    for twin in (DoubledLaw, DoubledExponent, Greedy, SameSeed):
        assert worst(twin(**options)).word(honest.value_epsilon(2)) == "fails", twin
    assert math.isinf(worst(Greedy(**options)).epsilon)
    assert DoubledExponent(**options).value_epsilon(2) > honest.value_epsilon(2) * 1.2


def test_where_the_worst_pair_is():
    found = worst(Selector(epsilon=1.0, n_min=3))
    assert (found.errors, found.n_records, found.other_errors, found.other_records) == ((0, 3), 3, (1, 3), 4)
    assert found.epsilon == pytest.approx(Selector(epsilon=1.0, n_min=3).value_epsilon(2), rel=1e-9, abs=0)
    replaced = audit.enumerated_epsilon(
        Selector(epsilon=1.0, n_min=4), n_hypotheses=2, n_records=4, neighbours="replace"
    )
    assert replaced.other_records == replaced.n_records == 4
    # by hand: log-odds move from 2 to 1 when a record changes sides
    assert replaced.epsilon == pytest.approx(math.log((1 + math.exp(2)) / (1 + math.exp(1))), rel=1e-12, abs=0)
    one_sided = audit.enumerated_epsilon(
        Selector(epsilon=1.0, n_min=3), n_hypotheses=2, n_records=3, patterns=[(0, 0), (1, 1)]
    )
    assert one_sided.epsilon == 0.0
    law = audit.enumerated_epsilon(lambda errors, m: Unbounded(epsilon=1.0, n_min=1).probabilities(errors, m),
                                   n_hypotheses=2, n_records=1)  # fmt: skip
    assert law.word(1.0) == "fails"


def test_the_recorded_law_is_the_law():
    errors = np.array([2, 0, 5, 3])
    for options in SELECTORS:
        selector = Selector(epsilon=0.7, **options)
        np.testing.assert_allclose(
            audit.drawn_law(selector, errors, 6), selector.probabilities(errors, 6), rtol=1e-12, atol=0
        )


def test_the_law_of_the_noisy_maximum():
    scores = np.array([0.0, -0.3, -2.0, -2.0, -7.0])
    np.testing.assert_allclose(
        audit.noisy_maximum_law(scores), PermuteAndFlip(epsilon=2.0, sensitivity=1.0).probabilities(scores), rtol=1e-12
    )
    with pytest.raises(ValueError, match="at most 16 entries here, got 17"):
        audit.noisy_maximum_law(np.zeros(17))


CONSTANTS = Functions([lambda X: np.zeros(len(X)), lambda X: np.ones(len(X))])
PAIR = (np.zeros((10, 1)), np.ones(10)), (np.zeros((11, 1)), np.r_[np.ones(10), 0.0])


class ReadLabels(ExponentialMechanismClassifier):
    """The labels read off the data."""

    def fit(self, X, y):
        found, y = np.unique(y, return_inverse=True)
        self.classes = (0, 1) if len(found) == 2 else (0, 7)
        return super().fit(X, y)


class RefusesOthers(ExponentialMechanismClassifier):
    def fit(self, X, y):
        if not np.isin(y, self.classes).all():
            raise ValueError("y must hold the classes only")
        return super().fit(X, y)


class KeepsCounts(ExponentialMechanismClassifier):
    def fit(self, X, y):
        super().fit(X, y)
        self.error_counts_ = self.audit(X, y).error_counts
        return self


class ReleasesCounts(ExponentialMechanismClassifier):
    def fit(self, X, y):
        super().fit(X, y)
        counts = tuple(self.audit(X, y).error_counts.tolist())
        self.released_ = dataclasses.replace(self.released_, epsilon=counts)
        return self


class OwnSeed(ExponentialMechanismClassifier):
    def fit(self, X, y):
        self.random_state = 6088
        return super().fit(X, y)


class HalvedNoise(ExponentialMechanismClassifier):
    def _selector(self):
        return DoubledExponent(
            epsilon=self.epsilon, n_min=self.n_min, score=self.get_params()["score"], mechanism=self.mechanism
        )


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
@pytest.mark.parametrize("score", ["rate", "count"])
def test_the_estimator_keeps_its_promise_and_its_twins_do_not(score, mechanism):
    def word(kind, pair=PAIR):
        model = kind(CONSTANTS, epsilon=1.0, classes=(0, 1), n_min=10, score=score, mechanism=mechanism)
        return audit.release_epsilon(model, *pair).word(1.0)

    third = PAIR[0], (np.zeros((11, 1)), np.r_[np.ones(10), 2.0])
    assert word(ExponentialMechanismClassifier) == "holds"
    assert word(ExponentialMechanismClassifier, third) == "holds"
    for twin in (ReadLabels, KeepsCounts, ReleasesCounts, HalvedNoise):
        assert word(twin) == "fails", twin
    assert word(RefusesOthers, third) == "fails"
    model = ReleasesCounts(CONSTANTS, epsilon=1.0, classes=(0, 1), n_min=10, score=score, mechanism=mechanism)
    assert audit.release_epsilon(model, *PAIR).reason == "what is released differs at the same choice"
    sides = [
        (np.zeros((10 + more, 1)), np.r_[np.ones(5), np.zeros(5), [label] * more]) for more, label in ((1, 0), (1, 1))
    ]
    even = np.zeros((10, 1)), np.r_[np.ones(5), np.zeros(5)]
    assert "fails" in {word(OwnSeed, (even, side)) for side in sides}
    assert {word(ExponentialMechanismClassifier, (even, side)) for side in sides} == {"holds"}


def test_a_release_is_what_it_says():
    fields = [field.name for field in dataclasses.fields(Release)]
    assert fields == ["index", "hypotheses", "classes", "epsilon", "n_features"]
