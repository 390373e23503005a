"""The bar that shows how far a command is: on the standard error, where that is a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
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

if TYPE_CHECKING:
    from types import TracebackType


class _Rate(ProgressColumn):
    """Products a second."""

    def render(self, task: Task) -> Text:
        """The column's text."""
        return Text("" if task.speed is None else f"{task.speed / 1e6:,.1f} million products/s")


class Progress:
    """A bar with a description, what is done of how much, and the time; a context.

    products: the total is a number of products, so many that a share and a rate say more. lines: where there is no
    terminal, `step` writes a line.
    """

    def __init__(self, what: str = "", total: int | None = None, *, products: bool = False, lines: bool = False):
        self.console, self.lines = Console(stderr=True), lines
        self.total, self.steps = total, 0
        counted: list[Any] = [MofNCompleteColumn(), TimeElapsedColumn()]
        if products:
            counted = [TaskProgressColumn(), _Rate(), TimeRemainingColumn()]
        columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), *counted]
        self.bar = Bar(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)
        self.task = self.bar.add_task(what, total=total)

    def __enter__(self) -> Progress:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def plan(self, total: int, what: str | None = None) -> None:
        """There is so much to do; the clock starts here."""
        self.total = total
        self.bar.reset(self.task, total=total)
        if what is not None:
            self.bar.update(self.task, description=what)

    def advance(self, count: int = 1) -> None:
        """So much more is done. From any thread."""
        self.bar.advance(self.task, count)

    def update(self, done: int, planned: int, what: str) -> None:
        """So much of it is done; planned: 0 where that is not known yet."""
        self.bar.update(self.task, completed=done, total=planned or None, description=what)

    def step(self, what: str) -> None:
        """A step is done, which is said."""
        self.steps += 1
        self.bar.update(self.task, advance=1, description=what)
        if self.lines and self.bar.disable:
            self.console.print(f"[{self.steps}/{self.total}] {what}", highlight=False, markup=False)

    def tick(self) -> None:
        """Still at work; the bar moves by itself."""
