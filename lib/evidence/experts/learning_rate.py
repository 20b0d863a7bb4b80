"""What the notebook ``learning_rate`` shows without batches: learning rates, and the mean regret that they prove."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from dpregret import experts
from dpregret.privacy import audit
from evidence import report
from evidence.experts import accounting, batching, bounds
from evidence.experts.accounting import LABELS, number
from evidence.experts.audit import both_worlds

CONSTANT = 8 / (1 + math.sqrt(3))
"""By more than this factor the closed form of zCDP exceeds the text's learning rate."""

Curve = tuple[Sequence[float], Sequence[float]]


def two_round_rate(*, epsilon: float, delta: float) -> float:
    """The largest (epsilon, delta)-private learning rate of two rounds and two experts.

    Exact: (0, 1) against (1, 0) is the largest change of the only round that counts.
    """

    def excess(eta: float) -> float:
        game = [np.array([row, [0, 0]]) for row in np.eye(2)]
        return audit.exact_delta(*both_worlds(experts.ExponentialWeights(2, eta), game, 2), epsilon) - delta

    return brentq(excess, epsilon / 2, 4 * epsilon, xtol=1e-12)


def tabulate_rates(targets: Sequence[float], rates: Mapping[str, Sequence[float]]) -> Any:
    """The learning rate of each method (one for each target epsilon), and how many times the text's it is."""
    head = ["accounting", *(f"ε = {e:g}" for e in targets), *(f"times the text's, ε = {e:g}" for e in targets)]
    lines = (
        [
            LABELS[method],
            *(f"{rate:.4e}" for rate in row),
            *(f"{rate / text:.4f}" for rate, text in zip(row, rates["text"], strict=True)),
        ]
        for method, row in rates.items()
    )
    return report.table(head, lines)


def draw_rates(
    in_epsilon: Mapping[str, Curve], in_horizon: Mapping[str, Curve], *, epsilon: float, delta: float, horizon: int
) -> None:
    """Learning rates over the text's, a curve for each method: left over epsilon, right over the horizon."""
    fig, axes = report.panels(2, height=3.5, sharex=False)
    rows = report.Rows("panel", "accounting", "x", "ratio")
    for ax, panel, curves in zip(axes, ("epsilon", "horizon"), (in_epsilon, in_horizon), strict=True):
        for method, (x, ratio) in curves.items():
            report.band(ax, x, ratio, key=accounting.key(method), label=LABELS[method])
            rows.add(panel=panel, accounting=LABELS[method], x=np.asarray(x, dtype=float), ratio=ratio)
        ax.axhline(1, color=report.RED, linestyle="--", label="text")
        ax.axhline(CONSTANT, color=report.GREY, linewidth=1, linestyle=":", label="8/(1 + √3)")
        ax.set(xscale="log", yscale="log", ylim=(0.08, 30))
        ax.set_yticks([0.1, 0.3, 1, 3, 10, 30], ["0.1", "0.3", "1", "3", "10", "30"])
    axes[0].set(xlabel="ε", ylabel="η relative to the text's")
    axes[0].set_title(f"T = {horizon}", loc="right")
    axes[1].set(xlabel="T")
    axes[1].set_title(f"ε = {epsilon:g}", loc="right")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=3)
    report.publish(
        fig,
        "experts-learning-rates",
        rows,
        alt="Learning rates relative to the text's against epsilon and against the horizon: zCDP about four times, the "
        "exact oblivious rate somewhat more, optimal composition about twice; basic composition only for short "
        "horizons.",
        caption=f"Learning rates for $(\\varepsilon, \\delta)$, δ = {number(delta)}, relative to the text's.",
    )


def closed_form_ratios() -> dict[tuple[int, float, float], float]:
    """The closed form of zCDP over the text's rate, for many (T, delta, epsilon), 2 ln(1/delta) included."""
    ratios = {}
    for t, delta in itertools.product((2, 3, 10, 100, 10**4, 10**7), (0.9, 0.5, 1e-2, 1e-6, 1e-12, 1e-30)):
        for epsilon in [*np.geomspace(1e-4, 1e5, 46).tolist(), -2 * math.log(delta)]:
            zcdp, text = (accounting.rate(m, epsilon=epsilon, delta=delta, horizon=t) for m in ("zcdp", "text"))
            ratios[t, delta, epsilon] = zcdp / text
    return ratios


def judge_ratios(ratios: Mapping[tuple[int, float, float], float]) -> report.Card:
    """The ratios (keys: T, delta, epsilon) exceed `CONSTANT`, and are 4 sqrt(T/(T - 1)) at epsilon = 1e-4."""
    smallest = min(ratios.values())
    tiny = [r / (4 * math.sqrt(t / (t - 1))) for (t, d, e), r in ratios.items() if e == 1e-4 and d <= 1e-2]
    near = max(abs(ratio - 1) for ratio in tiny) < 1e-4
    return report.verdict(
        "experts/learning-rate",
        report.holds_if(smallest > CONSTANT and near),
        evidence="proof",
        check="learning rate of zCDP in closed form over that of the text, over T, delta and epsilon (2 ln(1/delta) "
        "included)",
        observed=f"{len(ratios)} cases, smallest ratio {smallest:.8f}",
        required=f"above 8/(1 + sqrt 3) = {CONSTANT:.8f}",
        margin=f"the constant is exceeded by one part in {CONSTANT / (smallest - CONSTANT):.1e} only; "
        f"4 sqrt(T/(T-1)) at epsilon = 1e-4 within 1e-4: {near}",
    )


def provable(
    method: str, *, horizon: int, n_experts: int, epsilon: float, delta: float, version: str = "sharper"
) -> float:
    """The bound on the mean regret at the method's learning rate; the text's own bound with ``version="printed"``."""
    return sum(
        bounds.private_terms(
            epsilon=epsilon, delta=delta, n_experts=n_experts, horizon=horizon, method=method, version=version,
            private_against=accounting.adversary(method),
        ).values()
    )  # fmt: skip


def without_privacy(*, horizon: int, n_experts: int) -> float:
    """The bound ``sqrt(ln k / (2 T))``."""
    return sum(bounds.no_privacy_terms(n_experts=n_experts, horizon=horizon, version="sharper").values())


class Provable(NamedTuple):
    """Provable mean regret in one setting, by each accounting; `batching` has the two with batches of ``batch``."""

    horizon: int
    n_experts: int
    epsilon: float
    text: float
    optimal: float
    zcdp: float
    zcdp_optimal: float
    bounded_range: float
    batch: int
    batched: float
    batched_both: float
    no_privacy: float


def all_provable(horizon: int, n_experts: int, *, epsilon: float, delta: float) -> Provable:
    """Every bound in one setting."""
    size = {"horizon": horizon, "n_experts": n_experts}
    target = {"epsilon": epsilon, "delta": delta}
    batch, batched = bounds.best_batch(**size, **target)
    others = ("optimal", "zcdp", "zcdp_optimal", "bounded_range")
    return Provable(
        **size,
        epsilon=epsilon,
        text=provable("text", **size, **target, version="printed"),
        **{method: provable(method, **size, **target) for method in others},
        batch=batch,
        batched=batched,
        batched_both=batching.bound_for_both(near=batch, **size, **target),
        no_privacy=without_privacy(**size),
    )


def tabulate_provable(settings: Sequence[Provable]) -> Any:
    """A line for each setting."""
    head = ["T, k, ε", "text", "optimal", "zCDP", "zCDP, best", "oblivious", "batched (B)", "batched, both"]
    lines = (
        [
            f"{s.horizon}, {s.n_experts}, {s.epsilon:g}",
            *(f"{x:.5f}" for x in (s.text, s.optimal, s.zcdp, s.zcdp_optimal, s.bounded_range)),
            f"{s.batched:.5f} ({s.batch})",
            f"{s.batched_both:.5f}",
            f"{s.no_privacy:.5f}",
        ]
        for s in settings
    )
    return report.table([*head, "no privacy"], lines)


_CURVES = {
    "text": ("text", "--"),
    "optimal composition": ("optimal", "-."),
    "zCDP, closed form": ("zcdp", "-"),
    "zCDP, best order, batched (oblivious regret)": ("batched", "--"),
    "without privacy": ("no privacy", ":"),
    "exact, oblivious losses": ("bounded range", "-"),
}


def provable_curves(
    n_experts: int, *, epsilon: float, delta: float, horizons: Sequence[int], longest_exact: int
) -> dict[str, Curve]:
    """The bounds over T by their labels in the figure; the exact rate, which takes long, up to ``longest_exact``."""
    private = {"n_experts": n_experts, "epsilon": epsilon, "delta": delta}
    curves: dict[str, Callable[[int], float]] = {
        "text": lambda t: provable("text", horizon=t, **private, version="printed"),
        "optimal composition": lambda t: provable("optimal", horizon=t, **private),
        "zCDP, closed form": lambda t: provable("zcdp", horizon=t, **private),
        "zCDP, best order, batched (oblivious regret)": lambda t: bounds.best_batch(horizon=t, **private)[1],
        "without privacy": lambda t: without_privacy(horizon=t, n_experts=n_experts),
        "exact, oblivious losses": lambda t: provable("bounded_range", horizon=t, **private),
    }
    short = [t for t in horizons if t <= longest_exact]
    return {
        label: (x, [bound(t) for t in x])
        for label, bound in curves.items()
        for x in [short if label.startswith("exact") else list(horizons)]
    }


def draw_provable(curves: Mapping[str, Curve], *, level: float, epsilon: float, delta: float, n_experts: int) -> None:
    """The bounds of `provable_curves` over T, and the ``level`` that is to be reached."""
    fig, (ax,) = report.panels(1, height=3.9)
    rows = report.Rows("series", "horizon", "bound")
    for label, (horizons, values) in curves.items():
        key, line = _CURVES[label]
        report.band(ax, horizons, values, key=key, label=label, linestyle=line)
        rows.add(series=label, horizon=horizons, bound=values)
    ax.axhline(level, color=report.GREY, linewidth=1)
    ax.set(xscale="log", yscale="log", xlabel="T", ylabel="provable mean regret", ylim=(5e-4, 8))
    fig.legend(loc="outside lower center", ncol=3)
    report.publish(
        fig,
        "experts-provable-regret",
        rows,
        alt="Provable mean regret against T, logarithmic: parallel lines for the text, optimal composition, zCDP and "
        "the exact rate, from top to bottom; batching well below, and nearer to the bound without privacy.",
        caption=f"Provable mean regret at $\\varepsilon = {epsilon:g}$, δ = {number(delta)}, $k = {n_experts}$. The "
        f"grey line is at {level:g}. The exact rate is drawn up to $T = {curves['exact, oblivious losses'][0][-1]}$.",
    )
