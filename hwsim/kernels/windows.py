"""The window of a unit as numbers that compiled code takes, whichever method its terms go through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, assert_never

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.kernels.extents import exponent_range
from hwsim.kernels.lanes import NO_EXP
from hwsim.kernels.lost import lost_number
from hwsim.kernels.targets import targets_lack
from hwsim.kernels.words import words_lack
from hwsim.spec import LateAdd, LateInWindow, Unit, WindowSum
from hwsim.spec.keys import Number

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
    """How the terms of a group become one integer. Flags are 0 or 1, and what a unit has not is 0.

    sticky: whether a sum knows that its terms lost a 1, whatever `lost` made of it. cut_bits, cut_lost: places of the
    sum that are lost, and how. own_bits: of each subgroup's own
    window; NO_WINDOW where its sum is exact. subgroup_scaled: whether scales multiply it. zero_exp: the exponent of the
    +0 that a group starts from where its addend is late, in a window of its own; NO_EXP where there is no such term.
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


def window_numbers(unit: Unit, rule: WindowSum) -> WindowNumbers:
    """What the methods that sum in windows have in common."""
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
    """What 64-bit windows do not hold of a unit, as keys with their values."""
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
    """What is flushed of an addend must be what is flushed of the register."""
    if exponent_range(addend)[0] != register.emin:
        yield f"late.flush: true (of {addend.name}, whose subnormals are not where those of {register.name} are)"


def growth_of(unit: Unit) -> int:
    """Bits that a window's sum has before its reference exponent: of its sign, of products, and of their number."""
    return 2 + places_before(unit) + unit.instruction.lanes.bit_length()


def places_before(unit: Unit) -> int:
    """How many places the significands of products have before their point: they are below 2^that, or -2^that."""
    return sum(map(places_of, unit.operands.multiplied))


def places_of(fmt: Format) -> int:
    """How many places the significands of a format have before their point."""
    return fmt.integer_bits if isinstance(fmt, FixedFormat) else 1


def scale_fraction(fmt: Format) -> int:
    """Fraction bits of a scale."""
    return 0 if isinstance(fmt, ExponentFormat) else fmt.fraction_bits


def clipped(exp: int) -> int:
    """An exponent; what nothing reaches is as good as what is farther away."""
    return min(max(exp, -NO_LIMIT), NO_LIMIT)
