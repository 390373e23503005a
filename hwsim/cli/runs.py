"""Runs that start simulators, and end them whatever ends the run."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import TypeVar

import typer

from hwsim.cli.output import print_error, say
from hwsim.cli.progress import Progress

T = TypeVar("T")


def played(what: str, run: Callable[[Progress], T], refused: str, status: int) -> T:
    """The result of a run, shown with a bar; any signal that ends it ends its children too.

    refused, status: the message and the exit status where a simulator does not accept the design.
    """
    from hwsim.cosim.build import BuildFailed
    from hwsim.processes import Stopped

    end_whole()
    try:
        with Progress(what, lines=True) as progress:
            return run(progress)
    except Stopped:
        raise KeyboardInterrupt from None
    except BuildFailed as error:
        say(str(error))
        print_error(refused)
        raise typer.Exit(status) from None


def end_whole() -> None:
    """Let any signal that ends the run end its children too."""
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, terminated)


def terminated(*_: object) -> None:
    """End as Ctrl-C does, also where a shell in the background has SIGINT ignored.

    The children are stopped first: should a library swallow the exception, the run ends all the same.
    """
    from hwsim import processes

    processes.stop()
    raise KeyboardInterrupt
