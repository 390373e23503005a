"""Cases that tell readings apart, and the names of what a device did: one change, or two."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations
from random import Random

import pytest
from built_presets import others_slow
from computed_once import computed_once
from explain.test_readings import directed_cases, drawn

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case, dot
from hwsim.explain import (
    READINGS,
    Discrimination,
    Reading,
    Semantic,
    consistent,
    discrimination,
    own_reading,
    semantics,
)
from hwsim.explain.candidate import by_model, changed, results
from hwsim.explain.discriminate import QUOTA, turned
from hwsim.explain.mistakes import catalogue, code_of
from hwsim.explain.mistakes.kills import search
from hwsim.explain.readings import normal_forms, read_unit, short_name, why_equal
from hwsim.model.definition import definition_of
from hwsim.spec import Unit, load_unit

HOPPER = "hopper-wgmma-e4m3-f32"
SUITE = ["hopper-wgmma-e4m3-f32", "rvbna-e4m3-f32-n8"]
ALWAYS = [HOPPER, "deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32", "rvbna-e4m3-f32-n8"]
# What is proved equal, by a count made by hand for the first: two of truncated and cut, the six of four exact
# readings (aligned or late, rounded once or cut, of each exponent), and two late ones of two roundings.
EQUAL = {HOPPER: 18, "deepseek-v3-e4m3-f32": 18, "mxfp8-e4m3-f32": 20, "rvbna-e4m3-f32-n8": 46}


@computed_once("explain")
def made(name: str) -> Discrimination:
    return discrimination(load_unit(name), 1, limit=200_000)


@computed_once("explain")
def said(name: str) -> list[list[int]]:
    """What each reading returns for the cases."""
    unit = load_unit(name)
    return [by_model(read_unit(unit, reading), made(name).cases) for reading in READINGS]


@pytest.mark.parametrize("name", others_slow(ALWAYS, SUITE))
def test_every_pair_is_told_apart_or_proved_equal(name: str) -> None:
    found = made(name)
    assert len(found.pairs) == 780
    assert Counter(pair.word for pair in found.pairs) == {"equal": EQUAL[name], "told apart": 780 - EQUAL[name]}
    assert all(pair.sentence for pair in found.pairs)
    assert len(found.cases) < 200


@pytest.mark.parametrize("name", others_slow(ALWAYS, SUITE))
def test_each_reading_differs_from_all_that_are_not_proved_equal(name: str) -> None:
    forms = normal_forms(load_unit(name))
    for (i, one), (j, other) in combinations(enumerate(said(name)), 2):
        differ = sum(x != y for x, y in zip(one, other, strict=True))
        if why_equal(forms, READINGS[i], READINGS[j]) is None:
            assert differ >= QUOTA, (READINGS[i].name, READINGS[j].name)
        else:
            assert differ == 0, (READINGS[i].name, READINGS[j].name)


@pytest.mark.parametrize("name", others_slow(ALWAYS, SUITE[1:]))
def test_each_reading_is_named_by_what_it_returned(name: str) -> None:
    unit = load_unit(name)
    forms, own = normal_forms(unit), own_reading(unit)
    for reading, codes in zip(READINGS, said(name), strict=True):
        alike = {short_name(unit, one) for one in READINGS if forms[one].reading == forms[reading].reading}
        named = {one.name for one in consistent(unit, made(name).cases, codes) if one.everything}
        if own is not None and forms[own].reading == forms[reading].reading:
            assert named == {"as specified"}
        else:
            assert len(alike & named) == 1, "of equal readings one is named"
            assert not named & ({short_name(unit, one) for one in READINGS} - alike)


def test_cases_have_names_that_stay_and_depend_on_the_seed() -> None:
    name = SUITE[1]
    cases = made(name).cases
    assert len({case.id for case in cases}) == len(cases)
    assert all(case.id.startswith("G13/") for case in cases)
    again = discrimination(load_unit(name), 1, limit=200_000).cases
    assert again == cases
    assert discrimination(load_unit(name), 2, limit=200_000).cases != cases


def test_what_is_not_found_is_undecided_or_few() -> None:
    seen: list[int] = []
    found = discrimination(load_unit(HOPPER), 1, seen.append, limit=3)
    assert seen == [3]
    assert found.tried == 3
    assert found.count("undecided") > 0
    sentences = [pair.sentence for pair in found.pairs if pair.word == "undecided"]
    assert sentences[0] == "undecided after 3 cases without a difference"


@pytest.mark.slow
def test_a_pair_that_few_cases_tell_gets_them_with_their_lanes_turned() -> None:
    found = discrimination(load_unit("blackwell-tcgen05-e2m1-f16"), 4, limit=60_000)
    assert found.count("told apart") + found.count("equal") == 780
    assert any("turned" in case.id for case in found.cases)


def test_sums_that_overflow_tell_one_rounding_from_two() -> None:
    """The products' sum is above the largest result, and an addend of the other sign brings it back."""
    narrow = {
        "operands": {"a": "e4m3", "b": "e4m3", "addend": "f16"},
        "instruction": {"k": 4, "lanes": 4},
        "sum": {"fraction_bits": 5},
        # To nearest: towards zero, a late addition would overflow to the largest number, and a group to infinity.
        "result": {"format": "f16", "rounding": "rne"},
    }
    unit = changed(load_unit(HOPPER), narrow)
    found = discrimination(unit, 1, limit=100_000)
    assert found.count("told apart") + found.count("equal") == 780
    one, two = (
        by_model(read_unit(unit, Reading("truncate", late=True, two=two)), found.cases) for two in (False, True)
    )
    assert sum(x != y and y & 0x7FFF == 0x7C00 for x, y in zip(one, two, strict=True)) >= QUOTA


def test_turned_cases_keep_their_products() -> None:
    case = Case("x", tuple(range(8)), tuple(range(10, 18)), 3)
    other = turned(case, 1, 4)
    assert other.a == (1, 2, 3, 0, 5, 6, 7, 4)
    assert Counter(zip(other.a, other.b, strict=True)) == Counter(zip(case.a, case.b, strict=True))
    assert other.id == "x-turned01"


def test_a_proof_that_is_wrong_does_not_go_unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if all readings of an addend that comes late were the same.
    monkeypatch.setattr("hwsim.explain.discriminate.why_equal", lambda forms, x, y: "so" if x.late and y.late else None)
    with pytest.raises(RuntimeError, match="though so"):
        discrimination(load_unit(HOPPER), 1, limit=5000)


def test_other_methods_have_none() -> None:
    with pytest.raises(ValueError, match=r"sum\.method must be aligned"):
        discrimination(load_unit("sequential-e4m3-f16"), 1)


OTHERS = [
    "ada-mma-e4m3-f32", "ada-mma-e4m3-f16", "blackwell-tcgen05-e2m1-f32", "blackwell-tcgen05-e4m3-f16",
    "rvbna-bf16-f32-n4", "mxint8-f32", "hopper-mma-e4m3-f32", "mxfp4-e2m1-f32", "hopper-mma-tf32-f32",
    "ampere-mma-tf32-f32", "blackwell-mma-f16-f16", "blackwell-mxf4-e2m1-f32", "cdna3-mfma-bf16-f32",
    # Sums of subgroups that cancel, beside one so far below that bits of it are lost; products below 2^128.
    "blackwell-mxf4nvf4-e2m1-f32", "cdna3-mfma-xf32-f32",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_other_units_readings_are_all_told_apart_or_proved_equal(name: str) -> None:
    found = discrimination(load_unit(name), 1, limit=1_000_000)
    assert found.count("told apart") + found.count("equal") == 780


def test_a_block_of_scales_may_lie_across_groups() -> None:
    """The last instruction of such a dot product is no case of its own."""
    keys = {
        "unit": "across",
        "operands": {"a": "e2m1", "b": "e2m1", "addend": "f16"},
        "scale": {"a": {"format": "e8m0", "block": [1, 2]}, "b": {"format": "e8m0", "block": [1, 1]}, "at": "product"},
        "instruction": {"k": 3, "lanes": 1, "order": {"modulo": 3, "groups": [[2], [0], [1]]}},
        "sum": {"method": "exact", "rounded": "end"},
        "result": {"format": "f16", "rounding": "rne", "overflow": "ieee"},
    }
    some = Unit.model_validate(keys)
    case = Case("", (2, 2, 4, 2, 2, 6), (2, 2, 2, 2, 2, 2), 0, (127, 128, 129), (127,) * 6)
    (flaw,) = [mistake.flaw for mistake in catalogue(some) if mistake.name == "sum so far dropped"]
    assert code_of(some, flaw, case) == dot(definition_of(some), case).code
    assert search(some, catalogue(some), most=12)[1] == 12


DEEPSEEK = "deepseek-v3-e4m3-f32"


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


@pytest.mark.parametrize("name", others_slow(MISTAKES, MISTAKES[::7]))
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


@pytest.mark.slow
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
