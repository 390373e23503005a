"""The claims of an aligned sum: each step of its datapath against the model's own functions, and how they compose.

Between steps stand relations: how the RTL's signals say what the model's terms are. A product of exponent e is `exp` =
e + the bias of products and at least 1, a product of zero has `exp` = 0 and `sig` = 0, an addend of exponent e is e +
the same bias. Each step is proved for every input for which the relation before it holds, and so is the relation after
it. Where a relation is one function (`_is_term`), it is what one claim shows and the next takes; where it is not, that
one implies the other is a claim of its own (`composition`).

A group is one of three, which are all: one of its terms is special; or none, and no product is other than zero; or
none, and at least one is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hwsim.formats import Class, FloatFormat
from hwsim.model.addition import combine_specials
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import addend_term
from hwsim.model.window import align, lost_part
from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import connected, fixed
from hwsim.prove.claims import AnyClaim, Claim, FormClaim
from hwsim.prove.explore import Path, paths
from hwsim.prove.logic import (
    Term,
    both,
    constant,
    either,
    implies,
    is_one,
    negated,
    same,
    substituted,
    true,
    value,
    width,
)
from hwsim.prove.relations import SPECIAL, each, exactly, holds
from hwsim.prove.results import special_result
from hwsim.prove.symbolic import Integer, as_integer, bits_for, ite
from hwsim.prove.window import WindowClaims


class AlignedClaims(WindowClaims):
    """All claims about the datapath of a unit of method `aligned` with one plain window."""

    @property
    def chain(self) -> Sequence[Circuit]:
        """The datapath, one circuit after another."""
        parts = self.parts
        return parts.decode, parts.multiply, parts.maximum, parts.align, parts.sum, parts.round

    def of_mode(self) -> Iterator[AnyClaim]:
        """Those that depend on which mode of several the unit is: of decoding, and of what decoding begins."""
        yield from self._decoded_factors()
        yield from self._lanes()
        yield from self._addends()
        yield from self._no_product()

    def claims(self) -> Iterator[AnyClaim]:
        """In the order of the steps; then of the cases and of the whole."""
        yield from self._products()
        yield from self._addends()
        yield from self._maximum()
        yield from self._aligned()
        yield from self._sum()
        yield from self._rounded()
        yield self._cases()
        yield from self._special()
        yield from self._no_product()
        yield from self._composition()

    # The three cases of a group.

    def _cases(self) -> Claim:
        ports = self.parts.maximum.inputs
        special = either(*(is_one(ports[f"i__special__{flag}"]) for flag in SPECIAL))
        exps = self._exps(ports)
        some, nothing = either(*(holds(exp != 0) for exp in exps)), both(*(holds(exp == 0) for exp in exps))
        cases = special, both(negated(special), nothing), both(negated(special), some)
        return Claim(
            "cases", "a group has a special term; or none, and no product other than zero; or none, and one",
            "all terms", (), either(*cases), tuple(ports.values()),
        )  # fmt: skip

    def _no_product(self) -> Iterator[AnyClaim]:
        """A group without products other than zero, from the addend's code to the result's."""
        front = self.parts.products
        whole = connected([front, self.parts.maximum, self.parts.align, self.parts.sum, self.parts.round])
        for name, fmt, port, chain in self._sources():
            outputs = fixed(whole, {**self._quiet, "i__chain": value(chain, 1)}).outputs
            code, clean = self._code_of(fmt, front.inputs[port], padded=name == "c")

            def group(fmt: FloatFormat = fmt, code: object = code) -> tuple[object, bool]:
                addend = addend_term(fmt, code)  # type: ignore[arg-type]
                if combine_specials([addend]) is not None:
                    return 0, True
                return self._without_products(addend), False

            found = Integer.unsigned(outputs["o__code"]) << self.n.result.padding
            results = [
                Path(path.condition, true() if path.result[1] else holds(found == path.result[0]))
                for path in paths(group, [clean])
            ]
            yield Claim(
                f"no product: {name}", "where all products are zero, the result is the addend's alone",
                f"codes of {fmt.name}", (clean,), each(results), (front.inputs[port],),
            )  # fmt: skip
        if self.n.window_addend is None:
            outputs = fixed(whole, {**self._quiet, "i__chain": value(0, 1)}).outputs
            found = Integer.unsigned(outputs["o__code"]) << self.n.result.padding
            yield Claim(
                "no product: no addend", "where all products are zero and nothing is continued, the result is zero's",
                "all that is carried", (), holds(found == self._without_products(self.model.partial(0))),
                (front.inputs["i__carried__code"],),
            )  # fmt: skip
        yield self._no_product_signs()

    def _without_products(self, addend: ModelTerm) -> int:
        zero = ModelTerm(0, 0, 0, self.n.product_fraction_bits, Class.ZERO)
        summed = self.model._method.sum([zero], addend, None)
        return self.model.rounding.term(summed.outcome, summed.sticky).code

    def _no_product_signs(self) -> AnyClaim:
        """What is shown of products of +0 is so of all that are zero."""
        return FormClaim(
            "no product: signs", "neither signs nor significands of products change max_exp", f"{self.n.lanes} lanes",
            self._signs_do_not_matter,
        )  # fmt: skip

    def _signs_do_not_matter(self) -> bool:
        circuit = self.parts.maximum
        by = {
            port: value(0, width(port))
            for name, port in circuit.inputs.items()
            if name.startswith("i__terms__") and not name.endswith("__exp")
        }
        return bool(substituted(circuit.outputs["o__max_exp"], by) == circuit.outputs["o__max_exp"])

    def _special(self) -> Iterator[AnyClaim]:
        """A group with a special term: flags alone decide the code."""
        yield special_result(self.parts.round, self.model.rounding, self.n.result, self._never)
        for name, part in (("align", self.parts.align), ("sum", self.parts.sum)):
            yield self._passed(name, part, [*(f"o__special__{flag}" for flag in SPECIAL), "o__max_exp"])

    # How the steps compose.

    def _composition(self) -> Iterator[AnyClaim]:
        yield self._before_alignment()
        yield self._before_sum()
        yield self._before_rounding()
        yield self._group()

    def _before_alignment(self) -> Claim:
        """What products and the maximum are is what alignment takes of every one of them."""
        ports, n = self.parts.maximum.inputs, self.n
        bits = bits_for(*n.max_exp)
        found = Integer.signed(constant("composition.max_exp", bits))
        exps = self._exps(ports)
        _, exp, sig = self._addend_fields(ports, "i")
        known = (
            *(self._is_term(ports, lane, "i") for lane in range(n.lanes)), exactly(exp, *n.addend_exp),
            either(*(holds(one != 0) for one in exps)), self._is_maximum(found, exps, exp, sig),
        )  # fmt: skip
        wanted = [term for lane in range(n.lanes) for term in self._can_be_aligned(ports, found, lane)]
        return Claim(
            "composition: alignment", "what multiplication and max_exp are is what alignment takes",
            f"{n.lanes} products and an addend", known, both(*wanted, *self._addend_can_be_aligned(ports, found)),
            (found.term, *ports.values()),
        )  # fmt: skip

    def _before_sum(self) -> Claim:
        """The bound of an aligned product is within that which the sum takes."""
        top = self._some_max_exp()
        within = holds(as_integer(self._product_bound(top)) <= self._most_in_window)
        return Claim(
            "composition: sum", "an aligned product is within the bound that the sum takes", "every max_exp",
            (exactly(top, *self._beside_products),), within, (top.term,),
        )  # fmt: skip

    def _before_rounding(self) -> Claim:
        """The bounds of all terms together are that which rounding takes: added up lane by lane."""
        top, n = self._some_max_exp(), self.n
        bound = as_integer(self._product_bound(top.between(*self._beside_products)))
        bits = bits_for(-2 * n.sum_most, 2 * n.sum_most)
        so_far, one = (Integer.signed(constant(f"composition.{name}", bits)) for name in ("sum", "term"))
        added = as_integer(so_far + one)
        wanted = [
            implies(both(holds(abs(so_far) <= lane * bound), holds(abs(one) <= bound)),
                    holds(abs(added) <= (lane + 1) * bound))
            for lane in range(n.lanes)
        ]  # fmt: skip
        before, addend = holds(abs(so_far) <= n.lanes * bound), holds(abs(one) <= self._addend_bound)
        most = as_integer(self._total_bound(top.between(*self._beside_products)))
        fits = holds(most <= n.sum_most), holds(as_integer(n.sum_most) < 1 << self._total_bits - 1)
        return Claim(
            "composition: result", "the bounds of all terms add up to what the result takes, and fit the total",
            f"{n.lanes + 1} terms, every max_exp", (exactly(top, *self._beside_products),),
            both(*wanted, implies(both(before, addend), holds(abs(added) <= most)), *fits),
            (top.term, so_far.term, one.term),
        )  # fmt: skip

    @property
    def _total_bits(self) -> int:
        return width(self.parts.round.inputs["i__total"])

    def _some_max_exp(self) -> Integer:
        top: Integer = Integer.signed(constant("composition.top", bits_for(*self.n.max_exp)))
        return top

    def _group(self) -> Claim:
        """The model's group is its functions, one after another: largest exponent, alignment, sum."""
        n, names, terms = self.n, ("first", "second", "addend"), []
        known: list[Term] = []
        for place, name in enumerate(names):
            exp = Integer.unsigned(constant(f"group.{name}.exp", n.product_most.bit_length()))
            known.append(exactly(exp, 1, n.product_most))
            ends = exp.between(1, n.product_most) - n.product_bias
            terms.append(ModelTerm(place % 2, ends, self._most_sig, n.product_fraction_bits, Class.NORMAL))
        zero = ModelTerm(1, 0, 0, n.product_fraction_bits, Class.ZERO)
        products = ([terms[0]] + [zero] * (n.lanes - 2) + [terms[1]])[: n.lanes]

        def same_sum() -> Term:
            summed = self.model._method.sum(products, terms[2], None)
            top: Any = None
            for term in (*products, terms[2]):
                if term.cls is Class.NORMAL:
                    top = term.exp if top is None else ite(as_integer(term.exp) > top, term.exp, top)
            if n.floor is not None:
                least = n.floor - n.product_bias
                top = ite(as_integer(top) >= least, top, least)
            every = [term for term in (*products, terms[2]) if term.cls is Class.NORMAL]
            total = sum(align(term, summed.max_exp, n.fraction_bits, self.rule.term_lost) for term in every)  # type: ignore[arg-type, misc]
            unit = top - n.fraction_bits
            lost = sum(lost_part(term, summed.max_exp, n.fraction_bits) for term in every) if n.sticky else 0  # type: ignore[arg-type, misc]
            return both(
                same(holds(summed.sticky), holds(as_integer(lost) != 0)),
                holds(as_integer(summed.total) == total), holds(as_integer(summed.max_exp) == top),
                holds(as_integer(summed.unit_exp) == unit),
            )  # fmt: skip

        return Claim(
            "composition: model", "the model's group is its largest exponent, alignment and sum, one after another",
            "two products, any lanes of zeros, and an addend", tuple(known), each(paths(same_sum, known)), (),
        )  # fmt: skip
