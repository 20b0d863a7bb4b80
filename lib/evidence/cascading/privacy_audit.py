"""Two sentences of [Wang2021] about privacy: noises scaled "without loss of generality", and LDP stronger than DP.

What else the notebook judges is in ``message_leaks``, ``list_leaks``, ``stream_privacy``, ``sensitivities``,
``gaussian_calibration``, ``composition_scale`` and ``laplace_or_gaussian``.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Sections 3 and 7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from evidence import report
from evidence.report.tables import Markdown

SENSITIVITIES = {"printed": "as in the text", "click": "of the clicks"}
"""What the epsilon of the values counts: K changed values, or those of a click vector."""


def in_force(
    policies: Mapping[str, Callable], epsilons: Sequence[float], list_length: int
) -> dict[tuple[str, str, float], float]:
    """The epsilon of the values that ``policies[name](epsilon)`` sends, by name, sensitivity and stated epsilon."""
    return {
        (name, kind, eps): policy(eps).value_epsilon(list_length, sensitivity=kind)
        for name, policy in policies.items()
        for kind in SENSITIVITIES
        for eps in epsilons
    }


def in_force_table(in_force: Mapping[tuple[str, str, float], float]) -> Markdown:
    """The epsilon of the scaled values, by mechanism and sensitivity; the stated epsilon across."""
    names, kinds, epsilons = (list(dict.fromkeys(part)) for part in zip(*in_force, strict=True))
    return report.table(
        ["noise × 0.01", "sensitivity", *(f"ε = {eps:g}" for eps in epsilons)],
        [
            [name, SENSITIVITIES[kind], *(f"{in_force[name, kind, eps]:.2f}" for eps in epsilons)]
            for name in names
            for kind in kinds
        ],
    )


def noise_scaling_card(
    in_force: Mapping[tuple[str, str, float], float], *, multiplier: float, one_entry: float
) -> report.Card:
    """The sentence on the multiplier: no generality is lost only if epsilon in force is at most the stated one.

    ``in_force`` maps (mechanism, sensitivity, stated epsilon) to the epsilon of the values; ``one_entry`` is that of
    Laplace noise at stated epsilon 1 if a single value may change by 1.
    """
    factors = [value / epsilon for (*_, epsilon), value in in_force.items()]
    loss = 1 / Fraction(str(multiplier))  # of Laplace noise: K over the scale, over the stated epsilon
    return report.verdict(
        "cascading/sentence-noise-scaling",
        "fails" if loss > 1 and min(factors) > 1 else "open",
        evidence="exact",
        check="ε of the scaled values over the stated ε, three mechanisms, two sensitivities",
        observed=f"Laplace, sensitivity of the text: {loss} times, exactly; over all between {min(factors):.4g} and "
        f"{max(factors):.4g} times the stated ε",
        required="at most 1 if no generality were lost",
        margin=f"even if a single value may change by 1, Laplace is at {one_entry:.4g} times the stated ε",
    )


def stronger_card(exact: Mapping[float, float]) -> report.Card:
    """The sentence that LDP is the stronger notion, on LDP-F: ``exact`` is that of its messages by stated epsilon."""
    weakest = max(value / epsilon for epsilon, value in exact.items())
    return report.verdict(
        "cascading/sentence-ldp-stronger",
        report.holds_if(weakest <= 1 + 1e-9),
        evidence="proof",
        check="a policy whose messages are ε-LDP, seen through its lists",
        observed=f"LDP-F: exact ε of the messages {weakest:.10g} times the stated one",
        required="lists of an ε-LDP policy are ε-DP",
        margin="each user sends one message and the lists are computed from the messages: post-processing",
    )
