"""The 40 readings: the own one is the definition, some are that of a changed unit, and all are what fractions say."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from random import Random

import pytest
from readings.semantics_fractions import value_of

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case
from hwsim.explain.candidate import by_model, changed
from hwsim.explain.discriminate import lengths_of, stimuli
from hwsim.explain.readings import READINGS, TO_SPEC, LostRule, Reading, own_reading, read_unit, short_name, supports
from hwsim.formats import Class, unpack
from hwsim.model.definition import Definition
from hwsim.model.late import Added
from hwsim.spec import Unit, load_unit

HOPPER = "hopper-wgmma-e4m3-f32"
# One group; groups; promotion; scales; a late addend by specification; no addend; fixed factors; subgroups.
UNITS = [
    HOPPER,
    "ada-mma-e4m3-f16",
    "deepseek-v3-e4m3-f32",
    "deepseek-v3-e4m3-f32-scaled",
    "mxfp8-e4m3-f32",
    "hopper-mma-e4m3-f32",
    "rvbna-e4m3-f32-n8",
    "mxint8-f32",
    "blackwell-mxf4nvf4-e2m1-f32",
]
SIMPLE = [HOPPER, "mxfp8-e4m3-f32", "hopper-wgmma-e4m3-f16", "rvbna-e4m3-f32-n8", "mxint8-f32"]


@cache
def drawn(name: str, seed: int, count: int) -> list[Case]:
    unit = load_unit(name)
    lengths = dict.fromkeys(lengths_of(unit))
    drawn = (stimuli(unit, seed, at * count, count, length) for at, length in enumerate(lengths))
    return [case for batch in drawn for case in batch.cases()]


@cache
def directed_cases(name: str) -> list[Case]:
    """Some directed cases of a unit that has them, special values among them."""
    try:
        cases = directed(load_unit(name), 1)
    except ValueError:
        return []
    return Random(1).sample(cases, 300)


def read(unit: Unit, reading: Reading, cases: Sequence[Case]) -> list[int]:
    return by_model(read_unit(unit, reading), cases)


@pytest.mark.parametrize("name", UNITS)
def test_the_unit_s_own_reading_is_the_unit(name: str) -> None:
    unit = load_unit(name)
    own = own_reading(unit)
    assert own is not None
    assert read_unit(unit, own) is unit
    assert short_name(unit, own) == "as specified"


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("lost", list(TO_SPEC))
@pytest.mark.parametrize("name", [HOPPER, "mxfp8-e4m3-f32", "ada-mma-e4m3-f16"])
def test_what_a_specification_can_say_is_the_unit_that_says_it(name: str, lost: LostRule, late: bool) -> None:
    unit = load_unit(name)
    changes: dict[str, object] = {"sum": {"lost": TO_SPEC[lost]}}
    if late:
        fmt, rounding = unit.result.format.name, unit.result.rounding
        changes = {
            "sum": {"lost": TO_SPEC[lost], "addend": "late"},
            "instruction": {"start": "zero"},
            "late": {"operation": "add", "format": fmt, "rounding": rounding},
        }
    assert read_unit(unit, Reading(lost, late=late, two=late)) == changed(unit, changes)


@cache
def by_fractions(name: str) -> tuple[list[Case], dict[Reading, list[Fraction]]]:
    """Cases of one instruction, and what each reading returns for them."""
    unit = load_unit(name)
    cases = [case for case in drawn(name, 3, 32) if len(case.a) == unit.instruction.k]
    return cases, {reading: [value_of(unit, reading, case) for case in cases] for reading in READINGS}


@pytest.mark.sample(2)
@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("name", SIMPLE)
def test_every_reading_is_what_fractions_say(name: str) -> None:
    unit = load_unit(name)
    fmt = unit.result.format
    (cases, values), seen = by_fractions(name), set()
    for reading in READINGS:
        for case, code, said in zip(cases, read(unit, reading, cases), values[reading], strict=True):
            if unpack(fmt, code).cls is Class.INFINITY:
                continue
            assert float(fmt.decode([code])[0]) == said, (case.id, reading.name)
            seen.add((reading, said))
    assert len(seen) > 40 * len(cases) // 2


def test_each_reading_can_be_told_from_fractions_that_are_another_s() -> None:
    # The witness tells readings apart: it would not pass for all of them.
    _, values = by_fractions(HOPPER)
    assert sum(said != values[Reading("truncate")] for said in values.values()) >= 36


READ = "hwsim.model.methods"
MUTANTS: dict[str, tuple[str, object]] = {
    "no renormalisation": (f"{READ}.renormalised", lambda term: term),
    "no cut": (f"{READ}.ReadAligned._cut", lambda self, total, unit_exp: (total, unit_exp)),
    "a cut of one bit more": (
        f"{READ}.ReadAligned._cut",
        lambda self, total, unit_exp: (total >> 1, unit_exp + 1) if abs(total) >> 15 else (total, unit_exp),
    ),
    "bits lost of an exact sum": (f"{READ}._all_bits", lambda terms, max_exp: 13),
    "nothing late": ("hwsim.model.late.ExactLateAddition.add", lambda self, operands: Added(
        operands.format, operands.addend, operands.partial, operands.partial
    )),
    "everything jammed": ("hwsim.explain.readings.TO_SPEC", dict.fromkeys(TO_SPEC, "jam")),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_a_reading_with_a_mistake_is_caught_by_fractions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_fractions(HOPPER)
    monkeypatch.setattr(*MUTANTS[name])
    unit = load_unit(HOPPER)
    fmt = unit.result.format
    cases, values = by_fractions(HOPPER)
    definitions = (Definition(read_unit(unit, reading)) for reading in READINGS)
    said = [[each.dot(case.a, case.b, case.c).code for case in cases] for each in definitions]
    assert any(fmt.decode(codes).tolist() != values[reading] for reading, codes in zip(READINGS, said, strict=True))


def test_names_are_words_and_no_two_are_alike() -> None:
    unit = load_unit(HOPPER)
    names = [short_name(unit, reading) for reading in READINGS]
    assert len(set(names)) == 40
    assert short_name(unit, Reading("floor")) == "lost bits floored"
    assert short_name(unit, Reading("truncate", late=True, two=True)) == "addend late, two roundings"
    assert own_reading(load_unit("exact-e4m3-f32")) is None
    assert own_reading(load_unit("cdna3-mfma-f16-f32")) is None


def test_other_methods_have_no_readings() -> None:
    assert supports(load_unit(HOPPER))
    assert not supports(load_unit("exact-e4m3-f32"))
    assert not supports(read_unit(load_unit(HOPPER), Reading("exact")))
    with pytest.raises(ValueError, match=r"sum\.method must be aligned"):
        read_unit(load_unit("exact-e4m3-f32"), Reading("floor"))
