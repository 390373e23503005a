"""The assertions for a stream's ports, bound to our own RTL."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from built_presets import others_slow
from cosim.dut_files import DESIGNS
from cosim.small_runs import shrink, small_run
from odd_units import unit
from patience import LIMIT

from hwsim.cli import main
from hwsim.cosim.adapter import ADAPTER
from hwsim.cosim.bench import PUBLIC, TOP, bench, checks, port_map
from hwsim.cosim.build import HdlSources
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.tools import find_verilator
from hwsim.cosim.unitdesign import UnitDesign
from hwsim.spec import as_yaml, pipeline

TINY = unit("tiny")


@pytest.mark.slow
@pytest.mark.simulator
@pytest.mark.parametrize("blind", [False, True])
def test_our_own_rtl_keeps_them(verilator: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blind: bool) -> None:
    # A checker that is blind to what comes in must see results that nobody asked for: so the others are not vacuous.
    def checked(design: UnitDesign, simulator: str) -> HdlSources:
        bound = checks(design.ports)
        assert bound.count(".i_valid(in_valid)") == 2  # in the comment, and in the binding
        bound = bound.replace(".i_valid(in_valid)", ".i_valid(1'b0)") if blind else bound
        return HdlSources(TOP, bench(design.ports) + design.verilog + bound, PUBLIC, assertions=True)

    shrink(monkeypatch)
    monkeypatch.setattr(UnitDesign, "sources", checked)
    report = small_run(tmp_path / "run", simulators=("verilator",), bulk=False)
    assert report.passed != blind
    log = next((tmp_path / "run").rglob("simulation.log")).read_text()
    assert ("checks.result_was_asked_for" in log) == blind


def test_the_command_writes_them_beside_the_rtl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tiny.yaml").write_text(as_yaml(TINY))
    assert main(["rtl", str(tmp_path / "tiny.yaml"), "-o", f"{tmp_path}/", "--assertions"]) == 0
    written = next(tmp_path.glob("*_checks.sv")).read_text()
    assert written == checks(port_map(TINY, pipeline(TINY)))
    assert main(["rtl", str(tmp_path / "tiny.yaml"), "-o", "-", "--assertions"]) == 2
    assert "--assertions needs a file or a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--case", "x.yaml"], ["--assertions"], ["hopper-mma-e4m3-f16", "--dut", "d.yaml"]]
)
def test_options_that_do_not_go_together_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cosim", *arguments]) == 2
    assert "--dut" in capsys.readouterr().err


ADAPTED = sorted(path.stem for path in DESIGNS.glob("*.yaml") if "sources" in path.read_text())


@pytest.mark.parametrize("name", others_slow(ADAPTED, ADAPTED[::3]))
def test_lint_says_nothing_of_an_adapter(verilator: None, tmp_path: Path, name: str) -> None:
    made = dut_design(load_dut(DESIGNS / f"{name}.yaml"))
    adapter = tmp_path / f"{ADAPTER}.v"
    adapter.write_text(made.adapter)
    found = find_verilator()
    words = [
        found.program,
        "--lint-only",
        "-Wall",
        "--top-module",
        ADAPTER,
        *map(str, (adapter, *made.sources("verilator").files)),
    ]
    environment = {**os.environ, **found.environment}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert [line for line in done.stderr.splitlines() if str(adapter) in line] == []
    if name != ADAPTED[0]:
        return
    # What it says of a net that is taken away shows that it looked.
    adapter.write_text(made.adapter.replace("assign i__ready =", "assign i__ready = no_such_net &", 1))
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert "no_such_net" in done.stderr
