"""Random numbers that are the same on every machine: Philox streams keyed by name, and integers alone."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def stream(seed: int, *keys: str | int) -> np.random.Generator:
    """A generator of its own for each seed and list of keys. seed and integer keys: at least 0."""
    words = [key if isinstance(key, int) else zlib.crc32(key.encode()) for key in keys]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, *words])))


def normals(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Numbers that are very nearly normal, of mean 0 and variance 1, within 6 of zero; multiples of 2^-16.

    Sums of twelve uniform integers, so that no logarithm can differ from one machine to another.
    """
    total = rng.integers(0, 1 << 16, (12, *shape), dtype=np.int64).sum(axis=0)
    return np.asarray((total - 6 * ((1 << 16) - 1)) / (1 << 16))


def chosen(rng: np.random.Generator, codes: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Codes drawn alike from an array of them."""
    return np.asarray(codes[rng.integers(0, len(codes), shape)])
