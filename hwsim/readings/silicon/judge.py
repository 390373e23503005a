"""Judges captured results: for every rule, finds the candidates that explain them."""

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
SAMPLE = 1000  # cases that were not designed for a rule, by which a step is judged beside the designed cases

Row = tuple[int, CaptureCase, int]


@dataclass(frozen=True)
class Example:
    """A mismatch. case: the case's number. got: the hardware's result. said: the candidate's."""

    case: int
    got: int
    said: int


@dataclass(frozen=True)
class Standing:
    """How well a candidate explains the results. right: cases of its rule that it explains, of `of`.

    survives: whether it explains all results, those of cases for other rules included.
    example: a case that it does not explain; for a survivor, a case that refutes another candidate, with that
    candidate's result in `said`; None where there is none.
    """

    candidate: Candidate
    right: int
    of: int
    survives: bool
    example: Example | None


@dataclass(frozen=True)
class QuestionVerdict:
    """How well each candidate of a rule explains the results."""

    rule: Question
    standings: tuple[Standing, ...]

    @property
    def survivors(self) -> list[str]:
        """The names of the candidates that explain all results."""
        return [standing.candidate.name for standing in self.standings if standing.survives]

    @property
    def word(self) -> str:
        """`settled`, `open` or `unexplained`; `no question` for a single candidate."""
        if len(self.standings) < 2:
            return "no question"
        return {0: "unexplained", 1: "settled"}.get(len(self.survivors), "open")


@dataclass(frozen=True)
class Judgement:
    """The judgement of every rule by the results of an instruction.

    start: the unit as specified. best: the unit that explains most. adopted: its changes, by rule.
    right: cases that `best` explains, of `of`. unexplained: a case that it does not explain.
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

    Where the unit as specified does not explain them, it is changed step by step, each time to the candidate of
    any rule that explains most. Then the candidates of each rule are compared, with all other settings as in the
    best unit. tick: called now and then.
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
    """A rule's candidates, with all other settings as in the best unit so far."""
    candidates = rule.candidates(unit, best.unit)
    if rule.name == "addend-bits":
        return list(candidates)
    return [replace(candidate, addend=best.addend) for candidate in candidates]


def _is(candidate: Candidate, best: Candidate) -> bool:
    return (candidate.unit, candidate.addend) == (best.unit, best.addend)


def _right(candidate: Candidate, rows: Sequence[Row]) -> int:
    return sum(answer(candidate, case) == code for _, case, code in rows)


def _wrong(candidate: Candidate, rows: Sequence[Row]) -> list[Example]:
    examples = (Example(number, code, answer(candidate, case)) for number, case, code in rows)
    return [example for example in examples if example.got != example.said]


def _verdict(rule: Question, unit: Unit, best: Candidate, rows: Sequence[Row]) -> QuestionVerdict:
    """Compare the candidates of a rule, with all other settings as in the best unit."""
    # Where no case was designed for the rule, any case may refute a candidate.
    own = [row for row in rows if row[1].tag == rule.name] or list(rows)
    others = [row for row in rows if row[1].tag != rule.name] if len(own) < len(rows) else []
    wrong = [(candidate, _wrong(candidate, own)) for candidate in _among(rule, unit, best)]
    standings = []
    for candidate, failures in wrong:
        elsewhere: list[Example] = []
        survives = bool(own) and not failures
        if survives and not _is(candidate, best):
            # A candidate that explains the cases of its own rule may still be refuted by other cases.
            elsewhere = _wrong(candidate, others)
            survives = not elsewhere
        example = next(iter(failures or elsewhere), None) or _refuted(candidate, wrong)
        standings.append(Standing(candidate, len(own) - len(failures), len(own), survives, example))
    return QuestionVerdict(rule, tuple(standings))


def _refuted(candidate: Candidate, wrong: Sequence[tuple[Candidate, list[Example]]]) -> Example | None:
    return next((failures[0] for other, failures in wrong if failures and other is not candidate), None)
