"""What the lists of Algorithms 1 to 3 of [Wang2021] reveal about one user: counts, certified bounds, and the figure.

Neighbours differ in the user of round t0, who clicks the first position (database D) or nothing (D'). An order event
about the lists of rounds t0 and t0 + 1 (`evidence.cascading.audit.order_events`) has probability 0 under D, so that at
every epsilon the smallest delta is at least its probability under D'.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Theorem 1 and Lemma 2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpregret.privacy.audit import delta_lower_bound, epsilon_lower_bound, lower_limit
from dpregret.simulation.seeds import generator
from evidence import report
from evidence.cascading import audit
from evidence.cascading.comparisons import Estimate
from evidence.report.tables import Markdown

LOOKS = [
    {"color": report.BLUE, "marker": "o", "linestyle": "-"},
    {"color": report.RED, "marker": "s", "linestyle": "--"},
    {"color": report.GREEN, "marker": "^", "linestyle": "-."},
    {"color": report.BLACK, "marker": "D", "linestyle": ":"},
]
"""One for each epsilon, in turn."""


class Hits(NamedTuple):
    """In how many of ``runs`` runs an item was swapped, and in how many one was swapped or replaced."""

    swapped: int
    either: int
    runs: int


def count(policy, *, equal_counts: bool = False, **setting: Any) -> Hits:
    """The order events in compiled runs; ``setting`` are the arguments of `evidence.cascading.audit.probe`."""
    swapped, replaced = audit.order_events(audit.probe(policy, **setting), equal_counts=equal_counts)
    return Hits(int(swapped.sum()), int((swapped | replaced).sum()), len(swapped))


def count_both(
    policy,
    *,
    round: int,
    runs: int,
    seed: int,
    key: Sequence,
    horizon: int,
    equal_counts: bool = False,
    **instance: int,
) -> tuple[Hits, Hits]:
    """`count` on D, where the user of the round is attracted by every item, and on D', where by none.

    ``seed`` and ``key`` name the draws; ``instance`` is ``n_items`` and ``list_length``.
    """
    first, second = (
        count(
            policy,
            round=round,
            attracted=attracted,
            runs=runs,
            horizon=max(horizon, round + 1),
            rng=generator(seed, "lists", *key, round, attracted),
            equal_counts=equal_counts,
            **instance,
        )
        for attracted in (True, False)
    )
    return first, second


def share(hits: int, runs: int) -> Estimate:
    """The share of runs; its standard error is that of (hits + 1) / (runs + 2), positive also for 0 or all runs."""
    smoothed = (hits + 1) / (runs + 2)
    return Estimate(hits / runs, math.sqrt(smoothed * (1 - smoothed) / runs))


def certified_deltas(hits: Mapping[tuple[str, float, int], Hits], confidence: float) -> dict:
    """Lower limits for the probability of an event, by the keys of ``hits``: all valid together."""
    joint = 1 - (1 - confidence) / len(hits)
    return {key: lower_limit(one.either, one.runs, confidence=joint) for key, one in hits.items()}


def hits_table(
    hits: Mapping[tuple[str, float, int], Hits], certified: Mapping[tuple[str, float, int], float]
) -> Markdown:
    """The share of runs with an event under D', and the certified delta, by algorithm and epsilon; t0 across."""
    names, epsilons, rounds = _axes(hits)
    rows = []
    for name, eps in itertools.product(names, epsilons):
        found = [(hits[name, eps, t0], certified[name, eps, t0]) for t0 in rounds]
        numbers = [value for one, delta in found for value in (one.either / one.runs, delta)]
        rows.append([name, f"{eps:g}", *map(report.approx, numbers)])
    return report.table(
        ["policy", "ε", *(word for t0 in rounds for word in (f"t₀ = {t0}: event", "certified δ"))], rows
    )


def _axes(hits: Mapping[tuple[str, float, int], Hits]) -> tuple[list[str], list[float], list[int]]:
    """The algorithms, epsilons and rounds, in their order."""
    names, epsilons, rounds = (list(dict.fromkeys(part)) for part in zip(*hits, strict=True))
    return names, epsilons, rounds


def variants_table(
    found: Mapping[str, Sequence[tuple[Hits, Hits]]], *, epsilon: float, rounds: Sequence[int]
) -> Markdown:
    """Variants of Algorithm 1: for each round the share of runs under D', and all events under D.

    ``found`` holds the hits on D and on D' for each of the ``rounds``.
    """
    return report.table(
        [f"Algorithm 1, ε = {epsilon:g}", *(f"t₀ = {t0}" for t0 in rounds), "events under D"],
        [
            [name, *(str(share(other.either, other.runs)) for _, other in pairs), sum(one.either for one, _ in pairs)]
            for name, pairs in found.items()
        ],
    )


class Certificate(NamedTuple):
    """Certified lower bounds from runs on D' and on D: what the lists reveal at least.

    ``delta`` holds at every epsilon and uses the proof that D gives 0; ``epsilon`` (at delta 0) and ``sampled_delta``
    (at the stated epsilon) use the runs alone.
    """

    delta: float
    epsilon: float
    sampled_delta: float


def certify(second: Hits, first: Hits, *, epsilon: float, confidence: float) -> Certificate:
    """The certificate of the event "swapped or replaced": ``second`` on D', ``first`` on D."""
    counts = (second.either, second.runs, first.either, first.runs)
    return Certificate(
        lower_limit(second.either, second.runs, confidence=confidence),
        epsilon_lower_bound(*counts, confidence=confidence),
        delta_lower_bound(*counts, epsilon=epsilon, confidence=confidence),
    )


def certificate_lines(certificate: Certificate, second: Hits, first: Hits, *, epsilon: float) -> list[str]:
    """The counts and the certificate, as the notebook prints them."""
    return [
        f"  D: {first.either} events;  D': {report.approx(second.either / second.runs)} of the runs",
        f"  certified δ, any ε (with the proof that D gives 0): {report.approx(certificate.delta, digits=5)}",
        f"  certified without the proof: ε at least {report.approx(certificate.epsilon)} at δ = 0; "
        f"δ at least {report.approx(certificate.sampled_delta, digits=4)} at ε = {epsilon:g}",
    ]


def draw(hits: Mapping[tuple[str, float, int], Hits], *, about: str) -> None:
    """Publish the probability of the events under D' against t0; ``hits`` by algorithm, epsilon and t0."""
    names, epsilons, rounds = _axes(hits)
    fig, axes = report.panels(len(names), ncols=len(names), height=3.3)
    rows = report.Rows("algorithm", "epsilon", "round", "either", "either_se", "swapped", "swapped_se")
    for ax, name in zip(axes, names, strict=True):
        for number, (eps, look) in enumerate(zip(epsilons, itertools.cycle(LOOKS), strict=False)):
            found = [hits[name, eps, t0] for t0 in rounds]
            either, either_se = zip(*(share(one.either, one.runs) for one in found), strict=True)
            swapped, swapped_se = zip(*(share(one.swapped, one.runs) for one in found), strict=True)
            aside = 1.1 ** (number - (len(epsilons) - 1) / 2)
            ax.errorbar(np.array(rounds) * aside, either, 2 * np.array(either_se), label=f"ε = {eps:g}", **look)
            rows.add(
                algorithm=name, epsilon=eps, round=rounds, either=either, either_se=either_se,
                swapped=swapped, swapped_se=swapped_se,
            )  # fmt: skip
        ax.axhline(0, color=report.GREY, linewidth=2.5)
        ax.set_xscale("log")
        ax.set_xticks(rounds, [f"{t0}" for t0 in rounds])
        ax.minorticks_off()
        ax.set_ylim(-0.03, 1.05)
        ax.set_title(name, loc="right")
        ax.set_xlabel("round $t_0$")
    axes[0].set_ylabel("probability of the event")
    axes[0].legend(loc="lower left", bbox_to_anchor=(0.02, 0.06))
    axes[min(1, len(axes) - 1)].text(rounds[0], 0.03, "$D$: exactly 0", fontsize=9)
    report.publish(
        fig,
        "cascading-audit-lists",
        rows,
        alt="Probability of an order event about two successive lists against the round of the user who differs, for "
        "Algorithms 1, 2 and 3 and four values of epsilon: well above zero everywhere, near one in early rounds; "
        "under the other database it is zero.",
        caption="What the lists reveal: probability under $D'$ that an item is swapped or replaced; under $D$ it is "
        "exactly 0 (grey). So δ is at least this probability at every ε, whatever ε the algorithm is run with "
        f"(colour). {about}; points are moved aside a little, bars are ± 2 standard errors.",
    )
