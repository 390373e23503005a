"""The catalogue of mistakes: without a flaw a design is the definition, and each flaw means what its name says."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
from built_presets import others_slow
from random_units.random_unit_files import SMALL
from unit_keys import odd_unit, window

from hwsim.cases.case import Case, dot
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.fuzz.draw import Size, drawn_unit
from hwsim.explain.candidate import addend_rounded, changed, results
from hwsim.explain.discriminate import lengths_of, stimuli
from hwsim.explain.known import candidates
from hwsim.explain.mistakes import Flaw, catalogue, code_of
from hwsim.explain.mistakes.flawed import FlawedDefinition
from hwsim.explain.mistakes.sums import FIRST_WORDS
from hwsim.explain.readings import READINGS, read_unit, supports
from hwsim.formats import FloatFormat, get_format
from hwsim.model import Definition
from hwsim.model.definition import definition_of
from hwsim.model.hooks import LastPlace, passed, rounded_magnitude
from hwsim.spec import Unit, load_unit

ROOT = Path(__file__).parents[2]
E4M3 = get_format("e4m3")
WINDOW = odd_unit("window4", "e4m3", "f16", window(14), "f16", 4)
ROUNDED = {"format": "f16", "rounding": "rne"}
CHAIN = odd_unit("chain2", "e4m3", "f16", {"method": "sequential", "product": "fused", **ROUNDED}, "f16", 2)
PAIRS = {"method": "pairwise", "product": "rounded", **ROUNDED}
TREE = odd_unit("tree4", "e4m3", "none", PAIRS, "f16", 4, chain="none")
TREE_OF_PAIRS = {**PAIRS, "subgroup": {"lanes": 2, "method": "exact"}}
OF_PAIRS = [
    odd_unit("pairs", "e4m3", "none", rule, "f16", 4, chain="none")
    for rule in (window(14, subgroup={"lanes": 2, "method": "aligned", "fraction_bits": 8}), TREE_OF_PAIRS)
]
EXACT = odd_unit("exact4", "e4m3", "none", {"method": "exact"}, "bf16", 4)
INTEGERS = load_unit("int8-i32")
ONE, TWO, HALF = (int(E4M3.encode(x)) for x in (1.0, 2.0, 0.5))


def flaw(unit: Unit, name: str) -> Flaw:
    (found,) = [mistake.flaw for mistake in catalogue(unit) if mistake.name == name]
    return found


def filled(unit: Unit, a: list[float], b: list[float] | None) -> tuple[list[float], list[float]]:
    """Both factors of every lane: ones where there are none of b, and zeros of a."""
    lanes = unit.instruction.lanes
    b = [1.0] * lanes if b is None else b
    return a + [0.0] * (lanes - len(a)), b + [0.0] * (lanes - len(b))


def answer(unit: Unit, name: str, a: list[float], b: list[float], c: float = 0.0) -> float:
    """The value that a design with a mistake returns."""
    addend = 0 if unit.operands.addend is None else int(unit.operands.addend.encode(c))
    sides = [tuple(int(fmt.encode(x)) for x in side) for fmt, side in ((E4M3, a), (E4M3, b))]
    return float(unit.output.decode(code_of(unit, flaw(unit, name), Case("case", *sides, addend))))


@pytest.mark.parametrize(
    "name", ["mxfp8-e4m3-f32", "int8-i32", "sequential-e4m3-f16", "cdna3-mfma-e4m3fnuz-f32", "cdna2-mfma-bf16-f32"]
)
def test_without_a_flaw_a_preset_is_computed_as_specified(name: str) -> None:
    unit = load_unit(name)
    own, machine = Definition(unit), FlawedDefinition(unit, Flaw() & Flaw())
    for case in random_cases(unit, 24, 5):
        assert machine.code_of(case) == dot(own, case).code


@pytest.mark.parametrize("unit", others_slow([WINDOW, TREE, EXACT], [TREE]), ids=lambda unit: unit.name)
def test_every_mistake_has_a_name_of_its_own_and_many_change_a_result(unit: Unit) -> None:
    own, cases = Definition(unit), random_cases(unit, 16, 7)
    expected, mistakes = [dot(own, case).code for case in cases], catalogue(unit)
    assert len({mistake.name for mistake in mistakes}) == len(mistakes)
    changed = [mistake for mistake in mistakes if [code_of(unit, mistake.flaw, case) for case in cases] != expected]
    assert len(changed) > len(mistakes) / 3


FAR = [256.0, 0.5], [2.0, 2.0**-9]  # exponents 8 + 1 and -1 - 6, for a subnormal counts as 2^-6: 16 places apart
POWERS = [1.0, 2.0, 4.0, 8.0]
GUARDED, WHOLE = "no guard bits in additions", "no guard bits in subtractions"
# A unit, a mistake, factors a and b, ones where there are none, an addend, and what is returned.
ANSWERS: list[tuple[Unit, str, list[float], list[float] | None, float, float]] = [
    (WINDOW, "lane 1 left out of the sum", POWERS, None, 0.5, 13.5),
    (WINDOW, "addend left out of the sum", POWERS, None, 0.5, 15.0),
    (WINDOW, "sign of lane 2 flipped", POWERS, None, 0.5, 7.5),
    (WINDOW, "lane 0 replaced by lane 3", POWERS, None, 0.5, 22.5),
    (WINDOW, "sign of the addend flipped", POWERS, None, 0.5, 14.5),
    (WINDOW, "sign of the result flipped", POWERS, None, 0.5, -15.5),
    (WINDOW, "exponent of products one too large", POWERS, None, 0.5, 30.5),
    (WINDOW, "subnormals of both factors at half their value", [2.0**-9], None, 0.0, 2.0**-10),
    (WINDOW, "subnormals of a at twice their value", [2.0**-9], None, 0.0, 2.0**-8),
    (WINDOW, "hidden bit of subnormals of a", [2.0**-9], None, 0.0, 2.0**-6 + 2.0**-9),
    (WINDOW, "subnormals of a taken for normal numbers", [2.0**-9], None, 0.0, 2.0**-7 + 2.0**-10),
    (WINDOW, "top binade of a taken for NaN", [256.0], None, 0.0, math.nan),
    (WINDOW, "overflow taken for underflow", [448.0] * 4, [448.0] * 4, 65504.0, 0.0),
    (WINDOW, "overflow gives the largest", [448.0] * 4, [448.0] * 4, 65504.0, 65504.0),
    # Sums whose leading 1 is at place 14, and of -8 in two's complement the leading 0 at 13.
    (WINDOW, "distance of normalisation added, from place 16", POWERS, None, 0.5, 15.5 * 2.0**4),
    (WINDOW, "distance of normalisation added, from place 16", [-8.0], None, 0.0, -8.0 * 2.0**4),
    (WINDOW, "distance of normalisation added, from place 16, in two's complement", [-8.0], None, 0.0, -512.0),
    (WINDOW, "distance of normalisation added, from place 16, in two's complement", [-9.0], None, 0.0, -144.0),
    # A distance that wraps brings a small term back; without its stage of 16 places the shifter does the same.
    (WINDOW, "shift distance modulo 16", *FAR, 0.0, 512 + 2.0**-10 * 2**16),
    (WINDOW, "shift by 16 left out", *FAR, 0.0, 512 + 2.0**-10 * 2**16),
    # 0 * 256: exponent 8 - 6 with the exponent of code 0, against 2^-9 * 2^-9: the window ends at 2^(2 - 14).
    (WINDOW, "max_exp of zeros", [0.0, 2.0**-7], [256.0, 2.0**-7], 0.0, 0.0),
    (WINDOW, "max_exp of zeros", [0.0, 2.0**-6], [256.0, 2.0**-6], 0.0, 2.0**-12),
    (WINDOW, "max_exp of the first lane alone", [1.0, 64.0], [1.0, 2.0], 0.0, 129.0),
    (WINDOW, "max_exp of the first lane alone, larger terms lost", [1.0, 64.0], [1.0, 2.0], 0.0, 1.0),
    # 1 - 2^-6 * 2^-6: -2^14, shifted right by 12 places in 20 bits, is 252 units of 2^-14, rounded to binary16.
    (WINDOW, "terms of 20 bits shifted right without their sign", [1.0, -(2.0**-6)], [1.0, 2.0**-6], 0.0, 1 + 2.0**-6),
    (WINDOW, "terms modulo 2^15", [1.0], None, 0.0, -1.0),
    (WINDOW, "terms modulo 2^15, without a sign", [-1.0], None, 0.0, 1.0),
    (WINDOW, "magnitude of sums of 16 bits not taken", [-1.0], None, 0.0, -3.0),
    (WINDOW, "significands of products modulo 2^4", [1.125], [1.125], 0.0, 1 / 64),
    (WINDOW, "exponents of products, biased once, modulo 2^4", [2.0], [256.0], 0.0, 2.0**-7),
    (WINDOW, "max_exp of exponents without their signs, larger terms lost", [0.5, 1.0], None, 0.0, 0.5),
    (WINDOW, "low 4 places of the whole sum lost, floored", [-1.0, -(2.0**-6)], [1.0, 2.0**-8], 0.0, -1 - 2.0**-10),
    (WINDOW, "neighbouring lanes of a exchanged", [1.0, 2.0], [1.0, 0.0], 0.0, 2.0),
    (WINDOW, "signs of products ignored", [-1.0], None, 0.0, 1.0),
    # 2048 + 1 is a tie in binary16, which goes to 2048; -2048 first leaves 1.
    (CHAIN, "lanes in the other order", [1.0, -32.0], [1.0, 64.0], 2048.0, 1.0),
    (CHAIN, "subnormals of a at twice their value", [1.0, -32.0], [1.0, 64.0], 2048.0, 0.0),
    # 1024 - 0.9375: binary16's last place below 1024 is 1/2. Without guard bits 0.9375 is cut to 0 in units of 1.
    (CHAIN, GUARDED, [0.9375], [-1.0], 1024.0, 1024.0),
    (CHAIN, GUARDED, [0.9375], [1.0], 1024.0, 1024.0),
    # Where signs differ alone: the same, and 1024 + 0.9375 has a guard bit, so that it is rounded to 1025.
    (CHAIN, WHOLE, [0.9375], [-1.0], 1024.0, 1024.0),
    (CHAIN, WHOLE, [0.9375], [1.0], 1024.0, 1025.0),
    (CHAIN, "a guard bit and nothing below it in additions", [0.9375], [-1.0], 1024.0, 1023.5),
    # A subnormal that passes two adders is halved twice.
    (TREE, "subnormal results at half their value", [2.0**-9], [2.0**-6], 0.0, 2.0**-17),
    # Products of parts go wrong before they are summed: 1 - 1 in the first pair, and 1 + 2 in the second.
    *((pairs, "sign of lane 1 flipped", [1.0, 1.0, 1.0, 2.0], None, 0.0, 3.0) for pairs in OF_PAIRS),
]


@pytest.mark.parametrize(("unit", "name", "a", "b", "c", "result"), ANSWERS)
def test_a_mistake_returns_what_its_name_says(
    unit: Unit, name: str, a: list[float], b: list[float] | None, c: float, result: float
) -> None:
    got = answer(unit, name, *filled(unit, a, b), c)
    assert math.isnan(got) if math.isnan(result) else got == result


@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("sig", range(33))
def test_roundings_that_are_mistakes_agree_with_rationals(sign: int, sig: int) -> None:
    value = Fraction(sig, 4)
    below, above = sig // 4, -(-sig // 4)
    nearest = below if value - below < Fraction(1, 2) else above
    tie = value - below == Fraction(1, 2)
    expected = {
        "ties-odd": (below if below % 2 else above) if tie else nearest,
        "ties-up": (below if sign else above) if tie else nearest,
        "ties-down": below if tie else nearest,
    }
    for rule, wanted in expected.items():
        assert rounded_magnitude(LastPlace(sig, 2, sign, rule, False)) == wanted  # type: ignore[arg-type]


def test_a_mistake_of_lanes_goes_with_a_unit_of_other_groups() -> None:
    # As two changes at once are tried: groups of two, and a lane that there is none of.
    halves = odd_unit("halves", "e4m3", "f16", window(14), "f16", 2, k=4)
    case = Case("case", (ONE,) * 2, (TWO,) * 2, 0)
    for mistake in catalogue(WINDOW):
        assert code_of(halves, mistake.flaw, case) >= 0


def in_the_page(name: str) -> str:
    """A name as docs/mistakes.md has it."""
    name = re.sub(r", of products (alone|too)$", "", name)
    name = re.sub(r"^(both factors|a|b|the addend|operands) (?=taken|modulo)", "X ", name)
    name = re.sub(r"of (both factors|a|b|the addend|operands|the result)\b(?! negative| and)", "of X", name)
    return re.sub(r"(?<![+-])\b\d+(?!\^)", "N", name)


def test_every_name_in_the_documents_is_in_the_catalogue() -> None:
    units = [
        WINDOW,
        CHAIN,
        INTEGERS,
        *map(load_unit, ("mxfp8-e4m3-f32", "hopper-wgmma-e5m2xe4m3-f32", "ampere-mma-uint8-i32")),
    ]
    names = {in_the_page(one.name) for unit in units for one in candidates(unit)}
    table = (ROOT / "docs/mistakes.md").read_text().partition("## The catalogue")[2].partition("\n\nA new")[0]
    shown = re.findall(r"`([^`]+)`", table.partition("|---|---|")[2])
    assert len(shown) > 20
    # These are seen in results alone.
    assert set(shown) - names <= {"result always 0xN", "result equal to the addend", "NaN is 0xN"}


@pytest.mark.parametrize(
    ("name", "scales"),
    [
        ("scale of a of the next block", (128, 127, 130, 129)),
        ("scale of a of the first block", (127, 127, 129, 129)),
        ("scale of a ignored", (127, 127, 127, 127)),
        ("scale of a subtracted", (127, 126, 125, 124)),
        ("scale of a counted twice", (127, 129, 131, 133)),
    ],
)
def test_scales_that_enter_wrongly_are_other_scales(name: str, scales: tuple[int, ...]) -> None:
    # Two blocks of two lanes in a beat, two beats; 127 is 2^0.
    scale = {"a": {"format": "e8m0", "block": [1, 2]}, "b": {"format": "e8m0", "block": [2, 1]}, "at": "product"}
    unit = odd_unit("blocks4", "e2m1", "none", window(12), "f32", 4, scale=scale)
    case = Case("case", (2,) * 8, (2,) * 8, 0, (127, 128, 129, 130), (127,) * 4)
    assert passed(flaw(unit, name).case, case, unit, None).scale_a == scales


def test_a_scale_without_a_1_is_not_said_to_be_ignored() -> None:
    below = {"name": "below", "kind": "exponent", "exponent_bits": 4, "bias": 40}
    scale = {side: {"format": below, "block": block} for side, block in (("a", [1, 4]), ("b", [4, 1]))}
    unit = odd_unit("below4", "e2m1", "none", window(12), "f32", 4, scale=scale)
    names = {mistake.name for mistake in catalogue(unit)}
    assert "scale of a subtracted" in names and "scale of a ignored" not in names
    for case, mistake in zip(random_cases(unit, 40, 3) * 40, catalogue(unit), strict=False):
        assert code_of(unit, mistake.flaw, case) >= 0


def test_two_flaws_in_one_design_are_both_there() -> None:
    both = flaw(WINDOW, "lane 0 left out of the sum") & flaw(WINDOW, "overflow taken for underflow")
    one = int(E4M3.encode(448.0))
    case = Case("case", (one,) * 4, (one,) * 4, 0)
    assert code_of(WINDOW, both, case) == 0
    small = Case("case", (ONE,) * 4, (TWO,) * 4, 0)
    assert float(WINDOW.output.decode(code_of(WINDOW, both, small))) == 6.0


def test_a_sum_that_is_not_cleared_goes_on_from_the_result_before() -> None:
    f16 = get_format("f16")
    case = Case("case", (ONE,) * 4, (ONE,) * 4, int(f16.encode(100.0)))
    not_cleared = flaw(WINDOW, "sum not cleared")
    assert float(f16.decode(code_of(WINDOW, not_cleared, case, int(f16.encode(10.0))))) == 14.0
    assert float(f16.decode(code_of(WINDOW, not_cleared, case))) == 104.0


def integers(name: str, a: list[int], b: list[int], c: int = 0) -> int:
    """The integer that a design of int8 products with a mistake returns."""
    lanes = INTEGERS.instruction.lanes
    sides = (tuple(code & 0xFF for code in (*side, *[0] * (lanes - len(side)))) for side in (a, b))
    code = code_of(INTEGERS, flaw(INTEGERS, name), Case("case", *sides, c & 0xFFFFFFFF))
    return code - ((code & 1 << 31) << 1)


@pytest.mark.parametrize(
    ("name", "a", "b", "c", "result"),
    [
        ("a taken for unsigned", [-1], [-1], 0, -255),
        ("both factors taken for unsigned", [-1], [-1], 0, 255 * 255),
        ("products modulo 2^15", [-128], [-128], 0, -(2**14)),
        ("products modulo 2^16, without a sign", [-1], [1], 1, 2**16),
        ("sum of products modulo 2^16", [127, 127, 127], [127, 127, 127], 1, 3 * 127 * 127 - 2**16 + 1),
        ("the addend modulo 2^16, without a sign", [1], [1], -1, 2**16),
        ("sum modulo 2^24, without a sign", [-1], [1], 0, 2**24 - 1),
        ("result modulo 2^16", [0], [0], 2**15, -(2**15)),
        ("sign of the addend ignored", [0], [0], -(2**31), 0),
        ("products dropped", [3], [5], 7, 7),
        ("bytes of the result in the other order", [0], [0], 1, 1 << 24),
    ],
)
def test_widths_and_signs_of_integers(name: str, a: list[int], b: list[int], c: int, result: int) -> None:
    assert integers(name, a, b, c) == result


@pytest.mark.parametrize(("distance", "result"), [(24, 0x3E02), (25, 0x3E01)])
def test_an_addend_far_below_is_dropped_with_its_sticky_bit(distance: int, result: int) -> None:
    # 1.5 * (1 + 2^-10) is a tie in binary16 between 0x3e01 and 0x3e02, and an addend 24 places below decides it.
    fma = odd_unit("fma", "f16", "f16", {"method": "sequential", "product": "fused", **ROUNDED}, "f16", 1)
    name = f"the addend dropped from {distance} places below"
    tie = Case("case", (0x3C01,), (0x3E00,), 0x8001)  # 1.5 * (1 + 2^-10) - 2^-24
    assert code_of(fma, flaw(fma, name), tie) == result


# A window of no place; an addend that is rounded to a format of another container; addends and results of binary64;
# a carry of a result that is too large; late additions in formats without infinity, and without subnormals.
ONCE = (
    (2029, 0, SMALL), (2030, 24, None), (2030, 44, None), (2030, 116, None), (2030, 88, None), (2030, 216, None),
    (2031, 15, SMALL),
)  # fmt: skip


def ask(unit: Unit) -> int:
    cases = [case for length in lengths_of(unit)[-1:] for case in stimuli(unit, 1, 0, 3, length).cases()]
    asked = list(candidates(unit))
    for one in asked:
        assert len(results(one.candidate, cases, whole=True)) == len(cases), one.name
    return len(asked)


@pytest.mark.parametrize(("seed", "number", "size"), others_slow(ONCE, ONCE[:2]))
def test_every_mistake_of_a_unit_has_results(seed: int, number: int, size: Size | None) -> None:
    assert ask(drawn_unit(seed, number, size).unit) > 100


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 50, 25))
def test_every_mistake_of_many_units_has_results(first: int) -> None:
    for number in range(first, first + 25):
        unit = drawn_unit(2031, number, SMALL if number % 2 else None).unit
        if unit.instruction.lanes * unit.instruction.k <= 300:
            ask(unit)


@pytest.mark.parametrize(
    ("name", "code", "rounded"),
    [
        ("e4m3", 0x3F880001, 0x3F900000),  # just above 1.0625, which is half of a step
        ("e4m3", 0x3F880000, 0x3F800000),
        ("e4m3", 0x7F000000, 0x43E00000),  # 2^127: 448, the largest
        ("e5m2", 0xFF000000, 0xFF800000),  # -2^127: -infinity
        ("e5m2", 0x80000001, 0x80000000),
        ("e5m2", 0x7FC00000, 0x7FC00000),
        ("e8m13", 0x3F800001, 0x3F800000),
    ],
)
def test_an_addend_is_rounded_first_by_value(name: str, code: int, rounded: int) -> None:
    fmt = get_format(name)
    assert isinstance(fmt, FloatFormat)
    unit = load_unit("hopper-wgmma-e4m3-f32")
    case = passed(addend_rounded(fmt).case, Case("", (), (), code), unit, None)
    assert hex(case.c) == hex(rounded)


@pytest.mark.parametrize(("seed", "number", "size"), [(2031, 15, SMALL), (2033, 1956, SMALL)])
def test_each_reading_of_a_late_addition_is_a_unit(seed: int, number: int, size: Size | None) -> None:
    unit = drawn_unit(seed, number, size).unit
    assert supports(unit)
    for reading in READINGS:
        definition_of(read_unit(unit, reading))


@pytest.mark.parametrize("name", ["deepseek-v3-e4m3-f32-scaled", "cublas-hopper-e4m3-f32-vec128"])
def test_another_order_of_a_promotions_products_is_that_of_another_unit(name: str) -> None:
    of = load_unit(name)
    orders = {words: first for first, words in FIRST_WORDS.items()}
    found = [mistake for mistake in catalogue(of) if mistake.name in orders]
    cases = random_cases(of, 60, 1)
    right = [dot(definition_of(of), case).code for case in cases]
    for mistake in found:
        other = definition_of(changed(of, {"promotion": {"first": orders[mistake.name]}}))
        wrong = [code_of(of, mistake.flaw, case) for case in cases]
        assert wrong == [dot(other, case).code for case in cases] != right
    assert len(found) == 2
