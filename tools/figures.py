"""The numbers of two figures compared: a column with a standard error may move, any other may not.

A column ``x`` with a standard error ``x_se`` may move by 4 joint standard errors: were the seeds independent, a value
would leave that range with probability 6e-5 under normality; with the committed seeds on one machine the numbers are
equal. Any other number is exact: relative 1e-9.
"""

import csv
import math
from pathlib import Path

Columns = dict[str, list[str]]


def read(path: Path) -> Columns:
    """The columns of a file as lists of text."""
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))
    return {name: [row[i] for row in rows] for i, name in enumerate(head)}


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def differences(new: Columns, old: Columns) -> list[str]:
    """Where two tables differ by more than they may, as text."""
    if list(new) != list(old):
        return [f"columns {list(new)}, committed {list(old)}"]
    if {len(column) for column in new.values()} != {len(column) for column in old.values()}:
        return ["another number of rows"]
    problems = []
    for name in old:
        if name.endswith("_se"):
            continue
        for row, (a, b) in enumerate(zip(new[name], old[name], strict=True)):
            x, y = number(a), number(b)
            if x is None or y is None:
                same = a == b
            elif math.isnan(x) or math.isnan(y):
                same = math.isnan(x) and math.isnan(y)
            elif f"{name}_se" in old:
                same = abs(x - y) <= 4 * math.hypot(float(new[f"{name}_se"][row]), float(old[f"{name}_se"][row]))
                same |= math.isclose(x, y, rel_tol=1e-9)
            else:
                same = math.isclose(x, y, rel_tol=1e-9)
            if not same:
                problems.append(f"{name}, row {row}: {a}, committed {b}")
    return problems
