"""A sparse design written by hand, whose result is proved to depend on what metadata select, and on no more."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from built_presets import others_slow
from cosim.mutants import of_lanes

from hwsim.cosim.casefile import load_case
from hwsim.cosim.dutdesign import DutDesign, dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.prove.dut import DutProofOptions, prove_dut
from hwsim.prove.dutselection import SelectedBeat
from hwsim.prove.unrolled import beat_result
from hwsim.spec import SparseUnit, as_yaml, load_sparse

DESIGN = """module own (
  input clk, input valid, output reg done, input [{a}:0] a, input [{b}:0] b, input [{which}:0] which, input [31:0] c,
  output reg [31:0] y
);
  function signed [3:0] picked(input [15:0] four, input [1:0] index);
    picked = four >> {{index, 2'b0}};
  endfunction
  reg [{which}:0] late;
{wires}
  wire signed [31:0] more = 0;
  always @(posedge clk) begin
    late <= which;
    done <= valid;
    y <= $signed(c) + {sum} + more;
  end
endmodule
"""
WIRES = """  wire signed [3:0] a{0} = a[{1}:{2}];
  wire signed [3:0] b{0} = picked(b[{3}:{4}], which[{5}:{6}]);"""
KEYS = {
    "unit": "./unit.yaml", "sources": ["own.v"], "top": "own", "clock": "clk",
    "protocol": {"kind": "latency", "cycles": 1, "input_valid": "valid", "output_valid": "done"},
    "ports": {"a": "a", "b": "b", "metadata": "which", "c": "c", "result": "y"},
}  # fmt: skip


def unit(lanes: int) -> SparseUnit:
    dense = of_lanes("ampere-mma-int4-i32", lanes)
    return load_sparse({"unit": "own-sparse", "dense": dense, "sparsity": {"keep": 2, "of": 4}})


def written(lanes: int) -> str:
    wires = (
        WIRES.format(lane, 4 * lane + 3, 4 * lane, lane // 2 * 16 + 15, lane // 2 * 16, 2 * lane + 1, 2 * lane)
        for lane in range(lanes)
    )
    products = " + ".join(f"a{lane} * b{lane}" for lane in range(lanes))
    return DESIGN.format(a=4 * lanes - 1, b=8 * lanes - 1, which=2 * lanes - 1, wires="\n".join(wires), sum=products)


def design_in(folder: Path, lanes: int = 4, *changed: tuple[str, str]) -> DutDesign:
    text = written(lanes)
    for old, new in changed:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "unit.yaml").write_text(as_yaml(unit(lanes)))
    (folder / "own.v").write_text(text)
    (folder / "dut.yaml").write_text(yaml.safe_dump(KEYS))
    return dut_design(load_dut(folder / "dut.yaml"))


def test_of_a_right_design_what_is_not_selected_does_not_count(tmp_path: Path) -> None:
    design = design_in(tmp_path)
    assert SelectedBeat(unit(4), beat_result(design)).decide(10) == ("proved", ())


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [2, 4])
def test_a_right_design_is_proved(lanes: int, tmp_path: Path) -> None:
    """Of four lanes with one product other than zero: more of them is a question about dense sums."""
    asked = DutProofOptions(seconds=100, products=None if lanes == 2 else 1)
    report = prove_dut(design_in(tmp_path, lanes), asked)
    words = {row.name: row.word for row in report.rows}
    assert words["selection"] == "proved"
    assert report.proved if lanes == 2 else words["1 product"] == "proved", words
    assert report.conclusion == f"equal for every beat{'' if lanes == 2 else ' with at most 1 product other than zero'}"


# What is wrong: what is written for what, and what finds it.
FAULTS = {
    "indices of a group are swapped": ("cases", ("a0 =", "a1 ="), ("a1 = a[7", "a0 = a[7")),
    "a group has another's factors": ("cases", ("picked(b[31:16], which[5:4])", "picked(b[15:0], which[5:4])")),
    "metadata are those of the beat before": ("cases", ("which[7:6])", "late[7:6])")),
    "metadata select of a, not of b": ("cases", ("a1 = a[7:4]", "a1 = picked(a, which[3:2])")),
    "one choice of indices selects another factor": ("cases", ("which[5:4])", "which[5:4] ^ (which[7:4] == 13))")),
    "a factor that is not selected counts": (
        "terms, or bitwuzla", ("more = 0", "more = a == 16'h7531 && which[3:0] == 8 && b[11:8] == 5"),
    ),
}  # fmt: skip


@pytest.mark.simulator
@pytest.mark.parametrize("fault", others_slow(FAULTS, [[*FAULTS][-1]]))
def test_a_fault_is_refuted(fault: str, icarus: None, tmp_path: Path) -> None:
    """The case that shows it has its metadata, and a simulator plays it under these."""
    solver, *changed = FAULTS[fault]
    path = tmp_path / "case.yaml"
    report = prove_dut(design_in(tmp_path, 4, *changed), DutProofOptions(seconds=60, case=path))
    row = report.rows[-1]
    assert (row.name, row.word, row.solver) == ("selection", "refuted", solver), (report.rows, report.notes)
    assert any(note.startswith("played on icarus: it returns") for note in report.notes), report.notes
    keys = yaml.safe_load(path.read_text())
    assert (keys["unit"], len(keys["b"]), len(keys["metadata"])) == ("own-sparse", 8, 4)
    again = design_in(tmp_path, 4, *changed)
    (driven,) = again.driven([load_case(path, again)])
    assert (list(driven.b), list(driven.metadata)) == (keys["b"], keys["metadata"])
