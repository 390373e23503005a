"""The 40 readings of a window: all are what fractions say, in the model and in compiled code; and which are equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations, combinations_with_replacement, product
from math import frexp
from random import Random
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from computed_once import computed_once
from model.witness_numbers import floor_log2, keep, two
from odd_units import unit as odd_unit

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Batch, Case, batches, term_scales
from hwsim.cases.case import supports as supports_bins
from hwsim.compute.c.sums import supports as supports_c
from hwsim.compute.kernels import kernel_of
from hwsim.compute.kernels.tiles import multiply_pairs
from hwsim.explain import readings as proofs
from hwsim.explain.candidate import batch_results, by_model, changed
from hwsim.explain.discriminate import lengths_of, stimuli
from hwsim.explain.readings import (
    READINGS,
    TO_SPEC,
    Facts,
    LostRule,
    Reading,
    normal_forms,
    own_reading,
    read_unit,
    short_name,
    supports,
    why_equal,
)
from hwsim.formats import Class, ExponentFormat, FloatFormat, unpack
from hwsim.model.clock import supports as supports_clock
from hwsim.model.definition import Definition
from hwsim.model.definition import supports as supports_model
from hwsim.model.late import Added
from hwsim.rtl.methods import supports as supports_rtl
from hwsim.spec import AlignedReadingSum, Support, Unit, load_unit

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


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("name", others_slow(SIMPLE, SIMPLE[:2]))
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
    "no cut": (f"{READ}.AlignedReading._cut", lambda self, total, unit_exp: (total, unit_exp)),
    "a cut of one bit more": (
        f"{READ}.AlignedReading._cut",
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


def to_multiple(value: Fraction, unit: Fraction, rule: str) -> Fraction:
    """A multiple of `unit`, by a rule for what is cut off."""
    return keep(value / unit, {"nearest": "rne"}.get(rule, rule)) * unit


def rounded(fmt: FloatFormat, value: Fraction, rule: str) -> Fraction:
    if value == 0:
        return value
    return to_multiple(value, two(max(floor_log2(abs(value)), fmt.emin) - fmt.fraction_bits), rule)


@lru_cache(maxsize=10_000)
def decoded(fmt: object, code: int) -> tuple[Fraction, int]:
    """A finite code's value, and its exponent, emin at least."""
    value = float(fmt.decode([code])[0])  # type: ignore[attr-defined]
    if not isinstance(fmt, FloatFormat):
        return Fraction(value), 0
    return Fraction(value), max(frexp(value)[1] - 1, fmt.emin) if value else fmt.emin


def value_of(unit: Unit, reading: Reading, case: Case) -> Fraction:
    """What a reading returns for one group, as a number: signs of zero and overflow are not told."""
    result, rounding, bits = unit.result.format, unit.result.rounding, unit.sum.fraction_bits or 0
    scales = list(zip(*term_scales(unit, case), strict=True)) or [None] * len(case.a)
    terms = []
    for a, b, scale in zip(case.a, case.b, scales, strict=True):
        (x, exp_x), (y, exp_y) = decoded(unit.operands.a, a), decoded(unit.operands.b, b)
        shift = 0
        if scale is not None:
            assert unit.scale is not None
            sides = (unit.scale.a.format, unit.scale.b.format)
            shift = sum(
                code - fmt.bias for fmt, code in zip(sides, scale, strict=True) if isinstance(fmt, ExponentFormat)
            )
        product = x * y * Fraction(2) ** shift
        if product:
            terms.append((product, floor_log2(abs(product)) if reading.leading else exp_x + exp_y + shift))
    addend = decoded(unit.operands.addend, case.c) if unit.operands.addend else (Fraction(0), 0)
    late = addend[0] if reading.late else Fraction(0)
    if addend[0] and not reading.late:
        terms.append(addend)
    total = sum((value for value, _ in terms), Fraction(0))
    if reading.lost != "exact" and terms:
        unit_of = Fraction(2) ** (max(exp for _, exp in terms) - bits)
        total = sum((to_multiple(value, unit_of, reading.lost) for value, _ in terms), Fraction(0))
    if reading.late and reading.two:
        return rounded(result, rounded(result, total, rounding) + late, rounding)
    if reading.two and total and is_long(total, bits):
        cut = "truncate" if reading.lost == "exact" else reading.lost
        total = to_multiple(total, Fraction(2) ** (floor_log2(abs(total)) - bits), cut)
    return rounded(result, total + late, rounding)


def is_long(value: Fraction, bits: int) -> bool:
    """Whether a number has more than 1 + bits significant bits."""
    return (value / Fraction(2) ** (floor_log2(abs(value)) - bits)).denominator != 1


# Groups and a late addend; subgroups; limited products; promotion, scaled and not; no addend; scales; fixed factors.
UNIT_OF_GROUPS, UNIT_OF_PARTS = "ada-mma-e4m3-f16", "deepseek-v3-e4m3-f32-scaled"
KERNEL_UNITS = [
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
    cases = sorted([*whole(unit, drawn(name, 4, count)), *whole(unit, directed_cases(name))[:count]], key=terms_of)
    return cases, [by_model(read_unit(unit, reading), cases) for reading in READINGS]


def terms_of(case: Case) -> int:
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


@pytest.mark.parametrize("name", others_slow(KERNEL_UNITS, ["ada-mma-e4m3-f16"]))
def test_a_kernel_s_readings_are_the_model_s(name: str) -> None:
    kernels_agree(load_unit(name), name, 8)


@pytest.mark.parametrize("changes", others_slow(ODD, []), ids=str)
def test_odd_windows_are_read_alike(changes: dict[str, object]) -> None:
    kernels_agree(changed(load_unit(HOPPER), changes), HOPPER, 10)


@pytest.mark.parametrize("supports", [supports_clock, supports_rtl, supports_c, supports_bins])
def test_only_the_model_and_kernels_have_readings(supports: Callable[[Unit], Support]) -> None:
    unit = load_unit(HOPPER)
    reading = read_unit(unit, Reading("truncate", leading=True))
    assert supports_model(reading)
    assert supports(reading).reason == (
        f"unit {HOPPER}: a reading of sum.method: aligned is in the model and in compiled code alone"
    )


def test_no_file_says_a_reading(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert isinstance(read_unit(load_unit(HOPPER), Reading("exact", leading=True)).sum, AlignedReadingSum)
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


PAIRS = tuple(combinations(range(40), 2))


def small(name: str, exponent: int, fraction: int, **more: Any) -> dict[str, Any]:
    return {
        "name": name, "kind": "float", "exponent_bits": exponent, "fraction_bits": fraction,
        "bias": (1 << exponent - 1) - 1, **more,
    }  # fmt: skip


IEEE = {"nan": "ieee", "infinities": True}
FACTORS = {"e2m1": small("e2m1", 2, 1), "e3m1": small("e3m1", 3, 1), "e3m0": small("e3m0", 3, 0)}
RESULTS = {
    "e4m2": small("e4m2", 4, 2, **IEEE),
    "e4m4": small("e4m4", 4, 4, **IEEE),
    "e5m6": small("e5m6", 5, 6, **IEEE),
    "e5m9": small("e5m9", 5, 9, **IEEE),
}


def tiny(factor: str, result: str, bits: int, rounding: str, addend: str | None, lanes: int = 2, **more: Any) -> Unit:
    fmt = FACTORS[factor]
    data = {
        "unit": "tiny",
        "operands": {"a": fmt, "b": fmt, "addend": None if addend is None else RESULTS[addend]},
        "instruction": {"k": lanes, "lanes": lanes, "chain": None if addend is None else "addend"},
        "sum": {"method": "aligned", "fraction_bits": bits, "addend": None if addend is None else "aligned"},
        "result": {"format": RESULTS[result], "rounding": rounding, **more},
    }
    return Unit.model_validate(data)


@cache
def every_product(unit: Unit) -> tuple[tuple[int, int], ...]:
    """Codes that make every product of the unit's factors, each product once."""
    definition, bits = Definition(unit), unit.operands.a.bits
    codes = {}
    for a, b in product(range(1 << bits), repeat=2):
        term = definition.product(a, b)
        codes.setdefault((term.sign if term.sig else 0, term.exp if term.sig else 0, term.sig), (a, b))
    return tuple(codes.values())


def every_answer(unit: Unit) -> np.ndarray:
    """(n, 40): all readings of all operands, up to the order of the lanes."""
    products = np.array(every_product(unit), dtype=np.uint8)
    lanes = list(combinations_with_replacement(range(len(products)), unit.instruction.lanes))
    fmt = unit.operands.addend
    addends = (
        [0] if fmt is None else [code for code in range(1 << fmt.bits) if abs(float(fmt.decode([code])[0])) < np.inf]
    )
    table = np.tile(products[np.array(lanes)], (len(addends), 1, 1))
    c = np.repeat(np.array(addends, np.uint16), len(lanes))
    batch = Batch(range(len(c)), *(np.ascontiguousarray(table[:, :, side]) for side in (0, 1)), c)  # type: ignore[arg-type]
    return np.array([batch_results(read_unit(unit, reading), batch) for reading in READINGS]).T


@computed_once("explain")
def told_apart(name: str) -> set[tuple[int, int]]:
    answers = every_answer(SMALL_UNITS[name])
    assert len(answers) > 50
    return {(i, j) for i, j in PAIRS if (answers[:, i] != answers[:, j]).any()}


def proved(unit: Unit) -> set[tuple[int, int]]:
    forms = normal_forms(unit)
    return {(i, j) for i, j in PAIRS if why_equal(forms, READINGS[i], READINGS[j]) is not None}


# Windows from too short for anything to long enough for everything, and all roundings.
SMALL_UNITS = {
    "no addend, short": tiny("e3m1", "e4m2", 3, "rne", None),
    "no addend, cut to the result's bits": tiny("e3m1", "e4m4", 4, "rz", None),
    "no addend, one bit more": tiny("e2m1", "e4m4", 5, "rz", None, 3),
    "no addend, two bits more": tiny("e2m1", "e4m2", 4, "rne", None, 3),
    "no addend, to odd": tiny("e2m1", "e4m4", 4, "rto", None, 3),
    "no addend, down": tiny("e2m1", "e4m2", 4, "rd", None, 3),
    "no addend, up": tiny("e2m1", "e4m2", 3, "ru", None, 3),
    "no addend, long": tiny("e2m1", "e5m6", 12, "rne", None),
    "no addend, just long enough": tiny("e2m1", "e4m2", 6, "rne", None),
    "no addend, one bit too short": tiny("e2m1", "e4m2", 5, "rne", None),
    "one lane": tiny("e3m1", "e4m2", 4, "rz", None, 1),
    "powers of two": tiny("e3m0", "e4m2", 3, "rz", None),
    "addend, short": tiny("e2m1", "e4m2", 2, "rz", "e4m2"),
    "addend, long": tiny("e2m1", "e4m4", 6, "rne", "e4m2"),
    "addend, sums that fit": tiny("e2m1", "e5m9", 9, "rne", "e4m2"),
    "addend, sums that fit, tiny": tiny("e2m1", "e5m9", 9, "rz", "e4m2", tiny="positive"),
    "addend, sums that fit, down": tiny("e2m1", "e5m9", 9, "rd", "e4m2"),
    "addend finer than the result": tiny("e3m0", "e4m2", 7, "rz", "e4m4", tiny="positive"),
    "addend, saturating": tiny("e2m1", "e4m4", 8, "rne", "e4m2", overflow="saturate"),
    "addend, flushing": tiny("e2m1", "e5m9", 9, "rne", "e4m2", subnormals="flush"),
}


# An addend of every code takes most of the time; mutants are caught without these.
SOAKED = {
    "addend, long", "addend, sums that fit", "addend, sums that fit, tiny", "addend finer than the result",
    "addend, flushing",
}  # fmt: skip
ALWAYS = [name for name in SMALL_UNITS if name not in SOAKED]
SUITE = ALWAYS[::3]  # the others serve mutants


@pytest.mark.parametrize("name", others_slow(SMALL_UNITS, SUITE))
def test_no_pair_that_is_proved_equal_ever_differs(name: str) -> None:
    unit = SMALL_UNITS[name]
    equal, different = proved(unit), told_apart(name)
    assert not equal & different
    assert len(equal) + len(different) > 400 or unit.instruction.lanes == 1


def test_what_is_long_enough_is_proved_and_what_is_not_is_told_apart() -> None:
    # Where a unit has no addend and loses nothing, one reading is left; a bit less, and some operands tell.
    assert len(proved(SMALL_UNITS["no addend, long"])) == 780
    assert not told_apart("no addend, long")
    assert told_apart("no addend, one bit too short") > told_apart("no addend, just long enough")


# Proofs that claim more than holds, and some small unit tells.
REAL_FACTS = Facts.__init__


def never_starts(self: Facts, unit: Unit) -> None:
    """A late addend is none."""
    REAL_FACTS(self, unit)
    self.starts = False


TOO_MUCH: dict[str, tuple[Any, str, Any]] = {
    "bounds that are too small": (Facts, "sum_bits", property(lambda facts: 3)),
    "nothing is lost": (Facts, "loses_nothing", lambda facts, reading: True),
    "every sum fits": (Facts, "sum_fits", lambda facts, reading: True),
    "a late addition is like its sums": (Facts, "adds_like_its_sums", True),
    "a late addend is none": (Facts, "__init__", never_starts),
    **{
        f"cuts are harmless too soon: {lost}, {rounding}": (
            proofs, "HARMLESS", {**proofs.HARMLESS, lost: {**proofs.HARMLESS[lost], rounding: more}}
        )
        for lost, rounding, more in (
            ("jam", "rz", 0), ("jam", "rne", 1), ("floor", "rz", 0), ("truncate", "rne", 2), ("nearest", "rne", 0)
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_proof_that_claims_too_much_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*TOO_MUCH[name])
    assert any(proved(SMALL_UNITS[small]) & told_apart(small) for small in ALWAYS)


def test_groups_that_hand_on_their_sums_are_no_proof() -> None:
    # Two groups of one instruction: a late addend comes after the second, so that when it comes does matter.
    forms = normal_forms(load_unit("ada-mma-e4m3-f32"))
    exact = READINGS[32:]
    assert why_equal(forms, exact[0], exact[2]) is None
    hopper = normal_forms(load_unit("hopper-wgmma-e4m3-f32"))
    assert why_equal(hopper, exact[0], exact[2]) == (
        "where nothing is lost and the sum is rounded once, it is the same whenever the addend comes"
    )
    assert own_reading(load_unit("hopper-wgmma-e4m3-f32")) == READINGS[0]


@pytest.mark.parametrize("rounding", [pytest.param("rne", marks=pytest.mark.slow), "rd"])
def test_a_sum_of_minus_zeros_shows_when_the_addend_comes(rounding: str) -> None:
    """IEEE 754: -0 + -0 is -0, but +0 + -0 is +0, unless it is rounded down; and a late addend is added to +0."""
    unit = changed(tiny("e2m1", "e4m4", 8, rounding, "e4m4"), {"sum": {"zero": "ieee"}})
    aligned, late = Reading("exact"), Reading("exact", late=True)
    batch = Batch(["-0"], np.array([[8, 8]]), np.array([[0, 0]]), np.array([1 << 8]))
    answers = [int(batch_results(read_unit(unit, reading), batch)[0]) for reading in (aligned, late)]
    assert answers == [1 << 8, 1 << 8 if rounding == "rd" else 0]
    assert (why_equal(normal_forms(unit), aligned, late) is None) == (rounding != "rd")


def test_a_zero_that_a_group_starts_from_may_count_as_an_addend() -> None:
    """Without an addend it is in the window of one reading, and in none where it is added late."""
    keys: dict[str, Any] = {
        "unit": "counted",
        "operands": {"a": "e4m3", "b": "e4m3", "addend": "none"},
        "instruction": {"k": 2, "lanes": 2, "start": "zero", "chain": "none"},
        "sum": {"method": "aligned", "fraction_bits": 2, "lost": "floor", "zero_terms": "count"},
        "result": {"format": "e4m3fnuz", "rounding": "rne", "overflow": "saturate"},
    }
    aligned, late = Reading("floor"), Reading("floor", late=True)
    assert why_equal(normal_forms(Unit.model_validate(keys)), aligned, late) is None
    keys["sum"] |= {"zero_terms": "skip"}
    assert why_equal(normal_forms(Unit.model_validate(keys)), aligned, late) is not None


def test_a_sum_goes_on_within_an_interval_of_promotion() -> None:
    keys: dict[str, Any] = {
        "unit": "promoted",
        "operands": {"a": "e4m3", "b": "e4m3", "addend": "none"},
        "instruction": {"k": 1, "lanes": 1, "chain": "none"},
        "sum": {"method": "aligned", "fraction_bits": 32},
        "result": {"format": "e4m3", "rounding": "rne", "overflow": "nan"},
        "promotion": {"interval": 2, "format": "f32", "operation": "add", "rounding": "rne"},
    }
    aligned, late = Reading("truncate"), Reading("truncate", late=True, two=True)
    assert why_equal(normal_forms(Unit.model_validate(keys)), aligned, late) is None
    keys["promotion"] |= {"interval": 1}
    assert why_equal(normal_forms(Unit.model_validate(keys)), aligned, late) is not None
