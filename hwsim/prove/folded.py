"""Terms in which what is known is worked out, and nothing else is changed.

A solver's own simplification gives equal terms of another shape. Here two terms that share a part share it afterwards,
so that what a register took over in an earlier cycle is still the term that it took.
"""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.prove.logic import Kind, Term, both, negated, op, simplified, true, value, width


def rebuilt(term: Term, children: Sequence[Term]) -> Term:
    """A term of other children."""
    if list(children) == list(term.children()):
        return term
    return op(term.kind(), *children, indices=term.indices())


def is_known(term: Term) -> bool:
    """Whether a term is a number, or a condition that holds always or never."""
    return bool(term.is_value() or term.is_true() or term.is_false())


class Folded:
    """Terms, each folded once."""

    def __init__(self) -> None:
        self.found: dict[int, tuple[Term, Term]] = {}

    def of(self, term: Term) -> Term:
        """A term, folded."""
        stack = [term]
        while stack:
            here = stack[-1]
            missing = [child for child in here.children() if child.id() not in self.found]
            if here.id() in self.found or not missing:
                stack.pop()
                if here.id() not in self.found:
                    children = [self.found[child.id()][1] for child in here.children()]
                    self.found[here.id()] = here, _one(rebuilt(here, children))
            else:
                stack += missing
        return self.found[term.id()][1]


def _one(term: Term) -> Term:
    """A term whose children are folded."""
    kind, children = term.kind(), term.children()
    if not children:
        return term
    if all(is_known(child) for child in children):
        return simplified(term)
    if kind == Kind.ITE:
        condition, yes, no = children
        return yes if condition.is_true() or yes == no else no if condition.is_false() else term
    if kind == Kind.NOT and children[0].kind() == Kind.NOT:
        return children[0].children()[0]
    if kind == Kind.AND:
        return negated(true()) if any(child.is_false() for child in children) else both(*children)
    if kind == Kind.EQUAL:
        return _equal(term, *children)
    if kind in (Kind.BV_AND, Kind.BV_OR) and len(children) == 2:
        return _with_bits(term, kind, children)
    return term


def _equal(term: Term, first: Term, second: Term) -> Term:
    if first == second:
        return true()
    if first.is_value():
        first, second = second, first
    if second.is_value() and first.kind() == Kind.ITE and all(child.is_value() for child in first.children()[1:]):
        condition, yes, no = first.children()
        if yes == second:
            return condition
        return _one(negated(condition)) if no == second else negated(true())
    return term


def _with_bits(term: Term, kind: object, children: Sequence[Term]) -> Term:
    """An AND or OR with a number of zeros alone or of ones alone."""
    for number, other in (children, reversed(children)):
        if number.is_value():
            zeros, ones = value(0, width(term)), value(-1, width(term))
            if number in (zeros, ones):
                return other if (number == ones) == (kind == Kind.BV_AND) else number
    return term
