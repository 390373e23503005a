"""What vectors notice of a user's design."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from uncounted import uncounted  # noqa: F401  a fixture

from hwsim.base.errors import InputError
from hwsim.cli import main
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.vectors.check import stored
from hwsim.cosim.vectors.make import make
from hwsim.cosim.vectors.plan import Wanted
from hwsim.prove.qualify import dut as qualifying
from hwsim.prove.qualify.dut import UNKNOWN, DutQualifier, cases_of, dut_netlist, wilson

DESIGNS = Path("tests/cosim/designs")


def silent(done: int, planned: int, what: str) -> None:
    pass


def design(name: str, **parameters: int):
    dut = load_dut(DESIGNS / name)
    file = dut.file.model_copy(update={"parameters": {**dut.file.parameters, **parameters}})
    return dut_design(replace(dut, file=file))


@pytest.fixture(scope="module")
def combinational() -> DutQualifier:
    return DutQualifier(design("comb.yaml"), 1, silent)


@pytest.mark.slow
def test_mutants_of_a_design_without_a_clock_are_killed_or_survive(combinational):
    found = combinational.qualify(40)
    assert len(found.rows) == 40 < found.of
    assert 0.6 < found.killed.low < found.killed.share < found.killed.high < 1
    assert all(row.mutant.place.startswith("dot4_co") for row in found.rows if row.mutant.source)
    assert [row for row in found.rows if row.killed and not row.how] == []
    assert len(found.survivors) + found.count("killed") + found.count("equivalent") == 40


def test_a_design_is_read_wherever_it_stands(tmp_path):
    """Yosys does not see every folder."""
    shutil.copytree(DESIGNS, tmp_path / "designs")
    assert len(dut_netlist(dut_design(load_dut(tmp_path / "designs" / "comb.yaml")), 1).mutants) > 10_000


@pytest.mark.slow
def test_few_vectors_kill_fewer(combinational, tmp_path, monkeypatch):
    monkeypatch.setattr(qualifying, "differences", lambda netlist, mutants, tell: [UNKNOWN] * len(mutants))
    unit = combinational.design.dut.unit
    make(Wanted(unit, "random", cases=3), tmp_path / "few")
    few = combinational.qualify(120, stored(tmp_path / "few"))
    assert few.cases == 3
    assert few.killed.high < combinational.qualify(120).killed.low


def test_vectors_of_another_unit_are_refused(combinational, tmp_path):
    from odd_units import unit

    make(Wanted(unit("tiny-e2m1-f16"), "random", cases=3), tmp_path / "other")
    with pytest.raises(InputError, match="is not the unit that the design names"):
        combinational.qualify(3, stored(tmp_path / "other"))


@pytest.mark.slow
def test_a_design_that_fails_itself_is_refused():
    with pytest.raises(InputError, match=r"itself does not pass: case \d+: the circuit returns"):
        DutQualifier(design("comb.yaml", WRONG=2), 1, silent).qualify(3)


# Lines 3 and 4 are switched off by a constant, 5 is read by nobody, and 6 is only where the high bits of a widened lane
# are not the sign of its code.
MODAL = """module modal (input [15:0] a, b, input mode, output [31:0] y, output [31:0] other);
  wire signed [15:0] x = a, z = b;
  wire signed [31:0] sum = mode ? 0 : x + z + (x <<< 3) - (z >>> 2);
  wire [31:0] most = mode ? 0 : (x > z ? x : z);
  assign other = a ^ {b, b};
  wire odd = a[15:8] != {8{a[7]}};
  wire signed [31:0] product = x * z;
  assign y = (mode ? product : sum ^ most) + (odd ? 32'd7 : 0);
endmodule
"""
MODAL_UNIT = """unit: mul8
operands: {a: int8, b: int8, addend: none}
instruction: {k: 1, lanes: 1, chain: none}
sum: {method: exact}
result: {format: i32, rounding: rz, overflow: wrap}
"""
MODAL_FILE = """unit: unit.yaml
sources: [modal.v]
top: modal
protocol: {kind: combinational}
ports:
  a: {port: a, bits_at: low, rest: sign}
  b: {port: b, bits_at: low, rest: sign}
  result: y
constants: {mode: 1}
"""


@pytest.mark.slow
def test_what_constants_switch_off_is_not_changed_and_what_changes_nothing_is_said(tmp_path, capsys):
    (tmp_path / "modal.v").write_text(MODAL)
    (tmp_path / "unit.yaml").write_text(MODAL_UNIT)
    (tmp_path / "dut.yaml").write_text(MODAL_FILE)
    qualifier = DutQualifier(dut_design(load_dut(tmp_path / "dut.yaml")), 1, silent)
    lines = {line for mutant in qualifier.netlist.mutants for line in re.findall(r"modal\.v:(\d+)", mutant.source)}
    assert lines == {"7"}
    make(Wanted(qualifier.design.dut.unit, "random", cases=2), tmp_path / "few")
    few = qualifier.qualify(20, stored(tmp_path / "few"))
    # What is said to survive is shown by its inputs, and nothing that is said to change nothing is killed by others.
    assert few.count("survives")
    for row in few.rows:
        if row.fate == "survives":
            shown = re.fullmatch(r"a 0x([0-9a-f]+), b 0x([0-9a-f]+)", row.how)
            assert shown is not None and all((int(code, 16) + 128) % 65536 < 256 for code in shown.groups())
    killed = {row.mutant for row in qualifier.qualify(20).rows if row.killed}
    assert killed.isdisjoint(row.mutant for row in few.rows if row.fate == "equivalent")
    words = ["qualify", "--dut", str(tmp_path / "dut.yaml"), "--vectors", str(tmp_path / "few"), "--mutants", "20"]
    assert main([*words, "--least", "99"]) == 1
    assert re.search(r"\n(fewer than|not shown: at least) 99 %: .* may change something", capsys.readouterr().out)


@pytest.mark.simulator
@pytest.mark.slow
def test_verilator_and_the_circuit_agree(combinational, tmp_path):
    _, cases = cases_of(combinational.design, None)
    chosen = combinational.netlist.mutants[:: len(combinational.netlist.mutants) // 12]
    at_once = combinational._played(chosen, cases)
    one_by_one = combinational._simulated(tmp_path, chosen, cases)
    assert [row.killed for row in at_once] == [row.killed for row in one_by_one]
    assert len({row.killed for row in at_once}) == 2


@pytest.mark.simulator
@pytest.mark.slow
@pytest.mark.parametrize("name", ["stream.yaml", "latency.yaml"])
def test_mutants_of_a_design_with_a_clock_are_simulated(name):
    found = DutQualifier(design(name), 2, silent).qualify(10)
    assert len(found.rows) == 10
    assert sum(row.killed for row in found.rows) > 0


def test_an_interval_is_wilsons():
    # E. B. Wilson's score: (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), by hand for z = 1.96.
    assert wilson(5, 10) == pytest.approx((0.5, 0.23659, 0.76341), abs=1e-5)
    assert wilson(0, 10) == pytest.approx((0.0, 0.0, 0.27754), abs=1e-5)
    assert wilson(100, 100) == pytest.approx((1.0, 0.96301, 1.0), abs=1e-5)
