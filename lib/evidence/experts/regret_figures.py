"""The three figures of the notebook ``regret``: over the learning rate, over T, over epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dpregret import experts
from dpregret.experts import calibration
from evidence import report
from evidence.experts import bounds, minimax
from evidence.experts.accounting import number


class InHorizon(NamedTuple):
    """Runs of one game: mean regret and upper quantile with their standard errors, at one T and learning rate."""

    rate: str
    adversary: str
    horizon: int
    eta: float
    mean: float
    mean_se: float
    quantile: float
    quantile_se: float


class InEpsilon(NamedTuple):
    """At one epsilon: the text's three caps, the rate of zCDP; for both rates the bound and the exact worst regret."""

    epsilon: float
    caps: tuple[float, float, float]
    zcdp_eta: float
    text_bound: float
    text_exact: float
    zcdp_bound: float
    zcdp_exact: float


def in_epsilon(epsilon: float, *, delta: float, horizon: int) -> InEpsilon:
    """Two experts at the text's rate for epsilon, and at that of zCDP, which never exceeds the best one of regret."""
    target = {"epsilon": epsilon, "delta": delta, "horizon": horizon}
    caps = calibration.text_caps(**target)
    zcdp = calibration.exponential_weights_eta(**target, method="zcdp")
    zcdp = min(zcdp, bounds.best_eta(n_experts=2, horizon=horizon, version="sharper"))
    return InEpsilon(
        epsilon=epsilon,
        caps=caps,
        zcdp_eta=zcdp,
        text_bound=sum(bounds.capped_terms(**target, n_experts=2).values()),
        text_exact=minimax.worst_regret(min(caps), horizon),
        zcdp_bound=bounds.total(eta=zcdp, n_experts=2, horizon=horizon, version="sharper"),
        zcdp_exact=minimax.worst_regret(zcdp, horizon),
    )


def fields(n_experts: int) -> dict[str, object]:
    """The adversaries of the figure over T."""
    return {
        "one expert always right": experts.ObliviousLosses(1 - np.eye(n_experts)[:1], cycle=True),
        "Bernoulli, one better": experts.BernoulliExperts([0.4] + [0.5] * (n_experts - 1)),
        "leader punished": experts.LeaderPunishing(),
        "last action punished": experts.LastActionPunishing(),
    }


_LOOKS = {
    "one expert always right": {"color": report.BLUE, "marker": "o"},
    "Bernoulli, one better": {"color": report.BLACK, "marker": "x"},
    "leader punished": {"color": report.ORANGE, "marker": "s"},
    "last action punished": {"color": report.PURPLE, "marker": "^"},
}


def in_horizon(rate: str, adversary: str, eta: float, horizon: int, regret: np.ndarray, beta: float) -> InHorizon:
    """Mean and (1 - beta) quantile of the regret of several runs, shape (replicates,).

    A 95% quantile of m normal values has a standard error of 2.11 standard deviations over sqrt(m).
    """
    se = float(regret.std(ddof=1) / math.sqrt(len(regret)))
    quantile = float(np.quantile(regret, 1 - beta))
    return InHorizon(rate, adversary, horizon, eta, float(regret.mean()), se, quantile, 2.11 * se)


def draw_rates(etas: np.ndarray, curves: Mapping[str, Sequence[float]], horizon: int) -> None:
    """Bounds ``printed`` and ``sharper``, the ``exact`` worst case, the sequences ``in_turn`` and ``always``."""
    fig, (ax,) = report.panels(1, height=3.9)
    report.band(ax, etas, curves["printed"], key="bound printed", label="text, η + ln 2/(ηT)")
    report.band(ax, etas, curves["sharper"], key="bound corrected", label="η/8 + ln 2/(ηT)")
    report.band(ax, etas, curves["exact"], key="exponential weights", label="exact worst case", markers=15)
    ax.plot(etas, curves["in_turn"], color=report.GREY, linestyle="-.", label="experts lose in turn")
    ax.plot(etas, curves["always"], color=report.GREY, linestyle=":", label="one expert always loses")
    ax.set(xscale="log", yscale="log", xlabel="learning rate η", ylabel="mean regret", ylim=(1e-4, 2))
    fig.legend(loc="outside lower center", ncol=3)
    report.publish(
        fig,
        "experts-regret-eta",
        {"eta": etas, **{name: curves[name] for name in ("exact", "printed", "sharper", "in_turn", "always")}},
        alt="Mean regret against the learning rate on logarithmic axes: the exact worst case lies just below the bound "
        "with eta/8, and up to eight times below the bound of the text at large learning rates.",
        caption=f"Two experts, $T = {horizon}$: the exact worst expected regret over all binary losses, adaptive "
        "adversaries included, the two bounds, and two simple sequences.",
    )


def draw_horizons(results: Sequence[InHorizon], *, n_experts: int, beta: float, epsilon: float, delta: float) -> None:
    """Mean and quantile over T beside the bounds; a column of panels for each of the two rates."""
    fig, axes = report.panels(4, height=2.7, sharey="row")
    for column, rate in enumerate(dict.fromkeys(result.rate for result in results)):
        mine = [result for result in results if result.rate == rate]
        _draw_column(axes[column], axes[column + 2], mine, n_experts, beta)
    axes[0].set_title("η = √(ln k/T), not private", loc="right")
    axes[1].set_title("η of the text, private", loc="right")
    axes[0].set(ylabel="mean of $R_T$")
    axes[2].set(ylabel=f"{100 * (1 - beta):g}% quantile of $R_T$")
    fig.legend(*axes[2].get_legend_handles_labels(), loc="outside lower center", ncol=3)
    names = ("rate", "adversary", "horizon", "mean", "mean_se", "quantile", "quantile_se")
    data = {name: [getattr(result, name) for result in results] for name in names}
    report.publish(
        fig,
        "experts-regret-horizon",
        {"round" if name == "horizon" else name: values for name, values in data.items()},
        alt="Mean and 95% quantile of the regret against T with the expected and the tail bound; on the left without "
        "privacy, on the right at the private learning rate of the text, where an expert that is always right costs "
        "most.",
        caption=f"$k = {n_experts}$; a new game, with its own $\\eta$, for every $T$. Above the mean and O5, below the "
        f"quantile and O6 ($\\beta = {beta:g}$). Private: $\\varepsilon = {epsilon:g}$, δ = {number(delta)}. The means "
        "of the two punishing adversaries are near zero and not drawn. Bands are ± 2 standard errors.",
    )


def _draw_column(top, bottom, results: Sequence[InHorizon], n_experts: int, beta: float) -> None:
    for name in dict.fromkeys(result.adversary for result in results):
        mine = [result for result in results if result.adversary == name]
        _, _, horizons, etas, *numbers = zip(*mine, strict=True)
        mean, mean_se, quantile, quantile_se = np.array(numbers)
        if "punished" not in name:
            report.band(top, horizons, mean, mean_se, **_LOOKS[name])
        report.band(bottom, horizons, quantile, quantile_se, label=name, **_LOOKS[name])
    for ax, level in ((top, None), (bottom, beta)):
        for version, look in zip(bounds.VERSIONS, _BOUNDS, strict=True):
            of = [
                bounds.total(eta=eta, n_experts=n_experts, horizon=t, version=version, beta=level)
                for eta, t in zip(etas, horizons, strict=True)
            ]
            ax.plot(horizons, of, **look)
        ax.set(xscale="log", yscale="log")
    bottom.set(xlabel="T")


_BOUNDS = (
    {"color": report.RED, "linestyle": "--", "label": "bound of the text"},
    {"color": report.GREEN, "linestyle": ":", "label": "bound with η/8"},
)


def draw_caps(results: Sequence[InEpsilon], *, horizon: int, delta: float) -> None:
    """Left the caps and the rates over epsilon, right the bounds and the exact worst regret (two experts)."""
    points = InEpsilon(*map(np.array, zip(*results, strict=True)))
    log = -math.log(delta)
    turning = (2 * log, 4 * horizon) if log <= 2 * horizon else (math.sqrt(8 * horizon * log),)
    fig, (left, right) = report.panels(2, height=3.7, sharey=False)
    for i, color in enumerate((report.PURPLE, report.GREY, report.ORANGE)):
        left.plot(points.epsilon, points.caps[:, i], color=color, linestyle=":", label=f"cap {i + 1}")
    report.band(left, points.epsilon, points.caps.min(axis=1), key="text", label="η of the text")
    report.band(left, points.epsilon, points.zcdp_eta, key="zcdp", label="zCDP, at most √(8 ln k/T)")
    left.set(ylabel="learning rate η", ylim=(5e-5, 5))
    left.legend(loc="lower right", fontsize=8)
    report.band(right, points.epsilon, points.text_bound, key="text", label="bound of the text", marker="")
    exact = "exact worst regret"
    report.band(right, points.epsilon, points.text_exact, key="text", label=f"{exact}, text's η", linestyle="-")
    bound = "bound, zCDP and η/8"
    report.band(right, points.epsilon, points.zcdp_bound, key="zcdp", label=bound, linestyle="--", marker="")
    report.band(right, points.epsilon, points.zcdp_exact, key="zcdp", label=f"{exact}, zCDP")
    right.set(ylabel="mean regret", ylim=(8e-3, 60))
    right.legend(loc="upper right", fontsize=8)
    for ax, low, high in ((left, 0.33, 0.95), (right, 0, 0.66)):
        ax.set(xscale="log", yscale="log", xlabel="ε")
        for x in turning:
            ax.axvline(x, low, high, color=report.GREY, linewidth=0.8)
    columns = points._asdict()
    caps = columns.pop("caps")
    columns |= {f"cap_{i + 1}": caps[:, i] for i in range(3)}
    order = ("epsilon", "cap_1", "cap_2", "cap_3", "zcdp_eta", "text_bound", "text_exact", "zcdp_bound", "zcdp_exact")
    report.publish(
        fig,
        "experts-regret-caps",
        {name: columns[name] for name in order},
        alt="Left, the learning rate of the text as the smallest of three caps against epsilon, and that of zCDP. "
        "Right, the regret bounds and the exact worst regret: the text's fall and then rise again, those of zCDP fall "
        "to a floor.",
        caption=f"Two experts, $T = {horizon}$, δ = {number(delta)}. The vertical lines are at $\\varepsilon = 2L$ and "
        "$4T$, where the cap that binds changes. Large $\\varepsilon$ are shown for the formula, not as privacy.",
    )
