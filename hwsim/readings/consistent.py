"""Which known semantics explain what a device returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hwsim.cases.case import Case
from hwsim.formats import FloatFormat
from hwsim.readings.answering import Answering
from hwsim.readings.known import Semantic, semantics
from hwsim.spec import Unit

TELLING = 48  # results that are not as specified, which every explanation is tried on first
SAMPLE = 160  # results as specified, which it must not spoil
BASES = 10  # changes to which a second one is made
FEW = 3  # explanations that are named where none explains all


@dataclass(frozen=True)
class Consistent:
    """An explanation of results: one change, or two, in words. right: results that it explains, of so many."""

    name: str
    description: str
    right: int
    of: int

    @property
    def everything(self) -> bool:
        """Whether it explains all results."""
        return self.right == self.of

    def __str__(self) -> str:
        return self.name if self.everything else f"{self.name}: explains {self.right:,} of {self.of:,}"


class _Explanation(NamedTuple):
    name: str
    description: str
    many: Answering


class _Results:
    """A device's results, in the order that explanations are tried in."""

    def __init__(self, unit: Unit, cases: Sequence[Case], results: Sequence[int], first: Sequence[int]):
        if len(cases) != len(results):
            raise ValueError(f"results must be as many as cases ({len(cases)}), not {len(results)}")
        self.same = _same(unit)
        self.cases, self.results = cases, [self.same(code) for code in results]
        own = semantics(unit)[0].many(cases)
        self.wrong = [i for i, code in enumerate(own) if self.same(code) != self.results[i]]
        right = [i for i, code in enumerate(own) if self.same(code) == self.results[i]]
        self.telling = list(dict.fromkeys([*spread(first, TELLING), *spread(self.wrong, TELLING)]))
        self.sample = spread(right, SAMPLE)

    def right(self, many: Answering, places: Sequence[int]) -> int:
        """How many results at these places are explained."""
        codes = many([self.cases[place] for place in places])
        return sum(self.same(code) == self.results[place] for code, place in zip(codes, places, strict=True))

    def explains(self, many: Answering, places: Sequence[int]) -> bool:
        """Whether all are; tried on a few first."""
        few, rest = places[:2], places[2:]
        return self.right(many, few) == len(few) and self.right(many, rest) == len(rest)

    def explained(self, among: Iterable[_Explanation]) -> list[Consistent]:
        """The explanations of everything."""
        found = []
        for one in among:
            if self.explains(one.many, self.telling) and self.explains(one.many, self.sample):
                right = self.right(one.many, range(len(self.cases)))
                if right == len(self.cases):
                    found.append(Consistent(one.name, one.description, right, right))
        return found

    def scores(self, among: Iterable[_Explanation]) -> list[tuple[int, int, _Explanation]]:
        """How many of the telling results, and of the sample, each explains."""
        return [(self.right(one.many, self.telling), self.right(one.many, self.sample), one) for one in among]

    def estimate(self, telling: int, sample: int) -> float:
        """How many of all results that makes."""
        wrong = len(self.wrong) * telling / max(1, len(self.telling))
        return wrong + (len(self.cases) - len(self.wrong)) * sample / max(1, len(self.sample))


def consistent(
    unit: Unit, cases: Sequence[Case], results: Sequence[int], first: Sequence[int] = ()
) -> list[Consistent]:
    """Which known semantics explain a device's results, those that are as specified and those that are not.

    cases, results: what the device was given, and the codes that it returned. first: places of results that every
    explanation is tried on before the others; without them, those that are not as specified.
    Returns `as specified` alone where that explains all results; else all explanations of all of them by a single
    reading or change; if there are none, by two; if there are none either, the best few, with how many results they
    explain, best first.
    Raises ValueError for results that are not as many as the cases, and NotImplementedYet for a unit that the model
    does not have.
    """
    given = _Results(unit, cases, results, first)
    singles = list(_ordered(semantics(unit)))
    if not given.wrong:
        return [Consistent(singles[0].name, singles[0].description, len(cases), len(cases))]
    found = given.explained(map(_single, singles))
    if found:
        return found
    scores = given.scores(map(_single, singles))
    by_name = {one.name: one for one in singles}
    # A second change is made to those that explain most of what is not as specified: such results may be few.
    hopeful = [by_name[one.name] for _, _, one in sorted(scores, key=lambda row: (-row[0], -row[1]))]
    found = given.explained(_doubles(unit, hopeful, singles))
    if found:
        return found
    # The unit as specified is the first.
    few = sorted(scores[1:], key=lambda row: -given.estimate(row[0], row[1]))[: 2 * FEW]
    every, right = range(len(cases)), len(cases) - len(given.wrong)
    best = [Consistent(singles[0].name, singles[0].description, right, len(cases))]
    best += [Consistent(one.name, one.description, given.right(one.many, every), len(cases)) for _, _, one in few]
    return sorted(best, key=lambda one: -one.right)[:FEW]


def _ordered(found: Sequence[Semantic]) -> list[Semantic]:
    """The fewest changes first."""
    return sorted(found, key=lambda one: one.changes)


def _single(one: Semantic) -> _Explanation:
    return _Explanation(one.name, one.description, one.many)


def _doubles(unit: Unit, ranked: Sequence[Semantic], singles: Sequence[Semantic]) -> Iterator[_Explanation]:
    """Two changes at once: one of those that explain most, and any other, one of both in the specification."""
    seen = set()
    for base in [one for one in ranked if one.changes == 1][:BASES]:
        for other in singles:
            if other is base or other.changes != 1:
                continue
            inner, outer = (base, other) if base.candidate is not None else (other, base)
            pair = frozenset((base.name, other.name))
            if inner.candidate is None or inner.candidate.addend is not None or pair in seen:
                continue
            seen.add(pair)
            many = outer.combine(inner.candidate.unit)
            if many is not None:
                names = f"{base.name} and {other.name}"
                yield _Explanation(names, f"{base.description}, and {other.description}", many)


def spread(places: Sequence[int], most: int) -> list[int]:
    """At most so many of them, evenly."""
    if len(places) <= most:
        return list(places)
    return [places[i * len(places) // most] for i in range(most)]


def _same(unit: Unit) -> Callable[[int], int]:
    """A result's code as it is compared: where no bit of a NaN is promised, all NaN are one."""
    fmt = unit.output
    if unit.result.nan != "any" or not isinstance(fmt, FloatFormat):
        return lambda code: code
    return lambda code: -1 if fmt.is_nan(code >> fmt.padding) else code
