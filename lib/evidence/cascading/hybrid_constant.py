"""Lemma 1 of [Wang2021]: the smallest constant with which it is true, over all n.

The noise of the hybrid mechanism at item n depends on ``k = floor(log2 n)`` and on the number of binary ones of
``n - 2^k``; among the n with one law the constant falls, so that the first of them is the worst.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Lemma 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dpregret.privacy.continual import HybridMechanism
from evidence import report
from evidence.cascading import lemmas

LOOKS = {
    "γ → 1": {"color": report.BLUE, "marker": "o"},
    "γ = 1/2": {"color": report.ORANGE, "marker": "s"},
    "γ = n⁻³": {"color": report.GREEN, "marker": "^"},
}


def first_of_each_law(blocks: int) -> list[int]:
    """The first n of each law of the noise for ``2 <= n < 2^blocks``, and ``2^blocks`` itself."""
    return [2**k + 2**j - 1 for k in range(1, blocks) for j in range(k + 1)] + [2**blocks]


def worst_of_each_block(first_n: Sequence[int], needed: Sequence[float]) -> list[float]:
    """The largest constant among the n with ``2^k <= n < 2^(k+1)``, for each k from 1 to the last full block."""
    blocks = [n.bit_length() - 1 for n in first_n]
    return [max(c for c, block in zip(needed, blocks, strict=True) if block == k) for k in range(1, max(blocks))]


def draw_lemma_1(first_n: Sequence[int], needed: Mapping[str, Sequence[float]]) -> None:
    """Publish the smallest constant of each block of n; ``needed`` maps a choice of gamma to its constants."""
    worst = {name: worst_of_each_block(first_n, needed[name]) for name in LOOKS}
    levels = np.arange(1, 1 + len(worst["γ → 1"]))
    fig, (ax,) = report.panels(1, height=3.2)
    for name, look in LOOKS.items():
        ax.plot(levels, worst[name], label=name, **look)
    limit = {"color": report.BLACK, "linestyle": "--", "linewidth": 1, "label": r"4/(log 2)$^{1.5}$"}
    ax.axhline(lemmas.LEMMA_1_CONSTANT, **limit)
    ax.set_ylim(0, 8.2)
    ax.set_xticks(levels[::2])
    ax.set_xlabel("k, for the n with 2$^k$ ≤ n < 2$^{k+1}$")
    ax.set_ylabel("smallest $c_1$ for these n")
    ax.legend(ncols=4, loc="upper right")
    report.publish(
        fig,
        "cascading-lemma-1",
        {"k": levels} | {key: worst[name] for key, name in zip(("limit", "half", "cubed"), LOOKS, strict=True)},
        alt="The smallest constant with which Lemma 1 is true against the binary logarithm of n, for three choices of "
        "gamma: it is largest at n = 2 and 3 as gamma tends to 1.",
        caption="The smallest $c_1$ with which {prf:ref}`lem-wang-1` is true for all $n$ from $2^k$ to $2^{k+1}-1$, "
        "exact.",
    )


def needed_from_three() -> float:
    """A closed-form bound on the constant for all n >= 3 and every gamma.

    n >= 8 is bounded by k = 3 of the proof (see `lemmas.lemma_1_constant_bound`), which falls in k; n = 3 to 7 one by
    one.
    """
    from_eight = math.sqrt(4 * math.pi * (3 + 1 + 3**3)) / (3 * math.log(2)) ** 1.5
    return max(from_eight, *(lemmas.lemma_1_constant_bound(n) for n in range(3, 8)))


def cubed_beyond(k: int) -> float:
    """A bound on the constant at ``gamma = n^-3`` for all ``n >= 2^k``, from the sub-gamma bound; it falls in n."""
    log_n = k * math.log(2)
    level = 3 * log_n + math.log(2)  # log(2/gamma)
    return (math.sqrt(16 * (k**3 + k + 1) * level) + 2 * k * level) / (3 * log_n**2.5)


def lemma_1_word(*, true_from_two: bool, true_at_one: bool) -> str:
    """The word for Lemma 1: one constant serves all n >= 2, and the first value."""
    return report.holds_if(true_at_one, otherwise="holds corrected") if true_from_two else "fails"


def lemma_1_card(first_n: Sequence[int], needed: Sequence[float], *, c1: float) -> report.Card:
    """Lemma 1: ``needed`` are the constants as gamma tends to 1; at n = 1 the bound is 0 whatever ``c1`` is."""
    largest, at = max(needed), first_n[int(np.argmax(needed))]
    from_three = needed_from_three()
    noise, bound = HybridMechanism(epsilon=1.0).quantile(1, 0.5), lemmas.lemma_1_bound(1, 0.5, epsilon=1, c1=c1)
    sharp = math.isclose(largest, lemmas.LEMMA_1_CONSTANT, rel_tol=1e-9)
    return report.verdict(
        "cascading/lemma-1",
        lemma_1_word(true_from_two=sharp and from_three < lemmas.LEMMA_1_CONSTANT, true_at_one=noise <= bound),
        evidence="proof",
        check="smallest c1 for every γ; the first value",
        observed=f"largest over 2 ≤ n ≤ 2^{first_n[-1].bit_length() - 1}: {largest:.8f}, at n = {at} as γ → 1; at "
        f"n = 1 and ε = 1 the noise exceeds {noise:.6f} with probability 1/2, for a bound of {bound:g} whatever c1 is",
        required="one c1 for all n and γ",
        margin=f"true from n = 2 on with c1 = 4/(log 2)^1.5 and no smaller one; from n = 3 on at most {from_three:.6f} "
        "is needed (closed form, every n)",
    )
