"""Exponential weights that draw anew every B rounds: what it gains for fixed losses, what it loses against others.

The second half of the notebook ``learning_rate``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from evidence import report
from evidence.experts import accounting, bounds, minimax


def fixed_bound(eta: float, *, n_experts: int, horizon: int, batch: int) -> float:
    """The bound on the mean regret for losses fixed in advance."""
    return bounds.total(
        eta=eta, n_experts=n_experts, horizon=horizon, version="sharper", batch=batch, regret_against="oblivious"
    )


def bound_for_both(*, horizon: int, n_experts: int, epsilon: float, delta: float, near: int) -> float:
    """The smallest bound with privacy accounted for fixed losses too (exactly), over batch lengths around ``near``."""
    return min(
        sum(
            bounds.private_terms(
                epsilon=epsilon, delta=delta, n_experts=n_experts, horizon=horizon, method="bounded_range",
                private_against="oblivious", regret_against="oblivious", batch=batch,
            ).values()
        )
        for batch in range(max(1, near - 3), near + 3)
    )  # fmt: skip


class Course(NamedTuple):
    """The smallest horizons at which a batched bound reaches a level.

    Attributes
    ----------
    first, matching : int
        With zCDP, private against all; with privacy for fixed losses as well (exact).
    rises : int
        How often the first bound rises from a horizon of ``span`` (both ends included) to the next.
    """

    first: int
    matching: int
    rises: int
    span: tuple[int, int]


def reach(level: float, *, n_experts: int, epsilon: float, delta: float) -> Course:
    """Go through the horizons: the batched bound jumps with the number of batches, so bisection would not do."""
    private = {"n_experts": n_experts, "epsilon": epsilon, "delta": delta}

    @cache  # the learning rate depends on the horizon and the batch through the number of draws alone
    def rate(method: str, draws: int) -> float:
        return accounting.rate(method, epsilon=epsilon, delta=delta, horizon=draws)

    def smallest(method: str, horizon: int, lengths: Iterable[int]) -> float:
        return min(
            fixed_bound(rate(method, -(-horizon // b)), n_experts=n_experts, horizon=horizon, batch=b) for b in lengths
        )

    searched = ((t, *bounds.best_batch(horizon=t, **private)) for t in range(1000, 10**6, 100))
    near, length = next((t, batch) for t, batch, value in searched if value <= level)
    lengths = range(max(1, length - 4), length + 5)
    course = {t: smallest("zcdp_optimal", t, lengths) for t in range(near - 250, near + 100)}
    first = min(t for t, value in course.items() if value <= level)
    matching = next(
        t
        for t in range(first * 92 // 100, first)
        if smallest("bounded_range", t, range(max(1, length - 2), length + 2)) <= level
    )
    rises = sum(after > before for before, after in itertools.pairwise(course.values()))
    return Course(first, matching, rises, (min(course), max(course)))


def worst_regret(eta: float, horizon: int, batch: int) -> float:
    """Exact worst expected mean regret of two experts over fixed binary losses; the batch divides the horizon.

    A batch is one round with losses in {0, ..., B}.
    """
    return batch * minimax.worst_total_regret(eta=eta * batch, horizon=horizon // batch, resolution=batch) / horizon


def forced(n_experts: int, batch: int) -> float:
    """The mean regret ``(1 - 1/B) (1 - 1/k)`` that an adversary which sees actions forces on every run."""
    return (1 - 1 / batch) * (1 - 1 / n_experts)


def punish_repeats(n_experts: int, batch: int) -> Callable[[int, np.ndarray], np.ndarray]:
    """That adversary: the first round of a batch passes, then its action loses until the next draw."""

    def losses(t: int, actions: np.ndarray) -> np.ndarray:
        row = np.zeros(n_experts)
        if (t - 1) % batch:
            row[actions[-1]] = 1.0
        return row

    return losses


class Run(NamedTuple):
    """Runs of `punish_repeats`: the smallest mean regret of one, beside what is forced."""

    smallest: float
    forced: float


class Attacked(NamedTuple):
    """One batch length: the bound for fixed losses, the forced regret, and the measured mean with its standard error.

    ``fixed`` is the largest expected regret over some fixed sequences, where it was computed.
    """

    n_experts: int
    batch: int
    horizon: int
    bound: float
    forced: float
    mean: float
    se: float
    fixed: float = float("nan")


def tabulate(attacked: Iterable[Attacked]) -> Any:
    """Bound for fixed losses, forced and measured regret, a line for each setting."""
    head = ["T", "k", "B", "bound for fixed losses", "forced on every run", "measured, last action punished"]
    lines = (
        [a.horizon, a.n_experts, a.batch, f"{a.bound:.5f}", f"{a.forced:.5f}", report.approx(a.mean, a.se)]
        for a in attacked
    )
    return report.table(head, lines)


def judge_gain(
    regret: Mapping[Any, float], private: Sequence[float], *, level: float, batched: int, plain: int
) -> report.Card:
    """Batching keeps its regret bound and zCDP's delta: shares of the bound, shares of the delta.

    ``batched`` and ``plain`` are the smallest horizons for the level with and without batches.
    """
    most = max(regret.values())
    return report.verdict(
        "experts/batching",
        report.holds_if(most <= 1 + 1e-12 and max(private) <= 1),
        evidence="proof",
        check="exact worst regret of batched play (k = 2, fixed losses) against the bound; exact delta of batched "
        "transcripts against zCDP with N - 1 draws",
        observed=f"regret at most {most:.6f} of the bound over {len(regret)} cases; delta at most "
        f"{max(private):.6f} of zCDP's over {len(private)} pairs, adaptive ones included",
        required="at most 1, both",
        margin=f"smallest T for {level:g}: {batched:,} against {plain:,} without batches",
    )


def judge_loss(runs: Sequence[Run], attacked: Sequence[Attacked], *, replicates: int) -> report.Card:
    """What is forced: never less in any of ``replicates`` runs each, and nearly that by punishing the last action."""
    every_run = all(run.smallest >= run.forced - 1e-12 for run in runs)
    measured = all(a.mean > a.forced - 5 * a.se - 0.02 for a in attacked)
    return report.verdict(
        "experts/batching-adaptive",
        report.holds_if(every_run and measured),
        evidence="proof",
        check="the adversary that punishes repeats, played: regret of every run against (1 - 1/B)(1 - 1/k)",
        observed=f"{replicates * len(runs)} runs over k, B and eta, none below: {every_run}",
        required="none below",
        margin="forced, against the bound for fixed losses, at the rates of the table: "
        + ", ".join(f"k = {a.n_experts}, B = {a.batch}: {a.forced:.5f} against {a.bound:.5f}" for a in attacked),
    )


def draw(attacked: Sequence[Attacked], *, horizon: int, epsilon: float, delta: float) -> None:
    """Bound, fixed sequences and attack over the batch length."""
    all_lengths = Attacked(*np.array(attacked).T)
    several = Attacked(*np.array([a for a in attacked if a.batch > 1]).T)
    fig, (ax,) = report.panels(1, height=3.8)
    report.band(ax, all_lengths.batch, all_lengths.bound, key="batched", label="bound, fixed losses", markers=20)
    report.band(
        ax, all_lengths.batch, all_lengths.fixed, color=report.BLUE, marker="o",
        label="exact, worst of nine fixed sequences", markers=20,
    )  # fmt: skip
    report.band(
        ax, several.batch, several.mean, several.se, color=report.RED, marker="s",
        label="measured, last action punished", markers=20,
    )  # fmt: skip
    forced_label = "(1 − 1/B)(1 − 1/k), can be forced"
    ax.plot(several.batch, several.forced, color=report.BLACK, linestyle="--", label=forced_label)
    ax.set(xscale="log", yscale="log", xlabel="batch length B", ylabel="mean regret", ylim=(0.02, 1.3))
    ax.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
    fig.legend(loc="outside lower center", ncol=2)
    a = all_lengths
    report.publish(
        fig,
        "experts-batching",
        {
            "batch": a.batch.astype(int),
            "bound": a.bound,
            "floor": a.forced,
            "fixed": a.fixed,
            "last": a.mean,
            "last_se": a.se,
        },
        alt="Mean regret against the batch length: the bound for fixed losses falls to a minimum near eleven and rises "
        "again; an adversary that punishes the last action forces a regret that rises towards one.",
        caption=f"$k = {attacked[0].n_experts}$, $T \\approx {horizon}$, $\\varepsilon = {epsilon:g}$, "
        f"δ = {accounting.number(delta)}; the learning rate of zCDP (best order) for each $B$. The fixed sequences: "
        "two experts lose in turn, batch by batch, then one is always right. At $B = 1$ the adversary that punishes "
        "the last action gets almost nothing. " + report.BAND_NOTE,
    )
