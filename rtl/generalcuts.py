"""The windows of `general`, from terms to sums, in parts between which registers can stand."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module
from amaranth.lib.data import ArrayLayout, StructLayout

from .general import (
    GeneralAlign,
    GeneralMaximum,
    GeneralSum,
    aligned_layout,
    exponents_left,
    made_by_align,
    maxima_layout,
    window_terms,
)
from .generalranges import GeneralRanges
from .numbers import signed_shape
from .shifter import Shifter
from .step import DatapathStep
from .tree import TreeSums, levels_before, taking_turns
from .windows import largest, shifter_of, unshifted


class GeneralExponents(DatapathStep):
    """Some levels of the trees that find the largest exponents."""

    def __init__(self, name: str, n: GeneralRanges, before: StructLayout, levels: int):
        self.n = n
        left = before.members.get("left")
        count = n.terms + n.inner + n.windows if left is None else left.length
        self.groups = taking_turns(count, n.windows, levels)
        made = {"left": ArrayLayout(signed_shape(*n.max_exp), len(self.groups))}
        super().__init__(name, before, StructLayout({**before.members, **made}), set(made))

    def compute(self, m: Module) -> None:
        """Drive the largest exponent of each few."""
        left = exponents_left(m, self.n, self.i)
        for at, (to, group) in enumerate(zip(self.o.left, self.groups, strict=True)):
            m.d.comb += to.eq(largest(m, f"group{at}", [left[place] for place in group], self.n.max_exp))


def _shifters(n: GeneralRanges) -> list[Shifter]:
    """What shifts each term into its window, the addend's last."""
    sizes = [(n.term_bits, n.term_fraction_bits)] * n.terms
    if n.inner:
        sig = max(fmt.fraction_bits for fmt in n.inner_formats) + 1
        sizes.append((sig, sig - 1))
    return [shifter_of(*size, n.rule.fraction_bits, n.rule.term_lost) for size in sizes]


class GeneralDistance(DatapathStep):
    """How far each term is to be shifted."""

    def __init__(self, n: GeneralRanges):
        self.n, i = n, maxima_layout(n)
        kept = {name: shape for name, shape in i.members.items() if name not in ("terms", "inner")}
        self.shifters = _shifters(n)
        made = {f"term{at}": place.before() for at, place in enumerate(self.shifters)}
        super().__init__("distance", i, StructLayout({**kept, **made}), set(made))

    def compute(self, m: Module) -> None:
        """Drive the distances."""
        n = self.n
        for at, (term, place) in enumerate(zip(window_terms(n, self.i), self.shifters, strict=True)):
            top, to = self.i.max_exp[at % n.windows], getattr(self.o, f"term{at}")
            magnitude, sign, distance = unshifted(m, f"term{at}", term, place, top, n.max_exp[1])
            m.d.comb += [to.magnitude.eq(magnitude), to.sign.eq(sign), to.distance.eq(distance)]


class GeneralBegin(DatapathStep):
    """Each term shifted by the high bits of its distance."""

    def __init__(self, before: GeneralDistance):
        self.shifters = before.shifters
        made = {f"term{at}": place.between() for at, place in enumerate(self.shifters)}
        super().__init__("align.1", before.gives, StructLayout({**before.gives.members, **made}), set(made))

    def compute(self, m: Module) -> None:
        """Drive the terms."""
        for at, place in enumerate(self.shifters):
            m.d.comb += place.begin(getattr(self.i, f"term{at}"), getattr(self.o, f"term{at}"))


class GeneralEnd(DatapathStep):
    """Each term shifted by the rest."""

    def __init__(self, n: GeneralRanges, before: GeneralBegin):
        self.shifters = before.shifters
        self.sticky = n.sticky
        super().__init__("align", before.gives, aligned_layout(n), made_by_align(n))

    def compute(self, m: Module) -> None:
        """Drive the aligned terms."""
        for at, place in enumerate(self.shifters):
            name, term = f"term{at}", getattr(self.i, f"term{at}")
            ones, carry = place.end(m, name, term)
            m.d.comb += self.o.aligned[at].eq(ones + carry)
            if self.sticky:
                m.d.comb += self.o.lost[at].eq(place.loses(m, name, term))


def general_window(n: GeneralRanges, cuts: Sequence[str], before: StructLayout) -> list[DatapathStep]:
    """From the terms to every window's sum: maximum, align and sum, in parts where cuts are inside them."""
    path: list[DatapathStep] = []
    for name, levels in levels_before(n.unit, cuts, "maximum"):
        path.append(GeneralExponents(name, n, path[-1].gives if path else before, levels))
    path.append(GeneralMaximum(n, path[-1].gives if path else before))
    if {"distance", "align.1"} & set(cuts):
        distance = GeneralDistance(n)
        begin = GeneralBegin(distance)
        path += [distance, begin, GeneralEnd(n, begin)]
    else:
        path.append(GeneralAlign(n))
    for name, levels in levels_before(n.unit, cuts, "sum"):
        after = path[-1].gives
        path.append(TreeSums(name, after, "aligned", taking_turns(after["aligned"].shape.length, n.windows, levels)))
    return [*path, GeneralSum(n, path[-1].gives)]
