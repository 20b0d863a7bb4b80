"""The scikit-learn classifier: scikit-learn's own checks, pipelines, cross-validation, refusals."""

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpregret.erm import (
    ExponentialMechanismClassifier,
    Functions,
    Stumps,
    exact_epsilon,
)
from dpregret.simulation import generator
from evidence.erm import audit

STUMPS = Stumps(-4.0, 4.0, 16)
LABELS = ("no", "yes")
CHECKED = [
    ExponentialMechanismClassifier(STUMPS, epsilon=0.1, classes=(0, 1), n_min=5, random_state=0),
    ExponentialMechanismClassifier(STUMPS, epsilon=20.0, classes=(0, 1), n_min=5, random_state=0),
    ExponentialMechanismClassifier(STUMPS, epsilon=20.0, classes=(0, 1), score="count", random_state=0),
    ExponentialMechanismClassifier(
        STUMPS, epsilon=20.0, classes=(0, 1), score="count", mechanism="permute_and_flip", random_state=0
    ),
]


def expected_failures(estimator):
    """What cannot be met by a choice that is private on all databases of the domain."""
    declared = "the labels are declared, not read off the data"
    silent = "an exception would tell what the records hold"
    failures = {
        "check_classifiers_classes": declared,
        "check_classifier_not_supporting_multiclass": silent,
        "check_classifiers_regression_target": silent,
        "check_estimators_nan_inf": silent,
        "check_supervised_y_no_nan": silent,
    }
    if estimator.get_params()["score"] == "rate":
        failures["check_fit2d_1sample"] = "the refusal does not tell the number of records"
    else:
        failures["check_estimators_empty_data_messages"] = "the empty database is in the domain of the count score"
    if estimator.epsilon < 1:
        accuracy = "asks for an accuracy that a private choice cannot promise at a small epsilon"
        failures |= {"check_classifiers_train": accuracy, "check_classifiers_one_label": accuracy}
    return failures


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def constants(*labels):
    return Functions([lambda X, label=label: np.full(len(X), label) for label in labels])


def records(*labels):
    return np.zeros((len(labels), 1)), np.array(labels)


def make(hypotheses=None, **options):
    options = {"epsilon": 1.0, "classes": (0, 1), "n_min": 10, "random_state": 0} | options
    return ExponentialMechanismClassifier(constants(0, 1) if hypotheses is None else hypotheses, **options)


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
@pytest.mark.parametrize("score", ["rate", "count"])
@pytest.mark.parametrize("added", [0, 1, 2, -1])
def test_one_more_record_of_any_label_keeps_the_promise(score, mechanism, added):
    """Ten records of one label against the same with one more: labels read off the data would give 5 to 10.7."""
    model = make(score=score, mechanism=mechanism)
    for hypotheses in (constants(0, 1), constants(0, 1, 1, 0)):
        model.set_params(hypotheses=hypotheses)
        found = audit.release_epsilon(model, records(*[1] * 10), records(*[1] * 10, added))
        assert found.word(model.value_epsilon(1)) == "holds"
        assert found.epsilon <= model.value_epsilon(1) * (1 + 1e-9) <= 1 + 1e-9


def test_the_pair_of_one_label_and_two():
    pair = records(*[1] * 10), records(*[1] * 10, 0)
    for score, mechanism, expected in (
        ("rate", "exponential", 0.899220541165909),  # the worst pair of the rate score
        ("rate", "permute_and_flip", 10 / 11),
        ("count", "exponential", 1 + math.log1p(math.exp(-10)) - math.log1p(math.exp(-9))),
        ("count", "permute_and_flip", 1.0),
    ):
        found = audit.release_epsilon(make(score=score, mechanism=mechanism), *pair).epsilon
        assert found == pytest.approx(expected, rel=1e-9, abs=0)


def test_foreign_labels_and_features_are_errors_of_every_hypothesis():
    X = np.array([[0.0], [1.0], [2.0], [np.nan], [np.inf]])
    X2 = np.vstack([X, X[:3]])
    y = np.array([0, 1, 2, 1, 0, np.nan, -1, 0.5])
    counts = make(n_min=1).audit(X2, y).error_counts
    assert counts.tolist() == [7, 7]  # one record of each label is right for one of the two
    words = np.array(["no", "yes", "perhaps", None, 3, ("no",), b"no", "yes "], dtype=object)
    assert make(n_min=1, classes=LABELS).audit(np.zeros((8, 1)), words).error_counts.tolist() == [7, 7]
    assert make(n_min=1, classes=LABELS).audit(np.zeros((3, 1)), np.array([0, 1, 2])).error_counts.tolist() == [3, 3]
    assert make(n_min=1).audit(np.zeros((2, 1)), np.array(["0", "1"])).error_counts.tolist() == [2, 2]
    for labels in (y, words):
        assert make(n_min=1).fit(X2, labels).index_ in (0, 1)
    with pytest.raises(ValueError, match="NaN"):
        make(n_min=1).fit(X2, y).predict(X)


FOREIGN = ["a", math.nan, None, 1j, 2**70, 0.5, (1, 2), [1], b"1", np.array([1, 0]), {"1"}, 10**400]


class Quarrelsome:
    def __eq__(self, other):
        raise RuntimeError("no comparison")

    __hash__ = None


@pytest.mark.parametrize("score", ["rate", "count"])
@pytest.mark.parametrize("label", [*FOREIGN, Quarrelsome()], ids=lambda label: type(label).__name__)
def test_one_label_of_a_list_changes_no_other(label, score):
    """One common type for all labels would make the other forty foreign: a log-ratio of 39 where 1 is promised."""
    X, y = np.array([[1.0], [-1.0]] * 20), [1, 0] * 20
    model = make(Functions([lambda X: X[:, 0] > 0, lambda X: X[:, 0] < 0]), n_min=40, score=score)
    assert model.audit(X, y).error_counts.tolist() == [0, 40]
    more = np.vstack([X, X[:1]]), [*y, label]
    assert model.audit(*more).error_counts.tolist() == [1, 41]
    assert audit.release_epsilon(model, (X, y), more).word(1.0) == "holds"
    large = make(n_min=40, score=score, classes=(2**53, 2**53 + 1))
    labels = [2**53, 2**53 + 1] * 20
    assert large.audit(X, labels).error_counts.tolist() == [20, 20]
    assert large.audit(more[0], [*labels, label]).error_counts.tolist() == [21, 21]


def test_labels_as_arrays_series_and_lists_count_alike():
    X = np.zeros((4, 1))
    for y in (
        [0, 1, 1, 2],
        np.array([0, 1, 1, 2]),
        np.array([0, 1, 1, 2.0]),
        (0, 1, True, 2),
        np.array([0, 1, 1, "2"], object),
    ):
        assert make(n_min=1).audit(X, y).error_counts.tolist() == [3, 2]
    for bad in ("0112", 3):
        with pytest.raises(ValueError, match="y must be an array or a list of labels"):
            make(n_min=1).fit(X, bad)


def test_the_order_of_the_classes_is_the_declared_one():
    X, y = np.zeros((40, 1)), np.array(["no"] * 40)
    for classes, right in ((("no", "yes"), 0), (("yes", "no"), 1)):
        model = make(classes=classes, epsilon=50.0, score="count").fit(X, y)
        assert model.index_ == right
        assert model.classes_.tolist() == list(classes)
        assert model.predict(X[:2]).tolist() == ["no", "no"]


def test_the_empty_database_is_in_the_domain_of_the_count_score():
    model = make(score="count", n_min=None)
    np.testing.assert_array_equal(model.audit(np.zeros((0, 1)), []).probabilities, [0.5, 0.5])
    assert audit.release_epsilon(model, (np.zeros((0, 1)), []), records(1)).word(1.0) == "holds"


def test_what_is_released_is_one_object():
    X, y = data()
    model = make(STUMPS, classes=LABELS, n_min=150).fit(X, y)
    released = model.released_
    fields = {field.name for field in dataclasses.fields(released)}
    assert fields == {"index", "hypotheses", "classes", "epsilon", "n_features"}
    assert released.index == model.index_ and released.epsilon == 1.0 and released.classes == LABELS
    with pytest.raises(dataclasses.FrozenInstanceError):
        released.index = 3
    np.testing.assert_array_equal(released.predict(X), model.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(released)).predict(X), model.predict(X))
    # a pickle or a copy of the fitted estimator has no seed, and nothing of the data beside the choice
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert copied.random_state is None
        assert set(vars(copied)) == {
            "hypotheses", "epsilon", "classes", "n_min", "score", "mechanism", "random_state",
            "n_features_in_", "classes_", "n_hypotheses_", "worst_class_epsilon_", "released_",
        }  # fmt: skip
        np.testing.assert_array_equal(copied.predict(X), model.predict(X))
    assert model.random_state == 0
    assert clone(model).random_state == 0
    assert pickle.loads(pickle.dumps(clone(model))).random_state == 0  # for workers, before the fit


def test_fits_without_a_seed_do_not_depend_on_the_global_one():
    X, y = data()
    chosen = set()
    for _ in range(8):
        np.random.seed(0)  # noqa: NPY002
        chosen.add(make(STUMPS, classes=LABELS, epsilon=0.01, random_state=None).fit(X, y).index_)
    assert len(chosen) > 1  # all equal with probability below (1/30)^7


def test_a_seed_gives_the_inverse_of_its_law():
    X, y = data()
    for seed in range(20):
        model = make(STUMPS, classes=LABELS, epsilon=0.05, random_state=seed).fit(X, y)
        law = model.audit(X, y).probabilities
        uniform = np.random.RandomState(seed).random_sample()
        assert model.index_ == np.searchsorted(np.cumsum(law) / law.sum(), uniform, side="right")
        generators = [make(STUMPS, classes=LABELS, random_state=np.random.default_rng(seed)) for _ in range(2)]
        assert generators[0].fit(X, y).index_ == generators[1].fit(X, y).index_


def data(n=200, seed=0):
    rng = generator(seed, "estimator")
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.where(X[:, 0] > 0.1, "yes", "no")


def test_fit_reports_what_it_did():
    X, y = data()
    model = make(Stumps(), classes=LABELS, n_min=150).fit(X, y)
    errors, probabilities = model.audit(X, y)
    assert model.n_hypotheses_ == 66
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.worst_class_epsilon_ == exact_epsilon(n_hypotheses=66, n=150, epsilon=1.0)
    assert model.value_epsilon(2) == model.effective_epsilon(2) == model.worst_class_epsilon_ < 1.0
    expected = np.exp(-1.0 * 150 * (errors - errors.min()) / 200 / 2)
    np.testing.assert_allclose(probabilities, expected / expected.sum(), rtol=1e-12)
    assert np.count_nonzero(model.predict(X) != y) == errors[model.index_]
    assert model.score(X, y) == pytest.approx(1 - errors[model.index_] / 200, rel=1e-14, abs=0)


def test_score_is_a_parameter_and_a_method():
    X, y = data()
    model = make(Stumps(), classes=LABELS, n_min=150, score="count")
    assert model.get_params()["score"] == "count"
    assert "score='count'" in repr(model)
    twin = clone(model).set_params(score="rate").fit(X, y)
    assert twin.get_params()["score"] == "rate"
    assert 0 <= twin.score(X, y) <= 1
    assert model.fit(X, y).worst_class_epsilon_ == 1.0
    restored = pickle.loads(pickle.dumps(model))
    assert restored.get_params()["score"] == "count"
    assert restored.score(X, y) == model.score(X, y)


def test_pipeline_and_cross_validation():
    X, y = load_breast_cancer(return_X_y=True)
    # a public transformation only: one fitted to the data would not be private
    model = make_pipeline(
        FunctionTransformer(np.log1p),
        ExponentialMechanismClassifier(Stumps(0, 9), epsilon=50.0, classes=(0, 1), n_min=300, random_state=0),
    )
    assert cross_val_score(model, X, y, cv=4).mean() > 0.85
    search = GridSearchCV(model, {"exponentialmechanismclassifier__score": ["rate", "count"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.85


def test_refuses_fewer_records_than_n_min_with_the_rate_score_only():
    X, y = data(30)
    with pytest.raises(ValueError) as refusal:
        make(Stumps(), classes=LABELS, n_min=31).fit(X, y)
    assert str(refusal.value) == "X must have at least n_min = 31 records for the rate score, got fewer"
    make(Stumps(), classes=LABELS, n_min=30).fit(X, y)
    make(Stumps(), classes=LABELS, n_min=31, score="count").fit(X, y)


def test_other_classes_of_hypotheses():
    X, y = data()
    hypotheses = Functions([lambda X: X[:, 0] > 0.1, lambda X: X[:, 1] > 0])
    model = make(hypotheses, classes=LABELS, n_min=200).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.n_hypotheses_ == hypotheses.size(2)
    assert model.released_.rule() == "hypothesis 0"


def test_the_release_says_its_rule():
    X, y = data()
    released = make(Stumps(0, 1, 9), classes=LABELS, epsilon=1e4, score="count").fit(X, y).released_
    assert released.n_features == 2
    index = 1  # feature 0, threshold 0.2
    for given, expected in {
        index: "'yes' if feature 0 >= 0.2, else 'no'",
        18 + index: "'yes' if feature 0 < 0.2, else 'no'",
        36: "always 'no'",
        37: "always 'yes'",
    }.items():
        again = dataclasses.replace(released, index=given)
        assert again.rule() == expected
        if "always" in expected:
            assert set(again.predict(X)) == {expected.split("'")[1]}
    assert dataclasses.replace(released, index=index).rule(["a", "b"]) == "'yes' if a >= 0.2, else 'no'"
    model = make(Stumps(), classes=LABELS, epsilon=100, score="count")
    with pytest.raises(ValueError, match="feature_names must have 2 names, got 1"):
        model.fit(X, y).released_.rule(["a"])


def test_far_outside_the_box_every_rule_is_constant():
    X, y = data()
    model = make(Stumps(), classes=LABELS, epsilon=1e4, score="count").fit(1000 + 10 * X, y)
    assert set(model.predict(1000 + 10 * X)) == {max(LABELS, key=list(y).count)}


def test_a_parameter_grid_lists_instances():
    X, y = data()
    grid = {"hypotheses": [Stumps(50, 90), Stumps()]}
    search = GridSearchCV(make(Stumps(50, 90), classes=LABELS, epsilon=1e4, score="count"), grid, cv=3).fit(X, list(y))
    assert search.best_params_["hypotheses"].low == -1.0


def test_one_draw_a_fit():
    X, y = data()
    state = np.random.RandomState(3)
    model = make(Stumps(), classes=LABELS, epsilon=0.05, n_min=200, random_state=state)
    assert len({model.fit(X, y).index_ for _ in range(20)}) > 5


class Nothing:
    def size(self, n_features):
        return 0

    def predictions(self, X, index=None):
        return np.zeros((len(X), 0), dtype=np.int8)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be .* got 0.0"),
        ({"n_min": 0}, "n_min must be .* got 0"),
        ({"n_min": None}, "n_min must be given for the rate score, got None"),
        ({"score": "rank"}, "score must be .* got 'rank'"),
        ({"mechanism": "laplace"}, "mechanism must be .* got 'laplace'"),
        ({"classes": ("no",)}, "classes must be two different labels, .* got "),
        ({"classes": ("no", "no")}, "classes must be two different labels"),
        ({"classes": ("no", "yes", "perhaps")}, "classes must be two different labels"),
        ({"classes": None}, "classes must be two different labels, numbers or strings, got None"),
        ({"classes": (0.0, math.nan)}, "classes must be finite"),
        ({"classes": (0, "yes")}, "classes must be of one type"),
        ({"hypotheses": [lambda X: X[:, 0]]}, r"hypotheses must be a finite class .*Functions\(\[f, g\]\)"),
        ({"hypotheses": "stumps"}, r"hypotheses must be a finite class .*Stumps\(low, high\) .* got 'stumps'"),
        ({"hypotheses": Stumps}, "hypotheses must be a finite class .* got <class"),
        ({"hypotheses": Nothing()}, "hypotheses must have at least one hypothesis, got 0"),
        ({"hypotheses": Stumps([0, 0, 0], 1)}, "low must have one entry for each of the 2 features, got 3"),
        ({"hypotheses": Stumps(0, [1, 1, 1])}, "high must have one entry for each of the 2 features, got 3"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        make(parameters.pop("hypotheses", Stumps()), **{"classes": LABELS} | parameters).fit(X, y)
