"""Two circuits that multiply alike: products of equal factors are one number, of which nothing else is known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from hwsim.prove.claims import Claim
from hwsim.prove.logic import Decided, Kind, Term, ask, both, constant, rebuilt, same, width
from hwsim.prove.maxima import children_first
from hwsim.prove.reach import nodes_of, parts_of


@dataclass(frozen=True)
class SameProducts(Claim):
    """A claim of two circuits that multiply alike.

    Products whose factors are equal, which is asked first, are one number; nothing else is known of a product. What
    does not hold so is asked again with all that is known of products by a constant, as where an element of an array
    is found, and then as it is.
    """

    def decide(self, seconds: float) -> Decided:
        """What the solver says."""
        begun = time.thread_time()
        for claim, conditions in parts_of(self.claim):
            if not _shown(claim, (*self.assumptions, *conditions), begun + seconds):
                break
        else:
            return Decided("proved", time.thread_time() - begun)
        left = begun + seconds - time.thread_time()
        return super().decide(left) if left > 0 else Decided("undecided", seconds)


def _shown(claim: Term, conditions: Sequence[Term], end: float) -> bool:
    """Whether a claim holds of any products, or else of any but those by a constant. end: by this thread's time."""
    if (left := end - time.thread_time()) <= 0:
        return False
    if _holds_of_any_products(claim, conditions, left / 2, constants=True):
        return True
    return any(map(_by_a_constant, nodes_of([*conditions, claim]))) and _holds_of_any_products(
        claim, conditions, end - time.thread_time(), constants=False
    )


def _by_a_constant(term: Term) -> bool:
    return bool(term.kind() == Kind.BV_MUL and any(factor.is_value() for factor in term.children()))


def _holds_of_any_products(claim: Term, conditions: Sequence[Term], seconds: float, *, constants: bool) -> bool:
    """Whether a claim is shown to hold, whatever numbers products are. constants: those by a constant too."""
    end = time.thread_time() + seconds
    made: dict[int, Term] = {}
    products: list[tuple[Sequence[Term], Term]] = []
    assumed = list[Term]()

    def same_as(factors: Sequence[Term], other: Sequence[Term]) -> bool:
        alike = [same(*pair) for pair in zip(factors, other, strict=True)]
        return ask(both(*alike), assumed, max(0.001, end - time.thread_time())).word == "proved"

    for term in (*conditions, claim):
        for node in children_first(term):
            if node.id() in made:
                continue
            factors = [made[child.id()] for child in node.children()]
            if node.kind() != Kind.BV_MUL or (not constants and _by_a_constant(node)):
                made[node.id()] = rebuilt(node, factors)
                continue
            bits = width(node)
            found = next(
                (number for other, number in products if width(number) == bits and same_as(factors, other)), None
            )
            if found is None:
                found = constant("product", bits)
                products.append((factors, found))
            made[node.id()] = found
        assumed.append(made[term.id()])
    return ask(assumed.pop(), assumed, max(0.001, end - time.thread_time())).word == "proved"
