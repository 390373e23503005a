"""Studies that tests begin from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hwsim.runners import Rows
from hwsim.study.plan import Study, load_study
from hwsim.study.results import Results
from hwsim.study.task import Task, execute

HOPPER = "hopper-wgmma-e4m3-f32"


def study(folder: Path | None = None, **keys: Any) -> Study:
    """A small study with some keys changed."""
    return load_study({**SMALL, **keys}, folder)


SMALL: dict[str, Any] = {
    "study": "small",
    "seed": 7,
    "trials": 3,
    "rows": 4,
    "columns": 5,
    "lengths": [64, 96],
    "units": [{"unit": HOPPER, "label": "Hopper", "grid": {"fraction_bits": [9, 13]}}, "mxfp8-e4m3-f32"],
    "data": ["normal"],
}
# Magnitudes over many binades, so that no two blocks have the same scale.
SHORT: dict[str, Any] = {"lengths": [64], "trials": 2, "rows": 2, "columns": 3, "data": ["log-normal:sigma=3"]}

Done = Callable[[Task, Rows], None]


def alone(all_tasks: Sequence[Task], done: Done) -> None:
    for task in all_tasks:
        done(task, execute(task))


def content(results: Results) -> bytes:
    assert results.folder is not None
    return (results.folder / "results.parquet").read_bytes() + (results.folder / "summary.parquet").read_bytes()
