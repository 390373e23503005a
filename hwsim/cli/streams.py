"""What `hwsim converter` and `hwsim quantizer` share: Verilog to write, suites to play, claims to prove."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hwsim.base.errors import InputError
from hwsim.base.files import written
from hwsim.base.text import counted
from hwsim.cli.cosim import Simulators, show_suites
from hwsim.cli.output import note, say
from hwsim.cli.progress import played
from hwsim.cli.prove import claim_line, conclude, demand_provers
from hwsim.cli.rtl import need_amaranth, target_file

if TYPE_CHECKING:
    from hwsim.cosim.streams import StreamDesign, StreamJob
    from hwsim.explain import RunReport
    from hwsim.explain.proof import ProofReport
    from hwsim.prove.run import ProofOptions

MISMATCH = 1


Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write Verilog: a file, a folder (NAME.v in it), or -."),
]
Cosim = Annotated[bool, typer.Option("--cosim", help="Play it on simulators, against the model.")]
Sim = Annotated[Simulators, typer.Option(help="With --cosim: the simulators to run on.")]
Seed = Annotated[
    int | None, typer.Option(min=0, max=2**32 - 1, help="Of everything random; drawn and printed unless given.")
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="DIR", help="With --cosim: write report.html, JSON and JUnit XML there."),
]
Prove = Annotated[
    bool, typer.Option("--prove", help="Prove for every input that its Verilog returns what the model does.")
]
Cuts = Annotated[str | None, typer.Option(help="Steps after which there is a register, with commas.")]


Modules = Annotated[
    bool,
    typer.Option("--modules", help="As without: there is one form of Verilog.", hidden=True),
]


def demand_work(*work: object) -> None:
    """Raise InputError where nothing is asked for."""
    if not any(work):
        raise InputError("nothing to do: --output FILE writes Verilog, --cosim plays it, --prove proves it")


def write(designs: Iterable[StreamDesign], output: str) -> None:
    """Write the Verilog of each design."""
    need_amaranth()
    for design in designs:
        top = design.ports.top
        target = None if output == "-" else target_file(output, f"{top}.sv")
        if target is None:
            sys.stdout.write(design.verilog)
            continue
        with written(target) as file:
            file.write(design.verilog.encode())
        note(f"wrote {target}: latency {design.latency}, a payload each cycle")


def drawn(seed: int | None) -> int:
    """A seed, drawn unless it is given."""
    return secrets.randbelow(2**32) if seed is None else seed


def cosimulate(jobs: Sequence[StreamJob], sim: Simulators, seed: int, command: str, folder: Path | None) -> None:
    """Play jobs, print a table, and exit with 1 where something differs. command: what repeats it."""
    from hwsim.cosim.streams import run_streams
    from hwsim.explain import refuse_reports, write_reports

    need_amaranth()
    if folder is not None:
        refuse_reports(folder)
    refused = "a simulator refused the design: this is a defect of hwsim, please report it with the lines above"
    report = played("suites", partial(run_streams, jobs, sim.names, seed, command), refused, MISMATCH)
    show(report)
    if folder is not None:
        write_reports(folder, report)
        say(f"report: {folder / 'report.html'}; JSON: {folder / 'results.json'}; JUnit XML: {folder / 'results.xml'}")
    if not report.passed:
        raise typer.Exit(MISMATCH)


def show(report: RunReport) -> None:
    """Print a run's record."""
    show_suites(report, "design", "results")
    say()
    compared = counted(report.figures.compared, "comparison")
    say(f"{report.verdict}: {compared} in {report.seconds:.0f} s, seed {report.seed}")
    say(f"again: {report.command}")


def prove_all(proofs: Sequence[Callable[[ProofOptions], ProofReport]]) -> None:
    """Decide claims, print each, and exit with 1 where one is not proved."""
    demand_provers()
    from hwsim.prove.run import ProofOptions
    from hwsim.rtl.synthesis import FlowFailed

    try:
        reports = [prove(ProofOptions(tell=claim_line)) for prove in proofs]
    except FlowFailed as error:
        raise InputError(f"the design could not be read as a circuit: {error}") from None
    for report in reports:
        conclude(report)
    if not all(report.proved for report in reports):
        raise typer.Exit(MISMATCH)
