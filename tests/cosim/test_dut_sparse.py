"""Users' designs of sparse units: a port brings the metadata, and all factors of b are at another."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import yaml
from cosim.mutants import Mutant, of_lanes
from cosim.small_runs import shrink
from cosim.sparse_mutants import MUTANTS

import hwsim
from hwsim.cases.case import beats, multiplied
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.design import Suite
from hwsim.cosim.dutdesign import DutDesign, dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.run import CosimOptions, run
from hwsim.explain import RunReport
from hwsim.rtl import verilog
from hwsim.spec import as_yaml, load_sparse, pipeline

UNIT = load_sparse(
    {"unit": "two-of-four", "dense": of_lanes("hopper-wgmma-e4m3-f32", 4), "sparsity": {"keep": 2, "of": 4}}
)
BUILT = pipeline(UNIT)
MODULE = """module wrapped (
  input clk, input rst, input valid, output done, input first, input last, input [31:0] a, input [63:0] b,
  input [7:0] which, input [31:0] c, output [31:0] y
);
  two_of_four unit (
    .clk(clk), .rst(rst), .in_valid(valid), .in_ready(), .out_valid(done), .out_ready(1'b1), .misuse(),
    .in_first(first), .in_last(last), .in_context(2'd0), .in_a(a), .in_b(b), .in_metadata(which), .in_c(c),
    .out_result(y), .out_context()
  );
endmodule
"""
# A sum is one beat: the next beat of one would have to wait for it.
KEYS = {
    "unit": "./unit.yaml", "sources": ["unit.sv", "wrapped.v"], "top": "wrapped", "clock": "clk", "reset": "rst",
    "constants": {"first": 1, "last": 1},
    "protocol": {"kind": "latency", "cycles": BUILT.latency, "input_valid": "valid", "output_valid": "done"},
    "ports": {"a": "a", "b": "b", "metadata": "which", "c": "c", "result": "y"},
}  # fmt: skip


@cache
def right() -> str:
    return verilog(UNIT, BUILT)


def design_in(folder: Path, mutant: Mutant | None = None, **changed: object) -> DutDesign:
    (folder / "unit.yaml").write_text(as_yaml(UNIT))
    if mutant is None:
        text = right()
    else:
        with mutant.applied():
            text = verilog(UNIT, BUILT)
    (folder / "unit.sv").write_text(text)
    (folder / "wrapped.v").write_text(MODULE)
    (folder / "dut.yaml").write_text(yaml.safe_dump(KEYS | changed))
    return dut_design(load_dut(folder / "dut.yaml"))


def test_a_beat_brings_what_is_selected_among_others(tmp_path: Path) -> None:
    design = design_in(tmp_path)
    cases = tuple(case for case in random_cases(UNIT.dense, 40, 1) if len(case.a) == 4)
    driven = design.driven(cases)
    assert [multiplied(UNIT, case) for case in driven] == list(cases)
    assert design.driven(cases[3:]) == driven[3:]
    play = design.play(Suite("cases", cases), hwsim.cases.drawing.Stream(1, "tests"))
    for payload, case in zip(play.script.payloads, driven, strict=False):
        (beat,) = beats(UNIT, case)
        for field in design.ports.input.fields:
            codes = [payload >> field.offset + i * field.bits & (1 << field.bits) - 1 for i in range(field.count)]
            if field.name in ("a", "b", "metadata"):
                assert tuple(codes) == getattr(beat, field.name)
    assert len(design.selected) == 4 * 6
    assert [case.metadata for case in design.driven(design.selected)] == [
        case.metadata for case in design.selections.values()
    ]


WRONG = {
    "ports must have a, b and metadata: two-of-four is sparse": {"ports": {"a": "a", "b": "b", "result": "y"}},
    "ports.metadata must not be given: .* is dense": {"unit": "hopper-wgmma-e4m3-f32"},
    "products must be a multiple of": {"products": 2},
}


@pytest.mark.parametrize("words", WRONG)
def test_ports_and_unit_fit(words: str, tmp_path: Path) -> None:
    with pytest.raises(hwsim.SpecError, match=words):
        design_in(tmp_path, **WRONG[words])


def played(folder: Path, monkeypatch: pytest.MonkeyPatch, mutant: Mutant | None = None) -> RunReport:
    shrink(monkeypatch)
    design = design_in(folder, mutant)
    options = CosimOptions(designs=(design,), simulators=("icarus",), seed=3, cases=24, folder=folder / "run")
    return run(options)


@pytest.mark.slow
@pytest.mark.simulator
def test_a_right_design_is_equal(icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = played(tmp_path, monkeypatch)
    assert report.passed, [str(row) for row in report.failed]
    assert {"dot directed, selections", "dot random", "dot directed"} <= {row.suite for row in report.rows}


@pytest.mark.slow
@pytest.mark.simulator
@pytest.mark.parametrize("mutant", MUTANTS[:8], ids=lambda one: one.name)
def test_a_wrong_selector_is_caught(
    icarus: None, mutant: Mutant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = played(tmp_path, monkeypatch, mutant)
    failed = {row.suite for row in report.failed}
    assert {"dot directed, selections", "dot random"} <= failed
    assert (tmp_path / "run" / "minimal" / "case.yaml").exists()
