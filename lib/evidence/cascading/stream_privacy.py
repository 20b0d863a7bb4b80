"""Theorem 1 and Lemma 2 of [Wang2021]: every stream passes through its private counter, and the lists are not private.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Theorem 1 and Lemma 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evidence import report
from evidence.cascading.list_leaks import Certificate


def largest_loss(mechanism, items: int) -> float:
    """The largest privacy loss of one bit in a counter: the sum of 1 / scale over the noisy sums that it enters."""
    released = {part for n in range(1, items + 1) for part in mechanism.p_sums(n)}
    loss = np.zeros(items + 1)
    for part in released:
        loss[part.start + 1 : part.stop + 1] += 1 / part.scale
    return float(loss[1:].max())


class Findings(NamedTuple):
    """What is known about Algorithm 1."""

    certificate: Certificate
    """From the lists of one configuration."""
    events_under_d: int
    """Runs with an order event where the proof says that there is none."""
    least: float
    """The smallest certified delta over all epsilons of the audit."""
    course: float
    """The exact epsilon of all releases over a course."""
    loss: float
    """The `largest_loss` of a counter, in units of its budget."""
    raw_delta: float
    """The delta of the first list of one item for user 0."""
    first_list: float
    """The exact epsilon of the first list of two items for user 0."""

    def refute(self, epsilon: float) -> bool:
        """Whether the lists contradict epsilon-DP: no event under D, some under D', and no finite exact epsilon."""
        seen = self.events_under_d == 0 and self.least > 0 and self.certificate.epsilon > epsilon
        return seen and math.isinf(self.course)


def theorem_1_cards(
    found: Findings, *, epsilon: float, epsilons: Sequence[float], t0: int, about: str
) -> list[report.Card]:
    """Theorem 1 for any two databases, and at K = 1, where the loss of one bit and user 0 decide.

    ``about`` names the configuration of the certificate, run at ``epsilon``; ``least`` is over ``epsilons`` at ``t0``.
    """
    certificate, loss, raw_delta = found.certificate, found.loss, found.raw_delta
    any_two = report.verdict(
        "cascading/theorem-1",
        "fails" if found.refute(epsilon) else "open",
        reading="any two databases",
        evidence="exact",
        check="an order event about the lists that has probability 0 under one of two neighbours",
        observed=f"exact ε of the releases over a course: {found.course:g}; δ of the lists at every ε is at least "
        f"{report.approx(certificate.delta, digits=4)} ({about})",
        required=f"ε = {epsilon:g}, δ = 0",
        margin=f"from the runs alone ε at least {report.approx(certificate.epsilon)}; at t₀ = {t0}, run with any ε of "
        f"{', '.join(f'{e:g}' for e in epsilons)}: δ at least {report.approx(found.least)}",
    )
    one_position = report.verdict(
        "cascading/theorem-1",
        ("holds" if raw_delta == 0 else "holds corrected") if loss <= 1 + 1e-12 else "fails",
        reading="K = 1",
        evidence="proof",
        check="privacy loss of one bit in its mechanism, all noisy sums enumerated; user 0",
        observed=f"{loss:.10g} times the budget ε/L; user 0, raw: δ = {raw_delta:g}",
        required="at most ε",
        margin="true if w₀ is nobody's datum, with ε/L in place of ε",
    )
    return [any_two, one_position]


def lemma_2_cards(found: Findings, *, epsilon: float) -> list[report.Card]:
    """Lemma 2 for each stream by itself, and for all with their lengths, where user 0 is left."""
    loss, first_list = found.loss, found.first_list
    each = report.verdict(
        "cascading/lemma-2",
        "fails" if found.refute(epsilon) and loss <= 1 + 1e-12 else "open",
        reading="each stream by itself",
        evidence="exact",
        check="every stream released with its budget, and yet the lists tell neighbours apart",
        observed=f"loss of a stream {loss:.10g} times its budget; exact ε of the releases {found.course:g}; "
        "δ of the lists at every ε at least " + report.approx(found.certificate.delta, digits=4),
        required="ε-DP of the lists",
        margin="the lengths of the streams are data, and are used in clear",
    )
    together = report.verdict(
        "cascading/lemma-2",
        report.holds_if(not math.isinf(first_list), otherwise="holds corrected"),
        reading="all streams together, lengths included",
        evidence="exact",
        check="the lists as a function of what is released; user 0",
        observed=f"ε of the first list for user 0, whose weights enter raw: {first_list:g}",
        required="the lists are computed from the released streams and from nothing else",
        margin="true by post-processing if w₀ is nobody's datum; the premise then fails for the mask, which is "
        "Theorem 1",
    )
    return [each, together]
