"""Programs that Verilator's own Makefile makes: quickly, with Verilator's own part compiled once for all tests.

They run for a moment, so that nothing is gained by optimising them, which takes most of the time.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from computed_once import computed_once

from hwsim.cosim.build import _Compiler
from hwsim.cosim.tools import find_verilator

UNOPTIMISED = "-- OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"
# GCC 10 needs to be told of coroutines, which a bench's clock is made of.
BINARY = ("--binary", "--timing", "-CFLAGS", "-std=c++20", "--output-split", "0")
NOTHING = "module nothing; initial #1 $finish; endmodule\n"


def environment() -> dict[str, str]:
    """What Verilator is to be run in."""
    return {**os.environ, **find_verilator().environment, "MAKEFLAGS": UNOPTIMISED}


def put_runtime(objects: Path) -> None:
    """Put Verilator's own object files into the folder that it is going to build a design in."""
    _put(objects, _runtime())


def _put(folder: Path, objects: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    later = time.time() + 24 * 3600  # than the Makefile, as which they would be made again
    for name, content in objects.items():
        (folder / name).write_bytes(content)
        os.utime(folder / name, (later, later))


@computed_once("cosim")
def _runtime() -> dict[str, bytes]:
    """What hwsim compiles for simulations of its own, and beside it what delays need."""
    made = {path.name: path.read_bytes() for path in _Compiler(find_verilator(), trace=False).objects()}
    with tempfile.TemporaryDirectory() as folder:
        _put(Path(folder) / "obj_dir", made)
        (Path(folder) / "nothing.sv").write_text(NOTHING)
        words = [find_verilator().program, *BINARY, "nothing.sv"]
        subprocess.run(words, cwd=folder, env=environment(), capture_output=True, check=True)
        return {path.name: path.read_bytes() for path in Path(folder).glob("obj_dir/verilated*.o")}
