"""Sum: the aligned terms to one integer, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Value

from .layouts import sums_layout, window_layout
from .numbers import Numbers
from .step import Step, fields


def balanced(values: Sequence[Value]) -> Value:
    """The sum, as a balanced tree: no wider than it must be, and synthesis makes what it likes of it."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return balanced(values[:half]) + balanced(values[half:])


def terms_sum(terms: Sequence[Any]) -> Value:
    """The sum of some terms, without an adder for their sign bits.

    A term is its low bits, less 2^bits if negative, plus its carry: the low bits, and one correction, whose high
    part counts the terms that are not negative, less all. Truncation carries where a term is negative.
    """
    bits = len(terms[0].ones) - 1
    carries = balanced([term.carry for term in terms])
    others = balanced([~term.ones[-1] for term in terms])
    correction = Cat(carries, Const(0, bits - len(carries)), others)
    return balanced([*(term.ones[:-1] for term in terms), correction]) - (len(terms) << bits)


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
            total = balanced(made["sums"][taken]) if "sums" in made else terms_sum(made["aligned"][taken])
            m.d.comb += out.eq(total)
