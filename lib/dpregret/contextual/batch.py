"""What an epoch's users send, in total: the data of the oracles, aggregated exactly.

All users of an epoch are independent and of one law, given the earlier epochs. An oracle needs sums over users only,
and asks for them with `Batch.bit_sums`, `record_sums`, ... each call taking users that no earlier call has taken. The
sums are drawn in one step, with the law of the sum of every single message; see
:mod:`dpregret.simulation.sums` for the range of numbers of users. `dpregret.contextual.per_user` draws every message.
"""

from __future__ import annotations

import math

import numpy as np

from dpregret import _checks
from dpregret.contextual import kernels
from dpregret.contextual.model import ContextualProblem, unit_norms
from dpregret.simulation import sums

_NORMAL_FROM = 2**12  # users from which sums of products of Laplace noises are drawn as normal
_NORMAL_COUNT = 1e12  # smallest expected count from which all counts are drawn as normal: within 1e-6 of the law


class Batch:
    r"""The users of one epoch, as seen by the A oracles of Algorithm 1 of [Li2024]_.

    A user has record ``(features[i], actions[i], y)`` with probability ``probabilities[i]``, y in {-1, +1} of mean
    ``means[i]``; the oracles of the other actions get the empty record, and all of them with the probability left over.
    One action's oracle, Definition 3.1, is the case of a single label in ``actions``. The oracles of all actions are
    fitted together because a user's record goes to exactly one of them.

    Parameters
    ----------
    features : array (m, d)
        Feature vectors, norm at most 1. Rows of probability 0 are queries: bands are reported there.
    actions : array (m,) of int
        The action of each row, 0..A-1.
    probabilities : array (m,)
        Non-negative, sum at most 1.
    means : array (m,)
        Expected rewards, in [-1, 1].
    users : int
        Number of users of the epoch.
    horizon : float, optional
        T of the whole run, which sets the partition's constants; the number of users by default.
    instances : array (m,) of int, optional
        Several independent problems at once, each with ``users`` users of its own: the problem 0..I-1 of each row. No
        action label may be in two of them.
    """

    def __init__(
        self, features, actions, probabilities, means, users: int, *, horizon: float | None = None, instances=None
    ) -> None:
        self.features = _checks.array("features", features)
        if self.features.ndim != 2:
            raise ValueError(f"features must have 2 dimensions (rows, d), got {self.features.ndim}")
        unit_norms("features", self.features)
        self.actions = np.asarray(actions, dtype=np.int64)
        self.probabilities = _checks.array("probabilities", probabilities, ndim=1, at_least=0.0, at_most=1.0 + 1e-9)
        self.means = _checks.array("means", means, ndim=1, at_least=-1.0, at_most=1.0)
        m = len(self.features)
        self.instances = np.zeros(m, dtype=np.int64) if instances is None else np.asarray(instances, dtype=np.int64)
        if {self.actions.shape, self.probabilities.shape, self.means.shape, self.instances.shape} != {(m,)}:
            raise ValueError("features, actions, probabilities, means and instances must have one length")
        if min(self.actions.min(initial=0), self.instances.min(initial=0)) < 0:
            raise ValueError("actions and instances must be >= 0")
        if np.bincount(self.instances, self.probabilities).max(initial=0.0) > 1 + 1e-9:
            raise ValueError(f"probabilities must have sum at most 1, got {float(self.probabilities.sum())!r}")
        self.n = _checks.integer("users", users, at_least=0)
        self.horizon = _checks.real("horizon", max(self.n, 2) if horizon is None else horizon, at_least=2.0)
        self.restart()
        self._cells()

    def _cells(self) -> None:
        """Laws over cells (row, reward), a row an instance: the empty record first, the cells at the right end."""
        mass = (self.probabilities[:, None] * np.stack([1 + self.means, 1 - self.means], axis=1) / 2).ravel()
        cell = np.flatnonzero(mass > 0)
        instance = self.instances[cell // 2]
        order = np.argsort(instance, kind="stable")
        cell, instance = cell[order], instance[order]
        sizes = np.bincount(instance, minlength=int(self.instances.max(initial=0)) + 1)
        ends = np.cumsum(sizes)
        columns = 1 + int(sizes.max())
        self._cell, self._place = cell, (instance, columns - ends[instance] + np.arange(len(cell)))
        self._law = np.zeros((len(sizes), columns))
        self._law[self._place] = mass[cell]
        rest = 1 - self._law.sum(axis=1)
        self._law[:, 0] = np.where(rest > 1e-9, rest, 0.0)
        self._law /= self._law.sum(axis=1, keepdims=True)

    @property
    def dimension(self) -> int:
        """d."""
        return self.features.shape[1]

    @property
    def n_actions(self) -> int:
        """Number of actions, each with an oracle of its own."""
        return int(self.actions.max(initial=0)) + 1

    def restart(self) -> None:
        """Take new users of the same law: every fit starts so, and uses no user twice."""
        self.users_left = self.n
        self.idle_slots = 0  # slots of the message that no row reaches: drawn by the per-user backend, then forgotten

    def take(self, users: int) -> int:
        """Mark users as used; each user sends one message."""
        if users > self.users_left:
            raise ValueError(f"users must be at most the {self.users_left} left in the epoch, got {users!r}")
        self.users_left -= users
        return users

    def counts(self, rng: np.random.Generator, users: int, groups: int = 1) -> np.ndarray:
        """Numbers of users by group, row and reward (+1, -1) among ``groups * users`` fresh users: (groups, m, 2)."""
        self.take(groups * users)
        out = np.zeros((groups, 2 * len(self.features)))
        drawn = _multinomials(rng, users, self._law, groups)
        out[:, self._cell] = drawn[:, *self._place]
        return out.reshape(groups, len(self.features), 2)

    def bit_sums(self, rng, users: int, values: np.ndarray, slots: np.ndarray, n_slots: int, bias: float) -> np.ndarray:
        """Sums of one-bit messages: each user sends one bit in {-1, +1} for every slot.

        Parameters
        ----------
        users : int
            Users of each of the G groups, all fresh.
        values : array (G, m, 2)
            What group g's users report, in [-1, 1], by row and reward (+1, -1).
        slots : array (m,) of int
            The slot of each row; -1 for none.
        n_slots : int
            Number of slots B.
        bias : float
            The bit of the user's own slot is +1 with probability ``(1 + bias * value) / 2``, the others with 1/2.

        Returns
        -------
        array (G, B)
        """
        counts = self.counts(rng, users, len(values))
        own = _signed_sums(rng, counts, bias * values).sum(axis=2)
        others = np.maximum(users - _by_slot(counts.sum(axis=2), slots, n_slots), 0.0)
        return _by_slot(own, slots, n_slots) + _signed_sums(rng, others, np.zeros(others.shape))

    def record_sums(self, rng, users: int, values: np.ndarray, slots: np.ndarray, n_slots: int) -> np.ndarray:
        """Sums over fresh users of what is to be released, before noise: values (m, 2, S) by slot, (B, S)."""
        counts = self.counts(rng, users)[0]
        return _by_slot((counts[:, :, None] * values).sum(axis=1).T, slots, n_slots).T

    def laplace_sums(self, rng, users: int, scale: np.ndarray) -> np.ndarray:
        """Sums of the users' independent Laplace noises of the given scales, one for each entry."""
        return np.asarray(sums.laplace_sum(rng, users, scale))

    def wishart_sums(self, rng, users: int, n_slots: int, degrees: int, scale: float) -> np.ndarray:
        """Sums of the users' centred Wishart noises ``W_d(degrees, scale I) - degrees scale I``: (B, d, d)."""
        return sums.wishart_sum(
            rng, np.full(n_slots, float(users)), degrees, scale * np.eye(self.dimension), centred=True
        )

    def input_sums(self, rng, users: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """Sums of ``x x' - 2 scale^2 I`` (A, d, d) and ``z x`` (A, d); x, z are phi and y with Laplace noise.

        Every user sends such a pair for each action; that of an action not played is noise alone. Up to 4095 users one
        by one. From there on the sums of products of two noises are normal variables with their exact covariances, all
        zero off the diagonal, and the squares' skewness (within 1e-3 of the law in Kolmogorov distance); the sums that
        are linear in the noise stay exact.
        """
        if users < _NORMAL_FROM:
            return self._inputs_one_by_one(rng, self.counts(rng, users)[0].astype(np.int64), users, scale)
        counts, d, n_actions = self.counts(rng, users)[0], self.dimension, self.n_actions
        total = counts.sum(axis=1)
        # sums over the users of a row: of the noise on phi, of y times it, of the noise on y
        noise = sums.laplace_sum(rng, counts[:, :, None], scale, (*counts.shape, d))
        reward_noise = sums.laplace_sum(rng, total, scale)
        linear = self.features[:, :, None] * noise.sum(axis=1)[:, None, :]
        outer = self.features[:, :, None] * self.features[:, None, :]
        second = (total[:, None, None] * outer + linear + linear.swapaxes(1, 2)).reshape(-1, d * d)
        second = _by_slot(second.T, self.actions, n_actions).T.reshape(-1, d, d)
        difference = counts[:, :1] - counts[:, 1:]
        cross = (difference + reward_noise[:, None]) * self.features + noise[:, 0] - noise[:, 1]
        cross = _by_slot(cross.T, self.actions, n_actions).T
        root = scale**2 * math.sqrt(users)
        x = np.triu(rng.standard_normal((n_actions, d, d)))
        x += np.triu(x, 1).swapaxes(1, 2)
        i = np.arange(d)
        skewness = 592 / 20**1.5 / math.sqrt(users)
        second += 2 * root * x  # variance 4 b^4 a product, 20 b^4 a square
        second[:, i, i] += root * ((np.sqrt(20) - 2) * x[:, i, i] + np.sqrt(20) * skewness * (x[:, i, i] ** 2 - 1) / 6)
        return second, cross + 2 * root * rng.standard_normal((n_actions, d))

    def _inputs_one_by_one(self, rng, counts: np.ndarray, users: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
        second = np.zeros((self.n_actions, self.dimension, self.dimension))
        cross = np.zeros((self.n_actions, self.dimension))
        for action in range(self.n_actions):
            rows = np.flatnonzero(self.actions == action)
            kernels.add_inputs(rng, counts[rows], users, self.features[rows], scale, second[action], cross[action])
        return second, cross


def _by_slot(data: np.ndarray, slots: np.ndarray, n_slots: int) -> np.ndarray:
    """Sums of data (G, m) over the rows of each slot, (G, B); rows of slot -1 are left out."""
    groups = len(data)
    index = np.where(slots < 0, n_slots, slots) + (n_slots + 1) * np.arange(groups)[:, None]
    total = np.bincount(index.ravel(), data.ravel(), minlength=groups * (n_slots + 1))
    return total.reshape(groups, n_slots + 1)[:, :n_slots]


def _signed_sums(rng: np.random.Generator, counts: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Sums of ``counts`` bits of mean ``means``, at most 1/2 in absolute value; see `sums.signed_sum`."""
    if counts.min(initial=math.inf, where=counts > 0) < _NORMAL_COUNT:
        return sums.signed_sum(rng, counts, means)
    return counts * means + np.sqrt(counts * (1 - means**2)) * rng.standard_normal(counts.shape)


def _multinomials(rng: np.random.Generator, n: int, law: np.ndarray, groups: int) -> np.ndarray:
    """Multinomial counts (groups, I, C) for laws (I, C) with a positive last column."""
    if n <= _NORMAL_COUNT:
        return rng.multinomial(n, law, size=(groups, len(law)))
    if n * law[law > 0].min() >= _NORMAL_COUNT:
        x = np.sqrt(law) * rng.standard_normal((groups, *law.shape))
        return np.rint(n * law + math.sqrt(n) * (x - law * x.sum(axis=2, keepdims=True)))
    levels = [np.pad(law, ((0, 0), (0, (1 << (law.shape[1] - 1).bit_length()) - law.shape[1])))]
    while levels[-1].shape[1] > 1:
        levels.append(levels[-1][:, ::2] + levels[-1][:, 1::2])
    counts = np.full((groups, len(law), 1), float(n))
    for mass in levels[-2::-1]:
        left, right = mass[:, ::2], mass[:, 1::2]
        chosen = sums.binomial(rng, counts, left / np.maximum(left + right, 5e-324))
        counts = np.stack([chosen, counts - chosen], axis=3).reshape(groups, len(law), -1)
    return counts[:, :, : law.shape[1]]


def offline_batch(
    problem: ContextualProblem, users: int, *, action: int = 1, horizon: float | None = None, replicates: int = 1
) -> Batch:
    """Users who all play one action: the offline regression setting of Section 2 of [Li2024]_.

    Independent replicates are fitted together: ``Estimate.values.reshape(replicates, X)``.
    """
    action = _checks.integer("action", action, at_least=0, at_most=problem.n_actions - 1)
    replicates = _checks.integer("replicates", replicates, at_least=1)
    label = np.repeat(np.arange(replicates), problem.n_contexts)
    law, means = problem.context_probabilities, problem.mean_rewards[:, action]
    features = np.tile(problem.features[:, action], (replicates, 1))
    law, means = np.tile(law, replicates), np.tile(means, replicates)
    return Batch(features, label, law, means, users, horizon=horizon, instances=label)
