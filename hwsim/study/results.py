"""Runs a study, or resumes it: its folder, the rows of each task, and the summary with intervals."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import hwsim
from hwsim.base.arrays import arrow, read_table, write_table
from hwsim.base.errors import InputError
from hwsim.base.files import (
    LIST,
    held_alone,
    refuse_changed,
    refuse_strangers,
    remove_if_written,
    remove_written,
    written,
)
from hwsim.base.package import identity as code_identity
from hwsim.base.text import columns, counted, facts, titled
from hwsim.formats.yamlfile import parse
from hwsim.runners import Rows, Runner, local
from hwsim.spec import as_yaml
from hwsim.study.data import check, digest
from hwsim.study.findings import findings
from hwsim.study.plan.study import Point, Study, load_study, points, spell
from hwsim.study.task import StudyPart, tasks

UNDEFINED = float("nan")


class Interval(NamedTuple):
    """A mean, and the ends of its confidence interval."""

    mean: float
    low: float
    high: float


def interval(values: Sequence[float], confidence: float) -> Interval:
    """The mean over trials, and Student's t interval around it.

    values: one a trial; NaNs, where there was nothing to measure, are left out. Trials have data drawn apart from the
    same source, so that a mean over many is nearly normal; of maxima and of dB too the interval is that of their mean
    over trials, not of the largest possible value.
    Where some are finite, infinite ones are left out: of dB, the trials without any error. The ends are NaN for fewer
    than two values and where all are infinite; the mean of no value is NaN.
    """
    there = [value for value in values if not math.isnan(value)]
    finite = [value for value in there if math.isfinite(value)]
    if not finite:
        return Interval(there[0] if len(set(there)) == 1 else UNDEFINED, UNDEFINED, UNDEFINED)
    there = finite
    count = len(there)
    mean = math.fsum(there) / count
    if count < 2:
        return Interval(mean, UNDEFINED, UNDEFINED)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in there) / (count - 1))
    reach = t_quantile((1 + confidence) / 2, count - 1) * deviation / math.sqrt(count)
    return Interval(mean, mean - reach, mean + reach)


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t distribution at a probability in (1/2, 1), by bisection."""
    high = 1.0
    while _below(high, freedom) < probability:
        high *= 2
    low = 0.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if _below(middle, freedom) >= probability else (middle, high)
    return high


def _below(t: float, freedom: int) -> float:
    """The probability of less than t, t >= 0 (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for n in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (n - 1) / n
        total += term
    inside = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return (1 + inside) / 2


PARTS, IDENTITY, LOCK = ".parts", "study", "lock"
RESULTS, SUMMARY, STUDY = "results.parquet", "summary.parquet", "study.yaml"
# What a study's folder holds; `report.html` and `figures` are drawn from the results.
MADE, FIGURES = (RESULTS, SUMMARY, STUDY, "report.html"), "figures"
OURS = {PARTS, *MADE, FIGURES}
METADATA = b"hwsim.study"
BY = " by "  # between the identity of a study and that of the code


def table_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows with `point`, `trial` and measures as a table: int32 and float64. All rows have the same columns."""
    pa = arrow()
    names = list(rows[0])
    for row in rows:
        if list(row) != names:
            raise InputError(f"rows must have the same columns, not {sorted(set(names) ^ set(row))} in some alone")
    schema = pa.schema([(name, pa.int32() if name in ("point", "trial") else pa.float64()) for name in names])
    return pa.Table.from_pylist(rows, schema)


class Store:
    """A study's folder.

    identity: of the study BY the code. All that is in the folder must be of this identity.
    """

    def __init__(self, folder: Path, identity: str):
        self.folder, self.identity = folder, identity
        self.parts = folder / PARTS

    @contextmanager
    def claimed(self, overwrite: bool) -> Iterator[None]:
        """Hold the folder for this process alone.

        overwrite: take the place of other results. Raises ValueError for a folder that holds those without,
        that holds files of other kinds, or that another process is writing; OSError where nothing can be written.
        """
        self._check(overwrite)
        self.parts.mkdir(parents=True, exist_ok=True)
        with held_alone(self.parts / LOCK, f"{self.folder}: another process is writing a study's results here"):
            if self._held() not in (None, self.identity):
                self.clear()
            with written(self.parts / IDENTITY) as file:
                file.write(self.identity.encode())
            try:
                yield
            except InputError:
                if not any(self.parts.glob("*.parquet")):  # nothing to go on from
                    self._drop_parts()
                raise
            if self.finished:
                self._drop_parts()

    def _drop_parts(self) -> None:
        """Remove what hwsim wrote among the parts, and their folder where nothing else is in it."""
        lock = self.parts / LOCK
        if lock.is_file() and not lock.stat().st_size:
            lock.unlink()
        remove_written(self.parts)

    def _check(self, overwrite: bool) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder}: must be a folder, which results are written to; it is a file")
        inside = set(os.listdir(self.folder)) - {LIST} if self.folder.exists() else set()
        held, damaged = self._held(), not is_readable(self.folder / RESULTS)
        if inside - OURS or (inside - {*MADE} and held is None and not damaged):
            names = sorted(inside - OURS) or sorted(inside)
            raise InputError(
                f"{self.folder}: holds {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}, which are no study's "
                "results; name a new folder"
            )
        if damaged:
            raise InputError(f"{self.folder / RESULTS}: is damaged, or was changed; move it, or name another folder")
        if held not in (None, self.identity) and not overwrite:
            holds = "the results of another study, or of this one before it was changed"
            if held is not None and held.partition(BY)[0] == self.identity.partition(BY)[0]:
                holds = "results of this study that other code of hwsim made"
            raise InputError(f"{self.folder}: holds {holds}; name another folder, or give --overwrite")
        for name in MADE:
            refuse_strangers(self.folder / name)
        refuse_changed(self.folder / FIGURES)

    def _held(self) -> str | None:
        """The identity of what the folder holds; None where it holds nothing that says so."""
        if (recorded := identity_of(self.folder / RESULTS)) is not None:
            return recorded
        try:
            return (self.parts / IDENTITY).read_text(errors="replace")
        except OSError:
            return None

    def clear(self) -> None:
        """Remove results, and what was made of them; figures too."""
        for name in MADE:
            remove_if_written(self.folder / name)
        remove_written(self.folder / FIGURES)
        for part in self.parts.glob("*.parquet"):
            remove_if_written(part)

    @property
    def finished(self) -> bool:
        return identity_of(self.folder / RESULTS) == self.identity

    def part(self, key: str) -> Any:
        """The rows of the task of that key, as a table; None where there are none that can be read."""
        try:
            return read_table(self.parts / f"{key}.parquet")
        except (OSError, InputError):
            return None

    def keep(self, key: str, rows: Sequence[Mapping[str, Any]]) -> None:
        write_table(table_of(rows), self.parts / f"{key}.parquet", aside=True)

    def finish(self, results: Any, summary: Any, study: str) -> None:
        """Write what a study ends with, the results last: they say that the study has ended."""
        self.complete(summary, study)
        write_table(results, self.folder / RESULTS)

    def complete(self, summary: Any, study: str) -> None:
        with written(self.folder / STUDY) as file:
            file.write(study.encode())
        write_table(summary, self.folder / SUMMARY)


def is_readable(path: Path) -> bool:
    """True if a file is a whole Parquet file, or not there."""
    try:
        return not path.exists() or arrow().parquet.read_schema(path) is not None
    except (OSError, ValueError, arrow().ArrowException):
        return False


def identity_of(path: Path) -> str | None:
    """The identity of the study whose results a file holds; None for any other file, and for none."""
    pa = arrow()
    try:
        metadata = pa.parquet.read_schema(path).metadata or {}
    except (OSError, ValueError, pa.ArrowException):
        return None
    recorded = metadata.get(METADATA)
    return None if recorded is None else recorded.decode(errors="replace")


# What was done, of how much, and what is being done: products, as a bar shows them.
Progress = Callable[[int, int, str], None]


def nothing(_done: int, _planned: int, _what: str) -> None:
    """Show no progress."""


def all_rows(
    name: str, parts: Sequence[StudyPart], store: Store, runner: Runner, progress: Progress = nothing
) -> tuple[Any, int]:
    """The rows of all parts of a study, as a table, and how many of them an earlier run had left.

    name: of the study. store: its folder, claimed.
    """
    missing, tables = [], []
    planned, ended = sum(part.products for part in parts), 0
    for part in parts:
        part_rows = store.part(part.key)
        if part_rows is None or part_rows.num_rows != part.count:
            missing.append(part)
        else:
            tables.append(part_rows)
            ended += part.products
    resumed = sum(table.num_rows for table in tables)
    progress(ended, planned, name)

    def done(part: StudyPart, rows: Rows) -> None:
        nonlocal ended
        store.keep(part.key, rows)
        ended += part.products
        progress(ended, planned, name)

    if missing:
        runner(missing, done)
    tables += [store.part(part.key) for part in missing]
    if any(table is None for table in tables):
        raise RuntimeError(f"{store.folder}: parts of study {name} were lost while it ran")
    return arrow().concat_tables(tables), resumed


MOST_ROWS = 1_000_000
# Columns that say what a row is of; the others are measures.
LABELS = ("point", "label", "unit", "scaling", "data", "length")
FIXED = (*LABELS, "trial", "seed", "rows", "columns", "specification", "source")


@dataclass
class Results:
    """The results of a study.

    rows: a pyarrow table, a row for each point and trial, sorted. points: the summary, a mapping for each point: what
    it is of (LABELS, `axis.FIELD` and `trials`), and of each measure `m` its mean over trials, `m_low` and `m_high`.
    measures: the names of the measures. resumed: the trials that an earlier run had left; all where it was finished.
    """

    study: Study
    rows: Any
    points: list[dict[str, Any]]
    measures: tuple[str, ...]
    folder: Path | None = None
    resumed: int = 0

    def _repr_html_(self) -> str:
        summary, study = findings(self.points), self.study
        title = study.title or study.name
        sizes = f"{counted(len(self.points), 'point')}, {counted(study.trials, 'trial')} of each"
        numbers = ((number.what, f"{number.value} {number.of}".strip()) for number in summary.key)
        verdict = facts([("found", summary.verdict), *numbers])
        return titled(
            title,
            f"{sizes}; {summary.table.title}: {summary.table.caption}",
            verdict,
            columns(summary.table.header, summary.table.rows),
        )

    @property
    def finished_before(self) -> bool:
        """True if an earlier run had left nothing to do."""
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
    planned = points(study)
    if (many := len(planned) * study.trials) > MOST_ROWS:
        raise InputError(f"study {study.name}: has {many:,} trials, the limit is {MOST_ROWS:,}")
    for data in study.data:
        check(data, study.lengths, study.rows, study.columns)
    store = Store(folder, identity(study))
    with store.claimed(overwrite):
        if store.finished and (earlier := _earlier(store, overwrite)) is not None:
            earlier.resumed = earlier.rows.num_rows
            store.complete(_summary_table(study, earlier), study.as_yaml())
            return earlier
        parts, resumed = all_rows(study.name, tasks(study, planned), store, runner or local(), progress)
        table = _described(study, planned, parts)
        results = Results(study, table, _summary(study, planned, table), _measures(table), folder, resumed)
        store.finish(table, _summary_table(study, results), study.as_yaml())
    return results


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
    written = {key: value for key, value in study.written.items() if key != "data"}
    units = [as_yaml(entry.unit) for entry in study.units]
    text = json.dumps([written, units, [digest(data) for data in study.data]], default=str)
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


def _described(study: Study, planned: Sequence[Point], parts: Any) -> Any:
    """The table of all rows: the point and trial of each, and its measures."""
    pa = arrow()
    parts = parts.sort_by([("point", "ascending"), ("trial", "ascending")])
    wanted = [(point.index, trial) for point in planned for trial in range(study.trials)]
    if list(zip(parts["point"].to_pylist(), parts["trial"].to_pylist(), strict=True)) != wanted:
        raise RuntimeError(f"study {study.name}: must have a row for each of {len(wanted):,} points and trials")
    places = parts["point"].combine_chunks()

    def of_points(values: list[str | None]) -> Any:
        return pa.array(values, pa.string()).dictionary_encode().take(places)

    columns: dict[str, Any] = {
        "point": places,
        **{
            name: of_points([_labels(point)[name] for point in planned])
            for name in ("label", "unit", "scaling", "data")
        },
        "length": pa.array([point.length for point in planned], pa.int32()).take(places),
        "trial": parts["trial"].combine_chunks(),
        **{f"axis.{name}": of_points([point.axes.get(name) for point in planned]) for name in axes(planned)},
    }
    for name in [measure for measure in parts.column_names if measure not in ("point", "trial")]:
        columns[name] = parts[name].combine_chunks()
    count = parts.num_rows
    columns["seed"] = pa.array([study.seed] * count, pa.uint64())
    columns["rows"] = pa.array([study.rows] * count, pa.int32())
    columns["columns"] = pa.array([study.columns] * count, pa.int32())
    columns["specification"] = of_points([as_yaml(point.unit) for point in planned])
    columns["source"] = of_points([json.dumps(spell(point.data)) for point in planned])
    return pa.table(columns).replace_schema_metadata(_metadata(study))


def _metadata(study: Study) -> dict[bytes, bytes]:
    return {
        METADATA: identity(study).encode(),
        b"study": study.as_yaml().encode(),
        b"hwsim": hwsim.__version__.encode(),
    }


def axes(planned: Sequence[Point]) -> list[str]:
    """The fields that any unit's grid varies, in the study's order."""
    return list(dict.fromkeys(name for point in planned for name in point.axes if name not in ("unit", "scaling")))


def _labels(point: Point) -> dict[str, Any]:
    return {
        "point": point.index, "label": point.label, "unit": point.unit.name, "scaling": point.scaling.name,
        "data": point.data.name, "length": point.length,
    }  # fmt: skip


def _measures(table: Any) -> tuple[str, ...]:
    return tuple(name for name in table.column_names if name not in FIXED and not name.startswith("axis."))


def _summary(study: Study, planned: Sequence[Point], table: Any) -> list[dict[str, Any]]:
    """The mean and interval of every measure of each point. Rows are sorted by point and trial."""
    names, varied = _measures(table), axes(planned)
    values = {name: table[name].to_numpy() for name in names}
    rows = []
    for place, point in enumerate(planned):
        row = _labels(point) | {f"axis.{name}": point.axes.get(name) for name in varied} | {"trials": study.trials}
        trials = slice(place * study.trials, (place + 1) * study.trials)
        for name in names:
            of = interval(values[name][trials].tolist(), study.confidence)
            row |= {name: of.mean, f"{name}_low": of.low, f"{name}_high": of.high}
        rows.append(row)
    return rows


def _summary_table(study: Study, results: Results) -> Any:
    pa = arrow()
    kinds = {"point": pa.int32(), "length": pa.int32(), "trials": pa.int32()}

    def kind(name: str) -> Any:
        text = name in LABELS or name.startswith("axis.")
        return kinds.get(name, pa.string() if text else pa.float64())

    schema = pa.schema([(name, kind(name)) for name in results.points[0]], _metadata(study))
    return pa.Table.from_pylist(results.points, schema)
