"""Codec tables and products: the RTL's decoders and multipliers, exhaustively, against the golden tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hwsim.cosim.build import HdlSources
from hwsim.cosim.design import AMARANTH, Design, Play, Suite
from hwsim.formats import Class, ExponentFormat, FixedFormat, FloatFormat, Format, TableFormat, get_format, unpack
from hwsim.formats import Fields as Decoded
from hwsim.formats import formats as catalogue
from hwsim.formats.codes import all_codes, is_padded
from hwsim.model.terms import product
from hwsim.rtl import FormatBench, convert, decode_fields, port_names, product_fields
from hwsim.spec import AnyUnit, Unit, dense_of, modes_of
from hwsim.tb.job import CodeTable, Script

PAIRS = (("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2"), ("e3m2", "e3m2"), ("e2m3", "e2m3"), ("e2m1", "e2m1"))
MOST_ELEMENT_BITS, MOST_CODEC_BITS, MOST_PAIR_BITS = 8, 16, 8
TOP = "hwsim_formats"

Fields = dict[str, int]
Factor = FloatFormat | FixedFormat | TableFormat
Decodable = Factor | ExponentFormat


def elements() -> list[Decodable]:
    """The catalogue's element and scale formats: those of up to 8 bits."""
    return [fmt for fmt in catalogue().values() if fmt.container_bits <= MOST_ELEMENT_BITS]


def bench_formats(units: Iterable[Unit]) -> tuple[list[Decodable], list[tuple[Factor, Factor]]]:
    """All formats and pairs: those of the catalogue, and those that the units add."""
    formats: list[Decodable] = []
    pairs: list[tuple[Factor, Factor]] = []

    def add(fmt: Format) -> None:
        if fmt.container_bits <= MOST_CODEC_BITS:
            formats.extend([fmt] if fmt not in formats else [])

    def add_pair(a: Format, b: Format) -> None:
        if isinstance(a, Factor) and isinstance(b, Factor):
            narrow = max(a.container_bits, b.container_bits) <= MOST_PAIR_BITS
            pairs.extend([(a, b)] if narrow and (a, b) not in pairs else [])

    for fmt in elements():
        add(fmt)
    for left, right in PAIRS:
        add_pair(get_format(left), get_format(right))
    for unit in units:
        add(unit.operands.a)
        add(unit.operands.b)
        add_pair(unit.operands.a, unit.operands.b)
    return formats, pairs


@dataclass(frozen=True, kw_only=True)
class TablesDesign(Design):
    """The RTL's decoders and multipliers, which are held to the golden tables."""

    formats: Sequence[Decodable]
    pairs: Sequence[tuple[Factor, Factor]]

    @cached_property
    def verilog(self) -> str:
        """The decoders and multipliers."""
        with AMARANTH:
            return convert(FormatBench(self.formats, self.pairs), TOP)

    def sources(self, simulator: str) -> HdlSources:
        """The decoders and multipliers, whose ports are those of the bench."""
        decodes, products = port_names(self.formats, self.pairs)
        return HdlSources(TOP, self.verilog, ("a", "b", *decodes, *products))

    @cached_property
    def plays(self) -> list[Play]:
        """The plays of both tables."""
        tables = {"codec tables": codec_table(self.formats), "products": product_table(self.pairs)}
        return [Play(Suite(name), Script(name, table)) for name, table in tables.items()]


def tables_design(units: Mapping[str, AnyUnit]) -> TablesDesign:
    """The tables of all formats, also those of units and of their modes. units: by their names on a command line."""
    formats, pairs = bench_formats(mode for unit in units.values() for mode in modes_of(dense_of(unit)))
    return TablesDesign(
        name="all formats", folder="formats", words=tuple(units), suites="tables", formats=formats, pairs=pairs
    )


def codec_table(formats: Sequence[Decodable]) -> CodeTable:
    rows = max(1 << fmt.container_bits for fmt in formats)
    answers = [[expected_decode(fmt, code) for code in range(1 << fmt.container_bits)] for fmt in formats]
    layouts = [list(decode_fields(fmt)) for fmt in formats]
    codes = np.arange(rows)
    return _table(port_names(formats, ())[0], codes, np.zeros(rows, np.int64), answers, layouts)


def product_table(pairs: Sequence[tuple[Factor, Factor]]) -> CodeTable:
    side = max(1 << fmt.container_bits for pair in pairs for fmt in pair)
    a, b = np.divmod(np.arange(side * side), side)
    answers, layouts = [], []
    for fmt_a, fmt_b in pairs:
        rows: list[Fields] = [{} for _ in range(side * side)]
        of_other = {code: unpack(fmt_b, code) for code in all_codes(fmt_b)}
        for code in all_codes(fmt_a):
            left = unpack(fmt_a, code)
            for code_b, right in of_other.items():
                rows[code * side + code_b] = expected_product(fmt_a, fmt_b, left, right)
        answers.append(rows)
        layouts.append(list(product_fields(fmt_a, fmt_b)))
    return _table(port_names((), pairs)[1], a, b, answers, layouts)


def _table(
    ports: list[str],
    a: np.ndarray,
    b: np.ndarray,
    answers: Sequence[Sequence[Fields]],
    layouts: Sequence[Sequence[tuple[str, int]]],
) -> CodeTable:
    expected = np.zeros((len(ports), len(a)), np.int64)
    mask = np.zeros_like(expected)
    for port, (rows, layout) in enumerate(zip(answers, layouts, strict=True)):
        for row, fields in enumerate(rows):
            expected[port, row], mask[port, row] = _packed(fields, layout)
    return CodeTable(np.array(ports), np.asarray(a, np.int64), np.asarray(b, np.int64), expected, mask)


def _packed(fields: Fields, layout: Sequence[tuple[str, int]]) -> tuple[int, int]:
    word = mask = offset = 0
    for name, bits in layout:
        if name in fields:
            word |= (fields[name] & ((1 << bits) - 1)) << offset
            mask |= ((1 << bits) - 1) << offset
        offset += bits
    return word, mask


def expected_decode(fmt: Decodable, code: int) -> Fields:
    """The decoder's outputs for a code; fields that are left out may be anything.

    A NaN's and an infinity's exponent and significand mean nothing; nor does anything of a word that is no code, since
    its padding is not zero.
    """
    if not is_padded(fmt, code):
        return {}
    sign, exp, sig, cls = unpack(fmt, code)
    if isinstance(fmt, ExponentFormat):
        return {"nan": 1} if cls is Class.NAN else {"bexp": exp + fmt.bias, "nan": 0}
    special = {"nan": int(cls is Class.NAN), "inf": int(cls is Class.INFINITY)}
    if cls is Class.NAN:
        return {"nan": 1}
    if cls is Class.INFINITY:
        return {"sign": sign, **special}
    return {"sign": sign, "bexp": exp + _lift(fmt), "sig": sig, **special}


def _lift(fmt: Factor) -> int:
    """The amount that turns an exponent into a field that counts from 1."""
    number = fmt.decoded
    return 1 if isinstance(number, FixedFormat) else number.bias + 1 - number.least_bexp


def expected_product(a: Factor, b: Factor, one: Decoded, other: Decoded) -> Fields:
    """The multiplier's outputs for two decoded codes. A zero product's exponent is 0."""
    term = product(one, other, a.fraction_bits + b.fraction_bits)
    special = {"nan": int(term.cls is Class.NAN), "positive": 0, "negative": 0}
    if term.cls is Class.NAN:
        return {"nan": 1}
    if term.cls is Class.INFINITY:
        return {**special, "positive": 1 - term.sign, "negative": term.sign}
    lift = _lift(a) + _lift(b)
    exp = term.exp + lift if term.cls is Class.NORMAL else 0
    return {"sign": term.sign, "exp": exp, "sig": term.sig, **special}
