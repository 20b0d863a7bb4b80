"""Ball arithmetic: what it prints encloses, and the cascading numbers on which refutations rest, against mpmath."""

import math
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.cascading import bounds, early_failure, enclosures, lemmas
from evidence.report.enclosure import ball, bracket, precision, proves, show

mpmath.mp.dps = 50
ONE_ITEM = SimpleNamespace(means=np.array([1.0, 0.0]), list_length=1)
BLB = SimpleNamespace(means=np.r_[np.full(16, 0.05), np.full(4, 0.2)], list_length=4)


def contains(x, value):
    """Whether a ball holds an mpmath number, whose own error is far smaller than the ball's or than 1e-40."""
    value = mpmath.mpf(value)
    low, high = (mpmath.mpf(int(m)) * mpmath.mpf(2) ** int(e) for m, e in (x.lower().man_exp(), x.upper().man_exp()))
    slack = abs(value) * mpmath.mpf(10) ** -40
    return low - slack <= value <= high + slack


# --- printing


@given(st.fractions(-1000, 1000), st.integers(1, 12), st.integers(-20, 20))
def test_brackets_enclose_and_are_one_unit_apart(x, digits, power):
    x = x * Fraction(10) ** power
    with precision(60):
        low, high = (Fraction(end) for end in bracket(ball(x), digits))
    assert low <= x <= high
    if x:
        exponent = math.floor(math.log10(abs(x)) + 1e-12)
        assert high - low <= 2 * Fraction(10) ** (exponent + 1 - digits + 1)


def test_a_ball_is_shown_by_the_digits_that_it_decides():
    with precision(30):
        assert show(ball(2).sqrt(), 8) == "1.4142136"
        assert show(-ball(2).sqrt(), 8) == "-1.4142136"
        assert show(ball(200)) == "200" and show(ball(0)) == "0" and show(ball(5), 3) == "5"
        assert show(ball(10) ** 20 / 3, 3) == "3.33e+19"
        assert show(ball(10) ** -20 / 3, 3) == "3.33e-21"
        assert show(ball("0.1") + flint.arb(0, 1e-3), 3) == "[0.0989, 0.102]"
        assert bracket(ball(1) / 3, 4) == ("0.3333", "0.3334") and bracket(-ball(1) / 3, 4) == ("-0.3334", "-0.3333")
        assert bracket(ball(5), 4) == ("5", "5")
        with pytest.raises(ValueError, match="finite ball"):
            bracket(ball(1) / ball(0))


def test_balls_hold_what_they_are_given():
    with precision(40):
        assert ball("0.1").contains(ball("0.1")) and not proves(ball("0.1") < ball(Fraction(1, 10)))
        assert contains(ball("0.1"), mpmath.mpf(1) / 10) and not contains(ball("0.1"), mpmath.mpf(0.1))
        assert contains(ball(0.1), mpmath.mpf(0.1)) and contains(ball(Decimal("0.25")), 0.25)
        assert proves(ball(1) / 3 < ball("0.3334")) and not proves(ball(1) / 3 < ball("0.3333"))
    for bad in (True, None, math.nan, math.inf, [1], np.float64("nan")):
        with pytest.raises(ValueError, match="x must be"):
            ball(bad)
    with pytest.raises(ValueError, match="statement must be a comparison"):
        proves(1.0)
    before = flint.ctx.prec
    with pytest.raises(RuntimeError), precision(100):
        assert flint.ctx.dps == 100
        raise RuntimeError
    assert flint.ctx.prec == before


# --- numbers of the cascading part


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("y", ["0", "0.3", "15", "200"])
def test_laplace_sum_tail(n, y):
    """Independent: the positive part of a difference of gamma variables, as an integral over one of them."""
    with precision(40):
        tail = enclosures.laplace_sum_tail(y, n=n)
        closed = {1: lambda v: mpmath.exp(-v) / 2, 2: lambda v: (2 + v) / 4 * mpmath.exp(-v)}
        value = mpmath.mpf(y)
        if n in closed:
            assert contains(tail, closed[n](value))
        else:  # the characteristic function has a pole of order n at i: density K_{n-1/2}, tail by quadrature

            def density(x):
                x = max(x, mpmath.mpf(10) ** -30)
                return (x / 2) ** (n - 0.5) * mpmath.besselk(n - mpmath.mpf(1) / 2, x) / mpmath.sqrt(mpmath.pi)

            with mpmath.workdps(25):
                points = [value + k for k in (0, 1, 3, 6, 10, 15, 22, 32, 50, 80, 140)]
                exact = mpmath.quad(density, points) / mpmath.gamma(n)
            assert abs(mpmath.mpf(str(tail.mid().str(30, radius=False))) / exact - 1) < mpmath.mpf(10) ** -10
        assert float(tail) == pytest.approx(lemmas.laplace_sum_tail(float(y), n=n), rel=1e-12, abs=0)


@pytest.mark.parametrize("n", [200, 10_000])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 3.0])
def test_the_floating_point_tail_to_the_stated_accuracy(n, share):
    if n > 200 and share != 0.02:
        return  # one of them is enough, they take a second each
    y = share * n
    with precision(60):
        exact = enclosures.laplace_sum_tail(y, n=n).log()
    got = lemmas.laplace_sum_log_tail(y, n=n)
    assert abs(got - float(exact)) <= (1e-12 if n == 200 else 1e-10) * max(1.0, abs(float(exact)))


def test_index_failure():
    with precision(30):
        for raw, value in ((True, 0.0021616250550350533), (False, 0.010835027472237434)):
            u = enclosures.index_failure(raw=raw)
            assert float(u.upper()) == pytest.approx(value, rel=1e-6) == early_failure.index_failure(raw)
            assert float(u.upper()) >= early_failure.index_failure(raw) * (1 - 1e-13)
            assert proves(enclosures.index_failure(raw=raw, terms=60) > enclosures.laplace_sum_tail("0", n=1) / 10**6)
            more = enclosures.index_failure(raw=raw, terms=300)
            assert more.overlaps(u) and proves(more.rad() < u.rad())
        assert proves(enclosures.index_failure(raw=True) < ball("0.0023"))  # as the book states it


@pytest.mark.parametrize(("initial", "log10_t"), [("raw", {"0.2": "33.6", "1": "42.6"}), ("none", {"0.2": "21.1"})])
def test_theorem_4_is_refuted_beyond_some_horizon(initial, log10_t):
    with precision(40):
        for epsilon, crossing in log10_t.items():
            for factor, above in (("0.99", False), ("1.01", True)):
                log_t = ball(crossing) * ball(factor) * ball(10).log()
                excess = enclosures.early_failure_excess(ONE_ITEM, log_horizon=log_t, epsilon=epsilon, initial=initial)
                assert proves(excess > 0) == above and proves(excess < 0) != above
                horizon = float(log_t)
                lower = bounds.early_failure_log_lower_bound(
                    ONE_ITEM, log_horizon=horizon, epsilon=float(epsilon), initial=initial
                )
                upper = math.log(bounds.theorem_4(ONE_ITEM, horizon=math.exp(horizon), epsilon=float(epsilon)))
                assert float(excess) == pytest.approx(lower - upper, abs=2e-4)
        log_t = 100 * ball(10).log()
        assert proves(enclosures.early_failure_excess(BLB, log_horizon=log_t, epsilon="0.2") > 0)


@pytest.mark.parametrize("delta", ["0.001", "0.00001"])
@pytest.mark.parametrize("epsilon", ["0.1", "2", "7.4", "8", "20"])
def test_lemma_3(epsilon, delta):
    e, d = mpmath.mpf(epsilon), mpmath.mpf(delta)
    k = mpmath.sqrt(2 * mpmath.log(mpmath.mpf("1.25") / d))
    exact = mpmath.ncdf(e / (2 * k) - k) - mpmath.exp(e) * mpmath.ncdf(-e / (2 * k) - k)
    with precision(60):
        found = enclosures.lemma_3_delta(epsilon=epsilon, delta=delta)
        assert abs(float(found) / float(exact) - 1) < 1e-14
        assert proves(found > ball(delta)) == (exact > d)
    assert lemmas.lemma_3_delta(epsilon=float(epsilon), delta=float(delta)) == pytest.approx(
        float(exact), rel=1e-12, abs=0
    )


def test_calibrations_constants_and_divergences():
    with precision(40):
        for k in (1, 4, 16, 21, 22, 30, 31, 40):
            for epsilon in ("0.2", "2"):
                excess = enclosures.composition_excess(k, epsilon=epsilon, delta="0.001")
                assert contains(excess, 4 * mpmath.log(mpmath.e + mpmath.mpf(epsilon) * 1000) - k)
        assert contains(enclosures.lemma_1_constant(), 4 / mpmath.log(2) ** mpmath.mpf("1.5"))
        assert float(enclosures.lemma_1_constant()) == pytest.approx(lemmas.LEMMA_1_CONSTANT, rel=1e-15, abs=0)
        for q, r in (("0.05", "0.2"), ("0", "0.3"), ("1", "0.3"), ("0.5", "0.5000001")):
            a, b = mpmath.mpf(q), mpmath.mpf(r)
            exact = sum(x * mpmath.log(x / y) for x, y in ((a, b), (1 - a, 1 - b)) if x)
            assert contains(enclosures.bernoulli_kl(q, r), exact)
        for xi, threshold in (("0.1", 63.755), ("1", 2.268)):
            for factor in (0.99, 1.01):
                step = enclosures.theorem_2_excess(xi, log_b=factor * threshold)
                assert proves(step > 0) == (factor > 1) and proves(step < 0) == (factor < 1)
            exact = mpmath.mpf(xi) * 7 - mpmath.mpf("1.5") * mpmath.log((1 + mpmath.mpf(xi)) * 7)
            assert contains(enclosures.theorem_2_excess(xi, log_b=7), exact)


def test_the_constants_of_theorem_4():
    """At the stated epsilon the corrected constant is smaller for every K, at the epsilon in force it is not."""
    with precision(40):
        for k in (1, 2, 4, 16, 200):
            supremum = Fraction(1)
            for _ in range(min(k, 12) - 1):
                supremum = 1 + supremum**2 / 4
            for epsilon in ("0.2", "2", "2.41", "100"):
                b = mpmath.mpf(k) / mpmath.mpf(epsilon)
                r, s, t = mpmath.sqrt("1.5"), mpmath.sqrt(24), mpmath.sqrt(12)
                exact = {"printed": 4 * (r + b * s) ** 2, "proof": 8 * (r + b * s) ** 2, "closed": 8 * (r + b * t) ** 2}
                if k <= 12:
                    value = mpmath.mpf(supremum.numerator) / supremum.denominator
                    exact["corrected"] = 4 * value * (r + b * t) ** 2
                for version, value in exact.items():
                    assert contains(enclosures.theorem_4_constant(k, epsilon=epsilon, version=version), value)
                    got = bounds.theorem_4_constant(k, epsilon=float(epsilon), version=version)
                    assert got == pytest.approx(float(value), rel=1e-13, abs=0)
                printed = enclosures.theorem_4_constant(k, epsilon=epsilon)
                corrected = enclosures.theorem_4_constant(k, epsilon=epsilon, version="corrected")
                assert proves(corrected < printed) == (float(b) > bounds.theorem_4_threshold(k))
                assert proves(enclosures.theorem_4_constant(k, epsilon=epsilon, version="closed") > printed)
    assert bounds.theorem_4_threshold(4) == pytest.approx(0.3927092, rel=1e-7, abs=0)
    assert all(bounds.theorem_4_threshold(k) <= (math.sqrt(2) - 1) * (k + 2) / 3 for k in range(1, 3000, 7))


@pytest.mark.parametrize("bad", [{"n": 0, "y": 1}, {"n": 2, "y": -1}])
def test_bad_input_is_refused(bad):
    with pytest.raises(ValueError, match="must be"):
        enclosures.laplace_sum_tail(bad["y"], n=bad["n"])
    with pytest.raises(ValueError, match="version must be one of"):
        enclosures.theorem_4_constant(2, epsilon="1", version="mine")
