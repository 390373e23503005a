"""The sources of a user's design: files, lists of files and cores, and what slang compiles of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pyslang
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pyslang.ast import Compilation, CompilationFlags, CompilationOptions
from pyslang.syntax import SyntaxKind, SyntaxTree

from hwsim.base.errors import InputError
from hwsim.base.files import contents
from hwsim.formats.yamlfile import UNWRITABLE, Document, Location, SpecError, explain_invalid, read

T = TypeVar("T")

SUFFIXES = (".v", ".sv")
TIMESCALE = "1ns/1ps"  # of files without one of their own, for slang and both simulators


@dataclass(frozen=True, kw_only=True)
class DesignSources:
    """The Verilog and SystemVerilog files of a design, as a user names them.

    files: in the order given. include: folders of `include`. defines: `NAME=value`. libraries: folders and files in
    which modules, interfaces and packages are looked for that no file has. suffixes: of files in library folders.
    easing: options of slang that make it less strict, keys of `hwsim.cosim.sources.EASING` or `-W` options.
    """

    files: tuple[Path, ...]
    include: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    libraries: tuple[Path, ...] = ()
    suffixes: tuple[str, ...] = SUFFIXES
    easing: tuple[str, ...] = ()

    @property
    def searched(self) -> tuple[Path, ...]:
        """Folders in which included files are looked for: those given, then those of the files themselves."""
        return tuple(dict.fromkeys([*self.include, *(file.parent for file in self.files)]))

    def then(self, other: DesignSources) -> DesignSources:
        """These sources followed by others; a file, a folder or a define that stands twice counts once."""
        return replace(
            self,
            files=_once(self.files, other.files),
            include=_once(self.include, other.include),
            defines=_once(self.defines, other.defines),
            libraries=_once(self.libraries, other.libraries),
            suffixes=_once(self.suffixes, other.suffixes),
            easing=_once(self.easing, other.easing),
        )


def _once(first: Sequence[T], second: Sequence[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys([*first, *second]))


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
    """True if a word is one of the options that make slang less strict, or an option of one of its warnings."""
    if text in EASING:
        return True
    engine = pyslang.DiagnosticEngine(pyslang.SourceManager())
    return text.startswith("-W") and not list(engine.setWarningOptions([text[2:]]))


class _Compilation:
    """A compilation in the making. trees: by the file that each was read from; one for all in a single unit."""

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
        """Read and compile everything, until no name is missing that a library has."""
        while True:
            compilation = Compilation(self.bag)
            for tree in self.trees.values():
                compilation.addSyntaxTree(tree)
            diagnostics = list(compilation.getAllDiagnostics())
            missing = [
                str(diagnostic.args[0])
                for diagnostic in diagnostics
                if str(diagnostic.code) in MISSING and diagnostic.args
            ]
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
        """Sort sources: each after those with the packages that it names, otherwise as given; then the libraries'.

        In a single unit the order is the user's own, and what libraries have comes first.
        """
        files = self.sources.files
        libraries = [path for path in self.trees if path not in files and path != Path(AROUND)]
        if SINGLE_UNIT in self.sources.easing:
            yield from [*libraries, *files]
            return
        order = [*files, *libraries]
        packages = {name: path for path, tree in self.trees.items() for name in _defined(tree, packages=True)}
        named = {path: _named(tree) if packages else set[str]() for path, tree in self.trees.items()}
        needs = {path: {packages[name] for name in names & set(packages)} for path, names in named.items()}
        done, begun = dict[Path, None](), set[Path]()

        def place(path: Path) -> None:
            if path not in begun:
                begun.add(path)
                for needed in order:
                    if needed in needs[path]:
                        place(needed)
                done[path] = None

        for path in order:
            place(path)
        yield from done


class _Library:
    """The folders and files in which names are looked for that no source has."""

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
    """Parameters as overrides of an instance."""
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
    """The key of the file that would have slang take what simulators take."""
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
    """The names of a module's type parameters."""
    root: Any = tree.root
    for member in root.members if root.kind == SyntaxKind.CompilationUnit else [root]:
        if member.kind == SyntaxKind.ModuleDeclaration and member.header.name.valueText == top:
            listed = member.header.parameters
            for declaration in listed.declarations if listed is not None else ():
                if declaration.kind == SyntaxKind.TypeParameterDeclaration:
                    yield from (str(declarator.name.valueText) for declarator in declaration.declarators)


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


MOST_BYTES, MOST_WORDS, MOST_NESTED = 1 << 22, 100_000, 20
# A comment begins a line or follows a space: `//` inside a path is none.
COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|(?<!\S)//[^\n]*|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)
WORD = re.compile(r'(?:"[^"\n]*"|\\.|[^\s"])+')
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|\((\w+)\)|(\w+))")
# Of the language, which hwsim has both simulators read as SystemVerilog, and of warnings.
# and of the time scale of files without one of their own, which it says too.
SAYS_NOTHING = re.compile(
    r"-(sv|sverilog|g20\d\d(-sv)?|W(all|error|fatal|no-.*|warn-.*))|\+systemverilogext\+.*"
    r"|--?timescale=.*|\+timescale\+.*"
)
WITH_VALUE = ("-timescale", "--timescale")  # that say nothing, and the word behind them neither
# slang's longer names, Verilator's, and those of the kind `+name+value+value`.
SHORT = {
    "--include-directory": "-I", "--isystem": "-I", "--define-macro": "-D", "--libdir": "-y", "--libfile": "-v",
    "--libext": "-Y", "+incdir": "-I", "+define": "-D", "+libext": "-Y", "+libdir": "-y",
}  # fmt: skip
# Options that name places: what they are in `DesignSources`, and what must be there.
PLACES: dict[str, tuple[str, Callable[[Path], bool], str]] = {
    "-I": ("include", Path.is_dir, "folder"),
    "-v": ("libraries", Path.is_file, "file"),
    "-y": ("libraries", Path.is_dir, "folder"),
}
KNOWN = "a file, -f, -F, -v, -y, -Y, -I, -D, +incdir+, +define+, +libext+, +libdir+ or an option of `slang`"


def read_list(path: Path, base: Path) -> DesignSources:
    """Read a file list. base: the folder in which its paths start.

    The list may have `-f LIST`, whose paths start in `base` too, and `-F LIST`, whose paths start where it is; comments
    of `//`, `/* */` and `#`; quotes; variables of the environment.
    Raises InputError for a list that cannot be read, and for an option or a file that is not known, naming list and
    line.
    """
    reader = _ListReader()
    reader.read(path, base, ())
    return DesignSources(**{name: tuple(named) for name, named in reader.found.items()})


class _ListReader:
    def __init__(self) -> None:
        names = "files", "include", "defines", "libraries", "suffixes", "easing"
        self.found: dict[str, list[Any]] = {name: [] for name in names}
        self.count = 0

    def read(self, path: Path, base: Path, above: tuple[Path, ...]) -> None:
        """Read one list. above: the lists that name it, each resolved."""
        try:
            text = contents(path, MOST_BYTES).decode()
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: cannot be read: {error}") from None
        words = _words(text, path)
        for line, word in words:
            where = f"{path}:{line}"
            self.count += 1
            if self.count > MOST_WORDS:
                raise InputError(f"{where}: file lists must not have more than {MOST_WORDS:,} words")

            def following(option: str, at: str = where) -> str:
                after = next(words, None)
                if after is None:
                    raise InputError(f"{at}: {option} must be followed by a name")
                return _expanded(after[1], at)

            self._take(_expanded(word, where), following, where, base, (*above, path.resolve()))

    def _take(
        self, word: str, following: Callable[[str], str], where: str, base: Path, inside: tuple[Path, ...]
    ) -> None:
        """Note the meaning of one word, and of the name after it where the word asks for one."""
        option, values = _option(word)
        if option in PLACES or option in ("-D", "-Y"):
            values = [following(option)] if values is None else values
        if option in ("-f", "-F"):
            nested = base / following(option)
            if nested.resolve() in inside or len(inside) > MOST_NESTED:
                raise InputError(f"{where}: {option} must not name a list that names this one, or one nested so deep")
            _check(nested, Path.is_file, "file", where)
            self.read(nested, base if option == "-f" else nested.parent, inside)
        elif option in PLACES:
            key, is_one, kind = PLACES[option]
            self.found[key] += [_check(base / value, is_one, kind, where) for value in values or ()]
        elif option == "-D":
            self.found["defines"] += [defined(value, where) for value in values or ()]
        elif option == "-Y":
            self.found["suffixes"] += [suffix for value in values or () for suffix in value.split(",") if suffix]
        elif option in WITH_VALUE:
            following(option)
        elif option in EASING:
            self.found["easing"].append(option)
        elif not word.startswith(("-", "+")):
            self.found["files"].append(_check(base / word, Path.is_file, "file", where))
        elif not SAYS_NOTHING.fullmatch(word):
            raise InputError(f"{where}: must be {KNOWN}, not {word}")


def _option(word: str) -> tuple[str, list[str] | None]:
    """Split an option into its short name and the values in the same word; None where none may follow."""
    if word.startswith("+"):
        _, name, *values = word.split("+")
        return SHORT.get(f"+{name}", word), [value for value in values if value]
    name, equals, value = word.partition("=")
    if name in SHORT and equals:
        return SHORT[name], [value]
    if word[:2] in ("-I", "-D") and word[2:]:
        return word[:2], [word[2:]]
    return SHORT.get(word, word), None


def _words(text: str, path: Path) -> Iterator[tuple[int, str]]:
    """Split text into words, with their lines, counted from 1; a comment leaves only its line ends behind.

    Raises InputError for a comment that does not end.
    """

    def ends(comment: re.Match[str]) -> str:
        if comment[0].startswith("/*") and not (comment[0].endswith("*/") and len(comment[0]) > 3):
            line = text.count("\n", 0, comment.start()) + 1
            raise InputError(f"{path}:{line}: the comment that begins here has no end")
        return " " + "\n" * comment[0].count("\n")

    bare = COMMENT.sub(ends, text)
    for line, content in enumerate(bare.split("\n"), 1):
        for word in WORD.finditer(content):
            yield line, re.sub(r"\\(.)", r"\1", word[0].replace('"', ""))


def _expanded(word: str, where: str) -> str:
    """A word with the values of the environment's variables in it."""

    def value(variable: re.Match[str]) -> str:
        name = variable[1] or variable[2] or variable[3]
        if name not in os.environ:
            raise InputError(f"{where}: {word} names the variable {name}, which the environment does not have")
        return os.environ[name]

    return VARIABLE.sub(value, word)


def is_there(path: Path, is_one: Callable[[Path], bool]) -> bool:
    """True if there is something of that kind at a path; a name that is too long has nothing."""
    try:
        return is_one(path)
    except (OSError, ValueError):
        return False


def _check(path: Path, is_one: Callable[[Path], bool], kind: str, where: str) -> Path:
    """Resolve a path. Raises InputError where nothing of that kind is there."""
    if not is_there(path, is_one):
        raise InputError(f"{where}: is no {kind}: {path}")
    return path.resolve()


DEFINE = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(=.*)?", re.DOTALL)


def defined(text: str, where: str) -> str:
    """A define as `NAME=value`; 1 where there is no value. Raises InputError, beginning with `where`, for no name."""
    if not DEFINE.fullmatch(text):
        raise InputError(f"{where}: a define must be NAME or NAME=value, not {text}")
    return text if "=" in text else f"{text}=1"


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
    files = list[Any]()
    for file in value:
        if isinstance(file, str):
            files.append({"name": file})
        elif isinstance(file, dict) and "name" not in file:
            files += [
                {**keys, "name": name} if isinstance(keys, dict) else {"name": name} for name, keys in file.items()
            ]
        else:
            files.append(file)
    return files


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
    document, defines = read(path), tuple[str, ...]()
    named: list[tuple[_File, str, Location]]
    try:
        if path.name.endswith(RESOLVED):
            design = _Resolved.model_validate(document.data)
            named = [(file, file.file_type, ("files",)) for file in design.files]
            defines = tuple(_defines(design))
        else:
            named = list(_of_core(document, _Core.model_validate(document.data), target))
    except ValidationError as error:
        raise explain_invalid(error, document) from None
    files, include = list[Path](), list[Path]()
    for file, kind, key in named:
        if "?" in file.name:
            raise _wrong(document, key, f"must name files, not {file.name}: {LET_IT}")
        if kind.startswith(OTHER_HDL):
            raise _wrong(document, key, f"must be Verilog or SystemVerilog, not {file.name} ({kind})")
        if not kind.startswith(VERILOG):
            continue  # in no language of circuits
        source = document.path.parent / file.name
        if not source.is_file():
            raise _wrong(document, key, f"names no file: {source}")
        if file.is_include_file:
            place = document.path.parent / file.include_path if file.include_path else source.parent
            include.append(place.resolve())
        else:
            files.append(source.resolve())
    if not files:
        raise SpecError(f"{document.path}: must have a Verilog source; it has none")
    return DesignSources(files=tuple(files), include=tuple(dict.fromkeys(include)), defines=defines)


def _of_core(document: Document, core: _Core, target: str | None) -> Iterator[tuple[_File, str, Location]]:
    """The files of a core's target, the kind of each, and the key that names them."""
    chosen = target or "default"
    if target is not None and target not in core.targets:
        known = ", ".join(core.targets) or "none"
        raise InputError(f"{document.where(('targets',))}: targets are {known}, not {target}")
    for name in core.targets[chosen].every if chosen in core.targets else tuple(core.filesets):
        if name not in core.filesets:
            rule = f"must name file sets ({', '.join(core.filesets)}), not {name}: {LET_IT}"
            raise _wrong(document, ("targets", chosen, "filesets"), rule)
        held = core.filesets[name]
        if held.depend:
            rule = f"must be empty, not {', '.join(held.depend)}: {LET_IT}"
            raise _wrong(document, ("filesets", name, "depend"), rule)
        yield from ((file, file.file_type or held.file_type, ("filesets", name, "files")) for file in held.files)


def _defines(design: _Resolved) -> Iterator[str]:
    for name, parameter in design.parameters.items():
        if parameter.paramtype == "vlogdefine" and parameter.default is not None:
            default = parameter.default
            yield f"{name}={int(default) if isinstance(default, bool) else default}"


def _wrong(document: Document, key: Location, rule: str) -> SpecError:
    return SpecError(f"{document.where(key)}: {'.'.join(map(str, key))} {rule}")
