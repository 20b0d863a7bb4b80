r"""A locally private LPLR oracle: the corrected form of Algorithms 2 to 6 of [Li2024].

Write w for what is left of a vector in coordinates of the complement of its bin's earlier directions, v = w gamma^k,
and y_h for the reward less the prediction made so far. On a layer the users estimate, for every bin B of every action,

.. math:: l_B = E[1_B\, y_h v], \qquad L_B = E[1_B\, v v^\top],

without conditioning on the bin, so that no frequency is needed. (u, s) is the top eigenpair of the estimate of L, and
t = u'l / (s gamma^-k) estimates <u, theta*>. Further users estimate ``e_B = E[1_B |u'v| eta(phi)]``, eta the band of
the layers above. With entrywise bands w_l, W_L, w_e on the three estimates,

.. math:: |u^\top w|\, |t - \langle u, \theta^* \rangle| \le |u^\top v|\,
          \bigl(\gamma^{-k} \|W_L |u|\|_2 + w_l^\top |u| + \hat e_B + w_e\bigr) / s ,

since theta* has norm at most 1. A bin is active if s > 0 and ``||W_L |u||| <= s``. A vector may stop at any layer with
the band ``eta + |phi_h|``; the best is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dpregret import _checks
from dpregret.contextual.batch import Batch
from dpregret.contextual.estimate import Estimate, safe_band
from dpregret.contextual.moments import (
    hoeffding_width,
    laplace_width,
    record_values,
    sensitivities,
    spent,
    triangle,
    unfold,
)
from dpregret.contextual.partition import Grid, Layer, Walk, complement

MECHANISMS = ("randomized_response", "laplace")
DIMENSIONS = range(1, 9)  # for which the privacy of a message is evaluated; it is the same in all


@dataclass(frozen=True)
class CorrectedLPLR:
    r"""LPLR with messages that are exactly alpha-LDP under replacement of the whole record, the action included.

    ``randomized_response``: the users of a layer are split, by their index alone, over the coordinates of l, of the
    upper triangle of L, and e (from the second layer on). A user sends one bit for each (action, bin) of the layer:
    that of the own bin is +1 with probability ``(1 + tanh(alpha/2) z) / 2``, z in [-1, 1] the coordinate scaled to its
    range; the other bits are fair. Two records change at most two bits, by a joint factor
    ``(1 + tanh(alpha/2)) / (1 - tanh(alpha/2)) = e^alpha``.

    ``laplace``: half of a layer's users send all coordinates of l and of L for all bins with Laplace noise, alpha/2
    for each, the other half e (from the second layer on). Sensitivities under replacement between two bins, in units
    of gamma^-k: ``2 sqrt(D) R`` for l, ``D + 1`` for the upper triangle of L, twice the cap for e, D = d - h + 1.

    R bounds y_h: 1 + the largest prediction that the tree can make in the bin, at most 2, since predictions are
    clipped (faults L2, L4).

    Parameters
    ----------
    alpha : float
        In (0, 1].
    mechanism : {"randomized_response", "laplace"}
    width_scale : float
        Multiplies the bands of the estimates. 1 is rigorous (Hoeffding's inequality, and that of sub-gamma variables
        for Laplace sums); anything below is a heuristic, calibrated by measurement.
    beta : float, optional
        gamma = T^beta; by default 1/ln T, which gives gamma = e.

    Raises
    ------
    ValueError
        For alpha outside (0, 1], an unknown mechanism, a width scale <= 0, or beta outside (0, 1/2].

    Notes
    -----
    The union bound counts every (layer, bin, coordinate), all M^h bins of layer h, conditionally on the layers above;
    ``delta`` is for one action and one epoch.
    """

    alpha: float = field(kw_only=True)
    mechanism: str = "randomized_response"
    width_scale: float = 1.0
    beta: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _checks.real("alpha", self.alpha, above=0.0, at_most=1.0))
        _checks.choice("mechanism", self.mechanism, MECHANISMS)
        object.__setattr__(self, "width_scale", _checks.real("width_scale", self.width_scale, above=0.0))
        if self.beta is not None:
            object.__setattr__(self, "beta", _checks.real("beta", self.beta, above=0.0, at_most=0.5))

    @property
    def is_rigorous(self) -> bool:
        """Whether the bands are proved; a width scale below 1 is a heuristic."""
        return self.width_scale >= 1

    @property
    def bias(self) -> float:
        """Largest bias of a bit, ``tanh(alpha/2)``: 1/2 + 1/2 of it is the largest probability of +1."""
        return math.tanh(self.alpha / 2)

    def scales(self, dimension: int, bound) -> tuple[np.ndarray, float]:
        """Scales of the Laplace noise on l and on the upper triangle of L; see `laplace_scales`."""
        return laplace_scales(dimension, bound, self.alpha)

    def carried_scale(self, cap):
        """Scale of the Laplace noise on the carried error e, which is within [0, cap]."""
        return 2 * np.maximum(cap, 1e-300) / self.alpha

    def value_epsilon(self) -> float:
        """The exact privacy parameter of the noisy bits or values: the largest of the messages that a user may send.

        From the bias, by the law of two bits under all extreme records, or from the scales in 1 to 8 dimensions, all
        alike.
        """
        if self.mechanism == "randomized_response":
            law = self.channel([0, 0, 1, 1, -1], [1.0, -1.0, 1.0, -1.0, 0.0], n_slots=2)
            with np.errstate(divide="ignore"):
                return float(np.log(law.max(axis=0) / law.min(axis=0)).max())
        moments = max(spent(sensitivities(d, bound), self.scales(d, bound)) for d in DIMENSIONS for bound in (1.0, 2.0))
        return max(moments, spent((2.0,), (self.carried_scale(1.0),)))

    def effective_epsilon(self) -> float:
        """The exact privacy parameter of a user's message to all oracles of Algorithm 1 together.

        That of the values: which message a user sends depends on the user's index alone, and its length on none.
        """
        return self.value_epsilon()

    def channel(self, slots, values, *, n_slots: int) -> np.ndarray:
        """The exact law of a user's message on one layer under randomized response, for an audit by exhaustion.

        Parameters
        ----------
        slots, values : arrays (R,)
            Of each of R records: the (action, bin) of the layer that it falls in, -1 for none, and the scaled
            coordinate in [-1, 1] that the user's group reports.
        n_slots : int
            Number B of slots, at most 16.

        Returns
        -------
        array (R, 2^B)
            Probability of each vector of bits; bit b of the column's index is 1 where the message's bit b is +1.
        """
        if self.mechanism != "randomized_response":
            raise ValueError(f"mechanism must be 'randomized_response' for a finite channel, got {self.mechanism!r}")
        n_slots = _checks.integer("n_slots", n_slots, at_least=1, at_most=16)
        values = _checks.array("values", values, ndim=1, at_least=-1.0, at_most=1.0)
        slots = np.array([_checks.integer("slots", slot, at_least=-1, at_most=n_slots - 1) for slot in slots])
        if slots.shape != values.shape:
            raise ValueError(f"slots and values must have one length, got {len(slots)} and {len(values)}")
        signs = 2 * ((np.arange(2**n_slots)[:, None] >> np.arange(n_slots)) & 1) - 1
        mean = np.where(slots[:, None] == np.arange(n_slots), self.bias * values[:, None], 0.0)
        return np.prod((1 + mean[:, None, :] * signs) / 2, axis=2)

    def fit(self, batch: Batch, *, delta: float, rng: np.random.Generator) -> Estimate:
        """See :class:`~dpregret.contextual.elimination.Oracle`."""
        batch.restart()
        grid = Grid.of(batch.horizon, self.beta)
        sampler = _SAMPLERS[self.mechanism](self, batch, grid, delta, rng)
        d = batch.dimension
        walk = Walk(batch.features, batch.actions, grid)
        bases = np.broadcast_to(np.eye(d), (batch.n_actions, d, d))
        reach = np.zeros(batch.n_actions)  # the largest |prediction|, and the largest eta, that a bin allows
        doubt = np.zeros(batch.n_actions)
        layers: list[Layer] = []
        for h in range(1, d + 1):
            codes = walk.codes()
            known = np.unique(codes[(codes >= 0) & (walk.k < grid.M)])
            if len(known) == 0:
                break
            parents, k = np.divmod(known, grid.M + 1)
            walk.enter(known)
            batch.idle_slots = batch.n_actions * grid.M**h - len(known)
            bases, reach, doubt = bases[parents], np.minimum(reach[parents], 1.0), np.minimum(doubt[parents], 1.0)
            g = grid.gamma ** -k.astype(float)
            slot = walk.bin
            v = np.einsum("ij,ijk->ik", walk.residual, bases[slot]) / g[slot][:, None]
            v *= (slot >= 0)[:, None]
            l, L, width_l, width_L = sampler.moments(v, walk.prediction, 1 + reach, slot)
            s, u = _top(L)
            error_L = np.linalg.norm(np.einsum("bij,bj->bi", width_L, np.abs(u)), axis=1)
            active = (s > 0) & (error_L <= s)
            error = g * error_L + np.einsum("bi,bi->b", width_l, np.abs(u))
            if h > 1:
                error += sampler.inherited(np.abs(np.einsum("ij,ij->i", v, u[slot])), walk.eta, doubt, slot)
            s = np.where(active, s, 1.0)
            t = np.einsum("bi,bi->b", u, l) / (s * g)
            slope = error / (s * g)
            u_full = np.einsum("bij,bj->bi", bases, u) * active[:, None]
            layers.append(Layer(known, parents, k, u_full, t * active, np.zeros(len(g)), slope * active, active))
            reach, doubt = reach + np.abs(t) * g, doubt + slope * g
            walk.advance(layers[-1])
            if h < d:
                bases = complement(bases, u)
        return Estimate(lambda features, actions: _aggregate(layers, grid, features, actions), batch, layers)


def _top(L: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Top eigenpairs of symmetric matrices (B, D, D)."""
    values, vectors = np.linalg.eigh(L)
    return values[:, -1], vectors[:, :, -1]


def _aggregate(layers, grid, features, actions) -> tuple[np.ndarray, np.ndarray]:
    """The best of the bands eta + |phi_h| over the layers at which a vector may stop."""
    walk = Walk(features, actions, grid)
    value, width = np.zeros(len(features)), walk.norms
    for h, layer in enumerate(layers, start=1):
        walk.enter(layer.codes)
        passed = walk.advance(layer)
        left = np.zeros(len(features)) if h == features.shape[1] else walk.norms
        better = passed & (walk.eta + left < width)
        value, width = np.where(better, walk.prediction, value), np.where(better, walk.eta + left, width)
    return safe_band(value, width, features)


def laplace_scales(dimension: int, bound, alpha: float) -> tuple[np.ndarray, float]:
    """Noise scales for l and the upper triangle of L, ``dimension`` D coordinates left, y_h within +-bound.

    alpha/2 each; the l1 sensitivities are ``2 sqrt(D) bound`` and ``D + 1``, attained by records in two bins.
    """
    return 4 * math.sqrt(dimension) * np.asarray(bound) / alpha, 2 * (dimension + 1) / alpha


def groups_and_tests(dimension: int, M: int) -> tuple[int, int]:
    """G, the groups that report one coordinate each, and N, the (layer, bin, coordinate)s of the union bound."""
    d = dimension
    parts = [(d - h) + (d - h) * (d - h + 1) // 2 for h in range(d)]  # coordinates of l and L in layer h + 1
    return sum(parts) + d - 1, sum(M ** (h + 1) * (size + (h > 0)) for h, size in enumerate(parts))


class _Sampler:
    """Common part of the two mechanisms: how users are shared out, and the logarithm of the union bound."""

    def __init__(self, oracle: CorrectedLPLR, batch: Batch, grid: Grid, delta: float, rng) -> None:
        self.oracle, self.batch, self.scale, self.rng = oracle, batch, oracle.width_scale, rng
        self.groups, tests = groups_and_tests(batch.dimension, grid.M)
        self.log = math.log(2 * tests / delta)


class _RandomizedResponse(_Sampler):
    def __init__(self, *args) -> None:
        super().__init__(*args)
        self.users = self.batch.n // self.groups
        self.bias = self.oracle.bias
        self.width = self.scale * hoeffding_width(self.log, max(self.users, 1), 1.0) / self.bias

    def _means(self, values: np.ndarray, slot: np.ndarray, n_slots: int) -> np.ndarray:
        total = self.batch.bit_sums(self.rng, self.users, values, slot, n_slots, self.bias)
        return (total / (max(self.users, 1) * self.bias)).T

    def moments(self, v, prediction, bound, slot):
        D = v.shape[1]
        i, j = triangle(D)
        factor = np.where(i == j, 1.0, 2.0)
        values = record_values(v, prediction)
        values[:, :, :D] /= bound[slot][:, None, None]
        values[:, :, D:] *= factor
        means = self._means(np.clip(values.transpose(2, 0, 1), -1, 1), slot, len(bound))
        L, width_L = means[:, D:] / factor, np.broadcast_to(self.width / factor, (len(bound), len(i)))
        width_l = np.repeat(bound[:, None] * self.width, D, axis=1)
        return means[:, :D] * bound[:, None], unfold(L, D), width_l, unfold(width_L, D)

    def inherited(self, along, eta, cap, slot):
        safe = np.maximum(cap, 1e-300)
        share = np.clip(along * np.minimum(eta / safe[slot], 1.0), 0.0, 1.0)
        values = np.repeat(share[:, None], 2, axis=1)[None]
        return cap * (np.maximum(self._means(values, slot, len(cap))[:, 0], 0.0) + self.width)


class _Laplace(_Sampler):
    def __init__(self, *args) -> None:
        super().__init__(*args)
        self.users = self.batch.n // (2 * self.batch.dimension - 1)
        self.log += math.log(2)  # sampling and noise are tested apart

    def _means(self, values, slot, scale):
        """Noisy means of values (m, 2, S) with the noise's scale (B, S)."""
        total = self.batch.record_sums(self.rng, self.users, values, slot, len(scale))
        return (total + self.batch.laplace_sums(self.rng, self.users, scale)) / max(self.users, 1)

    def _width(self, half_range, scale):
        n = max(self.users, 1)
        return self.scale * (hoeffding_width(self.log, n, half_range) + laplace_width(self.log, n, scale))

    def moments(self, v, prediction, bound, slot):
        D = v.shape[1]
        scale = np.empty((len(bound), D + D * (D + 1) // 2))
        scale[:, :D], scale[:, D:] = self.oracle.scales(D, bound[:, None])
        means = self._means(record_values(v, prediction), slot, scale)
        width_l, width_L = self._width(bound[:, None], scale[:, :D]), self._width(0.5, scale[:, D:])
        return means[:, :D], unfold(means[:, D:], D), width_l, unfold(width_L, D)

    def inherited(self, along, eta, cap, slot):
        values = np.repeat((along * np.minimum(eta, cap[slot]))[:, None, None], 2, axis=1)
        scale = self.oracle.carried_scale(cap)[:, None]
        means = self._means(values, slot, scale)[:, 0]
        return np.maximum(means, 0.0) + self._width(cap / 2, scale[:, 0])


_SAMPLERS: dict[str, type[_RandomizedResponse] | type[_Laplace]] = {
    "randomized_response": _RandomizedResponse,
    "laplace": _Laplace,
}
