"""Which units finish their sums in binary32, and how: twice as many columns a vector as in binary64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hwsim.formats import FixedFormat, FloatFormat
from hwsim.kernels.extents import exponent_range, extent
from hwsim.kernels.floats import RoundingTarget, has_room, target_of
from hwsim.kernels.lanes import NO_EXP
from hwsim.kernels.lost import TRUNCATE
from hwsim.kernels.vectors import Vectors
from hwsim.kernels.windows import WITHOUT, WindowNumbers
from hwsim.spec import LateInWindow, Unit
from hwsim.spec.keys import Number

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
    """How sums of a unit are finished in binary32; None where that does not hold them."""
    found = _single(unit, numbers, vectors)
    if found is None or numbers.addend != WITHOUT or numbers.floor != NO_EXP:
        return found
    ends = [exponent_range(fmt) for fmt in unit.operands.multiplied]
    low, high = (sum(end[side] for end in ends) - numbers.fraction_bits for side in (0, 1))
    return found._replace(bounded=low >= LEAST_PLACE and high <= MOST_PLACE)


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
    """Whether a format is binary32 with fewer fraction bits, or as many."""
    if fmt.fraction_bits > FRACTION_BITS:
        return False
    return (fmt.exponent_bits, fmt.bias, fmt.nan, fmt.subnormals, fmt.infinities) == (8, 127, "ieee", True, True)
