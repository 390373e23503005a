"""Compiled code is kept by the content of all that it may call."""

from __future__ import annotations

import ast
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any, NoReturn

import numba
import pytest

from hwsim.base import compiled
from hwsim.base.compiled import _CheckedFiles, code_folder, keep
from hwsim.base.package import PACKAGE as ROOT
from hwsim.base.package import imported_modules, reachable_modules

FILES = {
    "hwsim/__init__.py": "",
    "hwsim/loops/__init__.py": "",
    "hwsim/loops/walk.py": "from hwsim.sums import (\n    add,\n    exact as wide,\n)\nimport hwsim.sums.table as t\n",
    "hwsim/sums/__init__.py": "def add(): ...\n",
    "hwsim/sums/exact.py": "def wide():\n    from hwsim import deep\n",
    "hwsim/sums/table.py": "",
    "hwsim/deep.py": "import numpy\n",
    "hwsim/apart.py": "from hwsim.loops import walk\n",
}


def package(folder: Path, **changed: str) -> Path:
    """A package's folder. changed: what is added to a file, by its name without `hwsim/`, `/` as `_`, and `.py`."""
    for name, text in FILES.items():
        key = name.removeprefix("hwsim/").removesuffix(".py").replace("/", "_")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text + changed.get(key, ""))
    return folder / "hwsim"


@pytest.mark.parametrize(
    ("changed", "other"),
    [
        ("loops_walk", True),
        ("sums___init__", True),  # called by name
        ("sums_exact", True),
        ("sums_table", True),
        ("deep", True),  # imported within a function of a module that is imported
        ("apart", False),
        ("loops___init__", False),
    ],
)
def test_a_change_in_what_is_called_is_another_folder(tmp_path: Path, changed: str, other: bool) -> None:
    before = code_folder("hwsim.loops.walk", package(tmp_path / "before"))
    after = code_folder("hwsim.loops.walk", package(tmp_path / "after", **{changed: "\n# changed\n"}))
    assert (before != after) == other
    assert before == code_folder("hwsim.loops.walk", package(tmp_path / "again"))


def test_a_name_that_moves_to_another_module_is_another_folder(tmp_path: Path) -> None:
    root = package(tmp_path / "before")
    before = code_folder("hwsim.loops.walk", root)
    moved = package(tmp_path / "after")
    (moved / "sums" / "table.py").write_text("def add(): ...\n")
    (moved / "sums" / "__init__.py").write_text("")
    assert before != code_folder("hwsim.loops.walk", moved)


def test_the_folder_is_in_the_user_s_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HWSIM_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert code_folder("hwsim.deep", package(tmp_path)).parent == tmp_path / "user" / "hwsim" / "kernels"


def test_what_the_quantisers_loops_call_is_reached() -> None:
    # Their code holds that of the codecs' loops.
    calls = {"hwsim.formats.loops", "hwsim.base.compiled"}
    assert calls <= reachable_modules("hwsim.quantize.loops")


def test_the_imports_are_those_that_python_sees() -> None:
    files = [(path, ROOT.parent) for path in sorted(ROOT.rglob("*.py"))]
    for beside in ("rtl", "tb"):
        folder = Path(str(find_spec(f"hwsim.{beside}").origin)).parent  # type: ignore[union-attr]
        files += [(path, folder.parent) for path in sorted(folder.rglob("*.py"))]
    assert len(files) > 200
    for path, above in files:
        parts = path.relative_to(above).with_suffix("").parts
        parts = parts if above == ROOT.parent and parts[0] == "hwsim" else ("hwsim", *parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        assert imported_modules(name) == imports(path, ".".join(parts[:-1])), name


def imports(path: Path, inside: str) -> set[str]:
    """The modules of hwsim that a file imports, by Python's own parser."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), inside) if node.level else str(node.module)
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name.split(".")[0] == "hwsim" and file_of(name).is_file()}


def file_of(module: str) -> Path:
    parts = module.split(".")[1:]
    path = (ROOT.parent if parts[:1] in (["rtl"], ["tb"]) else ROOT).joinpath(*parts)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


# What a process compiled itself, of what is kept on disk.
COMPILING = """
import os
import sys
import hwsim
import numpy as np
from numba.core.dispatcher import Dispatcher
from hwsim.formats import get_format

get_format("e4m3").encode(np.linspace(-3, 3, 1 << 20), overflow="saturate")
every = {
    (function.py_func.__module__, function.py_func.__name__): function.stats
    for name, module in [*sys.modules.items()] if name.startswith("hwsim.")
    for function in vars(module).values() if isinstance(function, Dispatcher)
}
assert hwsim.__file__.startswith(os.getcwd())
for (module, name), stats in every.items():
    if stats.cache_path and stats.cache_misses:
        print(f"{module}.{name}")
"""


def test_of_several_processes_and_installations_one_compiles(tmp_path: Path) -> None:
    environment = {**os.environ, "HWSIM_CACHE": str(tmp_path / "cache")}
    processes = []
    for name in "ab":
        folder = tmp_path / name
        # Files of another date in another place.
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT, folder / "hwsim", ignore=ignored, copy_function=shutil.copyfile)
        command = [sys.executable, "-c", COMPILING]
        processes.append(subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True))
    names = [name for process in processes for name in process.communicate()[0].split()]
    assert names and len(set(names)) == len(names)
    assert [process.returncode for process in processes] == [0, 0]


def twice(x):
    return 2 * x


def thrice(x):
    return 3 * x


def kept(function: Callable[[int], int], folder: Path) -> Any:
    """A function that was compiled, or loaded, and the number of times that it was loaded."""
    dispatcher = numba.njit(function)
    keep(dispatcher, function, folder)
    assert dispatcher(7) == function(7)
    return sum(dispatcher.stats.cache_hits.values())


def test_compiling_for_long_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compiled, "NOTICE_AFTER", 1e6)
    with caplog.at_level("WARNING", "hwsim.base.compiled"):
        kept(twice, tmp_path / "short")
        assert not caplog.messages
        monkeypatch.setattr(compiled, "NOTICE_AFTER", 0)
        compiled._notice.cache_clear()
        for name in ("long", "again"):
            kept(twice, tmp_path / name)
        (tmp_path / "file").touch()
        for name in ("nowhere", "again"):
            kept(twice, tmp_path / "file" / name)
    said, where_nothing_is_kept = caplog.messages
    assert said.startswith("compiling code for units of this kind; it is kept in ")
    assert "cannot be written to, so that every process compiles it" in where_nothing_is_kept


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[: len(content) // 2],
    "a bit turned over": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "something else": lambda content: b"\x80\x04K\x01.",
}


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_code_is_compiled_again(tmp_path: Path, suffix: str, damage: str) -> None:
    assert [kept(twice, tmp_path) for _ in range(2)] == [0, 1]
    (file,) = tmp_path.glob(f"*.{suffix}")
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    assert [kept(twice, tmp_path) for _ in range(2)] == [0, 1]


def test_another_function_s_code_is_compiled_again(tmp_path: Path) -> None:
    for function in (twice, thrice):
        kept(function, tmp_path / function.__name__)
    (of_twice,), (of_thrice,) = (list((tmp_path / name).glob("*.nbc")) for name in ("twice", "thrice"))
    of_twice.write_bytes(of_thrice.read_bytes())
    assert [kept(twice, tmp_path / "twice") for _ in range(2)] == [0, 1]


def test_code_that_cannot_be_kept_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_CheckedFiles, "_open_for_write", full)
    assert [kept(twice, tmp_path) for _ in range(2)] == [0, 0]


def test_a_part_of_compiled_functions_is_not_called_from_python() -> None:
    @compiled.inlined
    def part(x: int) -> int:
        return x + 1

    whole: Any = numba.njit(lambda x: 2 * part(x))
    assert whole(3) == 8 and part.py_func(3) == 4  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="Python calls its py_func"):
        part(3)
