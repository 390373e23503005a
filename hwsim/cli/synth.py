"""`hwsim synth`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hwsim.base.errors import InputError
from hwsim.base.files import refuse_strangers, written
from hwsim.cli.app import app
from hwsim.cli.arguments import Contexts, Cuts, split
from hwsim.cli.arguments import units as unit_names
from hwsim.cli.output import print_table, say
from hwsim.cli.progress import Progress, interruptible
from hwsim.cli.rtl import need_amaranth
from hwsim.spec import AnyUnit, Pipeline, dense_of, load_any, pipeline
from hwsim.spec.engine import Engine, is_engine_file, load_engine

if TYPE_CHECKING:
    from hwsim.rtl.synthesis import Ecp5, FlatModule, Generic, Mapped

SECONDS = 1800.0


class Flow(StrEnum):
    """The targets that a design is synthesised for: gates, an ECP5, or standard cells."""

    GATES = "gates"
    ECP5 = "ecp5"
    CELLS = "cells"


# Heads of the table: the flow, its figure, and how it is written.
COLUMNS = (
    ("gates", Flow.GATES, "gates", ","),
    ("flip-flops", Flow.GATES, "flipflops", ","),
    ("depth", Flow.GATES, "depth", ","),
    ("ECP5 COMB", Flow.ECP5, "comb", ","),
    ("ECP5 MHz", Flow.ECP5, "megahertz", ".1f"),
    ("area um2", Flow.CELLS, "area", ",.0f"),
    ("delay ns", Flow.CELLS, "delay", ".2f"),
    ("power mW", Flow.CELLS, "power", ".1f"),
)


# What is not added up: of an engine it is its slowest part's.
WORST: dict[str, Callable[[Iterable[Any]], Any]] = {"depth": max, "megahertz": min, "delay": max}


@app.command()
def synth(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="UNIT...",
            help="Units, or the paths of their YAML files, or of engines'.",
            autocompletion=lambda: unit_names(""),
        ),
    ],
    cuts: Cuts = None,
    contexts: Contexts = None,
    datapath: Annotated[
        bool,
        typer.Option(
            "--datapath", help="A group's sum alone: no handshake, contexts, promotion, late addend or selector."
        ),
    ] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="Engines as one design each, not part by part: of a small one on an ECP5.")
    ] = False,
    flow: Annotated[
        list[Flow] | None, typer.Option(help="What to make: gates, ecp5, cells, one or several; all unless given.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON, too.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1.0, help="For each tool, and each unit.")] = SECONDS,
) -> None:
    """Synthesise a unit's RTL: gates, flip-flops and depth; clock rate of an ECP5; area, delay and power in cells.

    \b
    hwsim synth hopper-wgmma-e4m3-f32 --flow gates
    hwsim synth hopper-wgmma-e4m3-f32 --datapath --cuts maximum,sum.0,sum --flow gates --flow cells
    hwsim synth my-unit.yaml mxfp8-e4m3-f32 --contexts 8 --json figures.json
    hwsim synth mx-core.yaml --flow gates --flow ecp5

    \b
    gates  AND, OR, XOR, MUX and NOT that Yosys leaves; depth: those between registers
    ecp5   LUTs, and the clock rate by nextpnr: paths from inputs to the first register are not timed
    cells  OSU's of 0.18 micrometres, by Yosys and OpenSTA (Debian: opensta, qflow-tech-osu018)

    Figures are kept by what they are made from, so that the same design is synthesised once. A matrix engine is
    synthesised part by part (hwsim docs engine), and its table says what shared decoders save; or with --whole as it
    is written. Exit status 3: a tool is missing.
    """
    flows = list(dict.fromkeys(flow or Flow))
    if engines := [name for name in names if is_engine_file(name)]:
        if engines != names or datapath or cuts is not None or contexts is not None:
            raise InputError("engines' files go without units, --cuts, --contexts and --datapath")
        _of_engines([load_engine(name) for name in names], flows, report, seconds, whole)
        return
    if whole:
        raise InputError("--whole goes with engines' files")
    chosen = split(cuts)
    built = [(unit, pipeline(unit, chosen, contexts)) for unit in map(load_any, names)]
    if datapath and contexts is not None:
        raise InputError("--contexts goes without --datapath, which has none")
    _demand(flows, [unit for unit, _ in built])
    from hwsim.rtl.synthesis import CONDITIONS, FlowFailed

    if report is not None:
        refuse_strangers(report)
    rows: list[dict[str, Any]] = []
    with interruptible(), Progress("synthesis") as bar:
        for index, (unit, pipe) in enumerate(built):
            bar.update(index, len(built), unit.name)
            try:
                rows.append(_row(unit, pipe, datapath, flows, seconds))
            except FlowFailed as error:
                raise InputError(f"{unit.name} could not be synthesised: {error}") from None
    _show(rows, flows)
    if Flow.CELLS in flows:
        say(CONDITIONS)
    if report is not None:
        with written(report) as file:
            file.write(json.dumps({"conditions": CONDITIONS, "units": rows}, indent=1).encode())


def _of_engines(
    engines: Sequence[Engine], flows: Sequence[Flow], report: Path | None, seconds: float, one: bool
) -> None:
    """Print a table for each engine: what each part takes, all of them together, and without shared decoders.

    one: each as one design, which is its only part.
    """
    _demand(flows, [engine.unit for engine in engines])
    from hwsim.rtl.engine.area import engine_parts, unshared, whole_engine
    from hwsim.rtl.synthesis import CONDITIONS, FlowFailed

    if report is not None:
        refuse_strangers(report)
    columns, every = [column for column in COLUMNS if column[1] in flows], []
    for engine in engines:
        parts = [whole_engine(engine)] if one else engine_parts(engine)
        found = dict[str, dict[str, Any]]()
        with interruptible(), Progress(f"synthesis of {engine.name}") as bar:
            for index, part in enumerate(parts):
                bar.update(index, len(parts), part.name)
                try:
                    figures = {flow.value: asdict(_measured(flow, part.module, seconds)) for flow in flows}
                except FlowFailed as error:
                    raise InputError(f"{engine.name}'s {part.name} could not be synthesised: {error}") from None
                found[part.name] = {"count": part.times, **figures}
        totals: list[str] = []
        shared: list[str] = []
        for _, flow, figure, form in columns if not one else ():
            sizes = {name: row[flow.value][figure] for name, row in found.items()}
            if figure in WORST:
                totals.append(_told(WORST[figure](size for size in sizes.values() if size is not None), form))
                shared.append("")
                continue
            whole = sum(row["count"] * sizes[name] for name, row in found.items())
            totals.append(format(whole, form))
            shared.append(f"{whole / unshared(engine, sizes) - 1:+.1%}")
        table = []
        for name, row in found.items():
            figures_of = (_told(row[flow.value][figure], form) for _, flow, figure, form in columns)
            table.append([name, f"{row['count']:,}", *figures_of])
        table += [] if one else [["together", "", *totals], ["shared decoders", "", *shared]]
        say(f"{engine.name}: {engine.rows} x {engine.columns} elements of {engine.unit.name}")
        print_table(["part", "how many", *(head for head, *_ in columns)], table, right=range(1, len(columns) + 2))
        every.append({"engine": engine.name, "sha256": engine.digest, "parts": found})
    if Flow.CELLS in flows:
        say(CONDITIONS)
    if report is not None:
        with written(report) as file:
            file.write(json.dumps({"conditions": CONDITIONS, "engines": every}, indent=1).encode())


def _told(figure: float | None, form: str) -> str:
    return "-" if figure is None else format(figure, form)


def _demand(flows: Sequence[Flow], units: Sequence[AnyUnit]) -> None:
    """Raise ToolMissing where a tool is, and NotImplementedYet for a unit that the RTL does not have."""
    need_amaranth()
    from hwsim.rtl import supports
    from hwsim.rtl.synthesis import NEXTPNR, YOSYS, require, require_cells

    for unit in units:
        supports(unit).demand()
    require(YOSYS, *([NEXTPNR] if Flow.ECP5 in flows else []))
    if Flow.CELLS in flows:
        require_cells()


def _row(unit: AnyUnit, pipe: Pipeline, datapath: bool, flows: Sequence[Flow], seconds: float) -> dict[str, Any]:
    design, cuts = _design(unit, pipe, datapath)
    figures = {flow.value: asdict(_measured(flow, design, seconds)) for flow in flows}
    return {"unit": unit.name, "datapath": datapath, "cuts": list(cuts), "contexts": pipe.contexts, **figures}


def _measured(flow: Flow, design: FlatModule, seconds: float) -> Generic | Ecp5 | Mapped:
    from hwsim.rtl.synthesis import ecp5, generic, mapped

    match flow:
        case Flow.GATES:
            return generic(design.text, design.top, seconds)
        case Flow.ECP5:
            return ecp5(design.text, design.top, seconds)
        case Flow.CELLS:
            return mapped(design.text, design.top, seconds)


def _design(unit: AnyUnit, pipe: Pipeline, datapath: bool) -> tuple[FlatModule, Sequence[str]]:
    """The module to synthesise, and the cuts in it."""
    from hwsim.rtl import top_name, verilog
    from hwsim.rtl.synthesis import TOP, FlatModule, datapath_verilog

    if not datapath:
        return FlatModule(top_name(unit), verilog(unit, pipe)), pipe.cuts
    cuts = tuple(cut for cut in pipe.cuts if not cut.startswith(("promote", "late")))
    return FlatModule(TOP, datapath_verilog(dense_of(unit), cuts)), cuts


def _show(rows: Sequence[dict[str, Any]], flows: Sequence[Flow]) -> None:
    """Print a line for each unit."""
    columns = [column for column in COLUMNS if column[1] in flows]
    header = ["unit", "cuts", "contexts", *(head for head, *_ in columns)]
    table = [
        [row["unit"], str(len(row["cuts"])), "-" if row["datapath"] else str(row["contexts"])]
        + [_told(row[flow.value][figure], form) for _, flow, figure, form in columns]
        for row in rows
    ]
    print_table(header, table, right=range(1, len(header)))
