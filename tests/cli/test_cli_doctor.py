"""`hwsim doctor`: its words and its exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.cli_run import Run
from patience import LIMIT, wait_until

from hwsim.cli.examination import Examined, Finding, State
from hwsim.cli.examination.finding import Use

FINE = Finding("vvp", Use.ICARUS, State.OK, "12.0", "/usr/bin/vvp")
BAD = Finding("g++", Use.VERILATOR, State.MISSING, why="not on PATH", get="apt-get install g++")
WORSE = Finding("vvp", Use.ICARUS, State.BROKEN, place="/usr/bin/vvp", why="says no version", get="apt-get install x")


def on(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> None:
    monkeypatch.setattr("hwsim.cli.doctor.examine", lambda: Examined(findings))


def test_one_simulator(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, FINE, BAD)
    done = run("doctor")
    assert (done.status, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines()]
    assert ["vvp", "cosim", "on", "Icarus", "ok", "12.0", "/usr/bin/vvp"] in rows
    assert ["g++", "cosim", "on", "Verilator", "missing", "not", "on", "PATH"] in rows
    assert ["g++", "apt-get", "install", "g++"] in rows
    assert done.out.endswith("\nhwsim cosim runs on icarus\n")


def test_no_simulator_is_status_3(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, WORSE, BAD)
    done = run("doctor")
    assert (done.status, done.err) == (3, "")
    assert "/usr/bin/vvp: says no version" in done.out
    assert done.out.splitlines()[-2:] == [
        "hwsim cosim cannot run on verilator: g++",
        "hwsim cosim cannot run on icarus: vvp",
    ]


def test_all_is_well(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, FINE)
    assert "to get" not in run("doctor").out


def test_json_has_the_same(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, WORSE, BAD)
    done = run("doctor", "--json")
    data = json.loads(done.out)
    assert (done.status, data["simulators"]) == (3, [])
    assert data["found"][1] == {
        "what": "g++", "use": "cosim on Verilator", "state": "missing", "version": "", "place": "",
        "why": "not on PATH", "get": "apt-get install g++",
    }  # fmt: skip


# Where nothing hangs, all the time that a busy machine takes.
PATIENT = f"""
import sys, hwsim.cli, hwsim.cli.examination.listen
hwsim.cli.examination.listen.LIMIT = {LIMIT}
status = hwsim.cli.main(sys.argv[1:])
assert "numpy" not in sys.modules, "it imports what it looks at"
sys.exit(status)
"""


def process(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", PATIENT, *arguments], capture_output=True, text=True, **more)


def test_this_machine() -> None:
    done = process("doctor", "--json")
    data = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0 if data["simulators"] else 3, "")
    states = {one["what"]: one["state"] for one in data["found"]}
    assert {states[what] for what in ("Python", "hwsim", "NumPy", "Numba", "cocotb", "Amaranth")} == {"ok"}


def test_ctrl_c_does_not_wait_for_what_hangs(tmp_path: Path) -> None:
    (tmp_path / "vvp").write_text(f"#!/bin/sh\ntouch {tmp_path}/begun\nsleep 100000\n")
    (tmp_path / "vvp").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    child = subprocess.Popen([sys.executable, "-c", PATIENT, "doctor"], env=environment, stderr=subprocess.PIPE)
    wait_until((tmp_path / "begun").exists)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=LIMIT / 2)
    assert (child.returncode, err) == (130, b"error: interrupted\n")


def test_it_runs_where_numpy_is_broken_and_nothing_is_on_path(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('no libopenblas')")
    done = process("doctor", env={"PATH": "", "PYTHONPATH": str(tmp_path), "HOME": str(tmp_path)})
    assert (done.returncode, done.stderr) == (3, "")
    assert "ImportError: no libopenblas" in done.stdout
    assert "apt-get install g++" in done.stdout
