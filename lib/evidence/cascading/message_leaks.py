"""What a message of Algorithms 2 and 3 and of the variant of Theorem 7 in [Wang2021] reveals about its user.

Theorems 3, 5 and 7 are judged under two readings: for any two users, where the number of values decides, and for lists
of one item, where one noisy value is always sent and its exact privacy profile decides.

References
----------
[Wang2021] Cascading Bandit under Differential Privacy, Theorems 3, 5 and 7.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from dpregret.privacy.audit import Audit, distinguish, exact_delta
from dpregret.privacy.mechanisms import Gaussian, Laplace
from evidence import report
from evidence.cascading import audit
from evidence.cascading.exact_messages import first_list_epsilon, local_epsilon
from evidence.report.tables import Markdown

THEOREMS = {"Algorithm 2": "theorem-3", "Algorithm 3": "theorem-5", "Theorem 7": "theorem-7-privacy"}


def length_laws(policy, list_length: int, rng: np.random.Generator) -> np.ndarray:
    """The law of the number of values over 1..K for every user: a row for each of the 2^K weights of the items shown.

    The number is a function of the user, so one draw shows its law.
    """
    users = itertools.product((0, 1), repeat=list_length)
    counts = [len(audit.messages(policy, user, list_length=list_length)(rng)) for user in users]
    return np.eye(list_length)[np.array(counts) - 1]


def length_deltas(policy, lengths: Iterable[int], rng: np.random.Generator) -> dict[int, float]:
    """The smallest delta at epsilon 1000 over all pairs of users, from the number of values alone, by K."""
    laws = {k: np.unique(length_laws(policy, k, rng), axis=0) for k in lengths}
    return {k: max(exact_delta(p, q, 1000.0) for p in rows for q in rows) for k, rows in laws.items()}


def leaving(policy, lengths: Iterable[int], *, delta: float = 0.0) -> dict[int, float]:
    """The exact epsilon of all that leaves a user by K, the number of values and user 0 included."""
    return {k: local_epsilon(policy, list_length=k, delta=delta) for k in lengths}


def length_table(found: Mapping[str, Mapping[int, float]]) -> Markdown:
    """`length_deltas` by algorithm."""
    lengths = next(iter(found.values()))
    return report.table(
        ["δ at ε = 1000, from the number of values alone", *(f"K = {k}" for k in lengths)],
        [[name, *(f"{value:g}" for value in values.values())] for name, values in found.items()],
    )


def leaving_lines(everything: Mapping[str, Mapping[int, float]]) -> list[str]:
    """The exact epsilon of all that leaves a user, a line for each algorithm and K."""
    return [f"  {name}, K = {k}: {value:g}" for name, found in everything.items() for k, value in found.items()]


def distinguish_users(policy, list_length: int, *, runs: int, rng: np.random.Generator) -> Audit:
    """Runs of a user attracted by the first item only, and of one attracted by the second: the event "one value"."""
    first, second = (audit.messages(policy, user, list_length=list_length) for user in np.eye(list_length)[:2])
    return distinguish(first, second, {"one value": lambda message: len(message) == 1}, runs=runs, rng=rng)


def distinguisher_table(found: Mapping[str, Audit], certified: Mapping[str, float], *, epsilon: float) -> Markdown:
    """How often either user sent one value, and the epsilon that it certifies, by algorithm."""
    runs = next(iter(found.values())).runs
    return report.table(
        [f"policy at ε = {epsilon:g}", f"one value, of {runs}", "the other user", "certified ε"],
        [
            [name, one.hits_p["one value"], one.hits_q["one value"], f"at least {certified[name]:.2f}"]
            for name, one in found.items()
        ],
    )


def first_list_delta(policy) -> float:
    """The smallest delta, at any epsilon, of the first list of one item for user 0: 1 if it depends on them, else 0."""
    return float(math.isinf(first_list_epsilon(policy, list_length=1)))


def value_profile(name: str, policy: Callable, epsilons: Sequence[float]) -> dict[float, float]:
    """The exact privacy of the one value sent at K = 1 by ``policy(epsilon)``, by stated epsilon.

    The epsilon of Laplace noise at the scale that is drawn; for Algorithm 3 the delta of its Gaussian noise at epsilon.
    """
    scales = {eps: policy(eps).noise(1).scale for eps in epsilons}
    if name == "Algorithm 3":
        return {eps: Gaussian(scale).delta(eps) for eps, scale in scales.items()}
    return {eps: Laplace(scale).epsilon for eps, scale in scales.items()}


def value_table(profiles: Mapping[str, Mapping[float, float]]) -> Markdown:
    """The exact privacy of the one value sent at K = 1, by algorithm and stated epsilon."""
    laplace, gaussian, composed = (profiles[name] for name in THEOREMS)
    return report.table(
        ["K = 1, ε", "Algorithm 2: exact ε", "Algorithm 3: exact δ at ε", "Theorem 7: exact ε"],
        [[f"{e:g}", f"{laplace[e]:.6g}", f"{gaussian[e]:.4g}", f"{composed[e]:.4g}"] for e in laplace],
    )


def any_two_users_card(
    name: str,
    length_delta: Mapping[int, float],
    everything: Mapping[int, float],
    certified: float,
    *,
    epsilon: float,
    delta: float,
    list_length: int,
    runs: int,
) -> report.Card:
    """One theorem for any two users: false if two of them are told apart with certainty for every K >= 2.

    ``length_delta`` and ``everything`` map K to the delta of the number of values and to the exact epsilon of all that
    leaves a user; ``certified`` is the epsilon certified by ``runs`` runs of either user.
    """
    longer = {length: value for length, value in length_delta.items() if length > 1}
    worst, total = min(longer.values()), max(everything[2], everything[list_length])
    return report.verdict(
        f"cascading/{THEOREMS[name]}",
        "fails" if worst == 1 and math.isinf(everything[list_length]) else "open",
        reading="any two users",
        evidence="exact",
        check=f"two users told apart by the number of values sent, K = {min(longer)} to {max(longer)}",
        observed=f"ε of all that leaves {total:g}; δ = {worst:g} at every finite ε, exactly; "
        f"certified ε ≥ {certified:.2f} from {runs} runs each at K = {list_length} and stated ε = {epsilon:g}",
        required="the stated ε" + (", δ = 0" if name == "Algorithm 2" else f" and δ = {delta:g}"),
        margin="no finite ε and no δ < 1",
    )


def one_position_card(name: str, profile: Mapping[float, float], raw_delta: float, *, delta: float) -> report.Card:
    """One theorem at K = 1: the exact privacy of the one value, and of user 0.

    ``profile`` maps the stated epsilon to the exact epsilon of the value, or, for Algorithm 3, to its exact delta. The
    word is "holds corrected" where the profile keeps the promise up to epsilon = 1 only, or user 0 enters raw.
    """
    gaussian = name == "Algorithm 3"
    kept = {eps: value <= (delta if gaussian else eps * (1 + 1e-12)) for eps, value in profile.items()}
    if gaussian:
        observed = f"exact δ at ε = 1 is {profile[1.0]:.3g}, at ε = 10 it is {profile[10.0]:.3g}"
    elif name == "Algorithm 2":
        observed = "exact ε of the value equals the stated ε at every ε of the grid"
    else:
        largest = max(value / eps for eps, value in profile.items())
        observed = f"exact ε of the value is at most {largest:.3g} of the stated ε, with δ = 0"
    small = all(kept[eps] for eps in kept if eps <= 1)
    return report.verdict(
        f"cascading/{THEOREMS[name]}",
        report.holds_if(all(kept.values()) and raw_delta == 0, otherwise="holds corrected" if small else "fails"),
        reading="K = 1",
        evidence="proof",
        check="exact privacy of the one value sent; user 0",
        observed=f"{observed}; user 0, raw: δ = {raw_delta:g}",
        required="the stated ε" + (f" at δ = {delta:g}" if gaussian else ""),
        margin="true if w₀ is nobody's datum" + (", for the ε of Lemma 3 corrected" if gaussian else ""),
    )
