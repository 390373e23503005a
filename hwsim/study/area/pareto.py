"""Accuracy against area: the error of a study's units from the engine, their gates and clock from synthesis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hwsim.base.files import written
from hwsim.study.area.areas import SynthesisOptions, areas, require_tools
from hwsim.study.area.report import pareto_report
from hwsim.study.area.sized_points import error_kind, sized_points
from hwsim.study.parts import Progress, nothing
from hwsim.study.plan import Study
from hwsim.study.plan.grid import points
from hwsim.study.report import StudyReport, markdown
from hwsim.study.results import Results

Run = Callable[[Study, Path], Results]


def report(
    study: Study,
    folder: Path,
    run: Run,
    options: SynthesisOptions | None = None,
    command: str = "",
    progress: Progress = nothing,
) -> StudyReport:
    """Accuracy against area of a study's units: one table and charts, and pareto.md with the tables in `folder`.

    run: a study into a folder (`hwsim.study.results.run`), here folder/study.
    The figures and the page are the caller's to write. Raises ValueError for a study that is wrong, and ToolMissing.
    """
    chosen = options or SynthesisOptions()
    planned = points(study)
    units = [point.unit for point in planned]
    require_tools(chosen.fmax != "none")
    results = run(study, folder / "study")  # first, because it refuses a folder that holds something else
    sized = areas(units, chosen, chosen.fmax == "all", progress)
    measure = error_kind(planned)
    placed = sized_points(planned, results.points, sized, measure)
    if chosen.fmax == "front":
        best = {place.point.unit for place in placed if place.on_front}
        clocked = areas([unit for unit in units if unit in best], chosen, True, progress)
        placed = [replace(place, area=clocked.get(place.point.unit, place.area)) for place in placed]
    found = pareto_report(study, placed, measure, chosen.stages, command)
    with written(folder / "pareto.md") as file:
        file.write("\n".join(f"## {table.title}\n\n{markdown(table)}" for table in found.tables).encode())
    return found
