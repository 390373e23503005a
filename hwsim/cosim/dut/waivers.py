"""Known differences of a user's design: which wrong results are waived, why, since when, and until when.

A waiver is a reading of the specification, or a mistake, by the name that reports give it: it waives the results that
the reading returns. Or it is a predicate of a result: it waives those that it is true of. Only results are waived; a
handshake that is not kept never is.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, model_validator

from hwsim.cases.case import Case
from hwsim.errors import InputError
from hwsim.formats import Class, Format, unpack
from hwsim.formats.codes import is_padded
from hwsim.report.reading import ulps
from hwsim.spec import Unit


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Text = Annotated[str, Field(min_length=1)]
Classes = Annotated[tuple[Class, ...], BeforeValidator(_listed), Field(min_length=1)]
Ulps = Annotated[int, Strict()]


class WaiverPart(BaseModel):
    """A part of a waiver: frozen, with no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class WaivedWhen(WaiverPart):
    """What is true of a result that is waived; of several keys all.

    expected, got: one of these classes, the model's result and the design's. a, b, c: an element of these classes is
    among the operand's. ulp: the least and the greatest distance from the model's result, in ulp of its format.
    """

    expected: Classes | None = None
    got: Classes | None = None
    a: Classes | None = None
    b: Classes | None = None
    c: Classes | None = None
    ulp: tuple[Ulps, Ulps] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> WaivedWhen:
        if not self.model_fields_set:
            keys = ", ".join(type(self).model_fields)
            raise InputError(f"must have one of {keys}: that all results differ is no known difference")
        if self.ulp is not None and self.ulp[0] > self.ulp[1]:
            raise InputError(f"ulp must be [least, greatest], not {list(self.ulp)}")
        return self

    def waives(self, unit: Unit, case: Case, expected: int, got: int) -> bool:
        """Whether a wrong result is of this kind."""
        output, operands = unit.output, unit.operands
        classes: list[tuple[Classes | None, Format, Sequence[int]]] = [
            (self.expected, output, (expected,)),
            (self.got, output, (got,)),
            (self.a, operands.a, case.a),
            (self.b, operands.b, case.b),
        ]
        if operands.addend is not None:
            classes.append((self.c, operands.addend, (case.c,)))
        elif self.c is not None:
            return False
        if not all(wanted is None or _has(fmt, codes, wanted) for wanted, fmt, codes in classes):
            return False
        return self.ulp is None or _within(ulps(output, got, expected), self.ulp)

    @property
    def words(self) -> str:
        """The predicate in a line."""
        data = self.model_dump(mode="json", exclude_none=True)
        return ", ".join(
            f"{key} {(' to ' if key == 'ulp' else ' or ').join(map(str, values))}" for key, values in data.items()
        )


def _has(fmt: Format, codes: Sequence[int], wanted: Sequence[Class]) -> bool:
    return any(is_padded(fmt, code) and unpack(fmt, code).cls in wanted for code in codes)


def _within(distance: int | None, bounds: tuple[int, int]) -> bool:
    return distance is not None and bounds[0] <= distance <= bounds[1]


class Waiver(WaiverPart):
    """A known difference.

    reading: its name in reports, such as `lost bits floored`; or when: a predicate. reason: why it is accepted. date:
    since when; until: the last day on which it holds.
    """

    reading: Text | None = None
    when: WaivedWhen | None = None
    reason: Text
    date: datetime.date
    until: datetime.date | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Waiver:
        if (self.reading is None) == (self.when is None):
            raise InputError("must have one of reading and when")
        if self.until is not None and self.until < self.date:
            raise InputError(f"until must not be before date ({self.date}), not {self.until}")
        return self

    @property
    def name(self) -> str:
        """The reading's name, or the predicate in words."""
        return self.when.words if self.when is not None else self.reading or ""

    def holds(self, today: datetime.date) -> bool:
        """Whether it still holds."""
        return self.until is None or today <= self.until
