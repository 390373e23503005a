"""What explains a device is named, one change or two; what nothing explains is said to be so."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest
from built_presets import others_slow
from readings.test_semantics_discriminate import made
from readings.test_semantics_readings import directed_cases, drawn

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case
from hwsim.explain import Semantic, consistent, semantics
from hwsim.explain.candidate import results
from hwsim.spec import Unit, load_unit

HOPPER, DEEPSEEK = "hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32"


@cache
def cases_of(name: str) -> list[Case]:
    chained = [case for case in drawn(name, 5, 40) if len(case.a) > 32]
    zeros = [case for case in directed(load_unit(name), 1) if "zero" in case.id][:300]
    return list({case.id: case for case in [*made(name).cases, *directed_cases(name), *chained, *zeros]}.values())


def named(unit: Unit, name: str) -> Semantic:
    (found,) = [one for one in semantics(unit) if one.name == name]
    return found


# A mistake of every kind; those that no operands of the unit show are none here (overflow).
MISTAKES = [
    "lost bits floored", "lost bits to away", "11 fraction bits", "14 fraction bits", "result rne to e8m13",
    "groups of 16 neighbours", "groups of k mod 4 in {0, 1}, then {2, 3}", "2 instructions make one sum",
    "subnormal factors zero", "addend added late, rne to f32", "addend: rounded to e8m13 first",
    "a zero term counts at its reference exponent", "sign of a zero sum as IEEE 754", "NaN is 0x7fc00000",
    "codes of NaN and infinity are numbers", "addend dropped", "lane 7 dropped", "result bit 12 always 1",
    "result bit 31 inverted", "leading-one exponents", "no bits lost",
]  # fmt: skip


@pytest.mark.parametrize("name", others_slow(MISTAKES, MISTAKES[::3]))
def test_a_mistake_is_named(name: str) -> None:
    unit = load_unit(HOPPER)
    cases = cases_of(HOPPER)
    codes = named(unit, name).many(cases)
    found = consistent(unit, cases, codes)
    assert name in [one.name for one in found]
    assert all(one.everything for one in found)
    assert len(found) <= 6
    assert "as specified" not in [one.name for one in found]


def test_a_sticky_bit_is_named() -> None:
    """Of f16 results to nearest even: where e8m13 is rounded towards zero, no result shows it."""
    unit, name = load_unit("hopper-wgmma-e4m3-f16"), "lost bits OR-ed into one sticky bit"
    cases = [case for case in directed(unit, 1) if case.id.startswith(("tie", "lost", "edge"))]
    codes = named(unit, name).many(cases)
    assert codes != named(unit, "as specified").many(cases)
    assert name in [one.name for one in consistent(unit, cases, codes)]
    assert name in [one.name for one in semantics(load_unit(HOPPER))]


def test_places_that_a_sum_loses_are_named() -> None:
    unit, cut = load_unit("hopper-wgmma-e4m3-f16"), "the 2 lowest places of the sum lost, floored"
    other = "the 2 lowest places of the sum lost, truncated"
    cases = [case for case in directed(unit, 1) if case.id.startswith(("tie", "lost", "edge"))]
    codes = named(unit, cut).many(cases)
    found = [one.name for one in consistent(unit, cases, codes)]
    assert cut in found and not {other, "as specified"} & set(found)
    # And the other way round: a unit that loses them, and a device that does not.
    losing = named(unit, cut).candidate.unit
    found = [one.name for one in consistent(losing, cases, named(unit, "as specified").many(cases))]
    assert "all places of the sum are rounded" in found and cut not in found


@pytest.mark.parametrize("name", ["promotion left out", "promotion every 64 products", "lane 3 dropped"])
def test_a_mistake_of_a_promotion_is_named(name: str) -> None:
    unit = load_unit(DEEPSEEK)
    assert name in [
        one.name for one in consistent(unit, cases_of(DEEPSEEK), named(unit, name).many(cases_of(DEEPSEEK)))
    ]


def test_every_answer_is_the_same_one_by_one_and_many_at_once() -> None:
    unit, cases = load_unit(HOPPER), cases_of(HOPPER)[:40]
    for one in semantics(unit)[::3]:
        assert one.many(cases) == [one.answer(case) for case in cases]


def test_a_unit_as_specified_is_said_to_be_so() -> None:
    unit, cases = load_unit(HOPPER), cases_of(HOPPER)
    (found,) = consistent(unit, cases, semantics(unit)[0].many(cases))
    assert (str(found), found.right, found.of) == ("as specified", len(cases), len(cases))


def test_two_changes_at_once_are_named() -> None:
    unit, cases = load_unit(HOPPER), cases_of(HOPPER)
    both = named(unit, "lost bits floored").on(named(unit, "12 fraction bits").candidate.unit)
    assert both is not None
    found = consistent(unit, cases, results(both, cases))
    names = [set(one.name.split(" and ")) for one in found]
    assert {"lost bits floored", "12 fraction bits"} in names


def test_what_nothing_explains_gets_the_best_few() -> None:
    unit, cases, rng = load_unit(HOPPER), cases_of(HOPPER), Random(1)
    codes = semantics(unit)[0].many(cases)
    # Many bits at once, so that nothing explains one of them by luck.
    spoiled = [code ^ (rng.getrandbits(20) | 0x51001) << 10 if i % 5 == 0 else code for i, code in enumerate(codes)]
    found = consistent(unit, cases, spoiled)
    assert 1 <= len(found) <= 3
    best = found[0]
    assert not best.everything
    assert best.name == "as specified"
    assert best.right == sum(x == y for x, y in zip(codes, spoiled, strict=True))
    assert str(best) == f"as specified: explains {best.right:,} of {best.of:,}"
    assert best.right == max(one.right for one in found)


def test_an_explanation_must_explain_what_is_as_specified_too() -> None:
    # One result of a device is spoiled where the floor would be right: the floor explains the others only.
    unit, cases = load_unit(HOPPER), cases_of(HOPPER)
    codes = named(unit, "lost bits floored").many(cases)
    last = next(i for i in reversed(range(len(cases))) if codes[i] == semantics(unit)[0].answer(cases[i]))
    codes[last] ^= 1 << 12
    best = consistent(unit, cases, codes, first=[last])[0]
    assert (best.name, best.right, best.everything) == ("lost bits floored", len(cases) - 1, False)


@pytest.mark.parametrize(
    ("unit_name", "name"),
    [
        ("intel-amx-e4m3-f32", "addend dropped"),
        ("sequential-e4m3-f16", "result bit 4 inverted"),
        ("cdna3-mfma-e4m3fnuz-f32", "lost bits floored"),
        ("int8-i32", "result bit 3 always 0"),
        ("hopper-mma-e4m3-f32", "lane 3 dropped"),
    ],
)
def test_other_methods_have_known_semantics_too(unit_name: str, name: str) -> None:
    unit = load_unit(unit_name)
    one, rng = named(unit, name), Random(2)
    k, a, b = unit.instruction.k, unit.operands.a, unit.operands.b
    codes = [[code for code in range(1 << fmt.bits) if abs(float(fmt.decode([code])[0])) < 1e9] for fmt in (a, b)]
    cases = []
    for number in range(150):
        addend = rng.choice([0x3F800000, 0x40490FDB, 0xBF000001]) if unit.operands.addend else 0
        if unit.operands.addend is not None and unit.operands.addend.container_bits == 16:
            addend >>= 17
        rows = [tuple(rng.choice(among) if rng.random() < 0.6 else 0 for _ in range(k)) for among in codes]
        cases.append(Case(f"{number}", *rows, addend))
    assert name in [found.name for found in consistent(unit, cases, one.many(cases))]


def test_results_must_be_as_many_as_the_cases() -> None:
    with pytest.raises(ValueError, match=r"results must be as many as cases \(2\), not 1"):
        consistent(load_unit(HOPPER), cases_of(HOPPER)[:2], [0])
