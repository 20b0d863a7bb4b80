r"""A batch of users that records what an oracle has them send, and judges each message over all pairs of records.

Sums over users are expected values. For every message the loops of the per-user backend run, as plain functions, with a
generator that notes each draw. Laplace values with scales b are at :math:`\sum_j |z_j - z'_j| / b_j` under records of
values z and z', bits at the sum of their largest log-ratios, both exactly.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from dpregret.contextual import kernels
from dpregret.contextual.per_user import PerUserBatch


class Message(NamedTuple):
    """One message of a user: ``kind`` laplace, bits, inputs, wishart or raw; ``laplace`` counts its Laplace values."""

    kind: str
    epsilon: float
    laplace: float


class Threshold(NamedTuple):
    """A uniform that is below every number, and notes what it was compared with in ``met``."""

    met: list

    def __lt__(self, other) -> bool:
        self.met.append(float(other))
        return True


class Recorder:
    """A generator whose Laplace draws are chosen ``units`` times the scale, and that notes all scales and thresholds.

    A uniform is a `Threshold`.
    """

    def __init__(self) -> None:
        self.use()

    def use(self, units=itertools.repeat(1.0)) -> None:  # noqa: B008 - endless and without a state
        self.scales, self.thresholds, self.units = [], [], units

    def laplace(self, loc: float, scale: float) -> float:
        self.scales.append(float(scale))
        return loc + scale * next(self.units)

    def random(self) -> Threshold:
        return Threshold(self.thresholds)

    def __getattr__(self, name: str):
        raise ValueError(f"oracle must leave the noise of its users to the batch, got rng.{name}")


def plain(kernel):
    """The Python function behind a compiled one."""
    return getattr(kernel, "py_func", kernel)


def farthest(values: np.ndarray, slots: np.ndarray, scale: np.ndarray) -> float:
    """Largest distance of records of values (m, 2, S), in their slots or empty, in units of the scales (B, S)."""
    if not scale.size:
        return 0.0
    with np.errstate(divide="ignore"):
        rate = 1 / scale
    worst, alone = 0.0, np.zeros(len(scale))
    for slot in np.unique(slots[slots >= 0]):
        z = np.append(values[slots == slot].reshape(-1, values.shape[2]), np.zeros((1, values.shape[2])), axis=0)
        apart = np.abs(z[:, None] - z[None])
        apart = np.multiply(apart, rate[slot], out=np.zeros_like(apart), where=apart > 0).sum(axis=2)
        alone[slot], worst = apart[-1].max(), max(worst, float(apart.max()))
    return max(worst, float(np.sort(alone)[-2:].sum()))


class Recording(PerUserBatch):
    """A batch that records, or, with ``replay``, repeats the sums of another one with hidden shifts."""

    def __init__(self, *args, recorder: Recorder, replay=(), **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.recorder, self.replay, self.shift = recorder, list(replay), np.random.default_rng(5) if replay else None
        self.sent, self.messages, self.reasons, self.values, self.noise = [], [], [], None, []

    def judge(self, kind: str, epsilon: float, reason: str = "", laplace: float = math.nan) -> None:
        self.messages.append(Message(kind, epsilon, laplace))
        if epsilon == math.inf:
            self.reasons.append(reason or f"{kind}: some records exclude a message")

    def _fresh(self, rng, drawn: int, needed: int) -> None:
        if rng is not self.recorder:
            self.judge("raw", math.inf, "the noise is not from the run's generator: a seed may be used again")
        elif drawn != needed:
            self.judge("raw", math.inf, "users share their noise")

    def _send(self, result):
        self.sent.append(result)
        if self.shift is None:
            return result
        stored = self.replay.pop(0) if self.replay else None
        if [np.shape(part) for part in (() if stored is None else stored)] != [np.shape(part) for part in result]:
            self.judge("raw", math.inf, "the estimate uses more than the messages")
            return result
        return stored

    def counts(self, rng, users, groups=1):
        self.take(users)
        expected = np.zeros(2 * len(self.features))
        expected[self._cell] = users * self._law[self._place]
        return np.repeat(expected.reshape(1, -1, 2), groups, axis=0)

    def close(self) -> None:
        """Judge the open message; ``nan`` is the scale of Wishart noise."""
        if self.values is not None:
            values, slots = self.values
            scale = np.concatenate([np.empty((self.n_slots, 0)), *self.noise], axis=1)
            laplace = np.flatnonzero(~np.isnan(scale).any(axis=0))
            part = farthest(values[:, :, laplace], slots, scale[:, laplace])
            if scale.shape[1] < values.shape[2]:
                self.judge("raw", math.inf, "values without fresh noise of their own")
            elif len(laplace) < scale.shape[1]:
                self.judge("wishart", math.inf, "Wishart noise: some records exclude a message", part)
            else:
                self.judge("laplace", part, laplace=part)
            self.values, self.noise = None, []

    def _noise(self, scale) -> None:
        """Noise for the next values of the message, or for one whose values come later."""
        if self.values is not None and sum(part.shape[1] for part in self.noise) >= self.values[0].shape[2]:
            self.close()
        self.noise.append(scale)

    def record_sums(self, rng, users, values, slots, n_slots):
        self.close()
        self.values, self.n_slots = (values, np.asarray(slots)), n_slots
        result = self._send(super().record_sums(rng, users, values, slots, n_slots))
        self.hidden = 0.0 if self.shift is None else 1e-6 * users * self.shift.normal(size=result.shape)
        return result + self.hidden

    def laplace_sums(self, rng, users, scale):
        scale = np.asarray(scale, dtype=float)
        drawn, two = np.zeros(scale.size), np.zeros(scale.size)
        self.recorder.use()
        plain(kernels.add_laplace)(self.recorder, 1, scale.ravel(), drawn)
        self.recorder.use()
        plain(kernels.add_laplace)(self.recorder, 2, scale.ravel(), two)
        self._fresh(rng, len(self.recorder.scales), 2 * scale.size)
        self._noise(drawn.reshape(len(scale), -1))
        return np.zeros(scale.shape) if self.shift is None else -self.hidden

    def wishart_sums(self, rng, users, n_slots, degrees, scale):
        self._noise(np.full((n_slots, self.dimension**2), math.nan))
        return np.zeros((n_slots, self.dimension, self.dimension))

    def bit_sums(self, rng, users, values, slots, n_slots, bias):
        self.close()
        for group in values:
            laws = []
            for record in range(-1, 2 * len(slots)):
                self.recorder.use()
                plain(kernels.add_bits)(self.recorder, np.array([record, record]), group, slots, n_slots, bias)
                self._fresh(rng, len(self.recorder.thresholds), 2 * n_slots)
                laws.append(self.recorder.thresholds[:n_slots])
            p = np.unique(laws, axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                up, down = np.log(p), np.log1p(-p)
                ratio = np.fmax(up[:, None] - up[None], down[:, None] - down[None]).sum(axis=2)
            self.judge("bits", math.inf if p.min() <= 0 or p.max() >= 1 else float(ratio.max()))
        counts = self.counts(rng, users, len(values))
        sums = [
            np.bincount(slots + 1, (c * z).sum(axis=1), n_slots + 1)[1:] for c, z in zip(counts, values, strict=True)
        ]
        return self._send(bias * np.array(sums))

    def _inputs(self, counts, users, scale):
        sums = np.zeros((self.n_actions, self.dimension, self.dimension)), np.zeros((self.n_actions, self.dimension))
        for a in range(self.n_actions):
            own = self.actions == a
            plain(kernels.add_inputs)(
                self.recorder, counts[own], users, self.features[own], scale, sums[0][a], sums[1][a]
            )
        return sums

    def input_sums(self, rng, users, scale):
        self.close()
        d, A, own = self.dimension, self.n_actions, np.zeros((len(self.features), 2), dtype=np.int64)
        for many in (2, 1):
            self.recorder.use()
            self._inputs(own, many, scale)
            self._fresh(rng, len(self.recorder.scales), many * A * (d + 1))
        scales = np.reshape(self.recorder.scales[: A * (d + 1)], (A, d + 1))
        z = np.empty((len(self.features), 2, d + 1))
        z[:, :, 0], z[:, :, 1:] = (1.0, -1.0), self.features[:, None]
        units, own[0, 0] = np.random.default_rng(6).normal(size=(A, d + 1)), 1
        self.recorder.use(iter(units.ravel()))
        second, cross = self._inputs(own, 1, scale)
        x = units * scales
        x[self.actions[0]] += z[0, 0]
        product = x[:, 1:, None] * x[:, None, 1:] - 2 * scale**2 * np.eye(d)
        if not (np.allclose(second, product) and np.allclose(cross, x[:, :1] * x[:, 1:])):
            self.judge("raw", math.inf, "inputs: more than the products of noisy inputs is sent")
        epsilon = farthest(z, self.actions, scales)
        self.judge("inputs", epsilon, laplace=epsilon)
        counts, label = self.counts(rng, users)[0], np.eye(A)[self.actions]
        second = np.einsum("m,ma,mi,mj->aij", counts.sum(axis=1), label, self.features, self.features)
        return self._send((second, np.einsum("m,ma,mi->ai", counts[:, 0] - counts[:, 1], label, self.features)))
