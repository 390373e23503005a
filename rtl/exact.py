"""An exact sum in hardware: products in one integer wide enough for all, rounded at the end, or after each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib.data import ArrayLayout, Layout, StructLayout

from hwsim.formats import FixedFormat, FloatFormat
from hwsim.rtl.arithmetic import balanced
from hwsim.rtl.normalize import Encode, Magnitude, Round, RoundFixed, normalizing
from hwsim.rtl.numbers import (
    SPECIAL,
    FieldRange,
    ProductRanges,
    ResultTarget,
    factors_layout,
    joining,
    made_by_decode,
    signed_shape,
)
from hwsim.rtl.products import (
    FixedDecode,
    FloatDecode,
    LaneProduct,
    addend_code,
    decode_factors,
    lane_products,
    scale_exponents,
)
from hwsim.rtl.rounded import Each
from hwsim.rtl.step import Datapath, DatapathStep, TreeSums, assign, connect, flat, levels_before, neighbours
from hwsim.rtl.windows import PRODUCT, PartRanges, decode_scales, drive_part
from hwsim.spec import ExactSum, Specified
from hwsim.spec.keys import Number
from hwsim.spec.ranges import span_of

# Groups of a sum without end are at most 2^40: at a billion a second, 18 minutes of nothing else.
ENDLESS = 40


class ExactRanges(ProductRanges):
    """The ranges of a unit's exact sums, which are integers in units of 2^unit_exp.

    length: neighbouring lanes that share both scales; their products are summed before they are scaled.
    Raises TypeError for a unit of another method.
    """

    def __init__(self, unit: Specified, apart: bool = False):
        super().__init__(unit, apart)
        if not isinstance(unit.sum, ExactSum):
            raise TypeError(f"{unit.name} must sum exactly, not by method {unit.sum.method}")
        self.rule, self.result = unit.sum, unit.result.format
        self.carries = unit.sum.rounded == "end"
        self.addend = self.group_addend
        self.parts = None if unit.subgroup is None else PartRanges(self, unit.subgroup)
        self.terms = self.lanes if self.parts is None else self.parts.count
        self.length = gcd(*(-(-self.lanes // blocks) for blocks in self.scale_blocks)) if self.scales else self.terms
        self.product_unit = PRODUCT - self.product_fraction_bits - self.product_bias
        if self.parts is not None:
            self.product_unit = PRODUCT - self.parts.fraction_bits - self.parts.bias
        units = [self.product_unit, *(span_of(fmt).least_exp for fmt in self.addends)]
        self.unit_exp = min(units)
        self.most = self._most()

    @property
    def addends(self) -> list[Number]:
        """The formats of codes that a group's sum begins with."""
        partial = [] if self.carries else [self.result]
        return partial if self.addend is None else [self.addend, *partial]

    @property
    def local_most(self) -> int:
        """The largest term, a product that is not scaled or the sum of a part, in units of 2^product_unit."""
        if self.parts is not None:
            return self.parts.most << self.places_most
        return self.most_product << self.product_most - self.scale_most - PRODUCT

    @property
    def places_most(self) -> int:
        """Places by which a term is shifted up, at most."""
        most = self.product_most - self.scale_most if self.parts is None else self.parts.exp[1]
        return most - PRODUCT

    @property
    def groups_bits(self) -> int:
        """Bits by which an exact sum of many groups is longer than that of one."""
        instruction = self.unit.instruction
        if not self.carries:
            return 0
        most = self.unit.restart or (None if instruction.chain else instruction.groups)
        return ENDLESS if most is None else most.bit_length()

    def _most(self) -> int:
        group = self.terms * self.local_most << self.scale_most + self.product_unit - self.unit_exp
        return (group << self.groups_bits) + sum(span_of(fmt).largest_in(self.unit_exp) for fmt in self.addends)

    @property
    def total(self) -> StructLayout:
        """The sum so far: an integer, its sign where it is zero, and what is special."""
        return StructLayout({"total": signed_shape(-self.most, self.most), "zero_sign": 1, "special": SPECIAL})


class ExactDecode(DatapathStep):
    """Both factors of every lane, the scales, and what the group begins with as an integer."""

    def __init__(self, n: ExactRanges, carried: StructLayout):
        self.n = n
        c = {} if n.addend is None else {"c": unsigned(n.addend.container_bits)}
        i = StructLayout({**factors_layout(n).members, **c, "carried": carried, "chain": 1})
        o = _decoded_layout(n)
        super().__init__("decode", i, o, o.members)

    def compute(self, m: Module) -> None:
        n, start, c = self.n, self.o.start, self.n.addend
        decode_factors(m, n, self.i, self.o)
        scale_nan = scale_exponents(m, n, self.i, self.o)
        decode_scales(m, n, self.i, self.o)
        if c is not None:
            self._begin(m, "c", c, addend_code(self.n.unit, c, self.i.c[c.padding :]))
        with m.If(self.i.chain):
            if n.carries:
                m.d.comb += [
                    start.total.eq(self.i.carried.total),
                    start.zero_sign.eq(self.i.carried.zero_sign),
                    *assign(start.special, self.i.carried.special),
                ]
            else:
                self._begin(m, "partial", n.result, self.i.carried.code)
        m.d.comb += [
            self.o.scale_nan.eq(scale_nan),
            # The first group of a unit without an addend begins with nothing, which has no sign.
            self.o.nothing.eq(~self.i.chain if _begins_with_nothing(n.unit) else 0),
        ]

    def _begin(self, m: Module, name: str, fmt: Number, code: Value) -> None:
        """Drive the integer of a code."""
        start = self.o.start
        decode = FloatDecode(fmt, padded=False) if isinstance(fmt, FloatFormat) else FixedDecode(fmt, padded=False)
        m.submodules[name] = decode
        bexp = Signal(decode.o.bexp.shape(), name=f"{name}_places")
        m.d.comb += [decode.code.eq(code), bexp.eq(decode.o.bexp - 1)]
        moved = Cat(Const(0, span_of(fmt).least_exp - self.n.unit_exp), decode.o.sig) << bexp
        magnitude = Signal(len(moved), name=f"{name}_magnitude")
        m.d.comb += magnitude.eq(moved)
        special = decode.o.inf | decode.o.nan
        m.d.comb += [
            start.total.eq(Mux(special, 0, Mux(decode.o.sign, -magnitude, magnitude))),
            start.zero_sign.eq(decode.o.sign),
            start.special.nan.eq(decode.o.nan),
            start.special.positive.eq(decode.o.inf & ~decode.o.sign),
            start.special.negative.eq(decode.o.inf & decode.o.sign),
        ]


def _begins_with_nothing(unit: Specified) -> bool:
    """True if the first group of a sum has no addend, not even +0."""
    return unit.operands.addend is None and unit.promotion is None and unit.instruction.start == "addend"


def _decoded_layout(n: ExactRanges) -> StructLayout:
    return StructLayout({**made_by_decode(n), "scale_nan": 1, "nothing": 1, "start": n.total})


def _segments_layout(n: ExactRanges, most: int, count: int, name: str) -> StructLayout:
    """Integers of lanes or of segments, and what the group begins with; `special` and `zero_sign` are the group's."""
    fields: dict[str, Layout] = {name: ArrayLayout(signed_shape(-most, most), count)}
    if n.scales:
        fields["scale_exp"] = ArrayLayout(unsigned(n.scale_most.bit_length()), n.lanes // n.length)
    return StructLayout({**fields, "start": n.total})


class ExactMultiply(DatapathStep):
    """The product of every lane; special values, and the sign that a sum of zero has."""

    def __init__(self, n: ExactRanges):
        self.n = n
        sig_bits = n.sig_bits if n.parts is None else n.parts.most.bit_length()
        term = StructLayout({"sign": 1, "sig": sig_bits, "places": max(1, n.places_most.bit_length())})
        fields: dict[str, Layout] = {"terms": ArrayLayout(term, n.terms)}
        if n.scales:
            fields["scale_exp"] = ArrayLayout(unsigned(n.scale_most.bit_length()), n.lanes // n.length)
        o = StructLayout({**fields, "start": n.total})
        before = StructLayout({**joining(n), **_decoded_layout(n).members})
        super().__init__("multiply", before, o, o.members)

    def compute(self, m: Module) -> None:
        n, i, start = self.n, self.i, self.o.start
        products = lane_products(m, n, i)
        for lane, product in enumerate(products):
            exp: Value = product.term.exp - PRODUCT
            if n.scales:
                exp = exp - i.scale_exp[lane]
            if n.parts is None:
                to = self.o.terms[lane]
                m.d.comb += [to.sign.eq(product.term.sign), to.sig.eq(product.term.sig), to.places.eq(exp)]
        if n.scales:
            for segment, scale_exp in enumerate(self.o.scale_exp):
                m.d.comb += scale_exp.eq(i.scale_exp[segment * n.length])
        every = [product.special for product in products] if n.parts is None else self._parts(m, n.parts, products)
        signs = Cat(term.sign for term in self.o.terms)
        special = {
            field: Cat(getattr(i.start.special, field), *(flags[field] for flags in every)).any()
            for field in SPECIAL.members
        }
        m.d.comb += [
            start.total.eq(i.start.total),
            start.zero_sign.eq(self._zero_sign(signs)),
            start.special.nan.eq(special["nan"] | i.scale_nan),
            start.special.positive.eq(special["positive"]),
            start.special.negative.eq(special["negative"]),
        ]

    def _parts(self, m: Module, p: PartRanges, products: Sequence[LaneProduct]) -> list[Value]:
        """Drive the sums of parts; what is special about each."""
        lanes, specials = [(product, product.term.exp) for product in products], list[Value]()
        for part_index, to in enumerate(self.o.terms):
            part = Signal(p.layout, name=f"part{part_index}")
            specials.append(drive_part(m, p, part_index, lanes, p.scales_of(self.i, part_index), part))
            places = Mux(part.sig.any(), part.exp - PRODUCT, 0)
            m.d.comb += [to.sign.eq(part.sign), to.sig.eq(part.sig), to.places.eq(places)]
        return specials

    def _zero_sign(self, signs: Value) -> Value:
        """The sign of a sum of exactly zero."""
        if self.n.rule.zero == "positive":
            return Const(0)
        start = self.i.start
        negative = Mux(start.total.any(), start.total[-1], start.zero_sign)
        every = signs.all() & (negative | self.i.nothing)
        some = signs.any() | (negative & ~self.i.nothing)
        return Mux(every, 1, some & int(self.n.unit.result.rounding == "rd"))


class ExactAlign(DatapathStep):
    """Each product as an integer."""

    def __init__(self, n: ExactRanges, before: StructLayout):
        super().__init__("align", before, _segments_layout(n, n.local_most, n.terms, "aligned"), {"aligned"})

    def compute(self, m: Module) -> None:
        for lane, (term, aligned) in enumerate(zip(self.i.terms, self.o.aligned, strict=True)):
            magnitude = Signal(len(aligned), name=f"magnitude{lane}")
            m.d.comb += magnitude.eq((term.sig << term.places)[: len(aligned)])
            m.d.comb += aligned.eq(Mux(term.sign, -magnitude, magnitude))


class ExactTotal(DatapathStep):
    """The sum of all products, scaled where they are, and of what the group began with."""

    def __init__(self, n: ExactRanges, before: StructLayout, target: StructLayout):
        self.n = n
        carried = {"so_far": n.total} if n.carries else {}
        super().__init__("sum", before, StructLayout({"sum": target, **carried}), {"sum", *carried})

    def compute(self, m: Module) -> None:
        n, i, o = self.n, self.i, self.o
        scaled = list(i.parts) if "parts" in self.takes.members else _scaled(m, n, i)
        parts = [i.start.total]
        parts += [Cat(Const(0, n.product_unit - n.unit_exp), part).as_signed() for part in scaled]
        total = Signal(n.total["total"].shape, name="exact")
        m.d.comb += total.eq(balanced(m, parts, "segments"))
        for to in (o.sum, o.so_far) if n.carries else (o.sum,):
            m.d.comb += [to.total.eq(total), to.zero_sign.eq(i.start.zero_sign), *assign(to.special, i.start.special)]


def _scaled(m: Module, n: ExactRanges, i: Any) -> list[Value]:
    """The sum of each segment's products, scaled where they are."""
    segments = n.terms // n.length
    length = len(i.aligned) // segments
    own = [list(i.aligned[segment * length : (segment + 1) * length]) for segment in range(segments)]
    sums = [balanced(m, each, f"segment{segment}_level" if n.scales else "sum") for segment, each in enumerate(own)]
    if not n.scales:
        return sums
    scaled_sums: list[Value] = []
    for segment, (part, exp) in enumerate(zip(sums, i.scale_exp, strict=True)):
        moved = part << exp
        scaled = Signal(moved.shape(), name=f"scaled{segment}")
        m.d.comb += scaled.eq(moved)
        scaled_sums.append(scaled)
    return scaled_sums


class ExactScaled(DatapathStep):
    """Some levels of the tree that sums: the last of segments, their scales, and the first of what is scaled."""

    def __init__(self, name: str, n: ExactRanges, before: StructLayout, levels: int):
        self.n, self.groups = n, neighbours(n.lanes // n.length, n.lanes // n.length, levels)
        most = max(map(len, self.groups)) * n.length * n.local_most << n.scale_most
        parts = {"parts": ArrayLayout(signed_shape(-most, most), len(self.groups))}
        super().__init__(name, before, StructLayout({**parts, "start": n.total}), set(parts))

    def compute(self, m: Module) -> None:
        scaled = _scaled(m, self.n, self.i)
        for number, (to, group) in enumerate(zip(self.o.parts, self.groups, strict=True)):
            m.d.comb += to.eq(balanced(m, [scaled[term] for term in group], f"part{number}_level"))


def _levels(n: ExactRanges, cuts: Sequence[str], before: StructLayout) -> Iterator[DatapathStep]:
    """The levels of the tree that sums before the last register in it."""
    inner = (n.length - 1).bit_length()
    for name, levels in levels_before(n.unit, cuts, "sum"):
        if "parts" in before.members:
            count = before.members["parts"].length
            step: DatapathStep = TreeSums(name, before, "parts", neighbours(count, count, levels))
        elif n.scales and levels > inner:
            step = ExactScaled(name, n, before, levels - inner)
        else:
            count = before.members["aligned"].length
            step = TreeSums(name, before, "aligned", neighbours(count, count * n.length // n.terms, levels))
        inner, before = max(0, inner - levels), step.gives
        yield step


class ExactFinish(DatapathStep):
    """The last step: the code beside what goes on to the next group."""

    def __init__(self, n: ExactRanges, before: StructLayout, part: Encode | RoundFixed):
        self.n, self.part = n, part
        carried = dict(n.total.members) if n.carries else {}
        o = StructLayout({**part.gives.members, **carried})
        super().__init__("round", before, o, o.members)

    def compute(self, m: Module) -> None:
        m.submodules.rounded = part = self.part
        m.d.comb += [
            *connect("round", flat(part.i), flat(self.i.sum)),
            self.o.code.eq(part.o.code),
            self.o.nan.eq(part.o.nan),
        ]
        if self.n.carries:
            so_far = self.i.so_far
            m.d.comb += [
                self.o.total.eq(so_far.total),
                self.o.zero_sign.eq(so_far.zero_sign),
                *assign(self.o.special, so_far.special),
            ]


def exact_datapath(unit: Specified, cuts: Sequence[str], apart: bool = False) -> Datapath:
    """A group's sum: from operands, and the exact sum or the result so far, to `result_layout` and what goes on."""
    n = ExactRanges(unit, apart)
    joins = StructLayout(joining(n))
    carried = n.total if n.carries else StructLayout({"code": unsigned(n.result.bits)})
    multiply = ExactMultiply(n)
    align = ExactAlign(n, multiply.gives)
    path: list[DatapathStep] = [ExactDecode(n, carried), multiply, align, *_levels(n, cuts, align.gives)]
    if isinstance(n.result, FixedFormat):
        total = ExactTotal(n, path[-1].gives, n.total)
        last = RoundFixed(n.result, unit.result, n.total, n.unit_exp)
        return Datapath([*path, total, ExactFinish(n, total.gives, last)], cuts, carried, joins)
    target = _target(n, n.result)
    total = ExactTotal(n, path[-1].gives, target.before())
    path += [total, Each("magnitude", total.gives, {"sum": Magnitude(target)})]
    for name, part in normalizing(target, cuts).items():
        path.append(Each(name, path[-1].gives, {"sum": part}))
    return Datapath([*path, ExactFinish(n, path[-1].gives, Round(target))], cuts, carried, joins)


def _target(n: ExactRanges, fmt: FloatFormat) -> ResultTarget:
    """The format that the total is rounded to, with the total's ranges."""
    rule, total = n.unit.result, n.total["total"].shape
    return ResultTarget(
        fmt=fmt,
        rounding=rule.rounding,
        overflow=rule.overflow,
        total=total,
        max_exp=(0, 0),
        offset=n.unit_exp + total.width - 2 + FieldRange.of(fmt).bias,
        tiny=rule.tiny,
        nan=n.nan,
        zero_sign=True,
        flush=rule.flushes,
    )
