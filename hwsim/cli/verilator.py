"""`hwsim verilator`."""

from __future__ import annotations

import os
import subprocess
from typing import Annotated

import typer

from hwsim.cli.app import app
from hwsim.cosim.tools import find_verilator

AS_THEY_ARE = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}
KILLED = 128  # what a shell adds to the signal that ended a program


@app.command(context_settings=AS_THEY_ARE)
def verilator(
    arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGUMENT...", help="Verilator's own.")] = None,
) -> None:
    """Run the Verilator that hwsim uses, with these arguments as they are; its exit status is Verilator's.

    \b
    hwsim verilator --version
    hwsim verilator --lint-only -Wall my_unit.v

    Also --help is Verilator's. It need not be on PATH.
    """
    tool = find_verilator()
    status = subprocess.run(
        [tool.program, *(arguments or [])], env={**os.environ, **tool.environment}, check=False
    ).returncode
    raise typer.Exit(status if status >= 0 else KILLED - status)
