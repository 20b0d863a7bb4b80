"""Finite classes of binary classifiers, fixed before the data are seen.

A class has ``predictions(X, index=None)``: the labels 0 or 1 that its K members (or the one member ``index``) give to
the rows of X, shape (n, K) (or (n,)); and ``size(n_features)`` = K. Grids, ranges and functions must be public and
declared: a threshold or a range taken from the data (``X.min()``) would make the class a function of the data, and no
choice from it private. Functions must give a label to every row of finite numbers, as an exception would tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpregret import _checks

_ENTRIES = 1 << 21  # of a block of predictions


@dataclass(frozen=True, eq=False)
class Stumps:
    """Threshold rules on single features, both signs, and the two constants: ``K = 2 n_features n_thresholds + 2``.

    Parameters
    ----------
    low, high : float or array (n_features,)
        Public box of the features, declared and never taken from the data. Thresholds are the points inside that
        divide [low, high] into equal parts. Features outside the box are on one side of all of them: on data in other
        units than those of the box every rule is constant, and the private choice is between the two labels. Nothing
        can warn of it, since a warning would depend on the data.
    n_thresholds : int
        Thresholds a feature.

    Raises
    ------
    ValueError
        For ``low >= high``, boxes of different lengths, no threshold; when used, for X of another number of features.

    Notes
    -----
    There is no ``set_params``: a class does not change once declared, so that a `Release` can be read with it. In a
    parameter grid, list instances (``{"hypotheses": [Stumps(0, 9, 8), Stumps(0, 9, 32)]}``); that each fit of the
    search spends epsilon is said at `ExponentialMechanismClassifier`.
    """

    low: float | np.ndarray = -1.0
    high: float | np.ndarray = 1.0
    n_thresholds: int = 16

    def __post_init__(self) -> None:
        low, high = (_checks.array(name, getattr(self, name)) for name in ("low", "high"))
        if low.ndim > 1 or high.ndim > 1 or (low.ndim == high.ndim == 1 and len(low) != len(high)):
            raise ValueError(f"low and high must be numbers or have one length, got {self.low!r} and {self.high!r}")
        if not (low < high).all():
            raise ValueError(f"low must be < high in every feature, got {self.low!r} and {self.high!r}")
        object.__setattr__(self, "n_thresholds", _checks.integer("n_thresholds", self.n_thresholds, at_least=1))

    def size(self, n_features: int) -> int:
        """The number of rules for so many features; ValueError if they are not those of the class."""
        for name, bounds in (("low", self.low), ("high", self.high)):
            if np.ndim(bounds) == 1 and np.size(bounds) != n_features:
                raise ValueError(
                    f"{name} must have one entry for each of the {n_features} features, got {np.size(bounds)}"
                )
        return 2 * n_features * self.n_thresholds + 2

    def thresholds(self, n_features: int) -> np.ndarray:
        """Shape (n_features, n_thresholds)."""
        self.size(n_features)
        low, high = (np.broadcast_to(np.asarray(x, dtype=float), (n_features,)) for x in (self.low, self.high))
        parts = np.arange(1, self.n_thresholds + 1) / (self.n_thresholds + 1)
        return low[:, None] + parts * (high - low)[:, None]

    def predictions(self, X: np.ndarray, index: int | None = None) -> np.ndarray:
        """Predicted labels in {0, 1}: of all rules, shape (n, K), or of one by its index, shape (n,)."""
        n, n_features = X.shape
        grid, half = self.thresholds(n_features), n_features * self.n_thresholds
        if index is None:
            above = (X[:, :, None] >= grid).reshape(n, half)
            return np.column_stack([above, ~above, np.zeros(n, bool), np.ones(n, bool)]).astype(np.int8)
        if index >= 2 * half:
            return np.full(n, index - 2 * half, dtype=np.int8)
        feature, cell = divmod(index % half, self.n_thresholds)
        return ((X[:, feature] >= grid[feature, cell]) ^ (index >= half)).astype(np.int8)

    def rule(self, index: int, feature_names: Sequence[str] | None = None, *, n_features: int | None = None) -> str:
        """Where hypothesis ``index`` predicts 1: ``"feature 3 >= 0.25"``, ``"feature 3 < 0.25"``, "never" or "always".

        The numbering depends on the number of features, which has to be given (``n_features``, or a name for each)
        where low and high are both numbers. Thresholds are shown to six digits; `thresholds` has them exactly.
        """
        if feature_names is not None:
            n_features = len(feature_names) if n_features is None else n_features
        elif n_features is None:
            n_features = max(np.size(bounds) if np.ndim(bounds) else 0 for bounds in (self.low, self.high)) or None
        if n_features is None:
            raise ValueError("n_features or feature_names must be given where low and high are numbers, got None")
        n_features = _checks.integer("n_features", n_features, at_least=1)
        names = [f"feature {i}" for i in range(n_features)] if feature_names is None else list(feature_names)
        if len(names) != n_features:
            raise ValueError(f"feature_names must have {n_features} names, got {len(names)}")
        index = _checks.integer("index", index, at_least=0, at_most=self.size(n_features) - 1)
        half = n_features * self.n_thresholds
        if index >= 2 * half:
            return ("never", "always")[index - 2 * half]
        feature, cell = divmod(index % half, self.n_thresholds)
        return f"{names[feature]} {'<' if index >= half else '>='} {self.thresholds(n_features)[feature, cell]:.6g}"


@dataclass(frozen=True, eq=False)
class Functions:
    """Any finite sequence of functions from X, shape (n, n_features), to labels 0 or 1, shape (n,)."""

    functions: Sequence[Callable[[np.ndarray], np.ndarray]]

    def __post_init__(self) -> None:
        functions = tuple(self.functions) if np.iterable(self.functions) else ()
        if not functions or not all(map(callable, functions)):
            raise ValueError(f"functions must hold at least one function and nothing else, got {self.functions!r}")
        object.__setattr__(self, "functions", functions)

    def size(self, n_features: int) -> int:
        """The number of rules for so many features; ValueError if they are not those of the class."""
        return len(self.functions)

    def predictions(self, X: np.ndarray, index: int | None = None) -> np.ndarray:
        """Predicted labels in {0, 1}: of all rules, shape (n, K), or of one by its index, shape (n,)."""
        if index is None:
            return np.column_stack([self.predictions(X, i) for i in range(len(self.functions))])
        labels = np.asarray(self.functions[index](X))
        if labels.shape != (len(X),) or not np.isin(labels, (0, 1)).all():
            raise ValueError(f"functions[{index}] must return {len(X)} labels 0 or 1, got {labels!r}")
        return labels.astype(np.int8)


def error_counts(hypotheses, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How many of the labels ``y`` each hypothesis misses, shape (K,); a label other than 0 and 1 is missed by all.

    Rows are taken in blocks, so that memory does not grow with the number of rows.
    """
    counts = np.zeros(hypotheses.size(X.shape[1]), dtype=np.int64)
    rows = max(1, _ENTRIES // max(1, len(counts)))
    for start in range(0, len(X), rows):
        block = slice(start, start + rows)
        labels = np.asarray(hypotheses.predictions(X[block]))
        if labels.shape != (len(X[block]), len(counts)):
            raise ValueError(
                f"hypotheses.predictions must return shape {(len(X[block]), len(counts))}, a row a record and a column "
                f"a hypothesis, got {labels.shape}"
            )
        counts += (labels != y[block, None]).sum(axis=0)
    return counts
