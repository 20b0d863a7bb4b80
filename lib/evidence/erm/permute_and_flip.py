"""Permute-and-flip beside the exponential mechanism with the same score: privacy, utility, training error."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dpregret.erm import Selector, exact_epsilon, mechanism, selection_probabilities
from evidence import report
from evidence.erm import audit
from evidence.erm.data_laws import Law

SELECTORS = ("rate score", "count score", "permute and flip")


def law_by_orders(errors: Sequence[int], epsilon: float) -> np.ndarray:
    """The law of permute-and-flip from the algorithm itself: a sum over the orders of the visits, shape (K,)."""
    accept = np.exp(-epsilon * (np.asarray(errors) - min(errors)))
    law = np.zeros(len(errors))
    for order in itertools.permutations(range(len(errors))):
        left = 1.0
        for h in order:
            law[h] += left * accept[h]
            left *= 1 - accept[h]
    return law / math.factorial(len(errors))


def exceedance(law: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """P(errors > x) at every value x that occurs."""
    return np.array([law[errors > x].sum() for x in np.unique(errors)])


def count_law(errors: np.ndarray, n: int, mechanism: str, epsilon: float) -> np.ndarray:
    """The law of the choice with the count score, shape (K,)."""
    return selection_probabilities(errors, n_records=n, epsilon=epsilon, score="count", mechanism=mechanism)


class Enumeration(NamedTuple):
    """All vectors of counts of a few classifiers on a few records."""

    vectors: int
    epsilon: float  # the largest exact epsilon
    by_orders: float  # the largest difference between the sampler's law and the algorithm's
    advantage: float  # the least P(more than x errors) of the count score above that of permute-and-flip


def enumerate_counts(sizes: Sequence[tuple[int, int]], epsilon: float) -> Enumeration:
    """`Enumeration` for K classifiers on up to m records, for each (K, m)."""
    flipped = Selector(epsilon=epsilon, score="count", mechanism="permute_and_flip")
    by_orders, largest, advantage, vectors = 0.0, 0.0, math.inf, 0
    for k, most_records in sizes:
        for m in range(most_records + 1):
            for errors in map(np.array, itertools.product(range(m + 1), repeat=k)):
                flip = audit.drawn_law(flipped, errors, m)  # read off the sampler
                by_orders = max(by_orders, np.abs(flip - law_by_orders(errors, epsilon)).max())
                count = exceedance(count_law(errors, m, "exponential", epsilon), errors)
                advantage = min(advantage, (count - exceedance(flip, errors)).min())
                vectors += 1
        found = audit.enumerated_epsilon(flipped, n_hypotheses=k, n_records=range(most_records + 1))
        largest = max(largest, found.epsilon)
    return Enumeration(vectors, largest, by_orders, advantage)


class Training(NamedTuple):
    """Expected training errors on one data set, in the order of `SELECTORS`."""

    n: int
    k: int
    best: float
    errors: dict[float, list[float]]  # by epsilon
    above: dict[float, list[float]]  # above the best, by epsilon
    dominated: bool  # permute-and-flip is never the more probable to exceed any number of errors


def training_errors(law: Law, epsilons: Sequence[float]) -> Training:
    """`Training` on all records of a data set, exactly."""
    errors, n = law.missed.sum(axis=0), len(law.y)
    found, above, dominated = {}, {}, True
    for eps in epsilons:
        rate = selection_probabilities(errors, n_records=n, n_min=n, epsilon=eps)
        count, flip = (count_law(errors, n, name, eps) for name in mechanism.MECHANISMS)
        dominated &= bool((exceedance(count, errors) - exceedance(flip, errors)).min() > -1e-9)
        found[eps] = [float(p @ errors / n) for p in (rate, count, flip)]
        above[eps] = [float(p @ (errors - errors.min()) / n) for p in (rate, count, flip)]
    return Training(n, errors.size, errors.min() / n, found, above, dominated)


def training_lines(name: str, found: Training) -> list[str]:
    """A printed table of `training_errors`."""
    lines = [
        f"{name}: {found.n} records, K = {found.k}, best training error {found.best:.6f}",
        "   epsilon  effective eps (rate)   rate score  count score  permute-and-flip",
    ]
    for eps, (rate, count, flip) in found.errors.items():
        certified = exact_epsilon(n_hypotheses=found.k, n=found.n, epsilon=eps)
        lines.append(f"{eps:10g}{certified:22.8f}{rate:13.6f}{count:13.6f}{flip:18.6f}")
    return lines


def judge(found: Enumeration, training: Mapping[str, Training], name: str, at: float) -> report.Card:
    """The card of permute-and-flip; its margin shows the data set ``name`` at the epsilon ``at``."""
    never = found.advantage > -1e-12 and all(data.dominated for data in training.values())
    rate, count, flip = training[name].errors[at]
    return report.verdict(
        "experts/permute-and-flip",
        report.holds_if(found.epsilon <= 1 + 1e-12 and found.by_orders < 1e-12 and never),
        evidence="proof",
        check="exact epsilon at epsilon = 1 by enumeration; P(more than x errors) against the count score, enumerated "
        "and on "
        "three data sets",
        observed=f"exact epsilon at most {found.epsilon:.8f}; never more probable to exceed any x: {never}",
        required="at most 1; never",
        margin=f"expected training error on {name} at epsilon = {at:g}: {flip:.6f}, count score {count:.6f}, rate "
        "score "
        f"{rate:.6f}, best {training[name].best:.6f}",
    )


def draw(training: Mapping[str, Training]) -> None:
    """Expected training error above the best against epsilon, a panel a data set."""
    fig, axes = report.panels(len(training), ncols=min(3, len(training)), height=3.7, sharey=True)
    rows = report.Rows("data", "selector", "epsilon", "excess")
    for ax, (name, found) in zip(axes, training.items(), strict=True):
        for i, selector in enumerate(SELECTORS):
            excess = [above[i] for above in found.above.values()]
            ax.plot(list(found.above), excess, **report.series(selector))
            rows.add(data=name, selector=selector, epsilon=list(found.above), excess=excess)
        ax.set(xscale="log", yscale="log", xlabel="ε")
        ax.set_title(f"{name.split(',')[0]}, n = {found.n}", fontsize=9.5, loc="right")
    axes[0].set(ylabel="training error above the best", ylim=(1e-4, 1))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=3)
    report.publish(
        fig,
        "erm-training-error",
        rows,
        alt="Expected training error above the best against epsilon on three data sets: the count score is the rate "
        "score at "
        "twice epsilon, and permute-and-flip is a little below the count score.",
        caption="Expected training error above that of the best stump, exact, on whole data sets. The count score at "
        "$\\varepsilon$ is the rate score at $2\\varepsilon$; permute-and-flip is never worse.",
    )
