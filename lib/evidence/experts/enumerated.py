"""Enumerated transcripts beside what is promised of them: O11, zCDP, the exact profile against fixed losses."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dpregret.privacy import composition
from evidence import report
from evidence.experts import accounting
from evidence.experts.accounting import number
from evidence.experts.audit import TranscriptCheck

ORDERS = np.r_[1.0001, np.linspace(1.05, 8, 40), np.geomspace(8.5, 200, 30)]
"""Of the Rényi divergences."""


class KernelShare(NamedTuple):
    """The largest log-ratio of a round over ``2 eta``, and over how many common histories."""

    largest: float
    histories: int


def kernel_share(laws: Sequence[np.ndarray], eta: float) -> KernelShare:
    """Round kernels of two laws of transcripts, shape (k,) * T each, on every common history of rounds 1 to T - 1."""
    k, horizon = laws[0].shape[0], laws[0].ndim
    largest, histories = 0.0, 0
    for t in range(2, horizon + 1):
        prefix = [law.sum(axis=tuple(range(t, horizon))) for law in laws]
        kernels = [np.log(p / p.sum(axis=-1, keepdims=True)) for p in prefix]
        largest = max(largest, float(np.abs(kernels[0] - kernels[1]).max()) / (2 * eta))
        histories += prefix[0].size // k
    return KernelShare(largest, histories)


def renyi_share(laws: Sequence[np.ndarray], rho: float) -> float:
    """The largest ``D_alpha / (alpha rho)`` of two laws over `ORDERS`, in both directions."""
    p, q = (np.log(law.ravel()) for law in laws)
    found = []
    for a, b in ((p, q), (q, p)):
        values = np.logaddexp.reduce(ORDERS[:, None] * a + (1 - ORDERS[:, None]) * b, axis=1) / (ORDERS - 1)
        found.append(float((values / (ORDERS * rho)).max()))
    return max(found)


def rate_residual() -> float:
    """By how much, relatively, the closed form of zCDP at its learning rate misses its epsilon, over many targets."""
    residual = 0.0
    for t, eps, d in itertools.product((2, 100, 10**6), (0.01, 1.0, 50.0), (0.5, 1e-6, 1e-15)):
        eta = accounting.rate("zcdp", epsilon=eps, delta=d, horizon=t)
        residual = max(residual, abs(composition.zcdp(rho=(t - 1) * eta**2 / 2, delta=d) / eps - 1))
    return residual


def judge_strategies(
    checks: Mapping[tuple[float, float, int], TranscriptCheck], shares: Sequence[float],
    kernels: Sequence[KernelShare], *, horizon: int, long: Mapping[str, float],
) -> report.Card:  # fmt: skip
    """O11. It needs that the check could fail: at six times the rate it must.

    Parameters
    ----------
    checks : by (epsilon, delta, multiple of the text's rate), multiples 1 and 6
        Of ``horizon`` rounds.
    shares : epsilon of random adjacent strategies over its target
    long : mapping
        A setting (epsilon, delta, horizon) for which the factors on the text's rate are given.
    """
    kept = [check for (*_, factor), check in checks.items() if factor == 1]
    broken = [check for (*_, factor), check in checks.items() if factor == 6]
    kernel = max(share.largest for share in kernels)
    text, proved, oblivious = (accounting.rate(m, **long) for m in ("text", "zcdp_optimal", "bounded_range"))
    return report.verdict(
        "experts/o-11",
        report.holds_if(
            all(check.word == "holds" for check in kept)
            and any(check.word == "fails" for check in broken)
            and max(shares) <= 1
            and kernel <= 1 + 1e-9
        ),
        evidence="proof",
        check="exact delta(epsilon) at the text's rate, read off the learner's own draws: worst known pairs and the "
        f"strongest adversary with losses 0, 1/2, 1 (k = 2, T = {horizon}); random adjacent strategies (k = 3, T = 6); "
        "the same at 6 times the rate",
        observed=f"delta(epsilon) at most {max(check.delta for check in kept):.6f}; epsilon over its target at most "
        f"{max(shares):.6f}",
        required="at most delta and 1, with round kernels within 2 eta on every common history",
        margin=f"at 6 times the rate up to {max(check.delta / check.promised for check in broken):.2f} times delta, so "
        f"that the check can fail; round kernels on {sum(share.histories for share in kernels)} histories at most "
        f"{kernel:.6f} of 2 eta; epsilon = {long['epsilon']:g}, delta = {number(long['delta'])}, T = {long['horizon']}"
        f": {proved / text:.2f} times the rate is proved private, more than {oblivious / text:.2f} times is not for "
        "some k, fixed losses",
    )


def judge_zcdp(shares: Mapping[tuple[str, float], float], residual: float) -> report.Card:
    """zCDP: `renyi_share` by (kind of game, eta), eta = 0.3 among them, and `rate_residual`."""
    solved = residual < 1e-10
    return report.verdict(
        "experts/zcdp",
        report.holds_if(max(shares.values()) <= 1 + 1e-9 and solved),
        evidence="proof",
        check="Renyi divergences of enumerated transcripts against alpha rho; the learning rate solves rho + "
        "2 sqrt(rho L) = epsilon",
        observed=f"largest D_alpha/(alpha rho) {max(shares.values()):.6f}; relative residual of the rate below 1e-10: "
        f"{solved}",
        required="at most 1",
        margin=f"at eta = 0.3: {max(share for (_, eta), share in shares.items() if eta == 0.3):.6f}",
    )


def judge_oblivious(excess: Sequence[float], *, supremum: float, near: float, pair_gap: float) -> report.Card:
    """The bounded-range profile is the supremum over fixed losses.

    ``excess`` of random fixed sequences over it; ``near``, the best subset pair of 1000 experts; ``pair_gap``, the pair
    of two experts against optimal composition.
    """
    none_above, same = max(excess) <= 1e-12, pair_gap < 1e-12
    return report.verdict(
        "experts/exact-oblivious",
        report.holds_if(none_above and 0 <= supremum - near < 1e-5 and same),
        evidence="proof",
        check="enumerated fixed sequences below the bounded-range profile; subset pairs reach it; the pair with k = 2",
        observed=f"{len(excess)} random sequences at most the supremum: {none_above}; k = 1000 comes within "
        f"{supremum - near:.1e} of {supremum:.6f}",
        required="none above; the supremum approached",
        margin=f"pair with k = 2 equals the optimal composition of (eta, 0) within 1e-12: {same}",
    )
