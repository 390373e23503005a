"""`sum.method: aligned` and `even-odd`: windows, in vectors where they hold them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from hwsim.compute.kernels.late import LateKernel, late_vectors_of
from hwsim.compute.kernels.lost import lost_number
from hwsim.compute.kernels.scaled import ScaledKernel, dots_layout
from hwsim.compute.kernels.values import words_lack
from hwsim.compute.kernels.window_kernel import WindowKernel
from hwsim.compute.kernels.windows import (
    MOST_BITS,
    WITHOUT,
    ReadNumbers,
    WindowNumbers,
    vectors_of,
    window_lacks,
    window_numbers,
)
from hwsim.spec import AlignedReadingSum, AlignedSum, EvenOddSum, LateInWindow, Unit
from hwsim.spec.ranges import exponent_range, growth_of, scales_at
from hwsim.spec.sums import ExactSubgroup, WindowSubgroup

# A sum that is rounded to odd in a float64 is right when it is rounded again to two bits less, or fewer.
MOST_CUT = 50
# Exponents of products: their bits, and those of their sums, are exact in float64s.
FARTHEST = 800


def lacks_reading(unit: Unit, rule: AlignedReadingSum) -> Iterator[str]:
    """Yield the settings of a reading that this kernel does not hold, as keys with their values."""
    if rule.significant and rule.fraction_bits > MOST_CUT:
        yield f"sum.significant: true (of more than {MOST_CUT} fraction bits)"
    if rule.zero == "ieee" and rule.subgroup is not None:
        yield "sum.zero: ieee of scaled sums, read otherwise"
    scales = (unit.scale.a.format, unit.scale.b.format) if unit.scale is not None else ()
    reaches = sum(max(map(abs, exponent_range(fmt))) for fmt in (*unit.operands.multiplied, *scales))
    if reaches > FARTHEST:
        yield f"operands: products beyond 2^{FARTHEST}, read otherwise"


def lacks(unit: Unit, rule: AlignedSum) -> Iterator[str]:
    """Yield the settings that this kernel does not hold, as keys with their values."""
    yield from window_lacks(unit, rule)
    if rule.cut is not None and rule.cut.bits >= MOST_BITS:
        yield f"sum.cut.bits: {rule.cut.bits} (a place that does not fit 64 bits)"
    if unit.scale is not None and unit.scale.at != "promotion":
        for side in (unit.scale.a, unit.scale.b):
            yield from words_lack("scale", side.format, side.format)
    if isinstance(rule, AlignedReadingSum):
        yield from lacks_reading(unit, rule)
    if rule.subgroup is None:
        return
    match rule.subgroup:
        case ExactSubgroup(lanes=lanes):
            if _subgroup_bits(unit, rule, lanes) > MOST_BITS:
                yield f"sum.subgroup.lanes: {lanes} (exact sums that do not fit 64 bits)"
        case WindowSubgroup(fraction_bits=bits):
            scales = scales_at(unit, "subgroup")
            widened = bits + sum(scale.significant_bits for scale in scales)
            wide = max(widened, rule.fraction_bits + sum(scale.places_before for scale in scales))
            if wide + 2 + growth_of(unit) > MOST_BITS:
                yield f"sum.subgroup.fraction_bits: {bits} (a window that does not fit 64 bits)"
        case _:
            assert_never(rule.subgroup)


def kernel(unit: Unit, rule: AlignedSum) -> WindowKernel:
    """The kernel of a unit of this method that lacks nothing."""
    numbers = aligned_numbers(unit, rule)
    if isinstance(rule, AlignedReadingSum):
        flags = (rule.leading, rule.lossless, rule.significant, rule.starts_late, rule.unrounded)
        return WindowKernel(unit, numbers, read=ReadNumbers(*map(int, flags)))
    layout, late = dots_layout(unit, rule), late_vectors_of(unit, rule)
    if layout is not None:
        return ScaledKernel(unit, numbers, layout)
    return WindowKernel(unit, numbers, vectors_of(unit, rule)) if late is None else LateKernel(unit, numbers, late)


def aligned_numbers(unit: Unit, rule: AlignedSum) -> WindowNumbers:
    """The window's numbers, with those that only this method has."""
    numbers = window_numbers(unit, rule)
    if rule.cut is not None:
        numbers = numbers._replace(cut_bits=rule.cut.bits, cut_lost=lost_number(rule.cut.lost))
    if rule.subgroup is not None:
        numbers = numbers._replace(
            subgroup=rule.subgroup.lanes,
            subgroup_fraction=sum(scale.fraction_bits for scale in scales_at(unit, "subgroup")),
            subgroup_least=_least_product(unit),
            subgroup_scaled=int(unit.scale is not None and unit.scale.at == "subgroup"),
            count_cancelled=int(rule.subgroup.cancelled == "count"),
        )
    if isinstance(rule.subgroup, ExactSubgroup) and rule.subgroup.asks_addend:
        skips = int(rule.subgroup.low_addend == "skip")
        numbers = numbers._replace(low_lanes=rule.subgroup.least_lanes, low_skips=skips)
    if isinstance(rule.subgroup, WindowSubgroup):
        numbers = numbers._replace(own_bits=rule.subgroup.fraction_bits, own_lost=lost_number(rule.subgroup.lost))
    if isinstance(unit.late, LateInWindow):
        numbers = numbers._replace(zero_exp=exponent_range(unit.result.format)[0])
    return numbers


def _least_product(unit: Unit) -> int:
    return sum(exponent_range(fmt)[0] for fmt in unit.operands.multiplied)


def _subgroup_bits(unit: Unit, rule: AlignedSum, lanes: int) -> int:
    """Bits of an exact sum of so many products times its scales, and of the window that takes such sums."""
    most = sum(exponent_range(fmt)[1] for fmt in unit.operands.multiplied)
    fine = sum(fmt.fraction_bits for fmt in unit.operands.multiplied)
    scales = scales_at(unit, "subgroup")
    growth = growth_of(unit) + sum(scale.places_before for scale in scales) + lanes.bit_length()
    exact = most - _least_product(unit) + fine + sum(scale.fraction_bits for scale in scales)
    return max(exact, most + rule.fraction_bits) + growth


def even_odd_lacks(unit: Unit, rule: EvenOddSum) -> Iterator[str]:
    """Yield the settings that this kernel does not hold, as keys with their values."""
    yield from window_lacks(unit, rule)
    if rule.combine.fraction_bits + growth_of(unit) > MOST_BITS:
        yield f"sum.combine.fraction_bits: {rule.combine.fraction_bits} (a window that does not fit 64 bits)"


def even_odd_kernel(unit: Unit, rule: EvenOddSum) -> WindowKernel:
    """The kernel of a unit of this method that lacks nothing."""
    numbers = window_numbers(unit, rule)._replace(
        addend=WITHOUT,
        even_odd=1,
        combine_bits=rule.combine.fraction_bits,
        combine_lost=lost_number(rule.combine.lost),
    )
    vectors = late_vectors_of(unit, rule)
    return WindowKernel(unit, numbers) if vectors is None else LateKernel(unit, numbers, vectors)
