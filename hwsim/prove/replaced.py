"""Whether other values of some constants leave a term as it is, whatever all else in it is.

The term is followed from these constants on, once with the values that they may have and once with given numbers.
Where both sides are the same, all that is made of it is, too; so each question is about the operations between the
constants and the places where they no longer count, with everything else of any value.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hwsim.prove.logic import (
    Kind,
    Term,
    ask,
    constant,
    evaluated,
    is_bits,
    is_one,
    op,
    rebuilt,
    same,
    simplified,
    value,
    width,
)
from hwsim.prove.maxima import children_first
from hwsim.prove.merging import ADDING, is_one_sum
from hwsim.prove.reach import constants_of

AT_ONCE = 0.2  # seconds of a processor for a question
MOST_APART = 200  # terms that are different, after which no more are looked at


@dataclass
class Replaced:
    """by: constants, with the numbers that are to make the same. known: what holds of the constants.

    pairs: of a term that depends on them, the two sides; equal ones where it is a number. free: what stands for others.
    """

    by: Mapping[Term, Term]
    known: Sequence[Term]
    pairs: dict[int, tuple[Term, Term, Term]] = field(default_factory=dict)
    free: dict[int, tuple[Term, Term]] = field(default_factory=dict)
    bits: list[Term] = field(default_factory=list)
    apart: int = 0

    def leaves(self, term: Term, seconds: float) -> bool:
        """Whether a term is the same; False, too, where that is not seen in so many seconds."""
        end = time.thread_time() + seconds
        for node in children_first(term):
            if node in self.by:
                self.pairs[node.id()] = node, node, self.by[node]
            elif any(child.id() in self.pairs for child in node.children()):
                if self.apart >= MOST_APART or time.thread_time() > end:
                    return False
                self._follow(node)
        first, second = self._sides(term)
        return bool(first.id() == second.id())

    def _follow(self, node: Term) -> None:
        """The two sides of a term that depends on the constants."""
        sides = [self._sides(child) for child in node.children()]
        first, second = (rebuilt(node, [side[at] for side in sides]) for at in (0, 1))
        made = simplified(second)
        if first.id() == second.id() or self._same(first, second):
            if made.is_value():
                self.pairs[node.id()] = node, made, made
            return
        self.apart += 1
        if is_bits(node) and made.is_value():
            first, second = self._by_a_bit(first, made), made
            if width(node) == 1 and not int(made.value(10)):
                self.bits.append(first)
        self.pairs[node.id()] = node, first, second

    def _sides(self, node: Term) -> tuple[Term, Term]:
        """The two sides of a term; one of any value, but for sums, where it does not depend on any."""
        if node.id() in self.pairs:
            return self.pairs[node.id()][1:]
        if node.is_value() or node.is_true() or node.is_false():
            return node, node
        if node.id() not in self.free:
            if node.kind() in ADDING:
                one = rebuilt(node, [self._sides(child)[1] for child in node.children()])
            else:
                one = constant(f"any{len(self.free)}", width(node) if is_bits(node) else 1)
                one = one if is_bits(node) else is_one(one)
            self.free[node.id()] = node, one
        return self.free[node.id()][1], self.free[node.id()][1]

    def _same(self, first: Term, second: Term) -> bool:
        if is_bits(first) and is_one_sum(first, second):
            return True
        return ask(same(first, second), self.known, AT_ONCE).word == "proved"

    def _by_a_bit(self, first: Term, number: Term) -> Term:
        """A side as bits that all are one bit or its complement, which sums are made of; itself where it is not so."""
        found = ask(same(first, number), self.known, AT_ONCE, constants_of([first])).model
        if found is None:
            return first
        by = {term: value(found[term.symbol()], width(term)) for term in constants_of([first])}
        other = evaluated(first, by)
        for bit in self.bits[-1:]:
            made = _chosen(bit, other, int(number.value(10)), width(first))
            if ask(same(first, made), self.known, AT_ONCE).word == "proved":
                return made
        return first


def _chosen(bit: Term, yes: int, no: int, bits: int) -> Term:
    """One of two numbers, bit by bit."""

    def places() -> Iterator[Term]:
        for place in reversed(range(bits)):
            match yes >> place & 1, no >> place & 1:
                case 1, 0:
                    yield bit
                case 0, 1:
                    yield op(Kind.BV_NOT, bit)
                case same_one, _:
                    yield value(same_one, 1)

    found = list(places())
    return op(Kind.BV_CONCAT, *found) if len(found) > 1 else found[0]
