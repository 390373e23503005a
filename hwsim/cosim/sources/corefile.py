"""Sources that FuseSoC knows: a core, as its author writes it, or the whole design, as FuseSoC resolves it.

FuseSoC itself is no dependency. What a core alone says (CAPI2) is read here; dependencies and conditions are FuseSoC's
own, and `fusesoc run --setup` writes what it makes of them, a file of metadata (EDAM) that is read here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from hwsim.cosim.sources.designsources import DesignSources
from hwsim.errors import InputError
from hwsim.formats.invalid import explain_invalid
from hwsim.formats.yamlfile import Document, Location, SpecError, read

RESOLVED = (".eda.yml", ".eda.yaml")
VERILOG, OTHER_HDL = ("verilogSource", "systemVerilogSource"), ("vhdlSource",)
LET_IT = "`fusesoc run --setup` resolves it: name the .eda.yml file that it writes"


class _Described(BaseModel):
    """A part of a file of FuseSoC's, which may have more keys than are read here."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _File(_Described):
    name: str
    file_type: str = ""
    is_include_file: bool = False
    include_path: str = ""


def _files(value: Any) -> Any:
    """A core's files, `path` or `path: {keys}`, with their names as a key."""
    if not isinstance(value, list):
        return value
    found = list[Any]()
    for one in value:
        if isinstance(one, str):
            found.append({"name": one})
        elif isinstance(one, dict) and "name" not in one:
            found += [
                {**keys, "name": name} if isinstance(keys, dict) else {"name": name} for name, keys in one.items()
            ]
        else:
            found.append(one)
    return found


class _FileSet(_Described):
    file_type: str = ""
    files: Annotated[tuple[_File, ...], BeforeValidator(_files)] = ()
    depend: tuple[str, ...] = ()


class _Target(_Described):
    filesets: tuple[str, ...] = ()
    filesets_append: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        return (*self.filesets, *self.filesets_append)


class _Core(_Described):
    filesets: dict[str, _FileSet]
    targets: dict[str, _Target] = {}


class _Define(_Described):
    paramtype: str
    default: int | str | bool | None = None


class _Resolved(_Described):
    files: tuple[_File, ...]
    parameters: dict[str, _Define] = {}


def read_core(path: Path, target: str | None) -> DesignSources:
    """The Verilog sources of a core, or of a design that FuseSoC resolved (`.eda.yml`).

    target: of a core; `default` unless given, or all of its file sets where it has no targets.
    Raises InputError for a file that is not there or in VHDL, and for what FuseSoC alone can resolve, naming line and
    key.
    """
    document = read(path)
    try:
        if path.name.endswith(RESOLVED):
            return _of_resolved(document, _Resolved.model_validate(document.data))
        return _of_core(document, _Core.model_validate(document.data), target)
    except ValidationError as error:
        raise explain_invalid(error, document) from None


def _of_core(document: Document, core: _Core, target: str | None) -> DesignSources:
    chosen = target or "default"
    if target is not None and target not in core.targets:
        known = ", ".join(core.targets) or "none"
        raise InputError(f"{document.where(('targets',))}: targets are {known}, not {target}")
    names = core.targets[chosen].every if chosen in core.targets else tuple(core.filesets)
    gathered = _Gathered(document)
    for name in names:
        if name not in core.filesets:
            rule = f"must name file sets ({', '.join(core.filesets)}), not {name}: {LET_IT}"
            raise _wrong(document, ("targets", chosen, "filesets"), rule)
        held = core.filesets[name]
        if held.depend:
            rule = f"must be empty, not {', '.join(held.depend)}: {LET_IT}"
            raise _wrong(document, ("filesets", name, "depend"), rule)
        for file in held.files:
            gathered.take(file, file.file_type or held.file_type, ("filesets", name, "files"))
    return gathered.sources(())


def _of_resolved(document: Document, design: _Resolved) -> DesignSources:
    gathered = _Gathered(document)
    for file in design.files:
        gathered.take(file, file.file_type, ("files",))
    return gathered.sources(tuple(_defines(design)))


def _defines(design: _Resolved) -> Iterator[str]:
    for name, parameter in design.parameters.items():
        if parameter.paramtype == "vlogdefine" and parameter.default is not None:
            default = parameter.default
            yield f"{name}={int(default) if isinstance(default, bool) else default}"


@dataclass
class _Gathered:
    """Files, and folders of those that are included."""

    document: Document

    def __post_init__(self) -> None:
        self.files: list[Path] = []
        self.include: list[Path] = []

    def take(self, file: _File, kind: str, key: Location) -> None:
        """One file; what is neither Verilog nor another language of circuits is no source."""
        if "?" in file.name:
            raise _wrong(self.document, key, f"must name files, not {file.name}: {LET_IT}")
        if kind.startswith(OTHER_HDL):
            raise _wrong(self.document, key, f"must be Verilog or SystemVerilog, not {file.name} ({kind})")
        if not kind.startswith(VERILOG):
            return
        path = self.document.path.parent / file.name
        if not path.is_file():
            raise _wrong(self.document, key, f"names no file: {path}")
        if file.is_include_file:
            place = self.document.path.parent / file.include_path if file.include_path else path.parent
            self.include.append(place.resolve())
        else:
            self.files.append(path.resolve())

    def sources(self, defines: tuple[str, ...]) -> DesignSources:
        """What was taken. Raises SpecError for none."""
        if not self.files:
            raise SpecError(f"{self.document.path}: must have a Verilog source; it has none")
        return DesignSources(files=tuple(self.files), include=tuple(dict.fromkeys(self.include)), defines=defines)


def _wrong(document: Document, key: Location, rule: str) -> SpecError:
    return SpecError(f"{document.where(key)}: {'.'.join(map(str, key))} {rule}")
