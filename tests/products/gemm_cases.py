"""Operands of matrix products, and what the model returns for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from unit_keys import odd_unit, window

from hwsim.model import dot as by_model
from hwsim.spec import Unit

Array = NDArray[Any]
HOPPER, MX, VOLTA = "hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "volta-mma-f16-f16"
# A hundred bits are more than any kernel's integers hold.
WIDE = odd_unit("odd", "e4m3", "f32", window(100), "f32", 5, rounding="rz")


def codes(seed: int, *shape: int) -> Array:
    """Codes of e4m3: numbers near one, zeros, and a NaN now and then."""
    rng = np.random.default_rng(seed)
    near = rng.integers(0x20, 0x50, shape) | rng.integers(0, 2, shape) << 7
    return np.where(rng.random(shape) < 0.01, 0x7F, np.where(rng.random(shape) < 0.1, 0, near)).astype(np.uint8)


def addends(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def bits(array: Array) -> Array:
    return array.view(f"u{array.itemsize}")


def same(got: Array, want: Array) -> None:
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(bits(got), bits(want))


def expected(unit: str | Unit, a: Array, b: Array, c: Array | None = None, *scales: Array) -> Array:
    """Every element by the model. a: (M, K), b: (K, N), c: (M, N), scales as hwsim.gemm takes them, of whole rows."""
    m, n = a.shape[0], b.shape[1]
    i, j = np.repeat(np.arange(m), n), np.tile(np.arange(n), m)
    of_pairs = [scales[0][i], scales[1].T[j]] if scales else []
    return by_model(unit, a[i], b.T[j], None if c is None else c[i, j], *of_pairs).reshape(m, n)
