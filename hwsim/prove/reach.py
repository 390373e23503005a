"""What a term is made of."""

from __future__ import annotations

from collections.abc import Iterable

from hwsim.prove.logic import Term


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
