"""Judges captured results: for every rule, finds the candidates that explain them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hwsim.explain.candidate import Candidate
from hwsim.explain.evidence import Evidence, Example
from hwsim.explain.questions import QUESTIONS, Question
from hwsim.explain.silicon.cases import as_case
from hwsim.explain.silicon.results import Captured
from hwsim.spec import Unit

MOST_STEPS = 8  # away from the unit as specified
SAMPLE = 1000  # cases that were not designed for a rule, by which a step is judged beside the designed cases


@dataclass(frozen=True)
class Standing:
    """A candidate's standing among the results. right: cases of its rule that it explains, of `of`.

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
    """The standings of the candidates of a rule."""

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
    evidence = Evidence(unit, [as_case(case) for case in captured.cases], captured.codes, whole=True)
    tags = [case.tag for case in captured.cases]
    rows = captured.stable
    names = {rule.name for rule in rules}
    telling = [indices for indices in rows if tags[indices] in names] + [
        indices for indices in rows if tags[indices] not in names
    ][:SAMPLE]
    best, adopted = Candidate("as specified", unit), dict[str, str]()
    right = evidence.right(best, telling)
    for _ in range(MOST_STEPS):
        if right == len(telling):
            break
        steps = []
        for rule in rules:
            among = _among(rule, unit, best)
            steps += [(evidence.right(candidate, telling), rule.name, candidate) for candidate in among]
            tick()
        most, name, candidate = max(steps, key=lambda step: step[0], default=(0, "", best))
        if most <= right:
            break
        right, best, adopted[name] = most, candidate, candidate.name
    verdicts = tuple(
        _verdict(rule, unit, best, evidence, [indices for indices in rows if tags[indices] == rule.name], rows)
        for rule in rules
    )
    wrong = evidence.mismatches(best, rows)
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
    return [replace(candidate, flaw=best.flaw) for candidate in candidates]


def _verdict(
    rule: Question, unit: Unit, best: Candidate, evidence: Evidence, designed: list[int], rows: list[int]
) -> QuestionVerdict:
    """Compare the candidates of a rule, with all other settings as in the best unit. designed: cases for the rule."""
    # Where no case was designed for the rule, any case may refute a candidate.
    telling, others = (designed, sorted({*rows} - {*designed})) if designed else (rows, [])
    wrong = [(candidate, evidence.mismatches(candidate, telling)) for candidate in _among(rule, unit, best)]
    standings = []
    for candidate, failures in wrong:
        elsewhere: list[Example] = []
        survives = bool(telling) and not failures
        if survives and (candidate.unit, candidate.flaw) != (best.unit, best.flaw):
            # A candidate that explains the cases of its own rule may still be refuted by other cases.
            elsewhere = evidence.mismatches(candidate, others)
            survives = not elsewhere
        example = next(iter(failures or elsewhere), None) or _refuted(candidate, wrong)
        standings.append(Standing(candidate, len(telling) - len(failures), len(telling), survives, example))
    return QuestionVerdict(rule, tuple(standings))


def _refuted(candidate: Candidate, wrong: Sequence[tuple[Candidate, list[Example]]]) -> Example | None:
    return next((failures[0] for rival, failures in wrong if failures and rival is not candidate), None)
