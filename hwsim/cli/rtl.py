"""`hwsim rtl`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated

import typer

from hwsim import __version__
from hwsim.base.errors import InputError, ToolMissing
from hwsim.base.files import written, written_texts
from hwsim.cli.app import app
from hwsim.cli.arguments import (
    ClockEnable,
    Contexts,
    Cuts,
    Package,
    RegisterReady,
    Reset,
    ResetOption,
    UnitName,
    split,
    style_of,
)
from hwsim.cli.output import announce, note
from hwsim.spec import load_any, pipeline

MAX_PERIOD = 1_000_000  # ns


@app.command()
def rtl(
    unit: UnitName,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="A file, a folder (TOP.sv in it), or - for here."),
    ],
    cuts: Cuts = None,
    contexts: Contexts = None,
    register_ready: RegisterReady = False,
    modules: Annotated[
        bool, typer.Option("--modules", help="As without: there is one form of Verilog.", hidden=True)
    ] = False,
    reset: Reset = ResetOption.SYNC,
    clock_enable: ClockEnable = False,
    with_package: Package = False,
    project: Annotated[
        bool, typer.Option("--project", help="TOP.core for FuseSoC, TOP.sdc and TOP_checks.sv in the folder, too.")
    ] = False,
    period: Annotated[
        float | None, typer.Option(metavar="NS", help="With --project: the clock's period in TOP.sdc; 2 unless given.")
    ] = None,
    assertions: Annotated[
        bool, typer.Option("--assertions", help="Write TOP_checks.sv beside it: assertions for its ports, to bind.")
    ] = False,
) -> None:
    """Write a unit as SystemVerilog: a module a step, lanes as instances; the same bytes from the same specification.

    \b
    hwsim rtl hopper-wgmma-e4m3-f32 -o build/              build/hopper_wgmma_e4m3_f32.sv
    hwsim rtl my-unit.yaml -o my_unit.sv --cuts multiply,align,sum --contexts 8
    hwsim rtl hopper-wgmma-e4m3-f32 -o - | less
    hwsim rtl mxfp8-e4m3-f32 --reset async-low --clock-enable --package -o build/
    hwsim rtl mxfp8-e4m3-f32 --register-ready --project --period 1.25 -o mxfp8/
    hwsim rtl fp8-any -o build/                            one datapath for all modes; fp8-any:e4m3 is one of them

    With clk_en low nothing happens at the clock's edge but a reset, and nothing is transferred, whatever valid and
    ready say. `hwsim cosim` plays the file that is written, with the same options.
    """
    if output == "-" and (project or assertions):
        needs = "--project needs a folder" if project else "--assertions needs a file or a folder"
        raise InputError(f"{needs} for --output, not -")
    if period is not None and not (project and 0 < period < MAX_PERIOD):
        raise InputError(f"--period must be above 0 and below {MAX_PERIOD:,} ns, with --project, not {period:g}")
    if assertions and clock_enable:
        raise InputError("--assertions goes without --clock-enable: they look at every cycle")
    specified = load_any(unit)
    chosen = split(cuts)
    need_amaranth()
    # Amaranth takes a while to import, which the other commands need not wait for.
    from hwsim.rtl import cost, supports, top_name, verilog

    supports(specified).demand()
    announce(cost(specified))
    built = pipeline(specified, chosen, contexts, register_ready=register_ready)
    top = top_name(specified)
    target = None if output == "-" else target_file(output, f"{top}.sv", project)
    if target is not None and target.exists() and Path(unit).exists() and target.samefile(unit):
        raise InputError(f"--output {output} is where the unit is read from: name another file")
    style = style_of(reset, clock_enable, with_package)
    try:
        text = verilog(specified, built, style, package_apart=project)
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
    also = f"; beside it {', '.join(beside)}" if beside else ""
    note(f"wrote {target}: latency {built.latency}, contexts {built.contexts}{also}")


def need_amaranth() -> None:
    """Raise ToolMissing unless Verilog can be written here."""
    if importlib.util.find_spec("amaranth") is None:
        raise ToolMissing(f"amaranth is missing: {sys.executable} -m pip install amaranth")


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
