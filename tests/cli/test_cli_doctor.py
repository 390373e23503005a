"""`hwsim doctor`: what it finds on a machine, whatever is broken there; its words and its exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from cli.cli_run import Run
from patience import LIMIT, wait_until

from hwsim.base.errors import ToolMissing
from hwsim.cli import doctor
from hwsim.cli.doctor import COSIM, HWSIM, MOST_LETTERS, SIMULATORS, Finding, Probe, examine, missing_for
from hwsim.cosim.tools import Verilator

ROOT = Path(__file__).parents[2]
Tool = Callable[[str, str], Path]
FINE = Finding("vvp", SIMULATORS["icarus"], "ok", "12.0", "/usr/bin/vvp")
BAD = Finding("g++", SIMULATORS["verilator"], "missing", why="not on PATH", get="apt-get install g++")
WORSE = Finding(
    "vvp", SIMULATORS["icarus"], "broken", place="/usr/bin/vvp", why="says no version", get="apt-get install x"
)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not hang has all the time that a busy machine takes."""
    monkeypatch.setattr(doctor, "LIMIT", LIMIT)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """Puts scripts on a PATH that has nothing else but a shell's own programs."""
    folder, system = tmp_path / "tools", tmp_path / "system"
    for made in (folder, system):
        made.mkdir()
    for name in ("sh", "sleep", "cat", "env", "yes", "touch"):
        place = next(there for there in (Path("/usr/bin") / name, Path("/bin") / name) if there.exists())
        (system / name).symlink_to(place)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{system}")

    def put(name: str, script: str) -> Path:
        (folder / name).write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
        return folder / name

    return put


def found(what: str) -> Finding:
    """Of one thing."""
    (probe,) = [probe for probe in doctor.probes() if probe.what == what]
    return probe.finding()


def test_a_tool_says_its_version(tools: Tool) -> None:
    place = tools("iverilog", "echo 'Icarus Verilog version 12.0 (stable) (v12)'")
    assert found("iverilog") == Finding("iverilog", SIMULATORS["icarus"], "ok", "12.0", str(place))
    tools("g++", "echo 'g++ (Debian 12.2.0-14+deb12u1) 12.2.0'")
    assert found("g++").version == "12.2.0"
    tools("make", "echo GNU Make 4.3")
    assert found("make").version == "4.3"


@pytest.mark.parametrize("what", ["perl", "g++", "make", "iverilog", "vvp", "nvcc", "GPU"])
def test_a_tool_that_is_missing(tools: Tool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str) -> None:
    monkeypatch.delenv("NVCC", raising=False)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(doctor.sysconfig, "get_path", lambda _: str(tmp_path))
    one = found(what)
    assert (one.state, one.version, one.place) == ("missing", "", "")
    gets = {"vvp": "apt-get install iverilog", "GPU": "", "nvcc": f"{sys.executable} -m pip install 'hwsim[cuda]'"}
    assert one.get == gets.get(what, f"apt-get install {what}")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo rubbish; echo '\\033[31m more'", "says no version: 'rubbish"),
        ("printf '\\377\\000\\001'", "says no version"),
        ("cat /bin/sh", "prints more than 65,536 bytes"),
        ("yes 1.2.3", "prints more than"),  # it never ends
        ("sleep 60", "was not done within 0.5 seconds"),
        ("sleep 60 & sleep 60", "was not done"),
        ("exec >&- 2>&-; sleep 60", "was not done"),
        ("trap '' TERM INT; sleep 60", "was not done"),
        ("echo first; echo 'no such library' >&2; exit 4", "failed with status 4: no such library"),
        ("exit 1", "failed with status 1: it said nothing"),
        ("kill -SEGV $$", "failed with status -11"),
        ("#!/no/such/interpreter", "cannot be run: No such file"),
        ("#!\x00", "cannot be run"),
    ],
)
def test_a_tool_that_is_broken(tools: Tool, monkeypatch: pytest.MonkeyPatch, script: str, why: str) -> None:
    if "not done" in why:
        monkeypatch.setattr(doctor, "LIMIT", 0.5)
    place = tools("iverilog", script)
    one = found("iverilog")
    assert (one.state, one.place, one.get) == ("broken", str(place), "apt-get install iverilog")
    assert one.why.startswith(why) and one.why.isprintable() and len(one.why) <= MOST_LETTERS + 4


def test_what_a_tool_started_ends_with_it(tools: Tool, tmp_path: Path) -> None:
    tools("vvp", f"sleep 1000 >/dev/null 2>&1 & echo $! >{tmp_path}/left; echo Icarus Verilog version 12.0")
    assert found("vvp").state == "ok"
    left = Path("/proc", (tmp_path / "left").read_text().strip(), "cmdline")
    wait_until(lambda: not left.exists() or not left.read_bytes())  # a zombie has no words


def test_verilator_by_its_header_where_it_does_not_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = tmp_path / "package"
    (root / "bin").mkdir(parents=True)
    (root / "include").mkdir()
    program = root / "bin" / "verilator"
    program.write_text('#!/bin/sh\n[ "$VERILATOR_ROOT" ] && echo " rev UNKNOWN-20260516"\n')
    program.chmod(0o755)
    monkeypatch.setattr(doctor, "located_verilator", lambda: Verilator(str(program), root))
    assert "says no version" in found("Verilator").why
    header = root / "include" / "verilated_config.h"
    header.write_text('#define VERILATOR_VERSION "5.49"\n')
    assert found("Verilator") == Finding("Verilator", SIMULATORS["verilator"], "ok", "5.49", str(program))
    header.write_text('#define VERILATOR_VERSION "4.038"\n')
    assert found("Verilator").why == "is 4.038; hwsim needs 5 or later"
    monkeypatch.setattr(doctor, "located_verilator", lambda: None)
    assert (found("Verilator").state, found("Verilator").get.split()[-2:]) == ("missing", ["install", "verilator"])


def test_a_gpu(tools: Tool) -> None:
    tools("nvidia-smi", "echo 'NVIDIA H200, 580.1'; echo 'NVIDIA H200, 580.1'")
    assert found("GPU").version == "NVIDIA H200, 580.1"
    tools("nvidia-smi", "echo No devices were found")
    assert found("GPU").state == "broken"


def test_nvcc_where_the_capture_program_looks(tools: Tool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said_by = "echo 'Cuda compilation tools, release {}, V{}.88'"
    mine = tools("my-nvcc", said_by.format("12.9", "12.9"))
    tools("nvcc", said_by.format("13.0", "13.0"))
    assert found("nvcc").version == "13.0"
    monkeypatch.setenv("NVCC", str(mine))
    assert (found("nvcc").version, found("nvcc").place) == ("12.9", str(mine))
    monkeypatch.setenv("NVCC", "/none")
    assert found("nvcc").state == "missing"


@pytest.fixture
def shadowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes Python find another NumPy first."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"))
    (tmp_path / "shadow").mkdir()

    def put(text: str) -> None:
        (tmp_path / "shadow" / "numpy.py").write_text(text)

    return put


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("raise ImportError('no libopenblas')", "failed with status 1: ImportError: no libopenblas"),
        ("import os; os.abort()", "failed with status -6"),
        ("import os; os._exit(0)", "cannot be imported"),
        ("import time; time.sleep(60)", "was not done"),
    ],
)
def test_a_package_that_is_broken(
    shadowed: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    if "not done" in why:
        monkeypatch.setattr(doctor, "LIMIT", 0.5)
    shadowed(text)
    one = found("NumPy")
    assert (one.state, one.get) == ("broken", f"{sys.executable} -m pip install numpy")
    assert one.why.startswith(why)


def test_a_package_that_prints_when_it_is_imported(shadowed: Callable[[str], None], tmp_path: Path) -> None:
    shadowed("print('imported something else')\nprint('welcome', end='')")
    assert found("NumPy").place == str(tmp_path / "shadow")


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name in ("pyarrow", "numba"):
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(doctor.metadata, "version", version)
    assert (found("Numba").state, found("Numba").why) == ("missing", "not installed")
    one = found("extra study")
    assert (one.state, one.why) == ("missing", "pyarrow not installed")
    assert one.get == f"{sys.executable} -m pip install 'hwsim[study]'"
    assert found("extra distributed").state == "ok"
    monkeypatch.setattr(doctor.metadata, "version", lambda _: None)
    assert found("extra distributed").why == "the installed dask has no version"


def test_what_is_required_is_what_hwsim_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert {*doctor.EXTRAS, "dev", "docs", "peers"} == set(extras)
    for extra in doctor.EXTRAS:
        assert doctor.required(extra) == [line.split("=")[0].split(">")[0] for line in extras[extra]]
    needed = doctor.required(None)
    assert {"numpy", "amaranth", "typer"} <= set(needed) and not {"verilator", "pyarrow", "ruff"} & set(needed)


def test_no_library_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LIBRARY", "print('imported')")
    one = found("Python as a library")
    assert (one.state, one.get) == ("missing", f"apt-get install libpython3.{sys.version_info[1]}")


def test_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    monkeypatch.setenv("HWSIM_CACHE", str(folder))
    assert found("cache").version.startswith("0 KiB kept, ")  # it need not be there yet
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file").write_bytes(bytes(3 << 20))
    assert (found("cache").version.split(", ")[0], found("cache").place) == ("3.0 MiB kept", str(folder))
    folder = tmp_path / "file"
    folder.touch()
    monkeypatch.setenv("HWSIM_CACHE", str(folder / "inside"))
    one = found("cache")
    assert (one.state, one.place, one.get) == ("broken", str(folder / "inside"), "export HWSIM_CACHE=FOLDER")


def test_results_of_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HWSIM_SILICON", raising=False)
    assert found("results of GPUs").why == "HWSIM_SILICON is not set"
    monkeypatch.setenv("HWSIM_SILICON", str(tmp_path))
    assert found("results of GPUs").why == "there is no captured.npz"
    (tmp_path / "captured.npz").write_bytes(bytes(2048))
    assert found("results of GPUs").place == str(tmp_path / "captured.npz")


def test_any_error_is_a_finding() -> None:
    def look() -> tuple[str, str]:
        raise UnicodeError("\x1b[31m" + "x" * 10_000)

    one = Probe("x", HWSIM, "mend", look).finding()
    assert (one.state, one.get) == ("broken", "mend")
    assert one.why.startswith("UnicodeError: ") and one.why.isprintable() and len(one.why) < 300

    def missing() -> tuple[str, str]:
        raise ToolMissing("not there")

    assert Probe("x", HWSIM, "get", missing).finding() == Finding("x", HWSIM, "missing", why="not there", get="get")


def test_everything_is_looked_for_at_once(tools: Tool, tmp_path: Path) -> None:
    # Each of two waits for the other.
    wait = "while ! [ -e {folder}/{other} ]; do sleep 0.05; done; echo Icarus Verilog version 12.0"
    for one, other in (("iverilog", "vvp"), ("vvp", "iverilog")):
        tools(one, f"touch {tmp_path}/{one}; " + wait.format(folder=tmp_path, other=other))
    states = {finding.what: finding.state for finding in examine()}
    assert (states["iverilog"], states["vvp"]) == ("ok", "ok")


def test_one_simulator_is_enough() -> None:
    def machine(*bad: str) -> list[Finding]:
        uses = (HWSIM, COSIM, *SIMULATORS.values(), "study")
        return [Finding(use, use, "broken" if use in bad else "ok") for use in uses]

    def usable(*bad: str) -> list[str]:
        return [name for name in SIMULATORS if not missing_for(name, machine(*bad))]

    assert usable("study") == ["verilator", "icarus"]
    assert usable(SIMULATORS["verilator"]) == ["icarus"]
    assert usable(SIMULATORS["icarus"]) == ["verilator"]
    assert usable(HWSIM) == usable(COSIM) == usable(*SIMULATORS.values()) == []
    assert missing_for("icarus", machine(*SIMULATORS.values())) == [SIMULATORS["icarus"]]


def on(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: list(findings))


def test_one_simulator(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, FINE, BAD)
    done = run("doctor")
    assert (done.status, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines()]
    assert ["vvp", "cosim", "on", "Icarus", "ok", "12.0", "/usr/bin/vvp"] in rows
    assert ["g++", "cosim", "on", "Verilator", "missing", "not", "on", "PATH"] in rows
    assert ["g++", "apt-get", "install", "g++"] in rows
    assert done.out.endswith("\nhwsim cosim runs on icarus\n")
    on(monkeypatch, FINE)
    assert "to get" not in run("doctor").out


def test_no_simulator_is_status_3(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, WORSE, BAD)
    done = run("doctor")
    assert (done.status, done.err) == (3, "")
    assert "/usr/bin/vvp: says no version" in done.out
    assert done.out.splitlines()[-2:] == [
        "hwsim cosim cannot run on verilator: g++",
        "hwsim cosim cannot run on icarus: vvp",
    ]


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
import sys, hwsim.cli, hwsim.cli.doctor
hwsim.cli.doctor.LIMIT = {LIMIT}
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
