"""Cases tell other arithmetic apart: mutants, what GPUs returned, and what kinds and groups mean."""

from __future__ import annotations

import re

import pytest
from cases.vectors_measure import suite, unit_of
from odd_units import unit as tiny

from hwsim.cases.bins.covering import covering
from hwsim.cases.bins.plan import DIRECTED, GROUP_MEANINGS, GROUPS, KINDS, case_meaning, group_meaning, plan
from hwsim.cases.captured import CAPTURES, captured_cases
from hwsim.cases.case import Case, term_scales
from hwsim.cases.drawing import DIRECTED as DIRECTED_KINDS
from hwsim.cases.drawing import KINDS as RANDOM_KINDS
from hwsim.cases.random_cases import random_cases
from hwsim.explain.discriminate import lengths_of, stimuli
from hwsim.explain.known import semantics
from hwsim.model.definition import Definition
from hwsim.spec import Unit, load_unit

HOPPER = "hopper-wgmma-e4m3-f32"


def changed(part, **settings):
    """The unit with some settings of one part changed."""
    unit = unit_of(HOPPER)
    return unit.model_copy(update={part: getattr(unit, part).model_copy(update=settings)})


def differences(definition, cases=None, change=lambda case: case):
    """On how many cases of the directed suite a definition differs from Hopper's."""
    right = suite(HOPPER)
    found = 0
    for one in right.measured if cases is None else cases:
        case = change(one.case)
        got = definition.dot(case.a, case.b, case.c, *term_scales(definition.unit, case)).code
        found += got != one.explanation.code
    return found


@pytest.mark.parametrize(
    "unit",
    [
        changed("sum", lost="floor"),
        pytest.param(changed("sum", lost="ceil"), marks=pytest.mark.slow),
        pytest.param(changed("sum", lost="jam"), marks=pytest.mark.slow),
        changed("sum", lost="rne"),
        changed("sum", fraction_bits=12),
        pytest.param(changed("sum", fraction_bits=14), marks=pytest.mark.slow),
        changed("result", rounding="rne"),
        pytest.param(changed("result", rounding="rna"), marks=pytest.mark.slow),
        pytest.param(changed("result", rounding="ru"), marks=pytest.mark.slow),
        pytest.param(changed("result", rounding="rd"), marks=pytest.mark.slow),
        pytest.param(changed("result", rounding="rto"), marks=pytest.mark.slow),
    ],
    ids=["floor", "ceil", "jam", "nearest", "F12", "F14", "rne", "rna", "ru", "rd", "rto"],
)
def test_other_arithmetic_differs_on_sixteen_cases_at_least(unit):
    assert differences(Definition(unit)) >= 16


def test_a_dropped_addend_differs():
    definition = suite(HOPPER).definition
    assert differences(definition, change=lambda case: Case(case.id, case.a, case.b)) >= 16


@pytest.mark.parametrize("lane", range(32))
def test_each_dropped_lane_differs(lane):
    def drop(case):
        a = tuple(0 if index % 32 == lane else code for index, code in enumerate(case.a))
        return Case(case.id, a, case.b, case.c)

    assert differences(suite(HOPPER).definition, suite(HOPPER).of("lane", "cancel"), drop) >= 2


@pytest.mark.parametrize("lane", range(31))
def test_each_swap_of_neighbouring_lanes_in_one_factor_differs(lane):
    def swap(case):
        a = list(case.a)
        a[lane], a[lane + 1] = a[lane + 1], a[lane]
        return Case(case.id, tuple(a), case.b, case.c)

    assert differences(suite(HOPPER).definition, suite(HOPPER).of("lane", "cancel"), swap) >= 2


def test_zero_terms_that_set_max_exp_differ():
    assert differences(Definition(changed("sum", zero_terms="count"))) >= 16


class Normalised(Definition):
    """Products count by their leading one's exponent, not by their reference exponent."""

    def product(self, a, b, scale_exp=0):
        term = super().product(a, b, scale_exp)
        return term if not term.sig else term._replace(
            exp=term.exp + term.sig.bit_length() - 1 - term.fraction_bits, fraction_bits=term.sig.bit_length() - 1
        )  # fmt: skip


def test_leading_one_exponents_differ():
    assert differences(Normalised(unit_of(HOPPER))) >= 16


def test_nothing_else_differs():
    """The right unit passes its own suite, so that the mutants fail for what they are."""
    assert differences(suite(HOPPER).definition) == 0


# All cases of all of them: tests/model/test_model_silicon.py, through hwsim.dot.
COUNTS = {
    "hopper-wgmma-e4m3-f32": 2000,
    "hopper-wgmma-e5m2-f32": 2000,
    "ada-mma-e4m3-f32": 1000,
    "ada-mma-e5m2-f32": 1000,
    "hopper-mma-e5m2-f16": 2000,
    "blackwell-mma-tf32-f32": 1000,
}


@pytest.mark.parametrize("name", COUNTS)
def test_the_definition_is_what_the_gpu_returned(name, silicon):
    unit = load_unit(name)
    cases = captured_cases(unit, silicon)
    definition = Definition(unit)
    wrong = [case.id for case, code in cases if definition.dot(case.a, case.b, case.c).code != code]
    assert (len(cases), wrong) == (COUNTS[name], [])


def test_ids_name_the_gpu(silicon):
    cases = captured_cases(load_unit("hopper-wgmma-e4m3-f32"), silicon)
    ids = [cases[index][0].id for index in (0, 999, 1000, 1999)]
    assert ids == ["h100/0000", "h100/0999", "h200/0000", "h200/0999"]


def test_a_short_k_is_filled(silicon):
    # tf32 was captured with K = 4; the unit's groups have 8 lanes.
    (case, _), *_ = captured_cases(load_unit("hopper-mma-tf32-f32"), silicon)
    assert (len(case.a), len(case.b), case.a[4:], case.b[4:]) == (8, 8, (0,) * 4, (0,) * 4)
    assert all(case.a[:4])


@pytest.mark.parametrize("name", ["deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32", "hopper-mma-e4m3-f32"])
def test_units_that_no_gpu_was_captured_for_have_none(name, silicon):
    assert captured_cases(load_unit(name), silicon) == []


def test_no_folder_means_no_cases(monkeypatch, tmp_path):
    monkeypatch.delenv("HWSIM_SILICON", raising=False)
    assert captured_cases(load_unit("hopper-wgmma-e4m3-f32")) == []
    assert captured_cases(load_unit("hopper-wgmma-e4m3-f32"), tmp_path) == []


def test_the_environment_names_the_folder(monkeypatch, silicon):
    monkeypatch.setenv("HWSIM_SILICON", str(silicon))
    assert len(captured_cases(load_unit("ada-mma-e4m3-f32"))) == 1000


def test_every_unit_has_a_thousand_cases_from_each_gpu(silicon):
    assert set(COUNTS) < set(CAPTURES)
    for name, (gpus, _, _) in CAPTURES.items():
        ids = [case.id for case, _ in captured_cases(load_unit(name), silicon)]
        assert [ids.count(f"{gpu}/{index:04}") for gpu in gpus for index in (0, 999)] == [1] * 2 * len(gpus)
        assert len(ids) == len(set(ids)) == 1000 * len(gpus)


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
    for case in stimuli(BARE, 1, 0, 40, lengths_of(BARE)[0]).cases():
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
