"""Figures that are kept by what they were made from: the Verilog, the commands and the tools' versions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from hwsim.files import cache_folder, replaced

Figures = TypeVar("Figures", bound=Any)  # a dataclass of numbers


def kept(kind: type[Figures], packages: Sequence[str], parts: Sequence[str], make: Callable[[], Figures]) -> Figures:
    """Figures that were made from the same parts before, or else those that `make` returns, which are kept.

    packages: the tools that make them. A file that does not hold figures of this kind is made again.
    """
    versions = [f"{name} {_version(name)}" for name in packages]
    path = _path(kind.__name__.lower(), [*versions, *parts])
    found = _read(kind, path)
    if found is not None:
        return found
    made = make()
    with replaced(path) as file:
        file.write(json.dumps({"tools": versions, "figures": asdict(made)}, indent=1).encode())
    return made


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _path(kind: str, parts: Sequence[str]) -> Path:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)} {part}".encode())
    return cache_folder() / "synthesis" / f"{kind}-{digest.hexdigest()[:24]}.json"


def _read(kind: type[Figures], path: Path) -> Figures | None:
    try:
        found: Figures = kind(**json.loads(path.read_bytes())["figures"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found
