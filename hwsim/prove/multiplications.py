"""Multiplications in one form: of as many bits as both factors have, without the zeros above these, in one order."""

from __future__ import annotations

from hwsim.prove.linear import children_first
from hwsim.prove.terms import Kind, Term, op, part, rebuilt, value, width


def in_one_form(term: Term) -> Term:
    """Return an equal term, in which multiplications of the same two factors are one term, whatever their widths.

    Solvers hardly tell two long products equal that are not one term.
    """
    built: dict[int, Term] = {}
    for node in children_first(term):
        made = rebuilt(node, [built[child.id()] for child in node.children()])
        built[node.id()] = _full(made) if made.kind() == Kind.BV_MUL and len(made.children()) == 2 else made
    return built[term.id()]


def _full(product: Term) -> Term:
    """A multiplication of unsigned numbers, from the one without overflow of their bits."""
    wanted = width(product)
    first, second = (_without_zeros(factor) for factor in product.children())
    if first is None or second is None:
        return value(0, wanted)
    bits = width(first) + width(second)
    full = op(Kind.BV_MUL, *(_extended(factor, bits) for factor in sorted((first, second), key=lambda term: term.id())))
    return part(full, 0, wanted) if wanted < bits else _extended(full, wanted)


def _extended(term: Term, bits: int) -> Term:
    return op(Kind.BV_ZERO_EXTEND, term, indices=[bits - width(term)]) if bits > width(term) else term


def _without_zeros(term: Term) -> Term | None:
    """A bit vector without zeros that are seen to stand above it; None where nothing is left."""
    kind, children = term.kind(), term.children()
    if term.is_value():
        number = int(term.value(10))
        return value(number, number.bit_length()) if number else None
    if kind == Kind.BV_ZERO_EXTEND:
        return _without_zeros(children[0])
    if kind == Kind.BV_SIGN_EXTEND:
        inner = _without_zeros(children[0])
        return inner if inner is None or width(inner) < width(children[0]) else term
    if kind == Kind.BV_CONCAT:
        high, low = children
        above = _without_zeros(high)
        return _without_zeros(low) if above is None else op(Kind.BV_CONCAT, above, low)
    return term
