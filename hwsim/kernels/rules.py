"""A unit's settings as numbers that compiled code takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.kernels.kernel import Unsuited
from hwsim.kernels.lanes import NO_EXP as NO_EXP
from hwsim.spec import Unit

TRUNCATE, FLOOR, JAM, NEAREST_EVEN, NEAREST_AWAY = range(5)
LOST = {"truncate": TRUNCATE, "floor": FLOOR, "jam": JAM, "rne": NEAREST_EVEN, "rna": NEAREST_AWAY}

# Of a scale that is NaN.
NAN_EXP = 1 << 20
# A window's sum must stand in 64 bits.
MOST_BITS = 62


class Window(NamedTuple):
    """How the terms of a group become one integer. Flags are 0 or 1, and what a unit has not is 0.

    zero_exp: the exponent of the +0 that a group starts from where its addend is late, in a window of its own; NO_EXP
    where there is no such term.
    """

    lanes: int
    fraction_bits: int
    lost: int
    product_fraction: int
    count_zeros: int
    floor: int
    limit: int
    even_odd: int
    combine_bits: int
    combine_lost: int
    subgroup: int
    subgroup_fraction: int
    subgroup_least: int
    ieee_zero: int
    rounds_down: int
    late: int
    late_sum_bits: int
    late_addend_bits: int
    late_lost: int
    late_drop: int
    addend: int
    zero_exp: int


NO_LIMIT = 1 << 20
# Of `addend`: a unit without an addend; a group's result is the next one's.
LATER = 2


def window_of(unit: Unit) -> Window:
    """The window of a unit of method `aligned` or `even-odd`. Raises Unsuited where 64 bits do not hold its sums."""
    rule, late = unit.sum, unit.late
    in_window = late is not None and late.operation == "window"
    a, b = unit.operands.multiplied
    combine, subgroup = rule.combine, rule.subgroup
    fraction_bits = rule.fraction_bits or 0
    fine = a.fraction_bits + b.fraction_bits
    widths = [fraction_bits, *([combine.fraction_bits] if combine else [])]
    if in_window and late is not None:
        widths += [late.sum_bits or 0, late.addend_bits or 0]
    # Places that a product has before its reference exponent, and a sum has more.
    places_before = _places_before(a) + _places_before(b)
    growth = 2 + places_before + unit.instruction.lanes.bit_length()
    if max(*widths, 0) + growth > MOST_BITS:
        raise Unsuited(f"a window of {max(widths)} bits does not fit 64")
    least, scale_fraction = 0, 0
    if subgroup is not None:
        assert unit.scale is not None
        if in_window and rule.zero == "ieee":
            raise Unsuited("the sign of a late window's zero, of scaled sums")
        least = _emin(a) + _emin(b)
        most = sum(fmt.emax if isinstance(fmt, FloatFormat) else 0 for fmt in (a, b))
        scales = [unit.scale.a.format, unit.scale.b.format]
        scale_fraction = sum(0 if isinstance(fmt, ExponentFormat) else fmt.fraction_bits for fmt in scales)
        growth = 4 + places_before + subgroup.lanes.bit_length() + unit.instruction.lanes.bit_length()
        if max(most - least + fine + scale_fraction, most + fraction_bits) + growth > MOST_BITS:
            raise Unsuited("exact sums of a subgroup do not fit 64 bits")
    return Window(
        lanes=unit.instruction.lanes,
        fraction_bits=fraction_bits,
        lost=LOST[rule.lost],
        product_fraction=fine,
        count_zeros=int(rule.zero_terms == "count"),
        floor=NO_EXP if rule.max_exp_floor is None else _clipped(rule.max_exp_floor),
        limit=NO_LIMIT if rule.product_limit is None else _clipped(rule.product_limit),
        even_odd=int(rule.method == "even-odd"),
        combine_bits=combine.fraction_bits if combine else 0,
        combine_lost=LOST[combine.lost] if combine else 0,
        subgroup=subgroup.lanes if subgroup else 0,
        subgroup_fraction=scale_fraction,
        subgroup_least=least,
        ieee_zero=int(rule.zero == "ieee"),
        rounds_down=int(unit.result.rounding == "rd"),
        late=int(in_window),
        late_sum_bits=(late.sum_bits or 0) if in_window and late else 0,
        late_addend_bits=(late.addend_bits or 0) if in_window and late else 0,
        late_lost=LOST[late.lost] if in_window and late and late.lost else 0,
        late_drop=_clipped(late.drop_below) if in_window and late and late.drop_below is not None else NO_LIMIT,
        addend=0 if rule.method == "even-odd" or in_window else 1 if unit.operands.addend is not None else LATER,
        zero_exp=_emin(unit.result.format) if in_window and rule.method == "aligned" else NO_EXP,
    )


def _clipped(exp: int) -> int:
    """An exponent that nothing reaches is as good as one farther away."""
    return min(max(exp, -NO_LIMIT), NO_LIMIT)


def _places_before(fmt: Format) -> int:
    """How many places the significands of a format have before their point: they are below 2^that, or -2^that."""
    return fmt.integer_bits if isinstance(fmt, FixedFormat) else 1


def _emin(fmt: Format) -> int:
    return fmt.emin if isinstance(fmt, FloatFormat) else 0


def places(unit: Unit, k: int) -> NDArray[np.int64]:
    """The index along K of each group's lanes: (groups, lanes). k: a multiple of `instruction.fill`."""
    lanes = unit.instruction.lanes
    if unit.instruction.order == "sequential":
        return np.arange(k, dtype=np.int64).reshape(-1, lanes)
    one = [unit.instruction.indices(group) for group in range(unit.instruction.groups)]
    first = np.arange(0, k, unit.instruction.k, dtype=np.int64)
    return (first[:, None, None] + np.array(one, dtype=np.int64)).reshape(-1, lanes)
