"""What captured results settle: for every rule, the candidates that explain them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hwsim.readings.changes import Candidate
from hwsim.readings.questions import QUESTIONS, Question
from hwsim.readings.silicon.answer import answer
from hwsim.readings.silicon.case import CaptureCase
from hwsim.readings.silicon.store import Captured
from hwsim.spec import Unit

MOST_STEPS = 8  # away from the unit as specified
SAMPLE = 1000  # undesigned cases that a step is judged by, beside the designed ones

Row = tuple[int, CaptureCase, int]


@dataclass(frozen=True)
class Example:
    """A case: its number, what hardware returned, and what a candidate says."""

    case: int
    got: int
    said: int


@dataclass(frozen=True)
class Standing:
    """How a candidate stands. right: cases that it explains, of so many.

    survives: it explains them all, those that were not designed for its rule included.
    example: a case that it does not explain; of a survivor one that refutes another candidate, `said` being that
    one's answer; None where there is none.
    """

    candidate: Candidate
    right: int
    of: int
    survives: bool
    example: Example | None


@dataclass(frozen=True)
class QuestionVerdict:
    """What is known of one rule."""

    rule: Question
    standings: tuple[Standing, ...]

    @property
    def survivors(self) -> list[str]:
        """The candidates that explain everything."""
        return [standing.candidate.name for standing in self.standings if standing.survives]

    @property
    def word(self) -> str:
        """`settled`, `open` or `unexplained`; `no question` for a single candidate."""
        if len(self.standings) < 2:
            return "no question"
        return {0: "unexplained", 1: "settled"}.get(len(self.survivors), "open")


@dataclass(frozen=True)
class Judgement:
    """What the results of one instruction settle.

    start: the unit as specified. best: that which explains most, with what it changes, by rule.
    right: cases that `best` explains, of so many. unexplained: a case that it does not.
    """

    captured: Captured
    start: Unit
    best: Candidate
    adopted: dict[str, str]
    verdicts: tuple[QuestionVerdict, ...]
    right: int
    of: int
    unexplained: Example | None


def judge(
    captured: Captured,
    unit: Unit,
    rules: Sequence[Question] = QUESTIONS,
    tick: Callable[[], None] = lambda: None,
) -> Judgement:
    """Judge every rule by an instruction's results.

    Where the unit as specified does not explain them, it is changed step by step, each time by that candidate of
    any rule that explains most. Then the candidates of each rule are compared, everything else being as the best
    unit has it. tick: called now and then.
    """
    rows = captured.stable
    names = {rule.name for rule in rules}
    telling = [row for row in rows if row[1].tag in names] + [row for row in rows if row[1].tag not in names][:SAMPLE]
    best, adopted = Candidate("as specified", {}, unit), dict[str, str]()
    right = _right(best, telling)
    for _ in range(MOST_STEPS):
        if right == len(telling):
            break
        steps = []
        for rule in rules:
            steps += [(_right(candidate, telling), rule.name, candidate) for candidate in _among(rule, unit, best)]
            tick()
        most, name, candidate = max(steps, key=lambda step: step[0], default=(0, "", best))
        if most <= right:
            break
        right, best, adopted[name] = most, candidate, candidate.name
    verdicts = tuple(_verdict(rule, unit, best, rows) for rule in rules)
    wrong = _wrong(best, rows)
    return Judgement(
        captured=captured,
        start=unit,
        best=best,
        adopted=adopted,
        verdicts=verdicts,
        right=len(rows) - len(wrong),
        of=len(rows),
        unexplained=next(iter(wrong), None),
    )


def _among(rule: Question, unit: Unit, best: Candidate) -> list[Candidate]:
    """A rule's candidates, beside all else that the best unit so far has."""
    found = rule.candidates(unit, best.unit)
    if rule.name == "addend-bits":
        return list(found)
    return [replace(candidate, addend=best.addend) for candidate in found]


def _is(candidate: Candidate, best: Candidate) -> bool:
    return (candidate.unit, candidate.addend) == (best.unit, best.addend)


def _right(candidate: Candidate, rows: Sequence[Row]) -> int:
    return sum(answer(candidate, case) == code for _, case, code in rows)


def _wrong(candidate: Candidate, rows: Sequence[Row]) -> list[Example]:
    said = ((number, code, answer(candidate, case)) for number, case, code in rows)
    return [Example(*one) for one in said if one[1] != one[2]]


def _verdict(rule: Question, unit: Unit, best: Candidate, rows: Sequence[Row]) -> QuestionVerdict:
    """How the candidates of a rule stand, beside all else that the best unit has."""
    # Where no case was designed for the rule, any case may refute a candidate.
    own = [row for row in rows if row[1].tag == rule.name] or list(rows)
    others = [row for row in rows if row[1].tag != rule.name] if len(own) < len(rows) else []
    wrong = [(candidate, _wrong(candidate, own)) for candidate in _among(rule, unit, best)]
    standings = []
    for candidate, failures in wrong:
        elsewhere: list[Example] = []
        survives = bool(own) and not failures
        if survives and not _is(candidate, best):
            # What explains the cases of its own rule may still be refuted by others.
            elsewhere = _wrong(candidate, others)
            survives = not elsewhere
        example = next(iter(failures or elsewhere), None) or _refuted(candidate, wrong)
        standings.append(Standing(candidate, len(own) - len(failures), len(own), survives, example))
    return QuestionVerdict(rule, tuple(standings))


def _refuted(candidate: Candidate, wrong: Sequence[tuple[Candidate, list[Example]]]) -> Example | None:
    return next((failures[0] for other, failures in wrong if failures and other is not candidate), None)
