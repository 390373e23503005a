"""Sum: the aligned terms to one integer, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value

from .layouts import sums_layout, window_layout
from .numbers import Numbers
from .step import Step, fields


def balanced(values: Sequence[Value]) -> Value:
    """The sum, as a balanced tree: no wider than it must be, and synthesis makes what it likes of it."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return balanced(values[:half]) + balanced(values[half:])


class Sum(Step):
    """Some levels of the tree that sums; each sum takes `fan_in` neighbours.

    Without a cut inside, one sum of everything, whose carries synthesis saves.
    inside: terms of each of the `before` values that come in.
    """

    def __init__(self, n: Numbers, name: str, before: int, fan_in: int, inside: int):
        self.n, self.before, self.fan_in = n, before, fan_in
        self.after, self.terms = -(-before // fan_in), inside * fan_in
        i = window_layout(n) if inside == 1 else sums_layout(n, before, inside)
        super().__init__(name, i, sums_layout(n, self.after, self.terms))

    def compute(self, m: Module) -> None:
        """Drive the partial sums, or the total."""
        made = fields(self.i)
        for at in range(self.after):
            taken = slice(at * self.fan_in, min((at + 1) * self.fan_in, self.before))
            out = self.o.total if self.after == 1 else self.o.sums[at]
            total = balanced(made["sums"][taken]) if "sums" in made else self._terms(m, made["aligned"][taken], at)
            m.d.comb += out.eq(total)

    def _terms(self, m: Module, terms: Sequence[Any], at: int) -> Value:
        """The sum of some terms, without an adder for their sign bits.

        A term is its low bits, less 2^bits if negative, plus its carry. Truncation carries where a term is negative:
        then one count of the signs serves twice.
        """
        bits = len(terms[0].ones) - 1
        negative = Signal(range(len(terms) + 1), name=f"negative{at}")
        carries = negative if self.n.unit.sum.lost == "truncate" else balanced([term.carry for term in terms])
        low = Signal(range((len(terms) << bits) + 1), name=f"low{at}")
        m.d.comb += [
            negative.eq(balanced([term.ones[-1] for term in terms])),
            low.eq(balanced([term.ones[:-1] for term in terms]) + carries),
        ]
        return Cat(low[:bits], low[bits:] - negative).as_signed()
