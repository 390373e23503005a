"""Builds: the simulators that are installed, and from Verilog to what they run, kept by content."""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

import cocotb_tools.config

from hwsim.base import processes
from hwsim.base.files import cache_folder, is_sealed, replaced_folder, seal, takes_files
from hwsim.base.processes import scratch_folder
from hwsim.cosim.bench import BULK, PortMap, bulk_bench
from hwsim.cosim.sources import TIMESCALE
from hwsim.cosim.tools import Verilator, find_icarus, find_verilator

BULK_DRIVER, BULK_HEADER = (Path(__file__).with_name(name) for name in ("bulk.cpp", "bulk.h"))
RUNTIME = ("verilated", "verilated_vpi", "verilated_dpi", "verilated_threads", "verilated_vcd_c")
# -O1 compiles the model three times faster than -O2, and what it makes runs as fast (benchmarks/).
FLAGS = ["-std=gnu++17", "-fPIC", "-O1", "-DVM_COVERAGE=0", "-DVM_TRACE_FST=0"]
LIBRARY = "bulk.so"
LIBRARY_OF_ONCE = "once"  # the folder of what is compiled once for many instances
# What Verilator's C++ and the drivers include; a design's own part compiles in a third of the time without it.
HEADERS = "".join(f'#include "{name}"\n' for name in ("verilated.h", "verilated_vpi.h", "svdpi.h"))


ODD = set('$"\\')  # what paths must not hold for simulators


class BuildFailed(RuntimeError):
    """A simulator did not accept the design; the message holds the end of its log."""


@dataclass(frozen=True)
class HdlSources:
    """Verilog for cocotb to drive.

    public: the ports of `top`. files: a user's own beside `verilog`. include, defines: for those. read: every
    file whose bytes count: those, and what they include. assertions: whether Verilator checks assertions.
    once: a module of `verilog` that Verilator is to compile once for all its instances; empty for none.
    """

    top: str
    verilog: str
    public: tuple[str, ...]
    files: tuple[Path, ...] = ()
    include: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    read: tuple[Path, ...] = ()
    assertions: bool = False
    once: str = ""

    @property
    def key(self) -> list[str]:
        """The parts of a build's key, beside the tools."""
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in self.read]
        paths = [str(path) for path in (*self.files, *self.include)]
        users = [*digests, *paths, *self.defines] if self.files else []
        users += ["assertions"] * self.assertions + [f"once {self.once}"] * bool(self.once)
        return [self.verilog, self.top, *users]

    @property
    def arguments(self) -> list[str]:
        """The arguments for a user's files, of both simulators."""
        return [*(f"-I{folder}" for folder in self.include), *(f"-D{define}" for define in self.defines)]

    @contextmanager
    def plainly_named(self) -> Iterator[HdlSources]:
        """The same sources by paths that simulators take: Verilator expands `$`, and Icarus ends a name at a quote.

        Their messages have the paths that the user gave.
        """
        with scratch_folder() as folder:
            links: dict[Path, Path] = {}

            def plain(path: Path) -> Path:
                if not ODD & set(str(path)):
                    return path
                place = path if ODD & set(path.name) or path.is_dir() else path.parent
                if place not in links:
                    links[place] = folder / f"{len(links)}{'' if place.is_dir() else place.suffix}"
                    links[place].symlink_to(place)
                return links[place] if place == path else links[place] / path.name

            files, include = (tuple(map(plain, paths)) for paths in (self.files, self.include))
            try:
                yield replace(self, files=files, include=include)
            except BuildFailed as error:
                message = str(error)
                for place, link in links.items():
                    message = message.replace(str(link), str(place))
                raise BuildFailed(message) from None


def _key(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:24]


def _cached(key: str, make: Callable[[Path, Path], None]) -> Path:
    """The folder of a build, made whole or not at all; a thread or process waits for a build that another makes.

    One that was damaged since is made again. Where the cache takes no files, builds are kept while this process runs.
    """
    try:
        return _made(cache_folder() / key, make)
    except (OSError, BuildFailed):
        if takes_files(cache_folder()):
            raise
        return _made(_spare() / key, make)


_shared: dict[Path, Path] = {}


def _looked_at_once(key: str, make: Callable[[Path, Path], None]) -> Path:
    """The folder of a build that designs share. Its bytes, a header of 70 MB among them, are checked once a process."""
    wanted = cache_folder() / key
    if wanted not in _shared or not _shared[wanted].is_dir():
        _shared[wanted] = _cached(key, make)
    return _shared[wanted]


@cache
def _spare() -> Path:
    """A folder that is removed when this process ends."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(scratch_folder())


def _made(folder: Path, make: Callable[[Path, Path], None]) -> Path:
    if not is_sealed(folder):
        with processes.alone(str(folder)):
            if not is_sealed(folder):
                shutil.rmtree(folder, ignore_errors=True)
                with replaced_folder(folder, keep=True) as scratch:
                    make(scratch, scratch / "build.log")
                    seal(scratch)
    return folder


def _run(command: list[str], log: Path, environment: dict[str, str], cwd: Path) -> None:
    if processes.run(command, log, {**os.environ, **environment}, cwd):
        lines = log.read_text(errors="replace").strip().splitlines()[-12:]
        raise BuildFailed(f"{Path(command[0]).name} failed:\n" + "\n".join(lines))


@dataclass(frozen=True)
class _Compiler:
    """The C++ compiler with one set of flags, for a design and for Verilator's own sources alike."""

    tool: Verilator
    trace: bool

    @property
    def flags(self) -> list[str]:
        """The flags that precompiled headers and their users must share."""
        return [*FLAGS, f"-DVM_TRACE={int(self.trace)}"]

    def compile(self, source: Path, output: Path, log: Path, *flags: str) -> None:
        """Compile a source to an object file, or a header to a precompiled one."""
        include = self.tool.root / "include"
        places = [f"-I{include}", f"-I{include / 'vltstd'}"]
        _run(["g++", *places, *flags, str(source), "-o", str(output)], log, {}, output.parent)

    def objects(self) -> list[Path]:
        """Compile Verilator's own C++, once for all designs, and for every installation of the same Verilator."""
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(self._object, [name for name in RUNTIME if self.trace or "vcd" not in name]))

    def _object(self, name: str) -> Path:
        source, flags = self.tool.root / "include" / f"{name}.cpp", [*FLAGS, "-c"]  # VM_TRACE changes none of them

        def make(into: Path, log: Path) -> None:
            self.compile(source, into / f"{name}.o", log, *flags)

        return _looked_at_once(self._key(name, *flags), make) / f"{name}.o"

    def headers(self) -> Path:
        """The headers that a design's part includes; their precompiled form lies beside them."""
        flags = [*self.flags, "-x", "c++-header"]

        def make(into: Path, log: Path) -> None:
            header = into / "headers.h"
            header.write_text(HEADERS)
            self.compile(header, into / "headers.h.gch", log, *flags)

        return _looked_at_once(self._key(HEADERS, *flags), make) / "headers.h"

    def _key(self, *parts: str) -> str:
        return _key("runtime", _content(self.tool.root / "include"), *parts)

    def link(
        self, into: Path, driver: Path, log: Path, name: str, linked: list[str], flags: Sequence[str] = ()
    ) -> None:
        """Link all that Verilator wrote into a folder, and its driver, to a program or a library of that name.

        linked: flags of the last step. flags: of the driver.
        """
        runtime, headers = self.objects(), self.headers()

        def compiled(folder: Path, *last: Path) -> Path:
            # All in one: the compiler would spend most of its time on the headers that each of them includes.
            whole, object_ = folder / "Vtop_all.cpp", folder / "Vtop_all.o"
            sources = [*sorted(path.name for path in folder.glob("*.cpp")), *last]
            whole.write_text("".join(f'#include "{source}"\n' for source in sources))
            own = folder / "compile.log"
            self.compile(whole, object_, own, *self.flags, *flags, "-include", str(headers), f"-I{folder}", "-c")
            return object_

        library = into / LIBRARY_OF_ONCE
        with ThreadPoolExecutor(2) as pool:
            waited = [pool.submit(compiled, into, driver)]
            if library.is_dir():
                waited.append(pool.submit(compiled, library))
            objects = [each.result() for each in waited]
        _run(["g++", "-o", str(into / name), *map(str, [*objects, *runtime]), *linked, "-lpthread"], log, {}, into)
        shutil.rmtree(library, ignore_errors=True)
        for leftover in {*into.glob("*.o"), *into.glob("Vtop*")}:
            leftover.unlink()


@cache
def _content(folder: Path) -> str:
    """A digest of the C++ files in a folder."""
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("*.h"), *folder.glob("*.cpp"), *folder.glob("vltstd/*")]):
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def verilator_version(tool: Verilator) -> str:
    """The identity of an installed Verilator: its own header of its version."""
    header = tool.root / "include" / "verilated_config.h"
    return header.read_text(errors="replace") if header.exists() else tool.program


def verilator_build(hdl: HdlSources, *, trace: bool = False) -> Path:
    """The program that Verilator builds from a design, for cocotb. Raises ToolMissing or BuildFailed."""
    tool = find_verilator()
    libs = str(cocotb_tools.config.libs_dir)
    key = _key("cocotb", verilator_version(tool), *hdl.key, *hdl.public, *FLAGS, str(trace), version("cocotb"), libs)

    def make(into: Path, log: Path) -> None:
        control = into / "public.vlt"
        lines = [f'public_flat_rw -module "{hdl.top}" -var "{name}"' for name in hdl.public]
        control.write_text("\n".join(["`verilator_config", *lines, ""]))
        # Delays in a user's files are for other testbenches.
        options = ["--vpi", control.name, *(["--trace"] if trace else []), *(["--assert"] if hdl.assertions else [])]
        with hdl.plainly_named() as named:
            users = [*named.arguments, "--no-timing", *map(str, named.files)] if hdl.files else []
            _verilate(tool, hdl.top, hdl.verilog, into, log, [*options, *users], hdl.once)
        main = cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
        linked = [f"-Wl,-rpath,{libs}", f"-L{libs}", "-lcocotbvpi_verilator"]
        _Compiler(tool, trace).link(into, main, log, "sim", linked)

    return _cached(key, make) / "sim"


def bulk_build(verilog: str, ports: PortMap) -> Path:
    """The shared library that Verilator builds from a unit, for the bulk driver. Raises ToolMissing or BuildFailed."""
    return driven_build(BULK, bulk_bench(ports) + verilog, BULK_DRIVER)


def driven_build(top: str, verilog: str, driver: Path, once: str = "", defines: Sequence[str] = ()) -> Path:
    """The shared library that Verilator builds from Verilog, with a driver in C++. Raises ToolMissing or BuildFailed.

    once: as of HdlSources. defines: macros for the driver.
    """
    tool = find_verilator()
    drivers = driver.read_text(), BULK_HEADER.read_text()
    key = _key("bulk", verilator_version(tool), top, verilog, once, *defines, *drivers, *FLAGS)

    def make(into: Path, log: Path) -> None:
        _driven(tool, top, verilog, driver, into, log, once, defines)

    return _cached(key, make) / LIBRARY


def bulk_build_in(folder: Path, verilog: str, ports: PortMap) -> Path:
    """The library of `bulk_build` in a folder, and not kept: for a single use. Raises ToolMissing or BuildFailed."""
    _driven(find_verilator(), BULK, bulk_bench(ports) + verilog, BULK_DRIVER, folder, folder / "build.log")
    return folder / LIBRARY


def _driven(
    tool: Verilator, top: str, verilog: str, driver: Path, into: Path, log: Path, once: str = "",
    defines: Sequence[str] = (),
) -> None:  # fmt: skip
    _verilate(tool, top, verilog, into, log, [], once)
    compiler = _Compiler(tool, trace=False)
    compiler.link(
        into, driver, log, LIBRARY, ["-shared"], [f"-I{BULK_HEADER.parent}", *(f"-D{define}" for define in defines)]
    )


MODULE = re.compile(r"^module (\w+).*?^endmodule$", re.M | re.S)


def _apart(verilog: str, once: str) -> tuple[str, str]:
    """A module with those whose names begin with its own, which it alone uses; and the rest."""
    inner: list[str] = []

    def taken(found: re.Match[str]) -> str:
        if f"{found[1]}_".startswith(f"{once}_"):
            inner.append(found[0])
            return ""
        return found[0]

    rest = MODULE.sub(taken, verilog)
    return "\n".join(inner), rest


def _verilate(
    tool: Verilator, top: str, verilog: str, into: Path, log: Path, options: list[str], once: str = ""
) -> None:
    """Have Verilator write C++. once: a module that becomes a library of its own, which all its instances call."""
    inner, rest = _apart(verilog, once) if once else ("", verilog)
    source = into / f"{top}.sv"
    if inner:
        folder = into / LIBRARY_OF_ONCE
        folder.mkdir()
        part = folder / "source.sv"
        part.write_text(inner)
        _verilator(tool, once, part, "Vonce", ["--lib-create", once])
        # The library's own Verilog stands in the module's place.
        options = [*options, f"{folder.name}/{once}.sv"]
    source.write_text(rest)
    _verilator(tool, top, source, "Vtop", options, log)


def _verilator(
    tool: Verilator, top: str, source: Path, prefix: str, options: list[str], log: Path | None = None
) -> None:
    command = [
        *(tool.program, "-cc", "-Mdir", ".", "--prefix", prefix, "--top-module", top, "--output-split", "0"),
        *("--timescale", TIMESCALE, "-Wno-fatal", *options, source.name),
    ]
    _run(command, log or source.with_suffix(".log"), tool.environment, source.parent)


DUMP = """module hwsim_dump;
  initial begin
    $dumpfile("dump.vcd");
    $dumpvars(0, {top});
  end
endmodule
"""


def icarus_build(hdl: HdlSources, *, trace: bool = False) -> Path:
    """Build a design with Icarus. Raises ToolMissing or BuildFailed."""
    compiler = find_icarus()
    key = _key("icarus", *hdl.key, str(trace))

    def make(into: Path, log: Path) -> None:
        source, timescale = into / f"{hdl.top}.sv", into / "timescale.f"
        source.write_text(hdl.verilog)
        timescale.write_text(f"+timescale+{TIMESCALE}\n")
        roots, sources = ["-s", hdl.top], [source.name]
        if trace:
            dump = into / "hwsim_dump.v"
            dump.write_text(DUMP.format(top=hdl.top))
            roots += ["-s", "hwsim_dump"]
            sources.append(dump.name)
        with hdl.plainly_named() as named:
            options = ["-g2012", "-f", timescale.name, *roots, *named.arguments, "-o", "sim.vvp"]
            _run([compiler, *options, *map(str, named.files), *sources], log, {}, into)

    return _cached(key, make) / "sim.vvp"
