"""The same batch, user by user: every record and every single message's noise is drawn (compiled loops).

Only for moderate numbers of users. It has the law of `Batch`, from which it differs in the random numbers used.
"""

from __future__ import annotations

import numpy as np

from dpregret.contextual import kernels
from dpregret.contextual.batch import Batch


class PerUserBatch(Batch):
    """`Batch` whose sums are taken over users drawn one by one."""

    def counts(self, rng: np.random.Generator, users: int, groups: int = 1) -> np.ndarray:
        """See `Batch.counts`."""
        m = len(self.features)
        rows = [np.bincount(self.records(rng, users) + 1, minlength=2 * m + 1)[1:] for _ in range(groups)]
        return np.array(rows, dtype=float).reshape(groups, m, 2)

    def records(self, rng: np.random.Generator, users: int) -> np.ndarray:
        """Records of fresh users: twice the row, plus 1 for a reward of -1; -1 for an empty record."""
        self.take(users)
        if len(self._law) > 1:
            raise ValueError("instances must be one problem where users are drawn one by one")
        cells = np.append(-1, self._cell)
        return cells[kernels.draw_records(rng, users, np.cumsum(self._law[0]))]

    def bit_sums(self, rng, users, values, slots, n_slots, bias):
        """See `Batch.bit_sums`."""
        total = n_slots + self.idle_slots
        sums = [kernels.add_bits(rng, self.records(rng, users), group, slots, total, bias) for group in values]
        return np.array(sums)[:, :n_slots]

    def laplace_sums(self, rng, users, scale):
        """See `Batch.laplace_sums`."""
        idle = np.ones((self.idle_slots, *np.shape(scale)[1:]))
        every = np.concatenate([np.asarray(scale, dtype=float), idle])
        total = np.zeros(every.size)
        kernels.add_laplace(rng, users, every.ravel(), total)
        return total.reshape(every.shape)[: len(scale)]

    def wishart_sums(self, rng, users, n_slots, degrees, scale):
        """See `Batch.wishart_sums`."""
        total = np.zeros((n_slots + self.idle_slots, self.dimension, self.dimension))
        kernels.add_wishart(rng, users, degrees, scale, total)
        return total[:n_slots]

    def input_sums(self, rng, users, scale):
        """See `Batch.input_sums`."""
        return self._inputs_one_by_one(rng, self.counts(rng, users)[0].astype(np.int64), users, scale)
