"""Whether the model has a unit."""

from __future__ import annotations

from hwsim.formats import ExponentFormat, FloatFormat
from hwsim.spec import Support, Unit


def supports(unit: Unit) -> Support:
    """What the model lacks of a unit: settings that are in the schema and that no implementation has."""
    scale, result = unit.scale, unit.result.format
    lacks = {
        "scale formats other than a power of two": scale is not None
        and scale.at == "product"
        and not all(isinstance(side.format, ExponentFormat) for side in (scale.a, scale.b)),
        "result formats without a fraction": isinstance(result, FloatFormat) and result.fraction_bits == 0,
        "unsigned factors": any(
            isinstance(fmt, FloatFormat) and not fmt.signed for fmt in (unit.operands.a, unit.operands.b)
        ),
        "sum.addend: late with a promotion": unit.late is not None and unit.promotion is not None,
    }
    return Support(unit.name, "is not implemented yet", tuple(what for what, lacking in lacks.items() if lacking))
