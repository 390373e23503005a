"""Decode and multiply: codes to sign, exponent field, significand and class; two factors to an exact product."""

from __future__ import annotations

from typing import cast

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, PureInterface

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, TableFormat
from hwsim.rtl.arithmetic import carry_save, leading_zeros
from hwsim.rtl.numbers import (
    SPECIAL,
    FactorShape,
    FactorSide,
    FieldRange,
    PairRanges,
    ProductRanges,
    as_float,
    factor_layout,
    signed_shape,
    term_layout,
)
from hwsim.rtl.step import assign
from hwsim.rtl.tabledecode import TableDecode
from hwsim.spec import Specified
from hwsim.spec.keys import Factor, Number


def is_any_of(value: Value, codes: tuple[int, ...]) -> Value:
    """True if a value is one of `codes`."""
    return Cat(value == Const(code, len(value)) for code in codes).any()


class FloatDecode(wiring.Component):
    """One code of a float format. A NaN's and an infinity's `sig` mean nothing.

    lifted: None, or how many fraction bits count, and subnormals get a hidden bit at exponent field 0.
    """

    def __init__(self, fmt: FloatFormat, *, padded: bool = True, lifted: int | None = None):
        self.fmt, self.lifted = fmt, lifted
        self.padding = fmt.padding if padded else 0
        super().__init__({"code": In(fmt.bits + self.padding), "o": Out(factor_layout(fmt))})

    @property
    def purpose(self) -> str:
        return (
            f"One code of {self.fmt.name}: sign, exponent field, significand with its hidden bit, whether it is NaN "
            "or infinite."
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, o = self.fmt, self.o
        code = self.code[self.padding :]
        frac = code[: fmt.fraction_bits]
        field = code[fmt.fraction_bits : fmt.fraction_bits + fmt.exponent_bits]
        magnitude = code[: fmt.fraction_bits + fmt.exponent_bits]
        if self.lifted is not None:
            hidden = magnitude[max(0, fmt.fraction_bits - self.lifted) :].any()
            m.d.comb += o.bexp.eq(field)
        elif fmt.subnormals:
            above = field[1:].any()
            hidden = above | field[0]
            m.d.comb += o.bexp.eq(Cat(field[0] | ~above, field[1:]))
        else:
            hidden = magnitude.any()
            m.d.comb += o.bexp.eq(field + 1)
        m.d.comb += [o.sig.eq(Cat(frac, hidden)), o.sign.eq(code[-1] if fmt.signed else 0)]
        if fmt.nan == "ieee":
            m.d.comb += o.nan.eq(field.all() & frac.any())
        else:
            m.d.comb += o.nan.eq(self._is_listed_nan(code, fmt.nan))
        if fmt.infinity_magnitude is not None:
            m.d.comb += o.inf.eq(magnitude == Const(fmt.infinity_magnitude, len(magnitude)))
        return m

    def _is_listed_nan(self, code: Value, codes: tuple[int, ...]) -> Value:
        """True if a code is among the format's NaNs; where both signs are, the sign does not matter."""
        sign = self.fmt.sign_bit if self.fmt.signed else 0
        both = tuple(nan for nan in codes if sign and not nan & sign and nan | sign in codes)
        alone = tuple(nan for nan in codes if nan & ~sign not in both)
        return is_any_of(code[:-1], both) | is_any_of(code, alone)


class ScaleDecode(wiring.Component):
    """One code of a power-of-two format: 2^(bexp - bias), or NaN."""

    def __init__(self, fmt: ExponentFormat):
        self.fmt = fmt
        super().__init__({"code": In(fmt.bits), "bexp": Out(fmt.bits), "nan": Out(1)})

    @property
    def purpose(self) -> str:
        return f"One code of {self.fmt.name}, a power of two: its exponent, and whether it is NaN."

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [self.bexp.eq(self.code), self.nan.eq(is_any_of(self.code, self.fmt.nan))]
        return m


class FixedDecode(wiring.Component):
    """One code of a fixed format: its sign and magnitude."""

    def __init__(self, fmt: FixedFormat, *, padded: bool = True):
        self.fmt = fmt
        self.padding = fmt.padding if padded else 0
        super().__init__({"code": In(fmt.bits + self.padding), "o": Out(factor_layout(fmt))})

    @property
    def purpose(self) -> str:
        if not self.fmt.signed:
            return f"One code of {self.fmt.name}, without a sign: its magnitude."
        return f"One code of {self.fmt.name}, two's complement: its sign and magnitude."

    def elaborate(self, platform: object) -> Module:
        m = Module()
        code, o = self.code[self.padding :], self.o
        if not self.fmt.signed:
            m.d.comb += [o.bexp.eq(1), o.sig.eq(code)]
            return m
        sign = code[-1]
        flipped = code ^ sign.replicate(len(code))
        m.d.comb += [o.sign.eq(sign), o.bexp.eq(1), o.sig.eq(flipped + sign)]
        return m


class PowerDecode(wiring.Component):
    """One code of a power-of-two format as a number."""

    def __init__(self, fmt: ExponentFormat):
        self.fmt = fmt
        super().__init__({"code": In(fmt.container_bits), "o": Out(factor_layout(fmt))})

    @property
    def purpose(self) -> str:
        return f"One code of {self.fmt.name}, a power of two, as a number."

    def elaborate(self, platform: object) -> Module:
        m = Module()
        code, o = self.code[self.fmt.padding :], self.o
        nan = is_any_of(code, self.fmt.nan)
        m.d.comb += [o.bexp.eq(code + 1 - self.fmt.min_code), o.sig.eq(1), o.nan.eq(nan)]
        return m


def bare_decoder(fmt: Number) -> FloatDecode | FixedDecode:
    """The decoder of a code without its padding."""
    return FixedDecode(fmt, padded=False) if isinstance(fmt, FixedFormat) else FloatDecode(fmt, padded=False)


def addend_code(unit: Specified, fmt: Number, code: Value, *, flush: bool = False) -> Value:
    """An addend's code, without padding; +0 in the place of what counts as zero where the unit drops zeros' signs.

    flush: whether subnormals count as zero.
    """
    if unit.operands.zeros == "signed" or isinstance(fmt, FixedFormat):
        return code
    least = fmt.fraction_bits if flush and fmt.subnormals else 0
    something = code[least : fmt.bits - fmt.signed].any()
    if fmt.signed and fmt.is_nan(fmt.sign_bit):
        something |= code == fmt.sign_bit
    return Mux(something, code, 0)


AnyFactorDecode = FloatDecode | FixedDecode | TableDecode


def factor_decoder(fmt: Factor) -> AnyFactorDecode:
    """The decoder of a factor's code in its container."""
    if isinstance(fmt, TableFormat):
        return TableDecode(fmt)
    return FixedDecode(fmt) if isinstance(fmt, FixedFormat) else FloatDecode(fmt)


def decoder(fmt: Format) -> AnyFactorDecode | PowerDecode:
    """The decoder of a scale's code, of any format, in its container, as a number."""
    return PowerDecode(fmt) if isinstance(fmt, ExponentFormat) else factor_decoder(fmt)


class Converted(wiring.Component):
    """A decoded number in a format that holds it, as that format has it: subnormal there, or normal."""

    def __init__(self, fmt: Number, to: FloatFormat):
        self.fmt, self.to = fmt, to
        super().__init__({"i": In(factor_layout(fmt)), "o": Out(factor_layout(to))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, to, i, o = self.fmt, self.to, self.i, self.o
        bits = max(fmt.sig_bits, to.precision)
        # The exponent field in `to` that the top bit would have as a leading one.
        move = FieldRange.of(to).bias - FieldRange.of(fmt).bias + fmt.sig_bits - 1 - fmt.fraction_bits
        low, high = 1 + move, FieldRange.of(fmt).most + move
        top = Signal(signed_shape(min(low, 0), max(high, 1)), name="top")
        sig = Cat(Const(0, bits - fmt.sig_bits), i.sig)
        _, count = leading_zeros(m, sig)
        zeros = Signal(len(count), name="zeros")
        room = Signal(signed_shape(min(low - 1, 0), max(high - 1, 1)), name="room")
        left, right = Signal(len(count), name="left"), Signal(range(max(2, 2 - low)), name="right")
        m.d.comb += [top.eq(i.bexp + move), zeros.eq(Cat(count)), room.eq(top - 1)]
        if to.subnormals:
            # Lint tools warn of an unsigned number that is compared with 0.
            below = room < 0 if room.shape().signed else Const(0)
            m.d.comb += [
                left.eq(Mux(below, 0, Mux(room < zeros, room, zeros))),
                right.eq(Mux(below, -room, 0)),
            ]
        else:
            m.d.comb += left.eq(zeros)
        m.d.comb += [
            o.sign.eq(i.sign),
            o.nan.eq(i.nan),
            o.inf.eq(i.inf),
            # Exact: the format holds the number, so that only zeros are shifted out.
            o.sig.eq(((sig << left)[:bits] >> right)[bits - to.precision :]),
            o.bexp.eq(Mux(sig.any(), top - left + right, 1)),
        ]
        return m


class FactorDecode(wiring.Component):
    """One factor's code, decoded and made ready to multiply.

    fmt: the code's format. to: the format that is multiplied. daz: whether a subnormal of that counts as zero.
    positive: whether a zero, and what counts as one, loses its sign.
    """

    def __init__(self, fmt: Factor, to: Number, daz: bool, positive: bool):
        self.fmt, self.to, self.daz, self.positive = fmt, to, daz, positive
        super().__init__({"code": In(fmt.container_bits), "o": Out(factor_layout(to))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.decode = decode = factor_decoder(self.fmt)
        m.d.comb += decode.code.eq(self.code)
        decoded = decode.o
        if self.to != self.fmt.decoded:
            m.submodules.converted = converted = Converted(self.fmt.decoded, as_float(self.to))
            m.d.comb += assign(converted.i, decode.o)
            decoded = converted.o
        m.d.comb += assign(self.o, decoded)
        kept = ~(decoded.nan | decoded.inf)
        subnormal = kept & ~decoded.sig[-1]
        if self.daz and isinstance(self.to, FloatFormat):
            with m.If(subnormal):
                m.d.comb += self.o.sig.eq(0)
        if self.positive:
            zero = subnormal if self.daz and isinstance(self.to, FloatFormat) else kept & ~decoded.sig.any()
            with m.If(zero):
                m.d.comb += self.o.sign.eq(0)
        return m


def operand_decoder(unit: Specified, fmt: Factor, to: Number) -> AnyFactorDecode | FactorDecode:
    """The decoder of a factor's code, in the format that is multiplied."""
    operands = unit.operands
    plain = to == fmt.decoded and not operands.daz and operands.zeros == "signed"
    return factor_decoder(fmt) if plain else FactorDecode(fmt, to, operands.daz, operands.zeros == "positive")


class ModalDecode(wiring.Component):
    """One factor's code, decoded by the format that the mode chooses of several, in a shape that holds all of them.

    chosen: a bit for each choice but the last, at most one of which is set; none chooses the last.
    """

    def __init__(self, unit: Specified, side: FactorSide, shape: FactorShape):
        self.unit, self.choices, self.shape = unit, side.choices, shape
        code, chosen = In(side.container_bits), In(len(side.choices) - 1)
        super().__init__({"code": code, "chosen": chosen, "o": Out(factor_layout(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        every = [self._moved(m, index, fmt, to) for index, (fmt, to) in enumerate(self.choices)]
        for field in factor_layout(self.shape).members:
            value = every[-1][field]
            for index, decoded in enumerate(every[:-1]):
                value = Mux(self.chosen[index], decoded[field], value)
            m.d.comb += getattr(self.o, field).eq(value)
        return m

    def _moved(self, m: Module, index: int, fmt: Factor, to: Number) -> dict[str, Value]:
        """A format's number, its exponent and its significand where the shape has them."""
        m.submodules[f"format{index}"] = decode = operand_decoder(self.unit, fmt, to)
        source, o = FactorShape.of(to), decode.o
        m.d.comb += decode.code.eq(self.code[: fmt.container_bits])
        bexp = (o.bexp + (self.shape.field.bias - source.field.bias))[: self.shape.bexp_bits]
        sig = Cat(Const(0, self.shape.fraction_bits - source.fraction_bits), o.sig)
        return {"sign": o.sign, "bexp": bexp, "sig": sig, "nan": o.nan, "inf": o.inf}


def decode_factors(m: Module, n: ProductRanges, i: PureInterface, o: PureInterface) -> None:
    """Drive both decoded factors of every lane."""
    if n.apart:
        return
    for (name, side), shape in zip(n.sides.items(), n.multiplied, strict=True):
        chosen = format_chosen(m, name, side, i)
        for lane in range(n.lanes):
            if chosen is None:
                decode = operand_decoder(n.unit, *side.choices[0])
            else:
                decode = ModalDecode(n.unit, side, shape)
                m.d.comb += decode.chosen.eq(chosen)
            m.submodules[f"{name}{lane}"] = decode
            m.d.comb += decode.code.eq(getattr(i, name)[lane])
            m.d.comb += assign(getattr(o, name)[lane], decode.o)


def format_chosen(m: Module, name: str, side: FactorSide, i: PureInterface) -> Signal | None:
    """A flag for each of a factor's formats but the last: the beat's mode chooses it. None if there is one format."""
    if len(side.choices) == 1:
        return None
    modes = list(zip(side.codes, side.formats, strict=True))
    chosen = Signal(len(side.choices) - 1, name=f"{name}_chosen")
    for index, choice in enumerate(side.choices[:-1]):
        numbers = tuple(number for number, mode in enumerate(modes) if mode == choice)
        m.d.comb += chosen[index].eq(is_any_of(i.mode, numbers))
    return chosen


def scale_exponents(m: Module, n: ProductRanges, i: PureInterface, o: PureInterface) -> Value:
    """Drive what the scales of each lane add to its product's exponent; whether any scale is NaN."""
    nan: Value = Const(0)
    if not n.scales:
        return nan
    if n.apart:
        return cast(Value, i.scale_nan)
    unscaled = is_any_of(i.mode, n.unscaled) if n.unscaled else None
    fields: list[list[Value]] = []
    for side, fmt, blocks in zip(("a", "b"), n.scales, n.scale_blocks, strict=True):
        decoders = [ScaleDecode(fmt) for _ in range(blocks)]
        for index, decode in enumerate(decoders):
            m.submodules[f"scale_{side}{index}"] = decode
            code = getattr(i, f"scale_{side}")[index]
            m.d.comb += decode.code.eq(code if unscaled is None else Mux(unscaled, fmt.bias, code))
            nan |= decode.nan
        length = -(-n.lanes // blocks)
        fields.append([decoders[lane // length].bexp for lane in range(n.lanes)])
    for lane, (a, b) in enumerate(zip(*fields, strict=True)):
        m.d.comb += o.scale_exp[lane].eq(a + b)
    return nan


SMALL = 4  # bits of significands up to which rows of full adders are smaller than what synthesis makes of `*`


def product_in_rows(m: Module, a: Value, b: Value) -> Value:
    """a * b as rows of full adders, and one addition of the high bits."""
    bits = len(a) + len(b)
    partial = [Signal(len(a), name=f"partial{index}") for index in range(len(b))]
    m.d.comb += [to.eq(a & bit.replicate(len(a))) for to, bit in zip(partial, b, strict=True)]
    rows = [Cat(Const(0, place), row, Const(0, bits - place - len(a))) for place, row in enumerate(partial)]
    total, carries = rows[0], rows[1]
    for index, row in enumerate(rows[2:]):
        differ, row_sum = Signal(bits, name=f"differ{index}"), Signal(bits, name=f"row_sum{index}")
        row_carry = Signal(bits - 1, name=f"row_carry{index}")
        values = carry_save(total, carries, row, differ)
        m.d.comb += [differ.eq(total ^ carries), row_sum.eq(values[0]), row_carry.eq(values[1][1:])]
        total, carries = row_sum, Cat(Const(0, 1), row_carry)
    return (total + carries)[:bits]


class LaneProduct(wiring.Component):
    """The exact product of one lane, and whether it is NaN or infinite."""

    def __init__(self, n: PairRanges):
        self.n = n
        scale = {"scale_exp": In(n.scale_most.bit_length())} if n.scales else {}
        super().__init__(
            {
                "a": In(factor_layout(n.multiplied[0])),
                "b": In(factor_layout(n.multiplied[1])),
                **scale,
                "term": Out(term_layout(n)),
                "special": Out(SPECIAL),
            }
        )

    @property
    def purpose(self) -> str:
        how = " Rows of full adders sum partial products, and the last addition their carries." if self.in_rows else ""
        return f"The exact product of one lane, and whether it is NaN or infinite.{how}"

    @property
    def in_rows(self) -> bool:
        """True if significands are so small that rows of full adders multiply them."""
        sizes = sorted(shape.sig_bits for shape in self.n.multiplied)
        return sizes[0] > 1 and 2 < sizes[1] <= SMALL

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b, term, special = self.a, self.b, self.term, self.special
        zero_a, zero_b = Signal(name="a_zero"), Signal(name="b_zero")
        exp = Signal(term.exp.shape())
        inf = Signal()
        m.d.comb += [
            zero_a.eq(~a.sig.any()),
            zero_b.eq(~b.sig.any()),
            term.sign.eq(a.sign ^ b.sign),
            term.sig.eq(product_in_rows(m, a.sig, b.sig) if self.in_rows else a.sig * b.sig),
            exp.eq(a.bexp + b.bexp + self.scale_exp if self.n.scales else a.bexp + b.bexp),
            # A zero product has exponent 0, below every other, so that it never sets the maximum.
            term.exp.eq(Mux(zero_a | zero_b, 0, exp)),
            inf.eq(a.inf | b.inf | self._exceeds(m)),
            special.nan.eq(a.nan | b.nan | (a.inf & zero_b) | (b.inf & zero_a)),
            special.positive.eq(inf & ~term.sign),
            special.negative.eq(inf & term.sign),
        ]
        return m

    def _exceeds(self, m: Module) -> Value:
        """True if a finite product's magnitude is beyond the unit's limit for it: 2^product_limit or more."""
        n, limit = self.n, self.n.limit
        if limit is None:
            return Const(0)
        bits = n.sig_bits
        # So far up that the significand's leading one leaves it where the product is too large.
        move = bits - n.product_fraction_bits - limit - n.product_bias
        up = Signal(signed_shape(min(move, 0), max(n.product_most + move, bits)), name="up")
        places = Signal(range(bits + 1), name="places")
        m.d.comb += [up.eq(self.term.exp + move), places.eq(Mux(up < 0, 0, Mux(up > bits, bits, up)))]
        moved = Signal(2 * bits, name="moved")
        m.d.comb += moved.eq(self.term.sig << places)
        return moved[bits:].any()


def lane_products(m: Module, n: ProductRanges, i: PureInterface) -> list[LaneProduct]:
    """A multiplier for every lane of decoded factors."""
    products = [LaneProduct(n) for _ in range(n.lanes)]
    for lane, product in enumerate(products):
        m.submodules[f"lane{lane}"] = product
        m.d.comb += [*assign(product.a, i.a[lane]), *assign(product.b, i.b[lane])]
        if n.scales:
            m.d.comb += product.scale_exp.eq(i.scale_exp[lane])
    return products
