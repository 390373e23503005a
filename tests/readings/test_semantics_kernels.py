"""Readings in compiled code: the kernels return what the model does, and no other implementation has readings."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from built_presets import others_slow
from computed_once import computed_once
from odd_units import unit as odd_unit
from readings.test_semantics_readings import directed_cases, drawn

from hwsim.cases.case import Case, batches
from hwsim.cases.case import supports as supports_bins
from hwsim.compute.c.sums import supports as supports_c
from hwsim.compute.kernels import kernel_of
from hwsim.compute.kernels.read_aligned import run_readings
from hwsim.compute.kernels.tiles import multiply_pairs
from hwsim.explain import READINGS, Reading
from hwsim.explain.candidate import batch_results, by_model, changed
from hwsim.explain.readings import read_unit
from hwsim.model.clock import supports as supports_clock
from hwsim.model.definition import supports as supports_model
from hwsim.rtl.support import supports as supports_rtl
from hwsim.spec import ReadAlignedSum, Support, Unit, load_unit

HOPPER = "hopper-wgmma-e4m3-f32"
# Groups and a late addend; subgroups; limited products; promotion, scaled and not; no addend; scales; fixed factors.
UNITS = [
    "ada-mma-e4m3-f16",
    "hopper-mma-e4m3-f32",
    "blackwell-mxf4nvf4-e2m1-f32",
    "cdna3-mfma-bf16-f32",
    "deepseek-v3-e4m3-f32",
    "deepseek-v3-e4m3-f32-scaled",
    "rvbna-e4m3-f32-n8",
    "mxfp8-e4m3-f32",
    "mxint8-f32",
    "hopper-mma-tf32-f32",
]
ODD = [
    {"sum": {"zero_terms": "count", "zero": "ieee"}},
    {"sum": {"max_exp_floor": -12}, "result": {"rounding": "rd", "tiny": "signed"}},
    {"sum": {"fraction_bits": 0}, "result": {"subnormals": "flush"}},
    {"sum": {"fraction_bits": 50}, "result": {"rounding": "rna"}},
    {"sum": {"max_exp_floor": 300, "zero": "ieee"}, "result": {"rounding": "ru", "overflow": "saturate"}},
]


def whole(unit: Unit, cases: list[Case]) -> list[Case]:
    return [case for case in cases if len(case.a) % unit.instruction.k == 0]


@computed_once("explain")
def by_definition(unit: Unit, name: str, count: int) -> tuple[list[Case], list[list[int]]]:
    """Cases that were made for a preset, and what each reading of a unit with its operands returns."""
    cases = sorted([*whole(unit, drawn(name, 4, count)), *whole(unit, directed_cases(name))[:count]], key=length)
    return cases, [by_model(read_unit(unit, reading), cases) for reading in READINGS]


def length(case: Case) -> int:
    return len(case.a)


def kernels_agree(unit: Unit, name: str, count: int) -> None:
    cases, codes = by_definition(unit, name, count)
    for reading, expected in zip(READINGS, codes, strict=True):
        found: list[int] = []
        kernel = kernel_of(read_unit(unit, reading))
        for batch in batches(unit, cases):
            scales = None if batch.scale_a is None or batch.scale_b is None else (batch.scale_a, batch.scale_b)
            found += multiply_pairs(kernel, batch.a, batch.b, batch.c, scales).tolist()
        assert found == expected, reading.name


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", others_slow(UNITS, UNITS[::2]))
def test_a_kernel_s_readings_are_the_model_s(name: str) -> None:
    kernels_agree(load_unit(name), name, 16)


@pytest.mark.parametrize("changes", others_slow(ODD, ODD[::2]), ids=str)
def test_odd_windows_are_read_alike(changes: dict[str, object]) -> None:
    kernels_agree(changed(load_unit(HOPPER), changes), HOPPER, 10)


def test_no_reading_compiles_anything_anew() -> None:
    for name, reading in ((HOPPER, READINGS[1]), ("deepseek-v3-e4m3-f32-scaled", READINGS[39])):
        unit = load_unit(name)
        kernel = kernel_of(read_unit(unit, reading))
        (batch,) = batches(unit, drawn(name, 4, 4)[:1])
        scales = None if batch.scale_a is None or batch.scale_b is None else (batch.scale_a, batch.scale_b)
        multiply_pairs(kernel, batch.a, batch.b, batch.c, scales)
    assert len(run_readings.signatures) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("supports", [supports_clock, supports_rtl, supports_c, supports_bins])
def test_only_the_model_and_kernels_have_readings(supports: Callable[[Unit], Support]) -> None:
    unit = load_unit(HOPPER)
    reading = read_unit(unit, Reading("truncate", leading=True))
    assert supports_model(reading)
    assert supports(reading).reason == (
        f"unit {HOPPER}: a reading of sum.method: aligned is in the model and in compiled code alone"
    )


def test_no_file_says_a_reading(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert isinstance(read_unit(load_unit(HOPPER), Reading("exact", leading=True)).sum, ReadAlignedSum)
    path = tmp_path_factory.mktemp("unit") / "read.yaml"
    path.write_text(
        "unit: read\noperands: {a: e4m3, b: e4m3, addend: f32}\ninstruction: {k: 32, lanes: 32}\n"
        "sum: {method: aligned, fraction_bits: 13, leading: true}\nresult: {format: f32, rounding: rz}\n"
    )
    with pytest.raises(ValueError, match="leading"):
        load_unit(path)


def test_an_infinity_by_rounding_meets_the_one_that_a_group_starts_from() -> None:
    # The first group of five is rounded to minus infinity, and the second one's products to plus infinity.
    unit = odd_unit("promoted-f16")
    a = (126, 248, 250, 120, 212, 247, 248, 0, 120, 254)
    b = (244, 248, 125, 191, 103, 115, 64, 128, 114, 248)
    [batch] = batches(unit, [Case("infinities", a, b, 0)])
    for reading in READINGS:
        read = read_unit(unit, reading)
        assert batch_results(read, batch).tolist() == by_model(read, [Case("infinities", a, b, 0)])
