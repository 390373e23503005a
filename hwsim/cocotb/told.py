"""A mismatch at the ports in words: codes decoded, the case's operands, what was waited for, and how to go on."""

from __future__ import annotations

from typing import Any

from hwsim.base.text import counted
from hwsim.cases.case import Case
from hwsim.explain.mismatches import case_explanation, case_operands, microscope_case, reading, ulps
from hwsim.explain.record import CodeReading, Mismatch
from hwsim.formats import Format
from hwsim.spec import Unit
from hwsim.tb.job import COPY, FLAG, MISSING, UNKNOWN, PortMismatch

UNCODED = {UNKNOWN: "an unknown bit", MISSING: "known bits"}
WITH_CODES = ("result", COPY)  # kinds of mismatches whose values are codes of the result
KINDS = {
    "ready": "input ready",
    "valid": "output valid",
    "misuse": "misuse",
    "unknown": "an unknown (X or Z) output bit",
    "refused": "a beat that was never taken",
    "hang": "results that never came",
    "dropped": "output valid, before the result was taken",
    "changed": "a result that changed before it was taken",
    "unasked": "results that no closing beat asked for",
    "latency": "cycles to the result",
    "tag": "a result's tag",
}


def told_mismatch(
    unit: Unit,
    case: Case | None,
    mismatch: PortMismatch,
    patience: int | None,
    results: int,
    *,
    unit_name: str,
    case_id: str = "",
    group: int | None = None,
    **others: Any,
) -> Mismatch:
    """The mismatch of a case, in the form of reports.

    unit, case: the case is of that unit, alone; None where no result was due or the case has no unit of its own.
    patience: cycles that were waited; None where a trace promised every cycle. results: how many were due.
    case_id: the case's name where there is no case. group: the sum that matters most. others: fields of Mismatch.
    """
    output, result = unit.output, mismatch.kind in WITH_CODES
    extra = f"flag {mismatch.name}" if mismatch.kind == FLAG else f"result at {mismatch.name}"
    words = waited(patience, mismatch) if patience is not None else None
    expected, got = words or (_said(output, mismatch, mismatch.expected), _said(output, mismatch, mismatch.got))
    wrong_context = mismatch.kind == "result" and mismatch.got_context != mismatch.expected_context
    explained = case if result or mismatch.kind == FLAG else None
    return Mismatch(
        unit=unit_name,
        case=case_id or (case.id if case else "?"),
        operands=case_operands(unit, case) if case else (),
        what=extra if mismatch.name else "result" if result else KINDS[mismatch.kind],
        format=output.name if result else "",
        expected=expected,
        got=got,
        ulp=ulps(output, mismatch.got, mismatch.expected) if result else None,
        context=f"context {mismatch.expected_context}, got {mismatch.got_context}" if wrong_context else "",
        group=group,
        where=_where(mismatch, results),
        explanation=case_explanation(unit, explained, group) if explained else None,
        microscope=microscope_case(unit, explained, mismatch.got if result else None) if explained else "",
        **others,
    )


def waited(patience: int, mismatch: PortMismatch) -> tuple[CodeReading, CodeReading] | None:
    """The expected and the actual event, in words, of a mismatch counted in cycles; None for other kinds."""
    within = f"within {counted(patience, 'cycle')}"
    match mismatch.kind:
        case "hang":
            expected, got = f"a result {within}", f"none, where {counted(mismatch.got, 'result')} were due"
        case "refused":
            expected, got = f"a beat taken {within}", "none"
        case "latency":
            after = f"after {counted(mismatch.got, 'cycle')}" if mismatch.got >= 0 else f"not {within}"
            expected, got = f"a result after {counted(mismatch.expected, 'cycle')}", after
        case "tag":
            under_way = counted(mismatch.expected, "dot product")
            expected, got = f"a tag of {under_way} under way", f"tag {mismatch.got}, which is of none"
        case _:
            return None
    return CodeReading(code=expected, value=""), CodeReading(code=got, value="")


def _where(mismatch: PortMismatch, results: int) -> str:
    """The place of a mismatch; the cycle of a result that is not among a suite's first mismatches is not kept."""
    cycle = f"at cycle {mismatch.cycle}, " if mismatch.cycle >= 0 else ""
    return f"{cycle}result {mismatch.index} of {results}"


def _said(output: Format, mismatch: PortMismatch, value: int) -> CodeReading:
    if value in UNCODED:
        return CodeReading(code=UNCODED[value], value="")
    of_result = mismatch.kind in (*WITH_CODES, "changed", "unknown") and value >= 0
    return reading(output, value) if of_result else CodeReading(code=str(value), value="")
