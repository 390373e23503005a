"""Sums in windows of other kinds than one plain one: their ranges, and the steps up to the windows' sums.

One window or two (even and odd lanes); of products, or of sums of some of them (rtl/subgroups.py); zero terms may
count; the addend may come late, in a window of its own (rtl/latewindow.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib.data import ArrayLayout, Layout, StructLayout
from amaranth.lib.wiring import PureInterface

from hwsim.formats import Format
from hwsim.spec import Specified

from .decode import FloatDecode, decode_factors, scale_exponents
from .generalranges import GeneralRanges
from .layouts import SPECIAL, factor_layout, factors_layout
from .multiply import LaneProduct
from .numbers import FieldRange, as_float, signed_shape
from .step import DatapathStep, assign
from .subgroups import decode_scales, drive_part
from .windows import WindowTerm, aligned, candidates, largest, loses, maximum
from .zeros import balanced


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
        """Drive the decoded operands."""
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
    fields: dict[str, Layout] = {
        side: ArrayLayout(factor_layout(fmt), n.lanes) for side, fmt in zip("ab", n.multiplied, strict=True)
    }
    if n.scales:
        fields["scale_exp"] = ArrayLayout(unsigned(n.scale_most.bit_length()), n.lanes)
    if n.parts is not None and n.parts.scales:
        for side, fmt, blocks in zip("ab", n.scale_formats, n.scale_blocks, strict=True):
            fields[f"scale_{side}"] = ArrayLayout(factor_layout(fmt), blocks)
    return StructLayout({**fields, **_addends(n), "special": SPECIAL})


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
        """Drive the terms, what is special, and the sign of zero."""
        n, i, special = self.n, self.i, self.o.special
        products = [LaneProduct(n.products) for _ in range(n.lanes)]
        exps: list[Value] = []
        for lane, product in enumerate(products):
            m.submodules[f"lane{lane}"] = product
            m.d.comb += [*assign(product.a, i.a[lane]), *assign(product.b, i.b[lane])]
            exp = i.a[lane].bexp + i.b[lane].bexp
            if n.scales:
                m.d.comb += product.scale_exp.eq(i.scale_exp[lane])
                exp = exp + i.scale_exp[lane]
            exps.append(exp)
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
        """Drive the maxima."""
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
        """Drive the aligned terms."""
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
        """Drive the sums."""
        for at in range(self.n.windows):
            to, own = getattr(self.o, f"window{at}"), list(self.i.aligned)[at :: self.n.windows]
            total = balanced(m, own, f"window{at}_level") if own else Const(0)
            m.d.comb += [to.total.eq(total), to.any.eq(self.i.any[at]), to.max_exp.eq(self.i.max_exp[at])]
