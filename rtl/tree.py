"""Trees of additions and of comparisons, with registers between their levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amaranth.hdl import Module, Shape, signed
from amaranth.lib.data import ArrayLayout, StructLayout

from hwsim.spec import Specified, steps

from .step import DatapathStep
from .zeros import balanced


def levels_before(unit: Specified, cuts: Sequence[str], name: str) -> Iterator[tuple[str, int]]:
    """The cuts inside a tree, and how many of its levels stand before each and after the one before."""
    levels = 0
    for step in steps(unit):
        if step.startswith(f"{name}."):
            levels += 1
            if step in cuts:
                yield step, levels
                levels = 0


def taking_turns(count: int, strands: int, levels: int) -> list[list[int]]:
    """The places of what is joined: of `count` values, each `strands`-th is of one tree, and stays at its turn."""
    joined = [_joined(range(strand, count, strands), levels) for strand in range(strands)]
    return [tree[turn] for turn in range(len(joined[0])) for tree in joined if turn < len(tree)]


def neighbours(count: int, length: int, levels: int) -> list[list[int]]:
    """The same where each tree has `length` values, one tree after the other."""
    return [some for first in range(0, count, length) for some in _joined(range(first, first + length), levels)]


def _joined(tree: Sequence[int], levels: int) -> list[list[int]]:
    return [list(tree[at : at + (1 << levels)]) for at in range(0, len(tree), 1 << levels)]


class TreeSums(DatapathStep):
    """Some levels of trees of exact sums, side by side, of the integers that a field holds.

    groups: the places of those that are added.
    """

    def __init__(self, name: str, before: StructLayout, field: str, groups: Sequence[Sequence[int]]):
        self.field, self.groups = field, groups
        bits = Shape.cast(before.members[field].elem_shape).width + max(map(len, groups)).bit_length()
        made = {field: ArrayLayout(signed(bits), len(groups))}
        super().__init__(name, before, StructLayout({**before.members, **made}), {field})

    def compute(self, m: Module) -> None:
        """Drive the sums."""
        values = getattr(self.i, self.field)
        for number, (to, group) in enumerate(zip(getattr(self.o, self.field), self.groups, strict=True)):
            m.d.comb += to.eq(balanced(m, [values[at] for at in group], f"sum{number}_level"))
