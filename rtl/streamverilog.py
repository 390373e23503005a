"""Verilog of converters and quantisers: files as `verilog` writes them for units."""

from __future__ import annotations

from .streamed import StreamedDatapath
from .verilog import convert, field_table, module_name


def stream_verilog(component: StreamedDatapath) -> str:
    """A streamed component as one flat Verilog module; ports clk, rst (synchronous, active high), i__* and o__*."""
    body = convert(component, module_name(component.name))
    lines = [*component.words, ""]
    for port, stream in (("i__payload", component.i), ("o__payload", component.o)):
        lines += [f"{port}[{high}:{low}]  {field}" for field, high, low in field_table(stream.payload.shape())]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines) + body[body.index("module ") :]
