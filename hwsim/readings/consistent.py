"""Finds the known semantics that explain a device's results."""

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
    """An explanation of results: one change, or two, in words. right: results that it explains, of `of`."""

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
    """A device's results, and those that explanations are tried on first."""

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
        """How many results at these indices are explained."""
        codes = many([self.cases[place] for place in places])
        return sum(self.same(code) == self.results[place] for code, place in zip(codes, places, strict=True))

    def explains(self, many: Answering, places: Sequence[int]) -> bool:
        """Whether all results at these indices are explained; the first two are tried first."""
        few, rest = places[:2], places[2:]
        return self.right(many, few) == len(few) and self.right(many, rest) == len(rest)

    def explained(self, among: Iterable[_Explanation]) -> list[Consistent]:
        """The explanations of all results."""
        explanations = []
        for each in among:
            if self.explains(each.many, self.telling) and self.explains(each.many, self.sample):
                right = self.right(each.many, range(len(self.cases)))
                if right == len(self.cases):
                    explanations.append(Consistent(each.name, each.description, right, right))
        return explanations

    def scores(self, among: Iterable[_Explanation]) -> list[tuple[int, int, _Explanation]]:
        """How many of the telling results, and of the sample, each explanation explains."""
        return [(self.right(each.many, self.telling), self.right(each.many, self.sample), each) for each in among]

    def estimate(self, telling: int, sample: int) -> float:
        """How many of all results are explained, estimated from those of `scores`."""
        wrong = len(self.wrong) * telling / max(1, len(self.telling))
        return wrong + (len(self.cases) - len(self.wrong)) * sample / max(1, len(self.sample))


def consistent(
    unit: Unit, cases: Sequence[Case], results: Sequence[int], first: Sequence[int] = ()
) -> list[Consistent]:
    """The known semantics that explain a device's results.

    cases, results: the device's stimuli, and the codes that it returned. first: indices of results that every
    explanation is tried on first, before those that are not as specified.
    Returns `as specified` alone where that explains all results; else all explanations of all results by a single
    reading or change; if there are none, by two; if there are none either, the best few, with the number of results
    that each explains, best first.
    Raises ValueError unless there are as many results as cases, and NotImplementedYet for a unit that the model
    does not have.
    """
    returned = _Results(unit, cases, results, first)
    singles = list(_ordered(semantics(unit)))
    if not returned.wrong:
        return [Consistent(singles[0].name, singles[0].description, len(cases), len(cases))]
    explanations = returned.explained(map(_single, singles))
    if explanations:
        return explanations
    scores = returned.scores(map(_single, singles))
    by_name = {single.name: single for single in singles}
    # A second change is added to those that explain most results that are not as specified: they may be few.
    hopeful = [by_name[single.name] for _, _, single in sorted(scores, key=lambda row: (-row[0], -row[1]))]
    explanations = returned.explained(_doubles(unit, hopeful, singles))
    if explanations:
        return explanations
    # The unit as specified comes first in `scores`.
    few = sorted(scores[1:], key=lambda row: -returned.estimate(row[0], row[1]))[: 2 * FEW]
    every, right = range(len(cases)), len(cases) - len(returned.wrong)
    best = [Consistent(singles[0].name, singles[0].description, right, len(cases))]
    best += [Consistent(row[2].name, row[2].description, returned.right(row[2].many, every), len(cases)) for row in few]
    return sorted(best, key=lambda explanation: -explanation.right)[:FEW]


def _ordered(every: Sequence[Semantic]) -> list[Semantic]:
    """Semantics with the fewest changes first."""
    return sorted(every, key=lambda semantic: semantic.changes)


def _single(semantic: Semantic) -> _Explanation:
    return _Explanation(semantic.name, semantic.description, semantic.many)


def _doubles(unit: Unit, ranked: Sequence[Semantic], singles: Sequence[Semantic]) -> Iterator[_Explanation]:
    """Pairs of changes: one that explains most results, and any other; a specification can express at least one."""
    pairs = set()
    for base in [semantic for semantic in ranked if semantic.changes == 1][:BASES]:
        for other in singles:
            if other is base or other.changes != 1:
                continue
            inner, outer = (base, other) if base.candidate is not None else (other, base)
            pair = frozenset((base.name, other.name))
            if inner.candidate is None or inner.candidate.addend is not None or pair in pairs:
                continue
            pairs.add(pair)
            many = outer.combine(inner.candidate.unit)
            if many is not None:
                names = f"{base.name} and {other.name}"
                yield _Explanation(names, f"{base.description}, and {other.description}", many)


def spread(places: Sequence[int], most: int) -> list[int]:
    """At most `most` of the indices, evenly spaced."""
    if len(places) <= most:
        return list(places)
    return [places[i * len(places) // most] for i in range(most)]


def _same(unit: Unit) -> Callable[[int], int]:
    """A function that maps equal results to equal codes: all NaNs to -1 where no NaN's bits are promised."""
    fmt = unit.output
    if unit.result.nan != "any" or not isinstance(fmt, FloatFormat):
        return lambda code: code
    return lambda code: -1 if fmt.is_nan(code >> fmt.padding) else code
