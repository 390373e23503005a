"""Binary32 arithmetic: products and quotients of codes, rounded once to nearest even, and codes recoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from hwsim.formats import get_format
from hwsim.spec.conversion import Conversion

from .converter import DecodeNumber, conversion_target, in_container
from .decode import FloatDecode
from .encode import EncodeTarget
from .numbers import as_float
from .step import DatapathStep, Stage, flat
from .zeros import leading_zeros

F32 = as_float(get_format("f32"))
INFINITY, LARGEST = F32.infinity_magnitude or 0, F32.max_magnitude
EXTRA = 2  # bits of a quotient below the last place: it may begin one place lower, and half of the last place


def single_target(sig_bits: int, top_exp: tuple[int, int], loose: int) -> EncodeTarget:
    """Rounding to binary32 as IEEE 754 has it, to nearest even."""
    return EncodeTarget.of(F32, sig_bits, top_exp, loose, rounding="rne", overflow="infinity", missing="nan")


def through(m: Module, steps: list[DatapathStep], name: str, values: dict[str, Value]) -> dict[str, Signal]:
    """What steps make of values, one after the other; a value that is left out is 0."""
    signals: dict[str, Signal] = {}
    for step in steps:
        m.submodules[f"{name}_{step.name}"] = step
        m.d.comb += [port.eq(values[field]) for field, port in flat(step.i).items() if field in values]
        signals = flat(step.o)
        values = dict(signals)
    return signals


class Recode(wiring.Component):
    """A conversion without a stream: a code in, a code out, combinational."""

    def __init__(self, conversion: Conversion):
        self.conversion, self.target = conversion, conversion_target(conversion)
        word = {"word": In(conversion.random_bits)} if conversion.random_bits else {}
        source, target = conversion.source, conversion.target
        super().__init__({"code": In(source.container_bits), **word, "result": Out(target.container_bits)})

    def elaborate(self, platform: object) -> Module:
        """Decode, normalise, round."""
        m = Module()
        steps = [DecodeNumber(self.conversion, self.target), *self.target.steps()]
        word = {"word": self.word} if self.conversion.random_bits else {}
        o = through(m, steps, "recode", {"code": self.code, **word})
        m.d.comb += self.result.eq(in_container(self.conversion.target, o["code"], o["nan"]))
        return m


def product_target() -> EncodeTarget:
    """A product's rounding."""
    most = 2 * F32.emax + 1
    return single_target(2 * F32.precision, (2 * F32.emin + 1, most + 2), most + 2)


class Multiply32(wiring.Component):
    """The product of two binary32 codes, rounded once. Combinational."""

    def __init__(self) -> None:
        self.target = product_target()
        super().__init__({"a": In(32), "b": In(32), "product": Out(32)})

    def elaborate(self, platform: object) -> Module:
        """The multiplier, and its rounding."""
        m = Module()
        m.submodules.a = a = FloatDecode(F32)
        m.submodules.b = b = FloatDecode(F32)
        m.d.comb += [a.code.eq(self.a), b.code.eq(self.b)]
        one, other = a.o, b.o
        zero = ~one.sig.any() | ~other.sig.any()
        infinite, sign = one.inf | other.inf, one.sign ^ other.sign
        values = {
            "sign": sign,
            "magnitude": one.sig * other.sig,
            "top_bexp": one.bexp + other.bexp + (1 + self.target.bias - 2 * F32.bias),
            "special_nan": one.nan | other.nan | (infinite & zero),
            "special_positive": infinite & ~sign,
            "special_negative": infinite & sign,
        }
        o = through(m, self.target.steps(), "product", values)
        m.d.comb += self.product.eq(o["code"])
        return m


def led(m: Module, sig: Value, bexp: Value, name: str) -> tuple[Value, Value]:
    """A significand other than zero with its leading one on top, and its exponent, which may fall below 1."""
    _, count = leading_zeros(m, sig)
    moved = Signal(len(sig), name=f"{name}_led")
    m.d.comb += moved.eq((sig << Cat(count))[: len(sig)])
    return moved, bexp - Cat(count)


ROWS = F32.precision + EXTRA  # of a division: one for each bit of the quotient
DIVISION = {"rest": unsigned(F32.precision + 1), "quotient": unsigned(ROWS), "divisor": unsigned(F32.precision)}


def division_layout() -> dict[str, object]:
    """What goes from row to row of a division, beside the sign and the exponent of the quotient."""
    flags = {"sign": 1, "top_bexp": _quotient().magnitude()["top_bexp"].shape, "nan": 1, "inf": 1, "zero": 1}
    return {"division": StructLayout({**DIVISION, **flags})}


def _quotient() -> EncodeTarget:
    """A quotient's rounding. Its top bit may be 0; below its last one all that matters is whether there is more."""
    lowest = F32.emin - F32.fraction_bits - F32.emax - 1
    highest = F32.emax + 1 - (F32.emin - F32.fraction_bits)
    return single_target(ROWS + 1, (lowest - 2, highest + 2), highest + 2)


def _rows(m: Module, i: Any, o: Any, span: tuple[int, int]) -> None:
    """Rows of a division: each gives a bit of the quotient, and doubles the rest that is left."""
    before, after = i.division, o.division
    rest, bits = before.rest, before.quotient
    for row in range(*span):
        fits = Signal(name=f"fits{row}")
        kept = Signal(F32.precision, name=f"kept{row}")
        left = Signal(F32.precision + 1, name=f"rest{row}")
        m.d.comb += [
            fits.eq(rest >= before.divisor),
            kept.eq(Mux(fits, rest - before.divisor, rest)[: F32.precision]),
            left.eq(Cat(Const(0, 1), kept)),
        ]
        rest, bits = left, Cat(fits, bits)[:ROWS]
    m.d.comb += [after.rest.eq(rest), after.quotient.eq(bits)]
    same = ("divisor", "sign", "top_bexp", "nan", "inf", "zero")
    m.d.comb += [getattr(after, field).eq(getattr(before, field)) for field in same]


def row_stage() -> Stage:
    """One row of a division by itself, from `division_layout` to the same."""
    layout = division_layout()
    return Stage("row", StructLayout(layout), layout, partial(_rows, span=(0, 1)))


def divide_stages(
    name: str, i: StructLayout, dividend: str | int, divisor: str | int, quotient: str,
    finish: Callable[[Any, Value], Value] = lambda i, found: found, drops: tuple[str, ...] = (),
) -> Iterator[Stage]:  # fmt: skip
    """A division of two fields of codes in binary32, in parts that registers can cut: name.1, name.2, name.3, name.

    dividend, divisor: fields, or a number's code. quotient: the field that is made, as `finish` makes it of the last
    step's inputs and the quotient. The operands stay, but for what the last step drops.
    """
    target = _quotient()

    def code(i: object, of: str | int) -> Value:
        return Const(of, 32) if isinstance(of, int) else getattr(i, of)

    def begin(m: Module, i: Any, o: Any) -> None:
        m.submodules.dividend = a = FloatDecode(F32)
        m.submodules.divisor = b = FloatDecode(F32)
        m.d.comb += [a.code.eq(code(i, dividend)), b.code.eq(code(i, divisor))]
        x, y, state = a.o, b.o, o.division
        x_sig, x_exp = led(m, x.sig, x.bexp, "dividend")
        y_sig, y_exp = led(m, y.sig, y.bexp, "divisor")
        zero_x, zero_y = ~x.sig.any(), ~y.sig.any()
        m.d.comb += [
            state.rest.eq(x_sig),
            state.divisor.eq(y_sig),
            state.sign.eq(x.sign ^ y.sign),
            # The first row is worth 2^0, where both significands are in [1, 2).
            state.top_bexp.eq(x_exp - y_exp + target.bias),
            state.nan.eq(x.nan | y.nan | (x.inf & y.inf) | (zero_x & zero_y)),
            state.inf.eq(x.inf | zero_y),
            state.zero.eq(zero_x | y.inf),
        ]

    def end(m: Module, i: Any, o: Any) -> None:
        state = i.division
        number = ~(state.nan | state.inf | state.zero)
        values = {
            "sign": state.sign,
            "magnitude": Mux(number, Cat(state.rest.any(), state.quotient), 0),
            "top_bexp": state.top_bexp,
            "special_nan": state.nan,
            "special_positive": state.inf & ~state.sign,
            "special_negative": state.inf & state.sign,
        }
        found = through(m, target.steps(), "quotient", values)
        m.d.comb += getattr(o, quotient).eq(finish(i, found["code"]))

    layout = division_layout()
    stage = Stage(f"{name}.1", i, layout, begin)
    yield stage
    for part, span in (("2", (0, ROWS // 2)), ("3", (ROWS // 2, ROWS))):
        stage = Stage(f"{name}.{part}", stage.gives, layout, partial(_rows, span=span))
        yield stage
    yield Stage(name, stage.gives, {quotient: unsigned(32)}, end, drops=("division", *drops))
