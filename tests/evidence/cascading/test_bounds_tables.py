"""What each bound and each lemma of the cascading part says, against numbers written independently (mpmath, fractions)."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest

from evidence.cascading import bounds, early_failure, lemmas, lower_bounds
from evidence.cascading.simultaneous import simultaneous_tail

mp.mp.dps = 40
D = mp.mpf("0.001")
ROOT = mp.sqrt("1.5")


def near(x, rel=1e-12):
    return pytest.approx(float(x), rel=rel, abs=0)


# --- bounds, on problems with unequal gaps

PROBLEMS = [
    SimpleNamespace(means=np.array([0.1, 0.9, 0.35, 0.7, 0.3, 0.6, 0.2]), list_length=3),
    SimpleNamespace(means=np.array([0.5, 0.25]), list_length=1),
    SimpleNamespace(means=np.array([0.9, 0.75, 0.5, 0.1]), list_length=2),
]


def gaps_of(problem):
    means = sorted((mp.mpf(float(m)) for m in problem.means), reverse=True)
    K = problem.list_length
    return [[best - e for best in means[:K]] for e in means[K:]]


def program(gaps, counts):
    """The linear program of the proofs, solved greedily: spend the new allowance of each prefix on its own gap."""
    total, before = mp.mpf(0), mp.mpf(0)
    for gap, count in zip(gaps, counts, strict=True):
        total, before = total + gap * (count - before), count
    return total


ZETA = mp.zeta(2) - mp.zeta(3)
SERIES = [(e, T) for e in ("0.2", "3") for T in (2, 1000, 10**9)]


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("epsilon", "T"), SERIES)
def test_theorems_4_and_7(problem, epsilon, T):
    gaps, L, K, e, log_t = gaps_of(problem), len(problem.means), problem.list_length, mp.mpf(epsilon), mp.log(T)
    for theorem, b in (
        (lambda **k: bounds.theorem_4(problem, horizon=T, epsilon=float(epsilon), **k), K / e),
        (
            lambda **k: bounds.theorem_7(problem, horizon=T, epsilon=float(epsilon), delta=1e-3, **k),
            mp.sqrt(4 * K * mp.log(mp.e + e / D)) / e,
        ),
    ):
        printed = sum(4 * (ROOT + b * mp.sqrt(24)) ** 2 / g[-1] for g in gaps) * log_t + 2 * mp.pi**2 / 3 * L
        assert theorem() == near(printed)
        a = ROOT + b * mp.sqrt(12)
        slope = sum(program(g, [4 * a**2 / x**2 + 12 * b / x for x in g]) for g in gaps)
        assert theorem(version="corrected") == near(slope * log_t + sum(g[0] for g in gaps) + 2 * ZETA * L)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("epsilon", "T"), SERIES)
def test_theorem_6(problem, epsilon, T):
    gaps, L, K, e, log_t = gaps_of(problem), len(problem.means), problem.list_length, mp.mpf(epsilon), mp.log(T)

    def theorem(version):
        return bounds.theorem_6(problem, horizon=T, epsilon=float(epsilon), delta=1e-3, version=version)

    kappa = K * mp.log(1250)
    printed = sum(2 * (2 * ROOT + 8 / e * mp.sqrt(kappa)) ** 2 / g[-1] for g in gaps) * log_t
    assert theorem("printed") == near(printed)
    width = mp.sqrt(1.5 * log_t) + mp.sqrt(2 * kappa) / e * mp.sqrt(2 * mp.log(2 * mp.mpf(T) ** 3))
    slope = sum(program(g, [4 * width**2 / x**2 for x in g]) for g in gaps)
    assert theorem("corrected") == near(slope + sum(g[0] for g in gaps) + mp.mpf("1.5") * ZETA * L)
    assert theorem("proved") == near(slope + 2 * mp.sqrt(3 * L))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_theorem_6_as_printed_is_implied_by_what_is_proved(epsilon):
    """K < L, T >= 2, epsilon <= 2: the printed sum is at least the smaller of the proved bound and T."""
    for K, others, delta in itertools.product((1, 2, 3, 10, 50), (1, 2, 10, 1000), (1 - 1e-9, 0.5, 1e-9)):
        profile = bounds.bracket_maximiser(K)  # the gaps of every item in their worst proportion, the largest gap 1
        means = np.r_[profile / profile[0], np.zeros(others)]
        problem = SimpleNamespace(means=means, list_length=K)
        for T in (2, 3, 5, 10, 58, 205, 10**3, 10**4, 10**9):
            known = dict(horizon=T, epsilon=epsilon, delta=delta)
            proved = bounds.theorem_6(problem, version="proved", **known)
            assert bounds.theorem_6(problem, **known) >= min(proved, T)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("epsilon", "T"), [*SERIES, ("1000000", 1000)])  # the last: the samples decide
def test_theorem_2(problem, epsilon, T):
    gaps, L, log_t = gaps_of(problem), len(problem.means), mp.log(T)
    known, noise = dict(horizon=T, epsilon=float(epsilon), c1=7.0), 7 * L / mp.mpf(epsilon) * log_t
    xi = mp.mpf(0.1)
    printed = sum(192 / g[-1] * noise ** (1 + xi) for g in gaps) + 2 * mp.pi**2 / 3 * L
    for c2 in (0.0, 5.0):
        assert bounds.theorem_2(problem, xi=0.1, c2=c2, **known) == near(printed + c2)
    proof = sum((1 + 1 / xi) * (12 * noise) ** (1 + xi) * g[-1] ** -xi + 48 * log_t / g[-1] for g in gaps)
    proof += 2 * mp.pi**2 / 3 * L
    for c2 in (0.0, 5.0):
        assert bounds.theorem_2(problem, xi=0.1, c2=c2, version="proof", **known) == near(proof + c2)

    def count(gap):
        b = 12 * noise / gap
        largest = mp.mpf(1)
        if b >= (mp.e / mp.mpf("1.5")) ** mp.mpf("1.5"):  # the smallest value of n / log(n)^1.5
            low, high = mp.exp(mp.mpf("1.5")), mp.mpf(10) ** 30
            for _ in range(400):
                middle = mp.sqrt(low * high)
                low, high = (middle, high) if middle <= b * mp.log(middle) ** 1.5 else (low, middle)
            largest = low
        return max(24 * log_t / gap**2, largest, 1)

    corrected = sum(program(g, [count(x) for x in g]) for g in gaps) + sum(g[0] for g in gaps) + 2 * ZETA * L
    assert bounds.theorem_2(problem, version="corrected", **known) == near(corrected, 1e-11)


@pytest.mark.parametrize(("epsilon", "T"), SERIES)
def test_theorem_9(epsilon, T):
    known = dict(n_arms=7, list_length=3, inverse_gap=0.125, max_gap=0.5, horizon=T, epsilon=float(epsilon), delta=1e-3)
    e, log_t, kappa = mp.mpf(epsilon), mp.log(T), 3 * mp.log(1250)
    printed = (128 * kappa * log_t / (min(e**2, 2) * mp.mpf(0.125) ** 2) + mp.pi**2 / 3 + 1) * 7 / 2
    assert bounds.theorem_9(**known) == near(printed)
    width = mp.sqrt(1.5 * log_t) + 2 / e * mp.sqrt(kappa * mp.log(2 * mp.mpf(T) ** 3))
    corrected = (4 * width**2 / mp.mpf(0.125) ** 2 + 3 * ZETA + 1) * 7 / 2
    assert bounds.theorem_9(**known, version="corrected") == near(corrected)


@pytest.mark.parametrize("epsilon", ["1e-9", "0.001", "0.2", "2", "30"])
@pytest.mark.parametrize(("L", "K", "p", "gap"), [(20, 4, 0.2, 0.15), (5, 1, 0.5, 1e-9), (9, 3, 0.75, 0.75)])
def test_lower_bounds(L, K, p, gap, epsilon):
    """Without cancellation for tiny gaps and tiny epsilon."""
    shape = dict(n_items=L, list_length=K, p=p, gap=gap)
    P, G, e = mp.mpf(p), mp.mpf(gap), mp.mpf(float(epsilon))

    def kl(q, r):
        return sum(x * mp.log(x / y) for x, y in ((q, r), (1 - q, 1 - r)) if x)

    with mp.workdps(80):
        weight = (L - K) * G * (1 - P) ** (K - 1)
        kveton = weight / kl(P - G, P)

        def rr(x):
            return (1 + x * mp.expm1(e)) / (1 + mp.exp(e))

        ldp = weight / kl(rr(P - G), rr(P))
        channel = 2 * min(mp.mpf(4), mp.exp(2 * e)) * mp.expm1(e) ** 2
        assert bounds.kveton_lower_bound(**shape) == near(kveton)
        assert bounds.ldp_lower_bound(**shape, epsilon=float(epsilon)) == near(ldp)
        printed = weight / (channel * G**2 / (P * (1 - P)))
        assert bounds.theorem_10(**shape, epsilon=float(epsilon)) == near(printed)
        right = weight / (channel * kl(P - G, P))
        assert bounds.theorem_10(**shape, epsilon=float(epsilon), version="kl_right") == near(right)
        share = weight / G
        assert bounds.theorem_11(**shape, epsilon=float(epsilon)) == near(max(kveton, share / (200 * e)))
        corrected = max(kveton, share / mp.expm1(2 * e))
        assert bounds.theorem_11(**shape, epsilon=float(epsilon), version="corrected") == near(corrected)


def test_an_instance_needs_its_range():
    for shape in (dict(p=0.0, gap=0.1), dict(p=1.0, gap=0.1), dict(p=0.2, gap=0.3), dict(p=0.2, gap=0.0)):
        with pytest.raises(ValueError, match=r"(p|gap) must be"):
            lower_bounds.kveton_lower_bound(n_items=4, list_length=2, **shape)
    with pytest.raises(ValueError, match="n_items must be"):
        lower_bounds.kveton_lower_bound(n_items=2, list_length=3, p=0.2, gap=0.1)


def test_random_list_regret_is_exact():
    for means, K in (([0.5, 0.25, 0.125], 2), ([0.3, 0.3 + 1e-13, 0.1], 1), ([0.2] * 4 + [0.05] * 16, 4)):
        exact = [1 - Fraction(m) for m in means]
        lists = [math.prod(c) for c in itertools.combinations(exact, K)]
        expected = 1000 * (sum(lists) / len(lists) - min(lists))
        problem = SimpleNamespace(means=np.array(means), list_length=K)
        assert bounds.random_list_regret(problem, 1000.0) == near(
            mp.mpf(expected.numerator) / expected.denominator, 1e-15
        )


def test_bracket_in_fractions():
    value = Fraction(1)
    for k in range(1, 9):
        assert bounds.bracket_supremum(k) == near(mp.mpf(value.numerator) / value.denominator, 1e-15)
        value = 1 + value**2 / 4
    gaps = [Fraction(7, 8), Fraction(1, 2), Fraction(1, 2), Fraction(3, 16)]
    for power in (2, 3):
        counts = [g**-power for g in gaps]
        exact = gaps[0] * counts[0] + sum(g * (c - b) for g, c, b in zip(gaps[1:], counts[1:], counts, strict=False))
        assert bounds.bracket([float(g) for g in gaps], power) == near(mp.mpf(exact.numerator) / exact.denominator)
    assert bounds.bracket([0.5, 0.25]) == bounds.bracket([0.5, 0.25], 2.0) != bounds.bracket([0.5, 0.25], 3.0)


def test_early_failure_in_numbers():
    problem = SimpleNamespace(means=np.array([0.5, 0.4, 0.2, 0.1]), list_length=2)
    for initial, samples, twice in (("raw", 2, 2), ("none", 1, 1)):
        u = mp.mpf(early_failure.index_failure(initial == "raw"))
        b, log_t, e = mp.mpf(2) / mp.mpf("0.5"), mp.mpf(200), mp.mpf("0.5")
        x = (samples + (ROOT + b * mp.sqrt(24)) * mp.sqrt(twice * log_t)) / b
        certain = (1 - u) ** 3 * (1 - mp.mpf("0.5"))
        lower = mp.log(mp.mpf("0.2") / 2) - x + mp.log(certain * mp.exp(log_t) - 1)
        found = bounds.early_failure_log_lower_bound(problem, log_horizon=200.0, epsilon=float(e), initial=initial)
        assert found == near(lower)
        crossing = bounds.early_failure_crossing(problem, epsilon=0.5, initial=initial) * math.log(10)
        lower = bounds.early_failure_log_lower_bound(problem, log_horizon=crossing, epsilon=0.5, initial=initial)
        slope = sum(4 * (ROOT + b * mp.sqrt(24)) ** 2 / g[-1] for g in gaps_of(problem))
        assert lower == near(mp.log(slope * mp.mpf(crossing) + 8 * mp.pi**2 / 3), 1e-9)


# --- lemmas


@pytest.mark.parametrize("n", [2, 3, 100])
def test_lemma_1(n):
    log_n = mp.log(n)
    bound = lemmas.lemma_1_bound(n, 0.25, epsilon=0.5, c1=3.0)
    assert bound == near(6 * log_n ** mp.mpf("1.5") * mp.log(4))
    assert lemmas.LEMMA_1_CONSTANT == near(4 / mp.log(2) ** mp.mpf("1.5"))
    if n == 2:
        assert lemmas.lemma_1_constant(2) == near(lemmas.LEMMA_1_CONSTANT)


@pytest.mark.parametrize(("n", "blocks", "levels"), [(2, 2, ()), (3, 2, (1,)), (7, 3, (2, 2)), (6, 3, (2,))])
def test_the_noise_that_lemma_1_is_about(n, blocks, levels):
    """Var: 8 for each block of the logarithmic mechanism, 8 m^2 for each p-sum of a binary one with m levels."""
    variance = 8 * blocks + sum(8 * m**2 for m in levels)
    expected = mp.sqrt(mp.pi * variance / 2) / mp.log(n) ** mp.mpf("1.5")
    assert lemmas.lemma_1_constant_bound(n) == near(expected)


def test_lemmas_3_and_4():
    for epsilon, delta in ((0.2, 1e-3), (0.9, 1e-9), (5.0, 0.5)):
        e, d = mp.mpf(epsilon), mp.mpf(delta)
        assert lemmas.lemma_3_sigma(epsilon=epsilon, delta=delta, sensitivity=3.0) == near(
            3 / e * mp.sqrt(2 * mp.log(mp.mpf("1.25") / d))
        )
        factor = mp.sqrt(4 * 5 * mp.log(mp.e + e / d))
        assert lemmas.composition_factor(epsilon=epsilon, delta=delta, n_queries=5) == near(factor)
        if epsilon <= 0.9:
            found = lemmas.lemma_4_parameters(epsilon=epsilon, delta=delta, n_queries=5)
            assert found == (near(e / factor), near(d / 10))


def test_lemmas_6_and_7_and_the_radii():
    assert lemmas.lemma_6_limit(n=9, scale=2.0) == near(2 * mp.sqrt(2) * 36 / 2)
    assert lemmas.lemma_6_limit(n=9, scale=2.0, v=7.0) == near(2 * mp.sqrt(2) * 49 / 2)
    assert lemmas.lemma_6_bound(3.0, n=9, scale=2.0) == near(mp.exp(-mp.mpf(9) / 8 / 36))
    assert lemmas.lemma_6_bound(3.0, n=9, scale=2.0, v=7.0) == near(mp.exp(-mp.mpf(9) / 8 / 49))
    assert lemmas.lemma_6_bound(300.0, n=9, scale=2.0, extrapolate=True) == near(mp.exp(-mp.mpf(90000) / 8 / 36))
    assert lemmas.sub_gamma_radius(5.0, n=7, scale=3.0) == near(3 * (2 * mp.sqrt(35) + 5))
    log_t = mp.log(1000)
    assert lemmas.corrected_noise_bonus(1000, 7, scale=3.0) == near(3 * (mp.sqrt(12 * log_t / 7) + 3 * log_t / 7))
    exact, bound = lemmas.lemma_7_sides(0.5, n=16, sigma=1.5)
    z = mp.mpf(4) * mp.mpf("0.5") / mp.mpf("1.5")
    assert exact == near(2 * mp.ncdf(-z)) and bound == near(2 * mp.exp(-(z**2) / 2))


def test_lemma_5_for_nearly_equal_lists():
    """The regret without cancellation: means that differ by 1e-14."""
    problem = SimpleNamespace(means=np.array([0.3, 0.3 + 2**-47, 0.25]), list_length=1)
    lower, regret, upper = lemmas.lemma_5_sides(problem, [0])
    assert lower == regret == upper == near(mp.mpf(2) ** -47, 1e-12)
    problem = SimpleNamespace(means=np.array([0.5, 0.25, 0.25 - 2**-50]), list_length=2)
    assert lemmas.lemma_5_sides(problem, [0, 2])[1] == near(mp.mpf(2) ** -51, 1e-12)


def test_simultaneous_tail_of_one_and_two():
    with mp.workdps(30):
        width = mp.mpf(2)
        assert simultaneous_tail(2.0, n=1) == near(mp.erfc(width / mp.sqrt(2)))
        # given |X| = x <= 2: X + Y leaves [-2 sqrt2, 2 sqrt2]
        inside = mp.quad(
            lambda x: mp.npdf(x) * (mp.ncdf(width * mp.sqrt(2) - x) - mp.ncdf(-width * mp.sqrt(2) - x)), [-2, 0, 2]
        )
        assert simultaneous_tail(2.0, n=2) == near(1 - inside, 1e-10)
