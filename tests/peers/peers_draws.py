"""Blocks of numbers that hwsim and its peers quantise."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import ml_dtypes
import numpy as np
from conftest import missing


def version_of(package: str) -> tuple[int, ...]:
    """The version of a peer's package, its first two numbers; its tests are left out where it is not installed."""
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        missing(f"{package} is not installed: pip install 'hwsim[peers]'")
        raise
    return tuple(int(part) for part in version.split(".")[:2])


def blocks(count: int, length: int, seed: int, low: int = -100, high: int = 120) -> Any:
    """float32[count, length], a block a row, of like magnitudes from 2^low to 2^high.

    Every third amax is a power of two, next to one, or next to where scales and ties change.
    """
    rng = np.random.default_rng(seed)
    sig = rng.integers(1, 1 << 24, (count, length)).astype(np.float64)
    edges = [2.0**23, 2.0**23 + 1, 2.0**24 - 1, 7 * 2.0**21, 7 * 2.0**21 + 1, 2.0**23 + 2**19]
    sig[::3, 0] = rng.choice(edges, len(sig[::3]))
    exp = rng.integers(low, high - 23, (count, 1)) - rng.integers(0, 12, (count, length)) * (np.arange(length) > 0)
    return np.ldexp(rng.choice([-1.0, 1.0], (count, length)) * sig, exp).astype(np.float32)


def next_to_ties(count: int, seed: int, two_levels: bool) -> Any:
    """float32[count, 16]: numbers on ties of E2M1 and next to them, under the scales of NVFP4 that their blocks get."""
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((count, 16)) * np.exp2(rng.integers(-4, 4, (count, 1)))).astype(np.float32)
    amax = np.abs(x).max(axis=1, keepdims=True)
    x = np.clip(x, -amax / 2, amax / 2)
    x[:, :1] = amax  # of every block, and so of the tensor
    g = amax.max() / np.float32(2688) if two_levels else np.float32(1)
    scale = np.clip(amax / np.float32(6) / g, 2.0**-6, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    ties = scale * g * rng.choice(np.float32([0.25, 0.75, 1.25, 1.75, 2.5]), (count, 10))
    x[:, 6:] = (ties.view(np.int32) + rng.integers(-1, 2, ties.shape, dtype=np.int32)).view(np.float32)
    return x
