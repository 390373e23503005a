"""What a device may do beside a unit's arithmetic: change an operand before it, or a result after it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, assert_never

from hwsim.cases.case import Case
from hwsim.errors import InputError
from hwsim.formats import Class, FloatFormat
from hwsim.model.rounding import round_to
from hwsim.model.terms import Term, addend_term
from hwsim.spec import Unit


@dataclass(frozen=True)
class Edit:
    """Nothing: cases and results stay as they are."""

    def case(self, unit: Unit, case: Case) -> Case:
        """The case that the unit computes in the place of another."""
        return case

    def code(self, case: Case, code: int) -> int:
        """The result code that is returned in the place of another. case: as it came."""
        return code


NO_EDIT = Edit()


@dataclass(frozen=True)
class AddendDropped(Edit):
    """The addend counts as +0."""

    def case(self, unit: Unit, case: Case) -> Case:
        """As in `Edit`."""
        return replace(case, c=0)


@dataclass(frozen=True)
class AddendRounded(Edit):
    """The addend is first rounded, to nearest even, to a narrower format."""

    format: FloatFormat

    def case(self, unit: Unit, case: Case) -> Case:
        """As in `Edit`."""
        own = unit.operands.addend
        if not isinstance(own, FloatFormat):
            raise InputError(f"unit {unit.name}: an addend is rounded first where it is a float")
        term = addend_term(own, case.c)
        if term.cls is not Class.NORMAL:
            return case
        return replace(case, c=_in_format(own, addend_term(self.format, _in_format(self.format, term))))


def _in_format(fmt: FloatFormat, term: Term) -> int:
    """A term's code in a format, rounded to nearest even; what is too large is infinity, or the largest number."""
    if term.cls is Class.ZERO:
        return (term.sign * fmt.sign_bit if fmt.signed_zero else 0) << fmt.padding
    sig, exp = (term.sig, term.exp - term.fraction_bits) if term.cls is Class.NORMAL else (1, 1 << 16)
    return round_to(fmt, term.sign, sig, exp, "rne", "infinity" if fmt.infinities else "saturate").code


@dataclass(frozen=True)
class LaneDropped(Edit):
    """The product of a lane of each group is left out."""

    lane: int

    def case(self, unit: Unit, case: Case) -> Case:
        """As in `Edit`."""
        groups = map(unit.instruction.indices, range(len(case.a) // unit.instruction.lanes))
        gone = {group[self.lane] for group in groups if self.lane < len(group)}
        a, b = (tuple(0 if i in gone else code for i, code in enumerate(side)) for side in (case.a, case.b))
        return replace(case, a=a, b=b)


BitValue = Literal["always 0", "always 1", "inverted"]


@dataclass(frozen=True)
class BitFault(Edit):
    """A bit of every result is wrong."""

    bit: int
    value: BitValue

    def code(self, case: Case, code: int) -> int:
        """As in `Edit`."""
        mask = 1 << self.bit
        match self.value:
            case "always 0":
                return code & ~mask
            case "always 1":
                return code | mask
            case "inverted":
                return code ^ mask
            case _:
                assert_never(self.value)


@dataclass(frozen=True)
class Constant(Edit):
    """Every result is one code. value: which."""

    value: int

    def code(self, case: Case, code: int) -> int:
        """As in `Edit`."""
        return self.value


@dataclass(frozen=True)
class AddendReturned(Edit):
    """Every result is the addend's code."""

    def code(self, case: Case, code: int) -> int:
        """As in `Edit`."""
        return case.c
