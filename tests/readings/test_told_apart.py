"""Cases that tell units of every method from mistakes: they do, and a set of them fails a design that makes one."""

from __future__ import annotations

import pytest
from odd_units import unit

from hwsim.cases.case import Case, dot
from hwsim.cosim.vectors.plan import plan
from hwsim.explain import told_from_mistakes
from hwsim.explain.discriminate import QUOTA
from hwsim.explain.known import Semantic
from hwsim.explain.mistakes import catalogue, code_of
from hwsim.model.definition import definition_of
from hwsim.spec import Unit, unpromised

UNITS = ["chain-rd", "tree-f16-7", "exact-f16-group", "even-odd"]


def differing(some: Unit, one: Semantic, found: list[int], answers: list[int]) -> int:
    good = unpromised(some)
    return sum(not good.same(want, got) for want, got in zip(found, answers, strict=True))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", UNITS)
def test_every_mistake_that_is_told_apart_is_told_by_the_cases(name: str) -> None:
    some = unit(name)
    found = told_from_mistakes(some, 1)
    right = [dot(definition_of(some), case).code for case in found.cases]
    told = [pair for pair in found.pairs if pair.word == "told apart"]
    assert len(told) > 60 and len(found.cases) < 2000
    # Counted again, on the definition's results.
    for pair in told[::7]:
        assert isinstance(pair.second, Semantic)
        assert differing(some, pair.second, right, pair.second.many(found.cases)) >= QUOTA
    names = {pair.second.name for pair in told}
    assert any("lane 0" in name for name in names)
    assert ("addend dropped" in names) == (some.operands.addend is not None)


def test_a_set_of_vectors_has_them() -> None:
    made = plan(unit("chain-rd"), "discrimination", 1)
    told = made.told()
    assert told is not None and told.count("told apart") > 60
    # The same unit and seed make the same cases.
    assert [case for part in made.parts for case in part.cases] == told_from_mistakes(unit("chain-rd"), 1).cases


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
    assert told_from_mistakes(some, 1, limit=48).count("told apart") > 20
