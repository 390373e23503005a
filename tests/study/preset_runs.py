"""Presets that ran: computed once for all workers."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from computed_once import computed_once

from hwsim.runners import Rows, local
from hwsim.study.parts import StudyInParts
from hwsim.study.plan import Study
from hwsim.study.presets import PRESETS, Context, Size
from hwsim.study.presets.preset import Records, records
from hwsim.study.report import StudyReport, TextTable
from hwsim.study.results import Results, run


@computed_once("study")
def preset_run(name: str, size: Size = "tiny") -> tuple[StudyReport, dict[str, Records]]:
    """The report of a preset, and the records of each of its studies."""
    found: dict[str, Records] = {}
    with TemporaryDirectory() as folder:

        def carry_out(study: Study) -> Results:
            results = run(study, Path(folder) / study.name, local(1) if size == "tiny" else None)
            found[study.name] = records(results)
            return results

        def in_parts(_: StudyInParts) -> Rows:
            raise AssertionError("grids alone are run")

        command = f"hwsim study --preset {name} -o DIR"
        made = Context(folder=Path(folder), size=size, command=command, run=carry_out, run_parts=in_parts)
        return PRESETS[name](made), found


def table(name: str, title: str) -> TextTable:
    """The table of a preset whose title begins so."""
    return next(one for one in preset_run(name)[0].tables if one.title.startswith(title))
