"""Regret bounds as terms: the displayed forms, the table of learning rates, horizons and the packing bound."""

import math

import numpy as np
import pytest

from dpregret.experts import exponential_weights_eta
from dpregret.experts.calibration import text_caps
from evidence.experts import bounds

PRIVATE = {"epsilon": 1.0, "delta": 1e-6}


def total(terms):
    return sum(terms.values())


def test_displayed_bounds():
    eta = exponential_weights_eta(**PRIVATE, horizon=1000, method="text")
    assert total(bounds.regret_terms(eta=eta, n_experts=10, horizon=1000)) == pytest.approx(
        1.532500300312694636815, rel=1e-14, abs=0
    )
    assert total(bounds.no_privacy_terms(n_experts=7, horizon=500)) == pytest.approx(
        2 * math.sqrt(math.log(7) / 500), rel=1e-14, abs=0
    )
    assert total(bounds.no_privacy_terms(n_experts=7, horizon=500, version="sharper")) == pytest.approx(
        math.sqrt(math.log(7) / 1000), rel=1e-14, abs=0
    )
    with_tail = bounds.no_privacy_terms(n_experts=7, horizon=500, beta=0.01)
    assert list(with_tail) == ["stability", "comparator", "fluctuation"]
    assert with_tail["fluctuation"] == pytest.approx(math.sqrt(math.log(100) / 1000), rel=1e-14, abs=0)
    assert total(bounds.regret_terms(eta=2, n_experts=1, horizon=5, beta=0.1)) == 0.0


@pytest.mark.parametrize("epsilon", [0.1, 1, 20, 100, 1000])
@pytest.mark.parametrize("horizon", [1, 20, 1000])
def test_the_capped_form_is_the_bound_at_the_text_rate(epsilon, horizon):
    options = {"epsilon": epsilon, "delta": 1e-3, "horizon": horizon}
    eta = exponential_weights_eta(**options, method="text")
    capped = bounds.capped_terms(**options, n_experts=4, beta=0.1)
    plain = bounds.regret_terms(eta=eta, n_experts=4, horizon=horizon, beta=0.1)
    assert capped == pytest.approx(plain, rel=1e-13, abs=0)
    limit = bounds.first_cap_limit(delta=1e-3, horizon=horizon)
    assert (np.argmin(text_caps(**options)) == 0) == (epsilon <= limit)
    if epsilon <= limit:
        assert bounds.first_cap_terms(**options, n_experts=4, beta=0.1) == pytest.approx(capped, rel=1e-13, abs=0)
    else:
        with pytest.raises(ValueError, match="epsilon must be"):
            bounds.first_cap_terms(**options, n_experts=4, beta=0.1)


def test_regimes_of_the_caps():
    log = math.log(1e3)
    few, many = 3, 100  # L >= 2 T, L < 2 T

    def cap(epsilon, horizon):
        return np.argmin(text_caps(epsilon=epsilon, delta=1e-3, horizon=horizon)) + 1

    assert [cap(x * math.sqrt(8 * few * log), few) for x in (0.5, 0.999, 1.001, 100)] == [1, 1, 2, 2]
    assert [cap(x, many) for x in (log, 1.999 * log, 2.001 * log, 3.99 * many, 4.01 * many)] == [1, 1, 3, 3, 2]
    horizon = log / 2  # all three meet at eps = 4 T
    assert len({round(c, 12) for c in _caps(4 * horizon, log, horizon)}) == 1


def _caps(epsilon, log, horizon):
    return epsilon / math.sqrt(32 * horizon * log), 0.5, math.sqrt(epsilon / (16 * horizon))


TABLE = [
    (1_000, 2, 1.0, (0.46238, 0.11795, 0.09347, 0.05334, 6, 0.01862)),
    (10_000, 10, 1.0, (0.48462, 0.12342, 0.09757, 0.04153, 11, 0.01073)),
    (10_000, 10, 0.1, (4.8415, 1.2125, 0.83593, 0.12225, 100, 0.01073)),
    (100_000, 100, 1.0, (0.30635, 0.07798, None, 0.02208, 16, 0.00480)),
]


@pytest.mark.parametrize(("horizon", "k", "epsilon", "row"), TABLE)
def test_table_of_provable_regret(horizon, k, epsilon, row):
    text, zcdp, exact, batched, batch, free = row
    options = {"epsilon": epsilon, "delta": 1e-6, "n_experts": k, "horizon": horizon}
    assert total(bounds.capped_terms(**options)) == pytest.approx(text, abs=6e-5)
    assert total(bounds.private_terms(**options)) == pytest.approx(zcdp, abs=6e-5)
    if exact is not None:
        found = total(bounds.private_terms(**options, method="bounded_range", private_against="oblivious"))
        assert found == pytest.approx(exact, abs=6e-6)
    found_batch, found = bounds.best_batch(**options)
    assert found_batch == batch
    assert found == pytest.approx(batched, abs=6e-5)
    n = -(-horizon // batch)  # the looser form with B^2 N in place of the sum of squares is the table's
    eta = exponential_weights_eta(epsilon=epsilon, delta=1e-6, horizon=horizon, method="zcdp_optimal", batch=batch)
    assert math.log(k) / (eta * horizon) + eta * batch**2 * n / (8 * horizon) == pytest.approx(batched, abs=6e-6)
    assert total(bounds.no_privacy_terms(n_experts=k, horizon=horizon, version="sharper")) == pytest.approx(
        free, abs=6e-6
    )


def test_smallest_horizons():
    options = {**PRIVATE, "n_experts": 10}

    def needed(terms, **more):
        return bounds.smallest_horizon(lambda T: total(terms(**options, **more, horizon=T)), 0.1)

    assert needed(bounds.capped_terms) == 234_856
    assert needed(bounds.private_terms) == 15_232
    assert needed(bounds.private_terms, method="zcdp_optimal") == 10_941
    exact = {"method": "bounded_range", "private_against": "oblivious"}
    assert total(bounds.private_terms(**options, **exact, horizon=9_519)) <= 0.1
    assert total(bounds.private_terms(**options, **exact, horizon=9_518)) > 0.1


def test_the_private_rate_ignores_the_best_one():
    options = {"delta": 1e-6, "n_experts": 2, "horizon": 50}
    rising = [total(bounds.private_terms(epsilon=e, **options)) for e in (10, 100, 1000)]
    assert rising[2] > rising[0]
    limited = [total(bounds.private_terms(epsilon=e, **options, limit_eta=True)) for e in (1, 10, 100, 1000)]
    assert all(np.diff(limited) <= 0)
    one_draw = bounds.private_terms(epsilon=1, delta=1e-6, n_experts=2, horizon=1)
    assert one_draw == pytest.approx(
        bounds.no_privacy_terms(n_experts=2, horizon=1, version="sharper"), rel=1e-6, abs=0
    )
    assert total(bounds.private_terms(epsilon=1, delta=1e-6, n_experts=1, horizon=1)) == 0.0
    assert limited[-1] == pytest.approx(
        total(bounds.no_privacy_terms(n_experts=2, horizon=50, version="sharper")), rel=1e-6, abs=0
    )


def test_packing_bound():
    direct = sum(9 / (9 + math.exp(0.3 * t)) for t in range(200))
    assert bounds.packing_total_regret(epsilon=0.3, n_experts=10, horizon=200) == pytest.approx(
        direct, rel=1e-13, abs=0
    )
    assert bounds.packing_total_regret(epsilon=0.3, n_experts=10, horizon=10**9) == pytest.approx(
        direct, rel=1e-13, abs=0
    )
    assert bounds.packing_total_regret(epsilon=1, n_experts=10, horizon=3) == pytest.approx(
        sum(9 / (9 + math.exp(t)) for t in range(3)), rel=1e-14, abs=0
    )
    approximate = [bounds.packing_total_regret(epsilon=0.3, n_experts=10, horizon=200, delta=d) for d in (1e-3, 1e-9)]
    assert approximate[0] < approximate[1] < direct
    assert bounds.packing_total_regret(epsilon=1, n_experts=1, horizon=9) == 0.0
    assert bounds.packing_total_regret(epsilon=800, n_experts=2, horizon=5, delta=1e-6) == pytest.approx(
        0.5, rel=1e-6, abs=0
    )
    # no private upper bound is below it
    for epsilon in (0.01, 1.0):
        upper = total(bounds.private_terms(epsilon=epsilon, delta=1e-9, n_experts=10, horizon=500, method="basic"))
        assert bounds.packing_total_regret(epsilon=epsilon, n_experts=10, horizon=500) <= 500 * upper


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.regret_terms(eta=0, n_experts=2, horizon=5), "eta must be .* got 0"),
        (lambda: bounds.regret_terms(eta=1, n_experts=0, horizon=5), "n_experts must be .* got 0"),
        (lambda: bounds.regret_terms(eta=1, n_experts=2, horizon=5, beta=1.0), "beta must be .* got 1.0"),
        (lambda: bounds.regret_terms(eta=1, n_experts=2, horizon=5, batch=2), "batch must be 1"),
        (lambda: bounds.best_eta(n_experts=1, horizon=5), "n_experts must be .* >= 2, got 1"),
        (lambda: bounds.capped_terms(epsilon=1, delta=1, n_experts=2, horizon=5), "delta must be .* got 1"),
        (lambda: bounds.packing_total_regret(epsilon=-1, n_experts=2, horizon=5), "epsilon must be .* got -1"),
        (lambda: text_caps(epsilon=1, delta=0.1, horizon=2.5), "horizon must be .* got 2.5"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
