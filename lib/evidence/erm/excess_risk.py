"""Measured excess risk of the selectors beside the bound M3, its sharper form and the hard quantile."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpregret.erm import Selector, bounds, exact_epsilon, excess_risk_bound, selection_probabilities
from dpregret.simulation import generator
from evidence import report
from evidence.erm.data_laws import Law
from evidence.erm.hard_laws import Exact, hard_quantile

SCORES = {"rate score": "rate", "count score": "count"}
DATA_SETS = ("breast cancer", "wine, first cultivar", "digits, is it a zero")


def choice_laws(
    errors: np.ndarray, n: int, *, epsilon: float, draws: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """The probabilities of the classifiers given the error counts of each sample, by selector; shape (samples, K).

    Exact for the exponential mechanism; for permute-and-flip the shares of ``draws`` choices of the library's sampler.
    """
    law = {
        name: np.array([selection_probabilities(e, n_records=n, n_min=n, epsilon=epsilon, score=score) for e in errors])
        for name, score in SCORES.items()
    }
    flip = Selector(epsilon=epsilon, score="count", mechanism="permute_and_flip")
    law["permute and flip"] = np.zeros_like(errors)
    for row, counts in zip(law["permute and flip"], errors, strict=True):
        for _ in range(draws):
            row[flip.sample(counts, n, rng)] += 1 / draws
    law["no privacy"] = np.zeros_like(errors)
    law["no privacy"][np.arange(len(errors)), errors.argmin(axis=1)] = 1.0
    return law


def quantile(law: np.ndarray, excess: np.ndarray, beta: float) -> tuple[float, float]:
    """Smallest x with P(excess <= x) >= 1 - beta, and its standard error from ten groups of samples.

    ``law`` has shape (samples, K), ``excess`` (K,).
    """
    order = np.argsort(excess, kind="stable")

    def of(rows: Any) -> float:
        reached = np.cumsum(law[rows].mean(axis=0)[order]) >= 1 - beta - 1e-12
        return excess[order[reached.argmax()]]

    groups = [of(rows) for rows in np.array_split(np.arange(len(law)), 10)]
    return of(slice(None)), np.std(groups, ddof=1) / math.sqrt(10)


class Measured(NamedTuple):
    """The rows of the figure, the share of the excess above its bound, and the exact epsilon in force.

    ``exceed`` is keyed by (law, selector, n), ``certified`` by (law, n): that of the rate score.
    """

    rows: list[dict[str, Any]]
    exceed: dict[tuple[str, str, int], float]
    certified: dict[tuple[str, int], float]


def measure(
    laws: Mapping[str, Law],
    records: Sequence[int],
    *,
    epsilon: float,
    beta: float,
    replicates: int,
    draws: int,
    seed: int,
) -> Measured:
    """Samples of n records from each law: mean and 1 - beta quantile of the excess risk, by selector."""
    rows, exceed, certified = [], {}, {}
    for name, n in itertools.product(laws, records):
        law, excess = laws[name], laws[name].excess
        case = {"n_hypotheses": excess.size, "n": n, "epsilon": epsilon, "beta": beta}
        bound = {"printed": excess_risk_bound(**case)}
        bound["sharper"] = excess_risk_bound(**case, version="sharper", score="count")
        rng = generator(seed, name, n)
        errors = rng.multinomial(n, law.probabilities, size=replicates) @ law.missed
        for selector, chosen in choice_laws(errors, n, epsilon=epsilon, draws=draws, rng=rng).items():
            means = chosen @ excess
            q, q_se = quantile(chosen, excess, beta)
            rows.append(
                {"law": name, "selector": selector, "n": n, "mean": means.mean(),
                 "mean_se": means.std(ddof=1) / math.sqrt(replicates), "quantile": q, "quantile_se": q_se,
                 **bound, "hard": hard_quantile(n, excess.size, epsilon, beta)}
            )  # fmt: skip
            level = bound["sharper" if selector == "count score" else "printed"]
            exceed[name, selector, n] = float((chosen @ (excess > level)).mean())
        certified[name, n] = exact_epsilon(n_hypotheses=excess.size, n=n, epsilon=epsilon)
    return Measured(rows, exceed, certified)


def largest(measured: Measured, selector: str) -> float:
    """The largest share of the excess above the selector's bound."""
    return max(share for (_, name, _), share in measured.exceed.items() if name == selector)


def selection_share(laws: Mapping[str, Law], epsilons: Sequence[float], beta: float) -> float:
    """The largest P(training error >= best + t) on whole data sets, t the selection's part of M3."""
    shares = []
    for name, eps in itertools.product(DATA_SETS, epsilons):
        errors, n = laws[name].missed.sum(axis=0), len(laws[name].y)
        t = bounds.excess_risk_terms(n_hypotheses=errors.size, n=n, epsilon=eps, beta=beta)["selection"]
        law = selection_probabilities(errors, n_records=n, n_min=n, epsilon=eps)
        shares.append(float(law @ (errors / n > errors.min() / n + t)))
    return max(shares)


def judge_bound(exact: Sequence[Exact], measured: Measured, selection: float, beta: float) -> report.Card:
    """The card of M3: exactly on the hard laws, the selection alone on data sets, and samples from four laws."""
    most, observed = max(case.failures["M3"] for case in exact), largest(measured, "rate score")
    at = next(case for case in exact if (case.k, case.n, case.epsilon) == (1000, 3000, 1.0))
    rated = (row for row in measured.rows if row["selector"] == "rate score" and row["quantile"] > 0)
    ratio = min(row["printed"] / row["quantile"] for row in rated)
    return report.verdict(
        "experts/m-3",
        report.holds_if(most <= beta and observed <= beta and selection <= beta / 2),
        evidence="proof",
        check="exact probability that the excess risk exceeds 2a + t; the part of the selection alone on three data "
        "sets; "
        "samples from four laws",
        observed=f"at most {most:.3e} over {len(exact)} cases of n, epsilon and K; selection alone at most "
        f"{selection:.3e}",
        required=f"at most beta = {beta:g}; selection at most beta/2",
        margin="any bound for all laws is at least the hard quantile, at n = 3000, K = 1000, epsilon = 1: "
        f"{at.hard:.6f} "
        f"against {at.bound:.6f}; on the four laws M3 is at least {report.approx(ratio)} times the measured quantile",
    )


def tail_share(errors: np.ndarray, m: int, epsilon: float) -> float:
    """M7: the largest P(error >= best + gap) / (K e^{-epsilon m gap / 2}) over the gaps that occur, n = m records."""
    law = selection_probabilities(errors, n_records=m, n_min=m, epsilon=epsilon)
    above = errors - errors.min()
    bound = [len(errors) * math.exp(-epsilon * gap / 2) for gap in np.unique(above)[1:]]
    return max((law[above >= gap].sum() / b for gap, b in zip(np.unique(above)[1:], bound, strict=True)), default=0)


def judge_tail(shares: Sequence[float], near: Mapping[int, float]) -> report.Card:
    """The card of M7, from the `tail_share` of every vector of counts, and of one best classifier by K."""
    return report.verdict(
        "experts/m-7",
        report.holds_if(max(shares) <= 1 and max(near.values()) <= 1),
        evidence="proof",
        check="P(training error >= best + g) over K e^{-epsilon n g/2}, every vector of counts on six records, every "
        "gap",
        observed=f"{len(shares)} cases, at most {max(shares):.6f}",
        required="at most 1",
        margin="one best classifier and K - 1 far behind: " + ", ".join(f"{s:.6f} (K = {k})" for k, s in near.items()),
    )


def judge_deviation(deviation: Mapping[tuple[int, int], float], beta: float) -> report.Card:
    """The card of M8, from the exact probabilities by (K, n)."""
    return report.verdict(
        "experts/m-8",
        report.holds_if(max(deviation.values()) <= beta / 2),
        evidence="proof",
        check="exact probability that one of K classifiers with independent errors of the worst risk is off by more "
        "than a",
        observed=f"at most {max(deviation.values()):.6f} over {len(deviation)} cases of K and n",
        required=f"at most beta/2 = {beta / 2:g}",
        margin="; ".join(f"K = {k}, n = 1000: {deviation[k, 1000]:.6f}" for k in (2, 1000)),
    )


def judge_comparator(
    exact: Sequence[Exact], tail: float, counted: float, saved: Mapping[int, float], beta: float
) -> report.Card:
    """The card of the comparator without union bound.

    ``tail`` is its largest exact tail, ``counted`` the count score's share above its bound, ``saved`` the share of the
    comparator's term that is saved, by K.
    """
    worst = max(failure for case in exact for name, failure in case.failures.items() if name != "M3")
    return report.verdict(
        "experts/comparator",
        report.holds_if(worst <= beta and tail <= beta / 4 and counted <= beta),
        evidence="proof",
        check="exact probability that the excess risk exceeds the sharper bound, both scores; exact tail of the "
        "comparator",
        observed=f"at most {worst:.3e} over {len(exact)} cases of n, epsilon and K; the comparator's tail at most "
        f"{tail:.6f}",
        required=f"at most beta = {beta:g}; the tail at most beta/4 = {beta / 4:g}",
        margin="the comparator's term is smaller by "
        + ", ".join(f"{100 * share:.2f} % (K = {k})" for k, share in saved.items()),
    )


def saved_by_comparator(ks: Sequence[int], *, n: int, epsilon: float, beta: float) -> dict[int, float]:
    """The share of the comparator's term that the sharper form saves, by K."""

    def term(k: int, version: str) -> float:
        case = {"n_hypotheses": k, "n": n, "epsilon": epsilon, "beta": beta}
        return bounds.excess_risk_terms(**case, version=version)["comparator"]

    return {k: 1 - term(k, "sharper") / term(k, "printed") for k in ks}


def judge_one_classifier(alone: Sequence[float], *, epsilon: float, beta: float) -> report.Card:
    """The card of M5 from the probabilities of the only classifier."""
    zero = excess_risk_bound(n_hypotheses=1, n=10, epsilon=epsilon, beta=beta)
    return report.verdict(
        "experts/m-5",
        report.holds_if(set(alone) == {1.0} and zero == 0.0),
        evidence="proof",
        check="probability of the only classifier, random counts; the bound of the library (which sets this case to 0)",
        observed=f"probability {min(alone):g}, excess {zero:g}",
        required="probability 1, excess 0",
        margin=f"exact epsilon {exact_epsilon(n_hypotheses=1, n=10, epsilon=epsilon):g}",
    )


def draw(laws: Mapping[str, Law], measured: Measured, *, epsilon: float, beta: float, replicates: int) -> None:
    """Excess risk against the number of records on each law, with the bounds."""
    fig, axes = report.panels(len(laws), height=3.0, sharey=False)
    for ax, name in zip(axes, laws, strict=True):
        chosen = [row for row in measured.rows if row["law"] == name]
        for selector in (*SCORES, "permute and flip", "no privacy"):
            line = [row for row in chosen if row["selector"] == selector]
            line = [row for row in line if row["mean"] > 1e-5]  # below the axis
            report.band(ax, *([row[key] for row in line] for key in ("n", "mean", "mean_se")), key=selector, markers=12)
        line = [row for row in chosen if row["selector"] == "rate score"]
        x, tail = [row["n"] for row in line], [row["quantile"] or np.nan for row in line]
        label = f"rate score, {100 * (1 - beta):g} % quantile"
        ax.plot(x, tail, color=report.RED, linewidth=1.2, linestyle=":", label=label)
        for key, look in {
            "hard": report.series("lower bound", label="hard law, the same quantile, exact"),
            "printed": report.series("bound printed", label="2a + t (M3)"),
            "sharper": report.series("bound corrected", label="sharper, count score"),
        }.items():
            ax.plot(x, [row[key] for row in line], **look)
        ax.set(xscale="log", yscale="log", ylim=(1e-4, 10))
        ax.set_title(f"{name}, K = {laws[name].risks.size}", fontsize=9.5)
    for ax in axes[2:]:
        ax.set_xlabel("records n")
    for ax in axes[::2]:
        ax.set_ylabel("excess risk")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=3)
    report.publish(
        fig,
        "erm-excess-risk",
        {key: [row[key] for row in measured.rows] for key in measured.rows[0]},
        alt="Excess risk against the number of records on four laws: the two bounds lie well above the measured mean "
        "and upper "
        "quantile; the count score and permute-and-flip lie below the rate score until all have found the best "
        "classifier.",
        caption=f"Excess risk at $\\varepsilon = {epsilon:g}$: means of {replicates} samples for every $n$, with bands "
        "of ± 2 "
        f"standard errors; the {100 * (1 - beta):g} per cent quantile of the rate score (not drawn where it is 0), "
        "which M3 "
        "bounds; and the same quantile on the hardest law of the two families above. "
        f"The effective $\\varepsilon$ (worst class of its size) is at most {max(measured.certified.values()):.6f} for "
        f"the rate score and {epsilon:g} for the "
        "other two.",
    )
