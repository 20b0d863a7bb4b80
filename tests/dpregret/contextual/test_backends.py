"""The exact backend has the law of the per-user backend: two-sample Kolmogorov-Smirnov tests.

All statistics of all configurations are tested together at a family-wise level of 1e-3 (Bonferroni; the seeds are
fixed, so the outcome is). With 1000 repetitions a distance of .11 between two laws is found in nine cases of ten.
"""

from functools import partial

import numpy as np
import pytest
from scipy.stats import ks_2samp

from dpregret.contextual import (
    LPLR,
    CorrectedLPLR,
    InputPerturbation,
    LeastSquares,
    PerturbedStatistics,
    arc_problem,
    kernels,
    simulate,
    two_direction_problem,
)
from dpregret.contextual.batch import Batch
from dpregret.contextual.per_user import PerUserBatch

REPETITIONS = 1000
TESTS = 400  # more than are made: the level of each is 1e-3 / TESTS
SHARED = two_direction_problem(0.6, "shared", parameter=(0.5, -0.7))


def batches(users, replicates):
    """An epoch of uniform play with a query, exact (replicates at once) and user by user."""
    problem = SHARED
    features = np.concatenate([problem.features.reshape(-1, 2), [[0.0, 0.9]]])
    means = np.append(problem.mean_rewards.ravel(), 0.0)
    law, actions = np.array([0.3, 0.2, 0.1, 0.4, 0.0]), np.array([0, 1, 0, 1, 1])
    label = (actions + 2 * np.arange(replicates)[:, None]).ravel()
    exact = Batch(
        np.tile(features, (replicates, 1)),
        label,
        np.tile(law, replicates),
        np.tile(means, replicates),
        users,
        horizon=1e4,
        instances=np.repeat(np.arange(replicates), 5),
    )
    return exact, PerUserBatch(features, actions, law, means, users, horizon=1e4)


def assert_one_law(exact, per_user):
    """Columns are statistics; one that takes a single value must do so in both. Returns the number of the others."""
    assert exact.shape[1] == per_user.shape[1]
    tested = 0
    for column in range(exact.shape[1]):
        a, b = exact[:, column], per_user[:, column]
        if np.ptp(a) == 0 or np.ptp(b) == 0:
            np.testing.assert_allclose(a[: len(b)], b[: len(a)], atol=1e-9)
        else:
            assert ks_2samp(a, b, method="asymp").pvalue > 1e-3 / TESTS, column
            tested += 1
    return tested


ORACLES = {
    # scaled so that trees grow at a few hundred users, and every branch is taken in some repetitions
    "randomized response": (partial(CorrectedLPLR, width_scale=0.02), 800),
    "laplace": (partial(CorrectedLPLR, "laplace", width_scale=0.01), 400),
    "printed": (partial(LPLR, "none", kappa_scale=(1e-4, 1e-4, 1e-5, 1e-5)), 400),
    "printed, L8": (partial(LPLR, {"L8"}, kappa_scale=(1e-5, 1e-5, 1e-6, 1e-6)), 400),
    "corrected": (partial(LPLR, "all", kappa_scale=(1e-5, 1e-5, 1e-6, 1e-6)), 400),
    "statistics": (PerturbedStatistics, 400),
    "inputs": (InputPerturbation, 400),
    "least squares": (lambda alpha: LeastSquares(), 400),
}


@pytest.mark.parametrize("name", ORACLES)
def test_one_law_of_the_estimates(name):
    """Values and widths at five rows: ten statistics an oracle and more, for two privacy levels."""
    make, users = ORACLES[name]
    for alpha, delta in ((1.0, 0.2), (0.5, 0.9)):
        oracle = make(alpha=alpha)
        exact, single = batches(users, REPETITIONS)
        estimate = oracle.fit(exact, delta=delta, rng=np.random.default_rng(1))
        drawn = [x.reshape(REPETITIONS, 5) for x in (estimate.values, estimate.widths)] + moments(estimate)
        drawn = np.concatenate(drawn, axis=1)
        rng = np.random.default_rng(2)
        fits = [oracle.fit(single, delta=delta, rng=rng) for _ in range(REPETITIONS // 2)]
        singles = [np.concatenate([fit.values, fit.widths, *(x[0] for x in moments(fit))]) for fit in fits]
        assert assert_one_law(drawn, np.array(singles)) >= 4


def moments(estimate):
    """Eigenvalues of the estimated second moments, where the oracle has no partition: rigorous bands are wide."""
    return [estimate.details["eigenvalues"].reshape(-1, 4)] if isinstance(estimate.details, dict) else []


def test_one_law_of_the_sums():
    """Every kind of sum, 24 statistics, at a number of users that is no round figure."""
    users, slots = 77, np.array([0, 1, 0, 1, -1])
    values = np.linspace(-1, 1, 30).reshape(3, 5, 2)
    records = np.linspace(-0.7, 1, 20).reshape(5, 2, 2)

    def all_sums(batch, rng, slots, n_slots):
        batch.restart()
        bits = batch.bit_sums(rng, 20, values if n_slots == 2 else wide, slots, n_slots, 0.4)
        batch.restart()
        sums = batch.record_sums(rng, users, records if n_slots == 2 else wide_records, slots, n_slots)
        laplace = batch.laplace_sums(rng, users, np.full((n_slots, 2), 0.3))
        wishart = batch.wishart_sums(rng, users, n_slots, 3, 1.5)
        return bits, sums, laplace, wishart

    exact, single = batches(users, REPETITIONS)
    wide, wide_records = np.tile(values, (1, REPETITIONS, 1)), np.tile(records, (REPETITIONS, 1, 1))
    shift = 2 * np.repeat(np.arange(REPETITIONS), 5)
    wide_slots = np.where(np.tile(slots, REPETITIONS) < 0, -1, np.tile(slots, REPETITIONS) + shift)
    bits, sums, laplace, wishart = all_sums(exact, np.random.default_rng(3), wide_slots, 2 * REPETITIONS)
    a = np.concatenate(
        [bits.reshape(3, REPETITIONS, 2).transpose(1, 0, 2).reshape(REPETITIONS, -1)]
        + [x.reshape(REPETITIONS, -1) for x in (sums, laplace, wishart)],
        axis=1,
    )
    rng = np.random.default_rng(4)
    b = [np.concatenate([x.ravel() for x in all_sums(single, rng, slots, 2)]) for _ in range(REPETITIONS)]
    assert_one_law(a, np.array(b))


@pytest.mark.parametrize(
    "problem, oracle",
    [
        (SHARED, CorrectedLPLR(alpha=1.0, width_scale=0.05)),
        (SHARED, CorrectedLPLR("laplace", alpha=1.0, width_scale=0.02)),
        (two_direction_problem(0.25), LeastSquares()),
        (
            arc_problem(3, half_angle=1.0, parameter=(-0.4, 0.8)),
            LPLR("all", alpha=1.0, kappa_scale=(1e-5, 1e-5, 1e-6, 1e-6)),
        ),
    ],
)
def test_one_law_of_whole_runs(problem, oracle):
    """Regret, survivors and widths of the epochs of a run of Algorithm 1."""
    arguments = dict(horizon=8000, n_0=200, delta=0.3)

    def statistics(found):
        parts = found.regret, found.surviving[:, 1:], found.width[:, :-1], found.left.sum("action")
        return np.column_stack([part.values for part in parts])

    exact = simulate(oracle, problem, replicates=REPETITIONS, seed=1, **arguments)
    single = simulate(oracle, problem, replicates=200, seed=2, backend="per_user", **arguments)
    assert assert_one_law(statistics(exact), statistics(single)) >= 4


def test_large_sums_of_input_perturbation_have_their_moments():
    """Above 4095 users: means and covariances of the released moments against the loops; 3000 runs, 5 sigma."""
    users, n = 4096, 3000
    exact, single = batches(users, n)
    second, cross = exact.input_sums(np.random.default_rng(5), users, 1.5)
    a = np.concatenate([second.reshape(n, 2, 4), cross.reshape(n, 2, 2)], axis=2).reshape(n, -1)
    b = []
    rng = np.random.default_rng(6)
    for _ in range(300):
        single.restart()
        second, cross = single.input_sums(rng, users, 1.5)
        b.append(np.concatenate([second.reshape(2, 4), cross], axis=1).ravel())
    assert_one_law(a, np.array(b))
    phi, law, means = single.features[[0, 2]], single.probabilities[[0, 2]], single.means[[0, 2]]
    np.testing.assert_allclose(
        a[:, :4].mean(axis=0),
        users * np.einsum("i,ij,ik->jk", law, phi, phi).ravel(),
        atol=5 * a[:, 0].std() / np.sqrt(n),
    )
    np.testing.assert_allclose(a[:, 4:6].mean(axis=0), users * (law * means) @ phi, atol=5 * a[:, 4].std() / np.sqrt(n))


def test_kernel_of_the_records_follows_the_law():
    """Frequencies of the drawn cells: chi-square with 3 degrees of freedom below its 1 - 1e-6 quantile."""
    law = np.array([0.1, 0.2, 0.3, 0.4])
    counts = np.bincount(kernels.draw_records(np.random.default_rng(0), 100_000, np.cumsum(law)), minlength=4)
    assert (((counts - 1e5 * law) ** 2) / (1e5 * law)).sum() < 30.7
