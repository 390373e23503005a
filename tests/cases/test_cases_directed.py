"""Directed kinds of random cases: each case depends on its number alone, is valid, and is what its kind says."""

from __future__ import annotations

from collections.abc import Callable
from math import lcm

import pytest
from cases.vectors_measure import ODD
from cases.vectors_measure import unit_of as measured_unit
from vectors.vectorset_units import KINDS as UNITS
from vectors.vectorset_units import unit_of

from hwsim.cases.case import Case, block_lengths, term_scales
from hwsim.cases.drawing import DIRECTED
from hwsim.cases.random_cases import draw
from hwsim.formats import Class, unpack
from hwsim.model.definition import Definition
from hwsim.model.record import Group
from hwsim.model.terms import Term
from hwsim.spec import Unit, load_unit

HOPPER = "hopper-wgmma-e4m3-f32"
KEY = 0x123456789ABCDEF


def drawn(unit: Unit, kinds: tuple[str, ...], count: int = 64, first: int = 0) -> list[Case]:
    terms = lcm(unit.instruction.k, *(block_lengths(unit) if unit.scale else ()))
    return list(draw(unit, KEY, first, count, terms, kinds, "test").cases())


def test_a_case_depends_on_its_number_and_its_kind_alone() -> None:
    unit, kinds = load_unit(HOPPER), ("near", "edge", "special")
    mixed = drawn(unit, kinds, 60)
    assert [case.id for case in mixed[:4]] == [
        "test/00000000-near", "test/00000001-edge", "test/00000002-special", "test/00000003-near",
    ]  # fmt: skip
    for at, kind in enumerate(kinds):
        assert mixed[at::3] == drawn(unit, (kind,), 60)[at::3]
    assert drawn(unit, kinds, 50, 10) == mixed[10:]
    assert drawn(load_unit("ada-mma-e4m3-f32"), ("growth",), 8) != drawn(unit, ("growth",), 8)


@pytest.fixture(
    params=[*UNITS, ODD, "mxint8-f32", "blackwell-mxf4nvf4-e2m1-f32", "hopper-mma-e4m3-f16", "cdna3-mfma-xf32-f32"]
)
def unit(request: pytest.FixtureRequest) -> Unit:
    return measured_unit(request.param) if request.param == ODD else unit_of(request.param)


def test_cases_of_every_kind_are_valid_and_differ(unit: Unit) -> None:
    definition, operands = Definition(unit), unit.operands
    cases = drawn(unit, tuple(DIRECTED), 4 * len(DIRECTED))
    sides = [("a", operands.a), ("b", operands.b)]
    if unit.scale is not None:
        sides += [("scale_a", unit.scale.a.format), ("scale_b", unit.scale.b.format)]  # type: ignore[list-item]
    for case in cases:
        codes = [(fmt, code) for name, fmt in sides for code in getattr(case, name)]
        codes += [(operands.addend, case.c)] if operands.addend else []
        special = any(unpack(fmt, code).cls in (Class.NAN, Class.INFINITY) for fmt, code in codes)
        assert special <= case.id.endswith("specials")
    results = {definition.dot(case.a, case.b, case.c, *term_scales(unit, case)).code for case in cases}
    assert len(results) > len(cases) // 3


def leads(group: Group) -> int:
    """Terms of the largest exponent."""
    return sum(term.exp == group.max_exp for term in (*group.products, group.addend) if term is not None and term.sig)


def there(group: Group) -> list[Term]:
    """The products other than zero."""
    return [term for term in group.products if term.sig]


def few_at_the_edge(group: Group) -> bool:
    """Whether there are few products, and at the window's end one."""
    least = group.fraction_bits - 8
    return len(there(group)) <= 7 and any(
        least < (group.max_exp or 0) - term.exp <= least + 13 for term in there(group)
    )


def all_zero(group: Group) -> bool:
    return not any(term.sig for term in group.products)


HOLDS: dict[str, Callable[[Group], bool]] = {
    "rounding": few_at_the_edge,
    "tie": lambda group: few_at_the_edge(group) and group.addend is not None and not group.addend.sig,
    "edge": few_at_the_edge,
    "ladder": lambda group: leads(group) < 12 < len(there(group)),
    "opposite": lambda group: any(
        (x.exp, x.sig, x.sign) == (y.exp, y.sig, 1 - y.sign) for x in group.products for y in group.products if x.sig
    ),
    "below": lambda group: group.addend is not None and group.addend.exp == group.max_exp,
    "few": lambda group: len(there(group)) <= 2,
    "subnormal": lambda group: len(there(group)) <= 7 and any(term.sig < 48 for term in there(group)),
    "growth": lambda group: leads(group) > 1 and abs(group.total) >= 4 << group.fraction_bits,
    "zeros": lambda group: sum(
        (a & 0x7F == 0) != (b & 0x7F == 0) for a, b in zip(group.codes_a, group.codes_b, strict=True)
    ) > 8,
    "empty": lambda group: all_zero(group) and group.addend is not None and not group.addend.sig,
    "floor": lambda group: leads(group) > 1,
    "halfway": lambda group: leads(group) == 1 and group.addend is not None and not group.addend.sig,
    "tiny": lambda group: group.addend is not None and group.addend.exp <= -118,
    "vanishing": lambda group: group.addend is not None and not group.addend.sig and not all_zero(group),
    "overflow": lambda group: group.addend is not None and group.addend.exp >= 125,
    "specials": lambda group: group.special is not None,
}  # fmt: skip


@pytest.mark.parametrize("kind", DIRECTED)
def test_kinds_are_what_they_are_called(kind: str) -> None:
    unit = load_unit(HOPPER)
    definition = Definition(unit)

    def share(of: str) -> float:
        groups = [definition.dot(case.a, case.b, case.c).groups[0] for case in drawn(unit, (of,), 100)]
        return sum(map(HOLDS[kind], groups)) / len(groups)

    assert share(kind) > max(0.5, 2 * share("edge" if kind == "ladder" else "any"))


def test_products_are_where_binary32_begins_and_above_its_end() -> None:
    unit = load_unit("hopper-mma-bf16-f32")
    definition = Definition(unit)
    said = {
        kind: [definition.dot(case.a, case.b, case.c).groups[0] for case in drawn(unit, (kind,), 100)]
        for kind in DIRECTED
    }

    def tops(kind: str) -> list[int]:
        return [group.max_exp for group in said[kind] if group.max_exp is not None]

    assert all(-158 <= top <= -126 for top in tops("floor"))
    assert sum(group.rounded.code == 0 for group in said["vanishing"]) > 20
    assert sum(group.rounded.overflow for group in said["overflow"]) > 20
