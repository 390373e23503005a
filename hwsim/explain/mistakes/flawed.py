"""Mistakes as rows: a name, a sentence, and what a design with it does at places of the arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

from hwsim.cases.case import Case, term_scales
from hwsim.model.definition import Definition
from hwsim.model.hooks import Hooks, Side, passed
from hwsim.spec import Unit

SIDES: tuple[Side, Side] = ("a", "b")


@dataclass(frozen=True)
class Flaw(Hooks):
    """The faults of a design: at places of the arithmetic, or with operands and results around it."""

    case: Callable[[Case, Unit, int | None], Case] | None = None
    """The operands; the design's result before, None where nobody knows it."""
    code: Callable[[int, Unit, Case], int] | None = None
    """The result's code; the operands as they came."""
    multipliers: Flaw | None = None
    after: Flaw | None = None

    @property
    def outside(self) -> bool:
        """True if operands or results alone are wrong, and the arithmetic between them is as specified."""
        return replace(self, case=None, code=None) == NO_FLAW

    def __and__(self, other: Flaw) -> Flaw:
        """Both in one design: what passes a place passes this one's function, then the other's."""
        both: dict[str, Any] = {}
        for field in fields(self):
            first, second = getattr(self, field.name), getattr(other, field.name)
            if first is None or second is None:
                both[field.name] = second if first is None else first
            elif field.name in ("multipliers", "after"):
                both[field.name] = first & second
            else:
                # What replaces the value as it was specified, and does not change it, goes before others.
                replaces = field.name in ("align", "cut", "number")
                both[field.name] = partial(_in_turn, *((second, first) if replaces else (first, second)))
        return Flaw(**both)


def _in_turn(first: Callable[..., Any], second: Callable[..., Any], value: Any, *known: Any) -> Any:
    return second(first(value, *known), *known)


NO_FLAW = Flaw()


ShowsWhere = Literal[
    "rounds", "is tiny", "is tiny and rounds", "vanishes", "overflows", "result is -0", "starts from -0",
    "zeros move the window",
    "sum beyond", "products beyond", "product beyond", "term beyond", "wraps", "bits below",
    "bits below, floored",
]  # fmt: skip


class Shows(NamedTuple):
    """The event that has to happen for a mistake to change a result.

    where: what a rounding does; that the sum, that of a beat's products alone, a product or a term of it is no integer
    of `bits` bits and a sign; `wraps`: that a number modulo 2^bits is another one; `bits below`: that a bit below
    2^bits counts. bits: of a rounding, that more places than these are cut off. place: which rounding, as
    `hwsim.cases.bins.outcomes.roundings` calls it.
    """

    where: ShowsWhere
    bits: int = 0
    place: str = ""


class Mistake(NamedTuple):
    """A mistake that designs make.

    name: for reports. description: what a design with it does. flaw: its meaning. shows: one of these has to happen
    for it to change a result; empty where nothing is known but what the flaw itself says.
    """

    name: str
    description: str
    flaw: Flaw
    shows: tuple[Shows, ...] = ()


class FlawedDefinition(Definition):
    """A unit's arithmetic with a flaw.

    Raises NotImplementedYet for a unit that the model does not have.
    """

    def __init__(self, unit: Unit, flaw: Flaw):
        super().__init__(unit, hooks=flaw)
        self.flaw = flaw

    def code_of(self, case: Case, before: int | None = None) -> int:
        """The result's code for a case. before: the design's result before, None where nobody knows it."""
        taken = passed(self.flaw.case, case, self.unit, before)
        specified = self.dot(taken.a, taken.b, taken.c, *term_scales(self.unit, taken)).code
        return passed(self.flaw.code, specified, self.unit, case)


@lru_cache(maxsize=512)
def flawed_definition(unit: Unit, flaw: Flaw) -> FlawedDefinition:
    """A unit's arithmetic with a flaw, kept for the next call."""
    return FlawedDefinition(unit, flaw)


def code_of(unit: Unit, flaw: Flaw, case: Case, before: int | None = None) -> int:
    """The result code of a unit with a flaw for a case. before: the design's result before."""
    return flawed_definition(unit, flaw).code_of(case, before)
