"""`hwsim cosim`."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hwsim.base.errors import InputError
from hwsim.base.text import counted
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.arguments import (
    ClockEnable,
    Contexts,
    Cuts,
    Package,
    RegisterReady,
    Reset,
    ResetOption,
    split,
    style_of,
)
from hwsim.cli.output import TellAsJson, print_table, say
from hwsim.cli.progress import played
from hwsim.cosim.design import NOT_ASKED, AskedSuites, SuiteKind
from hwsim.spec import SparseUnit, Unit, load_any, load_unit, pipeline

if TYPE_CHECKING:
    from hwsim.cosim.design import Design
    from hwsim.cosim.run import CosimOptions
    from hwsim.explain import Row, RunReport
    from hwsim.rtl import Style

MISMATCH, BAD_INPUT = 1, 2
MOST_REPORTS = 3
MOST_NAMED = 4  # suites that did not run, in the last line

DEFAULT_UNITS = ("hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32")


class Simulators(StrEnum):
    """The values of the option `--sim`."""

    VERILATOR = "verilator"
    ICARUS = "icarus"
    BOTH = "both"

    @property
    def names(self) -> tuple[str, ...]:
        """The simulators that it stands for."""
        return ("verilator", "icarus") if self is Simulators.BOTH else (self.value,)


@app.command()
def cosim(
    units: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[UNIT]...",
            help="Units, or paths of YAML files; three presets unless given.",
            autocompletion=complete.units,
        ),
    ] = None,
    sim: Annotated[Simulators, typer.Option(help="The simulators to run on.")] = Simulators.BOTH,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="Of everything random; drawn and printed unless given.")
    ] = None,
    cases: Annotated[
        int | None,
        typer.Option(min=1, help="Cases of each random suite, not 1,500 (Verilator), 150 (Icarus), 20,000 (bulk)."),
    ] = None,
    waves: Annotated[bool, typer.Option("--waves", help="Record dump.vcd beside the results.")] = False,
    cuts: Cuts = None,
    contexts: Contexts = None,
    register_ready: RegisterReady = False,
    reset: Reset = ResetOption.SYNC,
    clock_enable: ClockEnable = False,
    with_package: Package = False,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where results go.")] = Path(
        "build/cosim"
    ),
    dut: Annotated[
        Path | None, typer.Option(metavar="DUT.yaml", help="Your own RTL instead of ours; `hwsim dut-init` begins one.")
    ] = None,
    case: Annotated[
        Path | None, typer.Option(metavar="FILE", help="This case alone, as a failed run or proof leaves one.")
    ] = None,
    assertions: Annotated[
        bool, typer.Option("--assertions", help="With --dut: check assertions on Verilator, the ports' and your own.")
    ] = False,
    suite: Annotated[
        list[SuiteKind] | None, typer.Option("--suite", help="Only suites of this kind; may come several times.")
    ] = None,
    without: Annotated[
        list[SuiteKind] | None,
        typer.Option("--without", help="No suites of this kind; the run passes without them, and says so."),
    ] = None,
    stuck_after: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="SECONDS", help="End a simulator in which no clock cycle ends for so long; 120 unless given."
        ),
    ] = None,
    as_json: TellAsJson = False,
) -> None:
    """Show that the model and the RTL agree: bit for bit, and cycle for cycle.

    \b
    hwsim cosim                                            three presets, both simulators
    hwsim cosim mxfp4-e2m1-f32 --sim verilator             one unit, one simulator
    hwsim cosim my-unit.yaml --seed 7 --cases 100000       your own unit, many random cases
    hwsim cosim fp8-any                                    a unit of several modes, which change with every beat
    hwsim cosim hopper-wgmma-e4m3-f32 --sim icarus --waves
    hwsim cosim hopper-wgmma-e4m3-f32 --cuts maximum.2,sum.3 --contexts 8
    hwsim cosim mxfp8-e4m3-f32 --reset async-low --clock-enable --package
    hwsim cosim --dut my-dut.yaml                          your own Verilog
    hwsim cosim hopper-wgmma-e4m3-f32 --case case.yaml     one case, as `hwsim prove` leaves one
    hwsim cosim my-unit.yaml --suite directed --suite gaps two kinds of suites alone

    \b
    Suites: every code of every format, every product, directed and random dot products under gaps and
    back-pressure, resets in flight, a matrix product, and what GPUs returned (HWSIM_SILICON names the folder).
    Names: DIR/report.html says what the cases that it shows are and what coverage bins are; a case `distance/...` is
    directed at something, `G5/...` at a bin of coverage group G5, `random/00000007-near` is random, of kind `near`.
    A simulator in which no clock cycle ends for --stuck-after seconds is ended, and its suites have failed.
    A run without a suite that its design could be put through fails, unless --without, or `without` in DUT.yaml, names
    it; so does one in which one of two simulators refuses the design, unless --sim names the other.
    Exit status: 0 equal in all that was asked for; 1 a mismatch, or less compared than planned; 2 bad input; 3 a
    simulator is missing.
    """
    from hwsim.cosim.run import CosimOptions, run

    drawn = secrets.randbelow(2**32) if seed is None else seed
    if dut is not None:
        styled = reset is not ResetOption.SYNC or clock_enable or with_package
        if units or cuts is not None or contexts is not None or register_ready or styled:
            raise InputError(
                "--dut goes without units, --cuts, --contexts, --register-ready, --reset, --clock-enable and "
                "--package: its file says what it claims to be"
            )
    elif assertions:
        raise InputError("--assertions goes with --dut")
    elif case is not None and len(units or ()) != 1:
        raise InputError("--case goes with the one unit, or the --dut, that it is a case of")
    options_for = partial(
        CosimOptions,
        simulators=sim.names,
        seed=drawn,
        cases=cases,
        waves=waves,
        folder=output,
        case=case,
        stuck_after=stuck_after,
        suites=AskedSuites(frozenset(suite or ()), dict.fromkeys(without or (), "left out by --without")),
    )
    if dut is None:
        if case is not None:
            name = (units or DEFAULT_UNITS)[0]
            if not isinstance(load_any(name), SparseUnit):
                load_unit(name)  # a case is of one mode
        style = style_of(reset, clock_enable, with_package)
        every = ours(units or DEFAULT_UNITS, cuts, contexts, register_ready, style)
        options = options_for(designs=every[case is not None :])  # not the tables
        what, status = "specifications and cases", MISMATCH
        refused = "a simulator refused the design: this is a defect of hwsim, please report it with the lines above"
    else:
        options = options_for(designs=theirs(dut, assertions))
        what, status = "elaboration and cases", BAD_INPUT
        refused = f"{dut}: no simulator that was asked for takes the design; the lines above say why"
    report = played(what, partial(run, options), refused, status)
    show(options, report)
    if not report.passed:
        raise typer.Exit(MISMATCH)


def ours(
    names: Sequence[str], cuts: str | None, contexts: int | None, register_ready: bool, style: Style
) -> tuple[Design, ...]:
    """The designs of hwsim: the tables of all formats, and our RTL of each unit."""
    from hwsim.cosim.tables import tables_design
    from hwsim.cosim.unitdesign import design_of

    steps = split(cuts)
    units = {name: load_any(name) for name in names}
    built = {name: pipeline(units[name], steps, contexts, register_ready=register_ready) for name in names}
    designs = [design_of(units[name], built[name], name, style) for name in names]
    return tables_design(units), *designs


def theirs(path: Path, assertions: bool) -> tuple[Design, ...]:
    """The design that a user's file describes."""
    from hwsim.cosim.dutdesign import dut_design
    from hwsim.cosim.dutfile import load_dut

    return (dut_design(load_dut(path), assertions, str(path)),)


def show(options: CosimOptions, report: RunReport) -> None:
    """Print a run's record."""
    from hwsim.explain.reports import explained_lines, kinds_lines

    show_suites(report, "unit", "cases")
    if options.case is not None and report.mismatches:
        say("\n".join(explained_lines(report.mismatches[0])))
    if report.kinds:
        say()
        say("\n".join(kinds_lines(report.kinds)))
    say()
    for line in [*_left_out(report), *map(str, report.waivers), *report.notes, *_covered(options, report)]:
        say(line)
    figures = report.figures
    compared = f"{counted(figures.compared, 'comparison')} in {report.seconds:.0f} s"
    missing = f", {figures.not_compared:,} that were planned did not come" if figures.not_compared else ""
    say(f"{report.verdict}: {compared}{missing}, seed {report.seed}{_not_compared(report)}")
    output, logs = options.folder, "logs and waveforms" if options.waves else "logs"
    say(f"report: {output / 'report.html'}; the same as JSON: {output / 'results.json'}")
    say(f"JUnit XML: {output / 'results.xml'}; {logs}: {output}/")
    say(f"again: {report.command}")


def show_suites(report: RunReport, design: str, results: str) -> None:
    """Print a line for each suite, and the first failures. design, results: what they are called."""
    from hwsim.explain import failure_lines

    heads = [design, "suite", "simulator", results, "mismatches", "cycles", f"{results}/s", ""]
    print_table(heads, [_cells(row) for row in report.rows], right=[3, 4, 5, 6])
    for row in report.failed[:MOST_REPORTS]:
        say()
        say("MISMATCH " + "\n".join(failure_lines(row, report.of(row))), style="red")


def _left_out(report: RunReport) -> Iterator[str]:
    """A line for each suite that was left out, or for all of a unit that were not asked for."""
    not_asked = dict[str, dict[str, None]]()
    for suite in report.left_out:
        if suite.reason == NOT_ASKED:
            not_asked.setdefault(suite.unit, {})[suite.suite] = None
        else:
            yield str(suite)
    for unit, names in not_asked.items():
        yield f"{unit}: {NOT_ASKED}: {'; '.join(names)}"


def _not_compared(report: RunReport) -> str:
    """The suites that did not run, required ones first, for the last line of a run; empty where all ran."""
    whole = sorted(report.whole_left_out, key=lambda suite: not suite.required)
    names = list(dict.fromkeys(f"{suite.suite} on {suite.driver}" for suite in whole))
    rest = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"; not compared: {', '.join(names[:MOST_NAMED])}{rest}" if names else ""


def _covered(options: CosimOptions, report: RunReport) -> Iterator[str]:
    """Lines about our units' overflow, and about the coverage of every design."""
    from hwsim.cases.case import one_window
    from hwsim.cosim.unitdesign import UnitDesign

    covered = report.covered_units
    for design in (part for whole in options.designs for part in _parts(whole)):
        if isinstance(design, UnitDesign) and one_window(design.unit):
            yield f"{design.name}: {ranges(design.unit)}"
        if design.name in covered:
            bins = covered[design.name]
            rest = "; the others by name in report.html" if bins.missed or bins.open else ""
            yield f"{design.name}: coverage: {bins}{rest}"
        for kills in report.kills:
            if kills.unit == design.name:
                yield f"{design.name}: {kills.named()}"


def _parts(design: Design) -> Sequence[Design]:
    """The design alone; of a design of several modes, those whose coverage is counted."""
    from hwsim.cosim.unitdesign import ModalDesign

    if not isinstance(design, ModalDesign):
        return (design,)
    return design.modes if design.solved else ()


def _cells(row: Row) -> list[str]:
    return [
        row.unit,
        row.suite,
        row.driver,
        f"{row.compared:,}" + ("" if row.compared == row.planned else f" of {row.planned:,}"),
        f"{row.mismatches:,}",
        f"{row.cycles:,}",
        f"{row.rate:,.0f}",
        "ok" if row.passed else "FAILED",
    ]


def ranges(unit: Unit) -> str:
    """A line that says whether results of the unit can overflow or underflow."""
    from hwsim.cases.bins.facts import range_report

    report = range_report(unit)
    overflow, underflow = (
        "proved unreachable" if not possible else "reachable" if witness is not None else "not excluded"
        for possible, witness in (
            (report.overflow, report.overflow_witness),
            (report.underflow, report.underflow_witness),
        )
    )
    return f"overflow of a result: {overflow}; underflow: {underflow}"
