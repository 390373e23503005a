"""Places of the arithmetic at which something other than specified may happen."""

from dataclasses import fields
from functools import partial
from typing import Any

import pytest
from odd_units import unit

from hwsim.cases.case import dot
from hwsim.cases.random_cases import random_cases
from hwsim.formats import Class, get_format
from hwsim.formats.blocks import one_code
from hwsim.model.definition import Definition
from hwsim.model.hooks import Hooks, TermCut
from hwsim.model.terms import Term
from hwsim.spec import LateAdd, Unit, load_unit

PLACES = [field.name for field in fields(Hooks) if field.name not in ("multipliers", "after")]
# Units that pass every place between them: a window, chains of fused and of rounded products, an exact sum, an integer,
# and a promotion with scales.
UNITS = [
    unit(name)
    for name in ("ieee-zero-rd", "chain-flush-fused", "chain-f16-mul-add", "exact-zero", "i12-rne", "sum-by-a-first")
]


def operands(of: Unit) -> list[tuple[Any, ...]]:
    """Numbers of both signs in every lane, and products that cancel."""
    a, b = of.operands.a.bits, of.operands.b.bits
    lanes = of.instruction.lanes
    sides = () if of.scale is None else (of.scale.a, of.scale.b)
    scales = [(one_code(side.format),) * lanes for side in sides] or [(), ()]
    some = [
        (tuple(lane * 5 + k & (1 << a) - 1 for lane in range(lanes)), (k * 3 & (1 << b) - 1,) * lanes)
        for k in range(16)
    ]
    return [(x, y, 0, *scales) for x, y in some] + [((0,) * lanes, (0,) * lanes, 0, *scales)]


@pytest.mark.parametrize("place", PLACES)
def test_a_place_is_passed_and_leaves_what_its_function_leaves_as_it_is(place: str) -> None:
    passes = []

    def unchanged(value: Any, *known: Any) -> Any:
        passes.append(value)
        return value

    for of in UNITS:
        hooked, right = Definition(of, hooks=Hooks(**{place: unchanged})), Definition(of)
        for row in operands(of):
            assert hooked.dot(*row).code == right.dot(*row).code
    assert passes


@pytest.mark.parametrize("name", ["cdna3-mfma-e4m3fnuz-f32", "hopper-mma-e4m3-f32", "deepseek-v3-e4m3-f32-scaled"])
def test_additions_after_groups_and_halves_pass_places_of_their_own(name: str) -> None:
    passes: dict[str, int] = {}

    def unchanged(place: str, value: Any, *known: Any) -> Any:
        passes[place] = passes.get(place, 0) + 1
        return value

    of = load_unit(name)
    after = Hooks(last_place=partial(unchanged, "after"))
    inside = Hooks(total=partial(unchanged, "total"), distance=partial(unchanged, "distance"), after=after)
    hooked, right = Definition(of, hooks=inside), Definition(of)
    for case in random_cases(of, 12, 3):
        assert dot(hooked, case).code == dot(right, case).code
    rounded = of.promotion is not None or isinstance(of.late, LateAdd)
    assert set(passes) == {"total", "distance", *(["after"] if rounded else [])}


def test_a_rounding_after_groups_may_go_wrong_alone() -> None:
    # 2^-15 beside 512 is half a last place of binary32, which is rounded down to even, or by mistake up.
    of = load_unit("hopper-mma-e4m3-f32")
    up = Hooks(last_place=lambda place: place._replace(rule="ru"))
    lanes = of.instruction.k
    row = ((0x01, *(0,) * (lanes - 1)), (0x08, *(0,) * (lanes - 1)), 0x44000000)  # 2^-9 * 2^-6 + 512
    assert Definition(of).dot(*row).code == Definition(of, hooks=up).dot(*row).code == 0x44000000
    assert Definition(of, hooks=Hooks(after=up)).dot(*row).code > 0x44000000


def test_of_terms_with_one_leading_place_the_second_is_cut() -> None:
    cut = Hooks(cut=lambda _, bits, differ: TermCut(0, "truncate"))
    x, y = Term(0, 0, 5, 2, Class.NORMAL), Term(0, 0, 7, 2, Class.NORMAL)
    assert cut.pair((x, y), get_format("f16"), fused=True) == (x, Term(0, 0, 1, 0, Class.NORMAL))
    assert cut.pair((y, x), get_format("f16"), fused=True) == (y, Term(0, 0, 1, 0, Class.NORMAL))
