"""`hwsim cosim --dut` and `hwsim dut-init`: a user's own RTL."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hwsim.cli.app import app
from hwsim.cli.output import note, say
from hwsim.cli.runs import MISMATCH, mismatches, played, show, verdict

BAD_INPUT = 2


def cosim_dut(
    path: Path,
    simulators: tuple[str, ...],
    seed: int,
    cases: int | None,
    waves: bool,
    output: Path,
    case: Path | None,
    assertions: bool,
) -> None:
    """Put a user's design through the suites, and say what came of it."""
    from hwsim.cosim.dutfile import load_dut
    from hwsim.cosim.dutrun import DutOptions, run_dut

    dut = load_dut(path)
    options = DutOptions(dut, simulators, seed, cases, waves, output, case, str(path), assertions)
    started = time.monotonic()
    refused = f"{path}: a simulator refused the design, with the lines above"
    report = played("elaboration and cases", partial(run_dut, options), refused, BAD_INPUT)
    show(report.rows)
    mismatches(report.rows)
    if report.story:
        say()
        say("\n".join(report.story))
    say()
    for line in report.notes:
        say(line)
    if report.coverage is not None:
        say(report.coverage.line)
    say(verdict(report.rows, started, seed))
    say(f"report: {output / 'report.html'}; JUnit XML: {output / 'results.xml'}; JSON: {output / 'results.json'}")
    say(f"logs{' and waveforms' if waves else ''}: {output}/")
    say(f"again: {options.again(simulators)}")
    if not report.passed:
        raise typer.Exit(MISMATCH)


@app.command("dut-init")
def dut_init(
    source: Annotated[Path, typer.Argument(metavar="TOP.v", help="The file with the top module.")],
    more: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="Files that it needs.")] = None,
    top: Annotated[str | None, typer.Option(help="The top module, where the files have several.")] = None,
    unit: Annotated[str | None, typer.Option(help="The unit that it claims to be, to guess with.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="TOP.yaml beside the source unless given.")
    ] = None,
) -> None:
    """Read the ports of a design and write a first DUT.yaml; what is not known is marked `# ?` in it.

    \b
    hwsim dut-init rtl/dot4.v
    hwsim dut-init rtl/dot4.v rtl/adder.v --unit hopper-wgmma-e4m3-f32 -o dot4.yaml
    """
    from hwsim.cosim.guess import first_file

    target = output or source.with_suffix(".yaml")
    if target.exists():
        raise ValueError(f"{target} is there already; name another with --output")
    text, unknown = first_file([source, *(more or [])], top, unit, target.parent)
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ValueError(f"{target} is there already; name another with --output") from None
    say(text.rstrip())
    note(f"wrote {target}; to be answered: {', '.join(unknown) if unknown else 'nothing, but read it'}")
