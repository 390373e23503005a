"""What is made of sums of windows: of even and odd lanes one, without its lowest places, and with a late addend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Const, Module, Mux, Shape, Signal, Value, signed
from amaranth.lib.data import StructLayout

from hwsim.rtl.numbers import signed_shape
from hwsim.rtl.step import DatapathStep
from hwsim.rtl.terms import WindowRanges
from hwsim.rtl.windows import WindowTerm, aligned, aligned_bits, cut, leading_place, maximum
from hwsim.spec.sums import SumCut


@dataclass(frozen=True)
class WindowSumRange:
    """The range of a sum in a window: its shape, fraction bits below max_exp, the ends of max_exp."""

    shape: Shape
    fraction_bits: int
    max_exp: tuple[int, int]

    @property
    def bits(self) -> int:
        """Bits with the sign."""
        return self.shape.width

    def fields(self) -> dict[str, Any]:
        """A sum's."""
        return {"total": self.shape, "max_exp": signed_shape(*self.max_exp)}

    def term(
        self, m: Module, name: str, i: Any, end: str = "", zero_exp: int | None = None, counts: Value | None = None
    ) -> WindowTerm:
        """The sum as a term. end: of its fields. zero_exp: where it stands if every term was zero."""
        total, max_exp, some = (getattr(i, f"{field}{end}") for field in ("total", "max_exp", "any"))
        sign = total[-1]
        sig = Signal(self.bits, name=f"{name}_sig")
        m.d.comb += sig.eq((total ^ sign.replicate(len(total)))[: len(total)] + sign)
        low = self.max_exp[0] if zero_exp is None else min(self.max_exp[0], zero_exp)
        exp = Signal(signed_shape(low, max(self.max_exp[1], low if zero_exp is None else zero_exp)), name=f"{name}_exp")
        m.d.comb += exp.eq(max_exp if zero_exp is None else Mux(some, max_exp, zero_exp))
        return WindowTerm(sign, exp, sig, self.fraction_bits, some if counts is None else counts, some, low)


class NextSum(DatapathStep):
    """A step that makes another sum. after: its range. i: what comes in, of which the sums and `drops` go."""

    def __init__(self, name: str, i: StructLayout, after: WindowSumRange, more: Any = (), drops: tuple[str, ...] = ()):
        self.after, makes = after, {**after.fields(), **dict(more)}
        gone = ("total", "max_exp", *(("any",) if "any" in makes else ()))
        kept = {name: shape for name, shape in i.members.items() if not name.startswith(gone) and name not in drops}
        super().__init__(name, i, StructLayout({**makes, **kept}), makes)


class CombineHalves(NextSum):
    """The sums of the even and of the odd lanes in one window."""

    def __init__(self, n: WindowRanges, before: WindowSumRange, i: StructLayout):
        if n.halves is None:
            raise TypeError("sums are combined where there are two")
        self.n, self.before, self.rule = n, before, n.halves.combine
        bits = aligned_bits(before.bits, before.fraction_bits, self.rule.fraction_bits) + 1
        after = WindowSumRange(signed(bits), self.rule.fraction_bits, before.max_exp)
        super().__init__("combine", i, after, {"any": 1})

    def compute(self, m: Module) -> None:
        span, rule, o = self.before.max_exp, self.rule, self.o
        halves = [name.removeprefix("_") for name in self.n.names]
        terms = [self.before.term(m, name, self.i, f"_{name}") for name in halves]
        top = maximum(m, "combined", terms, span)
        both = [
            aligned(m, name, term, top, span[1], rule.fraction_bits, rule.lost)
            for name, term in zip(halves, terms, strict=True)
        ]
        m.d.comb += [o.total.eq(both[0] + both[1]), o.any.eq(terms[0].nonzero | terms[1].nonzero), o.max_exp.eq(top)]


class CutSum(NextSum):
    """The window's sum without its lowest places: zeros stand where they were."""

    def __init__(self, rule: SumCut, before: WindowSumRange, i: StructLayout):
        self.rule = rule
        # What is rounded up may be a whole unit of the places that are left.
        bits = max(before.bits, rule.bits + 1) + 1
        super().__init__("cut", i, WindowSumRange(signed(bits), before.fraction_bits, before.max_exp))

    def compute(self, m: Module) -> None:
        whole = Signal(self.after.shape, name="whole_sum")
        m.d.comb += [
            whole.eq(self.i.total),
            self.o.total.eq(cut(m, whole, self.rule.bits, self.rule.lost)),
            self.o.max_exp.eq(self.i.max_exp),
        ]


class LateSum(NextSum):
    """A group's sum and a late addend in one window, each cut to its own bits; both together cut, where they are."""

    def __init__(self, n: WindowRanges, before: WindowSumRange, i: StructLayout):
        rule = n.late
        if rule is None:
            raise TypeError("a late addend has a rule")
        self.n, self.before, self.rule = n, before, rule
        self.fraction_bits = max(rule.sum_bits, rule.addend_bits)
        self.span = n.addend_span(n.late_formats)
        # Where every product is zero, the sum stands at exponent 0.
        ends = [before.max_exp, self.span, (n.bias, n.bias)]
        max_exp = min(low for low, _ in ends), max(high for _, high in ends)
        sig = i.members["late_addend"].members["sig"].width
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
        after = WindowSumRange(signed(bits), self.fraction_bits, max_exp)
        super().__init__("late", i, after, drops=("late_addend", "any"))

    def compute(self, m: Module) -> None:
        n, rule, o, addend = self.n, self.rule, self.o, self.i.late_addend
        zeros, nonzero = n.counting, addend.sig.any()
        total = self.before.term(m, "sum", self.i, "", n.bias, self.i.any | zeros)
        counts = nonzero | zeros
        if rule.zero_addend == "count":
            counts = counts | total.nonzero | nonzero
        late = WindowTerm(addend.sign, addend.exp, addend.sig, len(addend.sig) - 1, counts, nonzero, self.span[0])
        span = self.after.max_exp
        top = maximum(m, "late", [total, late], span)
        kept_sum = aligned(m, "late_sum", total, top, span[1], rule.sum_bits, rule.lost)
        kept_addend = aligned(m, "late_addend", late, top, span[1], rule.addend_bits, rule.lost)
        if rule.drop_below is not None:
            near = Signal.like(kept_addend, name="near_addend")
            m.d.comb += near.eq(Mux(late.exp < top - rule.drop_below, 0, kept_addend))
            kept_addend = near
        both = Signal(self.after.shape, name="both")
        bits = self.fraction_bits
        m.d.comb += [
            both.eq((kept_sum << bits - rule.sum_bits) + (kept_addend << bits - rule.addend_bits)),
            o.total.eq(both),
            o.max_exp.eq(top),
        ]
        if rule.total_bits is not None:
            total, moved = self._cut(m, both, top, rule.total_bits)
            m.d.comb += [o.total.eq(total), o.max_exp.eq(top + moved)]

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
