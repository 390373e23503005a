"""Sum: the aligned terms to one integer, exactly."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Value

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
    """

    def __init__(self, n: Numbers, name: str, before: int, fan_in: int):
        self.n, self.before, self.fan_in = n, before, fan_in
        self.after = -(-before // fan_in)
        i = window_layout(n) if before == n.lanes + 1 else sums_layout(n, before)
        super().__init__(name, i, sums_layout(n, self.after))

    def compute(self, m: Module) -> None:
        """Drive the partial sums, or the total."""
        for at in range(self.after):
            first, end = at * self.fan_in, min((at + 1) * self.fan_in, self.before)
            out = self.o.total if self.after == 1 else self.o.sums[at]
            m.d.comb += out.eq(balanced(self._values(first, end)))

    def _values(self, first: int, end: int) -> list[Value]:
        if "sums" in fields(self.i):
            return [self.i.sums[at] for at in range(first, end)]
        terms = [self.i.aligned[at] for at in range(first, end)]
        # The carries come first as a sum of their own, so that they widen nothing.
        return [balanced([term.carry for term in terms]), balanced([term.ones for term in terms])]
