"""One tree of random seeds, keyed by names.

A leaf depends on the root seed and on the names along its path alone: not on how many siblings it has, on the order in
which they run, or on the number of workers. Running a subset of the repetitions gives the numbers of the full run.
"""

from __future__ import annotations

import hashlib

import numpy as np

from dpregret import _checks


def seed_sequence(seed: int | np.random.SeedSequence, *names: object) -> np.random.SeedSequence:
    """The seed sequence at the path ``names`` below ``seed``.

    ``names`` may be anything with a stable ``repr`` (text, numbers, tuples of them). Equal paths give equal sequences;
    ``seed_sequence(seed_sequence(s, "a"), "b")`` equals ``seed_sequence(s, "a", "b")``.
    """
    if not isinstance(seed, np.random.SeedSequence):
        seed = np.random.SeedSequence(_checks.integer("seed", seed, at_least=0))
    key = tuple(seed.spawn_key)
    for name in names:
        digest = hashlib.sha256(repr(name.item() if isinstance(name, np.generic) else name).encode()).digest()
        key += (int.from_bytes(digest[:8], "little"),)
    return np.random.SeedSequence(seed.entropy, spawn_key=key)


def generator(seed: int | np.random.SeedSequence, *names: object) -> np.random.Generator:
    """A PCG64 generator seeded at the path ``names`` below ``seed``."""
    return np.random.Generator(np.random.PCG64(seed_sequence(seed, *names)))
