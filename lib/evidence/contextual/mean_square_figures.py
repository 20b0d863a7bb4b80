"""The figures of ``notebooks/contextual/mean_square_limit``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evidence import report
from evidence.contextual.lower_bounds import paper_c
from evidence.contextual.mean_square_limit import Channels, Measured, RareDirection, Risks

COLORS = (report.BLUE, report.RED, report.GREEN, report.ORANGE)
MEASURES = ("mean-square error", "mean absolute deviation")


def draw_limit(scaled: Mapping[float, Risks], sizes: np.ndarray, rare: RareDirection, *, n: int, alpha: float) -> None:
    """Figure contextual-mean-square-limit: (a) risk and the paper's bound against the users, (b) both sides against q.

    ``rare`` holds errors of ``n`` users at ``alpha``, not yet times sqrt(n) (e^alpha - 1).
    """
    rows = report.Rows("panel", "curve", "alpha", "x", "value")
    fig, axes = report.panels(2, height=4.3, sharex=False, sharey=False)
    for index, (a, part) in enumerate(scaled.items()):
        color, marker = COLORS[index % 4], "osD^"[index % 4]
        axes[0].plot(sizes, part.risk, color=color, marker=marker, label=f"α = {a:g}")
        axes[0].plot(sizes, part.paper, color=color, linestyle="--", linewidth=1)
        rows.add(panel="a", curve="exact", alpha=a, x=sizes.astype(float), value=part.risk)
        rows.add(panel="a", curve="paper", alpha=a, x=sizes.astype(float), value=part.paper)
    axes[0].plot([], [], color=report.GREY, linestyle="--", linewidth=1, label="bound with the same c")
    error = "mean-square error × $\\sqrt{n}\\,(e^α − 1)$"
    axes[0].set(xscale="log", yscale="log", xlabel="users n", ylabel=error, ylim=(5e-4, 0.1))
    axes[0].legend(loc="lower right")
    unit = np.sqrt(n) * np.expm1(alpha)
    for label, values, color, linestyle in (
        ("estimate 0, worst", rare.zero, report.GREY, ":"),
        ("shrunken mean, worst", rare.shrunk, report.RED, "-."),
        ("Bayes risk, one bit", rare.pair, report.BLUE, "-"),
        ("proved for every protocol", rare.every, report.GREEN, "--"),
    ):
        x, y = (rare.q * unit)[values > 0], (values * unit)[values > 0]
        axes[1].plot(x, y, color=color, linestyle=linestyle, label=label)
        rows.add(panel="b", curve=label, alpha=alpha, x=x, value=y)
    at = paper_c(alpha) * np.expm1(alpha)
    axes[1].axvline(at, ymax=0.62, color="k", linewidth=0.8)
    axes[1].text(at * 1.08, 1.6e-3, "the paper's c", fontsize=8.5)
    axes[1].set(xscale="log", yscale="log", xlabel="q × $\\sqrt{n}\\,(e^α − 1)$", ylim=(1e-3, 12))
    axes[1].set_title(f"n = {n:.0e}, α = {alpha:g}".replace("e+06", "e6"), fontsize=9.5, loc="right")
    axes[1].legend(fontsize=8, loc="upper left")
    report.publish(
        fig,
        "contextual-mean-square-limit",
        rows,
        alt="Left: the exact Bayes risk under randomized response times root n is flat in n once n exceeds c squared, "
        "above the paper's bound, dashed. Right: upper and lower bounds on the error against the probability of the "
        "rare direction form a tent with its top near one over root n.",
        caption="Exact mean-square error of the hard pair of Theorem 2.1. (a) Bayes risk under randomized response at "
        "the paper's $c$, against $n$, with the paper's bound (dashed); left of $n = c^2$ the direction has "
        "probability 1. (b) Against the probability $q$ of the second direction.",
    )


def draw_channels(found: Channels) -> None:
    """Figure contextual-mean-square-channels: divergences of a message over that of one bit."""
    fig, axes = report.panels(1, height=3.3)
    ax, over = axes[0], {name: getattr(found, name) / found.bit for name in ("program", "best", "proof")}
    ax.plot(found.alpha, over["proof"], color=report.RED, linestyle="--", label="bound used in the proof")
    ax.plot(found.alpha, over["program"], color=report.BLUE, label="best channel (linear program)")
    ax.axhline(1, color=report.GREEN, linestyle="-.", label="one-bit randomized response")
    ax.axvline(np.log(2), color="k", linewidth=0.8)
    ax.text(np.log(2) * 0.985, 2.2, "α = log 2", fontsize=9, ha="right")
    ax.set(xlabel="α", ylabel="divergence / that of one bit", yscale="log", xlim=(0, 1), ylim=(0.8, 14))
    ax.set(yticks=[1, 2, 5, 10])
    ax.yaxis.set_major_formatter("{x:g}")
    ax.legend(loc="upper left")
    report.publish(
        fig,
        "contextual-mean-square-channels",
        {
            "alpha": found.alpha,
            "program_over_bit": over["program"],
            "closed_form_over_bit": over["best"],
            "proof_over_bit": over["proof"],
        },
        alt="Divergence of a message relative to one-bit randomized response against alpha: the best channel equals "
        "one bit up to log 2 and exceeds it slightly above; the bound of the proof is larger by a factor that grows "
        "with alpha.",
        caption="Symmetric divergence of one message for the pair of Theorem 2.1 as $q \\to 0$, relative to one-bit "
        "randomized response.",
    )


def draw_case_one(users: np.ndarray, measured: Mapping[tuple[str, str], Measured], alpha: float) -> None:
    """Figure contextual-mean-square-case-one: ``measured[estimator, measure]`` over the numbers of users."""
    rows = report.Rows("estimator", "measure", "users", "error", "error_se")
    looks = {
        "corrected LPLR": dict(color=report.BLUE, marker="o", linestyle="-", label="corrected LPLR"),
        "least squares": dict(color=report.BLACK, marker="s", linestyle="--", label="least squares (not private)"),
    }
    fig, axes = report.panels(2, height=3.9, sharey=True)
    for ax, measure in zip(axes, MEASURES, strict=True):
        for name, look in looks.items():
            mean, se = measured[name, measure]
            report.band(ax, users, mean, se, **look)
            rows.add(estimator=name, measure=measure, users=users, error=mean, error_se=se)
        slope = 0.2 * users**-0.5 / np.expm1(alpha)
        ax.plot(users, slope, color=report.GREY, linestyle=":", label="$n^{-1/2}$")
        ax.set(xscale="log", yscale="log", xlabel="users n")
        ax.set_title(measure, fontsize=9.5, loc="right")
    axes[0].set_ylabel("worst error over δ")
    axes[0].legend(fontsize=8.5, loc="lower left")
    report.publish(
        fig,
        "contextual-mean-square-case-one",
        rows,
        alt="Worst error over the share of the rare direction against n. In mean square least squares falls twice as "
        "fast as the private estimator; in mean absolute deviation both fall like one over root n.",
        caption="Case I, worst share $\\delta$: mean-square error (a) and mean absolute deviation (b) of the corrected "
        f"LPLR (α = {alpha:g}, α-LDP under replacement) and of least squares without privacy. {report.BAND_NOTE}",
    )
