"""The runner of mutations, as a process on a project of two files."""

import os
import signal
import subprocess
import sys
import time

import pytest
import yaml

from tools import mutants
from tools.environment import ROOT

OPS = """\
LIMIT = 3  # at most


def double(x):
    return 2 * x


def capped(x):
    return min(x, LIMIT)


def unused(x):
    while x > 10:
        x -= 1
    return x
"""
TESTS = """\
from dpregret.toy.ops import capped, double, unused


def test_double():
    assert double(3) == 6


def test_capped():
    assert capped(9) == 3 and unused(11) == 10
"""
DOUBLE = {"before": "2 * x", "after": "3 * x"}
EQUIVALENT = {"before": "while x > 10", "after": "while not x <= 10"}
CAUGHT = [DOUBLE, {"before": "min(", "after": "max("}]
MISSED = {"before": "x > 10", "after": "x > 10.5"}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "lib/dpregret/toy").mkdir(parents=True)
    (tmp_path / "tests/mutants").mkdir(parents=True)
    (tmp_path / "lib/dpregret/__init__.py").write_text("")
    (tmp_path / "lib/dpregret/toy/__init__.py").write_text("")
    (tmp_path / "lib/dpregret/toy/ops.py").write_text(OPS)
    (tmp_path / "tests/test_toy.py").write_text(TESTS)
    (tmp_path / "tests/test_other.py").write_text("def test_nothing():\n    pass\n")
    return tmp_path


def start(project, entries, *arguments, name="toy"):
    if entries is not None:
        entries = [{"file": "lib/dpregret/toy/ops.py"} | entry for entry in entries]
        (project / f"tests/mutants/{name}.yml").write_text(yaml.safe_dump(entries))
    command = [sys.executable, "-m", "tools.mutants", "--root", str(project), *arguments]
    return subprocess.Popen(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # as in a shell's background
    )  # fmt: skip


def run(*arguments, **named):
    process = start(*arguments, **named)
    said, wrong = process.communicate(timeout=600)
    return process.returncode, said, wrong


def test_outcomes_and_the_share_caught(project):
    status, said, _ = run(project, [*CAUGHT, MISSED, EQUIVALENT | {"equivalent": "the same condition"}])
    assert status == 1
    assert "2 of 4 mutations caught, 50.0 %; of the rest 1 equivalent, 1 not caught" in said
    rest = said.partition("not caught, equivalent:")[2]
    assert "not x <= 10\n      the same condition" in rest
    assert "NOT CAUGHT:\n  lib/dpregret/toy/ops.py: x > 10 -> x > 10.5  [tests/test_toy.py]" in rest
    assert (project / "lib/dpregret/toy/ops.py").read_text() == OPS

    # only what has changed runs again
    status, said, _ = run(project, [*CAUGHT, MISSED])
    assert status == 1 and "3 of 3 are known from an earlier run" in said and "2 of 3 mutations caught" in said
    (project / "tests/test_toy.py").write_text(TESTS + "\n\ndef test_more():\n    assert unused(10.2) == 9.2\n")
    status, said, _ = run(project, [*CAUGHT, MISSED])
    assert status == 0 and "known from" not in said and "3 of 3 mutations caught, 100.0 %" in said


def test_97_percent_is_the_limit(project):
    base = {mutants.Mutation("p", "f", str(n), "", ()): "caught" for n in range(97)}
    missed = {mutants.Mutation("p", "f", f"m{n}", "", ()): "not caught" for n in range(4)}
    assert mutants.report(base | dict(list(missed.items())[:3])) == 0
    assert mutants.report(base | missed) == 1


def test_a_slow_mutation_is_caught_and_told(project, monkeypatch):
    monkeypatch.setattr(mutants, "LEAST_TIME", 4.0)
    monkeypatch.setattr(mutants, "TIMES", 1)
    (project / "tests/mutants/toy.yml").write_text(
        yaml.safe_dump([{"file": "lib/dpregret/toy/ops.py", "before": "x -= 1", "after": "x -= 0"}])
    )
    monkeypatch.setattr(sys, "argv", ["mutants", "--root", str(project)])
    assert mutants.main() == 0


def test_a_package_or_a_file_alone(project):
    (project / "lib/dpregret/toy/more.py").write_text("one = 1\n")
    run(project, [{"file": "lib/dpregret/toy/more.py", "before": "1", "after": "2"}], name="more")
    status, said, _ = run(project, CAUGHT[:1], "--only", "toy")
    assert status == 0 and "1 of 1 mutations caught" in said
    status, said, _ = run(project, None, "--file", "lib/dpregret/toy/more.py", "--workers", "1", "--fresh")
    assert status == 1 and "known from" not in said and "0 of 1 mutations caught" in said
    status, _, wrong = run(project, None, "--only", "none")
    assert status == 2 and wrong == "no tests/mutants/none.yml; there are: more, toy\n"
    status, _, wrong = run(project, None, "--file", "lib/none.py")
    assert status == 2 and wrong == "no mutations of lib/none.py\n"


@pytest.mark.parametrize(
    "entry, said",
    [
        ({"before": "3 * x", "after": "x"}, "'before' must occur once, occurs 0 times: '3 * x'"),
        ({"before": "return", "after": "pass"}, "'before' must occur once, occurs 3 times: 'return'"),
        ({"before": "", "after": "x"}, "'before' must occur once, occurs 0 times"),
        ({"before": "2 * x", "after": "2 *"}, "with 'after' it is no Python"),
        ({"before": "# at most", "after": "# at least"}, "'after' changes nothing"),
        ({"before": "2 * x"}, "after must be text, is None"),
        (DOUBLE | {"why": "?"}, "unknown key why; known: after, before, equivalent, file, tests"),
        (DOUBLE | {"file": "lib/none.py"}, "there is no file lib/none.py"),
        (DOUBLE | {"tests": ["tests/test_none.py"]}, "there is no test file tests/test_none.py"),
        (DOUBLE | {"tests": []}, "tests must be a list of test files, is []"),
        (DOUBLE | {"equivalent": ""}, "equivalent must give the reason"),
    ],
)
def test_a_wrong_entry_stops_the_run(project, entry, said):
    status, out, wrong = run(project, [CAUGHT[1], entry])
    assert status == 2 and out == ""
    assert wrong.startswith("tests/mutants/toy.yml, entry 2: ") and said in wrong and "Traceback" not in wrong


def test_other_mistakes_stop_the_run(project):
    status, _, wrong = run(project, None)
    assert status == 2 and wrong == "no mutations\n"
    status, _, wrong = run(project, [DOUBLE, DOUBLE])
    assert status == 2 and "entry 2: occurs twice" in wrong
    (project / "tests/mutants/toy.yml").write_text("[")
    status, _, wrong = run(project, None)
    assert status == 2 and "tests/mutants/toy.yml" in wrong and "Traceback" not in wrong
    (project / "tests/mutants/toy.yml").write_text("a: b")
    status, _, wrong = run(project, None)
    assert status == 2 and wrong == "tests/mutants/toy.yml: must be a list of mutations\n"


def test_tests_that_fail_by_themselves_stop_the_run(project):
    (project / "tests/test_toy.py").write_text(
        "from dpregret.toy.ops import double\n\n\ndef test():\n    assert double(1) == 3\n"
    )
    status, said, wrong = run(project, CAUGHT)
    assert status == 2 and "without a mutation these fail: tests/test_toy.py" in wrong and "caught" not in said


def test_an_interrupted_run_leaves_nothing_behind_and_goes_on(project):
    slow = (
        "\n\ndef test_slow():\n    import os, pathlib, time\n    pathlib.Path('started').write_text(str(os.getpid()))\n"
        "    time.sleep(0 if unused(11) == 10 else 600)\n"
    )
    (project / "tests/test_toy.py").write_text(TESTS.replace(" and unused(11) == 10", "") + slow)
    process = start(project, [DOUBLE, {"before": "x -= 1", "after": "x -= 2"}], "--workers", "1")
    for line in process.stdout:
        if "1/2" in line:
            break
    started = project / "_build/mutants/copy-0/started"
    started.unlink()
    deadline = time.monotonic() + 300
    while not (started.exists() and started.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    tester = int(started.read_text())
    process.send_signal(signal.SIGINT)
    _, wrong = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "interrupted; what is done is kept, the same command goes on" in wrong and "Traceback" not in wrong
    with pytest.raises(ProcessLookupError):
        os.kill(tester, 0)
    status, said, _ = run(project, [DOUBLE, MISSED])
    assert status == 1 and "1 of 2 are known from an earlier run" in said


def test_kernels_that_hold_a_changed_function_are_compiled_again():
    held = mutants.kernels(ROOT)
    rules = {f"lib/dpregret/cascading/{name}.py" for name in ("learner", "first_position", "semibandit")}
    assert rules | {"lib/dpregret/cascading/kl_index.py"} < held["lib/dpregret/cascading/play.py"]
    assert all(file in used and all((ROOT / path).is_file() for path in used) for file, used in held.items())
    assert not any("lib/dpregret/_checks.py" in used for used in held.values())


def test_the_tests_of_a_module_are_those_that_import_its_package():
    assert (
        mutants.tests_of(ROOT, "lib/dpregret/privacy/composition.py")[0] == "tests/dpregret/privacy/test_composition.py"
    )
    assert "tests/dpregret/simulation/test_grid.py" in mutants.tests_of(ROOT, "lib/dpregret/simulation/store.py")
    assert "tests/tools/test_tools.py" in mutants.tests_of(ROOT, "tools/check_html.py")
    assert "tests/dpregret/erm/test_mechanism.py" not in mutants.tests_of(ROOT, "tools/check_html.py")


def test_an_outcome_holds_until_something_changes_that_the_tests_import(project):
    outcomes = mutants.Outcomes(project, project / "none")
    (project / "lib/dpregret/toy/more.py").write_text("from dpregret.toy import deep\n")
    (project / "lib/dpregret/toy/deep.py").write_text("")
    (project / "lib/dpregret/toy/apart.py").write_text("")
    (project / "tests/test_toy.py").write_text("import dpregret.toy.ops\nfrom dpregret.toy.more import deep\n" + TESTS)

    def key(*parts):
        mutants.imported.cache_clear()
        return outcomes.key(("tests/test_toy.py",), *parts)

    seen = [key("a"), key("b"), key()]
    for file in ("lib/dpregret/toy/apart.py", "tests/test_other.py"):
        (project / file).write_text("x = 1\n")
        assert key("a") == seen[0]
    for file in ("toy/deep.py", "toy/__init__.py", "__init__.py", "toy/ops.py"):
        (project / "lib/dpregret" / file).write_text("x = 2\n")
        seen.append(key("a"))
    (project / "conftest.py").write_text("")
    seen.append(key("a"))
    assert len(set(seen)) == len(seen)
