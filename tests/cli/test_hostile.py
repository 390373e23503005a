"""Input that promises more than it holds, or asks for more than there is, is refused in a line that says so."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from cli.cli_run import Run

from hwsim.base.errors import InputError
from hwsim.base.resources import GIB, Cost, demand_disk, duration, free_memory, size

UNIT = """unit: big
operands: {{a: e5m2, b: e5m2, addend: f16}}
instruction: {{k: {k}, lanes: {lanes}}}
sum: {{method: aligned, fraction_bits: 10, lost: jam}}
result: {{format: f16, rounding: rne}}
"""


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def unit(k: int, lanes: int) -> str:
    Path("unit.yaml").write_text(UNIT.format(k=k, lanes=lanes))
    return "unit.yaml"


@pytest.mark.parametrize("k", [65_537, 10**9, 10**21])
def test_an_instruction_is_bounded(run: Run, k: int) -> None:
    done = run("units", unit(k, 8))
    assert done.status == 2
    assert done.err == f"error: unit.yaml:3: instruction.k must be less than or equal to 65536, not {k}\n"


def test_what_takes_more_memory_than_there_is_is_refused_before_it_begins(run: Run) -> None:
    path = unit(65_536, 65_536)
    for command in (("rtl", path, "-o", "x.v"), ("vectors", path, "-o", "v"), ("vectors", path, "-o", "-")):
        done = run(*command)
        assert done.status == 2 and "GiB of memory, and " in done.err and "takes less" in done.err, command
    assert [path.name for path in Path().iterdir()] == ["unit.yaml"]


def test_what_takes_long_is_announced(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hwsim.base.resources.LONG", 0.001)
    done = run("rtl", unit(8, 4), "-o", "x.v")
    assert done.status == 0 and done.err.startswith("note: the Verilog of 4 lanes takes about 0 seconds\n")


def npy(dtype: str, shape: tuple[int, ...], data: bytes = b"") -> bytes:
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    header = header.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


@pytest.mark.parametrize("dtype", ["<U4", "<f4", "|u1", "<c16"])
@pytest.mark.parametrize("inside", ["{}", "x.npz:{}"])
def test_a_header_that_promises_more_than_the_file_holds_is_not_believed(run: Run, dtype: str, inside: str) -> None:
    Path("a.npy").write_bytes(npy(dtype, (10**9, 10**9)))
    shutil.make_archive("x", "zip", ".")
    Path("x.zip").rename("x.npz")
    name = inside.format("a.npy" if inside == "{}" else "a")
    done = run("gemm", "hopper-wgmma-e4m3-f32", name, name, "-o", "d.npy")
    assert done.status == 2 and "its header promises" in done.err and "000,000,000 bytes" in done.err, done.err


@pytest.mark.parametrize(
    "data",
    [b"", b"\x93NUMPY", b"\x93NUMPY\x09\x00", npy("|O", (1,), b"x"), npy("<f4", (-1, 4)), npy("nonsense", (1,))],
    ids=["empty", "cut", "version", "objects", "negative", "dtype"],
)
def test_a_file_that_is_no_array_is_refused(run: Run, data: bytes) -> None:
    Path("a.npy").write_bytes(data)
    done = run("gemm", "hopper-wgmma-e4m3-f32", "a.npy", "a.npy", "-o", "d.npy")
    assert done.status == 2 and done.err.startswith("error: a.npy: cannot be read as a .npy file: "), done.err


def test_a_result_that_finds_no_room_is_refused_before_it_is_computed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save("a.npy", np.zeros((64, 64), np.uint8))
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    done = run("gemm", "hopper-wgmma-e4m3-f32", "a.npy", "a.npy", "-o", "d.npy")
    assert done.status == 2 and done.err.startswith("error: d.npy: takes 16 KiB, and 1 KiB are free in ")
    assert not Path("d.npy").exists()


@pytest.mark.parametrize("values", ["0:99999999999", "0:999999999999999999", "1:20000"])
def test_a_range_is_bounded(run: Run, values: str) -> None:
    done = run("study", "--unit", "hopper-wgmma-e4m3-f32", "--grid", f"fraction_bits={values}", "-o", "s")
    assert done.status == 2 and "a range must have at most 10,000 values" in done.err


def without_operands(manifest: dict[str, Any]) -> None:
    del manifest["files"]["operands.hex"]


def a_number_for_a_group(manifest: dict[str, Any]) -> None:
    manifest["coverage"]["groups"]["G1"] = 5


def a_word_for_cases(manifest: dict[str, Any]) -> None:
    manifest["cases"] = "many"


def no_unit(manifest: dict[str, Any]) -> None:
    del manifest["unit"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_operands, r"files must name operands.hex"),
        (a_number_for_a_group, r"coverage.groups.G1 must be a mapping of keys to values, not 5"),
        (a_word_for_cases, r"cases must be an integer, not 'many'"),
        (no_unit, r"unit is missing"),
    ],
)
def test_a_manifest_that_was_changed_is_refused(
    run: Run, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    assert run("vectors", unit(8, 8), "-o", "v", "--suite", "coverage").status == 0
    path = Path("v/manifest.yaml")
    manifest = yaml.safe_load(path.read_text())
    change(manifest)
    path.write_text(yaml.safe_dump(manifest, sort_keys=False))
    done = run("check", "v", "v/expected.hex")
    assert done.status == 2 and message in done.err and done.err.startswith("error: v/manifest.yaml:"), done.err


def test_costs_are_said_in_words() -> None:
    assert Cost("work", 0, 29).demand() is None
    assert Cost("work", 0, 300).demand() == "work takes about 5 minutes"
    with pytest.raises(InputError, match=r"work takes about 9,313 GiB of memory, and .* are free; take less"):
        Cost("work", 1e13, instead="take less").demand()
    assert [duration(s) for s in (59, 130, 9_000, 1e6)] == ["59 seconds", "2 minutes", "2 hours", "12 days"]
    assert [size(b) for b in (2048, 3 << 20, 1.5 * GIB)] == ["2 KiB", "3.0 MiB", "1.5 GiB"]
    assert 0 < free_memory() < 1 << 50
    with pytest.raises(InputError, match=r"x: takes 1,073,741,824 GiB, and .* are free in "):
        demand_disk(Path("no/such/folder/x"), 1 << 60)
