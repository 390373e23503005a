"""What a line of each file holds: fields of bits, the first in the low ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hwsim.cases.case import block_lengths
from hwsim.spec import Unit


@dataclass(frozen=True)
class Field:
    """`count` elements of `bits` bits, the first in the low bits, from `offset` on. signed: two's complement."""

    name: str
    offset: int
    bits: int
    count: int = 1
    signed: bool = False


@dataclass(frozen=True)
class Layout:
    """The fields of one line."""

    fields: tuple[Field, ...]

    @property
    def bits(self) -> int:
        """Bits of a line."""
        last = self.fields[-1]
        return last.offset + last.bits * last.count

    @property
    def digits(self) -> int:
        """Hexadecimal digits of a line."""
        return -(-self.bits // 4)

    def field(self, name: str) -> Field:
        """The field of a name."""
        return next(field for field in self.fields if field.name == name)


def layout(fields: Iterable[tuple[str, int, int, bool]]) -> Layout:
    """Fields of (name, bits, count, signed), one after the other."""
    placed, offset = [], 0
    for name, bits, count, signed in fields:
        placed.append(Field(name, offset, bits, count, signed))
        offset += bits * count
    return Layout(tuple(placed))


def line_terms(unit: Unit) -> int:
    """Terms of one line of operands: a group's, or an instruction's where groups interleave or start from zero."""
    return unit.instruction.fill


def line_groups(unit: Unit) -> int:
    """Groups of one line."""
    return unit.instruction.fill // unit.instruction.lanes


def line_scales(unit: Unit) -> tuple[int, int]:
    """Scales of a and of b on one line: at least one each, which lines of one block repeat."""
    if unit.scale is None:
        return 0, 0
    a, b = block_lengths(unit)
    return max(1, line_terms(unit) // a), max(1, line_terms(unit) // b)


def operand_layout(unit: Unit) -> Layout:
    """A line of operands: a, b, their scales, the addend, and whether the line is a case's first and last."""
    operands, terms, scales = unit.operands, line_terms(unit), line_scales(unit)
    fields = [("a", operands.a.container_bits, terms, False), ("b", operands.b.container_bits, terms, False)]
    if unit.scale is not None:
        fields.append(("scale_a", unit.scale.a.format.container_bits, scales[0], False))
        fields.append(("scale_b", unit.scale.b.format.container_bits, scales[1], False))
    if operands.addend is not None:
        fields.append(("c", operands.addend.container_bits, 1, False))
    return layout([*fields, ("first", 1, 1, False), ("last", 1, 1, False)])


def result_layout(unit: Unit) -> Layout:
    """A line of expected results."""
    return layout([("result", unit.output.container_bits, 1, False)])


def partial_layout(unit: Unit) -> Layout:
    """A line of partial results, one for each line of operands.

    partial: every group's result. register: the promotion register, or the sum with the late addend, after the line.
    """
    fields = [("partial", unit.result.format.container_bits, line_groups(unit), False)]
    if unit.promotion is not None or unit.late is not None:
        fields.append(("register", unit.output.container_bits, 1, False))
    return layout(fields)
