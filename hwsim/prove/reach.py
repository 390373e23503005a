"""What a term is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hwsim.prove.logic import Kind, Term


def nodes_of(terms: Iterable[Term]) -> list[Term]:
    """All that terms are made of, themselves too, each once."""
    found: dict[int, Term] = {}
    stack = list(terms)
    while stack:
        here = stack.pop()
        if here.id() not in found:
            found[here.id()] = here
            stack += here.children()
    return list(found.values())


def constants_of(terms: Iterable[Term]) -> list[Term]:
    """The bit vectors of any value that terms depend on."""
    return [term for term in nodes_of(terms) if term.is_const()]


def parts_of(claim: Term, conditions: tuple[Term, ...] = ()) -> Iterator[tuple[Term, tuple[Term, ...]]]:
    """What a claim is that several things hold, each under conditions."""
    if claim.kind() == Kind.AND:
        for one in claim.children():
            yield from parts_of(one, conditions)
    elif claim.kind() == Kind.IMPLIES:
        condition, then = claim.children()
        yield from parts_of(then, (*conditions, condition))
    else:
        yield claim, conditions
