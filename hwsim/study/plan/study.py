"""Study files, read from YAML and validated, and their points: every combination of units, fields, scalings, data."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Field, Strict, ValidationError

from hwsim.base.resources import Cost
from hwsim.formats.catalog import looks_like_path, nearest
from hwsim.formats.yamlfile import Document, Location, MappingDocument, SpecError, explain_invalid, read
from hwsim.spec import Support, Unit, as_yaml, implemented, load_unit
from hwsim.spec.arguments import check_length
from hwsim.spec.catalog import written_out
from hwsim.spec.fields import check_field, text, vary
from hwsim.study.data import Data, parse_data
from hwsim.study.data.sources import StudyModel
from hwsim.study.plan.scaling import Scaling, check_scaling, default_scaling, resolve, scaling_name

MOST_OF_A_KIND = 1 << 40  # trials, rows, columns, products: no study has as many, and floats hold what they take
Positive = Annotated[int, Strict(), Field(ge=1, le=MOST_OF_A_KIND)]
MOST_SEEDS = 1 << 64
PLANS = Path(__file__).parents[1] / "plans"
KEYS_OF_UNIT = ("unit", "label", "grid", "scaling", "invalid")


def _listed(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


class UnitEntry(StudyModel):
    """An entry of `units`: a unit, and what is varied.

    grid: from a field (`hwsim.spec.fields`) to the values that it takes. scaling: entries as `scaling.resolve`
    takes them, each of which is tried. invalid: whether a combination that breaks a rule is an error or left out.
    """

    unit: Unit
    label: str = Field(min_length=1)
    grid: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    scaling: tuple[Any, ...] = Field(min_length=1)
    invalid: Literal["error", "skip"] = "error"


class Study(StudyModel):
    """A study: units, data and sizes, all of whose combinations are its points.

    study: its name. trials: matrix products (rows, K) x (K, columns) at each point, each of data of its own.
    lengths: K. explained: results a trial that are computed by the definition too, term by term.
    confidence: of the intervals over trials. written: the study as a mapping that `load_study` reads back.
    """

    study: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    title: str = ""
    seed: Annotated[int, Strict(), Field(ge=0, lt=MOST_SEEDS)] = 1
    trials: Positive = 8
    rows: Positive = 32
    columns: Positive = 32
    lengths: Annotated[tuple[Positive, ...], BeforeValidator(_listed), Field(min_length=1)] = (512,)
    explained: Annotated[int, Strict(), Field(ge=0, le=MOST_OF_A_KIND)] = 1
    confidence: float = Field(default=0.95, gt=0, lt=1)
    units: tuple[UnitEntry, ...] = Field(min_length=1)
    data: tuple[Data, ...] = Field(min_length=1)
    written: dict[str, Any] = Field(repr=False, exclude=True)

    @property
    def name(self) -> str:
        return self.study

    def as_yaml(self) -> str:
        """The study as a file that `load_study` reads back, wherever it lies."""
        return yaml.safe_dump(self.written, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)


def plans() -> list[str]:
    """The names of the plans that come with hwsim."""
    return sorted(path.stem for path in PLANS.glob("*.yaml"))


def load_study(
    source: str | Path | Mapping[str, Any], folder: Path | None = None, changes: Mapping[str, Any] | None = None
) -> Study:
    """The study in a YAML file, the plan of that name that comes with hwsim, or a mapping of the same keys.

    folder: where relative paths of a mapping start; the current one unless given. Those of a file start where it is.
    changes: keys that take the place of the study's own.
    Units and data may also be `Unit` and `Data`.
    Raises SpecError (a ValueError) for what breaks a rule, naming file, line, key, rule and value.
    """
    if isinstance(source, Mapping):
        base = Path.cwd() if folder is None else folder
        name = f"study {source.get('study', '')}".strip()
        document: Document = MappingDocument(name, copy.deepcopy(dict(source)))
    else:
        path = PLANS / f"{source}.yaml" if source in plans() else Path(source)
        document = read(path)
        base = path.absolute().parent
    document.data.update(changes or {})
    return _StudyReader(document, base).study()


class _StudyReader:
    """Reads one document."""

    def __init__(self, document: Document, folder: Path):
        self.document, self.folder = document, folder
        # Formats of units that are written out start where the study does.
        self.place = Document(folder / document.path.name, document.data, document.lines)

    def wrong(self, location: Location, message: object) -> SpecError:
        return SpecError(f"{self.document.where(location)}: {'.'.join(map(str, location))}: {message}")

    def known(self, mapping: Mapping[str, Any], keys: tuple[str, ...], location: Location) -> None:
        for key in mapping:
            if key not in keys:
                where = self.document.where((*location, key))
                raise SpecError(
                    f"{where}: {'.'.join(map(str, location))}{': ' if location else ''}{nearest('key', str(key), keys)}"
                )

    def study(self) -> Study:
        data = dict(self.document.data)
        self.known(data, tuple(key for key in Study.model_fields if key != "written"), ())
        for key in ("units", "data"):
            if key in data and not isinstance(data[key], (list, tuple)):
                data[key] = [data[key]]
        units = [self.entry(entry, ("units", index)) for index, entry in enumerate(data.get("units", ()))]
        drawn = [self.drawn(entry, ("data", index)) for index, entry in enumerate(data.get("data", ()))]
        self.apart([entry.label for entry, _ in units if not entry.grid], "units", "label")
        self.apart([source.name for source in drawn], "data", "name")
        parsed = {"units": tuple(entry for entry, _ in units), "data": tuple(drawn)}
        try:
            study = Study.model_validate({key: parsed.get(key, data[key]) for key in data} | {"written": {}})
        except ValidationError as error:
            raise explain_invalid(error, self.document) from None
        sizes = {key: getattr(study, key) for key in Study.model_fields if key not in ("units", "data", "written")}
        sizes["lengths"] = list(study.lengths)
        entries = {**sizes, "units": [written for _, written in units], "data": [spell(source) for source in drawn]}
        return study.model_copy(update={"written": entries})

    def apart(self, names: list[str], key: str, field: str) -> None:
        for index, name in enumerate(names):
            if name in names[:index]:
                raise self.wrong((key,), f"two are called {name!r}; give one another {field}")

    def entry(self, entry: Any, location: Location) -> tuple[UnitEntry, dict[str, Any]]:
        whole = isinstance(entry, Unit) or (isinstance(entry, Mapping) and "operands" in entry)
        mapping: dict[str, Any] = {"unit": entry} if whole or isinstance(entry, (str, Path)) else entry
        if not isinstance(mapping, Mapping):
            raise self.wrong(location, f"must be a unit's name, a path or a mapping, not {entry!r}")
        self.known(mapping, KEYS_OF_UNIT, location)
        if "unit" not in mapping:
            raise self.wrong(location, "unit is missing")
        unit, written = self.unit(mapping["unit"], location if whole else (*location, "unit"))
        grid = self.grid(mapping.get("grid", {}), (*location, "grid"))
        scaling = tuple(_listed(mapping.get("scaling", default_scaling(unit))))
        for choice in scaling:
            try:
                check_scaling(choice)
            except (ValueError, TypeError) as error:
                raise self.wrong((*location, "scaling"), error) from None
        fields = {"label": mapping.get("label", unit.name), "grid": grid, "scaling": scaling}
        fields |= {"invalid": mapping["invalid"]} if "invalid" in mapping else {}
        try:
            parsed = UnitEntry.model_validate({"unit": unit, **fields})
        except ValidationError as error:
            raise explain_invalid(error, self.document, location) from None
        keys = {"unit": written, **fields, "grid": {key: list(values) for key, values in grid.items()}}
        keys["scaling"] = list(scaling)
        return parsed, keys

    def unit(self, entry: Any, location: Location) -> tuple[Unit, Any]:
        """A unit, and as it is written: the name of a preset, or all of it."""
        if isinstance(entry, Unit):
            return entry, yaml.safe_load(as_yaml(entry))
        if isinstance(entry, Mapping):
            unit = written_out(dict(entry), self.place, location)
            return unit, yaml.safe_load(as_yaml(unit))
        if isinstance(entry, Path) or (isinstance(entry, str) and looks_like_path(entry)):
            try:
                unit = load_unit(self.folder / entry)
            except SpecError as error:
                raise self.wrong(location, error) from None
            return unit, yaml.safe_load(as_yaml(unit))
        try:
            return load_unit(entry), entry
        except (ValueError, TypeError) as error:
            raise self.wrong(location, error) from None

    def grid(self, grid: Any, location: Location) -> dict[str, tuple[Any, ...]]:
        if not isinstance(grid, Mapping):
            raise self.wrong(location, f"must be a mapping of fields to lists of values, not {grid!r}")
        fields = {}
        for field, values in grid.items():
            try:
                check_field(str(field))
            except ValueError as error:
                raise self.wrong((*location, field), error) from None
            listed = tuple(_listed(values))
            texts = [text(value) for value in listed]
            if not listed or len(set(texts)) < len(texts):
                raise self.wrong((*location, field), f"must be different values, at least one, not {values!r}")
            fields[str(field)] = listed
        return fields

    def drawn(self, entry: Any, location: Location) -> Data:
        if isinstance(entry, Data):
            return entry
        try:
            return parse_data(entry, self.folder)
        except (ValueError, TypeError) as error:
            raise self.wrong(location, error) from None


def spell(data: Data) -> Any:
    """An entry of `data` that `parse_data` reads back."""
    return data.model_dump(mode="json")


def measurable(unit: Unit) -> Support:
    """The support of a unit in studies, which lack what no implementation has, and results beyond float64."""
    general = implemented(unit)
    if not general or unit.output.in_float64:
        return general
    lacks = f"a result of {unit.output.bits} bits ({unit.output.name})"
    return Support(unit.name, "is in the model, but not in studies, which compute in float64", (lacks,))


LIMIT = 20_000  # points of a study
MOST_BYTES = 4 << 30  # that a trial may take
# Bytes for each number of A and B (binary32, binary64, codes, slices), and for each result (measures of both exact
# products and of the errors): about what was seen, and more.
FACTOR_BYTES, RESULT_BYTES = 100, 400


@dataclass(frozen=True)
class Point:
    """One unit, with its scaling, on one kind of data of one length.

    label: what tells the unit from the study's others: its entry's label and what is varied. axes: the label of the
    entry (`unit`), the value of each field of its grid, and the scaling (`scaling`), as they are written.
    """

    index: int
    label: str
    unit: Unit
    scaling: Scaling
    data: Data
    length: int
    axes: dict[str, str]

    @property
    def name(self) -> str:
        return f"{self.label}, {self.data.name}, K = {self.length}"


def count(study: Study) -> int:
    """The number of a study's points, those that `invalid: skip` leaves out included."""
    variants = [math.prod(map(len, entry.grid.values())) * len(entry.scaling) for entry in study.units]
    return sum(variants) * len(study.data) * len(study.lengths)


def points(study: Study) -> list[Point]:
    """The points of a study, in its order: units, fields, scalings, data, lengths.

    Raises SpecError for more than LIMIT points or trials that take more than MOST_BYTES, saying how many; for a
    combination that breaks a rule, naming it; and where none is left.
    """
    if (many := count(study)) > LIMIT:
        raise SpecError(f"study {study.name}: has {many:,} points, the limit is {LIMIT:,}; vary fewer fields at once")
    _check_memory(study)
    planned: list[Point] = []
    for index, entry in enumerate(study.units):
        for label, unit, scaling, axes in _units(study, index, entry):
            for data, length in itertools.product(study.data, study.lengths):
                try:
                    check_length(unit, length)
                except ValueError as error:
                    if entry.invalid == "skip":
                        continue
                    raise SpecError(f"study {study.name}: {label}: {error}") from None
                planned.append(Point(len(planned), label, unit, scaling, data, length, axes))
    if not planned:
        raise SpecError(f"study {study.name}: no combination is valid, and invalid: skip leaves all of them out")
    _check_apart(study, planned)
    return planned


def _check_memory(study: Study) -> None:
    longest = max(study.lengths)
    needed = FACTOR_BYTES * longest * (study.rows + study.columns) + RESULT_BYTES * study.rows * study.columns
    if needed > MOST_BYTES:
        raise SpecError(
            f"study {study.name}: a trial of rows {study.rows:,}, columns {study.columns:,} and length {longest:,} "
            f"takes about {needed / 2**30:,.1f} GiB, the limit is {MOST_BYTES >> 30} GiB; take fewer rows and columns, "
            "and more trials"
        )
    Cost(f"study {study.name}: a trial", needed, instead="take fewer rows and columns, and more trials").demand()


def _units(study: Study, index: int, entry: UnitEntry) -> Iterator[tuple[str, Unit, Scaling, dict[str, str]]]:
    """Labels, units, scalings and axes of an entry."""
    for values in itertools.product(*entry.grid.values()):
        changes: dict[str, Any] = dict(zip(entry.grid, values, strict=True))
        fields = {field: text(value) for field, value in changes.items()}
        combination = " ".join([entry.label, *(f"{field}={value}" for field, value in fields.items())])
        try:
            unit = vary(entry.unit, changes)
            measurable(unit).demand()
        except ValueError as error:
            if entry.invalid == "skip":
                continue
            raise SpecError(f"study {study.name}: units.{index}: {combination}: {error}{_hint(entry)}") from None
        for choice in entry.scaling:
            name = scaling_name(choice)
            label = f"{combination}, {name}" if len(entry.scaling) > 1 else combination
            try:
                scaling = resolve(choice, unit)
            except ValueError as error:
                if entry.invalid == "skip":
                    continue
                where = f"units.{index}.scaling"
                raise SpecError(f"study {study.name}: {where}: {combination}, {name}: {error}{_hint(entry)}") from None
            yield label, unit, scaling, {"unit": entry.label, **fields, "scaling": name}


def _hint(entry: UnitEntry) -> str:
    many = len(entry.scaling) > 1 or any(len(values) > 1 for values in entry.grid.values())
    return "; `invalid: skip` leaves such combinations out" if many else ""


def _check_apart(study: Study, planned: list[Point]) -> None:
    seen: dict[tuple[str, str, int], Point] = {}
    for point in planned:
        key = (point.label, point.data.name, point.length)
        if key in seen:
            raise SpecError(f"study {study.name}: two points are called {point.name}; give a unit another label")
        seen[key] = point
