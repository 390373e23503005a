"""hwsim's own files: its code, known by its content, the pages of docs and the capture program.

A version may stay the same while the code changes. Pages are beside the package in a checkout, in it once installed.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from hwsim.base.errors import InputError

PACKAGE = Path(__file__).resolve().parents[1]
# Folders whose YAML files are no units and no formats: studies, and recipes of models.
NOT_UNITS = {PACKAGE / "study", PACKAGE / "torch", PACKAGE / "training"}
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+((?:hwsim|\.)[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+(hwsim[^\n]*))",
    re.MULTILINE,
)


@cache
def identity(module: str) -> str:
    """32 hexadecimal digits that stand for what a module computes: its code, and the units and formats of hwsim.

    Results that have other digits were made by other code, and may differ.
    """
    content = hashlib.sha256(digest_of(module).encode())
    for path in sorted(file for file in PACKAGE.rglob("*.yaml") if not set(file.parents) & NOT_UNITS):
        content.update(f"{path.relative_to(PACKAGE)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return content.hexdigest()[:32]


@cache
def digest_of(module: str, root: Path = PACKAGE) -> str:
    """A digest of the files of a module and of all modules that it may call. root: the folder of `hwsim`."""
    content = hashlib.sha256()
    for name in sorted(reachable_modules(module, root)):
        content.update(f"{name}\0".encode() + hashlib.sha256(_file(name, root).read_bytes()).digest())
    return content.hexdigest()


def reachable_modules(module: str, root: Path = PACKAGE) -> set[str]:
    """A module and all modules of this package that it imports, directly or not, by their import statements."""
    reached, pending = set[str](), [module]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += imported_modules(name, root)
    return reached


@cache
def imported_modules(module: str, root: Path = PACKAGE) -> frozenset[str]:
    """The modules of this package that a module imports, within functions and for types too."""
    names: set[str] = set()
    path = _file(module, root)
    inside = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for imported, members, modules in IMPORT.findall(path.read_text(encoding="utf-8")):
        package = resolve_name(imported, inside) if imported.startswith(".") else imported
        names |= {package, *(f"{package}.{member}" for member in re.findall(r"\w+", members))} if package else set()
        names |= set(re.findall(r"hwsim[\w.]*", modules))
    return frozenset(name for name in names if _file(name, root).is_file())


def _file(module: str, root: Path) -> Path:
    """A module's file. `rtl` and `tb` are beside `hwsim` until they are installed."""
    parts = module.split(".")[1:]
    path = (root.parent if parts[:1] in (["rtl"], ["tb"]) and not (root / parts[0]).is_dir() else root).joinpath(*parts)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


CAPTURE = "capture"
START = "README"


def folder(name: str) -> Path:
    """The folder `docs` or `capture`, which a wheel has in the package, and a checkout beside it."""
    installed = PACKAGE / name
    return installed if installed.is_dir() else PACKAGE.parent / name


def pages() -> dict[str, Path]:
    """Every page, by the name that `hwsim docs` takes: dut, studies/mx; `capture` is the capture program's own."""
    docs = folder("docs")
    by_name = {str(path.relative_to(docs).with_suffix("")): path for path in sorted(docs.rglob("*.md"))}
    capture = folder(CAPTURE) / "README.md"
    return {**by_name, CAPTURE: capture} if capture.is_file() else by_name


def page(name: str) -> Path:
    """The file of a page. Raises InputError for a name that no page has."""
    every = pages()
    plain = name.removeprefix("docs/").removesuffix(".md")
    if plain not in every:
        import difflib

        close = difflib.get_close_matches(plain, every, n=1)
        hint = f", did you mean {close[0]}?" if close else ""
        raise InputError(f"no page {name!r}{hint} (hwsim docs lists them)")
    return every[plain]


def title(path: Path) -> str:
    """The heading of a page."""
    with path.open(encoding="utf-8") as file:
        return next((line.lstrip("# ").rstrip() for line in file if line.startswith("# ")), path.stem)


def kit() -> dict[str, bytes]:
    """The capture program: the content of its files, by their names."""
    return {path.name: path.read_bytes() for path in sorted(folder(CAPTURE).iterdir()) if path.is_file()}
