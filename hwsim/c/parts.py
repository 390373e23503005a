"""Sums of parts of a group in C: their ranges, and what the templates see of them."""

from __future__ import annotations

from typing import TypedDict, assert_never

from hwsim.c.group import Sizes, addends
from hwsim.c.ranges import Span, span_of
from hwsim.formats import FloatFormat
from hwsim.spec import Unit
from hwsim.spec.sums import ExactSubgroup, WindowSubgroup

MOST_TERM = 62  # bits of a term's significand, where two are added and rounded


class PartFields(TypedDict):
    """Fields of `GroupSum` about parts."""

    parts: int
    part_lanes: int
    part_window: int | None
    part_exp: int | None
    part_bits: int | None


def part_sums(unit: Unit, sizes: Sizes) -> Span | None:
    """The sums of parts as terms, with the scales that multiply them; None for a unit without parts.

    Adds the integers that they need to `sizes`.
    """
    rule, product = unit.subgroup, sizes.product
    if rule is None:
        return None
    match rule:
        case ExactSubgroup():
            total = rule.lanes * (product.most << product.high - product.low)
            sums = Span(total, -product.least_exp, 0, 0)
        case WindowSubgroup():
            kept = sizes.cut(product.most, product.fraction_bits, rule.fraction_bits).kept
            sums = Span(rule.lanes * kept, rule.fraction_bits, product.low, product.high)
        case _:
            assert_never(rule)
    sizes.totals.append(sums.most)
    if unit.scale is not None and unit.scale.at == "subgroup":
        sums = sums.times(span_of(unit.scale.a.format)).times(span_of(unit.scale.b.format))
        sizes.totals.append(sums.most)
    return sums


def wide_unit_exp(unit: Unit, sums: Span | None, fmt: FloatFormat, sizes: Sizes) -> int | None:
    """The exponent of the unit of exact sums of a part and a number of `fmt`; None where a term of C holds every part.

    sums: what `part_sums` returned. Adds the integers that these sums need to `sizes`.
    """
    if sums is None or sums.most.bit_length() <= MOST_TERM:
        return None
    spans = [sums, span_of(fmt), *addends(unit)]
    unit_exp = min(span.least_exp for span in spans)
    sizes.totals.append(2 * max(span.most << span.high - span.fraction_bits - unit_exp for span in spans))
    return unit_exp


def part_fields(unit: Unit, sums: Span | None) -> PartFields:
    """What the templates see. sums: what `part_sums` returned."""
    rule = unit.subgroup
    if rule is None or sums is None:
        return PartFields(parts=0, part_lanes=0, part_window=None, part_exp=None, part_bits=None)
    exact = isinstance(rule, ExactSubgroup)
    scales = 0
    if unit.scale is not None and unit.scale.at == "subgroup":
        scales = sum(span_of(side.format).fraction_bits for side in (unit.scale.a, unit.scale.b))
    return PartFields(
        parts=unit.instruction.lanes // rule.lanes,
        part_lanes=rule.lanes,
        part_window=rule.fraction_bits if isinstance(rule, WindowSubgroup) else None,
        part_exp=scales - sums.fraction_bits if exact else None,
        part_bits=sums.fraction_bits,
    )
