"""x86 instructions: what an Intel Xeon returned, and what this processor and Bochs do, against hwsim's units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from built_presets import others_slow
from c.export_library import C99, Library
from cosim.plays import bulk_outcomes, design_of, recorded
from model.model_witness import Witness
from witness.x86 import INSTRUCTIONS, UNPACKED, Bochs, Count, Instruction, Place, Processor, Results, campaign

import hwsim.model
from hwsim.base.errors import ToolMissing
from hwsim.cases.case import Case
from hwsim.compute.products import dot_codes
from hwsim.explain.candidate import changed
from hwsim.spec import Unit, as_yaml, load_unit, pipeline, presets

CAPTURED = Path(__file__).parents[2] / "vectors" / "silicon" / "xeon.npz"
BY_NAME = {one.name: one for one in INSTRUCTIONS}
with np.load(CAPTURED) as data:
    NAMES = sorted({name.partition("/")[0] for name in data.files if "/" in name})
CASES = 512  # of each instruction


def captured(name: str) -> Results:
    with np.load(CAPTURED) as data:
        a, b, c, d = (data[f"{name}/{part}"] for part in "abcd")
    assert len(d) == CASES
    return Results(load_unit(BY_NAME[name].preset), a, b, c, d)


def test_captured_presets_are_those_of_the_file() -> None:
    of_intel = [name for name in presets() if name.startswith(("intel-", "x86-"))]
    assert {BY_NAME[name].preset for name in NAMES} == {
        name for name in of_intel if load_unit(name).evidence == "captured"
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_model_returns_what_the_processor_returned(name: str) -> None:
    found = captured(name)
    step = 1 if found.a.shape[1] < 8 else 8
    part = found._replace(**{key: getattr(found, key)[::step] for key in "abcd"})
    assert not part.differ(hwsim.model.dot(part.unit, part.a, part.b, part.c).view(part.d.dtype)).any()


@pytest.mark.parametrize("name", others_slow(NAMES, NAMES[::3]))
def test_exact_rationals_return_what_the_processor_returned(name: str) -> None:
    found = captured(name)
    witness = Witness(yaml.safe_load(as_yaml(found.unit)))
    want = [
        witness.dot(a, b, c, [], [])
        for a, b, c in zip(found.a.tolist(), found.b.tolist(), found.c.tolist(), strict=True)
    ]
    assert not found.differ(np.array(want, found.d.dtype)).any()


@pytest.mark.parametrize("name", others_slow(NAMES, NAMES[::3]))
def test_kernels_and_c_return_what_the_processor_returned(name: str, tmp_path: Path) -> None:
    found = captured(name)
    assert not found.differ(
        dot_codes(found.unit, found.a, found.b, found.c, None, again=True).astype(found.d.dtype)
    ).any()
    library = Library(found.unit, tmp_path, "gcc", ("-O1", *C99))
    a, b = found.a.tolist(), found.b.tolist()
    got = library.dots(a, b, found.c.tolist(), [()] * CASES, [()] * CASES)
    assert not found.differ(np.array(got, found.d.dtype)).any()


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(NAMES, ["vdpbf16ps", "vpdpbusds"]))
def test_the_rtl_returns_what_the_processor_returned(verilator: None, name: str) -> None:
    found = captured(name)
    unit = found.unit
    codes = [unit.nan if is_nan(unit, code) else code for code in found.d.tolist()]
    rows = zip(found.a.tolist(), found.b.tolist(), found.c.tolist(), strict=True)
    cases = [Case(f"{name}/{index}", tuple(a), tuple(b), c) for index, (a, b, c) in enumerate(rows)]
    (outcome,) = bulk_outcomes(design_of(unit), [recorded(unit, pipeline(unit), cases, expected=codes)])
    assert (outcome.mismatches, outcome.results) == ([], CASES)


def is_nan(unit: Unit, code: int) -> bool:
    return unit.result.nan == "any" and bool(np.isnan(np.uint32(code).view(np.float32)))


# Readings that the processor's results refute.
REFUTED: list[tuple[str, dict[str, Any]]] = [
    ("vdpbf16ps", {"instruction": {"order": {"modulo": 2, "groups": [[0], [1]]}}}),
    ("vdpbf16ps", {"instruction": {"lanes": 2, "order": "sequential"}, "sum": {"method": "pairwise"}}),
    ("vdpbf16ps", {"operands": {"daz": False}}),
    ("vdpbf16ps", {"sum": {"flush": False, "tininess": "result"}}),
    ("vdpbf16ps", {"sum": {"rounding": "rz"}}),
    ("vdpbf16ps", {"sum": {"product": "rounded"}}),
    ("tdpbf16ps", {"sum": {"chains": None}}),
    ("tdpbf16ps", {"sum": {"chains": 4}}),
    ("tdpbf16ps", {"instruction": {"lanes": 2}}),
    ("tdpbf16ps", {"operands": {"daz": False}}),
    ("tdpbf16ps", {"sum": {"flush": False, "tininess": "result"}}),
    ("tdpbssd", {"result": {"overflow": "saturate"}}),
    ("tdpbusd", {"operands": {"a": "int8", "b": "uint8"}}),
    ("vpdpbusds", {"result": {"overflow": "wrap"}}),
    ("vpdpbusd", {"result": {"overflow": "saturate"}}),
]


@pytest.mark.parametrize(
    ("name", "change"), others_slow(REFUTED, REFUTED[1::3]), ids=[f"{name} {change}" for name, change in REFUTED]
)
def test_other_readings_differ_from_what_the_processor_returned(name: str, change: dict[str, Any]) -> None:
    found = captured(name)
    other = found._replace(unit=changed(found.unit, change))
    assert found.differ(hwsim.model.dot(other.unit, found.a, found.b, found.c).view(found.d.dtype)).any()


def sampled(place: Place, instruction: Instruction, most: int = 4096) -> Count:
    (*_, count) = campaign(place, instruction, 7, most)
    assert count.results >= most
    return count


@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=lambda one: one.name)
def test_this_processor_returns_what_hwsim_does(instruction: Instruction, tmp_path: Path) -> None:
    try:
        count = sampled(Processor(tmp_path), instruction)
    except ToolMissing as missing:
        pytest.skip(str(missing))
    assert count.differences == []


# Bochs 3.1 multiplies bytes without their signs, and flushes differences that are no subnormals.
OF_BOCHS = dict.fromkeys(("tdpbssd", "tdpbsud", "tdpbusd", "tdpbf16ps"), "it is wrong")


@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=lambda one: one.name)
def test_bochs_returns_what_hwsim_does(instruction: Instruction) -> None:
    try:
        count = sampled(Bochs(UNPACKED), instruction)
    except ToolMissing as missing:
        pytest.skip(str(missing))
    whose = OF_BOCHS.get(instruction.name)
    assert bool(count.different) == (whose is not None)
    assert all(line.endswith(f": {whose}") for line in count.differences)
