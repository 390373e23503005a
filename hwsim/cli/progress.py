"""A progress bar on the standard error, where that is a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

from hwsim.cli.output import console, is_terminal
from hwsim.cli.stillat import StillAt

if TYPE_CHECKING:
    from types import TracebackType


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

    def tick(self) -> None:
        """Do nothing: the bar moves by itself."""
