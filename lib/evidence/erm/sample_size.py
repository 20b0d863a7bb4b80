"""Records that suffice and records that are needed: the rule of the text, its constant, the bound solved for n."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpregret.erm import excess_risk_bound, sample_size
from evidence import report
from evidence.erm import lower_bounds

RULE = "24-rule of the text (M4)"
SOLVED = "bound M3 solved for n"
SHARPEST = "the same, with the count score"
PROPER = "lower bound, all private proper learners"


def sizes(*, n_hypotheses: int, epsilon: float, alpha: float, beta: float) -> dict[str, int]:
    """Records by rule, by bound solved for n, on the packing instance and from below, for excess alpha at 1 - beta."""
    case = {"n_hypotheses": n_hypotheses, "epsilon": epsilon, "alpha": alpha, "beta": beta}
    packing = lower_bounds.packing_sample_size
    return {
        RULE: sample_size(**case),
        "rule with 7 + sqrt(33)": sample_size(**case, rule="constant"),
        SOLVED: sample_size(**case, rule="inverted"),
        "the same, comparator without union bound": sample_size(**case, rule="inverted", version="sharper"),
        SHARPEST: sample_size(**case, rule="inverted", version="sharper", score="count"),
        "selector on the packing instance": packing(**case | {"epsilon": epsilon / 2}),
        "count score on the packing instance": packing(**case),
        PROPER: packing(**case | {"epsilon": 2 * epsilon}),
        "lower bound, all learners": lower_bounds.two_constants_sample_size(alpha=alpha, beta=beta),
    }


def grid() -> list[dict[str, Any]]:
    """The cases of K, beta, alpha and epsilon on which the rules are checked."""
    names = ("n_hypotheses", "beta", "alpha", "epsilon")
    values = (
        (2, 3, 10, 100, 10**4, 10**8),
        (1e-12, 1e-6, 0.01, 0.1, 0.5, 0.9, 1 - 1e-9),
        (0.001, 0.01, 0.1, 0.3, 1.0),
        (0.001, 0.01, 0.1, 0.3, 1.0, 10.0),
    )
    return [dict(zip(names, case, strict=True)) for case in itertools.product(*values)]


CORNER = {"n_hypotheses": 2, "beta": 1 - 1e-9, "alpha": 0.1, "epsilon": 0.1}
"""Where all estimates of the proof are nearly equalities."""


def share(constant: float, *, alpha: float, version: str = "printed", score: str = "rate", **options: Any) -> float:
    """The bound over alpha at n = constant kappa max(1/alpha^2, 1/(eps alpha)), n not rounded; 0 for n < 1."""
    q = math.log(options["n_hypotheses"]) - math.log(options["beta"])
    n = constant * q * max(alpha**-2, 1 / (options["epsilon"] * alpha))
    return excess_risk_bound(n=n, version=version, score=score, **options) / alpha if n >= 1 else 0.0


class Shares(NamedTuple):
    """The largest `share` of a constant over the grid, its number of cases, and the share in `CORNER`."""

    largest: float
    cases: int
    corner: float


def shares(constant: float, **options: Any) -> Shares:
    """`Shares` of a constant in the rule; ``options`` are the version and score of the bound."""
    cases = grid()
    return Shares(max(share(constant, **case, **options) for case in cases), len(cases), share(constant, **CORNER))


def rounded_share() -> float:
    """The largest bound over alpha at the n of the rule, rounded up, over the grid."""
    return max(
        excess_risk_bound(n=sample_size(**case), **{k: v for k, v in case.items() if k != "alpha"}) / case["alpha"]
        for case in grid()
    )


def sharper_constant() -> float:
    """The constant for the count score and the comparator without union bound: 2 x^2 + (sqrt(3/2) + 1) x = 1, x^-2."""
    b = math.sqrt(1.5) + 1
    return ((-b + math.sqrt(b**2 + 8)) / 4) ** -2


def judge_rule(found: Shares, rounded: float) -> report.Card:
    """The card of M4: the bound M3 at the n of the rule is at most 2/3 alpha."""
    return report.verdict(
        "experts/m-4",
        report.holds_if(found.largest <= 2 / 3 + 1e-9 and rounded <= 2 / 3 + 1e-9),
        evidence="proof",
        check="the bound M3 at the n of the rule, over alpha, on a grid of K, beta, alpha and epsilon",
        observed=f"at most {found.largest:.8f} over {found.cases} cases, n not rounded; {rounded:.8f} with n rounded "
        "up",
        required="at most 2/3, and so at most 1",
        margin=f"2/3 is the limit at K = 2, beta near 1, epsilon = alpha: {found.corner:.8f}",
    )


def judge_constant(c: float, found: Shares) -> report.Card:
    """The card of the smallest constant c that the proof allows: c = 7 + sqrt(33) suffices, and less does not."""
    exact = abs(c - (7 + math.sqrt(33))) < 1e-12 and abs(math.sqrt(6 / c) + 4 / c - 1) < 1e-12
    below = share(c * (1 - 1e-6), **CORNER)
    return report.verdict(
        "experts/sample-constant",
        report.holds_if(found.largest <= 1 + 1e-9 and exact),
        evidence="proof",
        check="the same with 7 + sqrt(33) in place of 24",
        observed=f"at most {found.largest:.8f} over {found.cases} cases; c = {c:.9f}, the root of sqrt(6/c) + 4/c = 1: "
        f"{exact}",
        required="at most 1",
        margin="a constant smaller by one in a million exceeds 1 for M3 at K = 2, beta near 1, epsilon = alpha: "
        f"{below > 1}",
    )


class Program(NamedTuple):
    """Failure probabilities on the packing instance with K classifiers, n records and q = 1/2."""

    k: int
    n: int
    epsilon: float
    best: dict[str, float]  # of all private proper learners, by kind of neighbours
    packing: dict[str, float]  # the bound
    selector: float
    count: float


def programs(cases: Sequence[tuple[int, int]], epsilons: Sequence[float]) -> list[Program]:
    """The best learner by linear program beside the bound and the two scores, for each (K, n) and epsilon."""
    found = []
    for (k, n), eps in itertools.product(cases, epsilons):
        case = {"n_hypotheses": k, "n": n, "q": 0.5}
        bound = {scale: lower_bounds.packing_failure(**case, epsilon=scale * eps) for scale in (0.5, 1, 2)}
        best = {
            neighbours: lower_bounds.best_failure(**case, epsilon=eps, neighbours=neighbours)
            for neighbours in lower_bounds.NEIGHBOURS
        }
        packing = {"replace": bound[1], "add or remove": bound[2]}
        found.append(Program(k, n, eps, best, packing, selector=bound[0.5], count=bound[1]))
    return found


def program_lines(found: Sequence[Program]) -> list[str]:
    """A printed table of `programs`."""
    lines = [
        "failure probability, q = 1/2: bound, best learner, count score, selector",
        "            one record replaced      one added or removed",
        " K  n  eps    bound      best     bound      best     count  selector",
    ]
    for p in found:
        both = (p.packing["replace"], p.best["replace"], p.packing["add or remove"], p.best["add or remove"])
        numbers = "".join(f"{value:10.6f}" for value in (*both, p.count, p.selector))
        lines.append(f"{p.k:2d}{p.n:3d}{p.epsilon:5.1f}{numbers}")
    return lines


def judge_packing(found: Sequence[Program], closed: float, exact: int) -> report.Card:
    """The card of the packing bound: no private proper learner is better (1e-7 is the program's tolerance).

    ``closed`` and ``exact`` are the closed form and the exact number of records that the bound asks for.
    """
    slack = {which: min(p.best[which] - p.packing[which] for p in found) for which in lower_bounds.NEIGHBOURS}
    excess = [(p.n, abs(p.best["replace"] - p.packing["replace"])) for p in found]
    tight = max(gap for n, gap in excess if n == 1) < 1e-7
    attained = sum(gap < 1e-7 for _, gap in excess)
    return report.verdict(
        "experts/packing-erm",
        report.holds_if(min(slack.values()) > -1e-7),
        evidence="proof",
        check="least failure probability of all private proper learners (linear program) against the bound",
        observed=f"{len(found)} cases of K, n and epsilon: never below the bound, one record replaced: "
        f"{slack['replace'] > -1e-7}; added or removed: {slack['add or remove'] > -1e-7}",
        required="at least the bound (1e-7 is the program's tolerance)",
        margin=f"for replaced records attained at n = 1: {tight}, and in {attained} of the {len(found)} cases in all; "
        "the "
        f"closed form at the defaults, {closed:.4f}, is below the exact {exact}",
    )


AXES = {
    "n_hypotheses": ("classifiers K", [2, 4, 10, 30, 100, 1000, 10**4, 10**5, 10**6]),
    "epsilon": ("ε", np.geomspace(0.01, 10, 13).tolist()),
    "alpha": ("excess risk α", np.geomspace(0.01, 0.5, 11).tolist()),
}
CURVES = {  # name in the data -> key of `sizes`, label, look
    "rule": (RULE, "24-rule (M4)", report.RED, "--", "s"),
    "constant": ("rule with 7 + sqrt(33)", "7 + √33 in place of 24", report.ORANGE, "-.", "^"),
    "inverted": (SOLVED, "M3 solved for n", report.BLUE, "-", "o"),
    "sharper": (SHARPEST, "sharper, count score", report.GREEN, "-", "D"),
    "packing": (PROPER, "lower bound, private and proper", report.GREY, (0, (3, 1, 1, 1)), "v"),
    "two constants": ("lower bound, all learners", "lower bound, any learner", report.BLACK, ":", ""),
}


def draw(case: Mapping[str, Any], axes: Mapping[str, tuple[str, Sequence[float]]] = AXES) -> None:
    """Records against K, epsilon and alpha, each about ``case`` (the arguments of `sizes`)."""
    rows = report.Rows("axis", "x", "curve", "n")
    fig, panels = report.panels(3, ncols=3, height=4.1, sharex=False)
    given = {"n_hypotheses": f"K = {case['n_hypotheses']}", "epsilon": f"ε = {case['epsilon']:g}"}
    given |= {"alpha": f"α = {case['alpha']:g}"}
    for ax, (name, (label, values)) in zip(panels, axes.items(), strict=True):
        found = [sizes(**case | {name: value}) for value in values]
        for key, (size, text, color, line, marker) in CURVES.items():
            n = [at[size] for at in found]
            ax.plot(values, n, color=color, linestyle=line, marker=marker, markersize=4, label=text)
            rows.add(axis=name, x=[float(value) for value in values], curve=key, n=n)
        ax.set(xscale="log", yscale="log", xlabel=label)
        ax.set_title(", ".join(text for other, text in given.items() if other != name), fontsize=9.5, loc="right")
    panels[0].set_ylabel("records n")
    fig.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncol=3)
    report.publish(
        fig,
        "erm-sample-size",
        rows,
        alt="Number of records against the number of classifiers, epsilon and the excess risk, on logarithmic axes: "
        "the rule of "
        "the text is several times the bound solved for n, which is several times the larger of the two lower bounds.",
        caption="Records that suffice for an excess risk of at most $\\alpha$ with probability "
        f"$1 - \\beta = {1 - case['beta']:g}$: by the rule, by the rule with the smaller constant, by M3 solved for "
        "$n$, and by its "
        "sharper form for the count score; and lower bounds, for private proper learners (records added or removed) "
        "and for "
        "all learners.",
    )
