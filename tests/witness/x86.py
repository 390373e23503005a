"""x86 instructions as Bochs and this machine's processor execute them, beside hwsim's presets."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import yaml
from model.model_witness import Witness
from numpy.typing import NDArray

from hwsim.base.errors import ToolMissing
from hwsim.cases.drawing import DIRECTED, KINDS, key_of
from hwsim.cases.random_cases import draw
from hwsim.compute.products import dot_codes
from hwsim.spec import Unit, load_unit
from hwsim.spec.catalog import as_yaml

Codes = NDArray[Any]
SOURCE = Path(__file__).with_suffix(".S")
UNPACKED = Path(__file__).parents[2] / "build" / "witness"
EVERY_KIND = (*KINDS, *DIRECTED)


class Instruction(NamedTuple):
    """code: its bytes. flag: Linux's name of what a processor has that executes it. tiles: whether it is AMX's."""

    name: str
    preset: str
    code: tuple[int, ...]
    flag: str
    tiles: bool = False


VECTOR, TILE = (0x62, 0xF2), (0xC4,)
INSTRUCTIONS = (
    Instruction("vdpbf16ps", "intel-avx512-vdpbf16ps-bf16-f32", (*VECTOR, 0x76, 0x48, 0x52, 0xC2), "avx512_bf16"),
    Instruction("vdpphps", "intel-avx10-vdpphps-f16-f32", (*VECTOR, 0x74, 0x48, 0x52, 0xC2), "avx10_2"),
    Instruction("tdpbf16ps", "intel-amx-bf16-f32", (*TILE, 0xE2, 0x6A, 0x5C, 0xC1), "amx_bf16", True),
    Instruction("tdpfp16ps", "intel-amx-f16-f32", (*TILE, 0xE2, 0x6B, 0x5C, 0xC1), "amx_fp16", True),
    Instruction("vpdpbusd", "intel-avx512-vpdpbusd-uint8xint8-i32", (*VECTOR, 0x75, 0x48, 0x50, 0xC2), "avx512_vnni"),
    Instruction("vpdpbusds", "intel-avx512-vpdpbusds-uint8xint8-i32", (*VECTOR, 0x75, 0x48, 0x51, 0xC2), "avx512_vnni"),
    *(
        Instruction(name, f"intel-amx-{factors}-i32", (*TILE, 0xE2, byte, 0x5E, 0xC1), "amx_int8", True)
        for name, factors, byte in (
            ("tdpbssd", "int8", 0x6B),
            ("tdpbsud", "int8xuint8", 0x6A),
            ("tdpbusd", "uint8xint8", 0x69),
            ("tdpbuud", "uint8", 0x68),
        )
    ),
)


class Place(Protocol):
    """What executes instructions. version: its program and version, or its processor."""

    version: str

    def run(self, instruction: Instruction, records: Codes) -> Codes:
        """The third part of each record, as the instruction leaves it. records: uint8[n, 3, bytes]."""


def assembled(instruction: Instruction, folder: Path, rom: bool) -> Path:
    """The program of one instruction: a shared library, or the ROM of an emulator."""
    if not (shutil.which("cc") and shutil.which("objcopy")):
        raise ToolMissing("no C compiler or no objcopy: apt-get install gcc binutils")
    folder.mkdir(parents=True, exist_ok=True)
    code = f".byte {', '.join(map(hex, instruction.code))}"
    flags = [f"-DINSTRUCTION={code}", *(["-DTILES"] if instruction.tiles else []), *(["-DROM"] if rom else [])]
    program = folder / f"{instruction.name}.{'rom' if rom else 'so'}"
    if not rom:
        _run(["cc", *flags, "-shared", "-nostdlib", SOURCE, "-o", program])
        return program
    layout = folder / "rom.ld"
    layout.write_text(
        "SECTIONS { . = 0xF0000; .text : { *(.text.start) *(.text.run) *(.text) } . = 0xFFFF0; "
        ".reset : { *(.reset) . = 16; } /DISCARD/ : { *(.note*) } }\n", "utf-8",
    )  # fmt: skip
    _run(["cc", *flags, "-c", SOURCE, "-o", program.with_suffix(".o")])
    _run(["ld", "-m", "elf_x86_64", "-T", layout, program.with_suffix(".o"), "-o", program.with_suffix(".elf")])
    _run(["objcopy", "-O", "binary", program.with_suffix(".elf"), program])
    return program


def _run(words: list[Any], **more: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([str(word) for word in words], check=True, stdin=subprocess.DEVNULL, **more)


class Processor:
    """This machine's processor. Raises ToolMissing for another one than x86-64 on Linux."""

    def __init__(self, folder: Path):
        try:
            said = Path("/proc/cpuinfo").read_text("utf-8")
        except OSError:
            raise ToolMissing("no /proc/cpuinfo") from None
        named = {key: re.search(rf"^{key}\s*: (.*)$", said, re.MULTILINE) for key in ("model name", "flags", "model")}
        name, flags, model = (found[1] if found else "" for found in named.values())
        if not name or os.uname().machine != "x86_64":
            raise ToolMissing("the processor is not an x86-64")
        self.folder, self.flags, self.version = folder, flags.split(), f"{name}, model {model}"

    def demand(self, instruction: Instruction) -> None:
        """Raise ToolMissing where the processor lacks the instruction."""
        if instruction.flag not in self.flags:
            raise ToolMissing(f"the processor has no {instruction.flag}, which {instruction.name} needs")

    def run(self, instruction: Instruction, records: Codes) -> Codes:
        self.demand(instruction)
        function = ctypes.CDLL(str(assembled(instruction, self.folder, rom=False).resolve())).run
        function.restype, function.argtypes = ctypes.c_long, [ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p]
        records = np.ascontiguousarray(records)
        results = np.zeros((len(records), records.shape[2]), np.uint8)
        if function(records.ctypes.data, len(records), results.ctypes.data) != len(records):
            raise ToolMissing("the system does not let programs use AMX")
        return results


# What Bochs is linked with and needs for its windows alone; it has none here.
WINDOWS = ("libgtk-3.so.0", "libgdk-3.so.0", "libpango-1.0.so.0", "libgobject-2.0.so.0", "libglib-2.0.so.0")
# Packages of Debian beside Bochs' own: what it is linked with, newer than an older system's.
PACKAGES = ("bochs", "libltdl7", "libreadline8t64", "libtinfo6", "libstdc++6", "libgcc-s1", "libc6")
FEATURES = "avx10_1,avx10_2,amx_fp16,amx_fp8"
MOST = 96 << 20  # bytes of records in one run: what the guest has room for
CYLINDER = 516096  # bytes, of which a disk has a whole number
LONGEST = 300  # seconds of one run
BOCHSRC = f"""config_interface: textconfig
display_library: rfb, options="timeout=0"
cpu: model=sapphire_rapids, count=1, ips=1000000000, reset_on_triple_fault=0, add_features="{FEATURES}"
memory: guest=256, host=256
romimage: file="{{rom}}"
vgaromimage: file="{{folder}}/vga"
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=disk, path="{{folder}}/disk", mode=flat, cylinders=0
port_e9_hack: enabled=1
log: "{{folder}}/log"
panic: action=fatal
error: action=ignore
info: action=ignore
"""


class Bochs:
    """Bochs 3.1 or newer, unpacked in a folder. Raises ToolMissing where it is not at hand."""

    def __init__(self, folder: Path = UNPACKED):
        self.folder, libraries = folder, folder / "usr" / "lib" / "x86_64-linux-gnu"
        program, loader = folder / "usr" / "bin" / "bochs-bin", libraries / "ld-linux-x86-64.so.2"
        if not (program.exists() and loader.exists()):
            raise ToolMissing("Bochs 3.1 or newer is not unpacked: `make witness` does it")
        stubs = self._stubs(program)
        self.words = [loader, "--library-path", f"{stubs}:{libraries}", program]
        # It listens for a display on a port, which nothing outside is to reach.
        alone = ["unshare", "--user", "--map-root-user", "--net"]
        if shutil.which("unshare") and not subprocess.run([*alone, "true"], capture_output=True).returncode:
            self.words = [*alone, *self.words]
        plugins = libraries / "bochs" / "plugins"
        self.settings = {"LTDL_LIBRARY_PATH": str(plugins), "BXSHARE": str(folder / "usr" / "share" / "bochs")}
        said = subprocess.run(
            [*map(str, self.words), "--help"], capture_output=True, env={**os.environ, **self.settings}
        )
        found = re.search(rb"Bochs x86 Emulator (\d[\d.]*)", said.stdout + said.stderr)
        if found is None:
            raise ToolMissing("Bochs does not start")
        self.version = f"Bochs {found[1].decode()}"

    def _stubs(self, program: Path) -> Path:
        """A folder of libraries that stand for those of windows, with functions that end the program."""
        folder = self.folder / "stubs"
        if all((folder / name).exists() for name in WINDOWS):
            return folder
        folder.mkdir(parents=True, exist_ok=True)
        listed = _run(["nm", "-D", "--undefined-only", program], capture_output=True).stdout.decode()
        names = re.findall(r"^ +U ((?:g|gtk|gdk|pango)_\w+)$", listed, re.MULTILINE)
        (folder / "all.c").write_text(
            "".join(f"void {name}(void) {{ __builtin_trap(); }}\n" for name in names), "utf-8"
        )
        (folder / "none.c").write_text("typedef int nothing;\n", "utf-8")
        for index, name in enumerate(WINDOWS):
            source = folder / ("none.c" if index else "all.c")
            _run(["cc", "-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{name}", source, "-o", folder / name])
        return folder

    def run(self, instruction: Instruction, records: Codes) -> Codes:
        size = records[0].nbytes
        step = max(1, MOST // size)
        parts = [self._run(instruction, records[start : start + step]) for start in range(0, len(records), step)]
        return np.concatenate(parts)

    def _run(self, instruction: Instruction, records: Codes) -> Codes:
        size = len(records) * records.shape[2]
        chunks = -(-(64 + records.nbytes) // (1 << 17))
        head = np.array([chunks, len(records), size, *[0] * 5], "<u8")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            rom = assembled(instruction, folder, rom=True)
            with (folder / "disk").open("wb") as file:
                file.write(head.tobytes() + records.tobytes())
                file.truncate(-(-(chunks << 17) // CYLINDER) * CYLINDER)
            (folder / "vga").write_bytes(bytes(512))
            (folder / "bochsrc").write_text(BOCHSRC.format(folder=folder, rom=rom), "utf-8")
            words = [*map(str, self.words), "-q", "-f", str(folder / "bochsrc")]
            environment = {**os.environ, **self.settings}
            done = subprocess.run(
                words, capture_output=True, stdin=subprocess.DEVNULL, env=environment, timeout=LONGEST
            )
            _, _, wrote = done.stdout.partition(b"HWSIM:")
            if len(wrote) < size:
                log = folder / "log"
                panic = re.search(r">>PANIC<< .*", log.read_text("utf-8", "replace") if log.exists() else "")
                why = panic[0] if panic else "it wrote too few results"
                raise ToolMissing(f"Bochs does not run {instruction.name}: {why}")
        return np.frombuffer(wrote[:size], np.uint8).reshape(len(records), -1)


@dataclass
class Count:
    """What was compared. differences: in words, and what exact rationals say: who is right."""

    results: int = 0
    different: int = 0
    differences: list[str] = field(default_factory=list)


ROWS = 16  # of a tile, and results of a vector
CHUNK = 1 << 17  # results at a time
TURNS = 16


def drawn(instruction: Instruction, seed: int, first: int, count: int) -> tuple[Codes, Codes, Codes]:
    """Factors and addends of so many cases, random and directed, each of one instruction, as the cases' kinds are."""
    unit = load_unit(instruction.preset)
    batch = draw(unit, key_of(seed, instruction.preset, "witness"), first, count, unit.instruction.k, EVERY_KIND)
    assert batch.c is not None
    return batch.a, batch.b, batch.c


class Results(NamedTuple):
    """Results (n,) of factors (n, k) and addends."""

    unit: Unit
    a: Codes
    b: Codes
    c: Codes
    d: Codes

    def differ(self, want: Codes) -> NDArray[np.bool_]:
        """Where other results differ, but for NaNs of which no bit is promised."""
        if self.unit.result.nan != "any":
            return want != self.d
        return (want != self.d) & ~(np.isnan(want.view(np.float32)) & np.isnan(self.d.view(np.float32)))


def results(place: Place, instruction: Instruction, cases: tuple[Codes, Codes, Codes]) -> Results:
    """The results of cases, a multiple of 16; of tiles, of every row of a with every column of b."""
    a, b, c = cases
    n, k = a.shape
    if instruction.tiles:
        tiles, words = n // ROWS, 4 // a.itemsize
        # A row of B has a dword for each column.
        columns = b.reshape(tiles, ROWS, k // words, words).transpose(0, 2, 1, 3)
        start = np.repeat(c.reshape(tiles, ROWS, 1), ROWS, axis=2)
        records = _record(tiles, a, columns, start)
        a, c = np.repeat(a, ROWS, axis=0), start.ravel()
        b = np.tile(b.reshape(tiles, 1, ROWS, k), (1, ROWS, 1, 1)).reshape(-1, k)
    else:
        records = _record(n // ROWS, a, b, c)
    d = place.run(instruction, records).copy().view(c.dtype).ravel()
    return Results(load_unit(instruction.preset), a, b, c, d)


def _record(count: int, *parts: Codes) -> Codes:
    return np.stack([np.ascontiguousarray(part).view(np.uint8).reshape(count, -1) for part in parts], axis=1)


def compare(found: Results, count: Count) -> None:
    """Compare results with hwsim's."""
    unit, a, b, c, d = found
    want = dot_codes(unit, a, b, c, None, again=True).astype(d.dtype)
    differ = found.differ(want)
    count.results += len(d)
    count.different += int(differ.sum())
    for index in np.flatnonzero(differ)[: 20 - len(count.differences)].tolist():
        count.differences.append(_told(unit, a[index], b[index], int(c[index]), int(want[index]), int(d[index])))


def _told(unit: Unit, a: Codes, b: Codes, c: int, hwsim: int, other: int) -> str:
    """A difference in words, with the result in exact rationals, computed without hwsim."""
    exact = Witness(yaml.safe_load(as_yaml(unit))).dot(a.tolist(), b.tolist(), c, [], [])
    sides = (" ".join(f"{code:x}" for code in side.tolist()) for side in (a, b))
    whose = "hwsim" if exact != hwsim else "it"
    return (
        f"{unit.name}: a {next(sides)}, b {next(sides)}, c {c:x}: hwsim {hwsim:x}, it {other:x}, exact {exact:x}: "
        f"{whose} is wrong"
    )


def campaign(place: Place, instruction: Instruction, seed: int, most: int) -> Iterator[Count]:
    """Compare so many results, or a few more; yields what was compared now and then.

    Every case is drawn, with factors and an addend that go together; then each a meets other b and c as often as
    `TURNS` says.
    """
    count, first = Count(), 0
    each = ROWS if instruction.tiles else 1  # results of a case
    while count.results < most:
        step = -(-min(CHUNK, most - count.results) // (each * ROWS)) * ROWS
        a, b, c = drawn(instruction, seed, first, step)
        first += step
        for turn in range(TURNS):
            if count.results < most:
                cases = a, np.roll(b, 7919 * turn, axis=0), np.roll(c, 104729 * turn)
                compare(results(place, instruction, cases), count)
                yield count
