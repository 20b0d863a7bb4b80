"""Tables of a notebook, the rows behind a figure, and several cards at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from IPython.display import Markdown, display

from evidence.report.claims import Card


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Markdown:
    """A Markdown table, which the notebook displays as the value of a cell.

    Raises ValueError if a row has not the length of the head.
    """
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    for number, line in enumerate(lines[2:]):
        if len(line) != len(head):
            raise ValueError(f"rows[{number}] must have {len(head)} entries, got {line!r}")
    return Markdown("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))


def show(items: Iterable[Any] | Card) -> None:
    """Display verdict cards (or tables, or whatever has a display) one after the other."""
    for item in [items] if isinstance(items, Card) else items:
        display(item)


class Rows(dict[str, list]):
    """The columns behind a figure, for `evidence.report.publish`: rows are added as the curves are drawn.

    >>> rows = Rows("policy", "round", "regret")
    >>> rows.add(policy="ucb", round=[10, 20], regret=[1.5, 2.5])
    >>> dict(rows)
    {'policy': ['ucb', 'ucb'], 'round': [10, 20], 'regret': [1.5, 2.5]}
    """

    def __init__(self, *columns: str) -> None:
        super().__init__({column: [] for column in columns})

    def add(self, **values: Any) -> None:
        """Append one row, or as many as the longest value has; a single value stands in each of them.

        Raises ValueError if the names are not the columns, or two lengths differ.
        """
        if set(values) != set(self):
            raise ValueError(f"values must be given for {', '.join(self)}, got {', '.join(values)}")
        arrays = {name: np.asarray(value) for name, value in values.items()}
        length = np.broadcast_shapes(*(array.shape for array in arrays.values()), (1,))
        if len(length) != 1:
            raise ValueError(f"values must be single or one-dimensional, got shape {length}")
        for name, array in arrays.items():
            self[name] += np.broadcast_to(array, length).tolist()
