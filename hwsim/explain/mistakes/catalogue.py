"""The mistakes that designs of a unit can have, as data: names, what a design with each does, and its flaw."""

from __future__ import annotations

from hwsim.explain.mistakes.mistake import Mistake
from hwsim.explain.mistakes.of_operands import OF_OPERANDS
from hwsim.explain.mistakes.of_sums import OF_SUMS
from hwsim.explain.mistakes.of_widths import OF_WIDTHS
from hwsim.spec import Unit


def catalogue(unit: Unit) -> tuple[Mistake, ...]:
    """The mistakes that a design of a unit can have, the likelier of those that look alike first."""
    made = (mistake for part in (*OF_OPERANDS, *OF_SUMS, *OF_WIDTHS) for mistake in part(unit))
    names: dict[str, Mistake] = {}
    for mistake in made:
        names.setdefault(mistake.name, mistake)
    return tuple(names.values())
