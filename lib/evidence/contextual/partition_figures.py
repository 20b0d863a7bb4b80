"""Figures of the page on the layered partition: the tree of bins, and a partition of the plane."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from evidence import report
from evidence.contextual.partition import Label, Tree

RINGS = 3  # of the plane that are drawn
EXAMPLE = (1, 0)  # the bin of the paper's example
MEANING = {
    "active": "active: a direction was fitted",
    "inactive": "inactive: too few users",
    "below inactive": "below an inactive bin",
    "impossible": "empty for every law",
}
_LOOK = {
    "active": {"facecolor": report.BLUE, "edgecolor": report.BLUE},
    "inactive": {"facecolor": "white", "edgecolor": report.ORANGE, "linewidth": 1.8},
    "below inactive": {"facecolor": "white", "edgecolor": report.ORANGE, "linewidth": 1.2, "linestyle": ":"},
    "impossible": {"facecolor": "#eeeeee", "edgecolor": "#cccccc", "linewidth": 0.8},
}
_EDGE = {"active": report.BLUE, "inactive": report.ORANGE, "below inactive": report.ORANGE, "impossible": "#cccccc"}
_TEXT = {"active": "white", "impossible": "#666666"}


def position(label: Label, M: int) -> tuple[float, float]:
    """Where a bin of a tree of three layers is drawn: the middle of its leaves, and its layer downwards."""
    step = M ** (3 - len(label))
    first = sum(k * M ** (3 - i) for i, k in enumerate(label, start=1))
    return first + (step - 1) / 2, -len(label)


def draw_tree(
    state: Mapping[Label, str], share: Mapping[Label, float], M: int, *, gamma: float, users: int, alpha: float
) -> None:
    """Figure 1 of [Li2024] from a fitted tree of three layers; ``share`` of the users by label, for the table."""
    fig, (ax,) = report.panels(1, height=3.7)
    ax.axis("off")
    for label, kind in state.items():
        (x, y), (px, py) = position(label, M), position(label[:-1], M)
        solid = kind in ("active", "inactive")
        ax.plot([px, x], [py, y], color=_EDGE[kind], linewidth=1.2 if solid else 0.8, zorder=1)
    for label, kind in state.items():
        (x, y), inner = position(label, M), len(label) < 3
        ax.scatter([x], [y], s=310 if inner else 235, zorder=2, **_LOOK[kind])
        look = {"ha": "center", "va": "center", "zorder": 3, "fontsize": 8.5 if inner else 6.3}
        ax.text(x, y, "".join(map(str, label)), color=_TEXT.get(kind, "black"), **look)
        if label[: len(EXAMPLE)] == EXAMPLE:
            size = 430 if inner else 330
            ax.scatter([x], [y], s=size, zorder=4, facecolor="none", edgecolor=report.RED, linewidth=1.3)
    root = position((), M)
    ax.scatter(*root, s=110, color="black", zorder=2)
    ax.text(root[0] + 0.7, root[1] + 0.03, "all vectors", va="center", fontsize=9)
    for h in (1, 2, 3):
        ax.text(-1.2, -h, f"layer {h}", ha="right", va="center", fontsize=9)
    seen = [kind for kind in MEANING if kind in state.values()]
    handles = [ax.scatter([], [], s=90, label=MEANING[kind], **_LOOK[kind]) for kind in seen]
    circle = {"facecolor": "none", "edgecolor": report.RED, "linewidth": 1.3}
    handles.append(ax.scatter([], [], s=110, label="the paper's example", **circle))
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=3, fontsize=8.5)
    ax.set_xlim(-3.4, M**3 - 0.2)
    ax.set_ylim(-3.3, 0.25)
    rows = report.Rows("label", "layer", "state", "share")
    for label, kind in state.items():
        rows.add(label="B" + "".join(map(str, label)), layer=len(label), state=kind, share=share[label])
    report.publish(
        fig,
        "contextual-partition-tree",
        rows,
        alt="A tree of three layers with 3, 9 and 27 bins named by their size classes. Most bins are grey: no vector "
        "can be in them. The bins with non-decreasing labels are active or inactive. The paper's example B10 and its "
        "three children are among the grey ones.",
        caption=f"Figure 1 of the paper from a fitted tree: d = 3, M = 3, γ = {gamma:.4g}, {users:.0e} users, "
        f"α = {alpha:g}. Bins with k = M are left out, as in the paper. Circled: the paper's example and its children.",
    )


class Plane(NamedTuple):
    """A grid over the square [-1, 1]^2, gamma = 2: k_1 (nan outside the first rings), and k_2 (nan where none)."""

    first: np.ndarray
    second: np.ndarray


def size_class(norms: np.ndarray) -> np.ndarray:
    """k of each norm for gamma = 2, without a largest one."""
    return np.floor(-np.log2(np.maximum(norms, 1e-12)) + 1e-12)


def plane(tree: Tree, points: int = 501) -> Plane:
    """The first two size classes over the plane, from a fitted tree with gamma = 2; k_2 at most 5."""
    side = np.linspace(-1, 1, points)
    X, Y = np.meshgrid(side, side)
    pixels = np.stack([X.ravel(), Y.ravel()], axis=1)
    length = np.linalg.norm(pixels, axis=1)
    ring, left = size_class(length), np.full(len(pixels), np.nan)
    for k in range(RINGS):
        if (k,) in tree and tree[k,].active:
            here, u = (ring == k) & (length <= 1), tree[k,].direction
            rest = np.linalg.norm(pixels[here] - (pixels[here] @ u)[:, None] * u, axis=1)
            left[here] = np.minimum(size_class(rest), 5)
    first = np.where((length <= 1) & (ring < RINGS), ring, np.nan)
    return Plane(first.reshape(X.shape), left.reshape(X.shape))


def draw_plane(tree: Tree, points: np.ndarray, *, gamma: float, log_users: float, alpha: float) -> None:
    """Rings and strips of a fitted partition for `turned_vectors`; ``points`` (m, 2) are those of the users."""
    classes = plane(tree)
    fig, axes = report.panels(2, height=3.7, sharex=True, sharey=True)
    styles = {"origin": "lower", "extent": (-1, 1, -1, 1), "interpolation": "nearest"}
    colors = report.colormap("cividis_r", RINGS)
    image = axes[0].imshow(classes.first, cmap=colors, vmin=-0.5, vmax=RINGS - 0.5, **styles)
    axes[0].plot(*points.T, ".", color=report.RED, markersize=2.5)
    rows = report.Rows("ring", "direction_1", "direction_2")
    for k in range(RINGS):
        if (k,) in tree and tree[k,].active:
            ends = np.array([0.5, 1.0])[:, None] * 2.0**-k * along(tree[k,].direction, k)
            axes[0].plot(*ends.T, color="white", linewidth=3.4)
            axes[0].plot(*ends.T, color="black", linewidth=1.8)
            rows.add(ring=k, **{f"direction_{i + 1}": round(abs(float(tree[k,].direction[i])), 4) for i in (0, 1)})
    fig.colorbar(image, ax=axes[0], shrink=0.8, ticks=range(RINGS), label="$k_1$", location="bottom")
    image = axes[1].imshow(classes.second, cmap=report.colormap("viridis_r", 6), vmin=-0.5, vmax=5.5, **styles)
    bar = fig.colorbar(image, ax=axes[1], shrink=0.8, ticks=range(6), label="$k_2$", location="bottom")
    bar.ax.set_xticklabels(["0", "1", "2", "3", "4", "≥ 5"])
    for ax in axes:
        ax.grid(False)
        ax.set_aspect("equal")
        ax.set_xlabel("$\\phi_{(1)}$")
    axes[0].set_ylabel("$\\phi_{(2)}$")
    report.publish(
        fig,
        "contextual-partition-plane",
        rows,
        alt="Left: the unit disc in rings of halving radius, with the users' vectors as points and a black bar along "
        "each ring's fitted direction, which turns from ring to ring. Right: inside each ring, strips parallel to its "
        "direction, of halving width.",
        caption=f"A fitted partition of the plane, γ = {gamma:g}, 10^{log_users:g} users, α = {alpha:g}. (a) Layer 1: "
        "rings; points are the users' vectors, the bar in a ring is its direction. (b) Layer 2: strips along the "
        "ring's direction, by the size of what it leaves. Bins further in are not shown.",
    )


def turned(radius: np.ndarray) -> np.ndarray:
    """The angle that the law of the vectors turns to at a radius, for the example of the plane."""
    return math.pi * (0.12 - 0.22 * np.log2(radius))


def along(direction: np.ndarray, k: int) -> np.ndarray:
    """The direction of ring k, with the sign of the way that the law is turned to there."""
    angle = turned(2.0 ** -(k + 0.5))
    return direction * np.sign(direction @ [math.cos(angle), math.sin(angle)])


def turned_vectors(rng: np.random.Generator, count: int) -> np.ndarray:
    """Vectors of the plane (count, 2) of norms 1/8 to 1 whose law turns with their size."""
    radius = 2.0 ** -rng.uniform(0, 3, count)
    turn = turned(radius)
    scatter = rng.normal(size=(count, 2)) * [1.0, 0.22]
    scatter /= np.linalg.norm(scatter, axis=1, keepdims=True)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]).transpose(2, 0, 1)
    return np.einsum("mij,mj->mi", rotation, scatter) * radius[:, None]
