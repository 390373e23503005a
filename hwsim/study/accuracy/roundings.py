"""The roundings of a sum in each stage of a unit: how many there are, and how much each can lose.

Each stage is a list of losses, from which hwsim/study/accuracy/bounds.py makes bounds. `hwsim docs study-measures` has
the reasons.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, assert_never

from hwsim.formats import FixedFormat, FloatFormat, Format
from hwsim.spec import (
    AlignedSum,
    EvenOddSum,
    ExactSum,
    LateAdd,
    LateInWindow,
    PairwiseSum,
    RoundedSum,
    SequentialSum,
    Unit,
)
from hwsim.spec.keys import LOST_RULES, Lost
from hwsim.spec.parts import Promotion
from hwsim.spec.sums import ExactSubgroup, WindowSubgroup

NEAREST = ("rne", "rna")


Base = Literal["products", "sums", "spans", "windows", "closed"]


class Loss(NamedTuple):
    """A rounding or cut that happens `times` times and loses at most `size` of a sum of magnitudes each time.

    least: what it may lose besides, whatever the sum, near the least numbers of a format.
    base: what it is a part of: of the products' magnitudes; of the sum so far, after every `along` products (`spans`:
    of that, or of what was added last); of a window's 2^max_exp, in which `terms` terms of `width` products and
    `others` each lose so much (`closed`: and no sum so far is in it, every `along` products). lost: how terms are cut.
    fresh: sums start from zero after so many products, if not at a stretch's beginning.
    """

    times: int
    size: float
    least: float = 0.0
    base: Base = "products"
    along: int = 1
    terms: int = 0
    width: int = 1
    others: int = 0
    lost: Lost | None = None
    fresh: int = 0

    def of_sums(self, along: int) -> Loss:
        """The same, of the sums so far after every so many products."""
        return self._replace(base="sums", along=along)


class Lengths(NamedTuple):
    """The parts of K: products of a group, groups of a stretch that starts from zero, and such stretches.

    grid: the exponent of a number of which all terms are multiples; None where scales multiply them.
    """

    lanes: int
    groups: int
    stretches: int
    grid: int | None = None


def lengths(unit: Unit, length: int, *, addend: bool = False) -> Lengths:
    """The parts into which a unit divides `length` products, and an addend, if it has any but zero."""
    instruction = unit.instruction
    lanes = min(instruction.lanes, length)
    filled = -(-length // instruction.fill) * instruction.fill
    groups = filled // instruction.lanes
    restart = unit.restart or groups
    terms = [unit.operands.addend] if addend and unit.operands.addend is not None else []
    grids = [sum(_grid(side) for side in (unit.operands.a, unit.operands.b)), *(_grid(term) for term in terms)]
    return Lengths(lanes, min(restart, groups), -(-groups // restart), None if unit.scale else min(grids))


def rounding(fmt: Format, how: str, count: int, *, flush: bool = False, exact: bool = False) -> Loss:
    """`count` roundings to a format. exact: nothing is lost among its subnormals."""
    if not isinstance(fmt, FloatFormat):
        return Loss(count, 0.0, 2.0**-fmt.fraction_bits)
    size = 2.0 ** (-fmt.fraction_bits - (how in NEAREST))
    if flush or not fmt.subnormals:
        # Nothing between zero and the least number, which is below 2^(emin + 1).
        return Loss(count, size, 2.0 ** (fmt.emin + 1))
    return Loss(count, size, 0.0 if exact else 2.0 ** (fmt.emin - fmt.fraction_bits))


def on_grid(parts: Lengths, fmt: Format) -> bool:
    """True if every sum of terms, cut or not, is a multiple of the least subnormal of a format."""
    return parts.grid is not None and parts.grid >= _grid(fmt)


def _grid(fmt: Format) -> int:
    """The exponent of a number of which all of a format's are multiples."""
    return least_exponent(fmt) - fmt.fraction_bits


def least_exponent(fmt: Format) -> int:
    """The exponent of a format's subnormal numbers; of integers, whose exponent is always the same, 0."""
    return fmt.emin if isinstance(fmt, FloatFormat) else 0


def product_bits(unit: Unit) -> int:
    """Fraction bits of a product."""
    a, b = unit.operands.multiplied
    return int(a.fraction_bits + b.fraction_bits)


def losses_of(unit: Unit, parts: Lengths) -> tuple[list[Loss], list[Loss]]:
    """The losses of a stretch of groups, and those of what adds up the stretches."""
    outer = of_promotion(unit.promotion, parts) if unit.promotion else []
    if unit.late and not unit.promotion:
        outer = of_late(unit, unit.late, parts)
    return of_group_sums(unit, parts), outer


def of_group_sums(unit: Unit, parts: Lengths) -> list[Loss]:
    """The losses of a stretch of groups, from zero to its rounded result."""
    match unit.sum:
        case AlignedSum() as rule:
            return _aligned(unit, rule, parts)
        case EvenOddSum() as rule:
            return _even_odd(unit, rule, parts)
        case ExactSum() as rule:
            return _exact(unit, rule, parts)
        case SequentialSum() as rule:
            # Every addition rounds, but the first, to zero, where it adds what the format holds.
            return _additions(unit, rule, parts, [], parts.lanes * parts.groups - 1, 1)
        case PairwiseSum() as rule:
            # A product passes a rounding a level, and one a group from then on, where the sum so far is added.
            chains = rule.chains or parts.lanes
            chained, levels = -(-parts.lanes // chains), (chains - 1).bit_length()
            inner = [(chained, 1, chained)] if rule.chains else []
            inner += [(1, chained << level, chained << level) for level in range(1, levels + 1)]
            return _additions(unit, rule, parts, inner, parts.groups - 1, parts.lanes)
        case _:
            assert_never(unit.sum)


def _result(unit: Unit, parts: Lengths, count: int) -> Loss:
    rule = unit.result
    flush = rule.subnormals == "flush"
    return rounding(rule.format, rule.rounding, count, flush=flush, exact=on_grid(parts, rule.format))


def _rounded(unit: Unit, parts: Lengths, count: int) -> list[Loss]:
    """The roundings of windows' sums; none before an addend that comes late in a window of its own."""
    return [] if isinstance(unit.late, LateInWindow) else [_result(unit, parts, count).of_sums(parts.lanes)]


def _window_size(fraction_bits: int, lost: Lost) -> float:
    """The largest part of 2^max_exp that a term loses in a window."""
    nearest = LOST_RULES[lost].rounding in ("rne", "rna")
    return 2.0 ** -(fraction_bits + nearest)


def _keeps(lost: Lost) -> bool:
    """True if a term that the window holds loses nothing: of ones' complement, a negative term loses its +1."""
    return not LOST_RULES[lost].complemented


def _aligned(unit: Unit, rule: AlignedSum, parts: Lengths) -> list[Loss]:
    """The losses of sums in one window.

    Each term loses less than a unit of the window; the largest nothing, where the window holds all of its bits.
    """
    bits, result = rule.fraction_bits, unit.result.format
    size, held = _window_size(bits, rule.term_lost), product_bits(unit)
    terms, width, inner = parts.lanes, 1, list[Loss]()
    if rule.subgroup is not None:
        part = rule.subgroup
        width = part.least_lanes if isinstance(part, ExactSubgroup) else part.lanes
        terms = -(-parts.lanes // width)
    if isinstance(rule.subgroup, WindowSubgroup):
        # Each product of a part loses less than a unit of its part's window, whatever the number of parts.
        part = rule.subgroup
        cut = _window_size(part.fraction_bits, part.lost)
        inner = [Loss(part.lanes, cut, 0.0, "closed", part.lanes, part.lanes, lost=part.lost)]
        held = rule.subgroup.fraction_bits
    if unit.scale is not None and unit.scale.at == "subgroup":
        held += unit.scale.a.format.fraction_bits + unit.scale.b.format.fraction_bits
    whole = _keeps(rule.term_lost) and held <= bits
    first = terms - whole
    rest = terms + 1 - (whole and result.fraction_bits <= bits)
    count = first + rest * (parts.groups - 1)
    # The exponent of an addend among the subnormals, or of zero, is emin.
    least = [least_exponent(result)] if parts.groups > 1 or rule.zero_terms == "count" else []
    if rule.zero_terms == "count" and isinstance(unit.operands.addend, FloatFormat):
        least.append(least_exponent(unit.operands.addend))
    if rule.max_exp_floor is not None:
        least.append(rule.max_exp_floor)
    floor = size * 2.0 ** max(least) if least else 0.0
    sticky = rule.sticky  # the bit below the sum: at most a unit
    window = Loss(count, size, 0.0, "windows", parts.lanes, terms, width, 1 + sticky, rule.term_lost)
    # Such a window may hold less than all bits of its largest term.
    losses = [*inner, window, Loss((terms + 1) * parts.groups, 0.0, floor)]
    if rule.cut is not None:
        # What a sum loses is a part of 2^max_exp, as what a term loses.
        cut = _window_size(bits - rule.cut.bits, rule.cut.lost)
        least_cut = cut * 2.0 ** max(least) if least else 0.0
        losses.append(Loss(parts.groups, cut, least_cut, "windows", parts.lanes, others=1))
    return [*losses, *_rounded(unit, parts, parts.groups)]


def _even_odd(unit: Unit, rule: EvenOddSum, parts: Lengths) -> list[Loss]:
    """The losses of two windows, each of half the terms and of its own largest, and of a third for both sums."""
    bits, half = rule.fraction_bits, -(-parts.lanes // 2)
    whole = _keeps(rule.lost) and product_bits(unit) <= bits
    held = _keeps(rule.combine.lost) and bits <= rule.combine.fraction_bits
    floor = 0.0 if rule.max_exp_floor is None else 2.0**rule.max_exp_floor
    size, both = _window_size(bits, rule.lost), _window_size(rule.combine.fraction_bits, rule.combine.lost)
    losses = [
        Loss(max(half - whole, 0), size, 2 * size * floor, "closed", half, half, lost=rule.lost),
        Loss(1 + (not held), both, both * floor),
    ]
    return [*losses, *_rounded(unit, parts, 1)]


def _exact(unit: Unit, rule: ExactSum, parts: Lengths) -> list[Loss]:
    """The loss of one rounding, or of one a group; none to a fixed format that holds products."""
    fmt = unit.result.format
    if isinstance(fmt, FixedFormat) and on_grid(parts, fmt):
        return []
    each = rule.rounded == "group"
    return [_result(unit, parts, parts.groups if each else 1).of_sums(parts.lanes * (1 if each else parts.groups))]


def _additions(
    unit: Unit,
    rule: SequentialSum | PairwiseSum,
    parts: Lengths,
    inner: list[tuple[int, int, int]],
    sums: int,
    along: int,
) -> list[Loss]:
    """The losses of rounded additions, of roundings of products, and of the sum to the result and back.

    A term passes `sums` additions of the sum so far at most, one every `along` products, and those of its group before:
    inner: how many, the products between them, and those after which their sums start from zero.
    """
    products, on_this_grid = parts.lanes * parts.groups, on_grid(parts, rule.format)
    passed = sums + sum(times for times, _, _ in inner)
    exact = rule.product == "rounded" or on_this_grid
    added = rounding(rule.format, rule.rounding, sums, flush=rule.flush, exact=exact).of_sums(along)
    if isinstance(rule, PairwiseSum) and passed:
        added = added._replace(least=added.least * products / passed)
    tree = [added._replace(times=times, along=every, fresh=fresh) for times, every, fresh in inner]
    # Each product is rounded before or in its addition; the format may hold it.
    loss = rounding(rule.format, rule.rounding, 1, flush=rule.flush, exact=on_this_grid)
    held = product_bits(unit) + 1 <= rule.format.fraction_bits
    loss = loss._replace(size=0.0 if held else loss.size, least=loss.least * products)
    if rule.format == unit.result.format and unit.result.subnormals == "keep":
        return [*tree, added, loss]
    back = rounding(rule.format, rule.rounding, parts.groups, flush=rule.flush).of_sums(parts.lanes)
    return [*tree, added, loss, _result(unit, parts, parts.groups).of_sums(parts.lanes), back]


def of_late(unit: Unit, late: LateAdd | LateInWindow, parts: Lengths) -> list[Loss]:
    """The losses of the additions of late addends."""
    result, along = unit.result.format, parts.lanes * parts.groups
    if isinstance(late, LateAdd):
        held = late.format == result and not late.flush
        count, exact = parts.stretches - held, on_grid(parts, late.format)
        loss = rounding(late.format, late.rounding, count, flush=late.flush, exact=exact)
        return [
            loss._replace(least=2 * loss.least).of_sums(along)
        ]  # of the addend, where that is flushed, and of the sum
    partial, addend = _window_size(late.sum_bits, late.lost), _window_size(late.addend_bits, late.lost)
    if late.drop_below is not None:
        addend = max(addend, 2.0**-late.drop_below)
    whole = _keeps(late.lost) and _window_bits(unit) <= late.sum_bits and late.zero_addend == "skip"
    size = max(partial, addend) if whole and result.fraction_bits <= late.addend_bits else partial + addend
    # To an addend of zero a sum of which nothing is cut loses nothing; where it counts, it has its format's exponent.
    least = size * 2.0 ** least_exponent(result)
    if late.zero_addend == "count" and isinstance(unit.operands.addend, FloatFormat):
        least = max(least, size * 2.0 ** least_exponent(unit.operands.addend))
    window = Loss(parts.stretches - whole, size, least, "spans", along, others=1)
    losses = [window, _result(unit, parts, parts.stretches).of_sums(along)]
    if late.total_bits is None:
        return losses
    total = _window_size(late.total_bits, late.lost)
    return [*losses, Loss(parts.stretches, total, total * 2.0 ** least_exponent(result), "spans", along, others=1)]


def _window_bits(unit: Unit) -> int:
    """Fraction bits of the window that a sum leaves; 0 of a method without one."""
    match unit.sum:
        case EvenOddSum():
            return unit.sum.combine.fraction_bits
        case AlignedSum() as rule:
            return rule.fraction_bits - (rule.cut.bits if rule.cut is not None else 0)
        case ExactSum() | RoundedSum():
            return 0
        case _:
            assert_never(unit.sum)


def of_promotion(rule: Promotion, parts: Lengths) -> list[Loss]:
    """The losses of the additions into the promotion register; the first, to zero, loses nothing that it holds."""
    along = parts.lanes * parts.groups
    if rule.operation == "add":
        return [rounding(rule.format, rule.rounding, parts.stretches - 1, exact=True).of_sums(along)]
    # The product of both scales is rounded too.
    scale = rounding(rule.format, rule.rounding, 1)._replace(least=0.0)
    return [scale, rounding(rule.format, rule.rounding, parts.stretches).of_sums(along)]
