"""Which units studies measure."""

from __future__ import annotations

from hwsim.spec import Support, Unit, implemented


def measurable(unit: Unit) -> Support:
    """What studies lack of a unit: what no implementation has, and results that float64 does not hold."""
    general = implemented(unit)
    if not general or unit.output.in_float64:
        return general
    lacks = f"a result of {unit.output.bits} bits ({unit.output.name})"
    return Support(unit.name, "is in the model, but not in studies, which compute in float64", (lacks,))
