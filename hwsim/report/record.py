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
from hwsim.report.explanation_json import ExplanationJson
from hwsim.report.fit import Text, fit
from hwsim.report.frozen import Count, Record, named_once
from hwsim.words import counted

SCHEMA = "hwsim-report/3"

Specification = Annotated[dict[str, Any], BeforeValidator(fit)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Row(Record):
    """One suite on one driver.

    driver: a simulator, a device, a file of results. planned, compared: results. cycles: 0 where there is no clock.
    notes: what a reader should know of it beside mismatches, such as the end of a log.
    """

    unit: Text
    suite: Text
    driver: Text
    planned: Count
    compared: Count
    mismatches: Count
    cycles: Count = 0
    seconds: Seconds = 0.0
    notes: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _no_more_than_planned(self) -> Self:
        if self.compared > self.planned:
            raise InputError(f"{' / '.join(self.key)} compared {self.compared} results of {self.planned}")
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
        return f"{counted(self.mismatches, 'mismatch')}; {self.compared:,} of {self.planned:,} compared"


class LeftOut(Record):
    """What a suite left out. cases: how many of a suite that ran; 0 where the whole suite was left out."""

    unit: Text
    suite: Text
    driver: Text
    cases: Count = 0
    reason: Text = Field(min_length=1)

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


class KnownCause(Record):
    """Something known that explains results. right: how many it explains, of those that it was tried on."""

    name: Text
    description: Text
    right: Count
    of: Annotated[int, Field(ge=1)]

    @model_validator(mode="after")
    def _no_more_than_tried(self) -> Self:
        if self.right > self.of:
            raise InputError(f"{self.name} explains {self.right} results of {self.of}")
        return self

    @property
    def everything(self) -> bool:
        """Whether it explains all of them."""
        return self.right == self.of

    def __str__(self) -> str:
        return f"{self.name}: {self.description if self.everything else f'{self.right:,} of {self.of:,}'}"


class Element(Record):
    """One element of an operand that is not zero: its index, its code and its value."""

    index: Count
    code: Text
    value: Text


class Operand(Record):
    """An operand, decoded, without its zeros. length: elements with zeros; 0 for one that is a single number."""

    name: Text
    format: Text
    length: Count
    elements: tuple[Element, ...]


class CodeReading(Record):
    """A code and its value. fields: the bits of sign, exponent, fraction and padding, or of the whole code."""

    code: Text
    value: Text
    fields: tuple[Text, ...] = ()

    def __str__(self) -> str:
        return f"{self.code} ({self.value})" if self.value else self.code


class File(Record):
    """A file that a run left: what it is, and its path, relative to the report or absolute."""

    what: Text
    path: Text


class Mismatch(Record):
    """One difference.

    what: `result`, or which signal. expected, got: of `result`, in format. ulp: got less expected, in numbers of the
    format; None where that has no meaning. stage: the first that differs, in words; group: the sum in which it does.
    meaning: what sum the result stands for. remedy: what to look at, or to do. where: when it was. explanation: the
    model's, of the case.
    again, explain: the commands that run it again and that show every stage.
    """

    unit: Text
    suite: Text
    driver: Text
    case: Text
    operands: tuple[Operand, ...] = ()
    what: Text = "result"
    format: Text = ""
    expected: CodeReading
    got: CodeReading
    ulp: int | None = None
    context: Text = ""
    stage: Text = ""
    group: Count | None = None
    meaning: Text = ""
    remedy: Text = ""
    where: Text = ""
    explanation: ExplanationJson | None = None
    files: tuple[File, ...] = ()
    notes: tuple[Text, ...] = ()
    again: Text = ""
    explain: Text = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The row that it belongs to."""
        return self.unit, self.driver, self.suite

    @property
    def distance(self) -> str:
        """`+160 ulp of e8m13`, or empty."""
        return "" if self.ulp is None else f"{self.ulp:+d} ulp of {self.format}"


class FaultKind(Record):
    """Wrong results of one kind.

    wrong: how many of them, of `of` that were looked at, in suites and in cases near them. causes: names that explain
    all of them, the likeliest first; none where nothing known does. facts: what they have in common, where nothing is
    named. minimal: the simplest case that fails so, which was looked for after the suites, and is none of them.
    """

    wrong: Annotated[int, Field(ge=1)]
    of: Count
    causes: tuple[KnownCause, ...] = ()
    facts: tuple[Text, ...] = ()
    minimal: Mismatch | None = None

    @model_validator(mode="after")
    def _no_more_than_looked_at(self) -> Self:
        if self.wrong > self.of:
            raise InputError(f"a kind has {self.wrong} wrong results of {self.of}")
        return self


class RunReport(Record):
    """A run.

    command: what runs it again. units: the full specifications. seed: None where nothing is random. seconds: from its
    start to its report; 0 where nobody looked at the clock. left_out: what drivers were not given, and why.
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
        """Whether there was something to compare, and all of it was compared and equal."""
        return bool(self.rows) and all(row.passed for row in self.rows)

    @property
    def failed(self) -> tuple[Row, ...]:
        """The rows that did not pass."""
        return tuple(row for row in self.rows if not row.passed)

    @property
    def verdict(self) -> str:
        """What came of it, in some words."""
        if not self.rows:
            return "nothing was compared"
        return f"{len(self.failed)} of {counted(len(self.rows), 'suite')} failed" if self.failed else "all equal"

    @property
    def figures(self) -> RunFigures:
        """The run in figures."""
        whole = [one for one in self.left_out if not one.cases]
        return RunFigures(
            passed=self.passed,
            verdict=self.verdict,
            suites=len(self.rows),
            suites_passed=len(self.rows) - len(self.failed),
            suites_left_out=len(whole),
            planned=sum(row.planned for row in self.rows),
            compared=sum(row.compared for row in self.rows),
            cases_left_out=sum(one.cases for one in self.left_out),
            mismatches=sum(row.mismatches for row in self.rows),
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

    suites_left_out: whole suites that did not run. planned, compared, mismatches: of all suites. cases_left_out: of
    the suites that ran, cases that were not planned.
    """

    passed: bool
    verdict: str
    suites: int
    suites_passed: int
    suites_left_out: int
    planned: int
    compared: int
    cases_left_out: int
    mismatches: int
    bins: BinCounts

    @property
    def not_compared(self) -> int:
        """Results that were planned and did not come."""
        return self.planned - self.compared
