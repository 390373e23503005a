"""Turns of the long tests: together they are all tests, each in one of them, and short tests are in each."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import quick
import turns

pytest_plugins = ["pytester"]
OPTION = """
import turns

LONG = ["test_suite.py::test_of_a_number", "test_suite.py::test_alone"]

def pytest_addoption(parser):
    turns.add_option(parser)

def pytest_collection_modifyitems(config, items):
    turns.keep_turn(config, items, LONG)
"""
SUITE = f"""
import pytest

EVER, MORE = range({2 * turns.TURNS}), range({2 * turns.TURNS}, {3 * turns.TURNS})
SOAK = [pytest.param(number, marks=pytest.mark.soak) for number in MORE]

@pytest.mark.parametrize("number", [*EVER, *SOAK])
def test_of_a_number(number): pass

def test_alone(): pass

def test_short(): pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\nmarkers =\n    soak: long")
    pytester.makeconftest(OPTION)
    pytester.makepyfile(test_suite=SUITE)
    return pytester


def names(pytester: pytest.Pytester, *arguments: str) -> list[str]:
    passed, _, _ = pytester.inline_run(*arguments).listoutcomes()
    return [report.nodeid.partition("::")[2] for report in passed]


def test_all_turns_together_are_all_tests(suite: pytest.Pytester) -> None:
    every = [names(suite, "--turn", str(turn), "-m", "not soak") for turn in range(1, turns.TURNS + 1)]
    ran = Counter(name for turn in every for name in turn)
    assert ran == {name: turns.TURNS if name == "test_short" else 1 for name in names(suite, "-m", "not soak")}
    assert {len([name for name in turn if "number" in name]) for turn in every} == {2}


def test_a_test_has_the_same_turn_whatever_else_is_run(suite: pytest.Pytester) -> None:
    alone = [names(suite, "--turn", str(turn), "-k", "alone") for turn in range(1, turns.TURNS + 1)]
    assert alone == [["test_alone"] if turn == 2 else [] for turn in range(1, turns.TURNS + 1)]


def test_the_soak_and_what_is_run_by_name_know_no_turns(suite: pytest.Pytester) -> None:
    assert len(names(suite, "--turn", "1", "-m", "soak")) == turns.TURNS
    assert len(names(suite)) == 3 * turns.TURNS + 2


@pytest.mark.parametrize("turn", ["0", str(turns.TURNS + 1), "-1", "one", ""])
def test_what_is_no_turn_is_refused(suite: pytest.Pytester, turn: str) -> None:
    done = suite.runpytest("--turn", turn)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"*--turn {turn}: expected a number from 1 to {turns.TURNS}, or commit*"])


def test_commits_in_a_row_have_every_turn(
    suite: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "ROOT", tmp_path)
    config = suite.parseconfig("--turn", "commit")
    ceiling = os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    monkeypatch.setattr(os, "environ", ceiling)
    assert turns.turn_of(config) == 1  # no commit, as in an archive
    commit = ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "--allow-empty", "-m", "a commit"]
    taken = []
    for command in (["init", "--quiet"], *[commit] * turns.TURNS):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
        taken.append(turns.turn_of(config))
    assert taken[1:] == [*range(2, turns.TURNS + 1), 1]


def test_every_long_function_is_one() -> None:
    for name in turns.long_functions():
        path, *_, function = name.split("::")
        assert function in quick.FUNCTION.findall((turns.ROOT / path).read_text()), f"{name}: no such test"


def test_what_a_run_measured_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = '<testcase classname="{}" name="{}" time="{}"/>'.format
    rows = [
        case("tests.cosim.test_dut_protocols.TestSerial", "test_bytes[1]", 0.2),
        case("tests.cosim.test_dut_protocols.TestSerial", "test_bytes[0]", 2.5),
        case("tests.test_turns", "test_this", 0.75),
        case("tests.test_turns", "test_other", 0.1),
        *(case("tests.test_turns", f"test_many[{number}]", 0.5) for number in range(4)),
        case("tests.test_quality", "test_mypy_finds_nothing", 20),
    ]
    (tmp_path / "run.xml").write_text(f"<testsuites><testsuite>{''.join(rows)}</testsuite></testsuites>")
    monkeypatch.setattr(turns, "LONG", tmp_path / "turns.txt")
    turns.main(str(tmp_path / "run.xml"))
    assert turns.long_functions() == [
        "tests/cosim/test_dut_protocols.py::TestSerial::test_bytes",
        "tests/test_turns.py::test_many",
        "tests/test_turns.py::test_this",
    ]
