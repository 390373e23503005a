"""The claims of an aligned sum, of a user's design that names the boundaries of our steps.

They are those of our own RTL, but for what a design may have in another way: a term whose significand is zero may have
any exponent; an addend that is subnormal may be lifted, or not; a term in the window may be one number in two's
complement. Which of the first two a design has is found out. What forms do not show the solver is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from hwsim.cosim.dutdesign import largest_number
from hwsim.formats import Class, FloatFormat, Format
from hwsim.model.scales import scale_exponent
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import factor, product
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import fixed
from hwsim.prove.claims import AnyClaim, CasesClaim, Claim, FormClaim, LateClaim
from hwsim.prove.explore import Path, paths
from hwsim.prove.logic import (
    Kind,
    Term,
    as_bit,
    both,
    choose,
    either,
    implies,
    is_one,
    negated,
    op,
    part,
    same,
    substituted,
    true,
    value,
    width,
)
from hwsim.prove.maxima import without_maxima
from hwsim.prove.relations import SPECIAL, StepCircuits, each, exactly, holds
from hwsim.prove.symbolic import Integer, as_integer, ite
from hwsim.rtl.numbers import WindowRanges
from hwsim.spec import Unit, Unpromised, unpromised


class DesignRanges(WindowRanges):
    """The ranges of a design's numbers. lifted: whether subnormal addends have a hidden bit, one exponent further down.

    addend_bits: the fraction bits of its addends.
    """

    def __init__(self, unit: Unit, lifted: bool, addend_bits: int):
        self.lifted, self.addend_bits = lifted, addend_bits
        super().__init__(unit)

    def _has_subnormal_sums(self) -> bool:
        return not self.lifted

    @property
    def addend_fraction_bits(self) -> int:
        """Fraction bits of the addend's significand."""
        return self.addend_bits


class DesignClaims(AlignedClaims):
    """All claims about the steps of a design.

    zeros: `exp` where a product of zero, and no other, has exponent 0; `sig` where its significand alone says so.
    addend: whether the design takes one. carries: whether a term in the window has a bit that completes it.
    constants: ports that always hold one number. container: the design's result, of the last step's inputs.
    """

    n: DesignRanges

    def __init__(
        self,
        unit: Unit,
        parts: StepCircuits,
        ranges: DesignRanges,
        zeros: Literal["exp", "sig"],
        addend: bool,
        carries: bool,
        constants: Mapping[Term, Term],
    ):
        super().__init__(unit, (), parts, ranges)
        self.zeros, self.takes_addend, self.carried, self.constants = zeros, addend, carries, constants

    def claims(self) -> Iterator[AnyClaim]:
        """All of them, with what is always one number in its place."""
        for claim in super().claims():
            yield self.known(claim)
        yield self.known(self._padding())

    def known(self, claim: AnyClaim) -> AnyClaim:
        """A claim, of ports some of which always hold one number."""
        if isinstance(claim, FormClaim):
            asked = claim.otherwise
            return claim if asked is None else replace(claim, otherwise=lambda: self._of_known(asked()))
        if isinstance(claim, CasesClaim):
            cases = claim.cases
            return replace(claim, cases=lambda: map(self._of_known, cases()))
        if isinstance(claim, LateClaim):
            claim = Claim(claim.name, claim.words, claim.over, claim.assumptions, claim.claim, claim.show)
        return self._of_known(claim)

    def _of_known(self, claim: Claim) -> Claim:
        assumptions = tuple(substituted(term, self.constants) for term in claim.assumptions)
        show = tuple(term for term in claim.show if term not in self.constants)
        return replace(claim, assumptions=assumptions, claim=substituted(claim.claim, self.constants), show=show)

    # Products.

    def _products(self) -> Iterator[AnyClaim]:
        yield self.lane_product()
        yield replace(self._lanes_alike(), otherwise=self._lanes_equal)
        yield self._flags_alike()
        yield self._gathered()
        if self._one_infinity:
            yield self._exclusive()

    @property
    def _one_infinity(self) -> bool:
        """Whether no factor can be infinite, so that an addend alone is."""
        return all(fmt.infinity_magnitude is None for fmt in (self.n.a, self.n.b))

    def _exclusive(self) -> Claim:
        outputs = self.parts.products.outputs
        both_signs = both(*(is_one(outputs[f"o__special__{flag}"]) for flag in SPECIAL[1:]))
        return Claim(
            "flags: one infinity", "the flags of both infinities are never set together", "all operands", (),
            negated(both_signs), tuple(self.parts.products.inputs.values()),
        )  # fmt: skip

    def _special(self) -> Iterator[AnyClaim]:
        """As of our own; a design may do anything with infinities of both signs that never meet."""
        flags = [is_one(self.parts.round.inputs[f"i__special__{flag}"]) for flag in SPECIAL[1:]]
        for claim in super()._special():
            if self._one_infinity and isinstance(claim, Claim):
                claim = replace(claim, assumptions=(*claim.assumptions, negated(both(*flags))))
            yield claim

    def lane_product(self) -> Claim:
        """One lane, from the codes of its factors, and of their scales, to its term."""
        circuit, names, operands = self.parts.products, self._lane(0), self.unit.operands
        others = {name: term for name, term in self.neutral.items() if name not in names.values()}
        flags = fixed(circuit, others).outputs
        outputs = {**circuit.outputs, **{f"o__special__{flag}": flags[f"o__special__{flag}"] for flag in SPECIAL}}
        codes = {name: Integer.unsigned(circuit.inputs[port]) for name, port in names.items()}
        known = [*self._padded(self.n.a, codes["a"]), *self._padded(self.n.b, codes["b"])]

        def lane() -> ModelTerm:
            x, y = (
                factor(operands.factor(side), operands.convert, operands.daz, operands.zeros, codes[side])
                for side in ("a", "b")
            )
            scale: Any = 0
            if self.n.scales:
                fmt_a, fmt_b = self.n.scales
                scale = scale_exponent(fmt_a, codes["scale_a"], fmt_b, codes["scale_b"])
            return self.model.scaled(product(x, y, self.n.product_fraction_bits), scale)

        found = [Path(path.condition, self._is_product(outputs, path.result)) for path in paths(lane, known)]
        show = tuple(circuit.inputs[port] for port in names.values())
        return Claim(
            "lane: product", "a lane's term is the model's product, and its flags say what is special",
            "codes of a lane, beside any others", tuple(known), each(found), show,
        )  # fmt: skip

    def _is_product(self, outputs: Mapping[str, Term], term: ModelTerm) -> Term:
        if term.cls is Class.ZERO and self.zeros == "sig":
            sig = Integer.unsigned(outputs["o__terms__0__sig"])
            return both(self._special_as(outputs, term), holds(sig == 0), self._is_term(outputs, 0, "o"))
        return super()._is_product(outputs, term)

    def _is_term(self, ports: Mapping[str, Term], lane: int, prefix: str) -> Term:
        if self.zeros == "exp":
            return super()._is_term(ports, lane, prefix)
        exp, sig = (Integer.unsigned(ports[f"{prefix}__terms__{lane}__{field}"]) for field in ("exp", "sig"))
        within = holds(exp <= self.n.product_most), holds(sig <= self._most_sig)
        return both(*within, implies(holds(sig != 0), holds(exp >= self.n.product_least)))

    def _is_zero(self, exp: Term, sig: Term) -> tuple[Term, ...]:
        if self.zeros == "exp":
            return super()._is_zero(exp, sig)
        return same(sig, value(0, width(sig))), holds(Integer.unsigned(exp) <= self.n.product_most)

    def _exps(self, ports: Mapping[str, Term]) -> list[Any]:
        exps = super()._exps(ports)
        if self.zeros == "exp":
            return exps
        sigs = [Integer.unsigned(ports[f"i__terms__{lane}__sig"]) for lane in range(self.n.lanes)]
        return [ite(sig != 0, exp, 0) for sig, exp in zip(sigs, exps, strict=True)]

    def _lanes_equal(self) -> Claim:
        front, first, wanted = self.parts.products, self._lane(0), []
        for lane in range(1, self.n.lanes):
            by = {front.inputs[first[side]]: front.inputs[name] for side, name in self._lane(lane).items()}
            for field in ("sign", "exp", "sig"):
                term = substituted(front.outputs[f"o__terms__0__{field}"], by)
                wanted.append(same(term, front.outputs[f"o__terms__{lane}__{field}"]))
        return Claim("lanes: products", "", "", (), both(*wanted), tuple(front.inputs.values()))

    # Addends.

    def decoded_addend(self) -> Iterator[Claim]:
        """The claims that say how addends are decoded."""
        return map(self._of_known, super()._addends())

    def _sources(self) -> Iterator[tuple[str, FloatFormat, str, int]]:
        if self.n.window_addend is not None:
            yield "c", self.n.window_addend, "i__c", 0

    def _code_of(self, fmt: Format, port: Term, padded: bool) -> tuple[object, Term]:
        return super()._code_of(fmt, port, padded) if self.takes_addend else (0, true())

    # Groups without a product.

    def _no_product_signs(self) -> AnyClaim:
        circuit = self.parts.maximum
        ports = {name: term for name, term in circuit.inputs.items() if name.startswith("i__terms__")}
        zero = [
            fact
            for lane in range(self.n.lanes)
            for fact in self._is_zero(*(ports[f"i__terms__{lane}__{field}"] for field in ("exp", "sig")))
        ]
        neutral = fixed(self.parts.products, self.neutral).outputs
        by = {term: neutral[f"o{name[1:]}"] for name, term in ports.items()}
        found = circuit.outputs["o__max_exp"]
        return Claim(
            "no product: signs", "what products of zero are changes max_exp in nothing", f"{self.n.lanes} lanes",
            tuple(zero), same(found, substituted(found, by)), tuple(circuit.inputs.values()),
        )  # fmt: skip

    # The window.

    def _maximum(self) -> Iterator[AnyClaim]:
        circuit, n = self.parts.maximum, self.n
        ports, exps = circuit.inputs, self._exps(circuit.inputs)
        if self.zeros == "exp":
            leaves = [ports[f"i__terms__{lane}__exp"] for lane in range(n.lanes)]
            found = without_maxima(circuit.outputs["o__max_exp"], leaves).groups
            if frozenset(leaves) == frozenset().union(*found.values()):  # a tree of all lanes
                yield from super()._maximum()
                return
        _, exp, sig = self._addend_fields(ports, "i")
        some = either(*(holds(one != 0) for one in exps))
        known = (*(self._is_term(ports, lane, "i") for lane in range(n.lanes)), exactly(exp, *n.addend_exp), some)
        yield Claim(
            "maximum", "max_exp is the largest exponent of a term other than zero"
            + ("" if n.floor is None else ", and at least the floor"),
            f"{n.lanes} products, one of them other than zero, and an addend", known,
            self._is_maximum(self._max_exp(circuit.outputs, "o__max_exp"), exps, exp, sig), tuple(ports.values()),
        )  # fmt: skip

    @property
    def _carries(self) -> Literal["sign", "bit", "none"]:
        return super()._carries if self.carried else "none"

    def _can_be_aligned(self, ports: Mapping[str, Term], max_exp: Any, lane: int) -> tuple[Term, ...]:
        if self.zeros == "exp":
            return super()._can_be_aligned(ports, max_exp, lane)
        exp, sig = (Integer.unsigned(ports[f"i__terms__{lane}__{field}"]) for field in ("exp", "sig"))
        below = implies(holds(sig != 0), holds(exp <= max_exp))
        return self._is_term(ports, lane, "i"), exactly(max_exp, *self._beside_products), below

    def _aligned(self) -> Iterator[AnyClaim]:
        for claim in super()._aligned():
            if isinstance(claim, FormClaim) and claim.name == "lanes: aligned":
                claim = replace(claim, otherwise=self._align_equal)
            yield claim

    def _align_equal(self) -> Claim:
        """Every lane makes the same of its term, wherever it can be aligned, or is zero."""
        circuit, wanted = self.parts.align, []
        fields = ("sign", "exp", "sig")
        for lane in range(1, self.n.lanes):
            by = {circuit.inputs[f"i__terms__0__{one}"]: circuit.inputs[f"i__terms__{lane}__{one}"] for one in fields}
            for field in ("ones", "carry"):
                term = substituted(circuit.outputs[f"o__aligned__0__{field}"], by)
                wanted.append(same(term, circuit.outputs[f"o__aligned__{lane}__{field}"]))
        return Claim("lanes: aligned", "", "", (), both(*wanted), tuple(circuit.inputs.values()))

    def _sum(self) -> Iterator[AnyClaim]:
        for claim in super()._sum():
            yield replace(claim, otherwise=self._adds) if isinstance(claim, FormClaim) else claim

    def _adds(self) -> Claim:
        """The sum as a question, of terms within their bounds."""
        circuit, known = self.parts.sum, list[Term]()
        total: Any = 0
        for lane in range(self.n.lanes + 1):
            ones, carry = (circuit.inputs[f"i__aligned__{lane}__{field}"] for field in ("ones", "carry"))
            term = as_integer(Integer.signed(ones))
            match self._carries:
                case "sign":
                    known.append(same(carry, part(ones, width(ones) - 1, 1)))
                    term = as_integer(term + Integer.unsigned(carry))
                case "bit":
                    term = as_integer(term + Integer.unsigned(carry))
                case "none":
                    pass
            known.append(holds(abs(term) <= (self._addend_bound if lane == self.n.lanes else self._most_in_window)))
            total = term + total
        found = holds(Integer.signed(circuit.outputs["o__total"]) == total)
        return Claim("sum", "", "", tuple(known), found, tuple(circuit.inputs.values()))

    # The result.

    def _padding(self) -> Claim:
        """What stands below a result's code."""
        outputs, fmt = self.parts.round.outputs, self.n.result
        whole, nan = outputs["o__result"], outputs["o__nan"]
        low = same(part(whole, 0, fmt.padding), value(0, fmt.padding)) if fmt.padding else true()
        return Claim(
            "result: padding", "below the code of a number there are zeros", "every total", (),
            either(same(nan, value(1, 1)), low), tuple(self.parts.round.inputs.values()),
        )  # fmt: skip


def with_plain_zeros(unit: Unit) -> Unit:
    """A unit; where the signs of its zeros are not promised, that of one plain window whose zeros are all +0."""
    if unpromised(unit).zeros is None:
        return unit
    return unit.model_copy(update={"result": unit.result.model_copy(update={"tiny": "positive"})})


def with_code(circuit: Circuit, unit: Unit, model_nan: int, good: Unpromised) -> Circuit:
    """The last step, with code and NaN of its container `o__result`, as our own has them.

    good: what of the result is not promised: any NaN is the model's then, and -0 is +0.
    """
    fmt = unit.result.format
    assert isinstance(fmt, FloatFormat)
    whole = circuit.outputs["o__result"]
    canonical = value(model_nan, width(whole))
    if (any_nan := good.nans) is not None:
        magnitude = op(Kind.BV_AND, whole, value((any_nan.sign_bit - 1) << any_nan.padding, width(whole)))
        above = largest_number(any_nan)
        whole = choose(op(Kind.BV_UGT, magnitude, value(above, width(whole))), canonical, whole)
    if good.minus_zero is not None:
        zero = value(0, width(whole))
        whole = choose(same(whole, value(good.minus_zero, width(whole))), zero, whole)
    nan = as_bit(same(whole, canonical)) if fmt.is_nan(model_nan >> fmt.padding) else value(0, 1)
    code = part(whole, fmt.padding, fmt.bits)
    return replace(circuit, outputs={"o__result": whole, "o__nan": nan, "o__code": code})


def constant_ports(circuits: Mapping[str, Circuit], fields: Mapping[str, Term]) -> dict[Term, Term]:
    """Ports of steps whose fields always hold one number, and these numbers."""
    return {
        term: fields[name[3:]]
        for circuit in circuits.values()
        for name, term in circuit.inputs.items()
        if name[3:] in fields
    }
