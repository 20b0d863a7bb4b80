"""The bound on the regret of corrected LPLR against its formula in the book, written out again with mpmath."""

import math

import mpmath as mp
import pytest

from dpregret.contextual import CorrectedLPLR, simulate, two_direction_problem
from evidence.contextual.bounds import corrected_lplr_bound

GROUPS = {1: 2, 2: 8, 3: 18}  # one for each coordinate of l and L on each layer, one for the carried error
COORDINATES = {1: [2], 2: [5, 3], 3: [9, 6, 3]}  # tested a bin, the carried error included


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(("alpha", "actions"), [(1.0, 2), (0.3, 5)])
def test_bound_of_corrected_lplr_is_the_formula_of_the_book(d, alpha, actions):
    T, n_0 = 10**60, 12345
    M = int(mp.ceil(mp.log(T) / 2))
    N = sum(M ** (h + 1) * size for h, size in enumerate(COORDINATES[d]))
    H = 12 * mp.e**2 * d**2 / mp.tanh(mp.mpf(alpha) / 2) * mp.sqrt(4 * GROUPS[d] * mp.log(2 * N * mp.mpf(T) ** 2))
    H *= sum(mp.mpf(M) ** h * (1 + 2 * mp.e**2 * d) ** (d - h) for h in range(1, d + 1))
    exact = 2 * (2 * n_0) + 2 * actions**2 * (1 + 6 * H) * mp.sqrt(T) + 2 * actions
    assert exact < 2 * T
    found = corrected_lplr_bound(T, d, actions, alpha=alpha, n_0=n_0)
    assert found == pytest.approx(float(exact), rel=1e-12, abs=0)


def test_bound_of_corrected_lplr_is_never_above_that_of_any_play():
    assert corrected_lplr_bound(10**8, 2, 2, alpha=1.0, n_0=10) == 2e8


def test_first_epoch_enters_the_bound_with_two_a_round():
    one, other = (corrected_lplr_bound(10**40, 1, 2, alpha=1.0, n_0=n) for n in (10**36, 10**37))
    assert other - one == pytest.approx(4 * 9e36, rel=1e-9, abs=0)


def test_a_run_stays_below_the_bound():
    T, n_0 = 10**22, 10**10
    result = simulate(CorrectedLPLR(alpha=1.0), two_direction_problem(1e-3), horizon=T, n_0=n_0, seed=1)
    bound = corrected_lplr_bound(T, 2, 2, alpha=1.0, n_0=n_0)
    assert result.regret < bound < 2 * T and math.isfinite(bound)
