"""Limits of perturbed inputs and statistics: the checks and cards of notebooks/contextual/input_perturbation_limit."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy import integrate, stats

from evidence import report
from evidence.contextual import lower_bounds
from evidence.contextual.perturbed_policies import Crossing, Worst
from evidence.contextual.slopes import Slope, slope

ERRORS = 4  # standard errors that a measured regret is moved by before it is compared with a bound
REGRET_CONSTANT = 0.23  # of the theorem on perturbed statistics: regret at least this times sqrt(b) T^(3/4)


class Agreement(NamedTuple):
    """The divergence of a round of perturbed statistics: its closed form against quadrature and over its bound.

    error : largest relative difference of quadrature from the closed form
    share : largest closed form over 2 m^4/b^2
    """

    error: float
    share: float


def statistics_divergence(sizes: Iterable[float], scales: Iterable[float]) -> Agreement:
    """`lower_bounds.statistics_kl` at all m in ``sizes`` and b in ``scales``, by quadrature, and against its bound."""
    error, share = 0.0, 0.0
    for m, b in itertools.product(sizes, scales):
        p, q = stats.laplace(m**2, b), stats.laplace(-(m**2), b)
        cuts = [-80 * b, -(m**2), m**2, 80 * b]
        quadrature = sum(
            integrate.quad(lambda x, p=p, q=q: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), low, high)[0]
            for low, high in itertools.pairwise(cuts)
        )
        exact = lower_bounds.statistics_kl(m, b)
        error, share = max(error, abs(quadrature / exact - 1)), max(share, exact / (2 * m**4 / b**2))
    return Agreement(error, share)


def square_error_probability(mu: Fraction, users: int) -> Fraction:
    """At most the probability that the mean of u^2 - 2 errs by 1/2 or more as an estimate of mu^2, by Chebyshev.

    u = +-mu + Laplace noise of scale 1; u^2 has variance 20 + 8 mu^2.
    """
    return 4 * (20 + 8 * mu**2) / users


def chi_square_share(m: float, alpha: float) -> float:
    """The chi-square of the sign pair over its closed bound."""
    return lower_bounds.sign_flip_pair(m, alpha).chi_square / lower_bounds.sign_flip_chi_square_bound(m, alpha)


def le_cam(n: float, alpha: float) -> float:
    """Le Cam's bound for the sign pair with its exact test error, the largest over a grid of m near n^(-1/4)."""
    return max(m / 2 * lower_bounds.sign_flip_pair(m, alpha).overlap(n) for m in np.linspace(0.5, 1.5, 15) * n**-0.25)


def describe_tests(error: Mapping[tuple[str, float, float], np.ndarray], alpha: float) -> list[str]:
    """The last test errors of each pair, for (pair, power, c), and how those of the paper's pair depend on c."""
    lines = []
    for name in dict.fromkeys(pair for pair, _, _ in error):
        third, quarter = ([error[name, power, c][-1] for c in (1.0, 2.0)] for power in (1 / 3, 1 / 4))
        lines.append(
            f"{name}: test error at n = 1e16, m = c n^(-1/3): {third[0]:.4f} (c = 1), {third[1]:.4f} (c = 2); "
            f"m = c n^(-1/4): {quarter[0]:.4f}, {quarter[1]:.4f}"
        )
    own = [lower_bounds.theorem_2_2_pair(c * 1e8 ** (-1 / 3), alpha).overlap(1e8) / 2 for c in (0.5, 1, 2, 4)]
    return [*lines, f"the paper's pair at n = 1e8, c = 0.5, 1, 2, 4: {', '.join(f'{value:.4f}' for value in own)}"]


def describe_deviations(
    records: np.ndarray, estimators: Mapping[str, np.ndarray], floors: Mapping[str, np.ndarray]
) -> list[str]:
    """Exponents from n = 1e8 on of the estimators, means and standard errors (2, n), and the last lower bounds."""
    late, lines = records >= 1e8, []
    for name, (mean, se) in estimators.items():
        fit = slope(np.log10(records[late]), np.log10(mean[late]), 0.95)
        text = report.approx(fit.value, fit.se) if se.any() else f"{fit.value:.3f}"
        lines.append(f"{name}: slope for n ≥ 1e8 {text}")
    exact, certified = (values[-1] * records[-1] ** 0.25 for values in floors.values())
    return [
        *lines,
        f"Le Cam with the exact test error, times n^(1/4): {exact:.4f}; certified: {certified:.4f}",
    ]


def _above(regret: Worst, floor: np.ndarray) -> bool:
    """Whether no measured regret is below a lower bound, within its standard errors."""
    return bool((regret.mean + ERRORS * regret.se >= floor).all())


def lemma_6_1(largest_kl: float, largest_chi: float) -> report.Card:
    """The lemma's constant against the largest KL and chi-square over the cube of alpha times the size of mu."""
    constant = lower_bounds.LEMMA_6_1_CONSTANT
    return report.verdict(
        "contextual/lemma-6.1",
        report.holds_if(largest_kl <= constant),
        evidence="proof",
        check="KL over α³‖μ‖³ by quadrature, four directions, ‖αμ‖ from 1e-4 to 1",
        observed=f"at most {largest_kl:.6f} (χ²: {largest_chi:.6f}), approached as μ → 0 along an axis",
        required=f"at most {constant}",
        margin=f"{constant / largest_kl:.1f} times smaller; the limits are 1/6 and 1/3",
    )


def theorem_2_2(third: float, spare: float, below: bool) -> report.Card:
    """The order n^(-1/3) as a lower bound.

    Parameters
    ----------
    third, spare : the least certified bound over n^(-1/3), and over min(.15, .18/(alpha n^(1/4)))
    below : whether the chi-square that it rests on is below its closed bound wherever it was computed
    """
    return report.verdict(
        "contextual/theorem-2.2",
        report.holds_if(third > 0 and spare >= 1 and below),
        evidence="proof",
        check="certified lower bound on the mean absolute deviation over n^(-1/3), n = 1 to 1e16, α = 1e-3 to 1",
        observed=f"at least {third:.4f}",
        required="at least a positive constant",
        margin=f"the bound has the larger order n^(-1/4): over min(.15, .18/(α n^(1/4))) it is at least {spare:.4f}",
    )


def input_perturbation(crossing: Crossing, filtered: Worst, proved: np.ndarray, exponent: Slope) -> report.Card:
    """The sentence that no policy on perturbed inputs is below T^(2/3): refuted by the bound on cutting planes.

    ``proved`` bounds the regret of context filtering, which was measured as ``filtered``.
    """
    met = bool((filtered.mean + ERRORS * filtered.se < proved).all())
    return report.verdict(
        "contextual/sentence-input-perturbation",
        "fails" if crossing.below and met else "open",
        evidence="enclosure",
        check="the proved bound on the regret of an α-LDP policy on perturbed inputs, for every instance with d = 2, "
        "over T^(2/3), in ball arithmetic",
        observed="; ".join(f"{text} at T = 1e{e}" for e, text in crossing.shares.items())
        + ", and of order ln T/T^(1/6) beyond",
        required="bounded below by a power of 1/ln T, if no policy had a bound under T^(2/3)",
        margin=f"below T^(2/3) from T = 1e{crossing.below_from} on; on the pair behind the theorem a simpler policy "
        f"has exponent {report.approx(*exponent[:2])}; in the paper's own frame, uniform play until the "
        "bands separate, the sentence is true",
    )


def sufficient_statistics(
    agreement: Agreement, constant: float, followed: Worst, floor: np.ndarray, exponent: Slope
) -> report.Card:
    """The sentence that no policy on perturbed statistics has regret of order sqrt(T).

    ``constant`` is that of the lower bound ``floor``; ``followed`` is the regret of a policy, of this ``exponent``.
    """
    least = float((followed.mean / floor).min())
    return report.verdict(
        "contextual/sentence-sufficient-statistics",
        report.holds_if(agreement.share <= 1 and _above(followed, floor)),
        evidence="proof",
        check="divergence of a round against 2m⁴/b²; constants of the T^(3/4) bound re-derived; regret of a policy "
        "above the bound",
        observed=f"divergence over 2m⁴/b² at most {agreement.share:.6f}; regret ≥ {constant:.4f} √b T^(3/4) for every "
        f"policy; follow the sign: exponent {report.approx(*exponent[:2])}",
        required="no policy with regret of order √T (the paper derives this from Theorem 2.2, which does not give it: "
        "L15)",
        margin=f"measured regret over the bound, smallest over T: {report.approx(least)}",
    )


def mixture_means(largest_kl: float, *, users: int) -> list[report.Card]:
    """The sentence that mixture means cannot be estimated: those of size n^(-1/3), and any, from ``users`` records."""
    constant = lower_bounds.LEMMA_6_1_CONSTANT
    wrong = square_error_probability(Fraction(1), users)
    return [
        report.verdict(
            "contextual/sentence-mixture-means",
            report.holds_if(largest_kl <= constant),
            evidence="proof",
            reading="means of the size displayed",
            check="divergence of n observations from those with mean 0 at means of size n^(-1/3)",
            observed=f"at most {constant:.1f} for every n by Lemma 6.1, {largest_kl:.6f} by quadrature",
            required="bounded in n",
        ),
        report.verdict(
            "contextual/sentence-mixture-means",
            "fails" if wrong <= Fraction(1, 100) else "holds",
            evidence="exact",
            reading="means of any size",
            check=f"probability that the moment estimate of mu^2 = 1 errs by 1/2 or more, n = {users}, α = 1, in "
            "fractions",
            observed=f"at most {wrong}",
            required="no estimate better than chance, if none could be had",
        ),
    ]


def well_conditioned(followed: Worst, floor: np.ndarray, constant: float) -> report.Card:
    """The sentence on a second moment bounded below: without it, regret is above the bound ``floor``."""
    return report.verdict(
        "contextual/sentence-well-conditioned",
        report.holds_if(_above(followed, floor)),
        evidence="proof",
        check="noise of a fixed size against a second moment bounded below; regret of policies on perturbed statistics "
        "without it",
        observed=f"relative error of order 1/(cα√n) with the condition; without it regret at least {constant:.4f} √b "
        "T^(3/4)",
        required="1 ± Õ(1/√n) with the condition; no better than T^(3/4) without",
    )


def non_interactive(crossing: Crossing) -> report.Card:
    """The sentence that a mechanism without interaction cannot have regret of order sqrt(T)."""
    return report.verdict(
        "contextual/sentence-non-interactive",
        "fails" if crossing.below else "open",
        evidence="enclosure",
        check="the policy of the theorem sends (φ + Lap, y + Lap) through one channel for all users, which reads no "
        "earlier message; its proved bound over T^(2/3), d = 2, α = 1, in ball arithmetic",
        observed="; ".join(f"{text} at T = 1e{e}" for e, text in crossing.shares.items()) + "; of order √T ln T",
        required="no regret of order √T up to logarithms with such a mechanism",
    )


def statistics_every_policy(scaled: Sequence[float], agreement: Agreement) -> report.Card:
    """The theorem on perturbed statistics: its bound over sqrt(b) T^(3/4), and the divergence that it rests on."""
    return report.verdict(
        "contextual/statistics-every-policy",
        report.holds_if(min(scaled) >= REGRET_CONSTANT and agreement.share <= 1),
        evidence="proof",
        check="the bound of the theorem over √b T^(3/4); divergence of a round against 2m⁴/b²",
        observed=f"at least {min(scaled):.6f}; divergence at most {agreement.share:.6f} of its bound",
        required=f"at least {REGRET_CONSTANT}",
        margin="a policy beside it has about twice the bound",
    )


def quarter_rate(spare: float, error: float) -> report.Card:
    """The rate n^(-1/4): the certified bound over its closed form, and the last test error at m = c n^(-1/4), c = 1."""
    return report.verdict(
        "contextual/quarter-rate",
        report.holds_if(spare >= 1 and error > 0.3),
        evidence="proof",
        check="certified lower bound over min{0.15, 0.18/(α n^(1/4))}; exact test error at m = c n^(-1/4); upper bound "
        "3.5 √(d + 2√d)/(α n^(1/4)) proved",
        observed=f"lower bound at least {spare:.4f} of it; test error at n = 1e16 {error:.4f} (c = 1)",
        required="at least 1; an error that does not fall with n",
    )


def perturbed_inputs_regret(crossing: Crossing) -> report.Card:
    """The theorem on cutting planes on perturbed inputs: its bound over sqrt(T) ln T."""
    return report.verdict(
        "contextual/perturbed-inputs-regret",
        report.holds_if(crossing.below),
        evidence="proof",
        check="the proof is in the book; its bound at d = 2, α = 1 in ball arithmetic, over √T ln T",
        observed="; ".join(f"{text} at T = 1e{e}" for e, text in crossing.logs.items()),
        required="bounded in T",
        margin=f"the bound is below 2T, which any policy meets, from T = 1e{crossing.nontrivial_from} on",
    )
