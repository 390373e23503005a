"""A user's sources, read with slang: the top module's ports and parameters, and every file that was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyslang

from hwsim.errors import InputError

MOST_NAMES = 12  # that an error lists


@dataclass(frozen=True)
class Port:
    """A port of the top module.

    direction: `in`, `out` or `inout`. left, right: its range as declared; both 0 for a single bit.
    elements: for an array of packed words, the indices as declared, the first one first; empty for an ordinary port.
    """

    name: str
    direction: str
    left: int = 0
    right: int = 0
    elements: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """Bits of the port, or of one of its elements."""
        return abs(self.left - self.right) + 1

    def place(self, index: int) -> int:
        """Where the bit of that index stands, counted from the least significant one.

        Raises ValueError for an index that the port does not have.
        """
        if not min(self.left, self.right) <= index <= max(self.left, self.right):
            raise InputError(f"has bits {self.left} to {self.right}, not {index}")
        return abs(index - self.right)


@dataclass(frozen=True)
class Module:
    """The top module as it is elaborated. files: every file that was read, included ones too."""

    name: str
    ports: tuple[Port, ...]
    parameters: tuple[tuple[str, str], ...]
    files: tuple[Path, ...]

    @property
    def by_name(self) -> dict[str, Port]:
        """The ports by name."""
        return {port.name: port for port in self.ports}


def read_module(
    sources: Sequence[Path],
    top: str | None = None,
    parameters: Mapping[str, int | str] | None = None,
    include: Sequence[Path] = (),
    defines: Mapping[str, int | str] | None = None,
) -> Module:
    """Elaborate a user's sources.

    top: the module's name, or None for the only one that no other instantiates.
    Raises ValueError for a file that cannot be read, for what slang calls an error, naming file and line, and for a
    top module that is not there or that is not the only candidate.
    """
    for source in sources:
        if not source.is_file():
            raise InputError(f"{source}: cannot be read: no such file")
    preprocessor = pyslang.parsing.PreprocessorOptions()
    preprocessor.predefines = [f"{name}={value}" for name, value in (defines or {}).items()]
    preprocessor.additionalIncludePaths = [str(folder) for folder in include]
    options = pyslang.ast.CompilationOptions()
    options.paramOverrides = [f"{name}={value}" for name, value in (parameters or {}).items()]
    if top is not None:
        options.topModules = {top}
    bag = pyslang.Bag([preprocessor, options])
    manager = pyslang.SourceManager()
    manager.setDisableProximatePaths(True)
    compilation = pyslang.ast.Compilation(bag)
    for source in sources:
        compilation.addSyntaxTree(pyslang.syntax.SyntaxTree.fromFile(str(source), manager, bag))
    _refuse_errors(compilation, manager, sources[0])
    tops = list(compilation.getRoot().topInstances)
    if len(tops) != 1:
        found = ", ".join(sorted(instance.name for instance in tops)[:MOST_NAMES]) or "none"
        raise InputError(f"{sources[0]}: the sources must have one top module, not {found}; name it")
    body = tops[0].body
    known = {str(one.name) for one in body.parameters if not one.isLocalParam}
    for name in parameters or {}:
        if name not in known:
            raise InputError(f"{sources[0]}: {top} has parameters {', '.join(sorted(known)) or 'none'}, not {name}")
    files = {Path(str(manager.getFullPath(buffer))).resolve() for buffer in manager.getAllBuffers()}
    return Module(
        name=str(tops[0].definition.name),
        ports=tuple(_port(port) for port in body.portList),
        parameters=tuple((str(one.name), str(one.value)) for one in body.parameters if not one.isLocalParam),
        files=tuple(sorted(path for path in files if path.is_file())),
    )


def _refuse_errors(compilation: Any, manager: Any, source: Path) -> None:
    """Raise ValueError with the first error of a compilation."""
    engine = pyslang.DiagnosticEngine(manager)
    severe = (pyslang.DiagnosticSeverity.Error, pyslang.DiagnosticSeverity.Fatal)
    for diagnostic in compilation.getAllDiagnostics():
        if engine.getSeverity(diagnostic.code, diagnostic.location) in severe:
            file = manager.getFileName(diagnostic.location)
            where = f"{file}:{manager.getLineNumber(diagnostic.location)}" if file else str(source)
            raise InputError(f"{where}: {engine.formatMessage(diagnostic)}")


DIRECTIONS = {"In": "in", "Out": "out"}


def _port(port: Any) -> Port:
    direction = DIRECTIONS.get(port.direction.name, "inout")
    kind = port.type
    elements: tuple[int, ...] = ()
    if kind.isUnpackedArray and kind.hasFixedRange:
        first, last = kind.range.left, kind.range.right
        step = 1 if last >= first else -1
        elements, kind = tuple(range(first, last + step, step)), kind.arrayElementType
    if not kind.isIntegral:
        raise InputError(f"port {port.name} must be bits, or one array of them, not {port.type}")
    packed = getattr(kind, "range", None)  # of several packed dimensions the outermost, which counts no bits
    if packed is not None and packed.width == kind.bitWidth:
        return Port(str(port.name), direction, packed.left, packed.right, elements)
    return Port(str(port.name), direction, kind.bitWidth - 1, 0, elements)
