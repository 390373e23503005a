"""Cases in which a single 1 far below decides the rounding: it does, at every place that products reach."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from odd_units import unit

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case, dot
from hwsim.model.definition import definition_of
from hwsim.spec import Unit, load_unit


def sticky(some: Unit, name: str) -> list[Case]:
    return [case for case in directed(some, 1) if case.id.startswith(f"sticky/{name}")]


def exact(some: Unit, case: Case) -> Fraction:
    a, b = (fmt.decode(list(codes)) for fmt, codes in ((some.operands.a, case.a), (some.operands.b, case.b)))
    return sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)), Fraction(0))


@pytest.mark.parametrize("name", ["cdna1-mfma-f16-f32", "sequential-e4m3-f16"])
def test_the_one_decides_the_rounding(name: str) -> None:
    some = load_unit(name)
    definition = definition_of(some)
    cases = [case for case in sticky(some, "product-") if "together" not in case.id and case.id.endswith("-0")]
    depths = {int(case.id.split("-")[2]) for case in cases}
    if name.startswith("cdna1"):  # whose sums are exact: half a last place and the 1 may be two products
        assert depths >= set(range(1, 20))
        for case in cases:
            pairs = enumerate(zip(case.a, case.b, strict=True))
            size, at = min((abs(exact(some, Case("", (x,), (y,)))), at) for at, (x, y) in pairs if x)
            without = replace(case, a=tuple(0 if place == at else code for place, code in enumerate(case.a)))
            assert size == exact(some, case) - exact(some, without) > 0
            # A tie goes to the even power of two, and what is above a tie to the number above it.
            assert dot(definition, case).code == dot(definition, without).code + 1
    together = [case for case in sticky(some, "addend-together-") if case.id.endswith("-0")]
    assert together and all(dot(definition, case).code == case.c + 1 for case in together)


def test_a_window_has_cases_of_its_own_and_integers_have_none() -> None:
    assert not sticky(load_unit("int8-i32"), "")
    assert not sticky(load_unit("mxint8-f32"), "")
    assert sticky(unit("chain-rd"), "")
