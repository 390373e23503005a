"""A SystemVerilog package of a unit: its sizes, and its beats and results as structs."""

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Shape
from amaranth.lib.data import ArrayLayout, StructLayout

from .hierarchy import PortType
from .keywords import KEYWORDS


def package_name(top: str) -> str:
    """The package of a module."""
    return f"{top}_pkg"


def port_type(name: str, layout: StructLayout) -> PortType:
    """The type of a port, as a package has it."""
    fields = {(field.offset, Shape.cast(field.shape).width): _allowed(at) for at, field in layout}
    return PortType(name, fields)


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
    for name, field in reversed(list(layout)):
        shape = field.shape
        elements = f"[{shape.length - 1}:0]" if isinstance(shape, ArrayLayout) else ""
        width = Shape.cast(shape.elem_shape if isinstance(shape, ArrayLayout) else shape).width
        bits = f"{elements}[{width - 1}:0]" if width > 1 or elements else ""
        yield f"    {f'logic {bits}'.rstrip()} {_allowed(name)};"


def _allowed(name: str) -> str:
    """A field's name, unless it is a word of SystemVerilog."""
    return f"{name}_id" if name in KEYWORDS else name
