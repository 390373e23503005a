"""What a run found: rows of a table, the report of a mismatch, JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hwsim.formats import FloatFormat, Format
from hwsim.spec import Unit
from hwsim.tb.job import Mismatch, Outcome
from hwsim.vectors.case import Case

MOST_LINES = 15
MOST_OPERANDS = 6


@dataclass
class Row:
    """One suite on one driver: what was planned and what came of it. note: what else is to be said of it."""

    unit: str
    suite: str
    driver: str
    planned: int
    outcome: Outcome
    report: list[str] = field(default_factory=list)
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether everything that was planned was compared, and agreed."""
        return self.planned > 0 and self.outcome.results == self.planned and self.outcome.count == 0

    @property
    def rate(self) -> float:
        """Results compared a second."""
        return self.outcome.results / self.outcome.seconds if self.outcome.seconds else 0.0


def number(fmt: Format, code: int) -> str:
    """A code, in all its digits, and its value."""
    digits = f"{code:#0{2 + -(-fmt.container_bits // 4)}x}" if code >= 0 else "unknown"
    try:
        value = float(fmt.decode([code])[0])
    except ValueError:
        return f"{digits} (no code of {fmt.name})"
    return f"{digits} ({value:.9g})"


def ulps(fmt: Format, got: int, expected: int) -> str:
    """How far apart two codes are, in ulp of the format; empty where that has no meaning."""
    if not isinstance(fmt, FloatFormat):
        return ""
    places = []
    for code in (got, expected):
        if code & ((1 << fmt.padding) - 1):
            return ""
        bare = code >> fmt.padding
        if fmt.is_nan(bare) or bare & (fmt.sign_bit - 1) == fmt.infinity_magnitude:
            return ""
        magnitude = bare & (fmt.sign_bit - 1)
        places.append(-magnitude if bare & fmt.sign_bit else magnitude)
    return f", {places[0] - places[1]:+d} ulp of {fmt.name}"


def operand_line(name: str, fmt: Format, codes: Sequence[int]) -> str:
    """A vector of codes, decoded, without its zeros."""
    shown = [(index, code) for index, code in enumerate(codes) if code]
    parts = [f"[{index}] {number(fmt, code)}" for index, code in shown[:MOST_OPERANDS]]
    more = f" and {len(shown) - MOST_OPERANDS} more" if len(shown) > MOST_OPERANDS else ""
    return f"  {name}  {', '.join(parts) or 'all zero'}{more}; {len(codes)} elements"


def mismatch_lines(unit: Unit, mismatch: Mismatch, case: Case | None, stage: str) -> list[str]:
    """What differs, for a reader: operands decoded, expected and got, the first stage that differs."""
    lines = []
    if case is not None:
        lines.append(operand_line("a", unit.operands.a, case.a))
        lines.append(operand_line("b", unit.operands.b, case.b))
        if unit.operands.addend is not None:
            lines.append(f"  c  {number(unit.operands.addend, case.c)}")
        if unit.scale is not None:
            lines.append(operand_line("scale_a", unit.scale.a.format, case.scale_a))
            lines.append(operand_line("scale_b", unit.scale.b.format, case.scale_b))
    if mismatch.kind == "result":
        output = unit.output
        wrong_context = mismatch.got_context != mismatch.expected_context
        contexts = f" (context {mismatch.expected_context}, got {mismatch.got_context})" if wrong_context else ""
        distance = ulps(output, mismatch.got, mismatch.expected)
        lines.append(
            f"  expected {number(output, mismatch.expected)}, got {number(output, mismatch.got)}{distance}{contexts}"
        )
    else:
        lines.append(f"  {KINDS[mismatch.kind]}: expected {mismatch.expected}, got {mismatch.got}")
    lines.append(f"  first differing stage: {stage}")
    return lines


KINDS = {
    "ready": "input ready",
    "valid": "output valid",
    "misuse": "misuse",
    "unknown": "an unknown (X or Z) output bit",
    "hang": "results that never came",
    "dropped": "output valid, before the result was taken",
    "changed": "a result that changed before it was taken",
    "unasked": "results that no closing beat asked for",
    "latency": "cycles to the result",
}


def write_junit(path: Path, rows: Sequence[Row]) -> None:
    """Every suite of a run as JUnit XML."""
    root = ElementTree.Element("testsuites", name="hwsim cosim")
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.unit, row.driver), []).append(row)
    for (unit, driver), members in groups.items():
        failures = sum(not row.passed for row in members)
        suite = ElementTree.SubElement(
            root, "testsuite", name=f"{unit}.{driver}", tests=str(len(members)), failures=str(failures)
        )
        for row in members:
            case = ElementTree.SubElement(
                suite, "testcase", classname=f"{unit}.{driver}", name=row.suite, time=f"{row.outcome.seconds:.3f}"
            )
            if row.note:
                ElementTree.SubElement(case, "system-out").text = row.note
            if not row.passed:
                message = f"{row.outcome.count} mismatches; {row.outcome.results} of {row.planned} compared"
                ElementTree.SubElement(case, "failure", message=message).text = "\n".join(row.report)
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
