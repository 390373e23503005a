"""Whether the cycle-level model has a unit."""

from __future__ import annotations

from hwsim.spec import Specified, Support, implemented, of_modes


def supports(unit: Specified) -> Support:
    """What the cycle-level model lacks of a unit or of one of its modes: what implementations without readings lack."""
    return of_modes(unit, implemented)
