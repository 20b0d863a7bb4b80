"""Privacy claims of the book's policies on the code that runs: the exact epsilon of its own sampler."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dpregret.simulation.seeds import generator
from evidence import report
from evidence.cascading.exact_messages import local_epsilon
from evidence.cascading.exact_releases import course_epsilon

COURSES, ROUNDS, N_ITEMS = 5, 32, 6
"""Of the random courses of a curator: how many, how long, and on how many items."""


def messages(policy: Callable, epsilons: list[float], *, list_length: int) -> dict[float, float]:
    """The exact epsilon of the messages of every user of ``policy(epsilon)``, by stated epsilon."""
    return {eps: local_epsilon(policy(eps), list_length=list_length) for eps in epsilons}


def releases(name: str, policy: Callable, epsilons: list[float], *, list_length: int, seed: int) -> dict[float, float]:
    """The exact epsilon of all releases of ``policy(epsilon)`` over the courses that ``seed`` and ``name`` draw."""
    setting = {"n_items": N_ITEMS, "list_length": list_length, "rounds": ROUNDS, "courses": COURSES}
    return {
        eps: course_epsilon(policy(eps), rng=generator(seed, "course", name, eps), **setting) for eps in epsilons
    }  # fmt: skip


def card(claim: str, name: str, found: Mapping[float, float], *, list_length: int) -> report.Card:
    """No exact epsilon above the stated one: of `messages` for a local claim, of `releases` for a central one."""
    what = (
        "messages of every user"
        if "ldp" in claim
        else f"all releases of {COURSES} random courses of {ROUNDS} rounds, every round's user changed"
    )
    return report.verdict(
        f"cascading/{claim}",
        report.holds_if(all(x <= eps * (1 + 1e-9) for eps, x in found.items())),
        evidence="proof",
        check=f"{name}: exact ε of the code, {what}, K = {list_length}",
        observed=", ".join(f"{x:.10g}" for x in found.values()),
        required="at most " + ", ".join(f"{eps:g}" for eps in found),
        margin="rounding 1e-9",
    )
