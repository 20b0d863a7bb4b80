"""Re-execute the notebooks as other processors would, and compare with what is committed, as `make test` does.

    python -m tools.portable                          every setting, every notebook
    python -m tools.portable --setting generic        one of: generic, haswell, nehalem, numpy, numba, libraries
    python -m tools.portable --notebook erm/sample_size

numpy, numba, OpenBLAS and the C library choose code by the processor they find, and the last bits depend on the choice.
A setting makes them choose as on an older one. Outputs are compared by nbval, figures by the rule of ``tools.figures``.
The exit status is 1 if anything differs, 2 if the request is wrong. Nothing of `make test` is touched: what is written
lies in ``_build/portable``.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from tools import environment, figures, notebooks
from tools.environment import ROOT
from tools.notebooks import Refused

SETTINGS: dict[str, dict[str, str]] = {
    "generic": {  # no more than SSE4.2, the least that numpy's wheels take
        "NPY_DISABLE_CPU_FEATURES": "all",
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_CORETYPE": "Prescott",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
    },
    "nehalem": {  # numba with the vectors of 2008, OpenBLAS likewise
        "NPY_DISABLE_CPU_FEATURES": "all",
        "NUMBA_CPU_NAME": "nehalem",
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
    },
    "haswell": {  # AVX2 and fused multiply-add, no AVX-512
        "NPY_DISABLE_CPU_FEATURES": "512",
        "NUMBA_CPU_NAME": "haswell",
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "numpy": {"NPY_DISABLE_CPU_FEATURES": "all"},
    "numba": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "libraries": {  # linear algebra and the C library's exponentials
        "OPENBLAS_CORETYPE": "Prescott",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
    },
}
DEFAULT = ("generic", "haswell")  # the others tell where a difference comes from
SHOWN, SHOWN_LINES = 6, 40  # differences of a figure, lines of an output's


def numpy_features(which: str) -> str:
    """What numpy would dispatch to here beyond its baseline: ``all`` of it, or what is called ``512``."""
    from numpy._core import _multiarray_umath as core

    here = [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]
    wide = [name for name in here if "512" in name or name == "X86_V4"]
    return " ".join(here if which == "all" else wide)


def variables(setting: str) -> dict[str, str]:
    """The environment of a setting."""
    chosen = dict(SETTINGS[setting])
    if which := chosen.get("NPY_DISABLE_CPU_FEATURES"):
        chosen["NPY_DISABLE_CPU_FEATURES"] = numpy_features(which)
    return chosen


def ran_otherwise(root: Path, setting: str) -> str:
    """Why the setting would have no effect here; empty if it takes."""
    ask = """if True:
        import os, sys
        import numpy, numba, threadpoolctl, scipy.linalg
        from numba.core import registry
        from numpy._core import _multiarray_umath as core
        asked = os.environ.get("NUMBA_CPU_NAME")
        name = registry.cpu_target.target_context.codegen()._get_host_cpu_name()
        if asked and name != asked:
            sys.exit(f"numba runs for {name}, not {asked}")
        on = [f for f in os.environ.get("NPY_DISABLE_CPU_FEATURES", "").split() if core.__cpu_features__[f]]
        if on:
            sys.exit(f"numpy still uses {' '.join(on)}")
    """
    process = subprocess.run(
        [sys.executable, "-c", ask], env=os.environ | variables(setting), cwd=root, capture_output=True, text=True
    )
    return process.stderr.strip().splitlines()[-1] if process.returncode else ""


def essence(text: str) -> list[str]:
    """What nbval says of a cell without its source: the differences, or the last line of an exception."""
    text = re.sub(r"(\x1b|#x1B)\[[0-9;]*m", "", text)
    _, _, said = text.partition("Traceback:\n")
    lines = [line.rstrip() for line in (said or text).splitlines() if line.strip()]
    if "Cell outputs differ" not in text:
        return lines[-1:]
    return lines if len(lines) <= SHOWN_LINES else [*lines[:SHOWN_LINES], "..."]


def compare_outputs(root: Path, names: list[str], setting: str, work: Path, workers: int) -> list[str]:
    """Execute the notebooks and compare their outputs; the differences as text."""
    report = work / "report.xml"
    paths = [str(root / "notebooks" / f"{name}.ipynb") for name in names]
    command = [
        sys.executable, "-m", "pytest", "-q", "--nbval", "--nbval-current-env", "--color=no",
        "--nbval-sanitize-with", str(root / "tests" / "nbval_sanitize.cfg"), "-p", "no:cacheprovider",
        f"--junitxml={report}", *(["-n", str(workers), "--dist", "loadfile"] if workers > 1 and len(names) > 1 else []),
        *paths,
    ]  # fmt: skip
    environ = os.environ | variables(setting) | {"DPREGRET_FIGURES": str(work / "figures")}
    process = subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True, errors="replace")
    if process.returncode not in (0, 1) or not report.exists():
        return [f"the notebooks could not be run:\n{(process.stdout + process.stderr).strip()[-2000:]}"]
    problems = []
    for case in ET.parse(report).iter("testcase"):
        for failure in [*case.iter("failure"), *case.iter("error")]:
            place = (case.get("classname") or "").removeprefix("notebooks.").removesuffix(".ipynb").replace(".", "/")
            text = failure.text or failure.get("message", "")
            problems.append("\n".join([f"{place}, {case.get('name')}", *(f"    {line}" for line in essence(text))]))
    if process.returncode and not problems:
        problems.append(f"the notebooks failed:\n{process.stdout.strip()[-2000:]}")
    return problems


def compare_figures(root: Path, made: Path, complete: bool) -> list[str]:
    """Compare the figures' numbers with the committed ones; with ``complete`` none may be missing."""
    reference = root / "tests" / "figures"
    problems = []
    fresh = {path.name for path in made.glob("*.csv")}
    committed = {path.name for path in reference.glob("*.csv")}
    problems += [f"{name}: not committed" for name in sorted(fresh - committed)]
    if complete:
        problems += [f"{name}: not regenerated" for name in sorted(committed - fresh)]
    for name in sorted(fresh & committed):
        found = figures.differences(figures.read(made / name), figures.read(reference / name))
        problems += [f"{name}: {problem}" for problem in found[:SHOWN]]
        if len(found) > SHOWN:
            problems.append(f"{name}: and {len(found) - SHOWN} more")
    return problems


def main() -> int:
    cli = argparse.ArgumentParser(prog="tools.portable", description="Re-execute the notebooks as elsewhere.")
    cli.add_argument("--setting", action="append", choices=SETTINGS, help="may be repeated")
    cli.add_argument("--notebook", action="append", help="such as cascading/ldp_regret; may be repeated")
    cli.add_argument("--workers", type=int, default=2)
    cli.add_argument("--root", type=Path, default=ROOT, help="the project; its _build/portable is written")
    options = cli.parse_args()
    root = options.root.resolve()
    environment.prepare()
    try:
        known = notebooks.names(root / "notebooks")
        for name in options.notebook or ():
            if name not in known:
                raise Refused(f"unknown notebook {name!r}; there are: {', '.join(known)}")
        if not known:
            raise Refused(f"no notebooks in {root / 'notebooks'}")
        for setting in (settings := options.setting or DEFAULT):
            if why := ran_otherwise(root, setting):
                raise Refused(f"the setting {setting!r} does not take here: {why}")
    except Refused as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2

    different = []
    for setting in settings:
        work = root / "_build" / "portable" / setting
        shutil.rmtree(work, ignore_errors=True)
        (work / "figures").mkdir(parents=True)
        print(f"{setting}: {len(options.notebook or known)} notebooks", flush=True)
        problems = compare_outputs(root, options.notebook or known, setting, work, options.workers)
        problems += compare_figures(root, work / "figures", complete=not options.notebook)
        for problem in problems:
            print(f"{setting}: {problem}", flush=True)
        print(f"{setting}: {'the same' if not problems else f'{len(problems)} differences'}", flush=True)
        different += problems
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
