"""The claims of the terms of windows: products, addends as terms, and the sign of a sum of zero.

A term leaves as what the model has: sign, exponent and significand, and `nonzero` where it is of a class other than
zero. The exponent of a zero is that of its factors, too, because zeros may count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hwsim.formats import Class, Format
from hwsim.model.carried import AddendToCome, PartialSum, PromotedRegister
from hwsim.model.method import sum_zero_sign
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import addend_term
from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import fixed
from hwsim.prove.claims import AnyClaim, Claim
from hwsim.prove.elaborated import datapath_circuits
from hwsim.prove.explore import Path, paths
from hwsim.prove.factors import FactorClaims
from hwsim.prove.logic import Term, both, implies, is_one, negated, same, true, value, width
from hwsim.prove.relations import WindowsCircuits, each, exactly, holds
from hwsim.prove.symbolic import Integer
from hwsim.rtl.generalranges import GeneralRanges
from hwsim.spec import Unit, WindowSum


class WindowTermClaims(FactorClaims[GeneralRanges]):
    """All claims about what the sums of windows are of."""

    zero_exponents = True

    def __init__(self, unit: Unit, cuts: Sequence[str] = (), steps: Mapping[str, Circuit] | None = None):
        self.parts = WindowsCircuits.joined(datapath_circuits(unit, cuts) if steps is None else steps)
        super().__init__(unit, GeneralRanges(unit), self.parts, cuts)
        assert isinstance(unit.sum, WindowSum)
        self.rule = unit.sum

    # Products.

    def _terms(self) -> Iterator[AnyClaim]:
        yield self._factor("a")
        yield self._factor("b")
        if self.n.scales:
            yield self._scales()
        yield self._product()
        yield self._lanes_alike(("sign", "exp", "sig", "nonzero"))
        yield self._flags_alike()
        yield self._gathered()

    def _product(self) -> Claim:
        known, lane = self._lane_product()
        outputs = self._lane_flags(self.front.multiply)

        def is_product(term: ModelTerm) -> Term:
            special = self._special_as(outputs, term)
            return special if term.cls in (Class.NAN, Class.INFINITY) else both(special, self._is_model(outputs, term))

        found = [Path(path.condition, is_product(path.result)) for path in paths(lane, known)]
        show = [term for name, term in self.front.multiply.inputs.items() if "__0" in name]
        return Claim(
            "lane: product", "a lane's term is the model's product, and its flags say what is special",
            "decoded factors of a lane", tuple(known), each(found), tuple(show),
        )  # fmt: skip

    def _is_model(self, outputs: Mapping[str, Term], term: ModelTerm) -> Term:
        """That the first term is the model's, in the significand's units of the RTL."""
        sign, exp, sig, nonzero = self._fields_of(outputs, "o__terms__0")
        right = [sign == term.sign, exp == term.exp + self.n.bias, sig == term.sig]
        said = same(is_one(nonzero), true() if term.cls is Class.NORMAL else negated(true()))
        return both(*map(holds, right), said, self._is_term(outputs, 0, "o"))

    def _fields_of(self, ports: Mapping[str, Term], place: str) -> tuple[Any, Any, Any, Term]:
        sign, exp, sig, nonzero = (ports[f"{place}__{field}"] for field in ("sign", "exp", "sig", "nonzero"))
        return Integer.unsigned(sign), self._exp(exp, self.n.term_exp), Integer.unsigned(sig), nonzero

    @staticmethod
    def _exp(port: Term, span: tuple[int, int]) -> Any:
        """An exponent, in a port that has a sign where its least needs one."""
        return (Integer.signed if span[0] < 0 else Integer.unsigned)(port)

    def _is_term(self, ports: Mapping[str, Term], at: int, prefix: str) -> Term:
        """What each term is that is not special: the relation between multiplication and what follows."""
        _, exp, sig, nonzero = self._fields_of(ports, f"{prefix}__terms__{at}")
        return both(
            exactly(exp, *self.n.term_exp), holds(sig <= self.n.term_most), implies(holds(sig != 0), is_one(nonzero))
        )

    # Addends.

    @property
    def _addend_formats(self) -> dict[str, Sequence[Format]]:
        """The formats of the codes of each addend: of the window, and of one that is added late."""
        n = self.n
        inner: dict[str, Sequence[Format]] = {"inner": n.inner_formats} if n.inner else {}
        return inner | ({"outer": n.late_formats} if n.late_formats else {})

    def _addends(self) -> Iterator[Claim]:
        alone = fixed(self.front.products, self._quiet)
        for name in self._addend_formats:
            if name == "inner" and self.n.late is not None:
                yield self._zero_addend(alone.outputs)
                continue
            for source, fmt, port, chain in self._sources():
                outputs = fixed(alone, {"i__chain": value(chain, 1)}).outputs
                code, clean = self._code_of(fmt, self.front.products.inputs[port], padded=source == "c")

                def term(fmt: Format = fmt, code: Any = code, first: bool = not chain) -> ModelTerm:
                    return addend_term(fmt, self.model._input(code) if first else code)

                found = [
                    Path(path.condition, self._is_addend(outputs, name, path.result, True))
                    for path in paths(term, [clean])
                ]
                yield Claim(
                    f"addend: {source}", "it is the model's term, moved to the products' exponents",
                    f"codes of {fmt.name}", (clean,), each(found), (self.front.products.inputs[port],),
                )  # fmt: skip
            if self.n.addend is None:
                outputs = fixed(alone, {"i__chain": value(0, 1)}).outputs
                start = self.model._addend_of(self._first())
                there, zero = start is not None, self.model.partial(0) if start is None else start
                yield Claim(
                    "addend: none", "a group that continues nothing adds +0, or nothing", "all that is carried",
                    (), self._is_addend(outputs, name, zero, there), tuple(self.front.products.inputs.values()),
                )  # fmt: skip
        names = [f"o__{name}__{field}" for name in self._addend_formats for field in ("sign", "exp", "sig", "there")]
        if names:
            front = self.front.products
            yield Claim(
                "addend: alone", "factors and scales do not change the addend", "all operands", (),
                both(*(same(front.outputs[name], alone.outputs[name]) for name in names)), tuple(front.inputs.values()),
            )  # fmt: skip

    def _first(self) -> PartialSum:
        """What the model's first group starts from."""
        carried = self.model.open(0)
        return carried.partial if isinstance(carried, PromotedRegister | AddendToCome) else carried

    def _sources(self) -> Iterator[tuple[str, Format, str, int]]:
        if self.n.addend is not None:
            yield "c", self.n.addend, "i__c", 0
        yield "partial sum", self.n.result, "i__carried__code", 1

    def _zero_addend(self, outputs: Mapping[str, Term]) -> Claim:
        return Claim(
            "addend: zero", "where the addend comes late, a group adds +0", "all operands", (),
            self._is_addend(outputs, "inner", self.model.partial(0), True, flags=False),
            tuple(self.front.products.inputs.values()),
        )  # fmt: skip

    def _addend_fields(self, ports: Mapping[str, Term], place: str) -> tuple[Any, Any, Any, Term]:
        sign, exp, sig, there = (ports[f"{place}__{field}"] for field in ("sign", "exp", "sig", "there"))
        span = self._span(place.split("__")[1])
        return Integer.unsigned(sign), self._exp(exp, span), Integer.unsigned(sig), there

    def _span(self, name: str) -> tuple[int, int]:
        """The ends of an addend's exponents."""
        return self.n.addend_span(self._addend_formats[name])

    def _fraction_bits(self, name: str) -> int:
        return max(fmt.fraction_bits for fmt in self._addend_formats[name])

    def _is_addend(
        self, outputs: Mapping[str, Term], name: str, term: ModelTerm, there: bool, flags: bool = True
    ) -> Term:
        sign, exp, sig, said = self._addend_fields(outputs, f"o__{name}")
        special = self._special_as(outputs, term) if flags else true()
        if term.cls in (Class.NAN, Class.INFINITY):
            return both(special, self._is_there(outputs, f"o__{name}"))
        more = self._fraction_bits(name) - term.fraction_bits
        right = [sign == term.sign, exp == term.exp + self.n.bias, sig == term.sig << more]
        return both(special, *map(holds, right), same(said, value(there, 1)), self._is_there(outputs, f"o__{name}"))

    def _is_there(self, ports: Mapping[str, Term], place: str) -> Term:
        """What every addend is, special or not: what is not there is zero. The relation with what follows."""
        _, _, sig, there = self._addend_fields(ports, place)
        return implies(holds(sig != 0), is_one(there))

    def _addend_within(self, ports: Mapping[str, Term], name: str) -> Term:
        """What an addend is that is not special."""
        _, exp, _, _ = self._addend_fields(ports, f"i__{name}")
        return both(exactly(exp, *self._span(name)), self._is_there(ports, f"i__{name}"))

    # The sign of zero.

    def _zero_sign(self) -> Iterator[Claim]:
        """The sign of a sum of zero is that of the model, of all terms and of the addends that there are."""
        outputs = self.front.multiply.outputs
        signs = [outputs[f"o__terms__{at}__sign"] for at in range(self.n.terms)]
        addends = [self._addend_fields(outputs, f"o__{name}") for name in self._addend_formats]
        there = [is_one(one[3]) for one in addends]
        for words, present in (("", True), (": no addend", False)):
            if not present and not addends:
                continue
            every = [Integer.unsigned(sign) for sign in signs] + [one[0] for one in addends if present]
            terms = [ModelTerm(sign, 0, 0, 0, Class.ZERO) for sign in every]
            found = paths(lambda terms=terms: sum_zero_sign(terms, self.rule.zero, self.unit.result.rounding))  # type: ignore[misc]
            right = [
                Path(path.condition, holds(Integer.unsigned(outputs["o__zero_sign"]) == path.result)) for path in found
            ]
            known = tuple(one if present else negated(one) for one in there)
            yield Claim(
                f"sign of zero{words}", "a sum of zero has the model's sign", f"the signs of {len(terms)} terms", known,
                each(right), tuple(term for term in self.front.multiply.inputs.values() if width(term) == 1),
            )  # fmt: skip
            if self.rule.zero == "positive":
                return
