"""Linear contextual bandits with finitely many contexts, and the families of instances of the book."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpregret import _checks

_ROUNDING = 1e-9
FAMILIES = ("null", "shared")


@dataclass(frozen=True, eq=False)
class ContextualProblem:
    r"""A stochastic linear contextual bandit, Section 1.1 of [Li2024]_, with a finitely supported context law.

    A user brings a context :math:`x \sim P_X`; action a gives a reward :math:`y \in \{-1, +1\}` with
    :math:`E y = f^*(x, a) = \langle \phi(x, a), \theta^* \rangle`.

    Parameters
    ----------
    features : array of shape (X, A, d)
        :math:`\phi(x, a)`, of Euclidean norm at most 1.
    context_probabilities : array of shape (X,)
        :math:`P_X`. A context of probability 0 never occurs; it is a point at which confidence bands are checked.
    parameter : array of shape (d,)
        :math:`\theta^*`, of Euclidean norm at most 1.

    Raises
    ------
    ValueError
        For norms above 1, probabilities that are negative or do not sum to 1 (within 1e-9), or shapes that do not fit.

    References
    ----------
    .. [Li2024] J. Li, D. Simchi-Levi, Y. Wang. On the Optimal Regret of Locally Private Linear Contextual Bandit.
       arXiv:2404.09413, 2024.
    """

    features: np.ndarray
    context_probabilities: np.ndarray
    parameter: np.ndarray

    def __post_init__(self) -> None:
        features = _checks.array("features", self.features)
        if features.ndim != 3:
            raise ValueError(f"features must have 3 dimensions (contexts, actions, d), got {features.ndim}")
        law = _checks.array("context_probabilities", self.context_probabilities, ndim=1, at_least=0.0, at_most=1.0)
        parameter = _checks.array("parameter", self.parameter, ndim=1)
        if features.size == 0 or len(features) != len(law) or features.shape[2] != len(parameter):
            raise ValueError(
                "features must have shape (X, A, d) with X contexts and d coordinates, not empty, "
                f"got {features.shape} with {len(law)} probabilities and {len(parameter)} coordinates"
            )
        unit_norms("features", features)
        unit_norms("parameter", parameter)
        if abs(law.sum() - 1) > _ROUNDING:
            raise ValueError(f"context_probabilities must have sum 1, got {float(law.sum())!r}")
        for name, value in (
            ("features", features),
            ("context_probabilities", law / law.sum()),
            ("parameter", parameter),
        ):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def dimension(self) -> int:
        """d."""
        return self.features.shape[2]

    @property
    def n_contexts(self) -> int:
        """X."""
        return self.features.shape[0]

    @property
    def n_actions(self) -> int:
        """A."""
        return self.features.shape[1]

    @property
    def mean_rewards(self) -> np.ndarray:
        """f*(x, a), shape (X, A)."""
        return np.clip(self.features @ self.parameter, -1.0, 1.0)

    @property
    def gaps(self) -> np.ndarray:
        """f*(x, a*(x)) - f*(x, a), shape (X, A)."""
        means = self.mean_rewards
        return means.max(axis=1, keepdims=True) - means

    def regret(self, policy: np.ndarray) -> float:
        """Expected regret of one round under the action probabilities ``policy`` (X, A)."""
        return float(self.context_probabilities @ (policy * self.gaps).sum(axis=1))

    @property
    def uniform_regret(self) -> float:
        """Expected regret of one round of uniform play."""
        return float(self.context_probabilities @ self.gaps.mean(axis=1))


def unit_norms(name: str, vectors: np.ndarray) -> None:
    """Refuse vectors (last axis) of Euclidean norm above 1; 1e-9 is left to rounding."""
    norms = np.linalg.norm(vectors, axis=-1)
    if norms.max(initial=0.0) > 1 + _ROUNDING:
        raise ValueError(f"{name} must have Euclidean norm at most 1, got {float(norms.max())!r}")


def against_baseline(
    vectors: np.ndarray, law: np.ndarray, parameter: Sequence[float] | np.ndarray, family: str
) -> ContextualProblem:
    """Arm 1 has the given feature in context x; arm 0 has zero (``null``) or its first coordinate (``shared``)."""
    _checks.choice("family", family, FAMILIES)
    baseline = np.zeros_like(vectors)
    if family == "shared":
        baseline[:, 0] = vectors[:, 0]
    return ContextualProblem(np.stack([baseline, vectors], axis=1), law, np.asarray(parameter, dtype=float))


def _default(parameter: Sequence[float] | None, dimension: int, family: str) -> Sequence[float] | np.ndarray:
    if parameter is not None:
        return parameter
    last = np.eye(dimension)[-1]
    return last if family == "null" or dimension == 1 else 0.6 * np.eye(dimension)[0] + 0.8 * last


def two_direction_problem(
    r: float, family: str = "null", parameter: Sequence[float] | None = None
) -> ContextualProblem:
    """Two equally likely contexts whose second direction is small: ``(sqrt(1 - r^2), +-r)``.

    The hard pair of Section 2 of [Li2024]_ as a bandit. The gap is ``r |theta_2|`` in both contexts, with opposite
    signs in the family ``shared``, and in ``null`` if theta_1 = 0.

    Parameters
    ----------
    r : float
        Sine of the angle, in (0, 1].
    family : {"null", "shared"}
        Arm 0 has the zero vector, or ``(sqrt(1 - r^2), 0)``.
    parameter : sequence of two floats, optional
        By default (0, 1) for ``null`` and (0.6, 0.8) for ``shared``.
    """
    r = _checks.real("r", r, above=0.0, at_most=1.0)
    _checks.choice("family", family, FAMILIES)
    c = math.sqrt((1 - r) * (1 + r))
    return against_baseline(np.array([[c, r], [c, -r]]), np.array([0.5, 0.5]), _default(parameter, 2, family), family)


def case_one(share: float, parameter: Sequence[float] = (0.6, 0.8), family: str = "null") -> ContextualProblem:
    """Case I of Section 2.3 of [Li2024]_: arm 1 has e_1 with probability 1 - share and e_2 with probability share."""
    share = _checks.real("share", share, above=0.0, below=1.0)
    return against_baseline(np.eye(2), np.array([1 - share, share]), parameter, family)


def case_two(share: float, parameter: Sequence[float] = (0.6, 0.8), family: str = "null") -> ContextualProblem:
    """Case II of Section 2.3 of [Li2024]_: arm 1 has ``(sqrt(1 - share), +-sqrt(share))``, each with probability 1/2.

    The text has (1, +-sqrt(share)), of norm above 1 (fault L16); the second moments here are diag(1 - share, share),
    those of Case I.
    """
    share = _checks.real("share", share, above=0.0, below=1.0)
    return two_direction_problem(math.sqrt(share), family, parameter)


def arc_problem(
    n_contexts: int, half_angle: float = 0.3, parameter: Sequence[float] = (0.6, 0.8), family: str = "null"
) -> ContextualProblem:
    """Equally likely contexts ``(cos t, sin t)`` at equally spaced angles t in [-half_angle, half_angle]."""
    n_contexts = _checks.integer("n_contexts", n_contexts, at_least=2)
    half_angle = _checks.real("half_angle", half_angle, above=0.0, at_most=math.pi)
    angles = np.linspace(-half_angle, half_angle, n_contexts)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return against_baseline(vectors, np.full(n_contexts, 1 / n_contexts), parameter, family)


def nested_problem(
    dimension: int, r: float, family: str = "null", parameter: Sequence[float] | None = None
) -> ContextualProblem:
    """d directions of geometrically falling size: ``(1, +-r^(1/(d-1)), ..., +-r)`` scaled to norm 1.

    All sign patterns are equally likely (2^(d-1) contexts, d <= 16). By default the reward depends on the smallest
    direction alone (``null``), or on it and on the first (``shared``).
    """
    dimension = _checks.integer("dimension", dimension, at_least=1, at_most=16)
    r = _checks.real("r", r, above=0.0, at_most=1.0)
    _checks.choice("family", family, FAMILIES)
    sizes = r ** (np.arange(dimension) / max(dimension - 1, 1))
    signs = np.ones((2 ** (dimension - 1), dimension))
    signs[:, 1:] -= 2 * ((np.arange(len(signs))[:, None] >> np.arange(dimension - 1)) & 1)
    vectors = signs * sizes / np.linalg.norm(sizes)
    law = np.full(len(vectors), 1 / len(vectors))
    return against_baseline(vectors, law, _default(parameter, dimension, family), family)


def mixture_problem(
    scales: Sequence[float] | np.ndarray, family: str = "null", parameter: Sequence[float] | None = None
) -> ContextualProblem:
    """An equal mixture of two-direction problems of several scales r, with one parameter."""
    scales = _checks.array("scales", scales, ndim=1, at_least=1e-300, at_most=1.0)
    if len(scales) == 0:
        raise ValueError("scales must name at least one scale, got none")
    _checks.choice("family", family, FAMILIES)
    cosines = np.sqrt((1 - scales) * (1 + scales))
    vectors = np.stack([np.tile(cosines, 2), np.concatenate([scales, -scales])], axis=1)
    law = np.full(2 * len(scales), 0.5 / len(scales))
    return against_baseline(vectors, law, _default(parameter, 2, family), family)
