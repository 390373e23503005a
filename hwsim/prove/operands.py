"""The claims of what is summed in one plain window: products, and addends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hwsim.formats import Class, FloatFormat
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import addend_term
from hwsim.prove.circuits import fixed
from hwsim.prove.claims import AnyClaim, Claim
from hwsim.prove.elaborated import datapath_circuits
from hwsim.prove.explore import Path, paths
from hwsim.prove.factors import FactorClaims
from hwsim.prove.logic import Term, both, either, implies, negated, same, value
from hwsim.prove.relations import StepCircuits, each, exactly, holds
from hwsim.prove.symbolic import Integer, as_integer, ite
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
