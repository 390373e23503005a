"""Bounds on the accumulation error of a unit, by what its stages may lose (hwsim/study/accuracy/roundings.py).

Worst case: every loss is as large as it can be, and all add up. Probabilistic: losses are independent and of mean zero
(Higham and Mary 2019, SIAM Journal on Scientific Computing 41(5)). `hwsim docs study-measures` derives both.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, log1p, sqrt

import numpy as np

from hwsim.base.errors import InputError
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.spec import AlignedSum, EvenOddSum, Unit, implemented
from hwsim.spec.sums import ExactSubgroup
from hwsim.study.accuracy.exact import Array
from hwsim.study.accuracy.roundings import Loss, least_exponent, lengths, losses_of

MOST_EXPONENT = 700.0


@dataclass(frozen=True)
class Bounds:
    """Bounds on |returned - exact|, as factors on the counted sum of magnitudes (`counted_magnitude`).

    Neither overflow nor a product of scales among the subnormals: those are not in it.
    worst: never exceeded, with what `floor` adds. probabilistic: with probability at least 1 - 2 exp(-lam^2 / 2) for
    one result, if losses are independent with mean zero.
    floor: what is lost besides near the least numbers of a format, absolute. scaled_floor: the same of what is
    multiplied by scales afterwards.
    """

    worst: float
    probabilistic: float
    floor: float = 0.0
    scaled_floor: float = 0.0


def bounds(unit: Unit, length: int, lam: float = 3.0, *, addend: bool = False) -> Bounds:
    """The bounds of a dot product of `length` products, started from zero, or from an addend of any value.

    Raises ValueError for a length below 1, NotImplementedYet for a unit that hwsim does not have.
    """
    implemented(unit).demand()
    if length < 1:
        raise InputError(f"length must be at least 1, not {length}")
    if addend:  # as a sum so far of one stretch of groups more, and of another for what it loses itself
        length += 2 * unit.instruction.lanes * max(unit.restart or 1, unit.instruction.groups)
    parts = lengths(unit, length, addend=addend)
    inner, outer = losses_of(unit, parts)
    losses = [*inner, *outer]
    worst = _expm1(sum(loss.times * log1p(loss.size) for loss in losses))
    floor_inner = parts.stretches * sum(loss.times * loss.least for loss in inner) * (1 + worst)
    floor_outer = sum(loss.times * loss.least for loss in outer) * (1 + worst)
    scaled = unit.scale is not None and unit.scale.at == "promotion"
    return Bounds(
        worst=worst,
        probabilistic=min(worst, _probabilistic(losses, lam)),
        floor=floor_outer if scaled else floor_inner + floor_outer,
        scaled_floor=floor_inner if scaled else 0.0,
    )


def _probabilistic(losses: list[Loss], lam: float) -> float:
    """exp(lam sqrt(sum size^2) + sum size^2 / (1 - size)) - 1, of all losses: Higham and Mary's if all are alike."""
    squares = sum(loss.times * loss.size**2 for loss in losses)
    rest = sum(loss.times * loss.size**2 / (1 - loss.size) for loss in losses if loss.size < 1)
    return float("inf") if any(loss.size >= 1 for loss in losses) else _expm1(lam * sqrt(squares) + rest)


def _expm1(x: float) -> float:
    return expm1(x) if x < MOST_EXPONENT else float("inf")


def worst_errors(
    unit: Unit,
    values_a: Array,
    values_b: Array,
    scales_a: Array | None = None,
    scales_b: Array | None = None,
    addends: Array | None = None,
) -> Array:
    """Upper bounds of |returned - exact|, for each of (rows, columns) results. Operands as `counted_magnitude`'s.

    addends: (rows, columns), or what broadcasts to it; None, or zeros, are +0.
    Factors that the unit flushes to zero are in it: all of their products; and addends.
    """
    started = addends is not None and bool(addends.any())
    bound = bounds(unit, values_a.shape[1], addend=started)
    counted = counted_magnitude(unit, values_a, values_b, scales_a, scales_b)
    if addends is not None and started:
        counted = counted + counted_addends(unit, addends)
    floor = bound.floor
    if bound.scaled_floor and scales_a is not None and scales_b is not None:
        floor += bound.scaled_floor * float(np.max(np.abs(scales_a))) * float(np.max(np.abs(scales_b)))
    total = bound.worst * counted + floor
    if addends is not None:
        total = total + flushed_addends(unit, addends)
    return total + flushed_magnitude(unit, values_a, values_b, scales_a, scales_b)


def counted_addends(unit: Unit, addends: Array) -> Array:
    """Magnitudes of addends as they count for alignment: a subnormal as 2^emin."""
    fmt = unit.operands.addend
    return np.abs(addends) if fmt is None else _counted(addends, 2.0 ** least_exponent(fmt), False)


def flushed_addends(unit: Unit, addends: Array) -> Array:
    """The magnitudes of addends that the unit flushes; 0 of others."""
    fmt, size = unit.operands.addend, np.abs(addends)
    flushes = getattr(unit.sum, "flush", False) or getattr(unit.late, "flush", False)
    if not flushes or not isinstance(fmt, FloatFormat):
        return np.zeros_like(size)
    return np.where(size < 2.0**fmt.emin, size, 0.0)


def counted_magnitude(
    unit: Unit,
    values_a: Array,
    values_b: Array,
    scales_a: Array | None = None,
    scales_b: Array | None = None,
) -> Array:
    """The sums of |a| |b| as they count for alignment: a subnormal as 2^emin, which is at most what it would be.

    values_a, values_b: (rows, K) and (K, columns): what codes are worth, without scales; not finite ones count as 0.
    scales_a, scales_b: those that enter the unit, one a term, or what broadcasts to it.
    Rounded up, so that it is never below the exact sum. Raises ValueError where scales are missing.
    """
    a, b = counted_sides(unit, values_a, values_b, scales_a, scales_b)
    # BLAS adds in any order: at most K roundings of 2^-53, and one of each product.
    return np.asarray(a @ b * (1 + (values_a.shape[1] + 8) * 2.0**-52), dtype=np.float64)


def counted_sides(
    unit: Unit, values_a: Array, values_b: Array, scales_a: Array | None, scales_b: Array | None
) -> tuple[Array, Array]:
    """|a| and |b| as they count in `counted_magnitude`."""
    if unit.scale is not None and (scales_a is None or scales_b is None):
        raise InputError(f"{unit.name}: scales must be given: the unit has scales")
    counts_zeros = isinstance(unit.sum, AlignedSum | EvenOddSum) and unit.sum.zero_terms == "count"
    exponents = isinstance(unit.sum, AlignedSum) and isinstance(unit.sum.subgroup, ExactSubgroup)
    sides = []
    for fmt, values, side, scales in zip(
        unit.operands.multiplied, (values_a, values_b), ("a", "b"), (scales_a, scales_b), strict=True
    ):
        least = max(1.0, _least(fmt)) if exponents else _least(fmt)
        counted = _counted(values, least, counts_zeros)
        if scales is not None and unit.scale is not None:
            counted = counted * _counted(scales, _least(getattr(unit.scale, side).format), False)
        sides.append(counted)
    return sides[0], sides[1]


def _counted(values: Array, least: float, zeros: bool) -> Array:
    """Magnitudes raised to at least `least`; zeros are raised only if `zeros` is set."""
    size = np.abs(values)
    none = ~np.isfinite(size) if zeros else (size == 0) | ~np.isfinite(size)
    np.maximum(size, least, out=size)
    size[none] = 0.0
    return size


def _least(fmt: Format) -> float:
    """The magnitude that subnormal numbers of a format count as: 2^emin; 1 of integers, 0 of exponent formats."""
    return 0.0 if isinstance(fmt, ExponentFormat) else 2.0 ** least_exponent(fmt)


def flushed_magnitude(
    unit: Unit, values_a: Array, values_b: Array, scales_a: Array | None = None, scales_b: Array | None = None
) -> Array:
    """The sums of |a| |b| over the products that have a factor which the unit flushes."""
    if not unit.operands.daz:
        return np.zeros((values_a.shape[0], values_b.shape[1]))
    sides, unflushed = [], []
    for fmt, values, scales in zip(unit.operands.multiplied, (values_a, values_b), (scales_a, scales_b), strict=True):
        size = np.where(np.isfinite(values), np.abs(values), 0.0) * (1.0 if scales is None else np.abs(scales))
        sides.append(size)
        unflushed.append(np.where(np.abs(values) < _least(fmt), 0.0, size))
    lost_a, lost_b = sides[0] - unflushed[0], sides[1] - unflushed[1]
    lost = (lost_a @ sides[1] + unflushed[0] @ lost_b) * (1 + (values_a.shape[1] + 8) * 2.0**-52)
    return np.asarray(lost, dtype=np.float64)


def overflow_limit(unit: Unit) -> float:
    """A magnitude below which nothing overflows in a unit."""
    result, late, promotion = unit.result.format, unit.late, unit.promotion
    formats = [getattr(part, "format", None) for part in (unit.result, unit.sum, late, promotion)]
    limits = [2.0**fmt.emax for fmt in formats if isinstance(fmt, FloatFormat)]
    if (product := getattr(unit.sum, "product_limit", None)) is not None:
        limits.append(2.0**product)
    if isinstance(result, FixedFormat):
        limits.append(2.0**result.integer_bits)
    return min([*limits, 2.0**1023])
