"""The mistakes that designs of a unit can have, as data: names, what a design with each does, and its flaw."""

from __future__ import annotations

from hwsim.readings.mistakes.mistake import Mistake
from hwsim.readings.mistakes.of_operands import OF_OPERANDS
from hwsim.readings.mistakes.of_sums import OF_SUMS
from hwsim.spec import Unit


def catalogue(unit: Unit) -> tuple[Mistake, ...]:
    """The mistakes that a design of a unit can have, the likelier of those that look alike first."""
    return tuple(mistake for part in (*OF_OPERANDS, *OF_SUMS) for mistake in part(unit))
