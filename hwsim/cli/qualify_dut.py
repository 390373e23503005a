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
    from hwsim.qualify.dut import DutQualification

SHOWN = 40  # survivors that are named


def qualify_dut(
    dut: Path, vectors: Path | None, count: int | None, seed: int, least: float | None, report: Path | None
) -> None:
    """Tell what vectors notice of a user's design. Exits with status 1 where they notice less than `least` percent."""
    from hwsim.cosim.dut.dutfile import load_dut
    from hwsim.cosim.dutdesign import dut_design
    from hwsim.qualify.dut import DutQualifier
    from hwsim.rtl.synthesis import FlowFailed
    from hwsim.vectors.stored import stored

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
    if least is not None and 100 * found.killed.share < least:
        say(f"fewer than {least:g} % are killed", "red")
        raise typer.Exit(1)


def _tell(found: DutQualification) -> None:
    for row in found.survivors[:SHOWN]:
        say(f"survives  {row.mutant.place}  {row.mutant.name}")
    if len(found.survivors) > SHOWN:
        say(f"survives  and {len(found.survivors) - SHOWN:,} more, which --json names")
    killed, unseen = sum(row.killed for row in found.rows), sum(row.unseen for row in found.rows)
    share, low, high = (100 * one for one in found.killed)
    within = f", {low:.1f} to {high:.1f} % with 95 % confidence" if low < high else ""
    beside = f"; {unseen:,} more change nothing that an output depends on" if unseen else ""
    say(f"{found.design}: {found.cases:,} cases, {found.vectors}")
    say(f"{killed:,} of {len(found.rows) - unseen:,} mutants killed, {share:.1f} %{within}{beside}")
    say(f"drawn from {found.of:,} with seed {found.seed}; a survivor may change nothing that matters")


def _as_data(found: DutQualification) -> dict[str, object]:
    rows = [asdict(row) | {"name": row.mutant.name, "place": row.mutant.place} for row in found.rows]
    return {
        "design": found.design, "vectors": found.vectors, "cases": found.cases, "seed": found.seed, "of": found.of,
        "killed": found.killed._asdict(), "mutants": rows,
    }  # fmt: skip
