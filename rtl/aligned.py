"""An aligned sum in one plain window: the largest exponent, terms shifted below it, their exact sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import PureInterface

from hwsim.rtl.arithmetic import any_lost, balanced, clamp, larger, shifted, tree_maximum
from hwsim.rtl.latewindow import general_datapath
from hwsim.rtl.normalize import Magnitude, Round, normalizing
from hwsim.rtl.numbers import (
    ResultTarget,
    WindowRanges,
    beside_terms,
    halves_layout,
    max_exp_layout,
    near_bits,
    near_layout,
    products_layout,
    shifts_layout,
    sums_layout,
    window_layout,
)
from hwsim.rtl.products import Decode, Multiply
from hwsim.rtl.step import Datapath, DatapathStep, assign, fields
from hwsim.spec import Specified, steps
from hwsim.spec.implementation import one_plain_window


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
        how = (
            ""
            if "maxima" in fields(self.i)
            else " Products from the top bit down: column has a bit of each exponent, "
            "leads are those with a 1 in it among what is left, and where there are any, they alone stay left."
        )
        return f"max_exp: the largest exponent of all terms that are not zero, the addend among them.{how}"

    def compute(self, m: Module) -> None:
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
        m.d.comb += self.o.near.eq(nearest(m, self.n, self.i.max_exp))


class Distance(DatapathStep):
    """How far below max_exp each term is, clamped to what shifts everything out. near: whether `Near` is before it."""

    def __init__(self, n: WindowRanges, near: bool = False):
        self.n = n
        super().__init__("distance", near_layout(n) if near else max_exp_layout(n), shifts_layout(n), {"shifts"})

    def compute(self, m: Module) -> None:
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
        n = self.n
        return (
            f"Each term shifted right by its distance, into a window of {n.fraction_bits} bits below 2^max_exp; "
            f"bits below the window are lost ({n.rule.lost}). Negative terms are in ones' complement."
        )

    def compute(self, m: Module) -> None:
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


class TermWords(NamedTuple):
    """Terms as numbers to add: low bits, and bits that count negative terms and carries, by their weights.

    terms: how many terms they are of.
    """

    low: list[Value]
    signs: list[tuple[int, Value]]
    carries: list[tuple[int, Value]]
    terms: int

    def with_others(self, others: TermWords) -> TermWords:
        """These and others."""
        return TermWords(*(ours + theirs for ours, theirs in zip(self, others, strict=True)))  # type: ignore[operator]


def words_of(terms: Sequence[Any]) -> TermWords:
    """Those of terms in the window."""
    lows = [term.ones[:-1] for term in terms]
    signs, carries = [(0, term.ones[-1]) for term in terms], [(0, term.carry) for term in terms]
    return TermWords(lows, signs, carries, len(terms))


def words_of_halves(halves: Sequence[Any]) -> TermWords:
    """Those that full adders make of three terms each, from what `HalfAdders` has made of them."""
    words = TermWords([], [], [], 3 * len(halves))
    for triple in halves:
        half, first, third = triple.half, triple.first, triple.third
        for to, place in ((words.low, "low"), (words.signs, "sign"), (words.carries, "carry")):
            x, a, c = getattr(half, place), getattr(first, place), getattr(third, place)
            total, carry = x ^ c, (x & c) | (~x & a)
            to += [total, Cat(Const(0, 1), carry)] if place == "low" else [(0, total), (1, carry)]
    return words


def counted(m: Module, bits: Sequence[tuple[int, Value]], name: str, *, inverted: bool = False) -> Value:
    """The sum of bits by their weights, or of those that are not set. name: as that of `balanced`."""
    return balanced(m, [Cat(Const(0, weight), ~bit if inverted else bit) for weight, bit in bits], name)


def all_terms(m: Module, words: TermWords, bits: int, truncated: bool) -> Value:
    """The sum of all terms, small: the sign bits are counted, and the count is taken from the high part alone.

    A term is its `bits` low bits, plus its carry, less 2^bits if negative. Truncation carries where a term is negative,
    so that one count serves for both.
    """
    negative = counted(m, words.signs, "count")
    carries = negative if truncated else counted(m, words.carries, "carries")
    sum_of_low = balanced(m, words.low, "sum") + carries
    negatives, low = Signal(len(negative), name="negatives"), Signal(len(sum_of_low), name="low")
    m.d.comb += [negatives.eq(negative), low.eq(sum_of_low)]
    return Cat(low[:bits], low[bits:] - negatives).as_signed()


def some_terms(m: Module, words: TermWords, bits: int, name: str) -> Value:
    """The sum of some terms, fast: carries, and in the high part signs, are one more number to add.

    Those that are not negative are counted, less all: nothing is subtracted after the sum.
    """
    carries = counted(m, words.carries, f"{name}_carries")
    others = counted(m, words.signs, f"{name}_positives", inverted=True)
    if len(carries) > bits:  # a window so narrow that both do not fit into one number
        numbers = [*words.low, carries, Cat(Const(0, bits), others)]
    else:
        numbers = [*words.low, Cat(carries, Const(0, bits - len(carries)), others)]
    return balanced(m, numbers, f"{name}_level") - (words.terms << bits)


class HalfAdders(DatapathStep):
    """The first gate of every full adder of the first row that sums.

    Behind a register, synthesis takes a carry for what it is then, a multiplexer: three gates a full adder, and not
    five. The register is no wider than one of the terms.
    """

    def __init__(self, n: WindowRanges):
        self.n = n
        o = halves_layout(n)
        super().__init__("sum.0", window_layout(n), o, {"halves", *o.members} - beside_terms(n).keys())

    def compute(self, m: Module) -> None:
        terms = self.i.aligned
        for at, triple in enumerate(self.o.halves):
            a, b, c = terms[3 * at : 3 * at + 3]
            for place in ("low", "sign", "carry"):
                x, y, z = (word(term, place) for term in (a, b, c))
                m.d.comb += [
                    getattr(triple.half, place).eq(x ^ y),
                    getattr(triple.first, place).eq(x),
                    getattr(triple.third, place).eq(z),
                ]
        rest = len(terms) % 3
        if rest:
            for to, term in zip(self.o.aligned, terms[-rest:], strict=True):
                m.d.comb += assign(to, term)


def word(term: Any, place: str) -> Value:
    """A part of a term in the window."""
    parts: dict[str, Value] = {"low": term.ones[:-1], "sign": term.ones[-1], "carry": term.carry}
    return parts[place]


class Sum(DatapathStep):
    """Some levels of the tree that sums; each sum takes `fan_in` neighbours.

    Without a cut inside, one sum of everything, whose carries synthesis saves.
    inside: terms of each of the `before` values that come in.
    """

    def __init__(self, n: WindowRanges, name: str, before: int, fan_in: int, inside: int, halves: bool = False):
        self.n, self.before, self.fan_in = n, before, fan_in
        self.after, self.terms = -(-before // fan_in), inside * fan_in
        i = halves_layout(n) if halves else window_layout(n) if inside == 1 else sums_layout(n, before, inside)
        super().__init__(name, i, sums_layout(n, self.after, self.terms), {"total" if self.after == 1 else "sums"})

    @property
    def purpose(self) -> str:
        if self.after == 1:
            return "The sum of all aligned terms, exactly. A term is in ones' complement, its carry beside it."
        return f"The sums of {self.fan_in} neighbouring terms each, exactly."

    def compute(self, m: Module) -> None:
        terms, bits = fields(self.i), self.n.term_bits - 1
        for at in range(self.after):
            taken = slice(at * self.fan_in, min((at + 1) * self.fan_in, self.before))
            if "total" in terms:
                total = terms["total"]
            elif "sums" in terms:
                total = balanced(m, terms["sums"][taken], f"sum{at}_level")
            elif self.after == 1:
                total = all_terms(m, self._words(taken), bits, self.n.truncates)
            else:
                total = some_terms(m, self._words(taken), bits, f"sum{at}")
            out = self.o.total if self.after == 1 else self.o.sums[at]
            m.d.comb += out.eq(total)

    def _words(self, taken: slice) -> TermWords:
        """What is to be added: of some terms, or of some three of them, the last of which may be fewer."""
        terms = fields(self.i)
        if "halves" not in terms:
            return words_of(terms["aligned"][taken])
        words = words_of_halves(terms["halves"][taken])
        return words.with_others(words_of(terms.get("aligned", ()))) if taken.stop == self.before else words


def carried_layout(n: WindowRanges) -> StructLayout:
    """What goes from group to group: the partial sum, as the code that the group's result has."""
    return StructLayout({"code": unsigned(n.result.bits)})


def aligned_datapath(unit: Specified, cuts: Sequence[str]) -> Datapath:
    """A group's sum: `operands_layout` in, `result_layout` out."""
    if not one_plain_window(unit):
        return general_datapath(unit, cuts)
    n = WindowRanges(unit)
    carried, target = carried_layout(n), ResultTarget.of(n)
    path = [
        Decode(n, carried),
        Multiply(n),
        *_maximum(n, cuts),
        *([Near(n)] if "distance.0" in cuts else []),
        Distance(n, "distance.0" in cuts),
        Align(n),
        *_sum(n, cuts),
        Magnitude(target),
        *normalizing(target, cuts).values(),
        Round(target),
    ]
    return Datapath(path, cuts, carried)


def _levels(unit: Specified, cuts: Sequence[str], name: str) -> list[tuple[str, int]]:
    """The parts of a tree: the last step of each, and how many levels it has."""
    inside = [step for step in steps(unit) if step == name or (step.startswith(f"{name}.") and step != "sum.0")]
    parts, levels = [], 0
    for step in inside:
        levels += 1
        if step in cuts or step == name:
            parts.append((step, levels))
            levels = 0
    return parts


def _maximum(n: WindowRanges, cuts: Sequence[str]) -> list[DatapathStep]:
    parts: list[DatapathStep] = []
    candidates = n.lanes
    for name, levels in _levels(n.unit, cuts, "maximum")[:-1]:
        part = TreeMaximum(n, name, candidates, levels)
        candidates = part.after
        parts.append(part)
    return [*parts, Maximum(n, candidates if parts else 0)]


def _sum(n: WindowRanges, cuts: Sequence[str]) -> list[DatapathStep]:
    sums, inside, halves = n.lanes + 1, 1, "sum.0" in cuts and n.lanes > 1
    parts: list[DatapathStep] = [HalfAdders(n)] if halves else []
    if halves:
        sums, inside = -(-sums // 3), 3
    for name, levels in _levels(n.unit, cuts, "sum"):
        part = Sum(n, name, sums, 1 << levels, inside, halves=halves and len(parts) == 1)
        sums, inside = part.after, part.terms
        parts.append(part)
    return parts
