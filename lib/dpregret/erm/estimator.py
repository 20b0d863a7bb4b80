"""Private empirical risk minimisation over a finite class as a scikit-learn classifier."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from dpregret import _checks
from dpregret.erm.classes import error_counts
from dpregret.erm.mechanism import MECHANISMS, SCORES, exact_epsilon, selection_probabilities


class _ScoreParameter:
    """Assigning to ``estimator.score`` sets the parameter; reading it gives scikit-learn's method of that name."""

    def __get__(self, instance, owner=None):
        method = ClassifierMixin.score
        return method if instance is None else method.__get__(instance)

    def __set__(self, instance, value):
        instance.__dict__["score"] = value


class ExponentialMechanismClassifier(ClassifierMixin, BaseEstimator):
    """One hypothesis of a finite class, chosen by the exponential mechanism on its training errors.

    The chosen hypothesis is epsilon-differentially private (one record added or removed). Only ``index_`` and what
    follows from it may be released: ``error_counts_`` and ``probabilities_`` are there to study the mechanism and are
    not private. The labels ``classes_`` and the number of features count as public.

    It meets scikit-learn's estimator checks, but for one at a small epsilon: ``check_classifiers_train`` asks for a
    training accuracy of 0.83, which no private choice from a few hundred records can promise there.

    Parameters
    ----------
    hypotheses : finite class
        `Stumps`, `HalfSpaces`, `Functions`, or anything with their two methods; fixed without regard to the data.
    epsilon : float
        Privacy parameter > 0.
    n_min : int
        Public lower bound on the number of records. With the rate score fewer records are refused, since the mechanism
        is not epsilon-private there (the refusal itself tells that there are fewer).
    score : "rate" or "count"
        ``rate`` is the text's ``exp(-eps n_min err / (2 m))``; ``count`` is ``exp(-eps err)``, epsilon-private on all
        databases. The method ``score(X, y)`` is the accuracy, as in every classifier.
    mechanism : "exponential" or "permute_and_flip"
    random_state : int, numpy RandomState or None

    Attributes
    ----------
    index_ : int
        The chosen hypothesis.
    n_hypotheses_ : int
        K.
    epsilon_ : float
        The exact epsilon for K hypotheses (`dpregret.erm.mechanism.exact_epsilon`), at most ``epsilon``.
    classes_, n_features_in_
        As in scikit-learn. Hypotheses predict positions in ``classes_``.

    Raises
    ------
    ValueError
        From ``fit``: for more than two labels, fewer than ``n_min`` records with the rate score, an empty class,
        parameters out of range.
    """

    score = _ScoreParameter()

    def __init__(self, hypotheses, *, epsilon, n_min, score="rate", mechanism="exponential", random_state=None):
        self.hypotheses = hypotheses
        self.epsilon = epsilon
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
        options = {"epsilon": self.epsilon, "score": self.get_params()["score"], "mechanism": self.mechanism}
        _checks.epsilon(self.epsilon)
        _checks.choice("score", options["score"], SCORES)
        _checks.choice("mechanism", self.mechanism, MECHANISMS)
        n_min = _checks.integer("n_min", self.n_min, at_least=1)
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            kind = type_of_target(y, input_name="y")
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        if options["score"] == "rate" and len(X) < n_min:
            raise ValueError(f"X must have at least n_min = {n_min} records for the rate score, got n_samples={len(X)}")
        self.n_hypotheses_ = self.hypotheses.size(X.shape[1])
        self.error_counts_ = error_counts(self.hypotheses, X, labels)
        self.probabilities_ = selection_probabilities(self.error_counts_, n_records=len(X), n_min=n_min, **options)
        self.index_ = int(check_random_state(self.random_state).choice(self.n_hypotheses_, p=self.probabilities_))
        self.epsilon_ = exact_epsilon(n_hypotheses=self.n_hypotheses_, n=n_min, **options)
        return self

    def predict(self, X):
        """Labels of the chosen hypothesis."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        positions = self.hypotheses.predictions(X, self.index_)
        return self.classes_[np.minimum(positions, len(self.classes_) - 1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
