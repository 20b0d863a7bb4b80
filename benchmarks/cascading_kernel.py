"""Rounds a second of the compiled kernel against the plain numpy loop of the same policy, side by side in one run."""

import time

from dpregret.cascading import CascadeUCB1, GaussianLDP, LaplaceLDP, kveton_problem, simulate

POLICIES = {
    "CascadeUCB1": CascadeUCB1(),
    "Laplace, x 0.01": LaplaceLDP(epsilon=0.2, noise_multiplier=0.01, bonus_multiplier=0.01),
    "Laplace, honest": LaplaceLDP(epsilon=0.2),
    "Gaussian, honest": GaussianLDP(epsilon=0.2, delta=1e-3),
}


def seconds_a_round(policy, backend: str, horizon: int, repeats: int) -> float:
    """The best of a few runs on one core, the 4 x 20 instance of the figures."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        simulate(
            policy, kveton_problem(), horizon=horizon, replicates=1, seed=0, checkpoints=[horizon], backend=backend
        )
        best = min(best, time.perf_counter() - start)
    return best / horizon


def main() -> None:
    print(f"{'policy':18s} {'compiled':>12s} {'numpy loop':>12s} {'ratio':>7s}")
    for name, policy in POLICIES.items():
        seconds_a_round(policy, "compiled", 10, 1)  # compile
        fast = seconds_a_round(policy, "compiled", 1_000_000, 3)
        slow = seconds_a_round(policy, "reference", 10_000, 3)
        print(f"{name:18s} {fast * 1e9:9.0f} ns {slow * 1e9:9.0f} ns {slow / fast:6.0f}x")


if __name__ == "__main__":
    main()
