"""Study files: read from YAML and validated."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Field, Strict, ValidationError

from hwsim.formats.catalog import looks_like_path, nearest
from hwsim.formats.yamlfile import Document, Location, SpecError, explain_invalid, read
from hwsim.spec import Unit, as_yaml, load_unit
from hwsim.spec.catalog import written_out
from hwsim.spec.fields import check_field, locations, text
from hwsim.study.data import Data, parse_data
from hwsim.study.data.parameters import StudyModel
from hwsim.study.plan.scaling import check_scaling, default_scaling

MOST_OF_A_KIND = 1 << 40  # trials, rows, columns, products: no study has as many, and floats hold what they take
Positive = Annotated[int, Strict(), Field(ge=1, le=MOST_OF_A_KIND)]
MOST_SEEDS = 1 << 64
PLANS = Path(__file__).parents[1] / "plans"
KEYS_OF_UNIT = ("unit", "label", "grid", "scaling", "invalid")


def _listed(value: Any) -> Any:
    """A list, of one value where it is not a list."""
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
        """The study's name."""
        return self.study

    def as_yaml(self) -> str:
        """The study as a file that `load_study` reads back, wherever it lies."""
        return yaml.safe_dump(self.written, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)


class _Said(Document):
    """A mapping that stands in no file."""

    def where(self, location: Location) -> str:
        """What it is called."""
        return str(self.path)


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
        document: Document = _Said(Path(name), copy.deepcopy(dict(source)), dict.fromkeys(locations(source), 0))
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
        """FILE:LINE: KEY: MESSAGE."""
        return SpecError(f"{self.document.where(location)}: {'.'.join(map(str, location))}: {message}")

    def known(self, mapping: Mapping[str, Any], keys: tuple[str, ...], at: Location) -> None:
        """Refuse other keys."""
        for key in mapping:
            if key not in keys:
                where = self.document.where((*at, key))
                raise SpecError(
                    f"{where}: {'.'.join(map(str, at))}{': ' if at else ''}{nearest('key', str(key), keys)}"
                )

    def study(self) -> Study:
        """The study."""
        data = dict(self.document.data)
        self.known(data, tuple(key for key in Study.model_fields if key != "written"), ())
        for key in ("units", "data"):
            if key in data and not isinstance(data[key], (list, tuple)):
                data[key] = [data[key]]
        units = [self.entry(entry, ("units", at)) for at, entry in enumerate(data.get("units", ()))]
        drawn = [self.drawn(entry, ("data", at)) for at, entry in enumerate(data.get("data", ()))]
        self.apart([entry.label for entry, _ in units if not entry.grid], "units", "label")
        self.apart([one.name for one in drawn], "data", "name")
        parsed = {"units": tuple(entry for entry, _ in units), "data": tuple(drawn)}
        try:
            made = Study.model_validate({key: parsed.get(key, data[key]) for key in data} | {"written": {}})
        except ValidationError as error:
            raise explain_invalid(error, self.document) from None
        sizes = {key: getattr(made, key) for key in Study.model_fields if key not in ("units", "data", "written")}
        sizes["lengths"] = list(made.lengths)
        spelt = {**sizes, "units": [said for _, said in units], "data": [spell(one) for one in drawn]}
        return made.model_copy(update={"written": spelt})

    def apart(self, names: list[str], key: str, field: str) -> None:
        """Refuse two of one name."""
        for at, name in enumerate(names):
            if name in names[:at]:
                raise self.wrong((key,), f"two are called {name!r}; give one another {field}")

    def entry(self, entry: Any, at: Location) -> tuple[UnitEntry, dict[str, Any]]:
        """An entry of `units`, and as it is written."""
        whole = isinstance(entry, Unit) or (isinstance(entry, Mapping) and "operands" in entry)
        given: dict[str, Any] = {"unit": entry} if whole or isinstance(entry, (str, Path)) else entry
        if not isinstance(given, Mapping):
            raise self.wrong(at, f"must be a unit's name, a path or a mapping, not {entry!r}")
        self.known(given, KEYS_OF_UNIT, at)
        if "unit" not in given:
            raise self.wrong(at, "unit is missing")
        unit, said = self.unit(given["unit"], at if whole else (*at, "unit"))
        grid = self.grid(given.get("grid", {}), (*at, "grid"))
        scaling = tuple(_listed(given.get("scaling", default_scaling(unit))))
        for one in scaling:
            try:
                check_scaling(one)
            except (ValueError, TypeError) as error:
                raise self.wrong((*at, "scaling"), error) from None
        fields = {"label": given.get("label", unit.name), "grid": grid, "scaling": scaling}
        fields |= {"invalid": given["invalid"]} if "invalid" in given else {}
        try:
            made = UnitEntry.model_validate({"unit": unit, **fields})
        except ValidationError as error:
            raise explain_invalid(error, self.document, at) from None
        spelt = {"unit": said, **fields, "grid": {key: list(values) for key, values in grid.items()}}
        spelt["scaling"] = list(scaling)
        return made, spelt

    def unit(self, given: Any, at: Location) -> tuple[Unit, Any]:
        """A unit, and as it is written: the name of a preset, or all of it."""
        if isinstance(given, Unit):
            return given, yaml.safe_load(as_yaml(given))
        if isinstance(given, Mapping):
            unit = written_out(dict(given), self.place, at)
            return unit, yaml.safe_load(as_yaml(unit))
        if isinstance(given, Path) or (isinstance(given, str) and looks_like_path(given)):
            try:
                unit = load_unit(self.folder / given)
            except SpecError as error:
                raise self.wrong(at, error) from None
            return unit, yaml.safe_load(as_yaml(unit))
        try:
            return load_unit(given), given
        except (ValueError, TypeError) as error:
            raise self.wrong(at, error) from None

    def grid(self, given: Any, at: Location) -> dict[str, tuple[Any, ...]]:
        """The fields that vary."""
        if not isinstance(given, Mapping):
            raise self.wrong(at, f"must be a mapping of fields to lists of values, not {given!r}")
        found = {}
        for field, values in given.items():
            try:
                check_field(str(field))
            except ValueError as error:
                raise self.wrong((*at, field), error) from None
            listed = tuple(_listed(values))
            said = [text(value) for value in listed]
            if not listed or len(set(said)) < len(said):
                raise self.wrong((*at, field), f"must be different values, at least one, not {values!r}")
            found[str(field)] = listed
        return found

    def drawn(self, entry: Any, at: Location) -> Data:
        """An entry of `data`."""
        if isinstance(entry, Data):
            return entry
        try:
            return parse_data(entry, self.folder)
        except (ValueError, TypeError) as error:
            raise self.wrong(at, error) from None


def spell(data: Data) -> Any:
    """An entry of `data` that `parse_data` reads back."""
    return data.model_dump(mode="json")
