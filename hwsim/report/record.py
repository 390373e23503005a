"""What was compared and what came of it, as plain data: rows, coverage, mismatches.

Every text is made fit for XML, HTML and JSON where it enters, and what contradicts itself is refused there: a row that
counts mismatches of which none is told, a mismatch of no row, a bin that was hit though it cannot be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from hwsim.errors import InputError
from hwsim.report.explanation_json import ExplanationJson
from hwsim.report.fit import Text, fit

SCHEMA = "hwsim-report/1"

Count = Annotated[int, Field(ge=0)]
Specification = Annotated[dict[str, Any], BeforeValidator(fit)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Record(BaseModel):
    """Frozen, and with no other keys than those named."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def changed(self, **changes: Any) -> Self:
        """The same with other values, which are checked as the first ones were."""
        return type(self).model_validate(dict(self) | changes)


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
        return f"{self.mismatches} mismatches; {self.compared} of {self.planned} compared"


class CountedBin(Record):
    """Something that a run should have met.

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
    """Bins of one kind. unit: whose, where a report is of several. axes: what the places' rows and columns are."""

    name: Text
    title: Text = ""
    unit: Text = ""
    axes: tuple[Text, Text] = ("row", "column")
    bins: tuple[CountedBin, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        _once((bin.name for bin in self.bins), f"bins of {self.name}")
        return self

    def count(self, state: str) -> int:
        """Bins in a state."""
        return sum(bin.state == state for bin in self.bins)

    def of(self, state: str) -> tuple[CountedBin, ...]:
        """The bins in a state, in order."""
        return tuple(bin for bin in self.bins if bin.state == state)


def _once(names: Iterable[Any], what: str) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise InputError(f"{what} must have names of their own, not {name} more than once")
        seen.add(name)


Planned = tuple[str, str, bool | None, str]


def coverage_groups(
    planned: Iterable[Planned],
    hits: Mapping[str, int],
    *,
    unit: str = "",
    titles: Mapping[str, str] | None = None,
    places: Mapping[str, tuple[str, str]] | None = None,
    axes: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[CoverageGroup, ...]:
    """A plan and what was counted, as groups in the plan's order.

    planned: group, name, reachable (None: not shown either way) and reason. hits: by name; a name without hits was not
    met. titles, axes: by group. places: by name. Raises ValueError for hits of a bin that was not planned, or that was
    said to be unreachable.
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
            unit=unit,
            axes=(axes or {}).get(name, ("row", "column")),
            bins=tuple(bins),
        )
        for name, bins in groups.items()
    )


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
    where: when it was. explanation: the model's, of the case. semantics: what would explain it, a sentence each.
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
    where: Text = ""
    explanation: ExplanationJson | None = None
    semantics: tuple[Text, ...] = ()
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


class RunReport(Record):
    """A run.

    command: what runs it again. units: the full specifications. seed: None where nothing is random.
    mismatches: of every row that has some, at least the first.
    """

    title: Text
    command: Text
    version: Text
    seed: int | None = None
    units: tuple[Specification, ...] = ()
    rows: tuple[Row, ...]
    coverage: tuple[CoverageGroup, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    notes: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _once((" / ".join(row.key) for row in self.rows), "rows")
        _once((f"{group.unit} {group.name}".strip() for group in self.coverage), "coverage groups")
        shown: dict[tuple[str, str, str], int] = {}
        for mismatch in self.mismatches:
            shown[mismatch.key] = shown.get(mismatch.key, 0) + 1
        for row in self.rows:
            count = shown.pop(row.key, 0)
            if count > row.mismatches or (row.mismatches and not count):
                raise InputError(f"{' / '.join(row.key)} counts {row.mismatches} mismatches, of which {count} are told")
        if shown:
            raise InputError(f"a mismatch belongs to {' / '.join(min(shown))}, which is no row")
        return self

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
        return f"{len(self.failed)} of {len(self.rows)} suites failed" if self.failed else "all equal"

    def summary(self) -> dict[str, int | bool | str]:
        """The run in figures: what a machine looks at first."""
        bins = [bin for group in self.coverage for bin in group.bins]
        return {
            "passed": self.passed,
            "verdict": self.verdict,
            "suites": len(self.rows),
            "suites_passed": len(self.rows) - len(self.failed),
            "planned": sum(row.planned for row in self.rows),
            "compared": sum(row.compared for row in self.rows),
            "mismatches": sum(row.mismatches for row in self.rows),
            **{f"bins_{state}": sum(bin.state == state for bin in bins) for state in STATES},
        }

    def of(self, row: Row) -> tuple[Mismatch, ...]:
        """The mismatches of a row that are told."""
        return tuple(mismatch for mismatch in self.mismatches if mismatch.key == row.key)


STATES = ("hit", "missed", "open", "unreachable")
