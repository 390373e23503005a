"""Builds: from Verilog to what a simulator runs, kept by content."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import cocotb_tools.config

from hwsim.cosim import processes
from hwsim.cosim.ports import PortMap
from hwsim.cosim.tools import Verilator, cache_folder, find_icarus, find_verilator

BULK = Path(__file__).with_name("bulk.cpp")
RUNTIME = ("verilated", "verilated_vpi", "verilated_dpi", "verilated_threads", "verilated_vcd_c")
# -O1 compiles the model three times faster than -O2, and what it makes runs as fast (benchmarks/).
OPTIMIZE = "-O1"
TIMESCALE = "1ns/1ps"


class BuildFailed(RuntimeError):
    """A simulator did not accept the design; the message holds the end of its log."""


@dataclass(frozen=True)
class Design:
    """Verilog to simulate. ports: None for a design that only cocotb drives, all of whose ports are then public."""

    top: str
    verilog: str
    ports: PortMap | None
    public: tuple[str, ...]


def design(verilog: str, ports: PortMap) -> Design:
    """A unit to simulate."""
    i, o = ports.input, ports.output
    public = (ports.clock, ports.reset, ports.misuse, i.payload, i.valid, i.ready, o.payload, o.valid, o.ready)
    return Design(ports.top, verilog, ports, public)


def _key(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:24]


def _cached(key: str, make: Callable[[Path, Path], None]) -> Path:
    """The folder of a build; made aside and moved into place whole, so that no half-made build is ever used."""
    folder = cache_folder() / key
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _scratch(folder.parent) as scratch:
        log = scratch / "build.log"
        make(scratch, log)
        with contextlib.suppress(OSError):  # another process was faster
            scratch.rename(folder)
    return folder


@contextlib.contextmanager
def _scratch(parent: Path) -> Iterator[Path]:
    scratch = Path(tempfile.mkdtemp(prefix="making-", dir=parent))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run(command: list[str], log: Path, environment: dict[str, str], cwd: Path) -> None:
    if processes.run(command, log, {**os.environ, **environment}, cwd):
        said = log.read_text(errors="replace").strip().splitlines()[-12:]
        raise BuildFailed(f"{Path(command[0]).name} failed:\n" + "\n".join(said))


def _compile(tool: Verilator, sources: list[Path], into: Path, log: Path, flags: list[str]) -> list[str]:
    include = [f"-I{into}", f"-I{tool.root / 'include'}", f"-I{tool.root / 'include' / 'vltstd'}"]

    def one(source: Path) -> str:
        made = into / f"{source.stem}.o"
        _run(["g++", "-std=gnu++17", "-fPIC", *flags, *include, "-c", str(source), "-o", str(made)], log, {}, into)
        return str(made)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, sources))


def _runtime(tool: Verilator, trace: bool) -> list[str]:
    """Verilator's own C++, compiled once for all designs."""
    flags = [OPTIMIZE, f"-DVM_TRACE={int(trace)}", "-DVM_COVERAGE=0"]
    wanted = [name for name in RUNTIME if trace or "vcd" not in name]
    sources = [tool.root / "include" / f"{name}.cpp" for name in wanted]
    key = _key("runtime", str(tool.root), _version(tool), *flags)
    folder = _cached(key, lambda into, log: _make_runtime(tool, sources, into, log, flags))
    return [str(folder / f"{name}.o") for name in wanted]


def _make_runtime(tool: Verilator, sources: list[Path], into: Path, log: Path, flags: list[str]) -> None:
    _compile(tool, sources, into, log, flags)


def _version(tool: Verilator) -> str:
    header = tool.root / "include" / "verilated_config.h"
    return header.read_text(errors="replace") if header.exists() else tool.program


def verilated_name(port: str) -> str:
    """A port's name in Verilator's C++."""
    return port.replace("__", "___05F")


def _defines(ports: PortMap) -> list[str]:
    i, o = ports.input, ports.output
    names = {
        "INPUT_PAYLOAD": i.payload, "INPUT_VALID": i.valid, "INPUT_READY": i.ready,
        "OUTPUT_PAYLOAD": o.payload, "OUTPUT_VALID": o.valid, "OUTPUT_READY": o.ready,
        "CLOCK": ports.clock, "RESET": ports.reset, "MISUSE": ports.misuse,
    }
    return [f"-DHWSIM_{key}={verilated_name(name)}" for key, name in names.items()]


@dataclass(frozen=True)
class VerilatorBuild:
    """What Verilator made: a program that cocotb drives, and, for a unit, a library for the bulk driver."""

    program: Path
    library: Path | None


def verilator_build(made: Design, *, trace: bool = False) -> VerilatorBuild:
    """Build a design with Verilator. Raises ToolMissing or BuildFailed."""
    tool = find_verilator()
    defines = _defines(made.ports) if made.ports else []
    key = _key(
        "verilator", _version(tool), made.verilog, made.top, *made.public, *defines, BULK.read_text(), OPTIMIZE,
        str(trace), version("cocotb"), str(cocotb_tools.config.libs_dir),
    )
    folder = _cached(key, lambda into, log: _verilate(tool, made, into, log, trace, defines))
    return VerilatorBuild(folder / "sim", folder / "bulk.so" if made.ports else None)


def _verilate(tool: Verilator, made: Design, into: Path, log: Path, trace: bool, defines: list[str]) -> None:
    source, control = into / f"{made.top}.v", into / "public.vlt"
    source.write_text(made.verilog)
    lines = [f'public_flat_rw -module "{made.top}" -var "{name}"' for name in made.public]
    control.write_text("\n".join(["`verilator_config", *lines, ""]))
    command = [
        tool.program, "-cc", "--vpi", "-Mdir", str(into), "--prefix", "Vtop", "--top-module", made.top,
        "--output-split", "0", "--timescale", TIMESCALE, "-Wno-fatal", *(["--trace"] if trace else []),
        str(control), str(source),
    ]
    _run(command, log, tool.environment, into)
    flags = [OPTIMIZE, f"-DVM_TRACE={int(trace)}", "-DVM_COVERAGE=0", "-DVM_TRACE_FST=0"]
    main = cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
    objects = _compile(tool, sorted(into.glob("Vtop*.cpp")), into, log, flags)
    runtime = _runtime(tool, trace)
    libs = str(cocotb_tools.config.libs_dir)
    link = [f"-Wl,-rpath,{libs}", f"-L{libs}", "-lcocotbvpi_verilator", "-lpthread"]
    [start] = _compile(tool, [main], into, log, flags)
    _run(["g++", "-o", str(into / "sim"), start, *objects, *runtime, *link], log, {}, into)
    if made.ports:
        [bulk] = _compile(tool, [BULK], into, log, ["-O2", *flags[1:], *defines])
        library = str(into / "bulk.so")
        _run(["g++", "-shared", "-o", library, bulk, *objects, *runtime, "-lpthread"], log, {}, into)
    for leftover in {*into.glob("*.o"), *into.glob("Vtop*")}:
        leftover.unlink()


DUMP = """module hwsim_dump;
  initial begin
    $dumpfile("dump.vcd");
    $dumpvars(0, {top});
  end
endmodule
"""


def icarus_build(made: Design, *, trace: bool = False) -> Path:
    """Build a design with Icarus. Raises ToolMissing or BuildFailed."""
    compiler = find_icarus()
    key = _key("icarus", made.verilog, made.top, str(trace))

    def make(into: Path, log: Path) -> None:
        source, timescale = into / f"{made.top}.v", into / "timescale.f"
        source.write_text(made.verilog)
        timescale.write_text(f"+timescale+{TIMESCALE}\n")
        roots, sources = ["-s", made.top], [str(source)]
        if trace:
            dump = into / "hwsim_dump.v"
            dump.write_text(DUMP.format(top=made.top))
            roots += ["-s", "hwsim_dump"]
            sources.append(str(dump))
        _run(
            [compiler, "-g2012", "-f", str(timescale), *roots, "-o", str(into / "sim.vvp"), *sources], log, {}, into
        )

    return _cached(key, make) / "sim.vvp"
