"""Rounded additions: two numbers, their exact sum, and one rounding.

What methods of rounded sums, late addends and promotions with scales share. A number is decoded into the exponent
fields of the format that the sum is rounded to. It is normalised, unless it is of that format itself: of two numbers,
the one with the larger exponent then has its leading one on top, or cannot be rounded below its last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out, PureInterface

from hwsim.formats import FloatFormat
from hwsim.rtl.arithmetic import Shifter, clamp, leading_zeros, shifted
from hwsim.rtl.normalize import Normalize, Round
from hwsim.rtl.numbers import SPECIAL, FieldRange, PairRanges, ResultTarget, result_layout, signed_shape, term_layout
from hwsim.rtl.products import bare_decoder
from hwsim.rtl.step import assign, connect, flat
from hwsim.spec.keys import Number, Overflow, Rounding, Tininess

# Bits below the last place of the longer operand: guard, round, and sticky, into which all others are jammed.
GUARDS = 3


@dataclass(frozen=True)
class NumberRange:
    """The range of numbers whose top bit stands for 2^exp, exponents counted as the fields of a format are.

    bits: of a significand. low, high: the ends of exp; a zero has the lowest, or that of the format's least number.
    """

    bits: int
    low: int
    high: int

    @classmethod
    def of_code(cls, fmt: Number, to: FloatFormat) -> NumberRange:
        """A code's numbers, in the exponent fields of `to`."""
        field, move = FieldRange.of(fmt), code_move(fmt, to)
        if fmt == to:
            return cls(fmt.sig_bits, 1, field.most)
        return cls(fmt.sig_bits, min(1, 1 + move - (fmt.sig_bits - 1)), max(1, field.most + move))

    @classmethod
    def of_product(cls, n: PairRanges, to: FloatFormat) -> NumberRange:
        """The range of a product."""
        top = product_move(n, to)
        return cls(n.sig_bits, min(1, 2 + top - n.sig_bits + 1), max(1, n.product_most + top))

    @property
    def layout(self) -> StructLayout:
        """A number's fields."""
        return StructLayout({"sign": 1, "exp": signed_shape(self.low, self.high), "sig": self.bits, "nan": 1, "inf": 1})


def code_move(fmt: Number, to: FloatFormat) -> int:
    """The offset from a code's exponent field to that of its top bit in `to`; a float's top bit is the hidden one."""
    return FieldRange.of(to).bias - FieldRange.of(fmt).bias + fmt.sig_bits - 1 - fmt.fraction_bits


def product_move(n: PairRanges, to: FloatFormat) -> int:
    """The offset from a product's exponent to the exponent field of its top bit."""
    return FieldRange.of(to).bias - n.product_bias + n.sig_bits - 1 - n.product_fraction_bits


def normalized(m: Module, sig: Value, exp: Value, to: PureInterface, low: int) -> None:
    """Drive a number's significand and exponent with the leading one on top; a zero's exponent is `low`."""
    is_zero, count = leading_zeros(m, sig)
    zeros = Signal(max(1, len(count)), name="zeros")
    m.d.comb += [
        zeros.eq(Cat(count)),
        to.sig.eq((sig << zeros)[: len(sig)]),
        to.exp.eq(Mux(is_zero, low, exp - zeros)),
    ]


class NumberDecode(wiring.Component):
    """A code, without its padding, as a number in the exponent fields of `to`."""

    def __init__(self, fmt: Number, to: FloatFormat):
        self.fmt, self.to, self.range = fmt, to, NumberRange.of_code(fmt, to)
        super().__init__({"code": In(fmt.bits), "o": Out(self.range.layout)})

    @property
    def purpose(self) -> str:
        return f"One code of {self.fmt.name} as a number whose exponent counts as in {self.to.name}."

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.decode = decode = bare_decoder(self.fmt)
        o = self.o
        m.d.comb += [
            decode.code.eq(self.code),
            o.sign.eq(decode.o.sign),
            o.nan.eq(decode.o.nan),
            o.inf.eq(decode.o.inf),
        ]
        if self.fmt == self.to:
            m.d.comb += [o.sig.eq(decode.o.sig), o.exp.eq(decode.o.bexp)]
        else:
            normalized(m, decode.o.sig, decode.o.bexp + code_move(self.fmt, self.to), o, self.range.low)
        return m


class ProductNumber(wiring.Component):
    """A product as a number in the exponent fields of `to`."""

    def __init__(self, n: PairRanges, to: FloatFormat):
        self.n, self.to, self.range = n, to, NumberRange.of_product(n, to)
        super().__init__({"term": In(term_layout(n)), "special": In(SPECIAL), "o": Out(self.range.layout)})

    @property
    def purpose(self) -> str:
        return f"A product, normalised, as a number whose exponent counts as in {self.to.name}."

    def elaborate(self, platform: object) -> Module:
        m = Module()
        normalized(m, self.term.sig, self.term.exp + product_move(self.n, self.to), self.o, self.range.low)
        m.d.comb += [
            self.o.sign.eq(self.term.sign),
            self.o.nan.eq(self.special.nan),
            self.o.inf.eq(self.special.positive | self.special.negative),
        ]
        return m


class RoundedNumber(wiring.Component):
    """A number, rounded to a format.

    It gives `result_layout`. own: the number is of that format, so that only rules change it.
    """

    def __init__(
        self,
        fmt: FloatFormat,
        span: NumberRange,
        rounding: Rounding,
        overflow: Overflow,
        *,
        own: bool = False,
        **rules: Any,
    ):
        self.own = own
        self.target = ResultTarget(
            fmt=fmt,
            rounding=rounding,
            overflow=overflow,
            total=signed_shape(-(1 << span.bits) + 1, (1 << span.bits) - 1),
            max_exp=(span.low, span.high),
            offset=0,
            zero_sign=True,
            **({"nan": fmt.canonical_nan or 0} | rules),
        )
        super().__init__({"i": In(span.layout), "o": Out(result_layout(fmt))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, target = self.i, self.target
        m.submodules.round = rounded = Round(target)
        special = {
            "special_nan": i.nan,
            "special_positive": i.inf & ~i.sign,
            "special_negative": i.inf & i.sign,
        }
        if self.own:
            sig = Cat(Const(0, target.bits - len(i.sig)), i.sig)
            bexp = Signal(target.bexp, name="bexp")
            m.d.comb += bexp.eq(Mux(i.sig[-1], i.exp, 0))
            values = {"sign": i.sign, "sig": sig, "sticky": Const(0), "bexp": bexp, **special}
        else:
            m.submodules.normalize = normalize = Normalize(target)
            top = {"sign": i.sign, "magnitude": i.sig, "top_bexp": i.exp}
            m.d.comb += connect("normalize", flat(normalize.i), {**top, **special})
            values = dict(flat(normalize.o))
        m.d.comb += connect("round", flat(rounded.i), values)
        m.d.comb += assign(self.o, rounded.o)
        return m


class FloatAdder:
    """The ranges of an addition of two numbers, x and y, rounded to a format."""

    def __init__(
        self,
        fmt: FloatFormat,
        rounding: Rounding,
        x: NumberRange,
        y: NumberRange,
        flush: Tininess | None = None,
        overflow: Overflow = "ieee",
    ):
        self.fmt, self.rounding, self.x, self.y = fmt, rounding, x, y
        self.bits = max(x.bits, y.bits, fmt.precision) + GUARDS
        largest = 2 * ((1 << self.bits) - 1)
        self.total = signed_shape(-largest, largest)
        self.shift_bits = (self.bits + 1).bit_length()
        self.max_exp = max(x.low, y.low), max(x.high, y.high)
        self.target = ResultTarget(
            fmt=fmt,
            rounding=rounding,
            overflow=overflow,
            total=self.total,
            max_exp=self.max_exp,
            offset=1,  # the total's top bit is one above the numbers'
            nan=fmt.canonical_nan or 0,
            zero_sign=True,
            flush=flush,
        )

    def aligned(self) -> StructLayout:
        """Both numbers in units of the last bit of what they are aligned in, as `ones + carry`."""
        ones = signed_shape(-(1 << self.bits), (1 << self.bits) - 1)
        terms = {"x_ones": ones, "x_carry": 1, "y_ones": ones, "y_carry": 1}
        return StructLayout({**terms, "max_exp": signed_shape(*self.max_exp), "zero_sign": 1, "special": SPECIAL})

    def align(self, m: Module, x: PureInterface, y: PureInterface, to: PureInterface, name: str) -> None:
        """Drive both aligned numbers: that with the smaller exponent is shifted right, its lost bits jammed."""
        for side, (window, sign, distance) in self._distances(m, x, y, to, name).items():
            ones, carry = shifted(m, f"{name}_{side}", window, sign, distance, 0, "jam")
            m.d.comb += [getattr(to, f"{side}_ones").eq(ones), getattr(to, f"{side}_carry").eq(carry)]
        m.d.comb += pair_specials(x, y, to, self.rounding)

    def align_pair(self, m: Module, i: PureInterface, to: PureInterface) -> None:
        """Drive both aligned numbers of a pair, `x` and `y`: that with the smaller exponent is shifted right."""
        self.align(m, i.x, i.y, to, "pair")

    def distance_pair(self, m: Module, i: PureInterface, to: PureInterface) -> None:
        """Drive how far each number of a pair, `x` and `y`, is to be shifted."""
        self.distance(m, i.x, i.y, to, "pair")

    def _distances(
        self, m: Module, x: PureInterface, y: PureInterface, to: PureInterface, name: str
    ) -> dict[str, tuple[Value, Value, Value]]:
        """The bits of each number to be shifted, its sign, and how far; drive max_exp."""
        max_exp = Signal(signed_shape(*self.max_exp), name=f"{name}_max_exp")
        m.d.comb += [max_exp.eq(Mux(x.exp > y.exp, x.exp, y.exp)), to.max_exp.eq(max_exp)]
        shifts = {}
        for side, number, span in (("x", x, self.x), ("y", y, self.y)):
            farthest = self.max_exp[1] - span.low
            difference = Signal(range(farthest + 1), name=f"{name}_{side}_difference")
            m.d.comb += difference.eq(max_exp - number.exp)
            window = Cat(Const(0, self.bits - span.bits), number.sig)
            shifts[side] = window, number.sign, clamp(difference, self.shift_bits)
        return shifts

    def sum(self, m: Module, i: PureInterface, to: PureInterface) -> None:
        """Drive the exact sum of both aligned numbers."""
        m.d.comb += [to.total.eq(i.x_ones + i.y_ones + i.x_carry + i.y_carry), *_kept(i, to)]

    # The same in parts, between which registers can stand.

    @property
    def shifter(self) -> Shifter:
        """The shifter of each number."""
        return Shifter(self.bits, self.shift_bits, 0, "jam")

    def distant(self) -> StructLayout:
        """Both numbers, and how far each is to be shifted."""
        return self._between({"x": self.shifter.before(), "y": self.shifter.before()})

    def half_aligned(self) -> StructLayout:
        """Both numbers, shifted in part."""
        return self._between({"x": self.shifter.between(), "y": self.shifter.between()})

    def half_summed(self) -> StructLayout:
        """The sum of the low halves, with its carry, and the high halves."""
        high = unsigned(self.bits + 1 - self.half)
        return self._between({"low": unsigned(self.half + 2), "x_high": high, "y_high": high})

    @property
    def half(self) -> int:
        """Bits of the low half of an aligned number."""
        return (self.bits + 1) // 2

    def _between(self, fields: Mapping[str, Any]) -> StructLayout:
        return StructLayout({**fields, "max_exp": signed_shape(*self.max_exp), "zero_sign": 1, "special": SPECIAL})

    def distance(self, m: Module, x: PureInterface, y: PureInterface, to: PureInterface, name: str) -> None:
        """Drive how far each number is to be shifted."""
        for side, (window, sign, distance) in self._distances(m, x, y, to, name).items():
            port = getattr(to, side)
            m.d.comb += [port.magnitude.eq(window), port.sign.eq(sign), port.distance.eq(distance)]
        m.d.comb += pair_specials(x, y, to, self.rounding)

    def begin(self, m: Module, i: PureInterface, to: PureInterface) -> None:
        """Drive the numbers shifted by the high bits of their distances."""
        m.d.comb += [*self.shifter.begin(i.x, to.x), *self.shifter.begin(i.y, to.y), *_kept(i, to)]

    def end(self, m: Module, i: PureInterface, to: PureInterface) -> None:
        """Drive both aligned numbers."""
        for side in ("x", "y"):
            ones, carry = self.shifter.end(m, side, getattr(i, side))
            m.d.comb += [getattr(to, f"{side}_ones").eq(ones), getattr(to, f"{side}_carry").eq(carry)]
        m.d.comb += _kept(i, to)

    def sum_low(self, m: Module, i: PureInterface, to: PureInterface) -> None:
        """Drive the sum of the low halves."""
        x, y, half = i.x_ones, i.y_ones, self.half
        m.d.comb += [
            to.low.eq(x[:half] + y[:half] + i.x_carry + i.y_carry),
            to.x_high.eq(x[half:]),
            to.y_high.eq(y[half:]),
            *_kept(i, to),
        ]

    def sum_high(self, m: Module, i: PureInterface, to: PureInterface) -> None:
        """Drive the exact sum."""
        high = i.x_high.as_signed() + i.y_high.as_signed() + i.low[self.half :]
        m.d.comb += [to.total.eq(Cat(i.low[: self.half], high).as_signed()), *_kept(i, to)]


def _kept(i: PureInterface, to: PureInterface) -> list[Any]:
    """Pass on the signals beside an addition's numbers."""
    return [to.max_exp.eq(i.max_exp), to.zero_sign.eq(i.zero_sign), *assign(to.special, i.special)]


def pair_specials(x: PureInterface, y: PureInterface, to: PureInterface, rounding: Rounding) -> list[Any]:
    """Assignments to what is special about a sum of two: its zero's sign, NaN, and infinities of each sign."""
    return [
        # IEEE 754-2019, 6.3: an exact zero sum of opposite signs is +0, and -0 when rounding down.
        to.zero_sign.eq(Mux(x.sign == y.sign, x.sign, int(rounding == "rd"))),
        to.special.nan.eq(x.nan | y.nan),
        to.special.positive.eq((x.inf & ~x.sign) | (y.inf & ~y.sign)),
        to.special.negative.eq((x.inf & x.sign) | (y.inf & y.sign)),
    ]
