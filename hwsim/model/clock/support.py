"""Whether the cycle-level model has a unit."""

from __future__ import annotations

from hwsim.spec import Support, Unit, implemented


def supports(unit: Unit) -> Support:
    """What the cycle-level model lacks: what implementations without readings lack."""
    return implemented(unit)
