"""The roundings of a sum in each stage of a unit: how many there are, and how much each can lose.

Each stage is a list of losses, from which hwsim/study/accuracy/bounds.py makes bounds. `hwsim docs study-measures` has
the reasons.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

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


class Loss(NamedTuple):
    """A rounding or cut that happens `times` times and loses at most `size` of a sum of magnitudes each time.

    least: what it may lose besides, whatever the sum, near the least numbers of a format.
    """

    times: int
    size: float
    least: float = 0.0


class Lengths(NamedTuple):
    """The parts of K: products of a group, groups of a stretch that starts from zero, and such stretches."""

    lanes: int
    groups: int
    stretches: int


def lengths(unit: Unit, length: int) -> Lengths:
    """The parts into which a unit divides `length` products."""
    instruction = unit.instruction
    lanes = min(instruction.lanes, length)
    filled = -(-length // instruction.fill) * instruction.fill
    groups = filled // instruction.lanes
    restart = unit.restart or groups
    return Lengths(lanes, min(restart, groups), -(-groups // restart))


def rounding(fmt: Format, how: str, count: int, *, flush: bool = False, exact: bool = False) -> Loss:
    """`count` roundings to a format. exact: nothing is lost among its subnormals."""
    if not isinstance(fmt, FloatFormat):
        return Loss(count, 0.0, 2.0**-fmt.fraction_bits)
    size = 2.0 ** (-fmt.fraction_bits - (how in NEAREST))
    if flush or not fmt.subnormals:
        # Nothing between zero and the least number, which is below 2^(emin + 1).
        return Loss(count, size, 2.0 ** (fmt.emin + 1))
    return Loss(count, size, 0.0 if exact else 2.0 ** (fmt.emin - fmt.fraction_bits))


def on_grid(unit: Unit, fmt: Format) -> bool:
    """True if every sum of products, cut or not, is a multiple of the least subnormal of a format."""
    if unit.scale is not None:
        return False
    grids = [least_exponent(side) - side.fraction_bits for side in (unit.operands.a, unit.operands.b)]
    return sum(grids) >= least_exponent(fmt) - fmt.fraction_bits


def least_exponent(fmt: Format) -> int:
    """The exponent of a format's subnormal numbers; of integers, whose exponent is always the same, 0."""
    return fmt.emin if isinstance(fmt, FloatFormat) else 0


def product_bits(unit: Unit) -> int:
    """Fraction bits of a product."""
    a, b = unit.operands.multiplied
    return int(a.fraction_bits + b.fraction_bits)


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
            return _additions(unit, rule, parts, parts.lanes * parts.groups - 1)
        case PairwiseSum() as rule:
            if rule.chains is not None:
                levels = parts.lanes // rule.chains + (rule.chains - 1).bit_length()
                return _additions(unit, rule, parts, levels + parts.groups - 1)
            # A product passes a rounding a level, and one a group from then on, where the sum so far is added.
            return _additions(unit, rule, parts, (parts.lanes - 1).bit_length() + parts.groups - 1)
        case _:
            assert_never(unit.sum)


def _result(unit: Unit, count: int) -> Loss:
    rule = unit.result
    flush = rule.subnormals == "flush"
    return rounding(rule.format, rule.rounding, count, flush=flush, exact=on_grid(unit, rule.format))


def _rounded(unit: Unit, count: int) -> list[Loss]:
    """The roundings of windows' sums; none before an addend that comes late in a window of its own."""
    return [] if isinstance(unit.late, LateInWindow) else [_result(unit, count)]


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
    terms, inner = parts.lanes, list[Loss]()
    if rule.subgroup is not None:
        part = rule.subgroup
        terms = -(-parts.lanes // (part.least_lanes if isinstance(part, ExactSubgroup) else part.lanes))
    if isinstance(rule.subgroup, WindowSubgroup):
        # Each product of a part loses less than a unit of its part's window, whatever the number of parts.
        inner = [Loss(rule.subgroup.lanes, _window_size(rule.subgroup.fraction_bits, rule.subgroup.lost))]
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
    losses = [*inner, Loss(count, size, floor)]
    if rule.cut is not None:
        # What a sum loses is a part of 2^max_exp, as what a term loses.
        cut = _window_size(bits - rule.cut.bits, rule.cut.lost)
        losses.append(Loss(parts.groups, cut, cut * 2.0 ** max(least) if least else 0.0))
    return [*losses, *_rounded(unit, parts.groups)]


def _even_odd(unit: Unit, rule: EvenOddSum, parts: Lengths) -> list[Loss]:
    """The losses of two windows, each of half the terms and of its own largest, and of a third for both sums."""
    bits, half = rule.fraction_bits, -(-parts.lanes // 2)
    whole = _keeps(rule.lost) and product_bits(unit) <= bits
    held = _keeps(rule.combine.lost) and bits <= rule.combine.fraction_bits
    floor = 0.0 if rule.max_exp_floor is None else 2.0**rule.max_exp_floor
    size, both = _window_size(bits, rule.lost), _window_size(rule.combine.fraction_bits, rule.combine.lost)
    losses = [
        Loss(max(half - whole, 0), size, 2 * size * floor),
        Loss(1 + (not held), both, both * floor),
    ]
    return [*losses, *_rounded(unit, 1)]


def _exact(unit: Unit, rule: ExactSum, parts: Lengths) -> list[Loss]:
    """The loss of one rounding, or of one a group; none to a fixed format that holds products."""
    fmt = unit.result.format
    if isinstance(fmt, FixedFormat) and unit.scale is None and fmt.fraction_bits >= product_bits(unit):
        return []
    return [_result(unit, parts.groups if rule.rounded == "group" else 1)]


def _additions(unit: Unit, rule: SequentialSum | PairwiseSum, parts: Lengths, passed: int) -> list[Loss]:
    """The losses of rounded additions, of roundings of products, and of the sum to the result and back.

    passed: how many additions a term passes at most.
    """
    products, on_this_grid = parts.lanes * parts.groups, on_grid(unit, rule.format)
    exact = rule.product == "rounded" or on_this_grid
    added = rounding(rule.format, rule.rounding, passed, flush=rule.flush, exact=exact)
    if isinstance(rule, PairwiseSum) and passed:
        added = added._replace(least=added.least * products / passed)
    # Each product is rounded before or in its addition; the format may hold it.
    loss = rounding(rule.format, rule.rounding, 1, flush=rule.flush, exact=on_this_grid)
    held = product_bits(unit) + 1 <= rule.format.fraction_bits
    loss = loss._replace(size=0.0 if held else loss.size, least=loss.least * products)
    if rule.format == unit.result.format and unit.result.subnormals == "keep":
        return [added, loss]
    back = rounding(rule.format, rule.rounding, parts.groups, flush=rule.flush)
    return [added, loss, _result(unit, parts.groups), back]


def of_late(unit: Unit, late: LateAdd | LateInWindow, parts: Lengths) -> list[Loss]:
    """The losses of the additions of late addends."""
    result = unit.result.format
    if isinstance(late, LateAdd):
        held = late.format == result and not late.flush
        count, exact = parts.stretches - held, on_grid(unit, late.format)
        loss = rounding(late.format, late.rounding, count, flush=late.flush, exact=exact)
        return [loss._replace(least=2 * loss.least)]  # of the addend, where that is flushed, and of the sum
    partial, addend = _window_size(late.sum_bits, late.lost), _window_size(late.addend_bits, late.lost)
    if late.drop_below is not None:
        addend = max(addend, 2.0**-late.drop_below)
    whole = _keeps(late.lost) and _window_bits(unit) <= late.sum_bits and late.zero_addend == "skip"
    size = max(partial, addend) if whole and result.fraction_bits <= late.addend_bits else partial + addend
    # To an addend of zero a sum of which nothing is cut loses nothing.
    least = size * 2.0 ** least_exponent(result)
    losses = [Loss(parts.stretches - whole, size, least), _result(unit, parts.stretches)]
    if late.total_bits is None:
        return losses
    total = _window_size(late.total_bits, late.lost)
    return [*losses, Loss(parts.stretches, total, total * 2.0 ** least_exponent(result))]


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
    if rule.operation == "add":
        return [rounding(rule.format, rule.rounding, parts.stretches - 1, exact=True)]
    # The product of both scales is rounded too.
    scale = rounding(rule.format, rule.rounding, 1)._replace(least=0.0)
    return [scale, rounding(rule.format, rule.rounding, parts.stretches)]
