"""`hwsim export-c` and `hwsim export-sv`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import hwsim
from hwsim.base.errors import InputError
from hwsim.base.files import written_texts
from hwsim.cli.app import app
from hwsim.cli.arguments import UnitName
from hwsim.cli.output import say
from hwsim.spec import SparseUnit, load_any, load_unit


@app.command("export-c")
def export_c(
    unit: UnitName,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="A folder; made where it is missing.")],
) -> None:
    """Write a unit in C, bit for bit what hwsim returns; the same bytes from the same specification.

    \b
    hwsim export-c hopper-wgmma-e4m3-f32 -o golden/
    hwsim export-c my-unit.yaml -o golden/
    gcc -std=c99 -O3 -o golden/example golden/example.c && golden/example

    One header (C99 and C++, stdint.h alone), a DPI-C wrapper with its SystemVerilog package, an example in each
    language and a README with the commands. Files of an earlier export are replaced where
    they are unchanged, no others.
    """
    # Its templates take a while to load, which the other commands need not wait for.
    from hwsim.compute.c import export_c

    loaded = load_any(unit)
    named = loaded if isinstance(loaded, SparseUnit) else load_unit(unit)  # which says more of a unit of several modes
    _write(output, export_c(named, hwsim.__version__))


@app.command("export-sv")
def export_sv(
    unit: UnitName,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="A folder; made where it is missing.")],
) -> None:
    """Write a unit for testbenches in SystemVerilog: what export-c writes, bins, covergroups, constraints.

    \b
    hwsim export-sv my-unit.yaml -o golden/

    Beside the files of export-c there are the bins of coverage that C counts, and a package that imports them, with a
    covergroup, a class that counts them too, and classes whose constraints reach them (`hwsim docs testbenches-sv`). Of
    units with factors of up to 8 bits; only those with one window and a float result have more than classes' bins.
    """
    from hwsim.cocotb.systemverilog import export_sv

    _write(output, export_sv(load_unit(unit), hwsim.__version__))


def _write(output: Path, files: dict[str, str]) -> None:
    if output == Path("-"):
        raise InputError("--output must be a folder, not -, the output: there are several files")
    if output.exists() and not output.is_dir():
        raise InputError(f"--output must be a folder, not the file {output}")
    written_texts(output, files)
    say(f"{output}: {', '.join(files)}")
