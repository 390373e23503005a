"""Terms of one function as one term: bit vectors inside of them that are equal are found, proved, and put together.

Two circuits that were built alike differ in details, as in which of two equal exponents a comparison keeps, or in what
order terms are added. What is equal in all of some samples is asked of the solver, from the inputs on, and with what
was found equal before in the place of both; so each question is about few operations.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

from hwsim.errors import InputError
from hwsim.prove.evaluated import Evaluated
from hwsim.prove.linear import Forms
from hwsim.prove.logic import Kind, Term, ask, constant, is_bits, rebuilt, same, substituted, value, width
from hwsim.prove.maxima import children_first
from hwsim.prove.reach import constants_of, nodes_of

# Seconds of a processor for a question about what two terms do not share; and about all of them, at least.
NEAR, FAR = 0.05, 0.3
BOTH = 3  # of two circuits
MOST_ALIKE = 4  # terms that another is compared with
MOST_UNDECIDED = 12  # questions about all of two terms, before no more are asked

# What extends, cuts and adds: what a sum is made of.
EXTENDING = frozenset([Kind.BV_CONCAT, Kind.BV_ZERO_EXTEND, Kind.BV_SIGN_EXTEND, Kind.BV_EXTRACT])
ADDING = EXTENDING | {Kind.BV_ADD, Kind.BV_SUB, Kind.BV_NOT, Kind.BV_NEG}


class Merging:
    """Terms over some constants, each as the one that stands for all that are equal to it as far as is known.

    samples: of the constants. until: when, by this thread's time, no more is asked. sides: of terms by their numbers,
    which of two circuits they are in, as bits; what both do not have to do with is asked for a short time alone.
    far: seconds of a processor for a question about all of two terms. Terms are kept: only as long as they are, no
    other has their numbers.
    """

    def __init__(
        self,
        samples: Evaluated,
        until: float = math.inf,
        sides: Mapping[int, int] | None = None,
        far: float = FAR,
    ):
        self.samples, self.until, self.sides, self.far = samples, until, sides or {}, far
        self.stands: dict[int, tuple[Term, Term]] = {}
        self.alike: dict[tuple[int, tuple[int, ...]], list[tuple[Term, int]]] = {}
        self.refuting: list[Evaluated] = []
        self.undecided = 0

    def merged(self, term: Term) -> Term:
        """An equal term, made of terms that stand for others."""
        for node in children_first(term):
            if node.id() in self.stands:
                continue
            made = rebuilt(node, [self.stands[child.id()][1] for child in node.children()])
            if made.id() not in self.stands:
                self.stands[made.id()] = made, self._standing(made, self.sides.get(node.id(), BOTH))
            self.stands[node.id()] = node, self.stands[made.id()][1]
        return self.stands[term.id()][1]

    def _standing(self, term: Term, side: int) -> Term:
        """What stands for a term that is new: another, where that is proved to be equal."""
        if not is_bits(term) or term.is_value() or term.is_const():
            return term
        numbers = tuple(self.samples.of(term))
        alike = self.alike.setdefault((width(term), numbers), [])
        fixed = [(value(numbers[0], width(term)), BOTH - side or BOTH)] if len(set(numbers)) == 1 else []
        others = sorted(alike, key=lambda other: side | other[1] != BOTH)
        for other, its in (*fixed, *others[:MOST_ALIKE]):
            if self._equal(term, other, side | its == BOTH):
                return other
        alike.append((term, side))
        return term

    def _equal(self, term: Term, other: Term, of_both: bool) -> bool:
        if time.thread_time() > self.until or any(sample.of(term) != sample.of(other) for sample in self.refuting):
            return False
        if is_one_sum(term, other) or ask(same(*_apart(term, other)), (), NEAR).word == "proved":
            return True
        if not of_both or self.undecided >= MOST_UNDECIDED:
            return False
        answer = ask(same(term, other), (), self.far, constants_of([term, other]))
        self.undecided += answer.word == "undecided"
        if answer.model is not None:
            self._sampled(answer.model)
        return answer.word == "proved"

    def _sampled(self, model: Mapping[str, int]) -> None:
        """What tells two terms apart becomes a sample; together with others where there are no more of them, as it is
        as much work to look at one as at a few."""
        known = {name: [model.get(name, 0)] for name in self.samples.known}
        while self.refuting and self.refuting[-1].count <= len(next(iter(known.values()))):
            earlier = self.refuting.pop().known
            known = {name: [*earlier[name], *numbers] for name, numbers in known.items()}
        self.refuting.append(Evaluated(known))


def is_one_sum(first: Term, second: Term) -> bool:
    """Whether two bit vectors are seen to be one sum of the same terms."""
    inside = _without((first, second), lambda node: is_bits(node) and node.kind() not in ADDING)
    if not any(node.kind() == Kind.BV_ADD for node in nodes_of(inside)):
        return False
    forms = Forms()
    try:
        return forms.of(inside[0]).key() == forms.of(inside[1]).key()
    except InputError:
        return False


def _apart(term: Term, other: Term) -> Sequence[Term]:
    """Two terms, with a new constant for each bit vector that they share."""
    shared = {node.id() for node in nodes_of([term])} & {node.id() for node in nodes_of([other])}
    return _without((term, other), lambda node: is_bits(node) and node.id() in shared and node.kind() not in EXTENDING)


def _without(terms: Sequence[Term], cut: Callable[[Term], bool]) -> Sequence[Term]:
    """Terms with a new constant for each of the outermost bit vectors that are cut out."""
    by: dict[Term, Term] = {}
    seen: set[int] = set()
    stack = list(terms)
    while stack:
        node = stack.pop()
        if node.id() in seen or node.is_value():
            continue
        seen.add(node.id())
        if cut(node):
            by[node] = constant(f"cut{len(by)}", width(node))
        else:
            stack += node.children()
    return [substituted(term, by) for term in terms]
