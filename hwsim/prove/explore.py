"""Running a function on what is not known: each question that has two answers is followed both ways."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import bitwuzla as bw

from hwsim.prove.logic import Term, both, manager, negated, true, width

Result = TypeVar("Result")


@dataclass(frozen=True)
class Path(Generic[Result]):
    """What a function returns where a condition holds."""

    condition: Term
    result: Result


_KnownBounds = dict[tuple[int, int, int], dict[tuple[bool, ...], tuple[int, int]]]  # of a number, after these answers
NARROW = 8  # bounds so close are not made closer by further answers


class OutOfTime(Exception):
    """A function was not followed to the end in the seconds that it had."""


class Explorer:
    """One run of a function: the answers that are given, and which others are possible."""

    def __init__(self, assumptions: Sequence[Term], answers: Sequence[bool], known: _KnownBounds):
        self.given, self.answers = list(answers), list(answers)
        self.assumptions = tuple(assumptions)
        self.asked = 0
        self.conditions: list[Term] = []
        self.others: list[list[bool]] = []
        options = bw.Options()
        options.set(bw.Option.PRODUCE_MODELS, True)
        self.solver = bw.Bitwuzla(manager(), options)
        for term in assumptions:
            self.solver.assert_formula(term)
        self.known = known

    def decide(self, term: Term) -> bool:
        """The answer to a question on this path."""
        if term.is_true() or term.is_false():
            return bool(term.is_true())
        if _ends and time.thread_time() > _ends[-1]:
            raise OutOfTime
        if self.asked < len(self.given):
            answer = self.given[self.asked]
        else:
            answer = self.possible(term)
            if answer and self.possible(negated(term)):
                self.others.append([*self.answers[: self.asked], False])
            self.answers.append(answer)
        self.asked += 1
        condition = term if answer else negated(term)
        self.conditions.append(condition)
        self.solver.assert_formula(condition)
        return answer

    @property
    def holds(self) -> tuple[Term, ...]:
        """The assumptions, and the answers so far."""
        return (*self.assumptions, *self.conditions)

    def possible(self, term: Term) -> bool:
        """Whether a condition can hold, after the answers that were given."""
        self.solver.push()
        self.solver.assert_formula(term)
        result = self._satisfiable()
        self.solver.pop()
        return result

    def _satisfiable(self) -> bool:
        return bool(self.solver.check_sat() != bw.Result.UNSAT)

    def bounds(self, number: Any) -> tuple[int, int]:
        """What an integer of hwsim.prove.symbolic can be at least and at most on this path."""
        known, answers = self.known.setdefault((number.term.id(), number.low, number.high), {}), self.answers
        for asked in range(self.asked, -1, -1):
            found = known.get(tuple(answers[:asked]))
            if found is not None and (asked == self.asked or (found[0] >= 0 and 0 < found[1] - found[0] <= NARROW)):
                return found
        found = known[tuple(answers[: self.asked])] = self._least(number), -self._least(-number)
        return found

    def _least(self, number: Any) -> int:
        low, high, middle = number.low, number.high, number.low  # which it often is
        while low < high:
            smaller = number <= middle
            found = middle if smaller is True else None if smaller is False else self._value(number, smaller.term)
            if found is None:
                low = middle + 1
            else:
                high = found
            middle = (low + high) // 2
        return int(low)

    def _value(self, number: Any, condition: Term) -> int | None:
        """What a number can be where a condition holds, if it can hold."""
        self.solver.push()
        self.solver.assert_formula(condition)
        bits = width(number.term)
        found = int(self.solver.get_value(number.term).value(10)) if self._satisfiable() else None
        self.solver.pop()
        return found if found is None or not found >> bits - 1 else found - (1 << bits)


_running: list[Explorer] = []
_ends: list[float] = []  # when, by time.thread_time, what is followed must be


@contextmanager
def until(end: float) -> Iterator[None]:
    """Follow functions no longer than to a time of `time.thread_time`: then OutOfTime is raised."""
    _ends.append(end)
    try:
        yield
    finally:
        _ends.pop()


def given() -> tuple[Term, ...]:
    """What holds on the path that is being followed: the assumptions, and the answers so far; nothing outside."""
    return _running[-1].holds if _running else ()


def explorer() -> Explorer:
    """The run that is going on."""
    if not _running:
        raise TypeError("a question about an integer that is not known is asked outside of `paths`")
    return _running[-1]


@contextmanager
def _exploring(explorer: Explorer) -> Iterator[None]:
    _running.append(explorer)
    try:
        yield
    finally:
        _running.pop()


def paths(function: Callable[[], Result], assumptions: Sequence[Term] = ()) -> list[Path[Result]]:
    """What a function returns, by the conditions under which it does: together they are all that is possible.

    assumptions: what holds of the integers that it is run on.
    """
    found: list[Path[Result]] = []
    waiting: list[list[bool]] = [[]]
    known: _KnownBounds = {}
    while waiting:
        explorer = Explorer(assumptions, waiting.pop(), known)
        with _exploring(explorer):
            result = function()
        found.append(Path(both(*explorer.conditions) if explorer.conditions else true(), result))
        waiting += explorer.others
    return found
