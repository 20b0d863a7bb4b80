"""The numbers on which refutations rest, in ball arithmetic: every result is a `flint.arb` that holds the true value.

For the book and the tests: python-flint is imported where it is used and is no dependency of the library. Arguments are
integers, Fractions, decimal strings ("0.2" is one fifth), floats (the binary numbers that they are) or balls; the
precision is that of `evidence.report.enclosure.precision`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from dpregret import _checks
from evidence.report.enclosure import ball

__all__ = [
    "bernoulli_kl",
    "composition_excess",
    "early_failure_excess",
    "early_failure_log_lower_bound",
    "index_failure",
    "laplace_sum_tail",
    "lemma_1_constant",
    "lemma_3_delta",
    "theorem_2_excess",
    "theorem_4_constant",
]


def laplace_sum_tail(y, *, n: int):
    """``P(X_1 + ... + X_n > y)`` for independent standard Laplace variables, y >= 0.

    ``exp(-y) sum_{i<n} y^i/i! W_i`` with ``W_i = sum_{j<n-i} C(n-1+j, j) 2^-(n+j)``, as in
    `evidence.cascading.lemmas.laplace_sum_log_tail`; the weights are exact.
    """
    n = _checks.integer("n", n, at_least=1)
    y = ball(y)
    if not y >= 0:
        raise ValueError(f"y must be at least 0, got {y}")
    total, power = ball(0), ball(1)  # power = y^i / i!
    for i, weight in enumerate(_weights(n)):
        total += power * ball(weight)
        power = power * y / (i + 1)
    return total * (-y).exp()


@cache
def _weights(n: int) -> tuple[Fraction, ...]:
    parts, binomial = [], 1
    for j in range(n):
        parts.append(Fraction(binomial, 2 ** (n + j)))
        binomial = binomial * (n + j) // (j + 1)
    sums, total = [], Fraction(0)
    for part in parts:
        total += part
        sums.append(total)
    return tuple(reversed(sums))


def index_failure(*, raw: bool = True, terms: int = 200):
    """The sum u of theorem "Algorithm 2 is not consistent": a ball that holds it, remainder included.

    Terms m <= ``terms`` exactly; the others are between 0 and m^-3, and sum to less than ``1 / (2 terms^2)``.
    """
    terms = _checks.integer("terms", terms, at_least=11)
    total = ball(0)
    for m in range(1, terms + 1):
        total += laplace_sum_tail((24 * (m + bool(raw)) * ball(m + 1).log()).sqrt(), n=m)
    rest = ball(Fraction(1, 4 * terms**2))
    return total + rest + rest * _unit()


def _unit():
    import flint

    return flint.arb(0, 1)  # [-1, 1]


def early_failure_log_lower_bound(problem, *, log_horizon, epsilon, initial: str = "raw"):
    """The logarithm of the lower bound of `evidence.cascading.bounds.early_failure_log_lower_bound`, as a ball."""
    raw = _checks.choice("initial", initial, ("raw", "none")) == "raw"
    means = sorted((ball(float(m)) for m in problem.means), key=float, reverse=True)
    length, log_t = problem.list_length, ball(log_horizon)
    b = length / ball(epsilon)
    certain = (1 - index_failure(raw=raw)) ** (len(means) - 1)
    shown = (1 - means[0]) ** (length - 1)
    samples, bonus = (2, (2 * log_t).sqrt()) if raw else (1, log_t.sqrt())
    x = (samples + (ball("1.5").sqrt() + b * ball(24).sqrt()) * bonus) / b
    gap = means[length - 1] - means[length]
    return (gap / 2).log() - x + log_t + (certain * shown - (-log_t).exp()).log()


def early_failure_excess(problem, *, log_horizon, epsilon, initial: str = "raw"):
    """Logarithm of that lower bound minus that of Theorem 4 as printed: above 0, the theorem is false at this horizon.

    The horizon is given by its natural logarithm: ``ball(60) * ball(10).log()`` for 10^60.
    """
    means = sorted((ball(float(m)) for m in problem.means), key=float, reverse=True)
    length, log_t = problem.list_length, ball(log_horizon)
    slope = theorem_4_constant(length, epsilon=epsilon) * sum(1 / (means[length - 1] - e) for e in means[length:])
    printed = slope * log_t + 2 * ball(1).atan() ** 2 * 16 / 3 * len(means)
    lower = early_failure_log_lower_bound(problem, log_horizon=log_t, epsilon=epsilon, initial=initial)
    return lower - printed.log()


def theorem_4_constant(list_length: int, *, epsilon, version: str = "printed"):
    r"""The coefficient of ``log T / Delta_eK`` for one item in Theorem 4 (Laplace noise of scale b = K / epsilon).

    printed: ``4 (sqrt1.5 + b sqrt24)^2``. proof: twice that, its own last line. corrected: ``4 V_K a^2`` with
    ``a = sqrt1.5 + b sqrt12`` and V_K of `evidence.cascading.bounds.bracket_supremum`. closed: ``8 a^2``, its limit for
    large K, which is ``4 (sqrt3 + b sqrt24)^2`` and so above the printed one for every b.
    """
    _checks.choice("version", version, ("printed", "proof", "corrected", "closed"))
    length = _checks.integer("list_length", list_length, at_least=1)
    b, root = length / ball(epsilon), ball("1.5").sqrt()
    if version in ("printed", "proof"):
        return (4 if version == "printed" else 8) * (root + b * ball(24).sqrt()) ** 2
    value = ball(1)
    for _ in range(length - 1):
        value = 1 + value**2 / 4
    return 4 * (value if version == "corrected" else 2) * (root + b * ball(12).sqrt()) ** 2


def lemma_3_delta(*, epsilon, delta):
    """The delta that Lemma 3's noise really gives at epsilon: ``Phi(u) - e^epsilon Phi(v)``, ``u, v = eps/2k -+ k``."""
    epsilon, delta = ball(epsilon), ball(delta)
    k = (2 * (ball("1.25") / delta).log()).sqrt()
    half = epsilon / (2 * k)
    return _phi(half - k) - epsilon.exp() * _phi(-half - k)


def _phi(x):
    return (-x / ball(2).sqrt()).erfc() / 2


def composition_excess(list_length: int, *, epsilon, delta):
    """``4 log(e + epsilon/delta) - K``: above 0, the noise of Theorem 7 is larger than that of Algorithm 2."""
    length = _checks.integer("list_length", list_length, at_least=1)
    return 4 * (ball(1).exp() + ball(epsilon) / ball(delta)).log() - length


def lemma_1_constant():
    """The smallest constant for which Lemma 1 is true for every n >= 2: ``4 / log(2)^1.5``."""
    return 4 / ball(2).log() ** ball("1.5")


def theorem_2_excess(xi, *, log_b):
    """``B^xi / ((1 + xi) log B)^1.5``, as a logarithm: below 0 where the step of Theorem 2's proof is false."""
    xi, log_b = ball(xi), ball(log_b)
    return xi * log_b - ball("1.5") * ((1 + xi) * log_b).log()


def bernoulli_kl(q, r):
    """``d(q || r)`` in nats, for q in [0, 1] and r in (0, 1)."""
    q, r = ball(q), ball(r)
    total = ball(0)
    for a, b in ((q, r), (1 - q, 1 - r)):
        if not a == 0:
            total += a * (a / b).log()
    return total
