"""Exact privacy of the selector: every vector of error counts and every pair of neighbours, against closed forms."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpregret import erm
from dpregret.erm import Selector, exact_epsilon
from dpregret.privacy.discrete import ExponentialMechanism
from evidence import report
from evidence.erm import audit

TOLERANCE = 1e-9  # between an enumeration and a closed form


def rate_change(m: int) -> Fraction:
    """M1: the largest change of a rate c/m when a record is added, over every count and outcome."""
    return max(abs(Fraction(c + q, m + 1) - Fraction(c, m)) for c in range(m + 1) for q in (0, 1))


def unrestricted(n: int, epsilon: float) -> Callable[[Sequence[int], int], np.ndarray]:
    """The law with the exponent of a public n on databases of every size, which the selector refuses."""
    mechanism = ExponentialMechanism(epsilon=epsilon, sensitivity=1 / n)
    return lambda errors, m: mechanism.probabilities(-np.asarray(errors) / m)


class Case(NamedTuple):
    """The exact epsilon of K classifiers between m and m + 1 records: by enumeration, and in closed form."""

    n: int
    k: int
    epsilon: float
    enumerated: float
    formula: float


def compare(cases: Iterable[tuple[int, int]], epsilons: Sequence[float]) -> list[Case]:
    """`Case` for databases of n and n + 1 records, for each (n, K) and epsilon."""
    found = []
    for n, k in cases:
        for eps in epsilons:
            selector = Selector(epsilon=eps, n_min=n)
            enumerated = audit.enumerated_epsilon(selector, n_hypotheses=k, n_records=n).epsilon
            found.append(Case(n, k, eps, enumerated, exact_epsilon(n_hypotheses=k, n=n, epsilon=eps)))
    return found


def course(classes: Sequence[int], n: int, most_records: int, epsilon: float) -> dict[tuple[int, int], tuple]:
    """(K, m) -> (enumerated worst pair, closed form) for m = 1 .. most_records; below n with the `unrestricted` law."""
    return {
        (k, m): (
            audit.enumerated_epsilon(
                unrestricted(n, epsilon) if m < n else Selector(epsilon=epsilon, n_min=n), n_hypotheses=k, n_records=m
            ),
            exact_epsilon(n_hypotheses=k, n=n, n_records=m, epsilon=epsilon),
        )
        for k in classes
        for m in range(1, most_records + 1)
    }


def course_lines(found: Mapping[tuple[int, int], tuple], n: int, epsilon: float, large_class: int) -> list[str]:
    """A printed table of `course`, with the closed form of a large class and the limit in K."""
    classes, sizes = dict.fromkeys(k for k, _ in found), dict.fromkeys(m for _, m in found)
    head = [f"K = {k}" for k in (*classes, large_class)] + ["limit in K"]
    lines = ["  |D|" + "".join(f"{text:>14s}" for text in head)]
    for m in sizes:
        many = exact_epsilon(n_hypotheses=large_class, n=n, n_records=m, epsilon=epsilon)
        values = [*(found[k, m][0].epsilon for k in classes), many, epsilon * n / (m + 1)]
        lines.append(f"{m:5d}" + "".join(f"{value:14.8f}" for value in values))
    return lines


def largest_gap(pairs: Iterable[tuple[float, float]]) -> float:
    """The largest difference between two numbers that ought to agree."""
    return max(abs(a - b) for a, b in pairs)


def domain_shares(ks: Sequence[int], ns: Sequence[int], epsilons: Sequence[float]) -> np.ndarray:
    """Exact epsilon over epsilon, and over epsilon n/(n + 1), on the domain; shape (cases, 2)."""
    return np.array(
        [
            exact_epsilon(n_hypotheses=k, n=n, epsilon=eps) / eps * np.array([1, (n + 1) / n])
            for k in ks
            for n in ns
            for eps in epsilons
        ]
    )


def judge_closed_form(cases: Sequence[Case], found: Mapping[tuple[int, int], tuple], n: int) -> report.Card:
    """The card of the exact parameter: enumeration and closed form agree."""
    gap = largest_gap((case.enumerated, case.formula) for case in cases)
    agree = max(gap, largest_gap((pair.epsilon, formula) for pair, formula in found.values())) < TOLERANCE
    return report.verdict(
        "experts/erm-exact",
        report.holds_if(agree),
        evidence="proof",
        check="largest log-ratio of the library's mechanism over all classes of K classifiers and all pairs of "
        "neighbours, by "
        "enumeration, against the closed form",
        observed=f"{len(cases)} cases with |D| = n, and {len(found)} with n = {n} and |D| from 1 to "
        f"{max(m for _, m in found)}: differences below 1e-9: {agree}",
        required="no difference",
        margin=f"K = 2, n = 4, epsilon = 1: {exact_epsilon(n_hypotheses=2, n=4, epsilon=1):.10f}",
    )


def judge_domain(
    agree: bool, found: Mapping[tuple[int, int], tuple], shares: np.ndarray, n: int, epsilon: float
) -> report.Card:
    """The card of M2 on the domain of the text: the exact parameter is at most epsilon, and below epsilon n/(n + 1)."""
    inside = [pair for (_, m), (pair, _) in found.items() if m >= n]
    below = bool(shares[:, 1].max() <= 1 + 1e-12)
    return report.verdict(
        "experts/m-2",
        report.holds_if(agree and below and all(pair.word(epsilon) == "holds" for pair in inside)),
        evidence="proof",
        reading="both databases have at least n records",
        check="exact epsilon on the domain |D| >= n: enumerated, and in closed form over a grid of K, n and epsilon",
        observed=f"enumerated at n = {n}, epsilon = {epsilon:g}: {max(pair.epsilon for pair in inside):.8f}; over "
        f"{len(shares)} cases at most {shares[:, 0].max():.6f} epsilon",
        required="at most epsilon",
        margin=f"below epsilon n/(n + 1) in all cases: {below}",
    )


def judge_laws(selector: Selector, classes: Sequence[int], n: int) -> report.Card:
    """The card of M6: for every vector of counts the sampler's law is positive and sums to 1."""
    counts = [np.array(c) for k in classes for c in itertools.product(range(n + 1), repeat=k)]
    laws = [audit.drawn_law(selector, c, n) for c in counts]
    positive, normed = all(law.min() > 0 for law in laws), all(abs(law.sum() - 1) < 1e-12 for law in laws)
    return report.verdict(
        "experts/m-6",
        report.holds_if(positive and normed),
        evidence="proof",
        check="every vector of counts: the probabilities are positive and sum to 1; measurability is in the proof",
        observed=f"{len(laws)} vectors on {n} records: all positive: {positive}, sums 1 within 1e-12: {normed}",
        required="a probability law for every sample",
    )


def sizes_that_hold(n_hypotheses: int, n: int, epsilon: float) -> list[int]:
    """The numbers of records m <= n from which the exact epsilon with public n is at most epsilon."""
    exact = (exact_epsilon(n_hypotheses=n_hypotheses, n=n, n_records=m, epsilon=epsilon) for m in range(1, n + 1))
    return [m for m, value in enumerate(exact, 1) if value <= epsilon]


def worst_pair(law: Callable[[Sequence[int], int], np.ndarray], found) -> tuple[float, float]:
    """The two probabilities of the classifier that tells a pair of neighbours apart best, the smaller first."""
    before, after = law(found.errors, found.n_records), law(found.other_errors, found.other_records)
    h = np.abs(np.log(before / after)).round(9).argmax()
    low, high = sorted((before[h], after[h]))
    return low, high


def judge_small_databases() -> report.Card:
    """The card of M2 on databases of every size: K = 2, public n = 10, epsilon = 2 ln 2, from 1 record to 2.

    With epsilon = 2 ln 2 the weights of the rate score are powers of 2: 2^(-n err / m), so the law is a fraction.
    """
    cases = {1: (0, 1), 2: (1, 1)}
    weight = {m: [Fraction(1, 2 ** (10 * e // m)) for e in errors] for m, errors in cases.items()}
    chosen = {m: w[1] / sum(w) for m, w in weight.items()}
    ratio = chosen[2] / chosen[1]
    drawn = {m: unrestricted(10, 2 * np.log(2))(errors, m)[1] for m, errors in cases.items()}  # the mechanism's own law
    same = max(abs(drawn[m] / float(chosen[m]) - 1) for m in chosen) < 1e-12
    return report.verdict(
        "experts/m-2",
        "fails" if ratio > 4 and same else "holds",
        evidence="exact",
        reading="databases of every size",
        check="K = 2, public n = 10, epsilon = 2 ln 2, from 1 record to 2, in fractions",
        observed=f"probabilities {chosen[1]} and {chosen[2]}: ratio {ratio}; the mechanism gives them within 1e-12: "
        f"{same}",
        required="at most e^epsilon = 4",
        margin=f"epsilon at least ln({ratio}) = {float(np.log(float(ratio))):.6f}, where {2 * np.log(2):.6f} is "
        "promised",
    )


def breaking_class(n: int, m: int, epsilon: float, limit: int = 10**9) -> int:
    """The smallest K >= 2 whose exact epsilon between m and m + 1 records exceeds epsilon; ``limit`` if none does."""
    k = 2
    while exact_epsilon(n_hypotheses=k, n=n, n_records=m, epsilon=epsilon) <= epsilon and k < limit:
        k += 1
    return k


def judge_restricted_domain(
    found: Mapping[tuple[int, int], tuple], breaks: Mapping[int, int], last: float, n: int, epsilon: float, k: int
) -> report.Card:
    """The card of the restricted domain: above epsilon for ``|D|`` <= n - 2 and large classes, not at ``|D|`` = n - 1.

    ``breaks`` are the smallest breaking classes by m, ``last`` the exact epsilon at n - 1 records for K = ``k``.
    """
    single = {classifiers: pair.epsilon for (classifiers, m), (pair, _) in found.items() if m == 1}
    necessary = all(value > epsilon for value in single.values()) and max(breaks.values()) < 10**9
    agree = largest_gap((pair.epsilon, formula) for pair, formula in found.values()) < TOLERANCE
    return report.verdict(
        "experts/restricted-domain",
        report.holds_if(necessary and last <= epsilon and agree),
        evidence="proof",
        check="exact epsilon between |D| and |D| + 1 records below the public n, by enumeration and in closed form",
        observed=f"n = {n}, epsilon = {epsilon:g}, |D| = 1: "
        + ", ".join(f"{value:.6f} at K = {classifiers}" for classifiers, value in single.items())
        + f", limit {epsilon * n / 2:g}; above epsilon for some class at every |D| from 1 to {max(breaks)}: "
        f"{necessary}",
        required="above epsilon for |D| <= n - 2 and large classes; not above it at |D| = n - 1",
        margin=f"at |D| = n - 1, K = {k}: {last:.8f}",
    )


def count_epsilon(k: int, m: int, epsilon: float) -> float:
    """The exact epsilon of the count score between m and m + 1 records, in closed form."""
    return float(np.log((np.exp(-epsilon * m) + (k - 1) * np.exp(epsilon)) / (np.exp(-epsilon * m) + k - 1)))


def judge_count_score(counted: Mapping[tuple[int, int], audit.Enumerated], n: int, epsilon: float) -> report.Card:
    """The card of the count score: its exact epsilon by enumeration, (K, m) -> worst pair; its law and its ``t``."""
    agree = largest_gap((pair.epsilon, count_epsilon(*key, epsilon)) for key, pair in counted.items()) < TOLERANCE
    errors = [0, 3 * n // 10, 7 * n // 10, 7 * n // 10]
    rate_at_two = erm.selection_probabilities(errors, n_records=n, n_min=n, epsilon=2 * epsilon)
    count_at_one = erm.selection_probabilities(errors, n_records=n, epsilon=epsilon, score="count")
    same = float(np.abs(rate_at_two - count_at_one).max()) < 1e-12
    halves = set()
    for k, size in itertools.product((2, 100), (10, 1000)):
        case = {"n_hypotheses": k, "n": size, "epsilon": epsilon, "beta": 0.05}
        halves.add(
            erm.excess_risk_terms(**case, score="count")["selection"] / erm.excess_risk_terms(**case)["selection"]
        )
    private = all(pair.word(epsilon) == "holds" for pair in counted.values())
    return report.verdict(
        "experts/count-score",
        report.holds_if(private and agree and same and halves == {0.5}),
        evidence="proof",
        check="exact epsilon of the count score by enumeration, the empty database included; its law against the rate "
        "score",
        observed=f"{len(counted)} cases, |D| from 0 to {max(m for _, m in counted)}: at most "
        f"{max(pair.epsilon for pair in counted.values()):.8f}; equal to the closed form within 1e-9: {agree}",
        required=f"at most epsilon = {epsilon:g}; t halved",
        margin=f"on n records the law is that of the rate score at 2 epsilon: {same}, so t is halved",
    )


def draw(n: int, epsilon: float, large_class: int) -> None:
    """The exact epsilon against ``|D|`` (left) and on the domain of the text against n (right)."""
    records = np.arange(1, 2 * n + 1)
    fig, (left, right) = report.panels(2, height=3.6, sharex=False, sharey=False)
    left.axvspan(n, 2 * n, color=report.GREY, alpha=0.12, linewidth=0)
    left.text(1.5 * n, 4.4 * epsilon, "domain of the text", ha="center", fontsize=9, color="#444444")
    looks = {2: (report.BLUE, "-", "o"), 3: (report.RED, "--", "s"), large_class: (report.PURPLE, "-.", "^")}
    looks = {k: dict(zip(("color", "linestyle", "marker"), look, strict=True)) for k, look in looks.items()}
    rows = report.Rows("panel", "score", "K", "x", "epsilon")
    for k, look in looks.items():
        y = [exact_epsilon(n_hypotheses=k, n=n, n_records=int(m), epsilon=epsilon) for m in records]
        left.plot(records, y, **look, markersize=4, label=f"rate score, K = {k}")
        rows.add(panel="databases", score="rate", K=k, x=records, epsilon=y)
    every = np.r_[0, records]
    y = [count_epsilon(2, m, epsilon) for m in every]
    left.plot(every, y, **report.series("count score", label="count score, K = 2", markersize=4))
    rows.add(panel="databases", score="count", K=2, x=every, epsilon=y)
    left.axhline(epsilon, color="black", linewidth=1, linestyle=(0, (1, 1)))
    left.text(0.1, 1.04 * epsilon, "ε", ha="left", va="bottom")
    left.set(xlabel="records |D|", ylabel="exact ε, |D| against |D| + 1", xlim=(0, 2 * n), ylim=(0, 5.2 * epsilon))
    left.set_title(f"public n = {n}", fontsize=10)
    left.set_xticks(np.linspace(0, 2 * n, 5).round())
    left.legend(loc="upper right", bbox_to_anchor=(1.0, 0.83))
    ns = np.unique(np.geomspace(1, 1000, 25).round().astype(int))
    for k, look in looks.items():
        y = [exact_epsilon(n_hypotheses=k, n=int(size), epsilon=epsilon) for size in ns]
        right.plot(ns, y, **look, markersize=4, markevery=2, label=f"K = {k}")
        rows.add(panel="domain", score="rate", K=k, x=ns, epsilon=y)
    right.plot(ns, epsilon * ns / (ns + 1), color=report.GREY, linestyle=":", label="limit in K, εn/(n + 1)")
    right.axhline(epsilon, color="black", linewidth=1, linestyle=(0, (1, 1)))
    right.set(xscale="log", xlabel="n", ylabel="exact ε on |D| ≥ n", ylim=(0, 1.08 * epsilon))
    right.set_title("on the domain of the text", fontsize=10)
    right.legend(loc="lower right")
    report.publish(
        fig,
        "erm-exact-privacy",
        rows,
        alt="Left: the exact epsilon against the number of records; with rates it is several times epsilon on small "
        "databases "
        "and falls below epsilon from one record less than the public n on, with counts it is below epsilon "
        "everywhere. Right: the exact epsilon "
        "on the domain of the text against n, which approaches epsilon from below.",
        caption=f"Exact privacy parameters at $\\varepsilon = {epsilon:g}$ for adding or removing one record, worst "
        "case over "
        f"classes of $K$ classifiers. (a) The selector with public $n = {n}$ on databases of every size, and the "
        "count score. (b) The selector on its domain.",
    )
