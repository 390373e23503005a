"""Additions after a group's sum: a promotion register's adder of any formats and scales, and a late addend's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out, PureInterface

from hwsim.formats import ExponentFormat, FieldFormat, FloatFormat, Format
from hwsim.rtl.addition import (
    GUARDS,
    FloatAdder,
    NumberDecode,
    NumberRange,
    ProductNumber,
    RoundedNumber,
    pair_specials,
)
from hwsim.rtl.arithmetic import clamp, leading_zeros, shifted
from hwsim.rtl.normalize import Magnitude, Round, normalizing
from hwsim.rtl.numbers import SPECIAL, FactorShape, FieldRange, PairRanges, ResultTarget, factor_layout, signed_shape
from hwsim.rtl.products import (
    AnyFactorDecode,
    FloatDecode,
    LaneProduct,
    PowerDecode,
    addend_code,
    bare_decoder,
    decoder,
)
from hwsim.rtl.step import Datapath, DatapathStep, assign, driven, fields
from hwsim.spec import LateAdd, LateInWindow, Specified
from hwsim.spec.keys import Number
from hwsim.spec.parts import Promotion, ScaledPromotion


class Accumulation:
    """An addition after a group's sum.

    name: of its steps. format: what it is rounded to. start: the format of the code that it begins with, where that is
    not `format`. partial: that of a group's sum. scales: those of scales that multiply it, by port; none where none do.
    scaling: in which order they do. flush: whether subnormal addends and results count as zero; `flushes`: by what that
    is judged of results. groups: between additions.
    """

    def __init__(self, unit: Specified, rule: Promotion | LateAdd):
        self.unit = unit
        self.name = "promote" if isinstance(rule, Promotion) else "late"
        self.format, self.rounding = rule.format, rule.rounding
        self.partial = unit.result.format
        addend = unit.operands.addend
        # A promotion's addend is a number of the register's format, and becomes one of its codes as it enters.
        in_format = addend is None or isinstance(rule, Promotion) or addend == rule.format
        self.start: Number | None = None if in_format else addend
        self.flush = isinstance(rule, LateAdd) and rule.flush
        self.flushes = rule.flushes if isinstance(rule, LateAdd) else None
        self.scaling, scale = unit.scaled_promotion, unit.scale
        self.scales: Mapping[str, Format] = {}
        if self.scaling is not None and scale is not None:
            self.scales = {"scale_a": scale.a.format, "scale_b": scale.b.format}

    @property
    def part(self) -> str:
        """The name of its adder in the unit."""
        return "promotion" if self.name == "promote" else self.name

    @property
    def groups(self) -> int:
        """The number of groups whose sums make one partial sum."""
        groups = self.unit.restart
        if groups is None:
            raise TypeError(f"{self.unit.name} must start again after some groups")
        return groups

    @property
    def code_bits(self) -> int:
        """Bits of what is kept: a code of either format."""
        return max(self.format.bits, 0 if self.start is None else self.start.bits)

    @property
    def x(self) -> NumberRange:
        """The numbers that are kept."""
        kept = NumberRange.of_code(self.format, self.format)
        if self.start is None:
            return kept
        first = NumberRange.of_code(self.start, self.format)
        return NumberRange(max(kept.bits, first.bits), min(kept.low, first.low), max(kept.high, first.high))

    @property
    def y(self) -> NumberRange:
        """The partial sums, scaled where they are."""
        if self.scaling is not None:
            return NumberRange.of_product(pair_ranges(self.scaling.then), self.format)
        return NumberRange.of_code(self.partial, self.format)

    def operands(self) -> StructLayout:
        """The layout of the operands, in codes without padding.

        `starts`: the code that is kept is still the one that it began with, in a format of its own.
        """
        scales = {name: unsigned(fmt.container_bits) for name, fmt in self.scales.items()}
        starts = {} if self.start is None else {"starts": 1}
        return StructLayout({"register": self.code_bits, **starts, "partial": self.partial.bits, **scales})

    def decoder(self, name: str, fmt: FieldFormat) -> AnyFactorDecode | PowerDecode:
        """The decoder of one operand of `scaling`: scales come in their containers, all else without padding."""
        if name in self.scales or isinstance(fmt, ExponentFormat):
            return decoder(fmt)
        return bare_decoder(fmt)

    def entering(self, m: Module, code: Value) -> Value:
        """The code that is kept at first, from an addend's code in its container."""
        addend = self.unit.operands.addend or self.format
        code = addend_code(self.unit, addend, code[addend.padding :], flush=self.flush)
        if self.start is not None or addend == self.format:
            return code
        m.submodules.addend_number = number = NumberDecode(addend, self.format)
        m.submodules.addend_rounded = rounded = RoundedNumber(self.format, number.range, self.rounding, "ieee")
        m.d.comb += [number.code.eq(code), *assign(rounded.i, number.o)]
        return rounded.o.code


def accumulation(unit: Specified) -> Accumulation | None:
    """The addition of a unit after a group's sum; None without one."""
    if unit.promotion is not None:
        return Accumulation(unit, unit.promotion)
    match unit.late:
        case LateAdd() as rule:
            return Accumulation(unit, rule)
        case LateInWindow() | None:
            return None
        case _:
            assert_never(unit.late)


class EnteringCode(wiring.Component):
    """The code that is kept of an addend, by itself: the unit has this logic beside its datapath."""

    def __init__(self, addition: Accumulation):
        self.addition = addition
        addend = addition.unit.operands.addend or addition.format
        super().__init__({"c": In(addend.container_bits), "o": Out(addition.code_bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.addition.entering(m, self.c))
        return m


def pair_ranges(factors: Sequence[tuple[str, Format]]) -> PairRanges:
    """The ranges of the product of two factors."""
    (_, x), (_, y) = factors
    return PairRanges(FactorShape.of(x), FactorShape.of(y))


class FirstProduct(wiring.Component):
    """The product that is made first, of both scales or of the partial sum and a scale, as a number."""

    def __init__(self, addition: Accumulation, scaling: ScaledPromotion):
        self.addition, self.scaling = addition, scaling
        self.pair = pair_ranges(scaling.first)
        self.range = NumberRange.of_product(self.pair, addition.format)
        operands = addition.operands().members
        super().__init__({**{name: In(operands[name]) for name, _ in scaling.first}, "o": Out(self.range.layout)})

    @property
    def purpose(self) -> str:
        return f"{self.scaling.words} as a number."

    def elaborate(self, platform: object) -> Module:
        m = Module()
        factors = []
        for name, fmt in self.scaling.first:
            m.submodules[name] = decode = self.addition.decoder(name, fmt)
            m.d.comb += decode.code.eq(getattr(self, name))
            factors.append(decode.o)
        number = product_number(m, self.scaling.made, self.addition, self.pair, *factors)
        m.d.comb += assign(self.o, number.o)
        return m


class FirstRounded(DatapathStep):
    """The product that is made first, rounded to the format that is kept."""

    def __init__(self, addition: Accumulation, scaling: ScaledPromotion):
        self.addition, self.scaling = addition, scaling
        i, taken, made = addition.operands(), [name for name, _ in scaling.first], scaling.made
        passed = {name: shape for name, shape in i.members.items() if name not in taken}
        super().__init__(f"{addition.name}.scale", i, StructLayout({**passed, made: addition.format.bits}), {made})

    @property
    def purpose(self) -> str:
        return f"{self.scaling.words}, rounded to the format that is kept."

    def compute(self, m: Module) -> None:
        addition, made = self.addition, self.scaling.made
        m.submodules["scales" if made == "scale" else "product"] = product = FirstProduct(addition, self.scaling)
        rounded = RoundedNumber(addition.format, product.range, addition.rounding, "ieee")
        m.submodules[f"{made}_rounded"] = rounded
        m.d.comb += [getattr(product, name).eq(getattr(self.i, name)) for name, _ in self.scaling.first]
        m.d.comb += [*assign(rounded.i, product.o), getattr(self.o, made).eq(rounded.o.code)]


def product_number(
    m: Module, name: str, addition: Accumulation, n: PairRanges, a: PureInterface, b: PureInterface
) -> ProductNumber:
    """The product of two decoded numbers."""
    m.submodules[f"{name}_product"] = product = LaneProduct(n)
    m.submodules[f"{name}_number"] = number = ProductNumber(n, addition.format)
    m.d.comb += [
        *assign(product.a, a),
        *assign(product.b, b),
        *assign(number.term, product.term),
        *assign(number.special, product.special),
    ]
    return number


class AccumulateDecode(DatapathStep):
    """The register, and the partial sum times its scale, as numbers."""

    def __init__(self, addition: Accumulation, i: StructLayout):
        self.addition = addition
        o = StructLayout({"x": addition.x.layout, "y": addition.y.layout})
        super().__init__(f"{addition.name}.decode", i, o, {"x", "y"})

    def compute(self, m: Module) -> None:
        self._kept(m)
        if self.addition.scaling is not None:
            self._scaled(m, self.addition.scaling)
        else:
            m.submodules.partial = partial = NumberDecode(self.addition.partial, self.addition.format)
            m.d.comb += [partial.code.eq(self.i.partial), *assign(self.o.y, partial.o)]

    def _kept(self, m: Module) -> None:
        addition = self.addition
        m.submodules.register = own = NumberDecode(addition.format, addition.format)
        m.d.comb += [own.code.eq(self.i.register[: addition.format.bits]), *self._widened(own)]
        if addition.flush and addition.format.subnormals:
            with m.If(~own.o.sig[-1]):
                m.d.comb += self.o.x.sig.eq(0)
        if addition.start is None:
            return
        m.submodules.start = start = NumberDecode(addition.start, addition.format)
        m.d.comb += start.code.eq(self.i.register[: addition.start.bits])
        with m.If(self.i.starts):
            m.d.comb += self._widened(start)
            if addition.flush and isinstance(addition.start, FloatFormat) and addition.start.subnormals:
                nonzero = self.i.register[addition.start.fraction_bits : addition.start.bits - 1].any()
                with m.If(~nonzero):
                    m.d.comb += [self.o.x.sig.eq(0), self.o.x.exp.eq(start.range.low)]
                    if not addition.start.signed_zero:
                        m.d.comb += self.o.x.sign.eq(0)

    def _widened(self, number: NumberDecode) -> list[object]:
        """The number that is kept, from a decoder's, with room below."""
        x, o, room = self.o.x, number.o, self.addition.x.bits - number.range.bits
        return [
            x.sign.eq(o.sign), x.exp.eq(o.exp), x.sig.eq(o.sig << room), x.nan.eq(o.nan), x.inf.eq(o.inf),
        ]  # fmt: skip

    def _scaled(self, m: Module, scaling: ScaledPromotion) -> None:
        addition, factors = self.addition, []
        for name, fmt in reversed(scaling.then):
            m.submodules[name] = decode = addition.decoder(name, fmt)
            m.d.comb += decode.code.eq(getattr(self.i, name))
            factors.append(decode.o)
        scaled = product_number(m, "partial", addition, pair_ranges(scaling.then), *reversed(factors))
        m.d.comb += assign(self.o.y, scaled.o)


class AccumulatePart(DatapathStep):
    """A part of the addition, which `FloatAdder` has."""

    def __init__(self, name: str, before: StructLayout, part: Callable[[Module, Any, Any], None], after: StructLayout):
        self.part, self.purpose = part, driven(part)
        super().__init__(name, before, after, after.members)

    def compute(self, m: Module) -> None:
        self.part(m, self.i, self.o)


def accumulator(addition: Accumulation, cuts: Sequence[str]) -> Datapath:
    """The adder of what is kept and a partial sum: `Accumulation.operands` in, `result_layout` out."""
    adder = FloatAdder(addition.format, addition.rounding, addition.x, addition.y, addition.flushes)
    name = addition.name
    first: list[DatapathStep] = [] if addition.scaling is None else [FirstRounded(addition, addition.scaling)]
    decode = AccumulateDecode(addition, first[0].gives if first else addition.operands())
    if {f"{name}.distance", f"{name}.align.1"} & set(cuts):
        align: list[DatapathStep] = [
            AccumulatePart(f"{name}.distance", decode.gives, adder.distance_pair, adder.distant()),
            AccumulatePart(f"{name}.align.1", adder.distant(), adder.begin, adder.half_aligned()),
            AccumulatePart(f"{name}.align", adder.half_aligned(), adder.end, adder.aligned()),
        ]
    else:
        align = [AccumulatePart(f"{name}.align", decode.gives, adder.align_pair, adder.aligned())]
    total: list[DatapathStep] = [AccumulatePart(f"{name}.sum", adder.aligned(), adder.sum, adder.target.before())]
    if f"{name}.sum.1" in cuts:
        total = [
            AccumulatePart(f"{name}.sum.1", adder.aligned(), adder.sum_low, adder.half_summed()),
            AccumulatePart(f"{name}.sum", adder.half_summed(), adder.sum_high, adder.target.before()),
        ]
    normalize = normalizing(adder.target, cuts, f"{name}.normalize").values()
    magnitude = Magnitude(adder.target, f"{name}.magnitude")
    return Datapath([*first, decode, *align, *total, magnitude, *normalize, Round(adder.target, name)], cuts)


INSIDE = {f"promote.{part}" for part in ("distance", "align.1", "sum.1")}  # cuts that divide a promotion's addition


def smaller_promotion(unit: Specified, cuts: Sequence[str]) -> Promotion | None:
    """A unit's promotion, if its adder is the smaller one of `promote.py`: without scales, and no register inside."""
    rule = unit.promotion
    if rule is None or rule.operation != "add" or not isinstance(unit.result.format, FloatFormat):
        return None
    return None if INSIDE & set(cuts) else rule


BELOW = GUARDS


class Adder:
    """The ranges of an adder of two numbers: the register's, and a partial sum that the register's format holds.

    move: what turns a partial sum's exponent field into one of the register's.
    """

    def __init__(self, partial: FloatFormat, rule: Promotion):
        fmt = rule.format
        self.fmt, self.partial, self.rounding = fmt, partial, rule.rounding
        self.fraction_bits = fmt.fraction_bits + BELOW
        self.most = FieldRange.of(fmt).most
        self.move = FieldRange.of(fmt).bias - FieldRange.of(partial).bias
        bits = self.fraction_bits + 1
        largest = 2 * ((1 << bits) - 1)
        self.total = signed_shape(-largest, largest)
        self.shift_bits = (self.fraction_bits + 2).bit_length()
        self.target = ResultTarget(
            fmt=fmt,
            rounding=rule.rounding,
            overflow="ieee",
            total=self.total,
            max_exp=(0, self.most),
            offset=self.total.width - 2 - self.fraction_bits,
            nan=fmt.canonical_nan or 0,
            zero_sign=True,
        )

    def operands(self) -> StructLayout:
        """Codes of the register and the partial sum, both without padding."""
        return StructLayout({"register": self.fmt.bits, "partial": self.partial.bits})

    def decoded(self) -> StructLayout:
        """Both operands with the register's bias and fraction bits. bexp counts from 1 + `move` where that is less."""
        factor = factor_layout(self.fmt)
        least = min(1 + self.move, 1)
        partial = {**factor.members, "bexp": signed_shape(least, self.most)} if least < 1 else factor.members
        return StructLayout({"register": factor, "partial": StructLayout(partial)})

    def aligned(self) -> StructLayout:
        """Both operands in units of 2^(max_exp - fraction_bits), as `ones + carry`."""
        fields: dict[str, object] = {}
        for name in ("register", "partial"):
            fields[f"{name}_ones"] = Shape(self.fraction_bits + 2, signed=True)
            fields[f"{name}_carry"] = 1
        return StructLayout({**fields, "max_exp": signed_shape(0, self.most), "zero_sign": 1, "special": SPECIAL})


class PromoteDecode(DatapathStep):
    """Both codes decoded; the partial's exponent moved into the register's format."""

    def __init__(self, adder: Adder):
        self.adder = adder
        super().__init__("promote.decode", adder.operands(), adder.decoded(), {"register", "partial"})

    def compute(self, m: Module) -> None:
        fmt, partial = self.adder.fmt, self.adder.partial
        m.submodules.register = register = FloatDecode(fmt, padded=False)
        m.submodules.partial = decode = FloatDecode(partial, padded=False)
        sig, bexp = self._moved(m, decode)
        m.d.comb += [
            register.code.eq(self.i.register),
            decode.code.eq(self.i.partial),
            *assign(self.o.register, register.o),
            self.o.partial.sign.eq(decode.o.sign),
            self.o.partial.bexp.eq(bexp),
            self.o.partial.sig.eq(Cat(Const(0, fmt.fraction_bits - partial.fraction_bits), sig)),
            self.o.partial.nan.eq(decode.o.nan),
            self.o.partial.inf.eq(decode.o.inf),
        ]

    def _moved(self, m: Module, decode: FloatDecode) -> tuple[Value, Value]:
        """The partial's significand and its exponent in the register's format.

        Where that goes further down, a subnormal becomes normal as far as it can, and a zero has the least exponent:
        no operand may set max_exp whose leading one is further down than the other's.
        """
        sig, move = decode.o.sig, self.adder.move
        if move <= 0:
            return sig, decode.o.bexp + move
        is_zero, count = leading_zeros(m, sig)
        zeros: Value = Cat(count)
        if move < self.adder.partial.fraction_bits:
            zeros = Mux(zeros > move, move, zeros)
        return (sig << zeros)[: len(sig)], Mux(is_zero, 1, decode.o.bexp + move - zeros)


class PromoteAlign(DatapathStep):
    """The smaller operand shifted right, its lost bits jammed."""

    def __init__(self, adder: Adder):
        self.adder = adder
        o = adder.aligned()
        super().__init__("promote.align", adder.decoded(), o, o.members)

    def compute(self, m: Module) -> None:
        register, partial = self.i.register, self.i.partial
        register_larger = Signal()
        max_exp = Signal.like(register.bexp)
        m.d.comb += [
            register_larger.eq(register.bexp > partial.bexp),
            max_exp.eq(Mux(register_larger, register.bexp, partial.bexp)),
            self.o.max_exp.eq(max_exp),
        ]
        for name, operand in (("register", register), ("partial", partial)):
            farthest = max(self.adder.fmt.top_bexp, self.adder.most - min(self.adder.move, 0))
            difference = Signal(range(farthest + 1), name=f"{name}_difference")
            m.d.comb += difference.eq(max_exp - operand.bexp)
            window = Cat(Const(0, BELOW), operand.sig)
            ones, carry = shifted(m, name, window, operand.sign, clamp(difference, self.adder.shift_bits), 0, "jam")
            out = fields(self.o)
            m.d.comb += [out[f"{name}_ones"].eq(ones), out[f"{name}_carry"].eq(carry)]
        m.d.comb += pair_specials(register, partial, self.o, self.adder.rounding)


class PromoteSum(DatapathStep):
    """The exact sum of both aligned operands."""

    def __init__(self, adder: Adder):
        super().__init__("promote.sum", adder.aligned(), adder.target.before(), {"total"})

    def compute(self, m: Module) -> None:
        i = self.i
        m.d.comb += self.o.total.eq(i.register_ones + i.partial_ones + i.register_carry + i.partial_carry)


def promotion_adder(partial: FloatFormat, rule: Promotion, cuts: Sequence[str]) -> Datapath:
    """The adder of the promotion register: `register` and `partial` in, `result_layout` out."""
    adder = Adder(partial, rule)
    steps = [
        PromoteDecode(adder),
        PromoteAlign(adder),
        PromoteSum(adder),
        Magnitude(adder.target, "promote.magnitude"),
        *normalizing(adder.target, cuts, "promote.normalize").values(),
        Round(adder.target, "promote"),
    ]
    return Datapath(steps, cuts)
