"""What was compared and what came of it, as plain data: rows, coverage, mismatches, what was left out.

It is the one record of a run: the terminal, the page, JSON and JUnit XML show what is here, and count nothing of their
own. Every text is made fit for XML, HTML and JSON where it enters, and what contradicts itself is refused there: a row
that compared more than was planned, or that counts mismatches of which none is told; a mismatch of no row, a minimal
case of what passed, a suite that ran and was left out, explanations where nothing failed, a bin that was hit though it
cannot be.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Self

from pydantic import BeforeValidator, Field, model_validator

from hwsim.errors import InputError
from hwsim.report.bins import STATES, BinCounts, CoverageGroup, bin_counts
from hwsim.report.differences import FaultKind, Mismatch, WaivedDifference
from hwsim.report.fit import Text, fit
from hwsim.report.frozen import Count, Record, named_once
from hwsim.words import counted

SCHEMA = "hwsim-report/3"

Specification = Annotated[dict[str, Any], BeforeValidator(fit)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Row(Record):
    """One suite on one driver.

    driver: a simulator, a device, a file of results. planned, compared: results. mismatches: those that no waiver
    explains; waived: wrong results that one does. cycles: 0 where there is no clock.
    notes: what a reader should know of it beside mismatches, such as the end of a log.
    """

    unit: Text
    suite: Text
    driver: Text
    planned: Count
    compared: Count
    mismatches: Count
    waived: Count = 0
    cycles: Count = 0
    seconds: Seconds = 0.0
    notes: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _no_more_than_planned(self) -> Self:
        if self.compared > self.planned:
            raise InputError(f"{' / '.join(self.key)} compared {self.compared} results of {self.planned}")
        if self.waived > self.compared:
            raise InputError(f"{' / '.join(self.key)} waives {self.waived} results, but compared {self.compared}")
        return self

    @property
    def passed(self) -> bool:
        """Whether everything that was planned was compared, and agreed."""
        return self.planned > 0 and self.compared == self.planned and self.mismatches == 0

    @property
    def key(self) -> tuple[str, str, str]:
        """What no other row of a report has: unit, driver, suite."""
        return self.unit, self.driver, self.suite

    @property
    def rate(self) -> float:
        """Results compared a second."""
        return self.compared / self.seconds if self.seconds else 0.0

    @property
    def verdict(self) -> str:
        """What came of it, in a line."""
        waived = f"; {self.waived:,} waived" if self.waived else ""
        return f"{counted(self.mismatches, 'mismatch')}{waived}; {self.compared:,} of {self.planned:,} compared"


class LeftOut(Record):
    """What a suite left out. cases: how many of a suite that ran; 0 where the whole suite was left out.

    required: a whole suite that the run does not pass without. One is not that was left out by the user's own word, or
    that makes no sense of the design.
    """

    unit: Text
    suite: Text
    driver: Text
    cases: Count = 0
    reason: Text = Field(min_length=1)
    required: bool = False

    @model_validator(mode="after")
    def _only_whole_suites_are_required(self) -> Self:
        if self.required and self.cases:
            raise InputError(f"{' / '.join(self.key)} ran: it must not be a required suite that was left out")
        return self

    @property
    def key(self) -> tuple[str, str, str]:
        """The row that it belongs to, or that there is none of."""
        return self.unit, self.driver, self.suite

    @property
    def what(self) -> str:
        """`12 cases left out: an addend other than +0`, or `left out: ...` of a whole suite."""
        return f"{counted(self.cases, 'case') + ' ' if self.cases else ''}left out: {self.reason}"

    def __str__(self) -> str:
        return f"{self.unit}: {self.suite} on {self.driver}: {self.what}"


class RunReport(Record):
    """A run.

    command: what runs it again. units: the full specifications. seed: None where nothing is random. seconds: from its
    start to its report; 0 where nobody looked at the clock. left_out: what drivers were not given, and why.
    waivers: the known differences that the run was to accept.
    mismatches: of every row that has some, at least the first. kinds: of wrong results, what would explain each
    and the simplest case of each, the largest first, and last the one that nothing explains.
    """

    title: Text
    command: Text
    version: Text
    seed: int | None = None
    seconds: Seconds = 0.0
    units: tuple[Specification, ...] = ()
    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...] = ()
    waivers: tuple[WaivedDifference, ...] = ()
    coverage: tuple[CoverageGroup, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    kinds: tuple[FaultKind, ...] = ()
    notes: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        named_once((" / ".join(row.key) for row in self.rows), "rows")
        named_once((f"{group.unit} {group.name}".strip() for group in self.coverage), "coverage groups")
        self._mismatches_are_of_rows()
        rows = {row.key for row in self.rows}
        for one in self.left_out:
            if (one.key in rows) != (one.cases > 0):
                rule = "ran, so that so many of its cases must be left out" if one.key in rows else "did not run at all"
                raise InputError(f"{' / '.join(one.key)} {rule}, not {one.cases}")
        self._kinds_are_of_what_failed()
        waived, explained = sum(row.waived for row in self.rows), sum(waiver.results for waiver in self.waivers)
        if waived != explained:
            raise InputError(f"waivers must explain the {waived} results that are waived, not {explained}")
        return self

    def _kinds_are_of_what_failed(self) -> None:
        failed = {(row.unit, row.driver) for row in self.failed}
        if self.kinds and not failed:
            raise InputError(f"a kind has {self.kinds[0].wrong} wrong results, but every suite passed")
        for one in self.minimal:
            if (one.unit, one.driver) not in failed:
                raise InputError(f"the minimal case is of {one.unit} on {one.driver}, where nothing failed")

    def _mismatches_are_of_rows(self) -> None:
        shown: dict[tuple[str, str, str], int] = {}
        for mismatch in self.mismatches:
            shown[mismatch.key] = shown.get(mismatch.key, 0) + 1
        for row in self.rows:
            count = shown.pop(row.key, 0)
            if count > row.mismatches or (row.mismatches and not count):
                raise InputError(f"{' / '.join(row.key)} counts {row.mismatches} mismatches, of which {count} are told")
        if shown:
            raise InputError(f"a mismatch belongs to {' / '.join(min(shown))}, which is no row")

    @property
    def passed(self) -> bool:
        """Whether there was something to compare, all of it came and was equal, and no required suite is missing."""
        return bool(self.rows) and all(row.passed for row in self.rows) and not self.lacking

    @property
    def whole_left_out(self) -> tuple[LeftOut, ...]:
        """The suites that did not run at all."""
        return tuple(suite for suite in self.left_out if not suite.cases)

    @property
    def lacking(self) -> tuple[LeftOut, ...]:
        """The required suites that did not run at all."""
        return tuple(suite for suite in self.left_out if suite.required)

    @property
    def failed(self) -> tuple[Row, ...]:
        """The rows that did not pass."""
        return tuple(row for row in self.rows if not row.passed)

    @property
    def verdict(self) -> str:
        """What came of it, in some words. `all equal` only where nothing was left out."""
        ran = counted(len(self.rows), "suite")
        if not self.rows:
            return "nothing was compared"
        if self.failed:
            return f"{len(self.failed)} of {ran} failed"
        if self.lacking:
            return f"incomplete: equal in {ran}, {counted(len(self.lacking), 'required suite')} did not run"
        less = [f"{len(self.whole_left_out)} left out"] if self.whole_left_out else []
        if cases := sum(suite.cases for suite in self.left_out):
            less.append(f"{counted(cases, 'case')} of them left out")
        if waived := sum(row.waived for row in self.rows):
            less.append(f"{counted(waived, 'result')} waived")
        return ", ".join([f"equal in {ran}", *less]) if less else "all equal"

    @property
    def figures(self) -> RunFigures:
        """The run in figures."""
        return RunFigures(
            passed=self.passed,
            verdict=self.verdict,
            suites=len(self.rows),
            suites_passed=len(self.rows) - len(self.failed),
            suites_left_out=len(self.whole_left_out),
            suites_lacking=len(self.lacking),
            planned=sum(row.planned for row in self.rows),
            compared=sum(row.compared for row in self.rows),
            cases_left_out=sum(one.cases for one in self.left_out),
            mismatches=sum(row.mismatches for row in self.rows),
            waived=sum(row.waived for row in self.rows),
            bins=bin_counts(self.coverage),
        )

    def summary(self) -> dict[str, int | bool | str]:
        """The figures by name: what a machine looks at first."""
        figures = self.figures._asdict()
        bins: BinCounts = figures.pop("bins")
        return {
            **figures,
            "not_compared": self.figures.not_compared,
            "bins_reachable": bins.reachable,
            **{f"bins_{state}": count for state, count in zip(STATES, bins, strict=True)},
        }

    @property
    def minimal(self) -> tuple[Mismatch, ...]:
        """The simplest case of each kind that has one."""
        return tuple(kind.minimal for kind in self.kinds if kind.minimal is not None)

    def of(self, row: Row) -> tuple[Mismatch, ...]:
        """The mismatches of a row that are told."""
        return tuple(mismatch for mismatch in self.mismatches if mismatch.key == row.key)

    def not_given(self, row: Row) -> tuple[LeftOut, ...]:
        """What of a row's suite was left out."""
        return tuple(one for one in self.left_out if one.key == row.key)

    @property
    def pictured(self) -> bool:
        """Whether a mismatch has a picture of its window."""
        shown = [mismatch.explanation for mismatch in self.mismatches if mismatch.explanation]
        return any(group.window for explanation in shown for group in explanation.groups)

    @property
    def covered_units(self) -> dict[str, BinCounts]:
        """The bins of each unit that has some."""
        units = dict.fromkeys(group.unit for group in self.coverage)
        return {unit: bin_counts(group for group in self.coverage if group.unit == unit) for unit in units}


class RunFigures(NamedTuple):
    """A run in figures.

    suites_left_out: whole suites that did not run; suites_lacking: those of them that are required. planned,
    compared, mismatches, waived: of all suites. cases_left_out: of the suites that ran, cases that were not planned.
    """

    passed: bool
    verdict: str
    suites: int
    suites_passed: int
    suites_left_out: int
    suites_lacking: int
    planned: int
    compared: int
    cases_left_out: int
    mismatches: int
    waived: int
    bins: BinCounts

    @property
    def not_compared(self) -> int:
        """Results that were planned and did not come."""
        return self.planned - self.compared
