"""How a co-simulation is played and told, be the design ours or a user's."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import typer

from hwsim.cli.output import print_error, print_table, say
from hwsim.cli.progress import Progress

if TYPE_CHECKING:
    from hwsim.cosim.report import Row

T = TypeVar("T")
MISMATCH = 1
MOST_REPORTS = 3


def played(what: str, run: Callable[[Progress], T], refused: str, status: int) -> T:
    """What a run returns, with a bar; whatever signal ends it, it ends whole.

    refused, status: what is said, and the exit status, where a simulator does not take the design.
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
    """End a run whole, whatever signal ends it."""
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


def show(rows: Sequence[Row]) -> None:
    """The table of a run."""
    heads = ["unit", "suite", "simulator", "cases", "mismatches", "cycles", "cases/s", ""]
    print_table(heads, [_cells(row) for row in rows], right=[3, 4, 5, 6])


def _cells(row: Row) -> list[str]:
    outcome = row.outcome
    return [
        row.unit,
        row.suite,
        row.driver,
        f"{outcome.results:,}" + ("" if outcome.results == row.planned else f" of {row.planned:,}"),
        f"{outcome.count:,}",
        f"{outcome.cycles:,}",
        f"{row.rate:,.0f}",
        "ok" if row.passed else "FAILED",
    ]


def mismatches(rows: Sequence[Row]) -> None:
    """The first mismatches, whole."""
    for row in [row for row in rows if not row.passed][:MOST_REPORTS]:
        say()
        say("MISMATCH " + "\n".join(row.report), style="red")


def verdict(rows: Sequence[Row], started: float, seed: int) -> str:
    """What came of a run, in a line. started: on the monotonic clock."""
    failed = sum(not row.passed for row in rows)
    total = sum(row.outcome.results for row in rows)
    said = f"{failed} of {len(rows)} suites failed" if failed else "all equal"
    return f"{said}: {total:,} comparisons in {time.monotonic() - started:.0f} s, seed {seed}"
