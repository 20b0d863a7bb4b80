"""The verdicts of the notebook ``regret``, from the results that `regret` names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from evidence import report
from evidence.experts import bounds
from evidence.experts.accounting import number
from evidence.experts.regret import AtBest, Forms, Game, OneRight, PrivateTail, Tail, WorstCase
from evidence.experts.regret_figures import InHorizon

_ERRORS = 5  # an average over runs counts as below a bound if it is so with five standard errors to spare


def judge_step(steps: Sequence[float]) -> report.Card:
    """O12: ``(ln(W_{t+1} / W_t) + eta mu_t) / eta^2`` of each step."""
    return report.verdict(
        "experts/o-12",
        report.holds_if(max(steps) <= 1),
        evidence="proof",
        check="ln(W_{t+1}/W_t) + eta mu_t over eta^2 at the learner's probabilities, eta <= 1, two experts and more",
        observed=f"{len(steps)} steps: at most {max(steps):.6f}",
        required="at most 1",
        margin="Hoeffding's lemma has 1/8, reached with two experts level and small eta",
    )


def judge_rates(
    worst_cases: Sequence[WorstCase], games: Sequence[Game], one_right: Mapping[int, OneRight], best: AtBest
) -> list[report.Card]:
    """Hoeffding's bound, O4 (eta <= 1, pathwise), O5 (every eta, in expectation)."""
    printed = max(case.printed for case in worst_cases if case.eta <= 1)
    large = max(case.printed for case in worst_cases if case.eta > 1)
    sharper = max(case.sharper for case in worst_cases)
    pathwise = max(game.largest_share for game in games) <= 1 + 1e-12
    means = all(game.mean - _ERRORS * game.se <= game.bound for game in games)
    of_text = ", ".join(f"{share.printed:.4f} (k = {k})" for k, share in one_right.items())
    of_sharper = ", ".join(f"{share.sharper:.4f} (k = {k})" for k, share in one_right.items())
    return [
        report.verdict(
            "experts/hoeffding",
            report.holds_if(sharper <= 1 + 1e-12 and pathwise),
            evidence="proof",
            check="exact worst case over losses on a grid (k = 2) against eta/8 + ln k/(eta T); the pathwise regret of "
            "every run with more experts",
            observed=f"exact worst case is at most {sharper:.6f} of the bound over {len(worst_cases)} pairs of eta "
            f"and T; all {len(games)} adversaries below it on every run: {pathwise}",
            required="at most 1",
            margin=f"at T = {best.horizon}, eta = sqrt(8 ln 2/T): {best.worst:.6f} against {best.sharper:.6f}; "
            f"ln k: one expert always right takes {of_sharper}",
        ),
        report.verdict(
            "experts/o-4",
            report.holds_if(printed <= 1 and pathwise),
            evidence="proof",
            check="exact worst case over losses on a grid (k = 2, eta <= 1) against eta + ln k/(eta T); every run with "
            "more experts",
            observed=f"exact worst case is at most {printed:.6f} of the bound",
            required="at most 1",
            margin=f"ln k is right for more experts: one expert always right, small eta, takes {of_text}; the term eta "
            f"is not: at T = {best.horizon}, eta = sqrt(8 ln 2/T), {best.worst:.6f} against {best.printed:.6f}",
        ),
        report.verdict(
            "experts/o-5",
            report.holds_if(max(printed, large) <= 1 and means),
            evidence="proof",
            check="exact worst case over losses on a grid (k = 2, every eta, adaptive adversaries included); measured "
            "means of six adversaries",
            observed=f"exact worst case is at most {max(printed, large):.6f} of the bound",
            required="at most 1, eta > 1 included",
            margin=f"for eta > 1 at most {large:.6f} of it; fixed losses, one expert always right: {of_text}",
        ),
    ]


def judge_tail(fixed: Iterable[Tail], seeing: Iterable[Tail], beta: float) -> report.Card:
    """O6: exceedances for fixed losses, and for the worst adversary that sees the actions."""
    largest, fair = np.max(list(fixed), axis=0)
    seen, seen_fair = np.max(list(seeing), axis=0)
    return report.verdict(
        "experts/o-6",
        report.holds_if(max(largest, fair, seen, seen_fair) <= beta),
        evidence="proof",
        check="exact probability that R_T exceeds the tail bound: fixed binary losses, k = 2 and more; worst adversary "
        "that sees the actions, k = 2, by dynamic programming",
        observed=f"at most {largest:.3e}, and {seen:.3e} against adversaries that see the actions",
        required=f"at most beta = {beta:g}",
        margin=f"with eta/8 in the bound at most {fair:.3e} and {seen_fair:.3e}",
    )


def judge_best_rate(
    shares: Mapping[int, float], one_right: Mapping[int, OneRight], runs: Iterable[InHorizon], best: AtBest, k: int
) -> report.Card:
    """O7: exact worst regret at ``sqrt(ln k / T)`` as a share of ``2 sqrt(ln k / T)``, two experts, for each T.

    And means of ``runs`` at that rate with k experts.
    """
    more = max(share.best for share in one_right.values())
    means = all(
        run.mean - _ERRORS * run.mean_se <= bounds.total(eta=run.eta, n_experts=k, horizon=run.horizon) for run in runs
    )
    return report.verdict(
        "experts/o-7",
        report.holds_if(max(shares.values()) <= 1 and more <= 1 and means),
        evidence="proof",
        check="exact worst regret (k = 2) at eta = sqrt(ln k/T) against 2 sqrt(ln k/T); more experts, one always right",
        observed="exact worst case as a share of the bound: "
        + ", ".join(f"T = {t}: {r:.6f}" for t, r in shares.items()),
        required="at most 1",
        margin="in ln k it is right: one expert always right takes half the bound, "
        + ", ".join(f"{share.best:.4f} (k = {k})" for k, share in one_right.items())
        + "; with sqrt(8 ln k/T) and the bound sqrt(ln k/(2T)) the worst case takes "
        f"{best.worst / math.sqrt(math.log(2) / (2 * best.horizon)):.6f} at k = 2, T = {best.horizon}",
    )


def judge_private(
    forms: Forms, below: float, tails: Sequence[PrivateTail], *, beta: float, delta: float, epsilon: float,
    n_experts: int, horizon: int,
) -> list[report.Card]:  # fmt: skip
    """O8 and O9; ``below`` is the largest share that the exact worst regret takes of the expected part of O8."""
    same = forms.capped < 1e-12
    exceeded = max(max(tail.printed, tail.sharper) for tail in tails)
    setting = {"epsilon": epsilon, "delta": delta, "n_experts": n_experts, "horizon": horizon}
    zcdp, text = (sum(terms(**setting).values()) for terms in (bounds.private_terms, bounds.capped_terms))
    return [
        report.verdict(
            "experts/o-8",
            report.holds_if(same and below <= 1 and exceeded <= beta),
            evidence="proof",
            check="substitution in O6 (the library agrees with itself there); exact worst regret (k = 2) over epsilon; "
            "exact exceedance for epsilon from 1 to 100",
            observed=f"two forms agree within 1e-12: {same}; exact worst regret at most {below:.6f} of the "
            "expected part; exceedance of the whole "
            + ", ".join(f"{tail.printed:.3e} (epsilon = {tail.epsilon:g}, bound {tail.bound:.3f})" for tail in tails),
            required=f"at most 1, and exceedance at most beta = {beta:g}",
            margin=f"zCDP and eta/8 at epsilon = {epsilon:g}, k = {n_experts}, T = {horizon}: {zcdp:.6f} against "
            f"{text:.6f} in expectation",
        ),
        report.verdict(
            "experts/o-9",
            report.holds_if(forms.same_limit and forms.first_cap < 1e-12),
            evidence="proof",
            check="the first cap is the smallest exactly up to min(sqrt(8TL), 2L); the special form equals the capped "
            "one (the library agrees with itself there)",
            observed=f"{forms.cases} cases, within 1e-9 on both sides of the limit: equivalence {forms.same_limit}, "
            f"relative difference of the forms below 1e-12: {forms.first_cap < 1e-12}",
            required="equivalence true, difference zero",
            margin=f"limit at delta = {number(delta)}, T = {horizon}: "
            f"{bounds.first_cap_limit(delta=delta, horizon=horizon):.6f}",
        ),
    ]


def judge_one_expert(largest: float) -> report.Card:
    """O10: the largest absolute regret of the only expert."""
    return report.verdict(
        "experts/o-10",
        report.holds_if(largest == 0.0),
        evidence="proof",
        check="largest |R_t| of the only expert, random losses, every round",
        observed=f"{largest:g}",
        required="0",
    )
