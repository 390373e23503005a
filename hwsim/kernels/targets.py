"""The roundings of a unit: of a group's result, and of the register that results are added to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from hwsim.formats import FixedFormat, FloatFormat, formats
from hwsim.kernels.floats import RoundingTarget, fixed_target, has_room, target_of
from hwsim.spec import LateAdd, Unit, wide_codes
from hwsim.spec.parts import ResultRule


def targets_lack(unit: Unit) -> Iterator[str]:
    """What words of 32 bits do not hold, and float64 not with room to spare, as keys with their values."""
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
    """That of binary32's own arithmetic: a float64 is rounded so by a conversion."""
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
