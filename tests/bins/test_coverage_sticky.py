"""Bins and directed cases of sums whose rounding knows of lost bits."""

from __future__ import annotations

import pytest
from unit_keys import odd_unit, window

from hwsim.cases.bins import lostbits as sticky
from hwsim.cases.bins.covering import covered
from hwsim.cases.bins.plan import plan
from hwsim.cases.case import Case
from hwsim.model.definition import Definition
from hwsim.spec import Unit
from hwsim.spec.keys import Rounding

DECIDES = "decides the rounding"


def unit_of(rounding: str, lost: str = "sticky", addend: str = "f32") -> Unit:
    return odd_unit(f"{lost}-{rounding}-{addend}", "e4m3", addend, window(13, lost), "f16", 3, rounding=rounding)


def names(unit: Unit) -> list[str]:
    return [one.name for one in plan(unit).bins if DECIDES in one.name]


@pytest.mark.slow
@pytest.mark.parametrize(("rounding", "signs"), [("rne", "+-"), ("rto", "+-"), ("ru", "+"), ("rd", "-")])
@pytest.mark.parametrize("addend", ["f32", "none"])
def test_covering_cases_have_every_decision(rounding: str, signs: str, addend: str) -> None:
    unit = unit_of(rounding, addend=addend)
    kinds = ["a product", "the addend"]  # without c that is the partial sum
    wanted = {
        f"a 1 that {low} {kind} lost alone {DECIDES} of a {sign} sum"
        for low in "+-"
        for kind in kinds
        for sign in signs
    }
    deep = {name for name in names(unit) if "below the window" in name}
    assert {*names(unit)} - deep == wanted | {f"a 1 that lane {lane} lost alone {DECIDES}" for lane in range(3)}
    # From 2^8 * 2^8 to 2^-9 * 2^-9: products of powers of two are up to 34 places apart, of which the window has 13.
    assert len(deep) > 8
    found = covered(unit, 1)
    assert not [one.name for one in found.open if DECIDES in one.name]
    assert not found.counter.contradicted()


@pytest.mark.parametrize("rounding", ["rz", "rna"])
def test_roundings_that_see_no_bit_below_have_no_such_bins(rounding: str) -> None:
    assert not names(unit_of(rounding))


def test_other_rules_have_no_such_bins() -> None:
    assert not names(unit_of("rne", "truncate"))


@pytest.mark.parametrize("rounding", ["rne", "rto", "ru", "rd"])
def test_directed_cases_tell_designs_without_it(rounding: str) -> None:
    unit, designs = (
        unit_of(rounding),
        [Definition(unit_of(rounding, lost)) for lost in ("truncate", "jam", "floor", "ceil")],
    )
    cases = [one for one in covered(unit, 1).cases if one.id.startswith("sticky/")]
    model = Definition(unit)
    for design in designs:
        assert sum(code(design, case) != code(model, case) for case in cases) >= 3


def code(definition: Definition, case: Case) -> int:
    return definition.dot(case.a, case.b, case.c).code


ROUNDINGS: tuple[Rounding, ...] = ("rne", "rna", "rz", "ru", "rd", "rto")


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_a_rounding_tells_as_the_model_does(rounding: Rounding) -> None:
    rounded = Definition(unit_of(rounding)).round
    for sign in (0, 1):
        totals = [-total if sign else total for total in range(1 << 12, 1 << 14)]
        changed = any(rounded(total, 0, True).code != rounded(total, 0, False).code for total in totals)
        assert changed == sticky.tells(rounding, sign)
