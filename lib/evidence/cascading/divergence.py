"""The inequality in the proof of Theorem 10, ``d(p || p - gap) <= gap^2 / (p (1-p))``: where it is false."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import optimize

from evidence import report
from evidence.cascading.lower_bounds import bernoulli_kl


def boundary(p: float) -> float:
    """The gap, as a share of p, from which the printed inequality fails: its one root in (0, 1)."""

    def excess(u: float) -> float:
        """The left side minus the right at ``p - gap = p exp(-u)``."""
        divergence = p * u + (1 - p) * (np.log1p(-p) - np.log1p(-p * np.exp(-u)))
        return divergence - p * np.expm1(-u) ** 2 / (1 - p)

    return float(-np.expm1(-optimize.brentq(excess, 0.5, 10 + 1 / (1 - p), xtol=1e-14)))


def largest_right_ratio(ps: Iterable[float], shares: Iterable[float]) -> float:
    """The largest ``d(p - gap || p) p (1-p) / gap^2`` on a grid of p and of gaps as shares of p; at most 1."""
    shares = list(shares)
    return max(bernoulli_kl(p * (1 - s), p) * p * (1 - p) / (s * p) ** 2 for p in ps for s in shares)


def draw_divergence(*, p: float, gap: float) -> None:
    """The figure of the inequality: where it fails, and the divergences at one p, with the default ``gap`` marked."""
    ps = np.linspace(0.005, 0.97, 194)
    boundaries = np.array([boundary(x) for x in ps])
    shares = np.linspace(0.01, 0.985, 196)
    gaps = shares * p
    wrong = np.array([bernoulli_kl(p, p - g) for g in gaps])
    correct = np.array([bernoulli_kl(p - g, p) for g in gaps])
    fig, (region, at_p) = report.panels(2, height=3.2, sharey=False, sharex=False)
    region.fill_between(ps, boundaries, 1, color=report.RED, alpha=0.3, linewidth=0)
    region.plot(ps, boundaries, color=report.RED)
    region.text(0.5, 0.965, "fails", ha="center", va="center")
    region.text(0.5, 0.6, "holds", ha="center", va="center")
    region.plot([p], [gap / p], "k*", markersize=9, label="default instance")
    region.set(xlabel="p", ylabel="gap as a share of p, Δ/p", xlim=(0, 1), ylim=(0, 1))
    region.legend(loc="lower left")
    at_p.plot(gaps, wrong, color=report.RED, label="in the proof, d(p ‖ p−Δ)")
    bound = gaps**2 / (p * (1 - p))
    at_p.plot(gaps, bound, color=report.GREY, linestyle="--", label="its bound, Δ²/(p(1−p))")
    at_p.plot(gaps, correct, color=report.BLUE, linestyle="-.", label="right, d(p−Δ ‖ p)")
    at_p.set(xlabel=f"gap Δ, at p = {p:g}", ylabel="nats", xlim=(0, p), ylim=(0, 0.45))
    at_p.legend(loc="upper left", fontsize=8.5)
    rows = report.Rows("p", "share", "what", "value")
    rows.add(p=ps, share=boundaries, what="boundary", value=boundaries * ps)
    rows.add(p=p, share=shares, what="printed divergence", value=wrong)
    report.publish(
        fig,
        "cascading-lower-bounds-divergence",
        rows,
        alt="Left: the region of p and gap in which the inequality of the proof of Theorem 10 fails, a band near gap = "
        "p. Right: at one p, the divergence of the proof crosses its bound; the right divergence stays below.",
        caption="The inequality $d(p \\| p-\\Delta) \\le \\Delta^2/(p(1-p))$ in the proof of Theorem 10: where it "
        "fails (a), and against the divergence that the argument needs (b).",
    )
