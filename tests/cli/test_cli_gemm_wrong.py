"""hwsim gemm: wrong input, interrupts and failures, which leave what was there before."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cli.cli_run import Run, fails
from cli.gemm_arrays import HOPPER, MX, NVFP4, SCALED, WIDE, finite
from patience import LIMIT, wait_until
from safetensors.numpy import save_file

from hwsim.base.files import written

# Wrong input.


@pytest.fixture
def files(here: Path, rng: np.random.Generator) -> Path:
    """A folder of arrays that do not all go together."""
    np.save("a.npy", finite(rng, (4, 64)))
    np.save("b.npy", finite(rng, (64, 3)))
    np.save("short.npy", finite(rng, (40, 3)))
    np.save("a40.npy", finite(rng, (4, 40)))
    np.save("batch.npy", finite(rng, (2, 4, 64)))
    np.save("batches.npy", finite(rng, (3, 64, 3)))
    np.save("row.npy", finite(rng, (64,)))
    np.save("x.npy", rng.standard_normal((4, 64)))
    np.save("w.npy", rng.standard_normal((64, 3)))
    np.save("c.npy", np.zeros((4, 3), np.float32))
    np.save("c64.npy", np.zeros((4, 3)))
    np.save("scales.npy", np.full((4, 2), 127, np.uint8))
    np.save("large.npy", np.arange(4 * 64).reshape(4, 64) + 1)
    np.save("bool.npy", np.zeros((4, 64), bool))
    np.save("raw.npy", np.zeros((4, 64), ml_dtypes.bfloat16))
    np.save("objects.npy", np.array([[None]]))
    np.savez("two.npz", first=finite(rng, (4, 64)), second=finite(rng, (64, 3)))
    np.savez("none.npz")
    np.savez("many.npz", **{f"layers.{i}.weight": np.zeros((1, 1)) for i in range(20)})
    save_file({"q": np.zeros((4, 64), ml_dtypes.float8_e8m0fnu), "z": np.zeros((4, 64), bool)}, "s.safetensors")
    Path("text.npy").write_text("1 2 3")
    Path("text.npz").write_text("1 2 3")
    Path("text.safetensors").write_text("1 2 3")
    Path("cut.npy").write_bytes(Path("a.npy").read_bytes()[:-9])
    Path("folder.npy").mkdir()
    return here


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a.npz b.npy", r"a\.npz: No such file or directory"),
        ("a.npy no/b.safetensors:x", r"no/b\.safetensors: No such file or directory"),
        ("a.txt b.npy", r"a\.txt: must be FILE\.npy, FILE\.npz, FILE\.npz:NAME"),
        ("a.npy:x b.npy", r"a\.npy:x: a \.npy file holds one array; leave out :x"),
        ("text.npy b.npy", r"text\.npy: cannot be read as a \.npy file"),
        ("text.npz b.npy", r"text\.npz: cannot be read as a \.npz file"),
        ("text.safetensors b.npy", r"text\.safetensors: cannot be read as a \.safetensors file"),
        ("cut.npy b.npy", r"cut\.npy: cannot be read as a \.npy file"),
        ("folder.npy b.npy", r"folder\.npy: Is a directory"),
        ("objects.npy b.npy", r"objects\.npy: cannot be read as a \.npy file"),
        ("two.npz b.npy", r"two\.npz: holds 2 arrays, name one, as two\.npz:first: first, second"),
        ("two.npz:third b.npy", r"two\.npz: holds no 'third'; it holds first, second"),
        ("none.npz b.npy", r"none\.npz: holds no array"),
        ("many.npz:layer.3.weight b.npy", r"holds no 'layer\.3\.weight'; did you mean layers\.3\.weight"),
        ("many.npz b.npy", r"many\.npz: holds 20 arrays, name one, .* and 8 more"),
        ("s.safetensors:w b.npy", r"s\.safetensors: holds no 'w'; it holds q, z"),
        ("s.safetensors:z b.npy", r"s\.safetensors:z: a tensor must be one of F64, .*, not BOOL"),
        ("s.safetensors:q b.npy", r"s\.safetensors:q: A is float8_e8m0fnu, not codes of e4m3"),
        ("s.safetensors:q b.npy --quantize tensor-e4m3", r"s\.safetensors:q: A must be one of .* to be quantised"),
        ("bool.npy b.npy", r"bool\.npy: must hold integers, which are codes, or floats, not bool"),
        ("raw.npy b.npy", r"raw\.npy: has elements of 2 bytes without a type, .* array\.view\('uint16'\)"),
        ("large.npy b.npy", r"large\.npy: A\[3, 63\] is 256: e4m3 codes are 0 to 255"),
        ("x.npy b.npy", r"x\.npy: A is float64, not codes of e4m3; --quantize RULE .*: tensor-e4m3, channel-e4m3"),
        (
            "a.npy short.npy",
            r"short\.npy: B must have shape \(\.\.\., 64, N\), because A has 64 columns, not \(40",
        ),
        ("row.npy b.npy", r"row\.npy: A must have shape \(\.\.\., M, K\), not \(64,\)"),
        ("batch.npy batches.npy", r"batches\.npy: B must have shape \(2,\), A's axes, .* not \(3, 64, 3\)"),
        ("a.npy b.npy --addend a.npy", r"a\.npy: C must have shape \(4, 3\), not \(4, 64\)"),
        ("a.npy b.npy --addend c64.npy", r"c64\.npy: C must be integer f32 codes or a float32 array, not float64"),
        ("a.npy b.npy --scale-a scales.npy", r"scales\.npy: scale_a must be left out, because .* has scale none"),
        ("a.npy b.npy --quantize tensor-e4m3", r"--quantize tensor-e4m3 finds nothing to quantise: codes, and"),
        ("x.npy b.npy --quantize tensor-e4m3 --quantize-b tensor-e5m2", r"--quantize-b tensor-e5m2 finds nothing"),
        ("x.npy w.npy --quantize tensor-e4m2", r"unknown rule 'tensor-e4m2': did you mean .*tensor-e4m3"),
        (
            "x.npy w.npy --quantize tensor-e5m2",
            r"x\.npy: tensor-e5m2 gives elements in e5m2 and scales in f32, one",
        ),
        (
            "x.npy w.npy --quantize mxfp8-e4m3",
            r"x\.npy: mxfp8-e4m3 gives elements in e4m3 and scales in e8m0, blocks of 1 x 32; hopper-wgmma-e4m3-f32 "
            r"takes e4m3 and no scales: tensor-e4m3, channel-e4m3",
        ),
        (
            "x.npy b.npy --quantize channel-e4m3 --addend c.npy",
            r"--addend must be left out with channel-e4m3: .* would add it to the codes' products",
        ),
    ],
)
def test_wrong_input(run: Run, files: Path, words: str, message: str) -> None:
    before = set(files.iterdir())
    fails(run("gemm", HOPPER, *words.split(), "-o", "d.npy"), message)
    assert set(files.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("hopper a.npy b.npy -o d.npy", r"unknown unit 'hopper'"),
        (f"{HOPPER} a.npy b.npy", r"Missing option '--output' / '-o'"),
        (f"{HOPPER} a.npy b.npy -o d.npz", r"--output must be a \.npy file, not d\.npz"),
        (f"{HOPPER} a.npy b.npy -o folder.npy", r"--output must be a \.npy file, not folder\.npy"),
        (f"{HOPPER} a.npy b.npy -o a.npy", r"--output a\.npy is where a\.npy is read from: name another file"),
        (f"{HOPPER} a.npy b.npy --addend c.npy -o ./c.npy", r"--output c\.npy is where c\.npy is read from"),
        (f"{HOPPER} a.npy b.npy -o a.npy/d.npy", r"a\.npy/d\.npy: (Not a directory|File exists)"),
        (f"{MX} a40.npy short.npy -o d.npy", r"a40\.npy: K, .*, must be a multiple of scale\.a\.block along K \(32\)"),
        ("rvbna-e4m3-f32-n16 a.npy b.npy -o d.npy", r"a\.npy: K, .*, must be at most instruction\.k \(16\)"),
        (f"{MX} a.npy b.npy -o d.npy", r"--scale-a is missing: mxfp8-e4m3-f32 takes a scale in e8m0 .* shape \(4, 2\)"),
        (
            f"{MX} a.npy b.npy --scale-a scales.npy --scale-b scales.npy -o d.npy",
            r"scales\.npy: scale_b must have shape \(2, 3\), not \(4, 2\)",
        ),
        (
            f"{MX} x.npy w.npy --scale-a scales.npy --quantize mxfp8-e4m3 -o d.npy",
            r"--scale-a must be left out, because mxfp8-e4m3 finds the scales of A",
        ),
        (
            f"{SCALED} x.npy w.npy --quantize deepseek-v3-128x128 -o d.npy",
            r"K, .*, must be a multiple of scale\.a\.block along K \(128\), not 64",
        ),
        (
            "intel-amx-e4m3-f32 x.npy w.npy --quantize tensor-e5m2 -o d.npy",
            r"tensor-e5m2 gives .* takes e4m3 and no scales",
        ),
        ("ada-mma-bf16-f32 x.npy w.npy --quantize int8-tensor -o d.npy", r"takes bf16 and no scales; no rule suits it"),
        ("rvbna-e4m3-f32-n16 a16.npy b16.npy --addend c.npy -o d.npy", r"c\.npy: C must be left out, because rvbna"),
        (
            f"{NVFP4} x.npy w.npy --quantize nvfp4 --addend c.npy -o d.npy",
            r"--addend must be left out with nvfp4",
        ),
    ],
)
def test_wrong_usage(run: Run, files: Path, words: str, message: str) -> None:
    np.save("a16.npy", np.zeros((4, 16), np.uint8))
    np.save("b16.npy", np.zeros((16, 3), np.uint8))
    before = {path: path.read_bytes() for path in files.iterdir() if path.is_file()}
    fails(run("gemm", *words.split()), message)
    assert {path: path.read_bytes() for path in files.iterdir() if path.is_file()} == before


def test_blocks_of_b_are_named_as_they_lie(run: Run, here: Path) -> None:
    np.save("x.npy", np.ones((4, 128)))
    np.save("w.npy", np.ones((128, 3)))
    done = run("gemm", SCALED, "x.npy", "w.npy", "-o", "d.npy", "--quantize", "deepseek-v3-1x128")
    fails(done, r"w\.npy: .* scales in f32, blocks of 128 x 1; .* scales in f32, blocks of 128 x 128: deepseek-v3-128x")


# A result is there whole, or not at all.


@pytest.fixture
def long(here: Path, rng: np.random.Generator) -> list[str]:
    """The words of a product that takes the model minutes."""
    Path("wide.yaml").write_text(WIDE)
    np.save("a.npy", rng.standard_normal((3000, 64)).astype(np.float32))
    np.save("b.npy", rng.standard_normal((64, 64)).astype(np.float32))
    with written(Path("d.npy")) as file:
        np.save(file, np.zeros(3))
    return [sys.executable, "-m", "hwsim", "gemm", "wide.yaml", "a.npy", "b.npy", "-o", "d.npy"]


def started(words: list[str], **more: Any) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True, **more)
    wait_until(lambda: process.poll() is not None or list(Path().glob(".d.npy-*")))
    assert list(Path().glob(".d.npy-*")), "the result is not being written"
    return process


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_what_was_there(long: list[str], here: Path, number: int) -> None:
    before = Path("d.npy").read_bytes()
    process = started(long, stderr=subprocess.PIPE)
    process.send_signal(number)
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, out) == (130, b"")
    assert err == b"note: a product of 3000 x 64 with K 64 takes about 41 seconds\nerror: interrupted\n"
    assert sorted(path.name for path in here.iterdir()) == [".hwsim-files", "a.npy", "b.npy", "d.npy", "wide.yaml"]
    assert Path("d.npy").read_bytes() == before


def test_a_bar_on_a_terminal(long: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    ours, theirs = pty.openpty()
    process = started(long, stderr=theirs)
    os.close(theirs)
    shown, end = b"", time.monotonic() + LIMIT
    while b"million products/s" not in shown and time.monotonic() < end:
        shown += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    while True:
        try:
            shown += os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
    process.communicate(timeout=LIMIT)
    os.close(ours)
    assert process.returncode == 130
    assert b"multiplying" in shown
    assert b"million products/s" in shown
    assert b"Traceback" not in shown


def test_a_failure_while_writing_names_the_result(
    run: Run, here: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save("a.npy", finite(rng, (4, 64)))

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hwsim.cli.gemm.write", full)
    np.save("b.npy", finite(rng, (64, 3)))
    fails(run("gemm", HOPPER, "a.npy", "b.npy", "-o", "d.npy"), r"d\.npy: No space left on device")
    assert sorted(path.name for path in here.iterdir()) == ["a.npy", "b.npy"]
