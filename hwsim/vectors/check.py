"""Comparing what a device answered with what a vector set expects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hwsim.formats import Class, unpack
from hwsim.spec import Unit
from hwsim.vectors.answers import Answer, answers
from hwsim.vectors.stored import Stored

KEPT = 20_000  # wrong results that are kept, to be explained
SAMPLE = 2_000  # right ones


@dataclass(frozen=True)
class Wrong:
    """A result that is not the expected one. got: None where bits of it are unknown. text: as it stood on its line."""

    case: int
    expected: int
    got: int | None
    line: int
    text: str


@dataclass
class Comparison:
    """What a comparison found. wrong: results, of which the first are in `first`. right: some right cases.

    missing: the first case without a result, or None. last_line: where the last result stood.
    """

    known: Stored
    compared: int = 0
    wrong: int = 0
    first: list[Wrong] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    missing: int | None = None
    last_line: int = 0
    hints: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether there was a result for every case, and all were right."""
        return self.compared == self.known.cases and self.compared > 0 and self.wrong == 0


def check(known: Stored, lines: Iterable[str], where: str) -> Comparison:
    """Compare results with a set. Raises Malformed for lines that cannot be read."""
    verdict, shifts = Comparison(known), _Shifts(known)
    step = max(1, known.cases // SAMPLE)
    seen = bytearray(known.cases)
    order = _Order()
    for answer in answers(lines, known, where):
        expected = int(known.expected[answer.case], 16)
        seen[answer.case] = 1
        verdict.compared += 1
        verdict.last_line = answer.line
        order.add(expected, answer)
        if answer.code is not None and same(known.unit, expected, answer.code):
            if answer.case % step == 0:
                verdict.right.append(answer.case)
            continue
        verdict.wrong += 1
        if len(verdict.first) < KEPT:
            verdict.first.append(Wrong(answer.case, expected, answer.code, answer.line, answer.text))
        shifts.add(answer)
    if verdict.compared < known.cases:
        verdict.missing = seen.index(0)
    verdict.hints = order.hints(verdict) or shifts.hints()
    return verdict


def same(unit: Unit, expected: int, got: int) -> bool:
    """Whether a result is the expected one, by the unit's rule for NaN."""
    return expected == got or (unit.result.nan == "any" and _is_nan(unit, expected) and _is_nan(unit, got))


def _is_nan(unit: Unit, code: int) -> bool:
    try:
        return unpack(unit.output, code).cls is Class.NAN
    except ValueError:
        return False


class _Order:
    """Notices results that are all there, in another order: by sums that do not depend on it."""

    def __init__(self) -> None:
        self.sums = [0, 0, 0]

    def add(self, expected: int, answer: Answer) -> None:
        """A result."""
        got = -1 if answer.code is None else answer.code
        for power in range(3):
            self.sums[power] += expected ** (power + 1) - got ** (power + 1)

    def hints(self, verdict: Comparison) -> list[str]:
        """What all results have in common."""
        if not verdict.wrong or any(self.sums) or verdict.first[0].got is None:
            return []
        first = verdict.first[0]
        return [f"the results are the expected ones in another order; the first out of place is at line {first.line}"]


class _Shifts:
    """Notices results that belong to the case before, or after."""

    FEW = 8

    def __init__(self, known: Stored):
        self.known, self.wrong = known, 0
        self.matches = {-1: 0, 1: 0}
        self.first: Answer | None = None

    def add(self, answer: Answer) -> None:
        """A wrong result."""
        self.wrong += 1
        self.first = self.first or answer
        for shift in self.matches:
            other = answer.case + shift
            if answer.code is not None and 0 <= other < self.known.cases:
                self.matches[shift] += int(self.known.expected[other], 16) == answer.code

    def hints(self) -> list[str]:
        """What most wrong results have in common."""
        if self.first is None or self.wrong < self.FEW:
            return []
        said = {1: "the next case's: one is missing before line", -1: "the case before's: one is doubled before line"}
        return [
            f"{count} of {self.wrong} wrong results are {said[shift]} {self.first.line + 1}, it seems"
            for shift, count in self.matches.items()
            if count * 10 >= self.wrong * 9
        ]
