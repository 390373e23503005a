"""Whether the model has a unit."""

from __future__ import annotations

from hwsim.spec import Support, Unit, described


def supports(unit: Unit) -> Support:
    """What the model lacks of a unit: what no implementation has. It is the definition of all the rest."""
    return described(unit)
