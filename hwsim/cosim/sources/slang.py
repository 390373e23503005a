"""Sources as slang reads them: one compilation, what libraries add to it, and the order that simulators need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyslang
from pyslang.ast import Compilation, CompilationFlags, CompilationOptions
from pyslang.syntax import SyntaxKind, SyntaxTree

from hwsim.cosim.sources.designsources import TIMESCALE, DesignSources
from hwsim.errors import InputError
from hwsim.formats.yamlfile import UNWRITABLE

AROUND = "hwsim_around"
SINGLE_UNIT = "--single-unit"
# What makes slang less strict, by its own name, and what it sets. `--single-unit`: definitions of a file hold in those
# that follow, as in both simulators.
EASING: dict[str, CompilationFlags] = {
    SINGLE_UNIT: CompilationFlags(0),
    "--allow-use-before-declare": CompilationFlags.AllowUseBeforeDeclare,
    "--allow-hierarchical-const": CompilationFlags.AllowHierarchicalConst,
    "--allow-merging-ansi-ports": CompilationFlags.AllowMergingAnsiPorts,
    "--allow-recursive-implicit-call": CompilationFlags.AllowRecursiveImplicitCall,
    "--allow-bare-value-param-assignment": CompilationFlags.AllowBareValParamAssignment,
    "--allow-self-determined-stream-concat": CompilationFlags.AllowSelfDeterminedStreamConcat,
    "--allow-array-concat-assign-pattern": CompilationFlags.AllowArrayConcatAssignPattern,
    "--allow-unnamed-generate": CompilationFlags.AllowUnnamedGenerate,
    "--relax-enum-conversions": CompilationFlags.RelaxEnumConversions,
    "--relax-string-conversions": CompilationFlags.RelaxStringConversions,
}
# Diagnostics that name what a library may have.
MISSING = {
    str(code)
    for code in (
        pyslang.Diags.UnknownModule,
        pyslang.Diags.UnknownInterface,
        pyslang.Diags.UnknownPackage,
        pyslang.Diags.UnknownClassOrPackage,
    )
}
DEFINITIONS = (SyntaxKind.ModuleDeclaration, SyntaxKind.InterfaceDeclaration, SyntaxKind.PackageDeclaration)


@dataclass(frozen=True)
class Compiled:
    """Sources that slang takes.

    compilation: slang's, without errors. ordered: sources in an order that simulators take, those of libraries too.
    read: every file that was read, included ones too.
    """

    compilation: Compilation
    ordered: tuple[Path, ...]
    read: tuple[Path, ...]


def compiled(sources: DesignSources, top: str | None, parameters: Mapping[str, int | str]) -> Compiled:
    """Compile a user's sources.

    Where a parameter is a type the top is `AROUND`, which instantiates the module: slang itself overrides values alone.
    Raises InputError for a file that is not there, and for what slang calls an error, naming file and line.
    """
    for path in (*sources.files, *sources.searched, *sources.libraries):
        if UNWRITABLE.search(str(path)):
            raise InputError(f"{path}: is no text in this locale; set PYTHONUTF8=1, or a locale of UTF-8")
    for source in sources.files:
        if source.is_dir():
            raise InputError(f"{source}: is a folder, not a source: name its files, or a list of them with --filelist")
        if not source.is_file():
            raise InputError(f"{source}: cannot be read: no such file")
    return _Compilation(sources, top, parameters).compiled()


def is_option(text: str) -> bool:
    """Whether that is one of the options that make slang less strict, or one of its warnings'."""
    if text in EASING:
        return True
    engine = pyslang.DiagnosticEngine(pyslang.SourceManager())
    return text.startswith("-W") and not list(engine.setWarningOptions([text[2:]]))


class _Compilation:
    """Sources while they are read. trees: by the file that each was read from; one for all in a single unit."""

    def __init__(self, sources: DesignSources, top: str | None, parameters: Mapping[str, int | str]):
        self.sources = sources
        self.bag = pyslang.Bag([_preprocessor(sources), _options(sources, top, parameters)])
        self.manager = pyslang.SourceManager()
        self.manager.setDisableProximatePaths(True)
        self.engine = pyslang.DiagnosticEngine(self.manager)
        self.engine.setWarningOptions([name[2:] for name in sources.easing if name.startswith("-W")])
        self.trees: dict[Path, SyntaxTree] = {}
        if SINGLE_UNIT in sources.easing:
            paths = [str(source) for source in sources.files]
            self.trees[sources.files[0]] = SyntaxTree.fromFiles(paths, self.manager, self.bag)
        else:
            self.trees |= {source: self._tree(source) for source in sources.files}
        self.library = _Library(sources)
        if top is not None and any(name in parameters for tree in self.trees.values() for name in _types(tree, top)):
            self.bag = pyslang.Bag([_preprocessor(sources), _options(sources, AROUND, {})])
            text = f"module {AROUND}; {top} #({overrides(parameters)}) dut(); endmodule\n"
            self.trees[Path(AROUND)] = SyntaxTree.fromText(text, self.manager, options=self.bag)

    def _tree(self, path: Path) -> SyntaxTree:
        return SyntaxTree.fromFile(str(path), self.manager, self.bag)

    def compiled(self) -> Compiled:
        """Everything, once no name is missing that a library has."""
        while True:
            compilation = Compilation(self.bag)
            for tree in self.trees.values():
                compilation.addSyntaxTree(tree)
            diagnostics = list(compilation.getAllDiagnostics())
            missing = [str(one.args[0]) for one in diagnostics if str(one.code) in MISSING and one.args]
            added = {path for name in missing for path in self.library.files_of(name)} - set(self.trees)
            if not added:
                break
            self.trees |= {path: self._tree(path) for path in sorted(added)}
        self._refuse_errors(diagnostics)
        files = {Path(str(self.manager.getFullPath(buffer))).resolve() for buffer in self.manager.getAllBuffers()}
        return Compiled(compilation, tuple(self._ordered()), tuple(sorted(path for path in files if path.is_file())))

    def _refuse_errors(self, diagnostics: Iterable[Any]) -> None:
        """Raise InputError with the first error of a compilation."""
        severe = (pyslang.DiagnosticSeverity.Error, pyslang.DiagnosticSeverity.Fatal)
        for diagnostic in diagnostics:
            if self.engine.getSeverity(diagnostic.code, diagnostic.location) in severe:
                file = self.manager.getFileName(diagnostic.location)
                line = self.manager.getLineNumber(diagnostic.location)
                where = f"{file}:{line}" if file else str(self.sources.files[0])
                raise InputError(f"{where}: {self.engine.formatMessage(diagnostic)}{_hint(diagnostic)}")

    def _ordered(self) -> Iterator[Path]:
        """Every source after those with the packages that it names, and otherwise as given; then the libraries'.

        In a single unit the order is the user's own, and what libraries have comes first.
        """
        given = self.sources.files
        libraries = [path for path in self.trees if path not in given and path != Path(AROUND)]
        if SINGLE_UNIT in self.sources.easing:
            yield from [*libraries, *given]
            return
        order = [*given, *libraries]
        packages = {name: path for path, tree in self.trees.items() for name in _defined(tree, packages=True)}
        named = {path: _named(tree) if packages else set[str]() for path, tree in self.trees.items()}
        needs = {path: {packages[name] for name in names & set(packages)} for path, names in named.items()}
        done, begun = dict[Path, None](), set[Path]()

        def place(path: Path) -> None:
            if path not in begun:
                begun.add(path)
                for other in order:
                    if other in needs[path]:
                        place(other)
                done[path] = None

        for path in order:
            place(path)
        yield from done


class _Library:
    """Where names are looked for that no source has."""

    def __init__(self, sources: DesignSources):
        self.suffixes = sources.suffixes
        self.folders = [place for place in sources.libraries if place.is_dir()]
        self.files = [place for place in sources.libraries if not place.is_dir()]
        self._names: dict[Path, set[str]] | None = None

    def files_of(self, name: str) -> Iterator[Path]:
        """The file that defines a module, an interface or a package of that name, if a library has one."""
        if self._names is None:
            self._names = {path: set(_defined(SyntaxTree.fromFile(str(path)))) for path in self.files}
        for path, names in self._names.items():
            if name in names:
                yield path
                return
        for folder in self.folders:
            for suffix in self.suffixes:
                path = folder / f"{name}{suffix}"
                if path.is_file():
                    yield path.resolve()
                    return


def overrides(parameters: Mapping[str, int | str]) -> str:
    """Parameters as an instance has them."""
    return ", ".join(f".{name}({value})" for name, value in parameters.items())


def _preprocessor(sources: DesignSources) -> pyslang.parsing.PreprocessorOptions:
    options = pyslang.parsing.PreprocessorOptions()
    options.predefines = list(sources.defines)
    options.additionalIncludePaths = [str(folder) for folder in sources.searched]
    return options


def _options(sources: DesignSources, top: str | None, parameters: Mapping[str, int | str]) -> CompilationOptions:
    options = CompilationOptions()
    options.paramOverrides = [f"{name}={value}" for name, value in parameters.items()]
    options.defaultTimeScale = pyslang.TimeScale.fromString(TIMESCALE)
    # An interface as a port is refused by hwsim, which says what is in it.
    options.flags |= CompilationFlags.AllowTopLevelIfacePorts
    for name in sources.easing:
        if not name.startswith("-W"):
            options.flags |= EASING[name]
    if top is not None:
        options.topModules = {top}
    return options


HINTS = {
    str(pyslang.Diags.UsedBeforeDeclared): "--allow-use-before-declare",
    str(pyslang.Diags.UnknownDirective): SINGLE_UNIT,
}


def _hint(diagnostic: Any) -> str:
    """What in the file would have slang take what simulators take."""
    option = HINTS.get(str(diagnostic.code))
    return f"; where simulators take it, write slang: [{option}]" if option else ""


def _defined(tree: SyntaxTree, packages: bool = False) -> Iterator[str]:
    """The names of a tree's modules, interfaces and packages, or of its packages alone."""
    root: Any = tree.root
    members = root.members if root.kind == SyntaxKind.CompilationUnit else [root]
    for member in members:
        if member.kind in DEFINITIONS and (not packages or member.kind == SyntaxKind.PackageDeclaration):
            yield str(member.header.name.valueText)


def _types(tree: SyntaxTree, top: str) -> Iterator[str]:
    """The names of a module's parameters that are types."""
    root: Any = tree.root
    for member in root.members if root.kind == SyntaxKind.CompilationUnit else [root]:
        if member.kind == SyntaxKind.ModuleDeclaration and member.header.name.valueText == top:
            listed = member.header.parameters
            for declaration in listed.declarations if listed is not None else ():
                if declaration.kind == SyntaxKind.TypeParameterDeclaration:
                    yield from (str(one.name.valueText) for one in declaration.declarators)


def _named(tree: SyntaxTree) -> set[str]:
    """Names before `::` in a tree, of packages or of classes."""
    names = set[str]()

    def visit(node: Any) -> None:
        kind = getattr(node, "kind", None)
        if kind == SyntaxKind.PackageImportItem:
            names.add(str(node.package.valueText))
        elif kind == SyntaxKind.ScopedName and hasattr(node.left, "identifier"):
            names.add(str(node.left.identifier.valueText))

    tree.root.visit(visit)
    return names
