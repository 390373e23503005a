"""Mistakes that designs make, each with a meaning that can be computed: what a design with it returns for a case.

A mistake is a row: a name, a sentence, and a `Flaw`, which has a function for each place of the arithmetic at which a
design with it goes wrong; the model calls it there (`hwsim/model/hooks.py`). What no place of it can say, a
latency or an inverted reset, is not of the arithmetic, and is judged where a protocol is known (`hwsim/cosim`).
"""

from hwsim.explain.mistakes.flawed import NO_FLAW, Flaw, Mistake, code_of
from hwsim.explain.mistakes.operands import OF_OPERANDS
from hwsim.explain.mistakes.sums import OF_SUMS
from hwsim.explain.mistakes.widths import OF_WIDTHS
from hwsim.spec import Unit

__all__ = ["NO_FLAW", "Flaw", "Mistake", "catalogue", "code_of"]


def catalogue(unit: Unit) -> tuple[Mistake, ...]:
    """The mistakes that a design of a unit can have, the likelier of those that look alike first."""
    names: dict[str, Mistake] = {}
    for part in (*OF_OPERANDS, *OF_SUMS, *OF_WIDTHS):
        for mistake in part(unit):
            names.setdefault(mistake.name, mistake)
    return tuple(names.values())
