"""What `make quick` runs, and what it says of the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import quick

ROOT = Path(__file__).parents[1]

pytest_plugins = ["pytester"]

SUITE = """
import pytest

@pytest.mark.quick(cases=3)
@pytest.mark.parametrize("number", [*range(9), pytest.param(9, marks=pytest.mark.slow)])
def test_many(number): pass

@pytest.mark.quick
def test_once(): pass

def test_other(): pass
"""


def test_marked_tests_are_run_with_few_parameters(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmarkers =\n    quick: quick\n    slow: long")
    items, _ = pytester.inline_genitems(pytester.makepyfile(SUITE))
    assert [item.name for item in quick.choose(items)] == ["test_many[0]", "test_many[3]", "test_many[6]", "test_once"]


def test_what_was_not_run_is_counted_by_folder() -> None:
    ran = [
        "tests/spec/test_spec_methods.py::test_what_is_wrong[a]",
        "tests/spec/test_spec_methods.py::test_what_is_wrong[b]",
    ]
    total, folders = quick.left_out(ran)
    functions = {path: len(quick.FUNCTION.findall(path.read_text())) for path in Path(quick.TESTS).rglob("test_*.py")}
    every = sum(functions.values())
    of_spec = sum(count for path, count in functions.items() if path.parent.name == "spec")
    assert f"{every - 1:,} of {every:,} test functions" in total
    assert f"spec {of_spec - 1} of {of_spec}" in folders


def test_every_folder_has_a_quick_test() -> None:
    # Synthesis takes a tool of its own, bins the search of covering cases, and peers import PyTorch: minutes.
    marked = {path.parent.name for path in quick.TESTS.rglob("test_*.py") if "@pytest.mark.quick" in path.read_text()}
    folders = {path.parent.name for path in quick.TESTS.rglob("test_*.py")}
    assert folders - marked <= {"bins", "cosim", "peers", "synthesis", "soak", "data"}


@pytest.mark.parametrize(("demanded", "status", "said"), [("", 5, "SKIPPED"), ("1", 2, "ERROR")])
def test_without_an_extra_its_tests_are_left_out_with_the_reason_and_in_ci_they_fail(
    demanded: str, status: int, said: str
) -> None:
    hidden = "import sys; sys.modules['torch'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    files = ["tests/pytorch/test_torch_optim.py", "tests/papers/test_papers.py"]
    environment = {**os.environ, "HWSIM_TESTS_DEMAND_ALL": demanded}
    command = [sys.executable, "-c", hidden, "-q", "-rsE", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    assert said in done.stdout and "PyTorch is the extra `torch`" in done.stdout
