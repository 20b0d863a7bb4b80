"""Regret bounds of the cascading paper: the program inside the proofs, the bonuses inverted, and the lower bounds."""

import itertools
import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special

from evidence.cascading import bounds, early_failure, lemmas, lower_bounds

BLB = SimpleNamespace(means=np.r_[np.full(16, 0.05), np.full(4, 0.2)], list_length=4)
UNEQUAL = SimpleNamespace(means=np.array([0.1, 0.9, 0.35, 0.7, 0.3, 0.6, 0.2]), list_length=3)
INSTANCE = {"n_items": 20, "list_length": 4, "p": 0.2, "gap": 0.15}


def test_gap_matrix():
    expected = np.array([[0.55, 0.35, 0.25], [0.6, 0.4, 0.3], [0.7, 0.5, 0.4], [0.8, 0.6, 0.5]])
    np.testing.assert_allclose(bounds.gap_matrix(UNEQUAL), expected, atol=1e-15)
    assert bounds.gap_matrix(SimpleNamespace(means=[0.5, 0.5], list_length=2)).shape == (0, 2)
    with pytest.raises(ValueError, match="unique optimal list"):
        bounds.gap_matrix(SimpleNamespace(means=[0.5, 0.5], list_length=1))
    with pytest.raises(ValueError, match="list_length"):
        bounds.gap_matrix(SimpleNamespace(means=[0.5, 0.4], list_length=3))


def test_prefix_sum_solves_the_program_on_prefixes_and_not_the_printed_one():
    rng = np.random.default_rng(1)
    for _ in range(40):
        gaps, counts = np.sort(rng.random(5))[::-1], np.sort(rng.random(5))
        prefixes = optimize.linprog(-gaps, A_ub=np.tril(np.ones((5, 5))), b_ub=counts)
        assert bounds.prefix_sum(gaps, counts) == pytest.approx(-prefixes.fun, rel=1e-9, abs=0)
    gaps = np.array([1.0, 1 / 2, 1 / 3])
    counts = gaps**-2
    printed = optimize.linprog(-gaps, A_ub=[[1, 1, 1]], b_ub=counts[-1:], bounds=[(0, c) for c in counts])
    assert -printed.fun == pytest.approx(13 / 3, rel=1e-9, abs=0)
    assert bounds.bracket(gaps) == pytest.approx(25 / 6, rel=1e-9, abs=0)


@pytest.mark.parametrize(
    ("length", "supremum"), [(1, 1.0), (2, 1.25), (3, 1.390625), (4, 1.48346), (8, 1.67289), (16, 1.80748)]
)
def test_bracket_supremum(length, supremum):
    assert bounds.bracket_supremum(length) == pytest.approx(supremum, abs=5e-6)
    profile = bounds.bracket_maximiser(length)
    assert profile[-1] == 1
    assert np.all(np.diff(profile) <= 0)
    assert bounds.bracket(profile) == pytest.approx(bounds.bracket_supremum(length), rel=1e-12, abs=0)
    if 1 < length <= 8:

        def loss(logs):  # ratios Delta_i / Delta_{i-1} = expit(logs)
            gaps = np.cumprod([1.0, *special.expit(logs)])
            return -bounds.bracket(gaps) * gaps[-1]

        found = optimize.minimize(loss, np.zeros(length - 1), tol=1e-14)
        assert -found.fun == pytest.approx(bounds.bracket_supremum(length), rel=1e-8, abs=0)


@given(
    st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=12),
    st.sampled_from([1.05, 1.5, 2.0]),
)
def test_bracket_is_below_its_supremum(gaps, power):
    gaps = np.sort(gaps)[::-1]
    value, xi = bounds.bracket(gaps, power), power - 1
    assert value <= (1 + 1 / xi) * gaps[-1] ** -xi * (1 + 1e-12)
    if power == 2.0:
        assert value <= bounds.bracket_supremum(len(gaps)) / gaps[-1] * (1 + 1e-12)
        assert bounds.bracket_supremum(len(gaps)) < 2


def test_bracket_refuses_increasing_gaps():
    with pytest.raises(ValueError, match="non-increasing"):
        bounds.bracket([0.1, 0.2])


@pytest.mark.parametrize("problem", [BLB, UNEQUAL, SimpleNamespace(means=[0.3, 0.2, 0.9, 0.0], list_length=1)])
def test_random_list_regret_by_enumeration(problem):
    means, length = np.asarray(problem.means), problem.list_length
    lists = [np.prod(1 - means[list(items)]) for items in itertools.combinations(range(len(means)), length)]
    assert bounds.random_list_regret(problem, 1e5) == pytest.approx(
        1e5 * (np.mean(lists) - min(lists)), rel=1e-10, abs=0
    )


@pytest.mark.parametrize("b", [0.3, 4.0, 80.0])
@pytest.mark.parametrize("gap", [0.01, 0.15, 1.0])
@pytest.mark.parametrize("t", [2.0, 1e3, 1e9])
def test_counts_of_the_corrected_bounds_invert_the_bonus(b, gap, t):
    a = math.sqrt(1.5) + b * math.sqrt(12)
    root = ((a + math.sqrt(a**2 + 6 * b * gap)) / gap) ** 2 * math.log(t)
    relaxed = (4 * a**2 / gap**2 + 12 * b / gap) * math.log(t)
    assert root <= relaxed * (1 + 1e-12)

    def width(n):  # twice the corrected bonus
        return 2 * (math.sqrt(1.5 * math.log(t) / n) + b * (math.sqrt(12 * math.log(t) / n) + 3 * math.log(t) / n))

    assert width(root) == pytest.approx(gap, rel=1e-9, abs=0)
    assert width(int(relaxed) + 1) < gap
    assert width(3) == pytest.approx(
        2 * math.sqrt(1.5 * math.log(t) / 3) + 2 * lemmas.corrected_noise_bonus(t, 3, scale=b), rel=1e-9, abs=0
    )


def test_theorem_4_printed_and_corrected():
    b, log_t, delta = 4 / 0.5, math.log(1e6), 0.15
    printed = 16 * 4 * (math.sqrt(1.5) + b * math.sqrt(24)) ** 2 / delta * log_t + 2 * math.pi**2 / 3 * 20
    assert bounds.theorem_4(BLB, horizon=1e6, epsilon=0.5) == pytest.approx(printed, rel=1e-9, abs=0)
    # Equal gaps: the bracket is 1/Delta and the second term 12 b log T.
    a = math.sqrt(1.5) + b * math.sqrt(12)
    additive = 16 * delta + 2 * (math.pi**2 / 6 - special.zeta(3)) * 20
    corrected = 16 * (4 * a**2 / delta + 12 * b) * log_t + additive
    assert bounds.theorem_4(BLB, horizon=1e6, epsilon=0.5, version="corrected") == pytest.approx(
        corrected, rel=1e-9, abs=0
    )
    with pytest.raises(ValueError, match="version must be one of"):
        bounds.theorem_4(BLB, horizon=1e6, epsilon=0.5, version="right")


@given(st.floats(0.05, 5.0), st.floats(1.0, 40.0))
def test_theorem_4_corrected_is_below_its_closed_form(epsilon, log_t):
    b, gaps = UNEQUAL.list_length / epsilon, bounds.gap_matrix(UNEQUAL)
    a = math.sqrt(1.5) + b * math.sqrt(12)
    closed = np.sum(8 * a**2 / gaps[:, -1] + 12 * b * (1 + np.log(gaps[:, 0] / gaps[:, -1]))) * log_t
    closed += np.sum(gaps[:, 0]) + 2 * math.pi**2 / 3 * len(UNEQUAL.means)
    assert bounds.theorem_4(UNEQUAL, horizon=math.exp(log_t), epsilon=epsilon, version="corrected") <= closed


@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_theorem_6_and_7_are_theorem_4_with_other_noise(epsilon):
    private = {"horizon": 1e5, "epsilon": epsilon, "delta": 1e-3}
    root = math.sqrt(4 * math.log(1.25e3))
    printed = 16 * 2 * (2 * math.sqrt(1.5) + 8 / epsilon * root) ** 2 / 0.15 * math.log(1e5)
    assert bounds.theorem_6(BLB, **private) == pytest.approx(printed, rel=1e-9, abs=0)
    width = 2 * math.sqrt(1.5 * math.log(1e5)) + 4 / epsilon * root * math.sqrt(math.log(2e15))
    corrected = 16 * width**2 / 0.15 + 16 * 0.15 + 1.5 * (math.pi**2 / 6 - special.zeta(3)) * 20
    assert bounds.theorem_6(BLB, **private, version="corrected") == pytest.approx(corrected, rel=1e-9, abs=0)
    equivalent = 4 / (math.sqrt(16 * math.log(math.e + epsilon / 1e-3)) / epsilon)  # K / epsilon' is the scale
    for version in ("printed", "corrected"):
        assert bounds.theorem_7(BLB, **private, version=version) == pytest.approx(
            bounds.theorem_4(BLB, horizon=1e5, epsilon=equivalent, version=version), rel=1e-9, abs=0
        )
    bonus = 4 / epsilon * math.sqrt(24 * math.log(math.e + epsilon / 1e-3)) + math.sqrt(1.5)
    slope = 16 * 4 * bonus**2 / 0.15 * math.log(1e5)
    assert bounds.theorem_7(BLB, **private) == pytest.approx(slope + 2 * math.pi**2 / 3 * 20, rel=1e-9, abs=0)


def test_theorem_2_versions():
    known = {"horizon": 1e9, "epsilon": 0.5, "c1": 2.0}
    noise = 2.0 * 20 / 0.5 * math.log(1e9)
    printed = 16 * 192 / 0.15 * noise**1.1 + 2 * math.pi**2 / 3 * 20 + 7
    assert bounds.theorem_2(BLB, **known, xi=0.1, c2=7.0) == pytest.approx(printed, rel=1e-9, abs=0)
    proof = 16 * (11 * (12 * noise) ** 1.1 * 0.15**-0.1 + 48 * math.log(1e9) / 0.15) + 2 * math.pi**2 / 3 * 20
    assert bounds.theorem_2(BLB, **known, xi=0.1, version="proof") == pytest.approx(proof, rel=1e-9, abs=0)
    # Equal gaps: Delta tau, with tau the last count at which half the gap is below twice the noise width.
    b = 12 * noise / 0.15
    tau = optimize.brentq(lambda n: n - b * math.log(n) ** 1.5, b, b**2)
    corrected = 16 * 0.15 * (tau + 1) + 2 * (math.pi**2 / 6 - special.zeta(3)) * 20
    assert bounds.theorem_2(BLB, **known, version="corrected") == pytest.approx(corrected, rel=1e-9, abs=0)
    with pytest.raises(ValueError, match="xi"):
        bounds.theorem_2(BLB, **known)


@pytest.mark.parametrize(("xi", "threshold"), [(0.01, 1044.13), (0.05, 152.22), (0.1, 63.755), (1.0, 2.268)])
def test_theorem_2_threshold(xi, threshold):
    assert bounds.theorem_2_threshold(xi) == pytest.approx(threshold, rel=1e-4, abs=0)
    for log_b in threshold * np.array([0.99, 1.01, 1.5, 10, 1000]):
        assert (xi * log_b >= 1.5 * math.log((1 + xi) * log_b)) == (log_b > threshold)


def test_theorem_2_threshold_vanishes_for_large_xi():
    assert bounds.theorem_2_threshold(1.3) == 0
    log_b = np.geomspace(1e-3, 1e3, 2000)
    assert np.all(1.3 * log_b >= 1.5 * np.log(2.3 * log_b))


def test_theorem_9_versions():
    given = {"n_arms": 20, "list_length": 4, "inverse_gap": 0.1, "max_gap": 0.5, "horizon": 1e5, "delta": 1e-3}
    for epsilon, floor in ((0.2, 0.04), (3.0, 2.0)):
        slope = 128 * 4 * math.log(1.25e3) / (floor * 0.01) * math.log(1e5)
        assert bounds.theorem_9(**given, epsilon=epsilon) == pytest.approx(
            (slope + math.pi**2 / 3 + 1) * 10, rel=1e-9, abs=0
        )
        width = math.sqrt(1.5 * math.log(1e5)) + 2 / epsilon * math.sqrt(4 * math.log(1.25e3) * math.log(2e15))
        constant = 3 * (math.pi**2 / 6 - special.zeta(3)) + 1
        corrected = (4 * width**2 / 0.01 + constant) * 10
        assert bounds.theorem_9(**given, epsilon=epsilon, version="corrected") == pytest.approx(
            corrected, rel=1e-9, abs=0
        )


@given(st.floats(0.05, 4.0), st.floats(1.01, 3.0), st.floats(2.0, 300.0))
def test_upper_bounds_grow_with_the_horizon_and_with_privacy(epsilon, factor, log10_t):
    horizon = 10 ** (log10_t / factor)
    for version in ("printed", "corrected"):
        for bound in (
            lambda t, e, v=version: bounds.theorem_4(UNEQUAL, horizon=t, epsilon=e, version=v),
            lambda t, e, v=version: bounds.theorem_6(UNEQUAL, horizon=t, epsilon=e, delta=1e-3, version=v),
            lambda t, e, v=version: bounds.theorem_7(UNEQUAL, horizon=t, epsilon=e, delta=1e-3, version=v),
            lambda t, e, v=version: bounds.theorem_2(UNEQUAL, horizon=t, epsilon=e, c1=7.0, xi=0.1, version=v),
        ):
            base = bound(horizon, epsilon)
            assert bound(horizon**factor, epsilon) > base
            assert bound(horizon, epsilon / factor) > base


def test_bernoulli_kl():
    for q, r in itertools.product((0.0, 0.05, 0.3, 0.999, 1.0), (0.01, 0.3, 0.7)):
        exact = special.rel_entr(q, r) + special.rel_entr(1 - q, 1 - r)
        assert lower_bounds.bernoulli_kl(q, r) == pytest.approx(exact, rel=1e-12, abs=1e-15)
    with mpmath.workdps(60):
        for step, r in itertools.product((0.29, 0.02, 1e-3, 1e-7, -1e-12, 1e-15), (0.3, 1e-3, 0.99)):
            if 0 <= r - step <= 1:
                q = r - step  # the double next to it; the divergence is that of the two doubles
                a, b = mpmath.mpf(q), mpmath.mpf(r)
                exact = sum(x * mpmath.log(x / y) for x, y in ((a, b), (1 - a, 1 - b)) if x)
                assert lower_bounds.bernoulli_kl(q, r) == pytest.approx(float(exact), rel=1e-12, abs=0)


def test_lower_bounds_on_the_instance():
    assert bounds.kveton_lower_bound(**INSTANCE) == pytest.approx(13.08, abs=5e-3)
    slopes = {0.2: (2735, 59.7), 0.5: (442, 3.82), 1.0: (114.3, 0.370), 2.0: (33.31, 0.0268)}
    for epsilon, (exact, printed) in slopes.items():
        assert bounds.ldp_lower_bound(**INSTANCE, epsilon=epsilon) == pytest.approx(exact, rel=2e-3, abs=0)
        assert bounds.theorem_10(**INSTANCE, epsilon=epsilon) == pytest.approx(printed, rel=2e-3, abs=0)
        assert bounds.theorem_11(**INSTANCE, epsilon=epsilon) == pytest.approx(13.08, abs=5e-3)
        corrected = bounds.theorem_11(**INSTANCE, epsilon=epsilon, version="corrected")
        assert corrected == pytest.approx(max(13.08, 16 * 0.8**3 / math.expm1(2 * epsilon)), abs=5e-3)
    small = 16 * 0.8**3 / (200 * 1e-4)
    assert bounds.theorem_11(**INSTANCE, epsilon=1e-4) == pytest.approx(small, rel=1e-9, abs=0)
    assert bounds.theorem_11(**INSTANCE, epsilon=400.0, version="corrected") == pytest.approx(13.08, abs=5e-3)


@given(st.floats(1e-4, 3.3), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_theorem_11_corrected_implies_the_printed_form(epsilon, p, share):
    instance = {"n_items": 5, "list_length": 2, "p": p, "gap": share * p}
    corrected = bounds.theorem_11(**instance, epsilon=epsilon, version="corrected")
    assert corrected >= bounds.theorem_11(**instance, epsilon=epsilon) * (1 - 1e-12)
    printed_sum = 3 * (1 - p) * (1 / instance["gap"] + 1 / epsilon)  # without its unnamed constant
    assert corrected >= min(p * (1 - p), 1 / math.expm1(2)) / 2 * printed_sum * (1 - 1e-9)


def test_one_display_gives_away_no_more_than_the_private_term():
    """The step of the central proof: E r^2S <= exp(m (e^2eps - 1) D), by the exact binomial moment."""
    for epsilon, p_prime, share in itertools.product((0.01, 0.5, 2.0), (0.1, 0.6, 1.0), (0.05, 0.5, 1.0)):
        d = share * p_prime
        r = 1 + math.expm1(epsilon) * d / p_prime
        assert 1 + (r**2 - 1) * p_prime <= math.exp(math.expm1(2 * epsilon) * d) * (1 + 1e-12)


@given(st.integers(1, 6), st.integers(1, 30), st.floats(0.01, 0.99), st.floats(0.01, 1.0), st.floats(0.01, 8.0))
def test_theorem_10_is_weaker_than_the_ldp_bound_which_is_above_the_private_free_one(length, others, p, share, epsilon):
    instance = {"n_items": length + others, "list_length": length, "p": p, "gap": share * p}
    kveton = bounds.kveton_lower_bound(**instance)
    ldp = bounds.ldp_lower_bound(**instance, epsilon=epsilon)
    printed = bounds.theorem_10(**instance, epsilon=epsilon)
    right = bounds.theorem_10(**instance, epsilon=epsilon, version="kl_right")
    assert printed <= right * (1 + 1e-9)  # the chi-square bound on d(p - Delta || p) always holds
    assert right < ldp
    assert kveton <= ldp * (1 + 1e-9)
    assert bounds.ldp_lower_bound(**instance, epsilon=40.0) == pytest.approx(kveton, rel=1e-6, abs=0)


def test_printed_divergence_inequality_has_counterexamples():
    assert lower_bounds.bernoulli_kl(0.2, 0.05) <= 0.15**2 / 0.16
    assert lower_bounds.bernoulli_kl(0.2, 0.2 - 0.151) > 0.151**2 / 0.16


def forced_run(means, length, epsilon, horizon, initial, rng):
    """Algorithm 2 as printed, with the first noise of item 0 just low enough; rounds that show it again, and before."""
    n_items, b = len(means), length / epsilon
    beta = math.sqrt(1.5) + b * math.sqrt(24)
    samples, bonus = (2, math.sqrt(2)) if initial == "raw" else (1, 1.0)
    low = -(samples + beta * bonus * math.sqrt(math.log(horizon))) - 1e-9
    counts = np.full(n_items, float(initial == "raw"))
    sums = (rng.random(n_items) < means).astype(float) * counts
    seen, before, after = False, 0, 0
    for t in range(1, horizon + 1):
        with np.errstate(divide="ignore", invalid="ignore"):
            index = np.where(counts > 0, sums / counts + beta * np.sqrt(math.log(t) / counts), np.inf)
        shown = np.lexsort((rng.random(n_items), -index))[:length]
        before, after = before + (0 in shown and not seen), after + (0 in shown and seen)
        for e in shown:
            click = rng.random() < means[e]
            noise = low if e == 0 and not seen else rng.laplace(scale=b)
            seen = seen or e == 0
            counts[e] += 1
            sums[e] += click + noise
            if click:
                break
    return before, after


@pytest.mark.parametrize("initial", ["raw", "none"])
@pytest.mark.parametrize(("means", "length"), [((0.9, 0.4), 1), ((0.5, 0.6, 0.2, 0.1), 2)])
def test_forced_first_noise_hides_the_optimal_item(initial, means, length):
    # Omega has probability at least (1 - u)^3 >= 0.967; in 60 runs 9 or more failures have probability < 1e-3 at that
    # limit. The mean of `before` is at most 1/q = 2.5 (geometric, standard deviation <= 2): 6 standard errors of slack.
    runs = [forced_run(np.array(means), length, 0.7, 150, initial, np.random.default_rng([9, i])) for i in range(60)]
    before, after = np.array(runs).T
    assert np.count_nonzero(after) <= 8
    q = (1 - max(means)) ** (length - 1)
    assert before.mean() <= 1 / q + 6 * 2 / math.sqrt(60) * (length > 1)


def test_index_failure_by_exact_tails_further_out():
    assert early_failure.index_failure(True) == pytest.approx(0.00216, abs=1e-5)
    assert early_failure.index_failure(False) == pytest.approx(0.01084, abs=1e-5)
    for m in (11, 50, 200, 1000, 10_000):
        level = math.sqrt(24 * m * math.log(m))
        assert level >= lemmas.sub_gamma_radius(3 * math.log(m), n=m)
        assert lemmas.laplace_sum_tail(level, n=m) <= m**-3


@pytest.mark.parametrize(
    ("initial", "expected"),
    [
        ("raw", {0.05: 33.6, 0.1: 33.3, 0.2: 33.6, 0.5: 36.3, 1.0: 42.6, 2.0: 58.1}),
        ("none", {0.05: 21.9, 0.1: 21.3, 0.2: 21.1, 0.5: 21.9, 1.0: 24.7, 2.0: 32.3}),
    ],
)
def test_printed_theorem_4_is_below_the_regret_from_some_horizon(initial, expected):
    problem = SimpleNamespace(means=np.array([1.0, 0.0]), list_length=1)
    for epsilon, log10_t in expected.items():
        crossing = bounds.early_failure_crossing(problem, epsilon=epsilon, initial=initial)
        assert crossing == pytest.approx(log10_t, abs=0.06)
        for sign, factor in ((-1, 0.99), (1, 1.01)):
            log_t = factor * crossing * math.log(10)
            lower = bounds.early_failure_log_lower_bound(problem, log_horizon=log_t, epsilon=epsilon, initial=initial)
            upper = math.log(bounds.theorem_4(problem, horizon=math.exp(log_t), epsilon=epsilon))
            assert sign * (lower - upper) > 0


def test_early_failure_bound_by_hand_and_its_limits():
    problem = SimpleNamespace(means=np.array([0.6, 0.3]), list_length=1)
    u, beta, log_t = early_failure.index_failure(True), math.sqrt(1.5) + 2 * math.sqrt(24), math.log(1e12)
    by_hand = 0.15 * math.exp(-(2 + beta * math.sqrt(2 * log_t)) / 2) * ((1 - u) * 1e12 - 1)
    got = bounds.early_failure_log_lower_bound(problem, log_horizon=log_t, epsilon=0.5)
    assert got == pytest.approx(math.log(by_hand), rel=1e-12, abs=0)
    assert bounds.early_failure_log_lower_bound(problem, log_horizon=0.0, epsilon=0.5) == -math.inf
    # The ratio of log regret to log T tends to 1: no bound of order log T can hold.
    huge = bounds.early_failure_log_lower_bound(problem, log_horizon=1e8, epsilon=0.5)
    assert huge / 1e8 > 0.999
    certain_click = SimpleNamespace(means=np.array([1.0, 0.5, 0.2]), list_length=2)
    assert bounds.early_failure_log_lower_bound(certain_click, log_horizon=500.0, epsilon=1.0) == -math.inf
    with pytest.raises(ValueError, match="crossing"):
        bounds.early_failure_crossing(certain_click, epsilon=1.0)
    assert 38 < bounds.early_failure_crossing(BLB, epsilon=0.2) < 40
