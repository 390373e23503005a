"""Finds the known semantics that explain a device's results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hwsim.base.errors import InputError
from hwsim.cases.case import Case
from hwsim.explain.candidate import Candidate, results
from hwsim.explain.known import Semantic, semantics
from hwsim.spec import Unit, unpromised


class Example(NamedTuple):
    """A mismatch. case: the case's number. got: the device's result. expected: the candidate's."""

    case: int
    got: int
    expected: int


class Evidence:
    """Cases, and the codes that a device returned for them.

    whole: whether the device takes whole instructions, even where whole groups would do.
    Raises ValueError unless there are as many results as cases.
    """

    def __init__(self, unit: Unit, cases: Sequence[Case], codes: Sequence[int], whole: bool = False):
        if len(cases) != len(codes):
            raise InputError(f"results must be as many as cases ({len(cases)}), not {len(codes)}")
        self.cases, self.codes, self.whole, self._plain = cases, codes, whole, unpromised(unit).plain

    def mismatches(self, candidate: Candidate, indices: Sequence[int]) -> list[Example]:
        """The results at these indices that a candidate does not explain."""
        codes = results(candidate, [self.cases[index] for index in indices], self.whole)
        rows = zip(indices, codes, strict=True)
        return [
            Example(index, self.codes[index], code)
            for index, code in rows
            if self._plain(code) != self._plain(self.codes[index])
        ]

    def right(self, candidate: Candidate, indices: Sequence[int]) -> int:
        """The number of results at these indices that a candidate explains."""
        return len(indices) - len(self.mismatches(candidate, indices))

    def explained(self, candidate: Candidate, indices: Sequence[int]) -> bool:
        """True if a candidate explains all results at these indices; the first two are tried first."""
        return not self.mismatches(candidate, indices[:2]) and not self.mismatches(candidate, indices[2:])


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
        """True if it explains all results."""
        return self.right == self.of

    def __str__(self) -> str:
        return self.name if self.everything else f"{self.name}: explains {self.right:,} of {self.of:,}"


class _Results(Evidence):
    """A device's results, and those that explanations are tried on first."""

    def __init__(self, unit: Unit, cases: Sequence[Case], codes: Sequence[int], first: Sequence[int]):
        super().__init__(unit, cases, codes)
        self.every = range(len(cases))
        self.wrong = [example.case for example in self.mismatches(Candidate("", unit), self.every)]
        right = sorted({*self.every} - {*self.wrong})
        self.telling = list(dict.fromkeys([*spread(first, TELLING), *spread(self.wrong, TELLING)]))
        self.sample = spread(right, SAMPLE)

    def explanations(self, among: Iterable[Semantic]) -> list[Consistent]:
        count = len(self.cases)
        return [
            Consistent(semantic.name, semantic.description, count, count)
            for semantic in among
            if all(self.explained(semantic.candidate, indices) for indices in (self.telling, self.sample, self.every))
        ]

    def scores(self, among: Iterable[Semantic]) -> list[tuple[int, int, Semantic]]:
        """The numbers of telling results, and of results of the sample, that each explanation explains."""
        return [
            (self.right(semantic.candidate, self.telling), self.right(semantic.candidate, self.sample), semantic)
            for semantic in among
        ]

    def estimate(self, telling: int, sample: int) -> float:
        """The number of all results that are explained, estimated from those of `scores`."""
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
    singles = sorted(semantics(unit), key=lambda semantic: semantic.changes)
    if not returned.wrong:
        return [Consistent(singles[0].name, singles[0].description, len(cases), len(cases))]
    explanations = returned.explanations(singles)
    if explanations:
        return explanations
    scores = returned.scores(singles)
    # A second change is added to those that explain most results that are not as specified: they may be few.
    hopeful = [single for _, _, single in sorted(scores, key=lambda row: (-row[0], -row[1]))]
    explanations = returned.explanations(_doubles(unit, hopeful, singles))
    if explanations:
        return explanations
    # The unit as specified comes first in `scores`.
    few = sorted(scores[1:], key=lambda row: -returned.estimate(row[0], row[1]))[: 2 * FEW]
    best = [Consistent(singles[0].name, singles[0].description, len(cases) - len(returned.wrong), len(cases))]
    for *_, known in few:
        right = returned.right(known.candidate, returned.every)
        best.append(Consistent(known.name, known.description, right, len(cases)))
    return sorted(best, key=lambda explanation: -explanation.right)[:FEW]


def _doubles(unit: Unit, ranked: Sequence[Semantic], singles: Sequence[Semantic]) -> Iterator[Semantic]:
    """Pairs of changes: one that explains most results, and any other; a specification can express at least one."""
    pairs = set()
    for base in [semantic for semantic in ranked if semantic.changes == 1][:BASES]:
        for second in singles:
            if second is base or second.changes != 1:
                continue
            inner, outer = (base, second) if base.specified else (second, base)
            pair = frozenset((base.name, second.name))
            if not inner.specified or pair in pairs:
                continue
            pairs.add(pair)
            both = outer.on(inner.candidate.unit)
            if both is not None:
                names = f"{base.name} and {second.name}"
                yield replace(
                    outer, name=names, description=f"{base.description}, and {second.description}", candidate=both
                )


def spread(places: Sequence[int], most: int) -> list[int]:
    """At most `most` of the indices, evenly spaced."""
    if len(places) <= most:
        return list(places)
    return [places[i * len(places) // most] for i in range(most)]
