"""Arithmetic on floats that carry numbers of other formats exactly: sums rounded to odd, and one rounding to a format.

The carrier is float64; where a kernel proves that it suffices, float32. What is `inlined` becomes a part of the kernel
that calls it, whose loop over columns then becomes vectors: no branch is decided by data. Rounding works on magnitudes:
adding and taking away 1.5 * 2^n leaves a multiple of the unit in the last place of 2^n, to nearest, ties to even; the
other roundings correct that by one unit.

A sum that is not exact in the carrier is rounded to odd there, so that one more rounding, to a format with at least two
bits less, is that of the exact sum (Boldo and Melquiond 2008)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Literal, NamedTuple, assert_never

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from hwsim.base.compiled import inlined
from hwsim.base.errors import InputError
from hwsim.compute.kernels.kernel import int64
from hwsim.compute.kernels.vector_code import Builder, Value
from hwsim.formats import FixedFormat, FloatFormat, formats
from hwsim.spec import LateAdd, Unit, wide_codes
from hwsim.spec.keys import ROUNDINGS, Number, Overflow, Rounding, Tininess
from hwsim.spec.parts import ResultRule

EXPONENT = {32: 0x7F800000, 64: 0x7FF0000000000000}


def _binade(_: Value, x: Value) -> Value:
    """The largest power of two that is not above x. x: normal and above zero."""
    if not isinstance(x, types.Float):
        return None

    def code(context: Value, builder: Builder, signature: Value, arguments: Value) -> Value:
        bits = _as_bits(builder, arguments[0])
        return builder.bitcast(builder.and_(bits, bits.type(EXPONENT[bits.type.width])), arguments[0].type)

    return x(x), code


def _jam(_: Value, x: Value, rest: Value) -> Value:
    """x + rest, rounded to odd: x itself if rest is zero or NaN, else that of the two floats around it that is odd.

    rest: at most half an ulp of x in magnitude, as the error of an addition is.
    """
    if not isinstance(x, types.Float) or x != rest:
        return None

    def code(context: Value, builder: Builder, signature: Value, arguments: Value) -> Value:
        bits, of_rest = (_as_bits(builder, argument) for argument in arguments)
        inexact = builder.fcmp_ordered("one", arguments[1], arguments[1].type(0.0))
        # Towards zero first: one less in magnitude where the rest has the other sign. Then the last bit is set.
        other_sign = builder.icmp_signed("<", builder.xor(bits, of_rest), bits.type(0))
        bits = builder.sub(bits, builder.zext(builder.and_(other_sign, inexact), bits.type))
        bits = builder.or_(bits, builder.zext(inexact, bits.type))
        return builder.bitcast(bits, arguments[0].type)

    return x(x, x), code


def _drop_bits(_: Value, x: Value, drop: Value) -> Value:
    """x without its last `drop` bits, to nearest, ties to even; infinities and NaNs are left alone.

    That is the rounding to a format whose exponents are those of x's type. drop: 1 or more.
    """
    if not isinstance(x, types.Float) or not isinstance(drop, types.Integer):
        return None

    def code(context: Value, builder: Builder, signature: Value, arguments: Value) -> Value:
        bits = _as_bits(builder, arguments[0])
        kind = bits.type
        drop = builder.trunc(arguments[1], kind) if kind.width < 64 else arguments[1]
        unit = builder.shl(kind(1), drop)
        odd = builder.and_(builder.lshr(bits, drop), kind(1))
        half = builder.sub(builder.lshr(unit, kind(1)), kind(1))
        kept = builder.and_(builder.add(bits, builder.add(half, odd)), builder.neg(unit))
        nan = builder.fcmp_unordered("uno", arguments[0], arguments[0])
        return builder.select(nan, arguments[0], builder.bitcast(kept, arguments[0].type))

    return x(x, types.int64), code


def _fma(_: Value, x: Value, y: Value, z: Value) -> Value:
    """x * y + z, rounded once, to nearest."""
    if not isinstance(x, types.Float) or not x == y == z:
        return None

    def code(context: Value, builder: Builder, signature: Value, arguments: Value) -> Value:
        return builder.fma(*arguments)

    return x(x, x, x), code


def _as_bits(builder: Builder, x: Value) -> Value:
    return builder.bitcast(x, ir.IntType(32 if isinstance(x.type, ir.FloatType) else 64))


binade: Callable[[float], float] = intrinsic(_binade)
jam: Callable[[float, float], float] = intrinsic(_jam)
drop_bits: Callable[[float, int], float] = intrinsic(_drop_bits)
fma: Callable[[float, float, float], float] = intrinsic(_fma)


RNE, RNA, RZ, RU, RD, RTO = range(6)
# Of `round_in`: the carrier's own arithmetic has rounded; the format is the carrier with fewer bits, to nearest.
NATIVE, CUT = 14, 15
MODES = 15  # the bits of a mode that say this
# Added to a mode: a format without subnormals whose numbers below the least are rounded to it or to zero; a number
# below the floor becomes zero, whatever it is rounded to; to nearest, infinities become other than what is too large.
NEARBY, FLUSH_BEFORE, APART = 16, 32, 64

MOST_EXPONENT = 500

CarrierType = type[np.float32] | type[np.float64]


def mode_of(rounding: Rounding) -> int:
    """The rounding as compiled code takes it."""
    match rounding:
        case "rne":
            return RNE
        case "rna":
            return RNA
        case "rz":
            return RZ
        case "ru":
            return RU
        case "rd":
            return RD
        case "rto":
            return RTO
        case _:
            assert_never(rounding)


@inlined
def grows(kept: Any, half: Any, below: Any, negative: Any, mode: Any) -> Any:
    """True if a magnitude is rounded up. half: the first bit that is lost. below: whether others are 1."""
    if mode == RNE:
        return half and (below or kept & np.uint64(1) == 1)
    if mode == RNA:
        return half
    if mode == RZ:
        return False
    lost = half or below
    if mode == RU:
        return lost and not negative
    if mode == RD:
        return lost and negative
    assert mode == RTO
    return lost and kept & np.uint64(1) == 0


class RoundingTarget(NamedTuple):
    """A format and the rules of a rounding to it, as numbers of the carrier's type.

    floor: the power of two whose unit is the least. ceiling: a power of two above every number. unit: an ulp, as a part
    of its binade. shift: 1.5 ulps of the carrier's last place there, as a multiple of it. most: the largest number.
    over_plus, over_minus: what is too large becomes, as a magnitude, by its sign. infinite: what infinities become.
    least: a smaller magnitude is none.
    tie_plus, tie_minus: of NEARBY: above that, a magnitude below the least becomes the least. none: zero.
    zero: what added to a zero gives it the sign that it may have. mode: of the rounding. drop: of CUT.
    positive: 1 where a number other than zero that becomes zero loses its sign, else 0.
    """

    floor: float
    ceiling: float
    unit: float
    shift: float
    most: float
    over_plus: float
    over_minus: float
    infinite: float
    least: float
    tie_plus: float
    tie_minus: float
    none: float
    zero: float
    mode: int
    drop: int
    positive: int


TARGET_NUMBERS = len(RoundingTarget._fields)


@inlined
def target_at(t: NDArray[Any]) -> RoundingTarget:
    """A rounding's target from an array of its numbers."""
    return RoundingTarget(
        t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], int64(t[13]), int64(t[14]),
        int64(t[15]),
    )  # fmt: skip


def has_room(fmt: Number, rounding: Rounding, carrier: CarrierType = np.float64, flush: Tininess | None = None) -> bool:
    """True if the carrier holds a format with room to spare for a rounding to it. Float64 holds every fixed format."""
    if isinstance(fmt, FixedFormat):
        return carrier is np.float64
    place = int(np.finfo(carrier).nmant)
    # Beyond the ceiling, the shift must still be a number.
    highest = fmt.emax + (0 if _drop(fmt, rounding, carrier, flush) else 2 + place - fmt.fraction_bits)
    lowest = fmt.emin - fmt.fraction_bits - (flush == "after")
    last, first = (127, -149) if carrier is np.float32 else (MOST_EXPONENT + place, -MOST_EXPONENT)
    return fmt.fraction_bits <= place - 2 and highest <= last and lowest >= first and fmt.signed


def target_of(
    fmt: FloatFormat,
    rounding: Rounding,
    overflow: Overflow = "ieee",
    tiny: Literal["signed", "positive"] = "signed",
    flush: Tininess | None = None,
    carrier: CarrierType = np.float64,
) -> RoundingTarget:
    """A format, for which the carrier `has_room`, and a rounding's rules.

    overflow: a policy of `result.overflow`; an addition has that of IEEE 754.
    tiny: `positive`: what becomes zero loses its sign. flush: what makes a number zero by being subnormal.
    carrier: float32 takes the rules of an addition alone.
    """
    fraction_bits, place = fmt.fraction_bits, int(np.finfo(carrier).nmant)
    drop = _drop(fmt, rounding, carrier, flush)
    most, normal = float(fmt.decode(fmt.max_magnitude << fmt.padding)), 2.0**fmt.emin
    least = (normal if flush else 0.0) if fmt.subnormals else normal * (1 + 2.0**-fraction_bits)
    nearby = not fmt.subnormals and fmt.underflow == "nearby"
    above, below = _ties(rounding, carrier(least / 2)) if nearby else (np.inf, np.inf)

    over_plus, over_minus = (_over(fmt, overflow, most, _outside(rounding, plus, fmt)) for plus in (True, False))
    infinite = _infinite(fmt, overflow, most)
    apart = rounding in ("rne", "rna") and str(infinite) != str(over_plus)
    flags = NEARBY * nearby + FLUSH_BEFORE * (flush == "before") + APART * apart

    def number(x: float) -> float:
        return carrier(x)  # type: ignore[return-value]

    return RoundingTarget(
        # The binade below the least normal number has places of its own where a number is rounded as if it were normal.
        floor=number(normal / 2 if flush == "after" else normal),
        ceiling=number(1.0 if drop else 2.0 ** (fmt.emax + 1)),
        unit=number(2.0**-fraction_bits),
        shift=number(1.5 * 2.0 ** (place - fraction_bits)),
        most=number(most),
        over_plus=number(over_plus),
        over_minus=number(over_minus),
        infinite=number(infinite),
        least=number(least),
        tie_plus=number(above),
        tie_minus=number(below),
        none=number(0.0),
        zero=number(-0.0 if fmt.signed_zero else 0.0),
        mode=(CUT if drop else mode_of(rounding)) + flags,
        drop=drop,
        positive=int(tiny == "positive"),
    )


def _over(fmt: FloatFormat, overflow: Overflow, most: float, outside: bool) -> float:
    """The magnitude in the place of a finite one that is too large. outside: a rounding by IEEE 754 leads there."""
    match overflow:
        case "infinity":
            return np.inf
        case "nan":
            return np.nan
        case "saturate" | "propagate":
            return most
        case "ieee":
            beyond = np.inf if fmt.infinities else np.nan
            return beyond if outside else most
        case "wrap":
            raise InputError(f"{fmt.name} is not a fixed format, and does not wrap")
        case _:
            assert_never(overflow)


def _infinite(fmt: FloatFormat, overflow: Overflow, most: float) -> float:
    """The magnitude in the place of an infinite one."""
    match overflow:
        case "infinity":
            return np.inf
        case "nan" | "ieee":
            return np.inf if fmt.infinities else np.nan
        case "propagate":
            return np.inf if fmt.infinities else most
        case "saturate":
            return most
        case "wrap":
            raise InputError(f"{fmt.name} is not a fixed format, and does not wrap")
        case _:
            assert_never(overflow)


def _outside(rounding: Rounding, positive: bool, fmt: FloatFormat) -> bool:
    """True if IEEE 754 rounds what is too large to infinity (IEEE 754-2019, 7.4), and not to the largest number.

    To odd goes where the code is odd; a format's code before infinity's is that of the largest number.
    """
    match ROUNDINGS[rounding].inward:
        case "neither":
            return True
        case "both":
            return False
        case "negative":
            return positive
        case "positive":
            return not positive
        case "odd":
            return not fmt.infinities or fmt.max_magnitude & 1 == 0
        case unknown:
            assert_never(unknown)


def _drop(fmt: FloatFormat, rounding: Rounding, carrier: CarrierType, flush: Tininess | None) -> int:
    """The bits that float32 has more than a format of its own exponents; 0 for any other format or rounding."""
    same = (fmt.exponent_bits, fmt.bias, fmt.nan, fmt.subnormals) == (8, 127, "ieee", True)
    return 23 - fmt.fraction_bits if carrier is np.float32 and same and rounding == "rne" and flush != "after" else 0


def _ties(rounding: Rounding, half: np.float32 | np.float64) -> tuple[float, float]:
    """Above which magnitude a positive, and a negative, number below the least goes up to it. half: of the least."""
    match rounding:
        case "rne":
            return float(half), float(half)
        case "rna":
            below = float(np.nextafter(half, type(half)(0)))
            return below, below
        case "rz":
            return np.inf, np.inf
        case "ru":
            return 0.0, np.inf
        case "rd":
            return np.inf, 0.0
        case "rto":
            return 0.0, 0.0
        case _:
            assert_never(rounding)


# A rounded number must have at most so many bits, in units of a fixed format, for its last ones to be right.
FIXED_BITS = 51


class FixedRange(NamedTuple):
    """The range of a fixed format. turn: what its codes repeat after, to wrap; 0 to saturate."""

    low: float
    high: float
    turn: float


# Of a result that is no fixed format.
ANY_RANGE = FixedRange(0.0, 0.0, 0.0)


def fixed_target(fmt: FixedFormat, rounding: Rounding) -> RoundingTarget:
    """A rounding to the unit of a fixed format, without an end, for `round_in`; `within` gives it one."""
    unit = 2.0**-fmt.fraction_bits
    return RoundingTarget(
        floor=unit, ceiling=unit, unit=1.0, shift=1.5 * 2.0**52, most=np.inf, over_plus=np.inf, over_minus=np.inf,
        infinite=0.0, least=0.0,
        tie_plus=0.0, tie_minus=0.0, none=0.0, zero=0.0, mode=mode_of(rounding), drop=0, positive=0,
    )  # fmt: skip


def fixed_range(fmt: FixedFormat, wraps: bool) -> FixedRange:
    """The range of a fixed format, at whose ends numbers wrap or saturate."""
    unit = 2.0**-fmt.fraction_bits
    half = unit * 2.0 ** (fmt.bits - 1)
    return FixedRange(-half, half - unit, 2 * half if wraps else 0.0)


@inlined
def add_odd(x: float, y: float) -> float:
    """x + y, rounded to odd. Zeros, infinities and NaNs as IEEE 754 has them, to nearest."""
    total = x + y
    of_y = total - x
    return jam(total, (x - (total - of_y)) + (y - of_y))


@inlined
def fma_odd(x: float, y: float, z: float) -> float:
    """x * y + z, rounded to odd. x * y: a number of the carrier."""
    return add_odd(x * y, z)


@inlined
def sum_in(x: float, y: float, mode: int, exact: bool) -> float:
    """x + y for one rounding in that mode: rounded to odd, or exact where the caller knows that; IEEE 754's zeros."""
    total = -((-x) - y) if mode & MODES == RD else x + y
    if exact:
        return total
    of_y = total - x
    return jam(total, (x - (total - of_y)) + (y - of_y))


@inlined
def round_in(x: float, t: RoundingTarget, mode: int) -> float:
    """x, rounded to t by the rules of an addition. mode: t.mode, as a constant where a loop is to become vectors."""
    if mode & MODES == NATIVE:
        kept = abs(x)
    elif mode & MODES == CUT:
        kept = abs(drop_bits(x, t.drop))
    else:
        kept = _nearest(abs(x), x > 0, t, mode & MODES)
    if mode & NEARBY:
        tie = t.tie_plus if x > 0 else t.tie_minus
        small = t.least if abs(x) > tie else t.none
        kept = small if kept < t.least else kept
    else:
        kept = t.none if kept < t.least else kept
    if mode & FLUSH_BEFORE:
        kept = t.none if abs(x) < t.floor else kept
    over = t.over_plus
    if RU <= mode & MODES <= RD:
        over = over if x > 0 else t.over_minus
    if RZ <= mode & MODES <= RTO or mode & APART:  # what is too large may become what no infinity does
        over = t.infinite if abs(x) == np.inf else over
    kept = over if kept > t.most else kept
    rounded: float = np.copysign(kept, x) + t.zero
    return rounded


@inlined
def _nearest(size: float, positive: bool, t: RoundingTarget, mode: int) -> float:
    """A magnitude, rounded to t's units in that mode. positive: of the number."""
    # Zeros and NaNs take the floor, infinities the ceiling.
    raised = size if size > t.floor else t.floor
    power = binade(raised if raised < t.ceiling else t.ceiling)
    shift, unit = power * t.shift, power * t.unit
    kept = (size + shift) - shift
    if mode == RNE:
        return kept
    if mode == RNA:
        rest = size - kept
        return kept + unit if rest + rest == unit else kept
    low = kept - unit if kept > size else kept
    if mode == RZ:
        return low
    high = kept + unit if kept < size else kept
    if mode == RU:
        return high if positive else low
    if mode == RD:
        return low if positive else high
    twice = shift + shift
    even = (low + twice) - twice == low
    return high if even else low


@inlined
def round_to(x: float, t: RoundingTarget) -> float:
    """x, rounded to t by all of its rules."""
    return settled(x, round_in(x, t, t.mode), t)


@inlined
def settled(x: float, rounded: float, t: RoundingTarget) -> float:
    """The rounding of x that `round_in` made, with the rules that a result has and an addition has not."""
    result = np.copysign(t.infinite, x) if abs(x) == np.inf else rounded
    return t.none if t.positive and result == 0 and x != 0 else result


@inlined
def within(x: float, f: FixedRange) -> float:
    """A multiple of a fixed format's unit, brought into its range."""
    if f.turn > 0:
        turns: float = np.floor(x / f.turn + 0.5)
        return x - f.turn * turns
    return min(max(x, f.low), f.high)


NOT_SCALED, SCALES_FIRST, A_FIRST, B_FIRST = range(4)


def first_of(unit: Unit) -> int:
    """The factor that a promotion multiplies first, as compiled code takes it."""
    promotion = unit.promotion
    if promotion is None or promotion.operation != "fma":
        return NOT_SCALED
    match promotion.first:
        case "scales":
            return SCALES_FIRST
        case "a":
            return A_FIRST
        case "b":
            return B_FIRST
        case _:
            assert_never(promotion.first)


@inlined
def in_order(first: int, partial: float, scale_a: float, scale_b: float) -> tuple[float, float]:
    """The product that a scaled promotion makes first, which is to be rounded; and what that is multiplied by."""
    if first == SCALES_FIRST:
        return scale_a * scale_b, partial
    return (partial * scale_a, scale_b) if first == A_FIRST else (partial * scale_b, scale_a)


def targets_lack(unit: Unit) -> Iterator[str]:
    """Yield the settings that words of 32 bits, or float64 with room to spare, do not hold, as keys with values."""
    yield from wide_codes(unit)
    result, promotion, late = unit.result, unit.promotion, unit.late
    if not has_room(result.format, result.rounding, flush=result.flushes):
        yield f"result.format: {result.format.name}"
    if promotion is not None and not has_room(promotion.format, promotion.rounding):
        yield f"promotion.format: {promotion.format.name}"
    if isinstance(late, LateAdd) and not has_room(late.format, late.rounding, flush=late.flushes):
        yield f"late.format: {late.format.name}"


def result_target(result: ResultRule) -> RoundingTarget:
    """The rounding of a group's sum. A fixed format's has no end: `within` its range comes after it."""
    if isinstance(result.format, FixedFormat):
        return fixed_target(result.format, result.rounding)
    return target_of(result.format, result.rounding, result.overflow, result.tiny, result.flushes)


@cache
def binary32_target() -> RoundingTarget:
    """The target of binary32's own arithmetic: a float64 is rounded so by a conversion."""
    binary32 = formats()["f32"]
    assert isinstance(binary32, FloatFormat)
    return target_of(binary32, "rne", "infinity")


def register_target(unit: Unit) -> RoundingTarget | None:
    """The rounding of a promotion, or of a late addition; None where a unit has neither."""
    if unit.promotion is not None:
        return target_of(unit.promotion.format, unit.promotion.rounding)
    if isinstance(unit.late, LateAdd):
        return target_of(unit.late.format, unit.late.rounding, flush=unit.late.flushes)
    return None
