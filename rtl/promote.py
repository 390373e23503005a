"""Promote: an adder that rounds once, for the register that partial sums are added to."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib.data import StructLayout

from hwsim.formats import FloatFormat
from hwsim.spec.parts import Promotion

from .addition import GUARDS, pair_specials
from .decode import FloatDecode
from .layouts import SPECIAL, factor_layout
from .lost import shifted
from .normalize import Magnitude, Round
from .normalizing import normalizing
from .numbers import FieldRange, signed_shape
from .step import Datapath, DatapathStep, assign, fields
from .targets import ResultTarget
from .zeros import clamp, leading_zeros

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
        """Drive both numbers."""
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
        """Drive both aligned operands."""
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
        """Drive the total."""
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
