"""Lemmas 4.2 to 4.4 and 8.1 to 8.7 of [Li2024] in one bin of a traced fit: left over right of each inequality.

The left side comes from the run (`dpregret.contextual.partition.Trace`), the expectations exactly from the law. A ratio
is left over right; a lemma says that none exceeds 1, but for a probability of delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpregret.contextual import Batch
from dpregret.contextual.lplr import Kappas
from dpregret.contextual.partition import Grid, Layer
from evidence.contextual import bounds

WITH_ROOT = "4.2, counts, with c/√n"  # not a lemma's: the first line of Lemma 4.2 with psi as its text has it (L8)


class Setting(NamedTuple):
    """The constants in the inequalities; ``kappas`` are those of the paper's chain of steps put right (L22)."""

    alpha: float
    beta: float
    delta: float
    grid: Grid
    kappas: Kappas

    @property
    def shared(self) -> dict[str, float]:
        """alpha, beta and delta, by name."""
        return {"alpha": self.alpha, "beta": self.beta, "delta": self.delta}


def setting(batch: Batch, *, alpha: float, delta: float) -> Setting:
    """The constants for the batch's horizon and dimension, with beta = 1/ln T."""
    beta = 1 / math.log(batch.horizon)
    kappas = bounds.kappas(batch.dimension, alpha=alpha, beta=beta, delta=delta, version="corrected")
    return Setting(alpha, beta, delta, Grid.of(batch.horizon, beta), kappas)


@dataclass(frozen=True)
class Bin:
    """One bin that some vector of the law reaches: its law, exactly, and what the run found there.

    run : the copy of the problem, 0..R-1
    psi : probability of the bin
    law, phi, eta : of each of its rows: probability within the bin (r,), phi_h (r, d), the band from above (r,)
    error : of the prediction from the layers above, along the directions so far, (r,)
    lam, Lam : E[y_h phi_h | B] and E[phi_h phi_h' | B], exactly
    """

    layer: Layer
    index: int
    run: int
    psi: float
    law: np.ndarray
    phi: np.ndarray
    eta: np.ndarray
    error: np.ndarray
    lam: np.ndarray
    Lam: np.ndarray

    @classmethod
    def of(cls, layer: Layer, index: int, rows: np.ndarray, batch: Batch, parameter: np.ndarray) -> Bin:
        """The bin ``index`` of a traced layer, which the given rows of the batch are in."""
        trace, psi = layer.trace, batch.probabilities[rows].sum()
        law, phi, prediction = batch.probabilities[rows] / psi, trace.residual[rows], trace.prediction[rows]
        error = prediction - (batch.features[rows] - phi) @ parameter
        lam = law @ ((batch.means[rows] - prediction)[:, None] * phi)
        Lam = (law[:, None] * phi).T @ phi
        return cls(layer, index, int(batch.actions[rows[0]]), psi, law, phi, trace.eta[rows], error, lam, Lam)

    def found(self, name: str) -> np.ndarray:
        """A field of the layer or of its trace, in this bin."""
        return getattr(self.layer if hasattr(self.layer, name) else self.layer.trace, name)[self.index]

    @property
    def along(self) -> np.ndarray:
        """<u_B, phi_h> of each row."""
        return self.phi @ self.found("u")

    @property
    def share_carried(self) -> np.ndarray:
        """``|<u_B, phi_h>|`` / sqrt(s_B) of each row: what it passes on of the band from above."""
        return np.abs(self.along) / math.sqrt(self.found("s"))

    @property
    def carried(self) -> float:
        """epsilon_B, exactly."""
        return float((self.law * self.eta) @ self.share_carried)

    @property
    def upper(self) -> float:
        """The upper estimate of epsilon_B that the run used, with its margin."""
        return float(self.found("slope") * math.sqrt(self.found("s")))

    def missed(self, parameter: np.ndarray) -> float:
        """Error of the coefficient t_B."""
        return float(self.found("coefficient") - self.found("u") @ parameter)


def of_statistics(b: Bin, n: int, c: Setting) -> dict[str, float]:
    """Lemma 4.2: counts in every bin, lambda and Lambda in an active one."""
    allowed = bounds.lemma_4_2(b.phi.shape[1], n=n, psi=b.psi, g=b.found("size"), **c.shared, version="corrected")
    psi = b.found("psi")
    out = {
        "4.2, counts": abs(psi - b.psi) / allowed.psi,
        WITH_ROOT: abs(psi * math.sqrt(n) - b.psi) / allowed.psi,
    }
    if b.found("active"):
        out["4.2, λ"] = np.linalg.norm(b.found("lam") - b.lam) / allowed.lam
        out["4.2, Λ"] = np.linalg.norm(b.found("Lam") - b.Lam, 2) / allowed.Lam
    return out


def of_coefficient(b: Bin, n: int, c: Setting, parameter: np.ndarray) -> dict[str, float]:
    """Lemma 4.3 in an active bin."""
    d, k = b.phi.shape[1], int(b.found("k"))
    inverse, omega = bounds.lemma_4_3(d, n=n, psi=b.psi, k=k, gamma=c.grid.gamma, **c.shared)
    s = b.found("s")
    passed = (b.law * b.error) @ b.along / s
    return {"4.3, 1/s": 1 / s / inverse, "4.3, ω": abs(b.missed(parameter) + passed) / omega}


def of_carried(b: Bin, n: int, c: Setting) -> dict[str, float]:
    """Lemma 8.1 and Corollary 8.3 in an active bin of the second layer or a later one."""
    d, gamma, mean = b.phi.shape[1], c.grid.gamma, b.found("carried")
    unit = gamma * d**1.5 / (b.psi * math.sqrt(n))
    log = math.log(24 * d / (c.beta * c.delta))
    return {
        "8.1": abs(mean - b.carried) / (47 * unit * log / c.alpha),
        "8.3, lower": (b.carried - mean) / (b.upper - mean),
        "8.3, upper": (b.upper - b.carried) / (2.5 * c.kappas.k2 * unit),
    }


def is_upper(b: Bin, n: int, c: Setting) -> tuple[bool, bool]:
    """Whether the estimate of epsilon_B is an upper one, with line 13 of Algorithm 5 as printed and corrected (L7)."""
    margin = c.kappas.k2 * c.grid.gamma * b.phi.shape[1] ** 1.5
    printed = b.found("carried") + margin / (b.found("psi") * n)
    return bool(printed >= b.carried), bool(b.upper >= b.carried)


def band_after(b: Bin) -> np.ndarray:
    """eta of each row after this layer, at most 1."""
    added = np.linalg.norm(b.phi, axis=1)
    if b.found("active"):
        added = b.found("offset") + b.found("slope") * np.abs(b.along)
    return np.minimum(b.eta + added, 1.0)


def of_width(b: Bin, n: int, c: Setting, parameter: np.ndarray) -> dict[str, float]:
    """Lemma 8.5, Corollary 8.7 and the two inequalities of Lemma 4.4, in an active bin: the worst of its rows."""
    d = b.phi.shape[1]
    wrong = b.missed(parameter) * b.along
    log = math.log(48 * d / (c.beta * c.delta))
    out = {}
    for name, carried, factor, psi in (("8.5", b.carried, 120, b.psi), ("8.7", b.upper, 300, b.found("psi"))):
        rest = factor * (d + 1) ** 4 * c.grid.gamma**2 * log / (c.alpha * psi * math.sqrt(n))
        out[name] = np.max(np.abs(wrong) / (carried * b.share_carried + rest))
    out["4.4, χ"] = np.max(np.abs(wrong) / (b.found("offset") + b.found("slope") * np.abs(b.along)))
    after = band_after(b)
    useful = after < 1
    if useful.any():
        out["4.4, η"] = np.max(np.abs(b.error + wrong)[useful] / after[useful])
    return out
