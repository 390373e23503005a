"""The claims of sums in windows of other kinds than one plain one, step by step."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from hwsim.formats import Class, Format
from hwsim.model import terms as window_module
from hwsim.model.methods import AddendToCome, PartialSum, PromotedRegister, combine, cut_sum, sum_zero_sign
from hwsim.model.terms import AlignedTerms, addend_term, align, any_lost, cut_magnitude, lost_part, low_bits
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.circuits import Circuit, datapath_circuits, fixed
from hwsim.prove.claims import SPECIAL, AnyClaim, Claim, StructuralClaim, WindowsCircuits, each, exactly, holds
from hwsim.prove.factors import FactorClaims
from hwsim.prove.linear import Bounded, Form, Forms, Variable, equal, form
from hwsim.prove.rounding import is_result, special_result
from hwsim.prove.symbolic import Integer, Path, Truth, any_alignment, as_integer, bits_for, ite, paths
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
from hwsim.rtl.arithmetic import lost_bits
from hwsim.rtl.general import GeneralRanges
from hwsim.spec import AlignedSum, Unit, WindowSum
from hwsim.spec.keys import Lost
from hwsim.spec.sums import SumCut


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


@dataclass(frozen=True)
class SumBounds:
    """A window's sum between two steps: |total| <= most in units of 2^(max_exp - bits); nothing where not `any`."""

    most: int
    bits: int
    max_exp: tuple[int, int]


def most_in_window(sig: int, fraction_bits: int, bits: int, lost: Lost) -> int:
    """The most that a significand leaves in a window of so many bits."""
    shift, rule = fraction_bits - bits, lost_bits(lost)
    kept = sig << -shift if shift <= 0 else sig >> shift if rule.truncates else -(-sig >> shift)
    return kept + rule.adds_one


class WindowStepClaims(WindowTermClaims):
    """The claims of the steps behind multiplication."""

    # The largest exponent of a window.

    def _own(self, window: int) -> list[int]:
        """The terms of a window, the addend, `terms`, last."""
        return list(range(self.n.terms + self.n.inner))[window :: self.n.windows]

    def _ports_of(self, at: int) -> str:
        return "inner" if at == self.n.terms else f"terms__{at}"

    def _rivals(self, ports: Mapping[str, Term], window: int) -> list[tuple[Term, Term, Any]]:
        """Of each term: whether it is other than zero, whether it counts, its exponent."""
        found = []
        for at in self._own(window):
            if at == self.n.terms:
                _, exp, sig, there = self._addend_fields(ports, "i__inner")
                nonzero, counts = holds(sig != 0), is_one(there)
            else:
                _, exp, _, bit = self._fields_of(ports, f"i__terms__{at}")
                nonzero, counts = is_one(bit), true()
            found.append((nonzero, counts if self.rule.zero_terms == "count" else nonzero, exp))
        return found

    def _within(self, ports: Mapping[str, Term], at: int) -> Term:
        """What a term is before the largest exponent is found, and after."""
        return self._addend_within(ports, "inner") if at == self.n.terms else self._is_term(ports, at, "i")

    def _maximum(self, window: int) -> Claim:
        circuit = self.parts.maximum
        ports, own = circuit.inputs, self._own(window)
        known = [self._within(ports, at) for at in own]
        found, some = circuit.outputs[f"o__max_exp__{window}"], is_one(circuit.outputs[f"o__any__{window}"])
        rivals = self._rivals(ports, window)
        any_nonzero = either(*(nonzero for nonzero, _, _ in rivals)) if rivals else negated(true())
        exp = self._exp(found, self.n.max_exp)
        right = both(
            same(some, any_nonzero), exactly(exp, *self.n.max_exp), implies(any_nonzero, self._is_maximum(exp, rivals))
        )
        return Claim(
            f"maximum: window {window}", "max_exp is the largest exponent of a term that counts, where there is one"
            + ("" if self.n.floor is None else ", and at least the floor"),
            f"{len(own)} terms", tuple(known), right, tuple(ports.values()),
        )  # fmt: skip

    def _is_maximum(self, found: Any, rivals: Sequence[tuple[Term, Term, Any]]) -> Term:
        most = [implies(counts, holds(found >= exp)) for _, counts, exp in rivals]
        among = [both(counts, holds(found == exp)) for _, counts, exp in rivals]
        if self.n.floor is not None:
            most.append(holds(found >= self.n.floor))
            among.append(holds(found == self.n.floor))
        return both(*most, either(*among))

    # Alignment.

    def _max_exp(self, window: int) -> Any:
        return self._exp(self.parts.align.inputs[f"i__max_exp__{window}"], self.n.max_exp)

    def _aligned(self) -> Iterator[AnyClaim]:
        circuit, n = self.parts.align, self.n
        sign, exp, sig, _ = self._fields_of(circuit.inputs, "i__terms__0")
        term = ModelTerm(
            sign, exp.between(*n.term_exp) - n.bias, sig.between(0, n.term_most), n.term_fraction_bits, Class.NORMAL
        )
        yield self._aligned_term("term: aligned", 0, term, holds(exp <= self._max_exp(0)))
        yield StructuralClaim("terms: aligned", "every term is aligned alike", f"{n.terms} terms", self._align_alike)
        if n.inner:
            sign, exp, sig, _ = self._addend_fields(circuit.inputs, "i__inner")
            span = self._span("inner")
            term = ModelTerm(sign, exp.between(*span) - n.bias, sig, self._fraction_bits("inner"), Class.NORMAL)
            yield self._aligned_term("addend: aligned", n.terms, term, holds(exp <= self._max_exp(0)))

    def _can_be_aligned(self, ports: Mapping[str, Term], at: int, max_exp: Any) -> tuple[Term, ...]:
        """What a term and a max_exp are before alignment."""
        nonzero, _, exp = self._rivals(ports, at % self.n.windows)[at // self.n.windows]
        below = implies(nonzero, holds(exp <= max_exp))
        return self._within(ports, at), exactly(max_exp, *self.n.max_exp), below

    def _aligned_term(self, name: str, at: int, term: ModelTerm, below: Term) -> Claim:
        circuit, n = self.parts.align, self.n
        max_exp = self._max_exp(0)
        known = self._can_be_aligned(circuit.inputs, at, max_exp)
        top = max_exp.between(*n.max_exp) - n.bias
        found = Integer.signed(circuit.outputs[f"o__aligned__{at}"])

        def aligned() -> object:
            if not term.sig:
                return 0
            return align(term, top, self.rule.fraction_bits, self.rule.term_lost)

        right = each([Path(path.condition, holds(found == path.result)) for path in paths(aligned, known)])
        within = both(holds(abs(found) <= self._bound(at)), *self._says_lost(at, term, top, known))
        place = self._ports_of(at)
        show = [term for name, term in circuit.inputs.items() if place in name or "max_exp" in name]
        return Claim(
            name, "it is what the model aligns, and within its bound", "a term at or below max_exp, or zero",
            tuple(known), both(right, within), tuple(show),
        )  # fmt: skip

    def _says_lost(self, at: int, term: ModelTerm, top: Any, known: Sequence[Term]) -> list[Term]:
        """That the bit of a term says whether it lost a 1, where there are such bits."""
        if not self.n.sticky:
            return []
        said = is_one(self.parts.align.outputs[f"o__lost__{at}"])
        found = paths(lambda: lost_part(term, top, self.rule.fraction_bits) if term.sig else 0, known)
        return [each([Path(path.condition, same(said, holds(as_integer(path.result) != 0))) for path in found])]

    def _bound(self, at: int) -> int:
        """The most that a term leaves in its window."""
        n, bits, lost = self.n, self.rule.fraction_bits, self.rule.term_lost
        if at < n.terms:
            return most_in_window(n.term_most, n.term_fraction_bits, bits, lost)
        own = self._fraction_bits("inner")
        return most_in_window((2 << own) - 1, own, bits, lost)

    def _align_alike(self) -> bool:
        circuit, n = self.parts.align, self.n
        for at in range(1, n.terms):
            by = {circuit.inputs[f"i__terms__0__{one}"]: circuit.inputs[f"i__terms__{at}__{one}"]
                  for one in ("sign", "exp", "sig", "nonzero")}  # fmt: skip
            by[circuit.inputs["i__max_exp__0"]] = circuit.inputs[f"i__max_exp__{at % n.windows}"]
            for made in ("aligned", "lost") if self.n.sticky else ("aligned",):
                if substituted(circuit.outputs[f"o__{made}__0"], by) != circuit.outputs[f"o__{made}__{at}"]:
                    return False
        return True

    # The sum.

    def _sum(self, window: int) -> StructuralClaim:
        own = self._own(window)

        def is_sum() -> bool:
            circuit = self.parts.sum
            known, wanted = list[Bounded](), dict[Variable, int]()
            for at in own:
                port = circuit.inputs[f"i__aligned__{at}"]
                top = width(port) - 1
                factors = {Variable(port.symbol(), 0, top): 1, Variable(port.symbol(), top, 1): -(1 << top)}
                known.append(Bounded(factors, -self._bound(at), self._bound(at)))
                wanted |= factors
            total = circuit.outputs[f"o__window{window}__total"]
            passed = all(
                circuit.outputs[f"o__window{window}__{one}"] == circuit.inputs[f"i__{one}__{window}"]
                for one in ("any", "max_exp")
            )
            found = Forms({}, known).of(total) if own else Form(width(total), 0)
            return passed and equal(found, form(width(total), 0, wanted))

        return StructuralClaim(
            f"sum: window {window}", "the total is the sum of its aligned terms, exactly", f"{len(own)} terms", is_sum
        )

    def _total(self, window: int) -> SumBounds:
        return SumBounds(sum(map(self._bound, self._own(window))), self.rule.fraction_bits, self.n.max_exp)

    # Sums of two windows.

    def _after_sum(self) -> Iterator[AnyClaim]:
        if self.parts.combine is not None:
            yield self._combined(self.parts.combine)
        if self.parts.cut is not None:
            yield self._places_cut(self.parts.cut)

    @property
    def _sum_cut(self) -> SumCut | None:
        """The places that the unit's sum loses before it is rounded."""
        return self.rule.cut if isinstance(self.rule, AlignedSum) else None

    @property
    def _summed(self) -> SumBounds:
        """The group's sum."""
        first, cut = self._total(0), self._sum_cut
        if cut is not None:
            return replace(first, most=most_in_window(first.most, cut.bits, 0, cut.lost) << cut.bits)
        if self.n.halves is None:
            return first
        rule = self.n.halves.combine
        most = [most_in_window(self._total(at).most, first.bits, rule.fraction_bits, rule.lost) for at in (0, 1)]
        return SumBounds(sum(most), rule.fraction_bits, first.max_exp)

    def _sum_ports(self, ports: Mapping[str, Term], place: str, what: SumBounds) -> tuple[Any, Term, Any]:
        """A sum's total, whether a term of it is other than zero, and its max_exp."""
        total, some, exp = (ports[f"{place}__{field}"] for field in ("total", "any", "max_exp"))
        return Integer.signed(total), is_one(some), self._exp(exp, what.max_exp)

    def _is_sum(self, ports: Mapping[str, Term], place: str, what: SumBounds) -> Term:
        """What a sum is: the relation between the steps that sum and round."""
        total, some, exp = self._sum_ports(ports, place, what)
        return both(holds(abs(total) <= what.most), exactly(exp, *what.max_exp), either(some, holds(total == 0)))

    def _as_model(self, ports: Mapping[str, Term], place: str, what: SumBounds) -> Callable[[], AlignedTerms]:
        """A sum as the model has it: to be called on a path, with `_is_sum` known."""
        total, some, exp = self._sum_ports(ports, place, what)

        def made() -> AlignedTerms:
            if not Truth(some):
                return AlignedTerms(None, what.bits, (), 0)
            top = exp.between(*what.max_exp) - self.n.bias
            return AlignedTerms(top, what.bits, (), total.between(-what.most, what.most))

        return made

    def _combined(self, circuit: Circuit) -> Claim:
        assert self.n.halves is not None
        rule, halves = self.n.halves.combine, [self._total(at) for at in (0, 1)]
        places = [f"i__window{at}" for at in (0, 1)]
        pairs = list(zip(places, halves, strict=True))
        known = [self._is_sum(circuit.inputs, *pair) for pair in pairs]
        even, odd = (self._as_model(circuit.inputs, *pair) for pair in pairs)
        total, some, exp = self._sum_ports(circuit.outputs, "o__window0", self._summed)

        def right(result: AlignedTerms) -> Term:
            if result.max_exp is None:
                return both(negated(some), holds(total == 0))
            return both(some, holds(total == result.total), holds(exp == result.max_exp + self.n.bias))

        found = paths(lambda: combine(even(), odd(), rule.fraction_bits, rule.lost).combined, known)
        claim = each([Path(path.condition, right(path.result)) for path in found])
        return Claim(
            "combine", "the sum of both halves is the model's, and within its bound", "both totals and max_exp",
            tuple(known), both(claim, self._is_sum(circuit.outputs, "o__window0", self._summed)),
            tuple(term for name, term in circuit.inputs.items() if "window" in name),
        )  # fmt: skip

    def _places_cut(self, circuit: Circuit) -> Claim:
        """What is left of the sum is what the model leaves of it."""
        whole = self._total(0)
        known = [self._is_sum(circuit.inputs, "i__window0", whole)]
        made = self._as_model(circuit.inputs, "i__window0", whole)
        total, some, exp = self._sum_ports(circuit.outputs, "o__window0", self._summed)

        def right(left: AlignedTerms) -> Term:
            if left.max_exp is None:
                return both(negated(some), holds(total == 0))
            return both(some, holds(total == left.total), holds(exp == left.max_exp + self.n.bias))

        found = paths(lambda: cut_sum(made(), self._sum_cut), known)
        claim = each([Path(path.condition, right(path.result)) for path in found])
        return Claim(
            "cut", "what is left of the sum is the model's, and within its bound", "every total and max_exp",
            tuple(known), both(claim, self._is_sum(circuit.outputs, "o__window0", self._summed)),
            tuple(term for name, term in circuit.inputs.items() if "window" in name),
        )  # fmt: skip

    # The result.

    @property
    def _before_round(self) -> SumBounds:
        """What is rounded."""
        return self._summed

    def _rounded(self) -> Claim:
        circuit, n, what = self.parts.round, self.n, self._before_round
        total, _, exp = self._sum_ports(circuit.inputs, "i__window0", what)
        sign = Integer.unsigned(circuit.inputs["i__zero_sign"])
        known = [
            self._is_sum(circuit.inputs, "i__window0", what),
            *(negated(is_one(circuit.inputs[f"i__special__{flag}"])) for flag in SPECIAL),
        ]
        inside, top = total.between(-what.most, what.most), exp.between(*what.max_exp) - n.bias
        lost = [circuit.inputs[f"i__lost__{at}"] for at in range(n.terms + n.inner)] if n.sticky else []
        sticky: Any = Truth(either(*map(is_one, lost))) if lost else False

        def rounded() -> object:
            if not inside:
                return self.model.rounding.total(0, None, 1 if sign else 0).code
            return self.model.rounding.total(inside, top - what.bits, 0, sticky).code

        is_code = is_result(circuit, n.result, self.model.nan)
        right = each([Path(path.condition, is_code(path.result)) for path in paths(rounded, known)])
        return Claim(
            "result", "the code is the model's rounding of the total", "every total within its bound, every max_exp",
            tuple(known), right, tuple(term for name, term in circuit.inputs.items() if "special" not in name),
        )  # fmt: skip


class WindowsClaims(WindowStepClaims):
    """All claims about the datapath of a unit that sums in windows."""

    @property
    def chain(self) -> Sequence[Circuit]:
        """The datapath, one circuit after another."""
        parts = self.parts
        steps = (parts.decode, parts.multiply, parts.maximum, parts.align, parts.sum)
        after = (parts.combine, parts.cut, parts.late)
        return *steps, *(step for step in after if step is not None), parts.round

    def claims(self) -> Iterator[AnyClaim]:
        """In the order of the steps; then of the cases and of the whole."""
        yield from self._terms()
        yield from self._addends()
        yield from self._zero_sign()
        for window in range(self.n.windows):
            yield self._maximum(window)
        yield from self._aligned()
        for window in range(self.n.windows):
            yield self._sum(window)
        yield from self._after_sum()
        yield self._rounded()
        yield special_result(self.parts.round, self.model.rounding, self.n.result, self._never)
        yield from self._passed()
        yield from self._composition()

    # How the steps compose.

    def _passed(self) -> Iterator[StructuralClaim]:
        """What a step does not make leaves as it came."""
        steps = {"maximum": self.parts.maximum, "align": self.parts.align, "sum": self.parts.sum}
        steps |= {} if self.parts.combine is None else {"combine": self.parts.combine}
        steps |= {} if self.parts.cut is None else {"cut": self.parts.cut}
        steps |= {} if self.parts.late is None else {"late": self.parts.late}
        for name, circuit in steps.items():
            same_names = [one for one in circuit.outputs if f"i{one[1:]}" in circuit.inputs and "window" not in one]

            def passed(circuit: Circuit = circuit, names: Sequence[str] = same_names) -> bool:
                return all(circuit.outputs[one] == circuit.inputs[f"i{one[1:]}"] for one in names)

            yield StructuralClaim(
                f"{name}: passed on", "what the step does not make leaves as it came", f"{len(same_names)} signals",
                passed,
            )  # fmt: skip

    def _composition(self) -> Iterator[AnyClaim]:
        yield self._before_alignment()
        yield self._fits()
        yield from self._groups()

    def _before_alignment(self) -> Claim:
        """What terms and the maxima are is what alignment takes of every one of them."""
        ports, wanted, known = self.parts.maximum.inputs, list[Term](), list[Term]()
        show = list(ports.values())
        for window in range(self.n.windows):
            found = Integer.signed(constant(f"composition.max_exp{window}", bits_for(*self.n.max_exp)))
            rivals = self._rivals(ports, window)
            some = either(*(nonzero for nonzero, _, _ in rivals)) if rivals else negated(true())
            known += [self._within(ports, at) for at in self._own(window)]
            known += [exactly(found, *self.n.max_exp), implies(some, self._is_maximum(found, rivals))]
            wanted += [one for at in self._own(window) for one in self._can_be_aligned(ports, at, found)]
            show.append(found.term)
        return Claim(
            "composition: alignment", "what terms and max_exp are is what alignment takes",
            f"{self.n.terms} terms and an addend", tuple(known), both(*wanted), tuple(show),
        )  # fmt: skip

    def _fits(self) -> StructuralClaim:
        """That totals are the integers that they are counted as."""
        circuit = self.parts.sum

        def fits() -> bool:
            ports = [width(circuit.outputs[f"o__window{window}__total"]) for window in range(self.n.windows)]
            return all(self._total(window).most < 1 << bits - 1 for window, bits in enumerate(ports))

        return StructuralClaim(
            "composition: sum", "the bounds of all terms together fit the total", f"{self.n.terms} terms", fits
        )

    def _groups(self) -> Iterator[AnyClaim]:
        """The model's group is its functions, one after another: largest exponent, alignment, sum."""
        yield self._zero_aligned()
        n = self.n
        if len({fmt.fraction_bits for fmt in n.inner_formats}) > 1 and n.subgroup is None:
            yield self._trailing_term()
        last = n.terms - 1
        classes = (Class.NORMAL, Class.ZERO)
        every = dict.fromkeys((0, min(1, last), last))
        addends: Sequence[Class | None] = (*classes, None) if n.inner else (None,)
        wanted, known, show = list[Term](), list[Term](), list[Term]()
        exps = {}
        for place in (*every, n.terms):
            span = n.term_exp if place < n.terms else self._span("inner") if n.inner else n.term_exp
            exp = Integer.signed(constant(f"group.exp{place}", bits_for(*span)))
            known.append(exactly(exp, *span))
            show.append(exp.term)
            exps[place] = exp.between(*span) - n.bias
        with any_alignment(window_module, sys.modules[__name__]):
            for chosen in product(*(classes for _ in every), addends):
                *own, of_addend = chosen
                by_place = dict(zip(every, own, strict=True))
                terms = [self._some_term(place, exps.get(place), by_place.get(place)) for place in range(n.terms)]
                addend = None
                if of_addend is not None:
                    bits = self._fraction_bits("inner")
                    sig = (2 << bits) - 1 if of_addend is Class.NORMAL else 0
                    addend = ModelTerm(1, exps[n.terms], sig, bits, of_addend)
                same_group = paths(lambda terms=terms, addend=addend: self._same_group(terms, addend), known)  # type: ignore[misc]
                wanted.append(each(same_group))
        yield Claim(
            "composition: model", "the model's group is its largest exponents, alignment and sums, one after another",
            f"{len(every)} terms of any exponents, zero or not, other terms of zero, and an addend", tuple(known),
            both(*wanted), tuple(show),
        )  # fmt: skip

    def _some_term(self, place: int, exp: Any, cls: Class | None) -> ModelTerm:
        """A term of the group that composition is shown of. exp, cls: None of one that is zero."""
        sig, exp = (
            (self.n.term_most if cls is Class.NORMAL else 0),
            self.n.term_exp[0] - self.n.bias if exp is None else exp,
        )
        return ModelTerm(place % 2, exp, sig, self.n.term_fraction_bits, cls or Class.ZERO)

    def _trailing_term(self) -> Claim:
        """A term leaves in a window what twice its significand does with one more fraction bit."""
        n, bits, lost = self.n, self.rule.fraction_bits, self.rule.term_lost
        spans = [
            (n.term_exp[0], n.term_fraction_bits),
            *([(self._span("inner")[0], self._fraction_bits("inner"))] if n.inner else []),
        ]
        low, high = -bits, max(n.max_exp[1] - least + own for least, own in spans) - bits
        most = max(n.term_most, (2 << self._fraction_bits("inner")) - 1 if n.inner else 0)
        sigs, shifts = constant("trailing.sig", most.bit_length()), constant("trailing.shift", bits_for(low, high))
        sig, shift = Integer.unsigned(sigs), Integer.signed(shifts)
        known = [holds(sig <= most), exactly(shift, low, high)]
        inside, places = sig.between(0, most), shift.between(low, high)

        def same_left() -> Term:
            left = [[cut_magnitude(inside << one, places + one, sign, lost) for one in (0, 1)] for sign in (0, 1)]
            below = [holds(as_integer(low_bits(inside << one, places + one)) != 0) for one in (0, 1)]
            return both(*(holds(as_integer(first) == second) for first, second in left), same(*below))

        return Claim(
            "composition: trailing zeros", "a term leaves what twice as much of half its unit does", "every term",
            tuple(known), each(paths(same_left, known)), (sigs, shifts),
        )  # fmt: skip

    def _zero_aligned(self) -> Claim:
        """What the model aligns of a term of zero, wherever it stands."""
        low, high = self.n.max_exp
        exp, top = (Integer.signed(constant(f"zero.{name}", bits_for(low, high))) for name in ("exp", "max_exp"))
        known = [exactly(exp, low, high), exactly(top, low, high)]
        wanted = []
        for sign in (0, 1):
            term = ModelTerm(sign, exp, 0, self.n.term_fraction_bits, Class.ZERO)
            found = paths(lambda term=term: align(term, top, self.rule.fraction_bits, self.rule.term_lost), known)  # type: ignore[misc]
            wanted.append(each([Path(path.condition, holds(as_integer(path.result) == 0)) for path in found]))
        return Claim(
            "composition: zero", "a term of zero leaves nothing in a window", "both signs, every exponent and max_exp",
            tuple(known), both(*wanted), (exp.term, top.term),
        )  # fmt: skip

    def _same_group(self, terms: Sequence[ModelTerm], addend: ModelTerm | None) -> Term:
        """That the model's sum of a group is that of the steps."""
        summed = self.model._method.sum(terms, addend, None)
        every = terms if addend is None else (*terms, addend)
        total = summed.total if summed.uncut is None else summed.uncut
        whole = AlignedTerms(summed.max_exp, summed.bits, summed.aligned, total)
        rule, halves = self.n.halves, summed.halves
        windows: tuple[AlignedTerms, ...] = (whole,)
        right = [holds(as_integer(cut_sum(whole, self._sum_cut).total) == summed.total)]
        if rule is not None and halves is not None:
            windows = halves.even, halves.odd
            again = combine(halves.even, halves.odd, rule.combine.fraction_bits, rule.combine.lost).combined
            right += [holds(as_integer(again.total) == summed.total), holds(again.fraction_bits == summed.bits)]
            right.append(self._same_number(again.max_exp, summed.max_exp))
        right += [self._is_window(window, every[at :: len(windows)]) for at, window in enumerate(windows)]
        right.append(self._same_number(whole.unit_exp, summed.unit_exp))
        if self.n.sticky:
            right.append(same(holds(summed.sticky), holds(any_lost(every, whole))))
        outcome = summed.outcome
        if outcome.cls is Class.NORMAL:
            signed = ite(as_integer(outcome.sign) == 1, -as_integer(outcome.sig), outcome.sig)
            right += [holds(as_integer(signed) == summed.total), self._same_number(outcome.exp, summed.unit_exp)]
        else:
            sign = sum_zero_sign(every, self.rule.zero, self.unit.result.rounding)
            right += [holds(as_integer(summed.total) == 0), holds(outcome.sign == sign)]
        return both(*right, holds(outcome.fraction_bits == 0), holds(outcome.cls in (Class.NORMAL, Class.ZERO)))

    @staticmethod
    def _same_number(first: Any, second: Any) -> Term:
        """That two numbers are equal, or both missing."""
        if first is None or second is None:
            return holds(first is second)
        return holds(as_integer(first) == second)

    def _is_window(self, found: AlignedTerms, terms: Sequence[ModelTerm]) -> Term:
        """That a window is what the claims of steps say of its terms."""
        rule = self.rule
        if all(term.cls is Class.ZERO for term in terms):
            return both(holds(found.max_exp is None), holds(as_integer(found.total) == 0))
        counted = [term for term in terms if term.cls is Class.NORMAL or rule.zero_terms == "count"]
        top: Any = counted[0].exp
        for term in counted[1:]:
            top = ite(as_integer(term.exp) > top, term.exp, top)
        if self.n.floor is not None:
            least = self.n.floor - self.n.bias
            top = ite(as_integer(top) >= least, top, least)
        if found.max_exp is None:
            return negated(true())
        left = [align(term, found.max_exp, rule.fraction_bits, rule.term_lost) for term in terms]
        return both(
            holds(as_integer(found.max_exp) == top), holds(as_integer(found.total) == sum(left)),
            holds(found.fraction_bits == (rule.fraction_bits)),
        )  # fmt: skip
