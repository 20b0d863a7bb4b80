"""The layered partition of Section 4.1 of [Li2024], read from a fit: its tree, Figure 2's procedure anew, its bins.

A bin is named by its label (k_1, ..., k_h): the size classes of what is left of a vector, layer by layer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dpregret.contextual import Estimate
from dpregret.contextual.partition import Layer
from evidence import report

Label = tuple[int, ...]
ROUNDING = 1e-12


class Node(NamedTuple):
    """What was fitted in a bin: u_B (d,), t_B, the relative width zeta_B, and whether the bin is active."""

    direction: np.ndarray
    coefficient: float
    slope: float
    active: bool


class Step(NamedTuple):
    """A vector on one layer: its bin (None after the last), phi_h (d,), and the prediction so far."""

    label: Label | None
    residual: np.ndarray
    prediction: float


Tree = Mapping[Label, Node]


def read_tree(layers: Sequence[Layer]) -> dict[Label, Node]:
    """The bins of a fit of one action, by label."""
    tree, names = {}, {0: ()}
    for layer in layers:
        labels = [(*names[int(parent)], int(k)) for parent, k in zip(layer.parents, layer.k, strict=True)]
        for i, label in enumerate(labels):
            values = layer.coefficient[i], layer.slope[i]
            tree[label] = Node(layer.direction[i], *map(float, values), bool(layer.active[i]))
        names = dict(enumerate(labels))
    return tree


def procedure(phi: Sequence[float], tree: Tree, gamma: float, M: int) -> list[Step]:
    """Figure 2 of [Li2024], written anew: the steps of a vector until it stops.

    The size class of the residual names the bin; an active bin takes its direction out of the residual, and adds its
    part to the prediction.
    """
    steps, label, residual, prediction = [], (), np.array(phi, float), 0.0
    for _ in range(len(residual)):
        size = np.linalg.norm(residual)
        label += (max(k for k in range(M + 1) if size <= gamma**-k * (1 + ROUNDING)),)
        steps.append(Step(label, residual.copy(), prediction))
        if label not in tree or not tree[label].active:
            return steps
        along = tree[label].direction @ residual
        residual = residual - along * tree[label].direction
        prediction += tree[label].coefficient * along
    return [*steps, Step(None, residual, prediction)]


class Followed(NamedTuple):
    """What held for all vectors that went through the procedure.

    nested : each is in one bin a layer, inside its parent
    in_class : gamma^(-k-1) < norm <= gamma^-k on each layer (the first for k < M)
    shorter : residuals never get longer
    values : of each vector, with the best of the bands at which it may stop
    largest, clipped : the largest ``|y_h|`` of the support, and with the prediction clipped to [-1, 1]
    """

    nested: bool
    in_class: bool
    shorter: bool
    values: np.ndarray
    largest: float
    clipped: float


def follow(vectors: np.ndarray, tree: Tree, gamma: float, M: int, *, support: int) -> Followed:
    """All vectors (m, d) through the procedure; the first ``support`` of them are those that users have."""
    paths = [procedure(phi, tree, gamma, M) for phi in vectors]
    binned = [[step for step in path if step.label] for path in paths]
    lengths = [[np.linalg.norm(step.residual) for step in path] for path in paths]
    predictions = [abs(step.prediction) for path in binned[:support] for step in path]
    return Followed(
        all(b.label[:-1] == a.label for path in binned for a, b in itertools.pairwise(path)),
        all(_is_in_class(step, gamma, M) for path in binned for step in path),
        all(b <= a * (1 + ROUNDING) + 1e-300 for path in lengths for a, b in itertools.pairwise(path)),
        np.array([_value(path, tree) for path in paths]),
        1 + max(predictions),
        1 + min(max(predictions), 1.0),
    )


def _is_in_class(step: Step, gamma: float, M: int) -> bool:
    norm, k = np.linalg.norm(step.residual), step.label[-1]
    return norm <= gamma**-k * (1 + 1e-9) and (k == M or norm > gamma ** (-k - 1) * (1 - 1e-9))


def _value(path: Sequence[Step], tree: Tree) -> float:
    """The estimate at the start of a path: the best of the bands eta + |phi_h|, the prediction clipped."""
    eta, best, value = 0.0, np.linalg.norm(path[0].residual), 0.0
    for step, after in itertools.pairwise(path):
        node = tree[step.label]
        eta += node.slope * abs(node.direction @ step.residual)
        left = np.linalg.norm(after.residual) if after.label else 0.0
        if eta + left < min(best, 1.0):
            best, value = eta + left, np.clip(after.prediction, -1, 1)
    return float(value)


def agrees(found: Followed, estimate: Estimate, vectors: np.ndarray) -> bool:
    """Whether the values by hand are those of the library, to 1e-12."""
    return np.allclose(found.values, estimate.predict(vectors), rtol=0, atol=ROUNDING)


def is_ordered(label: Label) -> bool:
    """Whether k_1 <= k_2 <= ...: only such a bin can hold a vector, since a residual never gets longer."""
    return list(label) == sorted(label)


def states(tree: Tree, M: int, layers: int) -> dict[Label, str]:
    """What each partitioning bin is: ``active``, ``inactive``, ``below inactive`` or ``impossible`` under any law."""
    out = {}
    for label in itertools.chain.from_iterable(itertools.product(range(M), repeat=h) for h in range(1, layers + 1)):
        fitted = ("active" if tree[label].active else "inactive") if label in tree else "below inactive"
        out[label] = fitted if is_ordered(label) else "impossible"
    return out


def reached(
    labels: Sequence[Label], vectors: np.ndarray, law: np.ndarray, tree: Tree, gamma: float, M: int
) -> dict[Label, float]:
    """Share of the users in each bin, from the law (m,) of the vectors (m, d)."""
    paths = [{step.label for step in procedure(phi, tree, gamma, M)} for phi in vectors]
    return {label: float(sum(p for p, path in zip(law, paths, strict=True) if label in path)) for label in labels}


class Count(NamedTuple):
    """Labels of a layer: M^h without the ends, those of them that are ordered; (M + 1)^h with the ends, and ordered."""

    partitioning: int
    ordered: int
    every: int
    every_ordered: int

    def is_binomial(self, h: int, M: int) -> bool:
        """Whether the ordered ones are as many as the binomial coefficients say."""
        return self.ordered == math.comb(M + h - 1, h) and self.every_ordered == math.comb(M + h, h)


def count(h: int, M: int) -> Count:
    """By enumeration."""
    sets = [list(itertools.product(range(classes), repeat=h)) for classes in (M, M + 1)]
    return Count(*(n for labels in sets for n in (len(labels), sum(map(is_ordered, labels)))))


class Fitted(NamedTuple):
    """Whether directions are orthogonal to those of the ancestors, and coefficients within their widths."""

    orthogonal: bool
    within: bool


def check(tree: Tree, parameter: np.ndarray) -> Fitted:
    """Of the active bins."""
    active = {label: node for label, node in tree.items() if node.active}
    return Fitted(
        all(
            abs(node.direction @ tree[label[:j]].direction) < 1e-9
            for label, node in active.items()
            for j in range(1, len(label))
        ),
        all(abs(node.coefficient - node.direction @ parameter) <= node.slope for node in active.values()),
    )


def name(label: Label | None) -> str:
    """The bin in mathematics."""
    return "$B_{" + "".join(map(str, label)) + "}$" if label else "(end)"


def steps_table(steps: Sequence[Step], gamma: float):
    """A vector's way, layer by layer."""
    head = ["layer", "norm of the residual", "bin", "$\\gamma^{-k_h-1}$", "$\\gamma^{-k_h}$", "prediction so far"]
    rows = []
    for h, (label, residual, p) in enumerate(steps, start=1):
        ends = [f"{gamma ** (-label[-1] - j):.3g}" for j in (1, 0)] if label else ["", ""]
        norm = f"{np.linalg.norm(residual):.3g}" if label else "0"
        rows.append([h, norm, name(label), *ends, *(f"{x:.4f}" for x in (p, 1 - p, -1 - p))])
    return report.table([*head, "$y_h$ for $y = 1$", "$y_h$ for $y = -1$"], rows)


def bins_table(tree: Tree, share: Mapping[Label, float], parameter: np.ndarray, gamma: float):
    """What each active bin holds, by layer and label."""
    head = ["bin", "share of the users", "axis nearest to $u_B$", "$t_B$", "$\\langle u_B, \\theta^* \\rangle$"]
    rows = []
    for label in sorted((x for x in tree if tree[x].active), key=lambda x: (len(x), x)):
        node = tree[label]
        exact = node.direction @ parameter
        row = [name(label), f"{share[label]:.3g}", f"$e_{1 + np.abs(node.direction).argmax()}$"]
        row += [report.approx(node.coefficient * np.sign(exact)), report.approx(abs(exact))]
        widths = node.slope, node.slope * gamma ** -label[-1]
        rows.append(row + [report.approx(x, digits=2) for x in widths])
    return report.table([*head, "relative width $\\zeta_B$", "$\\gamma^{-k_h} \\zeta_B$"], rows)


def figure_1(counts: Mapping[int, Count], M: int, monotone: bool) -> report.Card:
    """The number of bins of the tree of Figure 1; ``monotone``: no fitted bin has an unordered label."""
    right = all(c.partitioning == M**h and c.is_binomial(h, M) for h, c in counts.items())
    return report.verdict(
        "contextual/figure-1",
        report.holds_if(right and monotone),
        evidence="exact",
        check="bins of the tree with d = 3 and M = 3, by enumeration, and in a fitted tree",
        observed=f"{', '.join(str(c.partitioning) for c in counts.values())} partitioning bins on the layers, of which "
        f"{', '.join(str(c.ordered) for c in counts.values())} can hold a vector",
        required="3, 9, 27; the bin of the example has one parent and three children",
        margin="the bin of the paper's example and its children are empty under every law, since k_1 ≤ k_2 ≤ ...; the "
        "counts in the lemmas can be replaced by binomial coefficients",
    )


def figure_2(found: Followed, agree: bool) -> report.Card:
    """Bins, residuals and residual rewards; ``agree``: the values are the library's."""
    residuals = found.nested and found.in_class and found.shorter and agree
    right = report.holds_if(found.largest <= 1, otherwise="holds corrected")
    return report.verdict(
        "contextual/figure-2",
        right if residuals and found.clipped <= 2 else "fails",
        evidence="proof",
        check=f"bins, residuals and residual rewards of {len(found.values)} vectors, by hand and by the library",
        observed=f"one bin a layer, norms in their class: {residuals}; |y_h| up to {found.largest:.3f} as printed, "
        f"{found.clipped:.3f} with the clipped prediction",
        required="|y_h| ≤ 1 as printed, ≤ 2 corrected",
        margin="all but the range of y_h holds (L4)",
    )
