r"""Laws of messages read off the code that draws them: a sampler runs with a generator whose draws are set one by one.

Nothing here believes what a policy says about itself. Two kinds of samplers are understood, and others are refused:

- *Additive noise*: the message is :math:`c + A n` with independent standard Laplace or standard normal n. The centre c
  is the message without noise, and the columns of A are what single draws add to it. Two users with the same A and
  centres that differ by :math:`A s` are at :math:`\sum_j |s_j|` for Laplace noise, exactly; for Gaussian noise the
  profile is that of a shift by the Euclidean norm of s. A difference outside the range of A tells them apart for
  certain, and so does the number of values.
- *A step function of one uniform*: the lengths of the steps are the probabilities of the messages.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpregret.privacy.audit import exact_epsilon
from dpregret.privacy.mechanisms import Gaussian

__all__ = ["Affine", "Sampler", "Scripted", "affine", "fresh_learner", "shift_epsilon", "worst_pair"]

_UNIT = 2.0**20  # a single draw: large, so that the column of A keeps its digits beside the centre


class Scripted:
    """A generator with prescribed draws: zero noise of sign +, but for one draw; all uniforms are ``uniform``."""

    def __init__(self, draw: int = -1, uniform: float = 0.0) -> None:
        self.draw, self.uniform = draw, uniform
        self.exponentials = self.normals = self.uniforms = 0

    def _noise(self) -> float:
        return _UNIT if self.exponentials + self.normals - 1 == self.draw else 0.0

    def standard_exponential(self) -> float:
        self.exponentials += 1
        return self._noise()

    def standard_normal(self) -> float:
        self.normals += 1
        return self._noise()

    def random(self, size=None):
        self.uniforms += 1 if size is None else int(np.prod(size))
        return self.uniform if size is None else np.full(size, self.uniform)

    def __getattr__(self, name: str):
        raise ValueError(f"policy must draw exponential, normal or uniform variables one by one, got rng.{name}")

    @property
    def kind(self) -> str:
        """Of the noise; "" for none."""
        if self.exponentials and self.normals:
            raise ValueError("policy must add Laplace noise or Gaussian noise to a message, got both")
        return "laplace" if self.exponentials else "gaussian" if self.normals else ""

    @property
    def only_uniform(self) -> bool:
        """Whether the sampler drew uniforms and nothing else."""
        return not self.kind and self.uniforms > 0


Sampler = Callable[[Scripted], np.ndarray]


class Affine(NamedTuple):
    """A message ``centre + matrix @ noise``; nan where nothing is released."""

    centre: np.ndarray
    matrix: np.ndarray
    kind: str

    def same_shape(self, centre: np.ndarray) -> bool:
        """Whether another message has as many values, and releases the same ones."""
        return self.centre.shape == centre.shape and bool((np.isnan(self.centre) == np.isnan(centre)).all())


def affine(sample: Sampler) -> Affine:
    """The law of a message with additive noise; ValueError for a sampler of another kind."""
    rng = Scripted()
    centre = np.asarray(sample(rng), dtype=float)
    draws = rng.exponentials + rng.normals
    if rng.kind and rng.uniforms != rng.exponentials:
        raise ValueError("policy must use uniforms for the signs of Laplace noise only, or for nothing but uniforms")
    columns = [(sample(Scripted(draw)) - centre) / _UNIT for draw in range(draws)]
    matrix = np.nan_to_num(np.array(columns, dtype=float).reshape(draws, centre.size).T)
    return Affine(centre, matrix[:, (matrix != 0).any(axis=0)], rng.kind)


def shift_epsilon(law: Affine, centre: np.ndarray, delta: float) -> float:
    """The exact epsilon of a message with law ``law`` against the same noise around another centre."""
    if not law.same_shape(centre):
        return math.inf
    difference = np.nan_to_num(centre) - np.nan_to_num(law.centre)
    if not difference.any():
        return 0.0
    if not law.matrix.size:
        return math.inf
    shift, _, rank, _ = np.linalg.lstsq(law.matrix, difference, rcond=None)
    if rank < law.matrix.shape[1]:
        raise ValueError("policy must not add more independent noises to a message than it has values")
    if np.abs(law.matrix @ shift - difference).max() > 1e-9 * np.abs(difference).max():
        return math.inf  # some combination of values is sent without noise
    if law.kind == "laplace":
        return float(np.abs(shift).sum())
    return Gaussian(1.0, sensitivity=float(np.linalg.norm(shift))).epsilon(delta) if delta > 0 else math.inf


def _step_law(sample: Sampler, nodes: int) -> dict[tuple, float]:
    """Probabilities of the messages of a step function of one uniform."""

    def message(u: float) -> tuple:
        rng = Scripted(uniform=u)
        value = tuple(np.asarray(sample(rng), dtype=float).ravel().tolist())
        if rng.uniforms != 1:
            raise ValueError(f"policy must draw one uniform a message, got {rng.uniforms}")
        return value

    while True:
        grid = np.concatenate(([0.0], (np.arange(nodes) + 0.5) / nodes, [1.0 - 2.0**-53]))
        met = [message(u) for u in grid]
        edges, law = [0.0], {}
        for left, right, a, b in zip(met, met[1:], grid, grid[1:], strict=False):
            if left != right:
                low, high = a, b
                while low < (middle := (low + high) / 2) < high:
                    low, high = (middle, high) if message(middle) == left else (low, middle)
                edges.append(high)
                law[left] = law.get(left, 0.0) + edges[-1] - edges[-2]
        law[met[-1]] = law.get(met[-1], 0.0) + 1.0 - edges[-1]
        if np.diff([*edges, 1.0]).min() >= 2 / nodes:  # else a shorter step may have been missed
            return law
        if nodes >= 2**14:
            raise ValueError("policy must give every message a probability of 2^-13 or more, or none")
        nodes *= 4


def worst_pair(samples: list[Sampler], delta: float, nodes: int) -> float:
    """The exact epsilon over all pairs of samplers; ``nodes`` of the first search for the steps of a uniform."""
    probe = Scripted()
    samples[0](probe)
    if probe.only_uniform:
        laws = [_step_law(sample, nodes) for sample in samples]
        alphabet = sorted(set().union(*laws), key=repr)
        rows = [np.array([law.get(m, 0.0) for m in alphabet]) for law in laws]
        return max(exact_epsilon(p / p.sum(), q / q.sum(), delta) for p, q in itertools.combinations(rows, 2))
    laws, worst = [affine(sample) for sample in samples], 0.0
    for p, q in itertools.combinations(laws, 2):
        if p.same_shape(q.centre) and (p.kind, p.matrix.shape) != (q.kind, q.matrix.shape):
            return math.inf
        if p.same_shape(q.centre) and not np.allclose(p.matrix, q.matrix, rtol=1e-9, atol=0):
            if p.kind == "gaussian" and delta > 0:
                raise ValueError("policy must add Gaussian noise of one scale for all users")
            return math.inf
        worst = max(worst, shift_epsilon(p, q.centre, delta))
    return worst


def fresh_learner(policy, n_items: int, list_length: int, horizon: int):
    """The learner of a policy; where it observes user 0, that user is attracted by nothing."""
    learner = policy.learner(n_items, list_length, horizon)
    if getattr(policy, "initial_observation", False):
        learner.initialise(np.zeros(n_items))
    return learner
