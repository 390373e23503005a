"""What vectors notice of a user's design."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hwsim.cosim.dut.dutfile import load_dut
from hwsim.cosim.dutdesign import dut_design
from hwsim.errors import InputError
from hwsim.qualify.dut import DutQualifier, cases_of, dut_netlist, wilson
from hwsim.vectors.make import make
from hwsim.vectors.plan import Wanted
from hwsim.vectors.stored import stored

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


def test_mutants_of_a_design_without_a_clock_are_killed_or_survive(combinational):
    found = combinational.qualify(400)
    assert len(found.rows) == 400 < found.of
    assert 0.6 < found.killed.low < found.killed.share < found.killed.high < 1
    assert all(row.mutant.place.startswith("dot4_co") for row in found.rows if row.mutant.source)
    assert [row for row in found.rows if row.killed and (row.unseen or not row.how)] == []
    assert len(found.survivors) + sum(row.killed for row in found.rows) + sum(row.unseen for row in found.rows) == 400


def test_a_design_is_read_wherever_it_stands(tmp_path):
    """Yosys does not see every folder."""
    shutil.copytree(DESIGNS, tmp_path / "designs")
    assert len(dut_netlist(dut_design(load_dut(tmp_path / "designs" / "comb.yaml")), 1).mutants) > 10_000


def test_few_vectors_kill_fewer(combinational, tmp_path):
    unit = combinational.design.dut.unit
    make(Wanted(unit, "random", cases=3), tmp_path / "few")
    few = combinational.qualify(300, stored(tmp_path / "few"))
    assert few.cases == 3
    assert few.killed.high < combinational.qualify(300).killed.low


def test_vectors_of_another_unit_are_refused(combinational, tmp_path):
    from odd_units import unit

    make(Wanted(unit("tiny-e2m1-f16"), "random", cases=3), tmp_path / "other")
    with pytest.raises(InputError, match="is not the unit that the design names"):
        combinational.qualify(3, stored(tmp_path / "other"))


def test_a_design_that_fails_itself_is_refused():
    with pytest.raises(InputError, match=r"itself does not pass: case \d+: the circuit returns"):
        DutQualifier(design("comb.yaml", WRONG=2), 1, silent).qualify(3)


@pytest.mark.simulator
@pytest.mark.soak
def test_verilator_and_the_circuit_agree(combinational, tmp_path):
    _, cases = cases_of(combinational.design, None)
    chosen = combinational.netlist.mutants[:: len(combinational.netlist.mutants) // 12]
    at_once = combinational._played(chosen, cases)
    one_by_one = combinational._simulated(tmp_path, chosen, cases)
    assert [row.killed for row in at_once] == [row.killed for row in one_by_one]
    assert len({row.killed for row in at_once}) == 2


@pytest.mark.simulator
@pytest.mark.soak
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
