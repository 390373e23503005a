"""What names of cases and groups mean is said of all of them, and of nothing that a unit does not have."""

from __future__ import annotations

import re

import pytest
from odd_units import unit as tiny

from hwsim.cases.bins.covering import covering
from hwsim.cases.bins.plan import DIRECTED, GROUP_MEANINGS, GROUPS, KINDS, case_meaning, group_meaning, plan
from hwsim.cases.drawing import DIRECTED as DIRECTED_KINDS
from hwsim.cases.drawing import KINDS as RANDOM_KINDS
from hwsim.cases.random_cases import random_cases
from hwsim.explain import discrimination
from hwsim.explain.known import semantics
from hwsim.spec import Unit, load_unit

BARE = Unit.model_validate(
    {
        "unit": "bare",
        "operands": {"a": "e2m1", "b": "e2m1", "addend": "none"},
        "instruction": {"k": 4, "lanes": 4, "chain": "none"},
        "sum": {"method": "aligned", "fraction_bits": 3, "addend": "none"},
        "result": {"format": "f16", "rounding": "rz"},
    }
)
CHAINED = Unit.model_validate(
    {
        "unit": "chained",
        "operands": {"a": "e2m1", "b": "e2m1", "addend": "none"},
        "instruction": {"k": 8, "lanes": 4},
        "sum": {"method": "aligned", "fraction_bits": 3},
        "result": {"format": "f16", "rounding": "rz"},
    }
)


def test_every_kind_of_case_and_every_group_has_a_meaning() -> None:
    assert KINDS.keys() == {*RANDOM_KINDS, *DIRECTED_KINDS}
    assert GROUP_MEANINGS.keys() == GROUPS.keys()
    for named in (tiny("tiny"), BARE):
        for case in (*random_cases(named, 16, 1), *covering(named, 1)):
            assert case_meaning(case.id), case.id
    assert {name for name in DIRECTED if not re.fullmatch("[a-z-]+", name)} == set()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("G13/00000231-growth", "tells readings of the specification apart .*: many terms of one sign and size"),
        ("random/00001234-near", "random case 1,234: products of about one size"),
        ("distance/d08-lost-sub", "directed: two products that many places apart"),
        ("G5/left13", "made for a bin of coverage group G5"),
        ("", "^$"),
        ("mine/1", "^$"),
    ],
)
def test_a_name_of_a_case_is_explained(name: str, words: str) -> None:
    assert re.search(words, case_meaning(name))


def test_cases_that_tell_readings_apart_are_named_as_their_meaning_says() -> None:
    for case in discrimination(BARE, 1).cases[:40]:
        assert "tells readings of the specification apart" in case_meaning(case.id)
        assert ": " in case_meaning(case.id).partition("drawn at random")[2]


def texts_of(unit: Unit) -> list[str]:
    """What reports say of a unit's readings, groups and bins."""
    known = [text for one in semantics(unit) for text in (one.name, one.description)]
    bins = [one.name for one in plan(unit).bins]
    return [*known, *bins, *(group_meaning(unit, group) for group in GROUPS)]


def test_what_a_unit_does_not_have_is_not_spoken_of() -> None:
    # "lost bits floored: ...; the addend is aligned with the products", of a unit that has no addend.
    assert [text for text in texts_of(BARE) if "addend" in text or "sum so far" in text or "promotion" in text] == []
    assert [text for text in texts_of(BARE) if re.search(r"\bscales?\b", text.lower())] == []
    floored = next(one for one in semantics(BARE) if one.name == "lost bits floored")
    assert floored.description.endswith("towards minus infinity; factors' exponents set max_exp")


def test_what_a_unit_has_is_spoken_of_by_its_name() -> None:
    known = [text for one in semantics(CHAINED) for text in (one.name, one.description)]
    assert not [text for text in known if "addend" in text]
    assert any("the sum so far is aligned with the products" in text for text in known)
    hopper = load_unit("hopper-wgmma-e4m3-f32")
    assert any("the addend is aligned with the products" in text for text in texts_of(hopper))
    assert "Scales" in group_meaning(load_unit("mxfp8-e4m3-f32"), "G9")
    assert "register" in group_meaning(load_unit("deepseek-v3-e4m3-f32"), "G11")


def test_a_change_is_described_as_a_file_has_it() -> None:
    for one in semantics(BARE):
        assert "{" not in one.description and "None" not in one.description
