"""Figures of designs, kept by what they depend on: the Verilog, the commands and the tools' versions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from hwsim.base.files import cache_folder, replaced
from hwsim.base.processes import scratch_folder

Figures = TypeVar("Figures", bound=Any)  # a dataclass of numbers


def kept(
    kind: type[Figures], packages: Sequence[str], parts: Sequence[str], make: Callable[[Path], Figures]
) -> Figures:
    """Figures of the same parts, kept from an earlier call or else returned by `make`, which has a scratch folder.

    packages: the tools that `make` runs. A file that does not hold figures of this kind is written again.
    """
    versions = [f"{name} {_version(name)}" for name in packages]
    path = _path(kind.__name__.lower(), [*versions, *parts])
    earlier = _read(kind, path)
    if earlier is not None:
        return earlier
    with scratch_folder() as folder:
        figures = make(folder)
    with suppress(OSError), replaced(path) as file:  # a cache that takes no files keeps none
        content = {"tools": versions, "figures": asdict(figures), "sha256": _digest(asdict(figures))}
        file.write(json.dumps(content, indent=1).encode())
    return figures


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
        content = json.loads(path.read_bytes())
        figures: Figures = kind(**content["figures"])
        return figures if content["sha256"] == _digest(content["figures"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _digest(figures: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(figures).encode()).hexdigest()
