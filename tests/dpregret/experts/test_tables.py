"""Every bound, rate and profile of the experts part against an independent derivation: mpmath, or brute force."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from dpregret.experts import (
    ExponentialWeights,
    exponential_weights_delta,
    exponential_weights_epsilon,
    exponential_weights_eta,
)
from dpregret.experts.calibration import METHODS, text_caps
from evidence.experts import bounds, minimax, transcripts


@pytest.fixture(autouse=True)
def fifty_digits():
    with mp.workdps(50):
        yield


def close(found, expected, rel=1e-12):
    assert float(found) == pytest.approx(float(expected), rel=rel, abs=0)


def all_close(found, expected, rel=1e-12):
    assert list(found) == list(expected)
    for key, value in expected.items():
        close(found[key], value, rel)


ETAS = (1e-9, 0.003, 0.7, 5.0)


@pytest.mark.parametrize("k", [2, 3, 1000])
@pytest.mark.parametrize("horizon", [1, 7, 1000])
@pytest.mark.parametrize("eta", ETAS)
def test_regret_terms(eta, k, horizon):
    e, T, beta = mp.mpf(eta), mp.mpf(horizon), mp.mpf(0.03)
    plain = {"stability": e, "comparator": mp.log(k) / (e * T)}
    options = {"eta": eta, "n_experts": k, "horizon": horizon}
    all_close(bounds.regret_terms(**options), plain)
    all_close(bounds.regret_terms(**options, beta=0.03), plain | {"fluctuation": mp.sqrt(mp.log(1 / beta) / (2 * T))})
    all_close(bounds.regret_terms(**options, version="sharper"), plain | {"stability": e / 8})
    for batch in (1, 2, 5, 2000):
        lengths = [min(batch, horizon - start) for start in range(0, horizon, batch)]
        assert sum(lengths) == horizon
        expected = {
            "stability": sum(e * b * b / 8 for b in lengths) / T,
            "comparator": mp.log(k) / (e * T),
            "fluctuation": mp.sqrt(batch * mp.log(1 / beta) / (2 * T)),
        }
        found = bounds.regret_terms(**options, beta=0.03, version="sharper", batch=batch, regret_against="oblivious")
        all_close(found, expected)
    assert set(bounds.regret_terms(eta=eta, n_experts=1, horizon=horizon, beta=0.03).values()) == {0.0}


@pytest.mark.parametrize("k", [2, 3, 1000])
@pytest.mark.parametrize("horizon", [1, 7, 1000])
def test_rates_and_bounds_without_privacy(k, horizon):
    for version, scale in (("printed", 1), ("sharper", 8)):
        eta = mp.sqrt(scale * mp.log(k) / horizon)
        close(bounds.best_eta(n_experts=k, horizon=horizon, version=version), eta)
        each = mp.sqrt(mp.log(k) / (scale * horizon))
        found = bounds.no_privacy_terms(n_experts=k, horizon=horizon, version=version, beta=0.2)
        tail = mp.sqrt(mp.log(1 / mp.mpf(0.2)) / (2 * horizon))
        all_close(found, {"stability": each, "comparator": each, "fluctuation": tail})


CASES = list(itertools.product((0.01, 1.0, 13.0, 900.0), (1e-12, 0.01, 0.6), (1, 2, 50, 10_000)))


@pytest.mark.parametrize(("epsilon", "delta", "horizon"), CASES)
def test_the_text_bounds(epsilon, delta, horizon):
    e, log, T, k = mp.mpf(epsilon), mp.log(1 / mp.mpf(delta)), mp.mpf(horizon), 12
    caps = [e / mp.sqrt(32 * T * log), mp.mpf(1) / 2, mp.sqrt(e / (16 * T))]
    options = {"epsilon": epsilon, "delta": delta, "horizon": horizon}
    for found, expected in zip(text_caps(**options), caps, strict=True):
        close(found, expected)
    text = exponential_weights_eta(**options, method="text")
    close(text, min(caps))
    batched = {"horizon": 7 * horizon - 3, "batch": 7, "method": "text"}
    assert exponential_weights_eta(epsilon=epsilon, delta=delta, **batched) == text  # as many draws
    tail = mp.sqrt(mp.log(1 / mp.mpf(0.1)) / (2 * T))
    capped = {
        "stability": min(caps),
        "comparator": mp.log(k) / T * max(mp.sqrt(32 * T * log) / e, 2, 4 * mp.sqrt(T / e)),
        "fluctuation": tail,
    }
    all_close(bounds.capped_terms(**options, n_experts=k, beta=0.1), capped)
    limit = min(mp.sqrt(8 * T * log), 2 * log)
    close(bounds.first_cap_limit(delta=delta, horizon=horizon), limit)
    if e < limit:
        first = {
            "stability": e / mp.sqrt(32 * T * log),
            "comparator": mp.log(k) / e * mp.sqrt(32 * log / T),
            "fluctuation": tail,
        }
        all_close(bounds.first_cap_terms(**options, n_experts=k, beta=0.1), first)
    # advanced composition of T releases (2 eta, 0)
    eta = 0.3 / horizon
    advanced = 2 * eta * mp.sqrt(2 * T * log) + T * 2 * eta * mp.expm1(2 * mp.mpf(eta))
    close(exponential_weights_epsilon(eta=eta, delta=delta, horizon=horizon, method="text"), advanced)
    back = exponential_weights_delta(eta=eta, epsilon=float(advanced), horizon=horizon, method="text")
    assert back == pytest.approx(delta, rel=1e-9, abs=0)


def certified_delta(method, eta, epsilon, n):
    """The delta of each method at 50 digits, for n releases."""
    eta, epsilon = mp.mpf(eta), mp.mpf(epsilon)
    if method == "basic":
        return mp.mpf(0) if 2 * n * eta <= epsilon else mp.mpf(1)
    if method == "optimal":
        total = mp.mpf(0)
        for i in range(n + 1):
            gain = mp.exp((n - i) * 2 * eta) - mp.exp(epsilon + i * 2 * eta)
            total += mp.binomial(n, i) * max(gain, 0)
        return total / (1 + mp.exp(2 * eta)) ** n
    rho = n * eta**2 / 2
    if method == "zcdp":
        return mp.exp(-((epsilon - rho) ** 2) / (4 * rho)) if epsilon > rho else mp.mpf(1)
    # zcdp_optimal: the exponent is convex in x = ln(alpha - 1)
    slope = lambda x: (2 * mp.exp(x) + 1) * rho - epsilon - mp.log1p(mp.exp(-x))  # noqa: E731
    a = mp.exp(mp.findroot(slope, (-(3 * rho + 1), mp.log1p((epsilon + 1) / (2 * rho))), solver="anderson", tol=1e-60))
    return mp.exp(a * ((a + 1) * rho - epsilon - mp.log1p(1 / a)) - mp.log1p(a))


@pytest.mark.parametrize("method", ["basic", "zcdp", "zcdp_optimal", "optimal"])
@pytest.mark.parametrize("draws", [2, 3, 12, 60])
@pytest.mark.parametrize("delta", [1e-15, 1e-6, 0.3])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 30.0])
def test_rates_keep_their_promise_to_the_last_bit(epsilon, delta, draws, method):
    n = draws - 1
    options = {"horizon": draws, "method": method}
    eta = exponential_weights_eta(epsilon=epsilon, delta=delta, **options)
    assert certified_delta(method, eta, epsilon, n) <= mp.mpf(delta) * (1 + (method != "basic") * mp.mpf(10) ** -11)
    assert certified_delta(method, eta * (1 + 1e-9), epsilon, n) > delta  # and it is the largest one
    assert exponential_weights_delta(eta=eta, epsilon=epsilon, **options) <= delta
    close(exponential_weights_delta(eta=1.1 * eta, epsilon=epsilon, **options),
          certified_delta(method, 1.1 * eta, epsilon, n), 1e-10)  # fmt: skip
    found = exponential_weights_epsilon(eta=eta, delta=delta, **options)
    assert found <= epsilon * (1 + 1e-12)
    assert certified_delta(method, eta, found * (1 + 1e-15), n) <= mp.mpf(delta) * (1 + mp.mpf(10) ** -9)
    assert certified_delta(method, eta, found * (1 - 1e-8), n) >= mp.mpf(delta) * (1 - mp.mpf(10) ** -9)
    # batches: as many draws
    assert exponential_weights_eta(epsilon=epsilon, delta=delta, horizon=5 * draws - 2, method=method, batch=5) == eta


def test_the_optimal_rate_at_the_edge():
    eta = exponential_weights_eta(epsilon=1.0, delta=1e-15, horizon=2, method="optimal")
    assert certified_delta("optimal", eta, 1.0, 1) <= mp.mpf(1e-15)
    for horizon in range(2, 40):
        for epsilon in (0.1, 0.3, 1.7):
            basic = exponential_weights_eta(epsilon=epsilon, delta=1e-6, horizon=horizon, method="basic")
            assert exponential_weights_delta(eta=basic, epsilon=epsilon, horizon=horizon, method="basic") == 0.0
            close(basic, mp.mpf(epsilon) / (2 * (horizon - 1)), 4e-16)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_bounded_range_rate_is_the_supremum_over_pairs(n):
    options = {"horizon": n + 1, "method": "bounded_range", "adaptive": False}
    for epsilon, delta in ((0.2, 0.01), (1.0, 1e-4), (0.05, 0.2)):
        eta = exponential_weights_eta(epsilon=epsilon, delta=delta, **options)
        b, best = 2 * eta, 0.0
        for t in np.linspace(epsilon / n, b, 4001)[1:-1]:  # log-ratios t and t - b
            p = math.expm1(b - t) / math.expm1(b) * math.exp(t)  # under the first law
            loss = [t * (n - i) + (t - b) * i for i in range(n + 1)]
            terms = [
                math.comb(n, i) * p ** (n - i) * (1 - p) ** i * max(0.0, -math.expm1(epsilon - loss[i]))
                for i in range(n + 1)
            ]
            best = max(best, math.fsum(terms))
        assert best <= delta * (1 + 1e-9)
        assert best > delta * (1 - 1e-4)  # the grid of t
        close(exponential_weights_epsilon(eta=eta, delta=delta, **options), epsilon, 1e-8)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 5.0, 30.0])
@pytest.mark.parametrize("draws", [2, 4, 12, 25, 40, 500])
def test_the_default_is_the_best_for_adaptive_losses(draws, epsilon, delta):
    target, options = {"epsilon": epsilon, "delta": delta}, {"horizon": 3 * draws - 1, "batch": 3}
    eta = exponential_weights_eta(**target, **options)
    by_name = {m: exponential_weights_eta(**target, **options, method=m) for m in METHODS if m != "bounded_range"}
    assert eta == by_name["best"] == max(by_name["basic"], by_name["zcdp_optimal"])
    assert eta >= max(by_name.values()) * (1 - 1e-6 if draws > 6 else 0.975)
    # forth and back
    assert exponential_weights_delta(eta=eta, epsilon=epsilon, **options) <= delta
    assert exponential_weights_delta(eta=eta * (1 + 1e-9), epsilon=epsilon, **options) > delta
    close(exponential_weights_epsilon(eta=eta, delta=delta, **options), epsilon, 1e-9)
    for rate in (0.1 * eta, 3 * eta):
        certified = exponential_weights_epsilon(eta=rate, delta=delta, **options)
        if certified > 0:
            close(exponential_weights_eta(epsilon=certified, delta=delta, **options), rate, 1e-9)
    assert ExponentialWeights(4, eta, 3).value_epsilon(options["horizon"], delta=delta) == pytest.approx(
        epsilon, rel=1e-9, abs=0
    )


@pytest.mark.parametrize("method", ["basic", "best"])
@pytest.mark.parametrize("draws", [2, 7, 1000])
@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 40.0])
def test_pure_privacy(epsilon, draws, method):
    options = {"horizon": draws, "method": method}
    eta = exponential_weights_eta(epsilon=epsilon, delta=0, **options)
    close(eta, mp.mpf(epsilon) / (2 * (draws - 1)), 4e-16)
    assert exponential_weights_delta(eta=eta, epsilon=epsilon, **options) == 0.0
    close(exponential_weights_epsilon(eta=eta, delta=0.0, **options), epsilon, 4e-16)
    close(exponential_weights_epsilon(eta=2 * eta, delta=0.0, **options), 2 * mp.mpf(epsilon), 4e-16)
    assert exponential_weights_eta(epsilon=epsilon, delta=0, horizon=1, method=method) == math.inf
    assert exponential_weights_epsilon(eta=1.0, delta=0, horizon=1, method=method) == 0.0


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("basic", "best")])
def test_delta_zero_is_for_basic_composition(method):
    options = {"horizon": 9, "method": method, "adaptive": False}
    for call in (
        lambda: exponential_weights_eta(epsilon=1.0, delta=0, **options),
        lambda: exponential_weights_epsilon(eta=0.1, delta=0, **options),
    ):
        with pytest.raises(ValueError, match=r"delta must be a finite number > 0 and < 1, got 0"):
            call()


def test_defaults_agree():
    for function in (exponential_weights_eta, exponential_weights_delta, exponential_weights_epsilon):
        assert function.__kwdefaults__ == {"method": "best", "adaptive": True, "batch": 1}
    for method in METHODS[1:]:
        options = {"horizon": 3, "batch": 3, "method": method, "adaptive": False}
        assert exponential_weights_eta(epsilon=1, delta=0.1, **options) == math.inf
        assert exponential_weights_delta(eta=math.inf, epsilon=0.0, **options) == 0.0
        assert exponential_weights_epsilon(eta=math.inf, delta=0.1, **options) == 0.0
    for call in (
        lambda: exponential_weights_delta(eta=math.inf, epsilon=1, horizon=2, method="zcdp"),
        lambda: exponential_weights_epsilon(eta=math.inf, delta=0.1, horizon=1, method="text"),
        lambda: exponential_weights_epsilon(eta=-1, delta=0.1, horizon=1, method="zcdp"),
    ):
        with pytest.raises(ValueError, match="eta must be"):
            call()


def expit(x):
    return 1 / (1 + mp.exp(-x))


@pytest.mark.parametrize("eta", [1e-12, 1e-5, 0.03, 0.4, 0.6, 4.0, 60.0])
@pytest.mark.parametrize("horizon", [2, 3, 9, 40])
def test_profiles_of_transcripts(eta, horizon):
    e, n = mp.mpf(eta), horizon - 1
    pure = mp.fsum(mp.log(expit(e * (1 - s)) / expit(-e * (1 + s))) for s in range(n))
    close(transcripts.pure_epsilon(eta=eta, horizon=horizon), pure)
    for share in (0.0, 0.1, 0.5):
        epsilon = share * float(e) * n
        two = mp.mpf(0)
        for i in range(n + 1):
            two += mp.binomial(n, i) * max(mp.exp((n - i) * e) - mp.exp(epsilon + i * e), 0) / (1 + mp.exp(e)) ** n
        close(transcripts.two_expert_profile(eta=eta, horizon=horizon, epsilon=epsilon), two, 1e-10)
        for k, m in ((2, 1), (7, 2), (1000, 900)):
            p, q = (m * w / (m * w + (k - m) / w) for w in (mp.exp(-e / 2), mp.exp(e / 2)))
            p, q = (1 / (1 + mp.mpf(k - m) / m * mp.exp(s * e)) for s in (1, -1))
            gain = mp.mpf(0)
            for i in range(n + 1):
                one, other = p**i * (1 - p) ** (n - i), q**i * (1 - q) ** (n - i)
                gain += mp.binomial(n, i) * max(one - mp.exp(mp.mpf(epsilon)) * other, 0)
            found = transcripts.subset_profile(n_experts=k, subset=m, eta=eta, horizon=horizon, epsilon=epsilon)
            if gain > mp.mpf(10) ** -280:
                close(found, gain, 1e-9)


@pytest.mark.parametrize("k", [2, 10, 10**6])
@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 5.0, 800.0])
def test_packing(epsilon, k):
    for horizon in (1, 2, 60):
        for delta in (0.0, 1e-3, 1e-12):
            expected = mp.mpf(0)
            for t in range(horizon):
                growth = mp.exp(mp.mpf(epsilon) * t)
                group = delta * (growth - 1) / mp.expm1(mp.mpf(epsilon))
                expected += max(0, 1 - (growth + (k - 1) * group) / (growth + k - 1))
            found = bounds.packing_total_regret(epsilon=epsilon, n_experts=k, horizon=horizon, delta=delta)
            close(found, expected, 1e-11)


def test_packing_over_very_long_horizons():
    for epsilon, k, horizon in (
        (1e-6, 50, 10**7),
        (1e-7, 10**18, 10**9),
        (1e-12, 3, 10**9),
        (3e-6, 2, 10**12),
        (1e-7, 10**18, 350_000_000),
    ):
        e = mp.mpf(epsilon)
        f = lambda t, e=e, k=k: (k - 1) / (k - 1 + mp.exp(e * t))  # noqa: E731
        area = (mp.log1p(k - 1) - mp.log1p((k - 1) * mp.exp(-e * horizon))) / e
        ends = f(0), f(horizon)
        slopes = [-e * p * (1 - p) for p in ends]
        expected = area + (ends[0] - ends[1]) / 2 + (slopes[1] - slopes[0]) / 12
        close(bounds.packing_total_regret(epsilon=epsilon, n_experts=k, horizon=horizon), expected, 1e-11)
    exact = bounds.packing_total_regret(epsilon=1e-5, n_experts=50, horizon=2_000_000, delta=1e-9)
    t = np.arange(2_000_000)
    group = 1e-9 * np.expm1(1e-5 * t) / math.expm1(1e-5)
    direct = np.maximum(0, 49 / (49 + np.exp(1e-5 * t)) * (1 - group)).sum()
    close(exact, direct, 1e-9)
    blocks = bounds.packing_total_regret(epsilon=1e-7, n_experts=50, horizon=10**9, delta=1e-12)
    without = bounds.packing_total_regret(epsilon=1e-7, n_experts=50, horizon=10**9)
    assert 0.5 * without < blocks < without


@pytest.mark.parametrize(("k", "eta", "horizon"), [(10, 1e-3, 100_000), (1000, 1e-3, 100_000), (10**6, 1e-4, 10**6)])
def test_the_logarithm_of_k_is_needed(k, eta, horizon):
    """One expert always right: exponential weights pays almost ln k / eta, so no smaller factor would do."""
    regret = bounds.packing_total_regret(epsilon=eta, n_experts=k, horizon=horizon)
    for version in bounds.VERSIONS:
        terms = bounds.regret_terms(eta=eta, n_experts=k, horizon=horizon, version=version)
        assert regret <= horizon * sum(terms.values())
        if version == "sharper":
            assert regret > 0.99 * (horizon * terms["comparator"]) * (1 - 1 / math.log(k) * 1e-2)
            assert regret > 0.98 * math.log(k) / eta > math.log(k - 1) / eta * 0.9
    # it is the regret of the learner itself
    losses = np.ones((30, min(k, 1000)))
    losses[:, 0] = 0.0
    learner = ExponentialWeights(losses.shape[1], 0.2)
    played = sum(1 - learner.probabilities(losses[:t].sum(axis=0))[0] for t in range(30))
    close(bounds.packing_total_regret(epsilon=0.2, n_experts=losses.shape[1], horizon=30), played)


def test_the_worst_tail_is_that_of_all_adversaries():
    def worst(eta, horizon, threshold, sums=(0, 0), played=0):
        """Over every choice of binary losses after every history."""
        if horizon == 0:
            return float(played - min(sums) > threshold)
        p = ExponentialWeights(2, eta).probabilities(sums)
        return max(
            sum(
                p[a] * worst(eta, horizon - 1, threshold, (sums[0] + row[0], sums[1] + row[1]), played + row[a])
                for a in (0, 1)
            )
            for row in itertools.product((0, 1), repeat=2)
        )

    for eta in (0.2, 1.5):
        for threshold in (-0.5, 0.0, 0.5, 1.0, 1.7, 3.0):
            close_to = worst(eta, 4, threshold)
            found = minimax.worst_tail(eta=eta, horizon=4, threshold=threshold)
            assert found == pytest.approx(close_to, rel=1e-12, abs=0)
    assert minimax.worst_tail(eta=0.3, horizon=3, threshold=3.0) == 0.0
    assert minimax.worst_tail(eta=0.3, horizon=3, threshold=-1.0) == 1.0
    # T = 200, beta = 0.05: the tail bound with eta/8
    eta = math.sqrt(8 * math.log(2) / 200)
    terms = bounds.regret_terms(eta=eta, n_experts=2, horizon=200, beta=0.05, version="sharper")
    tail = minimax.worst_tail(eta=eta, horizon=200, threshold=200 * sum(terms.values()))
    assert tail == pytest.approx(6.3330e-3, rel=1e-4, abs=0)
    # without the fluctuation, or with half of it, the bound is exceeded more often than beta
    expected = sum(value for name, value in terms.items() if name != "fluctuation")
    assert minimax.worst_tail(eta=eta, horizon=200, threshold=200 * (expected + terms["fluctuation"] / 4)) > 0.05


def test_a_fluctuation_without_the_batch_would_be_exceeded():
    """Two experts, B = 25 rounds a draw, one coin a batch: the sum of played losses spreads sqrt(B) times as far."""
    T, B, beta = 100, 25, 0.2
    losses = np.repeat(np.eye(2)[np.arange(T // B) % 2], B, axis=0)  # 0 and 1 lose in turn, batch by batch
    eta = 1e-6  # all draws are fair coins
    terms = bounds.regret_terms(
        eta=eta, n_experts=2, horizon=T, beta=beta, version="sharper", batch=B, regret_against="oblivious"
    )
    # played - expected is B (X - 2), X ~ Bin(4, 1/2)
    assert losses.sum(axis=0).tolist() == [50, 50]
    tail = {x: sum(math.comb(4, i) for i in range(5) if B * (i - 2) > x) / 16 for x in (T * terms["fluctuation"], 24)}
    assert tail[T * terms["fluctuation"]] <= beta
    narrow = T * terms["fluctuation"] / math.sqrt(B)
    assert sum(math.comb(4, i) for i in range(5) if B * (i - 2) > narrow) / 16 > beta
    close(terms["fluctuation"], mp.sqrt(25 * mp.log(5) / 200))


@pytest.mark.parametrize("epsilon", [0.2, 3.0, 200.0])
@pytest.mark.parametrize("limit_eta", [True, False])
def test_the_best_batch_is_the_best_of_all(epsilon, limit_eta):
    options = {"epsilon": epsilon, "delta": 1e-6, "n_experts": 5, "horizon": 90}
    table = {}
    for batch in range(1, 46):
        terms = bounds.private_terms(
            **options, method="zcdp_optimal", batch=batch, regret_against="oblivious", limit_eta=limit_eta
        )
        table[batch] = sum(terms.values())
    found = bounds.best_batch(**options, limit_eta=limit_eta)
    best = min(table, key=table.get)
    assert found == (best, table[best])
    if epsilon == 200.0:
        free = sum(bounds.no_privacy_terms(n_experts=5, horizon=90, version="sharper").values())
        assert (found[1] <= free * (1 + 1e-12)) is limit_eta
    matching = bounds.best_batch(**options, method="bounded_range", private_against="oblivious", limit_eta=limit_eta)
    assert matching[1] <= found[1] * (1 + 1e-9) or not limit_eta
    for call in (
        lambda: bounds.best_batch(**options, method="bounded_range"),
        lambda: bounds.private_terms(**options, batch=2),
        lambda: bounds.private_terms(**options, regret_against="fixed"),
        lambda: bounds.private_terms(**options, private_against=True),
        lambda: bounds.regret_terms(eta=1, n_experts=2, horizon=9, batch=2, version="sharper"),
    ):
        with pytest.raises(ValueError, match=r"adaptive must be False|regret_against must|private_against must"):
            call()


def test_smallest_horizon_with_ripples():
    def saw(T):  # falls like 1/T, with teeth of 5 %
        return 1 / T * (1 + 0.05 * (T % 10) / 9)

    for level in (0.3, 0.031, 0.0123, 0.0097):
        last_above = max(T for T in range(2, 1000) if saw(T) > level)
        assert bounds.smallest_horizon(saw, level, ripple=0.06) == last_above + 1

    def dip(T):  # falls like 1/T, with one lower value on a power of two, which bisection meets first
        return 0.9 / 16 if T == 16 else 1 / T

    assert bounds.smallest_horizon(dip, 0.0563, ripple=0.12) == 18
    assert bounds.smallest_horizon(dip, 0.0563) == 16
    for level in (0.5, 0.04, 0.01):
        assert bounds.smallest_horizon(lambda T: 1 / T, level) == math.ceil(1 / level)
    assert bounds.smallest_horizon(lambda T: 0.0, 1.0) == 2
    assert bounds.smallest_horizon(lambda T: 0.0, 1.0, ripple=0.1) == 2
    for bad in ({"level": math.nan}, {"level": 0.0}, {"level": 0.1, "ripple": -1}):
        with pytest.raises(ValueError, match="must be"):
            bounds.smallest_horizon(lambda T: 1 / T, **bad)


def test_private_terms_are_the_terms_at_the_private_rate():
    for method in ("text", "basic", "optimal", "zcdp", "zcdp_optimal", "bounded_range"):
        against = "oblivious" if method == "bounded_range" else "adaptive"
        options = {"epsilon": 0.7, "delta": 1e-4, "horizon": 80}
        eta = exponential_weights_eta(**options, method=method, adaptive=method != "bounded_range")
        for version, scale in (("printed", 1), ("sharper", 8)):
            found = bounds.private_terms(
                **options, n_experts=6, method=method, private_against=against, version=version, beta=0.3
            )
            tail = mp.sqrt(mp.log(1 / mp.mpf(0.3)) / 160)
            all_close(
                found, {"stability": eta / scale, "comparator": mp.log(6) / (eta * 80), "fluctuation": tail}, 1e-13
            )
