"""Units by name, and from a user's own YAML file."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from pydantic import ValidationError

from hwsim.base.errors import InputTypeError
from hwsim.formats.catalog import looks_like_path, nearest
from hwsim.formats.yamlfile import Document, Location, SpecError, explain_invalid, read, validated
from hwsim.spec.fields import checked
from hwsim.spec.modes import ANY, ModalUnit, Specified
from hwsim.spec.sparse import SparseUnit
from hwsim.spec.unit import Unit

PRESETS = Path(__file__).with_name("units")

# What names a unit, for `load_unit`.
UnitLike: TypeAlias = Unit | str | Path | Mapping[str, Any]
# What names a sparse unit, for `load_sparse`.
SparseLike: TypeAlias = SparseUnit | str | Path | Mapping[str, Any]
# What names a unit of one mode or of several, for `load_specified`.
SpecifiedLike: TypeAlias = Specified | str | Path | Mapping[str, Any]
YAML = (".yaml", ".yml")
MOST_NAMES = 8  # of modes that an error lists
INSTRUCTION = re.compile("-(mma|wgmma|tcgen05)-")  # in a preset's name; a sparse one's has `-sp` after it


def presets() -> list[str]:
    """The names of the units of one mode that ship with hwsim."""
    return list(_shipped())


def modal_presets() -> list[str]:
    """The names of the units of several modes that ship with hwsim."""
    return list(_modal())


def matching(pattern: str, sparse: bool = False) -> list[str]:
    """The presets whose names match a pattern, with `*` and `?` as shells have them. sparse: and sparse ones.

    Raises SpecError where there is none.
    """
    every = [*presets(), *modal_presets(), *(sparse_presets() if sparse else ())]
    names = sorted(name for name in every if fnmatchcase(name, pattern))
    if not names:
        raise SpecError(f"no unit's name matches {pattern!r}: `hwsim units` lists all {len(every)}")
    return names


def families() -> list[tuple[str, str, list[str]]]:
    """The presets in families, in the order of names: a name, a summary, and the names of the units.

    A unit is a family by itself, but for those that differ in the formats of factors and result alone: their name and
    summary have {factors} and {result} where these stand.
    """
    rows = []
    for family in _families():
        pairs, apart = family.get("each"), family.get("apart", {})
        units = [keys for keys in members_of(family) if pairs is None or keys["unit"] in apart]
        rows += [(keys["unit"], keys["summary"], [keys["unit"]]) for keys in units]
        if pairs is not None:
            alike = sorted(keys["unit"] for keys in members_of(family) if keys["unit"] not in apart)
            rows.append((pairs["unit"], pairs["summary"], alike))
    rows += [(name, keys["summary"], [name]) for name, keys in _modal().items()]
    for instruction, names in itertools.groupby(_sparse(), lambda name: name.partition("-sp-")[0]):
        pairs = "{factors}-{result}"
        rows.append((f"{instruction}-sp-{pairs}", f"sparse {instruction}-{pairs}, by metadata", list(names)))
    return sorted(rows)


@cache
def _documents() -> list[dict[str, Any]]:
    """The YAML documents of all files: families of one architecture or arithmetic, and units of modes."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    paths = PRESETS.glob("*.yaml")
    return [document for path in paths for document in yaml.load_all(path.read_text("utf-8"), Loader=loader)]


def _families() -> list[dict[str, Any]]:
    return [document for document in _documents() if not {"modes", "sparsity"} & document.keys()]


@cache
def _modal() -> dict[str, dict[str, Any]]:
    """The keys of every preset of several modes, by name."""
    return dict(sorted((keys["unit"], keys) for keys in _documents() if "modes" in keys))


@cache
def _sparse() -> dict[str, dict[str, Any]]:
    """The keys of every sparse preset, by name: of the first document of those that name its dense one."""
    found: dict[str, dict[str, Any]] = {}
    for document in _documents():
        for dense in presets() if "sparsity" in document else ():
            if any(fnmatchcase(dense, pattern) for pattern in document["dense"]):
                name = INSTRUCTION.sub(r"-\1-sp-", dense, count=1)
                found.setdefault(name, {**document, "unit": name, "summary": f"{dense}, sparse", "dense": dense})
    return dict(sorted(found.items()))


def sparse_presets() -> list[str]:
    """The names of the sparse units that ship with hwsim."""
    return list(_sparse())


@cache
def _shipped() -> dict[str, dict[str, Any]]:
    """The keys of every preset, by name."""
    return dict(sorted((keys["unit"], keys) for family in _families() for keys in members_of(family)))


def members_of(family: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The keys of every unit of a family of presets.

    family: `shared`, the keys that all its units have, and either `members`, from names to each one's own keys, or
    `factors`, `results` and `each`: a unit for every pair of these formats of a and b and every result, which has the
    result's own keys and those of `each`, where {factors} stands for the pair's name and {result} for the result's;
    `apart` has, from such units' names, keys of their own.
    Raises SpecError for other keys.
    """
    shared = family.get("shared", {})
    kinds, apart = family.keys() - {"shared", "apart"}, family.get("apart", {})
    if kinds == {"members"}:
        for name, keys in family["members"].items():
            yield {"unit": name, **_merged(shared, keys)}
    elif kinds == {"factors", "results", "each"}:
        factors, results, each = family["factors"], family["results"], family["each"]
        for a, b, result in itertools.product(factors, factors, results):
            words = {"factors": a if a == b else f"{a}x{b}", "result": result}
            keys = {key: text.format(**words) for key, text in each.items()}
            unit = _merged(_merged(shared, results[result]), {**keys, "operands": {"a": a, "b": b}})
            yield _merged(unit, apart.get(unit["unit"], {}))
    else:
        raise SpecError(f"a family has members, or factors, results and each, not {', '.join(sorted(kinds))}")


def _merged(shared: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Shared keys, overridden part by part by a member's own keys."""
    merged = dict(shared)
    for key, value in own.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def load_unit(name: UnitLike | SparseUnit) -> Unit:
    """The unit of a name, in a YAML file, or of keys as a file has them.

    name: a name that `hwsim units` lists, a path to a YAML file (`hwsim docs units`), a mapping of keys, or a unit. A
    file may name formats of its own by paths that start where the file is. `NAME:MODE` and `PATH:MODE` are one mode of
    a unit of several (`hwsim docs modes`).
    Raises SpecError (a ValueError) for an unknown name, naming the nearest, for keys that break a rule, naming
    file, line, key, rule and value, and for a unit of several modes; TypeError for what is none of the four.
    """
    unit = load_specified(name)
    if isinstance(unit, ModalUnit):
        first, count = next(iter(unit.modes)), len(unit.modes)
        listed = f"`hwsim units {unit.name}` lists its {count} modes"
        known = f"its modes: {', '.join(unit.modes)}" if count <= MOST_NAMES else listed
        named = name if isinstance(name, (str, Path)) else unit.name
        raise SpecError(f"unit {unit.name} has modes, and one is wanted here, as {named}:{first}; {known}")
    return unit


def load_specified(name: SpecifiedLike | SparseUnit) -> Specified:
    """The unit of a name, of one mode or of several; as `load_unit`, which takes those of one mode."""
    unit = load_any(name)
    if isinstance(unit, SparseUnit):
        instead = f"take {unit.dense.name}, its dense one, with the factors that metadata select"
        raise SpecError(f"unit {unit.name} is sparse, and a dense one is wanted: {instead} (`hwsim docs sparse`)")
    return unit


def load_sparse(name: SparseLike | Unit) -> SparseUnit:
    """The sparse unit of a name, in a YAML file, or of keys; as `load_unit`, which takes dense ones.

    A file has `unit`, `dense`, a unit's name, path or keys, and `sparsity: {keep: K, of: N}`, with `run: R` where runs
    of R neighbours are kept together.
    """
    unit = load_any(name)
    if not isinstance(unit, SparseUnit):
        raise SpecError(f"unit {unit.name} is dense, and takes no metadata")
    return unit


def load_one(name: UnitLike | SparseLike) -> Unit | SparseUnit:
    """The unit of a name: dense and of one mode, or sparse. Raises as `load_unit`."""
    unit = load_any(name)
    return unit if isinstance(unit, SparseUnit) else load_unit(name)


def load_pair(first: UnitLike | SparseLike, second: UnitLike | SparseLike) -> tuple[Unit, Unit, tuple[SparseUnit, ...]]:
    """Two units; of two sparse ones the dense ones, and both. Raises SpecError where they have no input in common."""
    one, other = load_one(first), load_one(second)
    if isinstance(one, SparseUnit) and isinstance(other, SparseUnit):
        if one.sparsity != other.sparsity:
            kept = f"their metadata keep {one.sparsity}, and {other.sparsity}"
            raise SpecError(f"{one.name} and {other.name} take no input in common: {kept}")
        return one.dense, other.dense, (one, other)
    for sparse, dense in ((one, other), (other, one)):
        if isinstance(sparse, SparseUnit):
            raise SpecError(
                f"{sparse.name} is sparse and {dense.name} is not: they take no input in common; {sparse.dense.name}, "
                f"which multiplies what {sparse.name} selects, may be compared instead"
            )
    assert isinstance(one, Unit) and isinstance(other, Unit)
    return one, other, ()


def load_any(name: SpecifiedLike | SparseLike) -> Specified | SparseUnit:
    """The unit of a name: dense, of one mode or of several, or sparse. Raises as `load_unit`."""
    if isinstance(name, Unit | ModalUnit | SparseUnit):
        return name
    if isinstance(name, Mapping):
        data = copy.deepcopy(dict(name))
        if "sparsity" in data:
            return checked(SparseUnit, _with_dense(data, None))
        return checked(ModalUnit, data) if "modes" in data else checked(Unit, data)
    if not isinstance(name, (str, Path)):
        raise InputTypeError(f"unit must be a unit's name, a path, keys or a unit, not {type(name).__name__}")
    whole, _, mode = str(name).rpartition(":")
    if whole in _modal() or whole in _shipped() or whole.endswith(YAML):
        return _one_mode(load_specified(whole), mode)
    if isinstance(name, Path) or looks_like_path(name):
        return _from(Path(name))
    if name in _modal():
        return _modal_preset(name)
    if name in _sparse():
        return SparseUnit.model_validate(_with_dense(_sparse()[name], None))
    if name not in _shipped():
        raise SpecError(nearest("unit", name, [*presets(), *modal_presets(), *sparse_presets()]))
    return _preset(name)


def _with_dense(data: Mapping[str, Any], document: Document | None) -> dict[str, Any]:
    """The keys of a sparse unit, its dense one loaded. document: the file that they stand in."""
    dense = data.get("dense")
    if document is not None and isinstance(dense, dict):
        return {**data, "dense": written_out(dense, document, ("dense",))}
    if document is not None and isinstance(dense, str) and looks_like_path(dense):
        dense = document.path.parent / dense
    if not isinstance(dense, (str, Path, Mapping)):
        return dict(data)  # a Unit, or what is none
    try:
        if str(dense).endswith(YAML) and "sparsity" in read(Path(str(dense))).data:
            raise SpecError(f"{dense} is sparse")
        return {**data, "dense": load_unit(dense)}
    except SpecError as error:
        where = "" if document is None else f"{document.where(('dense',))}: "
        raise SpecError(f"{where}dense: {error}") from None


def _one_mode(unit: Specified, mode: str) -> Unit:
    if isinstance(unit, Unit):
        raise SpecError(f"unit {unit.name} has no modes, and so no mode {mode!r}")
    return unit.mode(mode)


@cache
def _preset(name: str) -> Unit:
    return Unit.model_validate(_shipped()[name])


@cache
def _modal_preset(name: str) -> ModalUnit:
    return ModalUnit.model_validate(_modal()[name])


def _from(path: Path) -> Specified | SparseUnit:
    document = read(path)
    if "sparsity" in document.data:
        keys = _with_dense(document.data, document)
        return validated(SparseUnit, Document(document.path, keys, document.lines))
    if "modes" not in document.data:
        return written_out(document.data, document)
    _resolve_paths(document.data, document.path.parent)
    return validated(ModalUnit, document)


def written_out(data: dict[str, Any], document: Document, prefix: Location = ()) -> Unit:
    """A unit whose keys are a whole document, or the part at `prefix`. Raises SpecError, naming the line."""
    _resolve_paths(data, document.path.parent)
    try:
        return Unit.model_validate(data)
    except ValidationError as error:
        raise explain_invalid(error, document, prefix) from None


FORMATS = {"a", "b", "addend", "format", "convert"}


def _resolve_paths(data: dict[str, Any], folder: Path) -> None:
    """Make the paths of format files relative to the file that names them."""

    def found(value: Any) -> Any:
        return str(folder / value) if isinstance(value, str) and looks_like_path(value) else value

    def walk(mapping: dict[str, Any]) -> None:
        for key, value in mapping.items():
            if isinstance(value, dict):
                walk(value)
            elif isinstance(value, list) and key == ANY:
                mapping[key] = list(map(found, value))
            elif key in FORMATS:
                mapping[key] = found(value)

    walk(data)


def as_yaml(unit: Specified | SparseUnit) -> str:
    """A unit as a YAML file that `load_any` reads back."""
    data = _say_none(unit.model_dump(mode="json", exclude_unset=True))
    if isinstance(unit, SparseUnit) and unit.dense.name in presets() and unit.dense == _preset(unit.dense.name):
        data["dense"] = unit.dense.name
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)


# Keys for which a file may state `none`.
MAY_BE_NONE = {
    "addend",
    "scale",
    "chain",
    "max_exp_floor",
    "product_limit",
    "drop_below",
    "total_bits",
    "promotion",
    "cut",
}


def _say_none(data: dict[str, Any]) -> dict[str, Any]:
    """The mapping with `none` for None in keys that may state it, and without other keys that hold None."""
    stated = {key: value for key, value in data.items() if value is not None or key in MAY_BE_NONE}
    words = {key: "none" if value is None else value for key, value in stated.items()}
    return {key: _say_none(value) if isinstance(value, dict) else value for key, value in words.items()}
