"""How late the policies begin to learn: shares of a random list's regret, local exponents, and when both are small."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from evidence import report
from evidence.cascading import bounds
from evidence.report.enclosure import ball, precision, proves
from evidence.report.enclosure import show as show_ball

Key = tuple[str, float]  # a policy's name and its epsilon


class Curve(NamedTuple):
    """A quantity at the checkpoints: its mean and standard error over the repetitions."""

    rounds: np.ndarray
    mean: np.ndarray
    se: np.ndarray


def share(regret, *, per_round: float) -> tuple[np.ndarray, np.ndarray]:
    """Regret (replicate, round) over that of a random list, which costs ``per_round``; with its rounds."""
    t = regret["round"].values
    return t, regret.values / (per_round * t)


def exponent(regret, *, per_decade: int) -> tuple[np.ndarray, np.ndarray]:
    """Local exponent of t over half a decade, at its end, shape (replicate, round); with its rounds."""
    t, r, step = regret["round"].values, regret.values, per_decade // 2
    return t[step:], np.log(r[:, step:] / r[:, :-step]) / np.log(t[step:] / t[:-step])


def summaries(quantity: Callable, regret: Mapping[Key, Any]) -> dict[Key, Curve]:
    """Mean and standard error of ``quantity`` of each curve.

    The standard error of fewer than five runs is pooled over the checkpoints and a policy's curves.
    """
    found = {}
    for name in dict.fromkeys(name for name, _ in regret):
        curves = {key: quantity(curve) for key, curve in regret.items() if key[0] == name}
        errors = [value.std(axis=0, ddof=1) / np.sqrt(len(value)) for _, value in curves.values()]
        if len(next(iter(curves.values()))[1]) < 5:
            errors = [np.full_like(se, np.sqrt(np.mean(np.square(errors)))) for se in errors]
        found |= {
            key: Curve(t, value.mean(axis=0), se) for (key, (t, value)), se in zip(curves.items(), errors, strict=True)
        }
    return found


def draw(
    name: str,
    found: Mapping[Key, Curve],
    *,
    line: float,
    label: str,
    paper_horizon: int,
    alt: str,
    caption: str,
) -> None:
    """One panel an epsilon, with a thin line at the level ``line`` and at the paper's horizon."""
    epsilons = list(dict.fromkeys(eps for _, eps in found))
    fig, axes = report.panels(len(epsilons), height=2.6)
    rows = report.Rows("epsilon", "algorithm", "round", "value", "value_se")
    for ax, eps in zip(axes, epsilons, strict=True):
        for key in dict.fromkeys(name for name, _ in found):
            t, value, se = found[key, eps]
            report.band(ax, t, value, se, key=key, markers=6)
            rows.add(epsilon=eps, algorithm=key, round=t, value=value, value_se=se)
        ax.axhline(line, color=report.GREY, linewidth=0.9)
        ax.axvline(paper_horizon, color=report.GREY, linewidth=0.9, linestyle=":", label="horizon of the paper")
        ax.set(xscale="log", ylim=(0, 1.15), xlabel="round t", ylabel=label)
        ax.set_title(f"ε = {eps:g}", loc="right")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8.5)
    report.publish(fig, name, rows, alt=alt, caption=caption)


def draw_share(shares: Mapping[Key, Curve], *, paper_horizon: int, about: str) -> None:
    """The figure of the regret as a share of a random list's; ``about`` ends its caption."""
    draw(
        "cascading-long-horizon-share",
        shares,
        line=0.5,
        label="regret over random list's",
        paper_horizon=paper_horizon,
        alt="Regret as a share of a random list's against the round, at each epsilon. The paper's private algorithms "
        "stay at one far beyond the paper's horizon and fall one after another; the first-position policy falls much "
        "earlier.",
        caption=f"Regret as a share of the regret of a random list; the thin line is one half. {about}",
    )


def draw_exponent(exponents: Mapping[Key, Curve], *, paper_horizon: int, about: str) -> None:
    """The figure of the local exponents; ``about`` ends its caption."""
    draw(
        "cascading-long-horizon-exponent",
        exponents,
        line=1.0,
        label="local exponent",
        paper_horizon=paper_horizon,
        alt="Local exponent of the regret against the round, at each epsilon: one in the linear phase, falling towards "
        "zero after it.",
        caption="Local exponent of the regret in t over the half decade before t: 1 is linear growth, 0 logarithmic. "
        f"{about}",
    )


def below(curve: Curve, level: float) -> float | None:
    """Where the mean falls below a level for the last time, interpolated in log t; None if it ends above."""
    t, value = curve.rounds, curve.mean
    above = np.flatnonzero(value >= level)
    if above.size == 0:
        return float(t[0])
    i = above[-1]
    if i == t.size - 1:
        return None
    return float(np.exp(np.interp(level, value[[i + 1, i]], np.log(t[[i + 1, i]]))))


def printed_round(t: float | None, stop: float) -> str:
    """A round found by `below` as the notebook prints it; ``stop`` is the last one played."""
    return f"after {stop:g}" if t is None else report.approx(t, digits=2)


def theorem_4_below_half(problem, *, epsilon: float, per_round: float) -> float:
    """The horizon from which Theorem 4, as printed, is below half of a random list's regret."""
    bound = partial(bounds.theorem_4, problem, epsilon=epsilon)
    return 10 ** bounds.informative_from(lambda t: bound(horizon=t), per_round=per_round / 2)


def ends_table(halves: Mapping[Key, str], slow: Mapping[Key, str], says: Mapping[float, float]):
    """The table of the ends of the linear phase, by epsilon and then by policy.

    ``halves`` and ``slow`` hold printed rounds; ``says``, for Theorem 4, stands beside Algorithm 2.
    """
    head = ["ε", "algorithm", "below half of a random list from", "local exponent below 2/3 from"]
    rows = [
        [
            f"{eps:g}",
            report.series(name)["label"],
            halves[name, eps],
            slow[name, eps],
            f"{says[eps]:.4g}" if name == "laplace" else "",
        ]
        for eps in dict.fromkeys(eps for _, eps in halves)
        for name in dict.fromkeys(name for name, _ in halves)
    ]
    return report.table([*head, "Theorem 4 below half from"], rows)


def theorem_4_share(problem, *, horizon: int, epsilon: float, per_round: float) -> float:
    """The bound of Theorem 4 as printed over the regret of a random list."""
    return bounds.theorem_4(problem, horizon=horizon, epsilon=epsilon) / (per_round * horizon)


def enclosed_main_term(problem, *, horizon: int, epsilon: float, per_round: float):
    """The term of Theorem 4 in log T over the regret of a random list, as a ball."""
    with precision(30):
        b = ball(problem.list_length) / ball(str(epsilon))
        main = 4 * (ball("1.5").sqrt() + b * ball(24).sqrt()) ** 2 * ball(horizon).log()
        weight = sum(1 / ball(float(gap)) for gap in problem.gaps[:, -1])
        return main * weight / (ball(float(per_round)) * horizon)


def at_round(curve: Curve, horizon: int) -> str:
    """A curve's value at a round, interpolated in log t, as the notebook prints it."""
    value, se = (float(np.interp(np.log(horizon), np.log(curve.rounds), x)) for x in (curve.mean, curve.se))
    return report.approx(value, se)


def exponents_at(exponents: Mapping[Key, Curve], name: str, horizon: int) -> str:
    """A policy's local exponents at a round, one an epsilon, in words for the card."""
    values = ", ".join(at_round(curve, horizon) for key, curve in exponents.items() if key[0] == name)
    return f"{report.series(name)['label']} at that horizon is {values}"


def judge_corroboration(
    *, in_force: Sequence[float], measured: Sequence[tuple[float, float]], stated: Sequence[float], horizon: int
) -> report.Card:
    """The card of "the experiments corroborate the theory" with noise and bonus multiplied.

    ``in_force`` are the epsilons in force; ``measured`` (mean and standard error) and ``stated`` are regret and bound
    as shares of a random list's regret.
    """
    agrees = all(m + 3 * se < bound < 1 for (m, se), bound in zip(measured, stated, strict=True))
    return report.verdict(
        "cascading/sentence-corroborate",
        "consistent" if agrees else "open",
        reading="noise and bonus",
        evidence="confidence",
        level="99.7 %, each regret",
        check="measured regret and the bound of Theorem 4 at the ε in force, as shares of a random list's regret, "
        f"T = {horizon}",
        observed=f"ε in force {', '.join(f'{x:.6g}' for x in in_force)}; regret "
        + ", ".join(report.approx(*x) for x in measured),
        required=f"below the bound, {', '.join(f'{x:.3f}' for x in stated)}, and the bound below 1",
        margin="criterion fixed beforehand: a bound counts only where it is below a random list's regret",
    )


def judge_honest(enclosed, *, epsilons: Sequence[float], stated: Sequence[float], local: str, horizon: int):
    """The card of the same sentence with honest noise.

    ``stated`` are the bounds as shares of a random list's regret, ``enclosed`` the ball of the main term's share at the
    largest epsilon; ``local`` says the local exponents at the horizon.
    """
    return report.verdict(
        "cascading/sentence-corroborate",
        "fails" if proves(enclosed > 1) else "open",
        reading="honest",
        evidence="enclosure",
        check=f"the main term of Theorem 4 at the stated ε over the regret of a random list, T = {horizon}",
        observed=f"{', '.join(f'{x:.4g}' for x in stated)}; at ε = {max(epsilons):g} in ball arithmetic "
        f"{show_ball(enclosed, 6)}",
        required="below 1 for an experiment that could speak for or against it",
        margin=f"with honest noise the local exponent of {local}, where 1 is linear (errors pooled)",
    )
