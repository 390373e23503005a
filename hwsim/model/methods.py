"""The methods of a sum, and the registry that finds a unit's by the class of its `sum`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, assert_never

from hwsim.formats import Class, Format
from hwsim.model.hooks import Hooks, passed
from hwsim.model.rounding import ResultRounding, add, combine_specials, exact_sum, zero_sign
from hwsim.model.terms import (
    AlignedTerms,
    Term,
    ZeroTerms,
    addend_term,
    align,
    any_lost,
    cut_magnitude,
    max_exponent,
    window,
    window_at,
)
from hwsim.spec import AlignedReadingSum, AlignedSum, EvenOddSum, ExactSum, PairwiseSum, RoundedSum, SequentialSum, Unit
from hwsim.spec.keys import Lost, Rounding
from hwsim.spec.sums import ExactSubgroup, SumCut


@dataclass(frozen=True, slots=True)
class FirstAddend:
    """The addend c, which the first group takes. code: of the addend's format; 0 for a unit without an addend."""

    code: int


@dataclass(frozen=True, slots=True)
class ResultCode:
    """A group's result, which the next group takes as its addend. code: of the result's format."""

    code: int


@dataclass(frozen=True, slots=True)
class ExactSoFar:
    """An exact sum that is not rounded yet. code: what it is rounded to where it ends."""

    term: Term
    code: int


PartialSum = FirstAddend | ResultCode | ExactSoFar


@dataclass(frozen=True, slots=True)
class PromotedRegister:
    """A promotion register, and the partial sum that is to be added to it.

    register: a code of the promotion's format. groups: how many the partial sum has; a promotion starts from 0 again.
    scales: the codes of both scales of those groups, where scales enter at the promotion.
    """

    register: int
    partial: PartialSum
    groups: int = 0
    scales: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class AddendToCome:
    """An addend that is added after the last group of an instruction, and the instruction's partial sum.

    addend, format: the code of c, or of the result of the instruction before. groups: how many the partial sum has.
    """

    addend: int
    format: Format
    partial: PartialSum
    groups: int = 0


Carried = PartialSum | PromotedRegister | AddendToCome


ZeroSign = Literal["positive", "ieee"]


class Addition(NamedTuple):
    """One rounding: the sum of one or two terms, as a code of the sum's format.

    name: of a lane, of lanes `0..3`, or `addend`; with `rounded ` before it where a single term is rounded.
    """

    name: str
    terms: tuple[Term, ...]
    code: int


class Halves(NamedTuple):
    """The sums of `even-odd`: of the lanes 0, 2, ..., of the lanes 1, 3, ..., and both in a window of their own."""

    even: AlignedTerms
    odd: AlignedTerms
    combined: AlignedTerms


class Summed(NamedTuple):
    """The sum of one group.

    outcome: the sum as a term, which may be NaN, infinite or a zero with a sign: what is rounded to the result.
    total * 2^unit_exp is the sum in integers; unit_exp is None where every term is zero, or one is special.
    sticky: whether the sum is also more than `total` in magnitude, by less than any place that a rounding looks at:
    whether a window's terms lost a 1 that its rule keeps for the rounding.
    uncut: the sum of the aligned terms, where `total` is what `sum.cut` leaves of it; None where nothing is cut.
    max_exp, aligned, bits: of a window. halves: of `even-odd`. additions: of `sequential` and `pairwise`, in order.
    """

    outcome: Term
    total: int = 0
    unit_exp: int | None = None
    max_exp: int | None = None
    aligned: tuple[int, ...] = ()
    bits: int = 0
    halves: Halves | None = None
    additions: tuple[Addition, ...] = ()
    sticky: bool = False
    uncut: int | None = None


class SumMethod(ABC):
    """A method by which the terms of a group become one sum. takes_addend: whether the addend is one of them."""

    takes_addend: ClassVar[bool] = True

    @abstractmethod
    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """The sum of the terms and of the addend, if any. special: the NaN or infinity that they make together."""

    def carried(self, summed: Summed, code: int) -> ResultCode | ExactSoFar:
        """The start of the next group. code: the result that the sum is rounded to."""
        return ResultCode(code)


def total_term(
    total: int,
    unit_exp: int | None,
    terms: Sequence[Term],
    zero: ZeroSign,
    rounding: Rounding,
    hooks: Hooks | None = None,
) -> Term:
    """total * 2^unit_exp as a term; a sum of zero with the sign that it has. terms: what was summed."""
    if total:
        return Term(int(total < 0), unit_exp or 0, abs(total), 0, Class.NORMAL)
    sign = sum_zero_sign(terms, zero, rounding)
    if hooks is not None:
        sign = passed(hooks.zero_sign, sign, tuple(terms))
    return Term(sign, unit_exp or 0, 0, 0, Class.ZERO)


def sum_zero_sign(terms: Sequence[Term], zero: ZeroSign, rounding: Rounding) -> int:
    """The sign of a sum of exactly zero, as the key `sum.zero` has it."""
    match zero:
        case "positive":
            return 0
        case "ieee":
            return zero_sign(terms, rounding)
        case _:
            assert_never(zero)


class Aligned(SumMethod):
    """Products, or scaled sums of them, and the addend are aligned to the largest exponent, and summed.

    rounding: the result's, by which a sum of zero may have its sign. low: the addend takes no part in max_exp.
    """

    def __init__(self, rule: AlignedSum, rounding: Rounding, hooks: Hooks | None, *, low: bool = False):
        self.rule, self.rounding, self.hooks, self.low = rule, rounding, hooks, low

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """The sum in the window; where a term is special, max_exp alone."""
        rule, every = self.rule, terms if addend is None else (*terms, addend)
        bits, hooks = rule.fraction_bits, self.hooks
        if hooks is not None:
            special = passed(hooks.special, special, tuple(every))
        held = WindowRule(bits, rule.term_lost, rule.zero_terms, rule.max_exp_floor, self.low)
        if special is not None:
            return Summed(special, max_exp=held.max_exp(terms, addend), aligned=(0,) * len(every), bits=bits)
        if hooks is None and self.low:
            aligned = window_at(held.max_exp(terms, addend), every, bits, rule.term_lost)
        elif hooks is None:
            aligned = window(every, bits, rule.term_lost, rule.zero_terms, rule.max_exp_floor)
        else:
            every, aligned = hooked_window(hooks, tuple(terms), addend, held)
        cut = cut_sum(aligned, rule.cut)
        outcome = total_term(cut.total, cut.unit_exp, every, rule.zero, self.rounding, hooks)
        sticky = rule.sticky and any_lost(every, aligned)
        uncut = None if rule.cut is None else aligned.total
        exps = aligned.unit_exp, aligned.max_exp
        return Summed(outcome, cut.total, *exps, aligned.aligned, bits, sticky=sticky, uncut=uncut)


class WindowRule(NamedTuple):
    """The rule by which terms enter a window, as `hwsim.model.terms.window` takes it. low: as of `Aligned`."""

    bits: int
    lost: Lost
    zero_terms: ZeroTerms
    floor: int | None
    low: bool = False

    def max_exp(self, products: Sequence[Term], addend: Term | None) -> int | None:
        """The largest exponent of the terms that count; None where all of them are zero."""
        every = products if addend is None or self.low else (*products, addend)
        return max_exponent(every, self.zero_terms, self.floor)


def hooked_window(
    hooks: Hooks, products: tuple[Term, ...], addend: Term | None, rule: WindowRule
) -> tuple[tuple[Term, ...], AlignedTerms]:
    """The terms where their distances put them, and their window, with what is other than specified there."""
    bits, every = rule.bits, products if addend is None else (*products, addend)
    max_exp = rule.max_exp(products, addend)
    if max_exp is None:
        return every, AlignedTerms(None, bits, (0,) * len(every), 0)
    top = int(passed(hooks.max_exp, max_exp, products, addend))
    every = tuple(term._replace(exp=top - passed(hooks.distance, top - term.exp)) for term in every)
    placed = tuple(passed(hooks.align, align(term, top, bits, rule.lost), term, top, bits) for term in every)
    aligned = passed(hooks.aligned, placed, len(products))
    return every, AlignedTerms(top, bits, aligned, passed(hooks.total, sum(aligned), top - bits))


def cut_sum(aligned: AlignedTerms, rule: SumCut | None) -> AlignedTerms:
    """A window's sum without the places that `sum.cut` has it lose: zeros stand there. None: it loses none."""
    if rule is None:
        return aligned
    total = aligned.total
    magnitude = cut_magnitude(abs(total), rule.bits, int(total < 0), rule.lost) << rule.bits
    return aligned._replace(total=-magnitude if total < 0 else magnitude)


class EvenOdd(SumMethod):
    """Even and odd lanes are summed in a window each. An addend is added late, or there is none.

    rounding: the result's, by which a sum of zero may have its sign.
    """

    takes_addend = False

    def __init__(self, rule: EvenOddSum, rounding: Rounding, hooks: Hooks | None):
        self.rule, self.rounding, self.hooks = rule, rounding, hooks

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """The sum of both halves; where a term is special, nothing is aligned."""
        rule, bits, hooks = self.rule, self.rule.combine.fraction_bits, self.hooks
        if hooks is not None:
            special = passed(hooks.special, special, tuple(terms))
        if special is not None:
            return Summed(special, aligned=(0,) * len(terms), bits=bits)
        even, odd = (self._half(terms[first::2]) for first in (0, 1))
        halves = self._combined(even, odd)
        both = halves.combined
        outcome = total_term(both.total, both.unit_exp, terms, rule.zero, self.rounding, hooks)
        by_lane = tuple((odd if lane % 2 else even).aligned[lane // 2] for lane in range(len(terms)))
        return Summed(outcome, both.total, both.unit_exp, both.max_exp, by_lane, bits, halves)

    def _half(self, terms: Sequence[Term]) -> AlignedTerms:
        rule = self.rule
        held = WindowRule(rule.fraction_bits, rule.lost, rule.zero_terms, rule.max_exp_floor)
        return (
            window(terms, *held[:4]) if self.hooks is None else hooked_window(self.hooks, tuple(terms), None, held)[1]
        )

    def _combined(self, even: AlignedTerms, odd: AlignedTerms) -> Halves:
        rule, hooks = self.rule.combine, self.hooks
        if hooks is None:
            return combine(even, odd, rule.fraction_bits, rule.lost)
        held = WindowRule(rule.fraction_bits, rule.lost, "skip", None)
        return Halves(even, odd, hooked_window(hooks, (even.term, odd.term), None, held)[1])


def combine(even: AlignedTerms, odd: AlignedTerms, fraction_bits: int, lost: Lost) -> Halves:
    """Both sums aligned to the larger of their exponents, and added."""
    return Halves(even, odd, window((even.term, odd.term), fraction_bits, lost, "skip", None))


class RoundedAdditions(SumMethod):
    """Every addition rounds as the rule says; special values are dealt with one by one."""

    def __init__(self, rule: RoundedSum, hooks: Hooks | None):
        self.rule, self.hooks = rule, hooks

    @property
    def fused(self) -> bool:
        """True if a product enters an addition exactly; else it is rounded before."""
        match self.rule.product:
            case "fused":
                return True
            case "rounded":
                return False
            case _:
                assert_never(self.rule.product)

    @abstractmethod
    def additions(self, products: Sequence[Term], addend: Term | None) -> list[Addition]:
        """Every rounding, in order; the last one has the sum."""

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """The sum that the last addition leaves."""
        additions = self.additions(terms, addend)
        return Summed(self.term(additions[-1]), additions=tuple(additions))

    def add(self, name: str, x: Term, y: Term) -> Addition:
        """One addition, rounded."""
        return self.rounded(name, (x, y), self.hooks)

    def rounded_product(self, lane: int, product: Term) -> Addition:
        """A product that is rounded before it is added."""
        return self.rounded(f"rounded {lane}", (product,), None if self.hooks is None else self.hooks.multipliers)

    def only_rounded(self, name: str, term: Term) -> Addition:
        """A term that goes into the format of sums, or is the sum, without an addition."""
        return self.rounded(name, (term,), None)

    def rounded(self, name: str, terms: tuple[Term, ...], hooks: Hooks | None) -> Addition:
        """One term, or the sum of two, rounded. hooks: what is other than specified."""
        rule, added = self.rule, terms if hooks is None else hooks.pair(terms, self.rule.format, self.fused)
        return Addition(name, terms, add(rule.format, added, rule.rounding, rule.flushes, rule.overflow, hooks))

    def term(self, addition: Addition) -> Term:
        """The result of an addition, to go on with."""
        return addend_term(self.rule.format, addition.code)


class Sequential(RoundedAdditions):
    """The addend, or +0, and then product after product: sum = round(sum + product)."""

    def additions(self, products: Sequence[Term], addend: Term | None) -> list[Addition]:
        """The addend, rounded, and an addition for each product; where products are rounded, that before it."""
        before = self.only_rounded("rounded addend", addend if addend is not None else addend_term(self.rule.format, 0))
        every = [before]
        for lane, product in enumerate(products):
            if not self.fused:
                every.append(self.rounded_product(lane, product))
                product = self.term(every[-1])
            before = self.add(str(lane), self.term(before), product)
            every.append(before)
        return every


class Pairwise(RoundedAdditions):
    """Products are added by a tree, neighbours first; an odd one goes up a level as it is. The addend comes last.

    With chains, the tree adds sums of products.
    """

    def __init__(self, rule: PairwiseSum, hooks: Hooks | None):
        super().__init__(rule, hooks)
        self.chains = rule.chains

    def chained(self, products: Sequence[Term], chains: int) -> tuple[list[Addition], list[Term]]:
        """Every addition of chains, lane after lane, and their sums."""
        every, sums = list[Addition](), [addend_term(self.rule.format, 0)] * chains
        for lane, product in enumerate(products):
            if not self.fused:
                every.append(self.rounded_product(lane, product))
                product = self.term(every[-1])
            every.append(self.add(str(lane), sums[lane % chains], product))
            sums[lane % chains] = self.term(every[-1])
        return every, sums

    def additions(self, products: Sequence[Term], addend: Term | None) -> list[Addition]:
        """The products, rounded where they are; the tree, level by level; the addend, rounded, and its addition."""
        every: list[Addition] = []
        level = [(lane, lane, product) for lane, product in enumerate(products)]
        name = "{}..{}"
        if self.chains is not None:
            every, sums = self.chained(products, self.chains)
            level, name = [(chain, chain, term) for chain, term in enumerate(sums)], "chains {}..{}"
        elif not self.fused:
            every = [self.rounded_product(lane, product) for lane, product in enumerate(products)]
            level = [(lane, lane, self.term(rounded)) for lane, rounded in enumerate(every)]
        while len(level) > 1:
            above = []
            for (first, _, x), (_, last, y) in zip(level[::2], level[1::2], strict=False):
                every.append(self.add(name.format(first, last), x, y))
                above.append((first, last, self.term(every[-1])))
            level = above + level[len(level) // 2 * 2 :]
        root = level[0][2]
        if addend is None:
            return [*every, self.only_rounded("sum", root)]
        every.append(self.only_rounded("rounded addend", addend))
        return [*every, self.add("addend", root, self.term(every[-1]))]


class Exact(SumMethod):
    """Products and the addend, or the exact sum so far, are summed exactly.

    rounding: the result's, by which a sum of zero may have its sign.
    """

    def __init__(self, rule: ExactSum, rounding: Rounding, hooks: Hooks | None):
        self.rule, self.rounding, self.hooks = rule, rounding, hooks

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """The exact sum; none where a term is special."""
        every, hooks = terms if addend is None else (*terms, addend), self.hooks
        if hooks is not None:
            special = passed(hooks.special, special, tuple(every))
        if special is not None:
            return Summed(special)
        total, unit_exp = exact_sum(every)
        if hooks is not None:
            total = passed(hooks.total, total, unit_exp)
        return Summed(total_term(total, unit_exp, every, self.rule.zero, self.rounding, hooks), total, unit_exp)

    def carried(self, summed: Summed, code: int) -> ResultCode | ExactSoFar:
        """The result after each group, or the exact sum, as the key `rounded` says."""
        match self.rule.rounded:
            case "group":
                return ResultCode(code)
            case "end":
                return ExactSoFar(summed.outcome, code)
            case _:
                assert_never(self.rule.rounded)


class AlignedReading(SumMethod):
    """Terms in one window, as a `AlignedReadingSum` has them. result: how a unit's groups are rounded."""

    def __init__(self, rule: AlignedReadingSum, result: ResultRounding):
        self.rule, self.result = rule, result

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """The sum in the window, with what the group starts from; where a term is special, max_exp alone."""
        rule = self.rule
        if rule.starts_late and not rule.unrounded:
            # The products' sum is rounded first, and may become an infinity, which what the group starts from meets.
            special = combine_specials(terms)
        if rule.leading:
            terms = [renormalised(term) for term in terms]
        inside = terms if addend is None or rule.starts_late else (*terms, addend)
        max_exp = max_exponent(inside, rule.zero_terms, rule.max_exp_floor)
        if special is not None:
            return Summed(special, max_exp=max_exp, aligned=(0,) * len(inside), bits=rule.fraction_bits)
        bits = _all_bits(inside, max_exp) if rule.lossless else rule.fraction_bits
        aligned = cut_sum(window(inside, bits, rule.lost, rule.zero_terms, rule.max_exp_floor), rule.cut)
        total, unit_exp = aligned.total, aligned.unit_exp
        if rule.significant:
            total, unit_exp = self._cut(total, unit_exp)
        outcome = total_term(total, unit_exp, inside, rule.zero, self.result.rule.rounding)
        if addend is not None and rule.starts_late:
            outcome = self._with_start(outcome, terms, addend)
        return Summed(outcome, aligned.total, aligned.unit_exp, aligned.max_exp, aligned.aligned, bits)

    def _cut(self, total: int, unit_exp: int | None) -> tuple[int, int | None]:
        """A sum, cut to 1 + fraction_bits significant bits."""
        shift = abs(total).bit_length() - 1 - self.rule.fraction_bits
        if unit_exp is None or shift <= 0:
            return total, unit_exp
        magnitude = cut_magnitude(abs(total), shift, int(total < 0), self.rule.lost)
        return (-magnitude if total < 0 else magnitude), unit_exp + shift

    def _with_start(self, products: Term, terms: Sequence[Term], start: Term) -> Term:
        """The products' sum with what the group starts from: exact, or an addition of IEEE 754 after a rounding."""
        rounding = self.result.rule.rounding
        if self.rule.unrounded:
            total, unit_exp = exact_sum((products, start))
            return total_term(total, unit_exp, (*terms, start), self.rule.zero, rounding)
        partial = addend_term(self.result.rule.format, self.result.term(products, False).code)
        special = combine_specials((start, partial))
        if special is not None:
            return special
        total, unit_exp = exact_sum((start, partial))
        return total_term(total, unit_exp, (start, partial), "ieee", rounding)


def renormalised(term: Term) -> Term:
    """A term with the exponent of its leading one, if it has one."""
    if term.cls is not Class.NORMAL or term.sig == 0:
        return term
    places = term.sig.bit_length() - 1 - term.fraction_bits
    return Term(term.sign, term.exp + places, term.sig, term.fraction_bits + places, term.cls)


def _all_bits(terms: Sequence[Term], max_exp: int | None) -> int:
    """The bits below max_exp that a window needs to lose nothing of its terms."""
    lowest = [term.exp - term.fraction_bits for term in terms if term.cls is Class.NORMAL]
    return 0 if max_exp is None else max(0, max_exp - min(lowest))


def method_of(unit: Unit, hooks: Hooks | None, *, low: bool = False) -> SumMethod:
    """The method by which a unit sums the terms of a group. hooks: what is other than specified. low: of a low one."""
    match unit.sum:
        case AlignedReadingSum() as rule:
            return AlignedReading(rule, ResultRounding(unit.result))
        case AlignedSum() as rule:
            skipped = isinstance(rule.subgroup, ExactSubgroup) and rule.subgroup.low_addend == "skip"
            return Aligned(rule, unit.result.rounding, hooks, low=low and skipped)
        case EvenOddSum() as rule:
            return EvenOdd(rule, unit.result.rounding, hooks)
        case ExactSum() as rule:
            return Exact(rule, unit.result.rounding, hooks)
        case SequentialSum() as rule:
            return Sequential(rule, hooks)
        case PairwiseSum() as rule:
            return Pairwise(rule, hooks)
        case _:
            assert_never(unit.sum)
