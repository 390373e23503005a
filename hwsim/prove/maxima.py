"""Trees of comparisons: a circuit's choices of the larger of two, as one largest of many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hwsim.prove.logic import Kind, Term, constant, op, same, substituted, width


def children_first(term: Term) -> list[Term]:
    """A term and all that it is made of, each once, after what it is made of itself."""
    ordered: dict[int, Term] = {}
    stack = [term]
    while stack:
        here = stack[-1]
        missing = [child for child in here.children() if child.id() not in ordered]
        if here.id() in ordered or not missing:
            stack.pop()
            ordered.setdefault(here.id(), here)
        else:
            stack += missing
    return list(ordered.values())


def constants(term: Term) -> list[Term]:
    """The constants that a term depends on."""
    return [one for one in children_first(term) if one.is_const()]


class WithoutMaxima(NamedTuple):
    """A term with a new constant for each largest of some leaves.

    groups: of each such constant that is left, and of each leaf that stands by itself, the leaves. known: what holds of
    the constants, where one is the larger of two that are left too.
    """

    term: Term
    groups: Mapping[Term, frozenset[Term]]
    known: tuple[Term, ...]


def without_maxima(term: Term, leaves: Iterable[Term]) -> WithoutMaxima:
    """A term whose choices of the larger of two leaves, or of what is chosen so, are constants.

    The larger of two is `x < y ? y : x`, unsigned.
    """
    leaves = list(leaves)
    groups: dict[int, frozenset[Term]] = {leaf.id(): frozenset([leaf]) for leaf in leaves}
    found: dict[Term, Term] = {}
    for node in children_first(term):
        if node.kind() != Kind.ITE:
            continue
        condition, yes, no = node.children()
        if condition.kind() != Kind.BV_ULT or list(condition.children()) != [no, yes]:
            continue
        first, second = groups.get(yes.id()), groups.get(no.id())
        if first is not None and second is not None:
            groups[node.id()] = first | second
            found[node] = constant(f"largest{len(found)}", width(node))
    # The largest ones first: what is inside of them goes with them.
    by = dict(sorted(found.items(), key=lambda pair: -len(groups[pair[0].id()])))
    for node, new in by.items():
        term = substituted(term, {node: new})
    stands_for = {new.id(): groups[node.id()] for node, new in found.items()}
    stands_for |= {leaf.id(): groups[leaf.id()] for leaf in leaves}
    left = {one: stands_for[one.id()] for one in constants(term) if one.id() in stands_for}
    known = []
    for node, new in found.items():
        pair = [found.get(child, child) for child in node.children()[1:]]
        if all(one in left for one in (new, *pair)):
            known.append(same(new, op(Kind.ITE, op(Kind.BV_ULT, pair[1], pair[0]), pair[0], pair[1])))
    return WithoutMaxima(term, left, tuple(known))
