"""Grids: the same numbers by any workers, in any part, and after any interruption."""

import functools
import linecache
import os
import time
from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr

from dpregret.simulation import grid, run_grid, store


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
    cells = run_grid(draw, AXES, **NAMED)
    assert cells.regret.dims == ("policy", "epsilon", "kind", "replicate") and cells.regret.shape == (2, 3, 2, 3)
    assert cells.epsilon.values.tolist() == [2, 0.5, 1.0] and cells.kind.values.tolist() == ["b", "a"]
    assert (cells.regret.sel(policy="far") > 9e5).all() and (cells.regret.sel(policy="zero") < 10).all()
    assert cells.attrs == {"name": "test", "seed": "5"}
    assert len(np.unique(cells.regret)) == cells.regret.size  # no two cells share a stream


def test_numbers_do_not_depend_on_workers_order_part_or_number_type():
    cells = run_grid(draw, AXES, **NAMED)
    assert cells.identical(run_grid(draw, AXES, n_jobs=2, **NAMED))
    part = {"kind": ["a"], "policy": {"far": Policy(1e6)}, "epsilon": np.array([0.5, 2])}
    cell = run_grid(draw, part, **NAMED).regret.transpose(*cells.regret.dims)
    assert (cell == cells.regret.sel(policy=["far"], epsilon=[0.5, 2], kind=["a"])).all()
    assert not cells.regret.equals(run_grid(draw, AXES, name="other", seed=5).regret)
    assert not cells.regret.equals(run_grid(draw, AXES, name="test", seed=6).regret)


def test_a_dictionary_of_scalars_and_a_dataset_are_results():
    def scalars(x, seed):
        return {"square": x * x, "word": str(x)}

    cells = run_grid(scalars, {"x": [3, 1, 2]}, **NAMED)
    assert cells.square.values.tolist() == [9, 1, 4] and cells.word.values.tolist() == ["3", "1", "2"]
    same = run_grid(lambda x, seed: xr.Dataset({"square": x * x}), {"x": iter([3, 1, 2])}, **NAMED)
    assert same.square.equals(cells.square)


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
    cells = run_grid(counted, AXES, cache=tmp_path, **NAMED)
    assert len(calls) == 5
    assert cells.identical(run_grid(draw, AXES, **NAMED))
    calls.clear()
    assert cells.identical(run_grid(counted, AXES, cache=tmp_path, **NAMED)) and calls == []


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
    cells = run_grid(draw, AXES, **arguments)
    assert len(log.read_text().splitlines()) == 12
    assert cells.identical(run_grid(draw, AXES, **arguments)) and len(log.read_text().splitlines()) == 12


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b[:9], lambda b: b"", lambda b: b"x" + b, lambda b: b[:-1] + b"!"]
)
def test_a_damaged_cell_is_computed_again(tmp_path, damage):
    log = tmp_path / "log"
    arguments = dict(cache=tmp_path / "cells", log=str(log), **NAMED)
    cells = run_grid(draw, AXES, **arguments)
    cell = sorted((tmp_path / "cells").iterdir())[0]
    cell.write_bytes(damage(cell.read_bytes()))
    assert cells.identical(run_grid(draw, AXES, **arguments))
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


# --- what a call passes on, and what a cell's key is made of


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_the_number_of_workers_is_passed_on(monkeypatch, n_jobs):
    asked = []

    class Recorded(grid.Parallel):
        def __init__(self, **options):
            asked.append(options["n_jobs"])
            super().__init__(**(options | {"n_jobs": 1}))

    monkeypatch.setattr(grid, "Parallel", Recorded)
    run_grid(draw, AXES, n_jobs=n_jobs, **NAMED)
    assert asked == [n_jobs]


def test_two_workers_are_two_processes():
    def process(x, seed):
        time.sleep(0.3)
        return {"process": os.getpid()}

    found = run_grid(process, {"x": [1, 2, 3, 4]}, n_jobs=2, **NAMED).process.values
    assert os.getpid() not in found and len(set(found.tolist())) == 2
    assert set(run_grid(process, {"x": [1, 2]}, **NAMED).process.values.tolist()) == {os.getpid()}


def compiled(source):
    """A function whose source can be read, as in a module."""
    name = f"<{hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = {}
    exec(compile(source, name, "exec"), space)
    return space["cell"]


def test_a_key_holds_the_source_of_the_function():
    one, same, two = (compiled(f"def cell(x, seed):\n    return x + {n}\n") for n in (1, 1, 2))
    assert store.key(one, "a") == store.key(same, "a") != store.key(two, "a")
    wrapped = functools.wraps(two)(lambda *args: None)
    assert store.key(wrapped, "a") == store.key(two, "a")
    assert store.key(len, "a") != store.key(max, "a")  # without a source: by name


def test_a_key_holds_every_part(tmp_path):
    keys = [store.key(draw, *parts) for parts in [(), (1,), (2,), (1, 2), ("1",), ({"a": 1},), ({"a": 2},)]]
    assert len(set(keys)) == len(keys)


@pytest.fixture
def fingerprint(tmp_path, monkeypatch):
    """The fingerprint of a small library."""
    (tmp_path / "report").mkdir()
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "report" / "b.py").write_text("y = 1")
    monkeypatch.setattr(store, "_ROOT", tmp_path)

    def of(**changes):
        store.library_fingerprint.cache_clear()
        return store.library_fingerprint()

    yield of
    monkeypatch.undo()
    store.library_fingerprint.cache_clear()


def test_the_fingerprint_holds_sources_names_and_versions(fingerprint, tmp_path, monkeypatch):
    seen = [fingerprint()]
    assert fingerprint() == seen[0]
    (tmp_path / "report" / "b.py").write_text("y = 2")  # what draws does not compute
    assert fingerprint() == seen[0]
    (tmp_path / "a.py").write_text("x = 2")
    seen.append(fingerprint())
    (tmp_path / "a.py").rename(tmp_path / "c.py")
    seen.append(fingerprint())
    (tmp_path / "d.py").write_text("")
    seen.append(fingerprint())
    for package in ("none", "numpy", "scipy", "numba", "xarray"):
        monkeypatch.setattr(store, "version", lambda name, package=package: f"{name} {name == package}")
        seen.append(fingerprint())
    assert len(set(seen)) == len(seen)


def test_a_cell_is_whole_or_absent(tmp_path):
    path = tmp_path / "cell"
    store.save(path, {"x": 1})
    assert store.load(path) == {"x": 1} and [p.name for p in tmp_path.iterdir()] == ["cell"]
    content = path.read_bytes()
    assert content.startswith(b"dpregret cell 1\n") and len(content) > 48
    path.write_bytes(content.replace(b"cell 1", b"cell 2"))
    assert store.load(path) is None
    path.write_bytes(content[:20] + bytes([content[20] ^ 1]) + content[21:])
    assert store.load(path) is None and store.load(tmp_path / "none") is None
    with pytest.raises(AttributeError):
        store.save(path, lambda: 0)  # cannot be pickled: nothing is left behind
    assert [p.name for p in tmp_path.iterdir()] == ["cell"]
