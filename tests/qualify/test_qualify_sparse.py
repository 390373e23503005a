"""Mutants of a sparse unit's selector: vectors under ascending metadata kill them, or the proof for all metadata."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from cosim.mutants import of_lanes

from hwsim.base.errors import InputError
from hwsim.cases.case import batches, multiplied
from hwsim.cases.drawing import Stream
from hwsim.cases.selection import selection_cases
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.vectors.check import stored
from hwsim.cosim.vectors.make import make
from hwsim.cosim.vectors.plan import Wanted
from hwsim.prove.qualify.dut import DutQualifier
from hwsim.prove.qualify.machine import TOGETHER, played
from hwsim.prove.qualify.run import Qualifier
from hwsim.prove.qualify.steps import SELECTOR, UnitNetlists
from hwsim.spec import as_yaml, load_sparse

UNIT = load_sparse({
    "unit": "small-sparse",
    "dense": {
        "unit": "small",
        "operands": {"a": "e2m1", "b": "e2m1", "addend": "none"},
        "instruction": {"k": 4, "lanes": 4, "chain": "none"},
        "sum": {"method": "aligned", "fraction_bits": 6, "lost": "truncate"},
        "result": {"format": "f32", "rounding": "rne"},
    },
    "sparsity": {"keep": 2, "of": 4},
})  # fmt: skip


@pytest.mark.slow
def test_mutants_of_the_selector_are_killed_or_refuted() -> None:
    """What equal or falling indices alone show, no vector does: the claim about the selector is refuted."""
    pytest.importorskip("bitwuzla")
    qualifier = Qualifier(UNIT, (), 1, 5.0, cases={"smoke": 640, "standard": 1280})
    qualifier.all = [mutant for mutant in qualifier.all if mutant.step == SELECTOR]
    outcome = qualifier.qualify(200)
    assert outcome.steps == [SELECTOR]
    assert outcome.decided
    assert outcome.count("smoke") > len(outcome.rows) / 2
    refuted = [row.refuted for row in outcome.rows if row.fate == "proof"]
    assert refuted
    for one in refuted:
        assert one is not None and one.claim == SELECTOR
        indices = [one.model[f"metadata__{index}"] for index in range(4)]
        assert any(low >= high for low, high in zip(indices[::2], indices[1::2], strict=True)), one


@pytest.mark.slow
def test_a_selector_without_mutants_is_right() -> None:
    nets = UnitNetlists(UNIT, (), 1)
    machine = nets.machine([next(mutant for mutant in nets.mutants() if mutant.step == SELECTOR)])
    cases = [multiplied(UNIT, case) for case in selection_cases(UNIT, Stream(1, "qualify"))]
    groups = list(nets.groups(UNIT.dense, batches(UNIT.dense, cases, TOGETHER), machine))
    assert {name for name in groups[0].beats[0].inputs if name.startswith("i__metadata")} == {
        f"i__metadata__{index}" for index in range(4)
    }
    played(machine, groups, lambda count: None)  # which raises where the circuit without mutants is wrong


OWN = """module own (input [15:0] a, input [31:0] b, input [7:0] which, input [31:0] c, output [31:0] y);
  function signed [3:0] picked(input [15:0] four, input [1:0] index);
    picked = four >> {index, 2'b0};
  endfunction
  wire signed [3:0] b0 = picked(b[15:0], which[1:0]), b1 = picked(b[15:0], which[3:2]);
  wire signed [3:0] b2 = picked(b[31:16], which[5:4]), b3 = picked(b[31:16], which[7:6]);
  wire signed [3:0] a0 = a[3:0], a1 = a[7:4], a2 = a[11:8], a3 = a[15:12];
  wire signed [31:0] sum = $signed(c) + a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3;
  assign y = sum;
endmodule
"""


@pytest.mark.slow
def test_vectors_of_a_sparse_design_are_played_under_metadata(tmp_path: Path) -> None:
    """A wrong selector does not pass; a set of vectors has its own metadata."""
    unit = load_sparse(
        {"unit": "own-sparse", "dense": of_lanes("ampere-mma-int4-i32", 4), "sparsity": {"keep": 2, "of": 4}}
    )
    keys = {
        "unit": "./unit.yaml", "sources": ["own.v"], "top": "own", "protocol": {"kind": "combinational"},
        "ports": {"a": "a", "b": "b", "metadata": "which", "c": "c", "result": "y"},
    }  # fmt: skip
    (tmp_path / "unit.yaml").write_text(as_yaml(unit))
    (tmp_path / "dut.yaml").write_text(yaml.safe_dump(keys))
    (tmp_path / "own.v").write_text(OWN)
    make(Wanted(unit.dense, "random", 1, 200, sparse=unit), tmp_path / "set")
    design = dut_design(load_dut(tmp_path / "dut.yaml"))
    for known in (None, stored(tmp_path / "set")):
        outcome = DutQualifier(design, 1, lambda *_: None).qualify(40, known)
        assert outcome.count("killed") > 30
    (tmp_path / "own.v").write_text(OWN.replace("which[1:0]", "which[3:2]"))
    with pytest.raises(InputError):
        DutQualifier(dut_design(load_dut(tmp_path / "dut.yaml")), 1, lambda *_: None).qualify(4)
