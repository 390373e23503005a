"""What a run found, as its report tells it: rows, and mismatches with the model's explanation of their cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

import yaml

from hwsim import report as reports
from hwsim.cases.case import Case
from hwsim.cosim.coverage import UnitCoverage
from hwsim.cosim.diagnose import Difference
from hwsim.report import Reading, RunReport
from hwsim.report.cases import case_explanation, case_operands
from hwsim.report.reading import reading, ulps
from hwsim.spec import Unit, as_yaml
from hwsim.tb.job import Mismatch, Outcome


@dataclass
class Row:
    """One suite on one driver: what was planned and what came of it.

    told: mismatches as they are reported, the first one first. notes: what else is to be said of a failure.
    """

    unit: str
    suite: str
    driver: str
    planned: int
    outcome: Outcome
    told: list[reports.Mismatch] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether everything that was planned was compared, and agreed."""
        return self.record.passed

    @property
    def rate(self) -> float:
        """Results compared a second."""
        return self.record.rate

    @property
    def record(self) -> reports.Row:
        """The row as a report has it."""
        outcome = self.outcome
        return reports.Row(
            unit=self.unit,
            suite=self.suite,
            driver=self.driver,
            planned=self.planned,
            compared=outcome.results,
            mismatches=outcome.count,
            cycles=outcome.cycles,
            seconds=outcome.seconds,
            notes=tuple(self.notes),
        )

    @property
    def report(self) -> list[str]:
        """Why it failed, in at most 15 lines; nothing where it passed."""
        return [] if self.passed else reports.failure_lines(self.record, self.told)


def run_report(
    units: Sequence[Unit], rows: Sequence[Row], coverage: Sequence[UnitCoverage], command: str, seed: int
) -> RunReport:
    """A whole run. command: what runs it again."""
    return RunReport(
        title=f"hwsim cosim: {', '.join(unit.name for unit in units)}",
        command=command,
        version=version("hwsim"),
        seed=seed,
        units=tuple(yaml.safe_load(as_yaml(unit)) for unit in units),
        rows=tuple(row.record for row in rows),
        coverage=tuple(group for one in coverage for group in one.groups),
        mismatches=tuple(mismatch for row in rows for mismatch in row.told),
        notes=tuple(note for one in coverage for note in one.notes),
    )


def told(
    row: Row, unit: Unit, mismatch: Mismatch, case: Case | None, difference: Difference | None
) -> reports.Mismatch:
    """A mismatch of a unit as it is reported, without what is said of its stage, its files and its command.

    case: the one whose result was due; only where a result differs is it explained.
    """
    result = mismatch.kind == "result"
    wrong_context = result and mismatch.got_context != mismatch.expected_context
    group = difference.beat if difference is not None else None
    return reports.Mismatch(
        unit=row.unit,
        suite=row.suite,
        driver=row.driver,
        case=case.id if case else "?",
        operands=case_operands(unit, case) if case else (),
        what="result" if result else KINDS[mismatch.kind],
        format=unit.output.name if result else "",
        expected=reading(unit.output, mismatch.expected) if result else _bit(mismatch.expected),
        got=reading(unit.output, mismatch.got) if result else _bit(mismatch.got),
        ulp=ulps(unit.output, mismatch.got, mismatch.expected) if result else None,
        context=f"context {mismatch.expected_context}, got {mismatch.got_context}" if wrong_context else "",
        group=group,
        where=f"at cycle {mismatch.cycle}, result {mismatch.index} of {row.planned}",
        explanation=case_explanation(unit, case, group) if result and case else None,
    )


def _bit(value: int) -> Reading:
    return Reading(code=str(value), value="")


def told_of_codes(row: Row, mismatch: Mismatch) -> reports.Mismatch:
    """A mismatch of a table of codes: what the decoder, or the multiplier, makes of them."""
    return reports.Mismatch(
        unit=row.unit,
        suite=row.suite,
        driver=row.driver,
        case=f"codes {mismatch.got_context:#x}, {mismatch.expected_context:#x}",
        what=mismatch.kind,
        expected=Reading(code=hex(mismatch.expected), value=""),
        got=Reading(code=hex(mismatch.got), value=""),
    )


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
