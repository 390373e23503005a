"""`hwsim check`."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hwsim.base.errors import InputError
from hwsim.base.files import ascii_lines, bounded_lines
from hwsim.base.text import counted
from hwsim.cli.app import app
from hwsim.cli.arguments import again
from hwsim.cli.output import TellAsJson, note, say
from hwsim.cli.progress import Progress
from hwsim.spec import load_unit, presets

if TYPE_CHECKING:
    from hwsim.cosim.vectors.check import Findings
    from hwsim.explain import RunReport

MISMATCH = 1
SHOWN = 3  # mismatches that are printed
PIPED = "The results came through a pipe: to run it again, write what gives them before the command."


@app.command()
def check(
    context: typer.Context,
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="The folder that `hwsim vectors` wrote, or - in a pipe.")
    ],
    results: Annotated[str, typer.Argument(metavar="RESULTS", help="The file of results, or - for the input.")],
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="DIR", help="Write results.xml, results.json and report.html there."),
    ] = None,
    as_json: TellAsJson = False,
) -> None:
    """Compare a device's results with a vector set, and say what would explain the wrong ones.

    \b
    hwsim check smoke/ results.hex                 a result a line, in the order of the cases
    hwsim check smoke/ results.txt                 or ID RESULT, in any order; ID is a case's name or number
    hwsim check smoke/ results.hex --report found/
    ./simulate | hwsim check smoke/ -
    hwsim vectors hopper-wgmma-e4m3-f32 -o - | ./my_dut | hwsim check - -

    \b
    Results are hexadecimal; what follows # or // is left out, and an X is a wrong result. In a pipe, a device passes
    comment lines on, and writes its result behind what it was given.
    Below the name of a wrong case stands what it is: `G13/...` are cases that tell readings of the specification apart,
    `G1/...` to `G11/...` those of coverage groups, `random/...` random ones (`hwsim docs coverage`).
    Exit status: 0 all equal; 1 a wrong result, or fewer than there are cases; 2 a file that cannot be read.
    """
    from hwsim.explain import refuse_reports, write_reports

    if report is not None:
        refuse_reports(report)
    findings = _pipe(results) if folder == "-" else _file(folder, results)
    with Progress("looking for what explains wrong results", lines=True) as bar:
        record = findings.report(again(context), _unit_argument(findings, folder), bar.say)
    if "-" in (folder, results):
        record = record.changed(notes=(*record.notes, PIPED))
    _show(record)
    if report is not None:
        write_reports(report, record)
        note(f"report: {report / 'report.html'}")
    if not record.passed:
        raise typer.Exit(MISMATCH)


def _unit_argument(findings: Findings, folder: str) -> str:
    """The unit of the cases as a command's argument: the name of a preset, or the unit's file in the set."""
    unit = findings.unit
    if folder == "-" or (unit.name in presets() and load_unit(unit.name) == unit):
        return unit.name
    return str(Path(folder) / ("unit.yaml" if findings.sparse is None else "dense.yaml"))


def _pipe(results: str) -> Findings:
    from hwsim.compute.products import kernel_for
    from hwsim.cosim.vectors.check import judge

    with _opened(results) as lines:
        return judge(lines, kernel_for)


def _file(folder: str, results: str) -> Findings:
    from hwsim.cosim.vectors.check import check as compare
    from hwsim.cosim.vectors.check import stored

    vectors = stored(folder)
    with _opened(results) as lines:
        return compare(vectors, lines, results)


@contextmanager
def _opened(results: str) -> Iterator[Iterator[str]]:
    if results == "-":
        if sys.stdin is None:
            raise InputError("-: the standard input is closed; name a file of results")
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(encoding="ascii", errors="surrogateescape")
        yield ascii_lines(bounded_lines(sys.stdin, "-"), "-")
        return
    with open(results, encoding="ascii", errors="surrogateescape") as file:
        yield ascii_lines(bounded_lines(file, results), results)


def _show(report: RunReport) -> None:
    """Print what a check found, as its record has it."""
    from hwsim.cases.bins.plan import case_meaning
    from hwsim.explain import all_fault_lines, mismatch_lines

    (row,) = report.rows
    compared = f"{row.compared:,} of {counted(row.planned, 'result')} compared, {row.suite} of {row.unit}"
    if row.passed:
        say(f"all equal: {compared}")
        for kills in report.kills:
            say(f"the first {counted(kills.cases, 'case')}: {kills.named()}")
        return
    say(f"{row.mismatches:,} wrong: {compared}", style="red")
    for line in (*(f"  {hint}" for hint in row.notes), *all_fault_lines(report.kinds)):
        say(line)
    for mismatch in report.mismatches[:SHOWN]:
        say()
        say(f"{mismatch.where}: case {mismatch.case}", style="red")
        if meaning := case_meaning(mismatch.case):
            say(f"  this case: {meaning}")
        say("\n".join(mismatch_lines(mismatch)))
        say(f"  every stage: {mismatch.explain}")
