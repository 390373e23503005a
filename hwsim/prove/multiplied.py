"""The claims of a product of two codes: what multiplies their significands is left out of what the solver looks at."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from hwsim.formats import Class, Fields, unpack
from hwsim.model import promotion as promotion_module
from hwsim.prove.btor import Circuit
from hwsim.prove.claims import AnyClaim, CasesClaim, Claim, LateClaim, by_value
from hwsim.prove.explore import paths
from hwsim.prove.given import given_function
from hwsim.prove.logic import (
    Decided,
    Kind,
    Term,
    ask,
    both,
    constant,
    implies,
    op,
    rebuilt,
    same,
    substituted,
    value,
    width,
)
from hwsim.prove.maxima import children_first, constants
from hwsim.prove.relations import each, holds
from hwsim.prove.results import by_leading_one, leading_ones
from hwsim.prove.symbolic import Integer, as_integer

Read = Callable[[], tuple[Fields, Fields]]

SHORT = 8  # bits of codes each of which is a case


def product_claims(
    name: str, words: str, over: str, circuit: Circuit, ports: tuple[Term, Term], known: Sequence[Term], read: Read,
    right: Callable[[], Term],
) -> Iterator[AnyClaim]:  # fmt: skip
    """What a circuit makes of the product of two codes is the model's.

    name, words, over: of the claim. ports: where the codes are. known: of them. read: the model's fields of both.
    right: what is to hold, of a run of the model, which multiplies what `unpack` makes of the first code and of the
    second, in this order.
    """

    def claimed(assumed: Sequence[Term], product: Any = None) -> Term:
        """product: what any two significands make, where it is not theirs."""

        def of_known_sign(fmt: Any, code: Any) -> Fields:
            fields = unpack(fmt, code)
            sig = fields.sig if product is None else AnyFactor(product)
            return fields._replace(sig=sig, sign=int(as_integer(fields.sign) != 0))  # type: ignore[arg-type]

        def run() -> Term:
            with given_function(promotion_module, "unpack", of_known_sign):
                return right()

        return each(paths(run, assumed))

    multiplied = _multiplication(circuit)
    sigs = None if multiplied is None else _of(multiplied, ports)
    if multiplied is None or sigs is None:
        short = min(ports, key=width)
        yield CasesClaim(
            name, words, f"{over}; every code of {width(short)} bits by itself",
            lambda: by_value(short if width(short) <= SHORT else None, claimed(known), known, ports),
        )  # fmt: skip
        return
    bits = width(multiplied)
    some = both(*(op(Kind.NOT, same(sig, value(0, width(sig)))) for sig in sigs))
    most = ((1 << width(sigs[0])) - 1) * ((1 << width(sigs[1])) - 1)
    wide = [op(Kind.BV_ZERO_EXTEND, sig, indices=[bits - width(sig)]) for sig in sigs]
    facts = both(
        implies(some, both(*(op(Kind.BV_UGE, multiplied, one) for one in wide))),
        op(Kind.EQUAL, some, op(Kind.NOT, same(multiplied, value(0, bits)))),
        op(Kind.NOT, op(Kind.BV_UGT, multiplied, value(most, bits))),
    )

    def alike() -> Term:
        return both(*(
            holds(Integer.unsigned(sig) == fields.sig)
            for sig, fields in zip(sigs, read(), strict=True)
            if fields.cls not in (Class.NAN, Class.INFINITY)
        ))  # fmt: skip

    yield LateClaim(
        f"{name}: significands", "what is multiplied are the model's significands; the product is zero just where one "
        "is, or else no less than either", over, tuple(known), lambda: both(each(paths(alike, known)), facts), ports,
    )  # fmt: skip

    def of(product: Any, show: tuple[Term, ...], few: tuple[Term, ...], case: str) -> Claim:
        by = {multiplied: as_integer(product).at(bits)}
        assumed = (*known, *few, substituted(facts, by))
        return Claim(case, "", "", assumed, substituted(claimed(assumed, product), by), (*ports, *show))

    yield CasesClaim(
        name, words, f"{over}; every place of the leading one of any product of significands",
        lambda: chain([of(0, (), (), "zero")], by_leading_one(of, most, signs=False)),
    )  # fmt: skip
    yield leading_ones(name, most)


class AnyFactor:
    """A significand of which nothing is known but what it makes with another one."""

    def __init__(self, product: Any):
        self.product = product

    def __mul__(self, other: object) -> Any:
        return self.product


def _multiplication(circuit: Circuit) -> Term | None:
    """The one multiplication of a circuit, if it has one."""
    found = {
        node.id(): node
        for term in circuit.outputs.values()
        for node in children_first(term)
        if node.kind() == Kind.BV_MUL
    }
    if len(found) > 1:
        raise ValueError("a circuit multiplies once")
    return next(iter(found.values()), None)


def _of(multiplied: Term, ports: Sequence[Term]) -> list[Term] | None:
    """The significands that are multiplied, in the order of the ports that they come from; None of a power of two."""
    sides = [_narrow(child) for child in multiplied.children()]
    found = []
    for port in ports:
        own = [side for side in sides if any(one.id() == port.id() for one in constants(side))]
        if len(own) != 1:
            return None
        found += own
    return found


def _narrow(term: Term) -> Term:
    """A term without zeros above it."""
    while term.kind() == Kind.BV_ZERO_EXTEND:
        (term,) = term.children()
    return term


@dataclass(frozen=True)
class SameProducts(Claim):
    """A claim of two circuits that multiply alike.

    Products whose factors are equal, which is asked first, are one number; nothing else is known of a product. What
    does not hold of any number is asked again as it is.
    """

    def decide(self, seconds: float) -> Decided:
        """What the solver says."""
        begun = time.monotonic()
        for claim, conditions in _parts(self.claim, ()):
            left = begun + seconds - time.monotonic()
            if left <= 0 or not _holds_of_any_products(claim, (*self.assumptions, *conditions), left):
                break
        else:
            return Decided("proved", time.monotonic() - begun)
        left = begun + seconds - time.monotonic()
        return super().decide(left) if left > 0 else Decided("undecided", seconds)


def _parts(claim: Term, conditions: tuple[Term, ...]) -> Iterator[tuple[Term, tuple[Term, ...]]]:
    """What a claim is that several things hold, each under conditions."""
    if claim.kind() == Kind.AND:
        for one in claim.children():
            yield from _parts(one, conditions)
    elif claim.kind() == Kind.IMPLIES:
        condition, then = claim.children()
        yield from _parts(then, (*conditions, condition))
    else:
        yield claim, conditions


def _holds_of_any_products(claim: Term, conditions: Sequence[Term], seconds: float) -> bool:
    """Whether a claim is shown to hold, whatever numbers products are."""
    end = time.monotonic() + seconds
    made: dict[int, Term] = {}
    products: list[tuple[Sequence[Term], Term]] = []
    assumed = list[Term]()

    def same_as(factors: Sequence[Term], other: Sequence[Term]) -> bool:
        alike = [same(*pair) for pair in zip(factors, other, strict=True)]
        return ask(both(*alike), assumed, max(0.001, end - time.monotonic())).word == "proved"

    for term in (*conditions, claim):
        for node in children_first(term):
            if node.id() in made:
                continue
            factors = [made[child.id()] for child in node.children()]
            if node.kind() != Kind.BV_MUL:
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
    return ask(assumed.pop(), assumed, max(0.001, end - time.monotonic())).word == "proved"
