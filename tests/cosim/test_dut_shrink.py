"""Shrinking, with designs of software: what they answer is computed here, with one thing wrong."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from cosim.dut_files import design

from hwsim.cases.case import Case
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.shrink import MOST_BEATS, Shrinker
from hwsim.cosim.simpler import Simplifier, code_cost
from hwsim.cosim.suites import expected_codes
from hwsim.formats import get_format
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


@pytest.mark.sample(3)
@pytest.mark.parametrize("sums", [{"lost": "floor"}, {"lost": "rne"}, {"fraction_bits": 12}, {"lost": "jam"}])
def test_a_shrunk_case_fails_and_no_smaller_step_of_it_does(tmp_path: Path, sums: dict[str, object]) -> None:
    dut = design(tmp_path, "comb")
    ask = Software(dut, **sums)
    cases = failing(dut, ask)
    found = Shrinker(dut, ask).shrink(cases)
    assert found is not None
    assert found.rounds <= 20
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


def test_one_is_the_simplest_code_but_zero() -> None:
    for name in ("e4m3", "e5m2", "e2m1", "f32", "f16"):
        fmt = get_format(name)
        one = int(fmt.encode(1.0))
        sample = range(1 << fmt.bits) if fmt.bits <= 8 else range(1, 1 << fmt.bits, 65537)
        assert code_cost(fmt, 0) == 0 < code_cost(fmt, one)
        assert min(code_cost(fmt, code) for code in sample if code) >= code_cost(fmt, one)
