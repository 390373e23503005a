"""Prints lines and plain columns, which are not cut off where the output is no terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, TypedDict

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hwsim.base.resources import Cost

MOST_WORDS, KEPT_END = 1_600, 400  # characters of a message, and of its end where it is cut
SIZES = "COLUMNS", "LINES"
UNLIMITED = 10_000  # columns of an output that is a file or a pipe

AsJson = Annotated[bool, typer.Option("--json", help="Print the same as JSON.")]


def console(stderr: bool = False) -> Console:
    """The console of the standard output, or of the standard error."""
    # Some shells and editors say 0 where they do not know, and nothing would be printed in 0 columns.
    variables = {name: value for name, value in os.environ.items() if value.strip("0") or name not in SIZES}
    plain = Console(stderr=stderr, highlight=False, markup=False, emoji=False, _environ=variables)
    if is_terminal(plain) or variables.get("COLUMNS"):
        return plain
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=UNLIMITED)


def is_terminal(of: Console) -> bool:
    """True if the output is a terminal. Notebooks and build servers set FORCE_COLOR, which asks for colours alone."""
    return of.file.isatty()


class Told(TypedDict):
    """The output of a command, kept. tables: rows by the names of their columns; without names, lists of cells."""

    tables: list[list[Any]]
    lines: list[str]


_told: list[Told] = []


@contextmanager
def _told_as_json() -> Iterator[None]:
    """Keep what is said inside, and print it as one object of JSON at the end, also of a command that fails."""
    told: Told = {"tables": [], "lines": []}
    _told.append(told)
    try:
        yield
    except typer.Exit:
        print_json(told)
        raise
    else:
        print_json(told)
    finally:
        _told.pop()


def _tell(context: typer.Context, wanted: bool) -> bool:
    if wanted:
        context.with_resource(_told_as_json())
    return wanted


# Of commands that print tables, and have no form of their own for programs.
TellAsJson = Annotated[
    bool, typer.Option("--json", callback=_tell, help="Print tables and lines as one object of JSON.")
]


def say(text: str | Text = "", style: str | None = None) -> None:
    """Print a line, whatever its length."""
    if _told:
        _told[-1]["lines"] += str(text).splitlines()
        return
    console().print(text, style=style, soft_wrap=True)


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> None:
    """Print columns without lines between them, and no blanks at the ends of lines.

    header: all empty for none. right: the columns that are aligned to the right.
    """
    if _told:
        every = [list(row) for row in rows]
        names = [name or f"column {number}" for number, name in enumerate(header)]
        _told[-1]["tables"].append(objects(names, every) if any(header) else every)
        return
    at_right = set(right)
    table = Table(box=None, pad_edge=False, show_header=any(header), header_style="bold")
    for index, name in enumerate(header):
        table.add_column(Text(name), justify="right" if index in at_right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    out = console()
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        sys.stdout.write(line.rstrip() + "\n")


def print_json(data: Any) -> None:
    """Print data as JSON, and nothing else; numbers that float64 may not hold are texts in it."""
    typer.echo(json.dumps(data, indent=1, allow_nan=False))


def objects(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """The rows of a table, each with the names of its columns."""
    return [dict(zip(header, row, strict=True)) for row in rows]


def print_error(message: str, more: Iterable[str] = ()) -> None:
    """Print `error: MESSAGE` in red on a line of the standard error, and more lines below it."""
    err = console(stderr=True)
    err.print(Text(f"error: {one_line(message)}", style="red"), soft_wrap=True)
    for line in more:
        err.print(Text(f"  {line}"), soft_wrap=True)


def one_line(message: str) -> str:
    """A message without line breaks, of bounded length; what would steer a terminal is written as Python escapes it."""
    words = "".join(map(_escaped, " ".join(message.split())))
    return words if len(words) <= MOST_WORDS else f"{words[: MOST_WORDS - KEPT_END]} ... {words[-KEPT_END:]}"


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def announce(cost: Cost) -> None:
    """Print what work takes, where it takes long. Raises InputError where there is not enough memory for it."""
    if words := cost.demand():
        note(words)


def note(message: str) -> None:
    """Print `note: MESSAGE` on the standard error, so that programs can read the standard output."""
    console(stderr=True).print(Text(f"note: {one_line(message)}", style="yellow"), soft_wrap=True)
