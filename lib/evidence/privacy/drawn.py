"""The privacy of the code that runs: a mechanism is driven with chosen draws, and its law is read off its outputs.

Nothing here knows a mechanism's formula. Additive noise is made visible one draw at a time, a choice by every outcome
of its generator, so that noise of half the scale, a value that leaks or a draw that is used twice shows in the number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dpregret import _checks
from dpregret.privacy.audit import exact_epsilon

Release = Callable[[np.ndarray, Any], Any]


class Draws:
    """A generator that hands out chosen units: draw number j (over all calls) is ``units[j]``, 0 beyond their end.

    ``laplace`` and ``normal`` multiply by the scale that they are asked for, as numpy does. A sign that is drawn by
    ``random() < 0.5`` is positive while `positive`.
    """

    def __init__(self, units: Sequence[float] = (), positive: bool = True) -> None:
        self.units, self.positive, self.drawn, self.kinds = units, positive, 0, set()

    def _take(self, kind: str, size: Any) -> Any:
        self.kinds.add(kind)
        shape = () if size is None else (size,) if np.ndim(size) == 0 else tuple(size)
        out = np.zeros(int(np.prod(shape)))
        for place in range(out.size):
            if self.drawn < len(self.units):
                out[place] = self.units[self.drawn]
            self.drawn += 1
        return float(out[0]) if size is None else out.reshape(shape)

    def laplace(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        """``loc + scale`` times the next unit draws."""
        return loc + scale * self._take("laplace", size)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        """``loc + scale`` times the next unit draws."""
        return loc + scale * self._take("normal", size)

    def standard_normal(self, size: Any = None) -> Any:
        """The next unit draws."""
        return self._take("normal", size)

    def standard_exponential(self, size: Any = None) -> Any:
        """The next unit draws."""
        return self._take("exponential", size)

    def random(self, size: Any = None) -> Any:
        """Numbers next to 1/2, below it if a positive sign is asked for."""
        half = np.nextafter(0.5, 0.0) if self.positive else 0.5
        return half if size is None else np.full(size, half)


def _units(release: Release, values: Any, moves: Iterable[Any], kind: str) -> list[np.ndarray]:
    """For each move of the values, the shift of the unit draws that hides it; infinite where none does."""
    values = _checks.array("values", values)

    def run(at: np.ndarray, draws: Draws) -> np.ndarray:
        return np.asarray(release(at, draws), dtype=float).ravel()

    silent = Draws()
    start = run(values, silent)
    n_draws = silent.drawn
    columns = [run(values, Draws(unit)) - start for unit in np.eye(n_draws)]
    allowed = {"laplace": {"laplace", "exponential"}, "normal": {"normal"}}[kind]
    if not silent.kinds <= allowed:
        raise ValueError(f"release must draw {kind} noise, got {sorted(silent.kinds)}")
    if "exponential" in silent.kinds:  # with a fair sign it is Laplace noise
        for unit, column in zip(np.eye(n_draws), columns, strict=True):
            if not np.allclose(run(values, Draws(unit, positive=False)) - start, -column, rtol=1e-12, atol=0.0):
                raise ValueError("release must give exponential noise a fair sign")
    matrix = np.array(columns).reshape(n_draws, start.size).T
    found = []
    for move in moves:
        change = run(values + move, Draws()) - start
        shift = np.linalg.lstsq(matrix, change, rcond=None)[0] if n_draws else np.zeros(0)
        left = np.abs(matrix @ shift - change).max(initial=0.0)
        scale = np.abs(change).max(initial=0.0)
        found.append(shift if left <= 1e-9 * scale else np.array([np.inf]))
    seen = all(np.isfinite(shift).all() for shift in found)
    if seen and n_draws and np.linalg.matrix_rank(matrix) < n_draws:
        raise ValueError(f"release must let each of its {n_draws} draws be seen apart from the others")
    return found


def laplace_epsilon(release: Release, values: Any, moves: Iterable[Any]) -> float:
    """The pure epsilon of a release that adds Laplace noise in any linear way, from the noise that it draws.

    ``release(values, rng)`` gives everything that leaves. It is called with one unit of noise at a time, which gives
    the matrix B of ``output = f(values) + B z``, z the independent unit draws. A change of f that is B times a shift
    of z costs the L1 norm of that shift; a change that is not is seen without error.

    Parameters
    ----------
    release : callable
        Linear in the noise, such as ``Laplace.privatize`` or all releases of a counter over a stream.
    values : array
        The data at which f is changed.
    moves : iterable of array
        The changes of the data between neighbours, in the shape of ``values``.

    Returns
    -------
    float
        The largest cost; ``math.inf`` if a neighbour is recognised with certainty.

    Raises
    ------
    ValueError
        If the noise is of another kind, its sign is not fair, or two draws enter the output as one.
    """
    return max(float(np.abs(shift).sum()) for shift in _units(release, values, moves, "laplace"))


def gaussian_ratio(release: Release, values: Any, moves: Iterable[Any]) -> float:
    """The ratio D / sigma of a release that adds Gaussian noise, as `laplace_epsilon`: the largest L2 norm of a shift.

    ``Gaussian(1.0, ratio).delta(epsilon)`` is its exact profile; a ratio of ``math.inf`` means no privacy.
    """
    return max(float(np.linalg.norm(shift)) for shift in _units(release, values, moves, "normal"))


def uniform_law(report: Callable[[Any], int], n_outcomes: int, *, cells: int = 256) -> np.ndarray:
    """The law of a report that is a function of one uniform variable, constant between its jumps.

    ``report(rng)`` asks its generator for ``random(shape)`` with one entry. The jumps are found by bisection to the
    last digit between ``cells`` equal steps, in each of which there may be one.
    """

    class One:
        def __init__(self, u: float) -> None:
            self.u = u

        def random(self, size: Any = None) -> Any:
            return self.u if size is None else np.full(size, self.u)

    def outcome(u: float) -> int:
        return int(np.ravel(report(One(min(u, 1 - 2.0**-53))))[0])

    law = np.zeros(n_outcomes)
    grid = np.linspace(0.0, 1.0, cells + 1)
    kinds = [outcome(u) for u in grid]
    for a, b, left, right in zip(grid[:-1], grid[1:], kinds[:-1], kinds[1:], strict=True):
        low, high = a, b
        while left != right and low < (middle := low + (high - low) / 2) < high:
            low, high = (middle, high) if outcome(middle) == left else (low, middle)
        cut = high if left != right else b
        law[left] += cut - a
        law[right] += b - cut
    return law


def choice_law(sample: Callable[[Any, np.ndarray], int], scores: Any) -> np.ndarray:
    """The law of ``sample(rng, scores)`` that asks its generator for one ``choice(n, size, p=...)``, or for nothing."""
    scores = _checks.array("scores", scores, ndim=1)

    class Asked:
        def __init__(self, answer: int) -> None:
            self.answer, self.law = answer, None

        def choice(self, n: int, size: Any = None, *, p: Any = None) -> Any:
            self.law = np.full(n, 1 / n) if p is None else np.asarray(p, dtype=float)
            return self.answer if size is None else np.full(size, self.answer)

    law = np.zeros(len(scores))
    for answer in range(len(scores)):
        asked = Asked(answer)
        chosen = int(sample(asked, scores))
        if asked.law is None:
            law[:] = 0.0
            law[chosen] = 1.0
            return law
        law[chosen] += asked.law[answer]
    return law


def noisy_max_law(sample: Callable[[Any, np.ndarray], int], scores: Any) -> np.ndarray:
    """The law of ``sample(rng, scores)`` that takes the largest of numbers plus one exponential variable each.

    How far each outcome lies behind the best, in units of the noise that it really gets, is found by bisection on its
    draw; the probabilities are integrals over the arrival of the best coin (Ding et al., 2021).
    """
    scores = _checks.array("scores", scores, ndim=1)

    class Noise:
        def __init__(self, units: np.ndarray) -> None:
            self.units, self.drawn = units, False

        def standard_exponential(self, size: Any = None) -> Any:
            self.drawn = True
            return self.units.reshape(size)

    def chosen(units: np.ndarray) -> tuple[int, bool]:
        noise = Noise(units)
        return int(sample(noise, scores)), noise.drawn

    n = len(scores)
    best, drawn = chosen(np.zeros(n))
    behind = np.zeros(n)
    for r in range(n):
        if r == best:
            continue
        low, high = 0.0, 1.0
        while high < 1e6 and chosen(high * np.eye(n)[r])[0] != r:
            low, high = high, 2 * high
        while low < (middle := low + (high - low) / 2) < high:
            low, high = (low, middle) if chosen(middle * np.eye(n)[r])[0] == r else (middle, high)
        behind[r] = high
    coins = np.exp(-behind) if drawn else np.eye(n)[best]
    nodes, weights = np.polynomial.legendre.leggauss(n // 2 + 1)
    u = (nodes + 1) / 2
    others = np.array([np.prod(1 - np.outer(np.delete(coins, r), u), axis=0) for r in range(n)])
    return coins * (others @ (weights / 2))


def largest_epsilon(law: Callable[[Any], np.ndarray], value: Any, neighbours: Iterable[Any]) -> float:
    """The largest `exact_epsilon` between the law at one value and the laws at its neighbours."""
    own = law(value)
    return max(exact_epsilon(own, law(other)) for other in neighbours)
