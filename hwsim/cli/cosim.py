"""`hwsim cosim`."""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hwsim.cli.app import app
from hwsim.cli.output import say
from hwsim.cli.runs import MISMATCH, mismatches, played, show, verdict
from hwsim.spec import Unit, load_unit, pipeline

DEFAULT_UNITS = ("hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32")


class Simulators(StrEnum):
    """What `--sim` takes."""

    VERILATOR = "verilator"
    ICARUS = "icarus"
    BOTH = "both"


@app.command()
def cosim(
    units: Annotated[
        list[str] | None,
        typer.Argument(metavar="[UNIT]...", help="Units, or paths of YAML files; three presets unless given."),
    ] = None,
    sim: Annotated[Simulators, typer.Option(help="The simulators to run on.")] = Simulators.BOTH,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="Of everything random; drawn and printed unless given.")
    ] = None,
    cases: Annotated[
        int | None, typer.Option(min=1, help="Random cases for each unit and driver, instead of 3,000, 300 and 20,000.")
    ] = None,
    waves: Annotated[bool, typer.Option("--waves", help="Record dump.vcd beside the results.")] = False,
    cuts: Annotated[str | None, typer.Option(help="Steps after which there is a register, with commas.")] = None,
    contexts: Annotated[int | None, typer.Option(help="Sums that can be open at once.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where results go.")] = Path(
        "build/cosim"
    ),
    dut: Annotated[
        Path | None, typer.Option(metavar="DUT.yaml", help="Your own RTL instead of ours; `hwsim dut-init` begins one.")
    ] = None,
    case: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --dut: this case alone, as a failed run leaves one.")
    ] = None,
    assertions: Annotated[
        bool, typer.Option("--assertions", help="With --dut: check assertions on Verilator, the ports' and your own.")
    ] = False,
) -> None:
    """Show that the model and the RTL agree: bit for bit, and cycle for cycle.

    \b
    hwsim cosim                                            three presets, both simulators
    hwsim cosim mxfp4-e2m1-f32 --sim verilator             one unit, one simulator
    hwsim cosim my-unit.yaml --seed 7 --cases 100000       your own unit, many random cases
    hwsim cosim hopper-wgmma-e4m3-f32 --sim icarus --waves
    hwsim cosim hopper-wgmma-e4m3-f32 --cuts maximum.2,sum.3 --contexts 8
    hwsim cosim --dut my-dut.yaml                          your own Verilog

    \b
    Suites: every code of every format, every product, directed and random dot products under gaps and
    back-pressure, resets in flight, a matrix product, and what GPUs returned (HWSIM_SILICON names the folder).
    Exit status: 0 all equal; 1 a mismatch, or fewer cases than planned; 2 bad input; 3 a simulator is missing.
    """
    from hwsim.cosim.run import Options, run

    simulators = ("verilator", "icarus") if sim is Simulators.BOTH else (sim.value,)
    drawn = secrets.randbelow(2**32) if seed is None else seed
    if dut is not None:
        if units or cuts is not None or contexts is not None:
            raise ValueError("--dut goes without units, --cuts and --contexts: its file says what it claims to be")
        from hwsim.cli.dut import cosim_dut

        cosim_dut(dut, simulators, drawn, cases, waves, output, case, assertions)
        return
    if case is not None or assertions:
        raise ValueError("--case and --assertions go with --dut")
    chosen = [load_unit(name) for name in units or DEFAULT_UNITS]
    steps = tuple(cut.strip() for cut in cuts.split(",") if cut.strip()) if cuts is not None else None
    command = again(units, sim, drawn, cases, cuts, contexts)
    options = Options(
        units=tuple((unit, pipeline(unit, steps, contexts)) for unit in chosen),
        simulators=simulators,
        seed=drawn,
        cases=cases,
        waves=waves,
        folder=output,
        called=tuple(units or DEFAULT_UNITS),
        command=command,
    )
    started = time.monotonic()
    refused = "a simulator refused the design: this is a defect of hwsim, please report it with the lines above"
    report = played("specifications and cases", partial(run, options), refused, MISMATCH)
    show(report.rows)
    mismatches(report.rows)
    say()
    for unit, coverage in zip(chosen, report.coverage, strict=True):
        say(f"{unit.name}: {ranges(unit)}")
        say(f"{unit.name}: {coverage.line}")
    say(verdict(report.rows, started, options.seed))
    say(f"report: {output / 'report.html'}; the same as JSON: {output / 'results.json'}")
    say(f"JUnit XML: {output / 'results.xml'}; logs{' and waveforms' if waves else ''}: {output}/")
    say(f"again: {command}")
    if not report.passed:
        raise typer.Exit(MISMATCH)


def ranges(unit: Unit) -> str:
    """Whether results of the unit can overflow or underflow."""
    from hwsim.cases.reachable import range_report

    found = range_report(unit)
    overflow, underflow = (
        "proved unreachable" if not possible else "reachable" if witness is not None else "not excluded"
        for possible, witness in (
            (found.overflow, found.overflow_witness),
            (found.underflow, found.underflow_witness),
        )
    )
    return f"overflow of a result: {overflow}; underflow: {underflow}"


def again(
    units: Sequence[str] | None,
    sim: Simulators,
    seed: int,
    cases: int | None,
    cuts: str | None,
    contexts: int | None,
) -> str:
    """The command that runs the same again."""
    words = ["hwsim", "cosim", *(units or ())]
    if sim is not Simulators.BOTH:
        words += ["--sim", sim.value]
    words += ["--seed", str(seed)]
    for name, value in (("cases", cases), ("cuts", cuts), ("contexts", contexts)):
        words += [f"--{name}", str(value)] if value is not None else []
    return shlex.join(words)
