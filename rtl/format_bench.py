"""Every decoder and multiplier on its own, side by side, for exhaustive tests of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, TableFormat
from hwsim.rtl.methods import supports
from hwsim.rtl.numbers import SPECIAL, ProductRanges, factor_layout, term_layout
from hwsim.rtl.products import AnyFactorDecode, LaneProduct, ScaleDecode, factor_decoder
from hwsim.spec import Unit

Factor = FloatFormat | FixedFormat | TableFormat
Decodable = Factor | ExponentFormat


def pair_ranges(a: Factor, b: Factor) -> ProductRanges:
    """The ranges of the least unit that multiplies these formats. Raises ValueError where the RTL has none."""
    unit = Unit.model_validate(
        {
            "unit": "pair",
            "operands": {"a": a, "b": b, "addend": None},
            "instruction": {"k": 1, "lanes": 1},
            "sum": {"method": "aligned", "fraction_bits": 0, "addend": None},
            "result": {"format": "f32", "rounding": "rz"},
        }
    )
    supports(unit).demand()
    return ProductRanges(unit)


def port_names(formats: Sequence[Decodable], pairs: Sequence[tuple[Factor, Factor]]) -> tuple[list[str], list[str]]:
    """The ports of the decoders and of the multipliers; numbered, for two formats may share a name."""
    decodes = [f"decode{index}_{_identifier(fmt.name)}" for index, fmt in enumerate(formats)]
    products = [f"product{index}_{_identifier(a.name)}_{_identifier(b.name)}" for index, (a, b) in enumerate(pairs)]
    return decodes, products


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


class FormatBench(wiring.Component):
    """Codes in, fields out, combinational.

    Ports: `a` and `b` (codes, in the low bits), and `port_names`: for each format its decoded fields from the low bits
    up (sign, bexp, sig, nan, inf; a scale's: bexp, nan), for each pair its product's (sign, exp, sig, nan, positive,
    negative).
    """

    def __init__(self, formats: Sequence[Decodable], pairs: Sequence[tuple[Factor, Factor]]):
        self.formats, self.pairs = list(formats), list(pairs)
        width = max(fmt.container_bits for fmt in formats)
        ports = {"a": In(width), "b": In(width)}
        self.decodes, self.products = port_names(formats, pairs)
        for name, fmt in zip(self.decodes, formats, strict=True):
            ports[name] = Out(sum(bits for _, bits in decode_fields(fmt)))
        for name, pair in zip(self.products, pairs, strict=True):
            ports[name] = Out(sum(bits for _, bits in product_fields(*pair)))
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name, fmt in zip(self.decodes, self.formats, strict=True):
            m.submodules[name] = decode = self._decoder(m, fmt, self.a)
            fields = Cat(decode.bexp, decode.nan) if isinstance(decode, ScaleDecode) else Cat(decode.o)
            m.d.comb += getattr(self, name).eq(fields)
        for name, (a, b) in zip(self.products, self.pairs, strict=True):
            m.submodules[name] = product = LaneProduct(pair_ranges(a, b))
            m.submodules[f"{name}_a"] = decode_a = self._decoder(m, a, self.a)
            m.submodules[f"{name}_b"] = decode_b = self._decoder(m, b, self.b)
            m.d.comb += [
                product.a.eq(decode_a.o),
                product.b.eq(decode_b.o),
                getattr(self, name).eq(Cat(product.term, product.special)),
            ]
        return m

    def _decoder(self, m: Module, fmt: Decodable, code: Value) -> AnyFactorDecode | ScaleDecode:
        decode = ScaleDecode(fmt) if isinstance(fmt, ExponentFormat) else factor_decoder(fmt)
        m.d.comb += decode.code.eq(code)
        return decode


def decode_fields(fmt: Decodable) -> Iterator[tuple[str, int]]:
    """Names and widths of a decoder's fields, from the low bits up."""
    if isinstance(fmt, ExponentFormat):
        yield from (("bexp", fmt.bits), ("nan", 1))
    else:
        yield from ((name, field.width) for name, field in factor_layout(fmt.decoded))


def product_fields(a: Factor, b: Factor) -> Iterator[tuple[str, int]]:
    """Names and widths of a multiplier's fields, from the low bits up."""
    yield from ((name, field.width) for name, field in term_layout(pair_ranges(a, b)))
    yield from ((name, field.width) for name, field in SPECIAL)
