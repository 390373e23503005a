"""Collects the integers of a unit: products, the sum of a group by its method, and a late addend's window."""

from __future__ import annotations

from typing import assert_never

from hwsim.c import aligned, even_odd, exact, pairwise, sequential
from hwsim.c.group import GroupSum, Sizes
from hwsim.c.ranges import Span, converted, span_of
from hwsim.spec import AlignedSum, EvenOddSum, ExactSum, LateInWindow, PairwiseSum, SequentialSum, Unit


def sized(unit: Unit) -> tuple[GroupSum, Sizes]:
    """The sum of a unit's groups, and the numbers that all of its integers hold."""
    sizes = Sizes(_products(unit))
    group = _group_sum(unit, sizes)
    if isinstance(unit.late, LateInWindow) and group.total_bits is not None:
        _late_window(unit, unit.late, group.total_bits, sizes)
    return group, sizes


def _group_sum(unit: Unit, sizes: Sizes) -> GroupSum:
    match unit.sum:
        case AlignedSum():
            return aligned.group_sum(unit, unit.sum, sizes)
        case EvenOddSum():
            return even_odd.group_sum(unit, unit.sum, sizes)
        case ExactSum():
            return exact.group_sum(unit, unit.sum, sizes)
        case SequentialSum():
            return sequential.group_sum(unit, unit.sum, sizes)
        case PairwiseSum():
            return pairwise.group_sum(unit, unit.sum, sizes)
        case _:
            assert_never(unit.sum)


def _products(unit: Unit) -> Span:
    operands = unit.operands
    sides = [
        span_of(fmt) if operands.convert is None else converted(fmt, operands.convert)
        for fmt in (operands.a, operands.b)
    ]
    if unit.scale is not None and unit.scale.at == "product":
        sides += [span_of(unit.scale.a.format), span_of(unit.scale.b.format)]
    products = sides[0]
    for side in sides[1:]:
        products = products.times(side)
    return products


def _late_window(unit: Unit, late: LateInWindow, total_bits: int, sizes: Sizes) -> None:
    bits = max(late.sum_bits, late.addend_bits)
    late_sum = sizes.cut(max(sizes.totals), total_bits, late.sum_bits)
    spans = [span_of(fmt) for fmt in (unit.operands.addend, unit.output) if fmt is not None]
    addend = max(sizes.cut(span.most, span.fraction_bits, late.addend_bits).kept for span in spans)
    total = (late_sum.kept << bits - late.sum_bits) + (addend << bits - late.addend_bits)
    sizes.totals.append(total)
    if late.total_bits is not None:
        sizes.cut(total, 0, 0)
