"""What a comparison found, as a report tells it: the first wrong results, and what would explain them all."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import version
from typing import NamedTuple

from hwsim.cases.case import Case
from hwsim.explain import CodeReading, CoverageGroup, FaultKind, Mismatch, Row, RunReport
from hwsim.explain.diagnosis import Progress, diagnose
from hwsim.explain.facts import Observation
from hwsim.explain.mismatches import explain_command, fault_kinds, wrong_result
from hwsim.spec import Unit

EXPLAINED = 400  # wrong results that are kept, for explanations to be tried on; as many right ones beside them
TOLD = 10  # wrong results that are reported


class Wrong(NamedTuple):
    """A wrong result. got: None where bits of it are unknown, and `text` is what was said. place: where it stood."""

    case: Case
    expected: int
    got: int | None
    text: str
    place: str


@dataclass
class Findings:
    """What was compared, by whom it was answered, and what came of it.

    wrong: of `compared` results. first: the first of those. right: some right results, by case and code. hints: what
    they have in common beyond the arithmetic, and what was not compared.
    """

    unit: Unit
    suite: str
    driver: str
    planned: int = 1
    seed: int | None = None
    compared: int = 0
    wrong: int = 0
    first: list[Wrong] = field(default_factory=list)
    right: list[tuple[Case, int]] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    coverage: tuple[CoverageGroup, ...] = ()

    def add(self) -> bool:
        """Count a wrong result. Whether it is one of the first, which are kept."""
        self.wrong += 1
        return self.wrong <= EXPLAINED

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

    def kinds(self, progress: Progress | None = None) -> tuple[FaultKind, ...]:
        """The kinds of wrong results, with what explains each; none where nothing is wrong."""
        known = [Observation(one.case, one.got) for one in self.first if one.got is not None]
        right = self.right[:: max(1, len(self.right) // EXPLAINED)][:EXPLAINED]
        return fault_kinds(diagnose(self.unit, [*known, *(Observation(*one) for one in right)], progress))

    def mismatches(self, again: str, called: str) -> list[Mismatch]:
        """The first wrong results. again: the command that compares again. called: what names the unit in a command."""
        return [
            wrong_result(
                self.unit,
                one.case,
                one.expected,
                CodeReading(code=one.text or "unknown", value="unknown bits") if one.got is None else one.got,
                suite=self.suite,
                driver=self.driver,
                where=one.place,
                again=again,
                explain=explain_command(self.unit, called, one.case),
            )
            for one in self.first[:TOLD]
        ]

    def report(self, again: str, called: str, progress: Progress | None = None) -> RunReport:
        """All of it. again: the command that compares again. called: what names the unit in a command.

        progress: called with what is being done, as finding names takes its time.
        """
        return RunReport(
            title=f"Check of the results in {self.driver}: {self.suite} of {self.unit.name}",
            command=again,
            version=version("hwsim"),
            seed=self.seed,
            units=(self.unit.model_dump(mode="json", exclude_unset=True),),
            rows=(self.row,),
            coverage=self.coverage,
            mismatches=tuple(self.mismatches(again, called)),
            kinds=self.kinds(progress),
        )
