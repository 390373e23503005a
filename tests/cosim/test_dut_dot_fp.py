"""An exact dot product as a fixed number, with arrays of words as ports: right in five formats, and with two faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from built_presets import others_slow
from cosim.dut_files import DESIGNS, SEED
from cosim.small_runs import small_suites
from unit_keys import exact_sum, odd_unit

from hwsim.cosim import suites as planning
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.run import CosimOptions, run
from hwsim.explain import RunReport
from hwsim.spec import as_yaml

pytestmark = pytest.mark.simulator


class Exact(NamedTuple):
    """A format of factors in the design: its bits, those of the sum, and of these what the unit says."""

    factors: Any
    exponent_bits: int
    fraction_bits: int
    width: int
    integer_bits: int
    result_bits: int


# Without a NaN, as a unit must be whose sum is a fixed number.
E4M3 = {"name": "e4m3-finite", "kind": "float", "exponent_bits": 4, "fraction_bits": 3, "bias": 7}
E5M2 = {"name": "e5m2-finite", "kind": "float", "exponent_bits": 5, "fraction_bits": 2, "bias": 15}
# Of four products: 6 * 6 in quarters; 28 * 28 in units of 2^-8; -128 * -128; 480 * 480 in units of 2^-18; and
# 114688 * 114688 in units of 2^-32.
FORMATS = {
    "e2m1": Exact("e2m1", 2, 1, 11, 8, 2),
    "e3m2": Exact("e3m2", 3, 2, 21, 12, 8),
    "int8": Exact("int8", 0, 7, 18, 17, 0),
    "e4m3": Exact(E4M3, 4, 3, 39, 20, 18),
    "e5m2": Exact(E5M2, 5, 2, 69, 36, 32),
}


def dot_fp(folder: Path, name: str, simulator: str, wrong: int = 0) -> RunReport:
    made = FORMATS[name]
    result = {
        "name": "sum", "kind": "fixed", "integer_bits": made.integer_bits, "fraction_bits": made.result_bits,
    }  # fmt: skip
    unit = odd_unit(
        "dot",
        (made.factors, made.factors),
        "none",
        exact_sum(),
        result,
        4,
        chain="none",
        rounding="rz",
        overflow="wrap",
    )
    (folder / "unit.yaml").write_text(as_yaml(unit))
    bits = 1 + made.integer_bits + made.result_bits
    sizes = {"EXP": made.exponent_bits, "MAN": made.fraction_bits, "WIDTH": made.width, "WRONG": wrong}
    file = {
        "unit": "unit.yaml",
        "sources": [str(DESIGNS / "dot_fp.sv")],
        "top": "dot_fp",
        "parameters": sizes,
        "protocol": {"kind": "combinational"},
        "ports": {"a": "a", "b": {"each": "b[{}]"}, "result": f"sum[{bits - 1}:0]"},
    }
    (folder / "dut.yaml").write_text(yaml.safe_dump(file))
    design = dut_design(load_dut(folder / "dut.yaml"))
    assert len(design.module.arrays) == 5
    return run(CosimOptions((design,), (simulator,), SEED, 100, folder=folder / "run", minimize=False))


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    small_suites(monkeypatch)
    monkeypatch.setattr(planning, "PAIR_STEP", dict.fromkeys(planning.PAIR_STEP, 512))


@pytest.mark.parametrize("name", others_slow(list(FORMATS), ["e3m2"]))
def test_the_right_design_is_equal(icarus: None, tmp_path: Path, name: str) -> None:
    report = dot_fp(tmp_path, name, "icarus")
    assert report.passed
    directed = next(row for row in report.rows if row.suite == "dot directed")
    assert directed.compared > 10 and report.coverage


@pytest.mark.parametrize("wrong", others_slow([1, 2], []))
def test_a_fault_is_found(icarus: None, tmp_path: Path, wrong: int) -> None:
    report = dot_fp(tmp_path, "e2m1", "icarus", wrong)
    failed = {row.suite for row in report.rows if not row.passed}
    assert {"dot directed", "dot random"} <= failed
