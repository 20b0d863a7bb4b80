"""Break the library and the tools one place at a time, and see whether a test notices.

    python -m tools.mutants                       every mutation of tests/mutants/*.yml
    python -m tools.mutants --only privacy        those of tests/mutants/privacy.yml
    python -m tools.mutants --file lib/dpregret/privacy/discrete.py

An entry names a ``file``, a text ``before`` that occurs in it once, and the text ``after`` that takes its place; if
need be the ``tests`` that have to notice (default: the test files that import the file's package), and ``equivalent``,
the reason why no test can see it. Each mutation is applied in one of two copies of the project, two at a time, and its
tests run until one fails. The exit status is 1 if less than 97 % are caught, 2 if an entry is wrong or the tests fail
without a mutation. Outcomes are kept in ``_build/mutants`` as they come, so that an interrupted run goes on; they hold
as long as neither the mutation's tests nor what they import changes.
"""

import argparse
import ast
import fcntl
import functools
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import yaml

from tools.environment import ROOT

SHARE = 0.97
NOT_COPIED = (".git", ".venv", "_build", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info")
LOOP = {"recommend", "respond", "update"}  # methods that dpregret.cascading.play compiles
NEED_A_BUILD = {"test_book.py", "test_figures.py", "test_notebooks.py"}
LEAST_TIME, TIMES = 120.0, 10  # a mutation is given up after so many seconds, or times what its tests take without it


class Wrong(ValueError):
    """The data are wrong, or the tests fail without a mutation."""


@dataclass(frozen=True)
class Mutation:
    package: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
    equivalent: str = ""

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.file}: {old[:70]} -> {new[:70]}"


def tests_of(root: Path, file: str) -> tuple[str, ...]:
    """The test files that import the package (or, of the tools, the module) of a file."""
    path = Path(file)
    if path.parts[0] == "tools":
        names = rf"tools\.{path.stem}\b|from tools import [^\n]*\b{path.stem}\b"
    else:
        top, package = path.parts[1], path.parts[2] if len(path.parts) > 3 else path.stem
        names = rf"{top}\.{package}\b|from {top} import [^\n]*\b{package}\b"
    found = []
    for test in sorted((root / "tests").rglob("test_*.py")):
        text = test.read_text(encoding="utf-8")
        if test.name not in NEED_A_BUILD and re.search(names, text):
            found.append((-len(re.findall(rf"\b{path.stem}\b", text)), test.relative_to(root).as_posix()))
    return tuple(name for _, name in sorted(found))  # the likeliest first


def shape(text: str) -> str:
    """What a program text means to Python: comments and layout do not count."""
    return ast.dump(ast.parse(text))


def load(root: Path, package: str | None, file: str | None) -> list[Mutation]:
    """The mutations asked for. Raises Wrong with every mistake in them."""
    folder = root / "tests" / "mutants"
    names = sorted(path.stem for path in folder.glob("*.yml"))
    if package is not None and package not in names:
        raise Wrong(f"no tests/mutants/{package}.yml; there are: {', '.join(names) or 'none'}")
    mutations, mistakes = [], []
    for name in [package] if package else names:
        try:
            entries = yaml.safe_load((folder / f"{name}.yml").read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            mistakes.append(f"tests/mutants/{name}.yml: {error}")
            continue
        if not isinstance(entries, list):
            mistakes.append(f"tests/mutants/{name}.yml: must be a list of mutations")
            continue
        for number, entry in enumerate(entries, 1):
            where = f"tests/mutants/{name}.yml, entry {number}"
            try:
                mutation = read_entry(root, name, entry)
            except Wrong as error:
                mistakes.append(f"{where}: {error}")
                continue
            if mutation in mutations:
                mistakes.append(f"{where}: occurs twice")
            elif file is None or mutation.file == file:
                mutations.append(mutation)
    if mistakes:
        raise Wrong("\n".join(mistakes))
    if not mutations:
        raise Wrong("no mutations" + (f" of {file}" if file else ""))
    return mutations


def read_entry(root: Path, package: str, entry: object) -> Mutation:
    if not isinstance(entry, dict):
        raise Wrong(f"must be a mapping, is {entry!r}")
    known = {"file", "before", "after", "tests", "equivalent"}
    if unknown := sorted(map(str, set(entry) - known)):
        raise Wrong(f"unknown key {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    for key in ("file", "before", "after"):
        if not isinstance(entry.get(key), str):
            raise Wrong(f"{key} must be text, is {entry.get(key)!r}")
    file, before, after = entry["file"], entry["before"], entry["after"]
    path = root / file
    if not path.is_file():
        raise Wrong(f"there is no file {file}")
    text = path.read_text(encoding="utf-8")
    if (times := text.count(before) if before else 0) != 1:
        raise Wrong(f"{file}: 'before' must occur once, occurs {times} times: {before!r}")
    if path.suffix == ".py":
        try:
            same = shape(text.replace(before, after)) == shape(text)
        except SyntaxError as error:
            raise Wrong(f"{file}: with 'after' it is no Python ({error.msg}, line {error.lineno}): {after!r}") from None
        if same:
            raise Wrong(f"{file}: 'after' changes nothing: {after!r}")
    tests = entry.get("tests", list(tests_of(root, file)))
    if not tests and "tests" not in entry:
        raise Wrong(f"no test imports {file}: name its tests")
    if not (isinstance(tests, list) and tests and all(isinstance(test, str) for test in tests)):
        raise Wrong(f"{file}: tests must be a list of test files, is {tests!r}")
    for test in tests:
        if not (root / test.partition("::")[0]).is_file():
            raise Wrong(f"there is no test file {test.partition('::')[0]}")
    equivalent = entry.get("equivalent", "")
    if not isinstance(equivalent, str) or ("equivalent" in entry and not equivalent.strip()):
        raise Wrong(f"{file}: equivalent must give the reason, is {equivalent!r}")
    return Mutation(package, file, before, after, tuple(tests), " ".join(equivalent.split()))


def is_compiled(node: ast.AST) -> bool:
    """Whether numba compiles it: a function with its decorator, or a rule of the cascading loop."""
    if isinstance(node, ast.ClassDef):
        return any(ast.unparse(base) == "NamedTuple" for base in node.bases) and any(
            isinstance(part, ast.FunctionDef) and part.name in LOOP for part in node.body
        )
    return isinstance(node, ast.FunctionDef) and any(
        re.search(r"\b(njit|jit|vectorize|guvectorize)\b", ast.unparse(d)) for d in node.decorator_list
    )


@functools.cache
def kernels(root: Path) -> dict[str, frozenset[str]]:
    """Files with compiled functions -> the files whose names these functions use, directly or through a kernel.

    Numba keeps a compiled function until its own file changes, so these are kept apart when such a file is mutated.
    """
    uses: dict[str, set[str]] = {}
    for path in sorted((root / "lib").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        compiled = [node for node in ast.walk(tree) if is_compiled(node)]
        if not compiled:
            continue
        plain = [node for node in tree.body if not isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        names = {n.id for part in (*compiled, *plain) for n in ast.walk(part) if isinstance(n, ast.Name)}
        used = uses.setdefault(path.relative_to(root).as_posix(), set())
        used.add(path.relative_to(root).as_posix())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    if (alias.asname or alias.name) in names:
                        for module in (node.module, f"{node.module}.{alias.name}"):
                            file = Path("lib", *module.split(".")).with_suffix(".py")
                            if (root / file).is_file():
                                used.add(file.as_posix())
        if any(isinstance(node, ast.ClassDef) for node in compiled):  # the loop holds its source
            uses.setdefault("lib/dpregret/cascading/play.py", set()).add(path.relative_to(root).as_posix())
    for _ in uses:
        for file, used in uses.items():
            uses[file] = used.union(*(uses[other] for other in used if other in uses))
    return {file: frozenset(used) for file, used in uses.items()}


def library(root: Path) -> str:
    """A digest of the library's sources."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted((root / "lib").rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Runner:
    """Runs tests in copies of the project; every test process is its own group, so that nothing is left behind."""

    def __init__(self, root: Path, work: Path, kernels: Path, workers: int) -> None:
        self.root, self.work, self.kernels = root, work, kernels
        for old in work.glob("kernels-*"):
            if old != kernels:
                shutil.rmtree(old, ignore_errors=True)
        self.running: set[subprocess.Popen] = set()
        self.lock, self.stopped = threading.Lock(), threading.Event()
        self.copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(workers):
            copy = work / f"copy-{number}"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(root, copy, ignore=shutil.ignore_patterns(*NOT_COPIED), symlinks=True)
            self.copies.put(copy)

    def stop(self) -> None:
        self.stopped.set()
        with self.lock:
            for process in self.running:
                end(process)

    def test(self, copy: Path, tests: tuple[str, ...], cache: Path, limit: float | None) -> tuple[int | None, str]:
        """The status of pytest on ``tests``, None if it took too long, and what it said."""
        variables = {k: v for k, v in os.environ.items() if k not in ("CI", "REQUIRE_BUILT", "DPREGRET_FIGURES")}
        variables |= {
            "PYTHONPATH": os.pathsep.join([str(copy / "lib"), str(copy)]),
            "DPREGRET_KERNELS": str(cache),
            "PYTHONUTF8": "1",
        }
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--mpl", "-p", "no:cacheprovider", "--tb=line", *tests]
        with self.lock:
            if self.stopped.is_set():
                raise KeyboardInterrupt
            process = subprocess.Popen(
                command, cwd=copy, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, start_new_session=True, text=True, errors="replace",
            )  # fmt: skip
            self.running.add(process)
        try:
            said, _ = process.communicate(timeout=limit)
            status = process.returncode
        except subprocess.TimeoutExpired:
            end(process)
            said, status = process.communicate()[0], None
        finally:
            end(process)
            with self.lock:
                self.running.discard(process)
        if self.stopped.is_set():
            raise KeyboardInterrupt
        return status, said

    def baseline(self, test: str) -> tuple[float, int | None, str]:
        """How long one test file takes without a mutation, and how it ends."""
        copy = self.copies.get()
        try:
            start = time.perf_counter()
            status, said = self.test(copy, (test,), self.kernels, None)
            return time.perf_counter() - start, status, said
        finally:
            self.copies.put(copy)

    def mutate(self, number: int, mutation: Mutation, limit: float) -> tuple[str, float]:
        """Whether the tests notice: "caught", "timeout" or "not caught"; and the time it took."""
        copy = self.copies.get()
        path = copy / mutation.file
        text, stat = path.read_text(encoding="utf-8"), path.stat()
        shared = cache = self.kernels
        stale = [file for file, used in kernels(self.root).items() if mutation.file in used]
        try:
            path.write_text(text.replace(mutation.before, mutation.after), encoding="utf-8")
            # a time of its own: Python and numba tell two states of a file by time and size
            os.utime(path, (stat.st_atime, stat.st_mtime + 10 * (number + 1)))
            if stale:
                cache = self.work / f"{copy.name}-kernels"
                old = shutil.ignore_patterns(*(f"{Path(file).stem}.*" for file in stale))
                shutil.rmtree(cache, ignore_errors=True)
                if shared.exists():
                    shutil.copytree(shared, cache, ignore=old)
            start = time.perf_counter()
            status, _ = self.test(copy, mutation.tests, cache, limit)
            outcome = "timeout" if status is None else "caught" if status else "not caught"
            return outcome, time.perf_counter() - start
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, (stat.st_atime, stat.st_mtime))
            if cache != shared:
                shutil.rmtree(cache, ignore_errors=True)
            self.copies.put(copy)


def end(process: subprocess.Popen) -> None:
    """End a test process and all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


@functools.cache
def imported(root: Path, path: Path) -> frozenset[Path]:
    """The files of the library and the tools that a file imports directly, packages on the way included."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for module in modules:
            parts = module.split(".")
            for place in (root / "lib", root):
                for depth in range(1, len(parts) + 1):
                    base = place.joinpath(*parts[:depth])
                    found |= {file for file in (base / "__init__.py", base.with_suffix(".py")) if file.is_file()}
    return frozenset(found)


def reached(root: Path, tests: tuple[str, ...]) -> list[Path]:
    """All files of the library and the tools that the tests can run, and the tests themselves."""
    todo = [root / test.partition("::")[0] for test in tests]
    seen: set[Path] = set()
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            todo += imported(root, path)
    if any(path.parent == root / "tools" for path in seen):  # some run a tool as a process, by its name
        seen |= {*(root / "tools").glob("*.py"), *(root / "book" / "claims").glob("*.yml")}
        seen |= {path for tool in (root / "tools").glob("*.py") for path in imported(root, tool)}
    return sorted(seen | {path for name in ("conftest.py", "pyproject.toml") if (path := root / name).exists()})


class Outcomes:
    """What is known already, kept in a file as it comes."""

    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path, self.known, self.lock = root, path, {}, threading.Lock()
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    self.known |= json.loads(line)
                except ValueError:
                    pass  # the last line of a run that was killed

    def key(self, tests: tuple[str, ...], *parts: str) -> str:
        digest = hashlib.sha256(sys.version.encode())
        for part in (*tests, *parts):
            digest.update(part.encode() + b"\0")
        for file in reached(self.root, tests):
            digest.update(file.relative_to(self.root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
        return digest.hexdigest()[:32]

    def keep(self, key: str, outcome: list) -> None:
        with self.lock:
            self.known[key] = outcome
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({key: outcome}) + "\n")


def run(mutations: list[Mutation], runner: Runner, outcomes: Outcomes, workers: int) -> dict[Mutation, str]:
    """The outcome of each mutation. Raises Wrong if the tests fail without one."""
    tests = sorted({test for mutation in mutations for test in mutation.tests})
    found: dict[Mutation, str] = {}
    with ThreadPoolExecutor(workers) as pool:
        try:
            seconds = {}
            keys = {test: outcomes.key((test,)) for test in tests}
            jobs = {}
            for test in tests:
                if (known := outcomes.known.get(keys[test])) is not None:
                    seconds[test] = known[0]
                else:
                    jobs[pool.submit(runner.baseline, test)] = test
            failed = {}
            for job in as_completed(jobs):
                test = jobs[job]
                seconds[test], status, said = job.result()
                print(f"{'FAILED' if status else 'passes'}  {seconds[test]:6.1f} s  {test}, unmutated", flush=True)
                if status:
                    failed[test] = said
                else:
                    outcomes.keep(keys[test], [seconds[test]])
            if failed:
                said = "\n".join(text.strip()[-2000:] for text in failed.values())
                raise Wrong(f"{said}\nwithout a mutation these fail: {', '.join(failed)}")

            keys = {m: outcomes.key(m.tests, m.file, m.before, m.after) for m in mutations}
            found = {m: outcomes.known[keys[m]][0] for m in mutations if keys[m] in outcomes.known}
            if found:
                print(f"{len(found)} of {len(mutations)} are known from an earlier run", flush=True)
            jobs = {
                pool.submit(runner.mutate, n, m, max(LEAST_TIME, TIMES * sum(seconds[test] for test in m.tests))): m
                for n, m in enumerate(mutations)
                if m not in found
            }
            for job in as_completed(jobs):
                mutation = jobs[job]
                outcome, took = job.result()
                found[mutation] = outcome
                outcomes.keep(keys[mutation], [outcome])
                print(f"{len(found):4}/{len(mutations)}  {outcome:10}  {took:6.1f} s  {mutation}", flush=True)
        except BaseException:
            runner.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return found


def report(found: dict[Mutation, str]) -> int:
    """Print the share caught and the rest; the exit status."""
    caught = [m for m, outcome in found.items() if outcome != "not caught"]
    rest = [m for m in found if m not in set(caught)]
    for title, group in (
        ("caught only because the tests took too long", [m for m in caught if found[m] == "timeout"]),
        ("said to be equivalent, but caught", [m for m in caught if m.equivalent]),
        ("not caught, equivalent", [m for m in rest if m.equivalent]),
        ("NOT CAUGHT", [m for m in rest if not m.equivalent]),
    ):
        if group:
            print(f"\n{title}:")
            for m in sorted(group, key=str):
                print(f"  {m}" + (f"\n      {m.equivalent}" if m.equivalent else f"  [{', '.join(m.tests)}]"))
    print()
    packages = sorted({m.package for m in found})
    for package in packages if len(packages) > 1 else ():
        of, all_ = (sum(m.package == package for m in group) for group in (caught, found))
        print(f"{package:12} {of:4} of {all_:4}")
    share = len(caught) / len(found)
    equivalent = sum(bool(m.equivalent) for m in rest)
    print(
        f"{len(caught)} of {len(found)} mutations caught, {100 * share:.1f} %; of the rest {equivalent} equivalent, "
        f"{len(rest) - equivalent} not caught"
    )
    return 0 if share >= SHARE else 1


def main() -> int:
    cli = argparse.ArgumentParser(prog="tools.mutants", description="See whether the tests notice single mutations.")
    cli.add_argument("--only", metavar="PACKAGE", help="those of tests/mutants/PACKAGE.yml")
    cli.add_argument("--file", help="those of one file, such as lib/dpregret/privacy/discrete.py")
    cli.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    cli.add_argument("--workers", type=int, default=2)
    cli.add_argument("--root", type=Path, default=ROOT, help="the project; its _build/mutants is written")
    options = cli.parse_args()
    root = options.root.resolve()
    work = root / "_build" / "mutants"
    try:
        if options.workers < 1:
            raise Wrong(f"--workers must be at least 1, is {options.workers}")
        mutations = load(root, options.only, options.file)
    except Wrong as error:
        print(error, file=sys.stderr)
        return 2
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # also where the caller ignores SIGINT, as a shell does in the background
        signal.signal(number, signal.default_int_handler)
    work.mkdir(parents=True, exist_ok=True)
    try:
        with (work / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Wrong(f"another run works in {work}") from None
            if options.fresh:
                (work / "outcomes.jsonl").unlink(missing_ok=True)
            outcomes = Outcomes(root, work / "outcomes.jsonl")
            runner = Runner(root, work, work / f"kernels-{library(root)}", options.workers)
            return report(run(mutations, runner, outcomes, options.workers))
    except Wrong as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; what is done is kept, the same command goes on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
