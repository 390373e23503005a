"""The definition with a flaw in it: what a design with a mistake returns, stage by stage as the model does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import assert_never

from hwsim.cases.case import Case, term_scales
from hwsim.explain.mistakes.flaw import NO_FLAW, Flaw, Side
from hwsim.explain.mistakes.rounding import FlawedRounding, flawed_float
from hwsim.formats import Class, Fields, FloatFormat, Format
from hwsim.model.definition import MOST_FACTORS, Definition, GroupOperands
from hwsim.model.methods import (
    Addition,
    Exact,
    Pairwise,
    RoundedAdditions,
    Sequential,
    Summed,
    SumMethod,
    cut_sum,
    method_of,
    sum_zero_sign,
)
from hwsim.model.rounding import combine_specials, exact_sum, infinity_code, nan_code, pack, zero_sign
from hwsim.model.terms import AlignedTerms, Term, align, any_lost, cut_magnitude, factor, max_exponent
from hwsim.spec import (
    AlignedSum,
    EvenOddSum,
    ExactSum,
    PairwiseSum,
    ReadAlignedSum,
    RoundedSum,
    SequentialSum,
    Unit,
)
from hwsim.spec.keys import Rounding

SIDES: tuple[Side, Side] = ("a", "b")
PASSED = ("rounded addend", "sum")  # names of roundings that only pass a number on


class FlawedDefinition(Definition):
    """A unit's arithmetic with a flaw. What the places of `Flaw` do not reach is as specified.

    Raises NotImplementedYet for a unit that the model does not have.
    """

    def __init__(self, unit: Unit, flaw: Flaw):
        super().__init__(unit)
        self.flaw = flaw
        operands = unit.operands
        self._factor_a, self._factor_b = (
            lru_cache(MOST_FACTORS)(partial(self._decoded, side, fmt))
            for side, fmt in zip(SIDES, (operands.a, operands.b), strict=True)
        )
        if not isinstance(unit.sum, RoundedSum):  # there the last adder has rounded, with the flaw
            self.rounding = FlawedRounding(unit.result, flaw)
        self._method = _method(unit, flaw)

    def _decoded(self, side: Side, fmt: Format, code: int) -> Fields:
        operands = self.unit.operands
        own = operands.a if side == "a" else operands.b
        fields = factor(own, operands.convert, operands.daz, operands.zeros, code)
        return self.flaw.factor(side, fmt, code, fields)

    def addend(self, code: int) -> Term | None:
        """As in `Definition`."""
        term, fmt = super().addend(code), self.unit.operands.addend
        return None if term is None or fmt is None else self.flaw.addend(fmt, code, term)

    def partial(self, code: int) -> Term:
        """As in `Definition`."""
        return self.flaw.addend(self.unit.result.format, code, super().partial(code))

    def product(self, a: int, b: int, scale_exp: int | None = 0) -> Term:
        """As in `Definition`."""
        if type(self.flaw).product is Flaw.product:
            return super().product(a, b, scale_exp)
        term = self.flaw.product(self._factor_a(a), self._factor_b(b), super().product(a, b, 0))
        return self.scaled(term, scale_exp)

    def products(self, lanes: GroupOperands, scale_exp: Sequence[int | None]) -> tuple[Term, ...]:
        """As in `Definition`."""
        return self.flaw.products(super().products(lanes, scale_exp))

    def _recorded(self, decoded: Callable[[int], Fields], codes: Sequence[int]) -> tuple[Fields, ...]:
        """None: nobody reads the record."""
        return ()

    def code_of(self, case: Case, before: int | None = None) -> int:
        """The result's code for a case. before: the design's result before, None where nobody knows it."""
        unit = self.unit
        taken = self.flaw.case(unit, case, before)
        return self.flaw.code(unit, self.dot(taken.a, taken.b, taken.c, *term_scales(unit, taken)).code)


@lru_cache(maxsize=512)
def flawed_definition(unit: Unit, flaw: Flaw) -> FlawedDefinition:
    """A unit's arithmetic with a flaw, kept for the next call."""
    return FlawedDefinition(unit, flaw)


def _method(unit: Unit, flaw: Flaw) -> SumMethod:
    """How a design with a flaw sums the terms of a group."""
    match unit.sum:
        case ReadAlignedSum() | EvenOddSum():
            return method_of(unit)
        case AlignedSum() as rule:
            return _FlawedWindow(rule, unit.result.rounding, flaw)
        case ExactSum() as rule:
            return _FlawedExact(rule, unit.result.rounding, flaw)
        case SequentialSum() as rule:
            return _FlawedChain(rule, flaw)
        case PairwiseSum() as rule:
            return _FlawedTree(rule, flaw)
        case _:
            assert_never(unit.sum)


def _with_sign(flaw: Flaw, total: int, unit_exp: int, terms: Sequence[Term], sign: int) -> Term:
    """A sum as a term; of a sum of zero `sign` is what is specified."""
    if total:
        return Term(int(total < 0), unit_exp, abs(total), 0, Class.NORMAL)
    return Term(flaw.zero_sign(sign, tuple(terms)), unit_exp, 0, 0, Class.ZERO)


class _FlawedWindow(SumMethod):
    """The method `aligned`."""

    def __init__(self, rule: AlignedSum, rounding: Rounding, flaw: Flaw):
        self.rule, self.rounding, self.flaw = rule, rounding, flaw

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """As in `SumMethod`."""
        rule, flaw = self.rule, self.flaw
        every = terms if addend is None else (*terms, addend)
        special = flaw.special(special, tuple(every))
        if special is not None:
            return Summed(special, aligned=(0,) * len(every), bits=rule.fraction_bits)
        max_exp = max_exponent(every, rule.zero_terms, rule.max_exp_floor)
        if max_exp is None:
            return Summed(_with_sign(flaw, 0, 0, every, sum_zero_sign(every, rule.zero, self.rounding)))
        max_exp = flaw.max_exp(max_exp, tuple(terms), addend)
        shifted = [term._replace(exp=max_exp - flaw.distance(max_exp - term.exp)) for term in every]
        aligned = tuple(self._aligned(term, max_exp) for term in shifted)
        sticky = rule.sticky and any_lost(shifted, AlignedTerms(max_exp, rule.fraction_bits, aligned, 0))
        aligned = flaw.aligned(aligned, len(terms))
        unit_exp = max_exp - rule.fraction_bits
        whole = flaw.total(sum(aligned), unit_exp)
        total = cut_sum(AlignedTerms(max_exp, rule.fraction_bits, aligned, whole), rule.cut).total
        outcome = _with_sign(flaw, total, unit_exp, every, sum_zero_sign(every, rule.zero, self.rounding))
        return Summed(outcome, total, unit_exp, max_exp, aligned, rule.fraction_bits, sticky=sticky)

    def _aligned(self, term: Term, max_exp: int) -> int:
        """A term in units of the window's last place."""
        rule = self.rule
        made = self.flaw.align(term, max_exp, rule.fraction_bits)
        return align(term, max_exp, rule.fraction_bits, rule.term_lost) if made is None else made


class _FlawedExact(Exact):
    """The method `exact`."""

    def __init__(self, rule: ExactSum, rounding: Rounding, flaw: Flaw):
        super().__init__(rule, rounding)
        self.flaw = flaw

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """As in `SumMethod`."""
        every = terms if addend is None else (*terms, addend)
        special = self.flaw.special(special, tuple(every))
        if special is not None:
            return Summed(special)
        total, unit_exp = exact_sum(every)
        total = self.flaw.total(total, unit_exp)
        sign = sum_zero_sign(every, self.rule.zero, self.rounding)
        return Summed(_with_sign(self.flaw, total, unit_exp, every, sign), total, unit_exp)


def _flawed_add(rule: RoundedSum, flaw: Flaw, terms: tuple[Term, ...], fused: bool) -> int:
    """The sum of one or two terms, rounded, as `hwsim.model.rounding.add` has it."""
    fmt, special = rule.format, flaw.special(combine_specials(terms), terms)
    if special is not None:
        return nan_code(fmt) if special.cls is Class.NAN else infinity_code(fmt, special.sign, rule.overflow)
    total, unit_exp = exact_sum(_aligned_pair(terms, flaw, fmt, fused))
    total = flaw.total(total, unit_exp)
    if total == 0:
        return pack(fmt, flaw.zero_sign(zero_sign(terms, rule.rounding), terms) & fmt.signed_zero, 0)
    number = int(total < 0), abs(total), unit_exp
    return flawed_float(flaw, fmt, number, rule.rounding, rule.overflow, flush=rule.flushes).code


def _aligned_pair(terms: tuple[Term, ...], flaw: Flaw, fmt: FloatFormat, fused: bool) -> tuple[Term, ...]:
    """Two terms that an adder has aligned: the smaller one may be shifted wrongly, and may have lost bits."""
    if len(terms) != 2 or any(term.cls is not Class.NORMAL for term in terms):
        return terms
    # Products enter a fused addition normalised; what a format holds is compared by its exponent field.
    leading = [term.sig.bit_length() - 1 + term.exp - term.fraction_bits if fused else term.exp for term in terms]
    small = int(leading[0] >= leading[1])
    term, top, distance = terms[small], leading[1 - small], leading[1 - small] - leading[small]
    if flaw.dropped(distance, addend=small == 0):
        return (terms[1 - small],)
    shifted = term._replace(exp=term.exp + distance - flaw.distance(distance))
    cut = flaw.cut(fmt.fraction_bits + 1, terms[0].sign != terms[1].sign)
    if cut is not None:
        unit_exp = top - cut.bits
        shift = unit_exp - (shifted.exp - shifted.fraction_bits)
        if shift > 0:
            kept = cut_magnitude(shifted.sig, shift, shifted.sign, cut.lost)
            shifted = Term(shifted.sign, unit_exp, kept, 0, Class.NORMAL)
    return (terms[0], shifted) if small else (shifted, terms[1])


class _FlawedAdditions(RoundedAdditions):
    """Additions of a design with a flaw."""

    def __init__(self, rule: RoundedSum, flaw: Flaw):
        super().__init__(rule)
        self.flaw = flaw

    def add(self, name: str, *terms: Term) -> Addition:
        """As in `RoundedAdditions`; an addend, and a sum that is no addition's, pass no adder."""
        if name in PASSED:
            return super().add(name, *terms)
        flaw = self.flaw.of_products if name.startswith("rounded ") else self.flaw
        return Addition(name, terms, _flawed_add(self.rule, flaw, terms, self.fused))


class _FlawedChain(_FlawedAdditions, Sequential):
    """The method `sequential`."""


class _FlawedTree(_FlawedAdditions, Pairwise):
    """The method `pairwise`."""


def code_of(unit: Unit, flaw: Flaw, case: Case, before: int | None = None) -> int:
    """The result code of a unit with a flaw for a case. before: the design's result before."""
    return flawed_definition(unit, flaw).code_of(case, before)


__all__ = ["NO_FLAW", "FlawedDefinition", "code_of", "flawed_definition"]
