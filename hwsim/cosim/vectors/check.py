"""Comparing what a device answered with what a vector set expects."""

from __future__ import annotations

from collections.abc import Iterable

from hwsim.cases.bins.plan import GROUPS, labels
from hwsim.cosim.vectors.answers import Answer, Answers
from hwsim.cosim.vectors.findings import Findings, Wrong
from hwsim.cosim.vectors.stored import Stored
from hwsim.explain import CoverageGroup, coverage_groups
from hwsim.spec import Unit, unpromised
from hwsim.words import counted

SAMPLE = 2_000  # right results of which some stand beside the wrong ones


def check(known: Stored, lines: Iterable[str], where: str) -> Findings:
    """Compare results with a set. where: the file of results. Raises Malformed for lines that cannot be read."""
    found = Findings(known.unit, known.manifest.suite, where, known.cases, known.manifest.seed)
    answers, order, right, line = Answers(known, where), _Order(known), list[Answer](), 0
    step = max(1, known.cases // SAMPLE)
    for answer in answers.read(lines):
        expected, line = int(known.expected[answer.case], 16), answer.line
        found.compared += 1
        is_right = answer.code is not None and same(known.unit, expected, answer.code)
        order.add(expected, answer, is_right)
        if is_right:
            right += [answer] if answer.case % step == 0 else []
        elif found.add():
            place = f"line {line} of {where}"
            found.first.append(Wrong(known.case(answer.case), expected, answer.code, answer.text, place))
    if found.wrong:
        found.right = [(known.case(one.case), int(known.expected[one.case], 16)) for one in right]
    if found.compared < known.cases:
        found.hints.append(
            f"missing: {counted(known.cases - found.compared, 'result')}, the first of them that of "
            f"{known.name(answers.seen.index(0))}; the last one that came is at line {line}"
        )
    found.hints += order.hints()
    found.hints += [f"not compared: {one}" for one in unpromised(known.unit).left_out()]
    found.coverage = _coverage(known)
    return found


def same(unit: Unit, expected: int, got: int) -> bool:
    """Whether a result is the expected one, as far as the unit promises it."""
    return unpromised(unit).same(expected, got)


class _Order:
    """Notices results that are all there in another order, by sums that do not depend on it, or a case too far."""

    FEW = 8  # wrong results that could be by chance what they are

    def __init__(self, known: Stored):
        self.known, self.wrong = known, 0
        self.sums = [0, 0, 0]
        self.first: Answer | None = None
        self.shifts = {-1: 0, 1: 0}

    def add(self, expected: int, answer: Answer, right: bool) -> None:
        """A result."""
        got = -1 if answer.code is None else answer.code
        for power in range(3):
            self.sums[power] += expected ** (power + 1) - got ** (power + 1)
        if right:
            return
        self.wrong += 1
        self.first = self.first or answer
        for shift in self.shifts:
            other = answer.case + shift
            if answer.code is not None and 0 <= other < self.known.cases:
                self.shifts[shift] += int(self.known.expected[other], 16) == answer.code

    def hints(self) -> list[str]:
        """What all wrong results, or most, have in common."""
        if self.first is None:
            return []
        if not any(self.sums) and self.first.code is not None:
            line = self.first.line
            return [f"the results are the expected ones in another order; the first out of place is at line {line}"]
        said = {1: "the next case's: one is missing before line", -1: "the case before's: one is doubled before line"}
        return [
            f"{count:,} of {counted(self.wrong, 'wrong result')} are {said[shift]} {self.first.line + 1}, it seems"
            for shift, count in self.shifts.items()
            if count * 10 >= self.wrong * 9 and self.wrong >= self.FEW
        ]


def _coverage(known: Stored) -> tuple[CoverageGroup, ...]:
    """The set's coverage, by its manifest."""
    held = known.manifest.coverage
    if held is None:
        return ()
    planned: list[tuple[str, str, bool | None, str]] = []
    hits: dict[str, int] = {}
    for group in GROUPS:
        for name, count in held.bins.get(group, {}).items():
            planned.append((group, name, None, ""))
            hits[name] = count
        for reason, names in held.unreachable.get(group, {}).items():
            planned += [(group, name, False, reason) for name in names]
    said = labels(known.unit, (name for _, name, _, _ in planned))
    return coverage_groups(planned, hits, unit=known.unit.name, **said)
