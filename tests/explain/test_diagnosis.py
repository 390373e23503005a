"""Wrong results by kinds: mistakes are told apart and named, and what nothing explains is described."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from built_presets import others_slow
from explain.test_mistakes import CHAIN, WINDOW, flaw
from odd_units import unit
from unit_keys import odd_unit, window

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case, batches, dot
from hwsim.cases.random_cases import random_cases
from hwsim.explain.candidate import batch_results
from hwsim.explain.diagnosis import Diagnosis, diagnose
from hwsim.explain.facts import Observation, WrongResult, by_class, facts, varied
from hwsim.explain.known import candidates
from hwsim.explain.mistakes.flawed import Flaw, FlawedDefinition
from hwsim.model import Definition
from hwsim.spec import Unit, load_unit

ONES = (0x38,) * 4
PAIR = odd_unit("window2", "e4m3", "f16", window(14), "f16", 2)  # where names are tried in pairs


@cache
def cases_of(unit: Unit) -> list[Case]:
    return [*directed(unit, 1)[::24], *random_cases(unit, 60, 3)]


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
        pytest.param(WINDOW, "subnormals of b at half their value", marks=pytest.mark.slow),
        pytest.param(WINDOW, "overflow wraps the exponent", marks=pytest.mark.slow),
        pytest.param(CHAIN, "no guard bits in additions", marks=pytest.mark.slow),
        (CHAIN, "carry of the rounding lost"),
        pytest.param(CHAIN, "lanes in the other order", marks=pytest.mark.slow),
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
    found = of_a_flaw(CHAIN, flaw(CHAIN, apart[0]) & flaw(CHAIN, apart[1]))
    named = [name for group in names(found) for name in group]
    assert set(apart) <= set(named)
    assert len(found.kinds) == 2
    assert sum(len(kind.members) for kind in found.kinds) == found.wrong


@pytest.mark.slow
def test_two_mistakes_that_meet_are_named_together() -> None:
    # Each result passes both: hardly any is explained by one of them.
    both = flaw(PAIR, "sign of the addend flipped") & flaw(PAIR, "exponent of products one too large")
    found = of_a_flaw(PAIR, both)
    named = {part for group in names(found) for name in group for part in name.split(" and ")}
    assert {"sign of the addend flipped", "exponent of products one too large"} <= named


def test_no_name_contradicts_a_right_result() -> None:
    # A floor of negative terms in lane 2 alone: "lost bits floored" would explain every wrong result, and spoil others.
    own, floored = Definition(PAIR), next(one for one in candidates(PAIR) if one.name == "lost bits floored")
    seen = []
    for number, case in enumerate(cases_of(PAIR)):
        right = dot(own, case).code
        seen.append(Observation(case, floored.answer(case) if number % 3 == 0 else right))
    found = diagnose(PAIR, seen)
    assert "lost bits floored" not in [name for group in names(found) for name in group]


@pytest.mark.slow
def test_what_nothing_explains_is_described() -> None:
    own = Definition(PAIR)
    seen = []
    for case in cases_of(PAIR):
        code = dot(own, case).code
        number = 0x0400 <= code & 0x7FFF < 0x7BFF
        seen.append(
            Observation(case, code + (number and case.a[1] != 0 and bin(case.a[1] * 0x9E35).count("1") % 3 == 0))
        )
    found = diagnose(PAIR, seen)
    assert [kind.causes for kind in found.kinds] == [()]
    (kind,) = found.kinds
    assert "the magnitude is always one ulp above" in kind.facts


@pytest.mark.parametrize(
    ("expected", "got", "said"),
    [
        ((0x0000, 0x8000), (0x8000, 0x0000), "only signs of zero differ"),
        ((0x3C00, 0x4000), (0xBC00, 0xC000), "only the sign differs"),
        ((0x3C00, 0xBC00), (0x3BFF, 0xBBFF), "the magnitude is always one ulp below"),
        ((0x3C00, 0x4000), (0x3C01, 0x3FFF), "the magnitude is always one ulp above or below"),
        ((0x3C00, 0x4001), (0x4000, 0x3C01), "only the exponent differs"),
        ((0x7C00, 0xFC00), (0x0000, 0x8000), "zero where infinity is expected"),
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
    right = Observation(other, 0x3C00)
    assert "only where lane 2 is not zero" in facts(WINDOW, wrong, [right] * 9)
    # What most right cases meet as well is no news, and a single result shows nothing.
    assert "only where lane 2 is not zero" not in facts(WINDOW, wrong, [right._replace(case=lane)] * 9)
    assert facts(WINDOW, wrong[:1], [right]) == ()


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (0x38, 0xB8, "only where a product is negative"),
        (0xB8, 0xB8, "only where both factors of a product are negative"),
        (0xB8, 0x38, "only where a is negative"),
        (0x01, 0x38, "only where a factor is subnormal"),
        (0x00, 0x38, "only where a factor is zero"),
        (0x7F, 0x38, "only with special operands"),
    ],
)
def test_facts_of_signs_and_classes(a: int, b: int, said: str) -> None:
    case, ones = Case("case", (a, *ONES[1:]), (b, *ONES[1:])), Case("case", ONES, ONES)
    wrong = [WrongResult(case, 0x3C00, 0x3C05), WrongResult(case, 0x3C00, 0x3C02)]
    assert said in facts(WINDOW, wrong, [Observation(ones, 0x4400)] * 9)
    assert said not in facts(WINDOW, wrong, [Observation(case, 0x4400)] * 9)


def test_a_mistake_under_back_pressure_alone_is_said_to_be_one() -> None:
    case, fact = Case("case", ONES, ONES), "only in suites with gaps and back-pressure"
    wrong = [WrongResult(case, 0x4400, code, stalled=True) for code in (0x4000, 0x4200)]
    assert fact in facts(WINDOW, wrong, [Observation(case, 0x4400, stalled=False)])
    assert fact not in facts(WINDOW, [wrong[0]._replace(stalled=False), wrong[1]], [Observation(case, 0x4400)])


@pytest.mark.parametrize(
    "unit",
    others_slow([*map(load_unit, ("ampere-mma-f64-f64", "int8-i32")), unit("integers")], [unit("integers")]),
    ids=lambda one: one.name,
)
def test_results_of_every_family_are_put_into_kinds(unit: Unit) -> None:
    own, padding = Definition(unit), getattr(unit.output, "padding", 0)
    seen = [
        Observation(case, dot(own, case).code ^ 1 << number % 3 + padding)
        for number, case in enumerate(random_cases(unit, 4, 3))
    ]
    found = diagnose(unit, seen)
    members = sorted(at for kind in found.kinds for at in kind.members)
    assert (members, found.wrong, found.right) == ([0, 1, 2, 3], 4, 0)


def returning(unit: Unit, code: Callable[[Case], int]) -> Diagnosis:
    """What is said of a design that returns any function of its operands."""
    return diagnose(unit, [Observation(case, code(case)) for case in cases_of(unit)])


def test_a_constant_is_called_one_and_nothing_else() -> None:
    found = returning(WINDOW, lambda case: 0x1234)
    assert names(found) == [["result always 0x1234"]]
    assert found.kinds[0].causes[0].agrees == found.right


def test_the_addend_alone_is_called_so_and_not_by_pairs_of_mistakes() -> None:
    (kind,) = returning(CHAIN, lambda case: case.c).kinds
    assert kind.causes[0].name == "result equal to the addend"
    assert all(len(cause.mistakes) == 1 for cause in kind.causes)


def test_another_nan_is_named_with_the_key_that_says_so() -> None:
    own = Definition(CHAIN)
    cases = [*cases_of(CHAIN), *(case for case in directed(CHAIN, 1) if dot(own, case).code == 0x7FFF)]
    codes = (dot(own, case).code for case in cases)
    seen = [Observation(case, 0x7E00 if code == 0x7FFF else code) for case, code in zip(cases, codes, strict=True)]
    found = diagnose(CHAIN, seen)
    assert found.wrong > 5 and names(found)[0][0] == "NaN is 0x7e00"
    (made,) = [cause for cause in found.kinds[0].causes if cause.name == "NaN is 0x7e00"]
    assert made.description == "where that is meant, write result.nan: 0x7e00"


@pytest.mark.slow
def test_zeros_without_a_sign_are_no_longer_sums_of_single_instructions() -> None:
    own, minus = Definition(CHAIN), CHAIN.output.container_bits - 1
    chained = "2 instructions make one sum"
    assert chained in {one.name for one in candidates(CHAIN)}
    cases = [one for one in directed(CHAIN, 1) if len(one.a) <= CHAIN.instruction.k]
    codes = [dot(own, case).code for case in cases]
    seen = [Observation(case, 0 if code == 1 << minus else code) for case, code in zip(cases, codes, strict=True)]
    found = diagnose(CHAIN, seen)
    assert found.wrong > 5 and "zero results always +0" in names(found)[0]
    assert not any("make one sum" in cause.name for kind in found.kinds for cause in kind.causes)


def test_what_does_not_depend_on_an_operand_is_said_not_to() -> None:
    unit = odd_unit("pair", "e4m3", "none", {"method": "exact"}, "f16", 2, chain="none")
    own = Definition(unit)
    first = random_cases(unit, 60, 9)
    cases = [*first, *varied(unit, first)]
    seen = [Observation(case, dot(own, replace(case, a=case.b)).code) for case in cases]
    said = [fact for kind in diagnose(unit, seen).kinds for fact in kind.facts]
    assert any(fact.startswith("the result does not depend on a:") for fact in said)
    assert not any(
        fact.startswith(("the result does not depend on b", "the result does not depend on lane")) for fact in said
    )


def test_wrong_results_without_a_name_are_kinds_by_what_is_expected_and_what_came() -> None:
    fmt = WINDOW.output
    rows = [(0x3C00, 0x7C00), (0x7C00, 0x3C00), (0x4000, 0x3C01), (0x4200, 0x3C05), (0x4200, 0x4201), (0x7C00, 0x3C01)]
    wrong = [WrongResult(Case("case", ONES, ONES), *codes) for codes in rows]
    kinds = by_class(fmt, range(len(rows)), wrong.__getitem__)
    assert [(sorted(classes), members) for classes, members in kinds] == [
        ([("a number", "a number")], [2, 3, 4]),
        ([("infinity", "a number")], [1, 5]),
        ([("a number", "infinity")], [0]),
    ]


@pytest.mark.parametrize("name", ["long-43", "long-73"])
def test_results_of_a_batch_have_every_bit(name: str) -> None:
    made = unit(name)
    cases = sorted(random_cases(made, 60, 3), key=lambda case: len(case.a))
    codes = [code for batch in batches(made, cases) for code in batch_results(made, batch).tolist()]
    assert codes == [dot(Definition(made), case).code for case in cases]
    assert max(codes) >> 32


def test_a_wrong_bit_above_the_first_word_is_seen() -> None:
    made = unit("long-73")
    own = Definition(made)
    seen = [Observation(case, dot(own, case).code ^ 1 << 70) for case in random_cases(made, 60, 3)]
    (kind,) = diagnose(made, seen).kinds
    assert [cause.name for cause in kind.causes] == ["result bit 70 inverted"]
