"""Operands are written as wide as what is made of them, and nothing else changes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Module, Shape, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwsim.rtl.widen import widen


def cell(kind: str, *, y: int | None = None, a: str, a_width: int, a_signed: int = 0, b: str = "", b_width: int = 0,
         b_signed: int = 0) -> str:  # fmt: skip
    """A module with one cell, and wires \\p (1 bit), \\q (5 bits) and \\s (3 bits)."""
    lines = [
        "attribute \\top 1",
        "module \\m",
        "  wire input 0 \\p",
        "  wire width 5 input 1 \\q",
        "  wire width 3 signed input 2 \\s",
        f"  wire width {y or 1} output 3 \\y",
        f"  cell {kind} $1",
        f"    parameter \\A_SIGNED {a_signed}",
        f"    parameter \\A_WIDTH {a_width}",
    ]
    lines += [f"    parameter \\B_SIGNED {b_signed}", f"    parameter \\B_WIDTH {b_width}"] if b else []
    lines += [f"    parameter \\Y_WIDTH {y or 1}", f"    connect \\A {a}"]
    lines += [f"    connect \\B {b}"] if b else []
    return "\n".join([*lines, "    connect \\Y \\y", "  end", "end", ""])


def operand(text: str, name: str) -> tuple[str, int]:
    """What is connected, and how wide it says that it is."""
    connected = re.search(rf"connect \\{name} (.+)", text)
    width = re.search(rf"parameter \\{name}_WIDTH (\d+)", text)
    assert connected is not None and width is not None
    return connected.group(1), int(width.group(1))


@pytest.mark.parametrize(
    ("signal", "width", "is_signed", "expected"),
    [
        # Unsigned operands are filled with zeros.
        (r"\q", 5, 0, r"{ 1'0 1'0 1'0 \q }"),
        (r"\p", 1, 0, r"{ 1'0 1'0 1'0 1'0 1'0 1'0 1'0 \p }"),
        (r"\q [3:1]", 3, 0, r"{ 1'0 1'0 1'0 1'0 1'0 \q [3:1] }"),
        ("4'1010", 4, 0, "{ 1'0 1'0 1'0 1'0 4'1010 }"),
        (r"{ \p \q }", 6, 0, r"{ 1'0 1'0 { \p \q } }"),
        # Signed ones with their top bit.
        (r"\s", 3, 1, r"{ \s [2] \s [2] \s [2] \s [2] \s [2] \s }"),
        (r"\p", 1, 1, r"{ \p \p \p \p \p \p \p \p }"),
        (r"\q [3:1]", 3, 1, r"{ \q [3] \q [3] \q [3] \q [3] \q [3] \q [3:1] }"),
        (r"\q [2]", 1, 1, r"{ \q [2] \q [2] \q [2] \q [2] \q [2] \q [2] \q [2] \q [2] }"),
        ("6'101010", 6, 1, "{ 1'1 1'1 6'101010 }"),
        ("6'010101", 6, 1, "{ 1'0 1'0 6'010101 }"),
        (r"{ \p \q }", 6, 1, r"{ \p \p { \p \q } }"),
        (r"{ \q [4:2] \s }", 6, 1, r"{ \q [4] \q [4] { \q [4:2] \s } }"),
        (r"{ \s \p }", 4, 1, r"{ \s [2] \s [2] \s [2] \s [2] { \s \p } }"),
        ("{ }", 0, 1, "{ 1'0 1'0 1'0 1'0 1'0 1'0 1'0 1'0 { } }"),
        (r"{ 2'10 \q }", 7, 1, r"{ 1'1 { 2'10 \q } }"),
    ],
)  # fmt: skip
def test_an_operand_is_extended(signal: str, width: int, is_signed: int, expected: str) -> None:
    text = widen(cell("$neg", y=8, a=signal, a_width=width, a_signed=is_signed))
    assert operand(text, "A") == (expected, 8)


@pytest.mark.parametrize("kind", ["$add", "$sub", "$mul", "$and", "$or", "$xor"])
def test_both_operands_become_as_wide_as_the_result(kind: str) -> None:
    text = widen(cell(kind, y=6, a=r"\q", a_width=5, b=r"\s", b_width=3, b_signed=1))
    assert operand(text, "A") == (r"{ 1'0 \q }", 6)
    assert operand(text, "B") == (r"{ \s [2] \s [2] \s [2] \s }", 6)


@pytest.mark.parametrize("kind", ["$eq", "$ne", "$lt", "$ge"])
def test_compared_operands_become_as_wide_as_the_wider(kind: str) -> None:
    text = widen(cell(kind, a=r"\q", a_width=5, b=r"\s", b_width=3))
    assert operand(text, "A") == (r"\q", 5)
    assert operand(text, "B") == (r"{ 1'0 1'0 \s }", 5)


@pytest.mark.parametrize("kind", ["$shl", "$shr", "$sshr"])
def test_the_distance_of_a_shift_stays(kind: str) -> None:
    text = widen(cell(kind, y=8, a=r"\q", a_width=5, b=r"\s", b_width=3))
    assert operand(text, "A") == (r"{ 1'0 1'0 1'0 \q }", 8)
    assert operand(text, "B") == (r"\s", 3)


@pytest.mark.parametrize("kind", ["$mux", "$reduce_or", "$bweqx"])
def test_other_cells_stay(kind: str) -> None:
    text = cell(kind, y=8, a=r"\q", a_width=5)
    assert widen(text) == text


def test_an_operand_that_is_wider_or_as_wide_stays() -> None:
    for width in (3, 5):
        text = cell("$add", y=width, a=r"\q", a_width=5, b="5'00001", b_width=5)
        assert widen(text) == text


def test_widths_are_those_of_the_same_module() -> None:
    # \s has 3 bits in the one module and 2 in the other.
    first = cell("$neg", y=4, a=r"\s", a_width=3, a_signed=1)
    second = cell("$neg", y=4, a=r"\s", a_width=2, a_signed=1).replace("width 3 signed", "width 2 signed")
    text = widen(first + second)
    assert text.count(r"connect \A { \s [2] \s }") == 1
    assert text.count(r"connect \A { \s [1] \s [1] \s }") == 1


@pytest.mark.parametrize(
    ("signal", "width", "message"),
    [
        (r"{ \s \q }", 7, "must be 7 bits wide"),
        (r"\q [3:1]", 2, "must be 2 bits wide"),
        ("3'01", 2, "as many bits as it says"),
    ],
)
def test_a_signal_of_another_width_is_an_error(signal: str, width: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        widen(cell("$neg", y=8, a=signal, a_width=width, a_signed=1))


def test_a_line_that_no_cell_has_is_an_error() -> None:
    with pytest.raises(ValueError, match="must be a parameter or a connection, not "):
        widen(cell("$neg", y=8, a=r"\q", a_width=5).replace("    connect \\A", "    switch \\A"))


class Operations(wiring.Component):
    """Every kind of operation on operands of every width."""

    def __init__(self) -> None:
        super().__init__({"a": In(signed(3)), "b": In(unsigned(5)), "p": In(1), "o": Out(64)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b, p = self.a, self.b, self.p
        made: list[Any] = [a + b, a - b, a * b, a & b, a ^ b, -a, ~b, a < b, a == b, b >> p, a >> p, Cat(p, a) + b]
        signals = [Signal(Shape.cast(value.shape())) for value in made]
        m.d.comb += [signal.eq(value) for signal, value in zip(signals, made, strict=True)]
        m.d.comb += self.o.eq(Cat(*signals))
        return m


def test_what_amaranth_writes_has_no_narrow_operand_left() -> None:
    before = rtlil.convert(Operations(), name="operations", emit_src=False)
    after = widen(before)
    assert narrow(before)
    assert not narrow(after)
    assert widen(after) == after


def narrow(text: str) -> list[str]:
    """Cells with an operand that Verilog would extend."""
    found = []
    for kind, body in re.findall(r"^  cell \$(\w+) .*?\n(.*?)^  end$", text, re.MULTILINE | re.DOTALL):
        widths = {name: int(width) for name, width in re.findall(r"parameter \\(\w)_WIDTH (\d+)", body)}
        if kind in {"add", "sub", "mul", "and", "xor", "neg", "not"}:
            found += [kind for name in "AB" if widths.get(name, 1 << 30) < widths["Y"]]
        elif kind in {"lt", "eq"}:
            found += [kind] if widths["A"] != widths["B"] else []
    return found
