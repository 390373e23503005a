"""The claims of the steps of windows of other kinds: maxima, alignment, sums of one window or two, and the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hwsim.formats import Class
from hwsim.model.aligned import cut_sum
from hwsim.model.even_odd import combine
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.window import AlignedTerms, align, lost_part
from hwsim.prove.btor import Circuit
from hwsim.prove.claims import AnyClaim, Claim, FormClaim
from hwsim.prove.explore import Path, paths
from hwsim.prove.linear import Bounded, Form, Forms, Variable, equal, form
from hwsim.prove.logic import (
    Term,
    both,
    either,
    implies,
    is_one,
    negated,
    same,
    substituted,
    true,
    width,
)
from hwsim.prove.relations import SPECIAL, each, exactly, holds
from hwsim.prove.results import is_result
from hwsim.prove.symbolic import Integer, Truth, as_integer
from hwsim.prove.windowterms import WindowTermClaims
from hwsim.rtl.lost import lost_bits
from hwsim.spec import AlignedSum
from hwsim.spec.keys import Lost
from hwsim.spec.sums import SumCut


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
        yield FormClaim("terms: aligned", "every term is aligned alike", f"{n.terms} terms", self._align_alike)
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

    def _sum(self, window: int) -> FormClaim:
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

        return FormClaim(
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
