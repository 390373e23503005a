"""What goes from one group of a dot product to the next."""

from __future__ import annotations

from dataclasses import dataclass

from hwsim.formats import Format
from hwsim.model.terms import Term


@dataclass(frozen=True, slots=True)
class FirstAddend:
    """The addend c, which the first group takes. code: of the addend's format; 0 for a unit without an addend."""

    code: int


@dataclass(frozen=True, slots=True)
class ResultCode:
    """A group's result, which the next group takes as its addend. code: of the result's format."""

    code: int


@dataclass(frozen=True, slots=True)
class ExactSoFar:
    """An exact sum that is not rounded yet. code: what it is rounded to where it ends."""

    term: Term
    code: int


PartialSum = FirstAddend | ResultCode | ExactSoFar


@dataclass(frozen=True, slots=True)
class PromotedRegister:
    """A promotion register, and the partial sum that is to be added to it.

    register: a code of the promotion's format. groups: how many the partial sum has; a promotion starts from 0 again.
    scales: the codes of both scales of those groups, where scales enter at the promotion.
    """

    register: int
    partial: PartialSum
    groups: int = 0
    scales: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class AddendToCome:
    """An addend that is added after the last group of an instruction, and the instruction's partial sum.

    addend, format: the code of c, or of the result of the instruction before. groups: how many the partial sum has.
    """

    addend: int
    format: Format
    partial: PartialSum
    groups: int = 0


Carried = PartialSum | PromotedRegister | AddendToCome
