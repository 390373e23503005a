"""Sum: the aligned terms to one integer, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value

from .layouts import sums_layout, window_layout
from .numbers import WindowRanges
from .step import DatapathStep, fields


def balanced(values: Sequence[Value]) -> Value:
    """The sum, as a balanced tree: no wider than it must be, and synthesis makes what it likes of it."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return balanced(values[:half]) + balanced(values[half:])


def all_terms(m: Module, terms: Sequence[Any], truncated: bool) -> Value:
    """The sum of all terms, small: the sign bits are counted, and the count is taken from the high part alone.

    A term is its low bits, plus its carry, less 2^bits if negative. Truncation carries where a term is negative, so
    that one count serves for both.
    """
    bits = len(terms[0].ones) - 1
    negative = balanced([term.ones[-1] for term in terms])
    carries = negative if truncated else balanced([term.carry for term in terms])
    sum_of_low = balanced([term.ones[:-1] for term in terms]) + carries
    negatives, low = Signal(len(negative), name="negatives"), Signal(len(sum_of_low), name="low")
    m.d.comb += [negatives.eq(negative), low.eq(sum_of_low)]
    return Cat(low[:bits], low[bits:] - negatives).as_signed()


def some_terms(terms: Sequence[Any]) -> Value:
    """The sum of some terms, fast: carries, and in the high part signs, are one more number to add.

    Those that are not negative are counted, less all: nothing is subtracted after the sum.
    """
    bits = len(terms[0].ones) - 1
    carries = balanced([term.carry for term in terms])
    others = balanced([~term.ones[-1] for term in terms])
    low = [term.ones[:-1] for term in terms]
    if len(carries) > bits:  # a window so narrow that both do not fit into one number
        return balanced([*low, carries, Cat(Const(0, bits), others)]) - (len(terms) << bits)
    correction = Cat(carries, Const(0, bits - len(carries)), others)
    return balanced([*low, correction]) - (len(terms) << bits)


class Sum(DatapathStep):
    """Some levels of the tree that sums; each sum takes `fan_in` neighbours.

    Without a cut inside, one sum of everything, whose carries synthesis saves.
    inside: terms of each of the `before` values that come in.
    """

    def __init__(self, n: WindowRanges, name: str, before: int, fan_in: int, inside: int):
        self.n, self.before, self.fan_in = n, before, fan_in
        self.after, self.terms = -(-before // fan_in), inside * fan_in
        i = window_layout(n) if inside == 1 else sums_layout(n, before, inside)
        super().__init__(name, i, sums_layout(n, self.after, self.terms), {"total" if self.after == 1 else "sums"})

    def compute(self, m: Module) -> None:
        """Drive the partial sums, or the total."""
        terms = fields(self.i)
        for at in range(self.after):
            taken = slice(at * self.fan_in, min((at + 1) * self.fan_in, self.before))
            if "sums" in terms:
                total = balanced(terms["sums"][taken])
            elif self.after == 1:
                total = all_terms(m, terms["aligned"], self.n.truncates)
            else:
                total = some_terms(terms["aligned"][taken])
            out = self.o.total if self.after == 1 else self.o.sums[at]
            m.d.comb += out.eq(total)
