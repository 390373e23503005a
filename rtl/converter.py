"""Streams through a datapath, and the converter: codes of one format in, codes of another out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import In, Out

from hwsim.formats import ExponentFormat, FieldFormat, FixedFormat, FloatFormat
from hwsim.rtl.encode import EncodeTarget
from hwsim.rtl.numbers import FieldRange
from hwsim.rtl.products import FloatDecode, ScaleDecode
from hwsim.rtl.step import Datapath, DatapathStep, flat
from hwsim.spec import NotImplementedYet
from hwsim.spec.conversion import Conversion, conversion_cuts


@dataclass(frozen=True, kw_only=True)
class StreamPlan:
    """The datapath between two streams.

    name: what its Verilog is called. words: what that begins with, as comments. steps: makes the datapath's, in order.
    cuts: the steps after which there is a register, the last among them. i, o: the payloads.
    leaves: the fields of `o`, from what the last step makes, by name.
    """

    name: str
    words: Sequence[str]
    steps: Callable[[], Sequence[DatapathStep]]
    cuts: tuple[str, ...]
    i: StructLayout
    o: StructLayout
    leaves: Callable[[Mapping[str, Value]], Mapping[str, Value]]

    @property
    def latency(self) -> int:
        """Cycles from accepting a payload to its result."""
        return len(self.cuts)


def cut_words(cuts: Sequence[str]) -> str:
    """Registers, as the head of a file says them."""
    return f"cuts: {', '.join(cuts)} (latency {len(cuts)})"


class StreamedDatapath(wiring.Component):
    """What enters leaves `latency` cycles later, in order; the whole pipeline stands still while a result waits."""

    def __init__(self, plan: StreamPlan):
        self.plan, self.path = plan, Datapath(plan.steps(), plan.cuts)
        self.name, self.words, self.cuts, self.latency = plan.name, plan.words, plan.cuts, plan.latency
        super().__init__({"i": In(stream.Signature(plan.i)), "o": Out(stream.Signature(plan.o))})

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
        payload = self.i.payload
        for field, shape in self.plan.i.members.items():
            target = getattr(self.path.i, field)
            if isinstance(shape, ArrayLayout):
                m.d.comb += [element.eq(payload[field][lane]) for lane, element in enumerate(target)]
            else:
                m.d.comb += target.eq(payload[field])
        m.d.comb += [self.o.payload[name].eq(of) for name, of in self.plan.leaves(flat(self.path.o)).items()]
        return m


MOST_BITS = 32  # of a code


def code_layout(conversion: Conversion) -> StructLayout:
    """Payload that enters a converter: a code in its container, and the random word of a stochastic rounding."""
    word = {"word": unsigned(conversion.random_bits)} if conversion.random_bits else {}
    return StructLayout({"code": unsigned(conversion.source.container_bits), **word})


def conversion_target(conversion: Conversion) -> EncodeTarget:
    """The target in which a conversion's numbers are encoded. Raises NotImplementedYet for one that the RTL lacks."""
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


def source_range(fmt: FieldFormat) -> tuple[int, tuple[int, int], int]:
    """Bits of a decoded number, least and largest exponent of its top bit, the largest at which that may be 0."""
    match fmt:
        case FloatFormat():
            # A NaN's and an infinity's field is the largest there is: what they are is said beside it.
            top = max(fmt.emax, fmt.top_bexp - fmt.bias)
            return fmt.precision, (fmt.emin, top), fmt.emin
        case FixedFormat():
            top = fmt.bits - 1 - fmt.fraction_bits
            return fmt.bits, (top, top), top
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


def decoded(m: Module, fmt: FieldFormat, code: Value, name: str) -> Number:
    """A code of a format of any kind, in its container. name: of the submodule that decodes it."""
    match fmt:
        case FloatFormat():
            m.submodules[name] = decode = FloatDecode(fmt)
            m.d.comb += decode.code.eq(code)
            o = decode.o
            return Number(o.sign, o.sig, o.bexp, FieldRange.of(fmt).bias, o.nan, o.inf)
        case FixedFormat():
            sign = code[-1] if fmt.signed else Const(0, 1)
            sig = Signal(fmt.bits, name=f"{name}_sig")
            m.d.comb += sig.eq((code ^ sign.replicate(len(code))) + sign)
            return Number(sign, sig, Const(0), fmt.fraction_bits + 1 - fmt.bits, Const(0), Const(0))
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


def in_container(fmt: FieldFormat, code: Value, nan: Value) -> Value:
    """A code in its container; the padding of a NaN is ones."""
    return Mux(nan, fmt.canonical_nan or 0, Cat(Const(0, fmt.padding), code)) if fmt.padding else code


def described(conversion: Conversion) -> str:
    """A conversion's settings in words."""
    drawn = f" of {conversion.random_bits} random bits" if conversion.random_bits else ""
    return f"rounding: {conversion.rounding}{drawn}; overflow: {conversion.overflow}; missing: {conversion.substitute}"


def conversion_plan(conversion: Conversion, cuts: Sequence[str] | None = None) -> StreamPlan:
    """The plan of a converter; arguments as of `Converter`."""
    c, chosen, target = conversion, conversion_cuts(cuts), conversion_target(conversion)
    return StreamPlan(
        name=c.name,
        words=(f"{c.source.name} to {c.target.name}: a converter", f"{described(c)}; {cut_words(chosen)}"),
        steps=lambda: [DecodeNumber(c, target), *target.steps()],
        cuts=chosen,
        i=code_layout(c),
        o=StructLayout({"code": unsigned(c.target.container_bits)}),
        leaves=lambda out: {"code": in_container(c.target, out["code"], out["nan"])},
    )


class Converter(StreamedDatapath):
    """A converter with a stream of codes in and a stream of codes out, a code each cycle.

    The code of a number leaves `latency` cycles after it entered, if nothing holds the output. cuts: the steps of
    `hwsim.spec.conversion.STEPS` after which there is a register; the last always has one.
    Raises NotImplementedYet for formats that the RTL does not have.
    """

    def __init__(self, conversion: Conversion, cuts: Sequence[str] | None = None):
        super().__init__(conversion_plan(conversion, cuts))
