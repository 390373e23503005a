"""Differences as a report has them: single mismatches, kinds of wrong results with what explains them, waivers."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from hwsim.errors import InputError
from hwsim.report.explanation_json import ExplanationJson
from hwsim.report.fit import Text
from hwsim.report.frozen import Count, Record
from hwsim.words import counted


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
