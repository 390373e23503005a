"""Decode: codes to sign, exponent field, significand and class."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from hwsim.formats import ExponentFormat, FloatFormat

from .layouts import decoded_layout, factor_layout, operands_layout
from .numbers import FieldRange, WindowRanges
from .step import DatapathStep, assign


def is_any_of(value: Value, codes: tuple[int, ...]) -> Value:
    """Whether a value is one of `codes`."""
    return Cat(value == Const(code, len(value)) for code in codes).any()


class FloatDecode(wiring.Component):
    """One code of a float format. A NaN's and an infinity's `sig` mean nothing.

    lifted: None, or how many fraction bits count, and subnormals get a hidden bit at exponent field 0.
    """

    def __init__(self, fmt: FloatFormat, *, padded: bool = True, lifted: int | None = None):
        self.fmt, self.lifted = fmt, lifted
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
        if self.lifted is not None:
            hidden = magnitude[max(0, fmt.fraction_bits - self.lifted) :].any()
            m.d.comb += o.bexp.eq(field)
        elif fmt.subnormals:
            hidden = field.any()
            m.d.comb += o.bexp.eq(Cat(field[0] | ~hidden, field[1:]))
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
        """Whether a code is among the format's NaNs; where both signs are, the sign does not matter."""
        sign = self.fmt.sign_bit if self.fmt.signed else 0
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


class Decode(DatapathStep):
    """Both factors of every lane, the scales, and the addend: `c`, or the partial sum when `chain`.

    carried: the layout of what holds the partial sum, as the field `code`.
    """

    def __init__(self, n: WindowRanges, carried: StructLayout):
        self.n = n
        o = decoded_layout(n)
        super().__init__("decode", operands_layout(n, carried), o, o.members)

    def compute(self, m: Module) -> None:
        """Drive the decoded operands."""
        for side, fmt in (("a", self.n.a), ("b", self.n.b)):
            for lane in range(self.n.lanes):
                decode = FloatDecode(fmt)
                m.submodules[f"{side}{lane}"] = decode
                m.d.comb += decode.code.eq(getattr(self.i, side)[lane])
                m.d.comb += assign(getattr(self.o, side)[lane], decode.o)
        scale_nan = self._scales(m)
        addend = self._addend(m)
        m.d.comb += [
            self.o.special.nan.eq(addend["nan"] | scale_nan),
            self.o.special.positive.eq(addend["inf"] & ~addend["sign"]),
            self.o.special.negative.eq(addend["inf"] & addend["sign"]),
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

    def _addend(self, m: Module) -> dict[str, Value]:
        """Drive the addend; its sign and class."""
        n, partial, c = self.n, self.i.carried.code, self.n.window_addend
        if c is None:
            chosen = self._decode_addend(m, "partial", n.result, Mux(self.i.chain, partial, 0))
        elif alike(c, n.result):
            fmt = max(c, n.result, key=lambda wider: wider.fraction_bits)
            partial = Cat(Const(0, fmt.fraction_bits - n.result.fraction_bits), partial)
            code = Cat(Const(0, fmt.fraction_bits - c.fraction_bits), self.i.c[c.padding :])
            chosen = self._decode_addend(m, "addend", fmt, Mux(self.i.chain, partial, code))
        else:
            other = self._decode_addend(m, "partial", n.result, partial)
            chosen = self._decode_addend(m, "c", c, self.i.c[c.padding :])
            chosen = {key: Mux(self.i.chain, other[key], chosen[key]) for key in chosen}
        m.d.comb += [getattr(self.o.addend, field).eq(chosen[field]) for field in ("sign", "exp", "sig")]
        return chosen

    def _decode_addend(self, m: Module, name: str, fmt: FloatFormat, code: Value) -> dict[str, Value]:
        n = self.n
        lifted = None if n.subnormal_sums else n.addend_fraction_bits
        m.submodules[name] = decode = FloatDecode(fmt, padded=False, lifted=lifted)
        exp = Signal(self.o.addend.exp.shape(), name=f"{name}_exp")
        m.d.comb += [decode.code.eq(code), exp.eq(decode.o.bexp + (n.product_bias - FieldRange.of(fmt).bias))]
        missing = n.addend_fraction_bits - fmt.fraction_bits
        sig = Cat(Const(0, max(0, missing)), decode.o.sig[max(0, -missing) :])
        return {"sign": decode.o.sign, "exp": exp, "sig": sig, "nan": decode.o.nan, "inf": decode.o.inf}


def alike(first: FloatFormat, second: FloatFormat) -> bool:
    """Whether two formats differ in fraction bits alone: zeros below turn codes of the narrower into the wider's."""
    same = ("exponent_bits", "bias", "subnormals", "infinities", "signed", "nan")
    return first.nan == "ieee" and all(getattr(first, field) == getattr(second, field) for field in same)
