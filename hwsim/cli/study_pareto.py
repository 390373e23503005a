"""`hwsim study --pareto`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hwsim.cli.output import note, say
from hwsim.cli.progress import Progress, interruptible
from hwsim.cli.study_report import draw, show

if TYPE_CHECKING:
    from hwsim.study.area.sized import Fmax
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
    from hwsim.study.area.report import report
    from hwsim.study.area.sized import SynthesisOptions

    def run_alone(part: Study, place: Path) -> Results:
        bar.bar.stop()  # a terminal has one bar at a time
        try:
            return run(part, place)
        finally:
            bar.bar.start()

    options = SynthesisOptions(stages=stages or "4", fmax=cast("Fmax", fmax or "none"), workers=workers)
    started = time.monotonic()
    try:
        with interruptible(), Progress("synthesis") as bar:
            finished = report(study, folder, run_alone, options, command, bar.update)
    except KeyboardInterrupt:
        note(f"what is synthesised is kept; to go on: {command}")
        raise
    show(finished)
    if drawn:
        draw(finished, folder)
    say(f"{folder}: pareto.md, study/, in {time.monotonic() - started:,.1f} s")
    say(f"again: {command}")
