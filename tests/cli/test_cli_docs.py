"""`hwsim docs` and `hwsim capture kit`: what messages point to can be had from hwsim alone."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli.cli_run import Run, fails

from hwsim.base.package import folder, pages

ROOT = Path(__file__).parents[2]


def test_every_page_is_listed_with_its_title(run: Run) -> None:
    done = run("docs")
    assert done.status == 0
    listed = dict(line.split(maxsplit=1) for line in done.out.splitlines()[1:])
    files = [*(ROOT / "docs").rglob("*.md")]
    assert set(listed) == {str(file.relative_to(ROOT / "docs").with_suffix("")) for file in files} | {"capture"}
    assert listed["dut"] == "Your own RTL"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("dut", "docs/dut.md"),
        ("studies/mx", "docs/studies/mx.md"),
        ("docs/study-data.md", "docs/study-data.md"),
        ("capture", "capture/README.md"),
    ],
)
def test_a_page_is_its_markdown_and_its_path(name: str, file: str, run: Run) -> None:
    assert run("docs", name) == (0, (ROOT / file).read_text(encoding="utf-8"), "")
    assert run("docs", name, "--path") == (0, f"{ROOT / file}\n", "")


def test_a_terminal_gets_the_page_laid_out() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PAGER": "cat", "COLUMNS": "80", "TERM": "xterm"}
    command = [sys.executable, "-m", "hwsim", "docs", "glossary"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, env=environment) as process:
        os.close(theirs)
        printed = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            printed += part
    os.close(ours)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[\d;]*m", "", printed.decode())
    assert "Glossary" in text and "|---|" not in text and "# Glossary" not in text


def test_an_unknown_page_is_named_with_the_nearest(run: Run) -> None:
    fails(run("docs", "dot"), r"no page 'dot', did you mean dut\? \(hwsim docs lists them\)")
    fails(run("docs", "../README"), r"no page '\.\./README'")


def test_pages_are_those_in_the_package_where_it_has_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As in a wheel. A checkout's are beside the package.
    monkeypatch.setattr("hwsim.base.package.PACKAGE", tmp_path / "hwsim")
    for name in ("docs", "hwsim/docs"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "dut.md").write_text(f"# {name}\n")
    assert pages()["dut"] == tmp_path / "hwsim" / "docs" / "dut.md"
    assert folder("capture") == tmp_path / "capture"


def test_the_kit_is_the_capture_program_and_can_be_run(here: Path, run: Run) -> None:
    assert run("capture", "kit", "there").out.startswith("there: ")
    assert {file.name: file.read_bytes() for file in (here / "there").iterdir() if file.name[0] != "."} == {
        file.name: file.read_bytes() for file in (ROOT / "capture").iterdir() if file.is_file()
    }
    done = subprocess.run(["there/run", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("usage: run")


def test_a_kit_that_is_there_stays_and_no_other_file_is_overwritten(here: Path, run: Run) -> None:
    assert run("capture", "kit").status == 0
    (here / "capture" / "main.cpp").unlink()
    assert run("capture", "kit").status == 0
    assert (here / "capture" / "main.cpp").read_bytes() == (ROOT / "capture" / "main.cpp").read_bytes()
    (here / "capture" / "run").write_text("mine\n")
    (here / "capture" / "main.cpp").unlink()
    fails(run("capture", "kit"), "capture/run was changed since hwsim wrote it; it stays as it is: move it")
    assert (here / "capture" / "run").read_text() == "mine\n"
    assert not (here / "capture" / "main.cpp").exists()
