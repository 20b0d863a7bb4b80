"""The figures of ``notebooks/contextual/input_perturbation_limit``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evidence import report
from evidence.contextual.lower_bounds import LEMMA_6_1_CONSTANT
from evidence.contextual.perturbed_policies import Worst
from evidence.report import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED

EXACT = 1e-9  # relative standard error in the columns, of a number without Monte-Carlo error
DASHES, DOTS, DASH_DOTS = (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1))


def draw_divergence(
    lengths: np.ndarray, kl: Mapping[str, np.ndarray], sizes: np.ndarray, pairs: Mapping[str, np.ndarray], alpha: float
) -> None:
    """Figure contextual-input-perturbation-divergence: Lemma 6.1 beside the paper's pair and the sign pair.

    ``kl`` has KL over the cube of ``lengths`` for each direction; ``pairs`` the KL of one record at m in ``sizes``, by
    the names of the pairs.
    """
    rows = report.Rows("panel", "curve", "size", "value")
    fig, (left, right) = report.panels(2, height=3.9, sharex=False, sharey=False)
    looks = ((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."), (PURPLE, ":"))
    for (name, values), (color, style) in zip(kl.items(), looks, strict=False):
        left.plot(lengths, values, color=color, linestyle=style, label=f"μ along {name}")
        rows.add(panel="a", curve=name, size=lengths, value=values)
    left.axhline(LEMMA_6_1_CONSTANT, color=RED, linestyle=DASHES, label=f"Lemma 6.1: {LEMMA_6_1_CONSTANT}")
    left.axhline(1 / 6, color=GREY, linewidth=1, linestyle=DOTS, label="1/6")
    left.set(xscale="log", yscale="log", xlabel="α‖μ‖₁", ylabel="KL / (α‖μ‖₁)³", ylim=(0.02, 40))
    left.legend(fontsize=8, loc="center left", bbox_to_anchor=(0, 0.66))
    looks = (("zero against half", RED, "--", " (the paper's)"), ("sign", BLUE, "-", ""))
    for (name, values), (curve, color, style, whose) in zip(pairs.items(), looks, strict=True):
        right.plot(sizes, values, color=color, linestyle=style, label=name + whose)
        rows.add(panel="b", curve=curve, size=sizes, value=values)
    right.set(xscale="log", yscale="log", xlabel="m", ylabel="KL of one record")
    right.legend(fontsize=8.5, loc="upper left")
    report.publish(
        fig,
        "contextual-input-perturbation-divergence",
        rows,
        alt="Left: the divergence over the cube of the size of mu stays below one sixth, a hundred times below the "
        "constant of the lemma. Right: divergence of the two pairs against m; the sign pair falls one power of m "
        "faster.",
        caption=f"Exact divergences, α = {alpha:g}: the mixture of Lemma 6.1 against its centre (a), and the two pairs "
        "of parameters with $\\phi = (\\frac12, \\pm m)$ (b).",
    )


def draw_tests(users: np.ndarray, error: Mapping[tuple[str, float, float], np.ndarray], alpha: float) -> None:
    """Figure contextual-input-perturbation-tests: errors of the test at n in ``users`` for (pair, power, c)."""
    rows = report.Rows("pair", "power", "c", "users", "error", "error_se")
    pairs = list(dict.fromkeys(pair for pair, _, _ in error))
    fig, axes = report.panels(len(pairs), height=3.6)
    looks = {
        (1 / 3, 1.0): (RED, "--", "o"),
        (1 / 3, 2.0): (RED, "-", "s"),
        (1 / 4, 1.0): (BLUE, "--", "^"),
        (1 / 4, 2.0): (BLUE, "-", "D"),
    }
    for ax, name in zip(axes, pairs, strict=True):
        for (power, c), (color, style, marker) in looks.items():
            root, values = round(1 / power), error[name, power, c]
            label = f"m = {'' if c == 1 else '2 '}$n^{{-1/{root}}}$"
            ax.plot(users, values, color=color, linestyle=style, marker=marker, label=label)
            rows.add(  # 1e-7 is the error of the quadrature, generously
                pair=name, power=f"-1/{root}", c=c, users=users, error=values, error_se=1e-7
            )
        ax.set(xscale="log", xlabel="records n", ylim=(-0.02, 0.54))
        ax.set_title(name, fontsize=9.5, loc="right")
    axes[0].set_ylabel("error of the likelihood-ratio test")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=4)
    report.publish(
        fig,
        "contextual-input-perturbation-tests",
        rows,
        alt="Test error against n. Left, the pair of the paper: flat for m of order n to the minus one third, falling "
        "to zero for n to the minus one quarter. Right, the sign pair: rising to one half, and flat.",
        caption="Exact error of the likelihood-ratio test with equal priors, $\\phi=(\\frac12,\\pm m)$, "
        f"α = {alpha:g}.",
    )


def draw_deviation(
    records: np.ndarray,
    estimators: Mapping[str, np.ndarray],
    floors: Mapping[str, np.ndarray],
    *,
    alpha: float,
    draws: int,
) -> None:
    """Figure contextual-input-perturbation-deviation: worst errors at n in ``records``, estimators above lower bounds.

    ``estimators`` have means and standard errors (2, n), these 0 where a number is exact; ``floors`` values (n,).
    """
    rows = report.Rows("curve", "users", "deviation", "deviation_se")
    fig, (ax,) = report.panels(1, height=4.4)
    looks = ((BLUE, "-", "o"), (RED, "--", "s"), (GREEN, "-.", "^"))
    for (name, (mean, se)), (color, style, marker) in zip(estimators.items(), looks, strict=True):
        report.band(ax, records, mean, se, color=color, linestyle=style, marker=marker, label=name)
        rows.add(curve=name, users=records, deviation=mean, deviation_se=se if se.any() else EXACT * mean)
    for (name, values), style in zip(floors.items(), (":", DASHES), strict=True):
        ax.plot(records, values, color=GREY, linestyle=style, label=f"no estimator below, {name}")
        rows.add(curve=f"no estimator below, {name}", users=records, deviation=values, deviation_se=EXACT * values)
    ax.set(xscale="log", yscale="log", xlabel="records n", ylabel="worst mean absolute deviation")
    ax.legend(fontsize=8.5, loc="lower left")
    report.publish(
        fig,
        "contextual-input-perturbation-deviation",
        rows,
        alt="Worst mean absolute deviation against n: estimators over the whole range fall like n to the minus one "
        "quarter, parallel to the lower bounds; with the sign known the likelihood estimator falls like n to the minus "
        "one third.",
        caption="Estimation from perturbed inputs, $\\phi=(\\frac12,\\pm m)$, worst over grids of $m$ and $\\theta_2$; "
        f"α = {alpha:g}, scale $1/\\alpha$ on each coordinate, which is $(2\\sqrt2+2)\\alpha$-LDP (L5). {draws} "
        "repetitions. " + report.BAND_NOTE,
    )


def draw_policies(
    horizons: np.ndarray,
    *,
    filtered: Worst,
    proved: np.ndarray,
    followed: Worst,
    floor: np.ndarray,
    alpha: float,
    replicates: int,
) -> None:
    """Figure contextual-input-perturbation-policies: worst regrets at ``horizons``, beside their bounds.

    Context filtering below the ``proved`` bound; "follow the sign" above the ``floor`` of every policy.
    """
    rows = report.Rows("data", "curve", "horizon", "regret", "regret_se")
    fig, axes = report.panels(2, height=4.6)
    shown = {
        "perturbed inputs": [
            ("context filtering, measured", filtered.mean, filtered.se, BLUE, "-", "o"),
            ("its proved bound", proved, None, GREEN, "--", ""),
            ("$T^{2/3}$", horizons ** (2 / 3), None, RED, ":", ""),
        ],
        "perturbed sufficient statistics": [
            ("follow the sign, measured", followed.mean, followed.se, ORANGE, "-", "s"),
            ("no policy below", floor, None, GREY, DASH_DOTS, ""),
            ("$\\sqrt{T}$", horizons**0.5, None, BLACK, ":", ""),
        ],
    }
    for ax, (data, curves) in zip(axes, shown.items(), strict=True):
        for label, mean, se, color, style, marker in curves:
            report.band(ax, horizons, mean, se, color=color, linestyle=style, marker=marker, label=label)
            error = EXACT * mean if se is None else se
            rows.add(data=data, curve=label, horizon=horizons, regret=mean, regret_se=error)
        ax.set(xscale="log", yscale="log", xlabel="horizon T")
        ax.set_title(data, fontsize=9.5, loc="right")
        ax.legend(fontsize=8.5, loc="upper left")
    axes[0].set_ylabel("worst regret over m")
    report.publish(
        fig,
        "contextual-input-perturbation-policies",
        rows,
        alt="Worst regret against the horizon. Left: context filtering on perturbed inputs grows like root T and "
        "crosses below T to the two thirds. Right: a policy on perturbed statistics grows like T to the three "
        "quarters, above the lower bound.",
        caption=f"Worst regret over $m$ on the hard pairs. (a) Perturbed inputs of scale $1/\\alpha$, α = {alpha:g}: "
        "$(2\\sqrt2+2)\\alpha$-LDP. (b) $y\\phi$ with Laplace noise of scale $2\\sqrt2/\\alpha$: α-LDP for this part "
        f"of the message. {replicates} repetitions. " + report.BAND_NOTE,
    )
