"""Experiments over a grid of parameters: seeded by name, run by any number of workers, kept as cells finish."""

from __future__ import annotations

import importlib.util
import itertools
import numbers
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from joblib import Parallel, delayed

from dpregret import _checks
from dpregret.simulation import store
from dpregret.simulation.seeds import seed_sequence


def run_grid(
    function: Callable[..., Any],
    axes: Mapping[str, Iterable[Any] | Mapping[str, Any]],
    *,
    name: str,
    seed: int | np.random.SeedSequence,
    n_jobs: int = 1,
    cache: str | Path | None = None,
    progress: bool | None = None,
    **fixed: Any,
) -> xr.Dataset:
    """Evaluate ``function`` at every cell of a grid and label the results.

    Parameters
    ----------
    function : callable
        ``function(**cell, **fixed, seed=SeedSequence)`` returns a DataArray, a Dataset or a dictionary of scalars; all
        cells the same variables, with the same coordinates.
    axes : mapping
        From the name of a dimension to its values: numbers, text, or a mapping from labels to objects (policies,
        problems), of which the cell's function gets the object and the result the label.
    name, seed
        The cell's seed sequence is that at ``name`` and the cell's labels below ``seed``. It does not depend on the
        other cells, on their order or on the workers, so a part of the grid gives the numbers of the whole.
    n_jobs : int
        Workers (joblib); -1 for all processors. A joblib backend set by the caller, such as dask, is used.
    cache : path, optional
        Folder in which each cell is kept as it finishes. An interrupted run goes on from there. A cell is taken only if
        the library, the source of ``function``, the seed and all arguments are those that it was computed with.
    progress : bool, optional
        Show a bar on the standard error; by default only on a terminal.
    **fixed
        Further arguments, the same for every cell.

    Returns
    -------
    xarray.Dataset
        With the dimensions of ``axes`` before those of the results; ``attrs`` carry ``name`` and ``seed``.

    Raises
    ------
    ValueError
        For an empty axis, a repeated label, an argument given twice, or results that do not fit together.
    """
    if not callable(function):
        raise ValueError(f"function must be callable, got {function!r}")
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must be non-empty text, got {name!r}")
    if _checks.integer("n_jobs", n_jobs, at_least=-1) == 0:
        raise ValueError("n_jobs must be -1 or an integer >= 1, got 0")
    levels = {dim: _axis(dim, values, fixed) for dim, values in axes.items()}
    if not levels:
        raise ValueError("axes must have at least one dimension, got none")
    root = seed_sequence(seed, name)
    folder = None if cache is None else Path(cache)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)

    results: dict[tuple, Any] = {}
    missing = []
    for labels in itertools.product(*levels.values()):
        cell = {dim: levels[dim][label] for dim, label in zip(levels, labels, strict=True)}
        leaf = seed_sequence(root, tuple(sorted(zip(levels, labels, strict=True))))
        path = None
        if folder is not None:
            path = folder / (store.key(function, name, leaf.entropy, leaf.spawn_key, cell, fixed) + ".cell")
        results[labels] = store.load(path) if path is not None else None
        if results[labels] is None:
            missing.append(delayed(_run)(function, labels, cell | fixed, leaf, path))

    found = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(missing)
    if _shown(progress):
        from tqdm import tqdm

        found = tqdm(found, total=len(results), initial=len(results) - len(missing), desc=name)
    for labels, result in found:
        results[labels] = result
    combined = _combine(results, levels, axes)
    return combined.assign_attrs(name=name, seed=str(root.entropy))


def _shown(progress: bool | None) -> bool:
    if progress is None:
        return sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None
    return progress


def _axis(dim: str, values: Any, fixed: Mapping[str, Any]) -> dict[Any, Any]:
    """Values by label; a number's label is a float, so that 1 and 1.0 are one cell with one seed."""
    if dim == "seed" or dim in fixed:
        raise ValueError(f"axes must not name {dim!r}, which is given otherwise")
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"axes[{dim!r}] must be a list of values or a mapping from labels, got {values!r}")
    pairs = list(values.items()) if isinstance(values, Mapping) else [(value, value) for value in values]
    if not pairs:
        raise ValueError(f"axes[{dim!r}] must have at least one value, got none")
    level: dict[Any, Any] = {}
    for label, value in pairs:
        plain, given = (item.item() if isinstance(item, np.generic) else item for item in (label, value))
        if not isinstance(plain, (str, numbers.Real)) or plain != plain:
            raise ValueError(f"axes[{dim!r}] must hold numbers or text, or map labels to objects, got {label!r}")
        if not isinstance(plain, (str, bool)) and float(plain) == plain:
            plain = float(plain)
        if plain in level:
            raise ValueError(f"axes[{dim!r}] must not repeat a label, got {label!r} twice")
        level[plain] = given
    return level


def _run(
    function: Callable[..., Any], labels: tuple, arguments: dict[str, Any], seed: Any, path: Path | None
) -> tuple[tuple, xr.Dataset]:
    """One cell, saved by the worker that computed it."""
    try:
        result = _dataset(function(**arguments, seed=seed))
    except Exception as error:
        names = list(arguments)[: len(labels)]
        error.add_note("in the cell " + ", ".join(f"{dim}={label}" for dim, label in zip(names, labels, strict=True)))
        raise
    if path is not None:
        store.save(path, result)
    return labels, result


def _dataset(result: Any) -> xr.Dataset:
    if isinstance(result, xr.DataArray):
        return result.to_dataset(name=result.name or "value")
    if isinstance(result, xr.Dataset):
        return result
    if isinstance(result, Mapping) and all(np.ndim(value) == 0 for value in result.values()):
        return xr.Dataset(dict(result))
    raise ValueError(f"function must return a DataArray, a Dataset or a dictionary of scalars, got {type(result)}")


def _combine(results: Mapping[tuple, xr.Dataset], levels: Mapping[str, dict], axes: Mapping[str, Any]) -> xr.Dataset:
    def nest(prefix: tuple) -> Any:
        if len(prefix) == len(dims):
            return results[prefix]
        return [nest((*prefix, label)) for label in levels[dims[len(prefix)]]]

    dims = list(levels)
    first = next(iter(results.values()))
    clash = sorted(set(dims) & (set(first.dims) | set(first.variables)))
    if clash:
        raise ValueError(f"axes must not have a name of the results, got {clash}")
    if any(set(result.data_vars) != set(first.data_vars) for result in results.values()):
        raise ValueError("function must return the same variables in every cell")
    combined = xr.combine_nested(
        nest(()), concat_dim=dims, data_vars="all", coords="different", compat="equals", join="exact",
        combine_attrs="drop_conflicts",
    ).transpose(*dims, ...)  # fmt: skip
    labelled = {dim: isinstance(axes[dim], Mapping) for dim in dims}
    return combined.assign_coords({dim: list(levels[dim] if labelled[dim] else levels[dim].values()) for dim in dims})
