"""Cases in reports: operands decoded, a wrong result, the model's explanation."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from hwsim.cases.case import Case
from hwsim.report.differences import CodeReading, Mismatch, Operand
from hwsim.report.explained import Explained, explain
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
    """A case with every stage's integers."""
    c = case.c if unit.operands.addend is not None else None
    scales = (case.scale_a, case.scale_b) if unit.scale is not None else (None, None)
    return explain(unit, case.a, case.b, c, *scales)


def case_explanation(unit: Unit, case: Case, group: int | None = None) -> ExplanationJson:
    """The model's explanation of a case. group: the sum that matters most, if one does."""
    return explanation(explained_case(unit, case), group)


def explain_command(unit: Unit, called: str, case: Case) -> str:
    """The command that shows every stage of a case. called: the unit's name or path."""
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
