"""docs/testbenches.md shows the examples as they are, and what they print."""

from __future__ import annotations

from documents import ROOT, blocks, commands

BENCHES = ROOT / "examples" / "benches"
SHOWN = [block for block in blocks() if block.page.startswith("testbenches")]


def test_code_that_is_shown_is_of_the_examples() -> None:
    every = [path.read_text() for path in sorted(BENCHES.rglob("*.*")) if path.suffix in (".py", ".sv")]
    shown = [block for block in SHOWN if block.language in ("py", "systemverilog")]
    assert shown
    for block in shown:
        assert any(block.text in text for text in every), f"{block.page}:{block.line}"


def test_folders_that_are_run_are_there() -> None:
    run = [command for command in commands("pytest") if command.where.startswith("testbenches.md")]
    assert {command.words[1] for command in run} == {
        str(path.parent.relative_to(ROOT)) for path in BENCHES.glob("*/test_*.py")
    }
    (script,) = (command.words[1] for command in commands("sh") if command.where.startswith("testbenches-sv.md"))
    assert (ROOT / script).is_file()
