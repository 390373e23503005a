"""Terms cut at signals: what a term is as a function of other bit vectors, instead of what these are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from hwsim.prove.folded import rebuilt
from hwsim.prove.logic import Kind, Term, is_one, op, part, value, width

Bit = tuple[Term, int]  # a bit of a bit vector; of a number, the number
OF_BITS = (Kind.BV_EXTRACT, Kind.BV_CONCAT, Kind.BV_ZERO_EXTEND, Kind.BV_SIGN_EXTEND)


def sliced(term: Term, low: int, bits: int) -> Term:
    """Bits of a bit vector; itself where they are all of it."""
    return term if (low, bits) == (0, width(term)) else part(term, low, bits)


def joined(bits: Sequence[Bit]) -> Term:
    """Bits, the least significant first, as one bit vector."""
    parts = []
    numbered = enumerate(bits)
    for _, run in groupby(numbered, key=lambda item: (item[1][0].id(), item[1][1] - item[0])):
        one = [bit for _, bit in run]
        parts.append(sliced(one[0][0], one[0][1], len(one)))
    return parts[0] if len(parts) == 1 else op(Kind.BV_CONCAT, *reversed(parts))


@dataclass
class Cut:
    """Terms in which bits of some stand for themselves. Whatever else they depend on stays as it is.

    A term that is cut and the term that it was are equal where what stands for bits is equal to them.
    """

    stands: dict[tuple[int, int], Bit] = field(default_factory=dict)
    conditions: dict[int, Bit] = field(default_factory=dict)
    bases: set[int] = field(default_factory=set)
    kept: dict[int, tuple[Term, list[Bit]]] = field(default_factory=dict)
    made: dict[int, tuple[Term, Term]] = field(default_factory=dict)

    def at(self, term: Term, stands: Term) -> None:
        """Have a bit vector stand for another one of as many bits."""
        self.made.clear()
        for place, (base, bit) in enumerate(self._bits(term)):
            if base.is_value() or (base.id(), bit) in self.stands:
                continue
            self.bases.add(base.id())
            self.stands[base.id(), bit] = (stands, place)
            if width(base) == 1:
                self._bit(base, (stands, place))

    def _bit(self, base: Term, stands: Bit) -> None:
        """Of one bit, what it is made of by a choice or a complement stands for itself, too."""
        if base.kind() == Kind.ITE and list(base.children()[1:]) == [value(1, 1), value(0, 1)]:
            self.conditions.setdefault(base.children()[0].id(), stands)
        if base.kind() == Kind.BV_NOT:
            inner, complement = base.children()[0], op(Kind.BV_NOT, sliced(stands[0], stands[1], 1))
            self.at(inner, complement)

    def without_signs(self, term: Term) -> Term:
        """A two's complement without the highest bits that are the same as the one below; of two bits at least."""
        bits = self._bits(term)
        most = width(term)
        while most > 2 and (bits[most - 1][0].id(), bits[most - 1][1]) == (bits[most - 2][0].id(), bits[most - 2][1]):
            most -= 1
        return sliced(term, 0, most)

    def _bits(self, term: Term) -> list[Bit]:
        """What each bit of a bit vector is a bit of, the least significant first."""
        if term.id() not in self.kept:
            self.kept[term.id()] = term, list(self._found(term))
        return self.kept[term.id()][1]

    def _found(self, term: Term) -> Iterator[Bit]:
        kind, children = term.kind(), term.children()
        if term.is_value():
            number = int(term.value(10))
            yield from ((value(number >> at & 1, 1), 0) for at in range(width(term)))
        elif kind == Kind.BV_EXTRACT:
            high, low = term.indices()
            yield from self._bits(children[0])[low : high + 1]
        elif kind == Kind.BV_CONCAT:
            for child in reversed(children):
                yield from self._bits(child)
        elif kind in (Kind.BV_ZERO_EXTEND, Kind.BV_SIGN_EXTEND):
            inner = self._bits(children[0])
            more = (value(0, 1), 0) if kind == Kind.BV_ZERO_EXTEND else inner[-1]
            yield from [*inner, *[more] * term.indices()[0]]
        else:
            yield from ((term, at) for at in range(width(term)))

    def _stand(self, term: Term) -> Term | None:
        """What stands for a term; None where nothing does for all of it."""
        if not term.sort().is_bv():
            bit = self.conditions.get(term.id())
            return None if bit is None else is_one(sliced(*bit, 1))
        if term.is_value() or (term.id() not in self.bases and term.kind() not in OF_BITS):
            return None
        found = list[Bit]()
        for base, place in self._bits(term):
            here = (base, place) if base.is_value() else self.stands.get((base.id(), place))
            if here is None:
                return None
            found.append(here)
        return joined(found)

    def of(self, term: Term) -> Term:
        """A term, cut."""
        stack = [term]
        while stack:
            here = stack[-1]
            if here.id() in self.made:
                stack.pop()
                continue
            stands = self._stand(here)
            missing = [child for child in here.children() if child.id() not in self.made]
            if stands is None and missing:
                stack += missing
                continue
            stack.pop()
            if stands is None:
                stands = rebuilt(here, [self.made[child.id()][1] for child in here.children()])
            self.made[here.id()] = here, stands
        return self.made[term.id()][1]

    def uncut(self, term: Term, wanted: Sequence[Term]) -> Iterator[Term]:
        """Of some terms those that are met on the way to what is not cut, the nearest first."""
        names, seen, queue = {one.id() for one in wanted}, {term.id()}, [term]
        for here in queue:
            if self._stand(here) is not None:
                continue
            if here.id() in names:
                yield here
                continue
            for child in here.children():
                if child.id() not in seen:
                    seen.add(child.id())
                    queue.append(child)
