"""Binary32 in hardware: products, quotients and codes recoded, rounded once; scales and elements by comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from hwsim.formats import ExponentFormat, FloatFormat, get_format
from hwsim.quantize.rule import Rule, Select
from hwsim.rtl.arithmetic import leading_zeros
from hwsim.rtl.converter import DecodeNumber, conversion_target, in_container
from hwsim.rtl.encode import EncodeTarget
from hwsim.rtl.numbers import as_float, signed_shape
from hwsim.rtl.products import FloatDecode
from hwsim.rtl.step import DatapathStep, Stage, flat
from hwsim.spec import NotImplementedYet
from hwsim.spec.conversion import Conversion

F32 = as_float(get_format("f32"))
INFINITY, LARGEST = F32.infinity_magnitude or 0, F32.max_magnitude
EXTRA = 2  # bits of a quotient below the last place: it may begin one place lower, and half of the last place


def single_target(sig_bits: int, top_exp: tuple[int, int], loose: int) -> EncodeTarget:
    """Rounding to binary32 as IEEE 754 has it, to nearest even."""
    return EncodeTarget.of(F32, sig_bits, top_exp, loose, rounding="rne", overflow="infinity", missing="nan")


def through(m: Module, steps: list[DatapathStep], name: str, values: dict[str, Value]) -> dict[str, Signal]:
    """The values that steps make of others, one step after the other; a value that is left out is 0."""
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
        m = Module()
        steps = [DecodeNumber(self.conversion, self.target), *self.target.steps()]
        word = {"word": self.word} if self.conversion.random_bits else {}
        o = through(m, steps, "recode", {"code": self.code, **word})
        m.d.comb += self.result.eq(in_container(self.conversion.target, o["code"], o["nan"]))
        return m


def product_target() -> EncodeTarget:
    """The rounding of a product."""
    most = 2 * F32.emax + 1
    return single_target(2 * F32.precision, (2 * F32.emin + 1, most + 2), most + 2)


class Multiply32(wiring.Component):
    """The product of two binary32 codes, rounded once. Combinational."""

    def __init__(self) -> None:
        self.target = product_target()
        super().__init__({"a": In(32), "b": In(32), "product": Out(32)})

    def elaborate(self, platform: object) -> Module:
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
    """The fields that go from row to row of a division, the sign and the exponent of the quotient among them."""
    flags = {"sign": 1, "top_bexp": _quotient().magnitude()["top_bexp"].shape, "nan": 1, "inf": 1, "zero": 1}
    return {"division": StructLayout({**DIVISION, **flags})}


def _quotient() -> EncodeTarget:
    """The rounding of a quotient.

    Its top bit may be 0; below its last one all that matters is whether there is more.
    """
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


MOST = 8  # magnitudes of an element
ROUNDINGS = ("rne", "rna", "rz")


def by_thresholds(rule: Rule) -> bool:
    """True if a rule's elements are found by comparison."""
    fmt = rule.element
    few = isinstance(fmt, FloatFormat) and fmt.subnormals and fmt.max_magnitude < MOST
    return few and rule.rounding in ROUNDINGS and rule.overflow in ("saturate", "propagate")


def magnitude(fmt: FloatFormat, code: int) -> Fraction:
    """The number of a magnitude's bits."""
    field, frac = code >> fmt.fraction_bits, code & (1 << fmt.fraction_bits) - 1
    sig = frac + (1 << fmt.fraction_bits if field else 0)
    return sig * Fraction(2) ** (max(field, 1) - fmt.bias - fmt.fraction_bits)


def single_code(x: Fraction) -> int:
    """The code of a normal binary32 number above 0."""
    exp = x.numerator.bit_length() - x.denominator.bit_length()
    exp -= x < Fraction(2) ** exp
    sig = x / Fraction(2) ** (exp - F32.fraction_bits)
    if sig.denominator != 1 or not F32.emin <= exp <= F32.emax:
        raise NotImplementedYet(f"thresholds must be normal numbers of binary32, not {x}")
    return (exp + F32.bias - 1 << F32.fraction_bits) + int(sig)


@dataclass(frozen=True)
class Threshold:
    """The product d * factor that x must reach.

    factor: half-way between two neighbours of binary32, so that it has 25 bits, the last of them 1. No binary32 number
    is that times another one: x is above the product or below it, never at it.
    """

    factor: Fraction

    @classmethod
    def of(cls, rule: Rule, step: int) -> Threshold:
        """The threshold of a magnitude, 1 for the least.

        There x / d, rounded to binary32, is rounded to the magnitude or beyond.
        """
        fmt = rule.element
        assert isinstance(fmt, FloatFormat)
        value, before = magnitude(fmt, step), magnitude(fmt, step - 1)
        middle = (value + before) / 2
        if rule.rounding == "rz":
            least = single_code(value)
        else:
            # A tie goes to the even code.
            least = single_code(middle) + (rule.rounding == "rne" and step % 2 == 1)
        return cls((magnitude(F32, least) + magnitude(F32, least - 1)) / 2)

    def target(self) -> EncodeTarget:
        """Rounding of d * factor: up."""
        bits = F32.precision + self.factor.numerator.bit_length()
        top = bits - 1 - (self.factor.denominator.bit_length() - 1) - F32.fraction_bits
        return EncodeTarget.of(
            F32, bits, (F32.emin + top, F32.emax + 1 + top), F32.emax + 1 + top,
            rounding="ru", overflow="infinity", missing="nan",
        )  # fmt: skip

    def drive(self, m: Module, d: FloatDecode, name: str) -> Value:
        """The least code of binary32 that reaches it. d: decoded, above 0 or infinite."""
        target = self.target()
        bits = target.magnitude_bits
        top = target.max_exp[0] - target.bias - F32.emin
        values = {
            "magnitude": d.o.sig * Const(self.factor.numerator, bits - F32.precision),
            "top_bexp": d.o.bexp + (top + target.bias - F32.bias),
            "special_positive": d.o.inf,
        }
        found = through(m, target.steps(), name, values)
        return Mux(d.o.inf | ~d.o.sig.any(), INFINITY, found["code"])[:31]


FRACTION, FIELDS, BIAS = 23, 256, 127  # of binary32
HUGE = 1 << 12  # an exponent beyond every one
MOST_POWER = (1 << FRACTION) - 1


def floor_log2(x: Fraction) -> int:
    """floor(log2(x)), exactly; x > 0."""
    exp = x.numerator.bit_length() - x.denominator.bit_length()
    return exp if x >= Fraction(2) ** exp else exp - 1


def ceil_log2(x: Fraction) -> int:
    """ceil(log2(x)), exactly; x > 0."""
    exp = floor_log2(x)
    return exp + (x != Fraction(2) ** exp)


def nearest_single(x: Fraction) -> Fraction:
    """A number above 0, rounded to binary32, ties to even; beyond its largest a power of two beyond every one."""
    unit = Fraction(2) ** (max(floor_log2(x), -126) - FRACTION)
    rounded = round(x / unit) * unit  # Python rounds Fractions to the nearest even integer
    return rounded if rounded < Fraction(2) ** 128 else Fraction(2) ** HUGE


def exponent_of(rule: Rule) -> Callable[[Fraction], int]:
    """The scale's exponent for an amax, without limits."""
    largest = Fraction(rule.largest)
    emax = floor_log2(largest)
    match rule.select:
        case Select.FLOOR:
            return lambda amax: floor_log2(amax) - emax
        case Select.CEIL:
            return lambda amax: ceil_log2(amax) - emax
        case Select.EVEN:
            half = Fraction(1, 2 << rule.fraction_bits)
            return lambda amax: floor_log2(amax + half * Fraction(2) ** floor_log2(amax)) - emax
        case Select.RCEIL:
            return lambda amax: _ceil_of_single(nearest_single(nearest_single(amax) / largest))
        case Select.RCEIL_RECIPROCAL:
            reciprocal = nearest_single(1 / largest)
            return lambda amax: _ceil_of_single(nearest_single(nearest_single(amax) * reciprocal))
        case Select.DIVIDE:
            raise TypeError("select 'divide' gives no powers of two")
        case _:
            assert_never(rule.select)


def _ceil_of_single(x: Fraction) -> int:
    return ceil_log2(x) if x else -HUGE


@dataclass(frozen=True)
class BinadeSteps:
    """A binade: the value at its first fraction, and the fractions above which it is one more, in order."""

    first: int
    above: tuple[int, ...]

    def at(self, frac: Value) -> Value:
        """The value at a fraction."""
        value: Value = Const(self.first)
        for step in self.above:
            value = value + (frac > step)
        return value


@dataclass(frozen=True)
class Staircase:
    """The scale's exponent over amax, a binary32 number above 0: within limits, `most` + 1 for what is beyond them.

    offset, above: the exponent is the field + offset, and one more above that fraction (never, where it is the last
    one). others: the binades, by their fields, where that is not so.
    """

    least: int
    most: int
    offset: int
    above: int
    others: dict[int, BinadeSteps]

    @classmethod
    def of(cls, rule: Rule) -> Staircase:
        """A rule's, in the limits of its scale format, a power of two."""
        fmt = rule.scale_format
        assert isinstance(fmt, ExponentFormat)
        exponent, least, most = exponent_of(rule), fmt.emin, fmt.emax
        floor = Fraction(rule.least_amax)

        def limited(field: int, frac: int) -> int:
            amax = Fraction(frac + (1 << FRACTION) * (field > 0)) * Fraction(2) ** (max(field, 1) - BIAS - FRACTION)
            return min(max(exponent(max(amax, floor)), least), most + 1)

        # The middle of the range has no limits: there the pattern is.
        usual = _binade(exponent_at(exponent, BIAS), 0)
        offset, above = usual.first - BIAS, usual.above[0] if usual.above else MOST_POWER
        stairs = cls(least, most, offset, above, {})
        for field in range(FIELDS):
            true = _binade(partial(limited, field), int(field == 0))
            if true != _binade(partial(stairs.usual, field), int(field == 0)):
                stairs.others[field] = true
        return stairs

    def usual(self, field: int, frac: int) -> int:
        """The exponent where the pattern holds."""
        return min(max(field + self.offset + (frac > self.above), self.least), self.most + 1)

    @property
    def reach(self) -> int:
        """The most by which an exponent of amax, a finite number, is above its scale's, where there is one."""
        reach = -HUGE
        for field in range(1, FIELDS - 1):
            exp = self.others[field].first if field in self.others else self.usual(field, 0)
            reach = max(reach, field - BIAS - min(exp, self.most))
        return reach

    def drive(self, m: Module, amax: Value) -> Signal:
        """The exponent of an amax other than zero: 31 bits of binary32; infinity counts as 2^128."""
        frac, field = amax[:FRACTION], amax[FRACTION : FRACTION + 8]
        low, high = min(self.least, self.offset), max(self.most + 1, FIELDS + self.offset)
        plain, found = (Signal(signed_shape(low, high), name=name) for name in ("plain", "exponent"))
        up = Const(0) if self.above == MOST_POWER else frac > self.above
        m.d.comb += plain.eq(field + self.offset + up)
        m.d.comb += found.eq(Mux(plain < self.least, self.least, Mux(plain > self.most, self.most + 1, plain)))
        for value, steps in self.others.items():
            with m.If(field == value):
                m.d.comb += found.eq(steps.at(frac))
        return found


def exponent_at(exponent: Callable[[Fraction], int], field: int) -> Callable[[int], int]:
    """The exponent at the fractions of a binade of normal numbers."""
    return lambda frac: exponent(Fraction(frac + (1 << FRACTION)) * Fraction(2) ** (field - BIAS - FRACTION))


def _binade(value: Callable[[int], int], start: int) -> BinadeSteps:
    """The steps of a function of a fraction that grows, from a fraction on."""
    first, last = value(start), value(MOST_POWER)
    above = []
    for step in range(first, last):
        low, high = start, MOST_POWER  # value(low) <= step < value(high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if value(middle) <= step else (low, middle)
        above.append(low)
    return BinadeSteps(first, tuple(above))


def scale_code(fmt: ExponentFormat, exponent: Value) -> Value:
    """The code of an exponent within a format's limits."""
    return Cat((exponent + fmt.bias)[: fmt.bits])
