"""The search for the smallest integer with a property, against trying all."""

import pytest

from dpregret._search import smallest


@pytest.mark.parametrize("at_least", [1, 2, 5])
@pytest.mark.parametrize("threshold", [*range(1, 40), 1000])
def test_the_smallest_integer_from_a_start_on(threshold, at_least):
    assert smallest(lambda n: n >= threshold, at_least=at_least) == max(threshold, at_least)


def test_nothing_below_the_start_is_asked():
    asked = []
    smallest(lambda n: asked.append(n) or n >= 9, at_least=2)
    assert min(asked) == 2 and smallest(lambda n: True) == 1
