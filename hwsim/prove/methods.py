"""The methods of summing that have claims, by the class of the specification's sum, and what has none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hwsim.formats import FixedFormat
from hwsim.prove.aligned import AlignedClaims
from hwsim.spec import AlignedSum, Sum, Support, Unit

METHODS: Mapping[type[Sum], type[AlignedClaims]] = {AlignedSum: AlignedClaims}


def provable(unit: Unit) -> Support:
    """What of a unit no claim covers, though its RTL may have it."""
    return Support(unit.name, "is in the RTL, but no proof covers it yet", tuple(_lacks(unit)), ())


def method_claims(unit: Unit, cuts: Sequence[str]) -> AlignedClaims:
    """The claims of a unit's method. Raises NotImplementedYet for one that has none."""
    provable(unit).demand()
    return METHODS[type(unit.sum)](unit, cuts)


def _lacks(unit: Unit) -> Iterator[str]:
    rule, operands, promotion = unit.sum, unit.operands, unit.promotion
    if type(rule) not in METHODS:
        yield f"sum.method: {rule.method}"
    if isinstance(rule, AlignedSum):
        if rule.subgroup is not None:
            yield "sum.subgroup"
        if rule.product_limit is not None:
            yield "sum.product_limit"
        if rule.zero_terms == "count":
            yield "sum.zero_terms: count"
        if rule.zero == "ieee":
            yield "sum.zero: ieee"
    if unit.scale is not None and unit.scale.at != "product":
        yield f"scale.at: {unit.scale.at}"
    for key, fmt in (("a", operands.a), ("b", operands.b)):
        if isinstance(fmt, FixedFormat):
            yield f"operands.{key}: {fmt.name}"
    if operands.convert is not None:
        yield "operands.convert"
    if unit.late is not None or unit.instruction.start == "zero":
        yield "an addend that is added late"
    if promotion is not None and operands.addend not in (None, promotion.format):
        yield "operands.addend other than promotion.format"
