"""The terms of windows: the ranges of a unit's integers, decoded operands, and products, or sums of parts, as terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, unsigned
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import PureInterface

from hwsim.formats import FloatFormat, Format
from hwsim.rtl.arithmetic import lost_bits
from hwsim.rtl.numbers import (
    SPECIAL,
    FieldRange,
    ProductRanges,
    ResultTarget,
    as_float,
    factors_layout,
    joining,
    made_by_decode,
    signed_shape,
)
from hwsim.rtl.products import FloatDecode, addend_code, decode_factors, lane_products, scale_exponents
from hwsim.rtl.step import DatapathStep
from hwsim.rtl.windows import PartRanges, decode_scales, drive_low_parts, drive_part
from hwsim.spec import AlignedSum, EvenOddSum, LateInWindow, Specified, WindowSum
from hwsim.spec.implementation import one_plain_window
from hwsim.spec.sums import ExactSubgroup


class WindowRanges(ProductRanges):
    """The ranges of sums of terms in one window or two. Exponents are counted so that `bias` taken off gives the real
    one.

    terms: products, or sums of parts, of which `parts` are the ranges; how many there are beside the addend.
    names: what the fields of each window end with. sums_addend: whether an addend, or +0 in its place, is a term of the
    window. late: the window of a late addend, or None. zero_sign: whether a sum of zero brings a sign.
    counting: whether zeros count. flagged: whether a bit of a term says that it is other than zero, and zeros have
    exponents: else a term whose exponent is 0 is none. low: whether a term's part may be of two sizes, or an addend
    have no say in max_exp, as the addend has it; reach: how far above max_exp that then may be.
    Raises TypeError for a unit whose method has no window, and for a result or an addend that is not a float.
    """

    def __init__(self, unit: Specified, apart: bool = False):
        super().__init__(unit, apart)
        rule = unit.sum
        if not isinstance(rule, WindowSum):
            raise TypeError(f"{unit.name} must sum in a window, not by method {rule.method}")
        self.rule, self.result, self.fraction_bits = rule, as_float(unit.result.format), rule.fraction_bits
        self.halves = rule if isinstance(rule, EvenOddSum) else None
        self.names = ("",) if self.halves is None else ("_even", "_odd")
        self.sums_addend, self.plain = isinstance(rule, AlignedSum), one_plain_window(unit)
        self.late = unit.late if isinstance(unit.late, LateInWindow) else None
        self.addend = None if self.group_addend is None else as_float(self.group_addend)
        self.counting, self.zero_sign = rule.zero_terms == "count", rule.zero == "ieee"
        self.subgroup, self.flagged = unit.subgroup, self.counting or unit.subgroup is not None
        self.parts = None if unit.subgroup is None else PartRanges(self, unit.subgroup)
        self.low = self.parts is not None and self.parts.low
        self.skips_low = isinstance(unit.subgroup, ExactSubgroup) and unit.subgroup.low_addend == "skip"
        self.reach = 0 if self.parts is None else self.parts.reach
        self._terms()
        self._exponents()
        self._window()

    @property
    def window_addend(self) -> FloatFormat | None:
        """The format of c where it enters the window."""
        return self.addend if self.sums_addend and self.late is None else None

    @property
    def addends(self) -> list[FloatFormat]:
        """The formats of what is added to the products: c, where it enters the window, and the partial sum."""
        return [fmt for fmt in (self.window_addend, self.result) if fmt is not None] if self.sums_addend else []

    @property
    def late_formats(self) -> list[FloatFormat]:
        """The formats of codes that may be the late addend: c, and the result of the instruction before."""
        return [] if self.late is None or self.addend is None else [self.addend, self.result]

    def _terms(self) -> None:
        if self.parts is None:
            self.terms, self.bias = self.lanes, self.product_bias
            self.term_exp = self.product_least, self.product_most
            self.term_fraction_bits, self.term_most = self.product_fraction_bits, self.most_product
            self.term_sig_bits = self.sig_bits
            return
        self.terms, self.bias, self.term_exp = self.parts.count, self.parts.bias, self.parts.exp
        self.term_fraction_bits, self.term_most = self.parts.fraction_bits, self.parts.most
        self.term_sig_bits = self.term_most.bit_length()

    @property
    def term_top(self) -> int:
        """The exponent of a bound on terms.

        A term is less than 2^term_top times the power of two that its exponent stands for.
        """
        return max(1 + self.reach, self.term_most.bit_length() - self.term_fraction_bits)

    def of_window(self, window: int) -> list[int]:
        """The places of a window's terms, the addend's last: those of several windows take turns."""
        return list(range(self.terms + self.sums_addend))[window :: len(self.names)]

    def window_of(self, at: int) -> str:
        """The end of the names of the fields of a term's window."""
        return self.names[at % len(self.names)]

    def in_windows(self, name: str, shape: Any) -> dict[str, Any]:
        """A field of every window."""
        return {f"{name}{end}": shape for end in self.names}

    @property
    def sticky(self) -> bool:
        """True if the rounding of a sum knows that a term lost a 1."""
        return self.rule.sticky

    @property
    def truncates(self) -> bool:
        """True if bits that fall out of the window are truncated, which allows for less hardware in several places."""
        return lost_bits(self.rule.lost).truncates

    @property
    def combined(self) -> bool:
        """True if a window's sum is a term of another; then it is told whether the window has nothing but zeros."""
        return self.halves is not None or self.late is not None

    def _moved(self, formats: Sequence[Format]) -> list[tuple[FieldRange, int]]:
        return [(FieldRange.of(fmt), self.bias - FieldRange.of(fmt).bias) for fmt in formats]

    def addend_span(self, formats: Sequence[Format]) -> tuple[int, int]:
        """The ends of the exponents of late addends."""
        return min(1 + by for _, by in self._moved(formats)), max(field.most + by for field, by in self._moved(formats))

    def _exponents(self) -> None:
        moved = self._moved(self.addends)
        self.floor = self._floor(min([0, *(by for _, by in moved)]))
        self.subnormal_sums = self._has_subnormal_sums()
        least = 1 if self.subnormal_sums else 0
        self.addend_exp = (
            min([0, *(least + by for _, by in moved)]),
            max([0, *(field.most + by for field, by in moved)]),
        )
        ends = (self.addend_exp[0], max(self.term_exp[1], self.addend_exp[1]))
        self.max_exp = ends if self.floor is None else (max(ends[0], self.floor), max(ends[1], self.floor))

    def _floor(self, least: int) -> int | None:
        """The least max_exp; None where there is none, or where no exponent of a term is below it. least: of those."""
        floor = self.rule.max_exp_floor
        return None if floor is None or floor + self.bias <= least else floor + self.bias

    def _has_subnormal_sums(self) -> bool:
        """True if a sum can be subnormal in the result's format, other than an addend that nothing was added to.

        Where none can, subnormal addends are *lifted*: they get a hidden bit at exponent field 0, and the result is
        the same code. Beside a product the window's last bit weighs at least 2^(emin + 1), so that a sum is zero or
        normal, and both the addend and the lifted one are less than half that bit, which every rule for lost bits
        treats alike. Without a product the lifted addend keeps its place, and its field 0 and fraction leave as they
        came. Only fraction bits that the window cuts off could make the one zero and the other not: truncation
        allows to leave them out of account, and other rules must have none. Complemented without a carry, an addend
        does not even leave alone as it came: none is lifted. Nor does one that is below the least max_exp, and of
        windows that are not plain nothing is said.
        """
        if not self.plain or lost_bits(self.rule.lost).adds_one or self.floor is not None:
            return True
        alike = all(fmt.subnormals and fmt.bias == self.result.bias for fmt in self.addends)
        whole = self.truncates or all(fmt.fraction_bits <= self.fraction_bits for fmt in self.addends)
        last_bit = self.product_least - self.product_bias + self.result.bias - self.fraction_bits
        return not (alike and whole and last_bit >= 2)

    @property
    def overflows(self) -> bool:
        """True if a finite sum can be too large for the result's format.

        An addend so large that the window truncates every product to zero passes, or is truncated, itself. Any other is
        less than the largest product times 2^(fraction_bits + 1), and a product is less than
        2^(product_most + term_top).
        """
        if not self.plain:
            return True
        kept = min(self.fraction_bits, max(fmt.fraction_bits for fmt in self.addends))
        exact = self.unit.result.rounding == "rz" or kept <= self.result.fraction_bits
        fits = exact and all(fmt.emax <= self.result.emax for fmt in self.addends)
        passes = fits and self.truncates
        growth = max(self.fraction_bits + 1, self.lanes.bit_length())
        return not passes or self.product_most + self.term_top + growth + 1 - self.product_bias > self.result.emax

    @property
    def vanishes(self) -> bool:
        """True if a sum other than zero can round to zero: one that is subnormal, or a lifted addend's fraction."""
        return self.subnormal_sums or self.addend_fraction_bits > self.result.fraction_bits

    @property
    def addend_fraction_bits(self) -> int:
        """Fraction bits of an addend that count: where it is lifted and truncated, no more than the window has."""
        most = max([0, *(fmt.fraction_bits for fmt in self.addends)])
        cut = not self.subnormal_sums and self.truncates
        return min(most, self.fraction_bits) if cut else most

    def sum_of(self, terms: int) -> Shape:
        """The sum of some terms of the window."""
        most = min(terms * self.aligned_most, self.sum_most)
        return signed_shape(-most, most)

    def _window(self) -> None:
        term = self.most_in_window(self.term_most, self.term_fraction_bits)
        bits = self.addend_fraction_bits
        addend = self.most_in_window((2 << bits) - 1, bits - self.reach) if self.sums_addend else 0
        self.aligned_most = max(term, addend)
        self.sum_most = -(-self.terms // len(self.names)) * term + addend

    def most_in_window(self, sig: int, fraction_bits: int) -> int:
        """The most that a significand leaves in the window, rounded up."""
        shift = fraction_bits - self.fraction_bits
        kept = sig << -shift if shift <= 0 else -(-sig >> shift)
        return kept + lost_bits(self.rule.lost).adds_one

    @property
    def total(self) -> Shape:
        """The sum of a window."""
        return signed_shape(-self.sum_most, self.sum_most)

    @property
    def distance_bits(self) -> int:
        """Bits of a shift amount that can shift everything out of the window, its half included where that counts."""
        return (self.fraction_bits + self.term_top + lost_bits(self.rule.lost).guard_bits).bit_length()

    @property
    def aligned_bits(self) -> int:
        """Bits of a term in the window, its sign counted."""
        return self.fraction_bits + self.term_top + 1

    @property
    def near_bits(self) -> int:
        """Bits of a clamped max_exp: all ones is so far above every term that it shifts them all out."""
        return min((self.term_exp[1] + (1 << self.distance_bits) - 1).bit_length(), self.max_exp[1].bit_length())

    def addend_fields(self) -> dict[str, StructLayout]:
        """The addends as terms, exponents as the terms'. there: whether that of the window is one at all."""
        layouts = {}
        if self.sums_addend:
            there = {"there": 1} if self.counting or self.zero_sign else {}
            exp, sig = signed_shape(*self.addend_exp), unsigned(self.addend_fraction_bits + 1)
            layouts["addend"] = StructLayout({"sign": 1, "exp": exp, "sig": sig, **there})
        if self.late_formats:
            sig = unsigned(max(fmt.fraction_bits for fmt in self.late_formats) + 1)
            exp = signed_shape(*self.addend_span(self.late_formats))
            layouts["late_addend"] = StructLayout({"sign": 1, "exp": exp, "sig": sig})
        return layouts


def result_target(n: WindowRanges, total: Shape, fraction_bits: int, max_exp: tuple[int, int]) -> ResultTarget:
    """The target that a sum in a window of so many fraction bits is rounded to."""
    rule = n.unit.result
    return ResultTarget(
        fmt=n.result,
        rounding=rule.rounding,
        overflow=rule.overflow,
        tiny=rule.tiny,
        total=total,
        max_exp=max_exp,
        offset=total.width - 2 - fraction_bits - n.bias + FieldRange.of(n.result).bias,
        nan=n.nan,
        zero_sign=n.zero_sign,
        flush=rule.flushes,
        lost=n.terms + n.sums_addend if n.sticky else 0,
        subnormals=n.subnormal_sums,
        overflows=n.overflows,
        vanishes=n.vanishes,
    )


class Decode(DatapathStep):
    """Both factors of every lane, the scales, and the addend: `c`, or the partial sum when `chain`.

    carried: the layout of what holds the partial sum, as the field `code`.
    """

    def __init__(self, n: WindowRanges, carried: StructLayout):
        self.n = n
        c = {}
        if n.addend is not None and (n.sums_addend or n.late_formats):
            c = {"c": unsigned(n.addend.container_bits)}
        i = StructLayout({**factors_layout(n).members, **c, "carried": carried, "chain": 1})
        o = StructLayout({**made_by_decode(n), **n.addend_fields(), "special": SPECIAL})
        super().__init__("decode", i, o, o.members)

    def compute(self, m: Module) -> None:
        n, special = self.n, self.o.special
        decode_factors(m, n, self.i, self.o)
        nan = scale_exponents(m, n, self.i, self.o)
        decode_scales(m, n, self.i, self.o)
        addend: Mapping[str, Value] = {}
        if n.sums_addend and n.late is None:
            addend = self._addend(m, self.o.addend, n.window_addend, n.addend_fraction_bits)
            if "there" in self.o.addend.signature.members:
                m.d.comb += self.o.addend.there.eq(self.i.chain if _begins_with_nothing(n.unit) else 1)
        elif n.sums_addend:
            m.d.comb += self.o.addend.exp.eq(1 - FieldRange.of(n.result).bias + n.bias)
            if "there" in self.o.addend.signature.members:
                m.d.comb += self.o.addend.there.eq(1)
        if n.late_formats:
            addend = self._addend(m, self.o.late_addend, n.addend, len(self.o.late_addend.sig) - 1)
        inf, sign = addend.get("inf", Const(0)), addend.get("sign", Const(0))
        m.d.comb += [
            special.nan.eq(addend.get("nan", Const(0)) | nan),
            special.positive.eq(inf & ~sign),
            special.negative.eq(inf & sign),
        ]

    def _addend(self, m: Module, to: PureInterface, c: FloatFormat | None, bits: int) -> Mapping[str, Value]:
        """Drive an addend with so many fraction bits; its sign and class. c: the format of what it is at first."""
        n, partial = self.n, self.i.carried.code
        if c is None:
            chosen = self._decoded(m, "partial", n.result, Mux(self.i.chain, partial, 0), to, bits)
        else:
            first = self.i.c[c.padding :]
            if n.zero_sign:
                first = addend_code(n.unit, c, first)
            if alike(c, n.result):
                fmt = max(c, n.result, key=lambda wider: wider.fraction_bits)
                partial = Cat(Const(0, fmt.fraction_bits - n.result.fraction_bits), partial)
                code = Cat(Const(0, fmt.fraction_bits - c.fraction_bits), first)
                chosen = self._decoded(m, "addend", fmt, Mux(self.i.chain, partial, code), to, bits)
            else:
                other = self._decoded(m, "partial", n.result, partial, to, bits)
                chosen = self._decoded(m, "c", c, first, to, bits)
                chosen = {key: Mux(self.i.chain, other[key], chosen[key]) for key in chosen}
        m.d.comb += [getattr(to, field).eq(chosen[field]) for field in ("sign", "exp", "sig")]
        return chosen

    def _decoded(
        self, m: Module, name: str, fmt: FloatFormat, code: Value, to: PureInterface, bits: int
    ) -> dict[str, Value]:
        n = self.n
        m.submodules[name] = decode = FloatDecode(fmt, padded=False, lifted=None if n.subnormal_sums else bits)
        exp = Signal(to.exp.shape(), name=f"{name}_exp")
        m.d.comb += [decode.code.eq(code), exp.eq(decode.o.bexp + (n.bias - FieldRange.of(fmt).bias))]
        missing = bits - fmt.fraction_bits
        sig = Cat(Const(0, max(0, missing)), decode.o.sig[max(0, -missing) :])
        return {"sign": decode.o.sign, "exp": exp, "sig": sig, "nan": decode.o.nan, "inf": decode.o.inf}


def alike(first: FloatFormat, second: FloatFormat) -> bool:
    """True if two formats differ in fraction bits alone: zeros below turn codes of the narrower into the wider's."""
    same = ("exponent_bits", "bias", "subnormals", "infinities", "signed", "nan")
    return first.nan == "ieee" and all(getattr(first, field) == getattr(second, field) for field in same)


def _begins_with_nothing(unit: Specified) -> bool:
    """True if the first group of a sum has no addend, not even +0."""
    return unit.operands.addend is None and unit.promotion is None and unit.instruction.start == "addend"


class Multiply(DatapathStep):
    """The product of every lane; special values of all lanes and the addend are gathered."""

    def __init__(self, n: WindowRanges, before: StructLayout):
        self.n = n
        nonzero = {"nonzero": 1} if n.flagged else {}
        exp = unsigned(n.term_exp[1].bit_length())
        term = StructLayout({"sign": 1, "exp": exp, "sig": unsigned(n.term_sig_bits), **nonzero})
        kept = {name: before.members[name] for name in (*n.addend_fields(), "special")}
        makes = ({"zero_sign": 1} if n.zero_sign else {}) | ({"low": 1} if n.low else {})
        o = StructLayout({"terms": ArrayLayout(term, n.terms), **kept, **makes})
        before = StructLayout({**joining(n), **before.members})
        super().__init__("multiply", before, o, {"terms", "special", *makes})

    @property
    def purpose(self) -> str:
        what = "The product of every lane" if self.n.parts is None else "The scaled sum of every subgroup of lanes"
        return f"{what}; special values of all lanes and the addend are gathered."

    def compute(self, m: Module) -> None:
        n, i = self.n, self.i
        products = lane_products(m, n, i)
        exps = [product.term.exp for product in products]
        if n.flagged:  # those of zeros, too
            exps = [i.a[lane].bexp + i.b[lane].bexp + (i.scale_exp[lane] if n.scales else 0) for lane in range(n.lanes)]
        if n.parts is None:
            every = [product.special for product in products]
            for to, product, exp in zip(self.o.terms, products, exps, strict=True):
                m.d.comb += [to.sign.eq(product.term.sign), to.exp.eq(exp), to.sig.eq(product.term.sig)]
                if n.flagged:
                    m.d.comb += to.nonzero.eq(product.term.sig.any())
        elif n.low:
            low, every = drive_low_parts(m, n.parts, list(zip(products, exps, strict=True)), i, list(self.o.terms))
            m.d.comb += self.o.low.eq(low)
        else:
            lanes = list(zip(products, exps, strict=True))
            every = []
            for index, to in enumerate(self.o.terms):
                every.append(drive_part(m, n.parts, index, lanes, n.parts.scales_of(i, index), to))
        for flag in SPECIAL.members:
            gathered = Cat(getattr(i.special, flag), *(special[flag] for special in every)).any()
            m.d.comb += getattr(self.o.special, flag).eq(gathered)
        if n.zero_sign:
            m.d.comb += self.o.zero_sign.eq(self._zero_sign())

    def _zero_sign(self) -> Value:
        """The sign of a sum of exactly zero."""
        signs = [(term.sign, Const(1)) for term in self.o.terms]
        if self.n.sums_addend:
            signs.append((self.i.addend.sign, self.i.addend.there))
        if self.n.late_formats:
            signs.append((self.i.late_addend.sign, Const(1)))
        every = Cat(sign | ~there for sign, there in signs).all()
        some = Cat(sign & there for sign, there in signs).any()
        return Mux(every, 1, some & int(self.n.unit.result.rounding == "rd"))
