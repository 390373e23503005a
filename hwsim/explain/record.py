"""What was compared and what came of it, as plain data: rows, coverage, mismatches, what was left out.

It is the one record of a run: the terminal, the page, JSON and JUnit XML show what is here, and count nothing of
their own. Every text is made fit for XML, HTML and JSON where it enters, and what contradicts itself is refused
there: a row that compared more than was planned, or that counts mismatches of which none is told; a mismatch of no
row, a minimal case of what passed, a suite that ran and was left out, explanations where nothing failed, a bin that
was hit though it cannot be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, model_validator

from hwsim.base.errors import InputError
from hwsim.base.text import counted
from hwsim.explain.frozen import Count, Record, Text, fit, named_once
from hwsim.explain.stages import ExplanationJson

STATES = ("hit", "missed", "open", "unreachable")


class CountedBin(Record):
    """An event that a run should have met.

    state: `hit`; `missed`, though it can be met; `unreachable`, and reason says why; `open`, not met, and nobody has
    shown whether it can be. place: the labels of a row and a column, where bins are the cells of a table (pairs of
    lanes).
    """

    name: Text
    hits: Count = 0
    state: Literal["hit", "missed", "unreachable", "open"]
    reason: Text = ""
    place: tuple[Text, Text] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.hits > 0) != (self.state == "hit"):
            raise InputError(f"bin {self.name} was hit {self.hits} times, so that it must not be {self.state}")
        if self.state == "unreachable" and not self.reason:
            raise InputError(f"bin {self.name} is unreachable: reason must say why")
        return self


class CoverageGroup(Record):
    """Bins of one kind.

    meaning: what its bins are, and the words of their names. unit: whose, where a report is of several. axes: what the
    places' rows and columns are.
    """

    name: Text
    title: Text = ""
    meaning: Text = ""
    unit: Text = ""
    axes: tuple[Text, Text] = ("row", "column")
    bins: tuple[CountedBin, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        named_once((bin.name for bin in self.bins), f"bins of {self.name}")
        return self

    @property
    def counts(self) -> BinCounts:
        """Its bins by their states."""
        return bin_counts([self])

    def of(self, state: str) -> tuple[CountedBin, ...]:
        """The bins in a state, in order."""
        return tuple(bin for bin in self.bins if bin.state == state)


class BinCounts(NamedTuple):
    """The number of bins in each state. A bin can be reached if it was hit, or if it is known that it can be."""

    hit: int = 0
    missed: int = 0
    open: int = 0
    unreachable: int = 0

    @property
    def reachable(self) -> int:
        """Bins that are known to be reachable."""
        return self.hit + self.missed

    def __str__(self) -> str:
        still = f", {self.open:,} open" if self.open else ""
        never = f", {self.unreachable:,} unreachable" if self.unreachable else ""
        return f"{self.hit:,} of {self.reachable:,} reachable bins hit{still}{never}"


def bin_counts(groups: Iterable[CoverageGroup]) -> BinCounts:
    """The bins of some groups, counted by their states."""
    states = Counter[str](bin.state for group in groups for bin in group.bins)
    return BinCounts(*(states[state] for state in STATES))


Planned = tuple[str, str, bool | None, str]


def coverage_groups(
    planned: Iterable[Planned],
    hits: Mapping[str, int],
    *,
    unit: str = "",
    titles: Mapping[str, str] | None = None,
    meanings: Mapping[str, str] | None = None,
    places: Mapping[str, tuple[str, str]] | None = None,
    axes: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[CoverageGroup, ...]:
    """A plan and what was counted, as groups in the plan's order.

    planned: group, name, reachable (None: not shown either way) and reason. hits: by name; a name without hits was not
    met. titles, meanings, axes: by group. places: by name.

    Raises ValueError for hits of a bin that was not planned, or that was said to be unreachable.
    """
    groups: dict[str, list[CountedBin]] = {}
    states = {True: "missed", False: "unreachable", None: "open"}
    left = dict(hits)
    for group, name, reachable, reason in planned:
        met = left.pop(name, 0)
        state = "hit" if met and reachable is not False else states[reachable]
        values = {"name": name, "hits": met, "state": state, "reason": reason, "place": (places or {}).get(name)}
        groups.setdefault(group, []).append(CountedBin.model_validate(values))
    if left:
        raise InputError(f"hits must be of bins that were planned, not of {sorted(left)[0]}")
    return tuple(
        CoverageGroup(
            name=name,
            title=(titles or {}).get(name, ""),
            meaning=(meanings or {}).get(name, ""),
            unit=unit,
            axes=(axes or {}).get(name, ("row", "column")),
            bins=tuple(bins),
        )
        for name, bins in groups.items()
    )


class Kills(Record):
    """The likely mistakes of a unit that cases kill, and the others.

    cases: that were looked at. killed: the name of a case that kills each, in which a design with it returns something
    else. equivalent: the reasons why no case can. alive: the names of those that other cases kill, directed ones or
    some that were looked for. open: the names of the others: no case that was looked at kills them. tried: how many
    cases were looked for, beyond the directed ones.
    """

    unit: Text
    cases: Count
    killed: dict[Text, Text]
    equivalent: dict[Text, Text]
    open: tuple[Text, ...]
    alive: tuple[Text, ...] = ()
    tried: Count = 0

    @property
    def every(self) -> int:
        """All likely mistakes of the unit."""
        return len(self.killed) + len(self.equivalent) + len(self.alive) + len(self.open)

    @property
    def line(self) -> str:
        """One line for reports."""
        counts = [f"{len(self.equivalent):,} proved equivalent", f"{len(self.open):,} open"]
        if self.open and self.tried:
            counts[-1] += f" after {self.tried:,} more cases"
        if self.alive:
            counts.insert(1, f"{len(self.alive):,} that other cases kill")
        return f"kills {len(self.killed):,} of {self.every:,} likely mistakes, {', '.join(counts)}"

    @property
    def left(self) -> tuple[str, ...]:
        """The names of those that are neither killed nor shown to be equivalent."""
        return (*self.alive, *self.open)

    def named(self, most: int = 6) -> str:
        """The line, with the names of those that are left, at most so many."""
        rest = f" and {len(self.left) - most:,} more" if len(self.left) > most else ""
        return self.line + (f": {'; '.join(self.left[:most])}{rest}" if self.left else "")


class WaivedDifference(Record):
    """A known difference that is accepted. date, until: days; until is empty where it has no end. results: waived."""

    name: Text
    reason: Text
    date: Text
    until: Text = ""
    results: Count

    def __str__(self) -> str:
        until = f" until {self.until}" if self.until else ""
        return f"{counted(self.results, 'result')} waived: {self.name} (since {self.date}{until}: {self.reason})"


class KnownCause(Record):
    """A known cause that explains results. right: how many it explains, of those that it was tried on."""

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
        """True if it explains all of them."""
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
    again, explain: the commands that run it again and that show every stage. microscope: the case as what stands behind
    the `#` of the microscope's address.
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
    microscope: Text = ""

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
    named. minimal: the simplest case that fails in this way, which was looked for after the suites and is none of
    theirs.
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
        """True if everything that was planned was compared, and agreed."""
        return self.planned > 0 and self.compared == self.planned and self.mismatches == 0

    @property
    def key(self) -> tuple[str, str, str]:
        """The key that no other row of a report has: unit, driver, suite."""
        return self.unit, self.driver, self.suite

    @property
    def rate(self) -> float:
        """Results compared a second."""
        return self.compared / self.seconds if self.seconds else 0.0

    @property
    def verdict(self) -> str:
        """The outcome of the row, in a line."""
        waived = f"; {self.waived:,} waived" if self.waived else ""
        return f"{counted(self.mismatches, 'mismatch')}{waived}; {self.compared:,} of {self.planned:,} compared"


class LeftOut(Record):
    """A suite, or cases of one, that were left out. cases: how many of a suite that ran; 0 where the whole suite was.

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
        """The key of the row that it belongs to; there may be no such row."""
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
    waivers: the known differences that the run was to accept. kills: of the likely mistakes of each unit, by what was
    compared.
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
    kills: tuple[Kills, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    kinds: tuple[FaultKind, ...] = ()
    notes: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        named_once((" / ".join(row.key) for row in self.rows), "rows")
        named_once((f"{group.unit} {group.name}".strip() for group in self.coverage), "coverage groups")
        named_once((kills.unit for kills in self.kills), "units whose mistakes are counted")
        self._mismatches_are_of_rows()
        rows = {row.key for row in self.rows}
        for suite in self.left_out:
            if (suite.key in rows) != (suite.cases > 0):
                rule = (
                    "ran, so that so many of its cases must be left out" if suite.key in rows else "did not run at all"
                )
                raise InputError(f"{' / '.join(suite.key)} {rule}, not {suite.cases}")
        self._kinds_are_of_what_failed()
        waived, explained = sum(row.waived for row in self.rows), sum(waiver.results for waiver in self.waivers)
        if waived != explained:
            raise InputError(f"waivers must explain the {waived} results that are waived, not {explained}")
        return self

    def _kinds_are_of_what_failed(self) -> None:
        failed = {(row.unit, row.driver) for row in self.failed}
        if self.kinds and not failed:
            raise InputError(f"a kind has {self.kinds[0].wrong} wrong results, but every suite passed")
        for mismatch in self.minimal:
            if (mismatch.unit, mismatch.driver) not in failed:
                raise InputError(f"the minimal case is of {mismatch.unit} on {mismatch.driver}, where nothing failed")

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
        """True if there was something to compare, all of it came and was equal, and no required suite is missing."""
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
        return tuple(row for row in self.rows if not row.passed)

    @property
    def verdict(self) -> str:
        """The outcome of the run, in words. `all equal` only where nothing was left out."""
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
        return RunFigures(
            passed=self.passed,
            verdict=self.verdict,
            suites=len(self.rows),
            suites_passed=len(self.rows) - len(self.failed),
            suites_left_out=len(self.whole_left_out),
            suites_lacking=len(self.lacking),
            planned=sum(row.planned for row in self.rows),
            compared=sum(row.compared for row in self.rows),
            cases_left_out=sum(suite.cases for suite in self.left_out),
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
        """The records of what was left out of a row's suite."""
        return tuple(suite for suite in self.left_out if suite.key == row.key)

    @property
    def pictured(self) -> bool:
        """True if a mismatch has a picture of its window."""
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
