"""`hwsim dut-init`: a first file for a user's own RTL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hwsim.cli import complete
from hwsim.cli.app import app
from hwsim.cli.output import note, say
from hwsim.errors import InputError


@app.command("dut-init")
def dut_init(
    source: Annotated[Path, typer.Argument(metavar="TOP.v", help="The file with the top module.")],
    more: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="Files that it needs.")] = None,
    top: Annotated[str | None, typer.Option(help="The top module, where the files have several.")] = None,
    unit: Annotated[
        str | None, typer.Option(help="The unit that it claims to be, to guess with.", autocompletion=complete.units)
    ] = None,
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
        raise InputError(f"{target} is there already; name another with --output")
    text, unknown = first_file([source, *(more or [])], top, unit, target.parent)
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{target} is there already; name another with --output") from None
    say(text.rstrip())
    note(f"wrote {target}; to be answered: {', '.join(unknown) if unknown else 'nothing, but read it'}")
