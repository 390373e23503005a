"""Directed suites as a whole: well formed, the same every time, and each of its groups there."""

import pytest
from built_presets import others_slow
from cases.vectors_measure import NAMES, SEED, suite, unit_of

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import addend_mask, beats, block_lengths
from hwsim.formats import parse, unpack
from hwsim.model.clock import PipelinedUnit
from hwsim.spec import Unit, pipeline

GROUPS = {"lane", "addend", "normalize", "growth", "carry", "cancel", "class", "zero", "chain", "lost", "edge"}


@pytest.mark.slow
def test_ids_are_unique(measured):
    ids = [case.id for case in measured.cases]
    assert len(set(ids)) == len(ids)


def test_every_group_is_there(measured):
    assert {case.id.split("/")[0] for case in measured.cases} >= GROUPS


def test_cases_are_whole_beats_of_codes(measured):
    unit = measured.unit
    for case in measured.cases:
        assert len(case.a) == len(case.b) > 0
        assert len(case.a) % unit.instruction.lanes == 0
        assert 0 <= case.c <= addend_mask(unit)
    for fmt, used in ((unit.operands.a, {c for case in measured.cases for c in case.a}),
                      (unit.operands.b, {c for case in measured.cases for c in case.b})):  # fmt: skip
        for code in used:
            unpack(fmt, code)


def test_scales_are_one_a_block(measured):
    unit = measured.unit
    for case in measured.cases:
        if unit.scale is None:
            assert (case.scale_a, case.scale_b) == ((), ())
        else:
            blocks = [-(-len(case.a) // length) for length in block_lengths(unit)]
            assert [len(case.scale_a), len(case.scale_b)] == blocks


@pytest.mark.parametrize("name", NAMES[::3])
def test_the_same_seed_gives_the_same_cases(name):
    unit = unit_of(name)
    assert directed(unit, SEED) == suite(name).cases


def test_another_seed_gives_the_same_bins_with_other_codes(hopper):
    other = directed(hopper.unit, SEED + 1)
    assert [case.id for case in other] == [case.id for case in hopper.cases]
    assert other != hopper.cases


def test_a_suite_of_32_lanes_is_of_a_size_to_simulate(hopper):
    assert 1500 <= len(hopper.cases) <= 4000


def test_beats_bring_a_case_into_the_cycle_level_model(measured):
    unit = PipelinedUnit(measured.unit, pipeline(measured.unit, (), 1))
    for one in measured.measured[::7]:
        unit.reset()
        for beat in beats(measured.unit, one.case):
            assert unit.tick(beat, True)
        assert unit.result.code == one.explanation.code, one.case.id


def odd_unit(**changed):
    """A unit far from the presets, with these parts changed."""
    data = {
        "unit": "odd",
        "operands": {"a": "e4m3", "b": "e4m3", "addend": "f32"},
        "instruction": {"k": 4, "lanes": 4},
        "sum": {"method": "aligned", "fraction_bits": 13},
        "result": {"format": "f32", "rounding": "rz"},
    }
    return Unit.model_validate(data | changed)


def scale(a, b, fmt="e8m0"):
    return {"scale": {"a": {"format": fmt, "block": [1, a]}, "b": {"format": fmt, "block": [b, 1]}}}


FNUZ = {"kind": "float", "name": "fnuz", "exponent_bits": 4, "fraction_bits": 3, "bias": 8, "nan": (0x80,),
        "signed_zero": False}  # fmt: skip
FLAT = {"kind": "float", "name": "flat", "exponent_bits": 6, "fraction_bits": 9, "bias": 31, "subnormals": False}
INT4 = {"kind": "fixed", "name": "int4", "integer_bits": 3, "fraction_bits": 0}
NARROW = {"kind": "exponent", "name": "e4m0", "exponent_bits": 4, "bias": 7}
BELOW_ONE = {"kind": "exponent", "name": "below", "exponent_bits": 4, "bias": 40}  # the last is 2^-25
UP_TO_ONE = {"kind": "exponent", "name": "up-to-one", "exponent_bits": 4, "bias": 15}
FROM_ONE = {"kind": "exponent", "name": "from-one", "exponent_bits": 4, "bias": 0}


def formats(a, b=None, addend="f32"):
    made = [parse(fmt) if isinstance(fmt, dict) else fmt for fmt in (a, b or a, addend)]
    return {"operands": dict(zip(("a", "b", "addend"), made, strict=True))}


UNITS = [
    odd_unit(instruction={"k": 1, "lanes": 1}),
    odd_unit(instruction={"k": 1, "lanes": 1, "chain": None}, **formats("e4m3", addend=None)),
    odd_unit(instruction={"k": 8, "lanes": 4, "chain": None}, **formats("e4m3", addend=None)),
    odd_unit(instruction={"k": 64, "lanes": 64}, **formats("e5m2")),
    odd_unit(sum={"method": "aligned", "fraction_bits": 24}, **formats("f16")),
    odd_unit(sum={"method": "aligned", "fraction_bits": 0}),
    odd_unit(sum={"method": "aligned", "fraction_bits": 20, "lost": "floor"}, **formats("e4m3", addend="tf32")),
    odd_unit(**formats("bf16", addend="bf16")),
    odd_unit(**formats(FNUZ, addend=FLAT)),
    odd_unit(**formats(FLAT)),
    odd_unit(**formats(INT4, "e4m3")),
    odd_unit(result={"format": "e4m3", "rounding": "ru", "overflow": "saturate"}),
    odd_unit(result={"format": "e4m3", "rounding": "rd", "overflow": "nan"}),
    odd_unit(instruction={"k": 32, "lanes": 32}, **scale(8, 16)),
    odd_unit(instruction={"k": 8, "lanes": 8}, **scale(32, 64)),
    odd_unit(**scale(4, 4, parse(NARROW))),
    odd_unit(**scale(4, 4, parse(BELOW_ONE))),
    odd_unit(**scale(4, 4, parse(UP_TO_ONE))),
    odd_unit(**scale(4, 4, parse(FROM_ONE))),
    odd_unit(promotion={"interval": 4, "format": "f32"}),
    odd_unit(promotion={"interval": 8, "format": "f32"}, **scale(8, 8)),
    odd_unit(promotion={"interval": 16, "format": "f32"}, **formats("e5m2", addend="f16")),
    odd_unit(promotion={"interval": 16, "format": "f32"}, **formats("e5m2", addend=None)),
]


def _scales(unit, case):
    return [] if unit.scale is None else [(unit.scale.a, case.scale_a), (unit.scale.b, case.scale_b)]


@pytest.mark.parametrize(
    "unit",
    others_slow(UNITS, [*UNITS[::2], *(unit for unit in UNITS if unit.scale is not None)]),
    ids=lambda unit: "-".join(
        (unit.operands.a.name, unit.operands.b.name, str(unit.instruction.lanes), unit.result.rounding)
    ),
)
def test_any_unit_that_the_model_has_gets_a_suite(unit):
    cases = directed(unit, 0)
    device = PipelinedUnit(unit, pipeline(unit, (), 1))
    assert len(cases) > 300
    assert len({case.id for case in cases}) == len(cases)
    most = unit.instruction.k // unit.instruction.lanes if unit.instruction.chain is None else 10**9
    assert all(len(case.a) // unit.instruction.lanes <= most for case in cases)
    for fmt, codes in ((side.format, codes) for case in cases for side, codes in _scales(unit, case)):
        assert all(0 <= code <= max((fmt.max_code, *fmt.nan)) for code in codes)
    for case in cases[::27]:
        device.reset()
        assert all(device.tick(beat, True) for beat in beats(unit, case))
