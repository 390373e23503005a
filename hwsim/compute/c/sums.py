"""The integers of a unit in C: its products, the sum of a group by its method, and a late addend."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TypedDict, assert_never

from hwsim.formats import FixedFormat, FloatFormat, Format, TableFormat
from hwsim.spec import (
    AlignedSum,
    EvenOddSum,
    ExactSum,
    LateInWindow,
    Lost,
    PairwiseSum,
    RoundedSum,
    SequentialSum,
    Support,
    Unit,
    WindowSum,
    implemented,
    wide_codes,
)
from hwsim.spec.implementation import parts_of_group
from hwsim.spec.ranges import ShiftedIn, Span, product_span, scales_at, span_of
from hwsim.spec.sums import ExactSubgroup, WindowSubgroup
from hwsim.spec.support import WORD_BITS


@dataclass
class Sizes:
    """The numbers that a unit's integers must hold.

    product: the products, with the scales that enter them.
    cuts: all integers that are shifted down. totals: the largest magnitude of every sum.
    """

    product: Span
    cuts: list[ShiftedIn] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)

    def cut(self, most: int, fraction_bits: int, bits: int) -> ShiftedIn:
        """Add integers that are shifted into a window; returns them."""
        cut = ShiftedIn(most, fraction_bits, bits)
        self.cuts.append(cut)
        self.totals.append(cut.kept)
        return cut

    @property
    def bits(self) -> int:
        """Bits of a signed integer that holds all of them; 0 where there are none.

        A shift by one place more than there are bits must be one that C defines, and leave less than half.
        """
        shifted = max((cut.shifted + 2 for cut in self.cuts), default=0)
        return max([shifted, *(total.bit_length() + 1 for total in self.totals)])


@dataclass(frozen=True, kw_only=True)
class GroupSum:
    """One method's sum of a group. Fields of other methods keep their defaults.

    template: its template's name. lost: the rules for lost bits. sticky: whether the rounding knows of lost ones.
    window_bits: fraction bits of the window; total_bits: of the total's window; None without a window.
    terms: terms in the window. parts: sums of parts of a group; part_window: the fraction bits of each one's window;
    part_exp: the exponent of the unit of an exact one, before its scales; part_bits: its fraction bits with them.
    low: whether the addend has a say in how many lanes a part has, `parts` being the most; low_skips: whether a low
    one has no part in max_exp.
    zeros_count, max_exp_floor: as in the specification.
    unit_exp: the exponent of the unit of exact sums, also of those that rounded additions of parts begin with;
    exact_products: products of the longest; carries: whether an
    exact sum goes to the next group unrounded. fixed: how an exact sum is shifted to a result in a fixed format.
    steps: rounded additions of a group; format: of these additions.
    """

    template: str
    lost: tuple[Lost, ...] = ()
    sticky: bool = False
    window_bits: int | None = None
    total_bits: int | None = None
    terms: int = 0
    parts: int = 0
    part_lanes: int = 0
    part_window: int | None = None
    part_exp: int | None = None
    part_bits: int | None = None
    low: bool = False
    low_skips: bool = False
    zeros_count: bool = False
    max_exp_floor: int | None = None
    zero_signs: bool = False
    unit_exp: int | None = None
    exact_products: int = 0
    carries: bool = False
    fixed: ShiftedIn | None = None
    steps: int = 0
    format: FloatFormat | None = None


def adds(unit: Unit) -> bool:
    """True if a group can add something to its products."""
    alone = unit.instruction.chain is None and unit.instruction.groups == 1
    never = unit.operands.addend is None and unit.restart is None and alone
    return not isinstance(unit.sum, EvenOddSum) and not never


def addends(unit: Unit) -> list[Span]:
    """The numbers that a group may add to its products."""
    formats: list[Format] = [unit.result.format]
    if unit.restart is None and unit.operands.addend is not None:
        formats.append(unit.operands.addend)
    return [span_of(fmt) for fmt in formats]


MOST_TERM = 62  # bits of a term's significand, where two are added and rounded


class PartFields(TypedDict):
    parts: int
    part_lanes: int
    part_window: int | None
    part_exp: int | None
    part_bits: int | None
    low: bool
    low_skips: bool


def part_sums(unit: Unit, sizes: Sizes) -> Span | None:
    """The sums of parts as terms, with the scales that multiply them; None for a unit without parts.

    Adds the integers that they need to `sizes`.
    """
    rule, product = unit.subgroup, sizes.product
    if rule is None:
        return None
    match rule:
        case ExactSubgroup():
            total = rule.lanes * (product.most << product.high - product.low)
            sums = Span(total, -product.least_exp, 0, 0)
        case WindowSubgroup():
            kept = sizes.cut(product.most, product.fraction_bits, rule.fraction_bits).kept
            sums = Span(rule.lanes * kept, rule.fraction_bits, product.low, product.high)
        case _:
            assert_never(rule)
    sizes.totals.append(sums.most)
    if scales := scales_at(unit, "subgroup"):
        sums = reduce(Span.times, scales, sums)
        sizes.totals.append(sums.most)
    return sums


def wide_unit_exp(unit: Unit, sums: Span | None, fmt: FloatFormat, sizes: Sizes) -> int | None:
    """The exponent of the unit of exact sums of a part and a number of `fmt`; None where a term of C holds every part.

    sums: what `part_sums` returned. Adds the integers that these sums need to `sizes`.
    """
    if sums is None or sums.most.bit_length() <= MOST_TERM:
        return None
    spans = [sums, span_of(fmt), *addends(unit)]
    unit_exp = min(span.least_exp for span in spans)
    sizes.totals.append(2 * max(span.largest_in(unit_exp) for span in spans))
    return unit_exp


def part_fields(unit: Unit, sums: Span | None) -> PartFields:
    """The fields of parts that the templates read. sums: what `part_sums` returned."""
    rule = unit.subgroup
    if rule is None or sums is None:
        return PartFields(
            parts=0, part_lanes=0, part_window=None, part_exp=None, part_bits=None, low=False, low_skips=False
        )
    exact = isinstance(rule, ExactSubgroup)
    scales = sum(scale.fraction_bits for scale in scales_at(unit, "subgroup"))
    return PartFields(
        parts=unit.instruction.lanes // (rule.least_lanes if isinstance(rule, ExactSubgroup) else rule.lanes),
        part_lanes=rule.lanes,
        part_window=rule.fraction_bits if isinstance(rule, WindowSubgroup) else None,
        part_exp=scales - sums.fraction_bits if exact else None,
        part_bits=sums.fraction_bits,
        low=isinstance(rule, ExactSubgroup) and rule.asks_addend,
        low_skips=isinstance(rule, ExactSubgroup) and rule.low_addend == "skip",
    )


def _aligned(unit: Unit, rule: AlignedSum, sizes: Sizes) -> GroupSum:
    product, count = sizes.product, unit.instruction.lanes
    most, fraction_bits, parts = product.most, product.fraction_bits, part_sums(unit, sizes)
    if rule.subgroup is not None and parts is not None:
        most, fraction_bits = parts.most, parts.fraction_bits
        least = rule.subgroup.least_lanes if isinstance(rule.subgroup, ExactSubgroup) else rule.subgroup.lanes
        count //= least
    term = sizes.cut(most, fraction_bits, rule.fraction_bits)
    low = isinstance(rule.subgroup, ExactSubgroup) and rule.subgroup.low_addend == "skip"
    above = max(0, product.high) if low else 0  # places that a low addend may stand above the window
    beside = [sizes.cut(one.most << above, one.fraction_bits, rule.fraction_bits).kept for one in addends(unit)]
    total = count * term.kept + max(beside)
    sizes.totals.append(total)
    if rule.cut is not None:
        sizes.totals.append(sizes.cut(total, rule.cut.bits, 0).kept << rule.cut.bits)
    return GroupSum(
        template="aligned",
        lost=(
            rule.term_lost,
            *([rule.subgroup.lost] if isinstance(rule.subgroup, WindowSubgroup) else []),
            *([] if rule.cut is None else [rule.cut.lost]),
        ),
        sticky=rule.sticky,
        window_bits=rule.fraction_bits,
        total_bits=rule.fraction_bits,
        terms=count + adds(unit),
        **part_fields(unit, parts),
        zeros_count=rule.zero_terms == "count",
        max_exp_floor=rule.max_exp_floor,
        zero_signs=rule.zero == "ieee",
    )


def _even_odd(unit: Unit, rule: EvenOddSum, sizes: Sizes) -> GroupSum:
    lanes = unit.instruction.lanes
    term = sizes.cut(sizes.product.most, sizes.product.fraction_bits, rule.fraction_bits)
    half = -(-lanes // 2) * term.kept
    kept_half = sizes.cut(half, rule.fraction_bits, rule.combine.fraction_bits)
    sizes.totals += [half, 2 * kept_half.kept]
    return GroupSum(
        template="even_odd",
        lost=(rule.lost, rule.combine.lost),
        window_bits=rule.fraction_bits,
        total_bits=rule.combine.fraction_bits,
        terms=lanes,
        zeros_count=rule.zero_terms == "count",
        max_exp_floor=rule.max_exp_floor,
        zero_signs=rule.zero == "ieee",
    )


LONGEST = 40  # 2^LONGEST products make the longest exact sum: a terabyte of codes each


def _exact(unit: Unit, rule: ExactSum, sizes: Sizes) -> GroupSum:
    parts = part_sums(unit, sizes)
    spans = (sizes.product if parts is None else parts, *addends(unit))
    unit_exp = min(span.least_exp for span in spans)
    most, *others = (span.largest_in(unit_exp) for span in spans)
    products = _longest(unit, rule)
    count = products if rule.subgroup is None else -(-products // rule.subgroup.lanes)
    total = count * most + max(others)
    sizes.totals.append(total)
    result, fixed = unit.result.format, None
    if isinstance(result, FixedFormat):
        fixed = sizes.cut(total, -unit_exp, result.fraction_bits)
    return GroupSum(
        template="exact",
        lost=("truncate",) if parts is not None else (),
        **part_fields(unit, parts),
        zero_signs=rule.zero == "ieee",
        unit_exp=unit_exp,
        exact_products=products,
        carries=adds(unit) and rule.rounded == "end",
        fixed=fixed,
    )


def _longest(unit: Unit, rule: ExactSum) -> int:
    """The number of products in the longest exact sum."""
    instruction = unit.instruction
    if rule.rounded == "group":
        return instruction.lanes
    if unit.restart is not None:
        return unit.restart * instruction.lanes
    return instruction.k if instruction.chain is None else 1 << LONGEST


def _sequential(unit: Unit, rule: SequentialSum, sizes: Sizes) -> GroupSum:
    steps = 1 + parts_of_group(unit) * (1 + (rule.product == "rounded"))
    sums = part_sums(unit, sizes)
    fields, unit_exp = part_fields(unit, sums), wide_unit_exp(unit, sums, rule.format, sizes)
    return GroupSum(template="sequential", steps=steps, format=rule.format, unit_exp=unit_exp, **fields)


def _pairwise(unit: Unit, rule: PairwiseSum, sizes: Sizes) -> GroupSum:
    count = parts_of_group(unit)
    steps = count * (rule.product == "rounded") + count + (rule.chains or 0) + adds(unit)
    sums = part_sums(unit, sizes)
    fields, unit_exp = part_fields(unit, sums), wide_unit_exp(unit, sums, rule.format, sizes)
    return GroupSum(template="pairwise", steps=steps, format=rule.format, unit_exp=unit_exp, **fields)


def sized(unit: Unit) -> tuple[GroupSum, Sizes]:
    """The sum of a unit's groups, and the numbers that all of its integers hold."""
    sizes = Sizes(product_span(unit))
    group = _group_sum(unit, sizes)
    if isinstance(unit.late, LateInWindow) and group.total_bits is not None:
        _late_window(unit, unit.late, group.total_bits, sizes)
    return group, sizes


def _group_sum(unit: Unit, sizes: Sizes) -> GroupSum:
    match unit.sum:
        case AlignedSum():
            return _aligned(unit, unit.sum, sizes)
        case EvenOddSum():
            return _even_odd(unit, unit.sum, sizes)
        case ExactSum():
            return _exact(unit, unit.sum, sizes)
        case SequentialSum():
            return _sequential(unit, unit.sum, sizes)
        case PairwiseSum():
            return _pairwise(unit, unit.sum, sizes)
        case _:
            assert_never(unit.sum)


def _late_window(unit: Unit, late: LateInWindow, total_bits: int, sizes: Sizes) -> None:
    bits = max(late.sum_bits, late.addend_bits)
    late_sum = sizes.cut(max(sizes.totals), total_bits, late.sum_bits)
    spans = [span_of(fmt) for fmt in (unit.operands.addend, unit.output) if fmt is not None]
    addend = max(sizes.cut(span.most, span.fraction_bits, late.addend_bits).kept for span in spans)
    total = (late_sum.kept << bits - late.sum_bits) + (addend << bits - late.addend_bits)
    sizes.totals.append(total)
    if late.total_bits is not None:
        sizes.cut(total, 0, 0)


MOST_BITS = 2048  # of an integer
FARTHEST = 1 << 20  # an exponent beyond every one that terms have


def supports(unit: Unit) -> Support:
    """Support of a unit by C: it lacks what no implementation has yet, codes of 64 bits and integers too wide."""
    general = implemented(unit)
    if not general:
        return general
    floor, bits = unit.sum.max_exp_floor if isinstance(unit.sum, WindowSum) else None, sized(unit)[1].bits
    refused = {
        f"sum.max_exp_floor: {floor}": floor is not None and abs(floor) > FARTHEST,
        f"an integer of {bits:,} bits (more than {MOST_BITS:,})": bits > MOST_BITS,
    }
    for side, fmt in (("a", unit.operands.a), ("b", unit.operands.b)):
        what = f"operands.{side}: {fmt.name}, a table to which no number can be rounded,"
        refused[what] = isinstance(fmt, TableFormat) and not fmt.rounds
    if isinstance(unit.sum, RoundedSum):
        refused[f"sum.format: {unit.sum.format.name}"] = unit.sum.format.container_bits > WORD_BITS
    lacks = (*wide_codes(unit), *(what for what, lacking in refused.items() if lacking))
    return Support(unit.name, "is in the model, but not in C", lacks)
