"""`hwsim cosim --dut` and `hwsim dut-init`: a user's own RTL."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from hwsim.cli.app import app
from hwsim.cli.cosim import MISMATCH, MOST_REPORTS, end_whole, show
from hwsim.cli.output import note, print_error, say
from hwsim.cli.progress import Progress


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
    from hwsim.cosim.build import BuildFailed
    from hwsim.cosim.processes import Stopped
    from hwsim.dut.config import load_dut
    from hwsim.dut.run import DutOptions, run_dut

    dut = load_dut(path)
    options = DutOptions(dut, simulators, seed, cases, waves, output, case, str(path), assertions)
    end_whole()
    started = time.monotonic()
    try:
        with Progress("elaboration and cases", lines=True) as progress:
            report = run_dut(options, progress)
    except Stopped:
        raise KeyboardInterrupt from None
    except BuildFailed as error:
        say(str(error))
        print_error(f"{path}: a simulator refused the design, with the lines above")
        raise typer.Exit(2) from None
    show(report.rows)
    failed = [row for row in report.rows if not row.passed]
    for row in failed[:MOST_REPORTS]:
        say()
        say("MISMATCH " + "\n".join(row.report), style="red")
    if report.story:
        say()
        say("\n".join(report.story))
    say()
    for line in report.notes:
        say(line)
    if report.coverage is not None:
        say(report.coverage.line)
    total = sum(row.outcome.results for row in report.rows)
    verdict = f"{len(failed)} of {len(report.rows)} suites failed" if failed else "all equal"
    say(f"{verdict}: {total:,} comparisons in {time.monotonic() - started:.0f} s, seed {seed}")
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
    from hwsim.dut.guess import first_file

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
