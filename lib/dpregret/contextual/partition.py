"""The layered partition of Section 4.1 of [Li2024] and the procedure of its Figure 2.

A tree for every action. Layer h splits each bin of layer h - 1 by the size of what is left of a vector,
``gamma^-(k+1) < |phi_h| <= gamma^-k``; an active bin B has a direction u_B, orthogonal to those of its ancestors, and a
coefficient t_B, the estimate of <u_B, theta*>: theta_B = t_B u_B in the paper's notation. Only bins that some row of a
batch reaches are kept (the messages of the others change nothing at the rows); a vector in another bin stops there, as
in an inactive bin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class Grid:
    """gamma = T^beta and M = ceil(1/(2 beta)), so that gamma^-M <= T^(-1/2)."""

    gamma: float
    M: int

    @classmethod
    def of(cls, horizon: float, beta: float | None = None) -> Grid:
        """beta = 1/ln T by default (Remark 4.8), which gives gamma = e."""
        beta = 1 / math.log(horizon) if beta is None else beta
        return cls(horizon**beta, math.ceil(1 / (2 * beta) - 1e-12))

    def size_class(self, norms: np.ndarray) -> np.ndarray:
        """k = max{k <= M : norm <= gamma^-k}."""
        with np.errstate(divide="ignore"):
            k = np.floor(-np.log(norms) / math.log(self.gamma) + 1e-12)
        return np.clip(k, 0, self.M).astype(np.int64)


class Trace(NamedTuple):
    r"""What Algorithms 3 to 5 of [Li2024] computed on a layer: m rows, B bins. The lemmas speak of these.

    Attributes
    ----------
    n : int
        Users of each of the two passes.
    size : array (B,)
        gamma^-k.
    bin : int array (m,)
        The bin of each row on this layer, -1 for none.
    residual, prediction, eta : arrays (m, d), (m,), (m,)
        phi_h, the prediction and its band from the layers above, before this layer.
    psi, lam, Lam : arrays (B,), (B, d), (B, d, d)
        The estimates of Algorithm 3; lam and Lam are divided by psi n in a bin whose psi is large enough, else by 1.
    s, u : arrays (B,), (B, d)
        The eigenpair of Algorithm 4, also where it is then not used.
    carried : array (B,)
        The noisy mean of Algorithm 5 before its margin, the estimate of epsilon_B; divided as lam is.
    """

    n: int
    size: np.ndarray
    bin: np.ndarray
    residual: np.ndarray
    prediction: np.ndarray
    eta: np.ndarray
    psi: np.ndarray
    lam: np.ndarray
    Lam: np.ndarray
    s: np.ndarray
    u: np.ndarray
    carried: np.ndarray


@dataclass(frozen=True)
class Layer:
    r"""The bins of one layer, B of them, and what was fitted in each.

    Attributes
    ----------
    codes : int array (B,)
        ``parent * (M + 1) + k``, increasing; the parent is the action in the first layer.
    parents, k : int array (B,)
    direction : array (B, d)
        u_B, zero in an inactive bin.
    coefficient : array (B,)
        t_B.
    offset, slope : array (B,)
        :math:`\hat\chi_B(\phi) = offset + slope\, |u_B^\top \phi|`.
    active : bool array (B,)
    trace : Trace, optional
        How they were fitted, if `LPLR.fit` was asked for it.
    """

    codes: np.ndarray
    parents: np.ndarray
    k: np.ndarray
    direction: np.ndarray
    coefficient: np.ndarray
    offset: np.ndarray
    slope: np.ndarray
    active: np.ndarray
    trace: Trace | None = None


class Walk:
    """Vectors on their way down a partition: Figure 2's procedure for all rows at once.

    Attributes
    ----------
    residual : array (m, d)
        phi_h.
    prediction, eta : array (m,)
        Sum of the estimates so far and the band on its error along the directions so far.
    bin : int array (m,)
        Bin on the layer last entered, or the action before the first; -1 once stopped.
    k : int array (m,)
        Size class on the layer last entered.
    """

    def __init__(self, features: np.ndarray, actions: np.ndarray, grid: Grid) -> None:
        self.grid = grid
        self.residual = features
        self.bin = np.array(actions, dtype=np.int64)
        self.prediction = np.zeros(len(features))
        self.eta = np.zeros(len(features))
        self.k = np.zeros(len(features), dtype=np.int64)

    @property
    def norms(self) -> np.ndarray:
        """Norms of phi_h, shape (m,)."""
        return np.sqrt(np.einsum("ij,ij->i", self.residual, self.residual))

    def codes(self) -> np.ndarray:
        """The code of each row's bin on the next layer; -1 for stopped rows."""
        self.k = self.grid.size_class(self.norms)
        return np.where(self.bin >= 0, self.bin * (self.grid.M + 1) + self.k, -1)

    def enter(self, known: np.ndarray) -> None:
        """Go to the bins of a layer with these sorted codes; -1 where the bin is not among them."""
        codes = self.codes()
        if len(known) == 0:
            self.bin = np.full(len(codes), -1)
            return
        place = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        self.bin = np.where(known[place] == codes, place, -1)

    def advance(self, layer: Layer, fallback: bool = True) -> np.ndarray:
        """Through the bins entered: update prediction, eta and residual in active ones; the others stop.

        Returns the rows that passed an active bin. With ``fallback``, predictions are clipped to [-1, 1], and one whose
        band has reached 1 starts again from 0 +- 1: the reward along any projection is within [-1, 1]. Without, eta
        alone is cut at 1.
        """
        passed = (self.bin >= 0) & layer.active[self.bin]
        b = self.bin[passed]
        u = layer.direction[b]
        along = np.einsum("ij,ij->i", u, self.residual[passed])
        residual, prediction, eta = self.residual.copy(), self.prediction.copy(), self.eta.copy()
        prediction[passed] += along * layer.coefficient[b]
        eta[passed] += layer.offset[b] + layer.slope[b] * np.abs(along)
        residual[passed] -= along[:, None] * u
        useful = eta < 1
        eta = np.where(useful, eta, 1.0)
        if fallback:
            prediction = np.where(useful, np.clip(prediction, -1, 1), 0.0)
        self.residual, self.prediction, self.eta = residual, prediction, eta
        self.bin = np.where(passed, self.bin, -1)
        return passed


def complement(bases: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Orthonormal bases of what is left: bases (B, d, D) less one direction each, in coordinates (B, D).

    The Householder reflection that takes e_1 to the direction (up to sign) has a basis of the complement in its other
    columns.
    """
    v = directions.copy()
    sign = np.where(v[:, 0] >= 0, 1.0, -1.0)
    v[:, 0] += sign
    reflection = np.eye(v.shape[1]) - 2 * v[:, :, None] * v[:, None, :] / np.einsum("ij,ij->i", v, v)[:, None, None]
    return bases @ reflection[:, :, 1:]
