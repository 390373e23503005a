"""Sum: the aligned terms to one integer, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Signal, Value

from .layouts import beside_terms, halves_layout, sums_layout, window_layout
from .numbers import WindowRanges
from .step import DatapathStep, assign, fields
from .zeros import balanced


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
        """Drive what each three terms leave, and the terms that are left over."""
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
        """What the module computes."""
        if self.after == 1:
            return "The sum of all aligned terms, exactly. A term is in ones' complement, its carry beside it."
        return f"The sums of {self.fan_in} neighbouring terms each, exactly."

    def compute(self, m: Module) -> None:
        """Drive the partial sums, or the total."""
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
