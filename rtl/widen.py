"""RTLIL whose operands are as wide as what is made of them.

Amaranth trims operands to the bits that they need, and leaves it to Verilog to extend them. That is legal, and every
lint tool warns of it (Verilator's WIDTHEXPAND): here the extension is spelled out.
"""

from __future__ import annotations

import re

ARITHMETIC = {"$add", "$sub", "$mul", "$and", "$or", "$xor", "$xnor", "$not", "$neg"}
COMPARISONS = {"$eq", "$ne", "$lt", "$le", "$gt", "$ge"}
SHIFTS = {"$shl", "$shr", "$sshl", "$sshr"}

CELL = re.compile(r"^  cell (\$\w+) .*?^  end$", re.MULTILINE | re.DOTALL)
WIRE = re.compile(r"^  wire (?:width (\d+) )?.*?(\S+)$", re.MULTILINE)
MODULE = re.compile(r"^module .*?^end$", re.MULTILINE | re.DOTALL)


def widen(rtlil: str) -> str:
    """The same design, in which every operand of an operation is as wide as the operation."""
    return MODULE.sub(lambda module: _module(module.group()), rtlil)


def _module(text: str) -> str:
    widths = {name: int(width or 1) for width, name in WIRE.findall(text)}
    return CELL.sub(lambda cell: _cell(cell.group(), cell.group(1), widths), text)


def _parameter(text: str, name: str) -> int:
    found = re.search(rf"parameter \\{name} (\d+)", text)
    return int(found.group(1)) if found else 0


def _cell(text: str, kind: str, widths: dict[str, int]) -> str:
    if kind in ARITHMETIC:
        width, operands = _parameter(text, "Y_WIDTH"), "AB"
    elif kind in COMPARISONS:
        width, operands = max(_parameter(text, "A_WIDTH"), _parameter(text, "B_WIDTH")), "AB"
    elif kind in SHIFTS:
        width, operands = _parameter(text, "Y_WIDTH"), "A"
    else:
        return text
    for operand in operands:
        text = _extend(text, operand, width, widths)
    return text


def _extend(text: str, operand: str, width: int, widths: dict[str, int]) -> str:
    missing = width - _parameter(text, f"{operand}_WIDTH")
    found = re.search(rf"connect \\{operand} (.+)", text)
    if found is None or missing <= 0:
        return text
    signal = found.group(1)
    fill = _top_bit(signal, widths) if _parameter(text, f"{operand}_SIGNED") else "1'0"
    text = text.replace(found.group(), f"connect \\{operand} {{ {' '.join([fill] * missing)} {signal} }}")
    return re.sub(rf"(parameter \\{operand}_WIDTH) \d+", rf"\g<1> {width}", text)


def _top_bit(signal: str, widths: dict[str, int]) -> str:
    """The most significant bit of a signal: a wire, some bits of one, a constant, or a concatenation."""
    if signal.startswith("{"):
        inner = signal[1:-1].strip()
        first = re.match(r"(\S+ \[[\d:]+\]|\S+)", inner)
        assert first is not None
        return _top_bit(first.group(), widths)
    if constant := re.fullmatch(r"\d+'([01x]+)", signal):
        return f"1'{constant.group(1)[0]}"
    if part := re.fullmatch(r"(\S+) \[(\d+)(?::\d+)?\]", signal):
        return f"{part.group(1)} [{part.group(2)}]"
    return f"{signal} [{widths[signal] - 1}]" if widths[signal] > 1 else signal
