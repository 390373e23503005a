"""The schedule of a serial protocol in DUT.yaml: which part of which field is on which port in which cycle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Strict, model_validator

from hwsim.cosim.dut.dutpart import MOST_CYCLES, DutPart, Slice, Whole
from hwsim.errors import InputError

OTHERWISE = "otherwise"
# A cycle, `3..34` for several, or all that no other key names.
CycleKey = Annotated[str, Field(pattern=rf"^(\d{{1,4}}(\.\.\d{{1,4}})?|{OTHERWISE})$")]
FieldPart = Annotated[str, Field(pattern=r"^[a-z_]+(\[\d{1,6}(\.\.\d{1,6})?\])?$")]


def _entry(value: Any) -> Any:
    """The short forms: a number, or a field's name."""
    if isinstance(value, int) and not isinstance(value, bool):
        return {"constant": value}
    return {"field": value} if isinstance(value, str) else value


class SerialEntry(DutPart):
    """What a port holds in the cycles of a key.

    constant: the same number in each of them. field: elements of a field, `a`, `a[3]` or `a[0..15]`, cut into words as
    wide as the port, one in each cycle. first: whether the word of the least significant bits, and of the first
    element, comes first or last.
    """

    constant: Whole | None = None
    field: FieldPart | None = None
    first: Literal["low", "high"] = "low"

    @model_validator(mode="after")
    def _one_form(self) -> SerialEntry:
        if (self.constant is None) == (self.field is None):
            raise InputError("must have one of constant and field")
        return self

    @property
    def part(self) -> tuple[str, int | None, int | None]:
        """The field's name, and the first and the last of its elements; None of all of them."""
        name, _, inside = (self.field or "").rstrip("]").partition("[")
        first, _, last = inside.partition("..")
        return (name, int(first), int(last or first)) if first else (name, None, None)


Schedule = dict[Slice, dict[CycleKey, Annotated[SerialEntry, BeforeValidator(_entry)]]]
ScheduleCycle = Annotated[int, Strict(), Field(ge=1, le=MOST_CYCLES)]


def cycles_of(key: str) -> range:
    """The cycles that a key names; none for `otherwise`."""
    if key == OTHERWISE:
        return range(0)
    first, _, last = key.partition("..")
    return range(int(first), int(last or first) + 1)


def fields_of(schedule: Mapping[str, Mapping[str, SerialEntry]]) -> set[str]:
    """The fields that a schedule names."""
    return {entry.part[0] for entries in schedule.values() for entry in entries.values() if entry.field is not None}
