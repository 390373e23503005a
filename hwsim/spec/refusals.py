"""What directed cases cannot be solved for yet."""

from __future__ import annotations

from hwsim.formats import FloatFormat, Format
from hwsim.spec.support import NotImplementedYet, implemented
from hwsim.spec.unit import Unit


def _lacks_subnormals(fmt: Format) -> bool:
    return isinstance(fmt, FloatFormat) and not fmt.subnormals


def refuse_unimplemented_in_pipeline(unit: Unit) -> None:
    """Raise NotImplementedYet for what the model has, and neither the cycle-level model nor the RTL."""
    implemented(unit).demand()
    rule, scale, promotion = unit.sum, unit.scale, unit.promotion
    refused = {
        f"sum.method: {rule.method}": rule.method != "aligned",
        "sum.subgroup": rule.subgroup is not None,
        f"scale.at: {scale and scale.at}": scale is not None and scale.at != "product",
        "sum.product_limit": rule.product_limit is not None,
        "result formats without subnormals": _lacks_subnormals(unit.result.format),
        "promotion formats without subnormals": promotion is not None and _lacks_subnormals(promotion.format),
        "promotion formats without infinities": promotion is not None and not promotion.format.infinities,
        "operands.convert": unit.operands.convert is not None,
        "operands.daz: true": unit.operands.daz,
        "instruction.order other than sequential": unit.instruction.order != "sequential",
        "instruction.start: zero": unit.instruction.start == "zero",
        "sum.addend: late": unit.sum.addend == "late",
        "sum.zero_terms: count": unit.sum.zero_terms == "count",
        "sum.max_exp_floor": unit.sum.max_exp_floor is not None,
        "sum.zero: ieee": unit.sum.zero == "ieee",
        "result.nan: any": unit.result.nan == "any",
        "result.subnormals: flush": unit.result.subnormals == "flush",
    }
    _refuse_in_hardware(unit, refused)


def _refuse_in_hardware(unit: Unit, refused: dict[str, bool]) -> None:
    for what, present in refused.items():
        if present:
            raise NotImplementedYet(f"unit {unit.name}: {what} is in the model, but not in the RTL yet")
