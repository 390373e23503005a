"""Sums of windows that are added in a window of their own: of even and odd lanes, and of a group and a late addend."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Const, Module, Mux, Shape, Signal, Value, unsigned
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import PureInterface

from hwsim.rtl.general import GeneralDecode, GeneralMultiply, GeneralRanges, general_window, sums_layout
from hwsim.rtl.normalize import Magnitude, Round, normalizing
from hwsim.rtl.numbers import FieldRange, ResultTarget, signed_shape
from hwsim.rtl.step import Datapath, DatapathStep, assign
from hwsim.rtl.windows import WindowTerm, aligned, aligned_bits, cut, leading_place, maximum
from hwsim.spec import AlignedSum, Specified
from hwsim.spec.sums import SumCut


class WindowSumRange:
    """The range of a sum in a window: bits with its sign, fraction bits below max_exp, the ends of max_exp."""

    def __init__(self, bits: int, fraction_bits: int, max_exp: tuple[int, int]):
        self.bits, self.fraction_bits, self.max_exp = bits, fraction_bits, max_exp

    @property
    def shape(self) -> Shape:
        """The sum's shape."""
        return signed_shape(-(1 << self.bits - 1), (1 << self.bits - 1) - 1)

    @property
    def layout(self) -> StructLayout:
        """The sum, its max_exp, and whether any term is other than zero."""
        return StructLayout({"total": self.shape, "any": 1, "max_exp": signed_shape(*self.max_exp)})

    def term(
        self, m: Module, name: str, i: PureInterface, zero_exp: int | None = None, counts: Value | None = None
    ) -> WindowTerm:
        """The sum as a term. zero_exp: where it stands if every term was zero."""
        sign = i.total[-1]
        sig = Signal(self.bits, name=f"{name}_sig")
        m.d.comb += sig.eq((i.total ^ sign.replicate(len(i.total)))[: len(i.total)] + sign)
        low = self.max_exp[0] if zero_exp is None else min(self.max_exp[0], zero_exp)
        exp = Signal(signed_shape(low, max(self.max_exp[1], low if zero_exp is None else zero_exp)), name=f"{name}_exp")
        m.d.comb += exp.eq(i.max_exp if zero_exp is None else Mux(i.any, i.max_exp, zero_exp))
        return WindowTerm(sign, exp, sig, self.fraction_bits, i.any if counts is None else counts, i.any, low)


class CombineHalves(DatapathStep):
    """The sums of the even and of the odd lanes in one window."""

    def __init__(self, n: GeneralRanges, before: WindowSumRange):
        rule = n.halves
        if rule is None:
            raise TypeError("sums are combined where there are two")
        self.n, self.before, self.rule = n, before, rule.combine
        bits = aligned_bits(before.bits, before.fraction_bits, rule.combine.fraction_bits) + 1
        self.after = WindowSumRange(bits, rule.combine.fraction_bits, before.max_exp)
        i = sums_layout(n)
        kept = {name: shape for name, shape in i.members.items() if not name.startswith("window")}
        super().__init__("combine", i, StructLayout({**kept, "window0": self.after.layout}), {"window0"})

    def compute(self, m: Module) -> None:
        span, rule, to = self.before.max_exp, self.rule, self.o.window0
        halves = {"even": self.i.window0, "odd": self.i.window1}
        terms = [self.before.term(m, name, half) for name, half in halves.items()]
        top = maximum(m, "combined", terms, span)
        both = [
            aligned(m, name, term, top, span[1], rule.fraction_bits, rule.lost)
            for name, term in zip(halves, terms, strict=True)
        ]
        m.d.comb += [to.total.eq(both[0] + both[1]), to.any.eq(terms[0].nonzero | terms[1].nonzero), to.max_exp.eq(top)]


class CutSum(DatapathStep):
    """The window's sum without its lowest places: zeros stand where they were."""

    def __init__(self, n: GeneralRanges, rule: SumCut, before: WindowSumRange):
        self.rule = rule
        # What is rounded up may be a whole unit of the places that are left.
        bits = max(before.bits, rule.bits + 1) + 1
        self.after = WindowSumRange(bits, before.fraction_bits, before.max_exp)
        i = sums_layout(n)
        super().__init__("cut", i, StructLayout({**i.members, "window0": self.after.layout}), {"window0"})

    def compute(self, m: Module) -> None:
        whole = Signal(self.after.shape, name="whole_sum")
        m.d.comb += [
            whole.eq(self.i.window0.total),
            self.o.window0.total.eq(cut(m, whole, self.rule.bits, self.rule.lost)),
            self.o.window0.any.eq(self.i.window0.any),
            self.o.window0.max_exp.eq(self.i.window0.max_exp),
        ]


class LateSum(DatapathStep):
    """A group's sum and a late addend in one window, each cut to its own bits; both together cut, where they are."""

    def __init__(self, n: GeneralRanges, before: WindowSumRange, i: StructLayout):
        rule = n.late
        if rule is None:
            raise TypeError("a late addend has a rule")
        self.n, self.before, self.rule = n, before, rule
        self.fraction_bits = max(rule.sum_bits, rule.addend_bits)
        self.span = n.addend_span(n.late_formats)
        # Where every product is zero, the sum stands at exponent 0.
        ends = [before.max_exp, self.span, (n.bias, n.bias)]
        max_exp = min(low for low, _ in ends), max(high for _, high in ends)
        sig = i["outer"].shape["sig"].width
        bits = max(
            aligned_bits(before.bits, before.fraction_bits, rule.sum_bits) + self.fraction_bits - rule.sum_bits,
            aligned_bits(sig, sig - 1, rule.addend_bits) + self.fraction_bits - rule.addend_bits,
        )
        bits += 2
        # The least exponent of the result may be far above the window: what is lost then rounds to zero or to one unit.
        least = n.result.emin + n.bias + self.fraction_bits - (rule.total_bits or 0)
        self.far = rule.total_bits is not None and least - max_exp[0] > bits - 2
        if self.far:
            bits, max_exp = bits + 3, (max_exp[0], max(max_exp[1], least))
        self.after = WindowSumRange(bits, self.fraction_bits, max_exp)
        kept = {name: shape for name, shape in i.members.items() if name not in ("outer", "window0")}
        super().__init__("late", i, StructLayout({**kept, "window0": self.after.layout}), {"window0"})

    def compute(self, m: Module) -> None:
        n, rule, to, outer = self.n, self.rule, self.o.window0, self.i.outer
        zeros, nonzero = n.rule.zero_terms == "count", outer.sig.any()
        total = self.before.term(m, "sum", self.i.window0, n.bias, self.i.window0.any | zeros)
        counts = nonzero | zeros
        some = total.nonzero | nonzero
        if rule.zero_addend == "count":
            counts = counts | some
        addend = WindowTerm(outer.sign, outer.exp, outer.sig, len(outer.sig) - 1, counts, nonzero, self.span[0])
        span = self.after.max_exp
        top = maximum(m, "late", [total, addend], span)
        kept_sum = aligned(m, "late_sum", total, top, span[1], rule.sum_bits, rule.lost)
        kept_addend = aligned(m, "late_addend", addend, top, span[1], rule.addend_bits, rule.lost)
        if rule.drop_below is not None:
            near = Signal.like(kept_addend, name="near_addend")
            m.d.comb += near.eq(Mux(addend.exp < top - rule.drop_below, 0, kept_addend))
            kept_addend = near
        both = Signal(self.after.shape, name="both")
        bits = self.fraction_bits
        m.d.comb += [
            both.eq((kept_sum << bits - rule.sum_bits) + (kept_addend << bits - rule.addend_bits)),
            to.total.eq(both),
            to.any.eq(some),
            to.max_exp.eq(top),
        ]
        if rule.total_bits is not None:
            total, moved = self._cut(m, both, top, rule.total_bits)
            m.d.comb += [to.total.eq(total), to.max_exp.eq(top + moved)]

    def _cut(self, m: Module, both: Value, top: Value, total_bits: int) -> tuple[Value, Value]:
        """The sum without its bits below so many from its leading one, or from the result's least exponent.

        Also what its exponent grows by: the places that are lost beyond those that the window has.
        """
        magnitude = Signal(len(both), name="both_magnitude")
        m.d.comb += magnitude.eq((both ^ both[-1].replicate(len(both))) + both[-1])
        leading = leading_place(m, magnitude)
        least = self.n.result.emin + self.n.bias + self.fraction_bits
        highest = least - self.after.max_exp[0]
        floor = Signal(signed_shape(min(0, least - self.after.max_exp[1]), max(1, highest)), name="least_place")
        place = Signal(range(max(len(both), highest) + 1), name="place")
        over = Signal(signed_shape(-total_bits, max(len(both), highest)), name="over")
        places = Signal(range(len(both) + 2), name="places")
        most = len(both) - 2 if self.far else len(both) + 1
        m.d.comb += [
            floor.eq(least - top),
            place.eq(Mux(floor > leading, floor, leading)),
            over.eq(place - total_bits),
            places.eq(Mux((over < 0) | ~both.any(), 0, Mux(over > most, most, over))),
        ]
        moved = Mux((over > most) & both.any(), over - most, 0) if self.far else Const(0)
        return cut(m, both, places, self.rule.lost), moved


class Settle(DatapathStep):
    """The sum as what is rounded: its fields by the names of every sum."""

    def __init__(self, target: ResultTarget, name: str, i: StructLayout):
        super().__init__(name, i, target.magnitude(), target.magnitude().members)
        self.magnitude = Magnitude(target)

    def compute(self, m: Module) -> None:
        m.submodules.own = own = self.magnitude
        m.d.comb += [
            own.i.total.eq(self.i.window0.total),
            own.i.max_exp.eq(self.i.window0.max_exp),
            own.i.zero_sign.eq(self.i.zero_sign),
            *assign(own.i.special, self.i.special),
            *assign(self.o, own.o),
        ]
        if own.target.lost:
            m.d.comb += [to.eq(lost) for to, lost in zip(own.i.lost, self.i.lost, strict=True)]


def general_datapath(unit: Specified, cuts: Sequence[str]) -> Datapath:
    """A group's sum: from operands to `result_layout`."""
    n = GeneralRanges(unit)
    carried = StructLayout({"code": unsigned(n.result.bits)})
    multiply = GeneralMultiply(n)
    path: list[DatapathStep] = [GeneralDecode(n, carried), multiply, *general_window(n, cuts, multiply.gives)]
    span = WindowSumRange(n.total_bits, n.rule.fraction_bits, n.max_exp)
    if n.halves is not None:
        combine = CombineHalves(n, span)
        path, span = [*path, combine], combine.after
    if isinstance(n.rule, AlignedSum) and n.rule.cut is not None:
        left = CutSum(n, n.rule.cut, span)
        path, span = [*path, left], left.after
    if n.late is not None:
        late = LateSum(n, span, path[-1].gives)
        path, span = [*path, late], late.after
    rule = unit.result
    target = ResultTarget(
        fmt=n.result,
        rounding=rule.rounding,
        overflow=rule.overflow,
        total=span.shape,
        max_exp=span.max_exp,
        offset=span.bits - 2 - span.fraction_bits - n.bias + FieldRange.of(n.result).bias,
        tiny=rule.tiny,
        nan=n.nan,
        zero_sign=True,
        flush=rule.flushes,
        lost=n.terms + n.inner if n.sticky else 0,
    )
    settle = Settle(target, "magnitude", path[-1].gives)
    return Datapath([*path, settle, *normalizing(target, cuts).values(), Round(target)], cuts, carried)
