"""The claims of sums in windows of other kinds than one plain one: two windows, zeros that count, signs of zero.

Between steps stand relations, as between those of a plain window (hwsim/prove/aligned.py); here the terms are the
model's own, zeros included, so that a group needs no cases but that of special terms. What is shown of the terms of a
window holds of each of them, because all build one term.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from hwsim.formats import Class
from hwsim.model import window as window_module
from hwsim.model.aligned import cut_sum
from hwsim.model.even_odd import combine
from hwsim.model.method import sum_zero_sign
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.window import AlignedTerms, align, any_lost, cut_magnitude, low_bits
from hwsim.prove.anyalignment import any_alignment
from hwsim.prove.btor import Circuit
from hwsim.prove.claims import AnyClaim, Claim, FormClaim
from hwsim.prove.explore import Path, paths
from hwsim.prove.logic import (
    Term,
    both,
    constant,
    either,
    implies,
    negated,
    same,
    true,
    width,
)
from hwsim.prove.relations import each, exactly, holds
from hwsim.prove.results import special_result
from hwsim.prove.symbolic import Integer, as_integer, bits_for, ite
from hwsim.prove.windowsteps import WindowStepClaims


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

    def _passed(self) -> Iterator[FormClaim]:
        """What a step does not make leaves as it came."""
        steps = {"maximum": self.parts.maximum, "align": self.parts.align, "sum": self.parts.sum}
        steps |= {} if self.parts.combine is None else {"combine": self.parts.combine}
        steps |= {} if self.parts.cut is None else {"cut": self.parts.cut}
        steps |= {} if self.parts.late is None else {"late": self.parts.late}
        for name, circuit in steps.items():
            same_names = [one for one in circuit.outputs if f"i{one[1:]}" in circuit.inputs and "window" not in one]

            def passed(circuit: Circuit = circuit, names: Sequence[str] = same_names) -> bool:
                return all(circuit.outputs[one] == circuit.inputs[f"i{one[1:]}"] for one in names)

            yield FormClaim(
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

    def _fits(self) -> FormClaim:
        """That totals are the integers that they are counted as."""
        circuit = self.parts.sum

        def fits() -> bool:
            ports = [width(circuit.outputs[f"o__window{window}__total"]) for window in range(self.n.windows)]
            return all(self._total(window).most < 1 << bits - 1 for window, bits in enumerate(ports))

        return FormClaim(
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
