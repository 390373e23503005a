"""Sums in windows: the largest exponent, terms shifted below it, their exact sum, and what is made of the sums.

One window, or two of even and odd lanes, whose terms take turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib.data import ArrayLayout, StructLayout

from hwsim.rtl.arithmetic import Shifter, any_lost, balanced, clamp, larger, shifted, tree_maximum
from hwsim.rtl.latewindow import CombineHalves, CutSum, LateSum, WindowSumRange
from hwsim.rtl.normalize import Magnitude, Round, normalizing
from hwsim.rtl.numbers import joining, signed_shape
from hwsim.rtl.step import Datapath, DatapathStep, assign, fields
from hwsim.rtl.terms import Decode, Multiply, WindowRanges, result_target
from hwsim.spec import AlignedSum, Specified, steps


def candidates(n: WindowRanges, i: Any, window: int) -> list[Value]:
    """The exponents that can still be a window's largest: every term's, or what the tree has left."""
    left = fields(i).get(f"maxima{n.names[window]}")
    if left is not None:
        return list(left)
    terms = [i.terms[index] for index in n.of_window(window) if index < n.terms]
    masked = n.flagged and not n.counting
    exps = [term.exp & term.nonzero.replicate(len(term.exp)) if masked else term.exp for term in terms]
    return exps or [Const(0, n.term_exp[1].bit_length())]


def bitwise_maximum(m: Module, values: Sequence[Value], end: str = "") -> Value:
    """The largest value, from the top bit down among those that it can still be: small, but deeper than a tree.

    end: what the names of its signals end with.
    """
    candidates: Value = Const(-1, len(values))
    result: list[Value] = []
    for place in reversed(range(len(values[0]))):
        column, left = Signal(len(values), name=f"column{place}{end}"), Signal(len(values), name=f"left{place}{end}")
        m.d.comb += column.eq(Cat(value[place] for value in values))
        leads: Value = column
        if result:
            leads = Signal(len(values), name=f"leads{place}{end}")
            m.d.comb += leads.eq(column & candidates)
        largest = Signal(name=f"largest{place}{end}")
        m.d.comb += [largest.eq(leads.any()), left.eq(Mux(largest, leads, candidates))]
        candidates = left
        result.insert(0, largest)
    return Cat(result)


class TreeMaximum(DatapathStep):
    """Some levels of the tree that finds the products' largest exponent."""

    def __init__(self, n: WindowRanges, name: str, before: StructLayout, levels: int):
        self.n, self.levels = n, levels
        exp, makes = unsigned(n.term_exp[1].bit_length()), dict[str, Any]()
        for window, end in enumerate(n.names):
            last = before.members.get(f"maxima{end}")
            count = max(1, sum(index < n.terms for index in n.of_window(window))) if last is None else last.length
            makes[f"maxima{end}"] = ArrayLayout(exp, -(-count // (1 << levels)))
        super().__init__(name, before, StructLayout({**before.members, **makes}), makes)

    def compute(self, m: Module) -> None:
        for window, end in enumerate(self.n.names):
            left = tree_maximum(m, candidates(self.n, self.i, window), self.levels, end)
            m.d.comb += [to.eq(exp) for to, exp in zip(getattr(self.o, f"maxima{end}"), left, strict=True)]


class Maximum(DatapathStep):
    """The largest exponent of all terms that are not zero, the addend among them. Ends the tree.

    Where max_exp has a floor, the addend, zero or not, counts there at least: beside the tree, and not after it.
    """

    def __init__(self, n: WindowRanges, before: StructLayout):
        self.n = n
        kept = {
            name: shape for name, shape in before.members.items() if name != "low" and not name.startswith("maxima")
        }
        makes = n.in_windows("max_exp", signed_shape(*n.max_exp)) | (n.in_windows("any", 1) if n.combined else {})
        super().__init__("maximum", before, StructLayout({**kept, **makes}), makes)

    @property
    def purpose(self) -> str:
        cut = any(name.startswith("maxima") for name in fields(self.i))
        how = (
            ""
            if cut
            else " Products from the top bit down: column has a bit of each exponent, "
            "leads are those with a 1 in it among what is left, and where there are any, they alone stay left."
        )
        counts = "all terms" if self.n.counting else "all terms that are not zero"
        addend = ", the addend among them" if self.n.sums_addend else ""
        return f"max_exp: the largest exponent of {counts}{addend}.{how}"

    def compute(self, m: Module) -> None:
        n = self.n
        for window, end in enumerate(n.names):
            left = candidates(n, self.i, window)
            cut = f"maxima{end}" in fields(self.i)
            pair = tree_maximum(m, left, max(1, (len(left) - 1).bit_length()) - 1, end) if cut else []
            products = larger(m, pair, f"products{end}") if cut else bitwise_maximum(m, left, end)
            counts, exp = self._addend()
            # Behind a cut the addend is compared with both that are left, so as not to wait for the larger.
            rivals = pair if cut else [products]
            wins = counts & Cat((exp > rival) | ~rival.any() for rival in rivals).all()
            m.d.comb += getattr(self.o, f"max_exp{end}").eq(Mux(wins, exp, products))
            if n.combined:
                m.d.comb += getattr(self.o, f"any{end}").eq(Cat(map(self._nonzero, n.of_window(window))).any())

    def _addend(self) -> tuple[Value, Value]:
        """A flag that the addend, or the floor, takes part; and the exponent with which it does."""
        floor, counts, exp = self.n.floor, Const(0), Const(0)
        if self.n.sums_addend:
            addend = self.i.addend
            counts, exp = addend.there if self.n.counting else addend.sig.any(), addend.exp
            if self.n.skips_low:
                counts &= ~self.i.low
        if floor is None:
            return counts, exp
        return Const(1), Mux(counts & (exp > floor), exp, floor)

    def _nonzero(self, at: int) -> Value:
        """A flag that a term is other than zero."""
        if at == self.n.terms:
            return self.i.addend.sig.any()
        return self.i.terms[at].nonzero if self.n.flagged else self.i.terms[at].exp.any()


def clamped_maximum(m: Module, n: WindowRanges, max_exp: Value, end: str) -> Signal:
    """max_exp, clamped to the least that shifts every product out."""
    # Where max_exp is negative there are no products.
    positive = max_exp[: n.max_exp[1].bit_length()]
    near = Signal(n.near_bits, name=f"nearest{end}")
    m.d.comb += near.eq(clamp(positive, len(near)))
    return near


class ClampMaximum(DatapathStep):
    """max_exp, clamped to the least that shifts every product out. Without a register here, `Distance` begins so."""

    def __init__(self, n: WindowRanges, before: StructLayout):
        self.n, makes = n, n.in_windows("near", unsigned(n.near_bits))
        super().__init__("distance.0", before, StructLayout({**before.members, **makes}), makes)

    def compute(self, m: Module) -> None:
        for end in self.n.names:
            m.d.comb += getattr(self.o, f"near{end}").eq(
                clamped_maximum(m, self.n, getattr(self.i, f"max_exp{end}"), end)
            )


def beside_terms(n: WindowRanges, before: StructLayout) -> dict[str, Any]:
    """The fields that go along with terms, and with their sum, from align on.

    lost: flags, whether each term, the addend last, lost a 1.
    """
    lost = {"lost": ArrayLayout(unsigned(1), n.terms + n.sums_addend)} if n.sticky else {}
    names = [name for name in before.members if name.startswith(("max_exp", "any"))]
    names += [name for name in ("special", "zero_sign", "late_addend") if name in before.members]
    return {**{name: before.members[name] for name in names}, **lost}


class Distance(DatapathStep):
    """The distance of each term below max_exp, clamped where it shifts every bit out."""

    def __init__(self, n: WindowRanges, before: StructLayout):
        self.n = n
        term = StructLayout({"sign": 1, "sig": unsigned(n.term_sig_bits)})
        addend = StructLayout({"sign": 1, "sig": unsigned(n.addend_fraction_bits + 1)})
        shifts = ArrayLayout(unsigned(n.distance_bits), n.terms + n.sums_addend)
        kept = {"terms": ArrayLayout(term, n.terms), **({"addend": addend} if n.sums_addend else {})}
        beside = {name: shape for name, shape in beside_terms(n, before).items() if name != "lost"}
        super().__init__("distance", before, StructLayout({**kept, "shifts": shifts, **beside}), {"shifts"})

    def compute(self, m: Module) -> None:
        n, near = self.n, dict[str, Value]()
        for end in n.names:
            before = fields(self.i).get(f"near{end}")
            near[end] = clamped_maximum(m, n, getattr(self.i, f"max_exp{end}"), end) if before is None else before
        above = max(0, n.term_exp[1].bit_length() - n.distance_bits)
        small = above <= 1 and n.near_bits > n.distance_bits
        for lane, term in enumerate(self.i.terms):
            top = near[n.window_of(lane)]
            distance = self._near(m, top, term.exp, lane) if small else self._far(m, top, term.exp, len(top), lane)
            m.d.comb += self.o.shifts[lane].eq(distance)
        if n.sums_addend:
            bits = (n.max_exp[1] - n.addend_exp[0] + n.reach).bit_length()
            distance = self._far(m, self.i.max_exp, self.i.addend.exp - n.reach, bits, n.terms)
            m.d.comb += self.o.shifts[n.terms].eq(distance)

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
        """The clamped distance of a product whose exponent has at most one bit above those of a shift.

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


def shifter(n: WindowRanges, at: int) -> Shifter:
    """The shifter that moves a term, or the addend, into the window."""
    # An addend that may stand above max_exp counts as one of a lower exponent, and more bits above its point.
    sizes = (n.term_sig_bits, n.term_fraction_bits), (n.addend_fraction_bits + 1, n.addend_fraction_bits - n.reach)
    bits, fraction_bits = sizes[at == n.terms]
    place = max(n.fraction_bits, fraction_bits)
    return Shifter(place - fraction_bits + bits, n.distance_bits, place - n.fraction_bits, n.rule.term_lost)


class AlignBegin(DatapathStep):
    """Each term shifted by the high bits of its distance."""

    def __init__(self, n: WindowRanges, before: StructLayout):
        self.n = n
        makes: dict[str, Any] = {"moved": ArrayLayout(shifter(n, 0).between(), n.terms)}
        if n.sums_addend:
            makes["moved_addend"] = shifter(n, n.terms).between()
        kept = {name: shape for name, shape in before.members.items() if name not in ("terms", "addend", "shifts")}
        super().__init__("align.1", before, StructLayout({**makes, **kept}), makes)

    def compute(self, m: Module) -> None:
        n = self.n
        made = [*self.o.moved, *([self.o.moved_addend] if n.sums_addend else [])]
        terms = [*self.i.terms, *([self.i.addend] if n.sums_addend else [])]
        for lane, (term, to) in enumerate(zip(terms, made, strict=True)):
            place = shifter(n, lane)
            before = Signal(place.before(), name=f"term{lane}")
            window = Cat(Const(0, place.bits - len(term.sig)), term.sig)
            m.d.comb += [
                before.sign.eq(term.sign),
                before.magnitude.eq(window),
                before.distance.eq(self.i.shifts[lane]),
            ]
            m.d.comb += place.begin(before, to)


class Align(DatapathStep):
    """Each term shifted into the window, what falls out of it lost by the unit's rule."""

    def __init__(self, n: WindowRanges, before: StructLayout):
        self.n = n
        # `ones` is the ones' complement of a negative magnitude: the +1 that completes it is left to the sum.
        term = StructLayout({"ones": signed(n.aligned_bits), "carry": 1})
        o = StructLayout({"aligned": ArrayLayout(term, n.terms + n.sums_addend), **beside_terms(n, before)})
        super().__init__("align", before, o, {"aligned"} | ({"lost"} if n.sticky else set()))

    @property
    def purpose(self) -> str:
        n = self.n
        return (
            f"Each term shifted right by its distance, into a window of {n.fraction_bits} bits below 2^max_exp; "
            f"bits below the window are lost ({n.rule.lost}). Negative terms are in ones' complement."
        )

    def compute(self, m: Module) -> None:
        n, i = self.n, self.i
        begun = "moved" in fields(i)
        name, addend = ("moved", "moved_addend") if begun else ("terms", "addend")
        for lane, term in enumerate([*getattr(i, name), *([getattr(i, addend)] if n.sums_addend else [])]):
            place = shifter(n, lane)
            if begun:
                window, shift, drop = term.magnitude, term.distance, place.drop + 2
            else:
                window, shift, drop = Cat(Const(0, place.bits - len(term.sig)), term.sig), i.shifts[lane], place.drop
            name = f"term{lane}"
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
        """The words of these terms and of others."""
        return TermWords(*(ours + theirs for ours, theirs in zip(self, others, strict=True)))  # type: ignore[operator]


def words_of(terms: Sequence[Any]) -> TermWords:
    """The words of terms in the window."""
    lows = [term.ones[:-1] for term in terms]
    signs, carries = [(0, term.ones[-1]) for term in terms], [(0, term.carry) for term in terms]
    return TermWords(lows, signs, carries, len(terms))


def words_of_halves(halves: Sequence[Any]) -> TermWords:
    """The words that full adders make of three terms each, from what `HalfAdders` has made of them."""
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


def all_terms(m: Module, words: TermWords, bits: int, truncated: bool, end: str = "") -> Value:
    """The sum of all terms, small: the sign bits are counted, and the count is taken from the high part alone.

    A term is its `bits` low bits, plus its carry, less 2^bits if negative. Truncation carries where a term is negative,
    so that one count serves for both.
    """
    negative = counted(m, words.signs, f"count{end}")
    carries = negative if truncated else counted(m, words.carries, f"carries{end}")
    sum_of_low = balanced(m, words.low, f"sum{end}") + carries
    negatives, low = Signal(len(negative), name=f"negatives{end}"), Signal(len(sum_of_low), name=f"low{end}")
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

    def __init__(self, n: WindowRanges, before: StructLayout):
        self.n = n
        # Of three words a, b and c, `a ^ b`, a and c; a term is three: the bits below its sign, its sign, its carry.
        word = StructLayout({"low": n.aligned_bits - 1, "sign": 1, "carry": 1})
        triple, aligned = StructLayout(dict.fromkeys(("half", "first", "third"), word)), before.members["aligned"]
        makes: dict[str, Any] = {}
        for window, end in enumerate(n.names):
            count = len(n.of_window(window))
            left = {f"aligned{end}": ArrayLayout(aligned.elem_shape, count % 3)} if count % 3 else {}
            makes |= {f"halves{end}": ArrayLayout(triple, count // 3), **left}
        super().__init__("sum.0", before, StructLayout({**makes, **beside_terms(n, before)}), makes)

    def compute(self, m: Module) -> None:
        for window, end in enumerate(self.n.names):
            terms = [self.i.aligned[index] for index in self.n.of_window(window)]
            for index, triple in enumerate(getattr(self.o, f"halves{end}")):
                a, b, c = terms[3 * index : 3 * index + 3]
                for place in ("low", "sign", "carry"):
                    x, y, z = (word(term, place) for term in (a, b, c))
                    m.d.comb += [
                        getattr(triple.half, place).eq(x ^ y),
                        getattr(triple.first, place).eq(x),
                        getattr(triple.third, place).eq(z),
                    ]
            rest = len(terms) % 3
            if rest:
                for to, term in zip(getattr(self.o, f"aligned{end}"), terms[-rest:], strict=True):
                    m.d.comb += assign(to, term)


def word(term: Any, place: str) -> Value:
    """A part of a term in the window."""
    parts: dict[str, Value] = {"low": term.ones[:-1], "sign": term.ones[-1], "carry": term.carry}
    return parts[place]


class Sum(DatapathStep):
    """Some levels of the trees that sum; each sum takes `fan_in` neighbours.

    Without a cut inside, one sum of everything, whose carries synthesis saves.
    inside: terms of each of the values that come in.
    """

    def __init__(self, n: WindowRanges, name: str, before: StructLayout, fan_in: int, inside: int):
        self.n, self.fan_in, self.terms = n, fan_in, inside * fan_in
        self.counts, makes = list[int](), dict[str, Any]()
        for window, end in enumerate(n.names):
            sums = before.members.get(f"sums{end}")
            count = -(-len(n.of_window(window)) // inside) if sums is None else sums.length
            self.counts.append(1 if f"total{end}" in before.members else count)
            after = -(-self.counts[-1] // fan_in)
            sums = {f"sums{end}": ArrayLayout(n.sum_of(self.terms), after)}
            makes |= {f"total{end}": n.total} if after < 2 else sums
        super().__init__(name, before, StructLayout({**makes, **beside_terms(n, before)}), makes)

    @property
    def purpose(self) -> str:
        if any(name.startswith("total") for name in fields(self.o)):
            return "The sum of all aligned terms, exactly. A term is in ones' complement, its carry beside it."
        return f"The sums of {self.fan_in} neighbouring terms each, exactly."

    def compute(self, m: Module) -> None:
        bits = self.n.aligned_bits - 1
        for window, (end, count) in enumerate(zip(self.n.names, self.counts, strict=True)):
            given, made = fields(self.i), fields(self.o)
            outs = [made[f"total{end}"]] if f"total{end}" in made else made[f"sums{end}"]
            for index, out in enumerate(outs):
                taken = slice(index * self.fan_in, min((index + 1) * self.fan_in, count))
                if not count or f"total{end}" in given:
                    total: Value = given.get(f"total{end}", Const(0))
                elif f"sums{end}" in given:
                    total = balanced(m, given[f"sums{end}"][taken], f"sum{index}_level{end}")
                elif len(outs) == 1:
                    total = all_terms(m, self._words(window, taken), bits, self.n.truncates, end)
                else:
                    total = some_terms(m, self._words(window, taken), bits, f"sum{index}{end}")
                m.d.comb += out.eq(total)

    def _words(self, window: int, taken: slice) -> TermWords:
        """The words to be added: of some terms, or of some three of them, the last of which may be fewer."""
        terms, end = fields(self.i), self.n.names[window]
        halves = terms.get(f"halves{end}")
        if halves is None:
            return words_of([terms["aligned"][index] for index in self.n.of_window(window)][taken])
        rest = terms.get(f"aligned{end}", ()) if taken.stop == self.counts[window] else ()
        return words_of_halves(halves[taken]).with_others(words_of(rest))


def window_datapath(unit: Specified, cuts: Sequence[str], apart: bool = False) -> Datapath:
    """A group's sum: from operands and what is carried, the partial sum as a code, to `result_layout`."""
    n = WindowRanges(unit, apart)
    carried = StructLayout({"code": unsigned(n.result.bits)})
    path: list[DatapathStep] = [Decode(n, carried)]

    def then(step: Any, *more: Any) -> Any:
        path.append(step(*more, path[-1].gives))
        return path[-1]

    then(Multiply, n)
    for name, levels in _levels(unit, cuts, "maximum")[:-1]:
        path.append(TreeMaximum(n, name, path[-1].gives, levels))
    then(Maximum, n)
    if "distance.0" in cuts:
        then(ClampMaximum, n)
    then(Distance, n)
    if "align.1" in cuts:
        then(AlignBegin, n)
    then(Align, n)
    inside = 1
    if "sum.0" in cuts and n.terms > 1:
        then(HalfAdders, n)
        inside = 3
    for name, levels in _levels(unit, cuts, "sum"):
        added = Sum(n, name, path[-1].gives, 1 << levels, inside)
        inside = added.terms
        path.append(added)
    span = WindowSumRange(n.total, n.fraction_bits, n.max_exp)
    if n.halves is not None:
        span = then(CombineHalves, n, span).after
    if isinstance(n.rule, AlignedSum) and n.rule.cut is not None:
        span = then(CutSum, n.rule.cut, span).after
    if n.late is not None:
        span = then(LateSum, n, span).after
    target = result_target(n, span.shape, span.fraction_bits, span.max_exp)
    path += [Magnitude(target), *normalizing(target, cuts).values(), Round(target)]
    return Datapath(path, cuts, carried, StructLayout(joining(n)))


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
