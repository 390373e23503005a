"""Whether the cycle-level model has a unit."""

from __future__ import annotations

from hwsim.spec import Specified, Support, Unit, implemented, of_modes, ordered_scales


def supports(unit: Specified) -> Support:
    """What the cycle-level model lacks of a unit, or of one of its modes.

    That is what implementations without readings lack, and scales that lanes share: a beat carries one scale for each
    block of neighbouring products. Where groups take products of an order of their own, a beat's lanes are of several
    blocks, and which scales it should carry is not settled.
    """
    return of_modes(unit, _supports)


def _supports(unit: Unit) -> Support:
    general = implemented(unit)
    if not general:
        return general
    return Support(unit.name, "is in the model, but not on a clock yet", tuple(ordered_scales(unit)))
