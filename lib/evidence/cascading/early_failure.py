r"""Algorithm 2 as printed has regret that no multiple of log T bounds: a certified lower bound, and where it passes.

One very low first noise keeps an optimal item out of the list for good. `evidence.cascading.enclosures` has the same
numbers in ball arithmetic.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from dpregret import _checks
from evidence import report
from evidence.cascading import enclosures
from evidence.cascading.bracket import bracket_supremum, gap_matrix
from evidence.cascading.lemmas import laplace_sum_tail
from evidence.cascading.local_bounds import laplace_bound, theorem_4
from evidence.report.enclosure import ball, proves, show


def early_failure_log_lower_bound(problem, *, log_horizon: float, epsilon: float, initial: str = "raw") -> float:
    r"""Natural log of a certified lower bound on the regret of Algorithm 2 as printed, at any horizon (``-inf``: none).

    ``E R(T) >= Delta_min/2 exp(-x) (c q T - 1)`` with ``b = K/epsilon``, ``beta = sqrt1.5 + b sqrt24``, ``q = (1 -
    max mean)^(K-1)``, ``c = (1 - u)^(L-1)`` and, with the raw ``w_0`` (T_0 = 1) or with none,

        raw: ``x = (2 + beta sqrt(2 log T)) / b``,     none: ``x = (1 + beta sqrt(log T)) / b``.

    Proof.  Take an optimal item i.  (1) If its first noise is below ``-b x`` (probability ``exp(-x)/2``), its index
    with that one noisy sample is negative up to round T: samples add at most 2 (raw) or 1, and the bonus rises with t.
    (2) Let Omega be: for each of the other L - 1 items and every m >= 1, its first m noises sum to at least ``-b
    sqrt(24 n log(m + 1))``, with ``n = m + 1`` (raw) or ``n = m`` (none) the counter.  That counter needs ``t >= m +
    1``, so on Omega their indices are never negative; `index_failure` bounds by u the probability that one item fails,
    and the items' noises are independent.
    (3) So after its first observation item i is not shown again, and a round without it costs at least ``Delta_min q``.
    (4) Until then, a round showing i observes it with probability at least q, so the expected number of rounds that
    show it is at most 1/q.  This number and Omega do not depend on the first noise of i.
    """
    gaps, length = gap_matrix(problem), problem.list_length
    raw = _checks.choice("initial", initial, ("raw", "none")) == "raw"
    log_t, b = _checks.real("log_horizon", log_horizon, at_least=0.0), length / _checks.epsilon(epsilon)
    certain = (1 - index_failure(raw)) ** (len(problem.means) - 1)
    shown = (1 - float(np.max(problem.means))) ** (length - 1)
    if not gaps.size or certain * shown <= 0 or log_t <= -math.log(certain * shown):
        return -math.inf
    samples, bonus = (2, math.sqrt(2 * log_t)) if raw else (1, math.sqrt(log_t))
    x = (samples + (math.sqrt(1.5) + b * math.sqrt(24)) * bonus) / b
    log_rounds = log_t + math.log(certain * shown) + math.log1p(-math.exp(-log_t) / (certain * shown))
    return math.log(gaps.min() / 2) - x + log_rounds


@cache
def index_failure(raw: bool) -> float:
    """The u above: exact tails to m = 200, and ``sum_{m > 200} m^-3 < 1/(2 * 200^2)`` beyond.

    Beyond, ``sqrt(24 m log m)`` is past the sub-gamma radius of ``3 log m`` if ``sqrt24 >= sqrt12 + 3 sqrt(log m/m)``:
    for m >= 11.
    """
    m = np.arange(1, 201)
    levels = np.sqrt(24 * (m + raw) * np.log(m + 1))
    return sum(laplace_sum_tail(y, n=int(k)) for k, y in zip(m, levels, strict=True)) + 1 / (2 * 200**2)


def early_failure_crossing(problem, *, epsilon: float, initial: str = "raw") -> float:
    """Base-10 logarithm of the horizon from which the certified lower bound exceeds Theorem 4 as printed."""
    b = problem.list_length / _checks.epsilon(epsilon)

    def excess(log_t: float) -> float:
        lower = early_failure_log_lower_bound(problem, log_horizon=log_t, epsilon=epsilon, initial=initial)
        return max(lower, -1e9) - math.log(laplace_bound(problem, b, log_t, "printed"))

    upper = 10.0
    while excess(upper) < 0:
        upper *= 2
        if upper > 1e12:
            raise ValueError(f"problem must allow a crossing (L > K; max mean < 1 if K > 1), got {problem!r}")
    return float(optimize.brentq(excess, 1.0, upper)) / math.log(10)


def crossing_line(title: str, problem, *, epsilon: float) -> str:
    """What the notebook prints of an instance at one epsilon."""
    raw, none = (early_failure_crossing(problem, epsilon=epsilon, initial=initial) for initial in ("raw", "none"))
    return (
        f"{title}, ε = {epsilon:<4g}: the lower bound exceeds Theorem 4 from T = 10^{raw:.4f} on; without the raw "
        f"observation from 10^{none:.4f} on"
    )


class FailureCurves(NamedTuple):
    """Base-10 logarithms of Algorithm 2's certified regret and of Theorem 4, one entry a horizon 10^decades."""

    decades: np.ndarray
    lower: dict[str, np.ndarray]  # with user 0 "raw", or "none"
    upper: dict[str, np.ndarray]  # Theorem 4 "printed", and "corrected" with its bonus


def failure_curves(problem, *, decades, epsilon: float) -> FailureCurves:
    """The certified lower bound and Theorem 4 at each horizon, for the figure of Theorem 4's failure."""
    decades = _checks.array("decades", decades, ndim=1, at_least=0.0, at_most=300.0)

    def lower(initial: str) -> np.ndarray:
        log_t = decades * np.log(10)
        bounds = [
            early_failure_log_lower_bound(problem, log_horizon=x, epsilon=epsilon, initial=initial) for x in log_t
        ]
        return np.array(bounds) * (1 / np.log(10))

    def upper(version: str) -> np.ndarray:
        return np.log10([theorem_4(problem, horizon=10.0**d, epsilon=epsilon, version=version) for d in decades])

    return FailureCurves(
        decades,
        {initial: lower(initial) for initial in ("raw", "none")},
        {version: upper(version) for version in ("printed", "corrected")},
    )


def draw_failure(curves: dict[str, FailureCurves]) -> None:
    """The figure of Theorem 4's failure, one panel an instance: ``curves`` maps its title to its curves."""
    fig, axes = report.panels(len(curves), height=4.2)
    rows = report.Rows("instance", "log10_horizon", "lower_raw", "lower_none", "printed", "corrected")
    for ax, (title, (decades, lower, upper)) in zip(axes, curves.items(), strict=True):
        ax.plot(decades, lower["raw"], color=report.BLUE, label="lower bound on the regret")
        ax.plot(decades, lower["none"], color=report.SKY, linestyle="-.", label="lower bound, no raw observation")
        ax.plot(decades, upper["printed"], **report.series("bound printed", label="Theorem 4 as printed"))
        corrected = report.series("bound corrected", linestyle=":", label="corrected bonus, its bound")
        ax.plot(decades, upper["corrected"], **corrected)
        ax.set(xlabel="log₁₀ of the horizon T", xlim=(0, 100), ylim=(-10, 90))
        ax.set_title(title, loc="right", fontsize=10)
        below = {f"lower_{initial}": np.maximum(values, -99) for initial, values in lower.items()}
        above = {version: np.maximum(values, -99) for version, values in upper.items()}
        rows.add(instance=title, log10_horizon=decades, **below, **above)
    axes[0].set_ylabel("log₁₀ of the regret")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=2)
    report.publish(
        fig,
        "cascading-theorem-4-failure",
        rows,
        alt="log10 of the certified lower bound on Algorithm 2's regret rises almost linearly in log10 T and crosses "
        "the nearly level bound of Theorem 4 between 10^20 and 10^40; the bound of the corrected bonus stays level.",
        caption="Algorithm 2 as printed: a certified lower bound on its regret, and Theorem 4, out to $T = 10^{100}$. "
        "The corrected bonus has an upper bound of the same order as the one printed. Lower bounds below $10^{-10}$ "
        "are outside the frame.",
    )


class Excess(NamedTuple):
    """How far the regret of Algorithm 2 exceeds the bound of Theorem 4 as printed, at one epsilon."""

    exact_epsilon: str  # of the ball
    enclosed: Any  # the ball of log(lower bound over printed bound) at T = 10^60
    decades: float
    log10_ratio: float  # base-10 logarithm of the lower bound over the printed one at T = 10^decades
    crossing: float  # base-10 logarithm of the horizon from which the bound is exceeded


def excess(problem, *, epsilon: float, exact_epsilon: str, decades: float) -> Excess:
    """The excess on an instance, enclosed at T = 10^60 and in floating point at T = 10^decades."""
    enclosed = enclosures.early_failure_excess(problem, log_horizon=60 * ball(10).log(), epsilon=exact_epsilon)
    far = failure_curves(problem, decades=[decades], epsilon=epsilon)
    ratio = float(far.lower["raw"][0] - far.upper["printed"][0])
    return Excess(exact_epsilon, enclosed, decades, ratio, early_failure_crossing(problem, epsilon=epsilon))


def judge_theorem_4(found: Excess, *, two_items: float, list_length: int) -> report.Card:
    """The card of Theorem 4 as printed, from its excess on the default instance of ``list_length`` positions.

    ``two_items`` is the base-10 logarithm of the horizon from which the bound is exceeded with two items.
    """
    return report.verdict(
        "cascading/theorem-4",
        "fails" if proves(found.enclosed > 0) else "open",
        evidence="enclosure",
        check="closed-form lower bound against the printed bound, in ball arithmetic",
        observed=f"at T = 10^60, ε = {found.exact_epsilon}, log(lower bound over printed bound) is "
        f"{show(found.enclosed, 8)}; at T = 10^{found.decades:g}, ε = {found.exact_epsilon}, the regret is at least "
        f"10^{found.log10_ratio:.3f} times the bound; it exceeds the bound from T = 10^{found.crossing:.4f} on "
        f"(10^{two_items:.4f} with two items)",
        required="regret at most the bound for every T",
        margin=f"the factor 4 is {4 * bracket_supremum(list_length):.6f} at K = {list_length} and 8 for every K, and "
        "the linear program of the proof lacks constraints",
    )


def judge_theorem_7(found: Excess, *, epsilon: float, delta: float) -> report.Card:
    """The card of the regret half of Theorem 7: Theorem 4 at the epsilon whose Laplace scale is the composed one."""
    return report.verdict(
        "cascading/theorem-7-regret",
        "fails" if proves(found.enclosed > 0) else "open",
        evidence="enclosure",
        check="closed-form lower bound against the bound of the proof of Theorem 4 at the composed scale",
        observed=f"at T = 10^60 and the Laplace scale of K/ε' = {found.exact_epsilon}, below the composed one, log("
        f"lower bound over bound) is {show(found.enclosed, 8)}; at T = 10^{found.decades:g}, ε = {epsilon:g}, "
        f"δ = {delta:g}, the regret is at least 10^{found.log10_ratio:.3f} times the bound; it exceeds it from T = "
        f"10^{found.crossing:.4f} on",
        required="regret of order log T",
        margin="the statement has no sum over the items and no gap either, and its noise is larger than that of "
        "Algorithm 2 here",
    )
