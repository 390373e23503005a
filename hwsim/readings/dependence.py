"""Whether results depend on an operand, or on a lane, at all: asked by cases that differ in that alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from hwsim.cases.case import Case
from hwsim.readings.answers import results
from hwsim.readings.changes import Candidate
from hwsim.spec import Unit

PAIRS, LANE_PAIRS = 16, 10  # cases that are asked in pairs, of an operand and of a lane
LEAST = 8  # pairs from which on something is said
MOST_LANES = 16  # of more lanes only these are asked


class Varied(NamedTuple):
    """A part of a case. name: in a sentence. moved: a case with this part of another of the same length."""

    name: str
    moved: Callable[[Case, Case], Case]


def parts(unit: Unit) -> Iterator[Varied]:
    """The operands of a unit, and its lanes."""

    def operand(*fields: str) -> Callable[[Case, Case], Case]:
        def moved(to: Case, source: Case) -> Case:
            given: dict[str, Any] = {field: getattr(source, field) for field in fields}
            return replace(to, **given)

        return moved

    def lane(at: int, lanes: int) -> Callable[[Case, Case], Case]:
        def moved(to: Case, source: Case) -> Case:
            a, b = (
                tuple(theirs[i] if i % lanes == at else code for i, code in enumerate(own))
                for own, theirs in ((to.a, source.a), (to.b, source.b))
            )
            return replace(to, a=a, b=b)

        return moved

    yield Varied("a", operand("a"))
    yield Varied("b", operand("b"))
    if unit.operands.addend is not None:
        yield Varied("the addend", operand("c"))
    if unit.scale is not None:
        yield Varied("the scales of a", operand("scale_a"))
        yield Varied("the scales of b", operand("scale_b"))
    lanes = unit.instruction.lanes
    # Lanes are those of a beat where products come in order.
    if lanes > 1 and unit.instruction.order == "sequential":
        for at in range(min(lanes, MOST_LANES)):
            yield Varied(f"lane {at}", lane(at, lanes))


def varied(unit: Unit, cases: Sequence[Case]) -> list[Case]:
    """Cases in which one part of some of these cases is another's, and which must then have other results."""
    few = list(cases[:: max(1, len(cases) // (3 * PAIRS))])
    made = list[tuple[str, Case, Case]]()
    for part in parts(unit):
        for at, case in enumerate(few):
            source = next((one for one in (*few[at + 1 :], *few[:at]) if len(one.a) == len(case.a)), None)
            if source is not None and (other := part.moved(case, source)) != case:
                made.append((part.name, case, other))
    own = Candidate("as specified", unit)
    before, after = results(own, [case for _, case, _ in made]), results(own, [other for _, _, other in made])
    kept, counts = list[Case](), dict[str, int]()
    for (name, case, other), one, two in zip(made, before, after, strict=True):
        if one != two and counts.get(name, 0) < (LANE_PAIRS if name.startswith("lane") else PAIRS):
            counts[name] = counts.get(name, 0) + 1
            kept += [case, other]
    return list(dict.fromkeys(kept))


def independent(unit: Unit, cases: Sequence[Case], expected: Sequence[int], got: Sequence[int]) -> list[str]:
    """What the results do not depend on, in sentences: of cases that differ in it alone, all results are the same.

    expected, got: a code for each case. Only cases that must have different results count, and only many of them say
    something. A lane is not told where the results do not depend on a or b.
    """
    said = dict[str, str]()
    empty = Case("", (), ())
    for part in parts(unit):
        if part.name.startswith("lane") and said.keys() & {"a", "b"}:
            break
        groups: dict[Case, list[int]] = {}
        for at, case in enumerate(cases):
            zeros = replace(empty, a=(0,) * len(case.a), b=(0,) * len(case.b))
            zeros = replace(zeros, scale_a=(0,) * len(case.scale_a), scale_b=(0,) * len(case.scale_b))
            groups.setdefault(replace(part.moved(case, zeros), id=""), []).append(at)
        pairs = [
            (one, two)
            for members in groups.values()
            for one, two in pairwise(members)
            if expected[one] != expected[two]
        ]
        if len(pairs) >= LEAST and all(got[one] == got[two] for one, two in pairs):
            said[part.name] = (
                f"the result does not depend on {part.name}: {len(pairs)} of {len(pairs)} pairs of cases that differ "
                "in it alone, and must have different results, have the same"
            )
    return list(said.values())
