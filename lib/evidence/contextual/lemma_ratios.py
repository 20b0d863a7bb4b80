"""The inequalities of `lemmas` over all bins and runs, with the recursion of Lemma 4.4, and Lemma 4.6."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from dpregret.contextual import Batch, Estimate
from dpregret.contextual.partition import Layer
from evidence.contextual import bounds, lemmas
from evidence.contextual.lemmas import Bin
from evidence.contextual.shares import Share, share


def bins(layer: Layer, batch: Batch, parameter: np.ndarray) -> Iterator[Bin]:
    """The bins of a traced layer that the law reaches, in order."""
    slot = layer.trace.bin
    order = np.argsort(slot, kind="stable")
    order = order[(slot[order] >= 0) & (batch.probabilities[order] > 0)]
    edges = np.searchsorted(slot[order], np.arange(len(layer.codes) + 1))
    for index, (first, last) in enumerate(itertools.pairwise(edges)):
        yield Bin.of(layer, index, order[first:last], batch, parameter)


class Measured(NamedTuple):
    """One cell: R copies of a problem, at one horizon.

    ratios : by inequality, the largest over the bins of each run, (R,)
    upper : bins of the later layers whose estimate of epsilon_B is an upper one, line 13 as printed and corrected
    bins : how many such bins there are
    users, n, dimension : users taken, users of a pass, d
    """

    ratios: dict[str, np.ndarray]
    upper: tuple[int, int]
    bins: int
    users: int
    n: int
    dimension: int


def measure(fit: Estimate, batch: Batch, parameter: np.ndarray, *, alpha: float, delta: float) -> Measured:
    """Every inequality in every bin of a traced fit of corrected LPLR (kappa_1 with the factor 2 d, L22)."""
    c, d, runs, n = (
        lemmas.setting(batch, alpha=alpha, delta=delta),
        batch.dimension,
        batch.n_actions,
        fit.details[0].trace.n,
    )
    numerator = bounds.layer_numerator(d, gamma=c.grid.gamma, constants=c.kappas, version="corrected")
    ratios: dict[str, np.ndarray] = {}
    sides, before = [], np.zeros(runs)
    for h, layer in enumerate(fit.details, start=1):
        after = np.zeros(runs)
        for b in bins(layer, batch, parameter):
            found = lemmas.of_statistics(b, n, c)
            if b.found("active"):
                found |= lemmas.of_coefficient(b, n, c, parameter) | lemmas.of_width(b, n, c, parameter)
                if h > 1:
                    found |= lemmas.of_carried(b, n, c)
                    sides.append(lemmas.is_upper(b, n, c))
            for name, ratio in found.items():
                largest = ratios.setdefault(name, np.full(runs, -math.inf))
                largest[b.run] = max(largest[b.run], float(ratio))
            after[b.run] += b.psi * math.sqrt(b.law @ lemmas.band_after(b) ** 2)
        allowed = [bounds.lemma_4_4(x, h, M=c.grid.M, n=n, numerator=numerator, version="corrected") for x in before]
        ratios["4.4, recursion"] = np.maximum(ratios.get("4.4, recursion", 0.0), after / allowed)
        before = after
    whole = bounds.lemma_4_6(d, M=c.grid.M, n=n, numerator=numerator, version="corrected")
    ratios["4.6, EΔ"] = (batch.probabilities * fit.widths).reshape(runs, -1).sum(axis=1) / whole
    ratios["4.6, coverage"] = (np.abs(fit.values - batch.means) / fit.widths).reshape(runs, -1).max(axis=1)
    upper = tuple(int(x) for x in np.sum(sides, axis=0)) if sides else (0, 0)
    return Measured(ratios, upper, len(sides), batch.n - batch.users_left, n, d)


class Summary(NamedTuple):
    """All cells together.

    largest : by inequality, the largest ratio of all runs
    by_instance : by (inequality, instance)
    violated : by inequality, runs in which its ratio exceeds 1
    upper : by log10 T, the shares of bins with an upper estimate of epsilon_B, line 13 as printed and corrected
    runs : how many there are
    counted : whether every fit took 2 n d users
    """

    largest: dict[str, float]
    by_instance: dict[tuple[str, str], float]
    violated: dict[str, int]
    upper: dict[float, tuple[Share, Share]]
    runs: int
    counted: bool

    @property
    def names(self) -> list[str]:
        """The inequalities, sorted."""
        return sorted(name for name in self.largest if name != lemmas.WITH_ROOT)


def summarize(cells: Mapping[tuple[str, float], Measured], *, confidence: float) -> Summary:
    """The cells by (instance, log10 T); the intervals of all of them together at level ``confidence``."""
    largest, by_instance, violated, upper = {}, {}, {}, {}
    for (label, _), cell in cells.items():
        for name, ratio in cell.ratios.items():
            by_instance[name, label] = max(by_instance.get((name, label), 0.0), float(ratio.max()))
            largest[name] = max(largest.get(name, 0.0), float(ratio.max()))
            violated[name] = violated.get(name, 0) + int((ratio > 1).sum())
    for log_T in dict.fromkeys(log_T for _, log_T in cells):
        here = [cell for (_, x), cell in cells.items() if x == log_T]
        total = sum(cell.bins for cell in here)
        hits = (sum(cell.upper[i] for cell in here) for i in (0, 1))
        upper[log_T] = tuple(share(k, total, confidence, intervals=2 * len(cells)) for k in hits)
    runs = sum(len(cell.ratios["4.6, EΔ"]) for cell in cells.values())
    counted = all(cell.users == 2 * cell.n * cell.dimension for cell in cells.values())
    return Summary(largest, by_instance, violated, upper, runs, counted)
