"""Decoders of tables: every code of up to 16 bits is the list's value; faults in them are refuted and caught."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from cosim.mutants import Mutant
from cosim.plays import amaranth_play, recorded
from in_amaranth import played

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case
from hwsim.cosim.tables import codec_table
from hwsim.formats import TableFormat, parse, unpack
from hwsim.formats.listed import written
from hwsim.prove.circuits import Circuit, datapath_circuits, verilog_circuit
from hwsim.prove.exact import ExactClaims
from hwsim.prove.terms import Decided
from hwsim.rtl import FormatBench, convert, datapath, module_name, supports
from hwsim.rtl.tabledecode import Bit, BitFunction, CodeBlock, TableDecode, decoding
from hwsim.spec import Unit, load_unit, pipeline


def takum(code: int) -> float:
    """A linear takum of 16 bits (Hunhold 2024), which no rule of hwsim's knows."""
    if code in (0, 1 << 15):
        return float("nan") if code else 0.0
    if code >> 15:
        return -takum((1 << 16) - code)
    up, field = code >> 14 & 1, code >> 11 & 7
    bits = field if up else 7 - field
    low = code & (1 << 11) - 1
    places = 11 - bits
    exp = (1 << bits) - 1 + (low >> places) if up else 1 - (2 << bits) + (low >> places)
    return float((1 + Fraction(low & (1 << places) - 1, 1 << places)) * Fraction(2) ** exp)


def listed(name: str, numbers: list[float]) -> TableFormat:
    """A table of these values."""
    fmt = parse({"name": name, "kind": "table", "entries": [written(x) for x in numbers]})
    assert isinstance(fmt, TableFormat)
    return fmt


def by_rule(name: str, rule: str, **parameters: object) -> TableFormat:
    fmt = parse({"name": name, "kind": "table", "rule": {"name": rule, **parameters}})
    assert isinstance(fmt, TableFormat)
    return fmt


def at_random(bits: int) -> TableFormat:
    """A list without any structure: zeros with and without a sign, NaNs and infinities among numbers of any sign."""
    random, count = np.random.default_rng(bits), 1 << bits
    numbers = np.ldexp(random.integers(16, 32, count), random.integers(-8, 8, count)) * random.choice([-1, 1], count)
    special = [0.0, -0.0, np.nan, np.inf, -np.inf]
    mixed = np.where(random.random(count) < 0.2, random.choice(special, count), numbers)
    return listed(f"random{bits}", [0.0, *mixed[1:].tolist()])


TABLES: dict[str, Callable[[], TableFormat]] = {
    "posit16": lambda: by_rule("posit16", "posit", bits=16, es=2),
    "posit16es1": lambda: by_rule("posit16es1", "posit", bits=16, es=1),
    "lns16": lambda: by_rule("lns16", "lns", bits=16, fraction_bits=8, precision=12),
    "takum16": lambda: listed("takum16", [takum(code) for code in range(1 << 16)]),
    "hif8": lambda: by_rule("hif8", "hif8"),
    "lns8": lambda: by_rule("lns8", "lns", bits=8, fraction_bits=3, precision=12),
    "powers": lambda: by_rule("powers", "lns", bits=6, fraction_bits=0, precision=1),
    "int6": lambda: listed("int6", [float(code - 64 * (code > 31)) for code in range(64)]),
    "posit2": lambda: by_rule("posit2", "posit", bits=2, es=1),
    "random7": lambda: at_random(7),
}


@cache
def table(name: str) -> TableFormat:
    return TABLES[name]()


WIDE = ["posit16", "posit16es1", "lns16", "takum16"]
NARROW = ["hif8", "lns8", "powers", "int6", "posit2", "random7"]


def value(wires: tuple[bool | Bit, ...], code: int) -> int:
    bits = (wire if isinstance(wire, bool) else code >> wire.place & 1 ^ wire.inverted for wire in wires)
    return sum(bit << place for place, bit in enumerate(bits))


def number(function: BitFunction, code: int) -> int:
    """A function's number, by its rows one after another."""
    chooses = "".join(str(code >> place & 1) for place in reversed(function.places))
    for wires, patterns in function.rows:
        if any(all(digit in ("-", bit) for digit, bit in zip(pattern, chooses, strict=True)) for pattern in patterns):
            return value(wires, code)
    return value(function.otherwise, code)


@pytest.mark.parametrize("name", NARROW)
def test_rows_give_the_fields_of_every_code(name: str) -> None:
    fmt = table(name)
    found = decoding(fmt)
    for code in range(1 << fmt.bits):
        sign, exp, sig, cls = unpack(fmt, code)
        flags = number(found.nan, code), number(found.inf, code)
        assert flags == (cls == "nan", cls == "infinity"), code
        positive = -code % (1 << fmt.bits) if found.negated and code >> fmt.bits - 1 else code
        if cls in ("zero", "normal"):
            hidden = number(found.nonzero, code) << fmt.fraction_bits
            assert hidden + number(found.fraction, positive) == sig, code
            assert number(found.exponent, positive) - found.start == exp - fmt.emin, code
        if cls != "nan":
            assert number(found.sign, code) == sign, code


def test_a_posit_has_a_row_for_each_regime() -> None:
    for es in (1, 2):
        found = decoding(table("posit16" if es == 2 else "posit16es1"))
        assert found.negated
        # Of numbers from 0 up; those of the longest runs share rows or need a second one.
        assert len(found.exponent.rows) in (27, 28) and len(found.fraction.rows) == 13 - es
    # The sign does not count, nor do the bits of the fraction for the exponent, or those of the exponent for it.
    assert len(decoding(table("lns16")).fraction.places) == 8 and decoding(table("lns16")).rows == 255


def test_a_list_without_structure_has_a_row_for_each_code_and_too_many_are_refused() -> None:
    assert decoding(at_random(10)).rows == 1023
    fmt = at_random(13)
    assert decoding(fmt).rows == 8191
    lacking = supports(unit_of(fmt)).reason
    assert "operands.a: random13, whose decoder has 8191 rows, more than 4096," in lacking


# In hardware.


def wrong_codes(fmt: TableFormat) -> list[int]:
    """The codes of which the decoder, in Amaranth's simulator, says something else than the model."""
    table = codec_table([fmt])
    said = played(FormatBench([fmt], []), {"a": table.a.tolist(), "b": table.b.tolist()}, table.ports.tolist())
    return np.flatnonzero((((np.array(said, np.int64).T ^ table.expected) & table.mask) != 0).any(axis=0)).tolist()


@pytest.mark.parametrize("name", others_slow([*WIDE, *NARROW], ["random7", "int6", "posit2"]))
def test_every_code_is_decoded(name: str) -> None:
    assert wrong_codes(table(name)) == []


def unit_of(fmt: TableFormat, method: str = "exact") -> Unit:
    """A unit of one product, of the table by itself, or, to be cheap to prove, by FP4."""
    aligned = {"method": "aligned", "fraction_bits": 20, "lost": "truncate"}
    return load_unit({
        "unit": "tabled",
        "operands": {"a": fmt, "b": "e2m1" if method == "exact" else fmt, "addend": "f32"},
        "instruction": {"k": 1, "lanes": 1},
        "sum": {"method": "exact"} if method == "exact" else aligned,
        "result": {"format": "f32", "rounding": "rz"},
    })  # fmt: skip


@cache
def steps(fmt: TableFormat) -> dict[str, Circuit]:
    return dict(datapath_circuits(unit_of(fmt), ()))


def decided(name: str) -> Decided:
    """The answer to the claim that a decoder, as the file has it, is the model's list for every code."""
    unit, fmt = unit_of(table(name)), table(name)
    right, step = steps(fmt), datapath(unit, ()).steps[0]
    decode = verilog_circuit(convert(step, module_name(step.name)), "decode.")
    return ExactClaims(unit, (), {**right, "decode": decode})._factor("a").decide(300)


@pytest.mark.parametrize("name", others_slow([*WIDE, *NARROW], ["hif8", "random7"]))
def test_a_decoder_is_proved_to_be_the_list(name: str) -> None:
    assert decided(name).word == "proved"


# Faults.


def text(name: str, function: Any, old: str, new: str) -> Mutant:
    return Mutant(name, "", (), function, old, new)


WHOLE, DRIVEN, PATTERN, WIRES = TableDecode.elaborate, BitFunction.drive, CodeBlock.pattern, CodeBlock.wires
FAULTS = {mutant.name: mutant for mutant in (
    text("no two's complement", WHOLE, "Mux(code[-1], -code, code)", "code"),
    text("ones' complement for two's", WHOLE, "Mux(code[-1], -code, code)", "Mux(code[-1], ~code, code)"),
    text("NaR is a number", WHOLE, 'found.nan.drive(m, code, "is_nan")', "0"),
    text("zero has a hidden bit", WHOLE, 'found.nonzero.drive(m, code, "nonzero")', "Const(1, 1)"),
    text("no sign", WHOLE, 'found.sign.drive(m, code, "negative")', "0"),
    text("an exponent one too low", WHOLE, "exponent + (1 - found.start)", "exponent"),
    text("a run one too long", PATTERN, '"-" * self.free',
         '(f"{self.top & 1}-----" if self.free == 6 else "-" * self.free)'),
    text("the longest runs' ends not looked at", PATTERN, 'f"{self.top:0{fixed}b}"',
         'f"{self.top:0{fixed}b}"[: fixed - (fixed == 14)] + "-" * (fixed == 14)'),
    text("a fraction's shift wrong in the longest regime", WIRES, "return tuple(wires)",
         "return tuple([*wires[1:], wires[0]] if self.free == 3 and bits > 8 else wires)"),
    text("exponent bits of the longest regime not moved up", WIRES, "return tuple(wires)",
         "return tuple([wires[1], wires[0], *wires[2:]] if self.free == 1 and bits == 7 else wires)"),
    text("a fraction's bit complemented", DRIVEN, "number.eq(_value(wires, code))",
         'number.eq(_value(wires, code) ^ (1 if name == "fraction" and found[0].startswith("01") else 0))'),
    text("the first row lost", DRIVEN, "in self.rows:", "in self.rows[1:]:"),
)}  # fmt: skip


@contextmanager
def applied(fault: Mutant) -> Iterator[None]:
    """The decoder is faulty inside."""
    decoding.cache_clear()
    try:
        with fault.applied():
            yield
    finally:
        decoding.cache_clear()


@pytest.mark.parametrize("name", others_slow(FAULTS, ["ones' complement for two's"]))
def test_a_fault_is_refuted(name: str) -> None:
    steps(table("posit16"))
    with applied(FAULTS[name]):
        answer = decided("posit16")
    assert answer.word == "refuted" and answer.model is not None, name


@cache
def cases() -> list[Case]:
    return directed(unit_of(table("posit16"), "aligned"), 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [None, *FAULTS])
def test_a_fault_is_caught_by_directed_cases(name: str | None) -> None:
    unit = unit_of(table("posit16"), "aligned")
    play = recorded(unit, pipeline(unit), cases())
    if name is None:
        assert amaranth_play(unit, pipeline(unit), play)[0].count == 0
        return
    with applied(FAULTS[name]):
        assert amaranth_play(unit, pipeline(unit), play)[0].count > 0
