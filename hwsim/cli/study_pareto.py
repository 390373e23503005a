"""`hwsim study --pareto`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hwsim.cli.interrupt import interruptible
from hwsim.cli.output import note, print_table, say
from hwsim.cli.progress import Progress

if TYPE_CHECKING:
    from hwsim.study.pareto import Fmax
    from hwsim.study.plan import Study
    from hwsim.study.results import Results


def write_pareto(
    study: Study,
    folder: Path,
    run: Callable[[Study, Path], Results],
    command: str,
    stages: str | None,
    fmax: str | None,
    workers: int | None,
    drawn: bool,
) -> None:
    """Synthesise and run a study, print its tables, and write its page and figures."""
    from hwsim.study.pareto import Options, report
    from hwsim.study.report import write_charts, write_page

    options = Options(stages=stages or "4", fmax=cast("Fmax", fmax or "none"), workers=workers)
    started = time.monotonic()
    try:
        with interruptible(), Progress("synthesis") as bar:
            made = report(study, folder, run, options, command, bar.update)
    except KeyboardInterrupt:
        note(f"what is synthesised is kept; to go on: {command}")
        raise
    for table in made.tables:
        say(table.title, style="bold")
        print_table(table.header, table.rows, right=table.right)
        say(table.caption)
    written = ["pareto.md", "study/"]
    if drawn:
        written += [str(path.relative_to(folder)) for path in write_charts(made, folder)] + ["pareto.html"]
        write_page(made, folder / "pareto.html")
    say(f"{folder}: {', '.join(written)}, in {time.monotonic() - started:,.1f} s")
    say(f"again: {command}")
