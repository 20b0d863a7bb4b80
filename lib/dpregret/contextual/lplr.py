"""Layered private linear regression as printed: Algorithms 2 to 6 of [Li2024], each correction a switch.

As printed it is not locally private (faults L1 and L2): the Wishart noise has no finite epsilon, and further statistics
cost more than the text counts. `dpregret.contextual.corrected` has the private form; this one shows what the printed
algorithm does.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dpregret import _checks
from dpregret.contextual.batch import Batch
from dpregret.contextual.estimate import Estimate, safe_band
from dpregret.contextual.partition import Grid, Layer, Trace, Walk, complement

CORRECTIONS = {
    "L4": "the rewards' residual subtracts the clipped prediction, so that |y_h| <= 2",
    "L6": "Algorithm 5, line 11: an inactive bin has the band eta_parent + |phi_h|, not gamma^-k",
    "L7": "Algorithm 5, line 13: kappa_2 is divided by psi sqrt(n), not by psi n",
    "L8": "Lemma 4.2: psi = c / n, not c / sqrt(n)",
    "L9": "Algorithm 4, line 6: the top eigenpair within the complement; inactive if it is not positive",
    "L10": "value 0 and band 1 where the band reaches 1, values clipped, band 0 at the zero vector",
    "L11": "Algorithm 5, line 10: the condition with kappa_1' is dropped, as implied",
}


class Kappas(NamedTuple):
    """The algorithm's constants kappa_1, kappa_1', kappa_2, kappa_3."""

    k1: float
    k1_prime: float
    k2: float
    k3: float


def theory_kappas(dimension: int, *, alpha: float, beta: float, delta: float) -> Kappas:
    """The smallest constants that Lemmas 4.3 and 4.4 of [Li2024] allow as printed."""
    log = math.log(48 * dimension / (beta * delta)) / alpha
    return Kappas(43 * log, 15 * log, 118 * math.log(24 * dimension / (beta * delta)) / alpha, 300 * log)


@dataclass(frozen=True)
class LPLR:
    """Algorithm 2 of [Li2024]: n users a layer update the bins, n more set the bands; 2 d n users in all.

    Parameters
    ----------
    alpha : float
        In (0, 1]: what the text calls the privacy parameter, from which the scales of the noise follow.
    corrections : "none", "all" or a collection of names in `CORRECTIONS`
        Departures from the text. Without L9, the minimiser of line 6, which is not unique, is taken as the positive
        part of the projected matrix; in floating point its top eigenvector can be a direction already used.
    kappa_scale : tuple of four floats
        Factors on the constants of the theory (kappa_1, kappa_1', kappa_2, kappa_3); (1, 1, 1, 1) are the paper's own,
        anything smaller has no proof.
    beta : float, optional
        gamma = T^beta, M = ceil(1/(2 beta)); by default 1/ln T (Remark 4.8).

    Raises
    ------
    ValueError
        For alpha outside (0, 1], an unknown correction, a factor <= 0, or beta outside (0, 1/2].

    Notes
    -----
    Bins that no row reaches are drawn by the per-user backend alone, those of size class M by none: their messages
    change nothing that is returned. A bin with psi <= 0 is inactive under any constants. A negative band, possible as
    line 13 is printed, is returned as 0.
    """

    alpha: float = field(kw_only=True)
    corrections: str | Collection[str] = "none"
    kappa_scale: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    beta: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _checks.real("alpha", self.alpha, above=0.0, at_most=1.0))
        words = (self.corrections,) if isinstance(self.corrections, str) else tuple(self.corrections)
        short: dict[tuple[str, ...], tuple[str, ...]] = {("none",): (), ("all",): tuple(CORRECTIONS)}
        names = short.get(words, words)
        for name in names:
            _checks.choice("corrections", name, CORRECTIONS)
        object.__setattr__(self, "corrections", frozenset(names))
        scale = _checks.array("kappa_scale", self.kappa_scale, ndim=1)
        if len(scale) != 4 or scale.min() <= 0:
            raise ValueError(f"kappa_scale must be four numbers > 0, got {self.kappa_scale!r}")
        object.__setattr__(self, "kappa_scale", tuple(float(x) for x in scale))
        if self.beta is not None:
            object.__setattr__(self, "beta", _checks.real("beta", self.beta, above=0.0, at_most=0.5))

    def value_epsilon(self) -> float:
        """Infinite: the matrix with Wishart noise is one of the noisy values, and it has no finite epsilon (L1)."""
        return math.inf

    def effective_epsilon(self) -> float:
        """Infinite: the Wishart step has no finite epsilon (L1)."""
        return math.inf

    def scales(self, dimension: int, g: np.ndarray) -> np.ndarray:
        """Scales of the Laplace noise of Algorithm 3, (B, 1 + d): on the count and on y_h phi; g (B,) is gamma^-k."""
        scale = np.full((len(g), dimension + 1), 3 / self.alpha)
        scale[:, 1:] *= math.sqrt(dimension) * g[:, None]
        return scale

    def kappas(self, dimension: int, *, horizon: float, delta: float) -> Kappas:
        """The constants in use."""
        beta = 1 / math.log(horizon) if self.beta is None else self.beta
        theory = theory_kappas(dimension, alpha=self.alpha, beta=beta, delta=delta)
        return Kappas(*(k * c for k, c in zip(theory, self.kappa_scale, strict=True)))

    def fit(self, batch: Batch, *, delta: float, rng: np.random.Generator, trace: bool = False) -> Estimate:
        """See :class:`~dpregret.contextual.elimination.Oracle`.

        With ``trace``, each layer of the estimate's ``details`` has a `Trace` of what the lemmas speak of; the draws
        are the same.
        """
        batch.restart()
        grid = Grid.of(batch.horizon, self.beta)
        d = batch.dimension
        n = batch.n // (2 * d)
        kappas = self.kappas(d, horizon=batch.horizon, delta=delta)
        walk = Walk(batch.features, batch.actions, grid)
        bases = np.broadcast_to(np.eye(d), (batch.n_actions, d, d))
        layers: list[Layer] = []
        for h in range(1, d + 1) if n else ():
            codes = walk.codes()
            known = np.unique(codes[(codes >= 0) & (walk.k < grid.M)])
            if len(known) == 0:
                break
            parents, k = np.divmod(known, grid.M + 1)
            walk.enter(known)
            batch.idle_slots = batch.n_actions * grid.M**h - len(known)
            bases = bases[parents]
            g = grid.gamma ** -k.astype(float)
            psi, lam, Lam = self._update(batch, rng, n, walk, g)
            psi_least = kappas.k1 * grid.gamma**2 * (d + 1) ** 3 / math.sqrt(n)
            if "L11" not in self.corrections:
                psi_least = max(psi_least, kappas.k1_prime * grid.gamma * d**1.5 / math.sqrt(n))
            active = psi > psi_least
            scale = np.where(active, psi * n, 1.0)
            Lam = Lam / scale[:, None, None]
            top, u, inner = self._principal(Lam, bases)
            active &= top > 0
            s = np.where(active, top, 1.0)
            t = np.einsum("bi,bi->b", u, lam) / (scale * s)
            carried = self._inherited(batch, rng, n, walk, u, s, g) / scale
            margin = kappas.k2 * grid.gamma * d**1.5 / (scale / math.sqrt(n) if "L7" in self.corrections else scale)
            excess = carried + margin
            offset = kappas.k3 * grid.gamma**2 * (d + 1) ** 4 * math.sqrt(n) / scale
            direction, slope, info = u * active[:, None], excess / np.sqrt(s), None
            if trace:
                rows = walk.bin, walk.residual, walk.prediction, walk.eta
                info = Trace(n, g, *rows, psi, lam / scale[:, None], Lam, top, u, carried)
            layers.append(Layer(known, parents, k, direction, t * active, offset * active, slope, active, info))
            walk.advance(layers[-1], "L10" in self.corrections)
            if h < d:
                bases = complement(bases, inner)
        return Estimate(lambda features, actions: self._aggregate(layers, grid, features, actions), batch, layers)

    def _update(self, batch, rng, n, walk, g):
        """Algorithm 3 over n users: psi (B,), lambda (B, d), Lambda (B, d, d), not divided by psi n."""
        phi, d, slots = walk.residual, batch.dimension, len(g)
        prediction = np.clip(walk.prediction, -1, 1) if "L4" in self.corrections else walk.prediction
        values = np.empty((len(phi), 2, 1 + d + d * d))
        values[:, :, 0] = 1.0
        for side, y in enumerate((1.0, -1.0)):
            values[:, side, 1 : d + 1] = (y - prediction)[:, None] * phi
        values[:, :, d + 1 :] = (phi[:, :, None] * phi[:, None, :]).reshape(-1, 1, d * d)
        total = batch.record_sums(rng, n, values, walk.bin, slots)
        total[:, : d + 1] += batch.laplace_sums(rng, n, self.scales(d, g))
        wishart = batch.wishart_sums(rng, n, slots, d + 1, 1.5 / self.alpha)
        Lam = total[:, d + 1 :].reshape(-1, d, d) + 3 * (g**2)[:, None, None] * wishart
        return total[:, 0] / (n if "L8" in self.corrections else math.sqrt(n)), total[:, 1 : d + 1], Lam

    def _principal(self, Lam, bases):
        """Lines 5 to 7 of Algorithm 4: s (B,), u (B, d), and u in the coordinates of the bases (B, D)."""
        if "L9" in self.corrections:
            values, vectors = np.linalg.eigh(bases.swapaxes(1, 2) @ Lam @ bases)
            inner = vectors[:, :, -1]
            return values[:, -1], np.einsum("bij,bj->bi", bases, inner), inner
        projector = bases @ bases.swapaxes(1, 2)
        projected = projector @ Lam @ projector
        values, vectors = np.linalg.eigh((projected + projected.swapaxes(1, 2)) / 2)
        u = vectors[:, :, -1]
        inner = np.einsum("bij,bi->bj", bases, u)
        norm = np.linalg.norm(inner, axis=1, keepdims=True)
        fallback = np.eye(inner.shape[1])[:1]
        return values[:, -1], u, np.where(norm > 1e-8, inner / np.maximum(norm, 1e-300), fallback)

    def _inherited(self, batch, rng, n, walk, u, s, g):
        """Lines 2 to 8 of Algorithm 5: the noisy sums of eta_parent |u' phi| / sqrt(s) over n users, (B,)."""
        along = np.abs(np.einsum("ij,ij->i", walk.residual, u[walk.bin]))
        values = np.repeat((walk.eta * along / np.sqrt(s[walk.bin]))[:, None, None], 2, axis=1)
        noise = batch.laplace_sums(rng, n, g / np.sqrt(s) / self.alpha)
        return batch.record_sums(rng, n, values, walk.bin, len(g))[:, 0] + noise

    def _aggregate(self, layers, grid, features, actions):
        """Algorithm 6, with the bands of inactive bins of Algorithm 5."""
        walk = Walk(features, actions, grid)
        width = np.full(len(features), np.nan)
        for layer in layers:
            reached = walk.bin >= 0
            inherited, norms = walk.eta, walk.norms
            walk.enter(layer.codes)
            stopped = reached & ~walk.advance(layer, "L10" in self.corrections)
            width[stopped] = self._inactive(inherited, norms, walk)[stopped]
        unfinished = walk.bin >= 0
        if len(layers) == features.shape[1]:
            width[unfinished] = walk.eta[unfinished]
        else:
            inherited, norms = walk.eta, walk.norms
            walk.codes()
            width[unfinished] = self._inactive(inherited, norms, walk)[unfinished]
        if "L10" in self.corrections:
            return safe_band(walk.prediction, np.maximum(width, 0.0), features)
        return walk.prediction, np.maximum(width, 0.0)

    def _inactive(self, inherited, norms, walk):
        """Line 11 of Algorithm 5."""
        return inherited + norms if "L6" in self.corrections else walk.grid.gamma ** -walk.k.astype(float)
