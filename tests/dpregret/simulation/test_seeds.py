"""The tree of seeds: equal paths give equal streams, other paths other streams."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpregret.simulation import generator, seed_sequence

NAMES = st.lists(st.one_of(st.text(), st.integers(), st.floats(allow_nan=False)), max_size=4)


def state(sequence):
    return sequence.generate_state(4).tolist()


@given(st.integers(0, 2**64), NAMES, NAMES)
def test_a_path_taken_in_two_steps_is_the_path(seed, first, second):
    assert state(seed_sequence(seed_sequence(seed, *first), *second)) == state(seed_sequence(seed, *first, *second))


def test_paths_differ_by_seed_name_order_and_depth():
    paths = [(0, "a"), (1, "a"), (0, "b"), (0, "a", "b"), (0, "b", "a"), (0, "ab"), (0, ("a", "b")), (0,)]
    assert len({tuple(state(seed_sequence(*path))) for path in paths}) == len(paths)


def test_numpy_scalars_are_the_numbers_they_hold():
    assert state(seed_sequence(0, np.float64(0.5), np.int64(3))) == state(seed_sequence(0, 0.5, 3))


def test_the_stream_is_the_one_of_every_machine():
    # committed figures rest on it
    assert generator(2021, "cascading", 0).integers(0, 10**6, 4).tolist() == [304013, 627372, 819292, 814960]


def test_drawing_does_not_move_a_sibling():
    before = generator(7, "b").random(3).tolist()
    generator(7, "a").random(100)
    assert generator(7, "b").random(3).tolist() == before


@pytest.mark.parametrize("bad", [-1, 0.5, "seed", True])
def test_a_seed_is_an_integer(bad):
    with pytest.raises(ValueError, match="seed must be"):
        seed_sequence(bad, "a")
