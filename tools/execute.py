"""Execute the notebooks with papermill, two at a time.

    python -m tools.execute                               every notebook at its defaults, into _build/notebooks
    python -m tools.execute --notebook cascading/ldp_regret -p epsilon 0.3
    python -m tools.execute --preset deep                 parameters from notebooks/presets.yml
    python -m tools.execute --in-place                    rewrite the committed notebooks and the reference figures

Every request is checked before anything runs: notebook, preset and parameter names, and the types of the values, since
papermill turns a value of another type into text and ignores an unknown name.
"""

import argparse
import os
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import yaml
from tqdm import tqdm

from tools import environment, notebooks
from tools.environment import ROOT
from tools.notebooks import Refused

EXECUTED = ROOT / "_build" / "notebooks"
FIGURES = ROOT / "_build" / "figures"
REFERENCE = ROOT / "tests" / "figures"


def parse(text: str) -> object:
    """A value typed on the command line: ``3``, ``1e5``, ``true``, ``[0.2, 0.5]``, or text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def convert(name: str, key: str, value: object, default: object) -> object:
    """``value`` in the type of ``default``, or Refused; one value stands for a list of one."""
    if type(default) is list and default and type(value) is not list:
        value = [value]
    if isinstance(default, str) and type(value) in (int, float):
        raise Refused(f"{name}: parameter {key} must be text, got {value!r}")
    if type(default) is float and type(value) is int:
        return float(value)
    if type(default) is int and type(value) is float and value.is_integer():
        return int(value)
    if type(value) is not type(default) or not notebooks.is_parameter_value(value):
        raise Refused(
            f"{name}: parameter {key} must be of type {type(default).__name__} (default {default!r}), got {value!r}"
        )
    if type(value) is list and default:
        return [convert(name, f"{key}[{i}]", item, default[0]) for i, item in enumerate(value)]
    return value


def plan(
    selected: list[str], preset: str | None, given: dict[str, object], folder: Path = notebooks.FOLDER
) -> dict[str, dict[str, object]]:
    """What to run: notebook -> parameters that differ from the defaults. Raises Refused."""
    known = notebooks.names(folder)
    for name in selected:
        if name not in known:
            raise Refused(f"unknown notebook {name!r}; there are: {', '.join(known)}")
    values: dict[str, dict[str, object]] = {}
    if preset:
        presets = yaml.safe_load((folder / "presets.yml").read_text(encoding="utf-8"))
        if preset not in presets:
            raise Refused(f"unknown preset {preset!r}; there are: {', '.join(presets)}")
        values = presets[preset] or {}
        for name in values:
            if name not in known:
                raise Refused(f"preset {preset!r} names an unknown notebook {name!r}")
    result = {}
    for name in selected or known:
        defaults = notebooks.parameters(notebooks.read(name, folder), name)
        result[name] = {}
        for key, value in {**values.get(name, {}), **given}.items():
            if key not in defaults:
                raise Refused(f"{name}: unknown parameter {key!r}; it has: {', '.join(defaults)}")
            result[name][key] = convert(name, key, value, defaults[key])
    return result


def run(name: str, parameters: dict[str, object], target: Path, folder: Path = notebooks.FOLDER) -> tuple[float, str]:
    """Execute one notebook; the time it took in seconds, and the traceback if it failed."""
    import papermill

    target.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    failure = ""
    try:
        papermill.execute_notebook(
            str(folder / f"{name}.ipynb"),
            str(target),
            parameters=parameters,
            kernel_name="python3",
            language="python",
            cwd=str(folder / Path(name).parent),
            progress_bar=False,
            log_output=False,
            extra_arguments=["--log-level=ERROR"],
        )
    except Exception as error:  # reported by the caller, which continues with the other notebooks
        failure = f"{type(error).__name__}: {error}"
    return time.perf_counter() - start, failure


def write_back(name: str, executed: Path) -> None:
    """Replace the committed notebook by its executed form."""
    path = notebooks.FOLDER / f"{name}.ipynb"
    fresh = path.with_suffix(".ipynb.new")
    fresh.write_text(notebooks.normal_form(notebooks.read(name, executed)), encoding="utf-8")
    os.replace(fresh, path)


def renew_reference(figures: Path, keep: bool) -> None:
    """Take over the figures' numbers; without ``keep`` those of figures that are gone are removed."""
    if not keep:
        shutil.rmtree(REFERENCE, ignore_errors=True)
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for path in sorted(figures.glob("*.csv")):
        shutil.copy(path, REFERENCE / path.name)


def main() -> int:
    cli = argparse.ArgumentParser(prog="tools.execute", description="Execute the notebooks.")
    cli.add_argument("--notebook", action="append", default=[], help="such as cascading/ldp_regret; may be repeated")
    cli.add_argument("--preset", help="a name in notebooks/presets.yml")
    cli.add_argument("-p", dest="given", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"))
    cli.add_argument("--in-place", action="store_true", help="rewrite the committed notebooks and reference figures")
    cli.add_argument("--workers", type=int, default=2)
    options = cli.parse_args()
    environment.prepare()
    try:
        if options.in_place and (options.preset or options.given):
            raise Refused("committed notebooks are run at their defaults: no preset or parameter with --in-place")
        if options.workers < 1:
            raise Refused(f"--workers must be at least 1, got {options.workers}")
        todo = plan(options.notebook, options.preset, {key: parse(value) for key, value in options.given})
    except Refused as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2

    executed, figures = EXECUTED, FIGURES
    if options.in_place:  # a place of its own: what another run left is not taken for this one's
        executed = ROOT / "_build" / f"in-place-{os.getpid()}"
        figures = executed / "figures"
        os.environ["DPREGRET_FIGURES"] = str(figures)
    shutil.rmtree(executed, ignore_errors=True)
    shutil.rmtree(figures, ignore_errors=True)
    failures = {}
    with ProcessPoolExecutor(max_workers=options.workers) as pool, tqdm(total=len(todo), unit="notebook") as bar:
        jobs = {pool.submit(run, name, todo[name], executed / f"{name}.ipynb"): name for name in todo}
        for job in as_completed(jobs):
            name = jobs[job]
            seconds, failure = job.result()
            bar.write(f"{'FAILED' if failure else 'done':6}  {seconds:6.1f} s  {name}", file=sys.stdout)
            bar.update()
            if failure:
                failures[name] = failure
            elif options.in_place:
                write_back(name, executed)
    if options.in_place:
        if not failures:
            renew_reference(figures, keep=bool(options.notebook))
        shutil.rmtree(executed)
    for name, failure in failures.items():
        print(f"\n--- {name}\n{failure}", file=sys.stderr)
    if failures:
        print(f"{len(failures)} of {len(todo)} notebooks failed: {', '.join(failures)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
