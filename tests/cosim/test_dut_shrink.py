"""Shrinking, with designs of software: what they answer is computed here, with one thing wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from built_presets import others_slow
from cosim.dut_files import design
from unit_keys import exact_sum, odd_unit, window

from hwsim.cases.case import Case
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.heldoperands import NONE_HELD, HeldOperands
from hwsim.cosim.shrink import MOST_BEATS, Shrinker, Shrunk, Simplifier
from hwsim.cosim.suites import expected_codes
from hwsim.explain.mistakes import catalogue
from hwsim.explain.mistakes.flawed import FlawedDefinition
from hwsim.formats.codes import all_codes
from hwsim.spec import Unit


class Software:
    """A design that returns what another specification says, or what a rule changes of the claimed one's."""

    def __init__(self, dut: DutDesign, **sums: object):
        data = dut.unit.model_dump(mode="json", exclude_unset=True)
        data["sum"] |= sums
        self.unit, self.asked = Unit.model_validate(data), 0

    def __call__(self, cases: Sequence[Case]) -> np.ndarray:
        self.asked += 1
        return np.array(expected_codes(self.unit, cases))


def failing(dut: DutDesign, ask: Software, count: int = 300) -> list[Case]:
    cases = [case for suite in (random_cases(dut.drawn_for, count, 5),) for case in suite]
    wrong = np.array(expected_codes(dut.unit, cases)) != ask(cases)
    return [case for case, bad in zip(cases, wrong.tolist(), strict=True) if bad]


SUMS: list[dict[str, object]] = [{"lost": "floor"}, {"lost": "rne"}, {"fraction_bits": 12}, {"lost": "jam"}]


@pytest.mark.parametrize("sums", others_slow(SUMS, SUMS[::2]))
def test_a_shrunk_case_fails_and_no_smaller_step_of_it_does(tmp_path: Path, sums: dict[str, object]) -> None:
    dut = design(tmp_path, "comb")
    ask = Software(dut, **sums)
    cases = failing(dut, ask)
    found = Shrinker(dut, ask).shrink(cases)
    assert found is not None
    assert found.rounds <= 80
    (want,), (got,) = expected_codes(dut.unit, [found.case]), ask([found.case]).tolist()
    assert (found.expected, found.got) == (want, got)
    assert want != got
    simplifier = Simplifier(dut)
    lanes = sum(bool(a or b) for a, b in zip(found.case.a, found.case.b, strict=True))
    assert lanes + bool(found.case.c) <= 2
    for lane, side in product(range(4), ("a", "b")):
        if getattr(found.case, side)[lane]:
            smaller = simplifier.edited(found.case, {(side, lane): 0})
            assert expected_codes(dut.unit, [smaller])[0] == ask([smaller])[0]


def test_a_single_bad_code_is_found_out(tmp_path: Path) -> None:
    # A decoder that takes 0x7e, e4m3's largest number, for NaN: one lane is enough, the other factor may be 1.
    dut = design(tmp_path, "comb")

    def ask(cases: Sequence[Case]) -> np.ndarray:
        right = expected_codes(dut.unit, cases)
        bad = [any(code & 0x7F == 0x7E for code in (*case.a, *case.b)) for case in cases]
        return np.array([0x7FFFFFFF if wrong else code for wrong, code in zip(bad, right, strict=True)])

    case = Case("start", (0x31, 0xFE, 0x55, 0x12), (0xB1, 0x3A, 0x07, 0x44), 0xC1234567)
    found = Shrinker(dut, ask).shrink([case])
    assert found is not None
    assert sorted((*found.case.a, *found.case.b)) == [0] * 7 + [0x7E]
    assert found.case.c == 0
    assert found.got == 0x7FFFFFFF


@dataclass(frozen=True)
class Small:
    """Something that takes cases of a small unit: two lanes of FP4, or of small integers, in a beat."""

    unit: Unit
    products: int = 2
    addend: bool = False
    held: HeldOperands = NONE_HELD


FP4 = odd_unit("fp4", "e2m1", "none", window(2), "f16", 2)
INT4 = {"name": "int4", "kind": "fixed", "integer_bits": 3, "fraction_bits": 0}
INTEGERS = odd_unit("int4", (INT4, INT4), "none", exact_sum(), "i32", 2, rounding="rz", overflow="wrap")
BROKEN = {
    "window": (FP4, "low bit of products lost"),
    "lane": (FP4, "sign of lane 1 flipped"),
    "order": (FP4, "lanes of b reversed"),
    "bits": (INTEGERS, "bits of a reversed"),
    "sign": (INTEGERS, "sign of lane 0 flipped"),
}  # fmt: skip


def neighbours(small: Small, case: Case) -> Iterator[Case]:
    """Every case with one code changed, with a lane moved to another that is empty, and with a beat less."""
    for side, fmt in (("a", small.unit.operands.a), ("b", small.unit.operands.b)):
        codes = getattr(case, side)
        for at, code in product(range(len(codes)), all_codes(fmt)):
            yield replace(case, **{side: (*codes[:at], code, *codes[at + 1 :])})
    for beat in range(0, len(case.a) if len(case.a) > small.products else 0, small.products):
        yield replace(
            case,
            a=case.a[:beat] + case.a[beat + small.products :],
            b=case.b[:beat] + case.b[beat + small.products :],
        )
    lanes = range(len(case.a))
    for lane, to in product(lanes, lanes):
        if not (case.a[to] or case.b[to]):
            moved = [[*side] for side in (case.a, case.b)]
            for side in moved:
                side[to], side[lane] = side[lane], 0
            yield replace(case, a=tuple(moved[0]), b=tuple(moved[1]))


@pytest.mark.parametrize("name", BROKEN)
def test_no_neighbour_of_a_shrunk_case_is_simpler_and_fails(name: str) -> None:
    unit, mistake = BROKEN[name]
    (wrong,) = [one.flaw for one in catalogue(unit) if one.name == mistake]
    small, machine = Small(unit), FlawedDefinition(unit, wrong)

    def ask(cases: Sequence[Case]) -> np.ndarray:
        return np.array([machine.code_of(case) for case in cases])

    def fails(case: Case) -> bool:
        return expected_codes(unit, [case])[0] != machine.code_of(case)

    cost = Simplifier(small).cost
    starts = [case for case in random_cases(unit, 60, 2) if fails(case)]
    assert starts
    found = Shrinker(small, ask).shrink(starts[-3:])
    assert found is not None and fails(found.case)
    simpler = [one for one in neighbours(small, found.case) if cost(one) < cost(found.case) and fails(one)]
    assert simpler == []


def test_only_cases_of_the_wanted_kind_count(tmp_path: Path) -> None:
    # Two mistakes: codes above 0x70 of a are wrong, and any addend. A case of the first kind stays one.
    dut = design(tmp_path, "comb")

    def ask(cases: Sequence[Case]) -> np.ndarray:
        right = expected_codes(dut.unit, cases)
        wrong = [1 << 13 if case.c else 1 << 14 if max(case.a) > 0x70 else 0 for case in cases]
        return np.array([code ^ bits for code, bits in zip(right, wrong, strict=True)])

    def like(failing: Sequence[Shrunk]) -> list[bool]:
        return [one.got ^ one.expected == 1 << 14 for one in failing]

    starts = [Case("both", (0x72, 0x31, 0, 0), (0x38, 0x38, 0, 0), 0), Case("addend", (0,) * 4, (0,) * 4, 0x3F800000)]
    first, second = Shrinker(dut, ask).shrink(starts), Shrinker(dut, ask, like).shrink(starts)
    assert first is not None and first.case.c
    assert second is not None and not second.case.c and max(second.case.a) > 0x70


@pytest.mark.parametrize("unit", [FP4, INTEGERS], ids=lambda unit: unit.name)
def test_two_signs_that_go_together_are_dropped(unit: Unit) -> None:
    # Wrong for every product that is not negative: of two negative factors, neither sign may be dropped alone.
    def ask(cases: Sequence[Case]) -> np.ndarray:
        right = expected_codes(unit, cases)
        positive = [0 < code < 1 << unit.output.bits - 1 for code in right]
        return np.array([code ^ (1 << 3 if wrong else 0) for code, wrong in zip(right, positive, strict=True)])

    minus = 0b1011 if unit is FP4 else 0b1101  # -1.5 and -3
    found = Shrinker(Small(unit), ask).shrink([Case("start", (minus, 0), (minus, 0))])
    assert found is not None
    assert not any(code & 0b1000 for code in (*found.case.a, *found.case.b))


def test_what_does_not_fail_again_is_not_shrunk(tmp_path: Path) -> None:
    dut = design(tmp_path, "comb")
    right = Software(dut)
    assert Shrinker(dut, right).shrink(random_cases(dut.unit, 6, 1)[:1]) is None
    assert right.asked == 1


def test_a_round_of_long_sums_is_cut_short(tmp_path: Path) -> None:
    # One of three beats fails, and many of 512: without a bound the first round is of a million beats.
    dut, asked = design(tmp_path, "mac"), list[int]()

    def ask(cases: Sequence[Case]) -> np.ndarray:
        asked.append(sum(len(case.a) for case in cases))
        right = expected_codes(dut.unit, cases)
        return np.array([code ^ (case.a[-1] != 0) for code, case in zip(right, cases, strict=True)])

    long = [Case(f"long {number}", (number + 1,) * 512, (1,) * 512) for number in range(8)]
    found = Shrinker(dut, ask).shrink([*long, Case("short", (5, 6, 7), (1, 2, 3))])
    assert found is not None and len(found.case.a) == 1
    assert max(asked) <= MOST_BEATS
