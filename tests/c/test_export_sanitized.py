"""Random dot products under AddressSanitizer and UndefinedBehaviorSanitizer: no fault, and the bits of hwsim.dot."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from c.export_library import C99
from c.export_shim import shim
from kernels.kernel_cases import draw

import hwsim
from hwsim.compute.c import HEADER, UnitInC, render
from hwsim.formats import container_dtype
from hwsim.spec import Unit, load_unit

SANITIZE = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Integers of 32 and 64 bits and of many words; windows, exact sums, rounded additions. How many of each is a matter of
# what the model takes for one.
UNITS = {
    "hopper-wgmma-e4m3-f32": 5000, "mxfp8-e4m3-f32": 4000, "cdna3-mfma-e4m3fnuz-f32": 1000, "exact-e4m3-f32": 400,
    "cdna2-mfma-bf16-f32": 800,
}  # fmt: skip
MORE = {
    "blackwell-mxf4nvf4-e2m1-f32": 4000, "deepseek-v3-e4m3-f32-scaled": 4000, "hfp8-forward-e4m3-dlfloat16": 800,
    "blackwell-mma-e4m3-f16": 4000, "int8-i32": 4000,
}  # fmt: skip
MAIN = r"""
#include <stdio.h>
#include <stdlib.h>

/* An array of exactly so many bytes, so that what is read beyond it is seen. */
static void *array(uint64_t bytes)
{
    void *made = malloc(bytes ? bytes : 1);
    if (!made || fread(made, 1, bytes, stdin) != bytes)
        exit(1);
    return made;
}

int main(void)
{
    uint64_t sizes[7]; /* n, k, and the bytes of a, b, c, scale_a and scale_b */
    while (fread(sizes, sizeof sizes, 1, stdin) == 1) {
        void *a = array(sizes[2]), *b = array(sizes[3]), *c = array(sizes[4]);
        void *scale_a = array(sizes[5]), *scale_b = array(sizes[6]);
        uint32_t *out = malloc(4 * sizes[0]);
        if (!out)
            return 1;
        dots(a, b, c, scale_a, scale_b, sizes[0], sizes[1], out);
        fwrite(out, 4, sizes[0], stdout);
        free(a), free(b), free(c), free(scale_a), free(scale_b), free(out);
    }
    return 0;
}
"""


def drawn(unit: Unit, n: int, k: int, random: np.random.Generator) -> list[np.ndarray]:
    """a, b, c and scales of n dot products: rows of any codes, of near ones, of few, and of small ones."""

    def rows(fmt: Any, count: int) -> np.ndarray:
        quarters = [draw(random, fmt, (n // 4, count), kind) for kind in ("any", "middle", "sparse", "small")]
        return np.concatenate(quarters)

    operands, scale = unit.operands, unit.scale
    made = [rows(operands.a, k), rows(operands.b, k), np.zeros((0, 1), np.uint32)]
    if operands.addend is not None:
        made[2] = rows(operands.addend, 1).astype(np.uint32)
    if scale is None:
        return [*made, np.zeros((0, 1), np.uint8), np.zeros((0, 1), np.uint8)]
    return [*made, rows(scale.a.format, k // scale.a.block[1]), rows(scale.b.format, k // scale.b.block[0])]


def expected(unit: Unit, arrays: list[np.ndarray]) -> np.ndarray:
    """uint32: hwsim.dot's codes."""
    a, b, c, scale_a, scale_b = arrays
    addends = None if unit.operands.addend is None else c[:, 0].astype(container_dtype(unit.operands.addend))
    scales = (scale_a, scale_b) if unit.scale else (None, None)
    out = hwsim.dot(unit, a, b, addends, *scales)
    return out.view({2: np.uint16, 4: np.uint32}.get(out.itemsize, np.uint8)).astype(np.uint32)


def assert_no_fault(name: str, count: int, folder: Path, seed: int) -> None:
    """So many dot products of a unit, half of them of one length and half of another."""
    unit, random = load_unit(name), np.random.default_rng(seed)
    plan = UnitInC(unit, "0.0.0")
    (folder / f"{plan.prefix}.h").write_text(render(HEADER, plan))
    (folder / "main.c").write_text(shim(plan) + MAIN)
    subprocess.run(["gcc", *SANITIZE, *C99, "-Wno-unused-function", "-o", "main", "main.c"], cwd=folder, check=True)
    step = max(plan.scale_blocks) if unit.scale else 1
    longest = unit.instruction.k if unit.instruction.chain is None else 2 * max(unit.instruction.k, step)
    for k in {longest, max(step, longest * 5 // 8 // step * step)}:
        n = max(4, count // 2 // 4 * 4)
        arrays = drawn(unit, n, k, random)
        sizes = np.array([n, k, *(array.nbytes for array in arrays)], np.uint64)
        given = b"".join([sizes.tobytes(), *(array.tobytes() for array in arrays)])
        done = subprocess.run([str(folder / "main")], input=given, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[-3000:]
        got, want = np.frombuffer(done.stdout, np.uint32), expected(unit, arrays)
        wrong = np.flatnonzero(got != want)
        assert not len(wrong), (
            f"{name}, seed {seed}, k {k}, row {wrong[0]}: {got[wrong[0]]:#x}, not {want[wrong[0]]:#x}"
        )


@pytest.mark.parametrize("name", others_slow(UNITS, [*UNITS][:1]))
def test_thousands_of_dot_products(name: str, tmp_path: Path) -> None:
    assert_no_fault(name, UNITS[name], tmp_path, seed=4)


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_thousands_more(name: str, tmp_path: Path) -> None:
    assert_no_fault(name, MORE[name], tmp_path, seed=4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "exact-e4m3-f32"])
def test_a_million_dot_products(name: str, tmp_path: Path) -> None:
    for seed in range(10):
        assert_no_fault(name, 100_000, tmp_path, seed)
