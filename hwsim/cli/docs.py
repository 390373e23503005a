"""`hwsim docs`."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from hwsim.base.package import page, pages, title
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.output import TellAsJson, console, is_terminal, print_table, say


@app.command()
def docs(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[PAGE]", help="A page; all are listed unless given.", autocompletion=complete.pages),
    ] = None,
    path: Annotated[bool, typer.Option("--path", help="Print where the page's file is, and not the page.")] = False,
    as_json: TellAsJson = False,
) -> None:
    """Show a page of the documentation, which comes with hwsim; without PAGE, list all of them.

    \b
    hwsim docs
    hwsim docs dut
    hwsim docs studies/mx --path

    Where the output is a terminal, the page is laid out for it; else it is Markdown as written.
    """
    if name is None:
        shown = [[called, str(file) if path else title(file)] for called, file in pages().items()]
        print_table(["page", "file" if path else ""], shown)
        return
    file = page(name)
    if path:
        say(str(file))
    elif is_terminal(console()):
        from rich.markdown import Markdown

        os.environ.setdefault("LESS", "FRX")  # less shows colours, and a page that is no longer than the screen at once
        out = console()
        with out.pager(styles=True):
            out.print(Markdown(file.read_text(encoding="utf-8"), hyperlinks=False))
    else:
        sys.stdout.write(file.read_text(encoding="utf-8"))
