"""`hwsim qualify --dut`: mutants of a user's design."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hwsim.cli.output import say
from hwsim.cli.progress import Progress
from hwsim.cli.runs import played
from hwsim.errors import InputError
from hwsim.outputs import written

if TYPE_CHECKING:
    from hwsim.prove.qualify.dut import DutQualification, Fate

SHOWN = 40  # survivors that are named


def qualify_dut(
    dut: Path, vectors: Path | None, count: int | None, seed: int, least: float | None, report: Path | None
) -> None:
    """Tell what vectors notice of a user's design. Exits with status 1 unless that is shown to be `least` percent."""
    from hwsim.cosim.dutdesign import dut_design
    from hwsim.cosim.dutfile import load_dut
    from hwsim.cosim.vectors.check import stored
    from hwsim.prove.qualify.dut import DutQualifier
    from hwsim.rtl.synthesis import FlowFailed

    design = dut_design(load_dut(dut), called=str(dut))
    known = stored(vectors) if vectors is not None else None

    def run(bar: Progress) -> DutQualification:
        return DutQualifier(design, seed, bar.update).qualify(count, known)

    try:
        found = played("", run, f"Verilator does not take what Yosys makes of {design.name}", 2)
    except FlowFailed as error:
        raise InputError(f"Yosys does not read {design.name}: {error}") from None
    _tell(found)
    if report is not None:
        with written(report) as file:
            file.write(json.dumps(_as_data(found), indent=1).encode() + b"\n")
    enough = least is None or (100 * found.killed.low >= least and bool(len(found.rows) - found.count("equivalent")))
    say(_conclusion(found, least), None if enough else "red")
    if not enough:
        raise typer.Exit(1)


def _tell(found: DutQualification) -> None:
    for row in found.survivors[:SHOWN]:
        shown = f"; shown by {row.how}" if row.how else ""
        say(f"{row.fate:9} {row.mutant.place}  {row.mutant.name}{shown}")
    if len(found.survivors) > SHOWN:
        say(f"{'':9} and {len(found.survivors) - SHOWN:,} more, which --json names")
    drawn = f"{len(found.rows):,} of {found.of:,} mutants, drawn with seed {found.seed}"
    asked = f"all {found.of:,} mutants" if len(found.rows) == found.of else drawn
    say(f"{found.design}: {found.cases:,} cases, {found.vectors}; {asked}")
    say(", ".join(f"{found.count(fate):,} {words}" for fate, words in FATES if found.count(fate)))


FATES: tuple[tuple[Fate, str], ...] = (
    ("killed", "killed by the vectors"),
    ("equivalent", "shown to change nothing"),
    ("survives", "not killed, and shown to change a result"),
    ("undecided", "not killed, and not known to change anything"),
)


def _conclusion(found: DutQualification, least: float | None) -> str:
    """The last line: what share is killed, and whether it is enough."""
    total = len(found.rows) - found.count("equivalent")
    if not total:
        return "no mutant is left that may change anything: nothing is shown of the vectors"
    share, low, high = (100 * one for one in found.killed)
    within = f"; of all mutants {low:.1f} to {high:.1f} %, with 95 % confidence" if low < high else ""
    said = f"{share:.1f} % of {total:,} that may change something are killed{within}"
    if least is None or low >= least:
        return said if least is None else f"at least {least:g} %: {said}"
    return f"{'fewer than' if high < least else 'not shown: at least'} {least:g} %: {said}"


def _as_data(found: DutQualification) -> dict[str, object]:
    rows = [
        asdict(row) | {"killed": row.killed, "name": row.mutant.name, "place": row.mutant.place} for row in found.rows
    ]
    return {
        "design": found.design, "vectors": found.vectors, "cases": found.cases, "seed": found.seed, "of": found.of,
        "killed": found.killed._asdict(), "mutants": rows,
    }  # fmt: skip
