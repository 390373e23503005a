"""Long work: a bar or lines on the standard error that say how far it is, and signals that end it."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.text import Text

from hwsim.cli.output import console, is_terminal, note, print_error, say

if TYPE_CHECKING:
    from types import TracebackType


SOON, LATER = 10.0, 60.0  # seconds of silence before the first line about one piece of work, and between the next ones


class StillAt:
    """A context manager, inside of which `at` names what is done next, and `now` how far it is.

    soon, later: seconds before the first line about it, and between further ones.
    """

    def __init__(self, soon: float = SOON, later: float = LATER):
        self.soon, self.later = soon, later
        self.what, self.since = "", time.monotonic()
        self.changed, self.ended = threading.Event(), False
        self.thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> StillAt:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended = True
        self.changed.set()
        self.thread.join()

    def at(self, what: str) -> None:
        """Name what is done from now on."""
        self.what, self.since = what, time.monotonic()
        self.changed.set()

    def now(self, what: str) -> None:
        """Name how far the same piece of work is: neither its time nor the silence begins anew."""
        self.what = what

    def _beat(self) -> None:
        wait = self.soon
        while not self.ended:
            if self.changed.wait(wait):
                self.changed.clear()
                wait = self.soon
            elif self.what:
                note(f"{self.what}: {time.monotonic() - self.since:.0f} s so far")
                wait = self.later


class _Rate(ProgressColumn):
    """Products a second."""

    def render(self, task: Task) -> Text:
        """The column's text."""
        return Text("" if task.speed is None else f"{task.speed / 1e6:,.1f} million products/s")


class Progress:
    """A bar with a description, the work done and in total, and the time; a context manager.

    products: the total is a number of products, so large that the bar shows a share and a rate instead. Where there is
    no terminal, a line says after ten seconds of silence, and then every minute, what the work is at. lines: there,
    `step` writes a line, too.
    """

    def __init__(self, what: str = "", total: int | None = None, *, products: bool = False, lines: bool = False):
        self.console, self.lines, self.products = console(stderr=True), lines, products
        self.total, self.steps = total, 0
        counted: list[Any] = [MofNCompleteColumn(), TimeElapsedColumn()]
        if products:
            counted = [TaskProgressColumn(), _Rate(), TimeRemainingColumn()]
        columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), *counted]
        self.bar = Bar(*columns, console=self.console, transient=True, disable=not is_terminal(self.console))
        self.task = self.bar.add_task(what, total=total)
        self.still = StillAt()
        self.still.now(what)

    def __enter__(self) -> Progress:
        self.bar.start()
        if self.bar.disable:
            self.still.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()
        if self.bar.disable:
            self.still.__exit__(kind, error, trace)

    def plan(self, total: int, what: str | None = None) -> None:
        """Set the total, and start the clock."""
        self.total = total
        self.bar.reset(self.task, total=total)
        if what is not None:
            self.bar.update(self.task, description=what)
            self.still.now(what)

    def advance(self, count: int = 1) -> None:
        """Add to the work done; from any thread."""
        self.bar.advance(self.task, count)

    def update(self, done: int, planned: int, what: str) -> None:
        """Set the work done, and in total. planned: 0 where it is not known yet."""
        self.bar.update(self.task, completed=done, total=planned or None, description=what)
        # Products are so many that a share says more.
        count = "" if not planned else f", {done / planned:.0%}" if self.products else f", {done:,} of {planned:,}"
        self.still.now(f"{what}{count}")

    def step(self, what: str) -> None:
        """Add a step to the work done, and show its name."""
        self.steps += 1
        self.bar.update(self.task, advance=1, description=what)
        self.still.at(what)
        if self.lines and self.bar.disable:
            self.console.print(f"[{self.steps}/{self.total}] {what}", highlight=False, markup=False)

    def say(self, what: str) -> None:
        """Show what is being done in a step."""
        self.bar.update(self.task, description=what)
        self.still.now(what)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the run as Ctrl-C does, so that the run leaves only what can be resumed."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for ending in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(ending) is not signal.SIG_IGN:
                before[ending] = signal.signal(ending, signal.default_int_handler)
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)


T = TypeVar("T")


def played(what: str, run: Callable[[Progress], T], refused: str, status: int) -> T:
    """The result of a run, shown with a bar; any signal that ends it ends its children too.

    refused, status: the message and the exit status where a simulator does not accept the design.
    """
    from hwsim.base.processes import Stopped
    from hwsim.cosim.build import BuildFailed

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
    from hwsim.base import processes

    processes.stop()
    raise KeyboardInterrupt
