"""`hwsim verilator` is Verilator."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cli.cli_run import Run, fails, process
from verilated import BINARY, UNOPTIMISED, put_runtime

from hwsim.base.errors import ToolMissing
from hwsim.cosim.tools import Verilator, find_verilator

ECHO = '#!/bin/sh\nprintf "%s\\n" "$VERILATOR_ROOT" "$@"\nexit 7\n'


def without(place: Path, name: str, links: Path) -> Path:
    """A folder of programs but this one: itself, or where it has that program, links to the others."""
    if not (place / name).exists():
        return place
    links.mkdir()
    for program in place.iterdir():
        if program.name != name:
            (links / program.name).symlink_to(program)
    return links


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Verilator that writes down what it is run with, and ends with status 7."""
    program = tmp_path / "verilator"
    program.write_text(ECHO.replace("\nexit", f" >{tmp_path}/said\nexit"))
    program.chmod(0o755)
    monkeypatch.setattr("hwsim.cli.verilator.find_verilator", lambda: Verilator(str(program), tmp_path / "root"))
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--version"],
        ["--help"],
        ["-h"],
        ["--debug", "--lint-only", "a.v"],
        ["-Wall", "-CFLAGS", "-std=c++20 -O1", "--", "a.v", "--", "--top-module", "t"],
        ["+incdir+x", "-Ix", "", "a b.v"],
    ],
)
def test_arguments_go_on_as_they_are_and_so_does_the_status(run: Run, found: Path, arguments: list[str]) -> None:
    assert run("verilator", *arguments) == (7, "", "")
    assert (found / "said").read_text().splitlines() == [str(found / "root"), *arguments]


def test_its_own_debug_is_not_ours(run: Run, found: Path) -> None:
    assert run("--debug", "verilator", "a.v").status == 7
    assert (found / "said").read_text().splitlines()[1:] == ["a.v"]


def test_a_signal_is_a_status_as_in_a_shell(run: Run, found: Path) -> None:
    (found / "verilator").write_text("#!/bin/sh\nkill -TERM $$\n")
    assert run("verilator").status == 128 + 15


def test_one_that_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Verilator:
        raise ToolMissing("Verilator is missing; install it with: x")

    monkeypatch.setattr("hwsim.cli.verilator.find_verilator", missing)
    fails(run("verilator", "--version"), "install it with", status=3)


@pytest.mark.simulator
def test_verilator_runs_though_it_is_not_on_path(verilator: None, tmp_path: Path) -> None:
    (tmp_path / "half.v").write_text("module half(input a, output b); assign b = a; endmodule\n")
    (tmp_path / "wrong.v").write_text("module wrong(input a, output b); assign b = c; endmodule\n")
    tools = Path(find_verilator().program).parent
    path = os.pathsep.join(place for place in os.environ["PATH"].split(os.pathsep) if Path(place) != tools)
    environment = {name: value for name, value in os.environ.items() if name != "VERILATOR_ROOT"} | {"PATH": path}
    done = process("verilator", "--lint-only", "--quiet", "-Wall", "half.v", cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    done = process("verilator", "--lint-only", "wrong.v", cwd=tmp_path, env=environment)
    assert done.returncode != 0 and "%Error" in done.stderr


@pytest.mark.simulator
def test_it_builds_where_no_python_is_on_path(verilator: None, tmp_path: Path) -> None:
    """The Makefile of the package runs `python`, which Debian does not have under that name."""
    (tmp_path / "said.sv").write_text('module said; initial begin $display("here"); $finish; end endmodule\n')
    places = [Path(place) for place in os.environ["PATH"].split(os.pathsep)]
    path = [without(place, "python", tmp_path / str(number)) for number, place in enumerate(places)]
    environment = {**os.environ, "PATH": os.pathsep.join(map(str, path)), "MAKEFLAGS": UNOPTIMISED}
    assert shutil.which("python", path=environment["PATH"]) is None
    put_runtime(tmp_path / "obj_dir")
    done = process("verilator", *BINARY, "--quiet", "said.sv", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "here" in subprocess.check_output([tmp_path / "obj_dir" / "Vsaid"], text=True)
