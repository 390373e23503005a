"""Cases for a GPU, in sections by instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hwsim.cases.case import Case
from hwsim.readings.silicon.instructions import GpuInstruction


@dataclass(frozen=True, slots=True)
class CaptureCase:
    """A dot product for a GPU to compute.

    tag: the rule that it was designed for, or its kind. a, b: codes of whole instructions. c: the addend's code;
    None where the addend is switched off.
    """

    tag: str
    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int | None


def as_case(case: CaptureCase) -> Case:
    """The case that a unit computes; an addend that is switched off is +0."""
    return Case(case.tag, case.a, case.b, case.c or 0)


@dataclass(frozen=True)
class Section:
    """The cases of one instruction. unit: the name of the unit that describes it."""

    instruction: GpuInstruction
    unit: str
    cases: Sequence[CaptureCase]


@dataclass(frozen=True)
class CaseFile:
    """The content of a case file. checksum: CRC-32 of its bytes, which the results repeat."""

    generator: str
    seed: int
    sections: tuple[Section, ...]
    checksum: str
