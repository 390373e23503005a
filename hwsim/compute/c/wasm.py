"""The program of any unit as WebAssembly: from the package, from the cache, or built by clang and lld.

`make wheel` has it in the package (`python -m hwsim.compute.c.wasm`): whoever installs that wheel needs no compiler.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from functools import cache
from pathlib import Path

from hwsim.base.errors import ToolMissing
from hwsim.base.files import cache_folder, replaced
from hwsim.base.processes import scratch_folder
from hwsim.compute.c.any import any_unit

TOOLS = ("clang", "wasm-ld")
# What a caller writes and reads; functions name themselves where they are defined.
ARRAYS = (
    "keys", "formats", "nans", "group_of", "codes_a", "codes_b", "codes_scale_a", "codes_scale_b", "code_c", "text",
    "size",
)  # fmt: skip
FLAGS = (
    "--target=wasm32", "-std=c99", "-Oz", "-ffreestanding", "-nostdlib", "-mbulk-memory",
    "-Wl,--no-entry,--strip-all,-z,stack-size=1048576", *(f"-Wl,--export={name}" for name in ARRAYS),
)  # fmt: skip


@cache
def program() -> bytes:
    """The program. Raises ToolMissing where it has to be built, and clang or lld is not there."""
    name = file_name()
    for path in (Path(__file__).with_name(name), cache_folder() / "wasm" / name):
        if path.is_file():
            return path.read_bytes()
    built = build()
    (cache_folder() / "wasm").mkdir(parents=True, exist_ok=True)
    with replaced(cache_folder() / "wasm" / name) as file:
        file.write(built)
    return built


def file_name() -> str:
    """The file's name, which a change of its source changes."""
    digest = hashlib.sha256("\n".join((any_unit(), *FLAGS)).encode()).hexdigest()
    return f"any_unit-{digest[:16]}.wasm"


def build() -> bytes:
    """The program, built."""
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        raise ToolMissing(
            f"the microscope's program is built by clang and lld, and {' and '.join(missing)} "
            f"{'are' if len(missing) > 1 else 'is'} missing; install them with: apt-get install clang lld"
        )
    with scratch_folder() as folder:
        (folder / "unit.c").write_text(any_unit(), encoding="utf-8")
        subprocess.run(["clang", *FLAGS, "-o", "unit.wasm", "unit.c"], cwd=folder, check=True)
        return (folder / "unit.wasm").read_bytes()


if __name__ == "__main__":
    for old in Path(__file__).parent.glob("any_unit-*.wasm"):
        old.unlink()
    Path(__file__).with_name(file_name()).write_bytes(build())
