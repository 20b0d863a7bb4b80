"""What the messages cost: tables and cards of ``notebooks/contextual/privacy_audit``."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from evidence import report
from evidence.contextual.message_costs import INTERVAL_COST, Cost, first_layer_cost, laplace_cost, log10_noise, longest
from evidence.report.enclosure import ball, precision, proves, show

ROUNDING = 1e-9  # relative, of a cost that was computed in floating point


def cost_table(costs: Sequence[Cost], dimension: int):
    """The costs of Laplace statistics."""
    head = [f"exact cost in units of $\\alpha$, $d = {dimension}$", "claimed", "add or remove"]
    return report.table(
        [*head, "replace, same bin", "other bin"],
        [[name, claimed, *(f"{c:.4f}" for c in row)] for name, claimed, *row in costs],
    )


def residual_tables(predictions: Sequence[float], users: Sequence[int], bounds: Sequence[float], alpha: float) -> list:
    """What line 4 costs after a prediction in the bin, d = 2; how likely the prediction's noise is above a bound."""
    costs = [laplace_cost(2 * (1 + p) * longest(2), 3 * math.sqrt(2)) for p in predictions]
    noise = "$\\log_{10} P(\\lvert$noise of the prediction$\\rvert >"
    return [
        report.table(
            ["prediction in the bin", "cost of line 4 in units of $\\alpha$"],
            [[f"{p:g}", f"{cost:.4f}"] for p, cost in zip(predictions, costs, strict=True)],
        ),
        report.table(
            ["users in the bin", *(f"{noise} {bound})$" for bound in bounds)],
            [[n, *(f"{log10_noise(n, bound, alpha):.2f}" for bound in bounds)] for n in users],
        ),
    ]


def report_table(single: Mapping[float, float], joint: Mapping[tuple[int, float], float]):
    """Largest log-ratios of the reports of one oracle, for alpha, and of all oracles, for (actions, alpha)."""
    actions = list(dict.fromkeys(n for n, _ in joint))
    return report.table(
        ["$\\alpha$", "one oracle", *(f"all oracles, $A = {n}$" for n in actions)],
        [[f"{a:g}", f"{single[a]:.6f}", *(f"{joint[n, a]:.6f}" for n in actions)] for a in single],
    )


def message_table(worst: Mapping[tuple[int, float], float]):
    """Largest ratios of two laws of the corrected message, over e^alpha, for (action-bin pairs, alpha)."""
    pairs, alphas = (list(dict.fromkeys(part)) for part in zip(*worst, strict=True))
    return report.table(
        ["action-bin pairs", *(f"worst ratio at $\\alpha = {a:g}$, over $e^\\alpha$" for a in alphas)],
        [[n, *(f"{math.exp(worst[n, a] - a):.10f}" for a in alphas)] for n in pairs],
    )


class Drawn(NamedTuple):
    """What the sampler of Algorithms 3 and 5 draws, one user, replaced, in units of alpha.

    first_layer : counts and rewards of Algorithm 3
    interval : the largest message of Algorithm 5
    """

    first_layer: float
    interval: float

    @classmethod
    def of(cls, messages: Sequence, alpha: float) -> Drawn:
        """From the messages of `evidence.contextual.audit.message_epsilon`, the first of which is that of layer 1."""
        intervals = [message.epsilon for message in messages if message.kind == "laplace"]
        return cls(messages[0].laplace / alpha, max(intervals) / alpha)


def wishart(alpha: float, *, shown: float, largest_dimension: int, certified: float, inside: bool) -> report.Card:
    """Proposition 4.1 as printed: the Wishart step excludes records.

    ``certified`` is the least lower limit of the simulated probabilities at alpha = ``shown``, up to a dimension;
    ``inside`` says whether the closed forms are in all intervals.
    """
    with precision(30):
        mass = 1 - (-ball(alpha) / 9).exp()
        word, printed = "fails" if proves(mass > 0) else "consistent", show(mass, 8)
    margin = "no finite ε; as an (ε, δ) mechanism δ = 1 − exp(−α/9) for every ε"
    if certified > 0:
        margin += f", and certified δ > 0 at α = {shown:g} in every dimension simulated"
    return report.verdict(
        "contextual/proposition-4.1",
        word,
        evidence="enclosure",
        check="Wishart step: outputs that are impossible under a vector of full length",
        observed=f"probability {printed} under the empty record at α = {alpha:g}, in ball arithmetic, for every d; "
        f"simulated for d up to {largest_dimension} and {'' if inside else 'not '}inside the joint intervals",
        required="0, and a bounded ratio, for α-LDP",
        margin=margin,
    )


def counts_and_rewards(drawn: Drawn) -> report.Card:
    """Proposition 4.1 without its Wishart step: what replacement costs on the first layer."""
    exact = {bound: first_layer_cost(bound) for bound in (1, 2)}
    return report.verdict(
        "contextual/proposition-4.1",
        "fails" if exact[1] > 1 and drawn.first_layer > 1 + ROUNDING else "holds",
        evidence="exact",
        check="counts and rewards alone, replacement between two bins, in fractions",
        observed=f"{exact[1]} α if |y_h| ≤ 1, {exact[2]} α if |y_h| ≤ 2; read off the sampler's noise on the first "
        f"layer: {drawn.first_layer:.6f} α",
        required="2α/3 for both, α with the Wishart step",
        margin="as printed, |y_h| has no bound from the second layer on, and then neither has the cost",
    )


def intervals(drawn: Drawn) -> list[report.Card]:
    """Lemma 4.4, that Algorithm 5 costs alpha: as printed, and up to a constant."""
    cost = INTERVAL_COST
    return [
        report.verdict(
            "contextual/lemma-4.4-privacy",
            "fails" if cost > 1 and drawn.interval > 1 + ROUNDING else "holds",
            reading="printed",
            evidence="exact",
            check="Algorithm 5, replacement between two bins of a layer after the first, in fractions",
            observed=f"{cost} α; read off the sampler's noise: {drawn.interval:.6f} α",
            required="at most α",
        ),
        report.verdict(
            "contextual/lemma-4.4-privacy",
            "holds corrected" if cost <= 2 and drawn.interval <= 2 * (1 + ROUNDING) else "fails",
            reading="up to a constant",
            evidence="exact",
            check="the same, against 2α: the l1 distance over the scale is the cost of Laplace noise, exactly",
            observed=f"{cost} α",
            required="at most 2α",
            margin="attained; with noise of scale 2/α in place of 1/α the step is α-LDP",
        ),
    ]


def two_oracles(alphas: Sequence[float], ratios: Collection[float]) -> list[report.Card]:
    """Theorem 3.2, that Algorithm 1 costs what an oracle does: as printed, and up to a constant.

    The event (1, 0) has probability (e^alpha/(1 + e^alpha))^2 under one record and (1/(1 + e^alpha))^2 under the other.
    ``ratios`` are the largest log-ratios over all events, over alpha, by enumeration.
    """
    with precision(30):
        odds = [(ball(a), ball(a).exp()) for a in alphas]
        costs = [((e / (1 + e)) ** 2 / (1 / (1 + e)) ** 2).log() / a for a, e in odds]
        above = all(proves(cost > 1) for cost in costs)
        printed = show(costs[-1], 8)
    return [
        report.verdict(
            "contextual/theorem-3.2-privacy",
            "fails" if above else "holds",
            reading="printed",
            evidence="enclosure",
            check="joint law of the oracles' reports: randomized response on 'empty or not', two different actions",
            observed=f"log-ratio {printed} α at α = {alphas[-1]:g}, in ball arithmetic; enumerated {min(ratios):.6f} α "
            f"to {max(ratios):.6f} α for A = 2, 3, 4",
            required="at most α",
        ),
        report.verdict(
            "contextual/theorem-3.2-privacy",
            "holds corrected" if max(ratios) <= 2 + ROUNDING else "fails",
            reading="up to a constant",
            evidence="proof",
            check="the same against 2α",
            observed=f"at most {max(ratios):.6f} α",
            required="at most 2α",
            margin="two records change the input of two oracles at most; attained for every A ≥ 2",
        ),
    ]


def corrected(worst: Mapping[tuple[int, float], float], sampled: Collection[float]) -> report.Card:
    """The corrected message: at most alpha.

    Parameters
    ----------
    worst : from (action-bin pairs, alpha) to the largest epsilon of two laws of the message, by enumeration
    sampled : what the library's sampler draws, for all mechanisms and alpha, over alpha
    """
    attained = all(abs(value - a) <= ROUNDING * a for (_, a), value in worst.items())
    return report.verdict(
        "contextual/corrected-privacy",
        report.holds_if(attained and max(sampled) <= 1 + ROUNDING),
        evidence="exact",
        check="every message of the library's own sampler, one user, all pairs of records, both mechanisms; every "
        f"output of up to {max(pairs for pairs, _ in worst)} action-bin pairs enumerated",
        observed=f"at most {max(sampled):.9f} α, and exactly α for the bits in every case: {attained}",
        required="at most α",
        margin="the proof covers any number of pairs",
    )
