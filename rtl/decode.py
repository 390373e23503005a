"""Decode: codes to sign, exponent field, significand and class."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.data import StructLayout, View
from amaranth.lib.wiring import In, Out

from hwsim.formats import ExponentFormat, FloatFormat

from .layouts import decoded_layout, factor_layout, operands_layout
from .numbers import FieldRange, Numbers
from .step import Step, assign


def is_any_of(value: Value, codes: tuple[int, ...]) -> Value:
    """Whether a value is one of `codes`."""
    return Cat(value == Const(code, len(value)) for code in codes).any()


class FloatDecode(wiring.Component):
    """One code of a float format. A NaN's and an infinity's `sig` mean nothing."""

    def __init__(self, fmt: FloatFormat, *, padded: bool = True):
        self.fmt = fmt
        self.padding = fmt.padding if padded else 0
        super().__init__({"code": In(fmt.bits + self.padding), "o": Out(factor_layout(fmt))})

    def elaborate(self, platform: object) -> Module:
        """The decoder's logic."""
        m = Module()
        fmt, o = self.fmt, self.o
        code = self.code[self.padding :]
        frac = code[: fmt.fraction_bits]
        field = code[fmt.fraction_bits : fmt.fraction_bits + fmt.exponent_bits]
        magnitude = code[: fmt.fraction_bits + fmt.exponent_bits]
        if fmt.subnormals:
            hidden = field.any()
            m.d.comb += o.bexp.eq(Cat(field[0] | ~hidden, field[1:]))
        else:
            hidden = magnitude.any()
            m.d.comb += o.bexp.eq(field + 1)
        m.d.comb += [o.sig.eq(Cat(frac, hidden)), o.sign.eq(code[-1] if fmt.signed else 0)]
        if fmt.nan == "ieee":
            m.d.comb += o.nan.eq(field.all() & frac.any())
        else:
            m.d.comb += o.nan.eq(self._is_listed_nan(code))
        if fmt.infinity_magnitude is not None:
            m.d.comb += o.inf.eq(magnitude == Const(fmt.infinity_magnitude, len(magnitude)))
        return m

    def _is_listed_nan(self, code: Value) -> Value:
        """Whether a code is among the format's NaNs; where both signs are, the sign does not matter."""
        codes, sign = self.fmt.nan, self.fmt.sign_bit if self.fmt.signed else 0
        both = tuple(nan for nan in codes if sign and not nan & sign and nan | sign in codes)
        alone = tuple(nan for nan in codes if nan & ~sign not in both)
        return is_any_of(code[:-1], both) | is_any_of(code, alone)


class ScaleDecode(wiring.Component):
    """One code of a power-of-two format: 2^(bexp - bias), or NaN."""

    def __init__(self, fmt: ExponentFormat):
        self.fmt = fmt
        super().__init__({"code": In(fmt.bits), "bexp": Out(fmt.bits), "nan": Out(1)})

    def elaborate(self, platform: object) -> Module:
        """The decoder's logic."""
        m = Module()
        m.d.comb += [self.bexp.eq(self.code), self.nan.eq(is_any_of(self.code, self.fmt.nan))]
        return m


class Decode(Step):
    """Both factors of every lane, the scales, and the addend: `c`, or the partial sum when `chain`."""

    def __init__(self, n: Numbers):
        self.n = n
        super().__init__("decode", operands_layout(n), decoded_layout(n))

    def compute(self, m: Module) -> None:
        """Drive the decoded operands."""
        for side, fmt in (("a", self.n.a), ("b", self.n.b)):
            for lane in range(self.n.lanes):
                decode = FloatDecode(fmt)
                m.submodules[f"{side}{lane}"] = decode
                m.d.comb += [decode.code.eq(getattr(self.i, side)[lane]), *assign(getattr(self.o, side)[lane], decode.o)]
        scale_nan = self._scales(m)
        addend = self._addend(m)
        m.d.comb += [
            self.o.special.nan.eq(addend.nan | scale_nan),
            self.o.special.positive.eq(addend.inf & ~addend.sign),
            self.o.special.negative.eq(addend.inf & addend.sign),
        ]

    def _scales(self, m: Module) -> Value:
        nan: Value = Const(0)
        if not self.n.scales:
            return nan
        fields: list[list[Value]] = []
        for side, fmt, blocks in zip(("a", "b"), self.n.scales, self.n.scale_blocks, strict=True):
            decoders = [ScaleDecode(fmt) for _ in range(blocks)]
            for index, decode in enumerate(decoders):
                m.submodules[f"scale_{side}{index}"] = decode
                m.d.comb += decode.code.eq(getattr(self.i, f"scale_{side}")[index])
                nan |= decode.nan
            length = -(-self.n.lanes // blocks)
            fields.append([decoders[lane // length].bexp for lane in range(self.n.lanes)])
        for lane, (a, b) in enumerate(zip(*fields, strict=True)):
            m.d.comb += self.o.scale_exp[lane].eq(a + b)
        return nan

    def _addend(self, m: Module) -> View[StructLayout]:
        """Drive the addend; its sign and class."""
        partial = self._decode_addend(m, "partial", self.n.result, self.i.partial)
        if self.n.window_addend is None:
            chosen = partial
            gate = self.i.chain
        else:
            c = self._decode_addend(m, "c", self.n.window_addend, self.i.c)
            chosen = {key: Mux(self.i.chain, partial[key], c[key]) for key in partial}
            gate = Const(1)
        addend = Signal(StructLayout({"sign": 1, "nan": 1, "inf": 1}), name="addend_class")
        m.d.comb += [
            self.o.addend.sign.eq(chosen["sign"]),
            self.o.addend.exp.eq(chosen["exp"]),
            self.o.addend.sig.eq(Mux(gate, chosen["sig"], 0)),
            addend.sign.eq(chosen["sign"]),
            addend.nan.eq(chosen["nan"] & gate),
            addend.inf.eq(chosen["inf"] & gate),
        ]
        return addend

    def _decode_addend(self, m: Module, name: str, fmt: FloatFormat, code: Value) -> dict[str, Value]:
        decode = FloatDecode(fmt, padded=name == "c")
        m.submodules[name] = decode
        exp = Signal(self.o.addend.exp.shape(), name=f"{name}_exp")
        m.d.comb += [decode.code.eq(code), exp.eq(decode.o.bexp + (self.n.product_bias - FieldRange.of(fmt).bias))]
        sig = Cat(Const(0, self.n.addend_fraction_bits - fmt.fraction_bits), decode.o.sig)
        return {"sign": decode.o.sign, "exp": exp, "sig": sig, "nan": decode.o.nan, "inf": decode.o.inf}
