"""Vectors as they are compiled for processors without AVX-512, and without AVX: the same bits."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite.binding import get_host_cpu_features

HOST = get_host_cpu_features()
PROCESSORS = [
    pytest.param("haswell", 1, marks=pytest.mark.skipif(not HOST.get("avx2"), reason="this processor has no AVX2")),
    pytest.param(
        "x86-64",
        2,
        marks=[
            pytest.mark.slow,
            pytest.mark.skipif(platform.machine() != "x86_64", reason="no x86-64 processor"),
        ],
    ),
]

TESTS = Path(__file__).parents[1]
# Units of 16-bit and of 32-bit lanes, with exponents of 8 and of 16 bits, and operands as other tests have them.
PROGRAM = """
import sys
from odd_for_kernels import FOR_SCALARS, FOR_VECTORS
from odd_units import units_of
from kernels.window_cases import check, kernels, operands
from hwsim.compute.kernels.strips import sums_of
from hwsim.spec import load_unit
UNITS, count = units_of({**FOR_VECTORS, **FOR_SCALARS}), 0
for name in sys.argv[1:]:
    unit = UNITS.get(name) or load_unit(name)
    made = kernels(unit)[1:]
    count += sum(check(made, unit, given, what) for what, given in operands(unit, 3))
    v = made[0].vectors
    code = sums_of(*v.layout, v.lost).assembly()
    print(code.count("%zmm"), code.count("%ymm"), code.count("%xmm"))
print(count)
"""


def run(processor: str, folder: Path, *names: str) -> list[list[int]]:
    """How often the code names registers of 512, 256 and 128 bits, a row for each unit, and elements compared."""
    environment = {
        **os.environ, "PYTHONPATH": str(TESTS), "HWSIM_CACHE": str(folder), "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": "",  # or else the features of this machine's processor
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names], env=environment, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(("processor", "widest"), PROCESSORS)
def test_every_kind_of_lanes_is_the_models(tmp_path: Path, processor: str, widest: int) -> None:
    names = ["hopper-wgmma-e4m3-f32", "hopper-wgmma-e4m3-f16", "mxfp8-e5m2-f32", "blackwell-mma-bf16-f32",
             "rvbna-e4m3-f32-n8", "volta-mma-f16-f16", "far", "bits-0", "floor", "jam", "bare"]  # fmt: skip
    *registers, (count,) = run(processor, tmp_path, *names)
    assert count > 500 * len(names)
    assert all(not any(named[:widest]) and named[widest] > 100 for named in registers)
