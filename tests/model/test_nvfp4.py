"""The two published rules of NVFP4: MMA-Sim's, and tcgen05-model's, held against its rule in exact rationals."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from built_presets import others_slow
from numpy.typing import NDArray
from odd_units import ODD, unit

import hwsim
import hwsim.model
from hwsim.cases.bins.covering import directed as directed_suite
from hwsim.explain.candidate import changed
from hwsim.explain.questions import BY_NAME
from hwsim.spec import Unit, load_unit

ROOT = Path(__file__).parents[2]
SIXTEENS, FOURS = "blackwell-mxf4nvf4-e2m1-f32", "blackwell-mxf4nvf4-e2m1-f32-fours"


def number(code: int, exponent_bits: int, fraction_bits: int, bias: int) -> tuple[Fraction, int]:
    """A code's value, and its exponent: the least one of a subnormal."""
    field, fraction = code >> fraction_bits & (1 << exponent_bits) - 1, code & (1 << fraction_bits) - 1
    exp, size = max(field, 1) - bias, Fraction(fraction + (min(field, 1) << fraction_bits), 1 << fraction_bits)
    return (-size if code >> exponent_bits + fraction_bits & 1 else size) * Fraction(2) ** exp, exp


E2M1, UE4M3, F32 = (2, 1, 1), (4, 3, 7), (8, 23, 127)


def cut(value: Fraction, exp: int) -> Fraction:
    """Truncated towards zero to a multiple of 2^exp."""
    return Fraction(int(value / Fraction(2) ** exp)) * Fraction(2) ** exp


def to_f32(value: Fraction) -> int:
    """Rounded towards zero; of results that are neither subnormal nor too large."""
    if value == 0:
        return 0
    size = abs(value)
    exp = size.numerator.bit_length() - size.denominator.bit_length()
    exp -= size < Fraction(2) ** exp
    assert -126 <= exp <= 127
    return ((value < 0) << 31 | exp + 126 << 23) + int(size / Fraction(2) ** (exp - 23))


class Case:
    """One product of 64 e2m1, with four scales a side and an addend."""

    def __init__(self, a: list[int], b: list[int], c: int, scale_a: list[int], scale_b: list[int]):
        self.a, self.b, self.c, self.scale_a, self.scale_b = a, b, c, scale_a, scale_b

    def published(self) -> int:
        """What tcgen05-model's rule makes of it."""
        products, largest, scales = list[Fraction](), list[int](), list[int]()
        for k in range(64):
            x, y = number(self.a[k], *E2M1), number(self.b[k], *E2M1)
            p, q = number(self.scale_a[k // 16], *UE4M3), number(self.scale_b[k // 16], *UE4M3)
            products.append(x[0] * y[0] * p[0] * q[0])
            if products[-1]:
                scales.append(p[1] + q[1])
                largest.append(x[1] + y[1] + scales[-1])
        c, exp = number(self.c, *F32)
        if not largest:
            return self.c
        if c and exp >= max(largest):
            size, unit = 16, exp - 35
        else:
            size, unit = 4, max(max(largest) - 39, max(scales) - 35)
        return to_f32(
            cut(c, unit) + sum(cut(sum(products[i : i + size], Fraction()), unit) for i in range(0, 64, size))
        )


def directed(draw: random.Random) -> Case:
    """One block far above the others, and an addend that cancels it, or nearly."""
    scale_a, scale_b = ([draw.randrange(1, most) for _ in range(4)] for most in (25, 12))
    top = draw.randrange(4)
    scale_a[top], scale_b[top] = draw.randrange(0x60, 0x7F), draw.randrange(0x60, 0x7F)
    a, b = [0] * 64, [0] * 64
    for block in range(4):
        for k in draw.sample(range(16), draw.randrange(1, 5)):
            a[16 * block + k], b[16 * block + k] = draw.randrange(16), draw.randrange(16)
    pairs = zip(a[16 * top : 16 * top + 16], b[16 * top : 16 * top + 16], strict=True)
    block = sum((number(x, *E2M1)[0] * number(y, *E2M1)[0] for x, y in pairs), Fraction())
    c = to_f32(-block * number(scale_a[top], *UE4M3)[0] * number(scale_b[top], *UE4M3)[0])
    return Case(a, b, c ^ draw.choice([0, 0, 0, 1, 4, 0x80]), scale_a, scale_b)


def loose(draw: random.Random) -> Case:
    """Sparse or full, with an addend near a block's exponents, or zero."""
    density = draw.choice([1.0, 0.3, 0.1])
    a, b = ([draw.randrange(16) if draw.random() < density else 0 for _ in range(64)] for _ in "ab")
    scales = [[draw.choice([draw.randrange(0x7F), draw.randrange(16), 0x7E]) for _ in range(4)] for _ in "ab"]
    a[0], b[0], scales[0][0], scales[1][0] = a[0] | 1, b[0] | 1, scales[0][0] or 1, scales[1][0] or 1
    exp = number(scales[0][0], *UE4M3)[1] + number(scales[1][0], *UE4M3)[1] + draw.randrange(-6, 10)
    fraction = draw.choice([0, draw.getrandbits(23), draw.getrandbits(3)])
    c = draw.choice([0, draw.getrandbits(1) << 31 | exp + 127 << 23 | fraction])
    return Case(a, b, c, *scales)


@cache
def drawn(kind: Callable[[random.Random], Case], count: int) -> list[Case]:
    draw = random.Random(1)
    return [kind(draw) for _ in range(count)]


def codes(of: Unit | str, cases: list[Case], dot: Callable[..., NDArray[np.generic]]) -> list[int]:
    sides = [np.array([getattr(case, key) for case in cases], np.uint8) for key in ("a", "b", "scale_a", "scale_b")]
    c = np.array([case.c for case in cases], np.uint32)
    return list(np.asarray(dot(of, *sides[:2], c, *sides[2:])).view(np.uint32).tolist())


class Decisive(NamedTuple):
    """A case of docs/silicon.md: products other than zero, at k; the results of both rules; the keys that matter."""

    products: tuple[tuple[int, int, int], ...]
    c: int
    scale_a: list[int]
    scale_b: list[int]
    sixteens: int
    fours: int
    keys: set[str]

    @property
    def case(self) -> Case:
        case = Case([0] * 64, [0] * 64, self.c, self.scale_a, self.scale_b)
        for k, x, y in self.products:
            case.a[k], case.b[k] = x, y
        return case


DECISIVE = (
    Decisive(
        ((37, 0x1, 0x7), (58, 0xB, 0x1)), 0xC7C00004, [0x16, 0x09, 0x70, 0x01], [0x07, 0x05, 0x78, 0x05],
        0xBD000E00, 0xBD000F00, {"low_addend"},
    ),
    Decisive(
        ((46, 0x1, 0x9), (51, 0xF, 0x1), (62, 0x1, 0x1)), 0x471A0000,
        [0x0F, 0x0E, 0x7E, 0x0B], [0x0B, 0x09, 0x7B, 0x05], 0xBA170000, 0xBA178000, {"low_lanes"},
    ),
    Decisive(
        ((1, 0x9, 0x1), (33, 0x7, 0x7), (37, 0xE, 0x7), (44, 0xC, 0x5)), 0xC7A20000,
        [0x0B, 0x0C, 0x74, 0x17], [0x01, 0x03, 0x69, 0x01], 0xB7200000, 0xB7300000, {"low_addend"},
    ),
)  # fmt: skip


@pytest.mark.parametrize("one", DECISIVE)
def test_the_least_cases_that_tell_them_apart(one: Decisive) -> None:
    fours = load_unit(FOURS)
    assert fours.subgroup is not None
    for dot in (hwsim.model.dot, hwsim.dot):
        assert [codes(name, [one.case], dot) for name in (SIXTEENS, FOURS)] == [[one.sixteens], [one.fours]]
    for key, setting in (("low_lanes", None), ("low_addend", "count")):
        part = {**fours.subgroup.model_dump(mode="json"), key: setting}
        (code,) = codes(changed(fours, {"sum": {"subgroup": part}}), [one.case], hwsim.dot)
        assert code == (one.sixteens if key in one.keys else one.fours)
    assert one.case.published() == one.fours
    page = (ROOT / "docs/silicon.md").read_text("utf-8")
    products = ", ".join(f"{k} ({x:x}, {y:x})" for k, x, y in one.products)
    scales = (" ".join(f"{code:02x}" for code in side) for side in (one.scale_a, one.scale_b))
    row = " | ".join([products, f"{one.c:08x}", *scales, f"{one.sixteens:08x}", f"{one.fours:08x}"])
    assert f"| {row} |" in page


def test_the_last_of_them_is_exact_in_the_rule_of_fours() -> None:
    assert DECISIVE[-1].fours == to_f32(Fraction(-11, 1 << 20))


@pytest.mark.parametrize("kind", others_slow([directed, loose], [directed]))
def test_the_rule_of_fours_is_the_published_one(kind: Callable[[random.Random], Case]) -> None:
    cases = drawn(kind, 1000)
    published = [case.published() for case in cases]
    assert codes(FOURS, cases, hwsim.model.dot) == codes(FOURS, cases, hwsim.dot) == published
    differ = sum(x != y for x, y in zip(published, codes(SIXTEENS, cases, hwsim.model.dot), strict=True))
    assert (differ > 0) is (kind is directed)


# Each a reading of the rule of fours that some directed case must tell from it.
OTHERS = [
    {"low_lanes": None}, {"low_addend": "count"}, {"low_lanes": 2}, {"low_lanes": 8}, {"lanes": 8},
]  # fmt: skip


@pytest.mark.parametrize(
    "change", [OTHERS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS[1:])], ids=str
)
def test_directed_cases_tell_other_rules(change: dict[str, object]) -> None:
    fours, cases = load_unit(FOURS), drawn(directed, 20_000)
    assert fours.subgroup is not None
    other = changed(fours, {"sum": {"subgroup": {**fours.subgroup.model_dump(mode="json"), **change}}})
    assert codes(other, cases, hwsim.dot) != codes(fours, cases, hwsim.dot)


def test_both_rules_are_answers_of_a_question() -> None:
    own, other = load_unit(SIXTEENS), load_unit(FOURS)
    units = {one.name: one.unit.sum for one in BY_NAME["low-addend"].candidates(own)}
    assert units["has no part in max_exp, beside sums of 4"] == other.sum
    assert units["counts in max_exp"] == own.sum and len(units) == 4
    assert other.sum in [one.unit.sum for one in BY_NAME["low-addend"].candidates(other)]


def test_the_least_cases_are_in_the_directed_suite() -> None:
    suite = {(case.a, case.b, case.c, case.scale_a, case.scale_b) for case in directed_suite(load_unit(FOURS), 1)}
    for case in (one.case for one in DECISIVE):
        assert (tuple(case.a), tuple(case.b), case.c, tuple(case.scale_a), tuple(case.scale_b)) in suite


@pytest.mark.parametrize("name", [name for name in ODD if unit(name).subgroup is not None])
def test_the_question_is_asked_of_every_unit_with_parts(name: str) -> None:
    among = BY_NAME["low-addend"].candidates(unit(name))
    assert [one.unit for one in among].count(unit(name)) == 1


WRONG = [
    ({"low_lanes": 16}, {}, r"sum.subgroup.low_lanes must divide sum.subgroup.lanes \(16\), and be less, not 16"),
    ({"low_lanes": 3}, {}, "sum.subgroup.low_lanes must divide"),
    ({"cancelled": "skip"}, {}, "sum.subgroup.cancelled must be count beside low_addend: skip"),
    ({}, {"zero_terms": "count"}, "sum.zero_terms must be skip beside sum.subgroup.low_lanes, not count"),
    ({}, {"zero": "ieee"}, "sum.zero must be positive beside sum.subgroup.low_lanes, not ieee"),
]


@pytest.mark.parametrize(("part", "keys", "message"), WRONG)
def test_what_does_not_go_with_a_low_addend_is_refused(
    part: dict[str, object], keys: dict[str, object], message: str
) -> None:
    data = load_unit(FOURS).model_dump(mode="json", exclude_unset=True)
    data["sum"] |= keys
    data["sum"]["subgroup"] |= part
    with pytest.raises(hwsim.SpecError, match=message):
        load_unit(data)
