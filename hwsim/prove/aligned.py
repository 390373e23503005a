"""The claims of an aligned sum in one plain window, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from hwsim.formats import Class, FloatFormat
from hwsim.model.rounding import combine_specials
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import addend_term, align, lost_part
from hwsim.prove.circuits import Circuit, connected, datapath_circuits, fixed
from hwsim.prove.claims import SPECIAL, AnyClaim, Claim, StepCircuits, StructuralClaim, each, exactly, holds
from hwsim.prove.factors import FactorClaims
from hwsim.prove.linear import Bounded, Form, Forms, Variable, equal, form, without_maxima
from hwsim.prove.rounding import is_result, of_every_total, special_result
from hwsim.prove.symbolic import Integer, Path, Truth, as_integer, bits_for, ite, paths
from hwsim.prove.terms import (
    Kind,
    Term,
    both,
    constant,
    either,
    implies,
    is_one,
    negated,
    op,
    same,
    substituted,
    true,
    value,
    width,
)
from hwsim.rtl.numbers import WindowRanges
from hwsim.spec import AlignedSum, Unit


class OperandClaims(FactorClaims[WindowRanges]):
    """All claims about what an aligned sum is of.

    parts: the steps' circuits, where they are not those of the unit's own RTL; ranges: their numbers' then.
    """

    def __init__(
        self,
        unit: Unit,
        cuts: Sequence[str] = (),
        parts: StepCircuits | None = None,
        ranges: WindowRanges | None = None,
    ):
        assert isinstance(unit.sum, AlignedSum)
        self.rule = unit.sum
        self.parts = StepCircuits.joined(datapath_circuits(unit, cuts)) if parts is None else parts
        super().__init__(unit, WindowRanges(unit) if ranges is None else ranges, self.parts, cuts)
        self.lifted = not self.n.subnormal_sums

    # Products.

    def _products(self) -> Iterator[AnyClaim]:
        yield from self._decoded_factors()
        yield self._product()
        yield from self._lanes()

    def _decoded_factors(self) -> Iterator[AnyClaim]:
        yield self._factor("a")
        yield self._factor("b")
        if self.n.scales:
            yield self._scales()

    def _lanes(self) -> Iterator[AnyClaim]:
        yield self._lanes_alike()
        yield self._flags_alike()
        yield self._gathered()

    def _product(self) -> Claim:
        """One lane, of decoded factors: what no code decodes to is left out."""
        known, lane = self._lane_product()
        outputs = self._lane_flags(self.front.multiply)
        found = [Path(path.condition, self._is_product(outputs, path.result)) for path in paths(lane, known)]
        show = [term for name, term in self.front.multiply.inputs.items() if "__0" in name]
        return Claim(
            "lane: product", "a lane's term is the model's product, and its flags say what is special",
            "decoded factors of a lane", tuple(known), each(found), tuple(show),
        )  # fmt: skip

    def _is_product(self, outputs: Mapping[str, Term], term: ModelTerm) -> Term:
        sign, exp, sig = (Integer.unsigned(outputs[f"o__terms__0__{field}"]) for field in ("sign", "exp", "sig"))
        special = self._special_as(outputs, term)
        match term.cls:
            case Class.NORMAL:
                right = [exp == term.exp + self.n.product_bias, sig != 0, sign == term.sign, sig == term.sig]
                return both(special, *map(holds, right), self._is_term(outputs, 0, "o"))
            case Class.ZERO:
                return both(special, holds(exp == 0), self._is_term(outputs, 0, "o"))
            case _:
                return special

    def _is_term(self, ports: Mapping[str, Term], lane: int, prefix: str) -> Term:
        """What the product of a lane is that is not special: the relation between multiplication and what follows."""
        exp, sig = (Integer.unsigned(ports[f"{prefix}__terms__{lane}__{field}"]) for field in ("exp", "sig"))
        within = holds(exp <= self.n.product_most), holds(sig <= self._most_sig)
        at_least = either(holds(exp == 0), holds(exp >= self.n.product_least))
        return both(*within, at_least, same(holds(sig == 0), holds(exp == 0)))

    @property
    def _most_sig(self) -> int:
        return self.n.most_product

    # Addends.

    def _addends(self) -> Iterator[Claim]:
        front = self.parts.products
        alone = fixed(front, self._quiet)
        for name, fmt, port, chain in self._sources():
            outputs = fixed(alone, {"i__chain": value(chain, 1)}).outputs
            code, clean = self._code_of(fmt, front.inputs[port], padded=name == "c")
            found = paths(lambda fmt=fmt, code=code: addend_term(fmt, code), [clean])  # type: ignore[misc]
            claim = each([Path(path.condition, self._is_addend(outputs, fmt, path.result)) for path in found])
            yield Claim(
                f"addend: {name}", "it is the model's term, moved to the products' exponents", f"codes of {fmt.name}",
                (clean,), claim, (front.inputs[port],),
            )  # fmt: skip
        if self.n.window_addend is None:
            outputs = fixed(alone, {"i__chain": value(0, 1)}).outputs
            zero = ModelTerm(0, 0, 0, 0, Class.ZERO)
            yield Claim(
                "addend: none", "a group that continues nothing adds +0", "all that is carried",
                (), self._is_addend(outputs, self.n.result, zero), (front.inputs["i__carried__code"],),
            )  # fmt: skip
        names = [f"o__addend__{field}" for field in ("sign", "exp", "sig")]
        yield Claim(
            "addend: alone", "factors and scales do not change the addend", "all operands", (),
            both(*(same(front.outputs[name], alone.outputs[name]) for name in names)), tuple(front.inputs.values()),
        )  # fmt: skip

    def _sources(self) -> Iterator[tuple[str, FloatFormat, str, int]]:
        if self.n.window_addend is not None:
            yield "c", self.n.window_addend, "i__c", 0
        yield "partial sum", self.n.result, "i__carried__code", 1

    def _addend_fields(self, ports: Mapping[str, Term], prefix: str) -> tuple[Any, Any, Any]:
        sign, exp, sig = (ports[f"{prefix}__addend__{field}"] for field in ("sign", "exp", "sig"))
        signed = self.n.addend_exp[0] < 0
        return Integer.unsigned(sign), (Integer.signed if signed else Integer.unsigned)(exp), Integer.unsigned(sig)

    def _is_addend(self, outputs: Mapping[str, Term], fmt: FloatFormat, term: ModelTerm) -> Term:
        sign, exp, sig = self._addend_fields(outputs, "o")
        special, within = self._special_as(outputs, term), exactly(exp, *self.n.addend_exp)
        if term.cls not in (Class.NORMAL, Class.ZERO):
            return special
        if term.cls is Class.ZERO:
            return both(special, holds(sig == 0), within)
        kept = self._kept(term)
        normal = both(
            holds(exp == term.exp + self.n.product_bias), holds(sig == kept), holds(sign == term.sign), within
        )
        if not self.lifted:
            return both(special, normal)
        # A lifted subnormal has a hidden bit, if a bit of it is kept at all, one exponent below the least.
        small = holds(as_integer(term.sig) < 1 << fmt.fraction_bits)
        hidden = ite(as_integer(kept) == 0, 0, 1 << self.n.addend_fraction_bits)
        lifted = both(
            holds(exp == term.exp + self.n.product_bias - 1),
            holds(sig == kept + hidden),
            holds(sign == term.sign),
            within,
        )
        return both(special, implies(small, lifted), implies(negated(small), normal))

    def _kept(self, term: ModelTerm) -> object:
        """A term's significand with the fraction bits that count."""
        bits = self.n.addend_fraction_bits - term.fraction_bits
        sig = as_integer(term.sig)
        return sig << bits if bits >= 0 else sig >> -bits


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

    def _passed(self, name: str, circuit: Circuit, outputs: Sequence[str]) -> StructuralClaim:
        """That outputs are the inputs of the same names."""
        return StructuralClaim(
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
        yield StructuralClaim(
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

    def _lifted_is_less(self) -> StructuralClaim:
        """A subnormal addend never has the largest exponent beside a product: its hidden bit may change its own."""
        return StructuralClaim(
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
        yield StructuralClaim(
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
