"""Verilog of converters and quantisers: files as `verilog` writes them for units."""

from __future__ import annotations

from .hierarchy import modules
from .streamed import StreamedDatapath
from .verilog import ONE_FILE, convert, field_table, module_name


def stream_verilog(component: StreamedDatapath, *, by_modules: bool = False) -> str:
    """A streamed component as Verilog; ports clk, rst (synchronous, active high), i__* and o__*.

    by_modules: whether as several modules that people read, or as a flat one.
    """
    top = module_name(component.name)
    body = f"\n{ONE_FILE}{modules(component, top).text}" if by_modules else convert(component, top)
    lines = [*component.words, ""]
    for port, stream in (("i__payload", component.i), ("o__payload", component.o)):
        lines += [f"{port}[{high}:{low}]  {field}" for field, high, low in field_table(stream.payload.shape())]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines) + (
        body if by_modules else body[body.index("module ") :]
    )
