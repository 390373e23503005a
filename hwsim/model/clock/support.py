"""Whether the cycle-level model has a unit."""

from __future__ import annotations

from hwsim.spec import Support, Unit, implemented, ordered_scales


def supports(unit: Unit) -> Support:
    """What the cycle-level model lacks: what implementations without readings lack, and scales that lanes share.

    A beat carries one scale for each block of neighbouring products. Where groups take products of an order of their
    own, a beat's lanes are of several blocks, and which scales it should carry is not settled.
    """
    general = implemented(unit)
    if not general:
        return general
    return Support(unit.name, "is in the model, but not on a clock yet", tuple(ordered_scales(unit)))
