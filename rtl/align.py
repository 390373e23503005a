"""Align: the largest exponent, each term's distance below it, and the shift into the window."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import PureInterface

from .layouts import max_exp_layout, near_bits, near_layout, products_layout, shifts_layout, window_layout
from .lost import any_lost, shifted
from .numbers import WindowRanges
from .step import DatapathStep, fields
from .zeros import clamp, larger, tree_maximum


def candidates(i: PureInterface) -> list[Value]:
    """The exponents that can still be the largest: every product's, or what the tree has left."""
    return list(i.maxima) if "maxima" in fields(i) else [term.exp for term in i.terms]


def bitwise_maximum(m: Module, values: Sequence[Value]) -> Value:
    """The largest value, from the top bit down among those that it can still be: small, but deeper than a tree."""
    candidates: Value = Const(-1, len(values))
    result: list[Value] = []
    for place in reversed(range(len(values[0]))):
        column, left = Signal(len(values), name=f"column{place}"), Signal(len(values), name=f"left{place}")
        m.d.comb += column.eq(Cat(value[place] for value in values))
        leads: Value = column
        if result:
            leads = Signal(len(values), name=f"leads{place}")
            m.d.comb += leads.eq(column & candidates)
        largest = Signal(name=f"largest{place}")
        m.d.comb += [largest.eq(leads.any()), left.eq(Mux(largest, leads, candidates))]
        candidates = left
        result.insert(0, largest)
    return Cat(result)


class TreeMaximum(DatapathStep):
    """Some levels of the tree that finds the products' largest exponent."""

    def __init__(self, n: WindowRanges, name: str, before: int, levels: int):
        self.levels = levels
        after = before
        for _ in range(levels):
            after = -(-after // 2)
        self.after = after
        i, o = products_layout(n, 0 if before == n.lanes else before), products_layout(n, after)
        super().__init__(name, i, o, {"maxima"})

    def compute(self, m: Module) -> None:
        """Drive the candidates that are left."""
        for at, left in enumerate(tree_maximum(m, candidates(self.i), self.levels)):
            m.d.comb += self.o.maxima[at].eq(left)


class Maximum(DatapathStep):
    """The largest exponent of all terms that are not zero, the addend among them. Ends the tree.

    Where max_exp has a floor, the addend, zero or not, counts there at least: beside the tree, and not after it.
    """

    def __init__(self, n: WindowRanges, maxima: int = 0):
        self.floor = n.floor
        super().__init__("maximum", products_layout(n, maxima), max_exp_layout(n), {"max_exp"})

    @property
    def purpose(self) -> str:
        """What the module computes."""
        how = (
            ""
            if "maxima" in fields(self.i)
            else " Products from the top bit down: column has a bit of each exponent, "
            "leads are those with a 1 in it among what is left, and where there are any, they alone stay left."
        )
        return f"max_exp: the largest exponent of all terms that are not zero, the addend among them.{how}"

    def compute(self, m: Module) -> None:
        """Drive max_exp."""
        left = candidates(self.i)
        cut = "maxima" in fields(self.i)
        pair = tree_maximum(m, left, max(1, (len(left) - 1).bit_length()) - 1) if cut else []
        products = larger(m, pair, "products") if cut else bitwise_maximum(m, left)
        counts, exp = self._addend()
        # Behind a cut the addend is compared with both that are left, so as not to wait for the larger.
        rivals = pair if cut else [products]
        wins = counts & Cat((exp > rival) | ~rival.any() for rival in rivals).all()
        m.d.comb += self.o.max_exp.eq(Mux(wins, exp, products))

    def _addend(self) -> tuple[Value, Value]:
        """Whether the addend takes part, and with which exponent."""
        addend = self.i.addend
        counts: Value = addend.sig.any()
        if self.floor is None:
            return counts, addend.exp
        return Const(1), Mux(counts & (addend.exp > self.floor), addend.exp, self.floor)


def nearest(m: Module, n: WindowRanges, max_exp: Value) -> Signal:
    """max_exp as products see it."""
    # Where max_exp is negative there are no products.
    positive = max_exp[: n.max_exp[1].bit_length()]
    near = Signal(near_bits(n), name="nearest")
    m.d.comb += near.eq(clamp(positive, len(near)))
    return near


class Near(DatapathStep):
    """max_exp as products see it, where a register follows; else `Distance` begins with it."""

    def __init__(self, n: WindowRanges):
        self.n = n
        super().__init__("distance.0", max_exp_layout(n), near_layout(n), {"near"})

    def compute(self, m: Module) -> None:
        """Drive it."""
        m.d.comb += self.o.near.eq(nearest(m, self.n, self.i.max_exp))


class Distance(DatapathStep):
    """How far below max_exp each term is, clamped to what shifts everything out. near: whether `Near` is before it."""

    def __init__(self, n: WindowRanges, near: bool = False):
        self.n = n
        super().__init__("distance", near_layout(n) if near else max_exp_layout(n), shifts_layout(n), {"shifts"})

    def compute(self, m: Module) -> None:
        """Drive the shifts."""
        n = self.n
        near = self.i.near if "near" in fields(self.i) else nearest(m, n, self.i.max_exp)
        above = max(0, n.product_most.bit_length() - n.distance_bits)
        for lane, term in enumerate(self.i.terms):
            small = above <= 1 and len(near) > n.distance_bits
            distance = self._near(m, near, term.exp, lane) if small else self._far(m, near, term.exp, len(near), lane)
            m.d.comb += self.o.shifts[lane].eq(distance)
        bits = (n.max_exp[1] - n.addend_exp[0]).bit_length()
        m.d.comb += self.o.shifts[n.lanes].eq(self._far(m, self.i.max_exp, self.i.addend.exp, bits, n.lanes))

    def _far(self, m: Module, largest: Value, exp: Value, bits: int, lane: int) -> Value:
        """A distance that may need up to `bits` bits, clamped."""
        difference = Signal(bits, name=f"difference{lane}")
        # The complement of a number without a sign has no more bits than the number: with a floor of max_exp there may
        # be fewer than an addend's distance has.
        if len(largest) < bits and not largest.shape().signed:
            largest = Cat(largest, Const(0, bits - len(largest)))
        # largest - exp, in which the one complement serves every lane.
        m.d.comb += difference.eq(~(exp + ~largest))
        return clamp(difference, self.n.distance_bits)

    def _near(self, m: Module, largest: Value, exp: Value, lane: int) -> Value:
        """The same of a product whose exponent has at most one bit above those of a shift.

        Above them nothing is subtracted: what the exponent has there, and a carry, reaches what `largest` has, or not.
        """
        bits = self.n.distance_bits
        high = largest[bits:]
        # Beyond what any exponent reaches, no carry may come from below.
        low = largest[:bits] | (high == 3).replicate(bits)
        difference = Signal(bits + 1, name=f"difference{lane}")
        m.d.comb += difference.eq(exp[:bits] + ~low)
        top, carry = exp[bits:].any(), difference[bits]
        reached = ~high.any() | (~high[1:].any() & (top | carry)) | (top & carry)
        return ~difference[:bits] | (~reached).replicate(bits)


class Align(DatapathStep):
    """Each term shifted into the window, what falls out of it lost by the unit's rule."""

    def __init__(self, n: WindowRanges):
        self.n = n
        super().__init__("align", shifts_layout(n), window_layout(n), {"aligned"} | ({"lost"} if n.sticky else set()))

    @property
    def purpose(self) -> str:
        """What the module computes."""
        n = self.n
        return (
            f"Each term shifted right by its distance, into a window of {n.fraction_bits} bits below 2^max_exp; "
            f"bits below the window are lost ({n.rule.lost}). Negative terms are in ones' complement."
        )

    def compute(self, m: Module) -> None:
        """Drive the aligned terms."""
        n = self.n
        for lane, term in enumerate([*self.i.terms, self.i.addend]):
            fraction_bits = n.addend_fraction_bits if lane == n.lanes else n.product_fraction_bits
            place = max(n.fraction_bits, fraction_bits)
            window = Cat(Const(0, place - fraction_bits), term.sig)
            drop = place - n.fraction_bits
            shift, name = self.i.shifts[lane], f"term{lane}"
            ones, carry = shifted(m, name, window, term.sign, shift, drop, n.rule.term_lost)
            m.d.comb += [self.o.aligned[lane].ones.eq(ones), self.o.aligned[lane].carry.eq(carry)]
            if n.sticky:
                m.d.comb += self.o.lost[lane].eq(any_lost(m, name, window, shift, drop))
