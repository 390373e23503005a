"""A SystemVerilog package of a unit: its sizes, and its beats and results as structs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from amaranth.lib.data import ArrayLayout, StructLayout

from .keywords import KEYWORDS


def package_name(top: str) -> str:
    """The package of a module."""
    return f"{top}_pkg"


class PayloadField(NamedTuple):
    """A field of a payload: its lowest bit, and bits of an element. elements: of an array, the first lowest; else 0."""

    name: str
    low: int
    bits: int
    elements: int = 0


def fields_of(layout: StructLayout) -> list[PayloadField]:
    """The fields of a payload, the first in the low bits."""
    found = []
    for name, field in layout:
        elements = field.shape.length if isinstance(field.shape, ArrayLayout) else 0
        found.append(PayloadField(name, field.offset, field.width // (elements or 1), elements))
    return found


def package(top: str, sizes: dict[str, int], types: dict[str, tuple[str, StructLayout]]) -> str:
    """The package of a module. types: by their names, what they are, and their fields."""
    lines = [f"// Sizes and types of {top}.", f"package {package_name(top)};"]
    lines += [f"  localparam int {name} = {number};" for name, number in sizes.items()]
    for name, (words, layout) in types.items():
        lines += ["", f"  // {words}", "  typedef struct packed {", *_fields(layout), f"  }} {name};"]
    # Who uses the package need not use all of its sizes.
    return "\n".join(
        ["// verilator lint_off UNUSEDPARAM", *lines, "endpackage", "// verilator lint_on UNUSEDPARAM", ""]
    )


def _fields(layout: StructLayout) -> Iterator[str]:
    """The last field first: a packed struct begins with its high bits."""
    for name, _, width, count in reversed(fields_of(layout)):
        elements = f"[{count - 1}:0]" if count else ""
        bits = f"{elements}[{width - 1}:0]" if width > 1 or elements else ""
        yield f"    {f'logic {bits}'.rstrip()} {member_name(name)};"


def member_name(name: str) -> str:
    """A field's name, unless it is a word of SystemVerilog."""
    return f"{name}_id" if name in KEYWORDS else name
