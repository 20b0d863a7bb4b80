"""Rounds a second of compiled adaptive play against plain Python loops of the same game, on one core, in one run."""

import math
import random
import time

import numpy as np

from dpregret.experts import ExponentialWeights, LastActionPunishing, simulate


def compiled(horizon: int, eta: float) -> None:
    simulate(ExponentialWeights(2, eta), LastActionPunishing(), horizon=horizon, seed=np.random.default_rng(0))


def array_loop(horizon: int, eta: float) -> float:
    """The loop that one writes first: arrays of experts, one round a turn."""
    rng = np.random.default_rng(0)
    cumulative, played, last = np.zeros(2), 0.0, -1
    for _ in range(horizon):
        losses = np.zeros(2)
        if last >= 0:
            losses[last] = 1.0
        weights = np.exp(-eta * (cumulative - cumulative.min()))
        last = min(int(np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(), side="right")), 1)
        played += losses[last]
        cumulative += losses
    return played - cumulative.min()


def scalar_loop(horizon: int, eta: float) -> float:
    """The fastest that plain Python does: no arrays, the formula of two experts."""
    rng = random.Random(0)
    first = second = played = 0.0
    last = -1
    for _ in range(horizon):
        zero = 1.0 / (1.0 + math.exp(eta * (first - second)))
        action = 0 if rng.random() < zero else 1
        if last == action:
            played += 1.0
        if last == 0:
            first += 1.0
        elif last == 1:
            second += 1.0
        last = action
    return played - min(first, second)


def rate(function, horizon: int, repeats: int) -> float:
    """Rounds a second, the best of a few runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        function(horizon, 0.01)
        best = min(best, time.perf_counter() - start)
    return horizon / best


def main() -> None:
    compiled(10, 0.01)  # compile
    fast = rate(compiled, 5_000_000, 3)
    print(f"{'compiled':34s} {fast / 1e6:8.2f} M rounds/s")
    for name, function in (("plain loop, arrays", array_loop), ("plain loop, two experts by hand", scalar_loop)):
        slow = rate(function, 50_000, 3)
        print(f"{name:34s} {slow / 1e6:8.3f} M rounds/s   ratio {fast / slow:6.1f}")


if __name__ == "__main__":
    main()
