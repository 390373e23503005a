"""Runs a study, or resumes it, and reads its results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hwsim
from hwsim.base.arrays import arrow, read_table
from hwsim.base.errors import InputError
from hwsim.base.package import identity as code_identity
from hwsim.base.text import columns, counted, facts, titled
from hwsim.formats.yamlfile import parse
from hwsim.runners import Runner, local
from hwsim.spec import as_yaml
from hwsim.study.data import check, digest
from hwsim.study.findings import findings
from hwsim.study.intervals import interval
from hwsim.study.parts import Progress, all_rows, nothing
from hwsim.study.plan.grid import Point, points
from hwsim.study.plan.study import Study, load_study, spell
from hwsim.study.store import BY, METADATA, RESULTS, Store
from hwsim.study.task import tasks

MOST_ROWS = 1_000_000
# Columns that say what a row is of; the others are measures.
SAID = ("point", "label", "unit", "scaling", "data", "length")
FIXED = (*SAID, "trial", "seed", "rows", "columns", "specification", "source")


@dataclass
class Results:
    """The results of a study.

    rows: a pyarrow table, a row for each point and trial, sorted. points: the summary, a mapping for each point: what
    it is of (SAID, `axis.FIELD` and `trials`), and of each measure `m` its mean over trials, `m_low` and `m_high`.
    measures: the names of the measures. resumed: the trials that an earlier run had left; all where it was finished.
    """

    study: Study
    rows: Any
    points: list[dict[str, Any]]
    measures: tuple[str, ...]
    folder: Path | None = None
    resumed: int = 0

    def _repr_html_(self) -> str:
        found, study = findings(self.points), self.study
        title = study.title or study.name
        told = f"{counted(len(self.points), 'point')}, {counted(study.trials, 'trial')} of each"
        verdict = facts([("found", found.verdict), *((one.what, f"{one.value} {one.of}".strip()) for one in found.key)])
        return titled(
            title,
            f"{told}; {found.table.title}: {found.table.caption}",
            verdict,
            columns(found.table.header, found.table.rows),
        )

    @property
    def finished_before(self) -> bool:
        """Whether an earlier run had left nothing to do."""
        return bool(self.resumed == self.rows.num_rows)


def run(
    study: Study, folder: Path, runner: Runner | None = None, progress: Progress = nothing, overwrite: bool = False
) -> Results:
    """The results of a study, which are written to a folder: results.parquet, summary.parquet, study.yaml.

    runner: of the tasks; this machine's cores unless given. An earlier run that was interrupted is taken up where it
    stopped, and one that ended is read. The bytes of the results depend on the study and the code of hwsim alone.
    overwrite: take the place of another study's results.
    Raises ValueError for a study that is wrong, before anything runs, and for a folder that holds something else.
    """
    made = points(study)
    if (many := len(made) * study.trials) > MOST_ROWS:
        raise InputError(f"study {study.name}: has {many:,} trials, the limit is {MOST_ROWS:,}")
    for data in study.data:
        check(data, study.lengths, study.rows, study.columns)
    store = Store(folder, identity(study))
    with store.claimed(overwrite):
        if store.finished and (earlier := _earlier(store, overwrite)) is not None:
            earlier.resumed = earlier.rows.num_rows
            store.complete(_summary_table(study, earlier), study.as_yaml())
            return earlier
        parts, resumed = all_rows(study.name, tasks(study, made), store, runner or local(), progress)
        table = _described(study, made, parts)
        found = Results(study, table, _summary(study, made, table), _measures(table), folder, resumed)
        store.finish(table, _summary_table(study, found), study.as_yaml())
    return found


def _earlier(store: Store, overwrite: bool) -> Results | None:
    """The results of an earlier run; None for damaged ones that are to be overwritten."""
    try:
        return read_results(store.folder)
    except InputError as error:
        if not overwrite:
            raise InputError(f"{error}; name another folder, or give --overwrite") from None
    store.clear()
    return None


def identity(study: Study) -> str:
    """Digests of what a study's results depend on: what it says, its units and its data; and the code of hwsim."""
    said = {key: value for key, value in study.written.items() if key != "data"}
    units = [as_yaml(entry.unit) for entry in study.units]
    text = json.dumps([said, units, [digest(data) for data in study.data]], default=str)
    return f"{hashlib.sha256(text.encode()).hexdigest()}{BY}{code_identity(__name__)}"


def read_results(folder: Path) -> Results:
    """The results in a folder that a study was run into. Raises OSError, and ValueError for one that has none."""
    path = folder / RESULTS
    table = read_table(path)
    metadata = table.schema.metadata or {}
    if METADATA not in metadata or b"study" not in metadata:
        raise InputError(f"{path}: holds no study's results")
    study = load_study(parse(metadata[b"study"], path).data, folder)
    return Results(study, table, _summary(study, points(study), table), _measures(table), folder)


def _described(study: Study, made: Sequence[Point], parts: Any) -> Any:
    """The table of all rows: the point and trial of each, and its measures."""
    pa = arrow()
    parts = parts.sort_by([("point", "ascending"), ("trial", "ascending")])
    wanted = [(point.index, trial) for point in made for trial in range(study.trials)]
    if list(zip(parts["point"].to_pylist(), parts["trial"].to_pylist(), strict=True)) != wanted:
        raise RuntimeError(f"study {study.name}: must have a row for each of {len(wanted):,} points and trials")
    at = parts["point"].combine_chunks()

    def of_points(values: list[str | None]) -> Any:
        return pa.array(values, pa.string()).dictionary_encode().take(at)

    columns: dict[str, Any] = {
        "point": at,
        **{name: of_points([_said(point)[name] for point in made]) for name in ("label", "unit", "scaling", "data")},
        "length": pa.array([point.length for point in made], pa.int32()).take(at),
        "trial": parts["trial"].combine_chunks(),
        **{f"axis.{name}": of_points([point.axes.get(name) for point in made]) for name in axes(made)},
    }
    for name in [one for one in parts.column_names if one not in ("point", "trial")]:
        columns[name] = parts[name].combine_chunks()
    count = parts.num_rows
    columns["seed"] = pa.array([study.seed] * count, pa.uint64())
    columns["rows"] = pa.array([study.rows] * count, pa.int32())
    columns["columns"] = pa.array([study.columns] * count, pa.int32())
    columns["specification"] = of_points([as_yaml(point.unit) for point in made])
    columns["source"] = of_points([json.dumps(spell(point.data)) for point in made])
    return pa.table(columns).replace_schema_metadata(_metadata(study))


def _metadata(study: Study) -> dict[bytes, bytes]:
    return {
        METADATA: identity(study).encode(),
        b"study": study.as_yaml().encode(),
        b"hwsim": hwsim.__version__.encode(),
    }


def axes(made: Sequence[Point]) -> list[str]:
    """The fields that any unit's grid varies, in the study's order."""
    return list(dict.fromkeys(name for point in made for name in point.axes if name not in ("unit", "scaling")))


def _said(point: Point) -> dict[str, Any]:
    return {
        "point": point.index, "label": point.label, "unit": point.unit.name, "scaling": point.scaling.name,
        "data": point.data.name, "length": point.length,
    }  # fmt: skip


def _measures(table: Any) -> tuple[str, ...]:
    return tuple(name for name in table.column_names if name not in FIXED and not name.startswith("axis."))


def _summary(study: Study, made: Sequence[Point], table: Any) -> list[dict[str, Any]]:
    """The mean and interval of every measure of each point. Rows are sorted by point and trial."""
    names, varied = _measures(table), axes(made)
    values = {name: table[name].to_numpy() for name in names}
    found = []
    for place, point in enumerate(made):
        row = _said(point) | {f"axis.{name}": point.axes.get(name) for name in varied} | {"trials": study.trials}
        trials = slice(place * study.trials, (place + 1) * study.trials)
        for name in names:
            of = interval(values[name][trials].tolist(), study.confidence)
            row |= {name: of.mean, f"{name}_low": of.low, f"{name}_high": of.high}
        found.append(row)
    return found


def _summary_table(study: Study, results: Results) -> Any:
    pa = arrow()
    kinds = {"point": pa.int32(), "length": pa.int32(), "trials": pa.int32()}

    def kind(name: str) -> Any:
        text = name in SAID or name.startswith("axis.")
        return kinds.get(name, pa.string() if text else pa.float64())

    schema = pa.schema([(name, kind(name)) for name in results.points[0]], _metadata(study))
    return pa.Table.from_pylist(results.points, schema)
