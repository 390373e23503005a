"""Cases that tell readings apart: each reading, as a device, is found to be none but its equals."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from built_presets import others_slow
from computed_once import computed_once

from hwsim.cases.case import Case
from hwsim.explain import READINGS, Discrimination, Reading, consistent, discrimination, own_reading
from hwsim.explain.candidate import by_model, changed
from hwsim.explain.discriminate import QUOTA, turned
from hwsim.explain.readings import normal_forms, read_unit, short_name, why_equal
from hwsim.spec import load_unit

HOPPER = "hopper-wgmma-e4m3-f32"
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


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ALWAYS)
def test_every_pair_is_told_apart_or_proved_equal(name: str) -> None:
    found = made(name)
    assert len(found.pairs) == 780
    assert Counter(pair.word for pair in found.pairs) == {"equal": EQUAL[name], "told apart": 780 - EQUAL[name]}
    assert all(pair.sentence for pair in found.pairs)
    assert len(found.cases) < 200


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ALWAYS)
def test_each_reading_differs_from_all_that_are_not_proved_equal(name: str) -> None:
    forms = normal_forms(load_unit(name))
    for (i, one), (j, other) in combinations(enumerate(said(name)), 2):
        differ = sum(x != y for x, y in zip(one, other, strict=True))
        if why_equal(forms, READINGS[i], READINGS[j]) is None:
            assert differ >= QUOTA, (READINGS[i].name, READINGS[j].name)
        else:
            assert differ == 0, (READINGS[i].name, READINGS[j].name)


@pytest.mark.parametrize("name", others_slow(ALWAYS, ALWAYS[:1]))
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
    cases = made(HOPPER).cases
    assert len({case.id for case in cases}) == len(cases)
    assert all(case.id.startswith("G13/") for case in cases)
    again = discrimination(load_unit(HOPPER), 1, limit=200_000).cases
    assert again == cases
    assert discrimination(load_unit(HOPPER), 2, limit=200_000).cases != cases


def test_what_is_not_found_is_undecided_or_few() -> None:
    seen: list[int] = []
    found = discrimination(load_unit(HOPPER), 1, seen.append, limit=3)
    assert seen == [3]
    assert found.tried == 3
    assert found.count("undecided") > 0
    sentences = [pair.sentence for pair in found.pairs if pair.word == "undecided"]
    assert sentences[0] == "undecided after 3 cases without a difference"


def test_a_pair_that_few_cases_tell_gets_them_with_their_lanes_turned() -> None:
    found = discrimination(load_unit("blackwell-tcgen05-e2m1-f16"), 4, limit=60_000)
    assert found.count("told apart") + found.count("equal") == 780
    assert any("turned" in case.id for case in found.cases)


@pytest.mark.parametrize("name", ["blackwell-mxf4nvf4-e2m1-f32", "cdna3-mfma-xf32-f32"])
def test_scaled_subgroups_and_limited_products_leave_nothing_undecided(name: str) -> None:
    """Sums of subgroups that cancel, beside one so far below that bits of it are lost; products below 2^128."""
    found = discrimination(load_unit(name), 1, limit=100_000)
    assert found.count("told apart") + found.count("equal") == 780


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
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_other_units_readings_are_all_told_apart_or_proved_equal(name: str) -> None:
    found = discrimination(load_unit(name), 1, limit=1_000_000)
    assert found.count("told apart") + found.count("equal") == 780
