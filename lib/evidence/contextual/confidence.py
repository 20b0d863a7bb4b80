"""Tables of the page on confidence bands, and the batches that it fits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dpregret.contextual import Batch, ContextualProblem, CorrectedLPLR, Estimate
from dpregret.privacy.audit import lower_limit
from evidence import report
from evidence.contextual.lemma_ratios import Summary
from evidence.contextual.lemmas import WITH_ROOT
from evidence.contextual.line_11 import Limit
from evidence.contextual.proof_steps import Step
from evidence.contextual.shares import Share, copies

QUERIES = 40


def with_queries(problem: ContextualProblem, horizon: float, runs: int, rng: np.random.Generator) -> Batch:
    """``runs`` copies of the problem, all users play action 1, with 40 vectors of norms 1e-6 to 1 that no user has."""
    phi = problem.features[:, 1]
    more = rng.normal(size=(QUERIES, phi.shape[1]))
    more *= np.logspace(-6, 0, QUERIES)[:, None] / np.linalg.norm(more, axis=1, keepdims=True)
    law = np.append(problem.context_probabilities, np.zeros(QUERIES))
    return copies(np.concatenate([phi, more]), law, problem.parameter, horizon, runs)


class Coverage(NamedTuple):
    """Runs in which every band held, of how many, and the mean width at the users' contexts."""

    kept: int
    runs: int
    width: float

    def lower(self, confidence: float, intervals: int) -> float:
        """Lower limit of the probability that every band holds, together with ``intervals - 1`` others."""
        return lower_limit(self.kept, self.runs, confidence=1 - (1 - confidence) / intervals)


def coverage(fit: Estimate, batch: Batch, runs: int) -> Coverage:
    """Of all rows at once, in a fit of several runs side by side."""
    kept = fit.holds(batch).reshape(runs, -1).all(axis=1).sum()
    return Coverage(int(kept), runs, float(batch.probabilities @ fit.widths) / runs)


def line_11_table(shares: Mapping[tuple[str, float], Share], limits: Mapping[float, Limit], confidence: float):
    """Coverage by log10 T; ``shares`` by ("e1" | "along" | "contexts" | "all points", log10 T)."""
    head = ["$\\log_{10} T$", "closed form at $e_1$", "simulated", f"joint {confidence:.0%} interval"]
    head += ["along $\\hat u$", "interval", "contexts", "corrected, all points"]
    rows = []
    for x, limit in limits.items():
        row = [f"{x:g}", f"{limit.covered:.4f}"]
        for name in ("e1", "along"):
            cell = shares[name, x]
            row += [report.approx(cell.value), report.approx(interval=cell.interval)]
        rows.append(row + [report.approx(shares[name, x].value) for name in ("contexts", "all points")])
    return report.table(head, rows)


def line_11_lines(
    shares: Mapping[tuple[str, float], Share], limits: Mapping[float, Limit], along: float, conditions: bool
) -> list[str]:
    """What is printed below `line_11_table`: the bounds, and whether the limit law is inside all intervals."""
    first = next(iter(limits.values()))
    inside = all(shares["e1", x].low <= limit.covered <= shares["e1", x].high for x, limit in limits.items())
    return [
        f"bounds free of T at e_1: {first.low:.4f} and {first.high:.4f}; bound along û for every T: {along:g}",
        f"closed form inside all intervals: {inside}; the conditions of the bound along û hold in all "
        f"runs: {conditions}",
    ]


def coverage_table(
    cells: Mapping[tuple[str, str, float], Coverage], confidence: float, *, alpha: float, delta: float
) -> tuple:
    """The corrected bands by (instance, mechanism, log10 T), and whether every lower limit is above 1 - delta."""
    head = ["instance", "mechanism", "$\\log_{10} T$", "effective $\\varepsilon$", "covered"]
    head += [f"lower limit, joint {confidence:.0%}", "nominal", "$E\\Delta$"]
    lowest = {key: cell.lower(confidence, len(cells)) for key, cell in cells.items()}
    rows = [
        [
            label,
            mechanism.replace("_", " "),
            f"{log_T:g}",
            f"{CorrectedLPLR(mechanism, alpha=alpha).effective_epsilon():g}",
            report.approx(cell.kept / cell.runs),
            report.approx(lowest[label, mechanism, log_T]),
            f"{1 - delta:g}",
            report.approx(cell.width),
        ]
        for (label, mechanism, log_T), cell in cells.items()
    ]
    return report.table(head, rows), all(low >= 1 - delta for low in lowest.values())


def scale_table(shares: Mapping[tuple[str, float], Share], again: float, smaller_delta: Mapping[str, Coverage]):
    """Coverage by (instance, width scale), and at the scale ``again`` with delta = T^-2, by instance."""
    instances = list(smaller_delta)
    rows = [
        [f"{scale:g}", "proved" if CorrectedLPLR(alpha=1.0, width_scale=scale).is_rigorous else "heuristic"]
        + [report.approx(shares[label, scale].value) for label in instances]
        for scale in dict.fromkeys(scale for _, scale in shares)
    ]
    rows.append([f"{again:g}, $\\delta = T^{{-2}}$", "heuristic"])
    rows[-1] += [report.approx(cell.kept / cell.runs) for cell in smaller_delta.values()]
    return report.table(["width scale", "status", *instances], rows)


def lemma_table(found: Summary, delta: float):
    """The largest ratio of each inequality by instance, and the runs in which it exceeds 1."""
    instances = list(dict.fromkeys(label for _, label in found.by_instance))

    def entry(name: str, label: str) -> str:
        key = name, label
        return report.approx(found.by_instance[key], digits=2) if key in found.by_instance else "–"

    head = ["lemma", *instances, f"runs above 1, of {found.runs}", "allowed share"]
    return report.table(
        head,
        [
            [name, *(entry(name, label) for label in instances), found.violated[name], f"{delta:g}"]
            for name in found.names
        ],
    )


def line_13_table(found: Summary):
    """Shares of bins in which the estimate of epsilon_B is an upper one, by log10 T."""
    head = ["$\\log_{10} T$", "bins", "$P(\\bar\\varepsilon_B \\ge \\varepsilon_B)$, line 13 as printed", "interval"]
    return report.table(
        [*head, "with $\\sqrt n$", "interval"],
        [
            [f"{x:g}", pair[0].runs]
            + [text for s in pair for text in (report.approx(s.value), report.approx(interval=s.interval))]
            for x, pair in found.upper.items()
        ],
    )


def line_13_lines(found: Summary, delta: float) -> list[str]:
    """What is printed below `line_13_table`: the check can fail."""
    nominal, wrong = 1 - delta, found.largest[WITH_ROOT]
    half = all(printed.high < nominal for printed, _ in found.upper.values())
    upper = all(corrected.low >= nominal for _, corrected in found.upper.values())
    return [
        f"printed: upper limits below the nominal {nominal:g}: {half}; corrected: lower limits above it: {upper}",
        f"first line of Lemma 4.2 with c/√n: largest ratio above one million: {wrong > 1e6}",
    ]


def chain_table(chain: Mapping[str, Step]):
    """The steps of the paper's chain of inequalities."""
    head = "step of the paper's chain", "needed over stated, as printed", "with larger constants", ""
    return report.table(head, [[name, f"{x.printed:.4g}", f"{x.corrected:.4g}", x.status] for name, x in chain.items()])


def chain_lines(chain: Mapping[str, Step], summed_up: bool) -> list[str]:
    """What is printed below `chain_table`."""
    all_hold = all(step.holds for step in chain.values())
    printed, right = math.sqrt(3.3 + 2.2 * math.sqrt(2)), math.sqrt(9.9)
    return [
        f"all corrected steps hold: {all_hold}; the recursion summed up is at most (c M)^d: {summed_up}",
        f"the printed chain for the recursion gives √(1.1 + 2.2 √2 + 2.2) = {printed:.4f}; with the √2 of (86) it is "
        f"{right:.4f}",
    ]
