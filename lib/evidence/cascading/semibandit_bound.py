"""Theorem 9 of [Wang2021]: the noise at a random count, the bound beside the measured regret, and the rate.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Theorem 9 and its proof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import xarray as xr

from dpregret.cascading import SemiBanditProblem
from evidence import report
from evidence.cascading import bounds
from evidence.cascading.comparisons import estimate, final
from evidence.cascading.simultaneous import simultaneous_tail

WIDTH = {"printed": lambda t: 2 * math.sqrt(math.log(t)), "corrected": lambda t: math.sqrt(2 * math.log(2 * t**3))}
"""The noise part of the bonus in standard deviations of the noisy mean, as a function of t."""

CLAIMED = {"printed": lambda t: 2 / t**2, "corrected": lambda t: 1 / t**2}
"""What the proof takes for the probability that the noise leaves it."""

LOOKS = {
    "printed": {"color": report.RED, "linestyle": "--", "marker": "s"},
    "corrected": {"color": report.GREEN, "linestyle": "-", "marker": "o"},
}


@dataclass(frozen=True)
class Case:
    """A problem with the privacy parameters at which Theorem 9 is held against the measured regret."""

    problem: SemiBanditProblem
    epsilon: float
    delta: float

    @cached_property
    def max_gap(self) -> float:
        r""":math:`\Delta_{max}`, the most that a round can lose."""
        return self.problem.gap_range()[1]

    @cached_property
    def inverse_gap(self) -> float:
        r""":math:`f^{-1}(\Delta_{min})`, by enumeration of all super arms."""
        return self.problem.reward.inverse_smoothness(self.problem.gap_range()[0], self.problem.list_length)

    def bound(self, horizon: float, version: str) -> float:
        """Theorem 9 at this horizon, printed or corrected."""
        return bounds.theorem_9(
            n_arms=self.problem.n_arms,
            list_length=self.problem.list_length,
            inverse_gap=self.inverse_gap,
            max_gap=self.max_gap,
            horizon=horizon,
            epsilon=self.epsilon,
            delta=self.delta,
            version=version,
        )

    @property
    def informative_from(self) -> float:
        r"""Base-10 logarithm of the horizon from which the corrected bound is below :math:`T \Delta_{max}`."""
        return bounds.informative_from(lambda horizon: self.bound(horizon, "corrected"), per_round=self.max_gap)

    @property
    def left_out(self) -> float:
        r"""The factor :math:`m \Delta_{max} / f^{-1}(\Delta_{min})^2` of the leading term."""
        return self.problem.n_arms * self.max_gap / self.inverse_gap**2


def first_failure() -> int:
    """The first round at which the printed bonus does not give what the proof takes for granted."""
    return next(t for t in range(2, 100) if simultaneous_tail(WIDTH["printed"](t), n=t - 1) > CLAIMED["printed"](t))


def draw_bound(measured: Mapping[tuple[str, str], xr.DataArray], cases: Mapping[str, Case], *, reward: str) -> None:
    """Publish the measured regret (replicate, round) of each case and version with its bound, from round 10 on."""
    fig, axes = report.panels(len(cases), height=3.3, sharey=False)
    rows = report.Rows("instance", "version", "round", "regret", "regret_se", "bound")
    for ax, (name, case) in zip(axes, cases.items(), strict=True):
        for version, look in LOOKS.items():
            mean, se = estimate(measured[name, version].sel(round=slice(10, None)))
            x = mean["round"].values
            report.band(ax, x, mean, se, label=f"regret, {version}", **look)
            curve = [case.bound(float(t), version) for t in x]
            ax.plot(x, curve, **report.series(f"bound {version}", label=f"bound, {version}"))
            rows.add(instance=name, version=version, round=x, regret=mean, regret_se=se, bound=curve)
        ax.plot(x, x * case.max_gap, color=report.GREY, linestyle=(0, (1, 1)), label=r"$T\Delta_{\max}$")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("horizon T")
        ax.set_ylabel("cumulative regret")
        ax.set_title(f"{name}, ε = {case.epsilon:g}", fontsize=9.5, loc="right")
    axes[0].legend(fontsize=7.5, loc="center right", bbox_to_anchor=(1.0, 0.66))
    delta = next(iter(cases.values())).delta
    report.publish(
        fig,
        "cascading-semibandit-bound",
        rows,
        alt="Measured regret of Algorithm 4, printed and corrected, against the horizon on log-log axes, with both "
        "versions of the bound of Theorem 9 and the trivial bound, on two instances.",
        caption="Measured regret and the bound of Theorem 9, printed and corrected, with the noise of the stated ε "
        f"(δ = {delta:g}). Left: the instance of the figure above, reward “{reward}”. Right: two arms of means 0.95 "
        "and 0.05. Where a bound lies above the dotted line it says nothing. " + report.BAND_NOTE,
    )


def bound_lines(cases: Mapping[str, Case], horizon: int) -> list[str]:
    """Both bounds of each case at the horizon, and from where on the corrected one says something."""
    lines = []
    for name, case in cases.items():
        for version in LOOKS:
            bound = case.bound(horizon, version)
            lines.append(f"{name}, ε = {case.epsilon:g}, {version}: bound at T = {horizon}: {bound:.6g}")
        lines.append(f"{name}: the corrected bound is below T Δmax from T = 10^{case.informative_from:.3f} on")
    return lines


def is_below(regret: xr.DataArray, case: Case) -> bool:
    """Whether the regret (replicate, round) stays three standard errors below the corrected bound, from round 2 on."""
    mean, se = estimate(regret.sel(round=slice(2, None)))
    limits = [case.bound(float(t), "corrected") for t in mean["round"].values]
    return bool((mean + 3 * se <= limits).all())


def corrected_is_smaller(case: Case) -> bool:
    """Whether the corrected bound is at most the printed one at T = 10, 100, ..., 1e300."""
    return all(case.bound(10.0**k, "corrected") <= case.bound(10.0**k, "printed") for k in range(1, 301))


def theorem_9_word(*, printed_step: bool, corrected_step: bool, below: bool) -> str:
    """The word for Theorem 9: its step as printed and as corrected, and the measured regret below the bound."""
    if not (corrected_step and below):
        return "fails"
    return report.holds_if(printed_step, otherwise="holds corrected")


def theorem_9_cards(
    tail: Mapping[tuple[str, int], float],
    first: int,
    regret: Mapping[str, xr.DataArray],
    cases: Mapping[str, Case],
) -> list[report.Card]:
    """The step of the proof, and the measured regret of the corrected algorithm under the corrected bound.

    ``tail`` maps a version and a round t to the exact probability that the noise leaves its part of the bonus at some
    count below t; ``first`` is `first_failure`.
    """
    kept = {version: [tail[v, t] <= (1 + 1e-9) * CLAIMED[v](t) for v, t in tail if v == version] for version in LOOKS}
    word = theorem_9_word(
        printed_step=all(kept["printed"]),
        corrected_step=all(kept["corrected"]),
        below=all(is_below(regret[name], case) for name, case in cases.items()),
    )
    t = max(t for _, t in tail)
    horizon = int(next(iter(regret.values()))["round"][-1])
    smaller = all(map(corrected_is_smaller, cases.values()))
    return [
        report.verdict(
            "cascading/theorem-9",
            word,
            evidence="proof",
            check="the noise over all counts up to t, exactly",
            observed=f"printed bonus, t = {t}: {tail['printed', t]:.5e}; corrected bonus: {tail['corrected', t]:.5e}",
            required=f"at most 2/t² = {CLAIMED['printed'](t):.5e} (the proof's step); corrected at most 1/t² = "
            f"{CLAIMED['corrected'](t):.5e}",
            margin=f"the step first fails at t = {first}; corrected by log(2t³)",
        ),
        report.verdict(
            "cascading/theorem-9",
            word,
            evidence="proof",
            check="measured regret of the corrected algorithm under the corrected bound, at every horizon shown",
            observed=f"at T = {horizon}, " + "; ".join(f"{name}: {final(regret[name])}" for name in cases),
            required="; ".join(f"{name}: {case.bound(horizon, 'corrected'):.6g}" for name, case in cases.items()),
            margin=f"the corrected bound is {'' if smaller else 'not '}below the printed one for "
            "T = 10 to 1e300; leading terms in this order whenever K log(1.25/δ) ≥ 1.1",
        ),
    ]


def rate_card(cases: Mapping[str, Case]) -> report.Card:
    """The rate in the list of contributions leaves out a factor of Theorem 9, which is above 1 in each case."""
    return report.verdict(
        "cascading/sentence-semibandit-rate",
        report.holds_if(
            any(case.left_out <= 1 for case in cases.values()),
            otherwise="holds corrected",
        ),
        evidence="proof",
        check="the factor m Δmax/(f⁻¹(Δmin))² of Theorem 9, which the list of contributions leaves out",
        observed=", ".join(f"{case.left_out:.4g} ({name})" for name, case in cases.items()),
        required="1 for the rate as it stands there",
        margin="the order in K, δ, T and ε is that of Theorem 9",
    )
