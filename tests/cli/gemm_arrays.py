"""Units and arrays of the tests of hwsim gemm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

HOPPER, MX, NVFP4 = "hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "blackwell-mxf4nvf4-e2m1-f32"
SCALED = "deepseek-v3-e4m3-f32-scaled"
# More than kernels' integers hold.
WIDE = """# wide.yaml
unit: wide
operands: {a: f32, b: f32, addend: f32}
instruction: {k: 16, lanes: 16}
sum: {method: aligned, fraction_bits: 60, lost: truncate}
result: {format: f32, rounding: rz}
"""


def finite(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Finite codes of e4m3, of both signs."""
    return rng.integers(0, 0x78, shape).astype(np.uint8) | (rng.integers(0, 2, shape).astype(np.uint8) << 7)
