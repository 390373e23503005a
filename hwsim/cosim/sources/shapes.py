"""Types of ports, as far as bits have names in them: vectors, packed arrays and packed structs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from hwsim.errors import InputError

STEP = re.compile(r"\.(?P<field>[A-Za-z_][\w$]*)|\[(?P<left>\d+)(?::(?P<right>\d+))?\]")
MOST_BITS = 1 << 16  # of a port


@dataclass(frozen=True)
class Range:
    """Indices as declared, `[left:right]`."""

    left: int
    right: int

    @property
    def count(self) -> int:
        """How many they are."""
        return abs(self.left - self.right) + 1

    @property
    def indices(self) -> tuple[int, ...]:
        """All of them, from left to right."""
        step = 1 if self.right >= self.left else -1
        return tuple(range(self.left, self.right + step, step))

    def place(self, index: int) -> int:
        """Where that index stands, counted from the right. Raises InputError for an index that is not in the range."""
        if not min(self.left, self.right) <= index <= max(self.left, self.right):
            raise InputError(f"{self.left} to {self.right}, not {index}")
        return abs(index - self.right)

    def __str__(self) -> str:
        return f"[{self.left}:{self.right}]"


@dataclass(frozen=True)
class BitVector:
    """Bits. range: their indices, the most significant one first."""

    range: Range

    @property
    def width(self) -> int:
        """Bits."""
        return self.range.count


@dataclass(frozen=True)
class Packed:
    """A packed array. range: indices of its elements, the one in the high bits first."""

    range: Range
    element: Shape

    @property
    def width(self) -> int:
        """Bits."""
        return self.range.count * self.element.width


@dataclass(frozen=True)
class Member:
    """A field of a struct or of a union. low: its least significant bit, counted from that of the struct."""

    name: str
    low: int
    shape: Shape


@dataclass(frozen=True)
class Struct:
    """A packed struct, or a packed union, whose members all stand in the low bits."""

    width: int
    members: tuple[Member, ...]


Shape = BitVector | Packed | Struct


@dataclass(frozen=True)
class PortPart:
    """Bits `low` to `low + width - 1` of a port or of one of its words. shape: of what is in them; None for several."""

    low: int
    width: int
    shape: Shape | None


def selected(shape: Shape, path: str) -> PortPart:
    """What `.field`, `[3]` and `[7:4]`, one after another, select. Raises InputError, which says what is there."""
    part = PortPart(0, shape.width, shape)
    for step in STEP.finditer(path):
        if part.shape is None:
            raise InputError(f"{step[0]} selects from several elements")
        part = _field(part, part.shape, step[0][1:]) if step["field"] else _indexed(part, part.shape, step)
    return part


def _field(part: PortPart, shape: Shape, name: str) -> PortPart:
    """A field of a struct."""
    match shape:
        case Struct(members=members):
            for member in members:
                if member.name == name:
                    return PortPart(part.low + member.low, member.shape.width, member.shape)
            raise InputError(f"has fields {', '.join(member.name for member in members)}, not {name}")
        case BitVector() | Packed():
            raise InputError(f"has no fields, and not {name}")
        case _:
            assert_never(shape)


def _indexed(part: PortPart, shape: Shape, step: re.Match[str]) -> PortPart:
    """An element of an array, or several that stand side by side."""
    left, right = int(step["left"]), int(step["right"] or step["left"])
    each: Shape
    match shape:
        case Struct(members=members):
            raise InputError(f"has fields {', '.join(member.name for member in members)}, not {step[0]}")
        case BitVector(range=span):
            each, name = BitVector(Range(0, 0)), "bits"
        case Packed(range=span, element=each):
            name = "elements"
        case _:
            assert_never(shape)
    try:
        high, low = span.place(left), span.place(right)
    except InputError as error:
        raise InputError(f"has {name} {error}") from None
    if high < low:
        raise InputError(f"is declared {span}; {step[0]} must run that way")
    count = high - low + 1
    return PortPart(part.low + low * each.width, count * each.width, each if step["right"] is None else None)


def words(ranges: Sequence[Range]) -> list[tuple[int, ...]]:
    """The indices of every word of an unpacked array, in the order of its declaration; of no array, one empty."""
    found: list[tuple[int, ...]] = [()]
    for span in ranges:
        found = [(*before, index) for before in found for index in span.indices]
    return found
