"""The claims of the steps in a window: the largest exponent, alignment, the sum, the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from hwsim.formats import Class
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.window import align, lost_part
from hwsim.prove.btor import Circuit
from hwsim.prove.claims import AnyClaim, Claim, FormClaim
from hwsim.prove.explore import Path, paths
from hwsim.prove.linear import Bounded, Form, Forms, Variable, equal, form
from hwsim.prove.logic import (
    Kind,
    Term,
    both,
    either,
    implies,
    is_one,
    negated,
    op,
    same,
    substituted,
    value,
    width,
)
from hwsim.prove.maxima import without_maxima
from hwsim.prove.operands import OperandClaims
from hwsim.prove.relations import SPECIAL, each, exactly, holds
from hwsim.prove.results import is_result, of_every_total
from hwsim.prove.symbolic import Integer, Truth, as_integer, ite

AT_ONCE = 128  # bits of sums of which rounding is decided at once


class WindowClaims(OperandClaims):
    """All claims about what happens to the terms of an aligned sum."""

    # The largest exponent.

    def _max_exp(self, ports: Mapping[str, Term], name: str) -> Any:
        return (Integer.signed if self.n.max_exp[0] < 0 else Integer.unsigned)(ports[name])

    def _exps(self, ports: Mapping[str, Term]) -> list[Any]:
        """The products' exponents; 0 of a product of zero."""
        return [Integer.unsigned(ports[f"i__terms__{lane}__exp"]) for lane in range(self.n.lanes)]

    def _maximum(self) -> Iterator[AnyClaim]:
        circuit, n = self.parts.maximum, self.n
        ports = [circuit.inputs[f"i__terms__{lane}__exp"] for lane in range(n.lanes)]
        # Where the comparisons make a tree of all lanes, what it leaves stands for them.
        tree = without_maxima(circuit.outputs["o__max_exp"], ports)
        whole = frozenset(ports) == frozenset().union(*tree.groups.values())
        exps = [Integer.unsigned(port) for port in (tree.groups if whole else ports)]
        _, exp, sig = self._addend_fields(circuit.inputs, "i")
        found = self._max_exp({"o": tree.term if whole else circuit.outputs["o__max_exp"]}, "o")
        known = [
            *(tree.known if whole else ()),
            *(holds(one <= n.product_most) for one in exps),
            exactly(exp, *n.addend_exp),
        ]
        some = either(*(holds(one != 0) for one in exps))
        yield Claim(
            "maximum", "max_exp is the largest exponent of a term other than zero"
            + ("" if n.floor is None else ", and at least the floor"),
            f"{n.lanes} products, one of them other than zero, and an addend", (*known, some),
            self._is_maximum(found, exps, exp, sig), tuple(circuit.inputs.values()),
        )  # fmt: skip
        yield self._passed("maximum", circuit, [name for name in circuit.outputs if name != "o__max_exp"])

    def _is_maximum(self, found: Any, exps: Sequence[Any], exp: Any, sig: Any) -> Term:
        """That a max_exp is the largest exponent of a product or of an addend that are other than zero."""
        rivals = [(holds(one != 0), one) for one in exps] + [(holds(sig != 0), exp)]
        most = [implies(takes_part, holds(found >= one)) for takes_part, one in rivals]
        among = [both(takes_part, holds(found == one)) for takes_part, one in rivals]
        if self.n.floor is not None:
            most.append(holds(found >= self.n.floor))
            among.append(holds(found == self.n.floor))
        return both(*most, either(*among))

    def _passed(self, name: str, circuit: Circuit, outputs: Sequence[str]) -> FormClaim:
        """That outputs are the inputs of the same names."""
        return FormClaim(
            f"{name}: passed on", "what the step does not make leaves as it came", f"{len(outputs)} signals",
            lambda: all(circuit.outputs[one] == circuit.inputs[f"i{one[1:]}"] for one in outputs),
        )  # fmt: skip

    # Alignment.

    def _aligned(self) -> Iterator[AnyClaim]:
        circuit, n = self.parts.align, self.n
        max_exp = self._max_exp(circuit.inputs, "i__max_exp")
        known = self._can_be_aligned(circuit.inputs, max_exp, 0)
        sign, exp, sig = (Integer.unsigned(circuit.inputs[f"i__terms__0__{field}"]) for field in ("sign", "exp", "sig"))
        top = max_exp.between(*self._beside_products)
        term = ModelTerm(
            sign, exp.between(0, n.product_most) - n.product_bias, sig.between(0, self._most_sig),
            n.product_fraction_bits, Class.NORMAL,
        )  # fmt: skip
        yield self._aligned_lane("lane: aligned", 0, term, top, known, self._product_bound(top))
        yield FormClaim(
            "lanes: aligned", "every lane makes the same of its term and max_exp", f"{n.lanes} lanes", self._align_alike
        )
        sign, exp, sig = self._addend_fields(circuit.inputs, "i")
        top = max_exp.between(*n.max_exp)
        known = self._addend_can_be_aligned(circuit.inputs, max_exp)
        term = ModelTerm(sign, exp.between(*n.addend_exp) - n.product_bias, sig, n.addend_fraction_bits, Class.NORMAL)
        yield self._aligned_lane("addend: aligned", n.lanes, term, top, known, self._addend_bound)
        yield self._aligned_zero()
        if self.lifted:
            yield self._lifted(max_exp.between(*self._beside_products), [exactly(max_exp, *self._beside_products)])
            yield self._lifted_is_less()

    def _can_be_aligned(self, ports: Mapping[str, Term], max_exp: Any, lane: int) -> tuple[Term, ...]:
        """What a product and max_exp are before alignment, where a product is other than zero."""
        exp = Integer.unsigned(ports[f"i__terms__{lane}__exp"])
        return self._is_term(ports, lane, "i"), exactly(max_exp, *self._beside_products), holds(exp <= max_exp)

    def _addend_can_be_aligned(self, ports: Mapping[str, Term], max_exp: Any) -> tuple[Term, ...]:
        """What an addend and max_exp are before alignment, beside products or not."""
        _, exp, sig = self._addend_fields(ports, "i")
        return (
            exactly(exp, *self.n.addend_exp), exactly(max_exp, *self.n.max_exp),
            implies(holds(sig != 0), holds(exp <= max_exp)),
        )  # fmt: skip

    def _aligned_zero(self) -> Claim:
        """A product of zero leaves nothing, whatever its sign and max_exp are."""
        circuit = self.parts.align
        ports = [circuit.inputs[f"i__terms__0__{field}"] for field in ("sign", "exp", "sig")]
        ones, carry = (circuit.outputs[f"o__aligned__0__{field}"] for field in ("ones", "carry"))
        return Claim(
            "lane: zero aligned", "a product of zero leaves nothing in the window", "both signs, every max_exp",
            (*self._is_zero(*ports[1:]), exactly(self._max_exp(circuit.inputs, "i__max_exp"), *self.n.max_exp)),
            both(holds(Integer.signed(ones) + Integer.unsigned(carry) == 0),
                 *([negated(self._lost_bit(0))] if self.n.sticky else [])),
            (*ports, circuit.inputs["i__max_exp"]),
        )  # fmt: skip

    def _is_zero(self, exp: Term, sig: Term) -> tuple[Term, ...]:
        """What the fields of a product of zero are."""
        return tuple(same(port, value(0, width(port))) for port in (exp, sig))

    def _lifted_is_less(self) -> FormClaim:
        """A subnormal addend never has the largest exponent beside a product: its hidden bit may change its own."""
        return FormClaim(
            "addend: lifted is less", "the exponent of a subnormal is at most that of any product", "all addends",
            lambda: all(fmt.emin + self.n.product_bias <= 1 for _, fmt, _, _ in self._sources()),
        )  # fmt: skip

    @property
    def _beside_products(self) -> tuple[int, int]:
        """What max_exp can be where a product is other than zero."""
        return max(1, self.n.max_exp[0]), self.n.max_exp[1]  # a product's is at least 1, as its claim says

    def _aligned_lane(
        self, name: str, lane: int, term: ModelTerm, top: object, known: Sequence[Term], bound: object
    ) -> Claim:
        """That a term in the window is what `align` makes of it, and not beyond its bound."""
        circuit, max_exp = self.parts.align, as_integer(top) - self.n.product_bias
        ones, carry = (circuit.outputs[f"o__aligned__{lane}__{field}"] for field in ("ones", "carry"))
        found = Integer.signed(ones) + Integer.unsigned(carry)

        def aligned() -> object:
            if not term.sig:
                return 0
            return align(term, max_exp, self.n.fraction_bits, self.rule.term_lost)

        right = each([Path(path.condition, holds(found == path.result)) for path in paths(aligned, known)])
        more = [right, holds(abs(found) <= bound), *self._says_lost(lane, term, max_exp, known)]
        if self._carries == "sign":
            more.append(same(carry, op(Kind.BV_EXTRACT, ones, indices=[width(ones) - 1] * 2)))
        place = "addend" if lane == self.n.lanes else f"terms__{lane}"
        show = [term for name, term in circuit.inputs.items() if place in name or name == "i__max_exp"]
        return Claim(
            name, "it is what the model aligns, and within its bound", "a term at or below max_exp", tuple(known),
            both(*more), tuple(show),
        )  # fmt: skip

    def _says_lost(self, lane: int, term: ModelTerm, max_exp: Any, known: Sequence[Term]) -> list[Term]:
        """That the bit of a term says whether it lost a 1, where there are such bits."""
        if not self.n.sticky:
            return []
        said = self._lost_bit(lane)

        def right(lost: Any) -> Term:
            return same(said, holds(as_integer(lost) != 0))

        found = paths(lambda: lost_part(term, max_exp, self.n.fraction_bits) if term.sig else 0, known)
        return [each([Path(path.condition, right(path.result)) for path in found])]

    def _lost_bit(self, lane: int) -> Term:
        """Whether a term lost a 1, as alignment says it."""
        return is_one(self.parts.align.outputs[f"o__lost__{lane}"])

    @property
    def _carries(self) -> Literal["sign", "bit", "none"]:
        """What completes a term in the window: its sign, as truncation has it, a bit of its own, or nothing."""
        return "sign" if self.n.truncates else "bit"

    def _product_bound(self, top: object) -> object:
        """The most that a product leaves in the window below a max_exp."""
        whole = self._most_in_window
        if not self.n.truncates:
            return whole
        bound: object = whole
        for distance in range(1, whole.bit_length() + 1):
            bound = ite(as_integer(top) - self.n.product_most >= distance, whole >> distance, bound)
        return bound

    @property
    def _most_in_window(self) -> int:
        return self._most_of(self._most_sig, self.n.product_fraction_bits)

    @property
    def _addend_bound(self) -> int:
        bits = self.n.addend_fraction_bits
        return self._most_of((2 << bits) - 1, bits)

    def _most_of(self, sig: int, fraction_bits: int) -> int:
        """The most that a significand leaves in the window; the RTL has room for one rounded up."""
        below = fraction_bits - self.n.fraction_bits
        return sig >> below if self.n.truncates and below > 0 else self.n._most_in_window(sig, fraction_bits)

    def _align_alike(self) -> bool:
        circuit = self.parts.align
        fields = ("sign", "exp", "sig")
        for lane in range(1, self.n.lanes):
            by = {circuit.inputs[f"i__terms__0__{one}"]: circuit.inputs[f"i__terms__{lane}__{one}"] for one in fields}
            for field in ("ones", "carry"):
                term = substituted(circuit.outputs[f"o__aligned__0__{field}"], by)
                if term != circuit.outputs[f"o__aligned__{lane}__{field}"]:
                    return False
            if self.n.sticky and substituted(self._lost_bit(0), by) != self._lost_bit(lane):
                return False
        return True

    def _lifted(self, top: object, known: Sequence[Term]) -> Claim:
        """Beside a product a lifted subnormal leaves in the window what the subnormal itself would."""
        circuit, n = self.parts.align, self.n
        sign, exp, sig = self._addend_fields(circuit.inputs, "i")
        claims = []
        ones, carry = (circuit.outputs[f"o__aligned__{n.lanes}__{field}"] for field in ("ones", "carry"))
        found = Integer.signed(ones) + Integer.unsigned(carry)
        for _, fmt, _, _ in self._sources():
            least = fmt.emin + n.product_bias
            true_sig = sig & ((1 << n.addend_fraction_bits) - 1)
            # The hidden bit is set where another one is.
            here = both(holds(exp == least - 1), same(holds(sig == 0), holds(true_sig == 0)))
            term = ModelTerm(sign, fmt.emin, true_sig, n.addend_fraction_bits, Class.NORMAL)
            max_exp = as_integer(top) - n.product_bias

            def aligned(term: ModelTerm = term, max_exp: object = max_exp) -> object:
                return align(term, max_exp, n.fraction_bits, self.rule.term_lost) if term.sig else 0  # type: ignore[arg-type]

            found_paths = paths(aligned, [*known, here])
            claims.append(implies(here, each([Path(one.condition, holds(found == one.result)) for one in found_paths])))
            claims += [implies(here, one) for one in self._says_lost(n.lanes, term, max_exp, [*known, here])]
        return Claim(
            "addend: lifted", "beside a product a subnormal with a hidden bit leaves what it leaves without",
            "subnormal addends", tuple(known), both(*claims),
            tuple(term for name, term in circuit.inputs.items() if "addend" in name or name == "i__max_exp"),
        )  # fmt: skip

    # The sum.

    def _sum(self) -> Iterator[AnyClaim]:
        yield FormClaim(
            "sum", "the total is the sum of all aligned terms, exactly", f"{self.n.lanes + 1} terms", self._is_sum
        )
        if self.n.sticky:
            bits = [f"o__lost__{lane}" for lane in range(self.n.lanes + 1)]
            yield self._passed("sum, of lost bits", self.parts.sum, bits)

    def _is_sum(self) -> bool:
        circuit, n = self.parts.sum, self.n
        inputs: dict[str, Form] = {}
        known = []
        wanted: dict[Variable, int] = {}
        for lane in range(n.lanes + 1):
            ones, carry = (circuit.inputs[f"i__aligned__{lane}__{field}"] for field in ("ones", "carry"))
            top = width(ones) - 1
            low, sign = Variable(ones.symbol(), 0, top), Variable(ones.symbol(), top, 1)
            factors = {low: 1, sign: -(1 << top)}
            match self._carries:
                case "sign":
                    inputs[carry.symbol()] = Form(1, 0, {sign: 1})
                    factors[sign] += 1
                case "bit":
                    factors[Variable(carry.symbol(), 0, 1)] = 1
                case "none":
                    pass
            most = self._addend_bound if lane == n.lanes else self._most_in_window
            known.append(Bounded(factors, -most, most))
            wanted |= factors
        total = circuit.outputs["o__total"]
        return equal(Forms(inputs, known).of(total), form(width(total), 0, wanted))

    # The result.

    def _total_bound(self, top: object) -> object:
        return self.n.lanes * as_integer(self._product_bound(top)) + self._addend_bound

    def _rounded(self) -> Iterator[AnyClaim]:
        circuit, n = self.parts.round, self.n
        port, max_exp = circuit.inputs["i__total"], self._max_exp(circuit.inputs, "i__max_exp")
        top = max_exp.between(*self._beside_products)
        known = [
            exactly(max_exp, *self._beside_products),
            holds(abs(Integer.signed(port)) <= self._total_bound(top)),
            *(negated(is_one(circuit.inputs[f"i__special__{flag}"])) for flag in SPECIAL),
        ]  # fmt: skip
        is_code = is_result(circuit, n.result, self.model.nan)
        lost = [circuit.inputs[f"i__lost__{lane}"] for lane in range(n.lanes + 1)] if n.sticky else []
        sticky: Any = Truth(either(*map(is_one, lost))) if lost else False

        def right(total: Any, assumed: Sequence[Term]) -> Term:
            found = paths(lambda: self.model.round(total, top - n.product_bias, sticky).code, assumed)
            return each([Path(path.condition, is_code(path.result)) for path in found])

        yield from of_every_total(
            right, port, n.sum_most, known, (circuit.inputs["i__max_exp"], *lost), over="every max_exp", at_once=AT_ONCE
        )
