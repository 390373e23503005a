"""The 40 readings: the own one is the definition, some are that of a changed unit, and all are what fractions say."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from random import Random

import pytest
from readings.semantics_fractions import value_of

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case, term_scales
from hwsim.formats import Class, unpack
from hwsim.model.definition import Definition
from hwsim.readings import READINGS, Reading, own_reading
from hwsim.readings.changes import changed
from hwsim.readings.reader import Reader
from hwsim.readings.readings import TO_SPEC, short_name
from hwsim.readings.stimuli import Stimuli
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
    stimuli = Stimuli(load_unit(name), seed)
    cases = []
    for number, length in enumerate(dict.fromkeys(stimuli.lengths)):
        chunk = stimuli.chunk(number * count, count, length)
        cases += [stimuli.case(chunk, index) for index in range(count)]
    return cases


@cache
def directed_cases(name: str) -> list[Case]:
    """Some directed cases of a unit that has them, special values among them."""
    try:
        cases = directed(load_unit(name), 1)
    except ValueError:
        return []
    return Random(1).sample(cases, 300)


def dots(definition: Definition, unit: Unit, cases: Sequence[Case]) -> list[int]:
    return [definition.dot(case.a, case.b, case.c, *term_scales(unit, case)).code for case in cases]


def read(unit: Unit, reading: Reading, cases: Sequence[Case]) -> list[int]:
    reader = Reader(unit, reading)
    return [reader.answer(case.a, case.b, case.c, *term_scales(unit, case)) for case in cases]


@pytest.mark.parametrize("name", UNITS)
def test_the_unit_s_own_reading_is_its_definition(name: str) -> None:
    unit = load_unit(name)
    own = own_reading(unit)
    assert own is not None
    cases = [*drawn(name, 1, 150), *directed_cases(name)]
    assert read(unit, own, cases) == dots(Definition(unit), unit, cases)
    assert short_name(unit, own) == "as specified"


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("lost", list(TO_SPEC))
@pytest.mark.parametrize("name", [HOPPER, "mxfp8-e4m3-f32", "ada-mma-e4m3-f16"])
def test_what_a_specification_can_say_is_the_unit_that_says_it(name: str, lost: str, late: bool) -> None:
    unit = load_unit(name)
    changes: dict[str, object] = {"sum": {"lost": TO_SPEC[lost]}}  # type: ignore[index]
    if late:
        fmt, rounding = unit.result.format.name, unit.result.rounding
        changes = {
            "sum": {"lost": TO_SPEC[lost], "addend": "late"},  # type: ignore[index]
            "instruction": {"start": "zero"},
            "late": {"operation": "add", "format": fmt, "rounding": rounding},
        }
    whole = [case for case in directed_cases(name) if len(case.a) % unit.instruction.k == 0]
    cases = [*drawn(name, 2, 100), *whole]
    other = changed(unit, changes)
    assert read(unit, Reading(lost, late=late, two=late), cases) == dots(Definition(other), other, cases)  # type: ignore[arg-type]


@cache
def by_fractions(name: str) -> tuple[list[Case], dict[Reading, list[Fraction]]]:
    """Cases of one instruction, and what each reading returns for them."""
    unit = load_unit(name)
    cases = [case for case in drawn(name, 3, 32) if len(case.a) == unit.instruction.k]
    return cases, {reading: [value_of(unit, reading, case) for case in cases] for reading in READINGS}


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


def reader_mutants() -> dict[str, tuple[str, object]]:
    """Mistakes in the readers, by what they leave out."""
    return {
        "no renormalisation": ("hwsim.readings.reader.renormalised", lambda term: term),
        "no cut": ("hwsim.readings.reader.Reader._cut", lambda self, total, unit_exp: (total, unit_exp)),
        "a cut of one bit more": (
            "hwsim.readings.reader.Reader._cut",
            lambda self, total, unit_exp: (total >> 1, unit_exp + 1) if abs(total) >> 15 else (total, unit_exp),
        ),
        "nothing late": ("hwsim.readings.reader.Reader._add", lambda self, late, partial: partial),
        "everything jammed": ("hwsim.readings.reader.TO_SPEC", dict.fromkeys(TO_SPEC, "jam")),
    }


@pytest.mark.parametrize("name", reader_mutants())
def test_a_reader_with_a_mistake_is_caught_by_fractions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_fractions(HOPPER)
    monkeypatch.setattr(*reader_mutants()[name])
    unit = load_unit(HOPPER)
    fmt = unit.result.format
    cases, values = by_fractions(HOPPER)
    said = {reading: fmt.decode(read(unit, reading, cases)).tolist() for reading in READINGS}
    assert any(said[reading] != values[reading] for reading in READINGS)


def test_names_are_words_and_no_two_are_alike() -> None:
    unit = load_unit(HOPPER)
    names = [short_name(unit, reading) for reading in READINGS]
    assert len(set(names)) == 40
    assert short_name(unit, Reading("floor")) == "lost bits floored"
    assert short_name(unit, Reading("truncate", late=True, two=True)) == "addend late, two roundings"
    assert own_reading(load_unit("exact-e4m3-f32")) is None
    assert own_reading(load_unit("cdna3-mfma-f16-f32")) is None


def test_other_methods_have_no_readings() -> None:
    with pytest.raises(ValueError, match=r"sum\.method must be aligned"):
        Reader(load_unit("exact-e4m3-f32"), Reading("floor"))
