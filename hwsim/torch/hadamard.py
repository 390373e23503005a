"""Random Hadamard transforms: large numbers spread over their neighbours before they are quantised."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hwsim.formats.stochastic import random_words
from hwsim.formats.yamlfile import SpecError

Singles = NDArray[np.float32]


def check_size(size: int | None) -> None:
    """Raise SpecError unless the size of a transform is 4, 16, 64 or 256: there 1 / sqrt(size) is a power of two."""
    if size not in (None, 4, 16, 64, 256):
        raise SpecError(f"hadamard must be 4, 16, 64 or 256, not {size!r}")


@lru_cache(maxsize=16)
def signs(size: int, seed: int) -> Singles:
    """Random signs, the same for every run of numbers."""
    return np.where(random_words(seed, 0, size, 1) == 1, np.float32(-1), np.float32(1))


def transformed(numbers: Singles, axis: int, size: int, seed: int) -> Singles:
    """H S x / sqrt(size) of each run x of `size` numbers along an axis, S random signs, H Sylvester's matrix.

    axis: -1 or -2, a multiple of `size`. Sums by halves (butterflies), each rounded to binary32, so that every machine
    returns the same bits. The product of two factors that are both transformed along K is that of the factors, but for
    roundings. (NVIDIA, arXiv 2509.25149, section 4.3.)
    """
    along = np.moveaxis(numbers, axis, -1)
    runs = np.ascontiguousarray(along).reshape(-1, size) * signs(size, seed)
    half = 1
    while half < size:
        pairs = runs.reshape(len(runs), -1, 2, half)
        runs = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        half *= 2
    scaled = runs.reshape(along.shape) * np.float32(size**-0.5)
    return np.moveaxis(scaled, -1, axis)
