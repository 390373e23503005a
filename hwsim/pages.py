"""Where the pages of docs and the capture program are: beside the package in a checkout, in it once installed."""

from __future__ import annotations

from pathlib import Path

from hwsim.errors import InputError

PACKAGE = Path(__file__).resolve().parent
CAPTURE = "capture"
START = "README"


def folder(name: str) -> Path:
    """The folder `docs` or `capture`, which a wheel has in the package, and a checkout beside it."""
    installed = PACKAGE / name
    return installed if installed.is_dir() else PACKAGE.parent / name


def pages() -> dict[str, Path]:
    """Every page, by the name that `hwsim docs` takes: dut, studies/mx; `capture` is the capture program's own."""
    docs = folder("docs")
    found = {str(path.relative_to(docs).with_suffix("")): path for path in sorted(docs.rglob("*.md"))}
    capture = folder(CAPTURE) / "README.md"
    return {**found, CAPTURE: capture} if capture.is_file() else found


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
