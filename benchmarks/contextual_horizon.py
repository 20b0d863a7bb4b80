"""Algorithm 1 on exact sums: time against horizon, dimension and number of contexts, and against single users.

All in one run of one process. Processor times, the best of a few repetitions; ratios are what to look at.
"""

import time
import tracemalloc

import numpy as np

from dpregret.contextual import (
    LPLR,
    ContextualProblem,
    CorrectedLPLR,
    InputPerturbation,
    LeastSquares,
    PerturbedStatistics,
    arc_problem,
    simulate,
    two_direction_problem,
)
from dpregret.contextual.elimination import epoch_lengths, first_epoch_scale

ORACLES = {
    "randomized response": CorrectedLPLR(alpha=1.0),
    "laplace": CorrectedLPLR("laplace", alpha=1.0),
    "printed": LPLR(alpha=1.0),
    "perturbed statistics": PerturbedStatistics(alpha=1.0),
    "input perturbation": InputPerturbation(alpha=1.0),
    "least squares": LeastSquares(),
}


def seconds(problem, oracle, horizon, repeats=3, **arguments) -> float:
    """The best time of a full run."""
    best = float("inf")
    for seed in range(repeats):
        start = time.process_time()
        simulate(oracle, problem, horizon=horizon, seed=seed, **arguments)
        best = min(best, time.process_time() - start)
    return best


def kibibytes(problem, oracle, horizon) -> float:
    """The largest allocation within a run."""
    tracemalloc.start()
    simulate(oracle, problem, horizon=horizon, seed=0)
    peak = tracemalloc.get_traced_memory()[1] / 1024
    tracemalloc.stop()
    return peak


def sphere_problem(dimension: int, n_contexts: int) -> ContextualProblem:
    """Two actions with features uniform on the sphere."""
    features = np.random.default_rng(0).normal(size=(n_contexts, 2, dimension))
    features /= np.linalg.norm(features, axis=2, keepdims=True)
    return ContextualProblem(features, np.full(n_contexts, 1 / n_contexts), np.eye(dimension)[0])


def main() -> None:
    problem = two_direction_problem(1e-3, "shared")
    horizons = (1e8, 1e12, 1e18)
    epochs = [len(epoch_lengths(int(T), first_epoch_scale(T, 2))) for T in horizons]
    print("A full run, two directions, d = 2; epochs:", ", ".join(map(str, epochs)))
    print(f"{'oracle':22s}" + "".join(f"{f'T = {T:.0e}':>13s}" for T in horizons) + f"{'ratio':>8s}{'an epoch':>10s}")
    for name, oracle in ORACLES.items():
        simulate(oracle, problem, horizon=1e4, seed=0)  # compile
        times = [seconds(problem, oracle, T) for T in horizons]
        shown = "".join(f"{t * 1e3:10.1f} ms" for t in times)
        each = [t / n for t, n in zip(times, epochs, strict=True)]
        print(f"{name:22s}{shown}{times[-1] / times[0]:7.1f}x{each[-1] / each[0]:9.1f}x")

    start = time.process_time()
    many = [two_direction_problem(r, "shared") for r in np.geomspace(1e-9, 1, 200)]
    simulate(ORACLES["randomized response"], many, horizon=1e18, seed=0)
    print(f"200 runs at T = 1e18 side by side: {(time.process_time() - start) / 200 * 1e3:.2f} ms a run")
    peaks = [kibibytes(problem, ORACLES["randomized response"], T) for T in horizons]
    print("largest allocation of a run, KiB, at these T: " + ", ".join(f"{peak:.0f}" for peak in peaks) + "\n")

    oracle = ORACLES["randomized response"]
    print("Growth, randomized response, T = 1e12, ms a run")
    for n_contexts in (2, 20, 200):
        print(f"  arc of {n_contexts:4d} contexts {seconds(arc_problem(n_contexts), oracle, 1e12) * 1e3:10.1f}")
    for dimension in (2, 3, 5, 8):
        sphere = sphere_problem(dimension, 200)
        print(f"  200 contexts, d = {dimension:2d} {seconds(sphere, oracle, 1e12, repeats=1) * 1e3:10.1f}")

    print("\nT = 1e6, against the same run user by user")
    for name, oracle in ORACLES.items():
        for label, instance in (("two directions", problem), ("arc of 20", arc_problem(20))):
            seconds(instance, oracle, 1e4, backend="per_user", repeats=1)  # compile
            fast = seconds(instance, oracle, 1e6)
            slow = seconds(instance, oracle, 1e6, backend="per_user", repeats=1)
            print(f"  {name:22s}{label:16s}{fast * 1e3:8.1f} ms {slow * 1e3:10.1f} ms {slow / fast:8.1f}x")


if __name__ == "__main__":
    main()
