"""What many tests need and takes long: computed once for all workers and for later runs, and kept on disk.

    from computed_once import computed_once

    @computed_once("cases")
    def directed_cases(unit: Unit) -> list[Case]:
        return list(directed(unit))

The first process that asks computes, while others wait for its result and read it. A result is kept under build/tests
by everything that it can depend on: the arguments, the file that defines the function, the tests' helper modules, and
the sources of the packages that the decorator names with all packages that these may import (the layers of the import
contract). So:
- arguments are texts, numbers, None, units, or tuples of these;
- what the function calls stands in its own file, in a helper module or in those packages;
- the result can be pickled, and whoever takes it leaves it as it is: one process hands out one object.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import inspect
import json
import pickle
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from hwsim.base.files import replaced
from hwsim.spec import Unit

P = ParamSpec("P")
R = TypeVar("R")

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "tests"
STALE = 7 * 24 * 3600.0  # seconds after which a result of other sources is removed


def computed_once(*packages: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates a function whose result depends on its arguments and on these packages of hwsim, or on all."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        results: dict[str, R] = {}

        @functools.wraps(function)
        def asked(*args: P.args, **kwargs: P.kwargs) -> R:
            key = _key(function, packages, args, kwargs)
            if key not in results:
                path = FOLDER / f"{function.__module__}.{function.__qualname__}-{key}.pickle"
                results[key] = _kept(path, lambda: function(*args, **kwargs))
            return results[key]

        return asked

    return decorate


def _kept(path: Path, compute: Callable[[], R]) -> R:
    """What is in the file; if nothing is, the result that this process, and no other meanwhile, computes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            result = compute()
            with replaced(path) as file:
                pickle.dump(result, file, protocol=pickle.HIGHEST_PROTOCOL)
            _remove_stale(path)
        kept: R = pickle.loads(path.read_bytes())
        return kept


def _remove_stale(path: Path) -> None:
    function = path.stem.rpartition("-")[0]
    for other in FOLDER.glob(f"{function}-*"):
        if other.suffix in (".pickle", ".lock") and time.time() - other.stat().st_mtime > STALE:
            other.unlink(missing_ok=True)


def _key(function: Callable[..., Any], packages: tuple[str, ...], args: Any, kwargs: Any) -> str:
    own = Path(inspect.getfile(inspect.unwrap(function)))
    given = json.dumps([args, kwargs], default=_as_text, sort_keys=True)
    parts = (sys.version, _sources(packages), own.read_text(), function.__qualname__, given)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _as_text(value: object) -> str:
    if isinstance(value, Unit):
        return value.model_dump_json()
    raise TypeError(f"an argument must be a text, a number, None, a unit or a tuple of these, not {value!r}")


@functools.cache
def _sources(packages: tuple[str, ...]) -> str:
    """A digest of the tests' helpers, the files of these packages of hwsim and of those that they may import.

    packages: () stands for all.
    """
    digest = hashlib.sha256()
    helpers = [path for path in Path(__file__).parent.rglob("*.py") if not path.name.startswith("test_")]
    for source in sorted([*helpers, *_folders(packages)]):
        for path in [source] if source.is_file() else sorted(source.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _folders(packages: tuple[str, ...]) -> list[Path]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.split(" | ") for layer in contracts[0]["layers"]]
    names = {name for layer in layers for name in layer}
    if unknown := set(packages) - names:
        raise ValueError(f"no packages of hwsim: {', '.join(sorted(unknown))}")
    highest = min((at for at, layer in enumerate(layers) if set(packages) & set(layer)), default=0)
    below = {name for layer in layers[highest + 1 :] for name in layer} | set(packages) if packages else names
    folders = [ROOT / name if name in ("rtl", "tb") else ROOT / "hwsim" / name for name in below]
    return [folder if folder.is_dir() else folder.with_suffix(".py") for folder in folders]
