"""Sums in windows of other kinds than one plain one, in parts between which registers can stand.

One window or two (even and odd lanes); of products, or of sums of some of them; zero terms may count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import PureInterface

from hwsim.formats import Format
from hwsim.rtl.arithmetic import Shifter, balanced
from hwsim.rtl.numbers import (
    SPECIAL,
    FieldRange,
    PairRanges,
    ProductRanges,
    as_float,
    decoded_factors,
    factors_layout,
    signed_shape,
)
from hwsim.rtl.products import FloatDecode, decode_factors, lane_products, scale_exponents
from hwsim.rtl.step import DatapathStep, TreeSums, levels_before, taking_turns
from hwsim.rtl.windows import (
    PRODUCT,
    PartRanges,
    WindowTerm,
    aligned,
    aligned_bits,
    candidates,
    decode_scales,
    drive_part,
    largest,
    loses,
    maximum,
    shifter_of,
    unshifted,
)
from hwsim.spec import AlignedSum, EvenOddSum, LateInWindow, Specified, WindowSum


class GeneralRanges(ProductRanges):
    """The ranges of a unit's windows. Exponents are counted so that `bias` taken off gives the real one.

    subgroup: the rule of sums of parts, or None; parts: their ranges. terms: how many there are beside the addend.
    windows: one or two. inner: whether an addend, or +0 in its place, is a term of the window. late: the window of a
    late addend, or None.
    Raises TypeError for a unit of another method.
    """

    def __init__(self, unit: Specified):
        super().__init__(unit)
        if not isinstance(unit.sum, WindowSum):
            raise TypeError(f"{unit.name} must sum in a window, not by method {unit.sum.method}")
        self.rule, self.result = unit.sum, as_float(unit.result.format)
        self.subgroup = unit.subgroup
        self.parts = None if self.subgroup is None else PartRanges(self, self.subgroup)
        self.halves = unit.sum if isinstance(unit.sum, EvenOddSum) else None
        self.late = unit.late if isinstance(unit.late, LateInWindow) else None
        self.inner = isinstance(unit.sum, AlignedSum)
        self.addend = None if self.group_addend is None else as_float(self.group_addend)
        self.windows = 1 if self.halves is None else 2
        self.products: PairRanges = self
        self._terms()
        self._exponents()

    @property
    def inner_formats(self) -> list[Format]:
        """The formats of codes that may be the window's addend."""
        c = [self.addend] if self.addend is not None and self.late is None else []
        return [*c, self.result] if self.inner else []

    @property
    def late_formats(self) -> list[Format]:
        """The formats of codes that may be the late addend: c, and the result of the instruction before."""
        return [] if self.late is None or self.addend is None else [self.addend, self.result]

    def _terms(self) -> None:
        if self.parts is None:
            self.terms, self.bias = self.lanes, self.product_bias
            self.term_exp = (PRODUCT, self.product_most)
            self.term_fraction_bits, self.term_most = self.product_fraction_bits, self.most_product
            return
        self.terms, self.bias, self.term_exp = self.parts.count, self.parts.bias, self.parts.exp
        self.term_fraction_bits, self.term_most = self.parts.fraction_bits, self.parts.most
        self.sum_most = self.parts.sum_most

    @property
    def sticky(self) -> bool:
        """Whether the rounding of a sum knows that a term lost a 1."""
        return self.rule.sticky

    @property
    def term_bits(self) -> int:
        """Bits of a term's significand."""
        return self.term_most.bit_length()

    def addend_span(self, formats: Sequence[Format]) -> tuple[int, int]:
        """The ends of the exponents of addends."""
        moved = [(FieldRange.of(fmt), self.bias - FieldRange.of(fmt).bias) for fmt in formats]
        return min(1 + by for _, by in moved), max(field.most + by for field, by in moved)

    def _exponents(self) -> None:
        spans = [self.term_exp, *([self.addend_span(self.inner_formats)] if self.inner else [])]
        floor = self.rule.max_exp_floor
        self.floor = None if floor is None else floor + self.bias
        floors = [] if self.floor is None else [self.floor]
        self.max_exp = min([low for low, _ in spans] + floors), max([high for _, high in spans] + floors)
        bits = self.rule.fraction_bits
        self.aligned_bits = max(
            aligned_bits(self.term_bits, self.term_fraction_bits, bits),
            *(aligned_bits(fmt.precision, fmt.fraction_bits, bits) for fmt in self.inner_formats),
            1,
        )
        count = self.terms + self.inner
        self.total_bits = self.aligned_bits + count.bit_length()

    def addend_layout(self, formats: Sequence[Format]) -> StructLayout:
        """An addend as a term. there: whether it is one at all."""
        sig = max(fmt.fraction_bits for fmt in formats) + 1
        return StructLayout({"sign": 1, "exp": signed_shape(*self.addend_span(formats)), "sig": sig, "there": 1})

    def sums(self) -> StructLayout:
        """A window's sum, in units of 2^(max_exp - fraction bits); any: whether a term is other than zero."""
        return StructLayout(
            {"total": signed_shape(-(1 << self.total_bits - 1), (1 << self.total_bits - 1) - 1), "any": 1,
             "max_exp": signed_shape(*self.max_exp)}
        )  # fmt: skip


def _addends(n: GeneralRanges) -> dict[str, StructLayout]:
    inner = {"inner": n.addend_layout(n.inner_formats)} if n.inner else {}
    outer = {"outer": n.addend_layout(n.late_formats)} if n.late_formats else {}
    return inner | outer


class GeneralDecode(DatapathStep):
    """Both factors of every lane, the scales, and the addends: of the window, and a late one."""

    def __init__(self, n: GeneralRanges, carried: StructLayout):
        self.n = n
        c = {} if n.addend is None else {"c": unsigned(n.addend.container_bits)}
        i = StructLayout({**factors_layout(n).members, **c, "carried": carried, "chain": 1})
        o = decoded_layout(n)
        super().__init__("decode", i, o, o.members)

    def compute(self, m: Module) -> None:
        n, special = self.n, self.o.special
        decode_factors(m, n, self.i, self.o)
        nan = scale_exponents(m, n, self.i, self.o)
        found: list[dict[str, Value]] = []
        if n.parts is not None and n.parts.scales:
            decode_scales(m, n, self.i, self.o)
        if n.inner and n.late is None:
            found.append(self._addend(m, "inner", n.addend, _begins_with_nothing(n.unit)))
        elif n.inner:
            zero = FieldRange.of(n.result)
            m.d.comb += [self.o.inner.exp.eq(1 - zero.bias + n.bias), self.o.inner.there.eq(1)]
        if n.late_formats:
            found.append(self._addend(m, "outer", n.addend, False))
        m.d.comb += [
            special.nan.eq(nan | Cat(one["nan"] for one in found).any()),
            special.positive.eq(Cat(one["inf"] & ~one["sign"] for one in found).any()),
            special.negative.eq(Cat(one["inf"] & one["sign"] for one in found).any()),
        ]

    def _addend(self, m: Module, name: str, fmt: Format | None, nothing: bool) -> dict[str, Value]:
        """Drive an addend: the result so far, or c; its sign and class. nothing: whether without c there is none."""
        n, to = self.n, getattr(self.o, name)
        partial = self._number(m, f"{name}_partial", n.result, Mux(self.i.chain, self.i.carried.code, 0), to)
        chosen: dict[str, Value] = partial
        if fmt is not None:
            c = self._number(m, f"{name}_c", fmt, self.i.c[fmt.padding :], to)
            if n.unit.operands.zeros == "positive":
                c["sign"] = c["sign"] & c["sig"].any()
            chosen = {}
            for key, value in c.items():
                chosen[key] = Signal(value.shape(), name=f"{name}_{key}")
                m.d.comb += chosen[key].eq(Mux(self.i.chain, partial[key], value))
        special = chosen["nan"] | chosen["inf"]
        m.d.comb += [
            to.sign.eq(chosen["sign"]),
            to.exp.eq(chosen["exp"]),
            to.sig.eq(Mux(special, 0, chosen["sig"])),
            to.there.eq(self.i.chain if nothing else 1),
        ]
        return chosen

    def _number(self, m: Module, name: str, fmt: Format, code: Value, to: PureInterface) -> dict[str, Value]:
        m.submodules[name] = decode = FloatDecode(as_float(fmt), padded=False)
        exp = Signal(to.exp.shape(), name=f"{name}_exp")
        m.d.comb += [decode.code.eq(code), exp.eq(decode.o.bexp + (self.n.bias - FieldRange.of(fmt).bias))]
        sig = Cat(Const(0, len(to.sig) - fmt.fraction_bits - 1), decode.o.sig)
        return {"sign": decode.o.sign, "exp": exp, "sig": sig, "nan": decode.o.nan, "inf": decode.o.inf}


def _begins_with_nothing(unit: Specified) -> bool:
    """Whether the first group of a sum has no addend, not even +0."""
    return unit.operands.addend is None and unit.promotion is None and unit.instruction.start == "addend"


def decoded_layout(n: GeneralRanges) -> StructLayout:
    """After decode."""
    of_parts = n.parts is not None and bool(n.parts.scales)
    return StructLayout({**decoded_factors(n, of_parts), **_addends(n), "special": SPECIAL})


def terms_layout(n: GeneralRanges) -> StructLayout:
    """After multiply. zero_sign: of a sum of zero."""
    term = StructLayout({"sign": 1, "exp": signed_shape(*n.term_exp), "sig": n.term_bits, "nonzero": 1})
    term = term if n.parts is None else n.parts.layout
    return StructLayout({"terms": ArrayLayout(term, n.terms), **_addends(n), "special": SPECIAL, "zero_sign": 1})


class GeneralMultiply(DatapathStep):
    """The terms: the product of every lane, or the scaled sum of every subgroup."""

    def __init__(self, n: GeneralRanges):
        self.n = n
        super().__init__("multiply", decoded_layout(n), terms_layout(n), {"terms", "special", "zero_sign"})

    def compute(self, m: Module) -> None:
        n, i, special = self.n, self.i, self.o.special
        products = lane_products(m, n, i)
        exps: list[Value] = []
        for lane in range(n.lanes):
            exp = i.a[lane].bexp + i.b[lane].bexp
            exps.append(exp + i.scale_exp[lane] if n.scales else exp)
        if n.parts is None:
            for to, product, exp in zip(self.o.terms, products, exps, strict=True):
                m.d.comb += [to.sign.eq(product.term.sign), to.exp.eq(exp), to.sig.eq(product.term.sig)]
                m.d.comb += to.nonzero.eq(product.term.sig.any())
            every = [product.special for product in products]
        else:
            lanes = list(zip(products, exps, strict=True))
            every = [
                drive_part(m, n.parts, at, lanes, n.parts.scales_of(i, at), self.o.terms[at]) for at in range(n.terms)
            ]
        m.d.comb += [
            special.nan.eq(i.special.nan | Cat(one.nan for one in every).any()),
            special.positive.eq(i.special.positive | Cat(one.positive for one in every).any()),
            special.negative.eq(i.special.negative | Cat(one.negative for one in every).any()),
            self.o.zero_sign.eq(self._zero_sign()),
        ]

    def _zero_sign(self) -> Value:
        if self.n.rule.zero == "positive":
            return Const(0)
        signs = [(term.sign, Const(1)) for term in self.o.terms]
        signs += [(getattr(self.i, name).sign, getattr(self.i, name).there) for name in _addends(self.n)]
        every = Cat(sign | ~there for sign, there in signs).all()
        some = Cat(sign & there for sign, there in signs).any()
        return Mux(every, 1, some & int(self.n.unit.result.rounding == "rd"))


def window_terms(n: GeneralRanges, i: PureInterface) -> list[WindowTerm]:
    """The terms of all windows, the addend last."""
    low, zeros = n.term_exp[0], n.rule.zero_terms == "count"
    found = [
        WindowTerm(term.sign, term.exp, term.sig, n.term_fraction_bits, term.nonzero | zeros, term.nonzero, low)
        for term in i.terms
    ]
    if n.inner:
        one, nonzero = i.inner, i.inner.sig.any()
        counts = one.there if zeros else nonzero
        low = n.addend_span(n.inner_formats)[0]
        found.append(WindowTerm(one.sign, one.exp, one.sig, len(one.sig) - 1, counts, nonzero, low))
    return found


def _own(n: GeneralRanges, window: int, values: Sequence[WindowTerm]) -> list[WindowTerm]:
    """The terms of one window."""
    return list(values[window :: n.windows])


def maxima_layout(n: GeneralRanges) -> StructLayout:
    """After maximum. any: whether a window has a term other than zero."""
    tops = {"max_exp": ArrayLayout(signed_shape(*n.max_exp), n.windows), "any": ArrayLayout(unsigned(1), n.windows)}
    return StructLayout({**terms_layout(n).members, **tops})


def exponents_left(m: Module, n: GeneralRanges, i: Any) -> list[Value]:
    """The exponents among which each window's largest is, those of several windows in turns."""
    if "left" in i.signature.members:
        return list(i.left)
    terms = window_terms(n, i)
    each = [candidates(m, f"window{window}", _own(n, window, terms), n.max_exp, n.floor) for window in range(n.windows)]
    return [of[turn] for turn in range(len(each[0])) for of in each if turn < len(of)]


class GeneralMaximum(DatapathStep):
    """The largest exponent of every window."""

    def __init__(self, n: GeneralRanges, before: StructLayout):
        self.n = n
        super().__init__("maximum", before, maxima_layout(n), {"max_exp", "any"})

    def compute(self, m: Module) -> None:
        n, inside = self.n, "left" in self.takes.members
        for window in range(n.windows):
            own, name = _own(n, window, window_terms(n, self.i)), f"window{window}"
            if inside:
                top = largest(m, name, self.i.left[window :: n.windows], n.max_exp)
            else:
                top = maximum(m, name, own, n.max_exp, n.floor)
            some = Cat(term.nonzero for term in own).any()
            m.d.comb += [self.o.max_exp[window].eq(top), self.o.any[window].eq(some)]


def aligned_layout(n: GeneralRanges) -> StructLayout:
    """After align: the terms in their windows, the addend last. lost: whether each lost a 1."""
    kept = {name: shape for name, shape in maxima_layout(n).members.items() if name not in ("terms", "inner")}
    shape = signed_shape(-(1 << n.aligned_bits - 1), (1 << n.aligned_bits - 1) - 1)
    lost = {"lost": ArrayLayout(unsigned(1), n.terms + n.inner)} if n.sticky else {}
    return StructLayout({**kept, "aligned": ArrayLayout(shape, n.terms + n.inner), **lost})


def made_by_align(n: GeneralRanges) -> set[str]:
    """The fields that alignment makes."""
    return {"aligned", "lost"} if n.sticky else {"aligned"}


class GeneralAlign(DatapathStep):
    """Each term shifted into its window."""

    def __init__(self, n: GeneralRanges):
        self.n = n
        super().__init__("align", maxima_layout(n), aligned_layout(n), made_by_align(n))

    def compute(self, m: Module) -> None:
        n, rule = self.n, self.n.rule
        for at, term in enumerate(window_terms(n, self.i)):
            top = self.i.max_exp[at % n.windows]
            name, most, bits = f"term{at}", n.max_exp[1], rule.fraction_bits
            m.d.comb += self.o.aligned[at].eq(aligned(m, name, term, top, most, bits, rule.term_lost))
            if n.sticky:
                m.d.comb += self.o.lost[at].eq(loses(m, name, term, top, most, bits))


def sums_layout(n: GeneralRanges) -> StructLayout:
    """After sum: `window0`, and `window1` of two."""
    beside = ("outer", "special", "zero_sign", "lost")
    kept = {name: shape for name, shape in aligned_layout(n).members.items() if name in beside}
    return StructLayout({**kept, **{f"window{at}": n.sums() for at in range(n.windows)}})


class GeneralSum(DatapathStep):
    """The sum of every window, exactly."""

    def __init__(self, n: GeneralRanges, before: StructLayout):
        self.n = n
        super().__init__("sum", before, sums_layout(n), {f"window{at}" for at in range(n.windows)})

    def compute(self, m: Module) -> None:
        for at in range(self.n.windows):
            to, own = getattr(self.o, f"window{at}"), list(self.i.aligned)[at :: self.n.windows]
            total = balanced(m, own, f"window{at}_level") if own else Const(0)
            m.d.comb += [to.total.eq(total), to.any.eq(self.i.any[at]), to.max_exp.eq(self.i.max_exp[at])]


class GeneralExponents(DatapathStep):
    """Some levels of the trees that find the largest exponents."""

    def __init__(self, name: str, n: GeneralRanges, before: StructLayout, levels: int):
        self.n = n
        left = before.members.get("left")
        count = n.terms + n.inner + n.windows if left is None else left.length
        self.groups = taking_turns(count, n.windows, levels)
        made = {"left": ArrayLayout(signed_shape(*n.max_exp), len(self.groups))}
        super().__init__(name, before, StructLayout({**before.members, **made}), set(made))

    def compute(self, m: Module) -> None:
        left = exponents_left(m, self.n, self.i)
        for at, (to, group) in enumerate(zip(self.o.left, self.groups, strict=True)):
            m.d.comb += to.eq(largest(m, f"group{at}", [left[place] for place in group], self.n.max_exp))


def _shifters(n: GeneralRanges) -> list[Shifter]:
    """What shifts each term into its window, the addend's last."""
    sizes = [(n.term_bits, n.term_fraction_bits)] * n.terms
    if n.inner:
        sig = max(fmt.fraction_bits for fmt in n.inner_formats) + 1
        sizes.append((sig, sig - 1))
    return [shifter_of(*size, n.rule.fraction_bits, n.rule.term_lost) for size in sizes]


class GeneralDistance(DatapathStep):
    """How far each term is to be shifted."""

    def __init__(self, n: GeneralRanges):
        self.n, i = n, maxima_layout(n)
        kept = {name: shape for name, shape in i.members.items() if name not in ("terms", "inner")}
        self.shifters = _shifters(n)
        made = {f"term{at}": place.before() for at, place in enumerate(self.shifters)}
        super().__init__("distance", i, StructLayout({**kept, **made}), set(made))

    def compute(self, m: Module) -> None:
        n = self.n
        for at, (term, place) in enumerate(zip(window_terms(n, self.i), self.shifters, strict=True)):
            top, to = self.i.max_exp[at % n.windows], getattr(self.o, f"term{at}")
            magnitude, sign, distance = unshifted(m, f"term{at}", term, place, top, n.max_exp[1])
            m.d.comb += [to.magnitude.eq(magnitude), to.sign.eq(sign), to.distance.eq(distance)]


class GeneralBegin(DatapathStep):
    """Each term shifted by the high bits of its distance."""

    def __init__(self, before: GeneralDistance):
        self.shifters = before.shifters
        made = {f"term{at}": place.between() for at, place in enumerate(self.shifters)}
        super().__init__("align.1", before.gives, StructLayout({**before.gives.members, **made}), set(made))

    def compute(self, m: Module) -> None:
        for at, place in enumerate(self.shifters):
            m.d.comb += place.begin(getattr(self.i, f"term{at}"), getattr(self.o, f"term{at}"))


class GeneralEnd(DatapathStep):
    """Each term shifted by the rest."""

    def __init__(self, n: GeneralRanges, before: GeneralBegin):
        self.shifters = before.shifters
        self.sticky = n.sticky
        super().__init__("align", before.gives, aligned_layout(n), made_by_align(n))

    def compute(self, m: Module) -> None:
        for at, place in enumerate(self.shifters):
            name, term = f"term{at}", getattr(self.i, f"term{at}")
            ones, carry = place.end(m, name, term)
            m.d.comb += self.o.aligned[at].eq(ones + carry)
            if self.sticky:
                m.d.comb += self.o.lost[at].eq(place.loses(m, name, term))


def general_window(n: GeneralRanges, cuts: Sequence[str], before: StructLayout) -> list[DatapathStep]:
    """From the terms to every window's sum: maximum, align and sum, in parts where cuts are inside them."""
    path: list[DatapathStep] = []
    for name, levels in levels_before(n.unit, cuts, "maximum"):
        path.append(GeneralExponents(name, n, path[-1].gives if path else before, levels))
    path.append(GeneralMaximum(n, path[-1].gives if path else before))
    if {"distance", "align.1"} & set(cuts):
        distance = GeneralDistance(n)
        begin = GeneralBegin(distance)
        path += [distance, begin, GeneralEnd(n, begin)]
    else:
        path.append(GeneralAlign(n))
    for name, levels in levels_before(n.unit, cuts, "sum"):
        after = path[-1].gives
        path.append(TreeSums(name, after, "aligned", taking_turns(after["aligned"].shape.length, n.windows, levels)))
    return [*path, GeneralSum(n, path[-1].gives)]
