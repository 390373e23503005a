"""Additions after groups: of a late addend, and of partial sums into a register of their own format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, assert_never

from hwsim.base.errors import InputError
from hwsim.formats import FixedFormat, FloatFormat, Format, unpack
from hwsim.model.hooks import Hooks, passed
from hwsim.model.methods import ZeroSign, sum_zero_sign, total_term
from hwsim.model.rounding import ResultRounding, add, combine_specials, exact_sum, flushed_code
from hwsim.model.terms import Term, ZeroTerms, addend_term, align, cut_magnitude, max_exponent, product
from hwsim.spec import (
    AlignedReadingSum,
    ExactSum,
    LateAdd,
    LateInWindow,
    RoundedSum,
    Unit,
    WindowSum,
)
from hwsim.spec.keys import Lost, Number, Rounding
from hwsim.spec.parts import ScaledPromotion


class LateWindow(NamedTuple):
    """The window of a late addend: the sum and the addend, aligned to the larger exponent.

    fraction_bits: of the total; kept_sum and kept_addend are what the two keep. dropped: the addend was too small.
    cut: how many bits of the total are lost before it is rounded. lost: what becomes of them.
    """

    max_exp: int | None
    fraction_bits: int
    kept_sum: int
    kept_addend: int
    dropped: bool
    cut: int = 0
    lost: Lost = "truncate"

    @property
    def both(self) -> int:
        """Sum and addend together, in units of 2^(max_exp - fraction_bits)."""
        return self.kept_sum + self.kept_addend

    @property
    def total(self) -> int:
        """The sum to be rounded, in units of 2^(max_exp - fraction_bits + cut)."""
        both = self.both
        magnitude = cut_magnitude(abs(both), self.cut, int(both < 0), self.lost) if self.cut else abs(both)
        return -magnitude if both < 0 else magnitude

    @property
    def unit_exp(self) -> int | None:
        """The exponent of the total's unit; None where sum and addend are zero."""
        return None if self.max_exp is None else self.max_exp - self.fraction_bits + self.cut


class Added(NamedTuple):
    """One late addition: the addend's format, and the codes of both operands and of the result.

    window: of operation `window`, which takes the sum before it is rounded to `partial`; None for special values.
    """

    addend_format: Format
    addend: int
    partial: int
    code: int
    window: LateWindow | None = None


class LateOperands(NamedTuple):
    """The operands of a late addition.

    addend, format: the code of c, or of the result of the instruction before.
    partial: the code of the result of the instruction's last group. terms, special, sum: of that group: what it summed,
    the NaN or infinity that they make, and the sum of its window, not rounded.
    """

    addend: int
    format: Format
    partial: int
    terms: tuple[Term, ...]
    special: Term | None
    sum: Term


def _decoded(hooks: Hooks | None, fmt: Format, code: int) -> Term:
    """An addend, a register or a sum so far."""
    term = addend_term(fmt, code)
    return term if hooks is None else passed(hooks.addend, term, fmt, code)


class LateAddition(ABC):
    """A late addition of an addend. output: the format of the result. hooks: what is other than specified."""

    output: Format
    hooks: Hooks | None

    @abstractmethod
    def add(self, operands: LateOperands) -> Added:
        """The addend and the partial sum, added."""


class RoundedLateAddition(LateAddition):
    """One addition of IEEE 754: addend + partial, rounded to the format of late additions."""

    def __init__(self, rule: LateAdd, partial: Format, nan: int, hooks: Hooks | None = None):
        self.rule, self.partial, self.nan, self.hooks = rule, partial, nan, hooks
        self.output = rule.format

    def add(self, operands: LateOperands) -> Added:
        """The addend + the rounded partial sum."""
        rule, fmt, addend = self.rule, operands.format, operands.addend
        if rule.flush and isinstance(fmt, FloatFormat):
            addend = flushed_code(fmt, addend)
        terms: tuple[Term, ...] = (_decoded(self.hooks, fmt, addend), addend_term(self.partial, operands.partial))
        after = None if self.hooks is None else self.hooks.after
        if after is not None:
            terms = after.pair(terms, rule.format, fused=False)
        code = add(rule.format, terms, rule.rounding, rule.flushes, hooks=after)
        nan = code == rule.format.canonical_nan
        return Added(fmt, operands.addend, operands.partial, self.nan if nan else code)


class ExactLateAddition(LateAddition):
    """The addend and the group's sum, not rounded yet, exactly; rounded to the result format: a reading."""

    hooks = None  # of a reading

    def __init__(self, rule: AlignedReadingSum, unit: Unit, rounding: ResultRounding):
        self.rule, self.rounding = rule, rounding
        self.output = unit.output

    def add(self, operands: LateOperands) -> Added:
        """The addend + the sum."""
        fmt, addend = operands.format, addend_term(operands.format, operands.addend)
        special = combine_specials((addend,) if operands.special is None else (operands.special, addend))
        if special is not None:
            return Added(fmt, operands.addend, operands.partial, self.rounding.special(special).code)
        total, unit_exp = exact_sum((operands.sum, addend))
        sign = sum_zero_sign((*operands.terms, addend), self.rule.zero, self.rounding.rule.rounding)
        return Added(fmt, operands.addend, operands.partial, self.rounding.total(total, unit_exp, sign).code)


class WindowLateAddition(LateAddition):
    """The addend and the group's sum, not rounded yet, in a window of their own, rounded to the result format."""

    def __init__(self, rule: LateInWindow, unit: Unit, rounding: ResultRounding, hooks: Hooks | None = None):
        self.rule, self.unit, self.rounding, self.hooks = rule, unit, rounding, hooks
        self.output = unit.result.format

    def add(self, operands: LateOperands) -> Added:
        """The addend + the sum, both cut to the window."""
        fmt, hooks, cut = operands.format, self.hooks, None
        addend = _decoded(hooks, fmt, operands.addend)
        specials = (addend,) if operands.special is None else (operands.special, addend)
        outcome = combine_specials(specials)
        if hooks is not None:
            outcome = passed(hooks.special, outcome, specials)
        if outcome is None:
            zeros, sign_rule = _zeros(self.unit)
            cut = late_window(operands.sum, addend, self.rule, zeros, exponent_floor(self.unit.result.format))
            every, rounding = (*operands.terms, addend), self.unit.result.rounding
            outcome = total_term(cut.total, cut.unit_exp, every, sign_rule, rounding, hooks)
        return Added(fmt, operands.addend, operands.partial, self.rounding.term(outcome, False).code, cut)


def exponent_floor(fmt: Number) -> int:
    """The least exponent of a result that is added to in a window."""
    if isinstance(fmt, FixedFormat):
        raise InputError(f"a late addend's window has a float result, not {fmt.name}")
    return fmt.emin


def late_window(total: Term, addend: Term, rule: LateInWindow, zero_terms: ZeroTerms, emin: int) -> LateWindow:
    """Finite sum and addend in one window. emin: the least exponent of the result.

    Each is cut to its own number of bits; the integers are in units of the finer of the two. Both together are then
    cut, if they are, to bits below their leading one.
    """
    bits = max(rule.sum_bits, rule.addend_bits)
    max_exp = max_exponent((total, addend), zero_terms)
    match rule.zero_addend:
        case "skip":
            pass
        case "count":
            max_exp = None if max_exp is None else max(max_exp, addend.exp)
        case _:
            assert_never(rule.zero_addend)
    if max_exp is None:
        return LateWindow(None, bits, 0, 0, False)
    dropped = rule.drop_below is not None and addend.sig != 0 and addend.exp < max_exp - rule.drop_below
    kept_sum = align(total, max_exp, rule.sum_bits, rule.lost) << bits - rule.sum_bits
    kept_addend = 0 if dropped else align(addend, max_exp, rule.addend_bits, rule.lost) << bits - rule.addend_bits
    both, lost = LateWindow(max_exp, bits, kept_sum, kept_addend, dropped), 0
    if rule.total_bits is not None and both.both:
        leading = abs(both.both).bit_length() - 1 + max_exp - bits
        lost = max(0, max(leading, emin) - rule.total_bits - (max_exp - bits))
    return both._replace(cut=lost, lost=rule.lost)


def _zeros(unit: Unit) -> tuple[ZeroTerms, ZeroSign]:
    """The rules of a unit's window for zero terms and sums of zero, which a late addend's window shares."""
    match unit.sum:
        case WindowSum() as rule:
            return rule.zero_terms, rule.zero
        case RoundedSum() | ExactSum() as rule:
            raise InputError(f"a late addend's window needs a window, which method {rule.method} has not")
        case _:
            assert_never(unit.sum)


def late_addition(unit: Unit, hooks: Hooks | None = None) -> LateAddition | None:
    """The late addition of a unit's addend; None if it has none. hooks: what is other than specified."""
    match unit.late:
        case None:
            return None
        case LateAdd() as rule:
            if isinstance(unit.sum, AlignedReadingSum) and unit.sum.unrounded:
                return ExactLateAddition(unit.sum, unit, ResultRounding(unit.result))
            return RoundedLateAddition(rule, unit.result.format, unit.nan, hooks)
        case LateInWindow() as rule:
            return WindowLateAddition(rule, unit, ResultRounding(unit.result, hooks), hooks)
        case _:
            assert_never(unit.late)


class Promoted(NamedTuple):
    """One addition into the promotion register: the codes of its operands and of its result.

    first, scaled: where the partial sum is multiplied by one scale first, that scale's code, and what becomes of it,
    rounded to the promotion's format, or None. scale: what `scaled`, or else the partial sum, is multiplied by, or
    None: the other scale's code, or the product of both scales, a code of the promotion's format.
    """

    register: int
    partial: int
    code: int
    scale: int | None = None
    first: int | None = None
    scaled: int | None = None


def promoted_term(unit: Unit, promoted: Promoted) -> Term:
    """The term that a promotion adds to the register: the partial sum, scaled where that is, exactly."""
    scaling = unit.scaled_promotion
    if scaling is None or promoted.scale is None:
        return addend_term(unit.result.format, promoted.partial)
    (_, format_x), (_, format_y) = scaling.then
    x = promoted.partial if promoted.scaled is None else promoted.scaled
    return exact_product(format_x, format_y, x, promoted.scale)


def exact_product(format_x: Format, format_y: Format, x: int, y: int) -> Term:
    """The product of two codes, exactly."""
    return product(unpack(format_x, x), unpack(format_y, y), format_x.fraction_bits + format_y.fraction_bits)


class Promoter(NamedTuple):
    """The promotion of partial sums.

    format, rounding: of the register. groups: between promotions. partial, addend: the formats of a group's result and
    of the addend, None for none. scaling: what is multiplied, None where no scales enter here. hooks: what is other
    than specified.
    """

    format: FloatFormat
    rounding: Rounding
    groups: int
    partial: Number
    addend: Number | None
    scaling: ScaledPromotion | None
    hooks: Hooks | None = None

    def start(self, c: int) -> int:
        """The register's code for an addend c."""
        if self.addend is None:
            return 0
        return c if self.addend == self.format else add(self.format, (addend_term(self.addend, c),), self.rounding)

    def promote(self, register: int, partial: int, scales: tuple[int, int] | None = None) -> Promoted:
        """register + partial, or register + partial * scale_a * scale_b, rounded to the promotion format.

        register: a code of the promotion format. partial: a code of the result format. scales: codes of both operands'
        scales. What is multiplied first, as `scaling` says, is rounded to the promotion format.
        """
        before = _decoded(self.hooks, self.format, register)
        scale, first, scaled = None, None, None
        if scales is None or self.scaling is None:
            added = addend_term(self.partial, partial)
        else:
            codes = {"partial": partial, "scale_a": scales[0], "scale_b": scales[1]}
            (x, format_x), (y, format_y) = self.scaling.first
            first = codes[y]
            codes[self.scaling.made] = self.rounded_product(format_x, format_y, codes[x], codes[y])
            (x, format_x), (y, format_y) = self.scaling.then
            added = exact_product(format_x, format_y, codes[x], codes[y])
            scale, scaled = codes[y], codes.get("scaled")
            first = None if scaled is None else first
        terms: tuple[Term, ...] = (before, added)
        after = None if self.hooks is None else self.hooks.after
        if after is not None:
            terms = after.pair(terms, self.format, fused=scale is not None)
        return Promoted(register, partial, add(self.format, terms, self.rounding, hooks=after), scale, first, scaled)

    def rounded_product(self, format_x: Format, format_y: Format, x: int, y: int) -> int:
        """The product of two codes, rounded to the promotion format as IEEE 754 has it."""
        return add(self.format, (exact_product(format_x, format_y, x, y),), self.rounding)


def promoter_of(unit: Unit, hooks: Hooks | None = None) -> Promoter | None:
    """The promotion of a unit; None if it does not promote. hooks: what is other than specified."""
    rule, scaling = unit.promotion, unit.scaled_promotion
    if rule is None:
        return None
    if scaling is not None and hooks is not None:
        scaling = passed(hooks.scaling, scaling, unit)
    groups = rule.interval // unit.instruction.lanes
    return Promoter(rule.format, rule.rounding, groups, unit.result.format, unit.operands.addend, scaling, hooks)
