"""What a candidate says that hardware returns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from hwsim.capture.case import CaptureCase
from hwsim.capture.rules import Candidate
from hwsim.formats import Class, FloatFormat
from hwsim.model.definition import Definition
from hwsim.model.rounding import round_to
from hwsim.model.terms import addend_term
from hwsim.spec import Unit


@lru_cache(maxsize=256)
def _definition(unit: Unit) -> Definition:
    return Definition(unit)


def answer(candidate: Candidate, case: CaptureCase) -> int:
    """The result's code, of one case. An addend that is switched off is +0."""
    definition = _definition(candidate.unit)
    c = case.c or 0
    if candidate.addend is not None:
        c = rounded_addend(candidate.unit, candidate.addend, c)
    fill = -len(case.a) % candidate.unit.instruction.k
    zeros = (0,) * fill
    return definition.dot((*case.a, *zeros), (*case.b, *zeros), c).code


def rounded_addend(unit: Unit, fmt: FloatFormat, code: int) -> int:
    """An addend, rounded to nearest even in a narrower format of the same container."""
    own = unit.operands.addend
    assert isinstance(own, FloatFormat) and own.container_bits == fmt.container_bits
    term = addend_term(own, code)
    if term.cls is not Class.NORMAL:
        return code
    return round_to(fmt, term.sign, term.sig, term.exp - term.fraction_bits, "rne", "infinity").code


def answers(candidate: Candidate, cases: Sequence[CaptureCase]) -> list[int]:
    """The results' codes."""
    return [answer(candidate, case) for case in cases]
