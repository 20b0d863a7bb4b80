"""Laws with known risks: a synthetic one, and data sets whose records are drawn with replacement.

The boxes of the stumps are typed from the published tables, not read from the records: a class must not be a function
of the data. Sources: ``DESCR`` of scikit-learn's `load_breast_cancer` and `load_wine`, table "Summary Statistics",
minimum and maximum; a pixel's range for the digits.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from dpregret.erm import Stumps

CANCER_LOW = [
    6.981, 9.71, 43.79, 143.5, 0.053, 0.019, 0.0, 0.0, 0.106, 0.05,
    0.112, 0.36, 0.757, 6.802, 0.002, 0.002, 0.0, 0.0, 0.008, 0.001,
    7.93, 12.02, 50.41, 185.2, 0.071, 0.027, 0.0, 0.0, 0.156, 0.055,
]  # fmt: skip
CANCER_HIGH = [
    28.11, 39.28, 188.5, 2501.0, 0.163, 0.345, 0.427, 0.201, 0.304, 0.097,
    2.873, 4.885, 21.98, 542.2, 0.031, 0.135, 0.396, 0.053, 0.079, 0.03,
    36.04, 49.54, 251.2, 4254.0, 0.223, 1.058, 1.252, 0.291, 0.664, 0.208,
]  # fmt: skip
WINE_LOW = [11.0, 0.74, 1.36, 10.6, 70.0, 0.98, 0.34, 0.13, 0.41, 1.3, 0.48, 1.27, 278.0]
WINE_HIGH = [14.8, 5.80, 3.23, 30.0, 162.0, 3.88, 5.08, 0.66, 3.58, 13.0, 1.71, 4.00, 1680.0]
RANGES = {"breast cancer": (load_breast_cancer, CANCER_LOW, CANCER_HIGH), "wine": (load_wine, WINE_LOW, WINE_HIGH)}


def printed_ranges(description: str, n_features: int) -> list[list[float]]:
    """Minimum and maximum of each feature, as the table in a data set's description has them."""
    table = description[description.index("Summary Statistics") :]
    rows = re.findall(r":\s+([\d.]+)\s+([\d.]+)", table)[:n_features]
    return [[float(x) for x in row] for row in rows]


def outside(X: np.ndarray, low: Sequence[float], high: Sequence[float]) -> int:
    """Records with a value outside the box."""
    return int(((low > X) | (high < X)).any(axis=1).sum())


def range_lines() -> list[str]:
    """What is printed about the typed ranges; ValueError if they are not those of the descriptions."""
    lines = []
    for name, (load, low, high) in RANGES.items():
        if printed_ranges(load().DESCR, len(low)) != [list(pair) for pair in zip(low, high, strict=True)]:
            raise ValueError(f"the ranges of {name} must be those printed in its description")
        X, _ = load(return_X_y=True)
        lines.append(
            f"{name}: {len(low)} ranges, as printed; {outside(X, low, high)} of {len(X)} records have a value outside"
        )
    return lines


class Law(NamedTuple):
    """Records with probabilities, and a class of stumps on them.

    ``X`` has shape (N, features), ``y`` and ``probabilities`` (N,); ``missed`` (N, K) is 1 where a stump errs, and
    ``risks`` (K,) are their expected errors.
    """

    X: np.ndarray
    y: np.ndarray
    probabilities: np.ndarray
    stumps: Stumps
    missed: np.ndarray
    risks: np.ndarray

    @property
    def excess(self) -> np.ndarray:
        """Risk above the smallest, shape (K,)."""
        return self.risks - self.risks.min()


def law(X: np.ndarray, y: np.ndarray, probabilities: np.ndarray, stumps: Stumps) -> Law:
    """A `Law` with the errors and risks of all stumps."""
    missed = (stumps.predictions(X) != y[:, None]).astype(float)
    return Law(X, y, probabilities, stumps, missed, probabilities @ missed)


def uniform_law(n_thresholds: int) -> Law:
    """Two uniform features on [-1, 1] and the label 1{x_1 >= theta}, flipped with probability 0.2.

    The law of the cells between thresholds, two points a cell and feature, each with both labels.
    """
    side = (np.arange(2 * n_thresholds) + 0.5) / n_thresholds - 1
    X = np.array(list(itertools.product(side, side)))
    stumps = Stumps(n_thresholds=n_thresholds)
    theta = stumps.thresholds(1)[0, min(n_thresholds // 2 + 1, n_thresholds - 1)]
    truth = (X[:, 0] >= theta).astype(int)
    noise = np.repeat([0.8, 0.2], len(X)) / len(X)
    return law(np.vstack([X, X]), np.r_[truth, 1 - truth], noise, stumps)


def data_law(load, label: int | None, low, high, n_thresholds: int) -> Law:
    """A data set of scikit-learn as a law; ``label`` is the class that counts as 1, None if there are two."""
    X, y = load(return_X_y=True)
    y = y if label is None else (y == label).astype(int)
    return law(X, y, np.full(len(X), 1 / len(X)), Stumps(low, high, n_thresholds))


def laws(n_thresholds: int) -> dict[str, Law]:
    """The four laws of the notebook, by name."""
    return {
        "synthetic": uniform_law(n_thresholds),
        "breast cancer": data_law(load_breast_cancer, None, CANCER_LOW, CANCER_HIGH, n_thresholds),
        "wine, first cultivar": data_law(load_wine, 0, WINE_LOW, WINE_HIGH, n_thresholds),
        "digits, is it a zero": data_law(load_digits, 0, 0.0, 16.0, n_thresholds),
    }
