"""The claims of an aligned sum in one plain window: groups with a product other than zero, and those without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from hwsim.formats import Class, FloatFormat
from hwsim.model.rounding import combine_specials
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.circuits import connected, fixed
from hwsim.prove.claims import SPECIAL, AnyClaim, Claim, StructuralClaim, each, exactly, holds
from hwsim.prove.rounding import special_result
from hwsim.prove.symbolic import Integer, Path, as_integer, bits_for, ite, paths
from hwsim.prove.terms import (
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
from hwsim.prove.windows import Rival, WindowClaims, in_window


class AlignedClaims(WindowClaims):
    """All claims about the datapath of a unit of method `aligned` with one plain window.

    What is claimed of max_exp and of the total is so beside a product that is other than zero; groups without one are
    shown from the addend's code to the result's.
    """

    @property
    def lifted(self) -> bool:
        """True if subnormal addends have a hidden bit, one exponent below the least."""
        return not self.n.subnormal_sums

    def of_mode(self) -> Iterator[AnyClaim]:
        """Yield the claims that depend on the unit's mode, one of several: of decoding, and of what decoding begins."""
        yield from self._products()
        yield from self._addends()
        yield from self._no_product()

    def claims(self) -> Iterator[AnyClaim]:
        """Yield the claims in the order of the steps; then those of the cases and of the whole."""
        yield from self._products()
        yield from self._addends()
        yield from self._zero_sign()
        yield self._maximum(0)
        yield from self._aligned()
        yield self._sum(0)
        yield from self._rounded()
        yield self._cases()
        yield from self._special()
        yield from self._passed()
        yield from self._no_product()
        yield from self._composition()

    # Addends.

    def _is_number(self, term: ModelTerm, sign: Any, exp: Any, sig: Any, bits: int, fmt: FloatFormat | None) -> Term:
        if term.cls is Class.ZERO:
            return holds(sig == 0)
        kept = self._kept(term)
        least = term.exp + self.n.bias
        normal = both(holds(exp == least), holds(sig == kept), holds(sign == term.sign))
        if not self.lifted or fmt is None:
            return normal
        # A lifted subnormal has a hidden bit, if a bit of it is kept at all, one exponent below the least.
        small = holds(as_integer(term.sig) < 1 << fmt.fraction_bits)
        hidden = ite(as_integer(kept) == 0, 0, 1 << bits)
        lifted = both(holds(exp == least - 1), holds(sig == kept + hidden), holds(sign == term.sign))
        return both(implies(small, lifted), implies(negated(small), normal))

    def _kept(self, term: ModelTerm) -> Any:
        """A term's significand with the fraction bits that count."""
        bits = self.n.addend_fraction_bits - term.fraction_bits
        sig = as_integer(term.sig)
        return sig << bits if bits >= 0 else sig >> -bits

    # The window.

    def _some(self, rivals: Sequence[Rival]) -> Term:
        """The condition that a product is other than zero."""
        *products, _ = rivals
        return either(*(nonzero for nonzero, _, _ in products))

    def _any_max_exp(self, found: Any) -> list[Term]:
        return []

    @property
    def _tops(self) -> tuple[int, int]:
        return self._max_exps

    @property
    def _max_exps(self) -> tuple[int, int]:
        """The range of max_exp where a product is other than zero."""
        return max(1, self.n.max_exp[0]), self.n.max_exp[1]  # a product's is at least 1, as its claim says

    def _aligned(self) -> Iterator[AnyClaim]:
        yield from super()._aligned()
        if self.lifted:
            max_exp = self._max_exp(self.parts.align.inputs, "i__max_exp")
            yield self._lifted(max_exp.between(*self._max_exps), [exactly(max_exp, *self._max_exps)])
            yield self._lifted_is_less()

    def _lifted_is_less(self) -> StructuralClaim:
        """The claim that a subnormal addend never has the largest exponent beside a product.

        Its hidden bit may change its own exponent.
        """
        return StructuralClaim(
            "addend: lifted is less", "the exponent of a subnormal is at most that of any product", "all addends",
            lambda: all(fmt.emin + self.n.product_bias <= 1 for _, fmt, _, _ in self._sources()),
        )  # fmt: skip

    def _bound_below(self, top: Any, at: int) -> object:
        return self._product_bound(top) if at < self.n.terms else self._addend_bound

    def _product_bound(self, top: object) -> object:
        """The largest magnitude of a product in the window below a max_exp."""
        whole = self._most_in_window
        if not self.n.truncates:
            return whole
        bound: object = whole
        for distance in range(1, whole.bit_length() + 1):
            bound = ite(as_integer(top) - self.n.product_most >= distance, whole >> distance, bound)
        return bound

    def _total_bound(self, top: object) -> object:
        return self.n.lanes * as_integer(self._product_bound(top)) + self._addend_bound

    def _lifted(self, top: object, known: Sequence[Term]) -> Claim:
        """The claim that a lifted subnormal beside a product leaves in the window what the subnormal itself leaves."""
        circuit, n = self.parts.align, self.n
        sign, exp, sig = self._addend_fields(circuit.inputs, "i")
        claims = []
        code = in_window(circuit.outputs, "o", n.terms)
        for _, fmt, _, _ in self._sources():
            least = fmt.emin + n.product_bias
            true_sig = sig & ((1 << n.addend_fraction_bits) - 1)
            # The hidden bit is set where another one is.
            here = both(holds(exp == least - 1), same(holds(sig == 0), holds(true_sig == 0)))
            term = ModelTerm(sign, fmt.emin, true_sig, n.addend_fraction_bits, Class.NORMAL)
            max_exp = as_integer(top) - n.product_bias

            def aligned(term: ModelTerm = term, max_exp: object = max_exp) -> object:
                return self.calls["align"](term, max_exp) if term.sig else 0

            found_paths = paths(aligned, [*known, here])
            claims.append(implies(here, each([Path(one.condition, holds(code == one.result)) for one in found_paths])))
            claims += [implies(here, one) for one in self._says_lost(n.lanes, term, max_exp, [*known, here])]
        return Claim(
            "addend: lifted", "beside a product a subnormal with a hidden bit leaves what it leaves without",
            "subnormal addends", tuple(known), both(*claims),
            tuple(term for name, term in circuit.inputs.items() if "addend" in name or name == "i__max_exp"),
        )  # fmt: skip

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
        """Yield the claims about a group without products other than zero, from the addend's code to the result's."""
        front = self.parts.products
        whole = connected([front, self.parts.maximum, self.parts.align, self.parts.sum, self.parts.round])
        for name, fmt, port, chain in self._sources():
            outputs = fixed(whole, {**self._quiet, "i__chain": value(chain, 1)}).outputs
            code, clean = self._code_of(fmt, front.inputs[port], padded=name == "c")

            def group(name: str = name, code: object = code) -> tuple[object, bool]:
                addend = self._addend(name, code)
                if combine_specials([addend]) is not None:
                    return 0, True
                return self._without_products(addend), False

            result = Integer.unsigned(outputs["o__code"]) << self.n.result.padding
            results = [
                Path(path.condition, true() if path.result[1] else holds(result == path.result[0]))
                for path in paths(group, [clean])
            ]
            yield Claim(
                f"no product: {name}", "where all products are zero, the result is the addend's alone",
                f"codes of {fmt.name}", (clean,), each(results), (front.inputs[port],),
            )  # fmt: skip
        if self.n.window_addend is None:
            outputs = fixed(whole, {**self._quiet, "i__chain": value(0, 1)}).outputs
            result = Integer.unsigned(outputs["o__code"]) << self.n.result.padding
            yield Claim(
                "no product: no addend", "where all products are zero and nothing is continued, the result is zero's",
                "all that is carried", (), holds(result == self._without_products(self.model.partial(0))),
                (front.inputs["i__carried__code"],),
            )  # fmt: skip
        yield self._no_product_signs()

    def _without_products(self, addend: ModelTerm) -> int:
        zero = ModelTerm(0, 0, 0, self.n.product_fraction_bits, Class.ZERO)
        summed = self.model._method.sum([zero] * self.n.lanes, addend, None)
        return self.model.rounding.term(summed.outcome, summed.sticky).code

    def _no_product_signs(self) -> AnyClaim:
        """The claim by which the proofs about products of +0 hold of all products that are zero."""
        return StructuralClaim(
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
        """Yield the claim that flags alone decide the code of a group with a special term."""
        yield special_result(self.parts.round, self.calls["round special"], self.n.result, self._never)

    # How the steps compose.

    def _composition(self) -> Iterator[AnyClaim]:
        yield self._before_alignment()
        yield self._before_sum()
        yield self._before_rounding()
        yield from self._groups()

    def _before_alignment(self) -> Claim:
        """The claim about a group with a product; one without is proved from the addend's code on."""
        claim, rivals = super()._before_alignment(), self._rivals(self.parts.maximum.inputs, 0)
        return replace(claim, assumptions=(*claim.assumptions, self._some(rivals)))

    def _before_sum(self) -> Claim:
        """The claim that the bound of an aligned product is within the bound that the sum takes."""
        top = self._some_max_exp()
        within = holds(as_integer(self._product_bound(top)) <= self._most_in_window)
        return Claim(
            "composition: sum", "an aligned product is within the bound that the sum takes", "every max_exp",
            (exactly(top, *self._max_exps),), within, (top.term,),
        )  # fmt: skip

    def _before_rounding(self) -> Claim:
        """The claim that the bounds of all terms, added up lane by lane, are the bound that rounding takes."""
        top, n = self._some_max_exp(), self.n
        bound = as_integer(self._product_bound(top.between(*self._max_exps)))
        bits = bits_for(-2 * n.sum_most, 2 * n.sum_most)
        so_far, term = (Integer.signed(constant(f"composition.{name}", bits)) for name in ("sum", "term"))
        added = as_integer(so_far + term)
        wanted = [
            implies(both(holds(abs(so_far) <= lane * bound), holds(abs(term) <= bound)),
                    holds(abs(added) <= (lane + 1) * bound))
            for lane in range(n.lanes)
        ]  # fmt: skip
        before, addend = holds(abs(so_far) <= n.lanes * bound), holds(abs(term) <= self._addend_bound)
        most = as_integer(self._total_bound(top.between(*self._max_exps)))
        fits = holds(most <= n.sum_most), holds(as_integer(n.sum_most) < 1 << self._total_bits - 1)
        return Claim(
            "composition: result", "the bounds of all terms add up to what the result takes, and fit the total",
            f"{n.lanes + 1} terms, every max_exp", (exactly(top, *self._max_exps),),
            both(*wanted, implies(both(before, addend), holds(abs(added) <= most)), *fits),
            (top.term, so_far.term, term.term),
        )  # fmt: skip

    @property
    def _total_bits(self) -> int:
        return width(self.parts.round.inputs["i__total"])

    def _some_max_exp(self) -> Integer:
        top: Integer = Integer.signed(constant("composition.top", bits_for(*self.n.max_exp)))
        return top
