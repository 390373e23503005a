"""A unit's window as numbers that compiled code takes, the vectors that hold it, and what finishes it in binary32."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, assert_never

import numpy as np

from hwsim.compute.kernels.floats import RoundingTarget, has_room, target_of, targets_lack
from hwsim.compute.kernels.lanes import NO_EXP, TOP_EXP, VectorLayout
from hwsim.compute.kernels.lost import IN_VECTORS, TRUNCATE, lost_number
from hwsim.compute.kernels.values import CLASS_SHIFT, FINITE, SIG_MASK, OperandName, factor_words, words_lack
from hwsim.formats import FixedFormat, FloatFormat, Format
from hwsim.spec import AlignedSum, LateAdd, LateInWindow, Unit, WindowSum
from hwsim.spec.keys import Number
from hwsim.spec.parts import Scale
from hwsim.spec.ranges import exponent_range, extent, growth_of

# A window's sum must stand in 64 bits.
MOST_BITS = 62
# Of an exponent that nothing reaches.
NO_LIMIT = 1 << 20
# Of `addend`: there is none; it is aligned; there is none at first, and later the result of the group before.
WITHOUT, ALIGNED, LATER = range(3)
# Of `own_bits`: a subgroup has no window of its own.
NO_WINDOW = -1
# Of `late_total_bits`: the total is not cut.
UNCUT = -1


class WindowNumbers(NamedTuple):
    """The rules by which the terms of a group become one integer. Flags are 0 or 1, and what a unit has not is 0.

    sticky: whether a sum knows that its terms lost a 1, whatever `lost` made of it. cut_bits, cut_lost: places of the
    sum that are lost, and how. own_bits: of each subgroup's own
    window; NO_WINDOW where its sum is exact. subgroup_scaled: whether scales multiply it. zero_exp: the exponent of the
    +0 that a group starts from where its addend is late, in a window of its own; NO_EXP where there is no such term.
    low_lanes: products of a subgroup beside a low addend; 0 where an addend has no say in that, nor in what low_skips
    says: that such an addend has no part in max_exp.
    """

    lanes: int
    fraction_bits: int
    lost: int
    product_fraction: int
    count_zeros: int
    floor: int
    limit: int
    ieee_zero: int
    rounds_down: int
    addend: int
    even_odd: int = 0
    combine_bits: int = 0
    combine_lost: int = 0
    subgroup: int = 0
    subgroup_fraction: int = 0
    subgroup_least: int = 0
    own_bits: int = NO_WINDOW
    own_lost: int = 0
    subgroup_scaled: int = 0
    count_cancelled: int = 0
    late: int = 0
    late_sum_bits: int = 0
    late_addend_bits: int = 0
    late_lost: int = 0
    late_drop: int = NO_LIMIT
    late_zero: int = 0
    late_total_bits: int = UNCUT
    late_emin: int = 0
    zero_exp: int = NO_EXP
    sticky: int = 0
    cut_bits: int = 0
    cut_lost: int = 0
    low_lanes: int = 0
    low_skips: int = 0


class ReadNumbers(NamedTuple):
    """The keys of a `AlignedReadingSum` as flags, 0 or 1."""

    leading: int = 0
    lossless: int = 0
    significant: int = 0
    starts_late: int = 0
    unrounded: int = 0


def window_numbers(unit: Unit, rule: WindowSum) -> WindowNumbers:
    """The numbers that the methods that sum in windows have in common."""
    a, b = unit.operands.multiplied
    numbers = WindowNumbers(
        lanes=unit.instruction.lanes,
        fraction_bits=rule.fraction_bits,
        lost=lost_number(rule.term_lost),
        product_fraction=a.fraction_bits + b.fraction_bits,
        count_zeros=int(rule.zero_terms == "count"),
        floor=NO_EXP if rule.max_exp_floor is None else clipped(rule.max_exp_floor),
        limit=NO_LIMIT if rule.product_limit is None else clipped(rule.product_limit),
        ieee_zero=int(rule.zero == "ieee"),
        rounds_down=int(unit.result.rounding == "rd"),
        addend=_addend(unit),
        sticky=int(rule.sticky),
    )
    match unit.late:
        case LateInWindow() as late:
            return numbers._replace(
                addend=WITHOUT,
                late=1,
                late_sum_bits=late.sum_bits,
                late_addend_bits=late.addend_bits,
                late_lost=lost_number(late.lost),
                late_drop=NO_LIMIT if late.drop_below is None else clipped(late.drop_below),
                late_zero=int(late.zero_addend == "count"),
                late_total_bits=UNCUT if late.total_bits is None else late.total_bits,
                late_emin=exponent_range(unit.result.format)[0],
            )
        case LateAdd() | None:
            return numbers
        case _:
            assert_never(unit.late)


def _addend(unit: Unit) -> int:
    if unit.operands.addend is not None:
        return ALIGNED
    alone = unit.instruction.chain is None and unit.instruction.groups == 1 and unit.restart is None
    return WITHOUT if alone else LATER


def window_lacks(unit: Unit, rule: WindowSum) -> Iterator[str]:
    """Yield the settings of a unit that 64-bit windows do not hold, as keys with their values."""
    operands = unit.operands
    for key, fmt, to in zip("ab", (operands.a, operands.b), operands.multiplied, strict=True):
        yield from words_lack(f"operands.{key}", fmt, to)
    yield from targets_lack(unit)
    widths = {"sum.fraction_bits": rule.fraction_bits}
    if isinstance(unit.late, LateInWindow):
        widths |= {"late.sum_bits": unit.late.sum_bits, "late.addend_bits": unit.late.addend_bits}
    for key, bits in widths.items():
        if bits + growth_of(unit) > MOST_BITS:
            yield f"{key}: {bits} (a window that does not fit 64 bits)"
    addend = operands.addend
    if addend is not None and isinstance(unit.late, LateAdd) and unit.late.flush:
        yield from _flush_lacks(addend, unit.late.format)


def _flush_lacks(addend: Number, register: FloatFormat) -> Iterator[str]:
    """Yield the setting if what is flushed of an addend is not what is flushed of the register."""
    if exponent_range(addend)[0] != register.emin:
        yield f"late.flush: true (of {addend.name}, whose subnormals are not where those of {register.name} are)"


def clipped(exp: int) -> int:
    """An exponent, clipped to NO_LIMIT either way: what nothing reaches is as good as what is farther away."""
    return min(max(exp, -NO_LIMIT), NO_LIMIT)


# Products of a group by fours; each number is code of its own.
QUADS = 1, 2, 4, 8, 16, 32, 64
# A lane is empty when it is shifted by that; so far below TOP_EXP all exponents of products must be.
DEEPEST = 32
# Addends are finished in float64, in units of the window: both ends of their sum of exponents must be in its range.
FARTHEST = 600
# Significands are signed numbers of 16 bits.
MOST_SIG_BITS = 15


class Vectors(NamedTuple):
    """layout, lost: of `lanes.group`. shift_a, shift_b: of significands. deeper: of every product, down.

    most: the largest sum of all magnitudes, in units of the window. per_lane: exponents of products' scales are added
    to those of the factors when these are packed, since a group has scales of several blocks.
    """

    layout: VectorLayout
    lost: int
    shift_a: int
    shift_b: int
    deeper: int
    most: int
    per_lane: bool = False


def vectors_of(unit: Unit, rule: AlignedSum) -> Vectors | None:
    """The narrowest lanes that hold the window of a unit; None where none do."""
    if not _one_plain_window(unit, rule):
        return None
    scale, lanes = unit.scale, unit.instruction.lanes
    if scale is None or scale.at != "product" or _one_scale_a_group(unit, scale):
        return vectors_of_lanes(unit, rule, lanes)
    scales = scale.a.format, scale.b.format
    vectors = vectors_of_lanes(unit, rule, lanes, scales)
    return None if vectors is None else vectors._replace(per_lane=True)


def vectors_of_lanes(unit: Unit, rule: WindowSum, lanes: int, scales: tuple[Format, ...] = ()) -> Vectors | None:
    """The narrowest lanes that hold a unit's window of so many products; None where none do.

    scales: formats whose exponents are added to those of the factors.
    """
    lost = lost_number(rule.term_lost)
    quads = next((q for q in QUADS if lanes <= 4 * q), None)
    if quads is None or lost not in IN_VECTORS or _reaches(unit, rule) > FARTHEST:
        return None
    a, b = unit.operands.multiplied
    spans = [most - least for least, most in map(exponent_range, (a, b, *scales))]
    exp_bits = 8 if sum(spans) <= TOP_EXP[8] - DEEPEST else 16
    up = rule.fraction_bits - a.fraction_bits - b.fraction_bits
    down, up = max(-up, 0), max(up, 0)
    most_a, most_b = _largest_significand(unit, "a"), _largest_significand(unit, "b")
    most = most_a * most_b << up
    shift_a = min(up, MOST_SIG_BITS - most_a.bit_length())
    shift_b = up - shift_a
    if lost == TRUNCATE and most < 1 << 15 and most * lanes < 1 << 31 and not shift_b:
        return Vectors(VectorLayout(quads, 16, exp_bits), lost, shift_a, 0, down, most * lanes)
    # Rounding down or up adds one to every magnitude. What one sum does not hold is summed in parts.
    parts = next((p for p in QUADS if quads % p == 0 and (most + 1) * min(lanes, 4 * quads // p) < 1 << 32), None)
    if parts is None or most >= 1 << 31:
        return None
    factors_fit = shift_a >= 0 and shift_b + most_b.bit_length() <= MOST_SIG_BITS
    if not factors_fit or down > TOP_EXP[8] // 4:
        return None
    return Vectors(VectorLayout(quads, 32, exp_bits, parts), lost, shift_a, shift_b, down, (most + 1) * lanes)


def _one_plain_window(unit: Unit, rule: AlignedSum) -> bool:
    """True if products go into one window by rules that vectors have."""
    if rule.subgroup is not None or rule.product_limit is not None or isinstance(unit.late, LateInWindow):
        return False
    return rule.zero_terms == "skip" and rule.zero == "positive" and not rule.sticky and rule.cut is None


def _one_scale_a_group(unit: Unit, scale: Scale) -> bool:
    lanes = unit.instruction.lanes
    return unit.instruction.order == "sequential" and not scale.length("a") % lanes and not scale.length("b") % lanes


def _reaches(unit: Unit, rule: WindowSum) -> int:
    """The largest magnitude of an exponent: of scaled products, twice an addend's or a result's, or max_exp's floor."""
    scales = [unit.scale.a.format, unit.scale.b.format] if unit.scale and unit.scale.at == "product" else []
    ends = [exponent_range(fmt) for fmt in (*unit.operands.multiplied, *scales)]
    low, high = (sum(end[side] for end in ends) for side in (0, 1))
    sums = [end for fmt in (unit.operands.addend, unit.result.format) if fmt is not None for end in exponent_range(fmt)]
    floor = 0 if rule.max_exp_floor is None else rule.max_exp_floor
    return max(-low, high, floor, *(2 * abs(end) for end in sums))


def _largest_significand(unit: Unit, side: OperandName) -> int:
    """The largest significand of a factor, in units of the last place of the format that is multiplied."""
    operands = unit.operands
    words = factor_words(operands.factor(side), operands.multiplied[0 if side == "a" else 1], operands.daz)
    return int((words[words >> CLASS_SHIFT == FINITE] & SIG_MASK).max())


# Forms of a result. Of binary32's exponents, towards zero: of a sum below 2^24, and of any; or to odd. Any other format
# and rounding: to odd in binary32 first, and then in `target`.
SMALL, MASKED, ODD, ROUNDED = range(4)
# A sum below 2^24 is a binary32 number, and one below 2^31 stands in a signed lane.
BINARY32_BITS, LANE_BITS = 24, 31
ALL_BITS, FRACTION_BITS = -1, 23
# Exponents of sums' last places between which float32s stay normal when they are scaled; sums have 31 bits.
LEAST_PLACE, MOST_PLACE = -120, 96
# Stands for a target that is not looked at.
NO_TARGET = RoundingTarget(*[0.0] * 13, *[0] * 3)  # type: ignore[arg-type]


class Single(NamedTuple):
    """form: SMALL to ROUNDED. mask: the bits of a binary32 that a result has, of forms but ROUNDED. target: of it.

    bounded: max_exp is always one whose sums stay normal in binary32.
    """

    form: int
    mask: int
    target: RoundingTarget
    bounded: bool = False


# Of a unit that does not.
NOT_SINGLE = Single(SMALL, 0, NO_TARGET)


def single_of(unit: Unit, numbers: WindowNumbers, vectors: Vectors) -> Single | None:
    """The finish of a unit's sums in binary32; None where that does not hold them."""
    single = _single(unit, numbers, vectors)
    if single is None or numbers.addend != WITHOUT or numbers.floor != NO_EXP:
        return single
    ends = [exponent_range(fmt) for fmt in unit.operands.multiplied]
    low, high = (sum(end[side] for end in ends) - numbers.fraction_bits for side in (0, 1))
    return single._replace(bounded=low >= LEAST_PLACE and high <= MOST_PLACE)


def _single(unit: Unit, numbers: WindowNumbers, vectors: Vectors) -> Single | None:
    addend, result = unit.operands.addend, unit.result.format
    scaled = unit.scale is not None and unit.scale.at == "product"
    if isinstance(unit.late, LateInWindow) or isinstance(result, FixedFormat) or scaled:
        return None
    if vectors.deeper or vectors.layout.parts > 1:
        return None
    joins = numbers.addend != WITHOUT
    if joins and vectors.lost != TRUNCATE:
        return None
    most = vectors.most + (2 << numbers.fraction_bits if joins else 0)
    formats = [result] if addend is None else [result, addend]
    if most >= 1 << LANE_BITS or not all(_are_binary32s(fmt) for fmt in formats):
        return None
    rounding = unit.result.rounding
    if _is_short_binary32(result) and rounding in ("rz", "rto"):
        small = most < 1 << BINARY32_BITS and vectors.layout.lane_bits == 16
        form = ODD if rounding == "rto" else SMALL if small else MASKED
        return Single(form, ALL_BITS << FRACTION_BITS - result.fraction_bits, NO_TARGET)
    rule = unit.result
    if not has_room(result, rounding, np.float32, rule.flushes):
        return None
    target = target_of(result, rounding, rule.overflow, rule.tiny, rule.flushes, np.float32)
    return Single(ROUNDED, ALL_BITS, target)


def _are_binary32s(fmt: Number) -> bool:
    return isinstance(fmt, FloatFormat) and extent(fmt).are_float32s and exponent_range(fmt)[0] >= -126


def _is_short_binary32(fmt: FloatFormat) -> bool:
    """True if a format is binary32 with fewer fraction bits, or as many."""
    if fmt.fraction_bits > FRACTION_BITS:
        return False
    return (fmt.exponent_bits, fmt.bias, fmt.nan, fmt.subnormals, fmt.infinities) == (8, 127, "ieee", True, True)
