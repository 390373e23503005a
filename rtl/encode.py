"""Encode: a number, as a sign, a magnitude and an exponent, to its code in a format of any kind, rounded once.

Every format rounds as a float does, its *carrier*: a fixed format's magnitudes are the subnormals of a float whose
fraction is as long, and the negative end is its first normal number; powers of two are floats without a fraction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib.data import StructLayout

from hwsim.formats import ExponentFormat, FieldFormat, FixedFormat, FloatFormat, get_format
from hwsim.rtl.normalize import Encode, Normalize, last_place, rounds_inward, with_sign
from hwsim.rtl.numbers import FieldRange, SumTarget, as_float
from hwsim.rtl.step import DatapathStep
from hwsim.spec import NotImplementedYet
from hwsim.spec.conversion import AnyRounding, Missing
from hwsim.spec.keys import Overflow

# An even number, so that the last bit of a carrier's code is that of the power's: two powers of two below the least.
BELOW = 2
_PLAIN = as_float(get_format("e3m2"))  # with subnormals, and without infinities and NaN


def carrier(fmt: FieldFormat) -> FloatFormat:
    """The float that a format rounds as, without an upper end."""
    match fmt:
        case FloatFormat():
            return fmt
        case FixedFormat():
            keys = {"exponent_bits": 2, "fraction_bits": fmt.precision, "bias": 1 - fmt.integer_bits}
        case ExponentFormat():
            keys = {"exponent_bits": fmt.bits + 1, "fraction_bits": 0, "bias": fmt.bias + BELOW}
        case _:
            assert_never(fmt)
    return _PLAIN.model_copy(update={**keys, "name": fmt.name})  # unchecked: i32 has a long fraction


@dataclass(frozen=True, kw_only=True)
class EncodeTarget(SumTarget):
    """A format that numbers are encoded in; `fmt` is its carrier.

    rounding, random_bits, missing: as `Conversion` has them.
    """

    to: FieldFormat
    rounding: AnyRounding
    missing: Missing
    random_bits: int = 0

    @classmethod
    def of(
        cls,
        to: FieldFormat,
        sig_bits: int,
        top_exp: tuple[int, int],
        loose: int,
        *,
        rounding: AnyRounding,
        overflow: Overflow,
        missing: Missing,
        random_bits: int = 0,
    ) -> EncodeTarget:
        """A target of significands of so many bits.

        top_exp: least and largest exponent of their top bits. loose: the largest at which one other than zero may
        have no leading one on top.
        """
        fmt = carrier(to)
        if not fmt.subnormals and fmt.underflow != "zero":
            raise NotImplementedYet(f"{to.name} has no subnormals: underflow: {fmt.underflow} is not in the RTL yet")
        bias = FieldRange.of(fmt).bias
        return cls(
            fmt=fmt, to=to, overflow=overflow, total=signed(sig_bits + 1), offset=0, nan=to.canonical_nan or 0,
            max_exp=(top_exp[0] + bias, top_exp[1] + bias), leads=loose + bias <= 1, rounding=rounding,
            missing=missing, random_bits=random_bits,
        )  # fmt: skip

    @property
    def bias(self) -> int:
        """The number that, added to the exponent of a magnitude's top bit, gives `top_bexp`."""
        return FieldRange.of(self.fmt).bias

    @property
    def bits(self) -> int:
        """Bits of the normalised magnitude: a significand, and those to round with."""
        return max(self.magnitude_bits, self.fmt.precision + max(self.random_bits, 1))

    def _drawn(self, layout: StructLayout) -> StructLayout:
        return StructLayout({**layout.members, "word": unsigned(self.random_bits)}) if self.random_bits else layout

    def magnitude(self) -> StructLayout:
        """The layout of a number, with its random word."""
        return self._drawn(super().magnitude())

    def normalized(self) -> StructLayout:
        """The layout after normalize."""
        return self._drawn(super().normalized())

    @property
    def encoded(self) -> StructLayout:
        """The layout of a code without its padding, and of a flag that it is a NaN, whose padding is ones."""
        return StructLayout({"code": unsigned(self.to.bits), "nan": 1})

    def steps(self) -> list[DatapathStep]:
        """The steps from `magnitude()` to `encoded`."""
        return [Normalize(self), encoder(self)]


def encoder(target: EncodeTarget, name: str = "round") -> DatapathStep:
    """The rounding of a target."""
    match target.to:
        case FloatFormat():
            return EncodeFloat(target, name)
        case FixedFormat():
            return EncodeFixed(target, target.to, name)
        case ExponentFormat():
            return EncodePower(target, target.to, name)
        case _:
            assert_never(target.to)


def magnitude_with_word(m: Module, target: SumTarget, random_bits: int, sig: Value, bexp: Value, word: Value) -> Signal:
    """A normalised magnitude's bits: the random word added below the last place, and what is then there cut off."""
    fmt = target.fmt
    drop = target.bits - fmt.precision
    part, frac = sig[drop - random_bits : drop], sig[drop : drop + fmt.fraction_bits]
    # A carry out of the fraction runs into the exponent field, as it should.
    field = exponent_field(m, target, bexp)
    carried = Signal(random_bits + fmt.fraction_bits + len(field) + 1, name="carried")
    m.d.comb += carried.eq(Cat(part, frac, field) + word)
    return magnitude_of(m, target, carried[random_bits:], sig)


def exponent_field(m: Module, target: SumTarget, bexp: Value) -> Value:
    """A format's field for an exponent that counts from 1."""
    if target.fmt.subnormals:
        return bexp
    field = Signal(target.bexp, name="field")
    m.d.comb += field.eq(bexp - 1)
    return field


def magnitude_of(m: Module, target: SumTarget, rounded: Value, sig: Value) -> Signal:
    """Rounded bits as a magnitude, at least as wide as a code's; without subnormals 0 below the least exponent."""
    fmt = target.fmt
    magnitude = Signal(max(len(rounded), fmt.bits), name="magnitude")
    m.d.comb += magnitude.eq(rounded)
    if not fmt.subnormals:
        with m.If(~sig[-1]):
            m.d.comb += magnitude.eq(0)
    return magnitude


def rounded_magnitude(m: Module, target: EncodeTarget, step: DatapathStep) -> Signal:
    """The magnitude of a carrier's code, without an upper end."""
    i = step.i
    if target.rounding == "stochastic":
        return magnitude_with_word(m, target, target.random_bits, i.sig, i.bexp, i.word)
    drop = target.bits - target.fmt.precision
    places = Cat(i.sig[drop : drop + target.fmt.fraction_bits], exponent_field(m, target, i.bexp))
    guard, sticky = i.sig[drop - 1], i.sig[: drop - 1].any() | i.sticky
    # Even and odd are the code's, whose last bit is the exponent's where there is no fraction.
    last, up = last_place(target.rounding, i.sign, places[0], guard, sticky)
    rounded = Signal(len(places) + 1, name="rounded")
    m.d.comb += rounded.eq(Cat(last, places[1:]) + up)
    return magnitude_of(m, target, rounded, i.sig)


def inward(target: EncodeTarget, sign: Value) -> Value | bool:
    """A flag that IEEE 754 rounds a too large number to the largest one; rounding to odd takes the odd code."""
    if target.rounding == "stochastic":
        return False
    return rounds_inward(
        target.rounding, target.to.infinity_magnitude if isinstance(target.to, FloatFormat) else None, sign
    )


def is_negative(step: DatapathStep) -> Value:
    """True if a normalised number is below zero."""
    return (step.i.sign & (step.i.sig.any() | step.i.sticky)) | step.i.special.negative


class EncodeFloat(Encode):
    """A float's code."""

    target: EncodeTarget

    def __init__(self, target: EncodeTarget, name: str):
        super().__init__(name, target.normalized(), target)

    def compute(self, m: Module) -> None:
        target, fmt, sign = self.target, self.target.fmt, self.i.sign
        magnitude = rounded_magnitude(m, target, self)
        too_large = Signal()
        m.d.comb += too_large.eq(magnitude > fmt.max_magnitude)
        if not fmt.signed_zero:
            sign = sign & magnitude.any()
        self.choose(m, with_sign(fmt, magnitude, sign), too_large)
        if not fmt.signed:
            with m.If(is_negative(self) & ~self.i.special.nan):
                self._missing(m, 0)
        if fmt.canonical_nan is None:
            with m.If(self.i.special.nan):
                self._missing(m, fmt.max_magnitude)

    def _missing(self, m: Module, nearest: int) -> None:
        fmt = self.target.fmt
        match self.target.missing:
            case "nan":
                m.d.comb += [self.o.code.eq((fmt.canonical_nan or 0) >> fmt.padding), self.o.nan.eq(1)]
            case "zero":
                m.d.comb += [self.o.code.eq(0), self.o.nan.eq(0)]
            case "saturate":
                m.d.comb += [self.o.code.eq(nearest), self.o.nan.eq(0)]
            case _:
                assert_never(self.target.missing)

    def inward(self, sign: Value) -> Value | bool:
        return inward(self.target, sign)


class EncodeFixed(DatapathStep):
    """A code of a fixed format. What is too large becomes the end of its sign; without signs 0 is below zero's."""

    def __init__(self, target: EncodeTarget, to: FixedFormat, name: str):
        self.target, self.to = target, to
        o = target.encoded
        super().__init__(name, target.normalized(), o, o.members)

    def compute(self, m: Module) -> None:
        to, special = self.to, self.i.special
        magnitude = rounded_magnitude(m, self.target, self)
        infinite = special.positive | special.negative
        negative = Mux(infinite, special.negative, self.i.sign)
        end = Signal(to.bits, name="end")
        limited = Signal(to.bits, name="limited")
        m.d.comb += [
            end.eq(Mux(negative, to.steps_down, to.max_code)),
            limited.eq(Mux(infinite | (magnitude > end), end, magnitude)),
            self.o.code.eq((limited ^ negative.replicate(to.bits)) + negative),
        ]
        with m.If(special.nan):
            m.d.comb += self.o.code.eq(to.max_code if self.target.missing == "saturate" else 0)


class EncodePower(DatapathStep):
    """The code of a power of two. Negative numbers, zero and what rounds to less than the least are missing."""

    def __init__(self, target: EncodeTarget, to: ExponentFormat, name: str):
        self.target, self.to = target, to
        o = target.encoded
        super().__init__(name, target.normalized(), o, o.members)

    def compute(self, m: Module) -> None:
        to, target, special = self.to, self.target, self.i.special
        magnitude = rounded_magnitude(m, target, self)
        infinite = special.positive | special.negative
        over, lacks = Signal(name="over"), Signal(name="lacks")
        m.d.comb += [
            over.eq(infinite | (magnitude > to.max_code + BELOW)),
            lacks.eq((self.i.sign & ~infinite) | special.negative | (~infinite & (magnitude < to.min_code + BELOW))),
            self.o.code.eq(Mux(over, to.max_code, magnitude - BELOW)),
        ]
        becomes_nan = self._becomes_nan(over, infinite)
        nan = to.canonical_nan
        if nan is not None:
            with m.If(becomes_nan):
                m.d.comb += [self.o.code.eq(nan), self.o.nan.eq(1)]
        with m.If(lacks | special.nan if nan is None else lacks & ~special.nan):
            if target.missing == "nan":
                m.d.comb += [self.o.code.eq(nan or 0), self.o.nan.eq(1)]
            else:
                m.d.comb += [self.o.code.eq(Mux(special.nan, to.max_code, to.min_code)), self.o.nan.eq(0)]
        if nan is not None:
            with m.If(special.nan):
                m.d.comb += [self.o.code.eq(nan), self.o.nan.eq(1)]

    def _becomes_nan(self, over: Value, infinite: Value) -> Value:
        """True if what is too large becomes NaN, in a format that has one."""
        match self.target.overflow:
            case "saturate" | "propagate":
                return Const(0)
            case "nan":
                return over
            case "ieee":
                outside = inward(self.target, Const(0))
                return over & (infinite | ~(outside if isinstance(outside, Value) else Const(int(outside))))
            case "infinity" | "wrap":
                raise TypeError(f"{self.to.name} has no {self.target.overflow}")
            case _:
                assert_never(self.target.overflow)
