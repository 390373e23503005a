"""Cases in reports: operands decoded, a wrong result, the model's explanation."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from hwsim.cases.case import Case, block_lengths, term_scales
from hwsim.model.arrays import definition_of
from hwsim.readings.answers import filled
from hwsim.report.differences import CodeReading, Mismatch, Operand
from hwsim.report.explained import Explained
from hwsim.report.explanation_json import ExplanationJson, explanation
from hwsim.report.reading import operand, reading, scalar, ulps
from hwsim.spec import Unit


def case_operands(unit: Unit, case: Case) -> tuple[Operand, ...]:
    """What a case holds, decoded."""
    operands = [operand("a", unit.operands.a, case.a), operand("b", unit.operands.b, case.b)]
    if unit.operands.addend is not None:
        operands.append(scalar("c", unit.operands.addend, case.c))
    if unit.scale is not None:
        operands.append(operand("scale_a", unit.scale.a.format, case.scale_a))
        operands.append(operand("scale_b", unit.scale.b.format, case.scale_b))
    return tuple(operands)


def explained_case(unit: Unit, case: Case) -> Explained:
    """A case with every stage's integers.

    Its length may be any that the unit's ports take: a sum may end inside a block that shares a scale.
    """
    whole = filled(unit, case, unit.instruction.fill)
    record = definition_of(unit).dot(whole.a, whole.b, whole.c, *term_scales(unit, whole), len(case.a))
    return Explained(**{part.name: getattr(record, part.name) for part in fields(record)})


def case_explanation(unit: Unit, case: Case, group: int | None = None) -> ExplanationJson:
    """The model's explanation of a case. group: the sum that matters most, if one does."""
    return explanation(explained_case(unit, case), group)


def explain_command(unit: Unit, called: str, case: Case) -> str:
    """The command that shows every stage of a case; empty for one that ends inside a block, which no command takes.

    called: the unit's name or path.
    """
    if unit.scale is not None and any(len(case.a) % length for length in block_lengths(unit)):
        return ""
    words = ["hwsim", "explain", called, "--a", _codes(case.a), "--b", _codes(case.b)]
    if unit.operands.addend is not None:
        words += ["--c", hex(case.c)]
    if unit.scale is not None:
        words += ["--scale-a", _codes(case.scale_a), "--scale-b", _codes(case.scale_b)]
    return shlex.join(words)


def _codes(codes: Sequence[int]) -> str:
    return ",".join(map(hex, codes))


def wrong_result(unit: Unit, case: Case, expected: int, got: int | CodeReading, **said: Any) -> Mismatch:
    """A result that is not the expected one. got: a code, or in words why there is none.

    said: other fields of Mismatch, its suite and driver among them.
    """
    return Mismatch(
        unit=unit.name,
        case=case.id,
        operands=case_operands(unit, case),
        format=unit.output.name,
        expected=reading(unit.output, expected),
        got=got if isinstance(got, CodeReading) else reading(unit.output, got),
        ulp=None if isinstance(got, CodeReading) else ulps(unit.output, got, expected),
        explanation=case_explanation(unit, case),
        **said,
    )
