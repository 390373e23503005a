"""Designs with a mistake: the places of the arithmetic at which a design may go wrong, and the model with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, assert_never

from hwsim.cases.case import Case, term_scales
from hwsim.formats import Class, Fields, FixedFormat, FloatFormat, Format
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
from hwsim.model.rounding import (
    ResultRounding,
    Rounded,
    TinySign,
    combine_specials,
    exact_sum,
    flushed_code,
    infinity_code,
    nan_code,
    overflow_code,
    pack,
    round_fixed,
    round_to,
    with_sticky,
    zero_sign,
)
from hwsim.model.terms import AlignedTerms, Term, align, any_lost, cut_magnitude, factor, max_exponent, round_magnitude
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
from hwsim.spec.keys import Lost, Overflow, Rounding, Tininess
from hwsim.spec.parts import ResultRule

Side = Literal["a", "b"]
SIDES: tuple[Side, Side] = ("a", "b")
# The roundings of specifications, and those that are only made by mistake: ties to odd, ties towards plus infinity,
# and to nearest with a half that is never reached.
LastPlaceRule = Rounding | Literal["ties-odd", "ties-up", "ties-down"]
PASSED = ("rounded addend", "sum")  # names of roundings that only pass a number on


class LastPlace(NamedTuple):
    """A magnitude before it is rounded: sig * 2^-shift becomes an integer.

    tiny: whether the number is below the format's least normal number.
    """

    sig: int
    shift: int
    sign: int
    rule: LastPlaceRule
    tiny: bool


class UnpackedResult(NamedTuple):
    """A rounded float before it becomes a code.

    magnitude: the code without its sign, with as many exponent bits as it takes. bexp: the biased exponent that it
    would have without subnormals. kept: the rounded significand. sig, unit_exp: the number that was rounded.
    """

    format: FloatFormat
    sign: int
    magnitude: int
    bexp: int
    kept: int
    sig: int
    unit_exp: int


class TermCut(NamedTuple):
    """How the smaller term of an addition is cut. bits: of its fraction below the leading one of the larger."""

    bits: int
    lost: Lost


@dataclass(frozen=True)
class Flaw:
    """What is wrong with a design: at some places of the arithmetic, a function. A place that is None is as specified.

    Each function takes what passes its place, as specified, and returns what passes in its stead; what else it takes
    is known there.
    """

    case: Callable[[Case, Unit, int | None], Case] | None = None
    """The operands; the design's result before, None where nobody knows it."""
    factor: Callable[[Fields, Side, Format, int], Fields] | None = None
    """A decoded factor; whose, its format and its code."""
    addend: Callable[[Term, Format, int], Term] | None = None
    """A decoded addend, or a decoded sum so far; its format and its code."""
    product: Callable[[Term, Fields, Fields], Term] | None = None
    """The term of two decoded factors; these."""
    products: Callable[[tuple[Term, ...]], tuple[Term, ...]] | None = None
    """The products of a group."""
    special: Callable[[Term | None, tuple[Term, ...]], Term | None] | None = None
    """The NaN or infinity that terms make together, None where they are finite; the terms."""
    max_exp: Callable[[int, tuple[Term, ...], Term | None], int] | None = None
    """The exponent that a window's terms are aligned to; the products, and the addend."""
    distance: Callable[[int], int] | None = None
    """By how many places a term is shifted below the largest exponent."""
    align: Callable[[int, Term, int, int], int] | None = None
    """A term in units of a window's last place, 2^(max_exp - fraction_bits); the term, max_exp, and fraction_bits."""
    aligned: Callable[[tuple[int, ...], int], tuple[int, ...]] | None = None
    """A window's terms in units of its last place, the addend last; how many of them are products."""
    dropped: Callable[[bool, int, bool], bool] | None = None
    """Whether the smaller term of an addition of two is lost, with all that rounding would know of it.

    The distance of the leading ones; whether the term is what the addition goes on from, and not the product.
    """
    cut: Callable[[TermCut | None, int, bool], TermCut | None] | None = None
    """How the smaller term of an addition of two is cut before it; the bits of the sum's significand, and whether the
    terms' signs differ."""
    total: Callable[[int, int], int] | None = None
    """A sum in units of 2^unit_exp, the last place of a window; unit_exp."""
    magnitude: Callable[[tuple[int, int], int], tuple[int, int]] | None = None
    """The magnitude of a sum before it is normalised and rounded, and the exponent of its unit; the sign."""
    last_place: Callable[[LastPlace], LastPlace] | None = None
    """What is rounded, and how."""
    number: Callable[[int | None, UnpackedResult], int | None] | None = None
    """The code of a rounded float, without padding, None where it is made as specified; the float."""
    fixed: Callable[[int, int], int] | None = None
    """A rounded fixed number before it is limited to so many bits, two's complement; these bits."""
    zero_sign: Callable[[int, tuple[Term, ...]], int] | None = None
    """The sign of a sum of exactly zero; the terms."""
    code: Callable[[int, Unit, Case], int] | None = None
    """The result's code; the operands as they came."""
    multipliers: Flaw | None = None
    """What is wrong with the rounding of products, in a unit that rounds them; the rest is not of these roundings."""

    def at(self, place: str, value: Any, *known: Any) -> Any:
        """What passes a place."""
        change = getattr(self, place)
        return value if change is None else change(value, *known)

    @property
    def outside(self) -> bool:
        """Whether operands or results alone are wrong, and the arithmetic between them is as specified."""
        return replace(self, case=None, code=None) == NO_FLAW

    def __and__(self, other: Flaw) -> Flaw:
        """Both in one design: what passes a place passes this one's function, then the other's."""
        both: dict[str, Any] = {}
        for field in fields(self):
            first, second = getattr(self, field.name), getattr(other, field.name)
            if first is None or second is None:
                both[field.name] = second if first is None else first
            elif field.name == "multipliers":
                both[field.name] = first & second
            else:
                # What replaces the value as it was specified, and does not change it, goes before others.
                replaces = field.name in ("align", "cut", "number")
                both[field.name] = partial(_in_turn, *((second, first) if replaces else (first, second)))
        return Flaw(**both)


def _in_turn(first: Callable[..., Any], second: Callable[..., Any], value: Any, *known: Any) -> Any:
    return second(first(value, *known), *known)


NO_FLAW = Flaw()


class Mistake(NamedTuple):
    """A mistake that designs make. name: for reports. description: what a design with it does. flaw: its meaning."""

    name: str
    description: str
    flaw: Flaw


class FlawedDefinition(Definition):
    """A unit's arithmetic with a flaw. What the places of `Flaw` do not reach is as specified.

    Raises NotImplementedYet for a unit that the model does not have.
    """

    def __init__(self, unit: Unit, flaw: Flaw):
        super().__init__(unit)
        self.flaw = flaw
        self._factor_a, self._factor_b = (
            lru_cache(MOST_FACTORS)(partial(self._decoded, side, fmt))
            for side, fmt in zip(SIDES, (unit.operands.a, unit.operands.b), strict=True)
        )
        if not isinstance(unit.sum, RoundedSum):  # there the last adder has rounded, with the flaw
            self.rounding = _FlawedRounding(unit.result, flaw)
        self._method = _method(unit, flaw)

    def _decoded(self, side: Side, fmt: FloatFormat | FixedFormat, code: int) -> Fields:
        operands = self.unit.operands
        specified = factor(fmt, operands.convert, operands.daz, operands.zeros, code)
        fields: Fields = self.flaw.at("factor", specified, side, fmt, code)
        return fields

    def addend(self, code: int) -> Term | None:
        term, fmt = super().addend(code), self.unit.operands.addend
        return None if term is None or fmt is None else self.flaw.at("addend", term, fmt, code)

    def partial(self, code: int) -> Term:
        term: Term = self.flaw.at("addend", super().partial(code), self.unit.result.format, code)
        return term

    def product(self, a: int, b: int, scale_exp: int | None = 0) -> Term:
        if self.flaw.product is None:
            return super().product(a, b, scale_exp)
        term = self.flaw.product(super().product(a, b, 0), self._factor_a(a), self._factor_b(b))
        return self.scaled(term, scale_exp)

    def products(self, lanes: GroupOperands, scale_exp: Sequence[int | None]) -> tuple[Term, ...]:
        terms: tuple[Term, ...] = self.flaw.at("products", super().products(lanes, scale_exp))
        return terms

    def _recorded(self, decoded: Callable[[int], Fields], codes: Sequence[int]) -> tuple[Fields, ...]:
        return ()  # nobody reads the record

    def code_of(self, case: Case, before: int | None = None) -> int:
        """The result's code for a case. before: the design's result before, None where nobody knows it."""
        taken: Case = self.flaw.at("case", case, self.unit, before)
        specified = self.dot(taken.a, taken.b, taken.c, *term_scales(self.unit, taken)).code
        code: int = self.flaw.at("code", specified, self.unit, case)
        return code


@lru_cache(maxsize=512)
def flawed_definition(unit: Unit, flaw: Flaw) -> FlawedDefinition:
    """A unit's arithmetic with a flaw, kept for the next call."""
    return FlawedDefinition(unit, flaw)


def code_of(unit: Unit, flaw: Flaw, case: Case, before: int | None = None) -> int:
    """The result code of a unit with a flaw for a case. before: the design's result before."""
    return flawed_definition(unit, flaw).code_of(case, before)


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
    return Term(flaw.at("zero_sign", sign, tuple(terms)), unit_exp, 0, 0, Class.ZERO)


class _FlawedWindow(SumMethod):
    def __init__(self, rule: AlignedSum, rounding: Rounding, flaw: Flaw):
        self.rule, self.rounding, self.flaw = rule, rounding, flaw

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        rule, flaw, bits = self.rule, self.flaw, self.rule.fraction_bits
        every = tuple(terms) if addend is None else (*terms, addend)
        special = flaw.at("special", special, every)
        if special is not None:
            return Summed(special, aligned=(0,) * len(every), bits=bits)
        zero = sum_zero_sign(every, rule.zero, self.rounding)
        max_exp = max_exponent(every, rule.zero_terms, rule.max_exp_floor)
        if max_exp is None:
            return Summed(_with_sign(flaw, 0, 0, every, zero))
        max_exp = top = int(flaw.at("max_exp", max_exp, tuple(terms), addend))
        shifted = [term._replace(exp=top - flaw.at("distance", top - term.exp)) for term in every]
        aligned = tuple(flaw.at("align", align(term, top, bits, rule.term_lost), term, top, bits) for term in shifted)
        sticky = rule.sticky and any_lost(shifted, AlignedTerms(top, bits, aligned, 0))
        aligned = flaw.at("aligned", aligned, len(terms))
        whole = flaw.at("total", sum(aligned), top - bits)
        total = cut_sum(AlignedTerms(top, bits, aligned, whole), rule.cut).total
        outcome = _with_sign(flaw, total, top - bits, every, zero)
        return Summed(outcome, total, top - bits, max_exp, aligned, bits, sticky=sticky)


class _FlawedExact(Exact):
    def __init__(self, rule: ExactSum, rounding: Rounding, flaw: Flaw):
        super().__init__(rule, rounding)
        self.flaw = flaw

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        every = tuple(terms) if addend is None else (*terms, addend)
        special = self.flaw.at("special", special, every)
        if special is not None:
            return Summed(special)
        total, unit_exp = exact_sum(every)
        total = self.flaw.at("total", total, unit_exp)
        sign = sum_zero_sign(every, self.rule.zero, self.rounding)
        return Summed(_with_sign(self.flaw, total, unit_exp, every, sign), total, unit_exp)


class _FlawedAdditions(RoundedAdditions):
    def __init__(self, rule: RoundedSum, flaw: Flaw):
        super().__init__(rule)
        self.flaw = flaw

    def add(self, name: str, *terms: Term) -> Addition:
        if name in PASSED:  # an addend, and a sum that is no addition's, pass no adder
            return super().add(name, *terms)
        flaw = (self.flaw.multipliers or NO_FLAW) if name.startswith("rounded ") else self.flaw
        return Addition(name, terms, self._sum(flaw, terms))

    def _sum(self, flaw: Flaw, terms: tuple[Term, ...]) -> int:
        """The sum of one or two terms, rounded, as `hwsim.model.addition.add` has it."""
        rule, fmt = self.rule, self.rule.format
        special = flaw.at("special", combine_specials(terms), terms)
        if special is not None:
            return nan_code(fmt) if special.cls is Class.NAN else infinity_code(fmt, special.sign, rule.overflow)
        total, unit_exp = exact_sum(_aligned_pair(terms, flaw, fmt, self.fused))
        total = flaw.at("total", total, unit_exp)
        if total == 0:
            return pack(fmt, flaw.at("zero_sign", zero_sign(terms, rule.rounding), terms) & fmt.signed_zero, 0)
        number = int(total < 0), abs(total), unit_exp
        return _flawed_float(flaw, fmt, number, rule.rounding, rule.overflow, flush=rule.flushes).code


class _FlawedChain(_FlawedAdditions, Sequential):
    """The method `sequential`."""


class _FlawedTree(_FlawedAdditions, Pairwise):
    """The method `pairwise`."""


def _aligned_pair(terms: tuple[Term, ...], flaw: Flaw, fmt: FloatFormat, fused: bool) -> tuple[Term, ...]:
    """Two terms that an adder has aligned: the smaller one may be shifted wrongly, and may have lost bits."""
    if len(terms) != 2 or any(term.cls is not Class.NORMAL for term in terms):
        return terms
    # Products enter a fused addition normalised; what a format holds is compared by its exponent field.
    leading = [term.sig.bit_length() - 1 + term.exp - term.fraction_bits if fused else term.exp for term in terms]
    small = int(leading[0] >= leading[1])
    term, top, distance = terms[small], leading[1 - small], leading[1 - small] - leading[small]
    if flaw.at("dropped", False, distance, small == 0):
        return (terms[1 - small],)
    shifted = term._replace(exp=term.exp + distance - flaw.at("distance", distance))
    cut: TermCut | None = flaw.at("cut", None, fmt.fraction_bits + 1, terms[0].sign != terms[1].sign)
    if cut is not None:
        unit_exp = top - cut.bits
        shift = unit_exp - (shifted.exp - shifted.fraction_bits)
        if shift > 0:
            kept = cut_magnitude(shifted.sig, shift, shifted.sign, cut.lost)
            shifted = Term(shifted.sign, unit_exp, kept, 0, Class.NORMAL)
    return (terms[0], shifted) if small else (shifted, terms[1])


def rounded_magnitude(place: LastPlace) -> int:
    """A magnitude in units of its last place, rounded, by a specification's rule or by one that is a mistake."""
    if place.shift <= 0:
        return place.sig << -place.shift
    kept, lost, half = place.sig >> place.shift, place.sig & ((1 << place.shift) - 1), 1 << (place.shift - 1)
    match place.rule:
        case "ties-odd":
            return kept + (lost > half or (lost == half and not kept & 1))
        case "ties-up":
            return kept + (lost > half or (lost == half and not place.sign))
        case "ties-down":
            return kept + (lost > half)
        case rounding:
            return round_magnitude(place.sig, place.shift, place.sign, rounding)


def _flawed_float(
    flaw: Flaw,
    fmt: FloatFormat,
    number: tuple[int, int, int],
    rounding: Rounding,
    overflow: Overflow,
    tiny: TinySign = "signed",
    flush: Tininess | None = None,
) -> Rounded:
    """(-1)^sign * sig * 2^unit_exp, rounded once to `fmt` by a design with a flaw. number: sign, sig > 0, unit_exp.

    A format without subnormals is rounded to as specified.
    """
    sign, *given = number
    sig, unit_exp = flaw.at("magnitude", tuple(given), sign)
    if not sig:
        return Rounded(0, None)
    if not fmt.subnormals:
        return round_to(fmt, sign, sig, unit_exp, rounding, overflow, tiny)
    exp = sig.bit_length() - 1 + unit_exp
    binade = max(exp, fmt.emin)
    place = LastPlace(sig, binade - fmt.fraction_bits - unit_exp, sign, rounding, exp < fmt.emin)
    kept = rounded_magnitude(flaw.at("last_place", place))
    magnitude = ((binade - fmt.emin) << fmt.fraction_bits) + kept
    code_of_flaw = flaw.at("number", None, UnpackedResult(fmt, sign, magnitude, exp + fmt.bias, kept, sig, unit_exp))
    if code_of_flaw is not None:
        code = code_of_flaw << fmt.padding
        return Rounded(code if flush is None else flushed_code(fmt, code), exp)
    if magnitude > fmt.max_magnitude:
        return Rounded(overflow_code(fmt, sign, rounding, overflow), exp, overflow=True)
    unlimited = place._replace(shift=exp - fmt.fraction_bits - unit_exp)
    if _flushed(flaw, fmt, exp, unlimited, magnitude, flush):
        magnitude = 0
    if magnitude == 0 and (tiny == "positive" or not fmt.signed_zero):
        sign = 0
    return Rounded(pack(fmt, sign, magnitude), exp)


def _flushed(flaw: Flaw, fmt: FloatFormat, exp: int, place: LastPlace, magnitude: int, flush: Tininess | None) -> bool:
    """Whether a number, rounded to that magnitude of a code, becomes zero. place: as without an end of exponents."""
    match flush:
        case None:
            return False
        case "result":
            return magnitude < 1 << fmt.fraction_bits
        case "after":
            kept = rounded_magnitude(flaw.at("last_place", place))
            return exp + (kept >> fmt.fraction_bits + 1) < fmt.emin
        case "before":
            return exp < fmt.emin
        case _:
            assert_never(flush)


def _flawed_fixed(flaw: Flaw, fmt: FixedFormat, number: tuple[int, int, int], rule: ResultRule) -> Rounded:
    """(-1)^sign * sig * 2^unit_exp, rounded once to a fixed format by a design with a flaw. number: as above."""
    sign, *given = number
    sig, unit_exp = flaw.at("magnitude", tuple(given), sign)
    place = LastPlace(sig, -fmt.fraction_bits - unit_exp, sign, rule.rounding, tiny=False)
    kept = rounded_magnitude(flaw.at("last_place", place))
    value = flaw.at("fixed", -kept if sign else kept, fmt.bits)
    if value == 0:
        return Rounded(0, None)
    return round_fixed(fmt, int(value < 0), abs(value), -fmt.fraction_bits, rule.rounding, rule.overflow)


class _FlawedRounding(ResultRounding):
    """How a sum is rounded to a unit's result by a design with a flaw."""

    def __init__(self, rule: ResultRule, flaw: Flaw):
        super().__init__(rule)
        self.flaw = flaw

    def total(self, total: int, unit_exp: int | None, sign: int = 0, sticky: bool = False) -> Rounded:
        rule, fmt = self.rule, self.rule.format
        if total == 0 or unit_exp is None:
            return super().total(total, unit_exp, sign)
        if sticky:
            total, unit_exp = with_sticky(total, unit_exp, fmt)
        number = int(total < 0), abs(total), unit_exp
        if isinstance(fmt, FixedFormat):
            return _flawed_fixed(self.flaw, fmt, number, rule)
        rounded = _flawed_float(self.flaw, fmt, number, rule.rounding, rule.overflow, rule.tiny, rule.flushes)
        return rounded._replace(code=self._own(rounded.code))
