"""Counters under continual observation: what each release adds up, its noise, and the privacy of every item."""

import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import nbinom

from dpregret.privacy.continual import BinaryMechanism, HybridMechanism, LogarithmicMechanism
from dpregret.privacy.laplace_sums import LaplaceSum
from evidence.cascading.lemmas import laplace_sum_log_tail

HORIZON = 70
MAKERS = {
    "binary": lambda epsilon: BinaryMechanism(epsilon=epsilon, horizon=HORIZON),
    "binary, a power of two": lambda epsilon: BinaryMechanism(epsilon=epsilon, horizon=64),
    "logarithmic": lambda epsilon: LogarithmicMechanism(epsilon=epsilon),
    "hybrid": lambda epsilon: HybridMechanism(epsilon=epsilon),
}
mechanisms = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def length(mechanism):
    return getattr(mechanism, "horizon", HORIZON)


class OneDraw:
    """A generator whose draw number ``wanted`` is +1 and all others 0: it makes one noise variable visible."""

    def __init__(self, wanted):
        self.wanted, self.drawn = wanted, 0

    def standard_exponential(self):
        self.drawn += 1
        return float(self.drawn == self.wanted)

    def random(self):
        return 0.0


# --- which p-sums are in a release


@mechanisms
def test_the_p_sums_of_a_release_tile_its_items(make):
    mechanism = make(1.0)
    for n in range(1, length(mechanism) + 1):
        end = 0
        for part in mechanism.p_sums(n):
            assert part.start == end < part.stop
            end = part.stop
        assert end == (2 ** (n.bit_length() - 1) if isinstance(mechanism, LogarithmicMechanism) else n)


@mechanisms
def test_privacy_by_enumeration_of_the_p_sums_that_hold_an_item(make):
    """Every noisy number ever made is a p-sum of some release; an item's cost is the sum of 1/scale over those it is in."""
    mechanism = make(0.5)
    last = length(mechanism) if isinstance(mechanism, BinaryMechanism) else 2**9
    parts = {part for n in range(1, last + 1) for part in mechanism.p_sums(n)}
    costs = [
        sum(1 / Fraction(part.scale) for part in parts if part.start < item <= part.stop) for item in range(1, last + 1)
    ]
    assert max(costs) <= Fraction(0.5) * (1 + Fraction(1, 2**50))
    assert max(costs) >= Fraction(0.5) * (1 - Fraction(1, 2**50))  # and none of the budget is left over


@mechanisms
def test_the_noise_of_a_release_is_that_of_its_p_sums_and_no_other(make):
    """Exact bookkeeping: one draw a p-sum; its noise is in a release if and only if the p-sum is."""
    horizon = length(make(1.0))
    parts = [make(1.0).p_sums(n) for n in range(1, horizon + 1)]
    silent = OneDraw(0)
    mechanism = make(1.0)
    made = []  # the p-sum of each draw: a new one of the release after which it was drawn
    for n in range(1, horizon + 1):
        before = silent.drawn
        mechanism.add(0.0, silent)
        assert silent.drawn - before == int(n == 1 or parts[n - 1] != parts[n - 2])
        if silent.drawn > before:
            made.append(parts[n - 1][-1])
    assert len(set(made)) == len(made) == len({part for release in parts for part in release})
    for draw, part in enumerate(made, start=1):
        rng, mechanism = OneDraw(draw), make(1.0)
        for n in range(1, horizon + 1):
            mechanism.add(0.0, rng)
            assert mechanism.release() == (part.scale if part in parts[n - 1] else 0.0)


def test_the_variance_of_the_hybrid_mechanism_in_closed_form():
    epsilon = 0.7
    mechanism = HybridMechanism(epsilon=epsilon)
    for n in [*range(1, 1100), 2**20 - 1, 2**20, 2**20 + 1, 2**40 + 5]:
        k = n.bit_length() - 1
        expected = (k + 1) * 2 * (2 / epsilon) ** 2 + (n - 2**k).bit_count() * 2 * (2 * k / epsilon) ** 2
        assert mechanism.variance(n) == pytest.approx(expected, rel=1e-14, abs=0)


def test_variances_of_the_binary_and_the_logarithmic_mechanism_in_closed_form():
    binary, logarithmic = BinaryMechanism(epsilon=0.7, horizon=70), LogarithmicMechanism(epsilon=0.7)
    for n in range(1, 71):
        assert binary.variance(n) == pytest.approx(n.bit_count() * 2 * (7 / 0.7) ** 2, rel=1e-14, abs=0)
        assert logarithmic.variance(n) == pytest.approx(2 * n.bit_length() / 0.7**2, rel=1e-14, abs=0)


# --- the stream


@mechanisms
def test_exact_counts_as_epsilon_grows(make):
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2, 64)
    mechanism = make(1e300)
    assert mechanism.release() == 0.0
    for n, bit in enumerate(bits, start=1):
        mechanism.add(bit, rng)
        seen = 2 ** (n.bit_length() - 1) if isinstance(mechanism, LogarithmicMechanism) else n
        assert mechanism.n == n
        assert mechanism.release() == pytest.approx(bits[:seen].sum(), abs=1e-200)
        assert mechanism.release() == mechanism.release()


def test_memory_is_logarithmic():
    mechanism, rng = HybridMechanism(epsilon=1), np.random.default_rng(0)
    for _ in range(2**11 + 3):
        mechanism.add(1, rng)
    assert len(mechanism._binary._noisy) == 11


@pytest.mark.parametrize(("name", "limit"), [("hybrid", 3), ("binary", 4), ("logarithmic", 4)])
def test_monte_carlo_variance(name, limit):
    """Each release's sample variance lies within 3 (or 4) standard errors of the formula, for n = 1..70 jointly.

    20,000 streams; the standard error uses the exact fourth moment. The family-wise rate of false alarms over 70
    releases is at most 70 * 0.0027 = 0.19 at 3 standard errors (less, since releases share noise) and 0.0045 at 4; the
    seed is fixed. The mechanism is run on arrays, one entry a stream.
    """

    class Streams:
        def __init__(self, size):
            self.rng, self.size = np.random.default_rng(20), size

        def standard_exponential(self):
            return self.rng.laplace(size=self.size)

        def random(self):
            return 0.0

    mechanism, streams = MAKERS[name](1.0), 20_000
    rng = Streams(streams)
    for n in range(1, length(mechanism) + 1):
        mechanism.add(1.0, rng)
        law = mechanism.noise(n)
        sample = mechanism.release() - (2 ** (n.bit_length() - 1) if isinstance(mechanism, LogarithmicMechanism) else n)
        fourth_cumulant = 12 * sum(count * scale**4 for scale, count in zip(law.scales, law.counts, strict=True))
        standard_error = math.sqrt((fourth_cumulant + 2 * law.variance**2) / streams)
        assert abs(np.mean(sample**2) - mechanism.variance(n)) < limit * standard_error


# --- the exact law of the noise


def by_positive_series(x, scales, counts):
    """A Laplace variable is a geometric sum of ones of a smaller scale, so this law is a mixture of one-scale sums."""
    (small, large), (p, q) = scales, counts
    extra = np.arange(1_000)
    weights = nbinom.logpmf(extra, q, (small / large) ** 2)
    logs = [w + laplace_sum_log_tail(x, n=int(p + q + i), scale=small) for i, w in zip(extra, weights, strict=True)]
    return np.logaddexp.reduce(logs)


@pytest.mark.parametrize("counts", [(3, 1), (3, 2), (4, 3)])
@pytest.mark.parametrize("x", [0.0, 1e-3, 2.5, 40.0, 400.0])
def test_tails_against_a_series_of_positive_terms(counts, x):
    scales = (2.0, 2.0 * (counts[0] - 1))
    expected = by_positive_series(x, scales, counts)
    assert LaplaceSum(scales, counts).log_tail(x) == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 17, 200])
def test_one_scale_against_closed_forms(n):
    law = LaplaceSum((2.0,), (n,))
    for x in (0.0, 1e-9, 0.1, 3.0, 90.0, 2e4):
        assert law.log_tail(x) == pytest.approx(laplace_sum_log_tail(x, n=n, scale=2.0), rel=1e-11, abs=1e-12)
    assert law.density(0.0) == pytest.approx(math.comb(2 * n - 2, n - 1) / 2 ** (2 * n), rel=1e-12, abs=0)
    assert law.density(3.0) == pytest.approx(
        (law.log_tail(3.0 - 1e-5) - law.log_tail(3.0 + 1e-5)) / 2e-5 * math.exp(law.log_tail(3.0)), rel=1e-6, abs=0
    )


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 64, 127, 2**20 + 12345, 2**24 - 1])
def test_quantile_inverts_tail(n):
    mechanism = HybridMechanism(epsilon=0.3)
    for gamma in (1.0, 0.9, 0.5, 1e-3, 1e-20, 1e-250):
        assert mechanism.tail(n, mechanism.quantile(n, gamma)) == pytest.approx(gamma, rel=1e-9, abs=0)
    assert HybridMechanism(epsilon=3).quantile(n, 0.1) == pytest.approx(
        mechanism.quantile(n, 0.1) / 10, rel=1e-9, abs=0
    )


def test_tails_against_monte_carlo():
    """200,000 draws of the noise after 7 items; each frequency within 4 standard errors (two-sided, 6e-5 each)."""
    law = HybridMechanism(epsilon=1.0).noise(7)
    rng = np.random.default_rng(3)
    sample = sum(rng.laplace(0, b, (n, 200_000)).sum(axis=0) for b, n in zip(law.scales, law.counts, strict=True))
    for gamma in (0.9, 0.5, 0.1, 0.01):
        hits = np.mean(np.abs(sample) > law.two_sided_quantile(gamma))
        assert abs(hits - gamma) < 4 * math.sqrt(gamma * (1 - gamma) / 200_000)


def test_scales_are_collected():
    law = HybridMechanism(epsilon=1.0).noise(23)  # 16 + 4 + 2 + 1
    assert dict(zip(law.scales, law.counts, strict=True)) == Counter({2.0: 5, 8.0: 3})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HybridMechanism(epsilon=0), "epsilon must be"),
        (lambda: LogarithmicMechanism(epsilon=math.inf), "epsilon must be"),
        (lambda: BinaryMechanism(epsilon=1, horizon=0), "horizon must be an integer >= 1, got 0"),
        (lambda: BinaryMechanism(epsilon=1, horizon=4).variance(5), "n must be an integer >= 1 and <= 4, got 5"),
        (lambda: HybridMechanism(epsilon=1).variance(0), "n must be an integer >= 1, got 0"),
        (lambda: HybridMechanism(epsilon=1).quantile(3, 0.0), "gamma must be"),
        (lambda: HybridMechanism(epsilon=1).tail(3, -1.0), "x must be"),
        (lambda: HybridMechanism(epsilon=1).add(1.5, np.random.default_rng(0)), "value must be"),
        (lambda: LaplaceSum((1.0,), (0,)), "at least one variable"),
        (lambda: LaplaceSum((1.0, 2.0), (1,)), "one entry a scale"),
        (lambda: LaplaceSum((0.0,), (1,)), "scales must be"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_full_binary_mechanism_refuses_a_further_item():
    mechanism, rng = BinaryMechanism(epsilon=1, horizon=2), np.random.default_rng(0)
    mechanism.add(1, rng)
    mechanism.add(1, rng)
    with pytest.raises(ValueError, match="the number of items must be an integer >= 1 and <= 2, got 3"):
        mechanism.add(1, rng)


@pytest.mark.parametrize("ratio", [1.001, 2.0, 1e3, 1e9])
@pytest.mark.parametrize("x", [1e-6, 0.3, 5.0, 200.0])
def test_two_scales_against_the_closed_form_in_fifty_digits(ratio, x):
    """``P(Lap(a) + Lap(b) > x) = (b^2 e^{-x/b} - a^2 e^{-x/a}) / (2 (b^2 - a^2))``, x in units of the larger scale b."""
    a, b = 3.0, 3.0 * ratio
    law, x = LaplaceSum((a, b), (1, 1)), x * b
    with mpmath.workdps(50):
        s, t, y = mpmath.mpf(a), mpmath.mpf(b), mpmath.mpf(x)
        tail = (t**2 * mpmath.exp(-y / t) - s**2 * mpmath.exp(-y / s)) / (2 * (t**2 - s**2))
        density = (t * mpmath.exp(-y / t) - s * mpmath.exp(-y / s)) / (2 * (t**2 - s**2))
    assert law.log_tail(x) == pytest.approx(float(mpmath.log(tail)), rel=1e-11, abs=0)
    assert law.log_tail(-x) == pytest.approx(float(mpmath.log1p(-tail)), rel=1e-9, abs=0)
    assert law.density(x) == pytest.approx(float(density), rel=1e-11, abs=0)
    assert law.two_sided_tail(x) == pytest.approx(float(2 * tail), rel=1e-11, abs=0)
    assert law.variance == pytest.approx(2 * (a * a + b * b), rel=1e-15, abs=0)
    assert LaplaceSum((a, a), (1, 0)).log_tail(x) == pytest.approx(-x / a - math.log(2), rel=1e-11, abs=0)
