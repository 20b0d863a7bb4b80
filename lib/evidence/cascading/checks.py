r"""The privacy of the code that runs: exact epsilons read off a policy's own sampler, a certified bound from its lists.

Nothing here believes what a policy says about itself. The plain learner's ``privatize`` runs with a scripted generator,
whose draws are set one by one. Two kinds of samplers are understood, and others are refused:

- *Additive noise*: the message is :math:`c + A n` with independent standard Laplace or standard normal n. The centre c
  is the message without noise, and the columns of A are what single draws add to it. Two users with the same A and
  centres that differ by :math:`A s` are at :math:`\sum_j |s_j|` for Laplace noise, exactly; for Gaussian noise the
  profile is that of a shift by the Euclidean norm of s. A difference outside the range of A tells them apart for
  certain, and so does the number of values.
- *A step function of one uniform*: the lengths of the steps are the probabilities of the messages.

Each message is judged given all earlier draws, so that noise that is used again protects nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpregret import _checks
from dpregret.privacy.audit import epsilon_lower_bound, exact_epsilon
from dpregret.privacy.mechanisms import Gaussian
from evidence.cascading.list_sequences import list_sequences

__all__ = [
    "ListsAudit",
    "course_epsilon",
    "first_list_epsilon",
    "lists_audit",
    "local_epsilon",
    "message_epsilon",
    "semibandit_epsilon",
]

_UNIT = 2.0**20  # a single draw: large, so that the column of A keeps its digits beside the centre


class _Scripted:
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
        return not self.kind and self.uniforms > 0


Sampler = Callable[[_Scripted], np.ndarray]


class _Affine(NamedTuple):
    """A message ``centre + matrix @ noise``; nan where nothing is released."""

    centre: np.ndarray
    matrix: np.ndarray
    kind: str

    def same_shape(self, centre: np.ndarray) -> bool:
        return self.centre.shape == centre.shape and bool((np.isnan(self.centre) == np.isnan(centre)).all())


def _affine(sample: Sampler) -> _Affine:
    rng = _Scripted()
    centre = np.asarray(sample(rng), dtype=float)
    draws = rng.exponentials + rng.normals
    if rng.kind and rng.uniforms != rng.exponentials:
        raise ValueError("policy must use uniforms for the signs of Laplace noise only, or for nothing but uniforms")
    columns = [(sample(_Scripted(draw)) - centre) / _UNIT for draw in range(draws)]
    matrix = np.nan_to_num(np.array(columns, dtype=float).reshape(draws, centre.size).T)
    return _Affine(centre, matrix[:, (matrix != 0).any(axis=0)], rng.kind)


def _shift_epsilon(law: _Affine, centre: np.ndarray, delta: float) -> float:
    """Of a message with law ``law`` against the same noise around another centre."""
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


def _law(sample: Sampler, nodes: int) -> dict[tuple, float]:
    """Probabilities of the messages of a step function of one uniform."""

    def message(u: float) -> tuple:
        rng = _Scripted(uniform=u)
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


def _worst_pair(samples: list[Sampler], delta: float, nodes: int) -> float:
    """Exact epsilon over all pairs of samplers."""
    probe = _Scripted()
    samples[0](probe)
    if probe.only_uniform:
        laws = [_law(sample, nodes) for sample in samples]
        alphabet = sorted(set().union(*laws), key=repr)
        rows = [np.array([law.get(m, 0.0) for m in alphabet]) for law in laws]
        return max(exact_epsilon(p / p.sum(), q / q.sum(), delta) for p, q in itertools.combinations(rows, 2))
    laws, worst = [_affine(sample) for sample in samples], 0.0
    for p, q in itertools.combinations(laws, 2):
        if p.same_shape(q.centre) and (p.kind, p.matrix.shape) != (q.kind, q.matrix.shape):
            return math.inf
        if p.same_shape(q.centre) and not np.allclose(p.matrix, q.matrix, rtol=1e-9, atol=0):
            if p.kind == "gaussian" and delta > 0:
                raise ValueError("policy must add Gaussian noise of one scale for all users")
            return math.inf
        worst = max(worst, _shift_epsilon(p, q.centre, delta))
    return worst


def _learner(policy, n_items: int, list_length: int, horizon: int):
    learner = policy.learner(n_items, list_length, horizon)
    if getattr(policy, "initial_observation", False):
        learner.initialise(np.zeros(n_items))
    return learner


def message_epsilon(
    policy, *, list_length: int, n_items: int | None = None, delta: float = 0.0, rounds: int = 2, nodes: int = 64
) -> float:
    """Exact epsilon of what one user sends, over all pairs of users, the number of values included.

    All K + 1 clicks are tried, which is all that a message can depend on. The user of each of the first ``rounds``
    rounds is judged given everything drawn before; user 0 is left to `first_list_epsilon`.

    Parameters
    ----------
    policy
        A locally private policy, or anything with ``learner(n_items, list_length, horizon)``.
    n_items : int, optional
        K + 1 by default.
    delta : float
        The delta at which epsilon is asked for. A message with Laplace noise is judged at delta = 0 in any case.
    nodes : int
        Of the first search for the steps of a randomised response; refined where it finds short ones.
    """
    length = _checks.integer("list_length", list_length, at_least=1)
    n_items = length + 1 if n_items is None else _checks.integer("n_items", n_items, at_least=length)
    delta = _checks.real("delta", delta, at_least=0.0, below=1.0)
    rounds = _checks.integer("rounds", rounds, at_least=1)
    nodes = _checks.integer("nodes", nodes, at_least=2)

    def sampler(round: int, click: int) -> Sampler:
        def sample(rng):
            learner, silent = _learner(policy, n_items, length, rounds), _Scripted()
            for t in range(1, round):
                items = learner.recommend(t)
                learner.update(items, learner.privatize(items, length + 1, silent))
            return learner.privatize(learner.recommend(round), click, rng)

        return sample

    return max(
        _worst_pair([sampler(round, click) for click in range(1, length + 2)], delta, nodes)
        for round in range(1, rounds + 1)
    )


def first_list_epsilon(policy, *, list_length: int, n_items: int | None = None) -> float:
    """What the first list reveals about user 0: inf if two users 0 lead to different lists, otherwise 0.

    All 2^L users are tried, for L = K + 1 items by default.
    """
    length = _checks.integer("list_length", list_length, at_least=1)
    n_items = length + 1 if n_items is None else _checks.integer("n_items", n_items, at_least=length)
    shown = set()
    for weights in itertools.product((0.0, 1.0), repeat=n_items):
        learner = policy.learner(n_items, length, 1)
        if getattr(policy, "initial_observation", False):
            learner.initialise(np.array(weights))
        shown.add(tuple(learner.recommend(1).tolist()))
    return math.inf if len(shown) > 1 else 0.0


def local_epsilon(policy, *, list_length: int, delta: float = 0.0) -> float:
    """Exact epsilon of everything that leaves any user: `message_epsilon`, and user 0 of `first_list_epsilon`."""
    first = first_list_epsilon(policy, list_length=list_length)
    return max(first, message_epsilon(policy, list_length=list_length, delta=delta))


def semibandit_epsilon(policy, *, list_length: int, delta: float = 0.0) -> float:
    """Exact epsilon of what a user of a semi-bandit policy sends, in the initial and in two later rounds.

    All pairs of outcome vectors in {0, 1}^K are tried: distances in the cube [0, 1]^K are largest between its corners.
    """
    length = _checks.integer("list_length", list_length, at_least=1)
    delta = _checks.real("delta", delta, at_least=0.0, below=1.0)
    arms = length + 1

    def sampler(round: int, outcomes: tuple) -> Sampler:
        def sample(rng):
            learner, silent = policy.learner(arms, length, arms + 2), _Scripted()
            for t in range(1, round):
                learner.update(learner.recommend(t, silent), learner.privatize(t, np.zeros(length), silent))
            return learner.privatize(round, np.array(outcomes), rng)

        return sample

    corners = list(itertools.product((0.0, 1.0), repeat=length))
    return max(_worst_pair([sampler(round, c) for c in corners], delta, 64) for round in (1, arms + 1, arms + 2))


def course_epsilon(
    policy, *, n_items: int, list_length: int, rounds: int, rng: np.random.Generator, courses: int = 1
) -> float:
    """The exact L1 distance, in units of the noise, of all that a curator releases on neighbouring databases.

    For each of ``courses`` random courses (users with a uniformly random click, the policy's own noise) the user of
    every round is changed to one with every other click, and the course is replayed on the numbers that were released:
    the lists are then the same, and the two laws of the released numbers differ in their centres. The log-ratio of
    their densities is at most this distance (lemma "Noisy sums with public bookkeeping" of the book), and attains it
    for a user whose blocks are the last. User 0 is left to `first_list_epsilon`.

    Parameters
    ----------
    policy
        A centrally private policy with Laplace noise, or anything with ``learner(n_items, list_length, horizon)``.

    Returns
    -------
    float
        ``math.inf`` if which numbers are released, or the lists given these numbers, depend on the user.
    """
    n_items = _checks.integer("n_items", n_items, at_least=1)
    length = _checks.integer("list_length", list_length, at_least=1, at_most=n_items)
    rounds = _checks.integer("rounds", rounds, at_least=1)
    courses = _checks.integer("courses", courses, at_least=1)
    return max(_one_course(policy, n_items, length, rounds, rng) for _ in range(courses))


def _one_course(policy, n_items: int, length: int, rounds: int, rng: np.random.Generator) -> float:
    clicks = rng.integers(1, length + 2, size=rounds).tolist()
    learner, lists, messages = _learner(policy, n_items, length, rounds), [], []
    for t, click in enumerate(clicks, start=1):
        lists.append(learner.recommend(t))
        messages.append(learner.privatize(lists[-1], click, rng))
        learner.update(lists[-1], messages[-1])

    def replay(clicks, draws):
        learner, released = _learner(policy, n_items, length, rounds), []
        for t, (click, items, message) in enumerate(zip(clicks, lists, messages, strict=True), start=1):
            if not np.array_equal(learner.recommend(t), items):
                return None
            released.append(np.asarray(learner.privatize(items, click, draws), dtype=float).ravel())
            if released[-1].size != np.size(message):
                return None
            learner.update(items, message)
        return np.concatenate(released)

    if replay(clicks, _Scripted()) is None:
        return math.inf
    law, worst = _affine(lambda draws: replay(clicks, draws)), 0.0
    if law.kind == "gaussian":
        raise ValueError("policy must add Laplace noise, got Gaussian noise")
    for t, click in itertools.product(range(rounds), range(1, length + 2)):
        changed = [*clicks[:t], click, *clicks[t + 1 :]]
        if click != clicks[t]:
            centre = replay(changed, _Scripted())
            worst = max(worst, math.inf if centre is None else _shift_epsilon(law, centre, 0.0))
        if worst == math.inf:
            return worst
    last = _affine(lambda draws: replay(changed, draws))  # the scales of the noise must not depend on the users
    return worst if np.allclose(last.matrix, law.matrix, rtol=1e-9, atol=0) else math.inf


class ListsAudit(NamedTuple):
    """A certified lower bound on epsilon, and where it comes from: hits of the event in ``runs`` runs of either law."""

    epsilon: float
    hits_p: int
    hits_q: int
    runs: int


def lists_audit(
    policy, first, second, *, list_length: int, runs: int, rng: np.random.Generator, last: int = 1,
    confidence: float = 0.95,
) -> ListsAudit:  # fmt: skip
    """A certified lower bound on epsilon from the lists of the compiled policy on two databases.

    The event is about the lists of the last ``last`` rounds. It is chosen on half of the runs, the most telling set of
    outcomes in either direction, and counted on the other half, which alone gives the bound.

    Parameters
    ----------
    policy
        A policy with a kernel for many runs: those of `first_position` and `click_position`.
    first, second : array of shape (T, L), entries 0 or 1
        The users of the two databases.
    runs : int
        For each database, each half.
    """
    last = _checks.integer("last", last, at_least=1)

    def codes() -> list[np.ndarray]:
        shown = [list_sequences(policy, w, list_length=list_length, runs=runs, rng=rng) for w in (first, second)]
        ends = np.concatenate(shown)[:, -last:].reshape(2 * runs, -1)
        n_items = np.shape(first)[1]
        code = np.zeros(2 * runs, dtype=np.int64)
        for column in ends.T:
            code = code * n_items + column
        return [code[:runs], code[runs:]]

    train = codes()
    met, inverse = np.unique(np.concatenate(train), return_inverse=True)
    counts = [np.bincount(part, minlength=met.size) for part in (inverse[:runs], inverse[runs:])]
    best, event, swap = -1.0, met[:0], False
    for p, q, swapped in ((*counts, False), (*counts[::-1], True)):
        order = np.argsort(-(p + 0.5) / (q + 0.5), kind="stable")
        bounds = epsilon_lower_bound(
            np.cumsum(p[order]), runs, np.cumsum(q[order]), runs, confidence=confidence, n_events=1
        )
        if bounds.max() > best:
            best, event, swap = float(bounds.max()), met[order[: int(np.argmax(bounds)) + 1]], swapped
    hits = [int(np.isin(code, event).sum()) for code in codes()]
    hits_p, hits_q = hits[::-1] if swap else hits
    return ListsAudit(epsilon_lower_bound(hits_p, runs, hits_q, runs, confidence=confidence), hits_p, hits_q, runs)
