"""The keys of a design's file that say where its sources are, and the sources that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from hwsim.cosim.dut.dutpart import DutPart, Name, Parameter
from hwsim.cosim.sources.corefile import read_core
from hwsim.cosim.sources.designsources import SUFFIXES, DesignSources
from hwsim.cosim.sources.filelist import read_list
from hwsim.cosim.sources.slang import EASING, is_option
from hwsim.formats.yamlfile import Document, Location, RuleError, SpecError


class FileList(DutPart):
    """A file list. base: the folder in which its paths start; that of the design's file unless given."""

    file: str
    base: str = ""


class FusesocCore(DutPart):
    """A core of FuseSoC's, or a design that it resolved. target: of a core."""

    file: str
    target: str | None = None


def _named(value: Any) -> Any:
    """The short form: the file's name alone."""
    return {"file": value} if isinstance(value, str) else value


class SourceKeys(DutPart):
    """Where the sources are.

    sources: files. filelists: lists of files, as simulators take with `-f`. core: of FuseSoC. libraries: folders and
    files in which modules and packages are looked for that no source has. include: folders of included files.
    slang: options that make slang take what simulators take.
    """

    sources: tuple[str, ...] = ()
    filelists: tuple[Annotated[FileList, BeforeValidator(_named)], ...] = ()
    core: Annotated[FusesocCore, BeforeValidator(_named)] | None = None
    libraries: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    defines: dict[Name, Parameter] = Field(default_factory=dict)
    slang: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _some(self) -> SourceKeys:
        if not (self.sources or self.filelists or self.core):
            raise RuleError("sources", "must name a file, unless filelists or core does")
        for index, option in enumerate(self.slang):
            if not is_option(option):
                raise RuleError(
                    f"slang.{index}", f"must be {', '.join(EASING)} or a -W option of slang's, not {option}"
                )
        return self


def sources_of(keys: SourceKeys, document: Document) -> DesignSources:
    """The sources that a design's file names, by paths from where it is. Raises InputError for what is not there."""
    return _NamedSources(keys, document).all()


class _NamedSources:
    """The sources while their keys are followed."""

    def __init__(self, keys: SourceKeys, document: Document):
        self.keys, self.document, self.here = keys, document, document.path.parent

    def all(self) -> DesignSources:
        keys = self.keys
        found = DesignSources(
            files=tuple(self._paths("sources", keys.sources, Path.is_file, "no file")),
            include=tuple(self._paths("include", keys.include, Path.is_dir, "no folder")),
            libraries=tuple(self._paths("libraries", keys.libraries, Path.exists, "neither file nor folder")),
            suffixes=(),
            easing=keys.slang,
        )
        for index, named in enumerate(keys.filelists):
            at = ("filelists", index)
            base = self._path((*at, "base"), named.base, Path.is_dir, "no folder") if named.base else self.here
            found = found.then(read_list(self._path(at, named.file, Path.is_file, "no file"), base))
        if keys.core is not None:
            core = self._path(("core",), keys.core.file, Path.is_file, "no file")
            found = found.then(read_core(core, keys.core.target))
        if not found.files:
            raise SpecError(f"{self.document.path}: sources, filelists and core name no source")
        own = {name: f"{name}={value}" for name, value in keys.defines.items()}
        listed = [define for define in found.defines if define.partition("=")[0] not in own]
        return DesignSources(
            files=found.files, include=found.include, defines=(*listed, *own.values()), libraries=found.libraries,
            suffixes=found.suffixes or SUFFIXES, easing=found.easing,
        )  # fmt: skip

    def _paths(self, key: str, names: tuple[str, ...], is_one: Callable[[Path], bool], missing: str) -> Iterator[Path]:
        for index, name in enumerate(names):
            yield self._path((key, index), name, is_one, missing).resolve()

    def _path(self, key: Location, name: str, is_one: Callable[[Path], bool], missing: str) -> Path:
        """A path that is there; none has a name that is too long."""
        path = self.here / name
        try:
            there = is_one(path)
        except (OSError, ValueError):
            there = False
        if not there:
            raise SpecError(f"{self.document.where(key)}: {'.'.join(map(str, key))} is {missing}: {path.resolve()}")
        return path
