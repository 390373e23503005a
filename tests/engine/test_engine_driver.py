"""The driver in C: its words are those of the packing in NumPy, and its products through the RTL those of gemm."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from conftest import at_hand
from engine.engines import engine
from engine.test_engine_products import ENGINES, operands
from odd_units import unit

import hwsim
from hwsim.cosim.build import driven_build
from hwsim.cosim.engine.packing import operand_frames
from hwsim.cosim.engine.project import driver_files, engine_files
from hwsim.cosim.engine.run import sources
from hwsim.model.engine import EngineCycles
from hwsim.model.registers import RegisterCycles
from hwsim.spec import modes_of
from hwsim.spec.engine import Engine
from hwsim.spec.registers import AXI_LITE, registers

HARNESS = Path(__file__).with_name("driver_harness.cpp")
ORDERED = unit("ordered-blocks")
DRIVEN = ENGINES | {"an order": engine(ORDERED, addends=ORDERED.operands.addend is not None, columns=2,
                                       ports={"a": 64, "b": 64, "c": 64, "d": 32})}  # fmt: skip


def written(built: Engine, folder: Path, change: tuple[str, str] = ("", "")) -> Path:
    """The driver in a folder; its C file. change: of its text."""
    for name, text in driver_files(built).items():
        assert change[0] in text or name.endswith(".h")
        (folder / name).write_text(text.replace(*change, 1) if change[0] else text)
    return next(folder.glob("*.c"))


SINGLE: dict[str, Any] = {"addends": False, "rows": 1, "columns": 1, "ports": {"a": 256, "b": 256, "d": 64}}
CONTROLLED = engine("fp8-any", **SINGLE, control="axi-lite")


class Driven:
    """The driver on the Verilated engine."""

    def __init__(self, built: Engine, source: Path):
        self.built, self.library = built, harness(built, source)
        self.library.driver_open.restype = ctypes.c_void_p
        self.bench = ctypes.c_void_p(self.library.driver_open())

    def product(self, given: dict[str, Any], mode: int = 0) -> tuple[int, Any]:
        """What the driver returns, and the product."""
        arrays = {
            name: np.ascontiguousarray(array.T if name in ("b", "scale_b") else array) for name, array in given.items()
        }
        (m, k), n = given["a"].shape, given["b"].shape[1]
        product = np.zeros((m, n), f"u{-(-self.built.unit.output.container_bits // 8)}")
        pointers = [arrays[name].ctypes.data_as(ctypes.c_void_p) if name in arrays else None
                    for name in ("a", "b", "c", "scale_a", "scale_b")]  # fmt: skip
        sizes = (ctypes.c_size_t(size) for size in (m, n, k))
        status = self.library.driver_multiply(self.bench, mode, *sizes, *pointers,
                                              product.ctypes.data_as(ctypes.c_void_p))  # fmt: skip
        return status, product

    def count(self, name: str) -> int:
        """A counter."""
        count = ctypes.c_uint64()
        assert self.library.driver_count(self.bench, registers(self.built)[name].offset, ctypes.byref(count)) == 0
        return count.value

    @property
    def busy(self) -> int:
        """Whether something is in the engine."""
        busy = ctypes.c_int()
        assert self.library.driver_busy(self.bench, ctypes.byref(busy)) == 0
        return busy.value

    def close(self) -> None:
        self.library.driver_close(self.bench)


def harness(built: Engine, source: Path) -> ctypes.CDLL:
    """The Verilated engine with a driver."""
    hdl = sources(built)
    sizes = {name: size.width // 8 for name, size in (*built.sizes().items(), ("d", built.results))}
    defines = [f'HWSIM_DRIVER="{source}"', f"HWSIM_NAME={source.stem}",
               *(f"HWSIM_{name.upper()}={size}" for name, size in sizes.items()),
               *(["HWSIM_MODE"] if built.has_modes else []),
               *(["HWSIM_CONTROL"] if built.control is not None else []),
               *(["HWSIM_SCALED"] if built.unit.scale is not None else [])]  # fmt: skip
    with at_hand():
        return ctypes.CDLL(str(driven_build(hdl.top, hdl.verilog, HARNESS, hdl.once, [*defines, *_bytes(source)])))


def through(built: Engine, source: Path, given: dict[str, Any], mode: int = 0) -> tuple[int, Any]:
    """What the driver returns on the Verilated engine, and the product."""
    driven = Driven(built, source)
    returned = driven.product(given, mode)
    driven.close()
    return returned


def _bytes(source: Path) -> list[str]:
    """The driver's text counts for what is kept of a build."""
    return [f"HWSIM_TEXT={hashlib.sha256(source.read_bytes()).hexdigest()[:15]}"]


@pytest.mark.parametrize("what", DRIVEN)
def test_c_packs_the_words_that_numpy_packs(what: str, tmp_path: Path) -> None:
    built = DRIVEN[what]
    source, unit_ = written(built, tmp_path), modes_of(built.unit)[0]
    subprocess.run(["gcc", "-std=c99", "-O1", "-shared", "-fPIC", source, "-o", tmp_path / "driver.so"], check=True)
    library, given = ctypes.CDLL(str(tmp_path / "driver.so")), operands(built, (7, 384, 10))
    for side, count, first in (("a", 7, built.macro[0]), ("b", 10, built.macro[1])):
        scales, arrays = None, [np.ascontiguousarray(given[side] if side == "a" else given[side].T)]
        if unit_.scale is not None:
            block = unit_.scale.of(side).block[0 if side == "a" else 1]
            along = given[f"scale_{side}"] if side == "a" else given[f"scale_{side}"].T
            scales = np.ascontiguousarray(np.repeat(along, block, axis=0)[:count])
            arrays.append(scales)
        every = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
        packed = operand_frames(built, side, arrays[0], scales)
        for name, frames in packed.items():
            size, words = built.sizes()[name].width // 8, built.sizes()[name].words
            word = (ctypes.c_uint8 * size)()
            pointers = every if len(packed) == 1 else every[:1] if name == side else every[1:]
            for tile, frame in enumerate(frames.words):
                for at, wanted in enumerate(frame):
                    sizes = (at % words, at // words, tile * first, count, 384)
                    getattr(library, f"tiny_pack_{name}")(word, *map(ctypes.c_size_t, sizes), *pointers)
                    assert int.from_bytes(bytes(word), "little") == wanted, (name, tile, at)


def expected(built: Engine, given: dict[str, Any], mode: int) -> Any:
    names = ("a", "b", "c", "scale_a", "scale_b")
    found = hwsim.gemm(modes_of(built.unit)[mode], *(given.get(name) for name in names))
    return found.view(f"u{found.dtype.itemsize}")


@pytest.mark.parametrize("what", others_slow(DRIVEN, ["addends"]))
def test_a_driver_in_c_returns_what_gemm_does(what: str, tmp_path: Path) -> None:
    built, mode = DRIVEN[what], len(modes_of(DRIVEN[what].unit)) - 1
    if what == "scales of several rows":
        built = engine(built.unit.replace({"scale.a.block": [1, 128], "scale.b.block": [128, 1]}), addends=False,
                       ports={"a": 512, "b": 512, "d": 64})  # fmt: skip
    fill = built.unit.instruction.fill
    given = operands(
        built, (7, 30 if what == "addends" else 384 if built.unit.scale is not None else 3 * fill, 10), mode
    )
    status, product = through(built, written(built, tmp_path), given, mode)
    assert status == 0 and np.array_equal(product, expected(built, given, mode))


CHANGES = {
    "lanes the other way round": ("base + lanes[lane]", "base + lanes[TINY_LANES - 1 - lane]"),
    "rows of the other slice": ("row = first; row < first", "row = first + 1; row < 1 + first"),
    "an end that comes a step early": ("at_a.step == steps - 1", "at_a.step == (steps > 1 ? steps - 2 : 0)"),
    "results of two elements changed": ("bytes_d, (size_t)element *", "bytes_d, (size_t)(element ^ 1) *"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CHANGES)
def test_a_wrong_driver_is_noticed(what: str, tmp_path: Path) -> None:
    built = DRIVEN["addends"]
    given = operands(built, (7, 30, 10))
    given["a"] %= 0x70  # no NaN hides it
    given["b"] %= 0x70
    status, product = through(built, written(built, tmp_path, CHANGES[what]), given)
    assert status != 0 or not np.array_equal(product, expected(built, given, 0))


@pytest.mark.parametrize("what", ["modes", "registers"])
def test_a_project_of_an_engine_compiles_without_a_warning(what: str, tmp_path: Path) -> None:
    built = {"modes": ENGINES["modes"], "registers": CONTROLLED}[what]
    files = engine_files(built, 2.0, "1.0")
    assert list(files) == ["tiny.core", "tiny.sdc", "tiny.h", "tiny.c"]
    assert "TINY_MODE_E4M3" in files["tiny.h"] and built.digest in files["tiny.h"]
    assert ("TINY_HASH_AT = 0x020" in files["tiny.h"]) == ("s_axil_rdata[*]" in files["tiny.sdc"]) == (what != "modes")
    assert [line for name in ("tiny.h", "tiny.c") for line in files[name].splitlines() if len(line) > 120] == []
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-ffreestanding"]
    subprocess.run(["gcc", *flags, "-c", "tiny.c", "-o", "tiny.o"], cwd=tmp_path, check=True)


@pytest.mark.slow
def test_a_driver_of_registers_resets_in_a_tile_counts_and_sets_the_mode(tmp_path: Path) -> None:
    driven, mode = Driven(CONTROLLED, written(CONTROLLED, tmp_path)), 3
    given = operands(CONTROLLED, (7, 96, 10), mode)
    assert driven.library.driver_check(driven.bench) == 0 and not driven.busy
    for _ in range(2):
        driven.library.driver_zeros(driven.bench, 3)  # a step and a half, of which the product knows nothing
        assert driven.busy
        assert driven.library.driver_reset(driven.bench) == 0 and not driven.busy
        status, product = driven.product(given, mode)
        assert status == 0 and np.array_equal(product, expected(CONTROLLED, given, mode))
    tiles = 4 * 5  # of 2 x 2 results each
    assert driven.count("tiles") == 2 * tiles
    assert driven.count("words_d") == 2 * tiles * CONTROLLED.contexts * CONTROLLED.results.words
    steps = tiles * 96 // CONTROLLED.unit.instruction.lanes
    assert driven.count("words_a") == 2 * (3 + steps * CONTROLLED.sizes()["a"].words)
    assert driven.count("beats") == 2 * steps * CONTROLLED.contexts
    driven.close()


class Bus(ctypes.Structure):
    """The hooks of a driver."""

    READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32))
    WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
    _fields_ = (("self", ctypes.c_void_p), ("read", READ), ("write", WRITE))


def on_model(control: RegisterCycles) -> Bus:
    """Hooks on the model of registers."""
    idle = dict.fromkeys(AXI_LITE, 0)

    def read(_self: object, address: int, value: Any) -> int:
        control.tick(idle | {"arvalid": 1, "araddr": address}, {}, False)
        value[0] = control.outputs["rdata"]
        response = control.outputs["rresp"]
        control.tick(idle | {"rready": 1}, {}, False)
        return -response

    def write(_self: object, address: int, value: int) -> int:
        control.tick(idle | {"awvalid": 1, "awaddr": address, "wvalid": 1, "wdata": value, "wstrb": 15}, {}, False)
        control.tick(idle, {}, False)
        response = control.outputs["bresp"]
        control.tick(idle | {"bready": 1}, {}, False)
        return -response

    return Bus(None, Bus.READ(read), Bus.WRITE(write))


def test_a_driver_in_c_and_the_model_of_registers_agree(tmp_path: Path) -> None:
    source = written(CONTROLLED, tmp_path)
    subprocess.run(["gcc", "-std=c99", "-O1", "-shared", "-fPIC", source, "-o", tmp_path / "driver.so"], check=True)
    library, control = ctypes.CDLL(str(tmp_path / "driver.so")), RegisterCycles(EngineCycles(CONTROLLED))
    bus, error, count = ctypes.byref(on_model(control)), ctypes.c_uint32(), ctypes.c_uint64()
    assert library.tiny_check(bus) == 0
    assert library.tiny_set_mode(bus, 2) == 0 == library.tiny_set_mode(bus, 3) and control.mode == 3
    assert library.tiny_set_mode(bus, 4) < 0 and control.mode == 3
    control.engine.error = 3
    assert library.tiny_clear_error(bus, 1) == 0 == library.tiny_error(bus, ctypes.byref(error)) and error.value == 2
    control.counts["cycles"] = (5 << 32) - 1  # both halves are of one number, though it goes on between two reads
    assert library.tiny_count(bus, registers(CONTROLLED)["cycles"].offset, ctypes.byref(count)) == 0
    assert count.value == (5 << 32) - 1 and control.counts["cycles"] > 5 << 32
    assert library.tiny_clear_counts(bus) == 0 and control.counts["cycles"] < 3
    assert library.tiny_reset(bus) == 0 and control.engine.error == 0 and control.mode == 3
    assert library.tiny_count(bus, 0x200, ctypes.byref(count)) < 0
    other = RegisterCycles(EngineCycles(engine("fp8-any", **SINGLE, control="axi-lite", drain=3)))
    assert library.tiny_check(ctypes.byref(on_model(other))) == -1004
    other.table = {address: each._replace(value=0) for address, each in other.table.items()}
    assert library.tiny_check(ctypes.byref(on_model(other))) == -1003
