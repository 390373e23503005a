"""The claims of a product of two codes: what multiplies their significands is left out of what the solver looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from hwsim.formats import Class, Fields, unpack
from hwsim.model import promotion as promotion_module
from hwsim.prove.btor import Circuit
from hwsim.prove.claims import AnyClaim, CasesClaim, Claim, LateClaim, by_value
from hwsim.prove.explore import paths
from hwsim.prove.given import given_function
from hwsim.prove.logic import (
    Kind,
    Term,
    below,
    both,
    implies,
    negated,
    op,
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
    most = ((1 << width(sigs[0])) - 1) * ((1 << width(sigs[1])) - 1)
    facts = facts_of(multiplied, sigs, most)

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


def facts_of(multiplied: Term, sigs: Sequence[Term], most: int) -> Term:
    """What is kept of a product where any number takes its place.

    It is zero just where a factor is, no less than either where none is, and no more than `most`.
    """
    bits = width(multiplied)
    some = both(*(negated(same(sig, value(0, width(sig)))) for sig in sigs))
    wide = [op(Kind.BV_ZERO_EXTEND, sig, indices=[bits - width(sig)]) for sig in sigs]
    return both(
        op(Kind.EQUAL, some, negated(same(multiplied, value(0, bits)))),
        implies(some, both(*(negated(below(multiplied, one)) for one in wide))),
        negated(below(value(most, bits), multiplied)),
    )


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
    sides = [narrowed(child) for child in multiplied.children()]
    found = []
    for port in ports:
        own = [side for side in sides if any(one.id() == port.id() for one in constants(side))]
        if len(own) != 1:
            return None
        found += own
    return found


def narrowed(term: Term) -> Term:
    """A term without zeros above it."""
    while term.kind() == Kind.BV_ZERO_EXTEND:
        (term,) = term.children()
    return term
