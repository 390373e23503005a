"""Streams through a datapath, and the converter: codes of one format in, codes of another out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import In, Out

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.rtl.encode import EncodeTarget
from hwsim.rtl.numbers import FieldRange
from hwsim.rtl.products import FloatDecode, ScaleDecode
from hwsim.rtl.step import Datapath, DatapathStep
from hwsim.spec import NotImplementedYet
from hwsim.spec.conversion import Conversion, conversion_cuts


class StreamedDatapath(wiring.Component):
    """What enters leaves `latency` cycles later, in order; the whole pipeline stands still while a result waits.

    name: what its Verilog is called. words: what that begins with, as comments. path: the datapath, with a register
    after its last step. i, o: the payloads.
    """

    def __init__(self, name: str, words: Sequence[str], path: Datapath, i: StructLayout, o: StructLayout):
        self.name, self.words, self.path = name, words, path
        super().__init__({"i": In(stream.Signature(i)), "o": Out(stream.Signature(o))})

    @property
    def latency(self) -> int:
        """Cycles from accepting a payload to its result."""
        return self.path.latency

    def enter(self, m: Module) -> None:
        """Drive the datapath's inputs from the fields of `i.payload` of the same names."""
        payload = self.i.payload
        for field, shape in payload.shape().members.items():
            target = getattr(self.path.i, field)
            if isinstance(shape, ArrayLayout):
                m.d.comb += [one.eq(payload[field][at]) for at, one in enumerate(target)]
            else:
                m.d.comb += target.eq(payload[field])

    @abstractmethod
    def leave(self, m: Module) -> None:
        """Drive `o.payload` from the datapath's outputs."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.datapath = self.path
        advance = Signal()
        valid: Value = self.i.valid
        for stage in range(1, self.latency + 1):
            register = Signal(name=f"valid{stage}")
            with m.If(advance):
                m.d.sync += register.eq(valid)
            valid = register
        m.d.comb += [
            advance.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(advance),
            self.o.valid.eq(valid),
            self.path.enable.eq(advance),
        ]
        self.enter(m)
        self.leave(m)
        return m


MOST_BITS = 32  # of a code


def code_layout(conversion: Conversion) -> StructLayout:
    """What enters a converter: a code in its container, and the random word of a stochastic rounding."""
    word = {"word": unsigned(conversion.random_bits)} if conversion.random_bits else {}
    return StructLayout({"code": unsigned(conversion.source.container_bits), **word})


def converted_layout(conversion: Conversion) -> StructLayout:
    """What leaves a converter: a code in its container."""
    return StructLayout({"code": unsigned(conversion.target.container_bits)})


def supports_conversion(conversion: Conversion) -> None:
    """Raise NotImplementedYet, with the reason, for a conversion that the RTL does not have."""
    conversion_target(conversion)


def conversion_target(conversion: Conversion) -> EncodeTarget:
    """What a conversion's numbers are encoded in."""
    for fmt in (conversion.source, conversion.target):
        if fmt.container_bits > MOST_BITS:
            raise NotImplementedYet(
                f"{fmt.name} has codes of {fmt.container_bits} bits, which the RTL does not have yet"
            )
    sig_bits, top_exp, loose = source_range(conversion.source)
    return EncodeTarget.of(
        conversion.target, sig_bits, top_exp, loose, rounding=conversion.rounding, overflow=conversion.overflow,
        missing=conversion.substitute, random_bits=conversion.random_bits,
    )  # fmt: skip


def source_range(fmt: Format) -> tuple[int, tuple[int, int], int]:
    """Of a decoded number: bits, least and largest exponent of its top bit, the largest at which that may be 0."""
    match fmt:
        case FloatFormat():
            # A NaN's and an infinity's field is the largest there is: what they are is said beside it.
            top = max(fmt.emax, fmt.top_bexp - fmt.bias)
            return fmt.precision, (fmt.emin, top), fmt.emin
        case FixedFormat():
            return fmt.bits, (fmt.integer_bits, fmt.integer_bits), fmt.integer_bits
        case ExponentFormat():
            return 1, (-fmt.bias, (1 << fmt.bits) - 1 - fmt.bias), -fmt.bias
        case _:
            assert_never(fmt)


class Number(NamedTuple):
    """A decoded code: (-1)^sign * sig * 2^e, where finite; `exp` - `bias` is the exponent of the top bit of sig."""

    sign: Value
    sig: Value
    exp: Value
    bias: int
    nan: Value
    inf: Value

    def special(self, to: Any) -> list[Any]:
        """Drive the fields that say what is special."""
        positive, negative = self.inf & ~self.sign, self.inf & self.sign
        return [to.nan.eq(self.nan), to.positive.eq(positive), to.negative.eq(negative)]


def decoded(m: Module, fmt: Format, code: Value, name: str) -> Number:
    """A code of a format of any kind, in its container. name: of the submodule that decodes it."""
    match fmt:
        case FloatFormat():
            m.submodules[name] = decode = FloatDecode(fmt)
            m.d.comb += decode.code.eq(code)
            o = decode.o
            return Number(o.sign, o.sig, o.bexp, FieldRange.of(fmt).bias, o.nan, o.inf)
        case FixedFormat():
            sign = code[-1]
            sig = Signal(fmt.bits, name=f"{name}_sig")
            m.d.comb += sig.eq((code ^ sign.replicate(len(code))) + sign)
            return Number(sign, sig, Const(0), -fmt.integer_bits, Const(0), Const(0))
        case ExponentFormat():
            m.submodules[name] = scale = ScaleDecode(fmt)
            m.d.comb += scale.code.eq(code)
            return Number(Const(0), Const(1, 1), scale.bexp, fmt.bias, scale.nan, Const(0))
        case _:
            assert_never(fmt)


class DecodeNumber(DatapathStep):
    """A code of a format of any kind, as a sign, a magnitude and an exponent."""

    def __init__(self, conversion: Conversion, target: EncodeTarget):
        self.source, self.target = conversion.source, target
        o = target.magnitude()
        super().__init__("decode", code_layout(conversion), o, set(o.members) - {"word"})

    def compute(self, m: Module) -> None:
        number = decoded(m, self.source, self.i.code, "code")
        m.d.comb += [
            self.o.sign.eq(number.sign),
            self.o.magnitude.eq(number.sig),
            self.o.top_bexp.eq(number.exp + (self.target.bias - number.bias)),
            *number.special(self.o.special),
        ]


def in_container(fmt: Format, code: Value, nan: Value) -> Value:
    """A code in its container; the padding of a NaN is ones."""
    return Mux(nan, fmt.canonical_nan or 0, Cat(Const(0, fmt.padding), code)) if fmt.padding else code


def described(conversion: Conversion) -> str:
    """A conversion's settings in words."""
    drawn = f" of {conversion.random_bits} random bits" if conversion.random_bits else ""
    return f"rounding: {conversion.rounding}{drawn}; overflow: {conversion.overflow}; missing: {conversion.substitute}"


class Converter(StreamedDatapath):
    """A converter with a stream of codes in and a stream of codes out, a code each cycle.

    The code of a number leaves `latency` cycles after it entered, if nothing holds the output. cuts: the steps of
    `hwsim.spec.conversion.STEPS` after which there is a register; the last always has one.
    Raises NotImplementedYet for formats that the RTL does not have.
    """

    def __init__(self, conversion: Conversion, cuts: Sequence[str] | None = None):
        self.conversion, self.cuts = conversion, conversion_cuts(cuts)
        target = conversion_target(conversion)
        path = Datapath([DecodeNumber(conversion, target), *target.steps()], self.cuts)
        words = [
            f"{conversion.source.name} to {conversion.target.name}: a converter",
            f"{described(conversion)}; cuts: {', '.join(self.cuts)} (latency {path.latency})",
        ]
        super().__init__(conversion.name, words, path, code_layout(conversion), converted_layout(conversion))

    def leave(self, m: Module) -> None:
        o = self.path.o
        m.d.comb += self.o.payload.code.eq(in_container(self.conversion.target, o.code, o.nan))
