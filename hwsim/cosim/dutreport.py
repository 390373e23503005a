"""A run of a user's design as a report tells it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from hwsim.cosim.coverage import UnitCoverage
from hwsim.cosim.dutfile import Dut
from hwsim.cosim.report import Row
from hwsim.cosim.shrink import Shrunk
from hwsim.cosim.story import got_words
from hwsim.report import File, Mismatch, RunReport
from hwsim.report import Row as ReportRow
from hwsim.report.cases import explain_command, wrong_result

SUITE = "minimal case"


def minimal_mismatch(
    dut: Dut, simulator: str, found: Shrunk, named: Sequence[str], files: dict[str, str], again: str
) -> Mismatch:
    """The minimal case. named: what explains the results. files: what was kept of it, and where."""
    made = wrong_result(
        dut.unit,
        found.case,
        found.expected,
        found.got if found.got >= 0 else None,
        got_words(dut.unit.output, found),
        suite=SUITE,
        driver=simulator,
        where=f"the simplest of {found.tried:,} cases tried in {found.rounds} simulations",
        semantics=tuple(line.strip() for line in named[1:]),
        files=tuple(File(what=what, path=path) for what, path in files.items()),
        again=again,
        explain=explain_command(dut.unit, dut.file.unit, found.case),
    )
    return made.changed(unit=dut.file.top)


def run_report(
    dut: Dut,
    rows: Sequence[Row],
    minimal: Mismatch | None,
    coverage: UnitCoverage | None,
    notes: Sequence[str],
    command: str,
    seed: int,
) -> RunReport:
    """The whole run: its suites, and the minimal case as a suite of its own, first."""
    records = [row.record for row in rows]
    told = [mismatch for row in rows for mismatch in row.told]
    if minimal is not None:
        one = ReportRow(
            unit=dut.file.top, suite=SUITE, driver=minimal.driver, planned=1, compared=1, mismatches=1, notes=()
        )
        records, told = [one, *records], [minimal, *told]
    return RunReport(
        title=f"hwsim cosim --dut: {dut.file.top} as {dut.unit.name}",
        command=command,
        version=version("hwsim"),
        seed=seed,
        units=(dut.unit.model_dump(mode="json", exclude_unset=True),),
        rows=tuple(records),
        coverage=coverage.groups if coverage else (),
        mismatches=tuple(told),
        notes=(*notes, *(coverage.notes if coverage else ())),
    )
