"""Grids: the same numbers by any workers, in any part, and after any interruption."""

from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr

from dpregret.simulation import run_grid, store


@dataclass(frozen=True)
class Policy:
    shift: float


AXES = {"policy": {"zero": Policy(0.0), "far": Policy(1e6)}, "epsilon": [2, 0.5, 1.0], "kind": ["b", "a"]}
NAMED = dict(name="test", seed=5)


def draw(policy, epsilon, kind, seed, size=3, log=None):
    if log is not None:
        with open(log, "a") as stream:
            stream.write(f"{policy.shift} {epsilon} {kind}\n")
    values = np.random.default_rng(seed).normal(size=size) + policy.shift
    return xr.DataArray(values, dims="replicate", name="regret")


def test_results_are_labelled_in_the_order_given():
    grid = run_grid(draw, AXES, **NAMED)
    assert grid.regret.dims == ("policy", "epsilon", "kind", "replicate") and grid.regret.shape == (2, 3, 2, 3)
    assert grid.epsilon.values.tolist() == [2, 0.5, 1.0] and grid.kind.values.tolist() == ["b", "a"]
    assert (grid.regret.sel(policy="far") > 9e5).all() and (grid.regret.sel(policy="zero") < 10).all()
    assert grid.attrs == {"name": "test", "seed": "5"}
    assert len(np.unique(grid.regret)) == grid.regret.size  # no two cells share a stream


def test_numbers_do_not_depend_on_workers_order_part_or_number_type():
    grid = run_grid(draw, AXES, **NAMED)
    assert grid.identical(run_grid(draw, AXES, n_jobs=2, **NAMED))
    part = {"kind": ["a"], "policy": {"far": Policy(1e6)}, "epsilon": np.array([0.5, 2])}
    cell = run_grid(draw, part, **NAMED).regret.transpose(*grid.regret.dims)
    assert (cell == grid.regret.sel(policy=["far"], epsilon=[0.5, 2], kind=["a"])).all()
    assert not grid.regret.equals(run_grid(draw, AXES, name="other", seed=5).regret)
    assert not grid.regret.equals(run_grid(draw, AXES, name="test", seed=6).regret)


def test_a_dictionary_of_scalars_and_a_dataset_are_results():
    def scalars(x, seed):
        return {"square": x * x, "word": str(x)}

    grid = run_grid(scalars, {"x": [3, 1, 2]}, **NAMED)
    assert grid.square.values.tolist() == [9, 1, 4] and grid.word.values.tolist() == ["3", "1", "2"]
    same = run_grid(lambda x, seed: xr.Dataset({"square": x * x}), {"x": iter([3, 1, 2])}, **NAMED)
    assert same.square.equals(grid.square)


def test_an_interrupted_run_goes_on(tmp_path):
    calls = []

    def counted(policy, epsilon, kind, seed):
        if len(calls) == 7:
            raise KeyboardInterrupt
        calls.append(kind)
        return draw(policy, epsilon, kind, seed)

    with pytest.raises(KeyboardInterrupt):
        run_grid(counted, AXES, cache=tmp_path, **NAMED)
    assert len(calls) == len(list(tmp_path.iterdir())) == 7
    calls.clear()
    grid = run_grid(counted, AXES, cache=tmp_path, **NAMED)
    assert len(calls) == 5
    assert grid.identical(run_grid(draw, AXES, **NAMED))
    calls.clear()
    assert grid.identical(run_grid(counted, AXES, cache=tmp_path, **NAMED)) and calls == []


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_names_its_cell(n_jobs):
    def fail(x, seed):
        return {"inverse": 1 / x}

    with pytest.raises(ZeroDivisionError) as caught:
        run_grid(fail, {"x": [1, 0]}, n_jobs=n_jobs, **NAMED)
    assert caught.value.__notes__ == ["in the cell x=0.0"]


def test_workers_save_their_cells(tmp_path):
    log = tmp_path / "log"
    arguments = dict(cache=tmp_path / "cells", log=str(log), n_jobs=2, **NAMED)
    grid = run_grid(draw, AXES, **arguments)
    assert len(log.read_text().splitlines()) == 12
    assert grid.identical(run_grid(draw, AXES, **arguments)) and len(log.read_text().splitlines()) == 12


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b[:9], lambda b: b"", lambda b: b"x" + b, lambda b: b[:-1] + b"!"]
)
def test_a_damaged_cell_is_computed_again(tmp_path, damage):
    log = tmp_path / "log"
    arguments = dict(cache=tmp_path / "cells", log=str(log), **NAMED)
    grid = run_grid(draw, AXES, **arguments)
    cell = sorted((tmp_path / "cells").iterdir())[0]
    cell.write_bytes(damage(cell.read_bytes()))
    assert grid.identical(run_grid(draw, AXES, **arguments))
    assert len(log.read_text().splitlines()) == 13


def test_a_cell_is_kept_for_its_arguments_seed_and_library_alone(tmp_path, monkeypatch):
    log = tmp_path / "log"
    changes = [{}, {"seed": 6}, {"name": "other"}, {"size": 4}]
    for count, change in enumerate(changes, 1):
        run_grid(draw, AXES, **(NAMED | dict(cache=tmp_path / "cells", log=str(log)) | change))
        assert len(log.read_text().splitlines()) == 12 * count
    monkeypatch.setattr(store, "library_fingerprint", lambda: "another library")
    run_grid(draw, AXES, cache=tmp_path / "cells", log=str(log), **NAMED)
    assert len(log.read_text().splitlines()) == 12 * (len(changes) + 1)


def test_the_bar_is_silent_unless_asked_for(capsys):
    run_grid(draw, AXES, **NAMED)
    assert capsys.readouterr() == ("", "")
    run_grid(draw, AXES, progress=True, **NAMED)
    assert "12/12" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("function", "axes", "changes", "message"),
    [
        (None, AXES, {}, "function must be callable"),
        (draw, {}, {}, "at least one dimension"),
        (draw, AXES | {"kind": []}, {}, r"axes\['kind'\] must have at least one value"),
        (draw, AXES | {"kind": ["a", "a"]}, {}, "must not repeat a label"),
        (draw, AXES | {"epsilon": [1, 1.0]}, {}, "must not repeat a label"),
        (draw, AXES | {"kind": "ab"}, {}, "must be a list"),
        (draw, AXES | {"policy": [Policy(1.0)]}, {}, "map labels to objects"),
        (draw, AXES | {"seed": [1]}, {}, "must not name 'seed'"),
        (draw, AXES, {"kind": "a"}, "must not name 'kind'"),
        (draw, AXES, {"n_jobs": 0}, "n_jobs must be"),
        (draw, AXES, {"name": ""}, "name must be"),
        (draw, AXES, {"seed": -1}, "seed must be"),
        (lambda x, seed: [1], {"x": [1]}, {}, "function must return"),
        (lambda x, seed: {f"v{x}": 1}, {"x": [1, 2]}, {}, "same variables"),
        (lambda x, seed: {"x": 1}, {"x": [1, 2]}, {}, "must not have a name of the results"),
    ],
)
def test_bad_input_is_refused(function, axes, changes, message):
    with pytest.raises(ValueError, match=message):
        run_grid(function, axes, **(NAMED | changes))


def test_cells_with_other_coordinates_are_refused():
    def wide(x, seed):
        return xr.DataArray(np.zeros(x), dims="round", coords={"round": np.arange(x)})

    with pytest.raises(ValueError, match="round"):
        run_grid(wide, {"x": [1, 2]}, **NAMED)
