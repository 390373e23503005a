"""Wrong results by kinds: mistakes are told apart and named, and what nothing explains is described."""

from __future__ import annotations

from functools import cache

import pytest
from readings.test_mistakes import CHAIN, WINDOW, flaw

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case, dot
from hwsim.cases.random_cases import random_cases
from hwsim.model import Definition
from hwsim.readings.diagnosis import Diagnosis, Observation, candidates, diagnose
from hwsim.readings.mistakes.flaw import Both, Flaw
from hwsim.readings.mistakes.machine import FlawedDefinition
from hwsim.readings.shape import WrongResult, facts
from hwsim.spec import Unit, load_unit


@cache
def cases_of(unit: Unit) -> list[Case]:
    return [*directed(unit, 1)[::8], *random_cases(unit, 160, 3)]


def of_a_flaw(unit: Unit, wrong: Flaw) -> Diagnosis:
    machine = FlawedDefinition(unit, wrong)
    return diagnose(unit, [Observation(case, machine.code_of(case)) for case in cases_of(unit)])


def names(diagnosis: Diagnosis) -> list[list[str]]:
    return [[cause.name for cause in kind.causes] for kind in diagnosis.kinds]


def test_right_results_need_no_name() -> None:
    found = of_a_flaw(WINDOW, Flaw())
    assert (found.kinds, found.wrong, found.right) == ((), 0, len(cases_of(WINDOW)))


@pytest.mark.parametrize(
    ("unit", "name"),
    [
        (WINDOW, "lane 1 left out of the sum"),
        (WINDOW, "subnormals of b at half their value"),
        (WINDOW, "overflow wraps the exponent"),
        (CHAIN, "no guard bits in additions"),
        (CHAIN, "carry of the rounding lost"),
        (CHAIN, "lanes in the other order"),
    ],
)
def test_a_mistake_is_named_and_explains_every_wrong_result(unit: Unit, name: str) -> None:
    found = of_a_flaw(unit, flaw(unit, name))
    (kind,) = found.kinds
    assert name in [cause.name for cause in kind.causes][:2]
    assert len(kind.members) == found.wrong > 0
    assert kind.facts == ()


def test_two_mistakes_are_told_apart() -> None:
    apart = "overflow gives the largest", "subnormals of the addend taken for zero"
    found = of_a_flaw(CHAIN, Both(*(flaw(CHAIN, name) for name in apart)))
    named = [name for group in names(found) for name in group]
    assert set(apart) <= set(named)
    assert len(found.kinds) == 2
    assert sum(len(kind.members) for kind in found.kinds) == found.wrong


def test_two_mistakes_that_meet_are_named_together() -> None:
    # Each result passes both: hardly any is explained by one of them.
    both = Both(flaw(WINDOW, "sign of the addend flipped"), flaw(WINDOW, "exponent of products one too large"))
    found = of_a_flaw(WINDOW, both)
    named = {part for group in names(found) for name in group for part in name.split(" and ")}
    assert {"sign of the addend flipped", "exponent of products one too large"} <= named


def test_no_name_contradicts_a_right_result() -> None:
    # A floor of negative terms in lane 2 alone: "lost bits floored" would explain every wrong result, and spoil others.
    own, floored = Definition(WINDOW), next(one for one in candidates(WINDOW) if one.name == "lost bits floored")
    seen = []
    for number, case in enumerate(cases_of(WINDOW)):
        right = dot(own, case).code
        seen.append(Observation(case, floored.answer(case) if number % 3 == 0 else right))
    found = diagnose(WINDOW, seen)
    assert "lost bits floored" not in [name for group in names(found) for name in group]


def test_what_nothing_explains_is_described() -> None:
    own = Definition(WINDOW)
    seen = []
    for case in cases_of(WINDOW):
        code = dot(own, case).code
        number = 0x0400 <= code & 0x7FFF < 0x7BFF
        seen.append(
            Observation(case, code + (number and case.a[1] != 0 and bin(case.a[1] * 0x9E35).count("1") % 3 == 0))
        )
    found = diagnose(WINDOW, seen)
    (kind,) = found.kinds
    assert kind.causes == ()
    assert "the magnitude is always one ulp above" in kind.facts


@pytest.mark.parametrize(
    ("expected", "got", "said"),
    [
        ((0x0000, 0x8000), (0x8000, 0x0000), "only signs of zero differ"),
        ((0x3C00, 0x4000), (0xBC00, 0xC000), "only the sign differs"),
        ((0x3C00, 0xBC00), (0x3BFF, 0xBBFF), "the magnitude is always one ulp below"),
        ((0x3C00, 0x4000), (0x3C01, 0x3FFF), "the magnitude is always one ulp above or below"),
        ((0x3C00, 0x4001), (0x4000, 0x3C01), "only the exponent differs"),
        ((0x7C00, 0xFC00), (0x0000, 0x8000), "the result is zero where infinity is expected"),
        ((0x3C00, 0x4100), (0x0000, 0x0000), "the result is always 0x0"),
        ((0x0001, 0x0002), (0x0011, 0x0012), "only where a subnormal is expected"),
        ((0x3C00, 0x4000), (0x3C10, 0x4010), "only bit 4 of the result differs"),
    ],
)
def test_facts_of_results(expected: tuple[int, int], got: tuple[int, int], said: str) -> None:
    case = Case("case", (0x38, 0, 0, 0), (0x38, 0, 0, 0))
    wrong = [WrongResult(case, *codes) for codes in zip(expected, got, strict=True)]
    assert said in facts(WINDOW, wrong, [])


def test_facts_of_operands() -> None:
    lane = Case("case", (0, 0, 0x38, 0), (0, 0, 0x38, 0))
    other = Case("case", (0x38, 0, 0, 0), (0x38, 0, 0, 0))
    wrong = [WrongResult(lane, 0x3C00, 0x3C05), WrongResult(lane, 0x3C00, 0x3C02)]
    assert "only where lane 2 is not zero" in facts(WINDOW, wrong, [other] * 9)
    # What most right cases meet as well is no news, and a single result shows nothing.
    assert "only where lane 2 is not zero" not in facts(WINDOW, wrong, [lane] * 9)
    assert facts(WINDOW, wrong[:1], [other]) == ()


@pytest.mark.parametrize("name", ["ampere-mma-f64-f64", "cdna3-mfma-xf32-f32", "rvbna-e4m3-f32-n4", "int8-i32"])
def test_results_of_every_family_are_put_into_kinds(name: str) -> None:
    unit = load_unit(name)
    own, padding = Definition(unit), getattr(unit.output, "padding", 0)
    seen = [
        Observation(case, dot(own, case).code ^ 1 << number % 3 + padding)
        for number, case in enumerate(random_cases(unit, 4, 3))
    ]
    found = diagnose(unit, seen)
    members = sorted(at for kind in found.kinds for at in kind.members)
    assert (members, found.wrong, found.right) == ([0, 1, 2, 3], 4, 0)
