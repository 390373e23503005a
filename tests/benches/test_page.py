"""docs/testbenches.md shows the examples as they are, and what they print."""

from __future__ import annotations

import re
import subprocess
import sys

from documents import ROOT, blocks, commands

BENCHES = ROOT / "examples" / "benches"
SHOWN = [block for block in blocks() if block.page.startswith("testbenches")]


def test_code_that_is_shown_is_of_the_examples() -> None:
    every = [path.read_text() for path in sorted(BENCHES.rglob("*.*")) if path.suffix in (".py", ".sv")]
    shown = [block for block in SHOWN if block.language in ("py", "systemverilog")]
    assert shown
    for block in shown:
        assert any(block.text in text for text in every), f"{block.page}:{block.line}"


def test_commands_run_tests_that_are_there() -> None:
    """One of each bench; tests/benches runs these tests."""
    run = [command.words for command in commands("pytest") if command.where.startswith("testbenches.md")]
    names = [name for words in run for name in re.findall(r"\[(.*)\]$", collected(*words[1:]), re.MULTILINE)]
    assert names == ["plain-fp8dot4", "uvm-int8mac", "axis-int8axis"]
    (script,) = (command.words[1:3] for command in commands("sh") if command.where.startswith("testbenches-sv.md"))
    assert (ROOT / script[0]).is_file() and (BENCHES / "designs" / f"{script[1]}.sv").is_file()


def collected(*words: str) -> str:
    """The tests that pytest would run."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        *words,
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
