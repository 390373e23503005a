"""What a comparison found, as a report tells it: the first wrong results, and what would explain them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from hwsim.cases.bins.labels import labels
from hwsim.cases.bins.plan import GROUPS
from hwsim.cases.case import Case
from hwsim.readings import Consistent, consistent
from hwsim.report import CoverageGroup, Mismatch, Row, RunReport, coverage_groups
from hwsim.report.cases import explain_command, wrong_result
from hwsim.spec import Unit
from hwsim.vectors.check import Comparison
from hwsim.vectors.stored import Stored
from hwsim.vectors.stream import Judged

EXPLAINED = 400  # results that explanations are tried on; as many right ones beside them
TOLD = 10  # wrong results that are reported


@dataclass(frozen=True)
class Missed:
    """A wrong result. got: None where bits of it are unknown. place: where it stood."""

    case: Case
    expected: int
    got: int | None
    text: str
    place: str


@dataclass
class Findings:
    """What was compared, by whom it was answered, and what came of it.

    wrong: of `compared` results. first: some of those. right: some right results, by case and code. hints: what they
    have in common beyond the arithmetic.
    """

    unit: Unit
    suite: str
    driver: str
    planned: int
    compared: int
    wrong: int
    first: list[Missed]
    right: list[tuple[Case, int]]
    seed: int | None = None
    hints: list[str] = field(default_factory=list)
    coverage: tuple[CoverageGroup, ...] = ()

    @property
    def row(self) -> Row:
        """The comparison as a row of a report."""
        return Row(
            unit=self.unit.name,
            suite=self.suite,
            driver=self.driver,
            planned=self.planned,
            compared=self.compared,
            mismatches=self.wrong,
            notes=tuple(self.hints),
        )

    def explanations(self) -> list[Consistent]:
        """The known semantics that explain the results, or the best few; none where nothing is wrong."""
        known = [(one.case, one.got) for one in self.first if one.got is not None][:EXPLAINED]
        if not known:
            return []
        pairs: list[tuple[Case, int]] = [
            *[(case, code) for case, code in known if code is not None],
            *self._some_right(),
        ]
        return consistent(self.unit, [case for case, _ in pairs], [code for _, code in pairs], range(len(known)))

    def _some_right(self) -> list[tuple[Case, int]]:
        step = max(1, len(self.right) // EXPLAINED)
        return self.right[::step][:EXPLAINED]

    def mismatches(self, again: str, called: str, found: Sequence[Consistent]) -> list[Mismatch]:
        """The first wrong results. again: the command that compares again. called: what names the unit in a command."""
        said = tuple(sentence(one) for one in found)
        return [
            wrong_result(
                self.unit,
                one.case,
                one.expected,
                one.got,
                one.text,
                suite=self.suite,
                driver=self.driver,
                where=one.place,
                semantics=said,
                again=again,
                explain=explain_command(self.unit, called, one.case),
            )
            for one in self.first[:TOLD]
        ]

    def report(self, again: str, mismatches: Sequence[Mismatch]) -> RunReport:
        """All of it."""
        return RunReport(
            title=f"hwsim check: {self.driver} against {self.suite} of {self.unit.name}",
            command=again,
            version=version("hwsim"),
            seed=self.seed,
            units=(self.unit.model_dump(mode="json", exclude_unset=True),),
            rows=(self.row,),
            coverage=self.coverage,
            mismatches=tuple(mismatches),
        )


def sentence(one: Consistent) -> str:
    """`lost bits floored (explains 512 of 520 ...)`: an explanation, and how much it explains."""
    if one.everything:
        return f"{one.name}: {one.description}"
    return f"{one.name}: explains {one.right:,} of {one.of:,} results"


def of_set(verdict: Comparison, driver: str) -> Findings:
    """What a comparison with a vector set found. driver: the file of results."""
    known = verdict.known
    manifest = known.manifest
    first = [
        Missed(known.case(one.case), one.expected, one.got, one.text, f"line {one.line} of {driver}")
        for one in verdict.first[: max(EXPLAINED, TOLD)]
    ]
    return Findings(
        unit=known.unit,
        suite=str(manifest["suite"]),
        driver=driver,
        planned=known.cases,
        compared=verdict.compared,
        wrong=verdict.wrong,
        first=first,
        right=[(known.case(at), int(known.expected[at], 16)) for at in verdict.right] if verdict.wrong else [],
        seed=int(manifest["seed"]),
        hints=_missing(verdict) + verdict.hints,
        coverage=_coverage(known),
    )


def _missing(verdict: Comparison) -> list[str]:
    if verdict.missing is None:
        return []
    known = verdict.known
    return [
        f"{known.cases - verdict.compared:,} results are missing; the first is that of {known.name(verdict.missing)}; "
        f"the last one is at line {verdict.last_line}"
    ]


def of_stream(judged: Judged) -> Findings:
    """What came back through a pipe."""
    first = [Missed(one.case, expected, one.code, "", f"line {one.line}") for one, expected in judged.first[:EXPLAINED]]
    return Findings(
        unit=judged.unit,
        suite="through a pipe",
        driver="the pipe",
        planned=max(judged.compared, 1),
        compared=judged.compared,
        wrong=judged.wrong,
        first=first,
        right=judged.right,
    )


def _coverage(known: Stored) -> tuple[CoverageGroup, ...]:
    """The set's coverage, by its manifest."""
    held: dict[str, Any] | None = known.manifest.get("coverage")
    if not held:
        return ()
    planned: list[tuple[str, str, bool | None, str]] = []
    hits: dict[str, int] = {}
    for group in GROUPS:
        for name, count in held["bins"].get(group, {}).items():
            planned.append((group, name, None, ""))
            hits[name] = count
        for reason, names in held["unreachable"].get(group, {}).items():
            planned += [(group, name, False, reason) for name in names]
    said = labels(name for _, name, _, _ in planned)
    return coverage_groups(planned, hits, unit=known.unit.name, **said)
