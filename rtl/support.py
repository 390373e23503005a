"""Which units the RTL has."""

from __future__ import annotations

from collections.abc import Iterator

from hwsim.spec import AlignedSum, Specified, Support, Unit, implemented, of_modes

from .methods import lacks_of_method


def supports(unit: Specified) -> Support:
    """What of a unit, or of one of its modes, the RTL lacks; first of all what no implementation has."""
    return of_modes(unit, _supports)


def _supports(unit: Unit) -> Support:
    general = implemented(unit)
    if not general:
        return general
    lacks = lacks_of_method(unit.sum)
    return Support(unit.name, "is in the model, but not in the RTL yet", lacks, tuple(_unseen(unit)))


def _unseen(unit: Unit) -> Iterator[str]:
    """Settings that no result of a unit that the RTL has shows."""
    if unit.operands.zeros == "positive" and isinstance(unit.sum, AlignedSum):
        yield "operands.zeros: positive"  # no sum of zero has the sign of a zero
