"""Private empirical risk minimisation over a finite class as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from dpregret import _checks
from dpregret.erm.classes import error_counts
from dpregret.erm.mechanism import Selector


class _ScoreParameter:
    """Assigning to ``estimator.score`` sets the parameter; reading it gives scikit-learn's method of that name."""

    def __get__(self, instance, owner=None):
        method = ClassifierMixin.score
        return method if instance is None else method.__get__(instance)

    def __set__(self, instance, value):
        instance.__dict__["score"] = value


@dataclass(frozen=True, eq=False)
class Release:
    """What a fit releases, and nothing else: the chosen rule, and the public parameters that it is read with.

    Attributes
    ----------
    index : int
        The chosen hypothesis, the only thing here that depends on the data.
    hypotheses, classes, epsilon, n_features
        Public: the finite class, the two labels, the epsilon promised, the number of features.
    """

    index: int
    hypotheses: Any
    classes: tuple
    epsilon: float
    n_features: int

    def rule(self, feature_names: Sequence[str] | None = None) -> str:
        """The chosen rule in words, such as ``"1 if feature 3 >= 0.25, else 0"`` or ``"always 0"``.

        For a class that cannot say it (without `rule`, such as `Functions`) its number: ``"hypothesis 7"``.
        """
        if not hasattr(self.hypotheses, "rule"):
            return f"hypothesis {self.index}"
        condition = self.hypotheses.rule(self.index, feature_names, n_features=self.n_features)
        if condition in ("never", "always"):
            return f"always {self.classes[condition == 'always']!r}"
        return f"{self.classes[1]!r} if {condition}, else {self.classes[0]!r}"

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels of the chosen rule for the rows of X."""
        return np.asarray(self.classes)[self.hypotheses.predictions(np.asarray(X, dtype=np.float64), self.index)]


class Audit(NamedTuple):
    """What the choice was drawn from: a function of the data that is not private."""

    error_counts: np.ndarray
    probabilities: np.ndarray


class ExponentialMechanismClassifier(ClassifierMixin, BaseEstimator):
    """One hypothesis of a finite class, chosen by the exponential mechanism on its training errors.

    The choice is epsilon-differentially private: one record added or removed, whatever its features and label. To that
    end nothing about the classifier is read off the data: the labels are declared (``classes``), a record with another
    label or with a feature that is not finite counts as an error of every hypothesis, and no exception depends on the
    values of the records. X is an array of numbers and y an array or a list: the type of an array is public, labels
    in a list are read one by one, and a feature that has to be converted to a number is outside the domain.

    What may leave is ``released_``, a `Release`. The fitted estimator itself keeps nothing else that depends on the
    data, and a pickle or copy of it leaves ``random_state`` out. `audit` computes the error counts and the law of the
    choice anew from the data, for the study of the mechanism: these are not private.

    What the promise does not cover:

    - **Seeds.** Whoever knows ``random_state`` (an integer, say) can repeat the draw: the choice is then a known
      function of the data and not private at all. An integer is for repeatable experiments; the default draws from the
      system's entropy. Two fits with one seed are not independent.
    - **What is fitted before it.** A scaler, an imputer or a feature selection fitted on the same data in a
      ``Pipeline`` makes the class a function of the data, and nothing is promised. Transform by declared constants
      (``FunctionTransformer``), and declare the ranges of `Stumps`.
    - **Many fits.** Every fit on the same records spends epsilon anew: cross-validation, a grid search and its refit
      add up, to ``g (v - 1) + 1`` epsilon for g settings and v folds (a record is in all training sets of a setting
      but one), and their scores are functions of the data without any noise.
    - **The ranges.** They are part of the class and declared (`Stumps`). On data far outside the box every stump is
      constant, and what is learnt is the more frequent label; no message can tell, as it would depend on the data.
    - **The size of the database.** With the rate score fewer than ``n_min`` records are refused, and the refusal tells
      that there are fewer: such databases are outside the domain. The number of features is public.

    Of scikit-learn's estimator checks it does not meet those that ask for the labels to be read off the data, for an
    exception that depends on the data, or for an accuracy that no private choice can promise.

    Parameters
    ----------
    hypotheses : finite class
        `Stumps`, `Functions`, or anything with their two methods; fixed without regard to the data.
    epsilon : float
        Privacy parameter > 0.
    classes : pair of labels
        The public labels: hypotheses predict 0 for the first and 1 for the second.
    n_min : int, optional
        Public lower bound on the number of records, for the rate score; the count score needs none.
    score : "rate" or "count"
        ``rate`` is the text's ``exp(-eps n_min err / (2 m))``; ``count`` is ``exp(-eps err)``, epsilon-private on all
        databases. The method ``score(X, y)`` is the accuracy, as in every classifier.
    mechanism : "exponential" or "permute_and_flip"
    random_state : int, numpy RandomState or Generator, or None

    Attributes
    ----------
    released_ : Release
        What may be released.
    index_ : int
        The chosen hypothesis, ``released_.index``.
    n_hypotheses_ : int
        K.
    worst_class_epsilon_ : float
        The smallest epsilon that holds for every class of K hypotheses on the whole domain
        (`dpregret.erm.mechanism.exact_epsilon`), at most ``epsilon``. A given class may have less.
    classes_, n_features_in_
        As in scikit-learn; ``classes_`` in the declared order.

    Raises
    ------
    ValueError
        From ``fit``: for parameters out of range, an empty class, X and y of wrong shapes, fewer than ``n_min``
        records with the rate score.
    """

    score = _ScoreParameter()

    def __init__(
        self, hypotheses, *, epsilon, classes, n_min=None, score="rate", mechanism="exponential", random_state=None
    ):
        self.hypotheses = hypotheses
        self.epsilon = epsilon
        self.classes = classes
        self.n_min = n_min
        self.score = score
        self.mechanism = mechanism
        self.random_state = random_state

    def get_params(self, deep=True):
        """The parameters, ``score`` among them."""
        names = self._get_param_names()
        return {name: vars(self)[name] for name in names}

    def fit(self, X, y):
        """Choose a hypothesis, by one draw from ``random_state``."""
        selector, classes = self._selector(), self._labels()
        X, errors = self._errors(X, y, selector, classes, reset=True)
        index = selector.sample(errors, len(X), _generator(self.random_state))
        self.classes_ = np.array(classes)
        self.n_hypotheses_ = len(errors)
        self.worst_class_epsilon_ = selector.value_epsilon(self.n_hypotheses_)
        self.released_ = Release(index, self.hypotheses, classes, selector.epsilon, X.shape[1])
        return self

    @property
    def index_(self):
        """The index of the chosen rule in the class."""
        check_is_fitted(self)
        return self.released_.index

    def predict(self, X):
        """Labels of the chosen hypothesis; X must be finite."""
        check_is_fitted(self)
        return self.released_.predict(validate_data(self, X, reset=False, dtype=np.float64))

    def audit(self, X, y):
        """The numbers of errors and the law that ``fit(X, y)`` draws from, an `Audit`. Not private."""
        selector = self._selector()
        X, errors = self._errors(X, y, selector, self._labels(), reset=False)
        return Audit(errors, selector.probabilities(errors, len(X)))

    def value_epsilon(self, n_features):
        """The smallest epsilon that holds for every class of as many hypotheses, on the whole declared domain.

        From the law that is drawn (`dpregret.erm.mechanism.Selector.value_epsilon`).
        """
        return self._selector().value_epsilon(_size(self.hypotheses, n_features))

    def effective_epsilon(self, n_features):
        """The privacy of all that leaves, ``released_``, for all neighbours in the domain: `value_epsilon`.

        Under the conditions that the class names: a seed that is not known, nothing fitted before, one fit.
        """
        return self._selector().effective_epsilon(_size(self.hypotheses, n_features))

    def _selector(self):
        return Selector(
            epsilon=self.epsilon, n_min=self.n_min, score=self.get_params()["score"], mechanism=self.mechanism
        )

    def _labels(self):
        """The declared labels, as a pair."""
        labels = np.asarray(self.classes) if np.iterable(self.classes) else np.empty(0)
        if labels.shape != (2,) or labels.dtype.kind not in "biufUS" or len(np.unique(labels)) != 2:
            raise ValueError(f"classes must be two different labels, numbers or strings, got {self.classes!r}")
        if labels.dtype.kind in "US" and not all(isinstance(label, (str, bytes)) for label in self.classes):
            raise ValueError(f"classes must be of one type, got {self.classes!r}")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ValueError(f"classes must be finite, got {self.classes!r}")
        return tuple(labels.tolist())

    def _errors(self, X, y, selector, classes, *, reset):
        """X as an array, and the numbers of errors; refusals concern shapes and types, and n_min."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=1
        )
        y = _entries(y)
        check_consistent_length(X, y)
        if selector.score == "rate" and len(X) < selector.n_min:
            raise ValueError(f"X must have at least n_min = {selector.n_min} records for the rate score, got fewer")
        labels = np.full(len(y), -1, dtype=np.int8)  # -1: no hypothesis predicts it
        for position, label in enumerate(classes):
            labels[_equal(y, label)] = position
        finite = np.isfinite(X).all(axis=1)
        labels[~finite] = -1
        _size(self.hypotheses, X.shape[1])
        return X, error_counts(self.hypotheses, np.where(finite[:, None], X, 0.0), labels)

    def __getstate__(self):
        state = super().__getstate__()
        return state | {"random_state": None} if "released_" in state else state

    def __sklearn_is_fitted__(self):
        return "released_" in vars(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _size(hypotheses, n_features):
    if isinstance(hypotheses, type) or not all(
        callable(getattr(hypotheses, name, None)) for name in ("size", "predictions")
    ):
        raise ValueError(
            f"hypotheses must be a finite class with size and predictions, such as Stumps(low, high) or "
            f"Functions([f, g]), got {hypotheses!r}"
        )
    size = _checks.integer("hypotheses.size", hypotheses.size(n_features))
    if size < 1:
        raise ValueError(f"hypotheses must have at least one hypothesis, got {size}")
    return size


def _entries(y):
    """The labels as an array; those of a list one by one, as a common type would let one record change the others."""
    if hasattr(y, "__array__"):
        return column_or_1d(y, warn=True)
    if not np.iterable(y) or isinstance(y, (str, bytes)):
        raise ValueError(f"y must be an array or a list of labels, got an object of type {type(y).__name__}")
    entries = list(y)
    labels = np.empty(len(entries), dtype=object)
    for i, entry in enumerate(entries):
        labels[i] = entry
    return labels


def _equal(y, label):
    """Which labels are this one, each by itself; labels of another type are not."""
    if y.dtype != object:
        found = y == label
        return found if isinstance(found, np.ndarray) else np.zeros(len(y), dtype=bool)
    return np.array([_same(entry, label) for entry in y], dtype=bool)


def _same(entry, label):
    try:
        return bool(np.ndim(entry) == 0 and entry == label)
    except Exception:  # whatever comparing a foreign object may raise would tell
        return False


def _generator(random_state):
    if random_state is None:
        return np.random.default_rng()  # not numpy's global generator, which a seed elsewhere would determine
    return random_state if hasattr(random_state, "standard_exponential") else check_random_state(random_state)
